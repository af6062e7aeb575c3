"""Short tables of results, as text and in notebooks; data frames and their columns."""

import html
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, printable
from structsvm.support.lazy import require
from structsvm.support.values import refuse_unlisted, some_of

EXTRAS = {"pandas": "files", "polars": "polars"}
"""With what to install the libraries of data frames."""


@dataclass(frozen=True)
class ShortTable:
    """Rows of a name and some numbers, under a line that says what they are."""

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
        return _library(container).DataFrame(dict(zip(self.columns, columns, strict=True)))


def _library(kind: str) -> Any:
    return require(kind, EXTRAS[kind], f"a {kind} frame")


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


# ---- data frames of pandas and polars, and arrays of xarray: what their columns are called


def data_frame(
    kind: str, values: NDArray[np.float64], names: Sequence[str], index: Any = None
) -> Any:
    """A table with named columns."""
    make = _library(kind).DataFrame
    if kind == "pandas":
        return make(values, columns=list(names), index=index)
    return make(values, schema=list(names), orient="row")


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, or those that a matrix of xarray has; else None."""
    if isinstance(X, np.ndarray):
        return None
    if hasattr(X, "dims") and hasattr(X, "indexes"):
        index = X.indexes.get(X.dims[1]) if len(X.dims) == 2 else None
        names = [] if index is None else list(index)
        return names if names and all(isinstance(name, str) for name in names) else None
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def repeated_in(names: Sequence[str]) -> list[str]:
    return sorted(name for name, n in Counter(names).items() if n > 1)


def refuse_repeated(names: Sequence[str]) -> None:
    if repeated := repeated_in(names):
        raise DataError(
            f"features need different names, repeated: {some_of(list(map(repr, repeated)))}"
        )


def in_order_of_rows(y: Any, X: Any, which: str) -> Any:
    """Labels (T,) in the order of the rows of a frame of pandas, by the index that both have."""
    rows: Any = getattr(X, "index", None)
    labels: Any = getattr(y, "index", None)
    if not (hasattr(rows, "get_indexer") and hasattr(labels, "get_indexer")):
        return y
    if len(labels) != len(rows) or labels.equals(rows):
        return y
    says_nothing = any(
        getattr(index.dtype, "kind", "O") in "iu" and np.array_equal(index, np.arange(len(index)))
        for index in (rows, labels)
    )
    places = None
    if rows.nlevels == labels.nlevels and rows.is_unique and labels.is_unique:
        places = labels.get_indexer(rows)
    if places is None or (places < 0).any():
        if says_nothing:
            return y
    elif not says_nothing:
        return y.iloc[places]
    pairs = enumerate(zip(rows, labels, strict=True))
    row, a, b = next(((t, a, b) for t, (a, b) in pairs if a != b), (0, rows[0], labels[0]))
    raise DataError(
        "the index of the labels of "
        + which
        + f" is not that of its rows: in row {row} it has {b!r}, "
        f"and the rows {a!r}. Give y.to_numpy() if labels follow each other as the rows do, or "
        "y.reindex(X.index) if the index says whose they are"
    )


def each_in_order(ys: Any, Xs: Any, called: Callable[[int], str] = "frame {}".format) -> Any:
    """Labels of samples, those of frames :func:`in_order_of_rows`; anything else as it is."""
    if not isinstance(Xs, list | tuple) or not any(hasattr(X, "index") for X in Xs):
        return ys
    if len(Xs) == 1 and hasattr(ys, "iloc"):
        return in_order_of_rows(ys, Xs[0], called(0))
    if not isinstance(ys, list | tuple) or len(ys) != len(Xs):
        return ys
    pairs = enumerate(zip(ys, Xs, strict=True))
    return [in_order_of_rows(y, X, called(i)) for i, (y, X) in pairs]


def refuse_other_columns(which: str, columns: Sequence[str], expected: Sequence[str]) -> None:
    """Check that columns are called, and in an order, as expected."""
    if list(columns) == list(expected):
        return
    pairs = zip_longest(columns, expected, fillvalue="nothing")
    place, one, other = next((j, a, b) for j, (a, b) in enumerate(pairs) if a != b)
    raise DataError(
        which + f" has features {some_of(columns)}, expected {some_of(expected)}: give the same "
        f"columns in the same order (column {place} is {one}, expected {other})"
    )
