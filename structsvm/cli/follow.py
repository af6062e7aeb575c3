"""``structsvm predict --follow``: changes in samples from standard input, as they are found."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from structsvm.cli.terminal import Terminal
from structsvm.data import TimeAxis, read_times
from structsvm.errors import DataError, SettingsError, about
from structsvm.io import FileOptions
from structsvm.io.sniff import TextFormat, separator_in
from structsvm.learner import Change, Learner, Stream
from structsvm.support import counted, is_number_text, require, some_of

BYTES_AT_ONCE = 2**16
"""The most bytes that are read at a time; fewer, if no more have come."""
TITLES = "place,seen,state,margin,is"


def follow(learner: Learner, terminal: Terminal, false_alarm_every: int | None = None) -> int:
    """Read lines of numbers to the end of standard input, and print the changes in them."""
    columns = getattr(learner, "columns_", {})
    window = columns.get("window") or 1
    learned = f"the model was learned from windows of {window} samples: learn with "
    if window > 1:
        raise SettingsError(f"--follow takes samples, and {learned}fit --set files.window=1")
    stream = learner.stream(false_alarm_every=false_alarm_every)
    names = getattr(learner, "feature_names_in_", None)
    lines = _Lines(names, learner.n_features_in_, columns.get("time_column"))
    if not terminal.as_json:
        terminal.report(None, TITLES)
    for texts in _blocks_of_lines():
        for changes in _pushed(stream, *lines.read(texts)):
            _tell(changes, terminal)
    _tell(stream.end(), terminal)
    terminal.note(f"{counted(stream.n_samples, 'sample')}, and no more")
    if not stream.exact:
        terminal.note(
            "not exact: so long without a change that older candidates for one were thinned"
        )
    return 0


def _blocks_of_lines() -> Iterator[list[str]]:
    """The lines that have come since the last ones, and an empty block at the end."""
    if sys.stdin is None:
        raise SettingsError("--follow reads standard input, which is closed: pipe lines into it")
    stdin: Any = sys.stdin.buffer
    rest = b""
    while block := stdin.read1(BYTES_AT_ONCE):
        lines = (rest + block).splitlines(keepends=True)
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        yield [line.decode("utf-8-sig", "replace") for line in lines]
    yield [line.decode("utf-8-sig", "replace") for line in rest.splitlines()]
    yield []  # a fault of the last line is raised by the next block


def _pushed(stream: Stream, rows: Any, times: Any) -> Iterator[list[Change]]:
    """The changes after some samples; if one is refused, first those after the samples before."""
    try:
        yield stream.push(rows, times)
    except DataError:
        half = len(rows) // 2
        if not half:
            raise
        for part in (slice(half), slice(half, None)):
            yield from _pushed(stream, rows[part], None if times is None else times[part])


def _tell(changes: Sequence[Change], terminal: Terminal) -> None:
    """Print changes, a line or a JSON object each."""
    for change in changes:
        margin = change.margin
        finite = margin if margin is not None and math.isfinite(margin) else None
        if terminal.as_json:
            terminal.out.file.write(json.dumps(asdict(change) | {"margin": finite}) + "\n")
            continue
        shown = "" if finite is None else f"{finite:.3g}"
        status = "new" if change.final is None else "final"
        status = status if change.withdrawn is None else "withdrawn"
        seen = max(change.seen, change.final or 0, change.withdrawn or 0)
        row = io.StringIO()
        cells = [change.place, seen, change.state, shown, status]
        csv.writer(row, lineterminator="").writerow(cells)
        terminal.report(None, row.getvalue())
    terminal.out.file.flush()


class _Lines:
    """Reads lines of numbers, the first of which may hold the names of the columns."""

    def __init__(self, names: Any, n_columns: int, time: str | None) -> None:
        self.names = None if names is None else [str(name) for name in names]
        self.time = time
        self.number = 0
        self.written: TextFormat | None = None
        self.columns = list(range(n_columns))
        self.width = n_columns, "the model takes"
        self.clock: int | None = None  # the number of the column of times
        self.moment: TimeAxis | int | None = None  # the last time that was no number
        self.fault: DataError | None = None  # that of the last line, still to be raised

    def read(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return the numbers of lines, (n, P), and their times, if they have any.

        If a line cannot be read, the lines before it are returned, and the next call raises why.
        """
        if self.fault is not None:
            raise self.fault
        rows: list[list[float]] = []
        times: list[Any] = []
        try:
            for text in texts:
                self.number += 1
                with about(f"line {self.number} of standard input"):
                    cells = self._cells(text)
                    if not cells:
                        continue
                    row = self._row(cells)
                    if self.clock is not None:
                        times.append(self._moment(cells[self.clock]))
                    rows.append(row)
        except DataError as error:
            self.fault = error
        array = np.array(rows, dtype=np.float64).reshape(-1, len(self.columns))
        return array, np.array(times) if times else None

    def _cells(self, text: str) -> list[str]:
        """The cells of a line; none of one that is blank, or has the names of the columns."""
        if not text.strip():
            return []
        is_first = self.written is None
        if self.written is None:
            self.written = TextFormat(separator_in(text, FileOptions()))
        try:
            _, row = next(self.written.rows(text), (0, []))
        except csv.Error as error:  # such as a cell of more characters than csv reads
            raise DataError(str(error)) from error
        cells = [cell.strip() for cell in row]
        if is_first and not all(map(_is_number, cells)):
            self._find(cells)
            return []
        return cells

    def _find(self, cells: list[str]) -> None:
        """Find the columns by their names."""
        wanted = self.names or cells[: len(self.columns)]
        lost = [name for name in wanted if name not in cells]
        if lost:
            raise DataError(
                f"it begins with the names {some_of(cells)}, without {some_of(lost)}, "
                "which the model was learned from"
            )
        self.columns = [cells.index(name) for name in wanted]
        self.width = len(cells), "the names are"
        self.clock = cells.index(self.time) if self.time in cells else None

    def _row(self, cells: list[str]) -> list[float]:
        """The numbers in the cells of the columns; NaN where a cell is blank."""
        width, owner = self.width
        if len(cells) != width:
            raise DataError(f"{counted(len(cells), 'number')}, and {owner} {width}")
        wrong = [cells[j] for j in self.columns if not _is_number(cells[j])]
        if wrong:
            raise DataError(f"{wrong[0]!r} is no number")
        return [float(cells[j].replace(",", ".") or "nan") for j in self.columns]

    def _moment(self, text: str) -> Any:
        """A time as a number, or as a date; a time of day is on the day nearest to the last one."""
        if not text:
            raise DataError("the time is missing")
        if is_number_text(text):
            return float(text.replace(",", "."))
        if self.moment is None:
            pandas = require("pandas", "files", "reading times")
            self.moment = read_times("time", pandas.Series([text], dtype=object), False, str)
        if isinstance(self.moment, int):
            raise DataError(f"{text!r} is no time: write seconds, or 2026-01-31T12:00:00")
        value = self.moment.value(text)
        self.moment = replace(self.moment, values=np.array([value]))
        return value


def _is_number(text: str) -> bool:
    """Whether a cell holds a number, or nothing."""
    return not text or is_number_text(text)
