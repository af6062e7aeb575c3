"""A classifier of boundaries, which sees means before and after a sample, and its peaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from structsvm.data import Instance, units_of
from structsvm.features.scores import (
    DISTANCE,
    SPREAD,
    LearnsBoundaries,
    peaks_of,
    read_boundaries,
    sums_of,
)
from structsvm.learner.frame_learner import FrameLearner, Scored, losses_of, stretches_to_tune_on
from structsvm.partitions import Constraint, EquivalenceMatrix, Found, Model, PartitionProblem
from structsvm.support import Floats

USUAL_SETTING = (SPREAD, 0.5, DISTANCE)
"""Spread, threshold and distance if no recording can be held out to choose by."""
SPREADS = (0, 1, 2, 3, 4, 6)  # spreads to choose from, see SPREAD
DISTANCES = (1, 2, 3, 5, 8, 12)  # distances to choose from, see DISTANCE
QUANTILES = np.linspace(0.5, 0.995, 34)
"""The thresholds to choose from, as quantiles of the sums at held-out samples."""


@dataclass(eq=False, repr=False)
class BoundaryClassifier(FrameLearner, LearnsBoundaries):
    """A classifier of boundaries, learned from change points, whose peaks are the changes.

    The classifier sees, for each sample, the means of the windows before and after it, how they
    differ, and the samples next to it; it learns whether a segment begins within ``tolerance``
    samples. Its probabilities are summed over a few samples with falling weights; a boundary is a
    peak of the sums above a threshold. Spread, threshold and distance between peaks are chosen on
    held-out recordings, like the price of :class:`FrameClassifier`.

    Parameters
    ----------
    estimator, n_folds, standardize, random_state
        As for :class:`structsvm.features.StateScores`.
    widths : sequence of int
        Widths of the windows in samples.
    tolerance : int
        Samples on either side of a boundary that count as boundaries in training.

    Attributes
    ----------
    spread_ : int
        Samples on either side whose probabilities are added.
    threshold_ : float
        A boundary has a sum above it.
    distance_ : int
        A boundary has the largest sum among so many samples on either side.
    loss_ : float
        Mean loss of this setting on held-out recordings; NaN if none can be held out.

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

    problem: PartitionProblem | str | None = None

    called = "the boundary classifier"

    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> Scored:
        recipe = self._recipe()
        states = read_boundaries(ys, Xs, recipe.owner)
        stretches = stretches_to_tune_on(states.codes, recipe.owner)
        held_out, fold, self.models_ = recipe.learn(Xs, states, groups, self._near(states))
        return Scored(held_out, stretches, fold, states.codes, units_of(groups, len(Xs))[1])

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        probabilities = [part.of(scored.probabilities)[:, 1] for part in scored.known]

        @cache  # many settings pick the same peaks
        def loss(i: int, ends: tuple[int, ...]) -> float:
            return float(losses_of([scored.known[i].truth], [[list(ends)]])[0, 0])

        choices: list[tuple[int, float, int]] = []
        by_price = []
        for spread, distance in product(SPREADS, DISTANCES):
            sums = [sums_of(p, spread) for p in probabilities]
            thresholds = np.unique(np.quantile(np.concatenate(sums), QUANTILES)).tolist()
            choices += [(spread, t, distance) for t in thresholds]
            of_each = []
            for i, total in enumerate(sums):
                where, heights = peaks_of(total, distance)
                ends = [(*where[heights > t].tolist(), total.size) for t in thresholds]
                of_each.append([loss(i, one) for one in ends])
            by_price.append(np.array(of_each).T)
        return choices, np.vstack(by_price)

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> "Peaks":
        """The model with the setting of least held-out loss."""
        (self.spread_, self.threshold_, self.distance_) = USUAL_SETTING
        self.loss_ = np.nan
        if scored.is_tunable:
            means = losses.mean(axis=1)
            self.spread_, self.threshold_, self.distance_ = choices[int(means.argmin())]
            self.loss_ = float(means.min())
        return Peaks(self.spread_, self.threshold_, self.distance_)


@dataclass(frozen=True)
class Peaks(Model):
    """Boundaries at peaks of sums of neighbouring probabilities."""

    spread: int
    threshold: float
    distance: int

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """Segments that begin at peaks above the threshold, or at the K - 1 highest peaks."""
        ends = self._ends(np.asarray(instance.states)[:, 1], constraint.n_clusters)
        return Found(EquivalenceMatrix.from_breakpoints(ends))

    def _ends(self, p: Floats, K: int | None) -> list[int]:
        sums = sums_of(p, self.spread)
        where, heights = peaks_of(sums, self.distance)
        if K is None:
            return [*where[heights > self.threshold].tolist(), sums.size]
        # The K - 1 highest peaks, and other samples if there are fewer peaks.
        is_peak = np.zeros(sums.size, dtype=bool)
        is_peak[where] = True
        order = np.lexsort((np.arange(sums.size), -sums, ~is_peak))
        chosen = [t for t in order.tolist() if t > 0][: K - 1]
        return [*sorted(chosen), sums.size]
