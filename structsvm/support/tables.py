"""Results as text: short tables, also in notebooks; CSV; and plain values for JSON."""

import csv
import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import printable
from structsvm.support.frames import EXTRAS, library
from structsvm.support.values import refuse_unlisted


@dataclass(frozen=True)
class ShortTable:
    """Rows of a name and some numbers under a title, as text, HTML or a data frame."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()  # sentences below it

    def __str__(self) -> str:
        """Plain text, words on the left and numbers on the right."""
        columns = list(zip(self.columns, *self.rows, strict=True))
        printed = [_column(title, values) for title, *values in columns]
        lines = ["  ".join(cells).rstrip() for cells in zip(*printed, strict=True)]
        return "\n".join([*filter(None, [self.title]), *filter(None, lines), *self.notes])

    @property
    def as_html(self) -> str:
        """The table for notebooks."""

        def row(cells: tuple[Any, ...], tag: str) -> str:
            inner = "".join(f"<{tag}>{html.escape(_shown(cell))}</{tag}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        notes = "".join(f"<p>{html.escape(printable(note))}</p>" for note in self.notes)
        return (
            f"<div><p>{html.escape(printable(self.title))}</p><table><thead>"
            f"{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table>{notes}</div>"
        )

    def to_frame(self, container: str = "pandas") -> Any:
        """Return the rows as a data frame of pandas or polars."""
        refuse_unlisted("container", container, tuple(EXTRAS))
        columns = map(list, zip(*self.rows, strict=True))
        return library(container).DataFrame(dict(zip(self.columns, columns, strict=True)))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else printable(str(value))


def _column(title: str, values: Sequence[Any]) -> list[str]:
    """The cells of a column, padded to the same width; a title may have two lines."""
    first, _, second = printable(title).partition("\n")
    cells = [first, second, *map(_shown, values)]
    width = max(map(len, cells))
    as_numbers = all(value is None or isinstance(value, int | float) for value in values)
    return [cell.rjust(width) if as_numbers else cell.ljust(width) for cell in cells]


FORMULA = ("=", "+", "-", "@")  # first characters of cells that spreadsheets take for formulas


def cell(value: Any) -> Any:
    """The value of a cell; a text that a spreadsheet would take for a formula is quoted."""
    if not isinstance(value, str) or value[:1].isalnum():  # as nearly all are
        return value
    is_formula = value.lstrip().startswith(FORMULA)
    return f"'{value}" if is_formula and not is_number_text(value) else value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> str:
    """A table as CSV that spreadsheets can open safely, see :func:`cell`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerows(map(cell, row) for row in (header, *rows))
    return buffer.getvalue()


def uncell(text: str) -> str:
    """The text that :func:`cell` has quoted; any other text unchanged."""
    return text[1:] if text.startswith("'") and text[1:].lstrip().startswith(FORMULA) else text


def is_number_text(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def finite(value: Any) -> Any:
    """Return plain lists and mappings, with None for infinities and NaN, which JSON lacks."""
    if isinstance(value, dict):
        texts = {name if isinstance(name, str) else repr(name): v for name, v in value.items()}
        return {name: finite(item) for name, item in texts.items()}
    if isinstance(value, set | frozenset):
        return [finite(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
