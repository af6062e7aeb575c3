"""What a learner has learned, in plain words and numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions.traits import RECORDINGS, Words
from structsvm.solution import Solution

__all__ = [
    "certificate_in_words",
    "eigenvalues",
    "feature_names",
    "feature_weights",
    "heaviest_directions",
    "scaled_metric",
    "spectrum_in_words",
    "spread_in_words",
    "training_in_words",
]

Floats = NDArray[np.float64]


def feature_names(learner: MetricLearner) -> list[str]:
    """Names of the features: x0, x1, ... if the recordings did not name them."""
    check_is_fitted(learner)
    unnamed = [f"x{j}" for j in range(learner.n_features_in_)]
    return [str(name) for name in getattr(learner, "feature_names_in_", unnamed)]


def feature_weights(learner: MetricLearner) -> Floats:
    """How much each feature counts against the price of a segment, (P,); untrained, all are 1.

    The diagonal of ``B / penalty``, in units of the untrained metric with its best penalty.
    """
    check_is_fitted(learner)
    diagonal = np.einsum("rp,rp->p", learner.components_, learner.components_)
    return np.asarray(diagonal * _unit(learner))


def scaled_metric(learner: MetricLearner) -> Floats:
    """``B / penalty`` in units of the untrained metric with its best penalty, (P, P).

    The untrained one is the identity; the diagonal is :func:`feature_weights`.
    """
    check_is_fitted(learner)
    return np.asarray(learner.components_.T @ learner.components_ * _unit(learner))


def eigenvalues(learner: MetricLearner) -> Floats:
    """Of :func:`scaled_metric`, the largest first, (P,); those beyond the rank are zero."""
    check_is_fitted(learner)
    values = np.zeros(learner.n_features_in_)
    found = np.linalg.svd(learner.components_, compute_uv=False)[: values.size] ** 2
    values[: found.size] = found * _unit(learner)
    return values


def heaviest_directions(learner: MetricLearner, n: int) -> tuple[list[str], Floats]:
    """Names and vectors of the ``n`` heaviest directions, (n, P), fewer if the rank is lower.

    A direction of a single feature has its name. A standardised recording is projected by
    ``X @ directions.T``.
    """
    check_is_fitted(learner)
    directions, names = learner.components_, feature_names(learner)
    top = np.argsort(-np.einsum("rp,rp->r", directions, directions), kind="stable")[:n]
    alone = [np.flatnonzero(directions[r]) for r in top]
    titles = [
        names[inside[0]] if inside.size == 1 else f"direction {i}"
        for i, inside in enumerate(alone, 1)
    ]
    return titles, directions[top]


def spectrum_in_words(learner: MetricLearner) -> str:
    """Among how many directions the metric is spread."""
    check_is_fitted(learner)
    values = np.asarray(np.linalg.svd(learner.components_, compute_uv=False) ** 2, dtype=np.float64)
    return f"rank {values.size} of {learner.n_features_in_}; {spread_in_words(values)}"


def spread_in_words(eigenvalues: Floats) -> str:
    """Among how many of its directions a metric is spread, given its eigenvalues, decreasing."""
    share = np.cumsum(eigenvalues) / eigenvalues.sum()
    half, most = (int(np.searchsorted(share, part - 1e-12)) + 1 for part in (0.5, 0.9))
    return f"{_directions(half)} half of the metric, {most} carr{'ies' if most == 1 else 'y'} 90 %"


def certificate_in_words(solution: Solution) -> str:
    """How far from the best metric the learned one can be."""
    how = solution.bound if "certified" in solution.bound else f"certified {solution.bound}"
    missing = 100 * max(solution.gap, 0.0)
    return (
        f"at most {missing:.2g} % of what learning can gain is missing ({how}): "
        f"the objective is {solution.upper:.6g}, no metric has less than {solution.lower:.6g}, "
        f"the null metric has {solution.null:.6g}"
    )


def training_in_words(data: TrainingSummary, words: Words = RECORDINGS) -> str:
    """What the metric was learned on: recordings with segments, or tables with clusters."""
    sizes, parts = _range(data.n_samples), _range(data.n_clusters)
    each = f"{words.wholes(len(data))} of {sizes} {words.item}s and {parts} {words.part}s"
    if len(data) == 1:
        return each
    return (
        f"{each}, {sum(data.n_samples)} {words.item}s and {sum(data.n_clusters)} "
        f"{words.part}s in all"
    )


def _unit(learner: MetricLearner) -> float:
    """What ``B`` is multiplied by to be compared with the untrained metric."""
    return float(learner.baselines_["untrained"].penalty / learner.penalty_)


def _directions(n: int) -> str:
    return "1 direction carries" if n == 1 else f"{n} directions carry"


def _range(values: tuple[int, ...]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"
