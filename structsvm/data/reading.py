"""Recordings as users hold them: rows in the order of time, read at once or when needed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.data.gaps import has_gaps
from structsvm.data.sample import RECORDINGS, Deferred, Origin, Sample, Words
from structsvm.data.samples import (
    as_floats,
    as_list,
    check_names,
    check_samples,
    check_width,
    checked_names,
    is_constant,
)
from structsvm.data.times import TimeAxis, read_times, warn_about_times
from structsvm.errors import DataError, DataWarning, StructSVMError, warn
from structsvm.parallel.once import spread
from structsvm.storage.npz import npy_shape, read_npz
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.lazy import require
from structsvm.support.plain import counted, some_of
from structsvm.support.tables import column_names, in_order_of_rows, refuse_other_columns

# ---- rows in the order of time: the one rule of all containers


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


# ---- the door for recordings, in memory or not: how each of them becomes an array, checked


PARTS = 256
"""A pass over recordings that are not in memory is in at most so many parts."""
LABELS = "label"
"""The column of a table that holds labels, if there is one."""
KINDS = (".npz", ".npy", ".parquet")
IN_MEMORY = (list, tuple, dict, str, bytes, bytearray, memoryview, np.ndarray)


def read_arrays(
    Xs: Any,
    feature_names: Sequence[str] | None = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Sample], list[str] | None]:
    """Recordings as users hold them, as samples, and the names of their features."""
    source = source_of(Xs)
    if source is not None:
        return _read_later(source, feature_names, n_features, words, missing)
    pairs = [_with_side(x) for x in as_list(Xs)]
    arrays, names = check_samples([X for X, _ in pairs], feature_names, n_features, words, missing)
    sides = [side for _, side in pairs]
    return [Sample(X, side) for X, side in zip(arrays, sides, strict=True)], names


def labels_that_came(samples: Sequence[Sample], words: Words = RECORDINGS) -> list[Any] | None:
    """The labels that came with recordings that are not in memory; None if none did."""
    found = [s.data.labels if isinstance(s.data, Deferred) else None for s in samples]
    if all(y is None for y in found):
        return None
    for i, y in enumerate(found):
        if y is None:
            raise DataError(f"{words.whole} {i} has no labels, and others came with theirs")
    return found


def content_of(X: Floats) -> str:
    """The first digits of the SHA-256 of an array's values."""
    values = np.ascontiguousarray(X, dtype=np.float64)
    digest = hashlib.sha256(repr(values.shape).encode())
    digest.update(values.data)
    return digest.hexdigest()[:16]


# ---- recordings that are read one at a time, whatever holds them


@dataclass(frozen=True)
class Item:
    """A recording as it was found: nothing of it is checked."""

    X: Any
    y: Any = None
    """Its labels, if they came with it."""
    features: tuple[str, ...] | None = None
    """The names of its columns."""
    recording: Any = None
    """Where it came as a recording with names, which can put its columns in order."""


@dataclass(frozen=True, eq=False)
class Source:
    """Recordings that are read one at a time, by their number, in any process."""

    held: Any
    """Anything that gives them by number, by key, or as the paths of their files."""
    keys: tuple[Any, ...] | None = None
    """The name of each, where they have names."""
    are_files: bool = False

    def __len__(self) -> int:
        if self.keys is not None:
            return len(self.keys)
        return int(self.held.shape[0]) if hasattr(self.held, "shape") else len(self.held)

    def __getitem__(self, i: int) -> Any:
        """Return the recording as whoever holds it gives it."""
        found = self.held[i if self.keys is None else self.keys[i]]
        return _of_file(Path(found)) if self.are_files else found

    def called(self, i: int, words: Words) -> str:
        """The number of a recording, and where it is."""
        if self.are_files:
            return f"{words.whole} {i} ({self.held[i]})"
        return f"{words.whole} {i}" + ("" if self.keys is None else f" ({self.keys[i]!r})")

    def read(self, i: int, words: Words) -> tuple[Item, Any]:
        """The recording, and the size of its file and when that was written; errors name it."""
        try:
            item = _taken_apart(self[i])
            found = os.stat(self.held[i]) if self.are_files else None
            return item, None if found is None else (found.st_size, found.st_mtime_ns)
        except StructSVMError as error:
            raise DataError(f"{self.called(i, words)}: {error}") from error
        except Exception as error:
            raise DataError(
                f"{self.called(i, words)} cannot be read: {type(error).__name__}: {error}"
            ) from error


def source_of(Xs: Any) -> Source | None:
    """The source of recordings that are not in memory; None of those that are."""
    if isinstance(Xs, Source):
        return Xs
    if isinstance(Xs, list | tuple) and Xs and all(isinstance(x, str | PathLike) for x in Xs):
        return Source(tuple(map(_checked, map(os.fspath, Xs))), are_files=True)
    if callable(Xs) and not hasattr(Xs, "__getitem__"):
        raise DataError(
            f"recordings are read again in every round, and {getattr(Xs, '__name__', Xs)!r} makes "
            "them only one after the other: give an object with __len__ and __getitem__"
        )
    if isinstance(Xs, IN_MEMORY) or hasattr(type(Xs), "columns") or sp.issparse(Xs):
        return None
    if not hasattr(Xs, "__getitem__"):
        return None
    if is_group(Xs):
        return Source(Xs, tuple(Xs.keys()) if isinstance(Xs, Mapping) else tuple(sorted(Xs.keys())))
    if hasattr(Xs, "__array__"):
        return Source(Xs) if hasattr(Xs, "chunks") and Xs.ndim == 3 else None
    return Source(Xs) if hasattr(Xs, "__len__") else None


def is_group(Xs: Any) -> bool:
    """Whether this holds recordings by name, as mappings and groups of zarr and h5py do."""
    by_name = callable(getattr(Xs, "keys", None)) and not hasattr(Xs, "__array__")
    return by_name and not isinstance(Xs, dict)


def _checked(path: str) -> str:
    if Path(path).suffix.lower() not in KINDS:
        raise DataError(
            f"{path!r} is not a kind of file that is read when it is needed: give "
            f"{', '.join(KINDS)}; structsvm.io.RecordingFiles(paths) reads others"
        )
    return os.path.abspath(path)  # processes may work in other folders


@dataclass(frozen=True)
class _How:
    """How every recording of a source is read."""

    words: Words
    missing: str | None
    names: tuple[str, ...] | None
    """Of the features; None if they have none."""


@dataclass(frozen=True, eq=False)
class _Place(Origin):
    """A recording of a source."""

    stamp: Any = field(metadata={"fingerprint": False})
    source: Source = field(metadata={"fingerprint": False})
    index: int = field(metadata={"fingerprint": False})
    how: _How

    def read(self) -> Floats:
        """The values, as they were when they were first read."""
        X, _, stamp, _ = _read(self.source, self.index, self.how)
        if X.shape != self.shape or stamp != self.stamp or has_gaps(X) != self.has_gaps:
            raise DataError(
                f"{self.source.called(self.index, self.how.words)} has changed since it was "
                f"first read (shape {self.shape} then, {X.shape} now): recordings that are read "
                "when they are needed must stay as they are"
            )
        return X


@dataclass(frozen=True, eq=False)
class _Look:
    """What is to be known of a recording once it was read."""

    seen: tuple[tuple[int, int], bool, str, Any, Any]
    """The first fields of :class:`_Place`."""
    labels: Any
    axis: TimeAxis | None
    was_sorted: bool


def _read_later(
    source: Source,
    feature_names: Sequence[str] | None,
    n_features: int | None,
    words: Words,
    missing: str | None,
) -> tuple[list[Sample], list[str] | None]:
    """Samples that are read when they are needed, each of which is read and checked once now."""
    if not len(source):
        raise DataError(f"no {words.whole}s were given: the sequence is empty")
    names = None if feature_names is None else checked_names(feature_names)
    if names is None:
        first = source.read(0, words)[0]
        found = names_of(without_counting([_rows(first, "", words).X], None)[0])
        found = list(first.features or ()) if found is None else found
        names = [str(name) for name in found] or None
    how = _How(words, missing, None if names is None else tuple(names))
    numbers = np.array_split(np.arange(len(source)), min(len(source), PARTS))
    parts = [(source, some.tolist()) for some in numbers]
    looks: list[_Look]
    looks = [look for part in spread("reading", _look_at, parts, how) for look in part]
    shapes = [look.seen[0] for look in looks]
    expected = shapes[0][1] if n_features is None else n_features
    samples = []
    for i, (look, (_, P)) in enumerate(zip(looks, shapes, strict=True)):
        check_width(P, expected, f"{words.whole} {i}", words, n_features is not None)
        samples.append(Sample(Deferred(_Place(*look.seen, source, i, how), (), P, look.labels)))
    check_names(names, expected, words)
    called = [source.called(i, words) for i in range(len(source))]
    warn_about_order([name for name, look in zip(called, looks, strict=True) if look.was_sorted])
    warn_about_times(called, [look.axis for look in looks])
    if words is RECORDINGS:
        warn_about_marks([look.labels for look in looks], [T for T, _ in shapes])
    return samples, names


def _look_at(part: tuple[Source, list[int]], how: _How) -> list[_Look]:
    """Read some recordings, one at a time, and note what is to be known of each."""
    source, numbers = part
    found = []
    for i in numbers:
        X, labels, stamp, rows = _read(source, i, how)
        seen = (len(X), X.shape[1]), has_gaps(X), content_of(X), is_constant(X), stamp
        found.append(_Look(seen, _small(labels), rows.axis, rows.order is not None))
    return found


def _read(source: Source, i: int, how: _How) -> tuple[Floats, Any, Any, Rows]:
    """A recording, checked; the labels that came with it, its stamp and its rows."""
    (item, stamp), called = source.read(i, how.words), source.called(i, how.words)
    names = None if how.names is None else list(how.names)
    rows = _rows(item, called, how.words)
    (held,) = without_counting([rows.X], names)
    if item.recording is not None:
        X = held.X if names is None else held.with_features(names, "the others").X
        labels = held.y
    else:
        X, labels = held, rows.labels(item.y, called)
        columns = item.features if held is item.X else names_of(held)
        if columns is not None and names is not None:
            refuse_other_columns(called, list(map(str, columns)), names)
    X = np.array(as_floats(X, called, names, how.missing))  # a source may reuse its array
    return X, labels, stamp, rows


def _rows(item: Item, called: str, words: Words) -> Rows:
    """A recording as it was found, in the order of time."""
    held = as_frame(item.X) if item.recording is None else item.recording
    return rows_in_time(held, called) if words is RECORDINGS else Rows(held, given=held)


def _small(labels: Any) -> Any:
    """Labels in few bytes: they are the only part of a recording that stays in memory."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
        least, most = int(labels.min()), int(labels.max())
        return labels.astype(np.promote_types(np.min_scalar_type(least), np.min_scalar_type(most)))
    return labels


def _with_side(x: Any) -> tuple[Any, Any]:
    """A sample and its side information: ``(X, side)`` with a two-dimensional X, or X alone."""
    if isinstance(x, tuple) and len(x) == 2 and len(getattr(x[0], "shape", ())) == 2:
        return x
    return x, None


def _taken_apart(found: Any) -> Item:
    """A recording in any of its forms, and the labels that came with it."""
    if is_recording(found):
        return Item(found.X, found.y, tuple(found.features), found)
    if isinstance(found, tuple) and len(found) == 2:
        return Item(_array(found[0]), found[1], _columns(found[0]))
    columns = _columns(found)
    if columns is None and callable(getattr(found, "keys", None)) and "X" in found:
        arrays = {name: found[name] for name in found.keys()}  # noqa: SIM118 (groups)
        y, names = arrays.get("y", arrays.get("bkps")), arrays.get("features")
        if names is not None:  # which HDF5 holds as bytes
            texts = np.asarray(names).tolist()
            columns = tuple(x.decode() if isinstance(x, bytes) else str(x) for x in texts)
        return Item(_array(arrays["X"]), None if y is None else np.asarray(y), columns)
    return Item(_array(found), None, columns)


def _array(X: Any) -> Any:
    if isinstance(X, np.ndarray) or hasattr(X, "isel") or not hasattr(X, "__array__"):
        return X
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names") or hasattr(X, "to_frame"):
        return X
    return np.asanyarray(X)


def _columns(X: Any) -> tuple[str, ...] | None:
    names = column_names(X)
    return None if names is None else tuple(names)


def _of_file(path: Path) -> Any:
    kind = path.suffix.lower()
    if kind == ".parquet":
        pandas: Any = require("pandas", "files", "reading parquet files")
        frame = pandas.read_parquet(path)
        if LABELS not in frame.columns:
            return frame
        return frame.drop(columns=LABELS), frame[LABELS]
    with path.open("rb") as file:
        if kind == ".npz":
            arrays, present = read_npz(file, ("X", "y", "bkps", "features"))
            if "X" not in arrays:
                raise DataError(f"no array 'X'; it holds {', '.join(present) or 'nothing'}")
            return arrays
        npy_shape(file)
    return np.load(path, allow_pickle=False)
