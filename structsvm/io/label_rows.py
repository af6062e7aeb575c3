"""Rows of labels in one form, whatever tool wrote them: a label, its recording, start and end.

A reader of a format makes rows, which may only start or stop something or lack an end;
:func:`settled` gives each of them an end.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from structsvm.data import YEAR_FIRST, TimeAxis, clock_in, length_in
from structsvm.errors import DataError
from structsvm.io.header import MISSING_WORDS
from structsvm.io.sniff import COMMA_NUMBER

START, STOP, STRETCH, UNTIL_NEXT = "start", "stop", "stretch", "until the next"
"""What a row says of its label. A point is a stretch that ends where it starts."""
HTK_UNIT = "hundred nanoseconds"
LONG_UNITS = {HTK_UNIT: 1e-7, "milliseconds": 1e-3, "minutes": 60.0}  # in seconds
DATE = re.compile(
    r"\d+[-/.]\d+[-/.]\d+[^,;\t]*([.,]\d+)?|\d+:\d\d(:\d\d)?([.,]\d+)?(\s*[ap]\.?m\.?)?",
    re.IGNORECASE,
)
"""A date, whatever the order of its numbers, or a time of a day."""
WRITTEN_CLOCK = re.compile(r"(\d+:)?\d+:\d\d[.,]\d+")  # a time as ELAN and subtitles write it


@dataclass(frozen=True)
class Interval:
    """A stretch of time and its label.

    Examples
    --------
    >>> from structsvm.io import Interval
    >>> Interval(0.5, 2.0, "walk").label
    'walk'
    """

    start: Any
    """The start in the time of the recording: a number, or a date as text."""
    end: Any
    """The stretch ends before this time."""
    label: str
    recording: str | None = field(default=None, repr=False, compare=False)
    """The recording, as the file that it was read from calls it, if it does."""
    who: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Its tier, subject and annotator, if known."""
    line: int | None = field(default=None, repr=False, compare=False)
    """The line of the file."""
    unit: str | None = field(default=None, repr=False, compare=False)
    """The unit of its times, if the file says it."""
    kind: str = field(default=STRETCH, repr=False, compare=False)
    """START or STOP if its row says that alone, STRETCH, or UNTIL_NEXT."""
    among: int | None = field(default=None, repr=False, compare=False)
    """The number of samples in the file, if each row is a sample."""

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.label!r} from {self.start} to {self.end}{line}"

    @property
    def key(self) -> tuple[Any, ...]:
        """The recording, tier, subject and annotator within which rows follow each other."""
        return self.recording, *sorted(self.who.items())


def moment(line: int, text: str, unit: str | None = None) -> float | str:
    """Return a time as a number, in seconds if the unit is known, or a date or clock as text."""
    text = text.strip()
    where = f"line {line}: " if line else ""
    if WRITTEN_CLOCK.fullmatch(text) and unit:
        seconds = clock_in(text)
        if seconds is None:
            raise DataError(f"{where}{text!r} has more than 59 seconds in a minute")
        return seconds
    number = text.replace(",", ".") if COMMA_NUMBER.fullmatch(text) else text
    with suppress(ValueError):
        value = float(number)
        if np.isfinite(value):
            return round(value * LONG_UNITS.get(unit or "", 1.0), 9)
    if DATE.fullmatch(text):
        return text
    length = length_in(text)
    if length is None:
        raise DataError(f"{where}{text!r} is neither a number nor a date")
    return round(length, 9)


def is_moment(text: str) -> bool:
    """Whether a text is a number, a date, a time on a clock or a length of time."""
    try:
        moment(0, text)
    except DataError:
        return False
    return True


LASTS = ("inf", "infinity", "eof", "...")
"""Words for the end of a recording in a column of ends, in lower case."""


def has_end(text: str, words: Sequence[str]) -> bool:
    """Whether a cell holds an end: neither a missing value nor one of these words for one."""
    return text.strip().lower() not in (*MISSING_WORDS, *LASTS, *words)


def settled(rows: Sequence[Interval]) -> list[Interval]:
    """Return rows in their order, each with an end: its own, its STOP, or the next one's start."""
    numbered: list[tuple[int, Interval]] = []
    tiers: dict[tuple[Any, ...], list[tuple[int, Interval]]] = {}
    for place, row in enumerate(rows):
        tiers.setdefault(row.key, []).append((place, row))
    are_pairs = any(row.kind == STOP for row in rows)
    for tier in tiers.values():
        ordered = _in_time(tier)
        numbered += _until_next(_joined(ordered) if are_pairs else ordered)
    return [row for _, row in sorted(numbered, key=lambda pair: pair[0])]


def _in_time(rows: list[tuple[int, Interval]]) -> list[tuple[int, Interval]]:
    """Sort rows by their starts, if these are all numbers, or dates with the year first."""
    starts = [row.start for _, row in rows]
    are_numbers = all(isinstance(start, float | int) for start in starts)
    are_dates = all(isinstance(start, str) and YEAR_FIRST.match(start) for start in starts)
    return sorted(rows, key=lambda pair: pair[1].start) if are_numbers or are_dates else rows


def _joined(rows: list[tuple[int, Interval]]) -> list[tuple[int, Interval]]:
    """Join the rows in which something starts with those in which it stops."""
    numbered: list[tuple[int, Interval]] = []
    begun: dict[str, tuple[int, Interval]] = {}
    for place, row in rows:
        line = "" if row.line is None else f" (line {row.line})"
        if row.kind == START and row.label in begun:
            since = begun[row.label][1].start
            raise DataError(f"{row.label!r} starts at {row.start}{line}, and lasts since {since}")
        if row.kind == START:
            begun[row.label] = place, row
        elif row.kind == STOP and row.label not in begun:
            raise DataError(f"{row.label!r} stops at {row.start} and never started{line}")
        elif row.kind == STOP:
            place, first = begun.pop(row.label)
            numbered.append((place, replace(first, end=row.start, kind=STRETCH)))
        else:
            numbered.append((place, row))
    for label, (_, row) in begun.items():
        raise DataError(f"{label!r} starts and never stops: it starts at {row.start}")
    return sorted(numbered, key=lambda pair: pair[0])


def _until_next(rows: list[tuple[int, Interval]]) -> list[tuple[int, Interval]]:
    """Let rows without an end last until another begins, or until the recording ends."""
    numbered: list[tuple[int, Interval]] = []
    following: Any = np.inf
    for k in range(len(rows) - 1, -1, -1):
        place, row = rows[k]
        if row.end is None:
            numbered.append((place, replace(row, end=following, kind=UNTIL_NEXT)))
        else:
            numbered.append((place, row))
        if k and rows[k - 1][1].start != row.start:
            following = row.start
    return numbered


def since_start(rows: Sequence[Interval], axis: TimeAxis | None) -> list[Interval]:
    """Return rows with times on a clock as seconds, unless these are times of day of the axis."""
    clocks = [
        at
        for at in chain.from_iterable((row.start, row.end) for row in rows)
        if _on_clock(at) is not None
    ]
    if not clocks or (axis and axis.holds_dates and not any(map(axis.is_beyond, clocks))):
        return list(rows)
    seconds = [_on_clock(at) for at in clocks]
    if axis and axis.holds_dates and any(map(axis.is_beyond, seconds)):
        return list(rows)
    return [_in_seconds(row) for row in rows]


def _in_seconds(row: Interval) -> Interval:
    """A row with times on a clock as seconds."""
    start = _on_clock(row.start)
    end = _on_clock(row.end)
    if start is None and end is None:
        return row
    start = row.start if start is None else start
    end = row.end if end is None else end
    return replace(row, start=start, end=end, unit="seconds")


def _on_clock(at: Any) -> float | None:
    """The seconds of a time on a clock; None of any other moment."""
    return clock_in(at) if isinstance(at, str) else None
