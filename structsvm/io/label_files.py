"""Files of labels, whatever wrote them, as rows: from when to when, what, of which, and whose.

One format is one function from the text of a file to rows; :data:`FORMATS` is the table of them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from structsvm.data.times import TimeAxis
from structsvm.errors import DataError, printable
from structsvm.io.options import TextFormat, decimal_of, decoded, refuse_thousands, separator_in
from structsvm.io.recording import listed, spelled
from structsvm.io.tables import EXCEL, read_frame
from structsvm.partial_labels.labels import region_from
from structsvm.partitions.oracle import Region
from structsvm.support.plain import counted, uncell

TABLES = (".csv", ".tsv", *EXCEL)
LABEL_KINDS = (*TABLES, ".txt", ".json", ".boris", ".eaf", ".textgrid", ".srt")
"""Kinds of files of labels."""
WHOSE: Mapping[str, frozenset[str]] = {
    "tier": frozenset({"tier"}),
    "subject": frozenset({"subject", "participant", "individual"}),
    "annotator": frozenset({"annotator", "rater", "coder", "observer", "labeler", "labeller"}),
}
"""Whose labels may be several in one file, and what columns that say it are called."""
COLUMNS = [
    dict(zip(("recording", "label", "start", "end"), names, strict=True))
    for names in (
        ("Observation id", "Behavior", "Start (s)", "Stop (s)"),  # aggregated events of BORIS
        *(  # text of ELAN, with times in each of its forms
            ("File Path", "Annotation", f"Begin Time - {form}", f"End Time - {form}")
            for form in ("ss.msec", "msec", "hh:mm:ss.ms")
        ),
        ("recording", "text", "tmin", "tmax"),  # the table that Praat makes of a TextGrid
        ("recording", "trial_type", "onset", "duration"),  # BIDS
        ("recording", "label", "start", "duration"),
        ("recording", "label", "start", "end"),
    )
]
"""Names of columns; a duration is added to the start."""
REGIONS = (("start_time", "end_time"), ("start", "end"))
"""The columns of a table of regions, besides those of the recording and of the changes."""
CHANGES = ("change", "change_time", "time")  # names of the column of a table of change times
STATUS = ("Behavior type", "Status")
"""The column of BORIS's tabular events that says whether a state starts or stops there: from
version 8 on, and before."""
OF_ELAN = ("Begin Time", "End Time", "Duration", "Tier", "Participant", "File Path", "File Name")
"""How the columns of ELAN's text begin that are no tiers."""
COMMENT = ("#", '"#')  # how the lines begin in which ELAN names the media, before its table
OF_BORIS = {"Time", "Behavior", "Status"}
"""Columns of a table of BORIS, before which lines on the observation stand."""
DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+.*|\d+:\d\d(:\d\d)?([.,]\d+)?")
"""A date, or a time of a day, whatever the order of its numbers: the recording knows."""
CLOCK = re.compile(r"\d+:\d\d:\d\d[.,]\d+")
"""A time as ELAN writes it beside the one in seconds, and subtitles do."""
STRETCHES = ("timeserieslabels", "labels")
"""The types of labels of time series and of sound in Label Studio."""
UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the names of files that are uploaded to it."""
PRAAT = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w\].])')
"""The texts and numbers of a TextGrid, long or short, without the numbers of its items."""
WHOLE = re.compile(r"\.0+(?=\+?\s*$)")
"""Decimals of a whole number, as spreadsheets and pandas write them."""


@dataclass(frozen=True)
class Row:
    """A stretch of time and its label; a point where it ends as it starts."""

    start: Any
    """A number, or a date as text; None in the only row of a recording without labels."""
    end: Any
    label: str
    recording: str | None = None
    """None where the file is of one, and called as it is."""
    who: Mapping[str, str] = field(default_factory=dict)
    """Of which tier, subject or annotator it is, as far as that is said."""
    is_guess: bool = False
    """Whether a model predicted it."""

    @property
    def is_point(self) -> bool:
        return bool(self.start == self.end)


@dataclass(frozen=True)
class LabelFile:
    """The text of a file, with points in its numbers, and the table in it if there is one."""

    path: Path
    text: str
    before: Sequence[str]
    """The lines before the header: what BORIS and ELAN say of the observation and the media."""
    table: str
    separator: str
    header: Sequence[str]
    columns: Mapping[str, str]
    """The names of columns that were given."""

    @classmethod
    def of(cls, path: Path, columns: Mapping[str, str] | None = None) -> LabelFile:
        kind, text = path.suffix.lower(), _text_of(path)
        lines = text.splitlines(keepends=True)
        boris = (k for k, line in enumerate(lines) if OF_BORIS <= set(_split(line)))
        others = (k for k, line in enumerate(lines) if not line.startswith(COMMENT))
        first = next(chain(boris, others), 0)
        table = "".join(lines[first:])
        separator = separator_in(table)
        if separator not in table.partition("\n")[0]:
            separator = ";"  # of one column, in which commas are decimal marks
        if kind in (".csv", ".tsv", ".txt") and separator != ",":
            decimal = decimal_of(table, separator)
            if decimal == "," or separator == ";":
                for column in zip_longest(*TextFormat(separator).rows(table), fillvalue=""):
                    refuse_thousands(path, column, decimal)
            if decimal == ",":
                between = rf"(?<![^{separator}\n])([-+]?\d+),(\d+)(?![^{separator}\n])"
                text, table = (re.sub(between, r"\1.\2", one) for one in (text, table))
        header = next(iter(TextFormat(separator).rows(table.partition("\n")[0])), [])
        header = [name for name in header if name]
        return cls(path, text, lines[:first], table, separator, header, columns or {})

    @property
    def kind(self) -> str:
        return self.path.suffix.lower()

    @property
    def rows(self) -> Iterator[tuple[int, dict[Any, Any]]]:
        """The line of each row and its values by column.

        Rows longer than the header, as of decimal commas between commas, are refused.
        """
        lines = io.StringIO(self.table)
        reader = csv.DictReader(lines, delimiter=self.separator, skipinitialspace=True)
        for row in reader:
            line = len(self.before) + reader.line_num
            if any(value.strip() for value in row.get(None, ())):
                n = len(row) - 1
                raise DataError(
                    f"{self.path}: line {line} has {n + len(row[None])} columns where "
                    f"{counted(n, 'column')} {'is' if n == 1 else 'are'} expected"
                )
            yield line, {k: uncell(v) if isinstance(v, str) else v for k, v in row.items()}

    def time(self, line: int, text: str | None) -> float | str:
        """A number, or a date as it was written."""
        try:
            return float(text or "")
        except ValueError:
            if text is not None and DATE.fullmatch(text.strip()):
                return text.strip()
            raise DataError(
                f"{self.path}: line {line}: {text!r} is neither a number nor a date"
            ) from None


def _text_of(path: Path) -> str:
    """The text of a file; that of a sheet has commas between columns."""
    if path.suffix.lower() in EXCEL:
        return str(read_frame(path, as_text=True)[0].to_csv(index=False))
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # the latter for names that hold a zero
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from error
    text, _ = decoded(path, content)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _split(line: str) -> list[str]:
    return re.split("[\t,;]", line.strip())


def read_rows(
    path: Path,
    columns: Mapping[str, str],
    who: Mapping[str, str | None],
    *,
    alone: bool = True,
) -> dict[str, list[Row]]:
    """The rows of one tier, subject and annotator for each recording, by its name.

    Columns may have been named. A file that is not ``alone`` may have nothing of them.
    """
    file = LabelFile.of(path, columns)
    formats = (one for one in FORMATS if one[1](file))
    called, _, read = next(formats, ("table", None, _of_table))
    try:
        rows = list(read(file))
    except DataError:
        raise
    except Exception as error:  # a foreign document can miss anything
        raise DataError(f"{path}: no {called}, or a damaged one: {error!r}") from error
    own_name, found = printable(path.stem), dict[str, list[Row]]()
    for row in rows:
        found.setdefault(own_name if row.recording is None else row.recording, [])
    for row in _chosen(path, rows, who, alone):
        found[own_name if row.recording is None else row.recording].append(row)
    names = {name: name_of(name) for name in found}
    if len(set(names.values())) == len(names):
        found = {names[name] if name != own_name else name: some for name, some in found.items()}
    return {name: _without_points(some) for name, some in found.items()}


def _chosen(
    path: Path, rows: Sequence[Row], who: Mapping[str, str | None], alone: bool
) -> list[Row]:
    """The rows of one tier, subject and annotator; DataError where there are several to choose."""
    wanted = who.get("annotator")
    left = [row for row in rows if not row.is_guess or row.who.get("annotator") == wanted]
    left = [row for row in left if row.start is not None]
    for kind in WHOSE:
        names = list(dict.fromkeys(row.who.get(kind, "") for row in left))
        wanted = who.get(kind)
        if wanted is not None:
            if wanted not in names and alone:
                raise DataError(f"{path}: no {kind} {wanted!r}; there is {listed(names)}")
            left = [row for row in left if row.who.get(kind) == wanted]
            continue
        of_each = {(row.recording, row.who.get(kind, "")) for row in left}
        if len(of_each) > len({recording for recording, _ in of_each}):
            raise DataError(
                f"{path}: several {kind}s, {listed(names)}: choose one, {kind}={names[0]!r}"
            )
    return left


def _without_points(rows: list[Row]) -> list[Row]:
    """The rows; of a table that has stretches, these."""
    is_track = all(not row.who and row.recording is None for row in rows)
    stretches = [row for row in rows if not row.is_point]
    return stretches if stretches and not is_track else rows


def name_of(called: str) -> str:
    """The name of a recording that may be called by a path; a number after a point is no kind."""
    path = PurePosixPath(called)
    return path.name if path.suffix[1:].isdigit() else path.stem


def read_regions(
    path: str | PathLike[str], times: Mapping[str, TimeAxis | None] | None = None
) -> dict[str, list[Region]]:
    """Read a table of regions, by the names of their recordings, of which times may be known."""
    found: dict[str, list[Region]] = {}
    file = LabelFile.of(Path(path))
    start, end = next((pair for pair in REGIONS if set(pair) & set(file.header)), REGIONS[-1])
    columns = ("recording", start, end, "changes")
    missing = [name for name in columns if name not in file.header]
    if missing:
        raise DataError(
            f"{path}: no column {missing[0]!r}; it needs {', '.join(columns)}, and has "
            f"{', '.join(file.header) or 'none'}"
        )
    try:
        for line, row in file.rows:
            if None in row.values():
                raise DataError(
                    f"{path}: line {line}: it has another number of columns than the header"
                )
            name = spelled(row["recording"])
            ends = [row[start], row[end]]
            try:
                if start == "start_time":
                    ends = _samples(ends, name, times or {})
                region = region_from([*ends, WHOLE.sub("", row["changes"])])
            except DataError as error:
                raise DataError(f"{path}: line {line}: {error}") from error
            found.setdefault(name, []).append(region)
    except csv.Error as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return found


def _samples(moments: list[str], recording: str, times: Mapping[str, TimeAxis | None]) -> list[str]:
    """The first samples from these moments on."""
    if recording not in times:
        return ["0", "1"]  # whoever asks for the regions says that there is no such recording
    axis = times[recording]
    if axis is None:
        raise DataError(
            f"recording {recording} has no times: name their column, time_column=, or give "
            "start and end in samples"
        )
    return [str(axis.sample_at(moment)) for moment in moments]


def _of_label_studio(file: LabelFile) -> Iterator[Row]:
    tasks = json.loads(file.text)
    tasks = tasks if isinstance(tasks, list) else [tasks]
    names = _task_names(tasks)
    for task, name in zip(tasks, names, strict=True):
        if not {"annotations", "predictions"} & task.keys():
            raise DataError(
                f"{file.path}: a task has neither annotations nor predictions: export from "
                "Label Studio as JSON, which JSON-MIN is not"
            )
        if names.count(name) > 1:
            raise DataError(f"{file.path}: two tasks are about {name!r}")
        yield Row(None, None, "", name)
        finished = [a for a in task.get("annotations", ()) if not a.get("was_cancelled")]
        seen: set[str] = set()
        for number, one in enumerate(finished, 1):
            by = one.get("completed_by")
            if isinstance(by, Mapping):
                by = by.get("email") or by.get("id")
            who = f"annotation {number}" if by is None else str(by)
            who = who if who not in seen else f"{who}, annotation {number}"
            seen.add(who)
            yield from _stretches(file.path, one["result"], name, who, is_guess=False)
        for one in task.get("predictions") or ():
            who = str(one.get("model_version") or "model")
            yield from _stretches(file.path, one["result"], name, who, is_guess=True)


def _stretches(
    path: Path, result: Sequence[Any], name: str, who: str, *, is_guess: bool
) -> Iterator[Row]:
    """The stretches of an annotation; what says something else, such as choices, is left out."""
    for one in result:
        kind = one.get("type")
        if kind == "timelinelabels":
            raise DataError(
                f"{path}: labels of {name!r} count the pictures of a film (timelinelabels): write "
                "them in seconds, in a table with the columns start, end and label"
            )
        if kind not in STRETCHES:
            continue
        value = one["value"]
        labels = value[kind]
        if len(labels) > 1:
            raise DataError(
                f"{path}: a stretch of {name!r} from {value['start']} has the labels "
                f"{listed(list(map(str, labels)))}: a sample has one label"
            )
        whose = {"tier": str(one.get("from_name", "")), "annotator": who}
        yield Row(value["start"], value["end"], str(labels[0]), name, whose, is_guess)


def _task_names(tasks: Sequence[Any]) -> list[str]:
    """The names of the files that tasks are about, as they were before they were uploaded."""
    whole, before = [], []
    for task in tasks:
        texts = [value for value in task.get("data", {}).values() if isinstance(value, str)]
        whole.append(PurePosixPath(texts[0]).stem if texts else str(task.get("id", "")))
        is_upload = bool(task.get("file_upload")) or "/upload/" in "".join(texts[:1])
        before.append(UPLOADED.sub("", whole[-1], count=1) if is_upload else whole[-1])
    return before if len(set(before)) == len(before) else whole


def _of_boris(file: LabelFile) -> Iterator[Row]:
    """A project of BORIS: events of observations, in which states start and stop in turn."""
    project = json.loads(file.text)
    kinds = {
        one["code"]: str(one.get("type", "")).lower() for one in project["behaviors_conf"].values()
    }
    for name, observation in project["observations"].items():
        yield Row(None, None, "", name)
        events = [
            (None, at, subject, behavior, "POINT" if "point" in kinds.get(behavior, "") else "")
            for at, subject, behavior, *_ in sorted(observation["events"], key=lambda e: e[0])
        ]
        yield from _paired(file.path, name, events)


def _are_events(file: LabelFile) -> bool:
    header = set(file.header)
    known = {"Behavior", "Time"} <= header and bool(header & set(STATUS))
    return not file.columns and known and "Start (s)" not in header


def _of_events(file: LabelFile) -> Iterator[Row]:
    """BORIS's tabular events: rows in which a behaviour of a subject starts, and stops."""
    status = next(column for column in STATUS if column in file.header)
    before = [_split(line) for line in file.before]
    of_all = next((values[1] for values in before if values[0] == "Observation id"), None)
    events: dict[str | None, list[Any]] = {}
    for line, row in file.rows:
        kind, behavior = (row[status] or "").strip().upper(), (row["Behavior"] or "").strip()
        if kind in ("START", "STOP", "POINT"):
            at, subject = file.time(line, row["Time"]), (row.get("Subject") or "").strip()
            recording = row.get("Observation id") or of_all
            events.setdefault(recording, []).append((line, at, subject, behavior, kind))
    for name, some in events.items():
        yield from _paired(file.path, name, some)


def _paired(
    path: Path, name: str | None, events: Sequence[tuple[int | None, Any, str, str, str]]
) -> list[Row]:
    """Stretches of the lines, times, subjects, behaviours and kinds of events of one recording."""
    found, open_ones = [], {}
    for line, at, subject, behavior, kind in events:
        which, where = (subject, behavior), "" if line is None else f"line {line}: "
        who = {"subject": subject}
        if kind == "POINT":
            found.append(Row(at, at, behavior, name, who))
        elif kind == "START" or (kind != "STOP" and which not in open_ones):
            open_ones[which] = at
        elif which in open_ones:
            found.append(Row(open_ones.pop(which), at, behavior, name, who))
        else:
            raise DataError(f"{path}: {where}{behavior!r} stops and never started")
    if open_ones:
        _, behavior = next(iter(open_ones))
        raise DataError(f"{path}: {behavior!r} starts and never stops")
    return sorted(found, key=lambda row: row.start)


def _of_eaf(file: LabelFile) -> Iterator[Row]:
    """A document of ELAN; annotations of annotations have the times of these."""
    root = ElementTree.fromstring(file.text.encode())
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    spans: dict[str | None, tuple[float, float]] = {}
    for one in root.iter("ALIGNABLE_ANNOTATION"):
        ends = [slots.get(one.get(f"TIME_SLOT_REF{k}")) for k in (1, 2)]
        if None not in ends:
            start, end = (float(at or 0) / 1000 for at in ends)
            spans[one.get("ANNOTATION_ID")] = (start, end)
    for tier in root.iter("TIER"):
        named = {"tier": "TIER_ID", "subject": "PARTICIPANT", "annotator": "ANNOTATOR"}
        who = {kind: tier.get(name, "") for kind, name in named.items()}
        for one in tier.iter():
            known = one.get("ANNOTATION_REF") or one.get("ANNOTATION_ID")
            label = (one.findtext("ANNOTATION_VALUE") or "").strip()
            if known in spans and label:
                yield Row(*spans[known], label, None, who)


def _is_textgrid(file: LabelFile) -> bool:
    return file.kind == ".textgrid" or file.text.startswith('File type = "ooTextFile')


def _of_textgrid(file: LabelFile) -> Iterator[Row]:
    """A TextGrid of Praat, long or short: tiers of stretches, or of points."""
    values = iter(
        found[1] if found[2] is None else float(found[2]) for found in PRAAT.finditer(file.text)
    )
    *_, n_tiers = (next(values) for _ in range(5))
    for _ in range(int(n_tiers)):
        kind, tier, _, _, n = (next(values) for _ in range(5))
        for _ in range(int(n)):
            start = next(values)
            end = next(values) if kind == "IntervalTier" else start
            label = str(next(values)).replace('""', '"').strip()
            if label:
                yield Row(float(start), float(end), label, None, {"tier": str(tier)})


def _of_subtitles(file: LabelFile) -> Iterator[Row]:
    for block in re.split(r"\n\s*\n", file.text.strip()):
        lines = block.splitlines()
        at = next(k for k, line in enumerate(lines) if "-->" in line)
        start, end = map(_seconds, CLOCK.findall(lines[at]))
        yield Row(start, end, " ".join(" ".join(lines[at + 1 :]).split()))


def _is_track(file: LabelFile) -> bool:
    parts = file.text.partition("\n")[0].split("\t")
    if file.columns:
        return False
    try:
        return len(parts) in (2, 3) and float(parts[0]) <= float(parts[1])
    except ValueError:
        return len(parts) == 3 and all(DATE.fullmatch(part) for part in parts[:2])


def _of_audacity(file: LabelFile) -> Iterator[Row]:
    """A label track; lines that begin with a backslash hold frequencies."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if line.strip() and not line.startswith("\\"):
            start, _, rest = line.partition("\t")
            end, _, label = rest.partition("\t")
            yield Row(file.time(number, start), file.time(number, end), label.strip())


def _elan_lines(file: LabelFile) -> Iterator[list[str]]:
    for line in file.text.splitlines():
        if line.strip() and not line.startswith(COMMENT):
            yield line.split("\t")


def _is_plain_elan(file: LabelFile) -> bool:
    parts = next(_elan_lines(file), [])
    clocks = any(CLOCK.fullmatch(part) for part in parts[:3])
    return not {"start", "end"} & file.columns.keys() and len(parts) >= 4 and clocks


def _of_plain_elan(file: LabelFile) -> Iterator[Row]:
    """ELAN's text without a header: tier, participant, times, duration, annotation."""
    for parts in _elan_lines(file):
        clocks = [k for k, part in enumerate(parts) if CLOCK.fullmatch(part)]
        begin, end = (_seconds(parts[clocks[k]]) for k in (0, 1))
        who = dict(zip(("tier", "subject"), parts[: clocks[0]], strict=False))
        yield Row(begin, end, parts[-1].strip(), None, who)


def _are_changes(file: LabelFile) -> bool:
    is_table = file.kind in TABLES and not file.columns
    return is_table and bool(set(CHANGES) & set(file.header)) and "start" not in file.header


def _of_changes(file: LabelFile) -> Iterator[Row]:
    """A table of the times of changes, which are points without a label."""
    column = next(name for name in CHANGES if name in file.header)
    for _, row in file.rows:
        at = (row[column] or "").strip()
        yield Row(at, at, "", row.get("recording") or None, _whose(row, [column, "recording"]))


def _of_table(file: LabelFile) -> Iterator[Row]:
    """Stretches in a table with one of the known headers, or with the columns that were named."""
    path, header = file.path, file.header
    usual = next((c for c in COLUMNS if c["start"] in header and c["end"] in header), COLUMNS[-1])
    columns = {**usual, **file.columns}
    tiers = []  # ELAN's text may have a column for each
    if columns["label"] == "Annotation" and "Annotation" not in header:
        tiers = [column for column in header if not column.startswith(OF_ELAN)]
    needed = ("start", "end") if tiers else ("start", "end", "label")
    missing = [key for key in needed if columns[key] not in header]
    if missing:
        raise DataError(
            f"{path}: no column {columns[missing[0]]!r}; the columns are {', '.join(header)}: "
            f"name it with {missing[0]}="
        )
    for line, row in file.rows:
        start, end = (_time_in(columns[key], file, line, row) for key in ("start", "end"))
        if columns["end"].lower().startswith("duration"):
            if not isinstance(start, float) or not isinstance(end, float):
                raise DataError(f"{path}: line {line}: a duration is for a start in seconds")
            end = round(start + end, 9)
        who = _whose(row, columns.values())
        for tier in tiers or [columns["label"]]:
            label = (row[tier] or "").strip()
            if not label and columns["start"].startswith((*OF_ELAN, "tmin")):
                continue  # what another tier says
            whose = {**who, "tier": tier} if tiers else who
            yield Row(start, end, label, row.get(columns["recording"]) or None, whose)


def _whose(row: Mapping[Any, Any], others: Any) -> dict[str, str]:
    return {
        kind: (row[name] or "").strip()
        for kind, names in WHOSE.items()
        for name in row
        if isinstance(name, str) and name.strip().lower() in names and name not in others
    }


def _time_in(column: str, file: LabelFile, line: int, row: Mapping[Any, Any]) -> float | str:
    """A time in seconds, in the form that it has or that the name of its column says; or a date."""
    text = row[column]
    if text is not None and CLOCK.fullmatch(text):
        return _seconds(text)
    at = file.time(line, text)
    return at / 1000 if column.endswith("- msec") and isinstance(at, float) else at


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return round(3600 * int(hours) + 60 * int(minutes) + float(seconds), 6)


FORMATS: tuple[
    tuple[str, Callable[[LabelFile], bool], Callable[[LabelFile], Iterator[Row]]], ...
] = (
    ("tasks of Label Studio", lambda file: file.kind == ".json", _of_label_studio),
    ("project of BORIS", lambda file: file.kind == ".boris", _of_boris),
    ("document of ELAN", lambda file: file.kind == ".eaf", _of_eaf),
    ("TextGrid", _is_textgrid, _of_textgrid),
    ("subtitles", lambda file: file.kind == ".srt", _of_subtitles),
    ("label track", _is_track, _of_audacity),
    ("text of ELAN", _is_plain_elan, _of_plain_elan),
    ("events of BORIS", _are_events, _of_events),
    ("table of changes", _are_changes, _of_changes),
)
"""What a format is called, which files are of it, and its rows; anything else is a table with a
header."""
