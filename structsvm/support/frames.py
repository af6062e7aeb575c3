"""Names of columns and order of rows in data frames of pandas and polars and arrays of xarray."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.support.lazy import require
from structsvm.support.values import some_of

EXTRAS = {"pandas": "files", "polars": "polars"}  # extras of the package that install libraries


def library(kind: str) -> Any:
    """The module ``pandas`` or ``polars``."""
    return require(kind, EXTRAS[kind], f"a {kind} frame")


def data_frame(kind: str, values: NDArray[np.float64], names: Sequence[str], index: Any) -> Any:
    """A table with named columns, and in pandas an index."""
    make = library(kind).DataFrame
    if kind == "pandas":
        return make(values, columns=list(names), index=index)
    return make(values, schema=list(names), orient="row")


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame or an xarray matrix; None if there are none."""
    if isinstance(X, np.ndarray):
        return None
    if hasattr(X, "dims") and hasattr(X, "indexes"):
        index = X.indexes.get(X.dims[1]) if len(X.dims) == 2 else None
        names = [] if index is None else list(index)
        return names if names and all(isinstance(name, str) for name in names) else None
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def repeated_in(names: Sequence[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted(name for name, n in Counter(names).items() if n > 1)


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse features of the same name."""
    if repeated := repeated_in(names):
        raise DataError(
            f"features need different names, repeated: {some_of(list(map(repr, repeated)))}"
        )


def in_order_of_rows(y: Any, X: Any, frame: str) -> Any:
    """Labels (T,) sorted like the rows of a pandas frame if both have an index of names."""
    rows: Any = getattr(X, "index", None)
    labels: Any = getattr(y, "index", None)
    if not (hasattr(rows, "get_indexer") and hasattr(labels, "get_indexer")):
        return y
    if len(labels) != len(rows) or labels.equals(rows):
        return y
    is_numbered = any(
        getattr(index.dtype, "kind", "O") in "iu" and np.array_equal(index, np.arange(len(index)))
        for index in (rows, labels)
    )
    places = None
    if rows.nlevels == labels.nlevels and rows.is_unique and labels.is_unique:
        places = labels.get_indexer(rows)
    if places is None or (places < 0).any():
        if is_numbered:
            return y
    elif not is_numbered:
        return y.iloc[places]
    pairs = enumerate(zip(rows, labels, strict=True))
    row, a, b = next(((t, a, b) for t, (a, b) in pairs if a != b), (0, rows[0], labels[0]))
    raise DataError(
        "the index of the labels of "
        + frame
        + f" is not that of its rows: in row {row} it has {b!r}, "
        f"and the rows {a!r}. Give y.to_numpy() if labels follow each other as the rows do, or "
        "y.reindex(X.index) if the index says whose they are"
    )


def each_in_order(ys: Any, Xs: Any, called: Callable[[int], str] = "frame {}".format) -> Any:
    """Apply :func:`in_order_of_rows` to the labels of each frame; return others unchanged."""
    if not isinstance(Xs, list | tuple) or not any(hasattr(X, "index") for X in Xs):
        return ys
    if len(Xs) == 1 and hasattr(ys, "iloc"):
        return in_order_of_rows(ys, Xs[0], called(0))
    if not isinstance(ys, list | tuple) or len(ys) != len(Xs):
        return ys
    pairs = enumerate(zip(ys, Xs, strict=True))
    return [in_order_of_rows(y, X, called(i)) for i, (y, X) in pairs]


def refuse_other_columns(which: str, columns: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse columns whose names or order are not the expected ones."""
    if list(columns) == list(expected):
        return
    pairs = zip_longest(columns, expected, fillvalue="nothing")
    place, one, other = next((j, a, b) for j, (a, b) in enumerate(pairs) if a != b)
    raise DataError(
        which + f" has features {some_of(columns)}, expected {some_of(expected)}: give the same "
        f"columns in the same order (column {place} is {one}, expected {other})"
    )
