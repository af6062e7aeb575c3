"""Tables in text files: how columns are separated, numbers and letters written, bytes packed."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, DataWarning, warn
from structsvm.io.options import SPACES, USUAL, FileOptions
from structsvm.io.recording import listed, repeated_in
from structsvm.storage import limits
from structsvm.support.plain import counted, is_number_text

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip")
SEPARATORS = ("\t", ",", ";", "|")
CALLED = {"\t": "tabs", SPACES: "spaces"}
ROWS = 50
"""Of a file, that tell how it is written."""
CHUNK = 2**20
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""First bytes that tell an encoding."""
OF_A_MAC = "__MACOSX/"
"""The folder that a Mac puts into every archive, beside the files."""
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMMA_NUMBER = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
WHOLE_NUMBER = re.compile(r"\s*[-+]?[1-9]\d*\s*")
BELOW_THOUSAND = re.compile(r"\s*[-+]?[1-9]\d{0,2}\s*")
NAMED = 5
"""Lines that a message names."""
COMMENT = "#"
"""How a line begins that is none of the table."""
OF_EXCEL = re.compile(r'"?sep=."?\s*', re.IGNORECASE)
"""The first line of a text that tells Excel what separates its columns."""
THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")


def _lines(numbers: Sequence[int]) -> str:
    """Lines in words, as many as a message can hold."""
    more = f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else ""
    shown = ", ".join(map(str, numbers[:NAMED]))
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}{more}"


@dataclass(frozen=True)
class TextFormat:
    """How the table of a text file is written."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    comments: tuple[int, ...] = ()
    """The lines that are no rows because they begin with ``#``, counted from 1."""
    blank_end: bool = False
    """Whether lines at the end are no rows because they hold nothing but separators."""

    def __str__(self) -> str:
        """In words; nothing where it is as usual."""
        said = []
        if self.separator != ",":
            between = CALLED.get(self.separator, repr(self.separator))
            said.append(f"{between} between columns")
        if self.decimal != ".":
            said.append(f"{self.decimal!r} as the decimal mark")
        if self.encoding not in ("utf-8", "utf-8-sig"):
            said.append(f"the encoding {self.encoding}")
        if self.comments:
            said.append(f"{_lines(self.comments)} left out as comments")
        if self.blank_end:
            said.append("blank rows at the end left out")
        return ", ".join(said)

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
    """The text of a file that may be compressed, and how the table in it is written."""
    content = _content(path, options.max_bytes)
    text, encoding = decoded(path, content, options.encoding)
    if "\n" not in text:
        text = text.replace("\r", "\n")  # of a Macintosh, and of what is saved for one
    whole, text = text, _blanked(text, options.skip_lines)
    text, above = _without_comments_above(text, options)
    separator = options.separator or separator_in(text, options.decimal)
    below = _comments_below(text, separator)
    blank = _blank_at_the_end(text, separator)
    text = _blanked(text, (*below, *blank))
    _warn_about_values(path, whole, text, options.skip_lines, separator)
    decimal = options.decimal or decimal_of(path, text, separator)
    return text, TextFormat(separator, decimal, encoding, (*above, *below), bool(blank))


def _blanked(text: str, lines: Sequence[int]) -> str:
    """The text with these lines blank, which are no rows then, and the numbers of the others."""
    if not lines:
        return text
    found = text.split("\n")
    for line in lines:
        if line <= len(found):
            found[line - 1] = ""
    return "\n".join(found)


def _without_comments_above(text: str, options: FileOptions) -> tuple[str, list[int]]:
    """The text without the comments before its header, and their lines."""
    first = re.search(r"\S", text)
    if first is None or not (text.startswith(COMMENT, first.start()) or OF_EXCEL.match(text)):
        return text, []
    lines, above = text.split("\n"), []
    for k, line in enumerate(lines, 1):
        if line.startswith(COMMENT) or (k == 1 and OF_EXCEL.fullmatch(line)):
            above.append(k)
        elif line.strip():
            break
    if not above:
        return text, []
    last = lines[above[-1] - 1]
    header = last[len(COMMENT) :].strip() if last[len(COMMENT) :][:1].isspace() else last.strip()
    rest = "\n".join([header, *lines[above[-1] :]])
    rows = _head(rest, options.separator or separator_in(rest, options.decimal))[:2]
    named = last.startswith(COMMENT)
    if (
        named
        and len(rows) == 2
        and len(rows[0]) == len(rows[1])
        and any(map(is_number_text, rows[1]))
    ):
        lines[above.pop() - 1] = header
    return _blanked("\n".join(lines), above), above


def _comments_below(text: str, separator: str) -> list[int]:
    """The lines below the header that begin with ``#`` and do not have its number of columns."""
    if f"\n{COMMENT}" not in text:
        return []
    header = next(iter(_head(text, separator)), [])
    rows: Iterator[tuple[int, int, list[str]]]
    if separator == SPACES:
        rows = ((k, k, line.split()) for k, line in enumerate(text.split("\n"), 1))
    else:
        rows = _numbered_rows(text, separator)
    return [
        line
        for first, last, row in rows
        for line in range(first, last + 1)
        if row and row[0].startswith(COMMENT) and len(row) != len(header)
    ]


def _blank_at_the_end(text: str, separator: str) -> tuple[int, ...]:
    """The lines of separators alone after the last row, as Excel writes cells that were in use."""
    if separator == SPACES:
        return ()
    rest = text.rstrip(f"{separator} \r\n")
    first = rest.count("\n") + 2  # the line of the last value ends with what was cut off
    lines = text[len(rest) :].split("\n")[1:]
    return tuple(k for k, line in enumerate(lines, first) if separator in line)


def _warn_about_values(
    path: Path, whole: str, text: str, skipped: Sequence[int], separator: str
) -> None:
    """Warn of lines that are left out though they look like the first row of the table."""
    if not skipped:
        return
    first = [[is_number_text(value) for value in row] for row in _head(text, separator)[1:2]]
    lines, left = whole.split("\n"), text.split("\n")
    header = next((k for k, line in enumerate(left, 1) if line.strip()), 0)
    below = [line for line in skipped if header < line <= len(lines)]
    alike = [
        line
        for line in below
        for row in TextFormat(separator).rows(lines[line - 1])
        if any(map(is_number_text, row)) and [[is_number_text(value) for value in row]] == first
    ]
    if alike:
        warn(
            f"{path}: {_lines(alike)} left out, with values like those of the first row: if that "
            "is a sample, read all lines, skip_lines=()",
            DataWarning,
        )


def _numbered_rows(text: str, separator: str) -> Iterator[tuple[int, int, list[str]]]:
    """Rows of a text, each with its first and last line."""
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    before = 0
    for row in reader:
        yield before + 1, reader.line_num, row
        before = reader.line_num


def without_blanks(text: str, separator: str) -> str:
    """The text without blanks around the names in its header, which may not be in quotes."""
    if separator in (SPACES, "\t"):
        return text
    start = next((found.start() for found in re.finditer(r"\S", text)), 0)
    end = text.find("\n", start)
    header = text[start:] if end < 0 else text[start:end]
    names = separator.join(name.strip() for name in header.split(separator))
    if names == header.rstrip("\r") or '"' in header:
        return text
    return text[:start] + names + text[start + len(header) :]


def lines_of(text: str, separator: str, n_rows: int) -> NDArray[np.int64] | None:
    """The line of each row of a table, counted from 1; None where it is two more than the row."""
    if text.rstrip("\r\n").count("\n") == n_rows:
        return None
    if separator == SPACES:
        lines = [k for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    else:
        reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        lines = [reader.line_num for row in reader if len(row) > 1 or "".join(row).strip()]
    return np.array(lines[1:]) if len(lines) == n_rows + 1 else None


def check_rows(path: Path, text: str, written: TextFormat, suspicious: bool) -> None:
    """Refuse columns of one name, and rows that are shorter than the header."""
    rows = iter(written.rows(text))
    header = [name.strip() for name in next(rows, [])]
    repeated = [name for name in repeated_in(header) if name]
    if repeated:
        raise DataError(f"{path}: columns need different names, repeated: {listed(repeated)}")
    if not suspicious or written.separator == SPACES:
        return
    reader = csv.reader(io.StringIO(text), delimiter=written.separator, skipinitialspace=True)
    for row in reader:
        if row and len(row) < len(header):
            raise DataError(
                f"{path}: cannot be read: line {reader.line_num} has "
                f"{counted(len(row), 'column')} where "
                f"{len(header)} are expected"
            )


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
        if typed or marked or b"\0" in content:
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


def decimal_of(path: Path, text: str, separator: str, *, has_option: bool = True) -> str:
    """The decimal mark: a comma, if there are numbers with one and none with a point."""
    rows = _head(text, separator)[1:]
    values = [value for row in rows for value in row]
    if _some(COMMA_NUMBER, values) and not _some(POINT_NUMBER, values):
        _refuse_thousands(path, rows, ",", COMMA_NUMBER, has_option)
        return ","
    if separator == ";":  # of those who write the comma as the decimal mark
        _refuse_thousands(path, rows, ".", POINT_NUMBER, has_option)
    return "."


def refuse_thousands_in(path: Path, text: str, separator: str, columns: Sequence[int]) -> None:
    """Refuse columns in which just what is above a thousand has a point, before three digits."""
    last = max(columns)
    rows = TextFormat(separator).rows(text)
    cells = [[row[j] for j in columns] for row in rows if len(row) > last]
    _refuse_thousands(path, cells, ".", POINT_NUMBER, has_option=True)


def _refuse_thousands(
    path: Path,
    rows: Sequence[Sequence[str]],
    mark: str,
    number: re.Pattern[str],
    has_option: bool,
) -> None:
    """Refuse columns in which just what is above a thousand has a mark, before three digits."""
    for column in zip_longest(*rows, fillvalue=""):
        marked = [value for value in column if number.fullmatch(value)]
        whole = [value for value in column if WHOLE_NUMBER.fullmatch(value)]
        small = all(BELOW_THOUSAND.fullmatch(value) for value in whole)
        if marked and whole and small and all(THOUSANDS.fullmatch(value) for value in marked):
            way_out = f"say that it is the decimal mark, decimal={mark!r}"
            if not has_option:
                way_out = f"write {whole[0]}{mark}0, if it is the decimal mark"
            raise DataError(
                f"{path}: {marked[0]!r} stands beside {whole[0]!r} in one column, so that {mark!r} "
                f"may stand between thousands: leave it out there, or {way_out}"
            )


def _some(pattern: re.Pattern[str], values: Sequence[str]) -> bool:
    return any(pattern.fullmatch(value) for value in values)
