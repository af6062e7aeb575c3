"""Detection of packing, encoding, comments, separator and decimal mark of a text file.

This is the only place that guesses them; pandas reads the table.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from structsvm.errors import DataError
from structsvm.io.recording import SPACES, FileOptions, listed
from structsvm.support.archive import check_bytes
from structsvm.support.checks import is_number_text, some_of

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSIONS = (*OPENERS, ".zip")
SEPARATORS = ("\t", ",", ";", "|", SPACES)
CALLED = {"\t": "tabs", SPACES: "spaces"}
ROWS = 50  # of a file, that tell how it is written
UNITS = (1, 2)  # rows of units, and of whatever else a column has
CHUNK = 2**20
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""First bytes of text in some encodings."""
OF_A_MAC = "__MACOSX/"  # the folder that a Mac puts into every archive, beside the files
COMMA_NUMBER = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
WHOLE_NUMBER = re.compile(r"\s*[-+]?[1-9]\d*\s*")
BELOW_THOUSAND = re.compile(r"\s*[-+]?[1-9]\d{0,2}\s*")
THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")
MISSING_WORDS = {
    *("", "-", "--", "---", "?", ".", "*", "na", "n.a.", "n/a", "nan", "nd", "n.d.", "none"),
    *("null", "nil", "missing", "unknown", "invalid", "#n/a", "#na", "#null!", "#value!"),
    *("#div/0!", "#num!", "#ref!", "1.#qnan", "-1.#ind", "<na>", "nat"),
}
"""Words that stand for a missing value in a column of numbers, in lower case."""
COMMENT = ("#", '"#')  # how lines begin that are none of the table
OF_EXCEL = re.compile(r'"?sep=."?\s*', re.IGNORECASE)
"""The first line of a text that tells Excel what separates its columns."""


@dataclass(frozen=True)
class TextFormat:
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    left_out: tuple[int, ...] = ()
    """Lines that are no rows: comments, a title above the header, units below it; from 1."""
    beginning: str = ""  # what the first of them says

    def __str__(self) -> str:
        odd = {
            f"{self.between} between columns": self.separator != ",",
            f"{self.decimal!r} as the decimal mark": self.decimal != ".",
            f"the encoding {self.encoding}": self.encoding not in ("utf-8", "utf-8-sig"),
            f"line {some_of(list(map(str, self.left_out)))} left out": bool(self.left_out),
        }
        return ", ".join(words for words, is_odd in odd.items() if is_odd)

    @property
    def between(self) -> str:
        return CALLED.get(self.separator, repr(self.separator))

    def rows(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the last line, and the cells, of each row that is not blank."""
        if self.separator == SPACES:
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    yield number, line.split()
            return
        reader = csv.reader(io.StringIO(text), delimiter=self.separator, skipinitialspace=True)
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield reader.line_num, row


def kind_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSIONS and suffixes[-2] in TEXT_KINDS:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def stem_of(path: Path) -> str:
    """Return the name of a file without suffixes of its kind."""
    stem = path.stem
    return Path(stem).stem if path.suffix.lower() in COMPRESSIONS else stem


def read_text(path: Path, options: FileOptions, sheet: str | None = None) -> tuple[str, TextFormat]:
    """Read a text, with blank lines for those that are no rows, and find its format.

    The text of a sheet has been read, with commas between columns.
    """
    if sheet is None:
        text, encoding = decoded(_content(path, options.max_bytes), options.encoding)
    else:
        text, encoding, options = sheet, "utf-8", replace(options, separator=",")
    lines = ["" if k in options.skip_lines else line for k, line in enumerate(text.split("\n"), 1)]
    if OF_EXCEL.fullmatch(lines[0]):
        lines[0] = ""
    whole = list(lines)
    _blank_comments_above(lines, options)
    rest = "\n".join(lines)
    separator = separator_in(rest, options)
    for k in lines_beside(_head(rest, separator)):
        lines[k - 1] = ""
    header = next(iter(_head("\n".join(lines), separator)), (0, []))[1]
    for k, line in enumerate(lines):
        if line.startswith(COMMENT) and len(_head(line, separator)[0][1]) != len(header):
            lines[k] = ""
    left_out = [k for k, line in enumerate(lines) if whole[k] and not line]
    nothing = " " if separator == SPACES else f"{separator} "
    while lines and not lines[-1].strip(nothing):  # as Excel writes cells that were in use
        lines.pop()
    text = "\n".join([*lines, ""])
    cells = [cell for _, row in _head(text, separator)[1:] for cell in row]
    has_comma, has_point = (any(map(one.fullmatch, cells)) for one in (COMMA_NUMBER, POINT_NUMBER))
    decimal = options.decimal or ("," if has_comma and not has_point else ".")
    beginning = whole[left_out[0]] if left_out else ""
    numbers = tuple(k + 1 for k in left_out)
    return text, TextFormat(separator, decimal, encoding, numbers, beginning)


def _blank_comments_above(lines: list[str], options: FileOptions) -> None:
    """Blank the comments above the header, which the last of them may be."""
    first = next((k for k, one in enumerate(lines) if one and not one.startswith(COMMENT)), 0)
    above = [k for k in range(first) if lines[k]]
    if not above:
        return
    header = lines[above[-1]].removeprefix("# ").strip()  # numpy writes a blank behind the mark
    rest = "\n".join([header, *lines[first:]])
    rows = [row for _, row in _head(rest, separator_in(rest, options))[:2]]
    for k in above:
        lines[k] = ""
    if len(rows) == 2 and len(rows[0]) == len(rows[1]) and any(map(is_number_text, rows[1])):
        lines[above[-1]] = header


def _content(path: Path, max_bytes: int | None) -> bytes:
    suffix, size = path.suffix.lower(), path.stat().st_size
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            there = [info for info in archive.infolist() if not info.is_dir()]
            members = [info for info in there if not info.filename.startswith(OF_A_MAC)]
            if len(members) != 1:
                names = listed([info.filename for info in members], 3)
                raise DataError(f"an archive of one table is read, it holds {names}")
            check_bytes(members[0].file_size, size, max_bytes)
            return archive.read(members[0])
    if suffix not in OPENERS:
        return path.read_bytes()
    content = bytearray()
    with OPENERS[suffix](path, "rb") as file:
        while part := file.read(CHUNK):
            content += part
            check_bytes(len(content), size, max_bytes)
    return bytes(content)


def decoded(content: bytes, typed: str | None = None) -> tuple[str, str]:
    """Decode a text, with plain ends of lines; return also the encoding."""
    marked = [name for mark, name in MARKS.items() if content.startswith(mark)]
    # five bytes are no letter in cp1252
    encodings = [typed] if typed else marked or ["utf-8", "cp1252", "latin-1"]
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if "\0" not in text:  # as in text whose letters take 16 bits
                return text.replace("\r\n", "\n").replace("\r", "\n"), encoding
    raise DataError(
        f"cannot be read: it is no text in {encodings[0]}: name its encoding, "
        "encoding='utf-16-le', say"
    )


def _head(text: str, separator: str) -> list[tuple[int, list[str]]]:
    try:
        return list(islice(TextFormat(separator).rows(text[:CHUNK]), ROWS))
    except csv.Error:  # a quoted text that does not end
        return []


def lines_beside(head: Sequence[tuple[int, Sequence[str]]]) -> list[int]:
    """Return the lines of a title above the header of a table, and of units below it.

    A title has fewer cells than the header, which holds no number, and all below are as wide, with
    numbers in a column at least.
    """
    numbers, rows = zip(*head, strict=True) if head else ((), ())
    for h, header in enumerate(rows):
        above, below, names = rows[:h], rows[h + 1 :], [name.strip() for name in header]
        unnamed = [j for j, name in enumerate(names) if j and not name]  # the first may be an index
        if any(len(row) != len(names) or any(row[j].strip() for j in unnamed) for row in below):
            continue
        is_header = not any(map(is_number_text, names))
        body = below[len(UNITS) :] or below
        n_names, is_table = sum(map(bool, names)), any(map(_are_numbers, zip(*body, strict=True)))
        widest = max((sum(map(bool, row)) for row in above), default=0)
        if above and not (is_header and is_table and widest < n_names):
            continue
        n_units = max(
            (k for k in UNITS if all(_are_units([row, *below[k:]]) for row in below[:k])), default=0
        )
        return [*numbers[:h], *numbers[h + 1 : h + 1 + n_units * is_header]]
    return []


def _are_units(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has words, and no number, wherever all others have numbers."""
    cells = []
    for first, *others in zip(*rows, strict=True):
        if _are_numbers(others):
            cells.append(first)
    words = [cell for cell in cells if cell.strip().lower() not in MISSING_WORDS]
    return len(rows) > 2 and bool(words) and not any(map(is_number_text, cells))


def _are_numbers(column: Sequence[str]) -> bool:
    known = [x for x in column if x.strip().lower() not in MISSING_WORDS]
    return bool(known) and all(map(is_number_text, known))


def separator_in(text: str, options: FileOptions) -> str:
    """Return the separator that was named, or gives the header, and the rows, most columns."""
    if options.separator is not None:
        return options.separator
    lines = text[:CHUNK].splitlines()[1:ROWS]
    best, most = ";" if any(map(COMMA_NUMBER.fullmatch, lines)) else ",", 1
    for separator in SEPARATORS:
        if separator == options.decimal or (separator == SPACES and most > 1):
            continue
        head = _head(text, separator)
        beside = lines_beside(head)
        rows = [row for line, row in head if line not in beside]
        n = len(rows[0]) if rows else 0
        alike = separator != SPACES or all(len(row) == n for row in rows[1:])
        if n > most and alike and (len(rows) == 1 or max(map(len, rows[1:])) >= n):
            best, most = separator, n
    return best


def refuse_thousands(rows: Iterable[Sequence[str]], written: TextFormat) -> None:
    """Refuse a column in which only numbers from 1000 on have a mark, before three digits."""
    mark = written.decimal
    if mark == "." and written.separator != ";":
        return
    for column in zip_longest(*rows, fillvalue=""):
        marked = [value for value in column if mark in value]
        if not (marked and all(map(THOUSANDS.fullmatch, marked))):
            continue
        whole = [value for value in column if WHOLE_NUMBER.fullmatch(value)]
        if whole and all(map(BELOW_THOUSAND.fullmatch, whole)):
            raise DataError(
                f"{marked[0]!r} stands beside {whole[0]!r} in one column, so that {mark!r} "
                "may stand between thousands: leave it out there; if it is the decimal mark, write "
                f"{whole[0]}{mark}0, or say decimal={mark!r}"
            )
