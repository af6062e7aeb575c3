"""Reading of labels from the files of labelling tools.

Each format is a function from a file to rows (:mod:`structsvm.io.label_rows`), listed in
:data:`FORMATS`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from structsvm.data import TimeAxis
from structsvm.errors import DataError, about, parameter, printable
from structsvm.io.json_labels import stretches_in
from structsvm.io.label_file import OF_JSON, WHOSE, LabelFile, cells_of, name_of, role_of
from structsvm.io.label_rows import (
    HTK_UNIT,
    START,
    STOP,
    STRETCH,
    WRITTEN_CLOCK,
    Interval,
    is_moment,
    moment,
    settled,
)
from structsvm.io.label_tables import after, read_table
from structsvm.io.sniff import EXCEL
from structsvm.partial_labels import region_from
from structsvm.partitions import Region
from structsvm.support import listed, spelled

LEAST_OF_HTK = 1_000_000  # a tenth of a second of HTK, and eleven days in seconds


def read_lines(file: LabelFile) -> Iterator[Interval]:
    """Read lines of a start, perhaps an end, and a label, as Audacity and music researchers do."""
    separator, n = file.separator
    most = n if separator is None else -1
    rows = [(k, cells_of(line, separator, most)) for k, line in file.lines]
    if n == 2 and all(len(cells) == 2 for _, cells in rows) and any(map(_is_backwards, rows)):
        n = 1  # the second number of a line is a label, and no end
    last_words = [cells[n].split()[-1:] for _, cells in rows if len(cells) > n and " " in cells[n]]
    have_values = separator is None and len(last_words) == len(rows)
    have_values = have_values and all(map(is_moment, chain(*last_words)))
    if have_values or any(len(cells) > n + 1 for _, cells in rows):
        raise DataError(
            f"line {rows[0][0]} holds values, and more than a start, an end and a label: write a "
            "header above it, such as start,end,label,other"
        )
    if n == 2 and not file.columns and _would_be_durations([cells for _, cells in rows]):
        raise DataError(
            f"line {rows[0][0]}: if the second value is a duration, write a header above it: "
            "start,duration,label; as ends they are before their starts"
        )
    have_labels = any(len(cells) > n for _, cells in rows)
    unit = (
        HTK_UNIT if file.kind == ".lab" and _are_of_htk([cells[:n] for _, cells in rows]) else None
    )
    for line, cells in rows:
        start, *ends = (moment(line, cell, unit) for cell in cells[:n])
        end = ends[0] if ends else None if have_labels else start
        end = None if file.columns else end
        yield Interval(start, end, cells[n] if len(cells) > n else "", line=line, unit=unit)


def _are_of_htk(rows: Sequence[Sequence[str]]) -> bool:
    """Whether times are whole numbers up to a size that HTK writes and seconds do not reach."""
    cells = [cell.strip() for cell in chain.from_iterable(rows)]
    return all(map(str.isdigit, cells)) and max(map(int, cells), default=0) >= LEAST_OF_HTK


def _would_be_durations(rows: Sequence[Sequence[str]]) -> bool:
    """Whether some ends are before their starts, and as durations no stretch overlaps the next."""
    pairs = [tuple(moment(0, cell) for cell in cells[:2]) for cells in rows if is_moment(cells[0])]
    numbers = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, float)]
    backwards = any(b < a for a, b in numbers)
    ends = [a + b for a, b in numbers[:-1]]
    return backwards and all(end <= a for end, (a, _) in zip(ends, numbers[1:], strict=True))


def _is_backwards(row: tuple[int, Sequence[str]]) -> bool:
    """Whether the second of two numbers in a line is smaller than the first."""
    start, end = (moment(row[0], cell) for cell in row[1])
    return isinstance(start, float) and isinstance(end, float) and end < start


def is_plain_elan(file: LabelFile) -> bool:
    """Whether this is the text of ELAN without a header."""
    parts = file.lines[0][1].split("\t") if file.lines else []
    clocks = any(WRITTEN_CLOCK.fullmatch(part) for part in parts[:3])
    return not {"start", "end"} & file.columns.keys() and len(parts) >= 4 and clocks


def read_plain_elan(file: LabelFile) -> Iterator[Interval]:
    """Read ELAN's text without a header: tier, participant, times, duration, annotation."""
    for line, text in file.lines:
        parts = text.split("\t")
        clocks = [k for k, part in enumerate(parts) if WRITTEN_CLOCK.fullmatch(part)]
        who = dict(zip(("tier", "subject"), parts[: clocks[0]], strict=False))
        start, end = (moment(line, parts[k], "seconds") for k in clocks[:2])
        yield Interval(start, end, parts[-1].strip(), None, who, line)


LABEL_TABLES = (".csv", ".tsv", *EXCEL)
TRACKS = (".txt", ".lab", ".rttm")
SUBTITLES = (".srt", ".vtt")
IN_SECONDS = (".boris", ".eaf", ".rttm", ".textgrid", *SUBTITLES)
"""Kinds whose times are always in seconds."""
LABEL_KINDS = (*LABEL_TABLES, *TRACKS, *OF_JSON, ".boris", ".eaf", ".textgrid", *SUBTITLES)
"""Kinds of files of labels in a folder; JSON in lines, which may be a log, is read if named."""
LARGEST_DOCUMENT = 2**24  # bytes: larger files are not opened to find out whether they hold labels
STRETCHES = ("timeserieslabels", "labels")
"""The types of labels of time series and of sound in Label Studio."""
UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""Prefix of the names of files that were uploaded to Label Studio."""
PRAAT = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w\].])')
"""The texts and numbers of a TextGrid, long or short, without the numbers of its items."""


def read_rows(
    file: LabelFile, kinds: Iterable[str] = WHOSE, alone: bool = True
) -> dict[str, tuple[list[Interval], set[str]]]:
    """The rows of a file by recording, each with the set of labels that were looked for there.

    The ``kinds`` are the keys of ``WHOSE`` of which one value is chosen; one that the file has not
    is refused if the file is ``alone``.
    """
    own_name = printable(file.path.stem)
    name = "table"
    with about(file.path):
        try:
            name, read = next((name, read) for name, is_of, read in FORMATS if is_of(file))
            rows = list(read(file))
            if file.kind in IN_SECONDS:
                rows = [replace(row, unit="seconds") for row in rows]
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
    by_recording = {}
    for called, own_rows in zip(names, named.values(), strict=True):
        annotators = {row.who.get("annotator") for row in own_rows}
        sought = {
            row.label for row in rows if not annotators or row.who.get("annotator") in annotators
        }
        by_recording[called] = own_rows, sought
    return by_recording


def _of_one(rows: list[Interval], kind: str, wanted: str | None, alone: bool) -> list[Interval]:
    """The rows of the ``wanted`` tier, subject or annotator, or of the only one."""
    names = list(dict.fromkeys(row.who.get(kind, "") for row in rows))
    pairs = {(row.recording, row.who.get(kind, "")) for row in rows}
    if wanted is None and len(pairs) > len({recording for recording, _ in pairs}):
        several = f"several {kind}s, {listed(names)}: choose one, "
        raise DataError(several + parameter(kind, names[0]))
    if wanted not in (None, *names) and alone:
        raise DataError(f"no {kind} {wanted!r}; there is {listed(names)}")
    return [row for row in rows if wanted in (None, row.who.get(kind))]


def read_regions(
    path: str | PathLike[str], times: Mapping[str, TimeAxis | None] | None = None
) -> dict[str, list[Region]]:
    """Read a table of regions by recording; ``times`` convert moments to numbers of samples."""
    by_recording: dict[str, list[Region]] = {}
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
            by_recording.setdefault(spelled(name), []).append(region_from([*ends, changes]))
    return by_recording


# ---- documents of tools


def _holds_stretches(file: LabelFile) -> bool:
    """Whether this is JSON with stretches of another form than tasks of Label Studio."""
    items = file.document if isinstance(file.document, list) else [file.document]
    if file.document is None or any(map(_is_task, items)) or any(map(_is_minimal, items)):
        return False
    return any(one.start is not None for one in stretches_in(file))


def _of_label_studio(file: LabelFile) -> Iterator[Interval]:
    """Read the annotations of tasks, or predictions of the model chosen as the annotator."""
    tasks = json.loads(file.text) if file.document is None else file.document
    tasks = tasks if isinstance(tasks, list) else [tasks]
    if not all(map(_is_task, tasks)):
        way_out = "write them as a table with the columns recording, start, end and label"
        if all(map(_is_minimal, tasks)):
            way_out = "export from Label Studio as JSON, which JSON-MIN is not"
        raise DataError(
            f"JSON of another form: its items have neither annotations nor predictions with "
            f"results; {way_out}"
        )
    names = _task_names(tasks)
    twice = f"two tasks are about one of {listed(names, 5)}"
    if len(set(names)) < len(names):
        raise DataError(twice)
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
    """Whether this has annotations or predictions with results."""
    fields = task if isinstance(task, Mapping) else {}
    made = [fields[by] for by in ("annotations", "predictions") if by in fields]
    lists = [one for one in made if isinstance(one, list)]
    return bool(lists) and all("result" in one for one in chain.from_iterable(lists))


def _is_minimal(task: Any) -> bool:
    """Whether this is a task as JSON-MIN writes it."""
    fields = task.values() if isinstance(task, Mapping) else ()
    lists = [value for value in fields if isinstance(value, list)]
    return any(
        isinstance(one, Mapping) and not one.keys().isdisjoint(STRETCHES) for one in chain(*lists)
    )


def _of_result(result: Sequence[Any], name: str, who: str) -> Iterator[Interval]:
    """Return the stretches of an annotation, and nothing else that it holds, such as choices."""
    kinds = {str(one.get("type")) for one in result}
    others = sorted(kind for kind in kinds if kind.endswith("labels"))
    if others and kinds.isdisjoint(STRETCHES):
        raise DataError(
            f"{name!r} has {listed(others)}, and none of the labels of times that are read, "
            f"{' and '.join(STRETCHES)}: label it as a time series or as sound"
        )
    for one in result:
        kind = one.get("type")
        value = one["value"]
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
    whole = []
    before = []
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
            end = at if is_point else None
            who = {"subject": subject}
            yield Interval(at, end, behavior, name, who, kind=sign)


def _of_eaf(file: LabelFile) -> Iterator[Interval]:
    """Read a document of ELAN; an annotation that refers to another one has its times."""
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
            reference = one.get("ANNOTATION_REF") or one.get("ANNOTATION_ID")
            label = (one.findtext("ANNOTATION_VALUE") or "").strip()
            if reference in spans and label:
                yield Interval(*spans[reference], label, None, who)


def _of_textgrid(file: LabelFile) -> Iterator[Interval]:
    values = chain(
        (match[1] if match[2] is None else float(match[2]) for match in PRAAT.finditer(file.text)),
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
    """Raise an error where the next value of a document is missing."""
    yield from ()
    raise DataError("it ends before all of its intervals were told: save it again")


def _of_subtitles(file: LabelFile) -> Iterator[Interval]:
    for block in re.split(r"\n\s*\n", file.text.strip()):
        before, arrow, after = block.partition("-->")
        if not arrow:  # the header of WebVTT, or a note
            continue
        times, _, said = after.partition("\n")
        start, end = (
            moment(0, match[0], "seconds") for match in WRITTEN_CLOCK.finditer(before + times)
        )
        yield Interval(start, end, " ".join(said.split()))


def _of_speakers(file: LabelFile) -> Iterator[Interval]:
    """Read RTTM: kind, file, channel, start, duration, two blank fields, and the speaker."""
    for line, text in file.lines:
        kind, name, _, start, lasting, _, _, speaker, *_ = text.split()
        if kind == "SPEAKER":
            begin = moment(line, start)
            end = after(begin, moment(line, lasting), line)
            yield Interval(begin, end, speaker, name, {}, line)


def _are_lines_of_samples(file: LabelFile) -> bool:
    """Whether every line is a state and nothing else, and the first is no header.

    Numbers are states, and no places of changes, if most are equal to the line above.
    """
    lines = [text.strip() for _, text in file.lines]
    if file.columns or not lines or lines.count(lines[0]) == 1 or role_of(lines[0]):
        return False
    if all(text.isdecimal() for text in lines):
        return 2 * sum(a == b for a, b in pairwise(lines)) > len(lines)
    return not any(re.search(r"[\t;,]", text) or is_moment(text.split()[0]) for text in lines)


def _of_lines_of_samples(file: LabelFile) -> Iterator[Interval]:
    """Read a label for each sample, one below the other, without a header."""
    for t, (line, text) in enumerate(file.lines):
        among = len(file.lines)
        yield Interval(t, t + 1, text.strip(), None, {}, line, "samples", among=among)


Formats = tuple[
    tuple[str, Callable[[LabelFile], bool], Callable[[LabelFile], Iterator[Interval]]], ...
]
DOCUMENTS: Formats = (
    ("stretches in JSON", _holds_stretches, stretches_in),
    ("tasks of Label Studio", lambda file: file.kind == ".json", _of_label_studio),
    ("project of BORIS", lambda file: file.kind == ".boris", _of_boris),
    ("document of ELAN", lambda file: file.kind == ".eaf", _of_eaf),
    ("TextGrid", lambda file: file.kind == ".textgrid", _of_textgrid),
    ("subtitles", lambda file: file.kind in SUBTITLES, _of_subtitles),
    ("speakers", lambda file: file.kind == ".rttm", _of_speakers),
    ("text of ELAN", is_plain_elan, read_plain_elan),
)
FORMATS: Formats = (
    *DOCUMENTS,
    ("a label for each sample", _are_lines_of_samples, _of_lines_of_samples),
    ("lines without a header", lambda file: file.separator[1] > 0, read_lines),
    ("table", lambda _: True, read_table),
)
"""Name, test and reader of each format; the first whose test a file passes reads it."""


def is_of_a_tool(path: Path) -> bool:
    """Whether a file holds labels in the form of a labelling tool, and is no plain table."""
    if path.suffix.lower() not in LABEL_KINDS or path.stat().st_size > LARGEST_DOCUMENT:
        return False
    file = LabelFile(path)
    with suppress(Exception):  # a foreign document can miss anything
        read = next((read for _, is_of, read in DOCUMENTS if is_of(file)), None)
        return read is not None and any(row.start is not None for row in read(file))
    return False
