"""Data frames of pandas and polars, and arrays of xarray: what their columns are called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.support.extras import require
from structsvm.support.plain import some_of


def data_frame(
    kind: str, values: NDArray[np.float64], names: Sequence[str], index: Any = None
) -> Any:
    """A table with named columns.

    Parameters
    ----------
    kind : {"pandas", "polars"}
    values : array of shape (n, m)
    names : sequence of m names
    index : optional
        Of a pandas frame.

    Raises
    ------
    MissingExtraError
        When the library is not installed.
    """
    if kind == "pandas":
        pandas = require("pandas", "files", "a pandas frame")
        return pandas.DataFrame(values, columns=list(names), index=index)
    polars = require("polars", "polars", "a polars frame")
    return polars.DataFrame(values, schema=list(names), orient="row")


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, or those that a matrix of xarray has; else None.

    Those of xarray are coordinates that are texts: numbers say where something was measured.
    """
    if isinstance(X, np.ndarray):
        return None
    if hasattr(X, "dims") and hasattr(X, "indexes"):
        index = X.indexes.get(X.dims[1]) if len(X.dims) == 2 else None
        names = [] if index is None else list(index)
        return names if names and all(isinstance(name, str) for name in names) else None
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def refuse_other_columns(which: str, found: Sequence[str], expected: Sequence[str]) -> None:
    """Check that columns are called, and in an order, as expected.

    Parameters
    ----------
    which : str
        What has the columns.

    Raises
    ------
    DataError
        Naming both, and the first that differs.
    """
    if list(found) == list(expected):
        return
    pairs = zip_longest(found, expected, fillvalue="nothing")
    place, one, other = next((j, a, b) for j, (a, b) in enumerate(pairs) if a != b)
    raise DataError(
        f"{which} has features {some_of(found)}, expected {some_of(expected)}: give the same "
        f"columns in the same order (column {place} is {one}, expected {other})"
    )
