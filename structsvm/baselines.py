"""Metrics that need no structured learning: what a learned one has to beat.

All come through one door, :func:`fit`, as ready-to-use metrics. The first four need
nothing else; the others are those of metric-learn, whose last release does not run with
scikit-learn 1.8 or newer: ``make rivals`` makes an environment for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np
import sklearn
from numpy.typing import NDArray

from structsvm.errors import MissingExtraError, SettingsError
from structsvm.graph_cuts.metric import CutMetric, grid_metric
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels
from structsvm.oracles.normalized_cut import CutDecoder
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric, calibrate
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.units import within_whitening
from structsvm.support.extras import require
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings

__all__ = ["NAMES", "fit", "grid", "lda", "metric_learn", "pca", "rca", "untrained"]

Floats = NDArray[np.float64]


def untrained(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
) -> Metric:
    """The identity with its best penalty on the training samples: hand-tuned segmentation."""
    return _calibrated(np.eye(Xs[0].shape[1]), oracle, Xs, truths, weights)


def pca(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
) -> Metric:
    """The leading principal components, as many (1, 2, 4, ...) as calibrate best.

    The components are those of all samples stacked; the penalty is calibrated for each number.
    """
    scatter = _sum((X.T @ X for X in (X - X.mean(axis=0) for X in Xs)), weights)
    _, vectors = np.linalg.eigh(scatter)
    P = vectors.shape[0]
    best, least = None, np.inf
    ranks = [2**k for k in range(max(1, int(np.log2(P)) + 1)) if 2**k < P or P == 1]
    for rank in stage("ranks of PCA", ranks):
        factor = vectors[:, ::-1][:, :rank]
        calibration = calibrate(oracle, [X @ factor for X in Xs], truths, weights)
        if calibration.merit < least:
            best, least = Metric(factor, calibration.penalty), calibration.merit
    assert best is not None
    return best


def rca(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
    shrinkage: float = 0.5,
) -> Metric:
    """Relevant component analysis: the inverse of the covariance within the true clusters.

    Bar-Hillel et al. (2006), the clusters of all samples stacked; shrunk towards a multiple of the
    identity, without which a few labelled samples do more harm than good.

    Parameters
    ----------
    shrinkage : float in [0, 1]
        0 is plain RCA, 1 the identity.
    """
    factor = within_whitening(Xs, truths, shrinkage, weights)
    return _calibrated(factor, oracle, Xs, truths, weights)


def lda(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
    shrinkage: float = 1e-3,
) -> Metric:
    """Linear discriminant analysis: RCA on the subspace that the centres of the clusters span.

    Fisher (1936); of dimension ``sum_i (K_i - 1)`` or P, the less. With as many clusters as
    features it is RCA.

    Parameters
    ----------
    shrinkage : float in [0, 1]
        As for :func:`rca`.
    """
    whitening = within_whitening(Xs, truths, shrinkage, weights)
    centred = [(X - X.mean(axis=0)) @ whitening for X in Xs]
    between = _sum((M.gram(Z) for Z, M in zip(centred, truths, strict=True)), weights)
    rank = min(sum(M.n_clusters - 1 for M in truths), whitening.shape[0])
    factor = whitening @ np.linalg.eigh(between)[1][:, ::-1][:, : max(rank, 1)]
    return _calibrated(factor, oracle, Xs, truths, weights)


def metric_learn(
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    algorithm: str,
    **settings: Any,
) -> Metric:
    """A metric learned by the library metric-learn from the true clusters of all samples stacked.

    Parameters
    ----------
    algorithm : {"mmc", "lmnn", "nca", "itml"}
        Xing et al. (2003), Weinberger and Saul (2009), Goldberger et al. (2005), Davis et al.
        (2007).
    **settings
        For its class there, such as ``random_state`` or, for MMC and ITML, ``n_constraints``.

    Raises
    ------
    MissingExtraError
        When metric-learn is not installed, or does not run with this version of scikit-learn.
    """
    names = {"mmc": "MMC_Supervised", "lmnn": "LMNN", "nca": "NCA", "itml": "ITML_Supervised"}
    if algorithm not in names:
        raise SettingsError(f"algorithm must be one of {tuple(names)}, got {algorithm!r}")
    library = require("metric_learn", "rivals", f"the baseline {algorithm}")
    offsets = np.cumsum([0] + [M.n_clusters for M in truths])
    labels = [M.labels + k for M, k in zip(truths, offsets, strict=False) if M.labels is not None]
    model = getattr(library, names[algorithm])(**settings)
    with without_warnings(Warning):  # of scikit-learn's newer names, and of convergence
        try:
            factor = model.fit(np.vstack(Xs), np.concatenate(labels)).components_.T
        except TypeError as error:
            raise MissingExtraError(
                f"metric-learn {library.__version__} does not run with scikit-learn "
                f"{sklearn.__version__} ({error}): `make rivals` makes an environment for it"
            ) from error
    return _calibrated(factor, oracle, Xs, truths)


def _calibrated(
    factor: Floats,
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
) -> Metric:
    """A metric with its best penalty."""
    calibration = calibrate(oracle, [X @ factor for X in Xs], truths, weights)
    return Metric(factor, calibration.penalty)


def _sum(terms: Iterable[Floats], weights: Floats | None) -> Floats:
    """The sum over samples, weighted."""
    stacked = np.array(list(terms))
    return np.asarray(stacked.sum(axis=0) if weights is None else np.tensordot(weights, stacked, 1))


def grid(
    decoder: CutDecoder,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    weights: Floats | None = None,
) -> CutMetric:
    """For cuts of graphs: a scale of appearance and one of position, by exhaustive search.

    The rival of Lajugie et al., section "Image Segmentation"; see
    :func:`structsvm.graph_cuts.metric.grid_metric`.
    """
    return grid_metric(decoder, graphs, truths, weights)


NAMES = ("untrained", "pca", "rca", "lda", "mmc", "lmnn", "nca", "itml", "grid")
"""Of the metrics that :func:`fit` makes; the last one is for cuts of graphs."""


@overload
def fit(
    name: Literal["grid"],
    oracle: CutDecoder,
    Xs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    **settings: Any,
) -> CutMetric: ...


@overload
def fit(
    name: str,
    oracle: Oracle,
    Xs: Sequence[Floats],
    truths: Sequence[EquivalenceMatrix],
    **settings: Any,
) -> Metric: ...


def fit(name: str, oracle: Any, Xs: Any, truths: Any, **settings: Any) -> Any:
    """One of the metrics by name, tuned on labelled samples.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.
    oracle : Oracle or CutDecoder
        The decoder of the problem.
    Xs : sequence of arrays (T_i, P), or of FeatureGraph
        Standardised.
    truths : sequence of EquivalenceMatrix, or of NodeLabels
    **settings
        Of the function of that name, or of the class in metric-learn. All but the latter take
        ``weights`` (N,): a weight of 2 stands for a sample that is there twice.
    """
    own: dict[str, Callable[..., Any]] = {
        "grid": grid,
        "untrained": untrained,
        "pca": pca,
        "rca": rca,
        "lda": lda,
    }
    if name in own:
        return own[name](oracle, Xs, truths, **settings)
    if name not in NAMES:
        raise SettingsError(f"a baseline is one of {NAMES}, got {name!r}")
    return metric_learn(oracle, Xs, truths, name, **settings)
