"""A classifier of boundaries, by the difference of what is before and after, and its peaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import integers, read_recordings
from structsvm.features.context import MovingStatistics
from structsvm.features.frames import FrameRecipe, HeldOut, classifier_from
from structsvm.features.names import UNNAMED, States, is_missing
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.samples import STANDARDIZE, Standardizer
from structsvm.rivals.tuning import mean_loss, some_truth

__all__ = ["BoundaryClassifier"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DISTANCES = (1, 2, 3, 5, 8, 12)
"""Samples between two peaks, at least, to choose from."""

QUANTILES = np.linspace(0.5, 0.995, 34)
"""Of the probabilities of held-out samples: thresholds to choose from."""


class BoundaryClassifier(BaseEstimator):  # type: ignore[misc]
    """Finds where segments begin by a classifier, from change points alone, and picks its peaks.

    The classifier sees, for each sample, how the means of the windows before and after it differ.
    A boundary is a sample that it finds more probable to be one than the threshold, and than every
    sample nearer than the distance. Both are those with the smallest mean loss ``|M - M_i|_F^2`` on
    the training recordings, each scored by a classifier that has not seen it, nor its group.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        "boosting" by default.
    widths : sequence of int
        Of the windows, in samples.
    n_folds : int
        Lowered to the number of groups, or of recordings where there are no groups.
    standardize : {"recording", "training", None}
        How the columns are centred and scaled before they are compared.
    random_state : int, optional
        Of the folds, and of an estimator whose ``random_state`` is None.

    Attributes
    ----------
    threshold_ : float
        Least probability of a boundary.
    distance_ : int
        Least number of samples from one boundary to the next.
    loss_ : float
        Mean loss of both on held-out recordings.

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
        n_folds: int = 5,
        standardize: str | None = "recording",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.widths = widths
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
            When labels cannot be read, or there are changes in one recording or group only.
        LearningError
            When the classifier fails, naming the fold.
        """
        recipe, arrays = self._recipe(), read_recordings(Xs)
        states = _boundaries(ys, arrays)
        truths = [_truth(code) for code in states.codes]
        some_truth(truths, "BoundaryClassifier")
        folds = HeldOut.draw(
            self.n_folds, len(arrays), groups, self.random_state, states, "BoundaryClassifier"
        )
        held_out = [p[:, 1] for p in recipe.held_out(arrays, states, folds, groups)]
        best = np.inf
        for distance in DISTANCES:
            for threshold in np.unique(np.quantile(np.concatenate(held_out), QUANTILES)).tolist():
                loss = mean_loss(truths, [_peaks(p, threshold, distance) for p in held_out])
                if loss < best:
                    best, self.threshold_, self.distance_ = loss, float(threshold), distance
        self.loss_ = float(best)
        self.model_ = recipe.fit(arrays, states, groups)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self

    def predict_proba(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Probability that a segment begins at each sample, 1 at the first, (T_i,) each."""
        check_is_fitted(self)
        arrays = read_recordings(Xs, self.n_features_in_)
        found = [p[:, 1] for p in self.model_.probabilities(arrays, "BoundaryClassifier")]
        for p in found:
            p[0] = 1.0
        return found

    def predict(self, Xs: Sequence[Floats]) -> list[Ints]:
        """Number of the segment of each sample, 0, 1, ..., (T_i,) each."""
        return [
            np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)).astype(np.int64)
            for ends in self.predict_breakpoints(Xs)
        ]

    def predict_breakpoints(self, Xs: Sequence[Floats]) -> list[list[int]]:
        """Segment ends of each recording, the last being T."""
        return [_peaks(p, self.threshold_, self.distance_) for p in self.predict_proba(Xs)]

    def _recipe(self) -> FrameRecipe:
        if self.standardize not in STANDARDIZE:
            raise SettingsError(
                f"standardize must be one of {STANDARDIZE}, got {self.standardize!r}"
            )
        owner = "BoundaryClassifier"
        classifier = classifier_from(self.estimator, "boosting", self.random_state, owner)
        widths = integers("widths", self.widths, "(2, 3, 5, 8)", least=1)
        return FrameRecipe(_Differences(widths, self.standardize), None, classifier, owner)


class _Differences(RecordingTransformer):
    """Differences of the means before and after, their sizes, and their mean square."""

    def __init__(self, widths: Sequence[int], standardize: str | None) -> None:
        self.widths = widths
        self.standardize = standardize

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        self.standardizer_ = Standardizer.fit(self.standardize, Xs)
        self.moving_ = MovingStatistics(self.widths, ("before_minus_after",)).fit(Xs)
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        found = []
        for D in self.moving_.transform([self.standardizer_(X) for X in Xs]):
            each = D.reshape(len(D), len(self.widths), -1)
            found.append(np.hstack([D, np.abs(D), np.sqrt((each**2).mean(axis=2))]))
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        names = self.moving_.get_feature_names_out(input_features)
        sizes = [f"size of {name}" for name in names]
        means = [f"mean square before_minus_after {w}" for w in self.widths]
        return np.asarray([*names, *sizes, *means], dtype=object)


def _boundaries(ys: Any, Xs: Sequence[Floats]) -> States:
    """Whether a segment begins at each sample but the first, -1 where that is not known."""
    given = [] if ys is None else list(ys)
    if len(given) != len(Xs):
        raise DataError(
            f"{len(Xs)} recordings but {len(given)} labellings: BoundaryClassifier needs labels or "
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


def _peaks(p: Floats, threshold: float, distance: int) -> list[int]:
    """Segment ends at the peaks of the probabilities of boundaries, (T,), and T."""
    p = p.copy()
    p[0] = 0.0
    highest = maximum_filter1d(p, 2 * distance + 1, mode="constant", cval=0.0)
    peaks = np.flatnonzero((p == highest) & (p > threshold))
    kept: list[int] = []
    for t in peaks.tolist():  # of equal ones that are near each other the first
        if not kept or t - kept[-1] > distance:
            kept.append(t)
    return [*(t for t in kept if t > 0), int(p.size)]
