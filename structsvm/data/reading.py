"""The door for recordings, in memory or not: how each of them becomes an array, checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.data.deferred import Deferred, Origin
from structsvm.data.gaps import has_gaps
from structsvm.data.rows import (
    Rows,
    as_frame,
    is_recording,
    names_of,
    rows_in_time,
    warn_about_marks,
    warn_about_order,
    without_counting,
)
from structsvm.data.sample import Sample
from structsvm.data.samples import (
    as_floats,
    as_list,
    check_names,
    check_samples,
    check_width,
    checked_names,
    is_constant,
)
from structsvm.data.times import TimeAxis, warn_about_times
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, StructSVMError
from structsvm.parallel.once import spread
from structsvm.storage.npz import npy_shape, read_npz
from structsvm.support.arrays import Floats
from structsvm.support.extras import require
from structsvm.support.frames import column_names, refuse_other_columns

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
