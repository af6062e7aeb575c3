"""Features without labels: lags, statistics of moving windows, Hermite moments, components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from structsvm.data.standardize import Standardizer
from structsvm.errors import DataError, LearningError, SettingsError, refuse
from structsvm.features.base import RecordingTransformer, Stage, integers
from structsvm.messages import nth
from structsvm.support.arrays import Floats
from structsvm.support.checks import counted, is_number, is_whole, refuse_below, refuse_unless
from structsvm.support.contract import hook

STATISTICS = ("mean", "spread", "slope", "before", "after", "before_minus_after")


@dataclass(eq=False, repr=False)
class Columns(Stage):
    """All or some columns of a recording as they are, for a union.

    Parameters
    ----------
    which : sequence of int, optional
        Numbers of the columns, from 0; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Columns
    >>> Columns(which=[1]).fit_transform([np.array([[1.0, 2.0], [3.0, 4.0]])])[0].tolist()
    [[2.0], [4.0]]
    """

    which: Sequence[int] | None = None

    takes_gaps = True
    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        P = arrays[0].shape[1]
        chosen = range(P) if self.which is None else integers("which", self.which, least=0)
        last = max(chosen)
        refuse(SettingsError, (last >= P, f"which names column {last}, and there are 0..{P - 1}"))
        self.columns_ = np.array(chosen, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        return X[:, self.columns_]

    def _names(self, columns: list[str]) -> list[str]:
        return [columns[j] for j in self.columns_]


class Deviations(Stage):
    """The columns, and their differences from their mean over the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Deviations
    >>> Deviations().fit_transform([np.array([[1.0], [3.0]])])[0].tolist()
    [[1.0, -1.0], [3.0, 1.0]]
    """

    learns = False

    def _features(self, X: Floats) -> Floats:
        return np.hstack([X, X - X.mean(axis=0)])

    def _names(self, columns: list[str]) -> list[str]:
        return [*columns, *[f"{name} less its mean" for name in columns]]


@dataclass(eq=False, repr=False)
class Lags(Stage):
    """The columns of a recording at several lags, side by side.

    A metric on them compares stretches of samples instead of single ones. Row ``t`` holds the
    samples ``t + lag``, lag by lag, in ``8 T P`` bytes for each: -2 is two samples earlier, and the
    first and the last sample stand for those beyond the ends. A recording that is shorter than the
    lags can be predicted on, but not learned from.

    Parameters
    ----------
    lags : sequence of int
        In samples; 0 is the sample itself.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> Lags(lags=(-1, 0, 1)).fit_transform([X])[0].tolist()
    [[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
    """

    lags: Sequence[int] = (-4, -2, 0, 2, 4)

    takes_gaps = True
    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        lags = integers("lags", self.lags)
        longest = max(lags, key=abs)
        shortest = min(range(len(arrays)), key=lambda i: len(arrays[i]))
        T = len(arrays[shortest])
        if abs(longest) >= T:
            raise DataError(
                nth("recording", shortest)
                + f" has {counted(T, 'sample')}, too few for a lag of {longest}: "
                f"use lags below {T} in size, or leave the recording out"
            )
        self.lags_ = np.array(lags, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        T, P = X.shape
        found = np.empty((T, P * self.lags_.size))
        for k, lag in enumerate(self.lags_.tolist()):
            part = found[:, k * P : (k + 1) * P]
            start = min(max(-lag, 0), T)
            stop = max(min(T - lag, T), 0)
            part[:start] = X[0]
            part[stop:] = X[-1]
            part[start:stop] = X[start + lag : stop + lag]
        return found

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{name} lag {lag:+d}" if lag else name for lag in self.lags_ for name in columns]


@dataclass(eq=False, repr=False)
class MovingStatistics(Stage):
    """Statistics of every column in windows that move along the recording.

    The window of width ``w`` about sample ``t`` holds the samples ``t - (w-1)//2, ..., t + w//2``;
    "before" holds ``t - w, ..., t - 1`` and "after" ``t, ..., t + w - 1``. Windows are cut off at
    the ends of the recording, which may be shorter than a window. At ``t = 0``, where nothing is
    before, "before" is "after". The time is O(T P) for each window, whatever its width.

    Parameters
    ----------
    windows : sequence of int
        Widths in samples.
    statistics : sequence of {"mean", "spread", "slope", "before", "after", "before_minus_after"}
        The mean, the standard deviation (divided by the number of samples) and the slope of the
        least-squares line, per sample, of the window; the means before and after, and their
        difference.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import MovingStatistics
    >>> X = np.array([[0.0], [0.0], [3.0], [3.0]])
    >>> moving = MovingStatistics(windows=(2,), statistics=("mean", "before_minus_after"))
    >>> moving.fit_transform([X])[0].tolist()
    [[0.0, 0.0], [1.5, -1.5], [3.0, -3.0], [3.0, -1.5]]
    >>> moving.get_feature_names_out(["speed"]).tolist()
    ['speed mean 2', 'speed before_minus_after 2']
    """

    windows: Sequence[int] = (5,)
    statistics: Sequence[str] = ("mean", "spread", "slope", "before_minus_after")

    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        windows = integers("windows", self.windows, least=1)
        names = self.statistics
        unknown = isinstance(names, str) or not names or not set(names) <= set(STATISTICS)
        short = 1 in windows and bool({"spread", "slope"} & set(names))
        refuse(
            SettingsError,
            (unknown, f"statistics must be some of {STATISTICS}, got {names!r}"),
            (short, "a window of 1 sample has no spread and no slope: use 2 or more"),
        )
        self.windows_ = np.array(windows, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        """Window by window, statistic by statistic, column by column."""
        from structsvm.features.moving import window_moments  # loads the compiler

        (T, P) = X.shape
        t = np.arange(len(X))
        names = self.statistics
        found = np.empty((T, self.windows_.size, len(names), P))
        for k, w in enumerate(self.windows_.tolist()):
            start = np.maximum(t - (w - 1) // 2, 0)
            end = np.minimum(t + w // 2 + 1, T)
            n = (end - start).astype(np.float64)
            for j in range(P):
                x = np.ascontiguousarray(X[:, j])
                values = {}
                if set(names) & {"mean", "spread", "slope"}:
                    mean, scatter, rise = window_moments(x, start, end, w)
                    slope = rise / np.where(n > 1, n * (n * n - 1) / 12, 1.0)
                    values = {"mean": mean, "spread": np.sqrt(scatter / n), "slope": slope}
                if set(names) & {"before", "after", "before_minus_after"}:
                    after = window_moments(x, t, np.minimum(t + w, T), w)[0]
                    before = window_moments(x, np.maximum(t - w, 0), np.maximum(t, 1), w)[0]
                    before[0] = after[0]
                    change = before - after
                    values |= {"before": before, "after": after, "before_minus_after": change}
                for i, statistic in enumerate(names):
                    found[:, k, i, j] = values[statistic]
        return found.reshape(T, -1)

    def _names(self, columns: list[str]) -> list[str]:
        kinds = [f"{statistic} {w}" for w in self.windows_ for statistic in self.statistics]
        return [f"{name} {kind}" for kind in kinds for name in columns]


NORMAL = 1.4826
"""Standard deviation of a normal variable whose median absolute deviation is 1."""


def hermite_functions(x: Floats, n: int) -> Floats:
    """The Hermite functions ``psi_1, ..., psi_n`` at ``x``, (..., n), bounded and orthonormal.

    Of the physicists' polynomials, ``psi_i(x) = (2^i i! sqrt(pi))^{-1/2} H_i(x) exp(-x^2/2)``, by
    the stable ``psi_{i+1} = sqrt(2/(i+1)) x psi_i - sqrt(i/(i+1)) psi_{i-1}``. (Lajugie et al.,
    "Detecting changes in distribution", where the normalisation is misprinted.)
    """
    with np.errstate(under="ignore"):
        bounded = np.clip(x, -1e2, 1e2)  # beyond, all of them are zero
        before = np.zeros_like(bounded)
        now = np.pi**-0.25 * np.exp(-0.5 * bounded**2)
        found = np.empty((*x.shape, n))
        for i in range(n):
            after = np.sqrt(2 / (i + 1)) * bounded * now - np.sqrt(i / (i + 1)) * before
            before, now = now, after
            found[..., i] = now
    return found


def robust_scale(X: Floats) -> tuple[Floats, Floats]:
    """The median and a robust standard deviation of each channel of a recording, (P,) each."""
    location = np.median(X, axis=0)
    sigma = NORMAL * np.median(np.abs(X - location), axis=0)
    tiny = 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    sigma = np.where(sigma > tiny, sigma, X.std(axis=0))
    return location, np.where(sigma > tiny, sigma, 1.0)


@dataclass(eq=False, repr=False)
class HermiteMoments(Stage):
    """The first robust Hermite moments of every channel of a recording.

    A change of the distribution of a channel, of its mean, scale or shape, is a change of the mean
    of its moments (Lajugie et al., section "Detecting changes in distribution"). Location and scale
    of a channel are estimated for each recording by itself, by medians. Of a channel of few values,
    such as a switch, the moments that would only repeat the others are 0.

    Parameters
    ----------
    n_moments : int
        Moments of each channel; the first is about its mean, the second about its scale.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import HermiteMoments
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> [F.shape for F in HermiteMoments(n_moments=3).fit_transform([X])]
    [(30, 6)]
    """

    n_moments: int = 5

    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        fits = is_whole(self.n_moments) and 1 <= self.n_moments <= 50
        refuse_unless(fits, "n_moments", "from 1 to 50", self.n_moments)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{name} psi{i + 1}" for name in columns for i in range(self.n_moments)]

    def _features(self, X: Floats) -> Floats:
        """``psi_1, ..., psi_r`` of every channel, channel by channel."""
        location, sigma = robust_scale(X)
        found = hermite_functions((X - location) / sigma, self.n_moments)
        for j, column in enumerate(X.T):
            if len(X) <= self.n_moments + 1 or np.unique(column[:100]).size > self.n_moments:
                continue
            # Of v values, all but v - 1 moments are combinations of these and a constant.
            found[:, j, max(1, np.unique(column).size - 1) :] = 0.0
        return found.reshape(X.shape[0], -1)


@dataclass(eq=False, repr=False)
class Components(Stage):
    """The principal components of the standardised features, in their own scale.

    Lags of a signal say nearly the same, and a full metric of ``P`` features has ``P (P + 1) / 2``
    weights; there are far fewer components. They keep their variances, which say how much each of
    them matters: a learner does not standardise them again by default.

    Parameters
    ----------
    n_components : float or int
        Below 1 the share of the variance that they have together, at least; else their number, at
        most that of the features.
    standardize : {"recording", "training", None}
        How the features are centred and scaled first.

    Attributes
    ----------
    components_ : array of shape (n_components, P)
        Orthonormal, that of the largest variance first.
    share_ : float
        The share of the variance that they have.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Chain, Components, Lags
    >>> X = np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0)
    >>> lagged = Chain(Lags(lags=(-1, 0, 1)), Components(n_components=0.9))
    >>> lagged.fit_transform([X])[0].shape
    (200, 2)
    """

    n_components: float = 0.98
    standardize: str | None = "recording"

    scaled = True

    def _fit(self, arrays: list[Floats]) -> None:
        n = self.n_components
        fits = (is_whole(n) and n >= 1) or (is_number(n) and 0 < n < 1)
        refuse_unless(fits, "n_components", "a number of them, or a share between 0 and 1", n)
        from sklearn.decomposition import PCA  # takes long to import

        self.standardizer_ = Standardizer.fit(self.standardize, arrays)
        Z = np.vstack([self.standardizer_(X) for X in arrays])
        varies = bool(np.ptp(Z, axis=0).any())
        refuse(
            DataError, (not varies, "no feature varies in any recording: there are no components")
        )
        found = PCA(n if n < 1 else min(int(n), *Z.shape), svd_solver="covariance_eigh").fit(Z)
        self.components_ = found.components_
        self.share_ = float(found.explained_variance_ratio_.sum())

    def _features(self, X: Floats) -> Floats:
        return np.asarray(self.standardizer_(X) @ self.components_.T)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"component {k}" for k in range(len(self.components_))]


class _Wrapper(Stage):
    """Features by a transformer of another library."""

    transformer: Any
    n_features_out_: int

    def _check(self) -> None:
        inner = self.transformer
        owner = type(self).__name__
        is_one = hasattr(inner, "fit") and hasattr(inner, "transform")
        if not is_one or isinstance(inner, type | RecordingTransformer):
            raise SettingsError(
                f"{owner} needs a transformer of another library with fit and transform, such as "
                f"StandardScaler(), got {inner!r}: one of recordings is used without {owner}"
            )

    def _call(self, transformer: Any, X: Floats, *methods: str) -> Any:
        """Call the methods with X in turn, and return the answer of the last."""
        try:
            return [getattr(transformer, method)(X) for method in methods][-1]
        except Exception as error:  # whatever a foreign transformer raises
            raise LearningError(
                f"{type(self).__name__}: {self.transformer!r} failed: {error}"
            ) from error

    def _fit_and_call(self, transformer: Any, X: Floats) -> Any:
        both = hasattr(transformer, "fit_transform")
        return self._call(transformer, X, *(["fit_transform"] if both else ["fit", "transform"]))

    @hook
    def _names(self, columns: list[str]) -> list[str]:
        """Names of the columns if there are as many features, else numbered names."""
        kind = type(self.transformer).__name__.lower()
        n = self.n_features_out_
        if n == len(columns):
            return [f"{name} {kind}" for name in columns]
        return [f"{kind}{j}" for j in range(n)]


@dataclass(eq=False, repr=False)
class Rows(_Wrapper):
    """A transformer of rows from scikit-learn, fitted to the rows of all training recordings.

    Parameters
    ----------
    transformer : estimator with fit and transform
        Such as ``StandardScaler()``, ``PCA(5)`` or ``Nystroem()``; one that needs labels is
        refused.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from structsvm.features import Rows
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> Rows(PCA(n_components=2)).fit_transform([X, X[:5]])[1].shape
    (5, 2)
    """

    transformer: Any

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        given = self.transformer
        if isinstance(given, BaseEstimator) and get_tags(given).target_tags.required:
            raise SettingsError(
                f"{given!r} needs labels, and its features of the recordings it has learned from "
                "would be too good: use StateScores with a classifier, which cross-fits"
            )
        self.transformer_ = clone(given)
        self._call(self.transformer_, np.vstack(arrays), "fit")
        self.n_features_out_ = int(self._features(arrays[0][:1]).shape[1])

    def _features(self, X: Floats) -> Floats:
        found = self.transformer_.transform(X)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def _names(self, columns: list[str]) -> list[str]:
        try:
            return list(self.transformer_.get_feature_names_out(columns))
        except (AttributeError, ValueError):
            return super()._names(columns)


@dataclass(eq=False, repr=False)
class Series(_Wrapper):
    """A transformer of single series, which is fitted to each recording separately.

    For those of sktime, which take and give a series with a row for each sample, and those of
    aeon, which have a column for each sample (``axis=1``).

    Parameters
    ----------
    transformer : estimator with fit_transform, or fit and transform
        One that returns as many samples as it was given.
    axis : {0, 1}
        Along which the samples of its series lie.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from structsvm.features import Series
    >>> X = np.array([[0.0], [2.0]])
    >>> [F.ravel().tolist() for F in Series(StandardScaler()).fit_transform([X, 10 + X])]
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    transformer: Any
    axis: int = 0

    learns = False

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        refuse_unless(self.axis in (0, 1), "axis of Series", "0 or 1", self.axis)
        self.n_features_out_ = int(self._features(arrays[0]).shape[1])

    def _features(self, X: Floats) -> Floats:
        series = X if self.axis == 0 else np.ascontiguousarray(X.T)
        made = np.asarray(self._fit_and_call(clone(self.transformer), series))
        made = made[:, None] if made.ndim == 1 else made
        return np.asarray(made if self.axis == 0 else made.T, dtype=np.float64)


@dataclass(eq=False, repr=False)
class OfWindows(_Wrapper):
    """A transformer of collections of series, given a window about each sample.

    For those that describe a series by a row of features, such as tsfresh and Catch22 in sktime and
    aeon, of collections (windows, columns, samples). It is fitted to all training windows.

    Parameters
    ----------
    transformer : estimator with fit and transform
        It returns one row for each window.
    width : int
        Samples of a window.
    hop : int
        From one window to the next. Samples between have the features of the nearest window.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from structsvm.features import OfWindows
    >>> stage = OfWindows(FunctionTransformer(np.ptp, kw_args={"axis": 2}), width=3)
    >>> stage.fit_transform([np.array([[0.0], [1.0], [5.0], [5.0]])])[0].ravel().tolist()
    [5.0, 5.0, 4.0, 4.0]
    """

    transformer: Any
    width: int = 50
    hop: int = 1

    def _fit(self, arrays: list[Floats]) -> None:
        self._check()
        refuse_below(1, "width of OfWindows", self.width)
        refuse_below(1, "hop of OfWindows", self.hop)
        self.transformer_ = clone(self.transformer)
        stack = np.concatenate([self._stack(X) for X in arrays])
        made = np.asarray(self._fit_and_call(self.transformer_, stack))
        self.n_features_out_ = int(made.reshape(len(made), -1).shape[1])

    def _features(self, X: Floats) -> Floats:
        made = np.asarray(self._call(self.transformer_, self._stack(X), "transform"))
        rows = made.reshape(len(made), -1).astype(np.float64)
        nearest = np.minimum((np.arange(len(X)) + self.hop // 2) // self.hop, len(rows) - 1)
        return np.asarray(rows[nearest])

    def _stack(self, X: Floats) -> Floats:
        """The windows of a recording, inside of it as far as it is long enough, (n, P, width)."""
        T = len(X)
        w = self.width
        middles = np.arange(0, T, self.hop)
        starts = np.clip(middles - (w - 1) // 2, 0, max(T - w, 0))
        rows = np.minimum(starts[:, None] + np.arange(w), T - 1)
        return np.ascontiguousarray(np.swapaxes(X[rows], 1, 2))
