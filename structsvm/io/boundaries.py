"""The meaning of the ends of stretches: last samples, or where the next stretch begins."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from structsvm.data import TimeAxis
from structsvm.errors import DataError
from structsvm.io.label_rows import LONG_UNITS, Interval

Span = tuple[int, int, Interval]
"""The first sample of an interval, the one after its last, and the interval."""
SAME_TIME = 1e-6  # part of a step by which equal times may differ
MOST_PAIRS, TOUCHING_PAIRS = 0.9, 0.1
"""Ends are read in a way that so many of the neighbours that touch agree with, if so many of all
neighbours touch."""
SLIGHT = 0.05
"""Part of the shorter of two stretches up to which an overlap is an inexact mark of one moment."""
LITTLE, MOST_OF_ONE = 0.01, 0.5
"""Where no more than this part of all that is labelled has two labels, overlaps are inexact marks
up to this part of the shorter stretch."""
OF_A_CLOCK = re.compile(r"\d:\d\d(:\d\d([.,]\d+)?)?")
AT_MIDNIGHT = re.compile(r".*\d[ T]00:00:00")
DAY = 86400.0


@dataclass(frozen=True, eq=False)
class PlacedRow:
    """A row of labels with its start and end as values of the axis of its recording."""

    row: Interval
    start: Any
    end: Any  # None at the end of the recording

    @classmethod
    def of(cls, row: Interval, axis: TimeAxis) -> "PlacedRow":
        start = axis.value(row.start)
        end = None if row.end == np.inf else axis.value(row.end)
        if end is not None and end < start:
            raise DataError(f"{row} ends before it starts")
        return cls(row, start, end)


Pair = tuple[PlacedRow, PlacedRow]
"""Two rows that follow each other in one tier, of which the first has an end."""


def pairs_in_time(stretches: Sequence[PlacedRow]) -> Iterator[Pair]:
    """The pairs of neighbours in each tier of each recording."""
    tiers: dict[Any, list[PlacedRow]] = {}
    for one in stretches:
        tiers.setdefault(one.row.key, []).append(one)
    for tier in tiers.values():
        ordered = sorted(tier, key=lambda one: one.start)
        yield from ((a, b) for a, b in pairwise(ordered) if a.end is not None)


@dataclass(frozen=True)
class MeaningOfEnds:
    """The meaning of the ends of stretches, which is the same in some recordings."""

    reach: float | None = None
    """How long stretches last beyond their ends, if these are the times of their last samples."""
    slight: float = 0.0
    """Part of the shorter of two neighbours up to which they overlap and are meant to meet, where
    the later one begins; 0 if gaps and overlaps are meant as they are."""
    from_one: bool = False  # whether samples are counted from 1

    def __str__(self) -> str:
        said = {
            "the next stretch begins a step after the end of the one before, so that ends are "
            "taken for those of last samples": self.reach is not None,
            "stretches that are hardly apart, or hardly overlap, meet where the later one "
            "begins": self.slight > 0,
            "samples are counted from 1": self.from_one,
        }
        return ", and ".join(words for words, is_so in said.items() if is_so)

    @classmethod
    def of(cls, several: Sequence[tuple[Sequence[PlacedRow], TimeAxis]]) -> "MeaningOfEnds":
        """Find out what ends mean, from the gaps between neighbours in all recordings.

        Where most neighbours that touch are apart by one step of the samples, or by one unit of the
        last digit of their times, ends are those of last samples. Where most are apart by less, or
        overlap a little, or where hardly anything has two labels, they are meant to meet.
        """
        rows = [one.row for one in chain.from_iterable(stretches for stretches, _ in several)]
        unit = _last_digit(rows)
        steps: list[float] = []
        n_pairs = n_units = n_touching = n_slight = 0
        for stretches, axis in several:
            for pair in pairs_in_time(stretches):
                if not axis.values[0] <= pair[1].start <= axis.values[-1]:
                    continue  # a row of another recording
                gap = _gap(pair, axis)
                step = _step(axis)
                n_pairs += 1
                n_touching += gap <= max(step, unit) * (1 + SAME_TIME)
                n_slight += _is_slight(pair, axis, SLIGHT)
                n_units += abs(gap - unit) <= SAME_TIME * unit
                if _is_one_step(pair, axis):
                    steps.append(step)
        reach = None
        if len(steps) >= max(MOST_PAIRS * n_touching, TOUCHING_PAIRS * n_pairs, 1):
            reach = float(np.median(steps))
        elif n_units >= max(MOST_PAIRS * n_pairs, 1):
            reach = unit
        slight = 0.0
        if reach is None and n_slight >= max(MOST_PAIRS * n_touching, 1):
            slight = SLIGHT
        if reach is None and _hardly_overlap(several):
            slight = MOST_OF_ONE
        return cls(reach, slight, _are_from_one(several, reach))

    def spans(self, stretches: Sequence[PlacedRow], axis: TimeAxis) -> list[Span]:
        """The first sample of each stretch, the one after its last, and its row."""
        pairs = pairs_in_time(stretches) if self.slight else ()
        meeting = [pair for pair in pairs if _is_slight(pair, axis, self.slight)]
        ends = {id(a): axis.first_from(b.start) for a, b in meeting}
        return [
            (axis.first_from(one.start), ends.get(id(one), self._end(one, axis)), one.row)
            for one in stretches
        ]

    def _end(self, one: PlacedRow, axis: TimeAxis) -> int:
        if one.end is None:
            return len(axis)
        end = axis.first_from(one.end)
        if self.reach is None:
            return end
        if self.reach <= _step(axis) * (1 + SAME_TIME) and _is_at(one.end, end, axis):
            return end + 1
        return axis.first_from(one.end + axis.span(self.reach))


def _are_from_one(
    several: Sequence[tuple[Sequence[PlacedRow], TimeAxis]], reach: float | None
) -> bool:
    """Whether rows number samples from 1 to T, on axes that number them from 0 to T - 1."""
    lasts: list[tuple[Any, int]] = []
    for stretches, axis in several:
        T = len(axis)
        if not stretches or axis.holds_dates or not np.array_equal(axis.values, np.arange(T)):
            continue
        if min(one.start for one in stretches) < 1:
            return False
        lasts.append((max(one.start for one in stretches), T))
        if reach is not None:
            lasts.append((max(one.end or 0 for one in stretches), T))
    return any(last == T for last, T in lasts) and all(last <= T for last, T in lasts)


def _gap(pair: Pair, axis: TimeAxis) -> float:
    """The time between the end of the first and the start of the second; of dates, in seconds."""
    return float((pair[1].start - pair[0].end) / axis.span(1.0))


def _is_slight(pair: Pair, axis: TimeAxis, part: float) -> bool:
    """Whether two are apart, but by less than a step, or overlap by little more."""
    gap = _gap(pair, axis)
    less = _step(axis) * (1 - SAME_TIME)
    shorter = min(_lengths(pair, axis))
    return 0 < abs(gap) <= (less if gap > 0 else max(min(less, shorter / 2), part * shorter))


def _lengths(stretches: Sequence[PlacedRow], axis: TimeAxis) -> list[float]:
    """The lengths of stretches that have an end; of dates, in seconds."""
    ended = [one for one in stretches if one.end is not None]
    return [float((one.end - one.start) / axis.span(1.0)) for one in ended]


def _hardly_overlap(several: Sequence[tuple[Sequence[PlacedRow], TimeAxis]]) -> bool:
    """Whether stretches of two labels overlap, in all hardly, and none lies mostly in another."""
    overlapped = labelled = 0.0
    for stretches, axis in several:
        labelled += sum(_lengths(stretches, axis))
        for pair in pairs_in_time(stretches):
            common = min(-_gap(pair, axis), *_lengths(pair, axis))
            if common <= 0 or pair[0].row.label == pair[1].row.label:
                continue
            if common > MOST_OF_ONE * min(_lengths(pair, axis)):
                return False
            overlapped += common
    return 0 < overlapped <= LITTLE * labelled


def _is_one_step(pair: Pair, axis: TimeAxis) -> bool:
    """Whether the first ends one sample before the second starts."""
    end = axis.first_from(pair[0].end)
    return _is_at(pair[0].end, end, axis) and _is_at(pair[1].start, end + 1, axis)


def _is_at(value: Any, sample: int, axis: TimeAxis) -> bool:
    if sample >= len(axis):
        return False
    return bool(abs(axis.values[sample] - value) / axis.span(1.0) <= SAME_TIME * _step(axis))


def _step(axis: TimeAxis) -> float:
    return max(axis.usual_step, axis.lasting)


def _last_digit(rows: Sequence[Interval]) -> float:
    """The unit of the last digit that times are written with; of dates, in seconds."""
    moments = [
        at for at in chain.from_iterable((row.start, row.end) for row in rows) if at != np.inf
    ]
    texts = [at for at in moments if isinstance(at, str)]
    if texts:
        clocks = [match for match in map(OF_A_CLOCK.search, texts) if match]
        if not clocks or all(map(AT_MIDNIGHT.fullmatch, texts)):
            return DAY
        digits = max(len((match[2] or "")[1:]) for match in clocks)
        return 10.0**-digits if any(match[1] for match in clocks) else 60.0
    factor = next((LONG_UNITS[row.unit] for row in rows if row.unit in LONG_UNITS), 1.0)
    written = (f"{at / factor:.9f}".rstrip("0").partition(".")[2] for at in moments)
    return float(factor * 10.0 ** -max(map(len, written), default=0))
