"""How files are read: one object from the caller to every reader, and what is found out.

This is the only place that guesses how the table in a text file is written: its packing, encoding,
comments, separator and decimal mark. pandas reads what was found out.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from structsvm.errors import DataError, SettingsError
from structsvm.io.recording import listed
from structsvm.storage import limits
from structsvm.support.checks import is_whole
from structsvm.support.plain import is_number_text, some_of

SPACES = r"\s+"  # what separates columns that stand below each other; pandas reads it so
TYPED = {"tab": "\t", "\\t": "\t", "space": SPACES, "spaces": SPACES, " ": SPACES}
"""Separators as they may be typed."""
SEQUENCES = ("missing_labels", "features", "ignore", "skip_lines")
TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip")
SEPARATORS = ("\t", ",", ";", "|")
CALLED = {"\t": "tabs", SPACES: "spaces"}
ROWS = 50  # of a file, that tell how it is written
CHUNK = 2**20
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""First bytes that tell an encoding."""
OF_A_MAC = "__MACOSX/"  # the folder that a Mac puts into every archive, beside the files
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMMA_NUMBER = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
WHOLE_NUMBER = re.compile(r"\s*[-+]?[1-9]\d*\s*")
BELOW_THOUSAND = re.compile(r"\s*[-+]?[1-9]\d{0,2}\s*")
THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")
NAMED = 5  # lines that a message names
COMMENT = "#"  # how a line begins that is none of the table
OF_EXCEL = re.compile(r'"?sep=."?\s*', re.IGNORECASE)
"""The first line of a text that tells Excel what separates its columns."""


@dataclass(frozen=True)
class FileOptions:
    r"""What :func:`read_recordings` and its like are told of files, by keyword.

    Examples
    --------
    >>> from structsvm.io import FileOptions
    >>> FileOptions(time_column="t", separator="tab").separator
    '\t'
    """

    label_column: str | None = "label"
    """Column of tables; None if there are no labels."""
    time_column: str | None = None
    """Column of tables that is no feature, and is kept as ``time``."""
    recording_column: str | None = None
    """Column of tables that says of which recording a row is: each of its values is a recording,
    whose rows are sorted by the time column if there is one (see also :func:`from_long`)."""
    chunk_column: str | None = None
    """Column of tables with numbers of rows that belong together."""
    labels_are: str | None = None
    """"states" are the labels of samples, and a segment ends where they change; "changes" are 1 at
    the first sample of every new segment and 0 elsewhere. None takes labels for states, and is an
    error where they look like changes."""
    need_labels: bool = True
    """Whether a recording without labels is an error."""
    blanks: bool = False
    """Whether labels in tables may be blank: they are the number -1 then, beside the others."""
    missing_labels: Sequence[str] = ()
    """Labels that mean none, besides a blank: ("NA",), say. Without it "NA", "None", "null" and
    "nan" are classes like others."""
    features: Sequence[str] = ()
    """Columns that are read alone."""
    ignore: Sequence[str] = ()
    """Columns that are left out."""
    missing: str = "error"
    """What is done about missing values: "error" says where they are; "interpolate" puts those
    between them that are before and after them, in time if that is known; "mask" leaves them NaN,
    for ``ChangePoint(missing="mask")``. A warning says where they are."""
    separator: str | None = None
    """"," or ";" or "tab" or "space" between columns of text; found out by default, as the next
    two; ``origin.format`` of a recording says what was found."""
    decimal: str | None = None
    """"." or "," in numbers of text."""
    encoding: str | None = None
    """Of text."""
    skip_lines: Sequence[int] = ()
    """Lines of text files and sheets that are left out, counted from 1: a title above the header,
    or units below it. Comments, which begin with ``#``, are left out anyway."""
    stream: str | None = None
    """"audio", "video" or "both" of files of sound and moving pictures; what there is by
    default."""
    max_bytes: int | None = None
    """What a file may take in memory, which ``.npz`` and ``.parquet`` files tell before they are
    read. By default 256 MiB or 100 times the size of the file, whichever is more."""
    optional: frozenset[str] = frozenset()
    """Columns of those above that a table may lack."""
    in_order: bool = True
    """Whether rows follow each other in time, so that values can be put between them."""

    def __post_init__(self) -> None:
        """Refuse what no file can have."""
        for name in SEQUENCES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        separator = self.separator and TYPED.get(self.separator, self.separator)
        is_one = separator in (None, SPACES) or len(separator) == 1
        is_mark = self.decimal in (None, ".", ",") and separator != (self.decimal or "")
        if not (is_one and is_mark):
            raise SettingsError(
                "separator must be one letter, 'tab' or 'space', and decimal another one, '.' or "
                f"',', got {self.separator!r} and {self.decimal!r}"
            )
        object.__setattr__(self, "separator", separator)
        wrong = [line for line in self.skip_lines if not is_whole(line) or line < 1]
        if wrong:
            raise SettingsError(f"lines to skip are counted from 1, got {wrong[0]!r}")

    @property
    def roles(self) -> tuple[str | None, ...]:
        """The columns that are no features."""
        return self.label_column, self.time_column, self.chunk_column, self.recording_column

    def chosen(self, path: Path, there: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
        """The features among the columns that are nothing else; ``wanted`` are enough.

        Raises
        ------
        DataError
            If a column that is named is not there.
        """
        known: Any = set(there)
        for option, names in (("features", self.features), ("ignore", self.ignore)):
            strangers = [name for name in names if name not in known]
            if strangers:
                raise DataError(
                    f"{path}: {option} names {listed(strangers)}, which it has no column of; its "
                    f"features are {listed(list(there))}"
                )
        if wanted and set(wanted) <= known:
            return tuple(wanted)
        ignored = set(self.ignore)
        return tuple(name for name in dict.fromkeys(self.features or there) if name not in ignored)


USUAL = FileOptions()


@dataclass(frozen=True)
class TextFormat:
    """How the table of a text file is written."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    comments: tuple[int, ...] = ()
    """The lines that are no rows because they begin with ``#``, counted from 1."""

    def __str__(self) -> str:
        """In words; nothing where it is as usual."""
        said = []
        if self.separator != ",":
            said.append(f"{self.between} between columns")
        if self.decimal != ".":
            said.append(f"{self.decimal!r} as the decimal mark")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            said.append(f"the encoding {self.encoding}")
        if self.comments:
            lines = "line" if len(self.comments) == 1 else "lines"
            numbers = some_of(list(map(str, self.comments)), NAMED)
            said.append(f"{lines} {numbers} left out as comments")
        return ", ".join(said)

    @property
    def between(self) -> str:
        """What separates columns, in words."""
        return CALLED.get(self.separator, repr(self.separator))

    def rows(self, text: str) -> Iterable[list[str]]:
        """The rows of a text as lists of texts, without blank lines."""
        if self.separator == SPACES:
            return (line.split() for line in text.splitlines() if line.strip())
        reader = csv.reader(io.StringIO(text), delimiter=self.separator, skipinitialspace=True)
        return (row for row in reader if row)


def kind_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSIONS and suffixes[-2] in TEXT_KINDS:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def stem_of(path: Path) -> str:
    """The name of a file without what tells its kind."""
    stem = path.stem
    return Path(stem).stem if path.suffix.lower() in COMPRESSIONS else stem


def read_text(path: Path, options: FileOptions = USUAL) -> tuple[str, TextFormat]:
    """The text of a file, blank in the lines that are no rows, and how its table is written."""
    text, encoding = decoded(path, _content(path, options.max_bytes), options.encoding)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # of a Macintosh, and of what is saved for one
    lines = text.split("\n")
    for line in options.skip_lines:
        if line <= len(lines):
            lines[line - 1] = ""
    comments = _blank_comments_above(lines, options)
    text = "\n".join(lines)
    separator = options.separator or separator_in(text, options.decimal)
    header = next(iter(_head(text, separator)), [])
    for k, below in enumerate(lines):
        if below.startswith(COMMENT):
            cells = next(iter(TextFormat(separator).rows(below)), [])
            if len(cells) != len(header):
                lines[k] = ""
                comments.append(k + 1)
    nothing = " \r" if separator == SPACES else f"{separator} \r"
    while lines and not lines[-1].strip(nothing):  # as Excel writes cells that were in use
        lines.pop()
    text = "\n".join([*lines, ""])
    decimal = options.decimal or decimal_of(text, separator)
    return text, TextFormat(separator, decimal, encoding, tuple(comments))


def _blank_comments_above(lines: list[str], options: FileOptions) -> list[int]:
    """Blank the comments before the header, unless the last is the header; the lines that were."""
    above = []
    for k, line in enumerate(lines):
        if line.startswith(COMMENT) or (k == 0 and OF_EXCEL.fullmatch(line)):
            above.append(k)
        elif line.strip():
            break
    if not above:
        return []
    last = lines[above[-1]]
    header = last[len(COMMENT) :].strip() if last[len(COMMENT) :][:1].isspace() else last.strip()
    rest = "\n".join([header, *lines[above[-1] + 1 :]])
    rows = _head(rest, options.separator or separator_in(rest, options.decimal))[:2]
    for k in above:
        lines[k] = ""
    is_header = last.startswith(COMMENT) and len(rows) == 2 and len(rows[0]) == len(rows[1])
    if is_header and any(map(is_number_text, rows[1])):
        lines[above.pop()] = header
    return [k + 1 for k in above]


def _content(path: Path, max_bytes: int | None) -> bytes:
    """The bytes of a file, unpacked; no more of them than are allowed."""
    suffix, size = path.suffix.lower(), path.stat().st_size
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [
                info
                for info in archive.infolist()
                if not (info.is_dir() or info.filename.startswith(OF_A_MAC))
            ]
            if len(members) != 1:
                names = listed([info.filename for info in members], 3)
                raise DataError(f"{path}: an archive of one table is read, it holds {names}")
            limits.check_bytes(members[0].file_size, size, max_bytes)
            return archive.read(members[0])
    if suffix not in OPENERS:
        return path.read_bytes()
    parts, total = [], 0
    with OPENERS[suffix](path, "rb") as file:
        while part := file.read(CHUNK):
            parts.append(part)
            total += len(part)
            limits.check_bytes(total, size, max_bytes)
    return b"".join(parts)


def decoded(path: Path, content: bytes, typed: str | None = None) -> tuple[str, str]:
    """The text, and its encoding: the one that was typed, that of its mark, UTF-8, or Western."""
    marked = next((name for mark, name in MARKS if content.startswith(mark)), None)
    encoding = typed or marked or "utf-8"
    if encoding == "utf-8" and b"\0" in content:
        raise DataError(
            f"{path}: cannot be read: byte {content.index(0)} is zero, as in text whose letters "
            "take 16 bits: name its encoding, encoding='utf-16-le' or encoding='utf-16-be'"
        )
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        if typed or marked:
            raise DataError(
                f"{path}: cannot be read: it is not in {encoding.upper()} (byte {error.start} is "
                f"{content[error.start]:#04x}): name another encoding, encoding="
            ) from error
    try:
        return content.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:  # five bytes are no letter there
        return content.decode("latin-1"), "latin-1"


def _head(text: str, separator: str) -> list[list[str]]:
    """The first rows, the header among them."""
    try:
        return list(islice(TextFormat(separator).rows(text[:CHUNK]), ROWS))
    except csv.Error:  # a quoted text that does not end
        return []


def separator_in(text: str, decimal: str | None = None) -> str:
    """The one that takes the header apart into most columns, and the rows into as many."""
    best, most = ",", 1
    for separator in (*SEPARATORS, SPACES):
        if separator == decimal or (separator == SPACES and most > 1):
            continue
        rows = _head(text, separator)
        n = len(rows[0]) if rows else 0
        alike = separator != SPACES or all(len(row) == n for row in rows[1:])
        if n > most and alike and (len(rows) == 1 or max(map(len, rows[1:])) > 1):
            best, most = separator, n
    return best


def decimal_of(text: str, separator: str) -> str:
    """The decimal mark: a comma, if there are numbers with one and none with a point."""
    values = [value for row in _head(text, separator)[1:] for value in row]
    has_point = any(map(POINT_NUMBER.fullmatch, values))
    return "," if not has_point and any(map(COMMA_NUMBER.fullmatch, values)) else "."


def refuse_thousands(path: Path, column: Sequence[str], mark: str, option: str = "") -> None:
    """Refuse a column in which just what is above a thousand has a mark, before three digits."""
    number = COMMA_NUMBER if mark == "," else POINT_NUMBER
    marked = [value for value in column if number.fullmatch(value)]
    whole = [value for value in column if WHOLE_NUMBER.fullmatch(value)]
    if not (marked and whole):
        return
    if all(map(BELOW_THOUSAND.fullmatch, whole)) and all(map(THOUSANDS.fullmatch, marked)):
        raise DataError(
            f"{path}: {marked[0]!r} stands beside {whole[0]!r} in one column, so that {mark!r} may "
            "stand between thousands: leave it out there; if it is the decimal mark, write "
            f"{whole[0]}{mark}0{option}"
        )
