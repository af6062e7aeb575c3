"""Labels in lines without a header: start, end and label, in an order that is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from structsvm.errors import DataError
from structsvm.io.label_file import LabelFile, cells_of
from structsvm.io.label_rows import WRITTEN_CLOCK, Interval, is_moment, moment


def is_track(file: LabelFile) -> bool:
    return file.separator[1] > 0


def read_lines(file: LabelFile) -> Iterator[Interval]:
    """Read lines of a start, perhaps an end, and a label, as Audacity and music researchers do."""
    separator, n = file.separator
    most = n if separator is None else -1
    rows = [(k, cells_of(line, separator, most)) for k, line in file.lines]
    if n == 2 and all(len(cells) == 2 for _, cells in rows) and any(map(_is_backwards, rows)):
        n = 1  # the second is no end, but a label that is a number
    words = [cells[n].split()[-1:] for _, cells in rows if len(cells) > n and " " in cells[n]]
    beside = separator is None and len(words) == len(rows) and all(map(is_moment, chain(*words)))
    if beside or any(len(cells) > n + 1 for _, cells in rows):
        raise DataError(
            f"line {rows[0][0]} holds values, and more than a start, an end and a label: write a "
            "header above it, such as start,end,label,other"
        )
    if n == 2 and not file.columns and _would_be_durations([cells for _, cells in rows]):
        raise DataError(
            f"line {rows[0][0]}: if the second value is a duration, write a header above it: "
            "start,duration,label; as ends they are before their starts"
        )
    named = any(len(cells) > n for _, cells in rows)
    for line, cells in rows:
        start, *ends = (moment(line, cell) for cell in cells[:n])
        end = ends[0] if ends else None if named else start
        end = None if file.columns else end
        yield Interval(start, end, cells[n] if len(cells) > n else "", line=line)


def _would_be_durations(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some ends are before their starts, and starts are where rows end that last so."""
    pairs = [tuple(moment(0, cell) for cell in cells[:2]) for cells in rows if is_moment(cells[0])]
    numbers = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, float)]
    backwards = any(b < a for a, b in numbers)
    ends = [a + b for a, b in numbers[:-1]]
    return backwards and all(end <= a for end, (a, _) in zip(ends, numbers[1:], strict=True))


def _is_backwards(row: tuple[int, Sequence[str]]) -> bool:
    start, end = (moment(row[0], cell) for cell in row[1])
    return isinstance(start, float) and isinstance(end, float) and end < start


def is_plain_elan(file: LabelFile) -> bool:
    parts = file.lines[0][1].split("\t") if file.lines else []
    clocks = any(WRITTEN_CLOCK.fullmatch(part) for part in parts[:3])
    return not {"start", "end"} & file.columns.keys() and len(parts) >= 4 and clocks


def read_plain_elan(file: LabelFile) -> Iterator[Interval]:
    """Read ELAN's text without a header: tier, participant, times, duration, annotation."""
    for line, text in file.lines:
        parts = text.split("\t")
        clocks = [k for k, part in enumerate(parts) if WRITTEN_CLOCK.fullmatch(part)]
        who = dict(zip(("tier", "subject"), parts[: clocks[0]], strict=False))
        start, end = (moment(line, parts[k], "seconds") for k in clocks[:2])
        yield Interval(start, end, parts[-1].strip(), None, who, line)
