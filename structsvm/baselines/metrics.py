"""Metrics that need no structured learning: what a learned one has to beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structsvm.data.sample import sum_of_each
from structsvm.errors import SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import Examples, Samples, Truths, within_whitening
from structsvm.partitions.metric import Metric, metric_factor
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Floats
from structsvm.support.progress import stage

__all__ = ["NAMES", "fit"]


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
        cuts.
    samples : sequence of Sample
        Standardised, as ``interop.prepare(learner, Xs)`` gives them.
    weights : array of shape (N,), optional
        A weight of 2 stands for a sample that is there twice.
    **settings
        Of the metric of that name: ``shrinkage`` of those in closed form.
    """
    data = Examples(samples, truths, np.empty(0) if weights is None else weights)
    if name == "untrained":
        return problem.learning.untrained(data, **settings)
    if name == "pca":
        return _pca(problem, data)
    if name in OWN:
        factor = closed_form(name, problem, data, **settings)
        return problem.learning.calibrate(factor, data).metric(factor)
    found = problem.comparison.baseline(name, data)
    if found is None:
        raise SettingsError(f"a baseline of this problem is one of {NAMES}, got {name!r}")
    return found


def closed_form(name: str, problem: PartitionProblem, data: Examples, **settings: Any) -> Floats:
    """The factor of one of :data:`OWN`, (P, r), whose price is calibrated then."""
    traits = problem.traits
    if name == "olda" and not traits.contiguous:
        raise SettingsError(
            f"olda compares neighbouring segments, and {traits.words.part}s of a "
            f"{traits.words.whole} have no neighbours: use lda"
        )
    return OWN[name](data, **settings)


def _pca(problem: PartitionProblem, data: Examples) -> Metric:
    """The leading principal components, as many (1, 2, 4, ...) as calibrate best."""
    scatter = sum_of_each("measuring the samples", _scatter, data.arrays, data.weights)
    vectors = np.linalg.eigh(scatter)[1][:, ::-1]
    P = vectors.shape[0]
    ranks = [2**k for k in range(max(1, int(np.log2(P)) + 1)) if 2**k < P or P == 1]
    found = [
        (problem.learning.calibrate(vectors[:, :rank], data), rank)
        for rank in stage("ranks of PCA", ranks)
    ]
    calibration, rank = min(found, key=lambda pair: pair[0].merit)
    return calibration.metric(vectors[:, :rank])


def _lda(data: Examples, shrinkage: float = 1e-3) -> Floats:
    """Linear discriminant analysis: RCA on the subspace that the centres of the clusters span."""
    whitening, given = within_whitening(data, shrinkage), (data.arrays, data.weights, data.truths)
    between = sum_of_each("measuring the samples", _between, *given)
    between = whitening @ between @ whitening
    rank = min(sum(M.n_clusters - 1 for M in data.truths), whitening.shape[0])
    return np.asarray(whitening @ np.linalg.eigh(between)[1][:, ::-1][:, : max(rank, 1)])


def _olda(data: Examples, shrinkage: float = 0.5) -> Floats:
    """Ordinal linear discriminant analysis (McFee and Ellis, ICASSP 2014): ``B = C^-1 S C^-1``.

    S is the scatter between neighbouring segments, and C the covariance of RCA: less shrunk, B
    depends on directions in which few labels happen to vary little.
    """
    whitening, given = within_whitening(data, shrinkage), (data.arrays, data.weights, data.truths)
    between = sum_of_each("measuring the samples", _of_changes, *given)
    between /= data.weights @ [sample.n_samples for sample in data.samples]
    return np.asarray(whitening @ metric_factor(whitening @ between @ whitening))


def _of_changes(X: Floats, M: EquivalenceMatrix) -> Floats:
    """The scatter of the means of each two neighbouring segments from their common one, (P, P)."""
    sizes = M.sizes
    jumps = np.diff(M.project(X) / np.sqrt(sizes)[:, None], axis=0)
    return np.asarray((jumps.T * (sizes[:-1] * sizes[1:] / (sizes[:-1] + sizes[1:]))) @ jumps)


def _scatter(X: Floats) -> Floats:
    deviations = X - X.mean(axis=0)
    return np.asarray(deviations.T @ deviations)


def _between(X: Floats, M: EquivalenceMatrix) -> Floats:
    return M.gram(X - X.mean(axis=0))


OWN: dict[str, Callable[..., Floats]] = {"rca": within_whitening, "lda": _lda, "olda": _olda}
"""The factor of each in closed form."""
NAMES = ("untrained", "pca", *OWN)
