"""Reading of labels from the files of labelling tools.

One format is one function from a file to rows; :data:`FORMATS` is the table of them.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from structsvm.data.times import YEAR_FIRST, TimeAxis
from structsvm.errors import DataError, about, printable, refuse
from structsvm.io.decoding import decoded
from structsvm.io.recording import listed, spelled
from structsvm.io.sniff import COMMA_NUMBER, COMMENT
from structsvm.io.tables import EXCEL, read_frame
from structsvm.partial_labels import region_from
from structsvm.partitions.oracle import Region
from structsvm.support.checks import is_number_text, refuse_unlisted, uncell
from structsvm.support.lazy import require

TABLES = (".csv", ".tsv", *EXCEL)
LABEL_KINDS = (*TABLES, ".txt", ".json", ".boris", ".eaf", ".textgrid", ".srt")
"""Kinds of files of labels."""
WHOSE = {
    "tier": ("tier",),
    "subject": ("subject", "participant", "individual"),
    "annotator": ("annotator", "rater", "coder", "observer", "labeler", "labeller"),
}
"""Columns that say whose the labels of a row are, by what is chosen."""
COLUMNS = ("start", "end", "label", "recording")
CHOSEN = (*COLUMNS, *WHOSE)
WORDS = {
    "start": """start onset begin beginning from tmin inicio comienzo debut beginn anfang startzeit
        anfangszeit von inizio desde de du da""",
    "end": """end stop offset finish to tmax fim fin final termino ende stopp endzeit bis fine hasta
        ate au""",
    "duration": "duration dauer duracion duree duracao durata length",
    "label": """label labels behavior behaviour event activity state class action annotation text
        code trialtype evento comportamiento conducta comportamento comportement evenement ereignis
        verhalten etiqueta actividad estado clase accion rotulo atividade classe acao etiquette
        activite etat aktivitat zustand klasse etichetta attivita stato azione type tipo""",
    "recording": """recording observation file filename session trip video media series grabacion
        archivo gravacao arquivo viagem sessao enregistrement fichier trajet aufnahme datei fahrt
        sitzung registrazione viaggio sessione sesion viaje""",
    "change": "change time cambio mudanca changement wechsel cambiamento",
}
"""What columns are called in English, Spanish, Portuguese, French, German and Italian, without
accents, the more usual words first."""
ROLES = {word: (role, k) for role, ws in WORDS.items() for k, word in enumerate(ws.split())}
OF_TIME = {"time", "times", "timestamp", "tempo", "tiempo", "temps", "zeit", "t"}
FILLERS = {"of", "id", "name", "path", "type", "tipo"}
"""Words in the names of columns that say no more than the others."""
UNITS = {
    "seconds": {"s", "ss", "mm", "hh", "sec", "secs", "second", "seconds", "segundos", "sekunden"},
    "milliseconds": {"ms", "msec", "millis", "milliseconds"},
    "minutes": {"min", "mins", "minutes"},
    "samples": {"sample", "samples", "frame", "frames", "row", "rows", "index", "idx"},
}
"""Words in the name of a column of times that tell its unit."""
LONG = {"milliseconds": 1e-3, "minutes": 60.0}  # units in seconds, of which the others are one
STATUS = ("Behavior type", "Status")
"""The column of BORIS's tabular events that says whether a state starts or stops there: from
version 8 on, and before."""
OF_ELAN = ("Begin Time", "End Time", "Duration", "Tier", "Participant", "File Path", "File Name")
"""Beginnings of the columns of ELAN's text that are no tiers."""
NEXT = "next"
"""What is given for the column of ends where each stretch lasts until the next row."""
DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+.*|\d+:\d\d(:\d\d)?([.,]\d+)?")
"""A date, whatever the order of its numbers, or a time of a day."""
CLOCK = re.compile(r"\d+:\d\d:\d\d[.,]\d+")  # a time as ELAN and subtitles write it
STRETCHES = ("timeserieslabels", "labels")
"""The types of labels of time series and of sound in Label Studio."""
UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""Prefix of the names of files that were uploaded to Label Studio."""
PRAAT = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w\].])')
"""The texts and numbers of a TextGrid, long or short, without the numbers of its items."""
ASIDE = (*COMMENT, "\\")
"""How lines begin that are no rows: comments, and frequencies in a label track."""


@dataclass(frozen=True)
class Interval:
    """A stretch of time and its label.

    Examples
    --------
    >>> from structsvm.io import Interval
    >>> Interval(0.5, 2.0, "walk").label
    'walk'
    """

    start: Any
    """In the time of the recording: a number, or a date as text."""
    end: Any
    """The stretch ends before this time."""
    label: str
    recording: str | None = field(default=None, repr=False, compare=False)
    """As the file that it was read from calls it, if it does."""
    who: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Its tier, subject and annotator, if known."""
    line: int | None = field(default=None, repr=False, compare=False)
    """Of the file."""
    unit: str | None = field(default=None, repr=False, compare=False)
    """The unit of its times, if the file says it."""

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.label!r} from {self.start} to {self.end}{line}"


@dataclass(frozen=True)
class LabelFile:
    path: Path
    chosen: Mapping[str, str | None] = field(default_factory=dict)
    """Names of columns, in place of the usual ones, and whose labels are asked for."""
    known: Set[str] = frozenset()  # names of recordings

    def __post_init__(self) -> None:
        for name in self.chosen:
            refuse_unlisted("the choice of labels", name, CHOSEN)

    @cached_property
    def columns(self) -> dict[str, str]:
        return {key: name for key in COLUMNS if (name := self.chosen.get(key)) is not None}

    @cached_property
    def kind(self) -> str:
        is_grid = self.text.startswith('File type = "ooTextFile')
        return ".textgrid" if is_grid else self.path.suffix.lower()

    @cached_property
    def text(self) -> str:
        if self.path.suffix.lower() in EXCEL:
            return ""
        try:
            return decoded(self.path.read_bytes(), where=self.path)[0].removeprefix("\ufeff")
        except (OSError, ValueError) as error:  # the latter for names that hold a zero
            raise DataError(f"cannot be read: {error}") from error

    @cached_property
    def lines(self) -> list[tuple[int, list[str]]]:
        """The number and the cells, between tabs, of each line that is a row."""
        lines = enumerate(self.text.splitlines(), 1)
        return [
            (k, one.split("\t")) for k, one in lines if one.strip() and not one.startswith(ASIDE)
        ]

    @cached_property
    def table(self) -> Any:
        """The cells of a table as texts, a pandas frame whose index are their lines."""
        frame, origin = read_frame(self.path, as_text=True)
        frame = frame.loc[:, ~frame.columns.duplicated(keep="last")]
        frame.index = list(map(origin.line, range(len(frame))))
        return frame.map(lambda value: uncell(str(value).strip()))


def moment(line: int, text: str, unit: str | None = None) -> float | str:
    """Return a time as a number in seconds, or a date as text."""
    text = text.strip()
    if CLOCK.fullmatch(text) and unit:
        return _seconds(text)
    number = text.replace(",", ".") if COMMA_NUMBER.fullmatch(text) else text
    with suppress(ValueError):
        return round(float(number) * LONG.get(unit or "", 1.0), 9)
    if DATE.fullmatch(text):
        return text
    raise DataError(f"line {line}: {text!r} is neither a number nor a date")


def _words(column: str) -> list[str]:
    """Return the words of the name of a column, in lower case and without accents."""
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", column) if not unicodedata.combining(c)
    )
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).lower())


def unit_of(column: str) -> str | None:
    """Return the unit that the name of a column tells; that of seconds if it tells several."""
    words = _words(column)
    if "".join(words) in ROLES:
        return None
    return next((unit for unit, names in UNITS.items() if not names.isdisjoint(words)), None)


def _role(column: str) -> tuple[str, int] | None:
    """Return what a column is of by its name, and how unusual that name is."""
    words = [word for word in _words(column) if word not in FILLERS]
    of_times = "".join(word for word in words if word not in OF_TIME.union(*UNITS.values()))
    found = ROLES.get("".join(_words(column))) or ROLES.get("".join(words))
    when = ROLES.get(of_times)
    return found or (when if when and when[0] not in ("label", "recording") else None)


def columns_in(header: Sequence[str]) -> dict[str, str]:
    """Find columns by their names: those of times in preference to those of samples."""
    found = []
    for j, column in enumerate(header):
        if (role := _role(column)) is not None:
            unit, words = unit_of(column), _words(column)
            is_time = unit in ("seconds", *LONG) or not OF_TIME.isdisjoint(words)
            order = (unit == "milliseconds", unit == "samples", not is_time, role[1], len(words), j)
            found.append((order, role[0], column))
    columns: dict[str, str] = {}
    for _, name, column in sorted(found):
        columns.setdefault(name, column)
    if "duration" in columns:
        columns.setdefault("end", columns["duration"])
    return columns


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return round(3600 * int(hours) + 60 * int(minutes) + float(seconds), 6)


def read_rows(
    file: LabelFile, kinds: Iterable[str] = WHOSE, alone: bool = True
) -> dict[str, tuple[list[Interval], set[str]]]:
    """Read what a file says about each recording, and the labels that were looked for in it.

    ``alone`` it has to know who is asked for, of these kinds.
    """
    own_name, name = printable(file.path.stem), "table"
    with about(file.path):
        try:
            name, read = next((name, read) for name, is_of, read in FORMATS if is_of(file))
            rows = list(read(file))
        except DataError:
            raise
        except Exception as error:  # a foreign document can miss anything
            raise DataError(f"no {name}, or a damaged one: {error!r}") from error
        left = [row for row in rows if row.start is not None]
        for kind in kinds:
            left = _of_one(left, kind, file.chosen.get(kind), alone)
    named = {row.recording or own_name: list[Interval]() for row in rows}
    for row in left:
        named[row.recording or own_name].append(row)
    # names of files become those of recordings, unless two would be the same
    names = [called if called == own_name else name_of(called) for called in named]
    names = names if len(set(names)) == len(names) else list(named)
    found = {}
    for called, some in zip(names, named.values(), strict=True):
        by = {row.who.get("annotator") for row in some}
        sought = {row.label for row in rows if not by or row.who.get("annotator") in by}
        stretches = [row for row in some if name == "label track" or row.start != row.end]
        found[called] = stretches or some, sought
    return found


def _of_one(rows: list[Interval], kind: str, wanted: str | None, alone: bool) -> list[Interval]:
    names = list(dict.fromkeys(row.who.get(kind, "") for row in rows))
    of_each = {(row.recording, row.who.get(kind, "")) for row in rows}
    if wanted is None and len(of_each) > len({recording for recording, _ in of_each}):
        raise DataError(f"several {kind}s, {listed(names)}: choose one, {kind}={names[0]!r}")
    if wanted not in (None, *names) and alone:
        raise DataError(f"no {kind} {wanted!r}; there is {listed(names)}")
    return [row for row in rows if wanted in (None, row.who.get(kind))]


def name_of(called: str) -> str:
    """Return the stem of a path, whose suffix is no number."""
    path = PurePosixPath(called)
    return path.name if path.suffix[1:].isdigit() else path.stem


def read_regions(
    path: str | PathLike[str], times: Mapping[str, TimeAxis | None] | None = None
) -> dict[str, list[Region]]:
    """Read a table of regions by recording; times convert moments to samples."""
    found: dict[str, list[Region]] = {}
    table = LabelFile(Path(path)).table
    in_time = not {"start_time", "end_time"}.isdisjoint(table)
    columns = ["recording", "start", "end", "changes"]
    if in_time:
        columns[1:3] = "start_time", "end_time"
    if missing := [name for name in columns if name not in table]:
        raise DataError(
            f"{path}: no column {missing[0]!r}; it needs {', '.join(columns)}, and has "
            f"{', '.join(table) or 'none'}"
        )
    for line, name, *ends, changes in table[columns].itertuples(name=None):
        with about(f"{path}: line {line}"):
            if in_time:
                axis = (times or {}).get(spelled(name))
                if axis is None:
                    raise DataError(
                        f"recording {name!r} has no times, or is not there: name their column, "
                        "time_column=, or give start and end in samples"
                    )
                ends = [axis.sample_at(moment(line, at)) for at in ends]
            found.setdefault(spelled(name), []).append(region_from([*ends, changes]))
    return found


# ---- documents of tools


def _of_label_studio(file: LabelFile) -> Iterator[Interval]:
    """Read tasks; what a model predicted where its version is asked for as the annotator."""
    tasks = json.loads(file.text)
    tasks = tasks if isinstance(tasks, list) else [tasks]
    names = _task_names(tasks)
    is_other = any(task.keys().isdisjoint(("annotations", "predictions")) for task in tasks)
    refuse(
        DataError,
        (len(set(names)) < len(names), f"two tasks are about one of {listed(names, 5)}"),
        (
            is_other,
            "a task has neither annotations nor predictions: export from Label Studio as JSON, "
            "which JSON-MIN is not",
        ),
    )
    for task, name in zip(tasks, names, strict=True):
        yield Interval(None, None, "", name)
        seen: set[str] = set()
        for number, one in enumerate(task.get("annotations", ()), 1):
            by = one.get("completed_by")
            if isinstance(by, Mapping):
                by = by.get("email") or by.get("id")
            who = f"annotation {number}" if by is None else str(by)
            who = who if who not in seen else f"{who}, annotation {number}"
            if not one.get("was_cancelled"):
                seen.add(who)
                yield from _of_result(one["result"], name, who)
        for one in task.get("predictions") or ():
            who = str(one.get("model_version") or "model")
            if who == file.chosen.get("annotator"):
                yield from _of_result(one["result"], name, who)


def _of_result(result: Sequence[Any], name: str, who: str) -> Iterator[Interval]:
    """Return the stretches of an annotation, without choices and the like."""
    for one in result:
        kind, value = one.get("type"), one["value"]
        if kind in STRETCHES:
            if len(value[kind]) > 1:
                raise DataError(
                    f"a stretch of {name!r} from {value['start']} has the labels "
                    f"{listed(list(map(str, value[kind])))}: a sample has one label"
                )
            whose = {"tier": str(one.get("from_name", "")), "annotator": who}
            yield Interval(value["start"], value["end"], str(value[kind][0]), name, whose)


def _task_names(tasks: Sequence[Any]) -> list[str]:
    """Return the names of the files of tasks, as they were before uploading."""
    whole, before = [], []
    for task in tasks:
        texts = [value for value in task.get("data", {}).values() if isinstance(value, str)]
        name = PurePosixPath(texts[0]).stem if texts else str(task.get("id", ""))
        is_upload = bool(task.get("file_upload")) or "/upload/" in "".join(texts[:1])
        whole.append(name)
        before.append(UPLOADED.sub("", name, count=1) if is_upload else name)
    return before if len(set(before)) == len(before) else whole


def _of_boris(file: LabelFile) -> Iterator[Interval]:
    project = json.loads(file.text)
    kinds = {one["code"]: str(one.get("type", "")) for one in project["behaviors_conf"].values()}
    for name, observation in project["observations"].items():
        yield from (Interval(None, None, behavior, name) for behavior in ("", *map(str, kinds)))
        events = [
            (at, subject, behavior, "POINT" if "point" in kinds.get(behavior, "").lower() else "")
            for at, subject, behavior, *_ in sorted(observation["events"], key=lambda e: e[0])
        ]
        yield from _paired(name, events)


def _are_events(file: LabelFile) -> bool:
    if file.columns or not {"Behavior", "Time"} <= set(file.table):
        return False
    return not {*STATUS}.isdisjoint(file.table) and "Start (s)" not in file.table


def _of_events(file: LabelFile) -> Iterator[Interval]:
    """Read the tabular events of BORIS: rows in which a behaviour starts or stops."""
    status = next(column for column in STATUS if column in file.table)
    of_all = re.search(r"^Observation id[\t,;]([^\t,;\n]*)", file.text)
    events: dict[str | None, list[Any]] = {}
    for line, row in _rows(file.table):
        kind = row[status].upper()
        if kind in ("START", "STOP", "POINT"):
            event = (moment(line, row["Time"]), row.get("Subject", ""), row["Behavior"], kind)
            events.setdefault(row.get("Observation id") or (of_all and of_all[1]), []).append(event)
    for name, some in events.items():
        yield from _paired(name, some)


def _rows(table: Any) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells of each row."""
    return zip(table.index, table.to_dict("records"), strict=True)


def _paired(name: str | None, events: Sequence[tuple[Any, str, str, str]]) -> list[Interval]:
    """Pair events (time, subject, behaviour, kind) of one recording to stretches."""
    found, open_ones = [], dict[tuple[str, str], Any]()
    for at, subject, behavior, kind in events:
        which, who = (subject, behavior), {"subject": subject}
        if kind == "POINT":
            found.append(Interval(at, at, behavior, name, who))
        elif kind == "START" or (kind != "STOP" and which not in open_ones):
            open_ones[which] = at
        elif which in open_ones:
            found.append(Interval(open_ones.pop(which), at, behavior, name, who))
        else:
            raise DataError(f"{behavior!r} stops at {at} and never started")
    for _, behavior in open_ones:
        raise DataError(f"{behavior!r} starts and never stops")
    return sorted(found, key=lambda row: row.start)


def _of_eaf(file: LabelFile) -> Iterator[Interval]:
    """Read a document of ELAN; annotations of annotations have the times of these."""
    root = ElementTree.fromstring(file.text.encode())
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    spans: dict[str | None, tuple[float, float]] = {}
    for one in root.iter("ALIGNABLE_ANNOTATION"):
        start, end = (slots.get(one.get(f"TIME_SLOT_REF{k}")) for k in (1, 2))
        if start is not None and end is not None:
            spans[one.get("ANNOTATION_ID")] = (float(start) / 1000, float(end) / 1000)
    for tier in root.iter("TIER"):
        named = {"tier": "TIER_ID", "subject": "PARTICIPANT", "annotator": "ANNOTATOR"}
        who = {kind: tier.get(name, "") for kind, name in named.items()}
        for one in tier.iter():
            known = one.get("ANNOTATION_REF") or one.get("ANNOTATION_ID")
            label = (one.findtext("ANNOTATION_VALUE") or "").strip()
            if known in spans and label:
                yield Interval(*spans[known], label, None, who)


def _of_textgrid(file: LabelFile) -> Iterator[Interval]:
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
                yield Interval(float(start), float(end), label, None, {"tier": str(tier)})


def _of_subtitles(file: LabelFile) -> Iterator[Interval]:
    for block in re.split(r"\n\s*\n", file.text.strip()):
        times, _, said = block.partition("-->")[2].partition("\n")
        start, end = map(_seconds, CLOCK.findall(block.partition("-->")[0] + times))
        yield Interval(start, end, " ".join(said.split()))


# ---- lines without a header


def _is_track(file: LabelFile) -> bool:
    _, parts = next(iter(file.lines), (0, []))
    moments = [is_number_text(part) or bool(DATE.fullmatch(part)) for part in parts[:2]]
    return not file.columns and len(parts) in (2, 3) and all(moments)


def _of_audacity(file: LabelFile) -> Iterator[Interval]:
    for line, (start, end, *label) in file.lines:
        text = " ".join(label).strip()
        yield Interval(moment(line, start), moment(line, end), text, line=line)


def _is_plain_elan(file: LabelFile) -> bool:
    _, parts = next(iter(file.lines), (0, []))
    clocks = any(CLOCK.fullmatch(part) for part in parts[:3])
    return not {"start", "end"} & file.columns.keys() and len(parts) >= 4 and clocks


def _of_plain_elan(file: LabelFile) -> Iterator[Interval]:
    """Read ELAN's text without a header: tier, participant, times, duration, annotation."""
    for line, parts in file.lines:
        clocks = [k for k, part in enumerate(parts) if CLOCK.fullmatch(part)]
        who = dict(zip(("tier", "subject"), parts[: clocks[0]], strict=False))
        start, end = (_seconds(parts[k]) for k in clocks[:2])
        yield Interval(start, end, parts[-1].strip(), None, who, line)


# ---- tables with a header, by the names of their columns


def _of_table(file: LabelFile) -> Iterator[Interval]:
    """Read stretches or changes; ELAN's text may have a column for each tier."""
    table, columns = file.table, columns_in(file.table)
    columns |= _recordings_in(file, columns) | file.columns
    if "change" in columns and "end" in columns:
        columns.setdefault("start", columns["change"])
    are_changes = "change" in columns and "start" not in columns and file.kind in TABLES
    if are_changes:
        columns["start"] = columns["end"] = columns["change"]
    start, end, recording = (columns.get(key, "") for key in ("start", "end", "recording"))
    is_elan, tiers = start.startswith(OF_ELAN), []
    if "label" not in columns and is_elan:
        tiers = [column for column in table if not column.startswith(OF_ELAN)]
    whose = {
        kind: name
        for kind, names in WHOSE.items()
        for name in table
        if name.lower() in names and name not in columns.values()
    }
    if end == NEXT and start in table and NEXT not in table:
        of_one = [table[name] for name in (recording, *whose.values()) if name in table]
        following = table.groupby([0 * table.index, *of_one])[start].shift(-1)
        table = table.assign(**{NEXT: following.fillna("")})
    for key in ("start", "end") if tiers or are_changes else ("start", "end", "label"):
        if columns.get(key) not in table:
            named = repr(columns[key]) if key in columns else f"of the {key}"
            until = f", or end={NEXT!r} if each lasts until the next row" if key == "end" else ""
            raise DataError(
                f"no column {named}; the columns are {', '.join(table)}: name it with {key}={until}"
            )
    unit, unit_of_end = unit_of(start), unit_of(start if end == NEXT else end)
    lasts = (_role(end) or ("",))[0] == "duration"
    blank_is_none = is_elan or start.startswith("tmin")  # but what another tier says
    for line, row in _rows(table):
        of, who = row.get(recording) or None, {kind: row[name] for kind, name in whose.items()}
        labels = {t: row[t] for t in tiers} or {"": "" if are_changes else row[columns["label"]]}
        if not row[start] and not row[end]:  # it says what was looked for
            yield Interval(None, None, labels.get("", ""), of, who)
            continue
        is_last, begin = end == NEXT and not row[end], moment(line, row[start], unit)
        stop = math.inf if is_last else moment(line, row[end], unit_of_end)
        stop = _after(begin, stop, line) if lasts else stop
        for tier, label in labels.items():
            if label or not blank_is_none:
                tier_of = {"tier": tier} if tier else {}
                yield Interval(begin, stop, label, of, who | tier_of, line, unit)


def _recordings_in(file: LabelFile, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column that holds the most names of recordings that are known, if any does."""
    others = {column for role, column in columns.items() if role != "recording"}
    held = {
        name: len(file.known & {spelled(n(cell)) for cell in cells for n in (str, name_of)})
        for name, cells in file.table.items()
        if name not in others
    }
    best = max(held, key=held.__getitem__, default="")
    return {"recording": best} if held.get(best) else {}


def _after(start: float | str, lasting: float | str, line: int) -> float | str:
    if isinstance(start, str) and YEAR_FIRST.match(start) and not isinstance(lasting, str):
        pandas = require("pandas", "files", "reading times")
        return str(pandas.Timestamp(start) + pandas.Timedelta(seconds=lasting))
    if isinstance(lasting, str) or isinstance(start, str):
        raise DataError(
            f"line {line}: a duration is for a start in seconds, or for a date with the year first"
        )
    return round(start + lasting, 9)


FORMATS: tuple[
    tuple[str, Callable[[LabelFile], bool], Callable[[LabelFile], Iterator[Interval]]], ...
] = (
    ("tasks of Label Studio", lambda file: file.kind == ".json", _of_label_studio),
    ("project of BORIS", lambda file: file.kind == ".boris", _of_boris),
    ("document of ELAN", lambda file: file.kind == ".eaf", _of_eaf),
    ("TextGrid", lambda file: file.kind == ".textgrid", _of_textgrid),
    ("subtitles", lambda file: file.kind == ".srt", _of_subtitles),
    ("label track", _is_track, _of_audacity),
    ("text of ELAN", _is_plain_elan, _of_plain_elan),
    ("events of BORIS", _are_events, _of_events),
    ("table", lambda _: True, _of_table),
)
"""Name, test and reader of each format; the first that a file is of is read."""
