"""Labels of stretches of time, as labelling tools write them: to labels of samples and back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis, time_axis
from structsvm.data.values import label_values, missing_labels
from structsvm.errors import DataError, DataWarning, SettingsError, printable, warn
from structsvm.io.readers import EXCEL, read_frame
from structsvm.io.text import decimal_of, decoded
from structsvm.partial_labels.labels import PartialLabels, unlabelled
from structsvm.partitions.oracle import Region
from structsvm.storage.atomic import write_atomically
from structsvm.support.checks import is_number
from structsvm.support.plain import counted

COLUMNS: tuple[Mapping[str, str], ...] = (
    {
        "recording": "Observation id",
        "label": "Behavior",
        "start": "Start (s)",
        "end": "Stop (s)",
    },
    *(
        {
            "recording": "File Path",
            "label": "Annotation",
            "start": f"Begin Time - {form}",
            "end": f"End Time - {form}",
        }
        for form in ("ss.msec", "msec", "hh:mm:ss.ms")
    ),
    {"recording": "recording", "label": "text", "start": "tmin", "end": "tmax"},
    {"recording": "recording", "label": "label", "start": "start", "end": "end"},
)
"""Names of columns: of BORIS's aggregated events, of ELAN's tab-delimited text with times in each
of its forms, of the table that Praat makes of a TextGrid, and our own."""
PRAAT = 'File type = "ooTextFile"'
"""How Praat's own files begin."""
STATUS = ("Behavior type", "Status")
"""The column of BORIS's tabular events that says whether a state starts or stops there: from
version 8 on, and before."""
OF_ELAN = ("Begin Time", "End Time", "Duration", "Tier", "Participant", "File Path", "File Name")
"""How the columns of ELAN's text begin that are no tiers."""
COMMENT = ("#", '"#')
"""How the lines begin in which ELAN names the media, before its table."""
DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+.*|\d+:\d\d(:\d\d)?([.,]\d+)?")
"""A date, or a time of a day, whatever the order of its numbers: the recording knows."""
CLOCK = re.compile(r"\d+:\d\d:\d\d\.\d+")
"""A time as ELAN writes it beside the one in seconds."""
LABELS = "timeserieslabels"
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
    ([0, 0, -1, -1, 1, 1], (Region(start=1, end=5, changes=1, or_more=False),))
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
        region = Region(first - 1, last + 1, 1)
        if regions and regions[-1].end > region.start + 1:  # the two cannot be told apart
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
) -> dict[str, list[Interval]]:
    r"""Read the labels of a labelling tool, by the name of the recording.

    Parameters
    ----------
    path : path
        ``.json``: tasks of Label Studio with labels of time series; the name of a recording is that
        of its file. ``.txt`` without a header: a label track of Audacity, or the tab-delimited text
        of ELAN with times on a clock; the name is that of the file. Otherwise a table with a
        header, such as the aggregated or the tabular events of BORIS, the table that Praat makes of
        a TextGrid with one tier, or ELAN's text with a column for each tier; it may be the first
        sheet of an ``.xlsx`` file. Texts may have semicolons or
        tabs between columns, and a decimal comma then.
    start, end, label, recording : str, optional
        Names of the columns of a table, where they are others; ``label`` names a tier of ELAN where
        there are several. Without a column of recordings all intervals are of one, named after the
        file.

    Raises
    ------
    DataError
        Naming the file and the line.

    Notes
    -----
    What BORIS writes was compared with the files of its own tests, of versions 3 to 7, whose
    tabular events have lines on the observation before the table and a column ``Status``, and with
    the sources of version 9.12.3, which write one table with a column ``Behavior type``. What ELAN
    writes was compared with its manuals (6.2 to 7.1), with what its sources take for headers, and
    with programs of others that read it: times in seconds, in milliseconds or on a clock, and lines
    that begin with ``#`` before the table. Its headers are in the language of its windows, of which
    only English is known here: name others by ``start``, ``end`` and ``label``.

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
    text = text_of_labels(path)
    name = printable(path.stem)
    if path.suffix.lower() == ".json":
        return _from_label_studio(path, text)
    if text.startswith(PRAAT):
        raise DataError(
            f"{path}: a file of Praat: let Praat make a table of the TextGrid (Down to Table, then "
            "Save as comma-separated file), with the names of tiers, and read that"
        )
    given = {"start": start, "end": end, "label": label, "recording": recording}
    asked = {key: value for key, value in given.items() if value is not None}
    if not asked and _is_track(text):
        return {name: _from_audacity(path, text)}
    if not {"start", "end"} & asked.keys() and _is_plain_elan(text):
        return {name: _from_elan(path, text, label)}
    return _from_table(path, text, name, asked)


def text_of_labels(path: Path) -> str:
    """The text of a file of labels, with points in its numbers; that of a sheet has commas."""
    if path.suffix.lower() in EXCEL:
        return str(read_frame(path, as_text=True)[0].to_csv(index=False))
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # the latter for names that hold a zero
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from error
    text, _ = decoded(path, content)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.splitlines(keepends=True)
    first = line_of_header(lines)
    separator = separator_of(lines[first]) if lines else ","
    if separator == "," or path.suffix.lower() == ".json":
        return text
    if decimal_of(path, "".join(lines[first:]), separator, has_option=False) == ",":
        between = rf"(?<![^{separator}\n])([-+]?\d+),(\d+)(?![^{separator}\n])"
        text = re.sub(between, r"\1.\2", text)
    return text


def separator_of(header: str) -> str:
    if "\t" in header:
        return "\t"
    return "," if header.count(",") > header.count(";") else ";"  # also of a single column


def refuse_longer(path: Path, line: int, row: Mapping[Any, Any]) -> None:
    """Refuse a row of values that no column has, as where decimal commas are taken for
    separators.
    """
    if any(value.strip() for value in row.get(None, ())):
        n = len(row) - 1
        raise DataError(
            f"{path}: line {line} has {n + len(row[None])} columns where "
            f"{counted(n, 'column')} {'is' if n == 1 else 'are'} expected"
        )


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
    ...     read_intervals(path)
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
        writer.writerow(COLUMNS[-1])
        for name, found in intervals.items():
            writer.writerows([name, i.label, i.start, i.end] for i in found)
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
            "type": LABELS,
            "value": {"start": i.start, "end": i.end, "instant": False, LABELS: [i.label]},
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


def _from_label_studio(path: Path, text: str) -> dict[str, list[Interval]]:
    """The labels of each task: those of its first annotation that counts, or of a prediction."""
    try:
        tasks = json.loads(text)
        found = {}
        for task in tasks if isinstance(tasks, list) else [tasks]:
            if not {"annotations", "predictions"} & task.keys():
                raise DataError(
                    f"{path}: a task has neither annotations nor predictions: export from Label "
                    "Studio as JSON, which JSON-MIN is not"
                )
            made = [a for a in task.get("annotations", ()) if not a.get("was_cancelled")]
            chosen = (made or task.get("predictions") or [{"result": []}])[0]
            values = [r["value"] for r in chosen["result"] if r.get("type") == LABELS]
            name = _task_name(task)
            if name in found:
                raise DataError(f"{path}: two tasks are about {name!r}")
            found[name] = [
                Interval(value["start"], value["end"], str(value[LABELS][0])) for value in values
            ]
        return found
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: no tasks of Label Studio: {error!r}") from error


def _task_name(task: Mapping[str, Any]) -> str:
    """The name of the file that a task is about, or else its number."""
    texts = [value for value in task.get("data", {}).values() if isinstance(value, str)]
    return PurePosixPath(texts[0]).stem if texts else str(task.get("id", ""))


def _is_track(text: str) -> bool:
    parts = text.partition("\n")[0].split("\t")
    try:
        return len(parts) in (2, 3) and float(parts[0]) <= float(parts[1])
    except ValueError:
        return len(parts) == 3 and all(DATE.fullmatch(part) for part in parts[:2])


def _from_audacity(path: Path, text: str) -> list[Interval]:
    """A label track; lines that begin with a backslash hold frequencies."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("\\"):
            continue
        start, _, rest = line.partition("\t")
        end, _, label = rest.partition("\t")
        found.append(Interval(_time(path, number, start), _time(path, number, end), label.strip()))
    return found


def _is_plain_elan(text: str) -> bool:
    lines = (line for line in text.splitlines() if line and not line.startswith(COMMENT))
    parts = next(lines, "").split("\t")
    return len(parts) >= 4 and any(CLOCK.fullmatch(part) for part in parts[:3])


def _from_elan(path: Path, text: str, tier: str | None) -> list[Interval]:
    """ELAN's text without a header: tier, participant, times, duration, annotation."""
    found, tiers = [], set()
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split("\t")
        clocks = [k for k, part in enumerate(parts) if CLOCK.fullmatch(part)]
        if not line.strip() or line.startswith(COMMENT):
            continue
        if len(clocks) < 2:
            raise DataError(f"{path}: line {number}: no begin and end as hh:mm:ss.ms")
        if tier is not None and parts[0] != tier:
            continue
        tiers.add(parts[0] if clocks[0] else "")
        begin, end = (_seconds(parts[k]) for k in clocks[:2])
        found.append(Interval(begin, end, parts[-1].strip()))
    if len(tiers) > 1:
        raise DataError(f"{path}: several tiers, {', '.join(sorted(tiers))}: name one with label=")
    return found


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.split(":")
    return round(3600 * int(hours) + 60 * int(minutes) + float(seconds), 6)


@dataclass(frozen=True)
class _Table:
    """A table in a text, and the lines before it."""

    before: Sequence[str]
    header: Sequence[str]
    rows: Sequence[tuple[int, Mapping[str, str]]]
    """The number of its line in the file, and the values of each row by column."""

    @classmethod
    def of(cls, text: str) -> _Table:
        lines = text.splitlines(keepends=True)
        first = line_of_header(lines)
        delimiter = separator_of(lines[first]) if lines else ","
        reader = csv.DictReader(
            io.StringIO("".join(lines[first:])), delimiter=delimiter, skipinitialspace=True
        )
        header = [name for name in reader.fieldnames or () if name]
        rows = [(first + reader.line_num, row) for row in reader]
        return cls(lines[:first], header, rows)


def line_of_header(lines: Sequence[str]) -> int:
    """The first line that is not about media, or that of BORIS's events before version 8."""
    for number, line in enumerate(lines):
        if {"Time", "Behavior", "Status"} <= set(_values(line)):
            return number
    return next((k for k, line in enumerate(lines) if not line.startswith(COMMENT)), 0)


def _values(line: str) -> list[str]:
    return re.split("[\t,;]", line.strip())


def _from_events(path: Path, table: _Table, status: str, name: str) -> dict[str, list[Interval]]:
    """BORIS's tabular events: rows in which a behaviour of a subject starts, and stops."""
    found: dict[str, list[Interval]] = {}
    open_ones: dict[tuple[str, ...], float | str] = {}
    before = [_values(line) for line in table.before]
    of_all = next((values[1] for values in before if values[0] == "Observation id"), name)
    for number, row in table.rows:
        kind, behavior = (row[status] or "").strip().upper(), (row["Behavior"] or "").strip()
        if kind not in ("START", "STOP"):
            continue  # a point event is no stretch
        own = row.get("Observation id") or of_all
        which = (own, row.get("Subject") or "", behavior)
        at = _time(path, number, row["Time"])
        if kind == "START":
            open_ones[which] = at
        elif which in open_ones:
            stretch = Interval(open_ones.pop(which), at, behavior)
            found.setdefault(own, []).append(stretch)
        else:
            raise DataError(f"{path}: line {number}: {behavior!r} stops and never started")
    if open_ones:
        _, _, behavior = next(iter(open_ones))
        raise DataError(f"{path}: {behavior!r} starts and never stops")
    return _by_name({own: sorted(each, key=lambda i: i.start) for own, each in found.items()})


def _from_table(
    path: Path, text: str, name: str, asked: Mapping[str, str]
) -> dict[str, list[Interval]]:
    table = _Table.of(text)
    header = table.header
    status = next((column for column in STATUS if column in header), None)
    if not asked and status and {"Behavior", "Time"} <= set(header) and "Start (s)" not in header:
        return _from_events(path, table, status, name)
    usual = next((c for c in COLUMNS if c["start"] in header and c["end"] in header), COLUMNS[-1])
    columns = {**usual, **asked}
    if columns["label"] == "Annotation" and "Annotation" not in header:  # a column for each tier
        tiers = [column for column in header if not column.startswith(OF_ELAN)]
        if len(tiers) > 1:
            raise DataError(f"{path}: several tiers, {', '.join(tiers)}: name one with label=")
        columns["label"] = tiers[0] if tiers else columns["label"]
    missing = [key for key in ("start", "end", "label") if columns[key] not in header]
    if missing:
        raise DataError(
            f"{path}: no column {columns[missing[0]]!r}; the columns are {', '.join(header)}: name "
            f"it with {missing[0]}="
        )
    if columns["start"] == "tmin":
        of_rows = sorted({(row.get("tier") or "").strip() for _, row in table.rows})
        if len(of_rows) > 1:
            raise DataError(
                f"{path}: several tiers, {', '.join(of_rows)}: leave the rows of one in the table"
            )
    found: dict[str, list[Interval]] = {}
    for number, row in table.rows:
        refuse_longer(path, number, row)
        own = row.get(columns["recording"]) or name
        start, end = (
            _time_in(columns[key], path, number, row[columns[key]]) for key in ("start", "end")
        )
        if start != end:  # a point event is no stretch
            label = (row[columns["label"]] or "").strip()
            if not label and columns["start"].startswith((*OF_ELAN, "tmin")):
                continue  # what another tier says
            found.setdefault(own, []).append(Interval(start, end, label))
    return _by_name(found) if columns["recording"] in header else found


def _by_name(found: Mapping[str, list[Interval]]) -> dict[str, list[Interval]]:
    """By the names of recordings, where a table has paths of files, unless two have one name."""
    names = [name_of(own) for own in found]
    if len(set(names)) < len(names):
        return dict(found)
    return dict(zip(names, found.values(), strict=True))


def name_of(called: str) -> str:
    """The name of a recording that may be called by a path; a number after a point is no kind."""
    path = PurePosixPath(called)
    return path.name if path.suffix[1:].isdigit() else path.stem


def _time_in(column: str, path: Path, line: int, text: str | None) -> float | str:
    """A time in seconds, in the form that it has or that the name of its column says; or a date."""
    if text is not None and CLOCK.fullmatch(text):
        return _seconds(text)
    at = _time(path, line, text)
    return at / 1000 if column.endswith("- msec") and isinstance(at, float) else at


def _time(path: Path, line: int, text: str | None) -> float | str:
    """A number, or a date as it was written."""
    try:
        return float(text or "")
    except ValueError:
        if text is not None and DATE.fullmatch(text.strip()):
            return text.strip()
        raise DataError(f"{path}: line {line}: {text!r} is neither a number nor a date") from None


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
