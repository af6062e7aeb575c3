"""Classifiers of samples, smoothed by Viterbi's dynamic program, and of boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from structsvm.baselines.segmenter import (
    FrameSegmenter,
    NamedSegmenter,
    Scored,
    context_of,
    ends_of,
    losses_of,
    numbers_of,
    read_named,
    stretches_to_tune_on,
)
from structsvm.data.samples import units_of
from structsvm.errors import SettingsError
from structsvm.features.base import RecordingTransformer, read_recordings
from structsvm.features.frames import FrameRecipe, check_smoothing, probabilities_by
from structsvm.features.scores import (
    DISTANCE,
    SPREAD,
    LearnsBoundaries,
    peaks_of,
    read_boundaries,
    sums_of,
)
from structsvm.oracles.semi_markov import StateScore, best_states
from structsvm.support.arrays import Floats, Ints
from structsvm.support.tables import each_in_order

USUAL_PRICE = 3.0
"""Where nothing can be held out to choose by: with one recording of activities, 2 to 5 do alike."""

PRICES = (0.0, *np.geomspace(0.25, 64.0, 25).tolist())


class FrameClassifier(NamedSegmenter):
    """A classifier that names every sample, with smoothed names.

    The names of a recording maximise the sum of ``log(p + smoothing)`` over its samples minus a
    price for each change, the one with the smallest mean loss ``|M - M_i|_F^2`` on the training
    recordings, each scored by a classifier that has not seen it, nor its group. Other recordings
    are named by the mean of the probabilities of these classifiers and of one that learned from
    all. It needs the names of the states, and knows no others.

    Parameters
    ----------
    estimator, n_folds, standardize, random_state
        As for :class:`structsvm.features.StateScores`.
    features : RecordingTransformer, optional
        Context that the classifier sees: by default, for "boosting", samples up to a quarter of a
        typical segment away, and for others means and standard deviations of windows of a quarter,
        a half and one typical segment.
    prices : sequence of float, optional
        Those to choose from; 0 and 25 from 1/4 to 64 by default.
    smoothing : float
        Added to a probability before its logarithm is taken.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states.
    price_ : float
        The price of a change.
    prices_, losses_ : array of shape (n_prices,)
        What it was chosen from, and their mean losses on held-out recordings; NaN without any.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags
    >>> from structsvm.baselines import FrameClassifier
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.2, size=(30, 1)) for _ in range(4)]
    >>> baseline = FrameClassifier("logistic", Lags(lags=(-1, 0, 1))).fit(Xs, [y] * 4)
    >>> baseline.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    >>> baseline.predict_states(Xs[:1])[0][[0, 15]].tolist()
    ['rest', 'walk']
    """

    def __init__(
        self,
        estimator: Any = None,
        features: RecordingTransformer | None = None,
        n_folds: int = 5,
        prices: Sequence[float] | None = None,
        smoothing: float = 0.02,
        standardize: str | None = "both",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.n_folds = n_folds
        self.prices = prices
        self.smoothing = smoothing
        self.standardize = standardize
        self.random_state = random_state

    def _scored(self, Xs: Any, ys: Any, groups: Any) -> Scored:
        prices = np.asarray(PRICES if self.prices is None else self.prices, float)
        if prices.size == 0 or not (prices >= 0).all():
            raise SettingsError(f"prices must be numbers of 0 or more, got {self.prices!r}")
        check_smoothing(self.smoothing)
        arrays, states, known, sequences = read_named(Xs, ys, type(self).__name__)
        features = self.features or context_of(self.estimator, sequences)
        recipe = FrameRecipe(self, features, self.standardize)
        held_out, fold, self.models_ = recipe.learn(arrays, states, groups)
        self.classes_, self.n_features_in_ = states.classes, int(arrays[0].shape[1])
        return Scored(held_out, known, fold, states.codes, units_of(groups, len(arrays))[1])

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        if scored.probabilities is None:
            return [USUAL_PRICE], np.full((1, len(scored.known)), np.nan)
        prices = sorted({*map(float, PRICES if self.prices is None else self.prices)})
        seen = scored.seen(self.smoothing)
        found = [[ends_of(best_path(L, price)) for L in seen] for price in prices]
        return prices, losses_of([part.truth for part in scored.known], found)

    def _tune(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> None:
        if not scored.is_tunable:
            choices, losses = [USUAL_PRICE], np.array([[np.nan]])
        self.prices_, self.losses_ = np.array(choices), losses.mean(axis=1)
        # Of prices that do equally well the largest, which says the least.
        self.price_ = float(choices[-1 - int(self.losses_[::-1].argmin())])

    def _path(self, p: Floats, K: int | None) -> Ints:
        """The best states, (T,)."""
        scores = np.log(p + self.smoothing)
        return best_path(scores, self.price_, K)


def best_path(scores: Floats, price: float, n_segments: int | None = None) -> Ints:
    """Return the states that maximise the sum of their scores minus ``price`` for each change."""
    C = scores.shape[1]
    lengths, changes, ends = np.zeros((C, 2)), np.full((C, C), -float(price)), np.zeros(C)
    return best_states(StateScore(scores, lengths, changes, ends, ends), n_segments)


# ---- a classifier of boundaries, by the difference of what is before and after, and its peaks


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
    peak of the sums above a threshold. Spread, threshold and distance between peaks are chosen on
    held-out recordings, as the price of :class:`FrameClassifier` is.

    Parameters
    ----------
    estimator, n_folds, standardize, random_state
        As for :class:`structsvm.features.StateScores`.
    widths : sequence of int
        Of the windows, in samples.
    tolerance : int
        Samples on either side of a boundary that count as one in training.

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

    def _scored(self, Xs: Any, ys: Any, groups: Any) -> Scored:
        recipe, arrays = self._recipe(), read_recordings(Xs)
        states = read_boundaries(each_in_order(ys, Xs), arrays, recipe.owner)
        known = stretches_to_tune_on(states.codes, recipe.owner)
        held_out, fold, self.models_ = recipe.learn(arrays, states, groups, self._near(states))
        self.n_features_in_ = int(arrays[0].shape[1])
        return Scored(held_out, known, fold, states.codes, units_of(groups, len(arrays))[1])

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probability that a segment begins within ``tolerance`` of each sample, (T_i,) each."""
        return [p[:, 1] for p in probabilities_by(self, Xs)]

    def _labels(self, p: Floats, K: int | None) -> Ints:
        return numbers_of(self._ends(p, K))

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        sums = sums_of(seen[:, 1], self.spread_)
        where, heights = peaks_of(sums, self.distance_)
        if K is None:
            return [*where[heights > self.threshold_].tolist(), sums.size]
        # The K - 1 highest peaks, and other samples where these are too few.
        is_peak = np.zeros(sums.size, dtype=bool)
        is_peak[where] = True
        order = np.lexsort((np.arange(sums.size), -sums, ~is_peak))
        chosen = [t for t in order.tolist() if t > 0][: K - 1]
        return [*sorted(chosen), sums.size]

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        if scored.probabilities is None:
            return [USUAL], np.full((1, len(scored.known)), np.nan)
        seen = [part.of(scored.probabilities)[:, 1] for part in scored.known]

        @cache  # many choices pick the same peaks
        def loss(i: int, ends: tuple[int, ...]) -> float:
            return float(losses_of([scored.known[i].truth], [[list(ends)]])[0, 0])

        choices: list[tuple[int, float, int]] = []
        found = []
        for spread, distance in product(SPREADS, DISTANCES):
            sums = [sums_of(p, spread) for p in seen]
            thresholds = np.unique(np.quantile(np.concatenate(sums), QUANTILES)).tolist()
            choices += [(spread, t, distance) for t in thresholds]
            of_each = []
            for i, total in enumerate(sums):
                where, heights = peaks_of(total, distance)
                ends = [(*where[heights > t].tolist(), total.size) for t in thresholds]
                of_each.append([loss(i, one) for one in ends])
            found.append(np.array(of_each).T)
        return choices, np.vstack(found)

    def _tune(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> None:
        """Choose how peaks are picked."""
        (self.spread_, self.threshold_, self.distance_), self.loss_ = USUAL, np.nan
        if scored.is_tunable:
            means = losses.mean(axis=1)
            self.spread_, self.threshold_, self.distance_ = choices[int(means.argmin())]
            self.loss_ = float(means.min())
