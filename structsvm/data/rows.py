"""Rows of frames and recordings in the order of time, and their columns without row numbers."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import TRANSPOSED
from structsvm.data.columns import FEWEST_THAT_RISE
from structsvm.data.times import TimeAxis, read_times
from structsvm.errors import DataError, about, parameter, warn, wording
from structsvm.support import Floats, Ints, counted, in_order_of_rows, refuse_repeated, some_of

EVEN_STEPS = 1e-6  # part of a step by which equal steps may differ
MOST_ROUNDED = 0.5  # part of a step by which rounded steps differ at most: 0.03 and 0.04 of 1/30
EVEN_PART = 0.9  # part of the steps of a counting column that are equal: some rows may be lost


@dataclass(frozen=True, eq=False)
class Rows:
    """One instance, its rows in the order of time."""

    X: Any
    axis: TimeAxis | None = None
    """When each row was measured, if that is known."""
    order: Ints | None = None
    """The number of each row in ``given``; None if the order is the same."""
    given: Any = None
    """The instance with its rows as they were given."""
    places: Ints | None = None
    """The numbers of the rows of ``given`` in the panel that it is a part of, if it is one."""

    def labels(self, y: Any, called: str) -> Any:
        """Labels (T,) in the order of ``X``; given in that of ``given``, or by its index."""
        y = in_order_of_rows(y, self.given, called)
        shape: Any = getattr(self.X, "shape", ())
        is_clear = len(shape) == 2 and shape[0] != shape[1] and np.ndim(y) == 1
        if is_clear and len(y) == shape[1] > 1 and not _may_be_ends(np.asarray(y), shape[0]):
            raise DataError(
                called + f" has shape {tuple(shape)} and {len(y)} labels: it is transposed, give "
                f"X.T: {TRANSPOSED}"
            )
        if self.order is None or np.ndim(y) != 1 or len(y) != len(self.order):
            return y
        return labels_at(y, self.order)


def _may_be_ends(y: NDArray[Any], n_rows: int) -> bool:
    """Whether these are breakpoints of so many rows, perhaps without the last one."""
    if y.dtype.kind not in "iu":
        return False
    return bool(0 < y[0] and y[-1] <= n_rows and (np.diff(y.astype(np.int64)) > 0).all())


def labels_at(y: Any, rows: Ints) -> Any:
    """The labels of these rows."""
    return y.iloc[rows] if hasattr(y, "iloc") else np.asarray(y)[rows]


def labels_within(ys: Any, places: Any) -> Any:
    """The labels of the recording of a panel whose rows have these places there."""
    y = labels_at(ys, places)
    levels = getattr(getattr(y, "index", None), "nlevels", 1)
    return y.droplevel(list(range(levels - 1))) if levels > 1 else y


def as_frame(X: Any) -> Any:
    """A series as a frame of one column, a table of arrow as a frame; anything else as it is."""
    if hasattr(type(X), "column_names") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "to_frame") and getattr(X, "ndim", 1) == 1 and _holds_numbers(X):
        return X.to_frame()
    return X


def is_frame(X: Any) -> bool:
    """Whether this is a data frame of pandas or polars that has been read."""
    return not hasattr(type(X), "collect") and hasattr(X, "columns")


def is_recording(X: Any) -> bool:
    """Whether this is a recording with the names of its features, such as those of files."""
    return hasattr(X, "in_order_of") and hasattr(X, "features") and hasattr(X, "name")


def _holds_numbers(series: Any) -> bool:
    """Whether a series of pandas or polars holds numbers, and not arrays or words."""
    if hasattr(series.dtype, "is_numeric"):
        return bool(series.dtype.is_numeric())
    return getattr(series.dtype, "kind", "O") in "biuf"


def panel(X: Any) -> dict[Hashable, Rows] | None:
    """The recordings of a pandas frame whose index names them and gives times; None of others."""
    index: Any = getattr(X, "index", None)
    if getattr(index, "nlevels", 1) < 2 or not hasattr(X, "columns"):
        return None
    numbers, keys = index.droplevel(-1).factorize()
    tables = {}
    for number, key in enumerate(keys):
        places = np.flatnonzero(numbers == number)
        frame = X.iloc[places].droplevel(list(range(index.nlevels - 1)))
        tables[key] = replace(rows_in_time(frame, f"frame {key!r}"), places=places)
    return tables


def rows_in_time(X: Any, called: str) -> Rows:
    """An instance with its rows in the order of time, if known; a time column becomes the axis."""
    if type(X) is np.ndarray:  # as most instances are, and it knows no times
        return Rows(X, given=X)
    axis = None
    if is_recording(X):
        axis = getattr(X, "time", None)
    elif hasattr(X, "isel"):
        axis = axis_of(X.indexes.get(X.dims[0]) if len(X.dims) == 2 else None, called)
    elif is_frame(X):
        name = _column_of_times(X)
        if name is not None:
            warn(called + f": column {name!r} is taken for the time of the rows")
        if hasattr(X, "iloc"):
            X = X if name is None else X.set_index(name)
            axis = axis_of(_of_one(X.index, called), called)
        elif name is not None:
            axis = axis_of(X[name].to_pandas().rename(name), called)
            X = X.drop(name)
    if axis is None or not (axis.values[1:] < axis.values[:-1]).any():
        return Rows(X, axis, given=X)
    values = axis.values
    if values.dtype.kind in "iu" and len(np.unique(values)) < len(values):
        row = int((values[1:] < values[:-1]).argmax())
        raise DataError(
            "the index of " + called + f" falls after row {row}, and has numbers twice, as that of "
            "several recordings put together: give a list of them, or reset_index(drop=True) if "
            "the rows are one"
        )
    order = np.argsort(values, kind="stable")
    return Rows(_rows_of(X, order), axis.at(order), order, X)


def _of_one(index: Any, called: str) -> Any:
    """The last level of an index, its times; refuse other levels that name several recordings."""
    if index.nlevels < 2:
        return index
    keys = index.droplevel(-1).unique()
    if len(keys) > 1:
        raise DataError(
            called + f" holds {len(keys)} recordings by its index, {keys[0]!r}, {keys[1]!r} ...: "
            "give a frame for each, or this one alone; structsvm.io.read_recordings reads several "
            "from a file"
        )
    return index.droplevel(list(range(index.nlevels - 1)))


def _rows_of(X: Any, rows: Ints) -> Any:
    """Some rows of an array, a frame, a recording or a matrix of xarray."""
    if is_recording(X):
        return X.at(rows)
    if hasattr(X, "isel"):
        return X.isel({X.dims[0]: rows})
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def axis_of(index: Any, called: str) -> TimeAxis | None:
    """The times in an index; None if it numbers rows or holds names."""
    if index is None or getattr(index, "nlevels", 1) > 1:
        return None
    kind = "M" if hasattr(index, "to_timestamp") else getattr(index.dtype, "kind", "M")
    if kind not in "iufmM" or hasattr(index, "mid"):
        return None
    if kind in "iu" and np.array_equal(index, np.arange(len(index))):
        return None
    column = index if hasattr(index, "iloc") else index.to_series()
    with about(called):
        axis = read_times(str(index.name or "the index"), column, False, "row {}".format)
    return axis if isinstance(axis, TimeAxis) else None


def _column_of_times(X: Any) -> Any:
    """The only column of a frame that holds dates or times; None if there is none."""
    dtypes = X.dtypes if hasattr(X, "iloc") else getattr(X, "schema", {})
    names = []
    for name, dtype in dtypes.items():
        if hasattr(dtype, "is_temporal"):  # of polars
            is_time = bool(dtype.is_temporal())
        else:
            is_time = getattr(dtype, "kind", "O") in "mM" or hasattr(dtype, "freq")
        if is_time:
            names.append(name)
    return names[0] if len(names) == 1 else None


def warn_about_order(moved: Sequence[str]) -> None:
    """Warn that the rows of some instances were not in the order of time."""
    warn(
        "the rows of "
        + some_of(list(moved), 3)
        + " are not in the order of time: they are sorted by it, and samples are counted in that "
        "order"
    )


def without_counting(instances: Sequence[Any], features: Sequence[Any] | None) -> Sequence[Any]:
    """Frames and recordings without columns that count rows or tell the time, with a warning."""
    names = [names_of(x) for x in instances]
    for own in names:
        if own is not None:
            refuse_repeated(list(map(str, own)))
    if not instances or names[0] is None or any(other != names[0] for other in names[1:]):
        return instances
    counting = columns_that_count(instances, features)
    if not counting or len(counting) == len(names[0]):
        return instances
    if features is None:
        warn(
            f"the samples: {counted(len(counting), 'column')} left out that rise by one step from "
            "row to row, as time and row numbers do: "
            f"{some_of([str(name) for name in counting], 3)}. "
            + wording(
                "Name among the features what was measured",
                of_files=parameter("features") + " names what is learned from, all of it",
            )
        )
    left = [name for name in names[0] if name not in counting]
    return [x.without(counting) if is_recording(x) else x[left] for x in instances]


def columns_that_count(
    instances: Sequence[Any], features: Sequence[Any] | None = None
) -> list[Any]:
    """Columns, other than ``features``, that rise by even steps in all instances."""
    named = set() if features is None else {str(name) for name in features}
    fewest = FEWEST_THAT_RISE if features is None else 2
    counting = []
    for j, name in enumerate(names_of(instances[0]) or ()):
        columns = [] if str(name) in named else [_numbers(x, j, name) for x in instances]
        long = [column for column in columns if len(column) >= fewest]
        if long and all(map(_counts, long)):
            counting.append(name)
    return counting


def _numbers(x: Any, j: int, name: Any) -> Floats:
    """A column of a frame or a recording; an empty one if it holds words."""
    if is_recording(x):
        return np.asarray(x.X[:, j], dtype=np.float64)
    return np.asarray(x[name] if _holds_numbers(x[name]) else (), dtype=np.float64)


def _counts(column: Floats) -> bool:
    """Whether a column rises by equal steps, but for some rows, or for rounding."""
    steps = np.diff(column)
    if not (steps > 0).all():
        return False
    usual = np.median(steps)
    alike = EVEN_STEPS * usual + 4 * np.spacing(np.abs(column).max())
    if (np.abs(steps - usual) <= alike).mean() >= EVEN_PART:
        return True
    differ = np.ptp(steps)
    line = np.linspace(column[0], column[-1], column.size)
    are_two = np.count_nonzero(np.diff(np.sort(steps)) > alike) == 1  # neighbouring roundings
    is_straight = np.abs(column - line).max() <= differ + alike
    return bool(are_two and differ <= MOST_ROUNDED * usual and is_straight)


def names_of(x: Any) -> list[Any] | None:
    """The names of the columns of a recording or a frame; None of anything else."""
    if is_recording(x):
        return list(x.features)
    return list(x.columns) if is_frame(x) and hasattr(x, "drop") else None
