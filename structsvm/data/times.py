"""The time of each sample, as it was recorded: samples are the unit of everything else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, warn
from structsvm.support.extras import require
from structsvm.support.plain import counted
from structsvm.support.quiet import without_warnings

Unit = Literal["D", "m", "s", "ms", "us", "ns"]

REGULAR = 1.5
"""Times their median, up to which steps are those of regular sampling with some jitter."""
DATES = "dates"
UNITS = {DATES: " s", "numbers": ""}
"""What times are, and in what their steps are told."""
ROUNDED = 1e-6
"""Of a step: times that differ by less are the same, written or computed in two ways."""
SECONDS = 1e7
"""Numbers from which on, such as 20240105, are dates and no seconds since the start."""
HOUR = 3600.0
"""By which a clock is put back, in seconds."""
NAMED = 3
"""Recordings that a warning names."""
OF_DAY = re.compile(r"\s*\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?\s*")
"""A time of a day: hours and minutes, and perhaps seconds."""
MINUTES = re.compile(r"\s*(\d+):([0-5]\d([.,]\d+)?)\s*")
"""Minutes and seconds, where some seconds of a column have decimals."""
HALF_A_DAY = np.timedelta64(12, "h")
YEAR_FIRST = re.compile(r"\s*\d{4}")
DAY_FIRST = re.compile(r"\s*\d{1,2}\.\d{1,2}\.")
"""Points between day and month, of those who write the day first."""
MONTH = re.compile(
    r"(?=.*\d{4}).*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
"""A year and the English name of a month."""
FIRST_NUMBER = re.compile(r"^\s*(\d{1,2})[-/.]")


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
    """Of the column."""
    values: NDArray[Any]
    """Numbers or dates (datetime64), (T,), in order."""
    written: tuple[str, ...] | None = None
    """As the file has them, (T,)."""
    lasting: float = 0.0
    """How long a sample lasts from its time on, where it is a stretch and no moment: 1 for samples
    that each describe a second."""
    day_first: bool = False
    """Whether 1/2/2024 is written for the first of February."""
    is_either: bool = False
    """Whether the month might as well be first where the day is, or the day where the month is."""
    clock: bool = False
    """Whether they are written as on a clock, without a date: of a day, or minutes and seconds."""
    offset: np.timedelta64 | None = None
    """How far their clock, which the values are on, is ahead of UTC; None if they have no time
    zone, and NaT if it was put forward or back in the meantime: the values are in UTC then."""

    def __post_init__(self) -> None:
        """Widen small numbers, whose steps may be beyond their range."""
        kind, size = self.values.dtype.kind, self.values.dtype.itemsize
        if kind in "iuf" and size < 8:
            wide = self.values.astype(np.float64 if kind == "f" else np.int64)
            object.__setattr__(self, "values", wide)

    @property
    def title(self) -> str:
        """The name, and that the values are in UTC where they are, not on a clock ahead of it."""
        in_utc = self.offset is not None and not _ahead(self.offset)
        return f"{self.name} (UTC)" if in_utc else self.name

    def __len__(self) -> int:
        """Return the number of samples, T."""
        return len(self.values)

    def text(self, sample: int) -> str:
        """The time of a sample as it was written; the end of the recording is its last sample's.

        Where samples last, it is the end of the last one.
        """
        at = min(sample, len(self) - 1)
        if self.written is not None:
            return self.written[at]
        value = self.values[at]
        if self.lasting and sample > at:
            value += self.lasting
        if self.values.dtype.kind == "M" and self.clock:
            return str(value.astype("datetime64[us]").item().time())
        if self.offset is not None and np.isnat(self.offset):
            return f"{np.datetime_as_string(value, unit='ms')}Z"
        if self.values.dtype.kind == "M":
            return str(np.datetime_as_string(value, unit=self._unit))
        return f"{value:.15g}" if self.values.dtype.kind == "f" else str(value)

    @cached_property
    def _unit(self) -> Unit:
        """The coarsest unit of time in which all dates can be told."""
        units: tuple[Unit, ...] = ("D", "m", "s", "ms", "us")
        for unit in units:
            if (self.values == self.values.astype(f"datetime64[{unit}]")).all():
                return unit
        return "ns"

    def sample_at(self, moment: Any) -> int:
        """The first sample that is not before a moment, a number or a date as text; T if none is.

        A sample that lasts is where its middle is. What is before a number by a millionth of the
        usual step is so by rounding, as 1.4 is before 14 * 0.1.

        Raises
        ------
        DataError
            When it is no moment of this axis.
        """
        where = self.values + self.lasting / 2 if self.lasting else self.values
        at = self.value(moment)
        if isinstance(at, float):
            at -= ROUNDED * self.usual_step
        return int(np.searchsorted(where, at, side="left"))

    def is_beyond(self, moment: Any) -> bool:
        """Whether a moment is more than two steps before the first sample or after the last.

        It is not where the step is not known, and neither is the end of time.

        Raises
        ------
        DataError
            When it is no moment of this axis.
        """
        at, steps = self.value(moment), 2 * max(self.usual_step, self.lasting)
        if not steps or at in (-np.inf, np.inf):
            return False
        is_date = self.values.dtype.kind == "M"
        far: Any = np.timedelta64(round(1e9 * steps), "ns") if is_date else steps
        return not self.values[0] - far <= at <= self.values[-1] + far

    def value(self, moment: Any) -> Any:
        """A moment, a number or a date as text, as the axis has it: a float or a datetime64.

        A number among dates is in seconds since the first sample, as tools write events.

        Raises
        ------
        DataError
            When it is no moment of this axis.
        """
        try:
            if self.values.dtype.kind == "M" and self.clock:
                return self._of_day(moment)
            if self.values.dtype.kind == "M" and (since := _since_start(moment)) is not None:
                return self.values[0] + np.timedelta64(round(1e9 * since), "ns")
            if self.values.dtype.kind == "M":
                pandas = require("pandas", "files", "reading times")
                day_first = self.day_first and not YEAR_FIRST.match(str(moment))
                stamp = pandas.to_datetime(str(moment), dayfirst=day_first)
                return self._on_clock(stamp, moment)
            minutes = _seconds(str(moment), self.clock)
            value = float(moment) if minutes is None else minutes
            if np.isnan(value):
                raise ValueError
        except DataError:
            raise
        except (TypeError, ValueError):
            kind = "date" if self.values.dtype.kind == "M" else "number"
            raise DataError(f"{moment!r} is no {kind}, as {self.name!r} is") from None
        return value

    def _on_clock(self, stamp: Any, moment: Any) -> Any:
        """A date as the values are; one without a time zone is on the clock of the recording."""
        if stamp.tzinfo is None:
            if self.offset is not None and np.isnat(self.offset):
                raise DataError(
                    f"{moment!r} has no time zone, and the clock of {self.name!r} is put forward "
                    "or back: write it with its zone, as in 2024-03-31 12:00+02:00"
                )
            return stamp.to_datetime64()
        if self.offset is None:
            raise DataError(
                f"{moment!r} has a time zone, and the times of {self.name!r} have none: write both "
                "alike"
            )
        return stamp.tz_convert(None).to_datetime64() + _ahead(self.offset)

    def _of_day(self, moment: Any) -> Any:
        """A time of day, or the seconds since midnight, on the day that is nearer to the
        samples.
        """
        pandas, first = require("pandas", "files", "reading times"), self.values[0]
        try:
            since = pandas.to_timedelta(float(moment), unit="s")
        except ValueError:
            stamp = pandas.to_datetime(str(moment).replace(",", "."))
            since = stamp - stamp.normalize()
        found = first.astype("datetime64[D]") + since.to_timedelta64()
        later = found + np.timedelta64(1, "D")
        return later if later - self.values[-1] < first - found else found

    def past_midnight(self) -> TimeAxis:
        """The times of a recording, those of a clock on days that follow where they pass midnight.

        They do if whenever they fall, they do so by more than half a day; rows in disorder do not.
        """
        if not self.clock or self.values.dtype.kind != "M":
            return self
        steps = np.diff(self.values)
        falls = steps < np.timedelta64(0, "us")
        if not falls.any() or (steps[falls] >= -HALF_A_DAY).any():
            return self
        days = np.concatenate([[0], np.cumsum(falls)])
        return replace(self, values=self.values + days * np.timedelta64(1, "D"))

    def at(self, rows: NDArray[np.int64]) -> TimeAxis:
        """The times of some samples."""
        written = None if self.written is None else tuple(self.written[i] for i in rows.tolist())
        return replace(self, values=self.values[rows], written=written)

    @property
    def steps(self) -> NDArray[np.float64]:
        """From each sample to the next, (T - 1,): seconds between dates."""
        steps = np.diff(self.values)
        if steps.dtype.kind == "m":
            return np.asarray(steps / np.timedelta64(1, "s"), dtype=np.float64)
        return np.asarray(steps, dtype=np.float64)

    @cached_property
    def usual_step(self) -> float:
        """The median of the steps, 0 where there is none."""
        return float(np.median(self.steps)) if len(self) > 1 else 0.0

    @property
    def edges(self) -> NDArray[Any]:
        """Where samples meet, halfway between their times, and both ends, (T + 1,).

        Samples that last meet where they begin.
        """
        if self.lasting:
            return np.append(self.values, self.values[-1] + self.lasting)
        values = self.values if self.values.dtype.kind == "M" else self.values.astype(np.float64)
        half = np.diff(values) / 2
        if not half.size:
            half = np.array([np.timedelta64(500, "ms") if values.dtype.kind == "M" else 0.5])
        inner = values[:-1] + half[: len(values) - 1]
        return np.concatenate([[values[0] - half[0]], inner, [values[-1] + half[-1]]])

    @property
    def is_regular(self) -> bool:
        """Whether no step is much longer than the others, and none is 0."""
        steps = self.steps
        usual = float(np.median(steps)) if steps.size else 0.0  # 0 if a time stands for several
        return usual == 0 or bool(0 < steps.min() and steps.max() <= REGULAR * usual)


def _since_start(moment: Any) -> float | None:
    """A number as seconds since the first sample, among dates; None of a date in digits alone."""
    try:
        since = float(moment)
    except (TypeError, ValueError):
        return None
    return since if 0 <= since < SECONDS else None


def put_back(axis: TimeAxis | None) -> str:
    """What to say of local times that are an hour back once, as where the clock is put back."""
    if axis is None or axis.values.dtype.kind != "M" or axis.offset is not None:
        return ""
    steps = axis.steps
    back = steps[steps <= 0]
    if back.size != 1 or not len(steps) > 1 or axis.usual_step > HOUR * REGULAR:
        return ""
    if abs(back[0] - axis.usual_step + HOUR) > 0.5 * axis.usual_step:
        return ""
    return (
        ". They are an hour back once, as where the clock is put back in autumn: samples of two "
        "hours are mixed then, so write times in UTC, or with their zone (+02:00)"
    )


def time_axis(times: Any, n_samples: int) -> TimeAxis:
    """The times of a recording as users hold them: numbers, dates, or an index of pandas."""
    if isinstance(times, TimeAxis):
        found = times
    else:
        name, offset = str(getattr(times, "name", None) or "time"), None
        if getattr(getattr(times, "dtype", None), "tz", None) is not None:
            offset = np.timedelta64(0, "us")  # of UTC, as all values of such an index are
            times = getattr(times, "dt", times).tz_convert(None)  # of a series, or an index
        values = np.asarray(times)
        if values.dtype.kind not in "iufM":
            raise DataError(f"times must be numbers or dates, got {values.dtype} values")
        found = TimeAxis(name, values, offset=offset)
    if found.values.shape != (n_samples,):
        raise DataError(f"{n_samples} samples but times of shape {found.values.shape}")
    missing = np.isnat(found.values) if found.values.dtype.kind == "M" else np.isnan(found.values)
    if missing.any():
        raise DataError(f"the time of sample {int(np.flatnonzero(missing)[0])} is missing")
    falls = np.flatnonzero(found.values[1:] < found.values[:-1])
    if falls.size:
        raise DataError(f"times fall after sample {int(falls[0])}: sort the samples by them")
    return found


def read_times(name: str, column: Any, keep_text: bool) -> TimeAxis | NDArray[np.intp] | None:
    """A column of a pandas frame as times; None for words that are neither numbers nor dates."""
    pandas = require("pandas", "files", "reading tables")
    if isinstance(column.dtype, pandas.PeriodDtype):
        column = column.dt.start_time  # its numbers are days, or whatever a period is
    if getattr(column.dtype, "kind", "O") == "O" and _are_of_day(column):
        column = column.map(str, na_action="ignore")  # as they are written
    found, day_first, is_either, clock, offset = column, False, False, False, None
    if getattr(column.dtype, "kind", "O") not in "iufbmM":
        minutes = _minutes(column)
        clock = minutes is not None or _all(OF_DAY, column)
        found = pandas.to_numeric(column if minutes is None else minutes, errors="coerce")
        if found[column.notna()].isna().any():
            dates = _dates(column)
            if dates is None:
                return None
            found, day_first, is_either = dates
    missing = np.flatnonzero(found.isna().to_numpy())
    if missing.size:
        return missing
    kind = getattr(found.dtype, "kind", "M")
    if kind == "m":
        found, kind = found.dt.total_seconds(), "f"
    if kind not in "iufb":
        found = pandas.to_datetime(found, utc=True).dt.tz_localize(None)
        try:
            values = found.dt.as_unit("ns").to_numpy()
        except pandas.errors.OutOfBoundsDatetime:  # before 1678 or after 2262
            values = found.dt.as_unit("us").to_numpy()
        offset = None if clock else _offset(column)
        values = values + _ahead(offset)
    else:
        values = found.to_numpy().astype(np.float64 if kind == "f" else np.int64)
    keep_text = (keep_text and (clock or kind == "M")) or hasattr(column.dtype, "tz")
    written = tuple(map(str, column)) if keep_text else None
    return TimeAxis(name, values, written, 0.0, day_first, is_either, clock, offset)


def _are_of_day(column: Any) -> bool:
    """Whether these are times of a day, as cells of a sheet and columns of parquet hold them."""
    return column.notna().any() and all(isinstance(one, time) for one in column.dropna())


def _offset(column: Any) -> np.timedelta64 | None:
    pandas = require("pandas", "files", "reading times")
    values = column.tolist()
    if not values:
        return None
    with without_warnings(Warning):  # of dates that are written otherwise, whose clock is the same
        ends = [pandas.to_datetime(str(values[row])) for row in (0, -1)]
    if ends[0].tzinfo is None:
        return None
    first, last = (stamp.utcoffset() for stamp in ends)
    return np.timedelta64(first) if first == last else np.timedelta64("NaT", "us")


def _ahead(offset: np.timedelta64 | None) -> np.timedelta64:
    is_known = offset is not None and not np.isnat(offset)
    return offset if offset is not None and is_known else np.timedelta64(0, "us")


def _all(pattern: re.Pattern[str], column: Any) -> bool:
    there = column.dropna()
    return len(there) > 0 and all(pattern.fullmatch(str(value)) for value in there)


def _all_begin(pattern: re.Pattern[str], column: Any) -> bool:
    return all(pattern.match(str(value)) for value in column.dropna())


def _minutes(column: Any) -> Any:
    """A column of minutes and seconds in seconds; None if it is none, as without any decimals."""
    if not _all(MINUTES, column) or not column.dropna().str.contains("[.,]").any():
        return None
    return column.map(lambda text: _seconds(text, True), na_action="ignore")


def _seconds(text: str, whole: bool) -> float | None:
    """Minutes and seconds in seconds, None if they are none; whole ones may be hours and
    minutes.
    """
    found = MINUTES.fullmatch(text)
    if found is None or not (whole or found[3]):
        return None
    return round(60 * int(found[1]) + float(found[2].replace(",", ".")), 9)


def first_of_no_time(column: Any) -> int:
    """The first row of a column of words that is neither a number nor a date of its own."""
    pandas = require("pandas", "files", "reading tables")
    with without_warnings(Warning):
        numbers = pandas.to_numeric(column, errors="coerce")
        dates = pandas.to_datetime(column, errors="coerce", utc=True, format="mixed")
    return int((numbers.isna() & dates.isna() & column.notna()).to_numpy().argmax())


def _dates(column: Any) -> tuple[Any, bool, bool] | None:
    """A column as dates in UTC; None if some are none."""
    pandas = require("pandas", "files", "reading tables")
    ways: list[dict[str, Any]] = [{}, {"format": "ISO8601"}]  # the latter with or without seconds
    if not column.dropna().astype(str).str.match(YEAR_FIRST).any():
        ways.insert(0 if _all_begin(DAY_FIRST, column) else len(ways), {"dayfirst": True})
    found = []
    with without_warnings(Warning):  # pandas warns where it guesses how dates are written
        for way in ways:
            dates = pandas.to_datetime(column, errors="coerce", utc=True, **way)
            if not dates[column.notna()].isna().any():
                found.append(dates)
        if not found and _all_begin(
            MONTH, column
        ):  # pandas knows them in the user's language alone
            dates = pandas.to_datetime(column, errors="coerce", utc=True, format="mixed")
            found = [] if dates[column.notna()].isna().any() else [dates]
    if not found:
        return None
    dates = min(found, key=lambda one: one.max() - one.min())
    day_first = _day_first(column, dates)
    points = day_first and _all_begin(DAY_FIRST, column)
    return dates, day_first, not points and any(not one.equals(dates) for one in found)


def _day_first(column: Any, dates: Any) -> bool:
    first = column.astype(str).str.extract(FIRST_NUMBER, expand=False).astype(float)
    return bool((first == dates.dt.day).sum() > (first == dates.dt.month).sum())


def warn_about_times(
    names: Sequence[str],
    axes: Sequence[TimeAxis | None],
    learned: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Warn of recordings that were sampled irregularly or at several rates: samples count alike."""
    _warn_about_dates(names, axes)
    _warn_about_rates(names, axes)
    _warn_about_other_rates(names, axes, learned or {})
    odd = [
        (name, axis)
        for name, axis in zip(names, axes, strict=True)
        if axis is not None and not axis.is_regular
    ]
    if not odd:
        return
    told = []
    for name, axis in odd[:NAMED]:
        steps, unit = axis.steps, " s" if axis.values.dtype.kind == "M" else ""
        none = int((steps == 0).sum())
        twice = f", and {none} {'is' if none == 1 else 'are'} 0, as where rows occur twice"
        told.append(
            f"{name} (steps of {axis.name!r} from {steps.min():.4g} to {steps.max():.4g}{unit}, "
            f"the median is {axis.usual_step:.4g}{unit}{twice if none else ''})"
        )
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    warn(
        f"sampled irregularly: {', '.join(told)}{more}. Every sample counts alike: resample to "
        "equal steps if a second should",
        DataWarning,
    )


def usual_steps(axes: Sequence[TimeAxis | None]) -> dict[str, tuple[float, float]]:
    """The shortest and the longest of the usual steps of recordings, in which a model is at
    home.
    """
    found = {kind: _usual(axes, kind) for kind in UNITS}
    ranges = {kind: [step for step, _ in steps] for kind, steps in found.items() if steps}
    return {kind: (min(steps), max(steps)) for kind, steps in ranges.items()}


def _usual(axes: Sequence[TimeAxis | None], kind: str) -> list[tuple[float, int]]:
    """The usual step of each recording whose times are of a kind, and its number."""
    found = [
        (axis.usual_step, i)
        for i, axis in enumerate(axes)
        if axis is not None and len(axis) > 1 and (axis.values.dtype.kind == "M") == (kind == DATES)
    ]
    return [one for one in found if one[0] > 0]  # 0 if a time stands for several samples


def _warn_about_rates(names: Sequence[str], axes: Sequence[TimeAxis | None]) -> None:
    """Warn of recordings whose usual steps differ more than those of regular sampling do."""
    for kind, unit in UNITS.items():
        usual = _usual(axes, kind)
        if not usual:
            continue
        (short, first), (long, last) = min(usual), max(usual)
        if long <= REGULAR * short:
            continue
        column = getattr(axes[first], "name", "time")
        warn(
            f"sampled at different rates: the steps of {column!r} are {short:.4g}{unit} in "
            f"{names[first]} and {long:.4g}{unit} in {names[last]}, by the median. Every sample "
            "counts alike: resample to one step, or the lengths of segments and the price of one "
            "mean something else in each recording",
            DataWarning,
        )


def _warn_about_other_rates(
    names: Sequence[str],
    axes: Sequence[TimeAxis | None],
    learned: Mapping[str, Sequence[float]],
) -> None:
    """Warn of recordings whose usual steps differ from those of the recordings learned from."""
    for kind in (kind for kind in UNITS if kind in learned):
        short, long = learned[kind]
        usual = _usual(axes, kind)
        others = [one for one in usual if not short / REGULAR <= one[0] <= REGULAR * long]
        if not others:
            continue
        step, i = others[0]
        unit, column = UNITS[kind], getattr(axes[i], "name", "time")
        several = f"{short:.4g} to " if long > REGULAR * short else ""
        more = f", and so are {len(others) - 1} more" if others[1:] else ""
        warn(
            f"sampled at another rate than what the model was learned from: the steps of "
            f"{column!r} are {step:.4g}{unit} in {names[i]}, by the median, and were "
            f"{several}{long:.4g}{unit}{more}. Every sample counts alike: resample to the step "
            "that was learned from, or the lengths of segments and the price of one mean something "
            "else",
            DataWarning,
        )


def _warn_about_dates(names: Sequence[str], axes: Sequence[TimeAxis | None]) -> None:
    """Say how dates were read whose day and month may be taken for each other."""
    for first in (True, False):
        found = [
            (name, axis)
            for name, axis in zip(names, axes, strict=True)
            if axis is not None and axis.is_either and axis.day_first == first
        ]
        if not found:
            continue
        name, axis = found[0]
        days = np.datetime_as_string(axis.values, unit="D")
        t = next(t for t, day in enumerate(days) if day[-2:] != day[-5:-3])
        more = f" (and so in {counted(len(found) - 1, 'more recording')})" if found[1:] else ""
        warn(
            f"{name}: {axis.text(t)!r} of {axis.name!r} is taken for {days[t]}, the "
            f"{'day' if first else 'month'} first{more}, though it could be the other way round: "
            "write the year first if it is wrong",
            DataWarning,
        )
