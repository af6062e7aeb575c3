"""Sequences of recordings that are read one at a time, whatever holds them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.errors import DataError
from structsvm.parallel.once import spread
from structsvm.storage.limits import kept_bytes, npy_shape, read_npz
from structsvm.support.contract import hook
from structsvm.support.extras import require
from structsvm.support.frames import column_names

__all__ = ["Item", "Named", "Source", "source_of"]

LABELS = "label"
"""The column of a table that holds labels, if there is one."""
KINDS = (".npz", ".npy", ".parquet")
IN_MEMORY = (list, tuple, dict, str, bytes, bytearray, memoryview, np.ndarray)


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


class Source(ABC):
    """Recordings that are read one at a time, by their number, in any process."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of recordings."""

    @abstractmethod
    def get(self, i: int) -> Any:
        """The recording as whoever holds it gives it."""

    @hook
    def place(self, i: int) -> str:
        """Where it is, in words; "" if there is nothing to say but its number."""
        return ""

    @hook
    def stamp(self, i: int) -> Any:
        return None

    def item(self, i: int) -> Item:
        """The recording, taken apart."""
        return _taken_apart(self.get(i))

    def __getitem__(self, i: int) -> Any:
        """Return the recording as whoever holds it gives it."""
        return self.get(i)

    def __iter__(self) -> Iterator[Any]:
        """Go through the recordings."""
        return (self.get(i) for i in range(len(self)))


@dataclass(frozen=True, eq=False)
class Numbered(Source):
    """Anything with a length that gives recordings by their numbers."""

    held: Any

    def __len__(self) -> int:
        return int(self.held.shape[0]) if hasattr(self.held, "shape") else len(self.held)

    def get(self, i: int) -> Any:
        return self.held[i]


@dataclass(frozen=True, eq=False)
class Named(Source):
    """Anything that gives recordings by their names, such as a group of zarr."""

    held: Any
    keys: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def get(self, i: int) -> Any:
        """The recording of the ``i``-th name."""
        return self.held[self.keys[i]]

    def place(self, i: int) -> str:
        """Its name."""
        return repr(self.keys[i])


@dataclass(frozen=True, eq=False)
class Files(Source):
    """Files of arrays and tables. A large array stays on the disk."""

    paths: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def get(self, i: int) -> Any:
        path = Path(self.paths[i])
        readers = {".npz": _of_npz, ".npy": _of_npy, ".parquet": _of_parquet}
        return readers[path.suffix.lower()](path)

    def place(self, i: int) -> str:
        return self.paths[i]

    def stamp(self, i: int) -> Any:
        """The size of the file, and when it was written."""
        found = os.stat(self.paths[i])
        return found.st_size, found.st_mtime_ns


@dataclass(frozen=True, eq=False)
class Bag(Source):
    """The items of a ``dask.bag``, whose partitions are computed where they are read."""

    partitions: tuple[Any, ...]
    """Delayed lists."""
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, bag: Any) -> Bag:
        """Count the items, one partition after the other."""
        partitions = tuple(bag.to_delayed())
        return cls(partitions, tuple(spread("counting", _count, partitions, None)))

    def __len__(self) -> int:
        return sum(self.sizes)

    def get(self, i: int) -> Any:
        k = int(np.searchsorted(self._ends, i, side="right"))
        items = _computed(self.partitions[k])
        return items[i - int(self._ends[k]) + self.sizes[k]]

    @cached_property
    def _ends(self) -> Any:
        return np.cumsum(self.sizes)


def source_of(Xs: Any) -> Source | None:
    """The source of recordings that are not in memory; None of those that are."""
    if isinstance(Xs, Source):
        return Xs
    if isinstance(Xs, list | tuple) and Xs and all(isinstance(x, str | PathLike) for x in Xs):
        return Files(tuple(map(_checked, map(os.fspath, Xs))))
    if callable(Xs) and not hasattr(Xs, "__getitem__"):
        raise DataError(
            f"recordings are read again in every round, and {getattr(Xs, '__name__', Xs)!r} makes "
            "them only one after the other: give an object with __len__ and __getitem__"
        )
    if _is_bag(Xs):
        return Bag.of(Xs)
    if type(Xs).__module__.startswith("h5py."):
        return _of_hdf5(Xs)
    if isinstance(Xs, IN_MEMORY) or hasattr(type(Xs), "columns") or sp.issparse(Xs):
        return None
    if not hasattr(Xs, "__getitem__"):
        return None
    if isinstance(Xs, Mapping):
        return Named(Xs, tuple(Xs))
    if hasattr(Xs, "array_keys"):  # a group of zarr, which has no order
        return Named(Xs, tuple(sorted(Xs.keys())))
    if hasattr(Xs, "__array__"):
        return Numbered(Xs) if hasattr(Xs, "chunks") and Xs.ndim == 3 else None
    return Numbered(Xs) if hasattr(Xs, "__len__") else None


@dataclass(frozen=True, eq=False)
class Hdf5:
    """A group or a stack of an HDF5 file, which other processes open for themselves."""

    held: Any
    path: str
    name: str

    def __getitem__(self, key: Any) -> Any:
        """Return a member of the group, or an array of the stack."""
        return self.held[key]

    def __len__(self) -> int:
        """Return their number."""
        return len(self.held)

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels as the place where it is read."""
        return _opened, (self.path, self.name)


def _opened(path: str, name: str) -> Hdf5:
    import h5py

    return Hdf5(h5py.File(path, "r")[name], path, name)


def _of_hdf5(held: Any) -> Source | None:
    """The recordings of a group or a stack (N, T, P) of HDF5; None for an array in memory."""
    place = Hdf5(held, os.path.abspath(held.file.filename), held.name)
    if isinstance(held, Mapping):
        return Named(place, tuple(held))
    return Numbered(place) if held.ndim == 3 else None


def _is_bag(Xs: Any) -> bool:
    return hasattr(Xs, "to_delayed") and type(Xs).__module__.startswith("dask.bag")


def _count(partition: Any, _: None) -> int:
    return len(_computed(partition))


def _computed(partition: Any) -> list[Any]:
    return list(partition.compute(scheduler="synchronous"))


def _checked(path: str) -> str:
    if Path(path).suffix.lower() not in KINDS:
        raise DataError(
            f"{path!r} is not a kind of file that is read when it is needed: give "
            f"{', '.join(KINDS)}; structsvm.io.RecordingFiles(paths) reads others"
        )
    return os.path.abspath(path)  # processes may work in other folders


def _taken_apart(found: Any) -> Item:
    """A recording in any of its forms, and the labels that came with it."""
    if hasattr(found, "with_features") and hasattr(found, "X"):
        return Item(found.X, found.y, tuple(found.features), found)
    if isinstance(found, tuple) and len(found) == 2:
        return Item(_array(found[0]), found[1], _columns(found[0]))
    if _columns(found) is None and callable(getattr(found, "keys", None)) and "X" in found:
        return _of_arrays({name: found[name] for name in found.keys()})  # noqa: SIM118 (groups)
    return Item(_array(found), None, _columns(found))


def _of_arrays(arrays: Mapping[str, Any]) -> Item:
    """``X``, ``y`` or ``bkps``, and ``features``, as in the files of recordings."""
    y = arrays.get("y", arrays.get("bkps"))
    names = arrays.get("features")
    return Item(
        _array(arrays["X"]),
        None if y is None else np.asarray(y),
        None if names is None else tuple(map(_text, np.asarray(names).tolist())),
    )


def _text(name: Any) -> str:
    """A name as text, which HDF5 holds as bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def _array(X: Any) -> Any:
    if isinstance(X, np.ndarray) or hasattr(X, "isel") or not hasattr(X, "__array__"):
        return X
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names") or hasattr(X, "to_frame"):
        return X
    return np.asanyarray(X)


def _columns(X: Any) -> tuple[str, ...] | None:
    """The names of the columns, if they have names."""
    names = column_names(X)
    return None if names is None else tuple(names)


def _of_npz(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        arrays, present = read_npz(file, ("X", "y", "bkps", "features"))
    if "X" not in arrays:
        raise DataError(f"no array 'X'; it holds {', '.join(present) or 'nothing'}")
    return arrays


def _of_npy(path: Path) -> Any:
    with path.open("rb") as file:
        npy_shape(file)
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.array(X) if X.nbytes <= kept_bytes() else X


def _of_parquet(path: Path) -> Any:
    pandas: Any = require("pandas", "files", "reading parquet files")
    frame = pandas.read_parquet(path)
    if LABELS not in frame.columns:
        return frame
    return frame.drop(columns=LABELS), frame[LABELS]
