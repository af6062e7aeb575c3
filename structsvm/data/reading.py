"""Recordings as users give them, in memory or not, as instances that are checked."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.format import open_memmap

from structsvm.data.checks import (
    Names,
    as_floats,
    as_list,
    check_instances,
    check_widths,
    checked_names,
)
from structsvm.data.columns import column_values, is_constant
from structsvm.data.deferred import Deferred, Origin, labels_read_with
from structsvm.data.instance import Instance
from structsvm.data.labels import warn_about_marks
from structsvm.data.missing import has_gaps
from structsvm.data.rows import (
    Rows,
    as_frame,
    is_recording,
    names_of,
    rows_in_time,
    warn_about_order,
    without_counting,
)
from structsvm.data.times import warn_about_times
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, StructSVMError, Text, said_by, wording
from structsvm.parallel.by_name import spread
from structsvm.support import (
    Floats,
    column_names,
    fingerprint,
    read_npz,
    refuse_other_columns,
    require,
)

PARTS_OF_A_PASS = 256
"""A pass over recordings that are not in memory is in at most so many parts."""
LABELS = "label"
"""The column of a table that holds labels, if there is one."""
FILE_KINDS = (".npz", ".npy", ".parquet")
IN_MEMORY = (list, tuple, dict, str, bytes, bytearray, memoryview, np.ndarray)


def read_arrays(
    Xs: Any,
    feature_names: Names = None,
    n_features: int | None = None,
    words: Words = RECORDINGS,
    missing: str | None = None,
) -> tuple[list[Instance], list[str] | None]:
    """Return recordings as instances, and the names of their features."""
    source = source_of(Xs)
    if source is not None:
        source = replace(source, words=words, missing=missing)
        return _read_later(source, feature_names, n_features)
    arrays = []
    sides = []
    for x in as_list(Xs):
        # An instance may come with its side information.
        is_pair = isinstance(x, tuple) and len(x) == 2 and len(getattr(x[0], "shape", ())) == 2
        arrays.append(x[0] if is_pair else x)
        sides.append(x[1] if is_pair else None)
    read, names, extremes = check_instances(arrays, feature_names, n_features, words, missing)
    parts = zip(read, sides, extremes, strict=True)
    return [Instance(X, side, extremes=values) for X, side, values in parts], names


def labels_that_came(instances: Sequence[Instance], words: Words = RECORDINGS) -> list[Any] | None:
    """The labels that came with recordings that are not in memory; None if none did."""
    labels = [labels_read_with(instance.data) for instance in instances]
    if all(y is None for y in labels):
        return None
    for i, y in enumerate(labels):
        if y is None:
            raise DataError(words.numbered(i) + " has no labels, and others came with theirs")
    return labels


# ---- recordings that are read one at a time, from files or any container


@dataclass(frozen=True, eq=False)
class Source:
    """Recordings that are read one at a time, by their number, in any process."""

    container: Any
    """What gives recordings by number or by key; None for files, whose keys are their paths."""
    keys: Sequence[Any]
    """The key of each recording in the container; a range, if these are numbers."""
    words: Words = RECORDINGS
    missing: str | None = None
    names: tuple[str, ...] | None = None
    """Names of the features; None if they have none."""

    def __len__(self) -> int:
        return len(self.keys)

    def called(self, i: int) -> Text:
        """A recording in messages: its number, with its key if that is another."""
        number = self.words.numbered(i)
        if isinstance(self.keys, range):
            return number
        key = self.keys[i] if self.container is None else repr(self.keys[i])
        return number + f" ({key})"

    def find(self, i: int) -> tuple[Rows, Any, tuple[str, ...] | None, Any]:
        """A recording's rows, labels and names of columns; and the size and time of its file."""
        key = self.keys[i]
        stamp = None
        try:
            if self.container is None:
                status = os.stat(key)
                stamp = status.st_size, status.st_mtime_ns
            item = _of_file(Path(key)) if self.container is None else self.container[key]
            X, y, columns = _taken_apart(item)
        except Exception as error:
            called = self.called(i)
            if isinstance(error, StructSVMError):  # whose message names the file, if it is one
                place = wording(called + ": ", of_files="")
                raise DataError(place + said_by(error)) from error
            kind = type(error).__name__
            raise DataError(called + f" cannot be read: {kind}: " + said_by(error)) from error
        X = as_frame(X)
        is_in_time = self.words is RECORDINGS
        rows = rows_in_time(X, self.called(i)) if is_in_time else Rows(X, given=X)
        return rows, y, columns, stamp

    def read(self, i: int) -> tuple[Floats, Any, Any, Rows]:
        """A recording's values (T, P), checked; its labels, the stamp of its file, and its rows."""
        rows, y, columns, stamp = self.find(i)
        called = self.called(i)
        names = None if self.names is None else list(self.names)
        (kept,) = without_counting([rows.X], names)
        if is_recording(kept):
            X = kept.X if names is None else kept.in_order_of(names, "the others").X
            labels = kept.y
        else:
            X = kept
            labels = rows.labels(y, called)
            own = names_of(kept) or columns
            if own is not None and names is not None:
                refuse_other_columns(called, list(map(str, own)), names)
        X = np.array(as_floats(X, called, names, self.missing))  # a source may reuse its array
        return X, labels, stamp, rows


def source_of(Xs: Any) -> Source | None:
    """The source of recordings that are not in memory; None of those that are."""
    if isinstance(Xs, Source):
        return Xs
    if isinstance(Xs, list | tuple) and Xs and all(isinstance(x, str | PathLike) for x in Xs):
        paths = tuple(os.path.abspath(x) for x in Xs)  # processes may work in other folders
        for x, path in zip(Xs, paths, strict=True):
            if Path(path).suffix.lower() not in FILE_KINDS:
                raise DataError(
                    f"{os.fspath(x)!r} is not a kind of file that is read when it is needed: give "
                    f"{', '.join(FILE_KINDS)}; structsvm.io.RecordingFiles(paths) reads others"
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
        is_stack = hasattr(Xs, "chunks") and getattr(Xs, "ndim", 0) == 3  # of zarr or h5py
        return Source(Xs, range(Xs.shape[0])) if is_stack else None
    return Source(Xs, range(len(Xs))) if hasattr(Xs, "__len__") else None


def _read_again(source: Source, i: int, first: tuple[Any, ...]) -> Floats:
    """The values of a recording, whose shape, gaps and stamp must be those of the first reading."""
    X, _, stamp, _ = source.read(i)
    if (X.shape, has_gaps(X), stamp) != first:
        raise DataError(
            source.called(i) + f" has changed since it was first read (shape {first[0]} then, "
            f"{X.shape} now): recordings that are read when they are needed must stay as they are"
        )
    return X


def _read_later(
    source: Source, feature_names: Names, n_features: int | None
) -> tuple[list[Instance], list[str] | None]:
    """Instances that are read when they are needed; each is read and checked once now."""
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
    numbers = np.array_split(np.arange(n), min(n, PARTS_OF_A_PASS))
    parts = spread("reading", _first_look, [(source, some.tolist()) for some in numbers], None)
    looks, labels, axes, moved = zip(*chain.from_iterable(parts), strict=True)
    P = check_widths([shape for shape, *_ in looks], names, n_features, words)
    called = [source.called(i) for i in range(n)]
    if any(moved):
        warn_about_order([name for name, one in zip(called, moved, strict=True) if one])
    warn_about_times(called, axes)
    if words is RECORDINGS:
        warn_about_marks(labels)
    instances = []
    for i, (look, y) in enumerate(zip(looks, labels, strict=True)):
        shape, gaps, digest, extremes, stamp = look
        read = partial(_read_again, source, i, (shape, gaps, stamp))
        data = Deferred(Origin(shape, gaps, digest, read), (), P, y)
        instances.append(Instance(data, extremes=extremes))
    return instances, names


def _first_look(part: tuple[Source, list[int]], _: None) -> list[tuple[Any, ...]]:
    """Read some recordings: values of their :class:`Origin`, labels, times, whether rows moved."""
    source, numbers = part
    read: list[tuple[Any, ...]] = []
    for i in numbers:
        X, labels, stamp, rows = source.read(i)
        extremes = column_values(X)
        # so that nobody reads it again to find out whether a feature is constant but for rounding
        extremes[:, is_constant(X)] = extremes[0, is_constant(X)]
        look = X.shape, has_gaps(X), fingerprint(X), extremes, stamp
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
            # Labels are the only part of a recording that stays in memory.
            ends = map(np.min_scalar_type, (int(labels.min()), int(labels.max())))
            labels = labels.astype(np.promote_types(*ends))
        read.append((look, labels, rows.axis, rows.order is not None))
    return read


def _taken_apart(item: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """The values of a recording in any form, the labels in it, and the names of its columns."""
    if is_recording(item):
        return item, item.y, tuple(item.features)
    X, y = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
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
    """What a file holds: an array, a frame with or without labels, or arrays by name."""
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
    return open_memmap(path, mode="r")  # which refuses a file shorter than its header says
