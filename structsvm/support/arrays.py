"""The arrays that signatures speak of, docstrings giving their shapes; largest magnitudes."""

from __future__ import annotations

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
