"""Features of a sample and its neighbours: lags, and statistics of moving windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from structsvm.errors import DataError, SettingsError, nth
from structsvm.features.base import Reach, Stage, integers
from structsvm.support import Floats, counted

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
    reach = (0, 0)

    def _fit(self, arrays: list[Floats]) -> None:
        P = arrays[0].shape[1]
        chosen = range(P) if self.which is None else integers("which", self.which, least=0)
        last = max(chosen)
        if last >= P:
            raise SettingsError(f"which names column {last}, and there are 0..{P - 1}")
        self.columns_ = np.array(chosen, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        return X[:, self.columns_]

    def _names(self, columns: list[str]) -> list[str]:
        return [columns[j] for j in self.columns_]


class Deviations(Stage):
    """The columns, and their differences from their mean over the instance.

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
    samples ``t + lag``, lag by lag, in ``8 T P`` bytes for each: -2 is two samples earlier, and
    beyond the ends the first and the last sample are repeated. A recording that is shorter than the
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

    @property
    def reach(self) -> Reach:
        return max(0, -int(self.lags_.min())), max(0, int(self.lags_.max()))

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
        lagged = np.empty((T, P * self.lags_.size))
        for k, lag in enumerate(self.lags_.tolist()):
            part = lagged[:, k * P : (k + 1) * P]
            start = min(max(-lag, 0), T)
            stop = max(min(T - lag, T), 0)
            part[:start] = X[0]
            part[stop:] = X[-1]
            part[start:stop] = X[start + lag : stop + lag]
        return lagged

    def _names(self, columns: list[str]) -> list[str]:
        return [
            f"{name} lag {lag:+d}" if lag else name for lag, name in product(self.lags_, columns)
        ]


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

    @property
    def reach(self) -> Reach:
        w = int(self.windows_.max())
        before = {*self.statistics} & {"before", "before_minus_after"}
        after = {*self.statistics} & {"after", "before_minus_after"}
        # "before" is "after" at the first sample.
        return w if before else (w - 1) // 2, w if after or before else w // 2

    def _fit(self, arrays: list[Floats]) -> None:
        windows = integers("windows", self.windows, least=1)
        names = self.statistics
        unknown = isinstance(names, str) or not names or not set(names) <= set(STATISTICS)
        short = 1 in windows and bool({"spread", "slope"} & set(names))
        if unknown:
            raise SettingsError(f"statistics must be some of {STATISTICS}, got {names!r}")
        if short:
            raise SettingsError("a window of 1 sample has no spread and no slope: use 2 or more")
        self.windows_ = np.array(windows, dtype=np.int64)

    def _features(self, X: Floats) -> Floats:
        """Window by window, statistic by statistic, column by column."""
        from structsvm.features.moving import window_moments  # loads the compiler

        (T, P) = X.shape
        t = np.arange(len(X))
        names = self.statistics
        moving = np.empty((T, self.windows_.size, len(names), P))
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
                    moving[:, k, i, j] = values[statistic]
        return moving.reshape(T, -1)

    def _names(self, columns: list[str]) -> list[str]:
        kinds = [f"{statistic} {w}" for w, statistic in product(self.windows_, self.statistics)]
        return [f"{name} {kind}" for kind, name in product(kinds, columns)]
