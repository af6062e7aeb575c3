"""Short tables of results: as text, in notebooks, and as data frames."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structsvm.errors import SettingsError, printable
from structsvm.support.checks import among
from structsvm.support.extras import require

CONTAINERS = ("pandas", "polars")


@dataclass(frozen=True)
class ShortTable:
    """Rows of a name and some numbers, under a line that says what they are."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    """Sentences below it."""

    def __str__(self) -> str:
        """Plain text, words on the left and numbers on the right."""
        columns = list(zip(self.columns, *self.rows, strict=True))
        printed = [_column(title, values) for title, *values in columns]
        lines = ["  ".join(cells).rstrip() for cells in zip(*printed, strict=True)]
        return "\n".join([*filter(None, [self.title]), *filter(None, lines), *self.notes])

    @property
    def as_html(self) -> str:

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
        if not among(container, CONTAINERS):
            raise SettingsError(f"container must be 'pandas' or 'polars', got {container!r}")
        columns = [list(column) for column in zip(*self.rows, strict=True)]
        table = dict(zip(self.columns, columns, strict=True))
        if container == "pandas":
            return require("pandas", "files", "a pandas frame").DataFrame(table)
        return require("polars", "polars", "a polars frame").DataFrame(table)


class Printed(ABC):
    """A result that prints as a short table."""

    @abstractmethod
    def short_table(self) -> ShortTable:
        """What is worth seeing of it."""

    def summary(self) -> str:
        """The result as a short table of text, which printing it shows too."""
        return str(self.short_table())

    def to_frame(self, container: str = "pandas") -> Any:
        """The numbers of the table as a data frame of pandas or polars."""
        return self.short_table().to_frame(container)

    def __repr__(self) -> str:
        """The short table."""
        return self.summary()

    def _repr_html_(self) -> str:
        return self.short_table().as_html


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else printable(str(value))


def _column(title: str, values: Sequence[Any]) -> list[str]:
    """The cells of a column in its width; a title may have two lines."""
    first, _, second = printable(title).partition("\n")
    cells = [first, second, *map(_shown, values)]
    width = max(map(len, cells))
    as_numbers = all(value is None or isinstance(value, int | float) for value in values)
    return [cell.rjust(width) if as_numbers else cell.ljust(width) for cell in cells]
