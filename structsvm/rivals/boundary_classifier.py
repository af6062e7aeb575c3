"""A classifier of boundaries, by the difference of what is before and after, and its peaks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d, maximum_filter1d
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import integers, read_recordings
from structsvm.features.context import Lags, MovingStatistics
from structsvm.features.frames import FrameRecipe, HeldOut, classifier_from
from structsvm.features.names import UNNAMED, States, is_missing
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.samples import (
    STANDARDIZE,
    Counts,
    Standardizer,
    cluster_counts,
)
from structsvm.rivals.tuning import mean_loss, some_truth
from structsvm.support.plain import counted

__all__ = ["BoundaryClassifier", "Surroundings"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEIGHBOURS = (-2, 0, 2)
"""Lags at which the classifier sees the columns themselves."""

DISTANCES = (1, 2, 3, 5, 8, 12)
"""Samples between two peaks, at least, to choose from."""

USUAL = (3, 0.5, 5)
"""Spread, threshold and distance where nothing can be held out to choose by."""

SPREADS = (0, 1, 2, 3, 4, 6)
"""Samples on either side whose probabilities are added, to choose from."""

QUANTILES = np.linspace(0.5, 0.995, 34)
"""Quantiles of the sums at held-out samples, which are the thresholds to choose from."""


class BoundaryClassifier(BaseEstimator):  # type: ignore[misc]
    """Finds where segments begin by a classifier, from change points alone, and picks its peaks.

    The classifier sees, for each sample, the means of the windows before and after it, how they
    differ, and the samples next to it; it learns whether a segment begins there or within
    ``tolerance`` samples. Its probabilities are
    added over a few samples with weights that fall off to either side; a boundary is a peak of the
    sums above a threshold. The spread of the sum, the threshold and the distance between peaks are
    those with the smallest mean loss ``|M - M_i|_F^2`` on the training recordings, each scored by
    a classifier that has not seen it, nor its group. One recording, or one group, leaves nothing to
    choose by: then they are 3, 0.5 and 5.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        "boosting" by default.
    widths : sequence of int
        Of the windows, in samples.
    tolerance : int
        Samples on either side of a boundary that count as one in training, because annotations are
        no more exact than that.
    n_folds : int
        Lowered to the number of groups, or of recordings where there are no groups.
    standardize : {"recording", "training", None}
        How the columns are centred and scaled before they are compared.
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
    >>> from structsvm.rivals import BoundaryClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 10)
    >>> Xs = [5.0 * (y == 1)[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    >>> rival = BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [[10, 20, 30]] * 4)
    >>> rival.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    """

    def __init__(
        self,
        estimator: Any = None,
        widths: Sequence[int] = (2, 3, 5, 8),
        tolerance: int = 1,
        n_folds: int = 5,
        standardize: str | None = "recording",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.widths = widths
        self.tolerance = tolerance
        self.n_folds = n_folds
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, Xs: Sequence[Floats], ys: Any, groups: Any = None) -> Self:
        """Learn the classifier, and choose the threshold and the distance.

        Parameters
        ----------
        Xs : sequence of arrays (T_i, P)
        ys : sequence of labels of each sample, (T_i,), or of breakpoints, the last being T_i
            Labels None, "" or NaN, and -1 among numbers, are unknown.
        groups : sequence of length N, optional
            Whom or what a recording is of.

        Raises
        ------
        SettingsError
            When a parameter has a value it cannot have, or the classifier has no ``predict_proba``.
        DataError
            When labels cannot be read, when there is no change, or none of the recordings has all
            of its labels.
        LearningError
            When the classifier fails, naming the fold.
        """
        recipe, arrays = self._recipe(), read_recordings(Xs)
        (tolerance,) = integers("tolerance", self.tolerance, "1", least=0)
        states = _boundaries(ys, arrays)
        truths = [_truth(code) for code in states.codes]
        some_truth(truths, "BoundaryClassifier")
        near = States(states.classes, [_widened(code, tolerance) for code in states.codes])
        self.spread_, self.threshold_, self.distance_ = USUAL
        self.loss_ = np.nan
        if HeldOut.is_possible(len(arrays), groups):
            folds = HeldOut.draw(
                self.n_folds,
                len(arrays),
                groups,
                self.random_state,
                states,
                "BoundaryClassifier",
                every_state=False,
            )
            held_out = recipe.held_out(arrays, near, folds, groups)
            self._tune([p[:, 1] for p in held_out], truths)
        self.model_ = recipe.fit(arrays, near, groups)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probability that a segment begins within ``tolerance`` of each sample, (T_i,) each.

        At the first sample, where one always does, it says nothing.
        """
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        return [p[:, 1] for p in self.model_.probabilities(arrays, "BoundaryClassifier")]

    def predict(self, Xs: Sequence[Floats], n_clusters: Counts = None) -> list[Ints]:
        """Return the number of the segment of each sample, 0, 1, ..., (T_i,) each.

        Parameters
        ----------
        n_clusters : int or sequence of int, optional
            Exactly so many segments in each recording: as many of the highest peaks as that takes,
            in place of those above the threshold.
        """
        return [
            np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)).astype(np.int64)
            for ends in self.predict_breakpoints(Xs, n_clusters)
        ]

    def predict_breakpoints(
        self, Xs: Sequence[Floats], n_clusters: Counts = None
    ) -> list[list[int]]:
        """Return the segment ends of each recording, the last being T."""
        sums = [_sums(p, self.spread_) for p in self.predict_proba(Xs)]
        counts = cluster_counts(n_clusters, [total.size for total in sums])
        return [
            _ends(_peaks(total, self.distance_), self.threshold_, total.size)
            if K is None
            else _highest(total, self.distance_, K)
            for total, K in zip(sums, counts, strict=True)
        ]

    def _tune(self, probabilities: list[Floats], truths: list[EquivalenceMatrix | None]) -> None:
        """Choose how peaks are picked."""
        best = np.inf
        for spread, distance in product(SPREADS, DISTANCES):
            sums = [_sums(p, spread) for p in probabilities]
            thresholds = np.unique(np.quantile(np.concatenate(sums), QUANTILES))
            losses = np.mean(
                [
                    _losses(truth, _peaks(total, distance), thresholds)
                    for total, truth in zip(sums, truths, strict=True)
                    if truth is not None
                ],
                axis=0,
            )
            if losses.min() < best:
                best, self.spread_, self.distance_ = losses.min(), spread, distance
                self.threshold_ = float(thresholds[losses.argmin()])
        self.loss_ = float(best)

    def _recipe(self) -> FrameRecipe:
        if self.standardize not in STANDARDIZE:
            raise SettingsError(
                f"standardize must be one of {STANDARDIZE}, got {self.standardize!r}"
            )
        owner = "BoundaryClassifier"
        classifier = classifier_from(self.estimator, "boosting", self.random_state, owner)
        widths = integers("widths", self.widths, "(2, 3, 5, 8)", least=1)
        return FrameRecipe(Surroundings(widths, self.standardize), None, classifier, owner)


class Surroundings(RecordingTransformer):
    """What is before and after each sample, how both differ, and the samples next to it."""

    def __init__(
        self, widths: Sequence[int] = (2, 3, 5, 8), standardize: str | None = "recording"
    ) -> None:
        self.widths = widths
        self.standardize = standardize

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Learn the scales; parameters as those of every transformer."""
        self.standardizer_ = Standardizer.fit(self.standardize, Xs)
        self.lags_ = Lags(NEIGHBOURS).fit(Xs)
        self.sides_ = MovingStatistics(self.widths, ("before", "after")).fit(Xs)
        self.change_ = MovingStatistics(self.widths, ("before_minus_after",)).fit(Xs)
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """The features, (T_i, P') each."""
        Zs = [self.standardizer_(X) for X in Xs]
        stages = [stage.transform(Zs) for stage in (self.lags_, self.sides_, self.change_)]
        return [np.hstack([*parts, np.abs(parts[-1])]) for parts in zip(*stages, strict=True)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features, made of those of the columns."""
        stages = (self.lags_, self.sides_, self.change_)
        names = [stage.get_feature_names_out(input_features) for stage in stages]
        return np.concatenate([*names, [f"size of {name}" for name in names[-1]]])


def _boundaries(ys: Any, Xs: Sequence[Floats]) -> States:
    """Whether a segment begins at each sample but the first, -1 where that is not known."""
    given = [] if ys is None else list(ys)
    if len(given) != len(Xs):
        raise DataError(
            f"{counted(len(Xs), 'recording')} but {counted(len(given), 'labelling')}: "
            "BoundaryClassifier needs labels or "
            "breakpoints of each"
        )
    codes = [_begins(y, len(X), i) for i, (y, X) in enumerate(zip(given, Xs, strict=True))]
    if not any((code == 1).any() for code in codes):
        raise DataError("no recording has a change: there is no boundary to learn from")
    return States(np.array(["no boundary", "boundary"]), codes)


def _begins(y: Any, T: int, i: int) -> Ints:
    labels = getattr(y, "labels", y)  # of PartialLabels
    values = np.asarray(labels if labels is not None else np.full(T, UNNAMED))
    begins = np.zeros(T, dtype=np.int64)
    begins[0] = UNNAMED
    if values.ndim == 1 and values.size == T:
        unknown = np.array([is_missing(name) for name in values.tolist()])
        begins[1:] = values[1:] != values[:-1]
        begins[1:][unknown[1:] | unknown[:-1]] = UNNAMED
        return begins
    try:
        ends = EquivalenceMatrix.from_breakpoints(values).breakpoints
    except DataError as error:
        raise DataError(f"recording {i}: {error}") from error
    if ends[-1] != T:
        raise DataError(f"recording {i} has {T} samples, and its last breakpoint is {ends[-1]}")
    begins[ends[:-1]] = 1
    return begins


def _truth(begins: Ints) -> EquivalenceMatrix | None:
    """The segmentation of a recording all of whose boundaries are known."""
    if (begins[1:] == UNNAMED).any():
        return None
    return EquivalenceMatrix.from_breakpoints([*np.flatnonzero(begins == 1).tolist(), begins.size])


def _widened(begins: Ints, tolerance: int) -> Ints:
    """The same with the samples near a boundary being boundaries too."""
    near = maximum_filter1d((begins == 1).astype(np.int64), 2 * tolerance + 1, mode="constant")
    return np.where((near == 1) & (begins != UNNAMED), 1, begins).astype(np.int64)


def _sums(p: Floats, spread: int) -> Floats:
    """Probabilities of boundaries, (T,), and those of their neighbours with falling weights."""
    p = p.copy()
    p[0] = 0.0
    weights = 1 - np.abs(np.arange(-spread, spread + 1)) / (spread + 1)
    return np.asarray(convolve1d(p, weights, mode="constant"))


def _peaks(sums: Floats, distance: int) -> tuple[Ints, Floats]:
    """Where the peaks are, of those that are equal and near each other the first, and how high."""
    highest = maximum_filter1d(sums, 2 * distance + 1, mode="constant")
    kept: list[int] = []
    for t in np.flatnonzero(sums == highest).tolist():
        if t > 0 and (not kept or t - kept[-1] > distance):
            kept.append(t)
    found = np.array(kept, dtype=np.int64)
    return found, sums[found]


def _ends(peaks: tuple[Ints, Floats], threshold: float, T: int) -> list[int]:
    """Segment ends at the peaks above a threshold, and T."""
    where, height = peaks
    return [*where[height > threshold].tolist(), T]


def _highest(sums: Floats, distance: int, K: int) -> list[int]:
    """Segment ends at the ``K - 1`` highest peaks, and at other samples where these are too few."""
    is_peak = np.zeros(sums.size, dtype=bool)
    is_peak[_peaks(sums, distance)[0]] = True
    order = np.lexsort((np.arange(sums.size), -sums, ~is_peak))
    chosen = [t for t in order.tolist() if t > 0][: K - 1]
    return [*sorted(chosen), sums.size]


def _losses(truth: EquivalenceMatrix, peaks: tuple[Ints, Floats], thresholds: Floats) -> Floats:
    """Loss of the peaks above each threshold."""
    counts = (peaks[1] > thresholds[:, None]).sum(axis=1)
    _, first, inverse = np.unique(counts, return_index=True, return_inverse=True)
    T = truth.n_samples
    losses = [mean_loss([truth], [_ends(peaks, thresholds[i], T)]) for i in first]
    return np.asarray(losses)[inverse]
