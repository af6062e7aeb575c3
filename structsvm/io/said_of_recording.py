"""What a file says about one recording, and the labels that this makes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.labels import missing_labels
from structsvm.data.rows import columns_that_count
from structsvm.data.times import TimeAxis
from structsvm.errors import DataError, about, parameter, warn
from structsvm.io.boundaries import Boundaries, Span, Stretch
from structsvm.io.label_file import unit_of
from structsvm.io.label_rows import LONG_UNITS, Interval, since_start
from structsvm.io.recording import Recording
from structsvm.io.spans import checked_spans, place
from structsvm.partial_labels import known_where


@dataclass(frozen=True, eq=False)
class Marks:
    """What a file says about a recording."""

    recording: Recording
    file: Path
    rows: list[Interval]
    sought: Set[str]  # the labels that those who labelled it looked for
    axis: TimeAxis
    """What the moments of the file are on: the times, or the numbers of the samples."""
    means: Boundaries = field(default_factory=Boundaries)

    @classmethod
    def of(
        cls, recording: Recording, file: Path, rows: Sequence[Interval], sought: Set[str]
    ) -> Marks:
        rows = since_start(rows, recording.time)
        with about(f"{file}: {recording.name}"):
            return cls(recording, file, rows, sought, _axis_of(recording, rows))

    @property
    def where(self) -> str:
        return f"{self.file}: {self.recording.name}"

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The rows in the time of the recording, without points, unless these are samples."""
        lasting = [row for row in self.rows if row.start != row.end or self.means.reach is not None]
        with about(self.where):
            return [Stretch.of(row, self.axis) for row in lasting]

    @cached_property
    def spans(self) -> list[Span]:
        """The samples of each stretch; none where all rows are points, which are changes."""
        return self.means.spans(self.stretches, self.axis)


def _axis_of(recording: Recording, rows: Sequence[Interval]) -> TimeAxis:
    """Return the times of a recording in the unit of rows, or the numbers of its samples."""
    axis = recording.time
    units = {row.unit for row in rows}
    if axis is not None and ("samples" not in units or unit_of(axis.name) == "samples"):
        scale = LONG_UNITS.get(unit_of(axis.name) or "", 1.0)
        if axis.holds_dates or scale == 1.0 or not units.isdisjoint((None, "samples")):
            return axis
        return replace(axis, name="seconds", values=axis.values * scale, written=None)
    axis = TimeAxis("sample", np.arange(len(recording.X)))
    ways = "name the column of time (" + parameter("time_column")
    ways += "), or give the sampling rate in Hz (" + parameter("rate") + ")"
    if not units <= {None, "samples"}:
        raise DataError("its labels are in seconds, and it has no times: " + ways)
    ends = [axis.value(at) for at in chain.from_iterable((row.start, row.end) for row in rows)]
    if any(at % 1 for at in ends if at < np.inf):
        if counting := columns_that_count([recording]):
            raise DataError(
                f"its labels are no whole numbers of samples, and its column {counting[0]!r} rises "
                "as times do: name it, "
                + parameter("time_column", counting[0])
                + ", or leave it out, "
                + parameter("ignore", counting[0])
            )
        warn(
            f"{recording.name}: it has no times, so that labels count samples and are rounded up "
            "to whole ones: if they are in seconds, " + ways
        )
    return axis


def having(marks: Marks, label: str, outside: str | None) -> Recording:
    """Return the recording with one label, and another one elsewhere, if it was looked for."""
    y = None
    if label in marks.sought:
        there = [span for span in marks.spans if span[2].label == label]
        placed = place(there, marks.axis, f"no {label}" if outside is None else outside)
        y = np.array(placed.tolist())
    return replace(marks.recording, y=y)


def labelled(marks: Marks, blanks: bool, outside: str | None, tier: str | None = None) -> Recording:
    """Return the recording with names of stretches, or numbers of segments between points."""
    recording = marks.recording
    y = None
    if tier is not None:
        rows = [row for row in marks.rows if row.who.get("tier", "") == tier]
        marks = replace(marks, rows=rows)
    with about(marks.where):
        if marks.rows and not marks.spans:
            y = _segments([row.start for row in marks.rows], marks.axis)
        elif marks.rows:
            spans = checked_spans(marks.spans, marks.axis, f"{marks.where}: ")
            placed = place(spans, marks.axis, outside)
            is_labelled = ~missing_labels(placed)
            y = np.array(placed.tolist()) if is_labelled.all() else known_where(placed, is_labelled)
            if not (blanks or is_labelled.all()):
                first = f"{marks.axis.name} {marks.axis.text(int(is_labelled.argmin()))}"
                raise DataError(
                    f"{(~is_labelled).sum()} of {is_labelled.size} samples are in no stretch, "
                    f"the first at {first}, or their stretch has no label: label all of them, "
                    "say what they are, as "
                    + parameter("outside", "rest")
                    + ", or let fit learn from some (in Python, blanks=True)"
                )
    if y is None and tier is None and outside is not None:  # it was looked for there
        y = np.full(len(recording.X), outside)
    if y is None and tier is None:
        raise DataError(
            f"{marks.file}: nothing about {recording.name}: leave out a recording that has no "
            "labels, or say what samples in no stretch are, as " + parameter("outside", "rest")
        )
    return replace(recording, y=y)


def _segments(changes: Sequence[Any], axis: TimeAxis) -> NDArray[np.int64]:
    begins = [axis.sample_at(change) for change in changes]
    for change, t in zip(changes, begins, strict=True):
        if not 0 < t < len(axis):
            where = "before the second sample" if t == 0 else f"after the end, {axis.text(t)}"
            raise DataError(f"the change at {axis.name} {change} is {where}")
    starts, counts = np.unique(begins, return_counts=True)
    if starts.size < len(changes):
        at = f"{axis.name} {axis.text(int(starts[counts.argmax()]))}"
        warn(f"several changes are within one sample, as at {at}: they are one")
    return np.cumsum(np.isin(np.arange(len(axis)), begins))
