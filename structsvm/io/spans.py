"""Labels of samples from stretches of time, and back."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import (
    TimeAxis,
    check_vector,
    columns_that_count,
    label_values,
    missing_labels,
    time_axis,
    unknown_labels,
)
from structsvm.errors import DataError, about, parameter, warn
from structsvm.io.boundaries import MeaningOfEnds, PlacedRow, Span
from structsvm.io.label_file import unit_of
from structsvm.io.label_rows import LONG_UNITS, Interval, since_start
from structsvm.io.recording import Recording
from structsvm.partial_labels import PartialLabels, known_where
from structsvm.partitions import Region
from structsvm.support import Floats, counted, is_number, refuse_unless

FEW_REACHED = 0.5  # numbers that reach less than this part of the samples may be times
REACH_BEYOND_END = 0.1
"""Part of the duration of a recording by which labels may reach beyond it."""


def labels_of(
    intervals: Sequence[Interval], times: Any, *, tolerance: float = 0.0, outside: str | None = None
) -> PartialLabels:
    """Convert stretches of time to labels of the samples of a recording, for ``fit``.

    Parameters
    ----------
    intervals : sequence of Interval
    times : TimeAxis, or numbers or dates of shape (T,)
    tolerance : float
        How far from the truth a marked change may be, in seconds, or in the unit of the times.
        Samples so near to a change are left without a label, and it is only said how many changes
        there are among them.
    outside : str, optional
        The label of samples in no interval; by default they have none.

    Raises
    ------
    DataError, SettingsError
        When intervals of different labels overlap, or an interval ends before it starts; when the
        tolerance is no number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import Interval, labels_of
    >>> marked = [Interval(0, 3, "rest"), Interval(3, 6, "walk")]
    >>> partial = labels_of(marked, np.arange(6), tolerance=1)
    >>> partial.codes.tolist(), partial.regions
    ([0, 0, -1, -1, 1, 1], (Region(start=2, end=5, changes=1, or_more=False),))
    """
    fits = is_number(tolerance) and 0 <= tolerance < np.inf
    refuse_unless(fits, "tolerance", "a finite number >= 0", tolerance)
    axis = time_axis(times, len(times))
    stretches = [PlacedRow.of(one, axis) for one in intervals]
    labels = place(checked_spans(MeaningOfEnds().spans(stretches, axis), axis), axis, outside)
    regions = _blurred(labels, axis, tolerance) if tolerance else []
    return PartialLabels(labels.tolist(), regions=regions)


def place(spans: Sequence[Span], axis: TimeAxis, outside: str | None) -> NDArray[Any]:
    """Return the label of each sample, ``outside`` of those in no span; refuse overlaps."""
    if overlap := collisions(spans)[1]:
        raise DataError(f"{overlap}: a sample has one label")
    labels = np.full(len(axis), None, dtype=object)
    for start, end, interval in spans:
        labels[start:end] = interval.label
    labels[[label is None for label in labels]] = outside
    return labels


def checked_spans(spans: list[Span], axis: TimeAxis, where: str = "") -> list[Span]:
    """Warn of spans beyond the recording, and of overlaps of one label; return all spans."""
    T = len(axis)
    among = next((one.among for _, _, one in spans if one.among), T)
    if abs(among - T) > 1 + REACH_BEYOND_END * T:
        raise DataError(
            f"{where}{among} rows, one for each sample, and {T} samples: labels at another rate "
            "are stretches, with the columns start, end and label in the unit of its times; "
            "where some samples alone are labelled, write a row for each of the others, too, "
            "without a label"
        )
    misplaced = []
    short = []
    for start, end, one in spans:
        moments = [one.start] if one.end == np.inf else [one.start, one.end]
        is_end = one.end == np.inf and start == len(axis)  # the last row may only mark the end
        if any(map(axis.is_beyond, moments)):
            misplaced.append(one)
        elif start == end and not is_end:
            misplaced.append(one)
            short.append(one)
    if 2 * len(short) > len(spans):
        raise DataError(
            f"{where}{len(short)} of {counted(len(spans), 'interval')} are between two samples, "
            f"the first is {short[0]}: samples are too few for these labels, or check the unit of "
            "time, which the name of a column tells, as start_ms or start_sample"
        )
    within, _ = collisions(spans)
    n = counted(len(spans), "interval")
    if misplaced:
        warn(
            f"{where}{len(misplaced)} of {n} hold no sample, or reach beyond the samples, at "
            f"{axis.name} {axis.text(0)} to {axis.text(len(axis) - 1)}, the first is "
            f"{misplaced[0]}: check that the labels are of this recording, and the unit of time, "
            "which the name of a column tells, as start_ms or start_sample"
        )
    if within:
        warn(
            f"{where}{len(within)} of {n} begin in another one of the same label and are joined "
            f"with it, the first is {within[0]}"
        )
    return spans


def collisions(spans: Sequence[Span]) -> tuple[list[Interval], str]:
    """Intervals that begin within one of their label; the first overlap of two labels, or ""."""
    last: dict[str, tuple[int, Interval]] = {}
    within = []
    overlap = ""
    for start, end, one in sorted(spans, key=lambda span: span[:2]):
        for label, (last_end, other) in last.items():
            if start < min(end, last_end) and label == one.label:
                within.append(one)
            elif start < min(end, last_end):
                overlap = overlap or f"{other} overlaps {one}"
        if end > last.get(one.label, (0, one))[0]:
            last[one.label] = (end, one)
    return within, overlap


def _blurred(labels: NDArray[Any], axis: TimeAxis, tolerance: float) -> list[Region]:
    """Remove the labels near changes, and return regions with the number of changes there."""
    regions: list[Region] = []
    reach = axis.span(tolerance)
    are_changes = [None not in pair and pair[0] != pair[1] for pair in pairwise(labels.tolist())]
    for at in axis.values[np.flatnonzero(are_changes) + 1]:
        first, last = np.searchsorted(axis.values, [at - reach, at + reach], side="left").tolist()
        first = max(first, 1)
        last = min(last, len(labels) - 1)
        region = Region(first, last + 1, 1)
        if regions and regions[-1].end > region.start:  # they overlap
            joined = regions.pop()
            region = Region(joined.start, region.end, joined.changes + 1)
        regions.append(region)
        labels[first:last] = None
    return regions


def intervals_of(y: Any, times: Any) -> list[Interval]:
    """Convert labels of samples (T,) to stretches of one label; the inverse of :func:`labels_of`.

    Each ends where the next one begins, and the last one a step after its last sample. Samples
    whose label is missing (None, NaN, NaT, NA, blank text) or -1 are in none.

    Raises
    ------
    DataError
        If there is not one label for each sample, or one is masked; if labels change between
        samples of one time.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import intervals_of
    >>> intervals_of(["rest", "rest", "walk"], np.array([0.0, 0.5, 1.0]))[1]
    Interval(start=1.0, end=1.5, label='walk')
    """
    values = label_values(y)
    check_vector(values)
    axis = time_axis(times, values.size)
    is_labelled = ~unknown_labels(values)
    labels = values.copy()
    if labels.dtype.kind == "O":  # some missing values cannot be compared
        labels[~is_labelled] = None
    is_other = (labels[1:] != labels[:-1]) & (is_labelled[1:] | is_labelled[:-1])
    bounds = [0, *(np.flatnonzero(is_other) + 1).tolist()]
    whole = stretches({t: str(values[t]) for t in bounds}, axis)
    return [one for t, one in zip(bounds, whole, strict=True) if is_labelled[t]]


def stretches(labels: Mapping[int, str], axis: TimeAxis) -> list[Interval]:
    """A stretch from each labelled sample to the next one, and to a step after the last sample."""
    step = np.asarray(np.median(np.diff(axis.values)) if len(axis) > 1 else 1)
    end = axis.values[-1:] + step.astype("m8[ns]" if axis.holds_dates else axis.values.dtype)
    after = replace(axis, values=end, written=None)
    bounds = list(labels)
    for t in bounds:
        if t and axis.values[t] == axis.values[t - 1]:
            raise DataError(f"no change can be between samples of one time, {axis.text(t)}")
    moments: list[Any] = [*axis.values[bounds].astype(float).tolist(), float(end[0])]
    if axis.holds_dates:
        moments = [*map(axis.text, bounds), after.text(0)]
    pairs = zip(labels.values(), pairwise(moments), strict=True)
    return [Interval(start, end, label) for label, (start, end) in pairs]


@dataclass(frozen=True, eq=False)
class Marks:
    """The rows of a file about a recording."""

    recording: Recording
    file: Path
    rows: list[Interval]
    sought: Set[str]  # the labels that those who labelled it looked for
    axis: TimeAxis  # the times of the recording in the unit of the rows, or numbers of samples
    means: MeaningOfEnds = field(default_factory=MeaningOfEnds)

    @classmethod
    def of(
        cls, recording: Recording, file: Path, rows: Sequence[Interval], sought: Set[str]
    ) -> "Marks":
        rows = since_start(rows, recording.time)
        with about(f"{file}: {recording.name}"):
            return cls(recording, file, rows, sought, _axis_of(recording, rows))

    @property
    def where(self) -> str:
        """The file and the recording, for messages."""
        return f"{self.file}: {self.recording.name}"

    @cached_property
    def stretches(self) -> list[PlacedRow]:
        """The rows on the axis; without points, unless ends are those of last samples."""
        rows = [row for row in self.rows if row.start != row.end or self.means.reach is not None]
        with about(self.where):
            return [PlacedRow.of(row, self.axis) for row in rows]

    @cached_property
    def spans(self) -> list[Span]:
        """The first sample of each stretch, the one after its last, and its row."""
        return self.means.spans(self.stretches, self.axis)


def _axis_of(recording: Recording, rows: Sequence[Interval]) -> TimeAxis:
    """Return the times of a recording in the unit of rows, or the numbers of its samples."""
    axis = recording.time
    units = {row.unit for row in rows}
    if axis is not None and ("samples" not in units or unit_of(axis.name) == "samples"):
        scale = LONG_UNITS.get(unit_of(axis.name) or "", 1.0)
        if axis.holds_dates or scale == 1.0 or not units.isdisjoint((None, "samples")):
            return axis
        seconds: dict[str, Any] = {"values": axis.values * scale, "lasting": axis.lasting * scale}
        return replace(axis, name="seconds", written=None, **seconds)
    axis = replace(recording, time=None).axis
    counting = None if "samples" in units else _counting(recording)
    column = parameter("time_column", counting.name) if counting else parameter("time_column")
    ways = "name the column of time (" + column
    ways += "), or give the sampling rate in Hz (" + parameter("rate") + ")"
    if not units <= {None, "samples"}:
        raise DataError("its labels are in seconds, and it has no times: " + ways)
    ends = [axis.value(at) for at in chain.from_iterable((row.start, row.end) for row in rows)]
    numbers = np.array([at for at in ends if at < np.inf])
    are_whole = not (numbers % 1).any()
    if counting and not (are_whole and _are_no_times(numbers, counting.values)):
        doubt = "may be samples or times" if are_whole else "are no whole numbers of samples"
        raise DataError(
            f"its labels {doubt}, and its column {counting.name!r} rises as times do: name it, "
            + parameter("time_column", counting.name)
            + ", or leave it out, "
            + parameter("ignore", counting.name)
        )
    are_few = units == {None} and numbers.max(initial=0.0) < FEW_REACHED * len(axis)
    if are_few or not are_whole:
        rounded = "" if are_whole else " and are rounded up to whole ones"
        end = f", and end at {numbers.max(initial=0.0):,.0f} of {len(axis):,}" if are_few else ""
        warn(
            f"{recording.name}: it has no times, so that labels count samples{rounded}{end}: if "
            "they are in seconds, " + ways
        )
    return axis


def _counting(recording: Recording) -> TimeAxis | None:
    """The column that rises by even steps, as times do, left out already or not; None without."""
    names = columns_that_count([recording]) if recording.counting is None else ()
    return recording.without(names).counting if names else recording.counting


def _are_no_times(numbers: Floats, times: Floats) -> bool:
    """Whether numbers reach beyond these times, or the times number the samples themselves."""
    reach = REACH_BEYOND_END * (times[-1] - times[0])
    are_beyond = numbers.min() < times[0] - reach or numbers.max() > times[-1] + reach
    return bool(are_beyond or (times == np.arange(len(times))).all())


def having(marks: Marks, label: str, outside: str | None) -> Recording:
    """The recording labelled where a label is marked, and otherwise "no ..." if it was sought."""
    y = None
    if label in marks.sought:
        spans = [span for span in marks.spans if span[2].label == label]
        placed = place(spans, marks.axis, f"no {label}" if outside is None else outside)
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
    if y is None and tier is None and outside is not None:  # its labels were looked for
        y = np.full(len(recording.X), outside)
    if y is None and tier is None:
        raise DataError(
            f"{marks.file}: nothing about {recording.name}: leave out a recording that has no "
            "labels, or say what samples in no stretch are, as " + parameter("outside", "rest")
        )
    return replace(recording, y=y)


def _segments(changes: Sequence[Any], axis: TimeAxis) -> NDArray[np.int64]:
    """The number of the segment of each sample, by the moments of the changes."""
    T = len(axis)
    if unit_of(axis.name) == "samples" and np.array_equal(axis.values, np.arange(T)):
        # the number of samples is no change, but the last of the ends that ruptures writes
        changes = [change for change in changes if axis.value(change) != T]
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
