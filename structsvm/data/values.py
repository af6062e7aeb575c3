"""Values as users hold them: what numpy would change without a word is refused, or found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.support.arrays import Bools
from structsvm.support.checks import is_number

UNKNOWN = -1
"""Marks a sample without a label, as in scikit-learn."""


def refuse_no_array(X: Any, which: str) -> None:
    """Refuse what is no array or data frame."""
    if type(X) is np.ndarray:
        return
    reason = ""
    if sp.issparse(X):
        reason = "a sparse matrix: give X.toarray()"
    elif hasattr(type(X), "collect") and hasattr(type(X), "columns"):  # asking one for them warns
        reason = f"a {type(X).__name__}, which has not been read yet: give X.collect()"
    elif hasattr(type(X), "column_names"):  # whose columns are values
        reason = f"a {type(X).__name__} of arrow: give X.to_pandas()"
    elif isinstance(X, str | bytes | PathLike):
        reason = f"{X!r}, a text: give arrays; structsvm.io.read_recordings(path) reads files"
    elif isinstance(X, Mapping | Set):
        reason = f"a {type(X).__name__}: give arrays or data frames"
    if reason:
        raise DataError(f"{which} is {reason}")


def refuse_hidden(X: Any, which: str, names: Any = None) -> None:
    """Refuse what converting to floats would change: masks, imaginary parts, times."""
    if type(X) is np.ndarray and X.dtype.kind in "fiub":
        return
    if isinstance(X, list | tuple) and any(np.ma.isMaskedArray(row) for row in X):
        try:
            X = np.ma.array(X)
        except (TypeError, ValueError):  # rows of several lengths, which others refuse
            return
    if np.ma.isMaskedArray(X):
        mask = np.ma.getmaskarray(X)
        if mask.any():
            raise DataError(
                f"{which} is masked in {_place(mask, names)}: fill masked values first "
                "(X.filled(...), or interpolate)"
            )
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        return
    if array.dtype.kind == "c":
        there = array.imag != 0
        if not there.any():
            there = np.ones(array.shape, dtype=np.bool_)
        if there.size:
            raise DataError(
                f"{which} has the complex number {array[there].flat[0]} in {_place(there, names)}: "
                "give real features, such as X.real, X.imag or np.abs(X)"
            )
    if array.dtype.kind in "mM":
        raise DataError(f"{which} holds {array.dtype} values, not numbers: leave out times")


def label_values(y: Any) -> NDArray[Any]:
    """Labels as an array; a list that mixes kinds, or has missing ones, keeps its values."""
    if not isinstance(y, Mapping | Set):
        refuse_no_array(y, "labels: this")
    try:
        values = np.asanyarray(y)
        changed = isinstance(y, list | tuple) and values.dtype.kind in "USO" and values.ndim == 1
        if changed and len({type(value) for value in y}) > 1:
            values = np.empty(len(y), dtype=object)
            values[:] = y
    except (TypeError, ValueError) as error:
        raise DataError(f"labels must be a vector, one label per sample: {error}") from None
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        place = _place(np.ma.getmaskarray(values), None)
        place = place.replace("row", "sample") if values.ndim == 1 else place
        raise DataError(
            f"the label of {place} is masked: give -1, or PartialLabels, where a label is not known"
        )
    if values.dtype.kind == "c":
        raise DataError("labels are complex numbers: give integers or names")
    return np.asarray(values)


def check_vector(values: NDArray[Any], name: str = "labels") -> None:
    """Refuse labels that are no vector, or an empty one, and say how some of them become one."""
    if values.ndim == 1 and values.size:
        return
    way_out = ""
    if values.ndim == 2 and values.size and values.shape[1] == 1:
        way_out = "; give its column, y.ravel()"
    elif values.ndim == 2 and values.size:
        way_out = "; if there is a column for each state, y.argmax(axis=1) says which it is"
    raise DataError(f"{name} must be a non-empty vector, got shape {values.shape}{way_out}")


def full_labels(y: Any) -> NDArray[Any]:
    """A label for each sample, (T,), any values that can be compared."""
    whole = type(y) is np.ndarray and y.dtype.kind in "iu"
    values: NDArray[Any] = y if whole else label_values(y)
    check_vector(values)
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            f"the label of sample {missing[0]} is missing ({missing.size} in all): a partition has "
            "a label for each sample; PartialLabels holds those that are known"
        )
    return values


def missing_labels(values: NDArray[Any]) -> Bools:
    """Which labels are missing: None, NaN, NaT, pandas' NA, and text of nothing but spaces."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind in "OUS":
        found = [_is_missing(value) for value in values.ravel().tolist()]
        return np.array(found, dtype=np.bool_).reshape(values.shape)
    return np.zeros(values.shape, dtype=np.bool_)


def unlabelled(values: NDArray[Any]) -> Bools:
    """Which labels are the number -1."""
    if values.dtype.kind in "iufb":
        return np.asarray(values == UNKNOWN)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=np.bool_)
    found = [is_number(value) and value == UNKNOWN for value in values.ravel().tolist()]
    return np.array(found, dtype=np.bool_).reshape(values.shape)


def of_one_kind(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as text or numbers, which compare, are sorted faster and can be stored."""
    return np.asarray(values.tolist()) if values.dtype == object else values


def refuse_missing(values: NDArray[Any], item: str) -> None:
    """Refuse labels of which some are missing."""
    missing = missing_labels(values)
    if missing.any():
        where = int(np.flatnonzero(missing)[0])
        n = int(missing.sum())
        value = values.ravel()[where]
        shown = "NaN" if isinstance(value, float) else repr(value)
        raise DataError(
            f"the label of {item} {where} is missing ({shown}, {n} in all): "
            "where a label is not known, give -1 among numbers, or PartialLabels(labels=...), "
            "which takes None among names"
        )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(
        value != value
    )


def _place(there: Bools, names: Any) -> str:
    """The first true entry in words."""
    first = np.argwhere(there)[0].tolist() if there.ndim else []
    if len(first) != 2:
        return f"row {first[0]}" if first else "its value"
    return cell(first[0], first[1], names)


def cell(row: int, column: int, names: Sequence[str] | None) -> str:
    """An entry of a matrix in words, with the name of its column."""
    named = names is not None and column < len(names)
    return f"row {row}, column {column}" + (f" ({names[column]})" if names and named else "")
