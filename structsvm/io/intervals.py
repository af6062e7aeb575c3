"""Labels of stretches of time, as labelling tools write them: to labels of samples and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis, time_axis
from structsvm.data.values import label_values, missing_labels
from structsvm.errors import DataError, DataWarning, SettingsError, printable, warn
from structsvm.io.label_formats import by_recording, chosen, rows_of
from structsvm.partial_labels.labels import PartialLabels, unlabelled
from structsvm.partitions.oracle import Region
from structsvm.storage.atomic import write_atomically
from structsvm.support.checks import is_number
from structsvm.support.plain import cell, counted

TYPE = "timeserieslabels"
"""The type of the labels of time series in Label Studio."""
CHECK = "check the unit of time, and that the labels are of this recording"
"""What to do about intervals that are elsewhere than the samples."""


@dataclass(frozen=True)
class Interval:
    """A stretch of time and its label.

    Examples
    --------
    >>> from structsvm.io import Interval
    >>> Interval(0.5, 2.0, "walk").label
    'walk'
    """

    start: float | str
    """In the time of the recording: a number, or a date as text."""
    end: float | str
    """The stretch ends before this time."""
    label: str


def labels_of(
    intervals: Sequence[Interval],
    times: Any,
    *,
    tolerance: float = 0.0,
    outside: str | None = None,
) -> PartialLabels:
    """Convert stretches of time to labels of the samples of a recording, for ``fit``.

    Parameters
    ----------
    intervals : sequence of Interval
    times : TimeAxis, or numbers or dates of shape (T,)
    tolerance : float
        How far from the truth a marked change may be, in seconds, or in the unit of the times.
        Samples so near to a change are left without a label, and it is only said how many changes
        there are among them: one, or several where marks are near to each other.
    outside : str, optional
        The label of samples in no interval; by default they have none.

    Raises
    ------
    DataError
        When intervals of different labels overlap, or an interval ends before it starts.
    SettingsError
        When the tolerance is no number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import Interval, labels_of
    >>> marked = [Interval(0, 3, "rest"), Interval(3, 6, "walk")]
    >>> labels_of(marked, np.arange(6)).codes.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> partial = labels_of(marked, np.arange(6), tolerance=1)
    >>> partial.codes.tolist(), partial.regions
    ([0, 0, -1, -1, 1, 1], (Region(start=2, end=5, changes=1, or_more=False),))
    """
    partial, misplaced = placed(intervals, times, tolerance=tolerance, outside=outside)
    if misplaced:
        warn(f"{misplaced}: {CHECK}", DataWarning)
    return partial


def placed(
    intervals: Sequence[Interval],
    times: Any,
    *,
    tolerance: float = 0.0,
    outside: str | None = None,
) -> tuple[PartialLabels, str]:
    if not is_number(tolerance) or not 0 <= tolerance < np.inf:
        raise SettingsError(f"tolerance must be a finite number >= 0, got {tolerance!r}")
    if isinstance(intervals, Mapping):
        raise DataError(
            f"these are intervals of {counted(len(intervals), 'recording')} by name: give those of "
            f"one, such as intervals[{next(iter(intervals), 'name')!r}]"
        )
    axis = time_axis(times, len(times))
    found: list[str | None] = [None] * len(axis)
    lost, beyond = [], []
    for interval in intervals:
        start, end = axis.sample_at(interval.start), axis.sample_at(interval.end)
        if axis.value(interval.end) < axis.value(interval.start):
            raise DataError(f"{interval} ends before it starts")
        if start == end:
            lost.append(interval)
        elif axis.is_beyond(interval.start) or axis.is_beyond(interval.end):
            beyond.append(interval)
        for t in range(start, end):
            if found[t] not in (None, interval.label):
                raise DataError(
                    f"{interval} overlaps one of {found[t]!r} at {axis.name} {axis.text(t)}: a "
                    "sample has one label"
                )
            found[t] = interval.label
    told = [
        f"{len(some)} of {counted(len(intervals), 'interval')} {what}, the first is {some[0]}"
        for some, what in ((lost, "hold no sample"), (beyond, "reach beyond the samples"))
        if some
    ]
    if told:
        told.append(f"samples are at {axis.name} {axis.text(0)} to {axis.text(len(axis) - 1)}")
    named = np.array([outside if label is None else label for label in found], dtype=object)
    regions = _blurred(named, axis, tolerance) if tolerance else []
    return PartialLabels(named.tolist(), regions=regions), ", and ".join(told)


def _blurred(named: NDArray[Any], axis: TimeAxis, tolerance: float) -> list[Region]:
    regions: list[Region] = []
    changes = [
        t
        for t in range(1, len(named))
        if None not in (named[t - 1], named[t]) and named[t - 1] != named[t]
    ]
    for change in changes:
        first, last = _near(axis, change, tolerance)
        first, last = max(first, 1), min(last, len(named) - 1)
        region = Region(first, last + 1, 1)
        if regions and regions[-1].end > region.start:  # the two cannot be told apart
            before = regions.pop()
            region = Region(before.start, region.end, before.changes + 1)
        regions.append(region)
        named[first:last] = None
    return regions


def intervals_of(y: Any, times: Any) -> list[Interval]:
    """Convert labels of samples (T,) to stretches of one label; the inverse of :func:`labels_of`.

    Each ends where the next one begins, and the last one a step after its last sample. Samples
    whose label is missing (None, NaN, NaT, NA, blank text) or -1 are in none.

    Raises
    ------
    DataError
        If there is not one label for each sample, or one is masked.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.io import intervals_of
    >>> intervals_of(["rest", "rest", "walk"], np.array([0.0, 0.5, 1.0]))[1]
    Interval(start=1.0, end=1.5, label='walk')
    """
    values, axis = label_values(y), time_axis(times, len(times))
    if values.shape != (len(axis),):
        n = counted(values.size, "label") if values.ndim == 1 else f"labels of {values.shape}"
        raise DataError(f"{len(axis)} samples but {n}: give one for each")
    known = ~(missing_labels(values) | unlabelled(values))
    labels = [label if there else None for label, there in zip(values, known, strict=True)]
    step = np.median(np.diff(axis.values)) if len(axis) > 1 else 1
    end = axis.values[-1:] + np.asarray(step).astype(_step_kind(axis))
    after = replace(axis, values=end, written=None)
    found, start = [], 0
    for t in range(1, len(labels) + 1):
        if t < len(labels) and labels[t] == labels[start]:
            continue
        end = _moment(axis, t) if t < len(labels) else _moment(after, 0)
        if labels[start] is not None:
            found.append(Interval(_moment(axis, start), end, str(labels[start])))
        start = t
    return found


def read_intervals(
    path: str | PathLike[str],
    *,
    start: str | None = None,
    end: str | None = None,
    label: str | None = None,
    recording: str | None = None,
    subject: str | None = None,
    tier: str | None = None,
    annotator: str | None = None,
) -> dict[str, list[Interval]]:
    r"""Read the labels of a labelling tool, by the name of the recording.

    Parameters
    ----------
    path : path
        ``.json``: tasks of Label Studio with labels of time series or sound; the name of a
        recording is that of its file, as it was before it was uploaded. ``.boris``: a project of
        BORIS. ``.eaf``, ``.TextGrid``, ``.srt``: documents of ELAN and Praat, and subtitles.
        ``.txt`` without a header: a label track of Audacity, or the tab-delimited text of ELAN with
        times on a clock. Otherwise a table with a header, such as the aggregated or the tabular
        events of BORIS, the table that Praat makes of a TextGrid, ELAN's text with a column for
        each tier, or one with onset and duration (BIDS); it may be the first sheet of an ``.xlsx``
        file. Texts may have semicolons or tabs between columns, and a decimal comma then.
    start, end, label, recording : str, optional
        Names of the columns of a table, where they are others. An end that is called a duration is
        added to the start. Without a column of recordings all intervals are of one, named after
        the file.
    subject, tier, annotator : str, optional
        Whose labels, where a recording has those of several. What a model predicted is read where
        ``annotator`` is the name of its version.

    Returns
    -------
    dict of lists of Interval
        Points end where they start, and are left out of tables that have stretches.

    Raises
    ------
    DataError
        Naming the file and the line, or those between whom is to be chosen.

    Notes
    -----
    What BORIS writes was compared with the files of its own tests, of versions 3 to 7, and with the
    sources of version 9.12.3; what ELAN writes with its manuals (6.2 to 7.1), with what its sources
    take for headers, and with programs of others that read it. Its headers are in the language of
    its windows, of which only English is known here: name others by ``start``, ``end``, ``label``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm.io import read_intervals
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     track = Path(folder) / "walk.txt"
    ...     _ = track.write_text("0.0\t2.5\trest\n2.5\t9.0\twalk\n")
    ...     read_intervals(track)["walk"][0]
    Interval(start=0.0, end=2.5, label='rest')
    """
    path = Path(path)
    given = {"start": start, "end": end, "label": label, "recording": recording}
    columns = {key: value for key, value in given.items() if value is not None}
    who = {"subject": subject, "tier": tier, "annotator": annotator}
    rows = chosen(path, rows_of(path, columns), who)
    return {
        name: [Interval(row.start, row.end, row.label) for row in some]
        for name, some in by_recording(rows, printable(path.stem)).items()
    }


def write_intervals(
    path: str | PathLike[str],
    intervals: Mapping[str, Sequence[Interval]],
    *,
    predictions: bool = False,
) -> None:
    """Write labels for a labelling tool, in a form that :func:`read_intervals` reads.

    Parameters
    ----------
    path : path
        ``.json`` for Label Studio, ``.txt`` for Audacity (one recording), ``.csv`` or ``.tsv`` for
        a table with the columns recording, start, end and label.
    intervals : mapping of lists of Interval by the name of the recording
    predictions : bool
        Whether Label Studio is to show them as predictions, and not as annotations.

    Raises
    ------
    SettingsError
        For another kind of file, and for several recordings in one label track.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm.io import Interval, read_intervals, write_intervals
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.json"
    ...     write_intervals(path, {"walk": [Interval(0.0, 2.5, "rest")]}, predictions=True)
    ...     read_intervals(path, annotator="structsvm")
    {'walk': [Interval(start=0.0, end=2.5, label='rest')]}
    """
    path, kind = Path(path), Path(path).suffix.lower()
    if kind == ".json":
        tasks = [_task(name, found, predictions) for name, found in intervals.items()]
        text = json.dumps(tasks, indent=2)
    elif kind == ".txt":
        if len(intervals) != 1:
            raise SettingsError(f"{path}: a label track is of one recording, got {len(intervals)}")
        (found,) = intervals.values()
        rows = [f"{i.start}\t{i.end}\t{' '.join(i.label.split())}\n" for i in found]
        text = "".join(rows)
    elif kind in (".csv", ".tsv"):
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
        writer.writerow(("recording", "label", "start", "end"))
        for name, found in intervals.items():
            writer.writerows([cell(name), cell(i.label), i.start, i.end] for i in found)
        text = buffer.getvalue()
    else:
        raise SettingsError(f"{path}: the name must end with .json, .txt, .csv or .tsv")
    write_atomically(path, text.encode(errors="backslashreplace"))


def _task(name: str, intervals: Sequence[Interval], predictions: bool) -> dict[str, Any]:
    """A task of Label Studio: from_name and to_name are those of its template."""
    result = [
        {
            "id": f"{name}-{k}",
            "from_name": "label",
            "to_name": "ts",
            "type": TYPE,
            "value": {"start": i.start, "end": i.end, "instant": False, TYPE: [i.label]},
        }
        for k, i in enumerate(intervals)
    ]
    made: dict[str, Any] = {"result": result}
    if predictions:
        made["model_version"] = "structsvm"
    return {
        "data": {"csv": f"{name}.csv"},
        "predictions" if predictions else "annotations": [made],
    }


def _near(axis: TimeAxis, change: int, tolerance: float) -> tuple[int, int]:
    """The first sample within the tolerance of a change, and the first one beyond."""
    far: Any = tolerance
    if axis.values.dtype.kind == "M":
        far = np.timedelta64(round(tolerance * 1e9), "ns")
    at = axis.values[change]
    first = int(np.searchsorted(axis.values, at - far, side="left"))
    return first, int(np.searchsorted(axis.values, at + far, side="left"))


def _step_kind(axis: TimeAxis) -> str:
    return "m8[ns]" if axis.values.dtype.kind == "M" else axis.values.dtype.str


def _moment(axis: TimeAxis, sample: int) -> float | str:
    """A time as tools have it."""
    return axis.text(sample) if axis.values.dtype.kind == "M" else float(axis.values[sample])
