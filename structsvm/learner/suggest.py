"""Which stretch of a recording to label next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.errors import OracleError, SettingsError
from structsvm.learner.steps import Fitted, prepare
from structsvm.partial_labels.complete import read_labels
from structsvm.partitions.margins import asked_for_changes
from structsvm.partitions.oracle import Constraint, Oracle, Region, TraceObjective
from structsvm.support.tables import each_in_order


@dataclass(frozen=True)
class Suggestion:
    """A stretch of a recording about which the metric is uncertain."""

    recording: int
    """Its index in ``Xs``."""
    start: int
    end: int
    margin: float
    """By how much the best segmentation is better than the best one with another number of changes
    in the stretch, in units of the penalty of a segment."""


def suggest_labels(
    learner: Fitted, Xs: Any, ys: Any = None, *, length: int, n: int = 1
) -> list[Suggestion]:
    """Return the stretches about which the learned metric is least certain.

    These have the smallest margin between the best segmentation of the recording and the best one
    with another number of changes in the stretch (by up to two), both exact. They serve to examine
    the model: labelling them was measured to be worse than labelling at random (docs/results.md).

    Parameters
    ----------
    Xs : list of arrays of shape (T_i, P)
    ys : list of labels, optional
        Known labels, as for :meth:`structsvm.MetricLearner.fit`, with ``PartialLabels()`` for a
        recording without labels.
    length : int
        Number of samples of a stretch, at least 2; a shorter recording is one stretch.
    n : int
        Number of stretches, in different recordings if there are enough of them.

    Returns
    -------
    list of Suggestion
        The least certain first; fewer than ``n`` if less is left to label.

    Raises
    ------
    SettingsError
        When the problem is not about segments.

    Examples
    --------
    >>> from structsvm import MetricLearner, suggest_labels
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs[:3], ys[:3])
    >>> (stretch,) = suggest_labels(learner, Xs[3:], length=40)
    >>> stretch.recording, stretch.end - stretch.start
    (0, 40)
    """
    if length < 2 or n < 1:
        raise SettingsError(f"length must be >= 2 and n >= 1, got {length} and {n}")
    problem = learner.problem_
    if not problem.traits.contiguous:
        raise SettingsError(f"suggestions are for segments of recordings, not {problem!r}")
    samples = prepare(learner, Xs)
    constraints = [Constraint()] * len(samples)
    if ys is not None:
        labels = read_labels(problem, samples, each_in_order(ys, Xs))
        known = [Constraint(forbidden=tuple(range(1, y.n_samples))) for y in labels]
        pairs = zip(labels, known, strict=True)
        constraints = [y.constraint if y.truth is None else whole for y, whole in pairs]
    metric = learner.metric_
    assert metric.price is not None
    scale = max(metric.price, np.finfo(float).tiny)
    by_recording: list[tuple[int, Suggestion]] = []
    for i, (x, constraint) in enumerate(zip(samples, constraints, strict=True)):
        oracle = asked_for_changes(problem, x, "regions")
        objective = problem.decoding_objective(x, metric)
        found = _margins(i, oracle, objective, constraint, length)
        mine: list[Suggestion] = []
        for one in sorted(found, key=lambda s: s.margin):
            if all(one.end <= s.start or s.end <= one.start for s in mine):
                mine.append(replace(one, margin=one.margin / scale))
        by_recording += enumerate(mine)
    # A second stretch of a recording comes only after the first of all others.
    return [one for _, one in sorted(by_recording, key=lambda pair: (pair[0], pair[1].margin))][:n]


def _margins(
    i: int, oracle: Oracle, objective: TraceObjective, constraint: Constraint, length: int
) -> list[Suggestion]:
    """Every stretch of a recording in which anything is left to label, margins not in units."""
    T = objective.n_samples
    if T < 2:
        return []
    fixed = np.zeros(T + 1, dtype=np.bool_)
    fixed[list(constraint.forced + constraint.forbidden)] = True
    best = oracle.ask(objective, constraint)
    last = max(T - length, 0)
    found = []
    for start in sorted({*range(0, last + 1, max(length // 2, 1)), last}):
        end = min(start + length, T)
        if fixed[start + 1 : end].mean() > 0.5:
            continue  # labelled for the most part
        inside = (best.y.boundaries > start) & (best.y.boundaries < end)
        other = _best_with_another_count(
            oracle, objective, constraint, Region(start + 1, end, int(inside.sum()))
        )
        if np.isfinite(other):
            found.append(Suggestion(i, start, end, best.value - other))
    return found


def _best_with_another_count(
    oracle: Oracle, objective: TraceObjective, constraint: Constraint, now: Region
) -> float:
    """The largest value with another number of changes in a region; -inf if there is none."""
    values = [-np.inf]
    near = range(max(now.changes - 2, 0), now.changes + 3)
    others = [replace(now, changes=changes) for changes in near if changes != now.changes]
    if now.changes == 0:
        others = [replace(now, changes=1, or_more=True)]
    for other in others:
        limited = replace(constraint, regions=(*constraint.regions, other))
        try:
            values.append(oracle.ask(objective, limited).value)
        except OracleError:  # the labels rule it out
            continue
    return max(values)
