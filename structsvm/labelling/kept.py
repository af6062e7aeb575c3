"""The labels of a folder and their history, written to the disk at every change.

``labels.csv`` is a table that ``fit --labels`` reads: each recording is covered by stretches, whose
label is blank where nothing is known. ``.history.jsonl`` beside it has a line for each change.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from structsvm.data import TimeAxis
from structsvm.errors import DataError, about
from structsvm.io import Interval, Recording, read_intervals, write_intervals
from structsvm.io.label_file import name_of
from structsvm.io.spans import stretches

Segment = tuple[int, int, str]
"""The first sample, the one after the last, and the name, "" where it has none."""
NOTHING = "nothing"  # the name of stretches that were looked at and hold no segment
UNNAMED = "segment {}"  # the name of segments in the table if no segment has a name
IS_UNNAMED = re.compile(r"segment \d+|")
LONGEST = 200  # letters of a name, at most


class KeptLabels:
    """The segments of each recording, in memory and on the disk."""

    def __init__(self, folder: Path, recordings: Sequence[Recording]) -> None:
        self.recordings = recordings
        self.table = folder / "labels.csv"
        self.learned: list[dict[str, Any]] = []
        """The results of learning, oldest first."""
        self._log = folder / ".history.jsonl"
        self._files = {one.name: (one.source, stamp(one.source)) for one in recordings}
        self._axes = {one.name: one.axis for one in recordings}
        self._states: list[dict[str, list[Segment]]] = [{name: [] for name in self._axes}]
        self._at = 0
        for line in self._log.read_text().splitlines() if self._log.exists() else ():
            with suppress(ValueError):  # a process was killed while it wrote this line
                self._apply(json.loads(line))
        self._stamp = stamp(self.table)
        if self.table.exists():
            with about(self.table):
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

    def change(self, labels: Mapping[str, Any]) -> None:
        """Replace the segments of some recordings, in one step."""
        checked = {name: self._checked(name, segments) for name, segments in labels.items()}
        if any(segments != self.segments[name] for name, segments in checked.items()):
            self.keep({"labels": checked})

    def step(self, by: int) -> None:
        """Undo one change, ``by`` -1, or redo one, 1."""
        if not 0 <= self._at + by < len(self._states):
            raise DataError(f"there is nothing to {'undo' if by < 0 else 'redo'}")
        self.keep({"step": by})

    def keep(self, line: Mapping[str, Any]) -> None:
        """Apply a line of the history: write the table, which decides, and then the line."""
        if stamp(self.table) != self._stamp:
            raise DataError(f"{self.table} was changed by another program: start this page again")
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
        """Refuse recordings whose files have changed since they were read."""
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

    def _apply(self, line: Mapping[str, Any]) -> None:
        if "step" in line:
            self._at += line["step"]
        elif "labels" in line:
            # States that were undone stay in the history, followed by those of the way back.
            back = self._states[self._at : -1][::-1]
            own = {k: labels for k, labels in line["labels"].items() if self._fits(k, labels)}
            self._states = [*self._states, *back, {**self.segments, **own}]
            self._at = len(self._states) - 1
        elif "learned" in line:
            self.learned.append(dict(line["learned"]))
        else:
            self.learned[-1] |= line["judged"]

    def _fits(self, name: str, segments: Sequence[Segment]) -> bool:
        return name in self._axes and all(end <= len(self._axes[name]) for _, end, _ in segments)

    def _take(self, table: Mapping[str, Sequence[Interval]]) -> None:
        """Take the rows of the table where they differ: another program may have edited them."""
        names = {name_of(name): name for name in self._axes} | {name: name for name in self._axes}
        own = self._stretches()
        changed = {}
        for called, rows in table.items():
            name = names.get(called, called)
            marked = [row for row in rows if row.label]
            if rows != own.get(name) and (marked or name in own):
                changed[name] = sorted(self._segment(name, row) for row in marked)
        self.change(changed)

    def _segment(self, name: str, row: Interval) -> Segment:
        if name not in self._axes:
            raise DataError(
                f"labels of {name}, and no recording is called so: put its file back, or move this "
                "table away"
            )
        axis = self._axes[name]
        start, end = map(axis.sample_at, (row.start, row.end))
        if start >= end or any(map(axis.is_beyond, (row.start, row.end))):
            raise DataError(
                f"labels of {name} at {row.start}, where it has no samples: if they are of another "
                "one, move this table away"
            )
        return start, end, "" if IS_UNNAMED.fullmatch(row.label) else row.label

    def _write(self) -> None:
        write_intervals(self.table, self._stretches())
        self._stamp = stamp(self.table)

    def _stretches(self) -> dict[str, list[Interval]]:
        """The rows of the table, which cover each recording, blank where nothing is known.

        If some segments have names, those without are blank, too; if none has, they are numbered.
        """
        unnamed = "" if self.are_named else UNNAMED
        return {k: _covering(own, self._axes[k], unnamed) for k, own in self.segments.items()}


def _covering(segments: Sequence[Segment], axis: TimeAxis, unnamed: str) -> list[Interval]:
    labels = {0: ""}
    for k, (start, end, label) in enumerate(segments, 1):
        labels |= {start: label or unnamed.format(k), end: ""}
    labels.pop(len(axis), None)
    return stretches(labels, axis)


def stamp(path: str | Path | None) -> Any:
    """A value that changes when the file does; None without a file."""
    status = os.stat(path) if path is not None and os.path.exists(path) else None
    return status and (status.st_mtime_ns, status.st_size, status.st_ino)
