"""Sequences of recordings that are read one at a time, whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.errors import DataError
from structsvm.storage import limits
from structsvm.storage.npz import npy_shape, read_npz
from structsvm.support.extras import require
from structsvm.support.frames import column_names

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

    def place(self, i: int) -> str:
        """Where it is, in words; "" if there is nothing to say but its number."""
        if self.are_files:
            return str(self.held[i])
        return "" if self.keys is None else repr(self.keys[i])

    def stamp(self, i: int) -> Any:
        """The size of its file, and when that was written."""
        found = os.stat(self.held[i]) if self.are_files else None
        return None if found is None else (found.st_size, found.st_mtime_ns)

    def item(self, i: int) -> Item:
        """The recording, taken apart."""
        return _taken_apart(self[i])


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


def _of_file(path: Path) -> Any:
    readers = {".npz": _of_npz, ".npy": _of_npy, ".parquet": _of_parquet}
    return readers[path.suffix.lower()](path)


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
    return np.array(X) if X.nbytes <= limits.KEPT else X


def _of_parquet(path: Path) -> Any:
    pandas: Any = require("pandas", "files", "reading parquet files")
    frame = pandas.read_parquet(path)
    if LABELS not in frame.columns:
        return frame
    return frame.drop(columns=LABELS), frame[LABELS]
