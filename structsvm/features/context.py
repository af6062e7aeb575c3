"""What the samples around a sample say: lagged copies and statistics of moving windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structsvm.errors import DataError, SettingsError
from structsvm.features.base import Stage
from structsvm.features.checks import integers
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_unlisted
from structsvm.support.plain import counted

EDGES = ("repeat", "reflect")

STATISTICS = ("mean", "spread", "slope", "before", "after", "before_minus_after")

CHUNK = 1 << 20
"""Entries of a recording that are worked on at once, which bounds the memory of the sums."""


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

    takes_gaps = True
    learns = False

    def __init__(self, which: Sequence[int] | None = None) -> None:
        self.which = which

    def _fit(self, arrays: list[Floats]) -> None:
        P = arrays[0].shape[1]
        chosen = range(P) if self.which is None else integers("which", self.which, "[0, 2]", 0)
        if max(chosen) >= P:
            raise SettingsError(f"which names column {max(chosen)}, and there are 0..{P - 1}")
        self.columns_ = np.array(chosen, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        return X[:, self.columns_]

    def _names(self, columns: list[str]) -> list[str]:
        return [columns[j] for j in self.columns_]


class Deviations(Stage):
    """The columns, and their differences from their mean over the sample.

    What is bright in one image is dark in another: a classifier of nodes or rows that sees both
    can tell what stands out.

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


class Lags(Stage):
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
    learns = False

    def __init__(self, lags: Sequence[int] = (-4, -2, 0, 2, 4), edges: str = "repeat") -> None:
        self.lags = lags
        self.edges = edges

    def _fit(self, arrays: list[Floats]) -> None:
        lags = integers("lags", self.lags, "(-4, -2, 0, 2, 4)")
        refuse_unlisted("edges", self.edges, EDGES)
        longest = max(lags, key=abs)
        shortest = min(range(len(arrays)), key=lambda i: len(arrays[i]))
        T = len(arrays[shortest])
        if abs(longest) >= T:
            raise DataError(
                f"recording {shortest} has {counted(T, 'sample')}, too few for a lag of {longest}: "
                f"use lags below {T} in size, or leave the recording out"
            )
        self.lags_ = np.array(lags, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        T, P = X.shape
        found = np.empty((T, P * self.lags_.size))
        for k, lag in enumerate(self.lags_.tolist()):
            part = found[:, k * P : (k + 1) * P]
            within = slice(min(max(-lag, 0), T), max(min(T - lag, T), 0))
            part[within] = X[within.start + lag : within.stop + lag]
            for beyond in (np.arange(within.start), np.arange(max(within.stop, within.start), T)):
                part[beyond] = X[_inside(beyond + lag, T, self.edges)]
        return found

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{name} lag {lag:+d}" if lag else name for lag in self.lags_ for name in columns]


def _inside(t: Ints, T: int, edges: str) -> Ints:
    """The samples that stand for those beyond the ends."""
    if edges == "repeat" or T == 1:
        return np.asarray(np.clip(t, 0, T - 1))
    period = 2 * (T - 1)
    folded = np.abs(t) % period
    return np.asarray(np.minimum(folded, period - folded))


class MovingStatistics(Stage):
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

    learns = False

    def __init__(
        self,
        windows: Sequence[int] = (5,),
        statistics: Sequence[str] = ("mean", "spread", "slope", "before_minus_after"),
    ) -> None:
        self.windows = windows
        self.statistics = statistics

    def _fit(self, arrays: list[Floats]) -> None:
        windows = integers("windows", self.windows, "(5, 15)", least=1)
        names = self.statistics
        if isinstance(names, str) or not names or not set(names) <= set(STATISTICS):
            raise SettingsError(f"statistics must be some of {STATISTICS}, got {names!r}")
        if 1 in windows and {"spread", "slope"} & set(names):
            raise SettingsError("a window of 1 sample has no spread and no slope: use 2 or more")
        self.windows_ = np.array(windows, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        """Window by window, statistic by statistic, column by column."""
        (T, P), n = X.shape, len(self.statistics)
        found = np.empty((T, self.windows_.size * n, P))
        step = max(1, CHUNK // T)
        for k, w in enumerate(self.windows_.tolist()):
            for columns in (slice(j, j + step) for j in range(0, P, step)):
                values = _moving_statistics(X[:, columns], w, set(self.statistics))
                for i, statistic in enumerate(self.statistics):
                    found[:, k * n + i, columns] = values[statistic]
        return found.reshape(T, -1)

    def _names(self, columns: list[str]) -> list[str]:
        return [
            f"{name} {statistic} {w}"
            for w in self.windows_
            for statistic in self.statistics
            for name in columns
        ]


def _moving_statistics(X: Floats, width: int, names: set[str]) -> dict[str, Floats]:
    """Statistics of the windows of one width, (T, P) each."""
    T, found = len(X), {}
    t, blocks = np.arange(T), _block_sums(X, width, names)
    around = names & {"mean", "spread", "slope"}
    if around:
        start, end = np.maximum(t - (width - 1) // 2, 0), np.minimum(t + width // 2 + 1, T)
        found = _window_statistics(*blocks, start, end, around)
    if names - around:
        after = _window_statistics(*blocks, t, np.minimum(t + width, T), {"mean"})["mean"]
        start, end = np.maximum(t - width, 0), np.maximum(t, 1)
        before = _window_statistics(*blocks, start, end, {"mean"})["mean"]
        before[0] = after[0]
        found |= {"before": before, "after": after, "before_minus_after": before - after}
    return found


def _block_sums(X: Floats, width: int, names: set[str]) -> tuple[Floats, Floats, Floats]:
    """Sums over the beginnings and the ends of blocks of ``width`` samples.

    The first sample x_0 of each block, (n_blocks, P), and the sums of x - x_0 before the k-th
    sample of a block and from it on, (n_blocks, width + 1, P) each. For a spread or a slope also
    those of (x - x_0)^2 and of k (x - x_0), behind the others, (n_blocks, width + 1, 3 P).
    """
    T, P = X.shape
    w = min(width, T)
    n_blocks = -(-T // w)
    first = X[::w]
    x = np.zeros((n_blocks * w, P))
    x[:T] = X - np.repeat(first, w, axis=0)[:T]
    terms = x.reshape(n_blocks, w, P)
    if names & {"spread", "slope"}:
        times = np.arange(w)[None, :, None] * terms
        terms = np.concatenate([terms, terms * terms, times], axis=2)
    head = np.zeros((n_blocks, w + 1, terms.shape[2]))
    np.cumsum(terms, axis=1, out=head[:, 1:])
    tail = np.zeros_like(head)
    np.cumsum(terms[:, ::-1], axis=1, out=tail[:, -2::-1])
    return first, head, tail


def _window_statistics(
    first: Floats, head: Floats, tail: Floats, start: Ints, end: Ints, names: set[str]
) -> dict[str, Floats]:
    """Statistics of the samples ``start, ..., end - 1`` of each window, (T, P) each.

    A window is the end of one block and the beginning of the next, whose moments are put together
    as by Chan, Golub and LeVeque (1983); one of both may be empty.
    """
    w, P = head.shape[1] - 1, first.shape[1]
    b, last = start // w, (end - 1) // w
    only_head = (b == last) & (start % w == 0)
    only_tail = (b == last) & ~only_head
    n_tail = np.where(only_head, 0, np.minimum(end, (b + 1) * w) - start)
    n_head = np.where(only_tail, 0, end - last * w)
    n1, n2 = n_tail[:, None].astype(np.float64), n_head[:, None].astype(np.float64)
    n = n1 + n2
    width = P if names == {"mean"} else 3 * P
    sums1 = np.where(n1 > 0, tail[b, start % w, :width], 0.0)
    sums2 = np.where(n2 > 0, head[last, n_head, :width], 0.0)
    x1, x2 = sums1[:, :P], sums2[:, :P]
    mean1 = first[b] + x1 / np.maximum(n1, 1.0)
    step = first[last] + x2 / np.maximum(n2, 1.0) - mean1
    found = {}
    if "mean" in names:
        found["mean"] = mean1 + step * (n2 / n)
    if "spread" in names:
        scatter1 = np.maximum(sums1[:, P : 2 * P] - x1**2 / np.maximum(n1, 1.0), 0.0)
        scatter2 = np.maximum(sums2[:, P : 2 * P] - x2**2 / np.maximum(n2, 1.0), 0.0)
        between = step**2 * (n1 * n2 / n)
        found["spread"] = np.sqrt((scatter1 + scatter2 + between) / n)
    if "slope" in names:  # of the least-squares line, 0 for a single sample
        time1, time2 = (n1 - 1) / 2, (n2 - 1) / 2  # the mean number of a sample
        product1 = sums1[:, 2 * P :] - ((start % w)[:, None] + time1) * x1
        product2 = sums2[:, 2 * P :] - time2 * x2
        between = step * ((last * w)[:, None] + time2 - (start[:, None] + time1)) * (n1 * n2 / n)
        rise = product1 + product2 + between
        found["slope"] = rise / np.where(n > 1, n * (n * n - 1) / 12, 1.0)
    return found
