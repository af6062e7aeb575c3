"""The labels of a folder, and all that they ever were: kept on the disk at every change.

``labels.csv`` is a table that ``fit --labels`` reads: each recording is covered by stretches, whose
label is blank where nothing is known. ``.history.jsonl`` beside it has a line for each change.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.io.interval_files import read_intervals, write_intervals
from structsvm.io.label_file import name_of
from structsvm.io.label_rows import Interval
from structsvm.io.recording import Recording
from structsvm.io.spans import intervals_of

Segment = tuple[int, int, str]
"""The first sample, the one after the last, and the name, "" where it has none."""

NOTHING = "nothing"  # the name of what was looked at, with nothing there
UNNAMED = "segment {}"  # what stretches without a name are called where none has one
IS_UNNAMED = re.compile(r"segment \d+|")
LONGEST = 200  # letters of a name


class KeptLabels:
    """The segments of each recording, on the disk as well."""

    def __init__(self, folder: Path, recordings: Sequence[Recording]) -> None:
        self.table = folder / "labels.csv"
        self._log = folder / ".history.jsonl"
        self._files = {one.name: (one.source, stamp(one.source)) for one in recordings}
        counted = {one.name: TimeAxis("sample", np.arange(len(one.X))) for one in recordings}
        self._axes = {one.name: one.time or counted[one.name] for one in recordings}
        self.learned: list[dict[str, Any]] = []
        """What came of learning, each time."""
        self._states: list[dict[str, list[Segment]]] = [{name: [] for name in self._axes}]
        self._at = 0
        for line in self._log.read_text().splitlines() if self._log.exists() else ():
            with suppress(ValueError):  # of a line that was being written by a killed process
                self._apply(json.loads(line))
        self._rows: dict[str, tuple[Any, list[Interval]]] = {}
        self._stamp = stamp(self.table)
        if self.table.exists():
            self._take(read_intervals(self.table))
        self._write()

    @property
    def segments(self) -> dict[str, list[Segment]]:
        return self._states[self._at]

    @property
    def can(self) -> dict[str, bool]:
        return {"undo": self._at > 0, "redo": self._at + 1 < len(self._states)}

    @property
    def are_named(self) -> bool:
        """Whether segments have names, so that states are learned; else only changes are."""
        every = chain.from_iterable(self.segments.values())
        return any(label not in ("", NOTHING) for _, _, label in every)

    def change(self, segments: Mapping[str, Any]) -> None:
        """Replace the segments of some recordings, in one step."""
        labels = {name: self._checked(name, some) for name, some in segments.items()}
        if any(some != self.segments[name] for name, some in labels.items()):
            self.keep({"labels": labels})

    def step(self, by: int) -> None:
        """Undo, -1, or redo, 1."""
        if not 0 <= self._at + by < len(self._states):
            raise DataError(f"there is nothing to {'undo' if by < 0 else 'redo'}")
        self.keep({"step": by})

    def keep(self, line: Mapping[str, Any]) -> None:
        """Carry out a line of the history, first in the table, which has the last word."""
        if stamp(self.table) != self._stamp:
            said = "was changed by another program: start this page again, which reads it"
            raise DataError(f"{self.table} {said}")
        before = self._states, self._at
        self._apply(line)
        try:
            self._write()
        except BaseException:
            self._states, self._at = before
            raise
        with self._log.open("ab") as file:
            file.write(b"\n" + json.dumps(line).encode())
            file.flush()
            os.fsync(file.fileno())

    def check_files(self, names: Sequence[str]) -> None:
        """Refuse what is about recordings whose files are not those that were read."""
        for path, known in (self._files[name] for name in names):
            if stamp(path) != known:
                raise DataError(f"{path} has changed since it was read: start this page again")

    def _checked(self, name: str, segments: Any) -> list[Segment]:
        if name not in self._axes:
            raise DataError(f"no recording is called {name}")
        self.check_files([name])
        checked: list[Segment] = []
        for start, end, label in segments:
            label = " ".join(str(label).split())
            last = checked[-1][1] if checked else 0
            if not last <= start < end <= len(self._axes[name]):
                raise DataError(f"segments of {name} overlap, or are where it has no samples")
            if (label and IS_UNNAMED.fullmatch(label)) or len(label) > LONGEST:
                raise DataError(f"{label[:30]!r} cannot be a name: choose another one")
            checked.append((int(start), int(end), label))
        return checked

    def _fits(self, name: str, segments: Sequence[Segment]) -> bool:
        return name in self._axes and all(end <= len(self._axes[name]) for _, end, _ in segments)

    def _apply(self, line: Mapping[str, Any]) -> None:
        if "step" in line:
            self._at += line["step"]
        elif "labels" in line:
            # What was undone stays in the history, and so does the way back to here.
            back = self._states[self._at : -1][::-1]
            own = {name: some for name, some in line["labels"].items() if self._fits(name, some)}
            self._states = [*self._states, *back, {**self.segments, **own}]
            self._at = len(self._states) - 1
        elif "learned" in line:
            self.learned.append(dict(line["learned"]))
        else:
            self.learned[-1] |= line["judged"]

    def _take(self, there: Mapping[str, Sequence[Interval]]) -> None:
        """Take what is in the table, which may have been edited elsewhere, where it differs."""
        names = {name_of(name): name for name in self._axes} | {name: name for name in self._axes}
        own = self._stretches()
        found = {}
        for called, rows in there.items():
            name = names.get(called, "")
            marked = [row for row in rows if row.label]
            if marked and not name:
                said = "no recording is called so: put its file back, or move this table away"
                raise DataError(f"{self.table} has labels of {called}, and {said}")
            if name and rows != own[name]:
                found[name] = sorted(self._segment(name, row) for row in marked)
        if found:
            self.change(found)

    def _segment(self, name: str, row: Interval) -> Segment:
        axis = self._axes[name]
        start, end = map(axis.sample_at, (row.start, row.end))
        if start >= end or any(map(axis.is_beyond, (row.start, row.end))):
            said = "where it has no samples: if they are of another one, move this table away"
            raise DataError(f"{self.table} has labels of {name} at {row.start}, {said}")
        return start, end, "" if IS_UNNAMED.fullmatch(row.label) else row.label

    def _write(self) -> None:
        write_intervals(self.table, self._stretches())
        self._stamp = stamp(self.table)

    def _stretches(self) -> dict[str, list[Interval]]:
        """Stretches that cover each recording, blank where nothing is known.

        Where some have names, those without are unknown; where none has, each is one of its own.
        """
        are_named = self.are_named
        for name, segments in self.segments.items():
            key = segments, are_named
            if name not in self._rows or self._rows[name][0] != key:
                self._rows[name] = key, _covering(segments, self._axes[name], are_named)
        return {name: rows for name, (_, rows) in self._rows.items()}


def _covering(segments: Sequence[Segment], axis: TimeAxis, are_named: bool) -> list[Interval]:
    edges = [0, *chain.from_iterable(one[:2] for one in segments), len(axis)]
    codes = np.repeat(np.arange(len(edges) - 1), np.diff(edges))  # odd ones are segments
    rows = []
    for row in intervals_of(codes, axis):
        k = int(row.label)
        label = segments[k // 2][2] if k % 2 else ""
        if k % 2 and not (label or are_named):
            label = UNNAMED.format(k // 2 + 1)
        if edges[k] and axis.values[edges[k]] == axis.values[edges[k] - 1]:
            raise DataError(f"no change can be between samples of one time, {row.start}")
        rows.append(replace(row, label=label))
    return rows


def stamp(path: str | Path | None) -> Any:
    """What tells whether a file is still the one that was read."""
    about = os.stat(path) if path is not None and os.path.exists(path) else None
    return about and (about.st_mtime_ns, about.st_size, about.st_ino)
