"""How often changes with a margin are right, on recordings they were not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.copies import contents
from structsvm.errors import DataError, DataWarning, LearningError
from structsvm.evaluation.splits import folds_of
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import read_training
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.margins import MarginRates, boundary_margins, hits
from structsvm.support.checks import refuse_below
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings


def margin_rates(
    learner: MetricLearner,
    Xs: Any,
    ys: Any = None,
    *,
    groups: Any = None,
    cv: Any = 5,
    tolerance: int = 5,
) -> MarginRates:
    """Estimate from labelled recordings how often changes of a given margin are right.

    Every recording is segmented by a metric learned, with the same settings, from the recordings of
    the other folds; margins are in units of each metric's own price. Assign the result to
    ``learner.margin_rates_``: :meth:`MetricLearner.predict_segments` then gives a rate for each
    change, and model files store it.

    Parameters
    ----------
    learner : MetricLearner
        Fitted or not; it is cloned.
    Xs, ys : recordings and full labels, as for :meth:`MetricLearner.fit`
    groups : sequence of length N, optional
        Group of each recording, which is held out as a whole.
    cv : int or splitter
        As for :class:`MetricLearnerCV`; it takes as many fits as there are folds.
    tolerance : int
        A change is right if a labelled one is within so many samples; the margin is against the
        best segmentation without a change within so many samples.

    Raises
    ------
    DataError
        If partitions are not segmentations, nothing can be held out, or no change is found.
    SettingsError
        If the tolerance is not an integer >= 0, or ``cv`` divides a group.
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
    data = read_training(learner, Xs, ys, groups=groups) if not isinstance(Xs, TrainingSet) else Xs
    words = data.problem.traits.words
    if not data.problem.traits.contiguous:
        raise DataError(f"margins are those of changes, and a {words.whole} has none")
    numbers = contents([sample.data for sample in data.samples])
    folds = folds_of(
        cv, data.truths, data.groups, learner.random_state, words, data.weights, numbers
    )
    margins, right = [], []
    for k in stage("folds", list(range(len(folds)))):
        own = _learned(learner, data.at(folds.train(k)), k)
        test = data.at(folds.test(k))
        for sample, truth in zip(own.inputs_(test.samples), test.truths, strict=True):
            found, of_sample = boundary_margins(
                data.problem, sample, own.metric_, tolerance=tolerance
            )
            margins.append(of_sample)
            right.append(hits(found, truth, tolerance))
    return MarginRates.of(np.concatenate(margins), np.concatenate(right), tolerance, len(data))


def _learned(learner: MetricLearner, train: TrainingSet, k: int) -> MetricLearner:
    own: MetricLearner = clone(learner)
    with without_warnings(DataWarning, ConvergenceWarning):
        try:
            return own.fit(train)
        except LearningError as error:
            error.add_note(f"so it is without the recordings of fold {k}")
            raise
