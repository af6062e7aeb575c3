"""Features from classifiers: how probable a state, a region or a boundary is at each sample."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.data import (
    GRAPHS,
    RECORDINGS,
    UNKNOWN,
    Standardizer,
    States,
    label_values,
    one_each,
    unknown_labels,
)
from structsvm.errors import DataError, about, nth
from structsvm.features.base import (
    Reach,
    Recordings,
    RecordingTransformer,
    Stage,
    integers,
    read_recordings,
)
from structsvm.features.context import Columns, Deviations, Lags, MovingStatistics
from structsvm.features.frames import FrameModel, FrameRecipe, check_smoothing, probabilities_by
from structsvm.partitions import EquivalenceMatrix
from structsvm.support import Bools, Floats, Ints, each_in_order, refuse_below

FEWEST_SCORED = 4
"""The least number of instances from which scores are learned: with a fold of them held out, the
others must still be cross-fitted."""
Learned = tuple[list[Floats], list[FrameModel]]
"""Held-out probabilities of each recording, and the model of each; empty if none was held out."""


class CrossFitted(RecordingTransformer):
    """Features from a classifier; those of training recordings are cross-fitted."""

    models_: list[FrameModel]

    def fit(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> Self:
        """Learn the classifiers; one of all recordings where none can be held out.

        Labels are text or numbers, (T_i,) each; None, "", NaN, or -1 among numbers, mark a sample
        without a label. ``groups`` name the person or machine that each recording is from.
        """
        self._learn(Xs, ys, groups, held_out=False)
        return self

    def fit_transform(self, Xs: Recordings, ys: Any = None, groups: Any = None) -> list[Floats]:
        """Features of the training recordings, each by a classifier that has not seen its group."""
        return [self._columns(p) for p in self._learn(Xs, ys, groups, held_out=True)[0]]

    def fit_held_out(
        self, Xs: Recordings, ys: Any = None, groups: Any = None
    ) -> list[RecordingTransformer]:
        """A fitted transformer for each training recording, which has not seen its group."""
        models = self._learn(Xs, ys, groups, held_out=True)[1]
        of_model = {id(model): copy(self) for model in models}
        for model in models:
            of_model[id(model)].models_ = [model]
        return [of_model[id(model)] for model in models]

    def transform(self, Xs: Recordings) -> list[Floats]:
        """Features of recordings that were not learned from, (T_i, P') each."""
        return [self._columns(p) for p in self.predict_proba(Xs)]

    def predict_proba(self, Xs: Recordings) -> list[Floats]:
        """Probabilities of the states ``classes_``, or of a boundary, at each sample, (T_i, C)."""
        return probabilities_by(self, Xs)

    def _learn(self, Xs: Recordings, ys: Any, groups: Any, held_out: bool) -> Learned:
        """Fit the classifiers; held-out probabilities and their models too, if ``held_out``."""
        arrays = read_recordings(Xs)
        self.n_features_in_ = int(arrays[0].shape[1])
        return self._fit_models(arrays, each_in_order(ys, Xs), groups, held_out)

    @abstractmethod
    def _recipe(self) -> FrameRecipe: ...

    @abstractmethod
    def _fit_models(
        self, arrays: list[Floats], ys: Any, groups: Any, held_out: bool
    ) -> Learned: ...

    @abstractmethod
    def _columns(self, probabilities: Floats) -> Floats:
        """The features of a recording."""


class NamedScores(CrossFitted):
    """Scores of named states or regions."""

    smoothing: float

    @property
    def reach(self) -> Reach:
        """The largest reach of the classifiers."""
        before, after = zip(*(model.reach for model in self.models_), strict=True)
        return max(before), max(after)

    def transform_with_states(self, Xs: Recordings) -> tuple[list[Floats], list[Floats]]:
        """The scores, and the probabilities behind them, (T_i, C) each."""
        probabilities = self.predict_proba(Xs)
        return [self._columns(p) for p in probabilities], probabilities

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``score walking``, ..., one name for each state, (C,)."""
        check_is_fitted(self)
        return np.asarray([f"score {name}" for name in self.classes_], dtype=object)

    def _fit_models(self, arrays: list[Floats], ys: Any, groups: Any, held_out: bool) -> Learned:
        check_smoothing(self.smoothing)
        learned: Learned = ([], [])
        recipe = self._recipe()
        states = States.read(ys, arrays, recipe.owner, recipe.words)
        if held_out:
            fold = recipe.draw(arrays, states, groups, every_state=True)
            probabilities, models, self.models_ = recipe.cross_fit(arrays, states, fold, groups)
            learned = probabilities, models
        elif recipe.kept == "all":
            *_, self.models_ = recipe.learn(arrays, states, groups)
        else:
            self.models_ = [recipe.fit(arrays, states, groups)]
        self.classes_ = states.classes
        return learned

    def _columns(self, probabilities: Floats) -> Floats:
        L = np.log(probabilities + self.smoothing)
        return np.asarray(L - L.mean(axis=1, keepdims=True))


@dataclass(eq=False, repr=False)
class StateScores(NamedScores):
    """Scores of the named states at each sample, from a classifier of samples and their context.

    The score of a state is ``log(p + smoothing)``, minus the mean of that over the states, where
    ``p`` is its probability. :meth:`fit_transform` cross-fits: each training recording is scored by
    a classifier that has seen neither it, nor a copy, nor its group. :meth:`transform` scores
    others by the mean of the probabilities of these classifiers and of one that learned from all.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        It needs ``predict_proba``. "boosting", the default, is
        ``HistGradientBoostingClassifier(max_leaf_nodes=16, max_features=0.2)``; "logistic",
        ``LogisticRegression(C=0.05)``, takes a tenth of the time.
    lags : sequence of int
        The context of a sample that the classifier sees, as in :class:`Lags`.
    n_folds : int
        Lowered to the number of groups, or of recordings where there are no groups.
    smoothing : float
        Added to probabilities; the smaller, the more a confident classifier weighs.
    standardize : {"both", "recording", "training", None}
        How the columns are centred and scaled before the classifier sees them.
    random_state : int, optional
        Seed of the folds, and of an estimator whose ``random_state`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import StateScores
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    >>> scores = StateScores("logistic", lags=(-1, 0, 1))
    >>> [F.shape for F in scores.fit_transform(Xs, [y] * 4)]
    [(30, 2), (30, 2), (30, 2), (30, 2)]
    >>> scores.get_feature_names_out().tolist()
    ['score rest', 'score walk']
    """

    estimator: Any = None
    lags: Sequence[int] = (-4, -2, 0, 2, 4)
    n_folds: int = 5
    smoothing: float = 0.02
    standardize: str | None = "both"
    random_state: int | None = 0

    def _recipe(self) -> FrameRecipe:
        return FrameRecipe(self, Lags(self.lags), self.standardize)


@dataclass(eq=False, repr=False)
class RegionScores(NamedScores):
    """Scores of the named regions at each node, from a classifier.

    For images and graphs whose labels mean the same in all of them: a node has the name of most of
    its pixels. Scores are those of :class:`StateScores`, and cross-fitted as these are.

    Parameters
    ----------
    estimator : "forest", "boosting", "logistic" or a classifier of scikit-learn, optional
        As for :class:`StateScores`; "forest", the default, is
        ``RandomForestClassifier(n_estimators=100, min_samples_leaf=5)``.
    relative : bool
        Whether the classifier also sees how each feature differs from its mean over the image
        (:class:`Deviations`), which helped on photographs of horses (docs/results.md).
    n_folds, smoothing, random_state
        As for :class:`StateScores`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import RegionScores
    >>> rng, y = np.random.default_rng(0), np.repeat(["sky", "sea"], 20)
    >>> Xs = [(y == "sky")[:, None] + rng.normal(scale=0.1, size=(40, 1)) for _ in range(4)]
    >>> scores = RegionScores()
    >>> [F.shape for F in scores.fit_transform(Xs, [y] * 4)]
    [(40, 2), (40, 2), (40, 2), (40, 2)]
    >>> scores.get_feature_names_out().tolist()
    ['score sea', 'score sky']
    """

    estimator: Any = None
    relative: bool = True
    n_folds: int = 5
    smoothing: float = 0.02
    random_state: int | None = 0

    def _recipe(self) -> FrameRecipe:
        return region_recipe(self)


def region_recipe(learner: Any) -> FrameRecipe:
    """How a learner with ``relative`` fits its classifier of nodes."""
    context = Deviations() if learner.relative else Columns()
    # A forest is an average already; five of them would make a model file five times as large.
    return FrameRecipe(learner, context, "training", "forest", GRAPHS, kept="whole")


NEIGHBOUR_LAGS = (-2, 0, 2)
"""Lags at which the classifier of boundaries sees the columns themselves."""
SPREAD = 3  # samples on either side whose probabilities are added to that of a sample
DISTANCE = 5  # samples on either side within which a peak has no higher one


@dataclass(eq=False, repr=False)
class LearnsBoundaries(BaseEstimator):  # type: ignore[misc]
    """The settings of a classifier of boundaries, and how it is learned."""

    estimator: Any = None
    widths: Sequence[int] = (2, 3, 5, 8)
    tolerance: int = 1
    n_folds: int = 5
    standardize: str | None = "recording"
    random_state: int | None = 0

    def _recipe(self) -> FrameRecipe:
        windows = integers("widths", self.widths, least=1)
        return FrameRecipe(self, Surroundings(windows, self.standardize), standardize=None)

    def _near(self, states: States, times: int = 1) -> States:
        """Boundaries, each as wide as the tolerance allows."""
        from scipy.ndimage import maximum_filter1d

        refuse_below(0, "tolerance", self.tolerance)
        size = 2 * times * self.tolerance + 1
        near = []
        for begins in states.codes:
            is_near = maximum_filter1d((begins == 1).astype(np.int64), size, mode="constant") == 1
            near.append(np.where(is_near & (begins != UNKNOWN), 1, begins))
        return States(states.classes, near)


class BoundaryScores(LearnsBoundaries, CrossFitted):
    """Two columns that change at probable boundaries, from a classifier of boundaries.

    They are the cosine and the sine of an angle. At each peak of the classifier's probabilities the
    angle grows by half a turn times the probability of a boundary, so that the columns are constant
    within a segment and change their sign at a certain boundary. The classifier is that of
    :class:`structsvm.baselines.BoundaryClassifier`, cross-fitted as in :class:`StateScores`. How
    probable a boundary is, given the height of its peak, is learned from held-out scores; a peak
    is right if a labelled boundary is at most twice the tolerance away.

    Parameters
    ----------
    estimator : "logistic", "boosting" or a classifier of scikit-learn, optional
        As for :class:`StateScores`; "boosting" by default.
    widths, tolerance
        As for :class:`structsvm.baselines.BoundaryClassifier`.
    n_folds, standardize, random_state
        As for :class:`StateScores`.

    Attributes
    ----------
    slope_, intercept_ : float
        At a peak of height ``h`` the logit of the probability is ``slope h + intercept``.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import BoundaryScores
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 20)
    >>> Xs = [5.0 * (y == 1)[:, None] + rng.normal(scale=0.1, size=(60, 1)) for _ in range(4)]
    >>> wave = BoundaryScores("logistic", widths=(3,)).fit_transform(Xs, [[20, 40, 60]] * 4)[0]
    >>> np.sign(wave[[10, 30, 50], 0]).tolist()
    [1.0, -1.0, 1.0]
    """

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the two columns."""
        check_is_fitted(self)
        return np.asarray(["boundary cosine", "boundary sine"], dtype=object)

    def _fit_models(self, arrays: list[Floats], ys: Any, groups: Any, held_out: bool) -> Learned:
        recipe = self._recipe()
        states = read_boundaries(ys, arrays, recipe.owner)
        near = self._near(states)
        fold = recipe.draw(arrays, states, groups, every_state=False)
        probabilities, models, self.models_ = recipe.cross_fit(arrays, near, fold, groups)
        near_peaks = self._near(states, times=2).codes
        self.slope_, self.intercept_ = _calibrated([p[:, 1] for p in probabilities], near_peaks)
        return probabilities, models

    def _columns(self, probabilities: Floats) -> Floats:
        where, heights = peaks_of(sums_of(probabilities[:, 1], SPREAD), DISTANCE)
        turns = np.zeros(len(probabilities))
        turns[where] = expit(self.slope_ * heights + self.intercept_)
        angle = np.pi * np.cumsum(turns)
        return np.column_stack([np.cos(angle), np.sin(angle)])


@dataclass(eq=False, repr=False)
class Surroundings(Stage):
    """Means before and after each sample, their differences, and neighbouring samples."""

    widths: Sequence[int]
    standardize: str | None

    @property
    def learns(self) -> bool:
        return self.standardize in ("training", "both")

    def _fit(self, arrays: list[Floats]) -> None:
        self.standardizer_ = Standardizer.fit(self.standardize, arrays)
        sides = MovingStatistics(self.widths, ("before", "after"))
        change = MovingStatistics(self.widths, ("before_minus_after",))
        self.stages_ = [stage.fit(arrays) for stage in (Lags(NEIGHBOUR_LAGS), sides, change)]

    def _features(self, X: Floats) -> Floats:
        Z = self.standardizer_(X)
        near, sides, change = (stage.transform([Z])[0] for stage in self.stages_)
        return np.hstack([near, sides, change, np.abs(change)])

    def _names(self, columns: list[str]) -> list[str]:
        near, sides, change = (stage.get_feature_names_out(columns) for stage in self.stages_)
        return [*near, *sides, *change, *[f"size of {name}" for name in change]]


def read_boundaries(ys: Any, Xs: Recordings, owner: str) -> States:
    """Whether a segment begins at each sample, as two states, from labels or breakpoints."""
    way_out = f": {owner} needs labels or breakpoints of each"
    labels = one_each(ys, len(Xs), RECORDINGS, way_out=way_out)
    codes = [_begins(y, len(X), i) for i, (y, X) in enumerate(zip(labels, Xs, strict=True))]
    if not any((code == 1).any() for code in codes):
        raise DataError("no recording has a change: there is no boundary to learn from")
    return States(np.array(["no boundary", "boundary"]), codes)


def sums_of(p: Floats, spread: int) -> Floats:
    """Probabilities (T,) plus those of ``spread`` neighbours on each side, with falling weights."""
    from scipy.ndimage import convolve1d

    p = p.copy()
    p[0] = 0.0
    weights = 1 - np.abs(np.arange(-spread, spread + 1)) / (spread + 1)
    return np.asarray(convolve1d(p, weights, mode="constant"))


def peaks_of(sums: Floats, distance: int) -> tuple[Ints, Floats]:
    """Places and heights of the largest values within ``distance`` samples; of ties the first."""
    from scipy.ndimage import maximum_filter1d

    highest = maximum_filter1d(sums, 2 * distance + 1, mode="constant")
    kept: list[int] = []
    for t in np.flatnonzero(sums == highest).tolist():
        if t > 0 and (not kept or t - kept[-1] > distance):
            kept.append(t)
    peaks = np.array(kept, dtype=np.int64)
    return peaks, sums[peaks]


def begins_of(values: NDArray[Any], unknown: Bools) -> Ints:
    """1 where a segment begins, 0 where none does, -1 where that is unknown and at 0, (T,)."""
    begins = np.full(values.size, UNKNOWN)
    begins[1:] = values[1:] != values[:-1]
    begins[1:][unknown[1:] | unknown[:-1]] = UNKNOWN
    return begins


def _begins(y: Any, T: int, i: int) -> Ints:
    labels = getattr(y, "labels", y)  # PartialLabels have labels
    values = label_values(labels if labels is not None else np.full(T, UNKNOWN))
    if values.shape == (T,):
        unknown = unknown_labels(values)
        if values.dtype == object:
            values = values.copy()
            values[unknown] = None  # what is missing may not compare
        return begins_of(values, unknown)
    with about(nth("recording", i)):
        M = EquivalenceMatrix.from_breakpoints(values)
        if M.n_samples != T:
            raise DataError(f"there are {T} samples, and the last breakpoint is {M.n_samples}")
    return begins_of(M.labels, np.zeros(T, dtype=np.bool_))


def _calibrated(probabilities: Sequence[Floats], near: Sequence[Ints]) -> tuple[float, float]:
    """Slope and intercept of the logit of a boundary's probability, by the height of its peak."""
    from sklearn.linear_model import LogisticRegression

    peaks = [peaks_of(sums_of(p, SPREAD), DISTANCE) for p in probabilities]
    heights = np.concatenate([height for _, height in peaks])
    right = np.concatenate([code[where] for (where, _), code in zip(peaks, near, strict=True)])
    heights = heights[right != UNKNOWN]
    right = right[right != UNKNOWN]
    n_right = int((right == 1).sum())
    if n_right in (0, right.size):  # all right, or all wrong: the same probability everywhere
        return 0.0, float(np.log((n_right + 0.5) / (right.size - n_right + 0.5)))
    # The weak regularization keeps the slope finite where heights separate right from wrong peaks.
    fitted = LogisticRegression(C=1000.0).fit(heights[:, None], right)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
