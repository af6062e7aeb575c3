"""Files of stretches of time with labels: read, and written for tools that correct them."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

from structsvm.errors import DataError
from structsvm.io.intervals import warn_of_ends, without_points
from structsvm.io.label_file import LabelFile
from structsvm.io.label_files import read_rows
from structsvm.io.label_rows import Interval
from structsvm.support import csv_text, ending_of, write_atomically

TYPE = "timeserieslabels"  # the type of the labels of time series in Label Studio


def read_intervals(path: str | PathLike[str], **chosen: str | None) -> dict[str, list[Interval]]:
    r"""Read the labels of a labelling tool, by the name of the recording.

    Parameters
    ----------
    path : path
        ``.json``: tasks of Label Studio with labels of time series or sound; the name of a
        recording is that of its file, as it was before it was uploaded; or other objects with a
        start, an end (or a duration) and a label, as a list, in lines (``.jsonl``) or by recording,
        as of JAMS or VIA; or pairs of a start and an end by recording, or triples with a label.
        ``.boris``, ``.eaf``, ``.TextGrid``, ``.srt``, ``.vtt``, ``.rttm``: documents of BORIS, ELAN
        and Praat, subtitles, and who speaks. Lines without a header have a start, perhaps an end,
        and a label, as in a label track of Audacity or a label file of HTK, or are the
        tab-delimited text of ELAN. Otherwise a table with a
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
    by_recording = {
        name: rows for name, (rows, _) in read_rows(LabelFile(Path(path), chosen)).items()
    }
    if not by_recording:
        raise DataError(f"{path}: it holds no labels")
    every = list(by_recording.values())
    warn_of_ends(path, every, chosen)
    return dict(zip(by_recording, without_points(path, every), strict=True))


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
    every: list[tuple[str, Interval]] = []
    for name, some in intervals.items():
        every += [(name, one) for one in some]
    of_one = [".txt"] if len(intervals) == 1 else []
    kind = ending_of(path, (".json", ".boris", ".csv", ".tsv", *of_one))
    if kind == ".json":
        tasks = [_task(name, stretches, predictions) for name, stretches in intervals.items()]
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
    """Return a task of Label Studio, with from_name and to_name as in its template."""
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
    """Return a project of BORIS."""
    now = datetime.now().isoformat(timespec="seconds")
    every = list(chain.from_iterable(intervals.values()))
    refuse_dates(every, f"{path}: BORIS")
    blank = dict.fromkeys(("description", "category", "modifiers", "excluded"), "")
    behaviors = {
        str(k): blank | {"type": "State event", "key": chr(ord("a") + k % 26), "code": code}
        for k, code in enumerate(dict.fromkeys(one.label for one in every))
    }
    live = {"file": [], "type": "LIVE", "date": now, "description": "", "time offset": 0.0}
    observations = {}
    for name, some in intervals.items():
        events = []
        for one in some:
            events += [[one.start, "", one.label, "", ""], [one.end, "", one.label, "", ""]]
        observations[name] = live | {"events": events}
    about = {"project_name": path.stem, "project_date": now, "project_description": ""}
    conf = {"time_format": "seconds", "subjects_conf": {}, "behavioral_categories": []}
    conf |= {"independent_variables": {}, "coding_map": {}, "project_format_version": "7.0"}
    return about | conf | {"behaviors_conf": behaviors, "observations": observations}


def refuse_dates(intervals: Sequence[Interval], owner: str) -> None:
    """Refuse intervals with dates for something that has times in seconds alone."""
    for one in intervals:
        if isinstance(one.start, str) or isinstance(one.end, str):
            raise DataError(f"{owner} has times in seconds, and no dates: {one}")
