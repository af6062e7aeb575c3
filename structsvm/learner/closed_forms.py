"""Metrics in closed form, which minimise no objective: what a learned one has to beat."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from structsvm.data import sum_arrays
from structsvm.errors import LearningError, SettingsError, parameter
from structsvm.partitions import EquivalenceMatrix, Examples, Metric, PartitionProblem, Traits
from structsvm.partitions.learning import Whitening, within_whitening
from structsvm.partitions.metric import Calibration
from structsvm.partitions.training_instance import Instances, Truths
from structsvm.problem import Status, metric_factor
from structsvm.support import Floats, refuse_unlisted, stage

__all__ = ["NAMES", "fit"]
LEADING = 32  # directions of OLDA in which a metric is learned, at most


def fit(
    name: str,
    problem: PartitionProblem,
    instances: Instances,
    truths: Truths,
    *,
    weights: Floats | None = None,
    shrinkage: float | None = None,
) -> Metric:
    """One of the metrics by name, tuned on labelled instances.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`, or one that the problem makes itself, such as "grid" for normalized
        cuts.
    instances : sequence of Instance
        Standardised, as ``interop.prepare(learner, Xs)`` gives them.
    weights : array of shape (N,), optional
        A weight of 2 stands for an instance that is there twice.
    shrinkage : float, optional
        Of the covariance within clusters; by default 0.5, and 0.001 for "lda".
    """
    data = Examples(instances, truths, np.empty(0) if weights is None else weights)
    return tuned(name, problem, data, shrinkage)[1]


def tuned(
    name: str, problem: PartitionProblem, data: Examples, shrinkage: float | None = None
) -> tuple[Calibration, Metric]:
    """The calibration of the price of a metric by name, and the metric with this price."""
    traits = problem.traits
    refuse_metric(name, traits)
    if name == "pca":
        return _pca(problem, data)
    factor: Floats | None
    if name in SHRUNK:
        factor = SHRUNK[name](data, **({} if shrinkage is None else {"shrinkage": shrinkage}))
    else:
        factor = problem.closed_form(name, data)
    if factor is None:
        raise SettingsError(f"{type(problem).__name__}.closed_form makes no {name!r}")
    if not factor.any():
        part = traits.words.part
        raise LearningError(
            f"the labelled {part}s have the same means, so that the metric is zero: check the "
            f"labels, or use features in which the {part}s differ",
            Status.CLOSED_FORM,
        )
    calibration = problem.calibrate(factor, data)
    return calibration, calibration.metric(factor)


def _pca(problem: PartitionProblem, data: Examples) -> tuple[Calibration, Metric]:
    """The leading principal components, as many (1, 2, 4, ...) as have the least training loss."""
    scatter = sum_arrays("measuring the samples", _scatter, data.arrays, data.weights)
    vectors = np.linalg.eigh(scatter)[1][:, ::-1]
    P = vectors.shape[0]
    ranks = [2**k for k in range(max(1, int(np.log2(P)) + 1)) if 2**k < P or P == 1]
    calibrations = [
        (problem.calibrate(vectors[:, :rank], data), rank) for rank in stage("ranks of PCA", ranks)
    ]
    calibration, rank = min(calibrations, key=lambda pair: pair[0].merit)
    return calibration, calibration.metric(vectors[:, :rank])


def _lda(data: Examples, shrinkage: float = 1e-3) -> Floats:
    """Linear discriminant analysis: RCA on the subspace that the centres of the clusters span."""
    whitening = within_whitening(data, shrinkage)
    labelled = (data.arrays, data.weights, data.truths)
    between = sum_arrays("measuring the samples", _between, *labelled)
    between = whitening @ between @ whitening
    rank = min(sum(M.n_clusters - 1 for M in data.truths), whitening.shape[0])
    return np.asarray(whitening @ np.linalg.eigh(between)[1][:, ::-1][:, : max(rank, 1)])


def _olda(data: Examples, shrinkage: float = 0.5) -> Floats:
    """Ordinal linear discriminant analysis (McFee and Ellis, ICASSP 2014): ``B = C^-1 S C^-1``.

    S is the scatter between neighbouring segments, and C the covariance of RCA: less shrunk, B
    depends on directions in which few labels happen to vary little.
    """
    whitening = within_whitening(data, shrinkage)
    labelled = (data.arrays, data.weights, data.truths)
    between = sum_arrays("measuring the samples", _between_neighbours, *labelled)
    between /= data.weights @ [instance.n_samples for instance in data.instances]
    return np.asarray(whitening @ metric_factor(whitening @ between @ whitening))


def leading_olda(data: Examples) -> Floats:
    """The leading directions of OLDA, each as long as the square root of its weight."""
    factor = _olda(data)
    if not factor.any():
        raise LearningError(
            "no labelled change is within a stretch of labels, or the segments on its sides have "
            "the same means, so that OLDA has no directions to learn in: leave "
            + parameter("whiten", "olda")
            + " out, or label the samples on both sides of changes",
            Status.CLOSED_FORM,
        )
    return factor[:, :LEADING]


def whitening_of(whiten: Any) -> Whitening | None:
    """The function that computes a whitening: "olda", RCA with a shrinkage, or None for none."""
    if whiten is None:
        return None
    return leading_olda if whiten == "olda" else partial(within_whitening, shrinkage=float(whiten))


def _between_neighbours(X: Floats, M: EquivalenceMatrix) -> Floats:
    """The scatter of the means of each two neighbouring segments from their common one, (P, P)."""
    sizes = M.sizes
    jumps = np.diff(M.project(X) / np.sqrt(sizes)[:, None], axis=0)
    return np.asarray((jumps.T * (sizes[:-1] * sizes[1:] / (sizes[:-1] + sizes[1:]))) @ jumps)


def _scatter(X: Floats) -> Floats:
    deviations = X - X.mean(axis=0)
    return np.asarray(deviations.T @ deviations)


def _between(X: Floats, M: EquivalenceMatrix) -> Floats:
    return M.gram(X - X.mean(axis=0))


SHRUNK: dict[str, Callable[..., Floats]] = {"rca": within_whitening, "lda": _lda, "olda": _olda}
"""Closed forms that divide by a covariance, which is shrunk."""
NAMES = ("untrained", "pca", *SHRUNK)


def names_for(traits: Traits) -> tuple[str, ...]:
    """The closed forms of a problem; clusters of graphs have no means, which most forms need."""
    of_rows = () if traits.words.of_graphs else ("pca", "rca", "lda")
    of_neighbours = ("olda",) if traits.contiguous else ()
    return tuple(dict.fromkeys(["untrained", *of_rows, *of_neighbours, *traits.baselines]))


def refuse_metric(name: Any, traits: Traits, others: Sequence[str] = ()) -> None:
    """Refuse a name that is no closed form of the problem, and none of ``others``."""
    names = (*others, *names_for(traits))
    if name == "olda" and "olda" not in names:
        way_out = ": use lda" if "lda" in names else ""
        raise SettingsError(
            f"olda compares neighbouring segments, and {traits.words.part}s of a "
            f"{traits.words.whole} have no neighbours{way_out}"
        )
    refuse_unlisted("metric", name, names)
