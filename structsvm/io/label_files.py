"""Reading of labels from the files of labelling tools.

One format is one function from a file to rows (:mod:`structsvm.io.label_rows`); :data:`FORMATS` is
the table of them.
"""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from structsvm.data.times import OF_DAY, YEAR_FIRST, TimeAxis, clock_in, length_in
from structsvm.errors import DataError, about, printable, refuse
from structsvm.io.decoding import decoded
from structsvm.io.label_rows import (
    CLOCK,
    LONG,
    START,
    STOP,
    STRETCH,
    Interval,
    has_end,
    is_moment,
    moment,
    settled,
)
from structsvm.io.recording import listed, spelled
from structsvm.io.sniff import COMMENT
from structsvm.io.tables import EXCEL, read_frame
from structsvm.messages import parameter
from structsvm.partial_labels import region_from
from structsvm.partitions.oracle import Region
from structsvm.support.checks import refuse_unlisted, uncell
from structsvm.support.lazy import require

TABLES = (".csv", ".tsv", *EXCEL)
TRACKS = (".txt", ".lab", ".rttm")
SUBTITLES = (".srt", ".vtt")
LABEL_KINDS = (*TABLES, *TRACKS, ".json", ".boris", ".eaf", ".textgrid", *SUBTITLES)
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
        activite etat aktivitat zustand klasse etichetta attivita stato azione type tipo description
        stage phase status mode value""",
    "recording": """recording observation file filename session trip video media series grabacion
        archivo gravacao arquivo viagem sessao enregistrement fichier trajet aufnahme datei fahrt
        sitzung registrazione viaggio sessione sesion viaje""",
    "change": "change time cambio mudanca changement wechsel cambiamento",
}
"""What columns are called in English, Spanish, Portuguese, French, German and Italian, without
accents, the more usual words first."""
ROLES = {word: (role, k) for role, ws in WORDS.items() for k, word in enumerate(ws.split())}
OF_TIME = {
    *("time", "times", "timestamp", "timestamps", "ts", "datetime", "t", "elapsed", "relative"),
    *("sf", "tempo", "tiempo", "temps", "zeit"),
}
CHANGES = {*WORDS["change"].split()} - OF_TIME
TRUE, TRUTH = {"1", "1.0"}, {"0", "0.0", "1", "1.0"}
DAY = 24 * 3600.0
FILLERS = {"of", "id", "name", "path", "type", "tipo"}
"""Words in the names of columns that say no more than the others."""
UNITS = {
    "seconds": {"s", "ss", "mm", "hh", "sec", "secs", "second", "seconds", "segundos", "sekunden"},
    "milliseconds": {"ms", "msec", "millis", "milliseconds"},
    "minutes": {"min", "mins", "minutes"},
    "samples": {"sample", "samples", "frame", "frames", "row", "rows", "index", "idx"},
}
"""Words in the name of a column of times that tell its unit."""
SIGNS = {
    **dict.fromkeys(("start", "begin", "onset", "on"), START),
    **dict.fromkeys(("stop", "end", "offset", "off"), STOP),
    **dict.fromkeys(("point", "state"), STRETCH),
}
"""Last words of cells that say whether something starts or stops there."""
OBSERVATION = re.compile(r"^Observation id[\t,;]([^\t,;\n]+)")
"""What events of BORIS before version 8 have above their header."""
OF_ELAN = ("Begin Time", "End Time", "Duration", "Tier", "Participant", "File Path", "File Name")
"""Beginnings of the columns of ELAN's text that are no tiers."""
NEXT = "next"
"""What may be said of the column of ends where each stretch lasts until the next row."""
WINDOW = "window"
"""The label of windows that have none."""
STRETCHES = ("timeserieslabels", "labels")
"""The types of labels of time series and of sound in Label Studio."""
UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""Prefix of the names of files that were uploaded to Label Studio."""
PRAAT = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w\].])')
"""The texts and numbers of a TextGrid, long or short, without the numbers of its items."""
ASIDE = (*COMMENT, "\\")
"""How lines begin that are no rows: comments, and frequencies in a label track."""


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
    def document(self) -> Any:
        """What JSON holds; None of other files."""
        with suppress(ValueError):
            return json.loads(self.text) if self.kind == ".json" else None
        return None

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """The number of each line that is a row, and its text."""
        lines = enumerate(self.text.splitlines(), 1)
        return [(k, one) for k, one in lines if one.strip() and not one.startswith(ASIDE)]

    @property
    def has_header_aside(self) -> bool:
        """Whether the comment above the first row names columns, as that of MNE does."""
        above = self.text.splitlines()[self.lines[0][0] - 2 : self.lines[0][0] - 1]
        cells = re.split(r"[\t;,]", above[0].lstrip("# ")) if above else []
        return len(cells) > 1 and "start" in columns_in([cell.strip() for cell in cells])

    @cached_property
    def separator(self) -> tuple[str | None, int]:
        """What separates most moments at the beginning of a row, None for blanks, and how many."""
        if not self.lines or self.columns not in ({}, {"end": NEXT}) or self.has_header_aside:
            return None, 0
        first = self.lines[0][1]
        found = {one: cells_of(first, one) for one in BETWEEN}
        separator = max(found, key=lambda one: (leading(found[one]), _has_more(found[one])))
        n = leading(found[separator])
        alike = [leading(cells_of(line, separator)) >= n for _, line in self.lines]
        return separator, n * (2 * sum(alike) >= len(alike))

    @cached_property
    def table(self) -> Any:
        """The cells of a table as texts, a pandas frame whose index are their lines."""
        frame, origin = read_frame(self.path, as_text=True)
        frame = frame.loc[:, ~frame.columns.duplicated(keep="last")]
        frame.index = list(map(origin.line, range(len(frame))))
        cells = frame.map(lambda value: uncell(str(value).strip()))
        counts = [not name and not _has_words(cells[name]) for name in cells]  # rows, by no name
        return cells.loc[:, [not one for one in counts]]


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
    is_time = bool(words) and (not of_times or (when is not None and when[0] == "recording"))
    if is_time and not OF_TIME.union(*UNITS.values()).isdisjoint(words):
        when = "change", len(ROLES)
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
            what = f"it has no {error}" if isinstance(error, KeyError) else repr(error)
            raise DataError(f"no {name}, or a damaged one: {what}") from error
        left = settled([row for row in rows if row.start is not None])
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
        found[called] = some, sought
    return found


def _of_one(rows: list[Interval], kind: str, wanted: str | None, alone: bool) -> list[Interval]:
    names = list(dict.fromkeys(row.who.get(kind, "") for row in rows))
    of_each = {(row.recording, row.who.get(kind, "")) for row in rows}
    if wanted is None and len(of_each) > len({recording for recording, _ in of_each}):
        several = f"several {kind}s, {listed(names)}: choose one, "
        raise DataError(several + parameter(kind, names[0]))
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
                        + parameter("time_column")
                        + ", or give start and end in samples"
                    )
                ends = [axis.sample_at(moment(line, at)) for at in ends]
            found.setdefault(spelled(name), []).append(region_from([*ends, changes]))
    return found


# ---- documents of tools


def _are_windows(file: LabelFile) -> bool:
    """Whether JSON has a list of pairs, from and to, for each recording."""
    held = file.document if isinstance(file.document, Mapping) else {}
    windows = [
        one for some in held.values() for one in (some if isinstance(some, list) else [some])
    ]
    return bool(windows) and all(isinstance(one, list) and len(one) == 2 for one in windows)


def _of_windows(file: LabelFile) -> Iterator[Interval]:
    for name, windows in file.document.items():
        yield Interval(None, None, WINDOW, name)
        for start, end in windows:
            yield Interval(moment(0, str(start)), moment(0, str(end)), WINDOW, name)


def _of_label_studio(file: LabelFile) -> Iterator[Interval]:
    """Read tasks; what a model predicted where its version is asked for as the annotator."""
    tasks = json.loads(file.text)
    tasks = tasks if isinstance(tasks, list) else [tasks]
    if not all(map(_is_task, tasks)):
        way_out = "write them as a table with the columns recording, start, end and label"
        if all(isinstance(one, Mapping) and any(map(_are_results, one.values())) for one in tasks):
            way_out = "export from Label Studio as JSON, which JSON-MIN is not"
        raise DataError(
            f"JSON of another form: its items have neither annotations nor predictions with "
            f"results; {way_out}"
        )
    names = _task_names(tasks)
    twice = f"two tasks are about one of {listed(names, 5)}"
    refuse(DataError, (len(set(names)) < len(names), twice))
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


def _is_task(task: Any) -> bool:
    fields = task if isinstance(task, Mapping) else {}
    made = [fields[by] for by in ("annotations", "predictions") if by in fields]
    lists = [one for one in made if isinstance(one, list)]
    return bool(lists) and all("result" in one for some in lists for one in some)


def _are_results(value: Any) -> bool:
    """Whether this is what JSON-MIN has of the stretches of a task."""
    items = value if isinstance(value, list) else []
    return any(isinstance(one, Mapping) and not one.keys().isdisjoint(STRETCHES) for one in items)


def _of_result(result: Sequence[Any], name: str, who: str) -> Iterator[Interval]:
    """Return the stretches of an annotation, without choices and the like."""
    kinds = {str(one.get("type")) for one in result}
    others = sorted(kind for kind in kinds if kind.endswith("labels"))
    if others and kinds.isdisjoint(STRETCHES):
        raise DataError(
            f"{name!r} has {listed(others)}, and none of the labels of times that are read, "
            f"{' and '.join(STRETCHES)}: label it as a time series or as sound"
        )
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
    ethogram = project.get("behaviors_conf", {}).values()
    kinds = {str(one["code"]): str(one.get("type", "")) for one in ethogram}
    for name, observation in project["observations"].items():
        yield from (Interval(None, None, behavior, name) for behavior in ("", *kinds))
        seen: Counter[tuple[str, str]] = Counter()
        for at, subject, behavior, *_ in sorted(observation["events"], key=lambda event: event[0]):
            is_point = "point" in kinds.get(behavior, "").lower()
            sign = STRETCH if is_point else (START, STOP)[seen[subject, behavior] % 2]
            seen[subject, behavior] += 1
            end, who = at if is_point else None, {"subject": subject}
            yield Interval(at, end, behavior, name, who, kind=sign)


def _rows(table: Any) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells of each row."""
    return zip(table.index, table.to_dict("records"), strict=True)


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
    values = chain(
        (found[1] if found[2] is None else float(found[2]) for found in PRAAT.finditer(file.text)),
        _cut_short(),
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


def _cut_short() -> Iterator[Any]:
    yield from ()
    raise DataError("it ends before all of its intervals were told: save it again")


def _of_subtitles(file: LabelFile) -> Iterator[Interval]:
    for block in re.split(r"\n\s*\n", file.text.strip()):
        before, arrow, after = block.partition("-->")
        if not arrow:  # the head of WebVTT, and its notes
            continue
        times, _, said = after.partition("\n")
        start, end = (moment(0, found[0], "seconds") for found in CLOCK.finditer(before + times))
        yield Interval(start, end, " ".join(said.split()))


def _of_speakers(file: LabelFile) -> Iterator[Interval]:
    """Read RTTM: kind, file, channel, start, duration, two that are blank, and who speaks."""
    for line, text in file.lines:
        kind, name, _, start, lasting, _, _, speaker, *_ = text.split()
        if kind == "SPEAKER":
            begin = moment(line, start)
            end = _after(begin, moment(line, lasting), line)
            yield Interval(begin, end, speaker, name, {}, line)


# ---- lines without a header


BETWEEN = ("\t", ";", ",", None)  # what separates cells, None for blanks
DATE_AND_TIME = re.compile(r"(\d[-/.]\d+) +(\d+:\d)")


def cells_of(line: str, separator: str | None, n: int = -1) -> list[str]:
    """The cells of a line; of blanks, as many as n begin it."""
    if separator is None:  # a date and its time are one
        line = DATE_AND_TIME.sub(r"\1\0\2", line)
    if separator in ("\t", None):
        return [cell.strip().replace("\0", " ") for cell in line.split(separator, n)]
    rows = csv.reader([line], delimiter=str(separator), skipinitialspace=True)
    return [cell.strip() for cell in next(rows, [])]


def _has_more(cells: Sequence[str]) -> bool:
    return len(cells) > leading(cells)


def leading(cells: Sequence[str]) -> int:
    """How many moments begin a row, two at most, the second of which is an end."""
    return len([*takewhile(is_moment, cells[:2])])


def _is_track(file: LabelFile) -> bool:
    return file.separator[1] > 0


def _of_track(file: LabelFile) -> Iterator[Interval]:
    """Read lines of a start, perhaps an end, and a label, as Audacity and music researchers do."""
    separator, n = file.separator
    most = n if separator is None else -1
    rows = [(k, cells_of(line, separator, most)) for k, line in file.lines]
    if n == 2 and all(len(cells) == 2 for _, cells in rows) and any(map(_is_backwards, rows)):
        n = 1  # the second is no end, but a label that is a number
    words = [cells[n].split()[-1:] for _, cells in rows if len(cells) > n and " " in cells[n]]
    beside = separator is None and len(words) == len(rows) and all(map(is_moment, chain(*words)))
    if beside or any(len(cells) > n + 1 for _, cells in rows):
        raise DataError(
            f"line {rows[0][0]} holds values, and more than a start, an end and a label: write a "
            "header above it, such as start,end,label,other"
        )
    if n == 2 and not file.columns and _would_be_durations([cells for _, cells in rows]):
        raise DataError(
            f"line {rows[0][0]}: if the second value is a duration, write a header above it: "
            "start,duration,label; as ends they are before their starts"
        )
    named = any(len(cells) > n for _, cells in rows)
    for line, cells in rows:
        start, *ends = (moment(line, cell) for cell in cells[:n])
        end = ends[0] if ends else None if named else start
        end = None if file.columns else end
        yield Interval(start, end, cells[n] if len(cells) > n else "", line=line)


def _would_be_durations(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some ends are before their starts, and starts are where rows end that last so."""
    pairs = [tuple(moment(0, cell) for cell in cells[:2]) for cells in rows if is_moment(cells[0])]
    numbers = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, float)]
    backwards = any(b < a for a, b in numbers)
    ends = [a + b for a, b in numbers[:-1]]
    return backwards and all(end <= a for end, (a, _) in zip(ends, numbers[1:], strict=True))


def _is_backwards(row: tuple[int, Sequence[str]]) -> bool:
    start, end = (moment(row[0], cell) for cell in row[1])
    return isinstance(start, float) and isinstance(end, float) and end < start


def _is_plain_elan(file: LabelFile) -> bool:
    parts = file.lines[0][1].split("\t") if file.lines else []
    clocks = any(CLOCK.fullmatch(part) for part in parts[:3])
    return not {"start", "end"} & file.columns.keys() and len(parts) >= 4 and clocks


def _of_plain_elan(file: LabelFile) -> Iterator[Interval]:
    """Read ELAN's text without a header: tier, participant, times, duration, annotation."""
    for line, text in file.lines:
        parts = text.split("\t")
        clocks = [k for k, part in enumerate(parts) if CLOCK.fullmatch(part)]
        who = dict(zip(("tier", "subject"), parts[: clocks[0]], strict=False))
        start, end = (moment(line, parts[k], "seconds") for k in clocks[:2])
        yield Interval(start, end, parts[-1].strip(), None, who, line)


# ---- tables with a header, by the names of their columns


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table by what they are of, "" where there is none."""

    start: str
    end: str
    label: str
    recording: str
    sign: str
    """Whether things start or stop there, which its cells tell."""
    whose: Mapping[str, str]
    others: Sequence[str]
    observation: str | None = None
    """Of all rows, where it is told above the table."""

    @classmethod
    def of(cls, file: LabelFile) -> Columns:
        table, sign = file.table, _sign_in(file.table)
        found = columns_in([name for name in table if name != sign]) | file.columns
        if sign and "label" not in found:
            sign, found = "", columns_in(table) | file.columns  # START and STOP are the labels
        found |= _recordings_in(file, found)
        if _are_numbers_of_rows(file, found.get("recording", "")):
            del found["recording"]
        found.setdefault("start", found.pop("change", ""))
        lasting = found.pop("duration", "")
        if sign or (found.get("end") == NEXT and NEXT not in table):
            found.pop("end", None)
        whose = {
            kind: name
            for kind, names in WHOSE.items()
            for name in table
            if name.lower() in names and name not in found.values()
        }
        known = (sign, lasting, *found.values(), *whose.values())
        others = [name for name in table if name not in known]
        if (
            "label" not in found
            and "end" in found
            and len(others) == 1
            and _has_words(table[others[0]])
        ):
            found["label"] = others.pop()
        above = OBSERVATION.search(file.text)
        observation = above[1] if above and "recording" not in found else None
        start, end, label, recording = (found.get(key, "") for key in COLUMNS)
        return cls(start, end, label, recording, sign, whose, others, observation)

    @property
    def is_elan(self) -> bool:
        return self.start.startswith(OF_ELAN)

    @property
    def tiers(self) -> list[str]:
        """ELAN's text may have a column for the labels of each tier."""
        others = self.others if self.is_elan and not self.label else ()
        return [name for name in others if not name.startswith(OF_ELAN)]

    @property
    def are_changes(self) -> bool:
        """Whether there are times alone, or a column that is called after changes."""
        is_told = not CHANGES.isdisjoint(_words(self.start))
        return not (self.label or self.end or self.tiers) and (is_told or not self.others)

    def owner(self, row: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
        """The recording of a row, and whose it is there."""
        whose = {kind: row[name] for kind, name in self.whose.items()}
        return (self.recording and row[self.recording]) or self.observation, whose


def _of_table(file: LabelFile) -> Iterator[Interval]:
    table, columns = file.table, Columns.of(file)
    of_labels = bool(columns.others) and all({*table[name]} <= TRUTH for name in columns.others)
    are_of_samples = not (columns.start or columns.end or columns.sign)
    if columns.label in table and are_of_samples and not columns.others:
        return _of_samples(table, columns)
    has_times = columns.start in table and not columns.are_changes
    if of_labels and (has_times or are_of_samples) and not (columns.label or columns.end):
        return _of_columns(table, columns)
    return _of_rows(table, columns)


def _of_rows(table: Any, columns: Columns) -> Iterator[Interval]:
    """Read rows of a label and when it was so, or of changes."""
    start, end, label, tiers = columns.start, columns.end, columns.label, columns.tiers
    needed = {"start": True, "end": bool(end), "label": not (tiers or columns.are_changes)}
    for key, is_needed in needed.items():
        name = getattr(columns, key)
        if is_needed and name not in table:
            named = repr(name) if name else f"of the {key}"
            hint: str = "name it with " + parameter(key)
            if any(map(is_moment, table)):
                hint = "its first line holds values: write a header above it, as start,end,label"
            raise DataError(f"no column {named}; the columns are {', '.join(table)}: " + hint)
    unit, unit_of_end = unit_of(start), unit_of(end)
    lasts = (_role(end) or ("",))[0] == "duration"
    blank_is_none = columns.is_elan or start.startswith("tmin")  # but what another tier says
    for line, row in _rows(table):
        recording, who = columns.owner(row)
        labels = {t: row[t] for t in tiers} or {"": row.get(label, "")}
        is_open = not end or not has_end(row[end], WORDS["end"].split())
        if not row[start] and is_open:  # it says what was looked for
            yield Interval(None, None, labels.get("", ""), recording, who)
            continue
        if not row[start]:
            raise DataError(f"line {line}: an end at {row[end]!r}, and no start")
        begin, stop = moment(line, row[start], unit), None
        kind = _sign(row[columns.sign]) if columns.sign else STRETCH
        if columns.are_changes or (columns.sign and kind == STRETCH):
            stop = begin
        elif not is_open:
            stop = moment(line, row[end], unit_of_end)
            stop = _after(begin, stop, line) if lasts else stop
        is_length = unit is None and length_in(row[start]) is not None
        for tier, text in labels.items():
            if text or not blank_is_none:
                of_tier = who | ({"tier": tier} if tier else {})
                own = "seconds" if is_length else unit
                yield Interval(begin, stop, text, recording, of_tier, line, own, kind)


def _of_samples(table: Any, columns: Columns) -> Iterator[Interval]:
    """Read the labels of samples, one below the other, without their times."""
    for row, begun in _begun(table, columns):
        yield replace(begun, end=begun.start + 1, label=row[columns.label])


def _of_columns(table: Any, columns: Columns) -> Iterator[Interval]:
    """Read a column for each label, 1 where it is so: a stretch ends at the next 0."""
    lasting: dict[Any, Interval] = {}
    sought: set[Any] = set()
    for row, begun in _begun(table, columns):
        for name in columns.others:
            key = name, begun.key
            if key not in sought:
                sought.add(key)
                yield replace(begun, start=None, end=None, label=name)
            if row[name] not in TRUE and key in lasting:
                yield replace(lasting.pop(key), end=begun.start)
            elif row[name] in TRUE and key not in lasting:
                lasting[key] = replace(begun, label=name)
    yield from lasting.values()


def _begun(table: Any, columns: Columns) -> Iterator[tuple[dict[str, str], Interval]]:
    """The rows and what begins there without a label: at their times, or else their numbers."""
    unit = unit_of(columns.start) if columns.start else "samples"
    numbers: Counter[Any] = Counter()
    for line, row in _rows(table):
        recording, who = columns.owner(row)
        key = recording, *who.values()
        at = moment(line, row[columns.start], unit) if columns.start else numbers[key]
        numbers[key] += 1
        yield row, Interval(at, math.inf, "", recording, who, line, unit)


def _sign(cell: str) -> str:
    return SIGNS.get(cell.lower().split()[-1] if cell else "", "")


def _sign_in(table: Any) -> str:
    """The column whose cells say that things start and stop, or are points."""
    for name, cells in table.items():
        signs = {_sign(cell) for cell in cells.unique()}
        if "" not in signs and {START, STOP} <= signs:
            return str(name)
    return ""


def _has_words(cells: Any) -> bool:
    return not all(map(is_moment, filter(None, cells.unique())))


def _recordings_in(file: LabelFile, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the column that holds the most names of recordings that are known, if any does."""
    others = {column for role, column in columns.items() if role != "recording"}
    held = {
        name: len(file.known & {spelled(n(cell)) for cell in cells for n in (str, name_of)})
        for name, cells in file.table.items()
        if name not in others
    }
    best = max(held, key=held.__getitem__, default="")
    is_chosen = "recording" in file.columns
    return {"recording": best} if held.get(best) and not is_chosen else {}


def _are_numbers_of_rows(file: LabelFile, column: str) -> bool:
    """Whether a column numbers rows, and names no recording where the file is called as one is."""
    if column not in file.table or column in file.columns.values():
        return False
    cells = file.table[column]
    is_of_one = spelled(printable(file.path.stem)) in file.known
    return is_of_one and cells.is_unique and file.known.isdisjoint(map(spelled, cells))


def _after(start: float | str, lasting: float | str, line: int) -> float | str:
    if isinstance(start, str) and OF_DAY.fullmatch(start) and not isinstance(lasting, str):
        return _on_clock((clock_in(start) or 0.0) + lasting)
    if isinstance(start, str) and YEAR_FIRST.match(start) and not isinstance(lasting, str):
        pandas = require("pandas", "files", "reading times")
        return str(pandas.Timestamp(start) + pandas.Timedelta(seconds=lasting))
    if isinstance(lasting, str) or isinstance(start, str):
        raise DataError(
            f"line {line}: a duration is for a start in seconds, or for a date with the year first"
        )
    return round(start + lasting, 9)


def _on_clock(seconds: float) -> str:
    minutes, rest = divmod(seconds % DAY, 60)
    return f"{minutes // 60:02.0f}:{minutes % 60:02.0f}:{rest:06.3f}"


FORMATS: tuple[
    tuple[str, Callable[[LabelFile], bool], Callable[[LabelFile], Iterator[Interval]]], ...
] = (
    ("windows of time", _are_windows, _of_windows),
    ("tasks of Label Studio", lambda file: file.kind == ".json", _of_label_studio),
    ("project of BORIS", lambda file: file.kind == ".boris", _of_boris),
    ("document of ELAN", lambda file: file.kind == ".eaf", _of_eaf),
    ("TextGrid", lambda file: file.kind == ".textgrid", _of_textgrid),
    ("subtitles", lambda file: file.kind in SUBTITLES, _of_subtitles),
    ("speakers", lambda file: file.kind == ".rttm", _of_speakers),
    ("text of ELAN", _is_plain_elan, _of_plain_elan),
    ("lines without a header", _is_track, _of_track),
    ("table", lambda _: True, _of_table),
)
"""Name, test and reader of each format; the first that a file is of is read."""
