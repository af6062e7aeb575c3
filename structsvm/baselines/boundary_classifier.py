"""A classifier of boundaries, by the difference of what is before and after, and its peaks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, Self

import numpy as np

from structsvm.baselines.segmenter import FrameSegmenter, mean_loss, stretches_to_tune_on
from structsvm.features.base import read_recordings
from structsvm.features.boundaries import (
    DISTANCE,
    SPREAD,
    LearnsBoundaries,
    peaks_of,
    read_boundaries,
    sums_of,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats
from structsvm.support.frames import each_in_order

DISTANCES = (1, 2, 3, 5, 8, 12)
"""Samples between two peaks, at least, to choose from."""

USUAL = (SPREAD, 0.5, DISTANCE)
"""Spread, threshold and distance where nothing can be held out to choose by."""

SPREADS = (0, 1, 2, 3, 4, 6)
"""Samples on either side whose probabilities are added, to choose from."""

QUANTILES = np.linspace(0.5, 0.995, 34)
"""Quantiles of the sums at held-out samples, which are the thresholds to choose from."""


class BoundaryClassifier(FrameSegmenter, LearnsBoundaries):
    """A classifier of boundaries, learned from change points, whose peaks are the changes.

    The classifier sees, for each sample, the means of the windows before and after it, how they
    differ, and the samples next to it; it learns whether a segment begins within ``tolerance``
    samples. Its probabilities are added over a few samples with falling weights; a boundary is a
    peak of the sums above a threshold. Spread, threshold and distance between peaks are those with
    the smallest mean loss ``|M - M_i|_F^2`` on the training recordings, each scored by a classifier
    that has not seen it, nor its group; with a single group they are 3, 0.5 and 5. Other recordings
    are scored by the mean of these classifiers and of one that learned from all.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        "boosting" by default.
    widths : sequence of int
        Of the windows, in samples.
    tolerance : int
        Samples on either side of a boundary that count as one in training.
    n_folds : int
        Lowered to the number of groups, or of recordings where there are no groups.
    standardize : {"recording", "training", None}
    random_state : int, optional
        Of the folds, and of an estimator whose ``random_state`` is None.

    Attributes
    ----------
    spread_ : int
        Samples on either side whose probabilities are added.
    threshold_ : float
        Least sum of a boundary.
    distance_ : int
        Samples on either side of which none has a larger sum.
    loss_ : float
        Their mean loss on held-out recordings, NaN where nothing can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import BoundaryClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 10)
    >>> Xs = [5.0 * (y == 1)[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    >>> baseline = BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [[10, 20, 30]] * 4)
    >>> baseline.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    """

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn, as :meth:`FrameClassifier.fit`, but for the labels.

        Parameters
        ----------
        ys : sequence of labels of each sample, (T_i,), or of breakpoints, the last being T_i
            Labels None, "" or NaN, and -1 among numbers, are unknown.
        """
        recipe, arrays = self._boundary_recipe(), read_recordings(Xs)
        states = read_boundaries(each_in_order(ys, Xs), arrays, recipe.owner)
        known = stretches_to_tune_on(states.codes, recipe.owner)
        self.spread_, self.threshold_, self.distance_ = USUAL
        self.loss_ = np.nan
        held_out, self.model_ = recipe.learn(arrays, states, groups, self._near(states))
        if held_out is not None:
            boundary = [p[:, 1] for p in held_out]
            truths = [part.truth for part in known]
            self._tune([part.of(boundary) for part in known], truths)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probability that a segment begins within ``tolerance`` of each sample, (T_i,) each."""
        return [p[:, 1] for p in self._probabilities(Xs)]

    def _ends(self, p: Floats, K: int | None) -> list[int]:
        sums = sums_of(p, self.spread_)
        where, heights = peaks_of(sums, self.distance_)
        if K is None:
            return [*where[heights > self.threshold_].tolist(), sums.size]
        # The K - 1 highest peaks, and other samples where these are too few.
        is_peak = np.zeros(sums.size, dtype=bool)
        is_peak[where] = True
        order = np.lexsort((np.arange(sums.size), -sums, ~is_peak))
        chosen = [t for t in order.tolist() if t > 0][: K - 1]
        return [*sorted(chosen), sums.size]

    def _tune(self, probabilities: list[Floats], truths: list[EquivalenceMatrix]) -> None:
        """Choose how peaks are picked."""

        @cache  # many choices pick the same peaks
        def loss(i: int, ends: tuple[int, ...]) -> float:
            return mean_loss([truths[i]], [list(ends)])

        best = np.inf
        for spread, distance in product(SPREADS, DISTANCES):
            sums = [sums_of(p, spread) for p in probabilities]
            thresholds = np.unique(np.quantile(np.concatenate(sums), QUANTILES))
            of_each = []
            for i, total in enumerate(sums):
                where, heights = peaks_of(total, distance)
                ends = [(*where[heights > t].tolist(), total.size) for t in thresholds]
                of_each.append([loss(i, found) for found in ends])
            losses = np.mean(of_each, axis=0)
            if losses.min() < best:
                best, self.spread_, self.distance_ = losses.min(), spread, distance
                self.threshold_ = float(thresholds[losses.argmin()])
        self.loss_ = float(best)
