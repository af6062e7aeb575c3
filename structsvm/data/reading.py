"""Recordings as users hold them: rows in the order of time, read at once or when needed."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from structsvm.data.columns import FEWEST_ROWS
from structsvm.data.sample import RECORDINGS, Deferred, Origin, Sample, Words, has_gaps
from structsvm.data.samples import (
    TRANSPOSED,
    Names,
    as_floats,
    as_list,
    check_samples,
    check_widths,
    checked_names,
    is_constant,
)
from structsvm.data.times import TimeAxis, read_times, warn_about_times
from structsvm.errors import DataError, StructSVMError, about, warn
from structsvm.messages import Text, parameter, said_by, wording
from structsvm.parallel import spread
from structsvm.support.archive import read_npz
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.checks import counted, some_of
from structsvm.support.codec import fingerprint
from structsvm.support.lazy import require
from structsvm.support.tables import (
    column_names,
    in_order_of_rows,
    refuse_other_columns,
    refuse_repeated,
)

# ---- rows in the order of time: the one rule of all containers


EVEN = 1e-6
"""Part of a step by which equal steps may differ."""
MOSTLY = 0.9
"""Part of the steps that are equal where a column counts: some rows may have been lost."""
YES = ("true", "yes")
NO = ("false", "no")
"""Words for 1 and 0."""
MOST_MARKS = 0.1
"""Part of the samples up to which ones that stand alone may mark changes."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One sample, its rows in the order of time."""

    X: Any
    axis: TimeAxis | None = None
    """When each row was measured, if that is known."""
    order: Ints | None = None
    """The number of each row in what was given; None where they came in this order."""
    given: Any = None
    """The sample with its rows as they came."""
    places: Ints | None = None
    """The numbers of these rows in a panel, as they were given."""

    def labels(self, y: Any, called: str) -> Any:
        """Labels (T,) of the rows as they were given, or by the index of a frame, in this order."""
        y = in_order_of_rows(y, self.given, called)
        shape: Any = getattr(self.X, "shape", ())
        is_clear = len(shape) == 2 and shape[0] != shape[1] and np.ndim(y) == 1
        if is_clear and len(y) == shape[1] and not _may_be_ends(np.asarray(y), shape[0]):
            raise DataError(
                called + f" has shape {tuple(shape)} and {len(y)} labels: it is transposed, give "
                f"X.T: {TRANSPOSED}"
            )
        if self.order is None or np.ndim(y) != 1 or len(y) != len(self.order):
            return y
        return taken(y, self.order)


def _may_be_ends(y: NDArray[Any], n_rows: int) -> bool:
    """Whether these are breakpoints of so many rows, perhaps without the last one."""
    if y.dtype.kind not in "iu":
        return False
    return bool(0 < y[0] and y[-1] <= n_rows and (np.diff(y.astype(np.int64)) > 0).all())


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
    return X


def is_frame(X: Any) -> bool:
    """Whether this is a data frame of pandas or polars that has been read."""
    return not hasattr(type(X), "collect") and hasattr(X, "columns")


def is_recording(X: Any) -> bool:
    """Whether this is a recording with the names of its features, such as those of files."""
    return hasattr(X, "with_features") and hasattr(X, "features") and hasattr(X, "name")


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
    numbers, keys = index.droplevel(-1).factorize()
    found = {}
    for number, key in enumerate(keys):
        places = np.flatnonzero(numbers == number)
        frame = X.iloc[places].droplevel(list(range(index.nlevels - 1)))
        found[key] = replace(rows_in_time(frame, f"frame {key!r}"), places=places)
    return found


def rows_in_time(X: Any, called: str) -> Rows:
    """A sample with its rows in the order of time, if known; a column of times is left out."""
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
    """When the rows are, of an index that also says whose they are, which has to be one's."""
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
    if is_recording(X):
        return X.at(rows)
    if hasattr(X, "isel"):
        return X.isel({X.dims[0]: rows})
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def axis_of(index: Any, called: str) -> TimeAxis | None:
    """The times that an index holds; None of one that counts rows, or holds names."""
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
    """Warn of samples whose rows came in another order than that of time."""
    warn(
        "the rows of "
        + some_of(list(moved), 3)
        + " are not in the order of time: they are sorted by it, and samples are counted in that "
        "order"
    )


def without_counting(samples: Sequence[Any], features: Sequence[Any] | None) -> Sequence[Any]:
    """Frames and recordings without columns that only count rows or tell the time, with a warning.

    Where the features are known, nothing but other columns is left out.
    """
    names = [names_of(x) for x in samples]
    for own in names:
        refuse_repeated([] if own is None else list(map(str, own)))
    if not samples or names[0] is None or any(other != names[0] for other in names[1:]):
        return samples
    known = set() if features is None else {str(name) for name in features}
    fewest = FEWEST_ROWS if features is None else 2
    found = []
    for j, name in enumerate(names[0]):
        columns = [] if str(name) in known else [_numbers(x, j, name) for x in samples]
        steps = [np.diff(column) for column in columns if len(column) >= fewest]
        if steps and all((one > 0).all() and _are_even(one) for one in steps):
            found.append(name)
    if not found or len(found) == len(names[0]):
        return samples
    if features is None:
        warn(
            f"the samples: {counted(len(found), 'column')} left out that rise by one step from row "
            "to row, as time and row numbers do: "
            f"{some_of([str(name) for name in found], 3)}. "
            + wording(
                "Name among the features what was measured",
                of_files=parameter("features") + " names what is learned from, all of it",
            )
        )
    left = [name for name in names[0] if name not in found]
    return [x.choosing(left) if is_recording(x) else x[left] for x in samples]


def _numbers(x: Any, j: int, name: Any) -> Floats:
    """A column of a frame or a recording; none of words."""
    if is_recording(x):
        return np.asarray(x.X[:, j], dtype=np.float64)
    return np.asarray(x[name] if _holds_numbers(x[name]) else (), dtype=np.float64)


def _are_even(steps: Floats) -> bool:
    usual = np.median(steps)
    return bool((np.abs(steps - usual) <= EVEN * usual).mean() >= MOSTLY)


def names_of(x: Any) -> list[Any] | None:
    if is_recording(x):
        return list(x.features)
    return list(x.columns) if is_frame(x) and hasattr(x, "drop") else None


# ---- labels that mark where recordings change: 1 at the first sample of a segment


def warn_about_marks(labels: Sequence[Any]) -> None:
    """Warn of labels that are 0 but for single ones, which mark changes as likely as states."""
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
    """How many ones stand alone among zeros, where all labels that are known are nothing else."""
    marks = [marks_of(y) for y in labels if y is not None]
    ones = [found for found in marks if found is not None]
    if len(ones) < len(marks) or any((found[1:] & found[:-1]).any() for found in ones):
        return 0
    n = sum(int(found.sum()) for found in ones)
    return n if n <= MOST_MARKS * sum(found.size for found in ones) else 0


# ---- the door for recordings, in memory or not: how each of them becomes an array, checked


PARTS = 256
"""A pass over recordings that are not in memory is in at most so many parts."""
LABELS = "label"
"""The column of a table that holds labels, if there is one."""
KINDS = (".npz", ".npy", ".parquet")
IN_MEMORY = (list, tuple, dict, str, bytes, bytearray, memoryview, np.ndarray)


def read_arrays(
    Xs: Any,
    feature_names: Names = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Sample], list[str] | None]:
    """Recordings as users hold them, as samples, and the names of their features."""
    source = source_of(Xs)
    if source is not None:
        source = replace(source, words=words, missing=missing)
        return _read_later(source, feature_names, n_features)
    arrays = []
    sides = []
    for x in as_list(Xs):
        # A sample may come with its side information.
        is_pair = isinstance(x, tuple) and len(x) == 2 and len(getattr(x[0], "shape", ())) == 2
        arrays.append(x[0] if is_pair else x)
        sides.append(x[1] if is_pair else None)
    read, names = check_samples(arrays, feature_names, n_features, words, missing)
    return [Sample(X, side) for X, side in zip(read, sides, strict=True)], names


def labels_that_came(samples: Sequence[Sample], words: Words = RECORDINGS) -> list[Any] | None:
    """The labels that came with recordings that are not in memory; None if none did."""
    found = [s.data.labels if isinstance(s.data, Deferred) else None for s in samples]
    if all(y is None for y in found):
        return None
    for i, y in enumerate(found):
        if y is None:
            raise DataError(words.numbered(i) + " has no labels, and others came with theirs")
    return found


# ---- recordings that are read one at a time, whatever holds them


@dataclass(frozen=True, eq=False)
class Source:
    """Recordings that are read one at a time, by their number, in any process."""

    held: Any
    """Anything that gives them by number or by key; None of files, whose keys are their paths."""
    keys: Sequence[Any]
    """The number of each, a range, or what it is called there."""
    words: Words = RECORDINGS
    missing: str | None = None
    names: tuple[str, ...] | None = None
    """Names of the features; None if they have none."""

    def __len__(self) -> int:
        return len(self.keys)

    def called(self, i: int) -> Text:
        """The number of a recording, and where it is."""
        number = self.words.numbered(i)
        if isinstance(self.keys, range):
            return number
        named = self.keys[i] if self.held is None else repr(self.keys[i])
        return number + f" ({named})"

    def find(self, i: int) -> tuple[Rows, Any, tuple[str, ...] | None, Any]:
        """The rows as held, labels and names that came along, and the size and time of a file."""
        key = self.keys[i]
        stamp = None
        try:
            if self.held is None:
                status = os.stat(key)
                stamp = status.st_size, status.st_mtime_ns
            found = _of_file(Path(key)) if self.held is None else self.held[key]
            X, y, columns = _taken_apart(found)
        except Exception as error:
            called = self.called(i)
            if isinstance(error, StructSVMError):  # of a file, it names the file
                named = wording(called + ": ", of_files="")
                raise DataError(named + said_by(error)) from error
            kind = type(error).__name__
            raise DataError(called + f" cannot be read: {kind}: " + said_by(error)) from error
        X = as_frame(X)
        is_in_time = self.words is RECORDINGS
        rows = rows_in_time(X, self.called(i)) if is_in_time else Rows(X, given=X)
        return rows, y, columns, stamp

    def read(self, i: int) -> tuple[Floats, Any, Any, Rows]:
        """A recording; the labels that came with it, its stamp and its rows."""
        rows, y, columns, stamp = self.find(i)
        called = self.called(i)
        names = None if self.names is None else list(self.names)
        (held,) = without_counting([rows.X], names)
        if is_recording(held):
            X = held.X if names is None else held.with_features(names, "the others").X
            labels = held.y
        else:
            X = held
            labels = rows.labels(y, called)
            there = names_of(held) or columns
            if there is not None and names is not None:
                refuse_other_columns(called, list(map(str, there)), names)
        X = np.array(as_floats(X, called, names, self.missing))  # a source may reuse its array
        return X, labels, stamp, rows


def source_of(Xs: Any) -> Source | None:
    """The source of recordings that are not in memory; None of those that are."""
    if isinstance(Xs, Source):
        return Xs
    if isinstance(Xs, list | tuple) and Xs and all(isinstance(x, str | PathLike) for x in Xs):
        paths = tuple(os.path.abspath(x) for x in Xs)  # processes may work in other folders
        for x, path in zip(Xs, paths, strict=True):
            if Path(path).suffix.lower() not in KINDS:
                raise DataError(
                    f"{os.fspath(x)!r} is not a kind of file that is read when it is needed: give "
                    f"{', '.join(KINDS)}; structsvm.io.RecordingFiles(paths) reads others"
                )
        return Source(None, paths)
    if callable(Xs) and not hasattr(Xs, "__getitem__"):
        raise DataError(
            f"recordings are read again in every round, and {getattr(Xs, '__name__', Xs)!r} makes "
            "them only one after the other: give an object with __len__ and __getitem__"
        )
    if isinstance(Xs, IN_MEMORY) or hasattr(type(Xs), "columns") or sp.issparse(Xs):
        return None
    if not hasattr(Xs, "__getitem__"):
        return None
    if callable(getattr(Xs, "keys", None)) and not hasattr(Xs, "__array__"):  # zarr, h5py, mappings
        return Source(Xs, tuple(Xs.keys()) if isinstance(Xs, Mapping) else tuple(sorted(Xs.keys())))
    if hasattr(Xs, "__array__"):
        is_stack = hasattr(Xs, "chunks") and getattr(Xs, "ndim", 0) == 3
        return Source(Xs, range(Xs.shape[0])) if is_stack else None
    return Source(Xs, range(len(Xs))) if hasattr(Xs, "__len__") else None


def _read_again(source: Source, i: int, seen: tuple[Any, ...]) -> Floats:
    """The values of a recording, whose shape, gaps and stamp must be what they were at first."""
    X, _, stamp, _ = source.read(i)
    if (X.shape, has_gaps(X), stamp) != seen:
        raise DataError(
            source.called(i) + f" has changed since it was first read (shape {seen[0]} then, "
            f"{X.shape} now): recordings that are read when they are needed must stay as they are"
        )
    return X


def _read_later(
    source: Source, feature_names: Names, n_features: int | None
) -> tuple[list[Sample], list[str] | None]:
    """Samples that are read when they are needed, each of which is read and checked once now."""
    n = len(source)
    words = source.words
    if not n:
        raise DataError(f"no {words.whole}s were given: the sequence is empty")
    names = None if feature_names is None else checked_names(feature_names)
    if names is None:
        rows, _, columns, _ = source.find(0)
        own = names_of(without_counting([rows.X], None)[0])
        names = [str(name) for name in (columns or () if own is None else own)] or None
    source = replace(source, names=None if names is None else tuple(names))
    numbers = np.array_split(np.arange(n), min(n, PARTS))
    parts = spread("reading", _first_look, [(source, some.tolist()) for some in numbers], None)
    seen, labels, axes, moved = zip(*(look for part in parts for look in part), strict=True)
    P = check_widths([shape for shape, *_ in seen], names, n_features, words)
    called = [source.called(i) for i in range(n)]
    if any(moved):
        warn_about_order([name for name, one in zip(called, moved, strict=True) if one])
    warn_about_times(called, axes)
    if words is RECORDINGS:
        warn_about_marks(labels)
    samples = []
    for i, (look, y) in enumerate(zip(seen, labels, strict=True)):
        shape, gaps, content, constant, stamp = look
        read = partial(_read_again, source, i, (shape, gaps, stamp))
        samples.append(Sample(Deferred(Origin(shape, gaps, content, constant, read), (), P, y)))
    return samples, names


def _first_look(part: tuple[Source, list[int]], _: None) -> list[tuple[Any, ...]]:
    """Read recordings: what is known of their :class:`Origin`, labels, times, if rows moved."""
    source, numbers = part
    found: list[tuple[Any, ...]] = []
    for i in numbers:
        X, labels, stamp, rows = source.read(i)
        seen = X.shape, has_gaps(X), fingerprint(X), is_constant(X), stamp
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
            # Labels are the only part of a recording that stays in memory.
            ends = map(np.min_scalar_type, (int(labels.min()), int(labels.max())))
            labels = labels.astype(np.promote_types(*ends))
        found.append((seen, labels, rows.axis, rows.order is not None))
    return found


def _taken_apart(found: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """A recording in any of its forms, the labels that came with it, and names of its columns."""
    if is_recording(found):
        return found, found.y, tuple(found.features)
    X, y = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    columns = column_names(X)
    is_mapping = callable(getattr(X, "keys", None)) and columns is None
    if is_mapping and "X" in X:
        arrays = {name: X[name] for name in X.keys()}  # noqa: SIM118 (groups)
        X = arrays["X"]
        y = arrays.get("y", arrays.get("bkps"))
        names = arrays.get("features")
        y = None if y is None else np.asarray(y)
        if names is not None:  # which HDF5 holds as bytes
            texts = np.asarray(names).tolist()
            columns = [x.decode() if isinstance(x, bytes) else str(x) for x in texts]
    tables = ("isel", "columns", "column_names", "to_frame")
    if hasattr(X, "__array__") and not any(hasattr(X, name) for name in tables):
        X = np.asanyarray(X)  # an array of zarr, h5py or another library
    return X, y, None if columns is None else tuple(columns)


def _of_file(path: Path) -> Any:
    kind = path.suffix.lower()
    if kind == ".parquet":
        pandas: Any = require("pandas", "files", "reading parquet files")
        frame = pandas.read_parquet(path)
        if LABELS not in frame.columns:
            return frame
        return frame.drop(columns=LABELS), frame[LABELS]
    if kind == ".npz":
        with path.open("rb") as file:
            arrays, present = read_npz(file, ("X", "y", "bkps", "features"))
        if "X" not in arrays:
            raise DataError(f"no array 'X'; it holds {', '.join(present) or 'nothing'}")
        return arrays
    return open_memmap(path, mode="r")  # which no more is read of than there is
