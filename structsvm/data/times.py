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
from structsvm.support.lazy import require
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
    def _holds_dates(self) -> bool:
        """Whether times are dates, and not numbers."""
        return self.values.dtype.kind == "M"

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
        if not self._holds_dates:
            return f"{value:.15g}" if self.values.dtype.kind == "f" else str(value)
        if self.clock:
            return str(value.astype("datetime64[us]").item().time())
        if self.offset is not None and np.isnat(self.offset):
            return f"{np.datetime_as_string(value, unit='ms')}Z"
        return str(np.datetime_as_string(value, unit=self._unit))

    @cached_property
    def _unit(self) -> Unit:
        """The coarsest unit of time in which all dates can be told."""
        units: tuple[Unit, ...] = ("D", "m", "s", "ms", "us", "ns")
        exact = (u for u in units if (self.values == self.values.astype(f"datetime64[{u}]")).all())
        return next(exact)

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
        far: Any = np.timedelta64(round(1e9 * steps), "ns") if self._holds_dates else steps
        return not self.values[0] - far <= at <= self.values[-1] + far

    def value(self, moment: Any) -> Any:
        """A moment, a number or a date as text, as the axis has it: a float or a datetime64.

        A number among dates is in seconds since the first sample, as tools write events.

        Raises
        ------
        DataError
            When it is no moment of this axis.
        """
        kind = "date" if self._holds_dates else "number"
        try:
            if not self._holds_dates:
                minutes = _seconds(str(moment), self.clock)
                value = float(moment) if minutes is None else minutes
                if np.isnan(value):
                    raise ValueError
                return value
            if self.clock:
                return self._of_day(moment)
            since = _since_start(moment)
            if since is not None:
                return self.values[0] + np.timedelta64(round(1e9 * since), "ns")
            pandas = require("pandas", "files", "reading times")
            day_first = self.day_first and not YEAR_FIRST.match(str(moment))
            return self._on_clock(pandas.to_datetime(str(moment), dayfirst=day_first), moment)
        except DataError:
            raise
        except (TypeError, ValueError):
            raise DataError(f"{moment!r} is no {kind}, as {self.name!r} is") from None

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
        if not (self.clock and self._holds_dates):
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
        values = self.values if self._holds_dates else self.values.astype(np.float64)
        half = np.diff(values) / 2
        if not half.size:
            half = np.array([np.timedelta64(500, "ms") if self._holds_dates else 0.5])
        inner = values[:-1] + half[: len(values) - 1]
        return np.concatenate([[values[0] - half[0]], inner, [values[-1] + half[-1]]])

    @property
    def is_regular(self) -> bool:
        """Whether no step is much longer than the others, and none is 0."""
        steps, usual = self.steps, self.usual_step  # 0 if a time stands for several samples
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
    if axis is None or not axis._holds_dates or axis.offset is not None:
        return ""
    usual, back = axis.usual_step, axis.steps[axis.steps <= 0]
    if len(back) != 1 or len(axis) < 3 or usual > HOUR * REGULAR:
        return ""
    if abs(back[0] - usual + HOUR) > 0.5 * usual:
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
    missing = np.isnat(found.values) if found._holds_dates else np.isnan(found.values)
    if missing.any():
        raise DataError(f"the time of sample {int(np.flatnonzero(missing)[0])} is missing")
    falls = np.flatnonzero(found.values[1:] < found.values[:-1])
    if falls.size:
        raise DataError(f"times fall after sample {int(falls[0])}: sort the samples by them")
    return found


def read_times(name: str, column: Any, keep_text: bool) -> TimeAxis | NDArray[np.intp] | None:
    """A column of a pandas frame as times, or the rows in which they are missing.

    None for words that are neither numbers nor dates.
    """
    pandas = require("pandas", "files", "reading tables")
    if isinstance(column.dtype, pandas.PeriodDtype):
        column = column.dt.start_time  # its numbers are days, or whatever a period is
    there = column.dropna()
    is_object = getattr(column.dtype, "kind", "O") == "O"
    if is_object and len(there) and all(isinstance(one, time) for one in there):  # of a day
        column = column.map(str, na_action="ignore")  # as they are written
        there = column.dropna()
    found, day_first, is_either, clock, offset = column, False, False, False, None
    if getattr(column.dtype, "kind", "O") not in "iufbmM":
        has_minutes = _all(MINUTES, there) and there.str.contains("[.,]").any()
        clock = has_minutes or _all(OF_DAY, there)
        if has_minutes:
            found = column.map(lambda text: _seconds(text, True), na_action="ignore")
        found = pandas.to_numeric(found, errors="coerce")
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
    if kind in "iufb":
        values = found.to_numpy().astype(np.float64 if kind == "f" else np.int64)
    else:
        found = pandas.to_datetime(found, utc=True).dt.tz_localize(None)
        try:
            values = found.dt.as_unit("ns").to_numpy()
        except pandas.errors.OutOfBoundsDatetime:  # before 1678 or after 2262
            values = found.dt.as_unit("us").to_numpy()
        offset = None if clock else _offset(column)
        values = values + _ahead(offset)
    keep_text = (keep_text and (clock or kind == "M")) or hasattr(column.dtype, "tz")
    written = tuple(map(str, column)) if keep_text else None
    return TimeAxis(name, values, written, 0.0, day_first, is_either, clock, offset)


def _offset(column: Any) -> np.timedelta64 | None:
    """How far the clock of a column is ahead of UTC; NaT if that changes, None without a zone."""
    pandas = require("pandas", "files", "reading times")
    if not len(column):
        return None
    with without_warnings(Warning):  # of dates that are written otherwise, whose clock is the same
        first, last = (pandas.to_datetime(str(column.iloc[row])).utcoffset() for row in (0, -1))
    if first is None:
        return None
    return np.timedelta64(first) if first == last else np.timedelta64("NaT", "us")


def _ahead(offset: np.timedelta64 | None) -> np.timedelta64:
    return np.timedelta64(0, "us") if offset is None or np.isnat(offset) else offset


def _all(pattern: re.Pattern[str], there: Any) -> bool:
    return len(there) > 0 and all(pattern.fullmatch(str(value)) for value in there)


def _seconds(text: str, whole: bool) -> float | None:
    """Minutes and seconds in seconds, None if they are none or, being whole, may be hours."""
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
    """A column as dates in UTC, and whether the day is first and may not be; None if it has others.

    Of several ways to read it, the one that spans the least time is taken.
    """
    pandas = require("pandas", "files", "reading tables")
    texts = column.dropna().astype(str)
    has_points = texts.str.match(DAY_FIRST).all()
    ways: list[dict[str, Any]] = [{}, {"format": "ISO8601"}]  # the latter with or without seconds
    if not texts.str.match(YEAR_FIRST).any():
        ways.insert(0 if has_points else len(ways), {"dayfirst": True})
    with without_warnings(Warning):  # pandas warns where it guesses how dates are written
        found = [pandas.to_datetime(column, errors="coerce", utc=True, **way) for way in ways]
        found = [dates for dates in found if not dates[column.notna()].isna().any()]
        if not found and texts.str.match(MONTH).all():  # else known in the user's language alone
            dates = pandas.to_datetime(column, errors="coerce", utc=True, format="mixed")
            found = [] if dates[column.notna()].isna().any() else [dates]
    if not found:
        return None
    dates = min(found, key=lambda one: one.max() - one.min())
    first = column.astype(str).str.extract(FIRST_NUMBER, expand=False).astype(float)
    day_first = bool((first == dates.dt.day).sum() > (first == dates.dt.month).sum())
    is_either = not (day_first and has_points) and any(not one.equals(dates) for one in found)
    return dates, day_first, is_either


def warn_about_times(
    names: Sequence[str],
    axes: Sequence[TimeAxis | None],
    learned: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Warn of recordings that were sampled irregularly or at several rates: samples count alike."""
    _warn_about_dates(names, axes)
    for kind, unit in UNITS.items():
        usual = _usual(axes, kind)
        if usual:
            _warn_about_rates(names, axes, usual, unit, (learned or {}).get(kind))
    odd = [
        (name, axis)
        for name, axis in zip(names, axes, strict=True)
        if axis is not None and not axis.is_regular
    ]
    if not odd:
        return
    told = []
    for name, axis in odd[:NAMED]:
        steps, unit = axis.steps, UNITS[DATES if axis._holds_dates else "numbers"]
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
    """The shortest and the longest of the usual steps of recordings, by the kind of their times."""
    found = {kind: [step for step, _ in _usual(axes, kind)] for kind in UNITS}
    return {kind: (min(steps), max(steps)) for kind, steps in found.items() if steps}


def _usual(axes: Sequence[TimeAxis | None], kind: str) -> list[tuple[float, int]]:
    """The usual step of each recording whose times are of a kind, and its number."""
    return [
        (axis.usual_step, i)
        for i, axis in enumerate(axes)
        if axis is not None
        and axis._holds_dates == (kind == DATES)
        and axis.usual_step > 0  # 0 if a time stands for several samples
    ]


def _warn_about_rates(
    names: Sequence[str],
    axes: Sequence[TimeAxis | None],
    usual: Sequence[tuple[float, int]],
    unit: str,
    learned: Sequence[float] | None,
) -> None:
    """Warn of steps that differ more than those of regular sampling do, here or from learning."""
    (short, first), (long, last) = min(usual), max(usual)
    if long > REGULAR * short:
        warn(
            f"sampled at different rates: the steps of {getattr(axes[first], 'name', 'time')!r} "
            f"are {short:.4g}{unit} in {names[first]} and {long:.4g}{unit} in {names[last]}, by "
            "the median. Every sample counts alike: resample to one step, or the lengths of "
            "segments and the price of one mean something else in each recording",
            DataWarning,
        )
    if learned is None:
        return
    short, long = learned
    others = [one for one in usual if not short / REGULAR <= one[0] <= REGULAR * long]
    if others:
        step, i = others[0]
        several = f"{short:.4g} to " if long > REGULAR * short else ""
        more = f", and so are {len(others) - 1} more" if others[1:] else ""
        warn(
            "sampled at another rate than what the model was learned from: the steps of "
            f"{getattr(axes[i], 'name', 'time')!r} are {step:.4g}{unit} in {names[i]}, by the "
            f"median, and were {several}{long:.4g}{unit}{more}. Every sample counts alike: "
            "resample to the step that was learned from, or the lengths of segments and the price "
            "of one mean something else",
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
