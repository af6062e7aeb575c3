"""Rows of labels in tables with a header, by the names of their columns."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

from structsvm.data import OF_DAY, YEAR_FIRST, clock_in, length_in
from structsvm.errors import DataError, parameter, printable, warn
from structsvm.io.label_file import (
    CHANGE_WORDS,
    FILLERS,
    LABEL_COLUMNS,
    LASTS_UNTIL_NEXT,
    ROLE_WORDS,
    WHOSE,
    LabelFile,
    columns_in,
    has_words,
    name_of,
    role_of,
    unit_of,
    words_of,
)
from structsvm.io.label_rows import START, STOP, STRETCH, Interval, has_end, is_moment, moment
from structsvm.io.paired_names import named_by
from structsvm.support import require, spelled

TRUE = {"1", "1.0"}
TRUTH = {"0", "0.0", "1", "1.0"}
SECONDS_OF_A_DAY = 24 * 3600.0
SIGNS = {
    **dict.fromkeys(("start", "begin", "onset", "on"), START),
    **dict.fromkeys(("stop", "end", "offset", "off"), STOP),
    **dict.fromkeys(("point", "state"), STRETCH),
}
"""Last words of cells that say whether something starts or stops there."""
BETWEEN_WORDS = re.compile(r"[\s_:-]+")
OBSERVATION = re.compile(r"^Observation id[\t,;]([^\t,;\n]+)")
"""The line with the recording above the header, in events of BORIS before version 8."""
OF_ELAN = ("Begin Time", "End Time", "Duration", "Tier", "Participant", "File Path", "File Name")
"""Beginnings of the names of columns in ELAN's text that are no tiers."""


@dataclass(frozen=True)
class LabelColumns:
    """The columns of a table of labels by their roles; "" for those that it has not."""

    start: str
    end: str
    label: str
    recording: str
    sign: str
    """The column whose cells say whether something starts or stops there."""
    whose: Mapping[str, str]
    """The columns of tiers, subjects and annotators, by these keys of ``WHOSE``."""
    others: Sequence[str]
    observation: str | None = None
    """The recording of all rows, if it is named above the table."""
    naming: Sequence[str] = ()
    """The columns of subjects and sessions that name recordings together."""
    named: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """The recordings by the cells of these columns."""

    @classmethod
    def of(cls, file: LabelFile) -> "LabelColumns":
        table = file.table
        sign = _sign_column(file.table)
        by_role = columns_in([name for name in table if name != sign]) | file.columns
        if sign and "label" not in by_role and all(_signed(cell)[0] for cell in table[sign]):
            by_role["label"] = sign  # as walk_start and walk_end
        elif sign and "label" not in by_role:
            # START and STOP are the labels
            sign = ""
            by_role = columns_in(table) | file.columns
        by_role |= _recording_column(file, by_role)
        if _are_numbers_of_rows(file, by_role.get("recording", "")):
            del by_role["recording"]
        by_role.setdefault("start", by_role.pop("change", ""))
        lasting = by_role.pop("duration", "")
        if sign or (by_role.get("end") == LASTS_UNTIL_NEXT and LASTS_UNTIL_NEXT not in table):
            by_role.pop("end", None)
        whose = {
            kind: name
            for (kind, names), name in product(WHOSE.items(), table)
            if _plain(name) in names and name not in by_role.values()
        }
        used = (sign, lasting, *by_role.values(), *whose.values())
        naming, named = _named_together(file, by_role, whose)
        whose = {kind: name for kind, name in whose.items() if name not in naming}
        others = [name for name in table if name not in used]
        if "end" in by_role and len(others) == 1 and has_words(table[others[0]]):
            by_role.setdefault("label", others[0])
        above = OBSERVATION.search(file.text)
        observation = above[1] if above and "recording" not in by_role else None
        start, end, label, recording = (by_role.get(key, "") for key in LABEL_COLUMNS)
        roles = start, end, label, recording
        return cls(*roles, sign, whose, others, observation, naming, named)

    @property
    def is_elan(self) -> bool:
        """Whether this is ELAN's text with a header."""
        return self.start.startswith("Begin Time - ")  # Raven has "Begin Time (s)"

    @property
    def tiers(self) -> list[str]:
        """The columns of an ELAN text that hold labels, one for each tier."""
        others = self.others if self.is_elan and not self.label else ()
        return [name for name in others if not name.startswith(OF_ELAN)]

    @property
    def are_changes(self) -> bool:
        """Whether rows are changes: times without ends and labels, if alone or called so."""
        are_called_so = not CHANGE_WORDS.isdisjoint(words_of(self.start))
        return not (self.label or self.end or self.tiers) and (are_called_so or not self.others)

    def owner(self, row: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
        """The recording of a row, and its tier, subject and annotator there."""
        whose = {kind: row[name] for kind, name in self.whose.items()}
        if self.naming:
            return self.named[tuple(row[name] for name in self.naming)], whose
        return (self.recording and row[self.recording]) or self.observation, whose

    def key_of(self, row: Mapping[str, str]) -> tuple[Any, ...]:
        """The same as :meth:`owner`, as a key."""
        recording, whose = self.owner(row)
        return recording, *whose.values()


def read_table(file: LabelFile) -> Iterator[Interval]:
    """Read rows that are stretches or changes, or a row for each sample."""
    table = file.table
    columns = LabelColumns.of(file)
    _refuse_blank_recordings(table, columns.recording)
    are_indicators = bool(columns.others) and all(
        {*table[name]} <= TRUTH for name in columns.others
    )
    are_of_samples = not (columns.start or columns.end or columns.sign)
    others = [name for name in columns.others if not _counts_rows(table[name])]
    if columns.label in table and are_of_samples and not others:
        return _of_samples(table, columns)
    has_times = columns.start in table and not columns.are_changes
    if are_indicators and (has_times or are_of_samples) and not (columns.label or columns.end):
        return _of_columns(table, columns)
    return _of_rows(table, columns)


def _counts_rows(cells: Any) -> bool:
    """Whether cells number rows, from 0 or 1 in each recording."""
    if not all(map(str.isdecimal, cells)):
        return False
    numbers = list(map(int, cells))
    steps = pairwise(numbers)
    return numbers[0] in (0, 1) and all(b in (a + 1, numbers[0]) for a, b in steps)


def _refuse_blank_recordings(table: Any, column: str) -> None:
    for line, cell in table[column].items() if column in table else ():
        if not cell:
            raise DataError(
                f"line {line}: no name in column {column!r}: write the recording in every row, as "
                "a cell that was merged holds it in the first one alone"
            )


def _of_rows(table: Any, columns: LabelColumns) -> Iterator[Interval]:
    """Read rows that are stretches, changes, or starts and stops."""
    start = columns.start
    end = columns.end
    label = columns.label
    tiers = columns.tiers
    are_changes = columns.are_changes
    needed = {"start": True, "end": bool(end), "label": not (tiers or are_changes)}
    for key, is_needed in needed.items():
        name = getattr(columns, key)
        if is_needed and name not in table:
            named = repr(name) if name else f"of the {key}"
            hint: str = "name it with " + parameter(key)
            if any(map(is_moment, table)):
                hint = "its first line holds values: write a header above it, as start,end,label"
            raise DataError(f"no column {named}; the columns are {', '.join(table)}: " + hint)
    unit = unit_of(start)
    unit_of_end = unit_of(end)
    lasts = (role_of(end) or ("",))[0] == "duration"
    blank_is_none = columns.is_elan or start.startswith("tmin")  # of other tiers, or in Praat
    for line, row in rows_of(table):
        recording, who = columns.owner(row)
        name = _signed(row[label])[0] if label and label == columns.sign else row.get(label, "")
        labels = {t: row[t] for t in tiers} or {"": name}
        is_open = not end or not has_end(row[end], ROLE_WORDS["end"].split())
        if not row[start] and is_open:  # it names a label that was looked for
            yield Interval(None, None, labels.get("", ""), recording, who)
            continue
        if not row[start]:
            raise DataError(f"line {line}: an end at {row[end]!r}, and no start")
        begin = moment(line, row[start], unit)
        stop = None
        kind = _signed(row[columns.sign])[1] if columns.sign else STRETCH
        if are_changes or (columns.sign and kind == STRETCH):
            stop = begin
        elif not is_open:
            stop = moment(line, row[end], unit_of_end)
            stop = after(begin, stop, line) if lasts else stop
        is_length = unit is None and length_in(row[start]) is not None
        for tier, text in labels.items():
            if text or not blank_is_none:
                of_tier = who | ({"tier": tier} if tier else {})
                own = "seconds" if is_length else unit
                yield Interval(begin, stop, text, recording, of_tier, line, own, kind)


def _of_samples(table: Any, columns: LabelColumns) -> Iterator[Interval]:
    """Read a label for each sample, without times."""
    for row, begun in _begun(table, columns):
        yield replace(begun, end=begun.start + 1, label=row[columns.label])


def _of_columns(table: Any, columns: LabelColumns) -> Iterator[Interval]:
    """Read a column of 0 and 1 for each label: a stretch is from a 1 to the next 0."""
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


def _begun(table: Any, columns: LabelColumns) -> Iterator[tuple[dict[str, str], Interval]]:
    """Each row with an interval, without end and label, from its time, or else its number."""
    unit = unit_of(columns.start) if columns.start else "samples"
    numbers: Counter[Any] = Counter()
    counted = Counter(columns.key_of(row) for _, row in rows_of(table))
    for line, row in rows_of(table):
        recording, who = columns.owner(row)
        key = columns.key_of(row)
        among = None if columns.start else counted[key]
        at = moment(line, row[columns.start], unit) if columns.start else numbers[key]
        numbers[key] += 1
        yield row, Interval(at, math.inf, "", recording, who, line, unit, among=among)


def _signed(cell: str) -> tuple[str, str]:
    """What is before the last word of a cell, and START, STOP or STRETCH if that says so, or ""."""
    word = BETWEEN_WORDS.split(cell)[-1]
    return BETWEEN_WORDS.sub(" ", cell.removesuffix(word)).strip(), SIGNS.get(word.lower(), "")


def _sign_column(table: Any) -> str:
    """The column whose cells all say START, STOP or STRETCH; "" if there is none."""
    return next((str(name) for name, cells in table.items() if _are_signs(cells)), "")


def _are_signs(cells: Any) -> bool:
    signs = set()
    for cell in cells.unique():
        sign = _signed(cell)[1]
        if not sign:
            return False
        signs.add(sign)
    return {START, STOP} <= signs


def rows_of(table: Any) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells of each row."""
    return zip(table.index, table.to_dict("records"), strict=True)


def _recording_column(file: LabelFile, by_role: Mapping[str, str]) -> dict[str, str]:
    """The column with the most names of recordings that are asked for, unless it was chosen."""
    if "recording" in file.columns:
        return {}
    others = {column for role, column in by_role.items() if role != "recording"}
    n_names: dict[str, int] = {}
    for name, cells in file.table.items():
        if name not in others:
            texts = {spelled(text) for text in (*map(str, cells), *map(name_of, cells))}
            n_names[name] = len(texts & file.recordings)
    best = max(n_names, key=n_names.__getitem__, default="")
    return {"recording": best} if n_names.get(best) else {}


def _plain(column: str) -> str:
    """The words of the name of a column, without those that say nothing: participant_id."""
    return " ".join(word for word in words_of(column) if word not in FILLERS)


def _named_together(
    file: LabelFile, by_role: Mapping[str, str], whose: Mapping[str, str]
) -> tuple[list[str], dict[tuple[str, ...], str]]:
    """The columns of subjects and sessions, if their cells stand in names of recordings."""
    session = by_role.get("recording", "")
    subject = whose.get("subject", "")
    naming = [name for name in (subject, session) if name in file.table]
    is_chosen = "recording" in file.columns or "subject" in file.chosen
    is_named = session in file.table and not file.recordings.isdisjoint(file.table[session])
    if not subject or is_chosen or is_named:
        return [], {}
    keys = {*zip(*(file.table[name] for name in naming), strict=True)}
    named = named_by(keys, file.recordings)
    if not named:
        return [], {}
    first = next(iter(zip(*(file.table[name] for name in naming), strict=True)))
    warn(
        f"{file.path}: the labels of {' and '.join(naming)} {', '.join(first)} are taken for those "
        f"of {named[first]}, whose name holds {'both' if len(first) > 1 else 'it'}, and so on"
    )
    return naming, named


def _are_numbers_of_rows(file: LabelFile, column: str) -> bool:
    """Whether a column of recordings numbers rows instead, in a file called like a recording."""
    if column not in file.table or column in file.columns.values():
        return False
    cells = file.table[column]
    is_of_one = spelled(printable(file.path.stem)) in file.recordings
    return is_of_one and cells.is_unique and file.recordings.isdisjoint(map(spelled, cells))


def after(start: float | str, lasting: float | str, line: int) -> float | str:
    """The end of a stretch, written as its start is; it lasts so many seconds, or a clock time."""
    seconds = clock_in(lasting) if isinstance(lasting, str) else lasting
    if isinstance(start, str) and seconds is not None:
        is_of_day = OF_DAY.fullmatch(start) is not None
        since_midnight = clock_in(start) if is_of_day else None
        if since_midnight is not None:
            return _on_clock(since_midnight + seconds)
        if is_of_day or YEAR_FIRST.match(start):
            pandas = require("pandas", "files", "reading times")
            end = pandas.Timestamp(start) + pandas.Timedelta(seconds=seconds)
            return f"{end:%H:%M:%S.%f}" if is_of_day else str(end)
    if seconds is None or isinstance(start, str):
        raise DataError(
            f"line {line}: a duration is for a start in seconds, or for a date with the year first"
        )
    return round(start + seconds, 9)


def _on_clock(seconds: float) -> str:
    """Seconds as a time on a clock of 24 hours."""
    minutes, rest = divmod(seconds % SECONDS_OF_A_DAY, 60)
    return f"{minutes // 60:02.0f}:{minutes % 60:02.0f}:{rest:06.3f}"
