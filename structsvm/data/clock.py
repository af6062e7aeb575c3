"""Moments and lengths of time as people and programs write them."""

import re
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from structsvm.errors import without_warnings
from structsvm.support import require

OF_DAY = re.compile(r"\s*\d{1,2}:\d\d(:\d\d([.,]\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?\s*")
"""A time of a day: hours and minutes, and perhaps seconds."""
MINUTES = re.compile(r"\s*(\d+):([0-5]\d(?:[.,]\d+)?)\s*")
"""Minutes and seconds; read as such if some seconds of a column have decimals."""
CLOCK = re.compile(r"\s*(?:(\d+):)?(\d+):([0-5]\d(?:[.,]\d+)?)\s*")
"""Hours, minutes and seconds, or minutes and seconds."""
YEAR_FIRST = re.compile(r"\s*\d{4}")
DAY_FIRST = re.compile(r"\s*\d{1,2}\.\d{1,2}\.")
"""Points between day and month mean that the day is first."""
MONTH = re.compile(
    r"(?=.*\d{4}).*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
"""A year and the English name of a month."""
FIRST_NUMBER = re.compile(r"^\s*(\d{1,2})[-/.]")
LENGTH = re.compile(
    r"\s*-?(P(?=[\dT])([\d.,]+[WD])*(T([\d.,]+[HMS])+)?|\d+ days?,? \+?\d+:\d\d:\d\d([.,]\d+)?"
    r"|(\d+([.,]\d+)?\s*(ms|msec|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?"
    r"|d|days?)\s*)+)\s*",
    re.IGNORECASE,
)
"""A length of time as ISO 8601, pandas or MATLAB write it: PT1.5S, 0 days 00:00:01.5, 1.5 sec."""
ZONE_NAME = re.compile(r"\s*\[[A-Za-z_/+\-0-9]+\]\s*$")
"""The name of a time zone, as Java writes it after the offset: +01:00[Europe/London]."""
MILLISECONDS = re.compile(r"(?<=\d\d:\d\d:\d\d):(?=\d{3}\s*$)")
"""A colon before milliseconds, as devices of GENEActiv write them."""
EVEN = 30
"""A reading of dates is kept if its longest step, in medians, is at most so many times that of the
most even reading."""
DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")


@lru_cache(maxsize=2**16)
def stamp_in(text: str, day_first: bool) -> Any:
    """Parse a date; results are cached because tables of labels repeat dates."""
    pandas = require("pandas", "files", "reading times")
    return pandas.to_datetime(text, dayfirst=day_first)


def as_pandas_reads(column: Any) -> Any:
    """A column of times without names of zones, with a point before milliseconds."""
    first = str(column.dropna().iloc[0]) if column.notna().any() else ""
    for pattern, instead in ((ZONE_NAME, ""), (MILLISECONDS, ".")):
        if pattern.search(first):
            column = column.str.replace(pattern, instead, regex=True)
    return column


def offset_of(column: Any) -> np.timedelta64 | None:
    """Return the offset of a column from UTC, NaT if it changes, None without a zone."""
    pandas = require("pandas", "files", "reading times")
    if not len(column):
        return None
    with without_warnings(Warning):  # pandas warns where it guesses how dates are written
        first, last = (pandas.to_datetime(str(column.iloc[row])).utcoffset() for row in (0, -1))
    if first is None:
        return None
    return np.timedelta64(first) if first == last else np.timedelta64("NaT", "us")


def ahead_of_utc(offset: np.timedelta64 | None) -> np.timedelta64:
    return np.timedelta64(0, "us") if offset is None or np.isnat(offset) else offset


def length_in(text: str) -> float | None:
    """Parse a length of time into seconds; None if the text is none."""
    if LENGTH.fullmatch(text) is None:
        return None
    pandas = require("pandas", "files", "reading times")
    length = DECIMAL_COMMA.sub(".", text.strip())
    length = length if "P" in length.upper() else length.lower()  # only ISO has capitals
    with suppress(ValueError):
        return float(pandas.to_timedelta(length).total_seconds())
    return None


def number_in(moment: Any) -> float:
    """Parse a number, or a time on a clock or a length of time, both in seconds."""
    if isinstance(moment, str):
        for seconds in (clock_in(moment), length_in(moment)):
            if seconds is not None:
                return seconds
    return float(moment)


def clock_in(text: str) -> float | None:
    """Parse hours, minutes and seconds, or minutes and seconds, into seconds; None if neither."""
    match = CLOCK.fullmatch(text)
    if match is None:
        return None
    hours = int(match[1] or 0)
    minutes = int(match[2])
    seconds = float(match[3].replace(",", "."))
    return round(3600 * hours + 60 * minutes + seconds, 9)


def _largest_of_steps(dates: Any) -> float:
    """The longest step between dates, in units of the median one."""
    steps = np.diff(np.unique(dates.dropna().astype("int64")))
    return float(steps.max() / np.median(steps)) if steps.size else 1.0


def _has_days_first(column: Any, dates: Any) -> bool:
    """Whether more texts begin with the day of their date than with its month."""
    first = column.astype(str).str.extract(FIRST_NUMBER, expand=False).astype(float)
    return bool((first == dates.dt.day).sum() > (first == dates.dt.month).sum())


def dates_in(column: Any, texts: Any) -> tuple[Any, bool, bool] | None:
    """Convert to dates in UTC, or return None; return also if the day is first, and if doubtful."""
    pandas = require("pandas", "files", "reading tables")
    has_points = all(map(DAY_FIRST.match, texts))
    years_first = all(map(YEAR_FIRST.match, texts))
    ways: list[dict[str, Any]] = [{}, {"format": "ISO8601"}]  # the latter with or without seconds
    if not any(map(YEAR_FIRST.match, texts)):
        ways.insert(0 if has_points else len(ways), {"dayfirst": True})
    if all(map(MONTH.match, texts)):  # pandas knows English names of months alone
        ways.append({"format": "mixed"})
    with without_warnings(Warning):  # pandas warns where it guesses how dates are written
        readings = [pandas.to_datetime(column, errors="coerce", utc=True, **way) for way in ways]
    readings = [dates for dates in readings if not dates[column.notna()].isna().any()]
    if not readings:
        return None
    # Of the readings with about the most even steps, that of the shortest span is meant: nobody
    # samples one day in each of seven months.
    gaps = [_largest_of_steps(one) for one in readings]
    even = [one for one, gap in zip(readings, gaps, strict=True) if gap <= EVEN * min(gaps)]
    dates = min(even, key=lambda one: one.max() - one.min())
    day_first = not years_first and _has_days_first(column, dates)
    is_either = not (day_first and has_points) and any(not one.equals(dates) for one in readings)
    return dates, day_first, is_either
