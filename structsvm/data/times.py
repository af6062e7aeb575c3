"""Time axes: the times of the samples of a recording, read, checked and compared."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, time
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import refuse_other_shape
from structsvm.data.clock import (
    DAY_FIRST,
    LENGTH,
    MINUTES,
    OF_DAY,
    YEAR_FIRST,
    ahead_of_utc,
    as_pandas_reads,
    clock_in,
    dates_in,
    length_in,
    number_in,
    offset_of,
    stamp_in,
)
from structsvm.errors import DataError, warn, without_warnings
from structsvm.support import require, some_of

REGULAR = 1.5  # largest step of regular sampling with some jitter, in medians
UNITS_OF_STEPS = {"dates": " s", "numbers": ""}  # units of steps, by the kind of times
ROUNDED = 1e-6  # part of a step by which equal times may differ
SECONDS = 1e7  # numbers from here on, such as 20240105, are dates and no seconds since the start
EPOCHS = (1.0, 1e3, 1e6, 1e9)
"""Units of the numbers that computers count from 1970, in parts of a second."""
HOUR = 3600.0  # seconds by which a clock is put back


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """The time of each sample of a recording.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import TimeAxis
    >>> axis = TimeAxis("seconds", np.array([0.0, 0.5, 1.0]))
    >>> axis.text(1), axis.sample_at(0.4)
    ('0.5', 1)
    """

    name: str
    """The name of the column."""
    values: NDArray[Any]
    """Numbers or dates (datetime64), (T,), in order."""
    written: tuple[str, ...] | None = None
    """The times as the file has them, (T,)."""
    lasting: float = 0.0
    """How long a sample lasts from its time on, where it is a stretch and no moment."""
    day_first: bool = False
    """Whether 1/2/2024 is written for the first of February."""
    is_either: bool = False
    """Whether the dates could also be read with day and month the other way round."""
    clock: bool = False
    """Whether they are written as on a clock, without a date: of a day, or minutes and seconds."""
    offset: np.timedelta64 | None = None
    """How far the clock of the values is ahead of UTC; None if they have no time zone, and NaT if
    the clock was put forward or back in the meantime: the values are in UTC then."""

    def __post_init__(self) -> None:
        """Widen small numbers, whose steps may be beyond their range."""
        kind = self.values.dtype.kind
        size = self.values.dtype.itemsize
        if kind in "iuf" and size < 8:
            wide = self.values.astype(np.float64 if kind == "f" else np.int64)
            object.__setattr__(self, "values", wide)

    @property
    def holds_dates(self) -> bool:
        """Whether the times are dates, and no numbers."""
        return self.values.dtype.kind == "M"

    @property
    def title(self) -> str:
        """The name, with a note if the values are in UTC."""
        in_utc = self.offset is not None and not ahead_of_utc(self.offset)
        return f"{self.name} (UTC)" if in_utc else self.name

    def __len__(self) -> int:
        """Return the number of samples, T."""
        return len(self.values)

    def text(self, sample: int) -> str:
        """The time of a sample as it was written, or the end of the recording."""
        at = min(sample, len(self) - 1)
        if self.written is not None:
            return self.written[at]
        value = self.values[at]
        if self.lasting and sample > at:
            value += self.span(self.lasting)
        if not self.holds_dates:
            return f"{value:.15g}" if self.values.dtype.kind == "f" else str(value)
        if self.clock:
            return str(value.astype("datetime64[us]").item().time())
        if self.offset is not None and np.isnat(self.offset):
            return f"{np.datetime_as_string(value, unit='ms')}Z"
        return str(np.datetime_as_string(value, unit=self._unit))

    @cached_property
    def _unit(self) -> Any:
        """The coarsest unit that all dates are whole numbers of."""
        units = ("D", "m", "s", "ms", "us", "ns")
        values = self.values
        return next(u for u in units if (values == values.astype(f"datetime64[{u}]")).all())

    def span(self, seconds: float) -> Any:
        """A duration, in seconds or in the unit of numbers, as a difference of two values."""
        return np.timedelta64(round(1e6 * seconds), "us") if self.holds_dates else seconds

    def sample_at(self, moment: Any) -> int:
        """The first sample that is not before a moment, as :meth:`value` reads it; T if none is.

        A sample that lasts is where its middle is. What is before a number by a millionth of the
        usual step is so by rounding, as 1.4 is before 14 * 0.1.
        """
        return self.first_from(self.value(moment))

    def first_from(self, at: Any) -> int:
        """The first sample that is not before a value of this axis; T if none is."""
        moments = self.values + self.span(self.lasting) / 2 if self.lasting else self.values
        if isinstance(at, float):
            digits = 4 * math.ulp(at)  # the rounding of sums of numbers since 1970
            at -= min(max(ROUNDED * self.usual_step, digits), self.usual_step / 4)
        return int(np.searchsorted(moments, at, side="left"))

    def is_beyond(self, moment: Any) -> bool:
        """Whether a moment is more than two steps before the first sample or after the last."""
        at = self.value(moment)
        steps = 2 * max(self.usual_step, self.lasting)
        if not steps or at in (-np.inf, np.inf):
            return False
        return not self.values[0] - self.span(steps) <= at <= self.values[-1] + self.span(steps)

    def value(self, moment: Any) -> Any:
        """A moment, given as a number or a text, as a value of the axis: a float or a datetime64.

        A number of seconds among dates is since the first sample, as tools write events. A time on
        a clock is one of the day among dates, and so many seconds among numbers, as are lengths of
        time such as ``1.5 sec`` and ``PT1.5S``.

        Raises
        ------
        DataError
            When it is no moment of this axis.
        """
        kind = "date" if self.holds_dates else "number"
        try:
            if not self.holds_dates:
                return self._among_numbers(moment)
            since = np.nan  # seconds since the start, or a date such as 20240105, if a number
            with suppress(ValueError):
                since = float(str(moment))
            day = self.values[0].astype("datetime64[D]")
            is_from_zero = self.clock and self.values[0] - day < np.timedelta64(1, "h")
            is_clock = bool(OF_DAY.fullmatch(str(moment)))
            if is_clock or (self.clock and np.isnan(since)) or is_from_zero:
                return self._of_day(moment, since)
            if abs(since) < SECONDS:
                return self.values[0] + np.timedelta64(round(1e9 * since), "ns")
            day_first = self.day_first and not YEAR_FIRST.match(str(moment))
            day_first = day_first or bool(DAY_FIRST.match(str(moment)))
            stamp = stamp_in(str(moment), day_first)
        except DataError:
            raise
        except (TypeError, ValueError):
            raise DataError(f"{moment!r} is no {kind}, as {self.name!r} is") from None
        if stamp.tzinfo is not None and self.offset is not None:
            return stamp.tz_convert(None).to_datetime64() + ahead_of_utc(self.offset)
        if stamp.tzinfo is not None or (self.offset is not None and np.isnat(self.offset)):
            raise DataError(
                f"{moment!r} has another time zone than the times of {self.name!r}, whose clock "
                "may be put back: write both with a zone, as 2024-03-31 12:00+02:00, or without"
            )
        return stamp.to_datetime64()

    def _among_numbers(self, moment: Any) -> float:
        """A number; where they count from 1970, seconds since the first one, or a date."""
        first = float(self.values[0])
        # what a second is in numbers that count from 1970, 0 of other times
        second = next((unit for unit in EPOCHS if 1e9 <= first / unit < 4e9), 0.0)
        try:
            value = number_in(moment)
        except ValueError:
            if not second:
                raise
            stamp = stamp_in(str(moment), bool(DAY_FIRST.match(str(moment))))
            if stamp.tzinfo is None:
                raise DataError(
                    f"{moment!r} has no time zone, and {self.name!r} counts from 1970, in UTC: "
                    "write it with its zone, as 2024-03-31 12:00+02:00"
                ) from None
            return float(stamp.timestamp() * second)
        if np.isnan(value):
            raise ValueError
        return first + value * second if second and abs(value) < SECONDS else value

    def _of_day(self, moment: Any, since: float) -> Any:
        """Return a time of day, or seconds since midnight, on the day nearer to the samples."""
        pandas = require("pandas", "files", "reading times")
        first = self.values[0]
        since_midnight = pandas.to_timedelta(since, unit="s")  # NaT of a time as text
        if np.isnan(since):
            stamp = pandas.to_datetime(str(moment).replace(",", "."))
            since_midnight = stamp - stamp.normalize()
        same_day = first.astype("datetime64[D]") + since_midnight.to_timedelta64()
        next_day = same_day + np.timedelta64(1, "D")
        return next_day if next_day - self.values[-1] < first - same_day else same_day

    def past_midnight(self) -> "TimeAxis":
        """Return the times, with times of a clock on the next day after each midnight."""
        if not (self.clock and self.holds_dates):
            return self
        steps = np.diff(self.values)
        falls = steps < np.timedelta64(0, "us")
        if not falls.any() or (steps[falls] >= np.timedelta64(-12, "h")).any():
            return self
        days = np.concatenate([[0], np.cumsum(falls)])
        return replace(self, values=self.values + days * np.timedelta64(1, "D"))

    def at(self, rows: NDArray[np.int64]) -> "TimeAxis":
        written = None if self.written is None else tuple(self.written[i] for i in rows.tolist())
        return replace(self, values=self.values[rows], written=written)

    @property
    def steps(self) -> NDArray[np.float64]:
        """Steps from each sample to the next, (T - 1,): seconds between dates."""
        return np.asarray(np.diff(self.values) / self.span(1.0), dtype=np.float64)

    @cached_property
    def usual_step(self) -> float:
        """The median of the steps, 0 where there is none."""
        return float(np.median(self.steps)) if len(self) > 1 else 0.0

    @property
    def edges(self) -> NDArray[Any]:
        """Edges between samples: halfway between times, or the times if samples last; (T + 1,)."""
        if self.lasting:
            return np.append(self.values, self.values[-1] + self.span(self.lasting))
        values = self.values if self.holds_dates else self.values.astype(np.float64)
        half = np.diff(values) / 2 if len(self) > 1 else np.array([self.span(0.5)])
        ends = [values[:1] - half[0], values[:-1] + half[: len(self) - 1], values[-1:] + half[-1]]
        return np.concatenate(ends)


def put_back(axis: TimeAxis) -> str:
    """Warn in a sentence of local times that fall by an hour once; "" if they do not."""
    usual = axis.usual_step
    falls = axis.steps[axis.steps <= 0]
    is_local = axis.holds_dates and axis.offset is None and len(axis) > 2
    if not is_local or len(falls) != 1 or usual > HOUR * REGULAR:
        return ""
    if abs(falls[0] - usual + HOUR) > 0.5 * usual:
        return ""
    return (
        ". They are an hour back once, as where the clock is put back in autumn: samples of two "
        "hours are mixed then, so write times in UTC, or with their zone (+02:00)"
    )


def time_axis(times: Any, n_samples: int) -> TimeAxis:
    """Convert numbers, dates or an index of pandas to a time axis, and check it."""
    if isinstance(times, TimeAxis):
        axis = times
    else:
        name = str(getattr(times, "name", None) or "time")
        offset = None
        if isinstance(times, list | tuple | np.ndarray):
            times = _of_python(np.asarray(times))
        if getattr(getattr(times, "dtype", None), "tz", None) is not None:
            offset = np.timedelta64(0, "us")  # the values of an index with a time zone are in UTC
            times = getattr(times, "dt", times).tz_convert(None)  # of a series, or an index
        axis = TimeAxis(name, np.asarray(times), offset=offset)
    if axis.values.dtype.kind not in "iufM":
        raise DataError(f"times must be numbers or dates, got {axis.values.dtype} values")
    refuse_other_shape(axis.values, n_samples, "sample", "times")
    missing = np.isnat(axis.values) if axis.holds_dates else ~np.isfinite(axis.values)
    falls = axis.values[1:] < axis.values[:-1]
    if missing.any():
        raise DataError(f"the time of sample {missing.argmax()} is missing or infinite")
    if falls.any():
        raise DataError(f"times fall after sample {falls.argmax()}: sort the samples by them")
    return axis


def _of_python(times: NDArray[Any]) -> Any:
    """Convert datetime objects to an index of pandas; return other times as they are."""
    if not (times.dtype.kind == "O" and times.size and isinstance(times.flat[0], datetime)):
        return times
    pandas = require("pandas", "files", "reading times")
    try:
        return pandas.DatetimeIndex(times)
    except (TypeError, ValueError) as error:  # some have a time zone, and others none
        raise DataError(f"times must be numbers or dates: {error}") from error


def read_times(
    name: str, column: Any, keep_text: bool, place: Callable[[int], str]
) -> TimeAxis | int:
    """Convert a column of a pandas frame to an axis, or return the first row that is no time."""
    pandas = require("pandas", "files", "reading tables")
    if isinstance(column.dtype, pandas.PeriodDtype):
        column = column.dt.start_time  # a period has no other time
    is_object = getattr(column.dtype, "kind", "O") == "O"
    if is_object and all(isinstance(one, time) for one in column.dropna()):  # times of day
        column = column.map(str, na_action="ignore")  # as texts, which are read below
    numbers, day_first, is_either, clock = column, False, False, False
    if getattr(column.dtype, "kind", "O") not in "iufbmM":
        column = as_pandas_reads(column)
        texts = column.dropna().astype(str)
        are_minutes = all(map(MINUTES.fullmatch, texts))
        has_minutes = are_minutes and bool(texts.str.contains("[.,]").any())
        clock = has_minutes or bool(len(texts) and all(map(OF_DAY.fullmatch, texts)))
        if has_minutes:
            numbers = column.map(clock_in, na_action="ignore")
        elif len(texts) and all(map(LENGTH.fullmatch, texts)):
            numbers = column.map(lambda text: length_in(str(text)), na_action="ignore")
        numbers = pandas.to_numeric(numbers, errors="coerce")
        if numbers[column.notna()].isna().any():
            dates = dates_in(column, texts)
            if dates is None:
                with without_warnings(Warning):
                    mixed = pandas.to_datetime(column, errors="coerce", utc=True, format="mixed")
                return int((numbers.isna() & mixed.isna() & column.notna()).to_numpy().argmax())
            numbers, day_first, is_either = dates
    if numbers.isna().any():
        row = int(numbers.isna().to_numpy().argmax())
        raise DataError(
            f"no time in {place(row)}, column {name!r}: give it one, or take the row out"
        )
    kind = getattr(numbers.dtype, "kind", "M")
    offset = None
    if kind == "m":
        numbers = numbers.dt.total_seconds()
        kind = "f"
    if kind in "iufb":
        values = numbers.to_numpy().astype(np.float64 if kind == "f" else np.int64)
    else:
        numbers = pandas.to_datetime(numbers, utc=True).dt.tz_localize(None)
        try:
            values = numbers.dt.as_unit("ns").to_numpy()
        except pandas.errors.OutOfBoundsDatetime:  # before 1678 or after 2262
            values = numbers.dt.as_unit("us").to_numpy()
        offset = None if clock else offset_of(column)
        values = values + ahead_of_utc(offset)
    keep_text = (keep_text and (clock or kind == "M")) or hasattr(column.dtype, "tz")
    written = tuple(map(str, column)) if keep_text else None
    return TimeAxis(name, values, written, 0.0, day_first, is_either, clock, offset)


def warn_about_times(
    names: Sequence[str],
    axes: Sequence[TimeAxis | None],
    learned: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Warn of dates read by a guess, of several or unlearned rates, and of irregular sampling."""
    named_axes = [(name, axis) for name, axis in zip(names, axes, strict=True) if axis is not None]
    either = [(name, axis) for name, axis in named_axes if axis.is_either]
    if either:
        name, axis = either[0]
        days = np.datetime_as_string(axis.values, unit="D")
        t = next(t for t, day in enumerate(days) if day[-2:] != day[-5:-3])
        warn(
            name + f": {axis.text(t)!r} of {axis.name!r} is taken for {days[t]}, the "
            f"{'day' if axis.day_first else 'month'} first, though it could be the other way "
            "round: write the year first if it is wrong"
        )
    learned = learned or {}
    for kind, steps_and_names in _usual(named_axes).items():
        shortest, first = min(steps_and_names)
        low, high = learned.get(kind, (shortest, shortest))
        others = [one for one in steps_and_names if not low / REGULAR <= one[0] <= REGULAR * high]
        if others:
            step, name = max(others)
            unit = UNITS_OF_STEPS[kind]
            owner = "what the model was learned from" if kind in learned else first
            warn(
                f"sampled at different rates: steps are {step:.4g}{unit} in "
                + name
                + f", by the median, and {low:.4g}{unit} in "
                + owner
                + ". Every sample counts alike: resample to one step, "
                "or the lengths of segments and the price of one mean something else in each"
            )
    irregular = []
    for name, axis in named_axes:
        steps = axis.steps
        usual_step = axis.usual_step
        if usual_step and not 0 < steps.min() <= steps.max() <= REGULAR * usual_step:
            span = f"from {steps.min():.4g} to {steps.max():.4g}"
            irregular.append(name + f" ({span}, the median is {usual_step:.4g})")
    if irregular:
        warn(
            "sampled irregularly, with steps of "
            + some_of(irregular, 3)
            + ". Every sample counts alike: "
            "resample to equal steps if a second should"
        )


def usual_steps(axes: Sequence[TimeAxis | None]) -> dict[str, tuple[float, float]]:
    """Return the shortest and the longest usual step, by the kind of times."""
    by_kind = _usual([("", axis) for axis in axes if axis is not None])
    return {kind: (min(steps)[0], max(steps)[0]) for kind, steps in by_kind.items()}


def _usual(named_axes: Sequence[tuple[str, TimeAxis]]) -> dict[str, list[tuple[float, str]]]:
    """Return the usual step and the name of each recording, by the kind of its times."""
    by_kind: dict[str, list[tuple[float, str]]] = {}
    for name, axis in named_axes:
        if axis.usual_step:  # 0 if most samples share their time with the next one
            kind = "dates" if axis.holds_dates else "numbers"
            by_kind.setdefault(kind, []).append((axis.usual_step, name))
    return by_kind
