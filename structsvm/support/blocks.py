"""Arrays derived from one that is mapped from a file: made block by block, and on disk too.

A recording that does not fit in memory is given as ``np.load(path, mmap_mode="r")``. What is made
of it, such as its standardised features, is as large as it is, and goes into a temporary file.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.support.arrays import Floats

ROWS = 1 << 16
"""Rows of a block."""


def mapping_of(X: Any) -> np.memmap[Any, Any] | None:
    """The file mapping that an array is, or is a view of; None if it is in memory."""
    while type(X) is np.ndarray:  # most are of nothing else, and this is asked often
        X = X.base
    found = None
    while isinstance(X, np.ndarray):
        found, X = X if isinstance(X, np.memmap) else found, X.base
    return found


def by_rows(function: Callable[[Any], Any], X: NDArray[Any], width: int) -> Floats:
    """``function(X)`` for a function that maps each row by itself, (T, width)."""
    if mapping_of(X) is None:
        return np.asarray(function(X), dtype=np.float64)
    made = _temporary((X.shape[0], width))
    for rows in _blocks(X):
        made[rows] = function(X[rows])
        release(made)
    return made


def mean_and_spread(X: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of each column, (P,), the same of what is mapped."""
    mean = np.add.reduce([rows.sum(axis=0) for rows in Blocks(X)]) / X.shape[0]
    squares = np.add.reduce([np.square(rows - mean).sum(axis=0) for rows in Blocks(X)])
    return mean, np.sqrt(squares / X.shape[0])


def largest(X: Floats) -> Floats:
    """The largest magnitude in each column, (P,); NaN where there is one."""
    found = [
        np.maximum(X[rows].max(axis=0, initial=0.0), -X[rows].min(axis=0, initial=0.0))
        for rows in _blocks(X)
    ]
    return np.asarray(np.maximum.reduce(found))


def largest_of_all(X: Floats) -> float:
    """The largest magnitude; NaN where there is one."""
    if mapping_of(X) is not None:
        return float(largest(X).max(initial=0.0))
    return float(np.maximum(X.max(initial=0.0), -X.min(initial=0.0)))


def all_within(X: Floats, bound: float) -> bool:
    if X.dtype == np.float64 and mapping_of(X) is None and np.vdot(X, X) <= bound * bound:
        return True
    return largest_of_all(X) <= bound


def scatter(X: Floats) -> float:
    """The sum of squared distances from the mean."""
    mean = X.mean(axis=0) if mapping_of(X) is None else mean_and_spread(X)[0]
    return sum(float(np.vdot(rest, rest)) for rest in (X[rows] - mean for rows in _blocks(X)))


def release(X: Any) -> None:
    """Let go of the pages of a mapped array; they are read from the file again when needed."""
    mapping = mapping_of(X)
    if mapping is None or mapping.mode == "c":  # which would lose what was written
        return
    pages: Any = mapping.base
    if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows of an array, some at a time, as often as they are asked for."""

    X: Any

    def __iter__(self) -> Iterator[Any]:
        for begin in range(0, self.X.shape[0], ROWS):
            yield self.X[begin : begin + ROWS]
            release(self.X)


def _blocks(X: NDArray[Any]) -> Iterator[slice]:
    """The rows of what is mapped, a block at a time; all of them of what is in memory."""
    if mapping_of(X) is None:
        yield slice(None)
        return
    for begin in range(0, X.shape[0], ROWS):
        yield slice(begin, begin + ROWS)
        release(X)


def _temporary(shape: tuple[int, int]) -> Floats:
    """An array in a file that has no name and goes with the array."""
    size = 8 * shape[0] * shape[1]
    with tempfile.TemporaryFile(prefix="structsvm-") as file:
        try:
            _reserve(file.fileno(), size)
        except OSError as error:
            raise DataError(
                f"no room for a temporary file of {size / 1e9:.1f} GB in {tempfile.gettempdir()} "
                f"({error.strerror}): set TMPDIR to a folder on a larger disk"
            ) from error
        made: Floats = np.memmap(file, dtype=np.float64, mode="r+", shape=shape)
        return made


def _reserve(file: int, size: int) -> None:
    """Take the room on the disk now, where the system can: a full disk later ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
