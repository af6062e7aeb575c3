"""What a learner has learned, in plain words and numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.fitted import feature_names, n_metric_features
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions.traits import RECORDINGS, Words
from structsvm.solution import Solution

__all__ = [
    "certificate_in_words",
    "eigenvalues",
    "feature_weights",
    "heaviest_directions",
    "scaled_metric",
    "spectrum_in_words",
    "spread_in_words",
    "training_in_words",
    "unit_in_words",
]

Learner = MetricLearner | CutLearner
Floats = NDArray[np.float64]


def feature_weights(learner: Learner) -> Floats:
    """How much each feature counts against the price of a segment, (P,); untrained, all are 1.

    The diagonal of ``B / penalty``, in units of the untrained metric with its best penalty. A cut
    has no price: there it is the diagonal of ``B`` in units of where learning started.
    """
    components, unit = _scaled(learner)
    return np.asarray(np.einsum("rp,rp->p", components, components) * unit)


def scaled_metric(learner: Learner) -> Floats:
    """``B / penalty`` in units of the untrained metric with its best penalty, (P, P).

    The untrained one is the identity; the diagonal is :func:`feature_weights`.
    """
    components, unit = _scaled(learner)
    return np.asarray(components.T @ components * unit)


def eigenvalues(learner: Learner) -> Floats:
    """Of :func:`scaled_metric`, the largest first, (P,); those beyond the rank are zero."""
    components, unit = _scaled(learner)
    values = np.zeros(n_metric_features(learner))
    found = np.linalg.svd(components, compute_uv=False) ** 2
    values[: found.size] = found * unit
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
    return f"rank {values.size} of {n_metric_features(learner)}; {spread_in_words(values)}"


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


def unit_in_words(learner: Learner) -> str:
    """What the weight of a feature is measured against."""
    check_is_fitted(learner)
    if isinstance(learner, CutLearner):
        return "where learning started"
    return f"the price of a {learner.problem_.words.part}"


def _scaled(learner: Learner) -> tuple[Floats, float]:
    """``L^T`` of features in which the untrained metric is a multiple of the identity, (rank, P).

    And what their metric is multiplied by to be compared with the untrained one.
    """
    check_is_fitted(learner)
    start = learner.baselines_["untrained"].factor
    scale = np.sqrt(np.einsum("pr,pr->p", start, start))
    scale[scale == 0] = 1.0  # a feature without influence, in the learned metric as well
    components: Floats = learner.components_ / scale
    if isinstance(learner, CutLearner):
        return components, 1.0
    return components, float(learner.baselines_["untrained"].penalty / learner.penalty_)


def _directions(n: int) -> str:
    return "1 direction carries" if n == 1 else f"{n} directions carry"


def _range(values: tuple[int, ...]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"
