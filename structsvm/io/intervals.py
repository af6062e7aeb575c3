"""Conversion of labels of stretches of time to labels of samples and back."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.samples import label_values, missing_labels, unlabelled
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataError, DataWarning, SettingsError, printable, warn
from structsvm.io.label_files import LABEL_KINDS, Interval, name_of, read_rows
from structsvm.io.recording import Recording, listed, spelled
from structsvm.partial_labels.labels import PartialLabels, known_where
from structsvm.partitions.oracle import Region
from structsvm.storage.atomic import write_atomically
from structsvm.support.checks import is_number
from structsvm.support.plain import cell, counted

TYPE = "timeserieslabels"  # the type of the labels of time series in Label Studio
NAME = "name recordings in a column 'recording' of a table, or call files like them"


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
        there are among them.
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
    >>> partial = labels_of(marked, np.arange(6), tolerance=1)
    >>> partial.codes.tolist(), partial.regions
    ([0, 0, -1, -1, 1, 1], (Region(start=2, end=5, changes=1, or_more=False),))
    """
    if not is_number(tolerance) or not 0 <= tolerance < np.inf:
        raise SettingsError(f"tolerance must be a finite number >= 0, got {tolerance!r}")
    axis = time_axis(times, len(times))
    labels = _placed(intervals, axis, outside)
    regions = _blurred(labels, axis, tolerance) if tolerance else []
    return PartialLabels(labels.tolist(), regions=regions)


def _placed(
    intervals: Sequence[Interval], axis: TimeAxis, outside: str | None, where: str = ""
) -> NDArray[Any]:
    """Return the label of each sample, None outside the intervals; warn of those elsewhere."""
    labels = np.full(len(axis), None, dtype=object)
    misplaced = []
    for interval in intervals:
        start, end = axis.sample_at(interval.start), axis.sample_at(interval.end)
        if axis.value(interval.end) < axis.value(interval.start):
            raise DataError(f"{interval} ends before it starts")
        if start == end or axis.is_beyond(interval.start) or axis.is_beyond(interval.end):
            misplaced.append(interval)
        for t in range(start, end):
            if labels[t] not in (None, interval.label):
                raise DataError(
                    f"{interval} overlaps one of {labels[t]!r} at {axis.name} {axis.text(t)}: a "
                    "sample has one label"
                )
        labels[start:end] = interval.label
    if misplaced:
        warn(
            f"{where}{len(misplaced)} of {counted(len(intervals), 'interval')} hold no sample, or "
            f"reach beyond the samples, at {axis.name} {axis.text(0)} to "
            f"{axis.text(len(axis) - 1)}, the first is {misplaced[0]}: check the unit of time, and "
            "that the labels are of this recording",
            DataWarning,
        )
    labels[[label is None for label in labels]] = outside
    return labels


def _blurred(labels: NDArray[Any], axis: TimeAxis, tolerance: float) -> list[Region]:
    """Remove the labels near changes, and return regions with the number of changes there."""
    regions: list[Region] = []
    is_date = axis.values.dtype.kind == "M"
    far: Any = np.timedelta64(round(tolerance * 1e9), "ns") if is_date else tolerance
    pairs = [None not in pair and pair[0] != pair[1] for pair in pairwise(labels.tolist())]
    for at in axis.values[np.flatnonzero(pairs) + 1]:
        first, last = np.searchsorted(axis.values, [at - far, at + far], side="left").tolist()
        first, last = max(first, 1), min(last, len(labels) - 1)
        region = Region(first, last + 1, 1)
        if regions and regions[-1].end > region.start:  # the two cannot be told apart
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
    if not len(axis):
        return []
    known = ~(missing_labels(values) | unlabelled(values))
    labels = [label if there else None for label, there in zip(values, known, strict=True)]
    is_date = axis.values.dtype.kind == "M"
    step = np.median(np.diff(axis.values)) if len(axis) > 1 else 1
    end = axis.values[-1:] + np.asarray(step).astype("m8[ns]" if is_date else axis.values.dtype)
    after = replace(axis, values=end, written=None)
    bounds = [0, *(t for t in range(1, len(labels)) if labels[t] != labels[t - 1])]
    moments: list[Any] = [axis.text(t) if is_date else float(axis.values[t]) for t in bounds]
    moments.append(after.text(0) if is_date else float(end[0]))
    return [
        Interval(start, end, str(labels[t]))
        for t, (start, end) in zip(bounds, pairwise(moments), strict=True)
        if labels[t] is not None
    ]


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
        recording is that of its file, as it was before it was uploaded. ``.boris``, ``.eaf``,
        ``.TextGrid``, ``.srt``: documents of BORIS, ELAN and Praat, and subtitles. ``.txt`` without
        a header: a label track of Audacity, or the tab-delimited text of ELAN with times on a
        clock. Otherwise a table with a header, as of :func:`read_recordings`: the aggregated or the
        tabular events of BORIS, the table that Praat makes of a TextGrid, ELAN's text with a column
        for each tier, or one with onset and duration (BIDS).
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
    given = {"start": start, "end": end, "label": label, "recording": recording}
    columns = {key: value for key, value in given.items() if value is not None}
    who = {"subject": subject, "tier": tier, "annotator": annotator}
    return read_rows(Path(path), columns, who)


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
    >>> from structsvm.io import Interval, write_intervals
    >>> def shown(path):
    ...     write_intervals(path, {"walk": [Interval(0.0, 2.5, "rest")]}, predictions=True)
    """
    path, kind = Path(path), Path(path).suffix.lower()
    if kind == ".json":
        tasks = [_task(name, found, predictions) for name, found in intervals.items()]
        text = json.dumps(tasks, indent=2)
    elif kind == ".txt" and len(intervals) == 1:
        (found,) = intervals.values()
        text = "".join(f"{i.start}\t{i.end}\t{' '.join(i.label.split())}\n" for i in found)
    elif kind in (".csv", ".tsv"):
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
        writer.writerow(("recording", "label", "start", "end"))
        for name, found in intervals.items():
            writer.writerows([cell(name), cell(i.label), i.start, i.end] for i in found)
        text = buffer.getvalue()
    else:
        raise SettingsError(
            f"{path}: the name must end with .json, .csv or .tsv, or, of one recording, with .txt"
        )
    write_atomically(path, text.encode(errors="backslashreplace"))


def _task(name: str, intervals: Sequence[Interval], predictions: bool) -> dict[str, Any]:
    """Return a task of Label Studio, with the from_name and to_name of its template."""
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
    key, by = (
        ("predictions", {"model_version": "structsvm"}) if predictions else ("annotations", {})
    )
    return {"data": {"csv": f"{name}.csv"}, key: [{"result": result} | by]}


def with_labels(
    recordings: Sequence[Recording],
    path: str | PathLike[str],
    *,
    blanks: bool = False,
    outside: str | None = None,
    subject: str | None = None,
    tier: str | None = None,
    annotator: str | None = None,
) -> list[Recording]:
    r"""Return recordings with the labels of a file, in the time of the recordings.

    Parameters
    ----------
    recordings : sequence of Recording
        Where their times are not known, the labels are in numbers of samples.
    path : path
        A table with a column ``change`` of the times of the changes, or stretches of time with
        their labels as :func:`read_intervals` reads them, of which points alone are changes; or a
        folder of such files. A column ``recording`` says of which recording a row is; without it
        the file is of the recording of its name, or of the only one.
    blanks : bool
        Whether samples may be without a label, which is then -1.
    outside : str, optional
        The label of samples in no stretch, such as the state between those that were marked; by
        default they have none.
    subject, tier, annotator : str, optional
        Whose labels, where a recording has those of several.

    Raises
    ------
    DataError
        When the file has nothing about a recording, or what it has may be of two; when a change is
        not within the recording, or samples lack a label.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import Recording, with_labels
    >>> show = Recording("show", np.zeros((6, 2)), None, ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "show.csv"
    ...     _ = table.write_text("change\n2\n4\n")
    ...     (labelled,) = with_labels([show], table)
    >>> labelled.y.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    path, who = Path(path), {"subject": subject, "tier": tier, "annotator": annotator}
    marks: dict[str, list[Interval]] = {}
    files = label_files(path)
    for file in files:
        for name, rows in read_rows(file, {}, who, alone=len(files) == 1).items():
            if spelled(name) in marks:
                raise DataError(f"{file}: a second file about {spelled(name)}: leave one out")
            marks[spelled(name)] = rows
    found = []
    for recording, called in zip(recordings, _called(recordings, marks, path), strict=True):
        where = f"{path}: {recording.name}: "
        try:
            y = _labels(recording, marks[called], where, blanks=blanks, outside=outside)
        except DataError as error:
            raise DataError(f"{where}{error}") from error
        found.append(replace(recording, y=y))
    return found


def label_files(path: Path) -> list[Path]:
    if not os.path.isdir(path):
        return [path]
    return [file for file in sorted(path.iterdir()) if file.suffix.lower() in LABEL_KINDS]


def _called(
    recordings: Sequence[Recording], marks: Mapping[str, list[Interval]], path: Path
) -> list[str]:
    """Return the name of each recording in the files of labels."""
    of_each: list[str] = []
    for recording in recordings:
        stem = spelled(printable(Path(recording.source or "").stem))
        names = (recording.name, stem, name_of(recording.name))
        called = next((name for name in names if name in marks), None)
        if called is None and len(recordings) == len(marks) == 1:
            (called,) = marks
            if path.is_dir() or called != printable(path.stem):
                warn(
                    f"{path}: its labels are of {called!r}, and are taken for those of "
                    f"{recording.name}, the only recording",
                    DataWarning,
                )
        if called is None or not marks[called] or called in of_each:
            raise DataError(
                f"{path}: nothing about {recording.name}, or what is about another one as well; it "
                f"has {listed(list(marks), 5)}: {NAME}, or leave out a recording that has no labels"
            )
        of_each.append(called)
    strangers = [name for name in marks if name not in of_each]
    if strangers:
        warn(
            f"{path}: labels of {listed(strangers, 5)} are not used, because no recording has such "
            f"a name; those that were given are {listed([one.name for one in recordings], 5)}",
            DataWarning,
        )
    return of_each


def _labels(
    recording: Recording, marks: list[Interval], where: str, *, blanks: bool, outside: str | None
) -> NDArray[Any]:
    """Return names of stretches, or numbers of segments between points, (T,)."""
    axis = recording.time
    if axis is None:
        axis = TimeAxis("sample", np.arange(len(recording.X)))
        ends = [axis.value(at) for mark in marks for at in (mark.start, mark.end)]
        if any(at != round(at) for at in ends):
            warn(
                f"{where}it has no times, so that labels count samples and are rounded up to whole "
                "ones: if they are in seconds, name the column of time (time_column=)",
                DataWarning,
            )
    if all(mark.start == mark.end for mark in marks):
        return _segments([mark.start for mark in marks], axis)
    placed = _placed(marks, axis, outside, where)
    known = ~missing_labels(placed)
    if known.all():
        return np.array(placed.tolist())
    if not blanks:
        first = axis.text(int(known.argmin()))
        raise DataError(
            f"{(~known).sum()} of {len(axis)} samples are in no stretch, the first at {axis.name} "
            f"{first}, or their stretch has no label: label all of them, say what they are, as "
            "outside='rest', or learn from partial labels (blanks=True)"
        )
    return known_where(placed, known)


def _segments(changes: Sequence[Any], axis: TimeAxis) -> NDArray[np.int64]:
    """Return the number of the segment of each sample, (T,)."""
    begins = [axis.sample_at(change) for change in changes]
    for change, t in zip(changes, begins, strict=True):
        if not 0 < t < len(axis):
            where = "before the second sample" if t == 0 else f"after the end, {axis.text(t)}"
            raise DataError(f"the change at {axis.name} {change} is {where}")
    found, counts = np.unique(begins, return_counts=True)
    if found.size < len(changes):
        at = axis.text(int(found[counts.argmax()]))
        warn(
            f"several changes are within one sample, as at {axis.name} {at}: they are one",
            DataWarning,
        )
    return np.cumsum(np.isin(np.arange(len(axis)), begins))
