"""The arrays that signatures speak of, docstrings giving their shapes; largest magnitudes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def largest(X: Floats) -> Floats:
    """The largest magnitude in each column, (P,); NaN where there is one."""
    return np.asarray(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)))


def largest_of_all(X: Floats) -> float:
    """The largest magnitude; NaN where there is one."""
    return float(np.maximum(X.max(initial=0.0), -X.min(initial=0.0)))


def all_within(X: Floats, bound: float) -> bool:
    if X.dtype == np.float64 and np.vdot(X, X) <= bound * bound:
        return True
    return largest_of_all(X) <= bound


@dataclass(frozen=True, eq=False)
class Stack:
    """Arrays (T_i, P), one below the other."""

    rows: Floats
    """All rows, (n, P)."""
    first: Ints
    """Where those of each array begin, (N + 1,)."""

    @classmethod
    def of(cls, Xs: Sequence[Floats]) -> Stack:
        """A copy of arrays with the same number of columns."""
        first = offsets([len(X) for X in Xs])
        rows = np.empty((int(first[-1]), Xs[0].shape[1]))  # row after row, whatever they are
        np.concatenate(Xs, out=rows)
        return cls(rows, first)

    @property
    def is_sound(self) -> bool:
        """Whether each array has rows, and the rows are those of the arrays."""
        first: object = self.first
        if not (isinstance(first, np.ndarray) and isinstance(self.rows, np.ndarray)):
            return False
        if first.ndim != 1 or first.size < 2 or first.dtype != np.int64:
            return False
        return bool(first[0] == 0 and first[-1] == len(self.rows) and (self.sizes > 0).all())

    @property
    def sizes(self) -> Ints:
        """How many rows each array has, (N,)."""
        return np.asarray(self.first[1:] - self.first[:-1])  # numpy.diff takes ten times as long

    def __len__(self) -> int:
        return self.first.size - 1

    def array(self, i: int) -> Floats:
        return self.rows[self.first[i] : self.first[i + 1]]

    def arrays(self) -> list[Floats]:
        first = self.first.tolist()
        return [self.rows[a:b] for a, b in pairwise(first)]


def offsets(sizes: Sequence[int] | Ints) -> Ints:
    """Where things of these sizes begin that are one behind the other, (N + 1,)."""
    first = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.asarray(sizes, dtype=np.int64).cumsum(out=first[1:])
    return first
