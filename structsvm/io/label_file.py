"""A file of labels as lines and as a table, and the roles of its columns, by their names."""

import csv
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from structsvm.errors import DataError
from structsvm.io.decoding import decoded
from structsvm.io.label_rows import LONG_UNITS, is_moment
from structsvm.io.sniff import COMMENT, EXCEL
from structsvm.io.tables import read_frame
from structsvm.support import refuse_unlisted, uncell

WHOSE = {
    "tier": ("tier",),
    "subject": ("subject", "participant", "individual"),
    "annotator": ("annotator", "rater", "coder", "observer", "labeler", "labeller"),
}
"""Names of columns that say whose label a row is, by the keyword that chooses among these."""
LABEL_COLUMNS = ("start", "end", "label", "recording")
CHOSEN = (*LABEL_COLUMNS, *WHOSE)
ROLE_WORDS = {
    "start": """start onset begin beginning from tmin inicio comienzo debut beginn anfang startzeit
        anfangszeit von inizio desde de du da""",
    "end": """end stop offset finish to tmax fim fin final termino ende stopp endzeit bis fine hasta
        ate au""",
    "duration": "duration dauer duracion duree duracao durata length",
    "label": """label labels behavior behaviour event activity state class action annotation text
        code trialtype evento comportamiento conducta comportamento comportement evenement ereignis
        verhalten etiqueta actividad estado clase accion rotulo atividade classe acao etiquette
        activite etat aktivitat zustand klasse etichetta attivita stato azione type tipo description
        stage phase status mode value species""",
    "recording": """recording observation file filename session trip video media series grabacion
        archivo gravacao arquivo viagem sessao enregistrement fichier trajet aufnahme datei fahrt
        sitzung registrazione viaggio sessione sesion viaje""",
    "change": "change time cambio mudanca changement wechsel cambiamento",
}
"""What columns are called in English, Spanish, Portuguese, French, German and Italian, without
accents, the more usual words first."""
ROLES: dict[str, tuple[str, int]] = {}
for _role, _words in ROLE_WORDS.items():
    ROLES |= {word: (_role, k) for k, word in enumerate(_words.split())}
OF_TIME = {
    *("time", "times", "timestamp", "timestamps", "ts", "datetime", "t", "elapsed", "relative"),
    *("sf", "tempo", "tiempo", "temps", "zeit"),
}
CHANGE_WORDS = {*ROLE_WORDS["change"].split()} - OF_TIME
FILLERS = {"of", "id", "name", "path", "type", "tipo"}
"""Words in the names of columns that do not change their roles."""
UNITS = {
    "seconds": {"s", "ss", "mm", "hh", "sec", "secs", "second", "seconds", "segundos", "sekunden"},
    "milliseconds": {"ms", "msec", "millis", "milliseconds"},
    "minutes": {"min", "mins", "minutes"},
    "samples": {"sample", "samples", "frame", "frames", "row", "rows", "index", "idx"},
}
"""Words in the name of a column of times that tell its unit."""
LASTS_UNTIL_NEXT = "next"
"""Given in place of the column of ends if each stretch lasts until the next row."""
ASIDE = (*COMMENT, "\\")
"""Beginnings of lines that are no rows: comments, and frequencies in a label track."""
OF_JSON = (".json", ".jams")
OF_JSON_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class LabelFile:
    """A file of labels: its text, what JSON it is, its lines, and its table."""

    path: Path
    chosen: Mapping[str, str | None] = field(default_factory=dict)
    """Names of columns, in place of the usual ones, and whose labels are asked for."""
    recordings: Set[str] = frozenset()
    """Names of recordings that it may have labels of."""

    def __post_init__(self) -> None:
        for name in self.chosen:
            refuse_unlisted("the choice of labels", name, CHOSEN)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of columns that were chosen, by their roles."""
        return {key: name for key in LABEL_COLUMNS if (name := self.chosen.get(key)) is not None}

    @cached_property
    def kind(self) -> str:
        """The ending of its name, ``.json`` for all JSON, and ``.textgrid`` if its text is one."""
        is_grid = self.text.startswith('File type = "ooTextFile')
        ending = self.path.suffix.lower()
        return ".textgrid" if is_grid else ".json" if ending in OF_JSON + OF_JSON_LINES else ending

    @cached_property
    def text(self) -> str:
        """The decoded text; "" of a workbook."""
        if self.path.suffix.lower() in EXCEL:
            return ""
        try:
            return decoded(self.path.read_bytes(), where=self.path)[0].removeprefix("\ufeff")
        except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
            raise DataError(f"cannot be read: {error}") from error

    @cached_property
    def document(self) -> Any:
        """The parsed JSON, or the list of its lines; None of other files."""
        if self.kind != ".json":
            return None
        with suppress(ValueError):
            return json.loads(self.text)
        with suppress(ValueError):
            return [json.loads(line) for line in self.text.splitlines() if line.strip()]
        return None

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """The number of each line that is a row, and its text."""
        lines = enumerate(self.text.splitlines(), 1)
        return [(k, one) for k, one in lines if one.strip() and not one.startswith(ASIDE)]

    @property
    def has_header_aside(self) -> bool:
        """Whether a comment right above the first row names columns, as in files of MNE."""
        above = self.text.splitlines()[self.lines[0][0] - 2 : self.lines[0][0] - 1]
        cells = re.split(r"[\t;,]", above[0].lstrip("# ")) if above else []
        return len(cells) > 1 and "start" in columns_in([cell.strip() for cell in cells])

    @cached_property
    def separator(self) -> tuple[str | None, int]:
        """The separator of moments that begin rows, None for blanks, and the number of moments."""
        if (
            not self.lines
            or self.columns not in ({}, {"end": LASTS_UNTIL_NEXT})
            or self.has_header_aside
        ):
            return None, 0
        first = self.lines[0][1]
        cells = {one: cells_of(first, one) for one in CELL_SEPARATORS}
        separator = max(
            cells, key=lambda one: (leading(cells[one]), len(cells[one]) > leading(cells[one]))
        )
        n = leading(cells[separator])
        alike = [leading(cells_of(line, separator)) >= n for _, line in self.lines]
        return separator, n * (2 * sum(alike) >= len(alike))

    @cached_property
    def table(self) -> Any:
        """The cells of a table as texts, a pandas frame whose index are their lines."""
        frame, origin = read_frame(self.path, as_text=True)
        frame = frame.loc[:, ~frame.columns.duplicated(keep="last")]
        frame.index = list(map(origin.line, range(len(frame))))
        cells = frame.map(lambda value: uncell(str(value).strip()))
        are_read = [bool(name) or has_words(cells[name]) for name in cells]  # not numbers of rows
        return cells.loc[:, are_read]


def words_of(column: str) -> list[str]:
    """Return the words of the name of a column, in lower case and without accents."""
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", column) if not unicodedata.combining(c)
    )
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).lower())


def unit_of(column: str) -> str | None:
    """Return the unit in the name of a column, the first of ``UNITS`` if it has several."""
    words = words_of(column)
    if "".join(words) in ROLES:
        return None
    return next((unit for unit, names in UNITS.items() if not names.isdisjoint(words)), None)


def role_of(column: str) -> tuple[str, int] | None:
    """The role of a column by its name, such as start or label, and how unusual that name is."""
    words = [word for word in words_of(column) if word not in FILLERS]
    words_of_time = OF_TIME.union(*UNITS.values())
    rest = "".join(word for word in words if word not in words_of_time)
    role = ROLES.get("".join(words_of(column))) or ROLES.get("".join(words))
    role_in_time = ROLES.get(rest)
    is_time = bool(words) and (not rest or (role_in_time or ("",))[0] == "recording")
    if is_time and not words_of_time.isdisjoint(words):
        role_in_time = "change", len(ROLES)
    is_role = role_in_time is not None and role_in_time[0] not in ("label", "recording")
    return role or (role_in_time if is_role else None)


def columns_in(header: Sequence[str]) -> dict[str, str]:
    """The columns of a header by their roles; those of times are preferred to those of samples."""
    roles = []
    for j, column in enumerate(header):
        if (role := role_of(column)) is not None:
            unit = unit_of(column)
            words = words_of(column)
            is_time = unit in ("seconds", *LONG_UNITS) or not OF_TIME.isdisjoint(words)
            order = (unit == "milliseconds", unit == "samples", not is_time, role[1], len(words), j)
            roles.append((order, role[0], column))
    columns: dict[str, str] = {}
    for _, name, column in sorted(roles):
        columns.setdefault(name, column)
    if "duration" in columns:
        columns.setdefault("end", columns["duration"])
    return columns


def name_of(called: str) -> str:
    """Return the name of a file, with either slash in its path, without its suffix if no number."""
    path = PurePosixPath(called.replace("\\", "/"))
    return path.name if path.suffix[1:].isdigit() else path.stem


def has_words(cells: Any) -> bool:
    """Whether some cells are neither blank nor a moment."""
    return not all(map(is_moment, filter(None, cells.unique())))


CELL_SEPARATORS = ("\t", ";", ",", None)  # what separates cells, None for blanks
DATE_AND_TIME = re.compile(r"(\d[-/.]\d+) +(\d+:\d)")


def cells_of(line: str, separator: str | None, n: int = -1) -> list[str]:
    """The cells of a line; with blanks or tabs between them, n of them and the rest as one."""
    if separator is None:  # so that a date and its time stay together
        line = DATE_AND_TIME.sub(r"\1\0\2", line)
    if separator in ("\t", None):
        return [cell.strip().replace("\0", " ") for cell in line.split(separator, n)]
    rows = csv.reader([line], delimiter=str(separator), skipinitialspace=True)
    return [cell.strip() for cell in next(rows, [])]


def leading(cells: Sequence[str]) -> int:
    """How many moments begin a row: a start and perhaps an end."""
    return len([*takewhile(is_moment, cells[:2])])
