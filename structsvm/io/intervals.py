"""Conversion of labels of stretches of time to labels of samples and back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.labels import check_vector, label_values, missing_labels, unknown_labels
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataError, about, printable, refuse, warn
from structsvm.io.boundaries import Boundaries, Span, Stretch
from structsvm.io.label_file import NEXT, LabelFile, name_of, unit_of
from structsvm.io.label_files import LABEL_KINDS, read_rows
from structsvm.io.label_rows import LONG, UNTIL_NEXT, Interval, since_start
from structsvm.io.media import STEPS
from structsvm.io.recording import Recording, listed, n_alike, spelled
from structsvm.messages import parameter
from structsvm.partial_labels import PartialLabels, known_where
from structsvm.partitions.constraint import Region
from structsvm.support.archive import write_atomically
from structsvm.support.checks import counted, csv_text, ending_of, is_number, refuse_unless

IN_ONE = 5  # steps of sound in a usual stretch
TYPE = "timeserieslabels"  # the type of the labels of time series in Label Studio


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
    stretches = [Stretch.of(one, axis) for one in intervals]
    labels = _placed(_checked(Boundaries().spans(stretches, axis), axis), axis, outside)
    regions = _blurred(labels, axis, tolerance) if tolerance else []
    return PartialLabels(labels.tolist(), regions=regions)


def _placed(spans: Sequence[Span], axis: TimeAxis, outside: str | None) -> NDArray[Any]:
    """Return the label of each sample, ``outside`` where there is none."""
    if overlap := _collisions(spans)[1]:
        raise DataError(f"{overlap}: a sample has one label")
    labels = np.full(len(axis), None, dtype=object)
    for start, end, interval in spans:
        labels[start:end] = interval.label
    labels[[label is None for label in labels]] = outside
    return labels


def _checked(spans: list[Span], axis: TimeAxis, where: str = "") -> list[Span]:
    """Warn of stretches that are elsewhere, and of those that are one; return all of them."""
    misplaced = []
    for start, end, one in spans:
        moments = [one.start] if one.end == np.inf else [one.start, one.end]
        is_end = one.end == np.inf and start == len(axis)  # the last row says where it ends
        if (start == end and not is_end) or any(map(axis.is_beyond, moments)):
            misplaced.append(one)
    joined, _ = _collisions(spans)
    n = counted(len(spans), "interval")
    if misplaced:
        warn(
            f"{where}{len(misplaced)} of {n} hold no sample, or reach beyond the samples, at "
            f"{axis.name} {axis.text(0)} to {axis.text(len(axis) - 1)}, the first is "
            f"{misplaced[0]}: check that the labels are of this recording, and the unit of time, "
            "which the name of a column tells, as start_ms or start_sample"
        )
    if joined:
        warn(
            f"{where}{len(joined)} of {n} begin in another one of the same label and are joined "
            f"with it, the first is {joined[0]}"
        )
    return spans


def _collisions(spans: Sequence[Span]) -> tuple[list[Interval], str]:
    """Return what begins within one of its label, and words about the first of two labels."""
    last: dict[str, tuple[int, Interval]] = {}
    joined = []
    overlap = ""
    for start, end, one in sorted(spans, key=lambda span: span[:2]):
        for label, (to, other) in last.items():
            if start < min(end, to) and label == one.label:
                joined.append(one)
            elif start < min(end, to):
                overlap = overlap or f"{other} overlaps {one}"
        if end > last.get(one.label, (0, one))[0]:
            last[one.label] = (end, one)
    return joined, overlap


def _blurred(labels: NDArray[Any], axis: TimeAxis, tolerance: float) -> list[Region]:
    """Remove the labels near changes, and return regions with the number of changes there."""
    regions: list[Region] = []
    far = axis.span(tolerance)
    pairs = [None not in pair and pair[0] != pair[1] for pair in pairwise(labels.tolist())]
    for at in axis.values[np.flatnonzero(pairs) + 1]:
        first, last = np.searchsorted(axis.values, [at - far, at + far], side="left").tolist()
        first = max(first, 1)
        last = min(last, len(labels) - 1)
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
    values = label_values(y)
    check_vector(values)
    axis = time_axis(times, values.size)
    if not values.size:
        return []
    known = ~unknown_labels(values)
    labels = [label if there else None for label, there in zip(values, known, strict=True)]
    step = np.asarray(np.median(np.diff(axis.values)) if len(axis) > 1 else 1)
    end = axis.values[-1:] + step.astype("m8[ns]" if axis.holds_dates else axis.values.dtype)
    after = replace(axis, values=end, written=None)
    bounds = [0, *(t for t in range(1, len(labels)) if labels[t] != labels[t - 1])]
    moments: list[Any] = [*axis.values[bounds].astype(float).tolist(), float(end[0])]
    if axis.holds_dates:
        moments = [*map(axis.text, bounds), after.text(0)]
    return [
        Interval(start, end, str(labels[t]))
        for t, (start, end) in zip(bounds, pairwise(moments), strict=True)
        if labels[t] is not None
    ]


def read_intervals(path: str | PathLike[str], **chosen: str | None) -> dict[str, list[Interval]]:
    r"""Read the labels of a labelling tool, by the name of the recording.

    Parameters
    ----------
    path : path
        ``.json``: tasks of Label Studio with labels of time series or sound; the name of a
        recording is that of its file, as it was before it was uploaded. ``.boris``, ``.eaf``,
        ``.TextGrid``, ``.srt``, ``.vtt``, ``.rttm``: documents of BORIS, ELAN and Praat, subtitles,
        and who speaks. Lines without a header have a start, perhaps an end, and a label, as in a
        label track of Audacity, or are the tab-delimited text of ELAN. Otherwise a table with a
        header, as of :func:`read_recordings`: events that start and stop in rows of their own, as
        those of BORIS, the table that Praat makes of a TextGrid, ELAN's text with a column for each
        tier, one with onset and duration (BIDS), or a column of 0 and 1 for each label. A row
        without an end lasts until the next one, with a warning unless ``end="next"`` says so.
    chosen
        ``start``, ``end``, ``label``, ``recording``: names of the columns of a table, where they
        are not called so in English, Spanish, Portuguese, French, German or Italian. An end that is
        called a duration is added to the start; words such as ``ms`` in the names of columns tell
        units. Without a column of recordings all intervals are of one, named after the file.
        ``subject``, ``tier``, ``annotator``: whose labels, where a recording has those of several.
        What a model predicted is read where ``annotator`` is the name of its version.

    Returns
    -------
    dict of lists of Interval
        Points end where they start, and are left out with a warning where there are stretches.

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
    found = {name: rows for name, (rows, _) in read_rows(LabelFile(Path(path), chosen)).items()}
    refuse(DataError, (not found, f"{path}: it holds no labels"))
    every = list(found.values())
    _warn_of_ends(path, every, chosen)
    return dict(zip(found, _without_points(path, every), strict=True))


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
        ``.json`` for Label Studio, ``.boris`` for a project of BORIS with times in seconds,
        ``.txt`` for Audacity (one recording), ``.csv`` or ``.tsv`` for a table with the columns
        recording, start, end and label.
    intervals : mapping of lists of Interval by the name of the recording
    predictions : bool
        Whether Label Studio is to show them as predictions, and not as annotations.

    Raises
    ------
    SettingsError, DataError
        For another kind of file, for several recordings in one label track; for dates in a project
        of BORIS.

    Examples
    --------
    >>> from structsvm.io import Interval, write_intervals
    >>> def shown(path):
    ...     write_intervals(path, {"walk": [Interval(0.0, 2.5, "rest")]}, predictions=True)
    """
    every = [(name, one) for name, some in intervals.items() for one in some]
    of_one = [".txt"] if len(intervals) == 1 else []
    kind = ending_of(path, (".json", ".boris", ".csv", ".tsv", *of_one))
    if kind == ".json":
        tasks = [_task(name, found, predictions) for name, found in intervals.items()]
        text = json.dumps(tasks, indent=2)
    elif kind == ".boris":
        text = json.dumps(_project(Path(path), intervals), indent=1)
    elif kind == ".txt":
        text = "".join(f"{i.start}\t{i.end}\t{' '.join(i.label.split())}\n" for _, i in every)
    else:
        rows = [(name, i.label, i.start, i.end) for name, i in every]
        header = ("recording", "label", "start", "end")
        text = csv_text(header, rows, "," if kind == ".csv" else "\t")
    write_atomically(path, text.encode(errors="backslashreplace"))


def _task(name: str, intervals: Sequence[Interval], predictions: bool) -> dict[str, Any]:
    """Return a task of Label Studio, with the from_name and to_name of its template."""
    result = [
        {"id": f"{name}-{k}", "from_name": "label", "to_name": "ts", "type": TYPE}
        | {"value": {"start": i.start, "end": i.end, "instant": False, TYPE: [i.label]}}
        for k, i in enumerate(intervals)
    ]
    by = "annotations"
    version = {}
    if predictions:
        by = "predictions"
        version = {"model_version": "structsvm"}
    return {"data": {"csv": f"{name}.csv"}, by: [{"result": result} | version]}


def _project(path: Path, intervals: Mapping[str, Sequence[Interval]]) -> dict[str, Any]:
    now = datetime.now().isoformat(timespec="seconds")
    every = [one for some in intervals.values() for one in some]
    refuse_dates(every, f"{path}: BORIS")
    blank = dict.fromkeys(("description", "category", "modifiers", "excluded"), "")
    behaviors = {
        str(k): blank | {"type": "State event", "key": chr(ord("a") + k % 26), "code": code}
        for k, code in enumerate(dict.fromkeys(one.label for one in every))
    }
    live = {"file": [], "type": "LIVE", "date": now, "description": "", "time offset": 0.0}
    observations = {}
    for name, some in intervals.items():
        events = [[at, "", one.label, "", ""] for one in some for at in (one.start, one.end)]
        observations[name] = live | {"events": events}
    about = {"project_name": path.stem, "project_date": now, "project_description": ""}
    conf = {"time_format": "seconds", "subjects_conf": {}, "behavioral_categories": []}
    conf |= {"independent_variables": {}, "coding_map": {}, "project_format_version": "7.0"}
    return about | conf | {"behaviors_conf": behaviors, "observations": observations}


def refuse_dates(intervals: Sequence[Interval], owner: str) -> None:
    for one in intervals:
        if isinstance(one.start, str) or isinstance(one.end, str):
            raise DataError(f"{owner} has times in seconds, and no dates: {one}")


def with_labels(
    recordings: Sequence[Recording],
    path: str | PathLike[str],
    *,
    blanks: bool = False,
    outside: str | None = None,
    **chosen: str | None,
) -> list[Recording]:
    r"""Return recordings with the labels of a file, in the time of the recordings.

    Parameters
    ----------
    recordings : sequence of Recording
        Where their times are not known, the labels are in numbers of samples. Seconds since the
        first sample are known among dates.
    path : path
        A table with a column ``change`` of the times of the changes, or stretches of time with
        their labels as :func:`read_intervals` reads them, of which points alone are changes; or a
        folder of such files; or a name, ``labels.txt`` or ``*_events.tsv``, of such a file in the
        folder of each recording, or above it, whose rows are told apart by their dates. Where
        neighbours of all recordings are mostly one step apart, ends are those of last samples. A
        column with the names of recordings says of which one a row is; without it the file is of
        the recording of its name, or of the only one.
    blanks : bool
        Whether samples may be without a label, which is then -1.
    outside : str, optional
        The label of samples in no stretch, such as the state between those that were marked; by
        default they have none.
    chosen
        ``start``, ``end``, ``label``, ``recording``, ``subject`` and ``annotator`` of
        :func:`read_intervals`; ``tier``, which layer, where there are several
        (:func:`layers_of`).

    Raises
    ------
    DataError, SettingsError
        When the file has nothing about a recording, or what it has may be of two, or is of several
        layers; when a change is not within the recording, or samples lack a label; for another
        keyword.

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
    layers = layers_of(recordings, path, blanks=blanks, outside=outside, **chosen)
    first, found = next(iter(layers.items()))
    without = [one.name for one in found if one.y is None]
    several = f"several labels at once, in layers called {listed(list(layers))}: choose one, "
    several += parameter("tier", first) + "; structsvm try learns each"
    nothing = f"nothing about {listed(without)} of {first!r}: leave out what has no labels"
    with about(path):
        refuse(DataError, (len(layers) > 1, several), (without, nothing))
    return found


def layers_of(
    recordings: Sequence[Recording],
    path: str | PathLike[str],
    *,
    blanks: bool = False,
    outside: str | None = None,
    tier: str | None = None,
    **chosen: str | None,
) -> dict[str, list[Recording]]:
    r"""Return recordings with each of several labels that a file gives at once.

    Layers are the tiers of a file, or, where there are none and stretches of different labels
    overlap, the labels: a sample is labelled ``graze`` where it is marked so and ``no graze``
    (``outside``) elsewhere. A label was looked for in a recording if the same annotator uses it
    anywhere in the same file, or names it in a row without times, or in the list of a project of
    BORIS; where it was not, the recording has no labels (None). All layers share ``X``.

    Parameters
    ----------
    recordings, path, blanks, outside, tier, chosen
        As of :func:`with_labels`.

    Returns
    -------
    dict of lists of Recording
        By the names of the layers; the only one of labels that do not overlap is called "".

    Raises
    ------
    DataError, SettingsError
        As of :func:`with_labels`, and where there is no layer ``tier``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm.io import Recording, layers_of
    >>> cow = Recording("cow", np.zeros((4, 2)), None, ("x", "y"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "cow.csv"
    ...     _ = table.write_text("start,end,label\n0,3,graze\n2,4,walk\n")
    ...     layers = layers_of([cow], table, tier="walk")
    >>> layers["walk"][0].y.tolist()
    ['no walk', 'no walk', 'walk', 'walk']
    """
    ours = _marks_of(recordings, Path(path), chosen)
    of_each = [dict.fromkeys(row.who.get("tier", "") for row in one.rows) for one in ours]
    tiers = list(dict.fromkeys(chain(*of_each)))
    if tier in tiers or (tier is None and any(len(some) > 1 for some in of_each)):
        return {
            name: [_labelled(one, blanks, outside, name) for one in ours]
            for name in (tiers if tier is None else [tier])
        }
    labels = list(dict.fromkeys(row.label for one in ours for _, _, row in one.spans if row.label))
    overlaps = [f"{one.where}: {both}" for one in ours if (both := _collisions(one.spans)[1])]
    if tier is None and not overlaps:
        return {"": [_labelled(one, blanks, outside) for one in ours]}
    if tier not in (None, *labels):
        raise DataError(
            f"{path}: no tier {tier!r}; there is {listed([*filter(None, tiers)] or labels)}"
        )
    if tier is None:
        warn(f"{overlaps[0]}: each label is a layer of its own")
    for one in ours:
        _checked(one.spans, one.axis, f"{one.where}: ")
    names = labels if tier is None else [tier]
    return {name: [_having(one, name, outside) for one in ours] for name in names}


def is_of_each_folder(path: Path) -> bool:
    """Whether a name, and no path, is that of a file of labels in folders of recordings."""
    return path == Path(path.name) and not os.path.exists(path)


def label_files(path: Path) -> list[Path]:
    if not os.path.isdir(path):
        return [path]
    found = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in LABEL_KINDS]
    return [file for file in found if file.parent == path] or found  # recordings may be below


def _warn_of_ends(
    path: str | PathLike[str], several: Sequence[Sequence[Interval]], chosen: Mapping[str, Any]
) -> None:
    """Warn of rows without ends, but for the last ones, which last until the recording ends."""
    every = list(chain(*several))
    open_ones = [row for row in every if row.kind == UNTIL_NEXT and row.end != np.inf]
    if open_ones and chosen.get("end") != NEXT:
        warn(
            f"{path}: {len(open_ones)} of {counted(len(every), 'row')} have no end and last until "
            f"the next one, the first is {open_ones[0]}: say "
            + parameter("end", NEXT)
            + " if they do, or name the column of their ends with "
            + parameter("end")
        )


def _without_points(
    path: str | PathLike[str], several: Sequence[Sequence[Interval]]
) -> list[list[Interval]]:
    """Return rows without the points among stretches, with a warning; points alone are changes."""
    found = []
    left_out = list[Interval]()
    for rows in several:
        among = {row.key for row in rows if row.start != row.end}
        left_out += [row for row in rows if row.start == row.end and row.key in among]
        found.append([row for row in rows if row.start != row.end or row.key not in among])
    if left_out:
        warn(
            f"{path}: {counted(len(left_out), 'point')} in time left out, as stretches are read, "
            f"the first is {left_out[0]}: give it an end if it lasts"
        )
    return found


def _marks_of(
    recordings: Sequence[Recording], path: Path, chosen: Mapping[str, str | None]
) -> list[Marks]:
    """Read the labels of each recording from a file, or from those of a folder."""
    if is_of_each_folder(path):
        return _with_boundaries(path, _marks_of_folders(recordings, path, chosen), chosen)
    known = {name for one in recordings for name in _names(one)}
    marks: dict[str, tuple[Path, list[Interval], set[str]]] = {}
    files = label_files(path)
    for file in files:
        below = Path() if file == path else file.parent.relative_to(path)
        read = read_rows(LabelFile(file, chosen, known), ("subject", "annotator"), len(files) == 1)
        for own, (rows, sought) in read.items():
            is_of_file = own == printable(file.stem)
            name = spelled((below / own).as_posix() if is_of_file else own)
            if name in marks:
                raise DataError(f"{file}: a second file about {name}: leave one out")
            marks[name] = file, rows, sought
    found: dict[str, Marks] = {}
    for recording in recordings:
        called = next((name for name in _names(recording) if name in marks), None)
        if called is None and len(recordings) == len(marks) == 1:
            (called,) = marks
            if path.is_dir() or called != printable(path.stem):
                warn(
                    f"{path}: its labels are of {called!r}, and are taken for those of "
                    f"{recording.name}, the only recording"
                )
        if called is None or called in found:
            raise DataError(
                f"{path}: nothing about {recording.name}, or what is about another one as well; it "
                f"has {listed(list(marks), 5)}: name recordings in a column 'recording' of a "
                "table, or call files like them, or leave out a recording that has no labels"
            )
        found[called] = Marks.of(recording, *marks[called])
    if strangers := [name for name in marks if name not in found]:
        warn(
            f"{path}: labels of {listed(strangers, 5)} are not used, because no recording has such "
            f"a name; those that were given are {listed([one.name for one in recordings], 5)}"
        )
    return _with_boundaries(path, list(found.values()), chosen)


def _marks_of_folders(
    recordings: Sequence[Recording], path: Path, chosen: Mapping[str, str | None]
) -> list[Marks]:
    """Read the labels of each recording from a file of this name in its folder, or above it."""
    of_each: dict[Path | None, list[Recording]] = {}
    for recording in recordings:
        of_each.setdefault(_file_beside(recording, path.name), []).append(recording)
    without = of_each.pop(None, [])
    found: list[Marks] = []
    for file, some in of_each.items():
        assert file is not None
        known = {name for one in some for name in _names(one)}
        read = read_rows(LabelFile(file, chosen, known), ("subject", "annotator"), alone=False)
        whole = read.get(printable(file.stem), ([], set[str]()))
        with about(file):
            parts = _by_time(whole[0], some) if len(read) == 1 and whole[0] else {}
        for recording in some:
            own = [read[name] for name in _names(recording) if name in read]
            rows, sought = own[0] if own else (parts.get(recording.name, []), whole[1])
            if rows:
                found.append(Marks.of(recording, file, rows, sought))
            else:
                without.append(recording)
    if not found:
        raise DataError(f"{path}: no such file, or nothing in one beside a recording that is its")
    if without:
        names = listed([one.name for one in without], 5)
        warn(f"{path}: nothing about {names}: left out, because they have no labels")
    return found


def _file_beside(recording: Recording, name: str) -> Path | None:
    """Return the file of this name, or pattern, in the folder of a recording, or above it."""
    path = Path(os.path.abspath(recording.where))
    for folder in path.parents:
        if found := [file for file in sorted(folder.glob(name)) if file.is_file()]:
            return max(found, key=lambda file: n_alike(file.stem, path.stem))
    return None


def _by_time(
    rows: Sequence[Interval], recordings: Sequence[Recording]
) -> dict[str, list[Interval]]:
    """Return the rows within each of several recordings, whose times are dates."""
    if len(recordings) == 1:
        return {recordings[0].name: list(rows)}
    axes = [one.time for one in recordings if one.time is not None and one.time.holds_dates]
    if len(axes) < len(recordings):
        raise DataError(
            f"it is of {len(recordings)} recordings: name them in a column 'recording', or name "
            "the column of their dates (" + parameter("time_column") + ")"
        )
    stretches = [Stretch.of(row, axes[0]) for row in rows]
    found = {}
    for one, axis in zip(recordings, axes, strict=True):
        first, last = axis.values[[0, -1]]
        here = [s for s in stretches if s.start <= last and (s.end is None or s.end > first)]
        found[one.name] = [_clipped(s, first, last) for s in here]
    return found


def _clipped(stretch: Stretch, first: Any, last: Any) -> Interval:
    """A row without what is before or after a recording."""
    start = stretch.row.start if stretch.start >= first else str(first)
    is_until_end = stretch.end is None or stretch.end > last
    return replace(stretch.row, start=start, end=np.inf if is_until_end else stretch.row.end)


def _refuse_coarse(path: Path, several: Sequence[Marks]) -> None:
    """Refuse sound that was read in longer steps than most stretches last."""
    lasting = [one for one in several if one.axis.lasting]
    lengths = [s.end - s.start for one in lasting for s in one.stretches if s.end is not None]
    step = max((one.axis.lasting for one in lasting), default=0.0)
    n_short = sum(length < step for length in lengths)
    if 2 * n_short > len(lengths):
        usual = float(np.median(lengths))
        finer = max(float(f"{usual / IN_ONE:.0e}"), STEPS[0])
        raise DataError(
            f"{path}: sound and pictures are read in steps of {step:g} s, and {n_short} of "
            f"{len(lengths)} stretches are shorter, half of all than {usual:.3g} s: "
            + parameter("step", finer)
            + " resolves them"
        )


def _with_boundaries(
    path: Path, several: list[Marks], chosen: Mapping[str, str | None]
) -> list[Marks]:
    """Return what is said of recordings with the ends as they are meant, and warn of it once."""
    _refuse_coarse(path, several)
    _warn_of_ends(path, [one.rows for one in several], chosen)
    means = Boundaries.of([(one.stretches, one.axis) for one in several])
    if means.reach is None:  # else a point is a stretch of one sample
        rows = _without_points(path, [one.rows for one in several])
        several = [replace(one, rows=some) for one, some in zip(several, rows, strict=True)]
        points = [row for some in rows for row in some if row.start == row.end and row.label]
        if points:
            warn(
                f"{path}: points alone are changes, and their names are not used, the first is "
                f"{points[0]}: say " + parameter("end", NEXT) + " if each lasts until the next one"
            )
    found = [replace(one, means=means) for one in several]
    if means.from_one:
        found = [replace(one, axis=_counted_from_one(one.axis)) for one in found]
    changed = [
        span[2]
        for one, plain in zip(found, several, strict=True)
        for span, other in zip(one.spans, plain.spans, strict=False)
        if span != other
    ]
    if changed and means != Boundaries():
        warn(f"{path}: {means}, the first that changes is {changed[0]}")
    return found


def _names(recording: Recording) -> list[str]:
    stem = spelled(printable(Path(recording.source or "").stem))
    return [recording.name, *([stem] if stem else []), name_of(recording.name)]


def _counted_from_one(axis: TimeAxis) -> TimeAxis:
    return replace(axis, values=axis.values + 1)


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
        scale = LONG.get(unit_of(axis.name) or "", 1.0)
        if axis.holds_dates or scale == 1.0 or not units.isdisjoint((None, "samples")):
            return axis
        return replace(axis, name="seconds", values=axis.values * scale, written=None)
    axis = TimeAxis("sample", np.arange(len(recording.X)))
    ways = "name the column of time (" + parameter("time_column")
    ways += "), or give the sampling rate in Hz (" + parameter("rate") + ")"
    if not units <= {None, "samples"}:
        raise DataError("its labels are in seconds, and it has no times: " + ways)
    ends = [axis.value(at) for row in rows for at in (row.start, row.end)]
    if any(at % 1 for at in ends if at < np.inf):
        warn(
            f"{recording.name}: it has no times, so that labels count samples and are rounded up "
            "to whole ones: if they are in seconds, " + ways
        )
    return axis


def _having(marks: Marks, label: str, outside: str | None) -> Recording:
    """Return the recording with one label, and another one elsewhere, if it was looked for."""
    y = None
    if label in marks.sought:
        there = [span for span in marks.spans if span[2].label == label]
        placed = _placed(there, marks.axis, f"no {label}" if outside is None else outside)
        y = np.array(placed.tolist())
    return replace(marks.recording, y=y)


def _labelled(
    marks: Marks, blanks: bool, outside: str | None, tier: str | None = None
) -> Recording:
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
            spans = _checked(marks.spans, marks.axis, f"{marks.where}: ")
            placed = _placed(spans, marks.axis, outside)
            known = ~missing_labels(placed)
            y = np.array(placed.tolist()) if known.all() else known_where(placed, known)
            if not (blanks or known.all()):
                first = f"{marks.axis.name} {marks.axis.text(int(known.argmin()))}"
                raise DataError(
                    f"{(~known).sum()} of {known.size} samples are in no stretch, the first at "
                    f"{first}, or their stretch has no label: label all of them, say what they "
                    "are, as "
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
    found, counts = np.unique(begins, return_counts=True)
    if found.size < len(changes):
        at = f"{axis.name} {axis.text(int(found[counts.argmax()]))}"
        warn(f"several changes are within one sample, as at {at}: they are one")
    return np.cumsum(np.isin(np.arange(len(axis)), begins))
