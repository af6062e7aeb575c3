"""Estimators that segment recordings: classifiers of samples, smoothed, and of boundaries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from structsvm.data.samples import UNKNOWN, Counts, cluster_counts, units_of
from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer, Union, read_recordings
from structsvm.features.context import Columns, Lags, MovingStatistics
from structsvm.features.frames import FrameRecipe, States, check_smoothing, probabilities_by
from structsvm.features.scores import (
    DISTANCE,
    SPREAD,
    LearnsBoundaries,
    begins_of,
    peaks_of,
    read_boundaries,
    sums_of,
)
from structsvm.oracles._segments.searches import path_losses
from structsvm.oracles.semi_markov import StateScore, best_states
from structsvm.partitions.equivalence import EquivalenceMatrix, runs_of, stretches_of
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import among
from structsvm.support.tables import each_in_order

LAGS, WINDOWS = (-0.25, -0.125, 0.0, 0.125, 0.25), (0.25, 0.5, 1.0)
"""Lags, and widths of windows, that classifiers see, in typical segments."""


class Segmenter(BaseEstimator, ABC):  # type: ignore[misc]
    """Finds segments of recordings, each by itself."""

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each.

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            Exactly so many segments in each recording, in place of as many as are found.
        """
        found = map(EquivalenceMatrix.from_breakpoints, self.predict_breakpoints(Xs, n_clusters))
        return [np.array(M.labels) for M in found]

    def predict_breakpoints(self, Xs: Any, n_clusters: Counts = None) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        return [self._ends(one, K) for one, K in with_counts(self._seen(Xs), n_clusters)]

    @abstractmethod
    def _seen(self, Xs: Any) -> list[Floats]:
        """The values by which each recording is segmented, (T_i, ...)."""

    @abstractmethod
    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        """The segment ends of a recording, of K segments if K is given."""


class FrameSegmenter(Segmenter):
    """Finds segments by what a classifier says of each sample, with settings tuned on labels."""

    models_: list[Any]
    n_features_in_: int

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn the classifier, and tune the search for segments on what it has not seen.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
        ys : sequence of labels, (T_i,) each
            Names of states: text or numbers; None, "" or NaN, and -1 among numbers, for a sample
            without a name. A classifier of boundaries takes breakpoints, too, the last being T_i.
        groups : sequence of length N, optional
            Whom or what a recording is of.

        Raises
        ------
        SettingsError, DataError
            When a parameter cannot be used, or no two samples next to each other have labels.
        LearningError
            When the classifier fails, naming the fold.
        """
        scored = self._scored(Xs, ys, groups)
        nothing = np.empty((0, len(scored.known)))
        self._tune(scored, *(self._losses(scored) if scored.is_tunable else ((), nothing)))
        return self

    def fit_cross_predict(
        self, Xs: Sequence[Floats], ys: Any, groups: Any, n_clusters: Sequence[int | None]
    ) -> tuple[list[NDArray[Any]], ...]:
        """Fit, and label each training recording by what was learned from other folds alone.

        That is the classifier as well as the settings of the search for segments.

        Parameters
        ----------
        Xs, ys, groups : as for :meth:`fit`
        n_clusters : sequence of length N
            How many segments each has; None where that is not known.

        Returns
        -------
        two lists of arrays (T_i,)
            Names of states, or numbers of segments: as many as are found, and as many as are given.

        Raises
        ------
        DataError
            If there are no two groups, and as for :meth:`fit`.
        """
        scored = self._scored(Xs, ys, groups)
        if not scored.probabilities:
            raise DataError(f"{type(self).__name__}: there are no two groups to hold one out")
        choices, losses = self._losses(scored)
        self._tune(scored, choices, losses)
        without, recordings = {}, [part.recording for part in scored.known]
        for k in np.unique(scored.fold).tolist():
            others, without[k] = scored.fold[recordings] != k, copy(self)
            without[k]._tune(scored.at(others), choices, losses[:, others])
        pairs = list(zip(scored.fold.tolist(), scored.probabilities, strict=True))
        priced = [without[k]._labels(p, None) for k, p in pairs]
        counted = zip(pairs, n_clusters, strict=True)
        return priced, [without[k]._labels(p, K) for (k, p), K in counted]

    @abstractmethod
    def _scored(self, Xs: Any, ys: Any, groups: Any) -> Scored:
        """Learn from checked labels, and score the recordings by what has not seen them."""

    @abstractmethod
    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        """Choices of settings, and the loss of each on each known stretch, (n_choices, n_known)."""

    @abstractmethod
    def _tune(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> None:
        """Choose the settings; usual ones where nothing is known that was held out."""

    def _seen(self, Xs: Any) -> list[Floats]:
        return probabilities_by(self, Xs)

    @abstractmethod
    def _labels(self, p: Floats, K: int | None) -> NDArray[Any]:
        """A number or name for each sample, (T,), given the probabilities of all classes."""


class NamedSegmenter(FrameSegmenter):
    """Finds segments and names them, by the probabilities of states at each sample."""

    classes_: NDArray[Any]

    @abstractmethod
    def _path(self, p: Floats, K: int | None) -> Ints:
        """The best states, (T,), given the probabilities (T, C)."""

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probabilities of the states ``classes_`` at each sample, not smoothed, (T_i, C) each."""
        return self._seen(Xs)

    def predict_states(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the name of the state of each sample, (T_i,) each; parameters of `predict`."""
        return [self._labels(p, K) for p, K in with_counts(self.predict_proba(Xs), n_clusters)]

    def _labels(self, p: Floats, K: int | None) -> NDArray[Any]:
        return np.asarray(self.classes_[self._path(p, K)])

    def predict_segments(
        self, Xs: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[dict[str, Any]]]:
        """Return a table of segments for each recording: start, end, state, mean probability."""
        tables = []
        for p, K in with_counts(self.predict_proba(Xs), n_clusters):
            path = self._path(p, K)
            names = self.classes_[path].tolist()
            table = []
            for a, b in pairwise(runs_of(path).boundaries.tolist()):
                sure = float(p[a:b, path[a]].mean())
                table.append({"start": a, "end": b, "state": names[a], "probability": sure})
            tables.append(table)
        return tables

    def _ends(self, seen: Floats, K: int | None) -> list[int]:
        return runs_of(self._path(seen, K)).breakpoints


def with_counts(
    values: Sequence[Floats], n_clusters: Counts
) -> Iterator[tuple[Floats, int | None]]:
    """Pair the values of each recording with its number of segments or None."""
    counts = cluster_counts(n_clusters, [len(one) for one in values])
    return zip(values, counts, strict=True)


def typical_length(sequences: Sequence[Ints]) -> float:
    """The median number of samples of a segment."""
    return float(np.median(np.concatenate([runs_of(y).sizes for y in sequences])))


def context_of(estimator: Any, sequences: Sequence[Ints]) -> RecordingTransformer:
    """Features of the samples around each: lags for boosting, windows for other classifiers."""
    typical = typical_length(sequences)
    if among(estimator, (None, "boosting", "fast-boosting")):
        return Lags(sorted({round(part * typical) for part in LAGS}))
    widths = sorted({max(2, round(part * typical)) for part in WINDOWS})
    return Union(Columns(), MovingStatistics(widths, ("mean", "spread")))


def losses_of(truths: Sequence[EquivalenceMatrix], found: Sequence[Sequence[list[int]]]) -> Floats:
    """``|M - M_i|_F^2`` of the segment ends that each choice finds in each, (n_choices, n)."""
    losses = np.empty((len(found), len(truths)))
    for k, ends in enumerate(found):
        for i, (truth, path) in enumerate(zip(truths, ends, strict=True)):
            bounds = np.array([[0, *path]])
            losses[k, i] = path_losses(truth.boundaries, bounds, np.array([len(path)]))[0]
    return losses


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples of a recording, next to each other, whose segmentation is known."""

    recording: int
    start: int
    end: int
    truth: EquivalenceMatrix

    def of(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The part of what every recording has for its samples, (end - start, ...)."""
        return values[self.recording][self.start : self.end]


@dataclass(frozen=True, eq=False)
class Scored:
    """Training recordings, and what classifiers say of them that have not seen them."""

    probabilities: Sequence[Floats]
    """(T_i, C) each; none where no recording can be held out."""
    known: Sequence[Stretch]
    fold: Ints
    """In which each recording was held out, (N,)."""
    codes: Sequence[Ints]
    """Numbers of the states of each recording, (T_i,)."""
    units: Ints
    """The group of each recording, or its own number, (N,)."""

    def at(self, which: NDArray[np.bool_]) -> Scored:
        """With some of the known stretches."""
        kept = [part for part, take in zip(self.known, which.tolist(), strict=True) if take]
        return replace(self, known=kept)

    @property
    def is_tunable(self) -> bool:
        return bool(self.probabilities and self.known)

    @property
    def units_of_known(self) -> Ints:
        """The group of each known stretch, (n_known,)."""
        return self.units[[part.recording for part in self.known]]

    @property
    def sequences(self) -> list[Ints]:
        """Numbers of the states of the known stretches."""
        return [part.of(self.codes) for part in self.known]

    def seen(self, smoothing: float) -> list[Floats]:
        """Logarithms of the probabilities of the known stretches."""
        return [np.log(part.of(self.probabilities) + smoothing) for part in self.known]


def stretches_to_tune_on(begins: Sequence[Ints], owner: str) -> list[Stretch]:
    """The stretches whose segmentation is known: whole recordings, and parts of others."""
    found = [
        Stretch(i, *one)
        for i, code in enumerate(begins)
        for one in stretches_of(code != UNKNOWN, code == 1)
    ]
    if not found:
        raise DataError(
            f"{owner} is tuned on samples next to each other that have labels, and there are none: "
            "label a stretch that has a change"
        )
    return found


def read_named(
    Xs: Any, ys: Any, owner: str
) -> tuple[list[Floats], States, list[Stretch], list[Ints]]:
    """Recordings, their states, the stretches with names, and the numbers of the states there."""
    arrays = read_recordings(Xs)
    states = States.read(each_in_order(ys, Xs), arrays, owner)
    known = stretches_to_tune_on([begins_of(code, code == UNKNOWN) for code in states.codes], owner)
    return arrays, states, known, [part.of(states.codes) for part in known]


# ---- a classifier of samples, whose names are smoothed by a price for each change


USUAL_PRICE = 3.0
"""Where nothing can be held out to choose by: with one recording of activities, 2 to 5 do alike."""

PRICES = (0.0, *np.geomspace(0.25, 64.0, 25).tolist())


@dataclass(eq=False, repr=False)
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

    estimator: Any = None
    features: RecordingTransformer | None = None
    n_folds: int = 5
    prices: Sequence[float] | None = None
    smoothing: float = 0.02
    standardize: str | None = "both"
    random_state: int | None = 0

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
        prices = sorted({*map(float, PRICES if self.prices is None else self.prices)})
        seen = scored.seen(self.smoothing)
        found = [[runs_of(best_path(L, price)).breakpoints for L in seen] for price in prices]
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
        return [p[:, 1] for p in self._seen(Xs)]

    def _labels(self, p: Floats, K: int | None) -> Ints:
        return np.array(EquivalenceMatrix.from_breakpoints(self._ends(p, K)).labels)

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
