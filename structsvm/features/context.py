"""What the samples around a sample say: lagged copies and statistics of moving windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.checks import column_names, integers, read_recordings
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_unlisted

EDGES = ("repeat", "reflect")

STATISTICS = ("mean", "spread", "slope", "before", "after", "before_minus_after")

CHUNK = 1 << 20
"""Entries of a recording that are worked on at once, which bounds the memory of the sums."""


class Columns(RecordingTransformer):
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

    takes_gaps = True

    def __init__(self, which: Sequence[int] | None = None) -> None:
        self.which = which

    learns = False

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Note the number of columns; nothing else is learned.

        Raises
        ------
        SettingsError
            When ``which`` names a column that there is not.
        """
        P = read_recordings(Xs, gaps=True)[0].shape[1]
        chosen = range(P) if self.which is None else integers("which", self.which, "[0, 2]", 0)
        if max(chosen) >= P:
            raise SettingsError(f"which names column {max(chosen)}, and there are 0..{P - 1}")
        self.n_features_in_ = int(P)
        self.columns_ = np.array(chosen, dtype=np.int64)
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Return the chosen columns of recordings, (T_i, P') each."""
        check_is_fitted(self)
        return [X[:, self.columns_] for X in read_recordings(Xs, self.n_features_in_, gaps=True)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the chosen columns."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        return np.asarray([names[j] for j in self.columns_], dtype=object)


class Lags(RecordingTransformer):
    """The columns of a recording at several lags, side by side.

    A metric on them compares stretches of samples instead of single ones. Row ``t`` holds the
    samples ``t + lag``, lag by lag: -2 is two samples earlier. A recording that is shorter than
    the lags can be predicted on, but not learned from.

    The features of a recording of T samples and P columns take ``8 T P`` bytes for each lag, which
    is 1.28 GB for T = 1,000,000, P = 32 and five lags; nothing else of that size is held meanwhile.

    Parameters
    ----------
    lags : sequence of int
        In samples; 0 is the sample itself.
    edges : {"repeat", "reflect"}
        What stands beyond the ends of a recording: its first and last samples again and again, or
        the recording in reverse, the end sample itself not doubled.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> Lags(lags=(-1, 0, 1)).fit_transform([X])[0].tolist()
    [[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 3.0]]
    """

    takes_gaps = True

    def __init__(self, lags: Sequence[int] = (-4, -2, 0, 2, 4), edges: str = "repeat") -> None:
        self.lags = lags
        self.edges = edges

    learns = False

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Check the settings against the recordings, nothing else is learned.

        Raises
        ------
        SettingsError
            When ``lags`` or ``edges`` have values that they cannot have.
        DataError
            When a lag is longer than a recording, naming the recording.
        """
        lags = integers("lags", self.lags, "(-4, -2, 0, 2, 4)")
        refuse_unlisted("edges", self.edges, EDGES)
        arrays = read_recordings(Xs, gaps=True)
        longest = max(lags, key=abs)
        shortest = min(range(len(arrays)), key=lambda i: len(arrays[i]))
        T = len(arrays[shortest])
        if abs(longest) >= T:
            raise DataError(
                f"recording {shortest} has {T} sample{'s' if T > 1 else ''}, too few for a lag of "
                f"{longest}: use lags below {T} in size, or leave the recording out"
            )
        self.n_features_in_ = int(arrays[0].shape[1])
        self.lags_ = np.array(lags, dtype=np.int64)
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """The columns at the first lag, then at the second, ..., (T_i, P n_lags) each."""
        check_is_fitted(self)
        return [self._lagged(X) for X in read_recordings(Xs, self.n_features_in_, gaps=True)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``column``, ``column lag -2``, ..., lag by lag, (P',)."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        found = [
            name if lag == 0 else f"{name} lag {lag:+d}" for lag in self.lags_ for name in names
        ]
        return np.asarray(found, dtype=object)

    def _lagged(self, X: Floats) -> Floats:
        T, P = X.shape
        found = np.empty((T, P * self.lags_.size))
        for k, lag in enumerate(self.lags_.tolist()):
            part = found[:, k * P : (k + 1) * P]
            within = slice(min(max(-lag, 0), T), max(min(T - lag, T), 0))
            part[within] = X[within.start + lag : within.stop + lag]
            for beyond in (np.arange(within.start), np.arange(max(within.stop, within.start), T)):
                part[beyond] = X[_inside(beyond + lag, T, self.edges)]
        return found


class MovingStatistics(RecordingTransformer):
    """Statistics of every column in windows that move along the recording.

    The window of width ``w`` about sample ``t`` holds the samples ``t - (w-1)//2, ..., t + w//2``;
    "before" holds ``t - w, ..., t - 1`` and "after" ``t, ..., t + w - 1``, so that "before minus
    after" is large where a segment begins. Windows are cut off at the ends of the recording, which
    may be shorter than a window: statistics are of the samples that are left. At ``t = 0``, where
    nothing is before, "before" is "after", so that their difference is 0.

    The time is O(T P) for each window, whatever its width. Sums run over two blocks of a window's
    width at most and are taken about a sample of the block, so that neither a long recording nor a
    large offset costs precision, and a constant column has a spread and a slope of exactly 0.

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

    def __init__(
        self,
        windows: Sequence[int] = (5,),
        statistics: Sequence[str] = ("mean", "spread", "slope", "before_minus_after"),
    ) -> None:
        self.windows = windows
        self.statistics = statistics

    learns = False

    def fit(self, Xs: Sequence[Floats], ys: Any = None, groups: Any = None) -> Self:
        """Check the settings, nothing else is learned.

        Raises
        ------
        SettingsError
            When ``windows`` or ``statistics`` have values that they cannot have.
        """
        windows = integers("windows", self.windows, "(5, 15)", least=1)
        names = self.statistics
        if isinstance(names, str) or not names or not set(names) <= set(STATISTICS):
            raise SettingsError(f"statistics must be some of {STATISTICS}, got {names!r}")
        if 1 in windows and {"spread", "slope"} & set(names):
            raise SettingsError("a window of 1 sample has no spread and no slope: use 2 or more")
        self.n_features_in_ = int(read_recordings(Xs)[0].shape[1])
        self.windows_ = np.array(windows, dtype=np.int64)
        return self

    def transform(self, Xs: Sequence[Floats]) -> list[Floats]:
        """Window by window, statistic by statistic, column by column, (T_i, P') each."""
        check_is_fitted(self)
        return [self._statistics(X) for X in read_recordings(Xs, self.n_features_in_)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``column mean 5``, ``column spread 5``, ..., (P',)."""
        check_is_fitted(self)
        names = column_names(input_features, self.n_features_in_)
        found = [
            f"{name} {statistic} {w}"
            for w in self.windows_
            for statistic in self.statistics
            for name in names
        ]
        return np.asarray(found, dtype=object)

    def _statistics(self, X: Floats) -> Floats:
        (T, P), n = X.shape, len(self.statistics)
        found = np.empty((T, self.windows_.size * n, P))
        step = max(1, CHUNK // T)
        for k, w in enumerate(self.windows_.tolist()):
            for columns in (slice(j, j + step) for j in range(0, P, step)):
                windows = _Windows(T, w, _BlockSums.of(X[:, columns], w))
                for i, statistic in enumerate(self.statistics):
                    found[:, k * n + i, columns] = windows.statistic(statistic)
        return found.reshape(T, -1)


@dataclass(frozen=True, eq=False)
class _Windows:
    """The windows of one width of one recording."""

    n_samples: int
    width: int
    sums: _BlockSums

    def statistic(self, name: str) -> Floats:
        """(T, P)."""
        if name == "before_minus_after":
            return self.before - self.after
        found: Floats = getattr(self if name in ("before", "after") else self.around, name)
        return found

    @cached_property
    def before(self) -> Floats:
        t = np.arange(self.n_samples)
        found = self.sums.window(np.maximum(t - self.width, 0), np.maximum(t, 1)).mean
        found[0] = self.after[0]
        return found

    @cached_property
    def after(self) -> Floats:
        t = np.arange(self.n_samples)
        return self.sums.window(t, np.minimum(t + self.width, self.n_samples)).mean

    @cached_property
    def around(self) -> _Moments:
        t, w = np.arange(self.n_samples), self.width
        start, end = np.maximum(t - (w - 1) // 2, 0), np.minimum(t + w // 2 + 1, self.n_samples)
        return self.sums.window(start, end)


@dataclass(frozen=True, eq=False)
class _BlockSums:
    """Sums over the beginnings and the ends of blocks of ``width`` samples."""

    width: int
    first: Floats
    """The first sample of each block, (n_blocks, P)."""
    head: Floats
    """Sums of x, x^2 and k x over a block before its k-th sample, (n_blocks, w + 1, 3 P)."""
    tail: Floats
    """The same from the k-th on."""

    @classmethod
    def of(cls, X: Floats, width: int) -> _BlockSums:
        T, P = X.shape
        w = min(width, T)
        n_blocks = -(-T // w)
        first = X[::w]
        x = np.zeros((n_blocks * w, P))
        x[:T] = X - np.repeat(first, w, axis=0)[:T]
        x = x.reshape(n_blocks, w, P)
        terms = np.concatenate([x, x * x, np.arange(w)[None, :, None] * x], axis=2)
        head = np.zeros((n_blocks, w + 1, 3 * P))
        np.cumsum(terms, axis=1, out=head[:, 1:])
        tail = np.zeros((n_blocks, w + 1, 3 * P))
        np.cumsum(terms[:, ::-1], axis=1, out=tail[:, -2::-1])
        return cls(w, first, head, tail)

    def window(self, start: Ints, end: Ints) -> _Moments:
        """The samples ``start, ..., end - 1`` of each window."""
        w = self.width
        b, last = start // w, (end - 1) // w
        only_head = (b == last) & (start % w == 0)
        only_tail = (b == last) & ~only_head
        n_tail = np.where(only_head, 0, np.minimum(end, (b + 1) * w) - start)
        tail = _Part.of(n_tail, start, self.tail[b, start % w], self.first[b], w)
        n_head = np.where(only_tail, 0, end - last * w)
        head = _Part.of(n_head, last * w, self.head[last, n_head], self.first[last], w)
        return _Moments(tail, head)


@dataclass(frozen=True, eq=False)
class _Part:
    """The samples of each window that are of one block."""

    n: Floats
    """How many, (T, 1); the rest says nothing where there are none."""
    time: Floats
    """Mean of their numbers, (T, 1)."""
    k: Floats
    """The same within the block."""
    sums: Floats
    """Of x, x^2 and k x, (T, 3 P); x is counted from ``first``."""
    first: Floats

    @classmethod
    def of(cls, count: Ints, start: Ints, sums: Floats, first: Floats, w: int) -> _Part:
        n = count[:, None].astype(np.float64)
        time = start[:, None] + (n - 1) / 2
        k = (start % w)[:, None] + (n - 1) / 2
        return cls(n, time, k, np.where(n > 0, sums, 0.0), first)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.first + self._x / np.maximum(self.n, 1.0))

    @property
    def scatter(self) -> Floats:
        """Sum of the squared differences from the mean."""
        xx = self.sums[:, self._P : 2 * self._P]
        return np.asarray(np.maximum(xx - self._x**2 / np.maximum(self.n, 1.0), 0.0))

    @property
    def product(self) -> Floats:
        """Sum of the products of the differences of x and of the number from their means."""
        return np.asarray(self.sums[:, 2 * self._P :] - self.k * self._x)

    @property
    def _P(self) -> int:
        return int(self.first.shape[1])

    @property
    def _x(self) -> Floats:
        return self.sums[:, : self._P]


@dataclass(frozen=True, eq=False)
class _Moments:
    """Windows made of two parts (Chan, Golub and LeVeque, 1983); each statistic is (T, P)."""

    one: _Part
    two: _Part

    @property
    def mean(self) -> Floats:
        return np.asarray(self.one.mean + self._step * (self.two.n / self._n))

    @property
    def spread(self) -> Floats:
        between = self._step**2 * self._weight
        return np.asarray(np.sqrt((self.one.scatter + self.two.scatter + between) / self._n))

    @property
    def slope(self) -> Floats:
        """Of the least-squares line, 0 for a single sample."""
        between = self._step * (self.two.time - self.one.time) * self._weight
        rise = self.one.product + self.two.product + between
        n = self._n
        return np.asarray(rise / np.where(n > 1, n * (n * n - 1) / 12, 1.0))

    @cached_property
    def _n(self) -> Floats:
        return self.one.n + self.two.n

    @cached_property
    def _step(self) -> Floats:
        return self.two.mean - self.one.mean

    @cached_property
    def _weight(self) -> Floats:
        return np.asarray(self.one.n * self.two.n / self._n)


def _inside(t: Ints, T: int, edges: str) -> Ints:
    """The samples that stand for those beyond the ends."""
    if edges == "repeat" or T == 1:
        return np.asarray(np.clip(t, 0, T - 1))
    period = 2 * (T - 1)
    folded = np.abs(t) % period
    return np.asarray(np.minimum(folded, period - folded))
