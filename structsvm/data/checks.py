"""Checks of arrays and data frames as users give them; what numpy would change is refused."""

from collections.abc import Mapping, Sequence, Set
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.data.missing import LARGEST_VALUE, blocks, filled
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, parameter
from structsvm.support import (
    Bools,
    Floats,
    all_within,
    column_names,
    counted,
    read_only,
    refuse_other_columns,
    refuse_repeated,
)

Names = Sequence[str] | None  # names of columns, if they have any


def refuse_no_array(X: Any, which: str) -> None:
    """Refuse what is no array or data frame."""
    kind = type(X)
    is_lazy = hasattr(kind, "collect") and hasattr(kind, "columns")  # an instance would warn
    if sp.issparse(X):
        what = "a sparse matrix: give X.toarray()"
    elif isinstance(X, str | bytes | PathLike):
        what = f"{X!r}, a text: give arrays; structsvm.io.read_recordings(path) reads files"
    elif is_lazy or hasattr(kind, "column_names") or isinstance(X, Mapping | Set):
        what = (
            f"a {kind.__name__}: give arrays, or frames of pandas or polars, such as X.collect() "
            "or X.to_pandas()"
        )
    else:
        return
    raise DataError(which + f" is {what}")


def refuse_hidden(X: Any, which: str, names: Any = None) -> None:
    """Refuse what converting to floats would change: masks, imaginary parts, times."""
    mask = np.ma.getmaskarray(X) if np.ma.isMaskedArray(X) else np.zeros(1, dtype=np.bool_)
    if isinstance(X, list | tuple):
        mask = np.array([np.ma.is_masked(row) for row in X], dtype=np.bool_)
    if mask.any():
        raise DataError(
            which + f" is masked in {place_in(mask, names)}: fill masked values first "
            "(X.filled(...), or interpolate)"
        )
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        return
    if array.dtype.kind in "cmM":
        raise DataError(
            which + f" holds {array.dtype} values, not real numbers: leave out times; of complex "
            "numbers give X.real, X.imag or np.abs(X)"
        )


def place_in(mask: Bools, names: Any) -> str:
    """The first true entry of a mask in words."""
    first = np.argwhere(np.atleast_1d(mask))[0].tolist()
    return entry_in_words(first[0], first[1], names) if len(first) == 2 else f"row {first[0]}"


def entry_in_words(row: int, column: int, names: Names) -> str:
    """An entry of a matrix in words, with the name of its column."""
    named = names is not None and column < len(names)
    return f"row {row}, column {column}" + (f" ({names[column]})" if names and named else "")


def one_each(values: Any, n: int, words: Words, noun: str = "labelling", way_out: str = "") -> Any:
    """Values given for n instances, as a list; refuse any other number of them."""
    each = [] if values is None else list(values)
    if len(each) != n:
        raise DataError(f"{words.wholes(n)} but {counted(len(each), noun)}{way_out}")
    return each


def refuse_other_shape(
    values: NDArray[Any], n: int, noun: str, name: str, way_out: str = "one for each"
) -> None:
    """Refuse anything but a vector with one value for each of n things."""
    if values.shape != (n,):
        raise DataError(f"{counted(n, noun)} but {name} of shape {values.shape}: give {way_out}")


MISSING = ("error", "interpolate", "mask")  # treatments of values that are missing
TRANSPOSED = (
    "rows are samples here, and columns are features (of aeon's (n, channels, time), "
    "np.swapaxes(X, 1, 2))"
)


def check_instances(
    Xs: Any,
    feature_names: Names = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Floats], list[str] | None, Floats]:
    """Return finite arrays (T_i, P), the names of features if known, and the values_of_arrays."""
    instances = as_list(Xs, words)
    if not instances:
        raise DataError(f"no {words.whole}s were given: expected a list of arrays of shape (T, P)")
    names = None if feature_names is None else checked_names(feature_names)
    arrays: list[Floats] = []
    for i, X in enumerate(instances):
        if (plain := _plain(X)) is not None:
            arrays.append(plain)
            continue
        which = words.numbered(i)
        refuse_no_array(X, which)
        columns = column_names(X)
        if columns is not None:
            names = columns if names is None else names
            refuse_other_columns(which, columns, names)
        arrays.append(as_floats(X, which, names, missing))
    check_widths([X.shape for X in arrays], names, n_features, words)
    extremes = values_of_arrays(arrays)
    is_sound = (np.abs(extremes) <= LARGEST_VALUE).all(axis=(1, 2))
    for i in np.flatnonzero(~is_sound).tolist():
        arrays[i] = as_floats(instances[i], words.numbered(i), names, missing)
        extremes[i] = values_of_arrays([arrays[i]])[0]
    return arrays, names, extremes


def values_of_arrays(arrays: Sequence[Floats]) -> Floats:
    """The least, largest, first and middle value of each column of each array, (N, 4, P)."""
    from structsvm.support.compilation import values  # numba takes long to import

    return values(arrays)


def check_widths(
    shapes: Sequence[tuple[int, ...]], names: Names, n_features: int | None, words: Words
) -> int:
    """Return the number of features, which all instances, the model and the names must share."""
    P = shapes[0][1] if n_features is None else n_features
    first = words.numbered(0) if n_features is None else "the model"
    for i, (n_rows, n_columns) in enumerate(shapes):
        if n_columns != P:
            hint = f"; if it is transposed, give X.T: {TRANSPOSED}" if n_rows == P else ""
            raise DataError(
                words.numbered(i)
                + f" has {counted(n_columns, 'feature')}, "
                + first
                + f" has {P}{hint}"
            )
    if names is not None and len(names) != P:
        raise DataError(
            f"feature_names has {counted(len(names), 'name')}, "
            + words.numbered(0)
            + f" has {counted(P, 'feature')}: give one name for each"
        )
    return P


def as_list(Xs: Any, words: Words = RECORDINGS) -> list[Any]:
    """Arrays or data frames as a list; a single one becomes a list of one."""
    refuse_no_array(Xs, f"expected a list of {words.whole}s, arrays of shape (T, P); this")
    if column_names(Xs) is not None:
        return [Xs]
    if hasattr(Xs, "__array__"):  # tensors and the like, which numpy can read
        Xs = np.asanyarray(Xs)  # which keeps the mask of a masked array
        if Xs.ndim == 2:
            return [Xs]
        if Xs.ndim != 3 and Xs.dtype != object:
            raise DataError(
                f"expected a list of arrays of shape (T, P), got one array of shape {Xs.shape}. "
                "Reshape your data: one recording of a single feature is X[:, None], a single row "
                "X[None, :]"
            )
    return list(Xs)


def checked_names(feature_names: Any) -> list[str]:
    """Names of features as a list of str, whatever their number."""
    names = [] if isinstance(feature_names, str | bytes) else list(feature_names)
    if not names or not all(isinstance(name, str | int | np.integer) for name in names):
        raise DataError(f"feature_names must be a list of names, got {feature_names!r}")
    texts = [str(name) for name in names]
    refuse_repeated(texts)
    return texts


def _plain(X: Any) -> Floats | None:
    """A matrix of floats as a read-only array; None for what has to be converted."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
        return None
    return read_only(np.asarray(X, dtype=np.float64, order="C"))


def as_floats(X: Any, which: str, names: Names, missing: str | None) -> Floats:
    """A recording or a table as a read-only array (T, P), finite but for masked values."""
    if type(X) is not np.ndarray or X.dtype.kind not in "fiub":
        X = _with_gaps(X, masks=missing in ("interpolate", "mask"))
        refuse_hidden(X, which, names)
    try:
        array = read_only(np.asarray(X, dtype=np.float64, order="C"))
    except (TypeError, ValueError, OverflowError):
        raise DataError(which + f" {_not_a_number(X, names)}") from None
    is_matrix = array.ndim == 2 and array.size > 0
    if is_matrix and all_within(array, LARGEST_VALUE):  # there is no NaN either
        return array
    wrong = np.abs(array) > LARGEST_VALUE
    if missing not in ("interpolate", "mask"):
        wrong |= np.isnan(array)
    if array.ndim != 2:
        fault = f"has shape {array.shape}, expected (T, P): give a single feature as X[:, None]"
    elif not array.size:
        axis = "feature" if array.shape[0] else "sample"
        fault = f"is empty: 0 {axis}(s) (shape={array.shape}) while a minimum of 1 is required."
    elif wrong.any():
        fault = _no_measurement(array, wrong, names, missing)
    else:
        return filled(array) if missing == "interpolate" else np.array(array)
    raise DataError(which + " " + fault)


def _with_gaps(X: Any, masks: bool) -> Any:
    """A frame of pandas with NaN for missing values, and a masked array if ``masks``."""
    if masks and np.ma.isMaskedArray(X) and X.dtype.kind in "iuf":
        return np.ma.filled(X.astype(np.float64), np.nan)
    if hasattr(X, "isna") and hasattr(X, "to_numpy"):  # pandas, whose NA numpy cannot read
        try:
            return X.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            return X
    return X


def _no_measurement(array: Floats, wrong: Bools, names: Names, missing: str | None) -> str:
    """Say which value is missing, infinite or too large, and what to do."""
    row, column = np.argwhere(wrong)[0].tolist()
    fault = f"has {array[row, column]} in {entry_in_words(row, column, names)}"
    if not np.isnan(array[row, column]):
        return (
            f"{fault}: give a number there, or NaN where nothing was measured, and scale data that "
            f"reach {LARGEST_VALUE:g}, beyond which squares overflow"
        )
    n = int(np.isnan(array).sum())
    n_blocks = counted(len(blocks(array)), "block")
    advice = f"{fault}: interpolate, impute or drop missing values (NaN, {n} in {n_blocks}) first"
    if missing != "error":
        return advice
    return advice + ", or give " + parameter("missing", "mask") + " (or 'interpolate')"


def _not_a_number(X: Any, names: Names) -> str:
    """Say which value is no number."""
    try:
        rows = np.atleast_1d(np.asarray(X, dtype=object))
    except ValueError:  # rows of several lengths
        rows = np.empty(0)
    for row, values in enumerate(rows):
        for column, value in enumerate(np.atleast_1d(values)):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return (
                    f"has {value!r} in {entry_in_words(row, column, names)}: not a number; leave "
                    "out columns of words: labels are given apart, and times as dates, not as text"
                )
    return "is not a numeric array of shape (T, P)"
