"""Labels as users give them: one for each sample, or -1 or nothing, or marks of changes."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import place_in, refuse_no_array
from structsvm.errors import DataError, parameter, warn, wording
from structsvm.support import Bools, Ints, is_number

UNKNOWN = -1  # marks a sample without a label, as in scikit-learn


def label_values(y: Any) -> NDArray[Any]:
    """Labels as an array; those of a list with several types, or with None, stay as they are."""
    if not isinstance(y, Mapping | Set):
        refuse_no_array(y, "labels: this")
    try:
        values = np.asanyarray(y)
        may_differ = isinstance(y, list | tuple) and values.dtype.kind in "USO" and values.ndim == 1
        if may_differ and len({type(value) for value in y}) > 1:
            values = np.empty(len(y), dtype=object)
            values[:] = y
    except (TypeError, ValueError) as error:
        raise DataError(f"labels must be a vector, one label per sample: {error}") from None
    wrong = ""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        place = place_in(np.ma.getmaskarray(values), None).replace("row", "sample")
        wrong = f"the label of {place} is masked: give -1, or PartialLabels, where it is not known"
    elif values.dtype.kind == "c":
        wrong = "labels are complex numbers: give integers or names"
    if wrong:
        raise DataError(wrong)
    return np.asarray(values)


def labels_of_items(y: Any, n: int) -> NDArray[Any] | None:
    """A label for each of n items, also of PartialLabels; None for breakpoints, or no labels."""
    labels = getattr(y, "labels", y)  # of PartialLabels
    values = label_values(() if labels is None else labels)
    return values if values.shape == (n,) else None


def check_vector(values: NDArray[Any], name: str = "labels") -> None:
    """Refuse anything but a non-empty vector, and say how a matrix becomes one."""
    if values.ndim != 1 or not values.size:
        way_out = "; of one column give y.ravel(), of one for each state y.argmax(axis=1)"
        raise DataError(
            f"{name} must be a non-empty vector, got shape {values.shape}"
            f"{way_out if values.ndim > 1 else ''}"
        )


def full_labels(y: Any) -> NDArray[Any]:
    """A label for each sample, (T,), any values that can be compared."""
    are_whole = type(y) is np.ndarray and y.dtype.kind in "iu"
    values: NDArray[Any] = y if are_whole else label_values(y)
    check_vector(values)
    refuse_missing(values, "sample")
    return values


def missing_labels(values: NDArray[Any]) -> Bools:
    """Which labels are missing: None, NaN, NaT, pandas' NA, and text of nothing but spaces."""
    kind = values.dtype.kind
    if kind in "fmM":
        return np.asarray(np.isnan(values) if kind == "f" else np.isnat(values))
    if kind == "U":
        return np.asarray(np.char.str_len(np.char.strip(values)) == 0)
    return _each(values, _is_missing) if kind in "OS" else np.zeros(values.shape, dtype=np.bool_)


def unlabelled(values: NDArray[Any]) -> Bools:
    """Which labels are the number -1."""
    if values.dtype.kind == "O":
        return _each(values, lambda value: is_number(value) and value == UNKNOWN)
    are_names = values.dtype.kind not in "iufb"
    return np.zeros(values.shape, dtype=np.bool_) if are_names else np.asarray(values == UNKNOWN)


def _each(values: NDArray[Any], test: Callable[[Any], bool]) -> Bools:
    answers = [test(value) for value in values.ravel().tolist()]
    return np.array(answers, dtype=np.bool_).reshape(values.shape)


def unknown_labels(values: NDArray[Any]) -> Bools:
    """Which labels are missing, or the number -1."""
    return missing_labels(values) | unlabelled(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str | bytes):
        return not value.strip()
    numbers = float | np.floating | np.datetime64 | np.timedelta64
    return isinstance(value, numbers) and bool(value != value)


def refuse_missing(values: NDArray[Any], item: str) -> None:
    """Refuse labels of which some are missing."""
    missing = np.flatnonzero(missing_labels(values))
    if missing.size:
        raise DataError(
            f"the label of {item} {missing[0]} is missing ({missing.size} in all): where a label "
            "is not known, give -1 among numbers, or PartialLabels(labels=...), which takes None "
            "among names"
        )


def of_one_kind(values: NDArray[Any]) -> NDArray[Any]:
    """An array of objects as one of text or numbers, if it can be one, which sorts faster."""
    plain = np.asarray(values.tolist()) if values.dtype == object else values
    return plain if plain.shape == values.shape else values


def numbered(
    values: NDArray[Any], called: str, way_out: str = "text or numbers"
) -> tuple[NDArray[Any], Ints]:
    """Number values: the different ones, sorted, and the number of each, of the same shape."""
    try:
        if values.dtype == object:
            kinds = {isinstance(value, str): value for value in values.ravel().tolist()}
            if len(kinds) == 2:  # which numpy would take for text
                raise TypeError(f"{kinds[True]!r} and {kinds[False]!r}")
        names, numbers = np.unique(of_one_kind(values), return_inverse=True)
    except TypeError as error:
        raise DataError(f"{called} do not compare ({error}): give {way_out}") from None
    return names, numbers.astype(np.int64).reshape(values.shape)


YES = ("true", "yes")
NO = ("false", "no")  # words for 1 and 0
MOST_MARKS = 0.1  # ones that stand alone may mark changes if they are at most this part


def warn_about_marks(labels: Sequence[Any]) -> None:
    """Warn of labels that are 0 but for single ones, which may be meant as marks of changes."""
    n = count_marks(labels)
    if n:
        warn(
            f"the labels are 0 but for {n} single samples with 1, each of which is taken for a "
            "segment of its own. If a 1 marks the first sample of a new segment, give "
            + wording(
                "np.cumsum(y) (labels_are='changes' where files are read)",
                of_files=parameter("labels_are", "changes"),
            )
        )


def marks_of(y: Any) -> Bools | None:
    """Where labels are 1 or yes, all others being 0 or no; None if they are anything else."""
    try:
        values: NDArray[Any] = np.asarray(y)
    except ValueError:
        return None
    if values.ndim != 1 or not values.size or values.dtype.kind not in "biufUO":
        return None
    if values.dtype.kind in "UO":
        words = np.char.lower(values.astype(str))
        if np.isin(words, (*YES, *NO)).all():
            return np.isin(words, YES)
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return np.asarray(values == 1) if bool(np.isin(values, (0, 1)).all()) else None


def count_marks(labels: Sequence[Any]) -> int:
    """The number of ones, if labels are 0 but for few ones that stand alone; else 0."""
    marks = [marks_of(y) for y in labels if y is not None]
    ones = [marked for marked in marks if marked is not None]
    if len(ones) < len(marks) or any((marked[1:] & marked[:-1]).any() for marked in ones):
        return 0
    n = sum(int(marked.sum()) for marked in ones)
    return n if n <= MOST_MARKS * sum(marked.size for marked in ones) else 0
