"""Features of the windows of a raw signal, and predictions for windows in samples of the signal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from structsvm.data import check_instances, label_values, numbered, refuse_other_shape
from structsvm.errors import DataError, SettingsError
from structsvm.features.base import column_names
from structsvm.support import Floats, Ints, counted, is_number, refuse_unless

VALUES_AT_ONCE = 2**21  # values of the windows whose features are computed at a time

WINDOW_STATISTICS: dict[str, Callable[[Floats], Any]] = {
    "mean": lambda stack: stack.mean(axis=1),
    "spread": lambda stack: stack.std(axis=1),
    "min": lambda stack: stack.min(axis=1),
    "max": lambda stack: stack.max(axis=1),
    "rms": lambda stack: np.sqrt((stack**2).mean(axis=1)),
}
"""Statistics of windows (n, W, P), one value for each column, (n, P)."""


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """The windows of a raw signal: their features, and conversion back to its samples.

    Made by :func:`windows`. A learner takes them as it takes the data frame of their features;
    ``labels`` makes labels of windows from those of samples, and ``breakpoints`` takes predictions
    back to the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import windows
    >>> found = windows(np.zeros(100), rate=10, window=2.0, hop=1.0, statistics=["mean"])
    >>> type(found).__name__, len(found), found.times[:3].tolist()
    ('Windows', 9, [1.0, 2.0, 3.0])
    """

    X: Floats
    """A row of features for each window, (n, P'): a recording for a learner."""
    columns: tuple[str, ...]
    """Names of the features, (P',), as a data frame has them."""
    starts: Ints
    """The first sample of each window, (n,)."""
    width: int
    """Samples of a window, W."""
    n_samples: int
    """Samples of the raw signal."""
    rate: float
    """Samples of the raw signal in a second."""

    def __len__(self) -> int:
        """Return the number of windows, n."""
        return len(self.X)

    def __repr__(self) -> str:
        return (
            f"<{counted(len(self), 'window')} of {self.width / self.rate:g} s at {self.rate:g} Hz, "
            f"{counted(len(self.columns), 'feature')}>"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the features, (n, P')."""
        return np.array(self.X, dtype=dtype, copy=copy)

    @property
    def times(self) -> Floats:
        """The middle of each window in seconds, (n,)."""
        return np.asarray((self.starts + self.width / 2) / self.rate)

    def labels(self, y: Any) -> NDArray[Any]:
        """The label that most samples of each window have, (n,), of one label for each sample.

        Raises
        ------
        DataError
            If there is not one label for each sample, or they do not compare.
        """
        values = label_values(y)
        way_out = "one for each (structsvm.interop.breakpoints_to_labels makes them of breakpoints)"
        refuse_other_shape(values, self.n_samples, "sample", "labels", way_out)
        names, codes = numbered(values, "labels", '"" for unknown ones')
        best = np.full(len(self), -1)
        of_windows = np.zeros(len(self), dtype=np.int64)
        for code in range(names.size):  # one label at a time, to save memory
            before = np.concatenate([[0], np.cumsum(codes == code)])
            count = before[self.starts + self.width] - before[self.starts]
            of_windows[count > best] = code
            best = np.maximum(best, count)
        return np.asarray(names[of_windows])

    def breakpoints(self, ends: Any) -> list[int]:
        """Segment ends in windows, as from ``predict_breakpoints``, in samples of the signal.

        A change between two windows is placed halfway between their middles.

        Raises
        ------
        DataError
            If they do not increase, or the last is not the number of windows.
        """
        window_ends = [int(end) for end in ends]
        if (
            sorted(set(window_ends)) != window_ends
            or not window_ends
            or window_ends[0] < 1
            or window_ends[-1] != len(self)
        ):
            raise DataError(
                f"breakpoints must increase from 1 to {len(self)}, the number of windows, got "
                f"{window_ends}"
            )
        between = (self.starts[:-1] + self.starts[1:] + self.width + 1) // 2
        return [*between[np.array(window_ends[:-1], dtype=np.int64) - 1].tolist(), self.n_samples]


def windows(
    X: Any,
    rate: float,
    window: float,
    hop: float | None = None,
    *,
    statistics: Sequence[str | Callable[[Floats], Any]] = ("mean", "spread"),
    bands: Sequence[tuple[float, float]] = (),
    names: Sequence[str] | None = None,
) -> Windows:
    """Divide a raw signal into windows, with a row of features for each, see :class:`Windows`.

    Parameters
    ----------
    X : array or data frame of shape (T, P), or (T,)
        The signal, one row for each sample.
    rate : float
        Samples in a second, in Hz.
    window, hop : float
        Length of a window, and from the start of one to that of the next, in seconds; by default
        windows overlap by half.
    statistics : sequence of {"mean", "spread", "min", "max", "rms"} or callables
        Of each column in each window. A callable takes windows (n, W, P) and returns (n, F).
    bands : sequence of (low, high)
        Frequencies in Hz: the logarithm of the power of each column from low to below high.
    names : sequence of str, optional
        Of the columns; those of a data frame are its own.

    Returns
    -------
    Windows
        The last whole window also stands for the samples after it.

    Raises
    ------
    SettingsError
        For an impossible rate, window, hop, band or statistic.
    DataError
        For a signal that is not numeric, or is shorter than a window.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import windows
    >>> t = np.arange(1000) / 50.0
    >>> signal = np.sin(2 * np.pi * np.where(t < 10, 1.0, 5.0) * t)
    >>> found = windows(signal, rate=50, window=1.0, bands=[(0, 3), (3, 8)], names=["acc"])
    >>> found.columns
    ('acc mean', 'acc spread', 'acc power 0-3 Hz', 'acc power 3-8 Hz')
    >>> found.breakpoints([20, 39])
    [513, 1000]
    """
    hop = window / 2 if hop is None else hop
    for name, value in {"rate": rate, "window": window, "hop": hop}.items():
        fits = is_number(value) and 0 < value < np.inf
        refuse_unless(fits, name, "a finite number > 0", value)
    X = X[:, None] if getattr(X, "ndim", 2) == 1 and not hasattr(X, "index") else X
    (signal,), named, _ = check_instances([X.to_frame() if hasattr(X, "to_frame") else X], names)
    columns = column_names(named, signal.shape[1])
    W = round(window * rate)
    H = round(hop * rate)
    if not (H >= 1 and 1 <= W <= len(signal)):
        raise DataError(
            f"the signal has {counted(len(signal), 'sample')}, a window {W}, and a hop {H}: give a "
            f"window and a hop of 1 / rate = {1 / rate:g} s or more, the window within the signal"
        )
    are_known = all(callable(one) or one in WINDOW_STATISTICS for one in statistics)
    listed = ", ".join(WINDOW_STATISTICS)
    wanted = f"some of {listed} or functions, at least one where there are no bands"
    refuse_unless(are_known and len([*statistics, *bands]) > 0, "statistics", wanted, statistics)
    makers = [
        (one, WINDOW_STATISTICS[one])
        if isinstance(one, str)
        else (getattr(one, "__name__", type(one).__name__), one)
        for one in statistics
    ]
    makers += [_band(band, rate, W) for band in bands]
    starts = np.arange(0, len(signal) - W + 1, H)
    features = _features(signal, starts, W, makers)
    feature_names = []
    for (name, _), values in zip(makers, features, strict=True):
        of_each = values.shape[1] == len(columns)
        numbered = [f"{name} {j}" for j in range(values.shape[1])]
        feature_names += [f"{column} {name}" for column in columns] if of_each else numbered
    X = np.hstack(features)
    return Windows(X, tuple(feature_names), starts, W, len(signal), float(rate))


Maker = tuple[str, Callable[[Floats], Any]]


def _band(band: tuple[float, float], rate: float, W: int) -> Maker:
    """The name of a band, and a function for the logarithm of a window's power in it."""
    low, high = band
    frequencies = np.fft.rfftfreq(W, 1 / rate)
    inside = (frequencies >= low) & (frequencies < high)
    if not inside.any():
        raise SettingsError(
            f"no frequency of a window is from {low:g} to below {high:g} Hz: they are multiples of "
            f"{rate / W:g} Hz up to {rate / 2:g} Hz"
        )

    def power(stack: Floats) -> Floats:
        spectrum = np.fft.rfft(stack, axis=1)[:, inside]
        return np.asarray(np.log1p((np.abs(spectrum) ** 2).sum(axis=1) / W))

    return f"power {low:g}-{high:g} Hz", power


def _features(signal: Floats, starts: Ints, W: int, makers: Sequence[Maker]) -> list[Floats]:
    """What each maker returns for all windows, (n, F) each; a chunk of windows at a time."""
    views = sliding_window_view(signal, W, axis=0)  # (T - W + 1, P, W), no copy
    step = max(1, VALUES_AT_ONCE // (W * signal.shape[1]))
    of_makers: list[list[Floats]] = [[] for _ in makers]
    for first in range(0, len(starts), step):
        stack = np.moveaxis(views[starts[first : first + step]], 2, 1)
        for (_, make), blocks in zip(makers, of_makers, strict=True):
            values = np.asarray(make(stack), dtype=np.float64)
            if values.shape[:1] != stack.shape[:1] or not np.isfinite(values).all():
                raise DataError(
                    f"{make!r} returned values of shape {values.shape} for "
                    f"{counted(len(stack), 'window')}: a row of finite numbers is needed for each"
                )
            blocks.append(values.reshape(len(stack), -1))
    return [np.concatenate(blocks) for blocks in of_makers]
