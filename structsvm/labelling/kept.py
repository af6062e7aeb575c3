"""The labels of a folder, and all that they ever were: kept on the disk at every change.

``labels.csv`` is a table that ``fit --labels`` reads: each recording is covered by stretches, whose
label is blank where nothing is known. ``.history.jsonl`` beside it has a line for each change.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError
from structsvm.io.interval_files import read_intervals, write_intervals
from structsvm.io.label_files import LABEL_KINDS
from structsvm.io.label_rows import Interval
from structsvm.io.recording import Recording, listed

Segment = tuple[int, int, str]
"""The first sample, the one after the last, and the name, "" where it has none."""
Change = Mapping[str, tuple[Sequence[Segment], Sequence[Segment]]]
"""The segments of some recordings before and after."""

NOTHING = "nothing"  # the name of what was looked at, with nothing there
UNNAMED = "segment {}"  # what stretches without a name are called where none has one
IS_UNNAMED = re.compile(r"segment \d+|")
LONGEST = 200  # letters of a name


class Refused(Exception):
    """What the page asked for cannot be; the sentence says why, and what to do."""


class Moments:
    """The samples of a recording in the time of its file, and back."""

    def __init__(self, recording: Recording) -> None:
        self.name = recording.name
        self.axis = recording.time or TimeAxis("sample", np.arange(len(recording.X)))
        self._known: dict[int, Any] = {}

    def at(self, sample: int) -> Any:
        """When a sample begins; of the last one, also when it ends."""
        if sample not in self._known:
            axis = self.axis
            self._known[sample] = axis.text(sample) if axis.holds_dates else self._value(sample)
            if sample == len(axis):
                after = TimeAxis(axis.name, np.array([self._value(sample)]), clock=axis.clock)
                self._known[sample] = after.text(0) if axis.holds_dates else after.values[0].item()
            elif axis.sample_at(self._known[sample]) != sample:
                raise Refused(
                    f"{self.name}: samples {sample - 1} and {sample} have the same time, so that "
                    "no change can be between them"
                )
        return self._known[sample]

    def _value(self, sample: int) -> Any:
        values = self.axis.values
        if sample < len(values):
            return values[sample] if self.axis.holds_dates else values[sample].item()
        step = np.asarray(np.median(np.diff(values)) if len(values) > 1 else 1)
        return values[-1] + step.astype("m8[ns]" if self.axis.holds_dates else values.dtype)

    def segment(self, one: Interval) -> Segment:
        axis = self.axis
        beyond = [at for at in (one.start, one.end) if axis.is_beyond(at)]
        start = axis.sample_at(one.start)
        end = axis.sample_at(one.end)
        if beyond or start >= end:
            raise DataError(
                f"labels of {self.name} from {one.start} to {one.end}, where it has no samples: if "
                "they are of another recording, move the table of labels away"
            )
        return start, end, one.label


class KeptLabels:
    """The segments of each recording, on the disk as well."""

    def __init__(self, folder: Path, recordings: Sequence[Recording]) -> None:
        self.table = folder / "labels.csv"
        self.log = folder / ".history.jsonl"
        self.learned: list[Any] = []
        """What came of learning, each time."""
        self._moments = {one.name: Moments(one) for one in recordings}
        self.segments: dict[str, Sequence[Segment]] = {name: [] for name in self._moments}
        self._files = {one.name: (one.source, stamp(one.source)) for one in recordings}
        self._changes: list[Change] = []
        self._at = 0
        others = [path.name for path in folder.iterdir() if path.suffix.lower() in LABEL_KINDS]
        others = [name for name in others if name != self.table.name]
        if others:
            raise DataError(
                f"{folder}: {listed(others, 3)} holds other labels, which this page would not "
                f"keep: join them in {self.table.name}, or move them away"
            )
        self._replay()
        if self.table.exists():
            self._take(read_intervals(self.table))
        self._write()

    @property
    def can(self) -> dict[str, bool]:
        return {"undo": self._at > 0, "redo": self._at < len(self._changes)}

    def change(self, segments: Mapping[str, Any]) -> None:
        """Replace the segments of some recordings, in one step."""
        after = {name: self._checked(name, some) for name, some in segments.items()}
        changed = {name for name in after if after[name] != self.segments[name]}
        if changed:
            self._keep({"labels": {name: (self.segments[name], after[name]) for name in changed}})

    def step(self, by: str) -> list[str]:
        """Undo or redo; the recordings that have other segments now."""
        if not self.can[by]:
            raise Refused(f"there is nothing to {by}")
        before = dict(self.segments)
        self._keep({"step": by})
        return [name for name, some in self.segments.items() if some != before[name]]

    def keep_learned(self, line: Mapping[str, Any]) -> None:
        """Keep what came of learning: what was found everywhere, and then how good that is."""
        self._keep(line)

    def check_files(self, names: Sequence[str]) -> None:
        """Refuse what is about recordings whose files are not those that were read."""
        for path, known in (self._files[name] for name in names):
            if stamp(path) != known:
                raise Refused(
                    f"{path} has changed since it was read here: end this page and start it again"
                )

    def _checked(self, name: str, segments: Any) -> list[Segment]:
        if name not in self.segments:
            raise Refused(f"there is no recording {name}")
        self.check_files([name])
        moments = self._moments[name]
        end = 0
        checked = []
        for start, stop, label in segments:
            label = " ".join(str(label).split())
            if not (isinstance(start, int) and isinstance(stop, int)):
                raise Refused("segments begin and end at whole samples")
            if not end <= start < stop <= len(moments.axis):
                raise Refused(f"segments of {name} overlap, or are beyond its samples")
            if (label and IS_UNNAMED.fullmatch(label)) or len(label) > LONGEST:
                raise Refused(f"{label[:30]!r} cannot be a name: choose another one")
            moments.at(start)
            moments.at(stop)
            checked.append((start, stop, label))
            end = stop
        return checked

    # ---- what is on the disk

    def _keep(self, line: Mapping[str, Any]) -> None:
        """Carry a change out, in the table first: what the log then lacks is found in the table."""
        if stamp(self.table) != self._stamp:
            raise Refused(
                f"{self.table} was changed by another program: end this page and start it again, "
                "which reads what is there now"
            )
        self._apply(line)
        if "labels" in line or "step" in line:
            self._write()
        with self.log.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _apply(self, line: Mapping[str, Any]) -> None:
        if "learned" in line:
            self.learned.append(dict(line["learned"]))
        elif "judged" in line:
            self.learned[-1] |= line["judged"]
        elif line.get("step") == "undo":
            self._at -= 1
            self._go(0, self._changes[self._at])
        elif line.get("step") == "redo":
            self._at += 1
            self._go(1, self._changes[self._at - 1])
        else:
            self._go_on_from_here()
            self._changes.append(line["labels"])
            self._at = len(self._changes)
            self._go(1, line["labels"])

    def _go_on_from_here(self) -> None:
        """After undoing something else is done: what was undone stays in the history."""
        undone = self._changes[self._at :]
        self._changes += [
            {name: (after, before) for name, (before, after) in change.items()}
            for change in reversed(undone)
        ]

    def _go(self, to: int, change: Change) -> None:
        for name, both in change.items():
            if name in self.segments:
                self.segments[name] = [(int(a), int(b), str(label)) for a, b, label in both[to]]

    def _replay(self) -> None:
        """Read the history, without the line that was being written when the process was killed."""
        whole = 0
        for line in self.log.read_bytes().splitlines(keepends=True) if self.log.exists() else ():
            if not line.endswith(b"\n"):
                os.truncate(self.log, whole)
                break
            self._apply(json.loads(line))
            whole += len(line)

    def _take(self, there: Mapping[str, Sequence[Interval]]) -> None:
        """Take what is in the table, which may have been edited elsewhere, where it differs."""
        strangers = [name for name in there if name not in self.segments]
        if strangers:
            raise DataError(
                f"{self.table}: labels of {listed(strangers, 3)}, and no recording is called so: "
                "put its file back, or move this table away"
            )
        self._stamp = stamp(self.table)
        own = self._intervals()
        found = {}
        for name, rows in there.items():
            if _told(rows) != _told(own[name]):
                marked = map(self._moments[name].segment, sorted(rows, key=_start))
                found[name] = [
                    (a, b, "" if IS_UNNAMED.fullmatch(label) else label)
                    for a, b, label in marked
                    if label
                ]
        if found:
            self.change(found)

    def _write(self) -> None:
        write_intervals(self.table, self._intervals())
        self._stamp = stamp(self.table)

    def _intervals(self) -> dict[str, list[Interval]]:
        """Stretches that cover each recording, blank where nothing is known.

        Where some have names, those without are unknown; where none has, each is one of its own.
        """
        are_named = self.are_named
        covered = {}
        for name, segments in self.segments.items():
            moments = self._moments[name]
            rows = []
            end = 0
            for k, (start, stop, label) in enumerate(segments, 1):
                if start > end:
                    rows.append(Interval(moments.at(end), moments.at(start), ""))
                label = label or ("" if are_named else UNNAMED.format(k))
                rows.append(Interval(moments.at(start), moments.at(stop), label))
                end = stop
            if end < len(moments.axis):
                rows.append(Interval(moments.at(end), moments.at(len(moments.axis)), ""))
            covered[name] = rows
        return covered

    @property
    def are_named(self) -> bool:
        """Whether segments have names, so that states are learned; else only changes are."""
        names = {label for segments in self.segments.values() for _, _, label in segments}
        return bool(names - {"", NOTHING})


def _told(rows: Sequence[Interval]) -> list[tuple[Any, Any, str]]:
    return [(row.start, row.end, row.label) for row in rows]


def _start(row: Interval) -> Any:
    return row.start


def stamp(path: str | Path | None) -> Any:
    """What tells whether a file is still the one that was read."""
    if path is None or not os.path.exists(path):
        return None
    about = os.stat(path)
    return about.st_mtime_ns, about.st_size, about.st_ino
