"""Samples as users hold them, with their rows in the order of time: the one rule of all containers.

Frames have an index or a column of dates, arrays of xarray a coordinate, recordings a time axis.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.times import TimeAxis, read_times
from structsvm.errors import DataError, DataWarning, warn
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.frames import in_order_of_rows
from structsvm.support.plain import counted, some_of

FEWEST_ROWS = 10
"""In fewer rows a measurement may rise throughout by chance."""
EVEN = 1e-6
"""Of a step: steps that differ by less are the same."""
YES, NO = ("true", "yes"), ("false", "no")
"""Words for 1 and 0."""
MOST_MARKS = 0.1
"""Of the samples: with more of them, ones that stand alone are no marks of changes."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One sample, its rows in the order of time."""

    X: Any
    axis: TimeAxis | None = None
    """When each row was measured, if that is known."""
    order: Ints | None = None
    """The number of each row in what was given; None where they came in this order."""
    given: Any = None
    """What was given."""
    places: Ints | None = None
    """The numbers of these rows in a panel, as they were given."""

    @property
    def n_samples(self) -> int:
        X = self.X.X if is_recording(self.X) else self.X
        shape = getattr(X, "shape", ())
        return int(shape[0]) if shape else len(X) if isinstance(X, list | tuple) else 0

    def labels(self, y: Any, called: str) -> Any:
        """Labels (T,) of the rows as they were given, or by the index of a frame, in this order."""
        by_interval = _by_interval(y, self)
        if by_interval is not None:
            return by_interval
        y = in_order_of_rows(y, self.given, called)
        if self.order is None or np.ndim(y) != 1 or len(y) != len(self.order):
            return y  # breakpoints, which count samples, are as they are
        return taken(y, self.order)


def taken(y: Any, rows: Ints | None) -> Any:
    """Some of the labels (T,), in this order."""
    return y.iloc[rows] if hasattr(y, "iloc") else np.asarray(y)[rows]


def labels_within(ys: Any, places: Ints | None) -> Any:
    """The labels of one recording of a panel."""
    y = taken(ys, places)
    levels = getattr(getattr(y, "index", None), "nlevels", 1)
    return y.droplevel(list(range(levels - 1))) if levels > 1 else y


def as_frame(X: Any) -> Any:
    """A series as a frame of one column, a table of arrow as a frame; anything else as it is."""
    if hasattr(type(X), "column_names") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "to_frame") and getattr(X, "ndim", 1) == 1 and _holds_numbers(X):
        return X.to_frame()
    if hasattr(X, "data_vars") and all(len(one.dims) == 1 for one in X.data_vars.values()):
        return X.to_dataframe()
    return X


def is_frame(X: Any) -> bool:
    """Whether this is a data frame of pandas or polars that has been read."""
    return not hasattr(type(X), "collect") and hasattr(X, "columns")


def is_recording(X: Any) -> bool:
    """Whether this is a recording with the names of its features, such as those of files."""
    return all(hasattr(X, name) for name in ("name", "features", "with_features"))


def _holds_numbers(series: Any) -> bool:
    """Whether a series of pandas or polars holds numbers, and not arrays or words."""
    if hasattr(series.dtype, "is_numeric"):
        return bool(series.dtype.is_numeric())
    return getattr(series.dtype, "kind", "O") in "biuf"


def panel(X: Any) -> dict[Hashable, Rows] | None:
    """The recordings of a pandas frame whose index says whose a row is and when; None of others."""
    index: Any = getattr(X, "index", None)
    if getattr(index, "nlevels", 1) < 2 or not hasattr(X, "columns"):
        return None
    instances = index.droplevel(-1)
    numbers, keys = instances.factorize()
    found = {}
    for number, key in enumerate(keys):
        places = np.flatnonzero(numbers == number)
        frame = X.iloc[places].droplevel(list(range(index.nlevels - 1)))
        found[key] = replace(rows_in_time(frame, f"frame {key!r}"), places=places)
    return found


def rows_in_time(X: Any, called: str) -> Rows:
    """A sample with its rows in the order of time, if known; a column of times is left out."""
    if is_recording(X) and hasattr(X, "time"):
        return _sorted(X, X, X.time, called, X.at)
    if hasattr(X, "dims") and hasattr(X, "isel"):
        index = X.indexes.get(X.dims[0]) if len(X.dims) == 2 else None
        return _sorted(X, X, _axis(index, called), called, _taker(X))
    if not is_frame(X):
        return Rows(X, given=X)
    name = _column_of_times(X)
    if name is not None:
        warn(f"{called}: column {name!r} is taken for the time of the rows", DataWarning)
    if name is None or hasattr(X, "iloc"):
        X = X if name is None else X.set_index(name)
        return _sorted(X, X, _axis(getattr(X, "index", None), called), called, _taker(X))
    axis = _axis(X[name].to_pandas().rename(name), called)
    return _sorted(X, X.drop(name), axis, called, _taker(X.drop(name)))


def _taker(X: Any) -> Callable[[Ints], Any]:
    if hasattr(X, "isel"):
        return lambda rows: X.isel({X.dims[0]: rows})
    return lambda rows: X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _sorted(
    given: Any, X: Any, axis: TimeAxis | None, called: str, take: Callable[[Ints], Any]
) -> Rows:
    if axis is None or not (axis.values[1:] < axis.values[:-1]).any():
        return Rows(X, axis, given=given)
    values = axis.values
    if values.dtype.kind in "iu" and len(np.unique(values)) < len(values):
        row = int((values[1:] < values[:-1]).argmax())
        raise DataError(
            f"the index of {called} falls after row {row}, and has numbers twice, as that of "
            "several recordings put together: give a list of them, or reset_index(drop=True) if "
            "the rows are one"
        )
    order = np.argsort(values, kind="stable")
    return Rows(take(order), axis.at(order), order, given)


def _axis(index: Any, called: str) -> TimeAxis | None:
    """The times that an index holds; None of one that counts rows, or holds names."""
    if index is None or getattr(index, "nlevels", 1) > 1 or not hasattr(index, "isna"):
        return None
    kind = "M" if hasattr(index, "to_timestamp") else getattr(index.dtype, "kind", "M")
    if kind not in "iufmM" or hasattr(index, "mid"):
        return None
    if kind in "iu" and np.array_equal(index, np.arange(len(index))):
        return None
    column = index if hasattr(index, "iloc") else index.to_series()
    axis = read_times(str(index.name or "the index"), column, keep_text=False)
    if isinstance(axis, TimeAxis):
        return axis
    missing = np.flatnonzero(index.isna())
    raise DataError(
        f"the index of {called} has no time in row {int(missing[0])} ({missing.size} in all): give "
        "it one, or leave the row out"
    )


def _column_of_times(X: Any) -> Any:
    """The only column of a frame that holds dates or times; None if there is none."""
    dtypes = X.dtypes if hasattr(X, "iloc") else getattr(X, "schema", {})
    names = []
    for name, dtype in dtypes.items():
        if hasattr(dtype, "is_temporal"):  # of polars
            is_time = bool(dtype.is_temporal())
        else:
            is_time = getattr(dtype, "kind", "O") in "mM" or hasattr(dtype, "freq")
        names += [name] if is_time else []
    return names[0] if len(names) == 1 else None


def warn_about_order(moved: Sequence[str]) -> None:
    """Warn of samples whose rows came in another order than that of time."""
    if moved:
        warn(
            f"the rows of {some_of(list(moved), 3)} are not in the order of time: they are sorted "
            "by it, and samples are counted in that order",
            DataWarning,
        )


def _by_interval(y: Any, rows: Rows) -> Any:
    """Labels of stretches, a series with an index of intervals, as one of each row; None of others.

    What is in no stretch has no label, -1.
    """
    index: Any = getattr(y, "index", None)
    if not (hasattr(index, "mid") and hasattr(index, "get_indexer")):
        return None
    T = rows.n_samples
    moments: Any = np.arange(T) if rows.axis is None else rows.axis.values
    if rows.axis is not None and index.dtype.subtype.kind in "iuf" and moments.dtype.kind == "M":
        moments = np.arange(T)
    places = index.get_indexer(moments)
    labels = np.empty(T, dtype=object)
    labels[:] = [-1 if place < 0 else y.iloc[place] for place in places.tolist()]
    return np.array(labels.tolist()) if (places >= 0).all() else labels


def without_counting(samples: Sequence[Any], features: Sequence[Any] | None) -> Sequence[Any]:
    """Frames and recordings without columns that only count rows or tell the time, with a warning.

    Where the features are known, nothing but other columns is left out.
    """
    names = [names_of(x) for x in samples]
    if not samples or names[0] is None or any(other != names[0] for other in names[1:]):
        return samples
    known = None if features is None else {str(name) for name in features}
    fewest = 2 if known is not None else FEWEST_ROWS
    found = []
    for j, name in enumerate(names[0]):
        if known is not None and str(name) in known:
            continue
        long = [column for x in samples if len(column := _column(x, j, name)) >= fewest]
        if long and all(_counts(np.asarray(column, dtype=np.float64)) for column in long):
            found.append(name)
    if not found or len(found) == len(names[0]):
        return samples
    if known is None:
        it, rise, was = (
            ("it", "rises", "it was") if len(found) == 1 else ("they", "rise", "they were")
        )
        warn(
            f"the samples: {counted(len(found), 'column')} left out, because {it} {rise} by one "
            "step from row to row, as time and row numbers do: "
            f"{some_of([str(name) for name in found], 3)}. Name it among the features if {was} "
            "measured",
            DataWarning,
        )
    return [_without(x, found) for x in samples]


def names_of(x: Any) -> list[Any] | None:
    if is_recording(x):
        return list(x.features)
    return list(x.columns) if is_frame(x) and hasattr(x, "drop") else None


def _column(x: Any, j: int, name: Any) -> Any:
    if is_recording(x):
        return x.X[:, j]
    return x[name].to_numpy() if _holds_numbers(x[name]) else np.empty(0)


def _without(x: Any, names: Sequence[Any]) -> Any:
    if is_recording(x):
        return x.choosing([name for name in x.features if name not in names])
    return x.drop(columns=names) if hasattr(x, "iloc") else x.drop(names)


def _counts(column: Floats) -> bool:
    steps = np.diff(column)
    return bool(steps[0] > 0 and (np.abs(steps - steps[0]) <= EVEN * steps[0]).all())


# ---- labels that mark where recordings change: 1 at the first sample of a segment


def warn_about_marks(labels: Sequence[Any], sizes: Sequence[int]) -> None:
    """Warn of labels that are 0 but for single ones, which mark changes as likely as states."""
    marks = [
        marks_of(y) if np.ndim(y) == 1 and len(y) == T else None
        for y, T in zip(labels, sizes, strict=True)
    ]
    if look_like_changes(marks):
        n = sum(int(found.sum()) for found in marks if found is not None)
        warn(
            f"the labels are 0 but for {n} single {'sample' if n == 1 else 'samples'} with 1, each "
            "of which is taken for a segment of its own. If a 1 marks the first sample of a new "
            "segment, give np.cumsum(y) (labels_are='changes' where files are read)",
            DataWarning,
        )


def marks_of(y: Any) -> Bools | None:
    """Where labels are 1 or yes, all others being 0 or no; None if they are anything else."""
    try:
        texts: NDArray[Any] = np.asarray(y)
    except ValueError:
        return None
    if texts.ndim != 1 or not texts.size or texts.dtype.kind not in "biufUO":
        return None
    if texts.dtype.kind == "b":
        return texts
    words = {str(value).lower() for value in texts.tolist()} if texts.dtype.kind in "UO" else set()
    if words and words <= {*YES, *NO}:
        return np.array([str(value).lower() in YES for value in texts.tolist()])
    values: Any = texts
    if texts.dtype.kind not in "iuf":
        try:
            values = texts.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return np.asarray(values == 1) if bool(np.isin(values, (0, 1)).all()) else None


def look_like_changes(marks: Sequence[Bools | None]) -> bool:
    """Whether labels are ones that stand alone among zeros, in all of some recordings."""
    ones = [found for found in marks if found is not None]
    if not ones or len(ones) < len(marks):
        return False
    n = sum(int(found.sum()) for found in ones)
    alone = not any((found[1:] & found[:-1]).any() for found in ones)
    return alone and 0 < n <= MOST_MARKS * sum(found.size for found in ones)
