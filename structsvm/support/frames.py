"""Data frames of pandas and polars, and arrays of xarray: what their columns are called."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.support.lazy import require
from structsvm.support.values import some_of

EXTRAS = {"pandas": "files", "polars": "polars"}  # what to install the libraries with


def library(kind: str) -> Any:
    return require(kind, EXTRAS[kind], f"a {kind} frame")


def data_frame(
    kind: str, values: NDArray[np.float64], names: Sequence[str], index: Any = None
) -> Any:
    """A table with named columns."""
    make = library(kind).DataFrame
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
