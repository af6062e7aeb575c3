"""Detection of compression, encoding, comments, separator and decimal mark of a text file.

They are guessed in no other module; pandas reads the table.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile, zip_longest
from pathlib import Path
from typing import Any

from structsvm.errors import DataError, DataWarning, parameter, without_warnings
from structsvm.io.decoding import decoded, is_text
from structsvm.io.header import Layout, are_closed, are_numbers, layout_of
from structsvm.io.recording import BLANKS_BETWEEN, FileOptions
from structsvm.support import check_bytes, is_number_text, listed, some_of

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
EXCEL = (".xlsx",)
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSIONS = (*OPENERS, ".zip")
SEPARATORS = ("\t", ",", ";", "|", BLANKS_BETWEEN)
CLOSING = (";", ",", "|")  # marks that may end each line
TIMES_MORE_CLOSED = 10  # for each line in which such a mark stands elsewhere, it ends so many
CALLED = {"\t": "tabs", BLANKS_BETWEEN: "spaces"}
ROWS_LOOKED_AT = 50  # of a file, by which its format is detected
BYTES_OF_HEAD = 2**13  # bytes of a file by which a table is recognised
SEVERAL_LINES = 10  # lines that these bytes should hold: more are read if they do not
MOST_ABOVE = 500  # lines that a device may write above its table
LINES_OF_WEKA = 10_000  # the data of Weka's .arff files begin within so many lines
QUOTES = "'\""
BYTES_AT_ONCE = 2**20
OF_A_MAC = "__MACOSX/"  # a folder that Macs add to archives
COMMA_NUMBER = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
WHOLE_NUMBER = re.compile(r"\s*[-+]?[1-9]\d*\s*")
BELOW_THOUSAND = re.compile(r"\s*[-+]?[1-9]\d{0,2}\s*")
THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")
COMMENT = ("#", '"#', "%")  # beginnings of lines that are no rows
BETWEEN_BLANKS = re.compile(r'"[^"]*"|\S+')
OF_EXCEL = re.compile(r'"?sep=."?\s*', re.IGNORECASE)
"""A first line that tells Excel the separator."""
OF_WEKA = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{]+)""", re.IGNORECASE)
"""The beginning of a line that names a column, above the data of Weka's .arff."""


@dataclass(frozen=True)
class TextFormat:
    """The format of a text file with a table."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    left_out: tuple[int, ...] = ()
    """Numbers of lines, from 1, that are no rows: comments, titles, units, repeated headers."""
    beginning: str = ""  # the text of the first of these lines
    names: tuple[str, ...] = ()  # names of the columns, if they are no single row of the text
    has_header: bool = True  # whether the first row names columns

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
        """The separator in words."""
        return CALLED.get(self.separator, repr(self.separator))

    def rows(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the last line, and the cells, of each row that is not blank."""
        if self.separator == BLANKS_BETWEEN:
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    yield number, [cell.strip('"') for cell in BETWEEN_BLANKS.findall(line)]
            return
        reader = csv.reader(io.StringIO(text), delimiter=self.separator, skipinitialspace=True)
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield reader.line_num, row


def kind_of(path: Path) -> str:
    """The ending of the name of a file in lower case; of a compressed text, that of the text."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSIONS and suffixes[-2] in TEXT_KINDS:
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def stem_of(path: Path) -> str:
    """Return the name of a file without its ending, and without that of a compressed file."""
    stem = path.stem
    return Path(stem).stem if path.suffix.lower() in COMPRESSIONS else stem


def first_line(path: Path) -> bytes:
    """The first line of a file; nothing if it cannot be read."""
    return _beginning_of(path).partition(b"\n")[0]


def first_rows(path: Path) -> list[Sequence[str]]:
    """The header of a text file, if it has one, and its first rows; none of any other file."""
    head = _beginning_of(path)
    with without_warnings(DataWarning), suppress(DataError):
        if is_text(head):
            lines, separator, layout = _laid_out(decoded(head)[0], FileOptions())
            kept = [line for k, line in enumerate(lines, 1) if k not in layout.below]
            return [row for _, row in _head("\n".join(kept), separator)]
    return []


def _beginning_of(path: Path) -> bytes:
    """The first whole lines of a file, decompressed."""
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            head = bytes(file.read(BYTES_OF_HEAD))
            if len(head) == BYTES_OF_HEAD and head.count(b"\n") < SEVERAL_LINES:
                head += file.read(BYTES_AT_ONCE)
    except (OSError, EOFError, lzma.LZMAError):
        return b""
    is_cut = len(head) in (BYTES_OF_HEAD, BYTES_OF_HEAD + BYTES_AT_ONCE)
    return head[: head.rfind(b"\n") + 1] if is_cut else head


def holds_table(path: Path) -> bool:
    """Whether a file is text with rows of numbers, whatever it is called."""
    rows = first_rows(path)
    is_table = len(rows) > 1 and len({*map(len, rows)}) == 1
    return is_table and any(map(are_numbers, zip(*rows[1:], strict=True)))


def read_text(path: Path, options: FileOptions, sheet: str | None = None) -> tuple[str, TextFormat]:
    """Read a text, or that of a sheet, with lines that are no rows blanked, and find its format."""
    if sheet is None:
        text, encoding = decoded(_content(path, options.max_bytes), options.encoding, path)
    else:
        text = sheet
        encoding = "utf-8"
        options = replace(options, separator=",")
    whole = text.split("\n")
    lines, separator, layout = _laid_out(text, options)
    untold = {*options.skip_lines, *([1] if OF_EXCEL.fullmatch(whole[0]) else [])}
    left_out = [
        k for k, line in enumerate(lines, 1) if whole[k - 1] and not line and k not in untold
    ]
    for k in layout.below:
        lines[k - 1] = ""
    nothing = " " if separator == BLANKS_BETWEEN else f"{separator} "
    while lines and not lines[-1].strip(nothing):  # as Excel writes cells that were emptied
        lines.pop()
    text = "\n".join([*lines, ""])
    cells = list(chain.from_iterable(row for _, row in _head(text, separator)[layout.has_header :]))
    has_comma, has_point = (any(map(one.fullmatch, cells)) for one in (COMMA_NUMBER, POINT_NUMBER))
    decimal = options.decimal or ("," if has_comma and not has_point else ".")
    beginning = whole[left_out[0] - 1] if left_out else ""
    header = layout.names, layout.has_header
    return text, TextFormat(separator, decimal, encoding, tuple(left_out), beginning, *header)


def _laid_out(text: str, options: FileOptions) -> tuple[list[str], str, Layout]:
    """The lines of a text, those blanked that are no rows; its separator and its layout."""
    lines = ["" if k in options.skip_lines else line for k, line in enumerate(text.split("\n"), 1)]
    if OF_EXCEL.fullmatch(lines[0]):
        lines[0] = ""
    _name_as_weka(lines)
    _blank_comments_above(lines, options)
    _blank_preamble(lines, options)
    lines = _without_closing_marks(lines)
    separator = separator_in("\n".join(lines), options)
    layout = layout_of(_head("\n".join(lines), separator))
    for k in layout.left_out:
        lines[k - 1] = ""
    rows = [row for _, row in _head("\n".join(lines), separator)]
    header = rows[0] if rows else []
    if layout.has_header and any(map(is_number_text, chain.from_iterable(rows[1:]))):
        _blank_repeated_header(lines)  # among words alone it may be a row without a header
    for k, line in enumerate(lines):
        if line.startswith(COMMENT) and len(_head(line, separator)[0][1]) != len(header):
            lines[k] = ""
    return lines, separator, layout


def _blank_repeated_header(lines: list[str]) -> None:
    """Blank lines that equal the first row, the header, as in files that were joined."""
    first = next((k for k, line in enumerate(lines) if line), 0)
    for k in range(first + 1, len(lines)):
        if lines[k] == lines[first]:
            lines[k] = ""


def _name_as_weka(lines: list[str]) -> None:
    """Replace the line above the data of an .arff file by the names that are declared there."""
    head = (line.strip().lower() for line in lines[:LINES_OF_WEKA])
    data = next((k for k, line in enumerate(head) if line == "@data"), 0)
    matches = [OF_WEKA.match(line.strip()) for line in lines[:data]]
    if names := [declared[1] for declared in matches if declared]:
        lines[:data] = [""] * data
        lines[data] = ",".join(f'"{name.strip(QUOTES)}"' for name in names)


def _blank_comments_above(lines: list[str], options: FileOptions) -> None:
    """Blank the comments above the first row, but for the last one if it is the header."""
    first = next((k for k, one in enumerate(lines) if one and not one.startswith(COMMENT)), 0)
    above = [k for k in range(first) if lines[k]]
    if not above:
        return
    header = lines[above[-1]].removeprefix("# ").removeprefix("% ").strip()  # as numpy writes it
    rest = "\n".join([header, *lines[first:]])
    rows = [row for _, row in _head(rest, separator_in(rest, options))[:2]]
    for k in above:
        lines[k] = ""
    if len(rows) == 2 and len(rows[0]) == len(rows[1]) and any(map(is_number_text, rows[1])):
        lines[above[-1]] = header


def _blank_preamble(lines: list[str], options: FileOptions) -> None:
    """Blank what a device writes above its table: all before the first row as wide as the last."""
    last = [line for line in lines[-2 * SEVERAL_LINES :] if line.strip()]
    last = last[-SEVERAL_LINES:-1]  # the very last one may have been cut
    first = next(filter(str.strip, lines), "")
    if len({(len(line.split()), *map(line.count, SEPARATORS)) for line in (first, *last)}) == 1:
        return  # as of most tables, which need no further look
    end = "\n".join(last)
    text = "\n".join(lines)
    separator = separator_in(text, options)
    if _widths(_head(end, separator)) == _widths(_head(text, separator)[:1]) != {1}:
        return  # the first row is as wide as the last ones
    separator = separator_in(end, options)
    widths = _widths(_head(end, separator))
    head = _head(text, separator, MOST_ABOVE)
    above = list(takewhile(lambda numbered: len(numbered[1]) not in widths, head))
    body = head[len(above) : -1][:ROWS_LOOKED_AT]
    if len(widths) != 1 or widths == {1} or not above or _widths(body) != widths:
        return
    rows = [row for _, row in above]
    if len(rows[-1]) + 1 in widths and are_closed([row for _, row in body]):
        above.pop()  # a header, which has no mark at the end
    elif len(rows[-1]) + 1 in widths or _are_table(rows, max(widths)):
        return
    if above:
        lines[: above[-1][0]] = [""] * above[-1][0]


def _are_table(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether rows above those of a width are a header, or one with rows of its own below."""
    if any(map(is_number_text, rows[0])) or len({*map(len, rows)}) > 1:
        return False
    own = list(zip(*rows[1:], strict=True))
    return len(rows[0]) > width if not own else any(map(are_numbers, own))


def _widths(rows: Sequence[tuple[int, Sequence[str]]]) -> set[int]:
    """The numbers of cells of rows."""
    return {len(row) for _, row in rows}


def _content(path: Path, max_bytes: int | None) -> bytes:
    """The content of a file, decompressed."""
    suffix = path.suffix.lower()
    size = path.stat().st_size
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            files = [info for info in archive.infolist() if not info.is_dir()]
            members = [info for info in files if not info.filename.startswith(OF_A_MAC)]
            if len(members) != 1:
                names = listed([info.filename for info in members], 3)
                raise DataError(f"an archive of one table is read, it holds {names}")
            check_bytes(members[0].file_size, size, max_bytes)
            return archive.read(members[0])
    if suffix not in OPENERS:
        return path.read_bytes()
    content = bytearray()
    with OPENERS[suffix](path, "rb") as file:
        while part := file.read(BYTES_AT_ONCE):
            content += part
            check_bytes(len(content), size, max_bytes)
    return bytes(content)


def _without_closing_marks(lines: list[str]) -> list[str]:
    """Leave out a mark that ends most lines and hardly stands elsewhere."""
    head = [line.rstrip() for line in islice(filter(str.strip, lines), ROWS_LOOKED_AT)]
    for mark in CLOSING:
        closed = sum(line.endswith(mark) and line.count(mark) == 1 for line in head)
        others = sum(mark in line for line in head) - closed
        if len(head) > 1 and 2 * closed >= len(head) and closed >= TIMES_MORE_CLOSED * others:
            return [line.rstrip().removesuffix(mark) for line in lines]
    return lines


def _head(text: str, separator: str, n: int = ROWS_LOOKED_AT) -> list[tuple[int, list[str]]]:
    """The first rows of a text, each with the number of its last line."""
    try:
        return list(islice(TextFormat(separator).rows(_beginning(text)), n))
    except csv.Error:  # a quoted text that does not end
        return []


def _beginning(text: str) -> str:
    """The first whole lines of a text, at least one."""
    end = text.rfind("\n", 0, BYTES_AT_ONCE)
    return text[: end if end > 0 else text.find("\n")] if len(text) > BYTES_AT_ONCE else text


def separator_in(text: str, options: FileOptions) -> str:
    """The separator in the options, or the one that makes most columns, all of single values."""
    if options.separator is not None:
        return options.separator
    lines = _beginning(text).splitlines()[1:ROWS_LOOKED_AT]
    best = ";" if any(map(COMMA_NUMBER.fullmatch, lines)) else ","
    most = (False, 1, True, 0)
    for separator in SEPARATORS:
        is_clear = most[0] and most[1] > 1 and most[2]
        if separator == options.decimal or (separator == BLANKS_BETWEEN and is_clear):
            continue
        head = _head(text, separator)
        layout = layout_of(head)
        rows = [row for line, row in head if line not in layout.left_out]
        n = len(layout.names or rows[0]) if rows else 0
        alike = separator != BLANKS_BETWEEN or all(len(row) == n for row in rows[1:])
        if n < 2 or not alike:
            continue
        cells = chain.from_iterable(rows)
        is_apart = not any(_are_together(cell, separator) for cell in cells)
        if (is_apart, n, layout.has_header) < most[:3]:
            continue
        is_whole = len(rows) == 1 or max(map(len, rows[1:])) >= n
        score = is_apart, n, layout.has_header, sum(map(are_numbers, zip(*rows[1:], strict=False)))
        if is_whole and score > most:
            best, most = separator, score
    return best


def _are_together(cell: str, separator: str) -> bool:
    """Whether a cell is no number, but numbers with another separator between them."""
    if is_number_text(cell):
        return False
    bare = cell.replace('"', "")
    others = (mark for mark in SEPARATORS if mark != separator)
    parted = (bare.split(None if mark == BLANKS_BETWEEN else mark) for mark in others)
    return any(len(parts) > 1 and all(map(is_number_text, parts)) for parts in parted)


def refuse_thousands(rows: Iterable[Sequence[str]], written: TextFormat) -> None:
    """Refuse a column in which a mark stands before three digits of numbers from 1000 on alone."""
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
                f"{whole[0]}{mark}0, or say " + parameter("decimal", mark)
            )
