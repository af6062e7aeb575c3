"""How often changes of a given margin are right, estimated on held-out recordings."""

from math import inf
from typing import Any

import numpy as np

from structsvm.data import Instance
from structsvm.errors import DataError, SettingsError
from structsvm.evaluation.splits import split_instances
from structsvm.learner import Learner
from structsvm.learner.change_tracker import ChangeTracker, Rise
from structsvm.learner.preparing import read_training
from structsvm.partitions import (
    ChangeLevels,
    Constraint,
    EquivalenceMatrix,
    FalseAlarms,
    MarginRates,
)
from structsvm.partitions.margins import hits
from structsvm.support import refuse_below

MAX_CANDIDATES = 256


def margin_rates(
    learner: Learner,
    Xs: Any,
    ys: Any = None,
    *,
    groups: Any = None,
    cv: Any = 5,
    tolerance: int = 5,
) -> MarginRates:
    """Estimate from labelled recordings how often changes of a given margin are right.

    Every recording is segmented by a model learned from the other folds, which also says how much
    worse the best segmentation with each true change is, and, where the method can, segments it
    once more as its samples arrive. Assign the result to ``learner.margin_rates_``:
    :meth:`MetricLearner.predict_segments` then gives a rate for each change, and ranges of samples
    for a level, :meth:`MetricLearner.stream` alarms at a rate of false ones, and model files store
    it.

    Parameters
    ----------
    learner : MetricLearner or another learner with margins
        Fitted or not; it is cloned.
    Xs, ys, groups : as for :meth:`MetricLearner.fit`
        Recordings that are labelled in part are learned from only.
    cv : int or splitter
        As for :class:`MetricLearnerCV`.
    tolerance : int
        A change is right if a labelled one is within so many samples; the margin is against the
        best segmentation without a change within so many samples.

    Raises
    ------
    DataError, SettingsError
        If partitions are not segmentations, nothing can be held out, no recording is labelled in
        full, or no change is found.
    LearningError
        If nothing can be learned without one of the folds.

    Examples
    --------
    >>> from structsvm import MetricLearner, margin_rates
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(6, n_samples=200, n_features=4, n_relevant=2, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs[:5], ys[:5])
    >>> learner.margin_rates_ = margin_rates(learner, Xs[:5], ys[:5], cv=2)
    >>> all(0 < segment["rate"] < 1 for segment in learner.predict_segments(Xs[5:])[0][1:])
    True
    """
    refuse_below(0, "tolerance", tolerance)
    data = read_training(learner, Xs, ys, groups=groups)
    words = data.problem.traits.words
    if not data.problem.traits.contiguous:
        raise DataError(f"margins are those of changes, and a {words.whole} has none")
    split = split_instances(None, data, cv, getattr(learner, "random_state", None))
    margins = []
    right = []
    excess = []
    of_groups = []
    alarms = []
    for fitted, instance, labels, group in split.held_out_by(learner):
        if labels.truth is None:
            continue
        question = data.problem, instance, Constraint(fitted.model_.n_parts)
        of_changes, of_instance = fitted.model_.margins(*question, tolerance)
        unit = fitted.model_.unit
        margins.append(of_instance / unit)
        right.append(hits(of_changes.partition, labels.truth, tolerance))
        true = labels.truth.boundaries[1:-1]
        excess.append(fitted.model_.losses_with(*question, true) / unit)
        of_groups.append(group)
        alarms.append(_false_alarms(fitted, instance, labels.truth, tolerance))
    if not margins:
        raise DataError(f"no {words.whole} is labelled in full: margins need all changes of some")
    rates = np.concatenate(margins), np.concatenate(right), tolerance, len(data)
    levels = ChangeLevels.of(excess, of_groups)
    return MarginRates.of(*rates, levels, FalseAlarms.of(alarms))


def _false_alarms(
    learner: Learner, instance: Instance, truth: EquivalenceMatrix, tolerance: int
) -> FalseAlarms | None:
    """False alarms of a stream over the recording; None if the method cannot stream."""
    if max(learner.inputs_.reach) == inf:
        return None
    try:
        search = learner.model_.online(learner.problem_, MAX_CANDIDATES)
    except SettingsError:
        return None
    rises: list[Rise] = []
    tracker = ChangeTracker(search, tolerance, inf, rises=rises)
    samples = instance.states if learner.model_.keeps_states else instance.X
    for row in learner.model_.online_rows(np.asarray(samples))[:, None]:  # one by one
        tracker.after(row)
    true = truth.boundaries[1:-1]
    is_near = np.abs(np.array([one.place for one in rises])[:, None] - true) <= tolerance
    spans = np.array([one[:2] for one in rises]).reshape(-1, 2) / learner.model_.unit
    n_found = int(is_near.any(axis=0).sum())
    return FalseAlarms(spans[~is_near.any(axis=1)], instance.n_samples, n_found, true.size)
