"""Metrics that need no structured learning: what a learned one has to beat.

All come through one door, :func:`fit`, as ready-to-use metrics. The first ones need nothing else;
the others are those of metric-learn, whose last release does not run with scikit-learn 1.8 or
newer: ``make baselines`` makes an environment for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import sklearn

from structsvm.data.sample import Sample, all_derived, sum_of_each
from structsvm.errors import MissingExtraError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import within_whitening
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Floats
from structsvm.support.lazy import require
from structsvm.support.progress import stage

__all__ = ["NAMES", "fit"]

Samples = Sequence[Sample]
Truths = Sequence[EquivalenceMatrix]

METRIC_LEARN = {"mmc": "MMC_Supervised", "lmnn": "LMNN", "nca": "NCA", "itml": "ITML_Supervised"}


def fit(
    name: str,
    problem: PartitionProblem,
    samples: Samples,
    truths: Truths,
    *,
    weights: Floats | None = None,
    **settings: Any,
) -> Metric:
    """One of the metrics by name, tuned on labelled samples.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`, or one that the problem makes itself, such as "grid" for normalized
        cuts. Those of metric-learn are "mmc", "lmnn", "nca" and "itml".
    problem : PartitionProblem
    samples : sequence of Sample
        Standardised, as ``interop.prepare(learner, Xs)`` gives them.
    truths : sequence of EquivalenceMatrix
    weights : array of shape (N,), optional
        A weight of 2 stands for a sample that is there twice. Not for metric-learn.
    **settings
        Of the metric of that name, such as ``shrinkage``, or of the class in metric-learn.

    Raises
    ------
    SettingsError
        When no metric has that name.
    MissingExtraError
        When metric-learn is not installed, or does not run with this version of scikit-learn.
    """
    if name == "untrained":
        return problem.learning.untrained(samples, truths, weights, **settings)
    if name == "pca":
        return _pca(problem, samples, truths, weights, **settings)
    if name in METRIC_LEARN:
        factor, weights = _metric_learn(samples, truths, METRIC_LEARN[name], **settings), None
    elif name in OWN:
        factor = OWN[name](samples, truths, weights, **settings)
    else:
        found = problem.comparison.baseline(name, samples, truths, weights)
        if found is None:
            raise SettingsError(f"a baseline of this problem is one of {NAMES}, got {name!r}")
        return found
    return problem.learning.calibrate(factor, samples, truths, weights).metric(factor)


def _pca(
    problem: PartitionProblem, samples: Samples, truths: Truths, weights: Floats | None
) -> Metric:
    """The leading principal components, as many (1, 2, 4, ...) as calibrate best."""
    arrays = [x.data for x in samples]
    scatter = sum_of_each("measuring the samples", _scatter, arrays, weights=weights)
    vectors = np.linalg.eigh(scatter)[1][:, ::-1]
    P, found = vectors.shape[0], []
    ranks = [2**k for k in range(max(1, int(np.log2(P)) + 1)) if 2**k < P or P == 1]
    for rank in stage("ranks of PCA", ranks):
        factor = vectors[:, :rank]
        found.append((problem.learning.calibrate(factor, samples, truths, weights), factor))
    calibration, factor = min(found, key=lambda pair: pair[0].merit)
    return calibration.metric(factor)


def _rca(
    samples: Samples, truths: Truths, weights: Floats | None, shrinkage: float = 0.5
) -> Floats:
    """Relevant component analysis: the inverse of the covariance within the true clusters."""
    return within_whitening([x.data for x in samples], truths, shrinkage, weights)


def _lda(
    samples: Samples, truths: Truths, weights: Floats | None, shrinkage: float = 1e-3
) -> Floats:
    """Linear discriminant analysis: RCA on the subspace that the centres of the clusters span."""
    whitening = _rca(samples, truths, weights, shrinkage)
    whitened = all_derived([x.data for x in samples], partial(_whitened, whitening=whitening))
    between = sum_of_each("measuring the samples", _between, whitened, truths, weights=weights)
    rank = min(sum(M.n_clusters - 1 for M in truths), whitening.shape[0])
    return np.asarray(whitening @ np.linalg.eigh(between)[1][:, ::-1][:, : max(rank, 1)])


def _scatter(X: Floats) -> Floats:
    deviations = X - X.mean(axis=0)
    return np.asarray(deviations.T @ deviations)


def _whitened(X: Floats, whitening: Floats) -> Floats:
    return np.asarray((X - X.mean(axis=0)) @ whitening)


def _between(X: Floats, M: EquivalenceMatrix) -> Floats:
    return M.gram(X)


def _metric_learn(samples: Samples, truths: Truths, algorithm: str, **settings: Any) -> Floats:
    """A metric by the library metric-learn, from the true clusters of all samples stacked."""
    library = require("metric_learn", "baselines", f"the baseline {algorithm}")
    offsets = np.cumsum([0] + [M.n_clusters for M in truths])
    labels = [M.labels + k for M, k in zip(truths, offsets, strict=False) if M.labels is not None]
    model = getattr(library, algorithm)(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn's newer names, and of convergence
        try:
            fitted = model.fit(np.vstack([x.X for x in samples]), np.concatenate(labels))
        except TypeError as error:
            raise MissingExtraError(
                f"metric-learn {library.__version__} does not run with scikit-learn "
                f"{sklearn.__version__} ({error}): `make baselines` makes an environment for it"
            ) from error
    return np.asarray(fitted.components_.T)


OWN: dict[str, Callable[..., Floats]] = {"rca": _rca, "lda": _lda}
"""The factor of each, whose price is calibrated then."""
NAMES = ("untrained", "pca", *OWN, *METRIC_LEARN)
