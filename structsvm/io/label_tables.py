"""Labels that lie in files of their own: change times, or stretches of time with their labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError, DataWarning, printable, warn
from structsvm.io.intervals import CHECK, Interval, placed
from structsvm.io.label_formats import Row, by_recording, chosen, name_of, rows_of
from structsvm.io.recording import Recording, listed, spelled
from structsvm.partial_labels.labels import UNKNOWN, known_where
from structsvm.support.plain import some_of
from structsvm.support.typed import refuse_other_types

TABLES = (".csv", ".tsv", ".xlsx")
LABEL_KINDS = (*TABLES, ".txt", ".json", ".boris", ".eaf", ".textgrid", ".srt")
"""Kinds of files of labels."""
NAME = "name recordings in a column 'recording' of a table, or call files like them"
NAMED = 3
"""Recordings that a warning names."""


@refuse_other_types
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
        A table (``.csv``, ``.tsv``, ``.xlsx``) with a column ``change`` of the times of the
        changes, or stretches of time with their labels as :func:`read_intervals` reads them, of
        which points alone are changes. A
        column ``recording`` says of which recording a row is; without it the file is of the
        recording of its name, or of the only one. Of a folder, all such files are read. A warning
        names labels of recordings that are not there.
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
    >>> from structsvm.io import Recording, TimeAxis, with_labels
    >>> seconds = TimeAxis("seconds", np.arange(6.0), lasting=1.0)
    >>> show = Recording("show", np.zeros((6, 2)), None, ("x", "y"), time=seconds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "show.csv"
    ...     _ = table.write_text("change\n1.8\n4.1\n")
    ...     (labelled,) = with_labels([show], table)
    >>> labelled.y.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    marks = _read(Path(path), {"subject": subject, "tier": tier, "annotator": annotator})
    found, misplaced = [], []
    for recording, called in zip(recordings, _called(recordings, marks, Path(path)), strict=True):
        try:
            y, told = _labels(recording, marks[called], blanks, outside)
        except DataError as error:
            raise DataError(f"{path}: {recording.name}: {error}") from error
        found.append(replace(recording, y=y))
        if told:
            misplaced.append(f"{recording.name}: {told}")
    if misplaced:
        warn(f"{path}: {some_of(misplaced, NAMED)}: {CHECK}", DataWarning)
    return found


def label_files(path: Path) -> list[Path]:
    """The file, or those of a folder."""
    if not os.path.isdir(path):
        return [path]
    return [file for file in sorted(path.iterdir()) if file.suffix.lower() in LABEL_KINDS]


def _called(
    recordings: Sequence[Recording], marks: Mapping[str, list[Row]], path: Path
) -> list[str]:
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
        if called is None or not marks[called]:
            raise DataError(
                f"{path}: nothing about {recording.name}; it has {listed(list(marks), 5)}: "
                f"{NAME}, or leave out a recording that has no labels"
            )
        if called in of_each:
            other = recordings[of_each.index(called)].name
            raise DataError(f"{path}: {called!r} may be {other!r} or {recording.name!r}: {NAME}")
        of_each.append(called)
    strangers = [name for name in marks if name not in of_each]
    if strangers:
        warn(
            f"{path}: labels of {listed(strangers, 5)} are not used, because no recording has such "
            f"a name; those that were given are {listed([one.name for one in recordings], 5)}",
            DataWarning,
        )
    return of_each


def _read(path: Path, who: Mapping[str, str | None]) -> dict[str, list[Row]]:
    """The rows of each recording; of a folder, those of its files."""
    found: dict[str, list[Row]] = {}
    files = label_files(path)
    for file in files:
        rows = chosen(file, rows_of(file, {}), who, alone=len(files) == 1)
        for name, some in by_recording(rows, printable(file.stem)).items():
            name = spelled(name)
            if name in found:
                raise DataError(f"{file}: a second file about {name}: leave one out")
            found[name] = some
    if not found:
        raise DataError(f"{path}: no labels in it; labels are in {', '.join(LABEL_KINDS)} files")
    return found


def _labels(
    recording: Recording, marks: list[Row], blanks: bool, outside: str | None
) -> tuple[NDArray[Any], str]:
    """A label for each sample: names where there are stretches, else numbers of segments."""
    T = len(recording.X)
    axis = recording.time or TimeAxis("sample", np.arange(T))
    if recording.time is None:
        ends = [at for mark in marks for at in (mark.start, mark.end)]
        _warn_of_seconds(recording.name, [axis.value(place) for place in ends])
    if all(mark.is_point for mark in marks):
        return _segments([mark.start for mark in marks], axis), ""
    stretches = [Interval(mark.start, mark.end, mark.label) for mark in marks]
    partial, misplaced = placed(stretches, axis, outside=outside)
    assert partial.codes is not None
    if partial.is_complete:
        return np.array(partial.labels), misplaced
    blank = np.flatnonzero(partial.codes == UNKNOWN)
    if not blanks:
        raise DataError(
            f"{blank.size} of {T} samples are in no stretch, the first at {axis.name} "
            f"{axis.text(int(blank[0]))}, or their stretch has no label: label all of them, say "
            "what they are, as outside='rest', or learn from partial labels "
            "(structsvm fit)"
        )
    known = partial.codes != UNKNOWN
    return known_where(np.array(partial.labels, dtype=object), known), misplaced


def _warn_of_seconds(name: str, places: Sequence[float]) -> None:
    """Warn where places in a recording without times are no numbers of samples."""
    between = [place for place in places if not float(place).is_integer()]
    if between:
        warn(
            f"recording {name} has no times, so that {between[0]:g} counts samples and is rounded "
            "up to a whole one: if labels are in seconds, name the column of time "
            "(time_column=)",
            DataWarning,
        )


def _segments(changes: Sequence[Any], axis: TimeAxis) -> NDArray[np.int64]:
    """The number of the segment of each sample; changes within one sample are one."""
    T = len(axis)
    begins = np.zeros(T, dtype=bool)
    for change in changes:
        t = axis.sample_at(change)
        if not 0 < t < T:
            where = "before the second sample" if t == 0 else f"after the end, {axis.text(T)}"
            raise DataError(f"the change at {axis.name} {change} is {where}")
        if begins[t]:
            warn(
                f"two changes are within the sample at {axis.name} {axis.text(t)}: they are one",
                DataWarning,
            )
        begins[t] = True
    return np.cumsum(begins)
