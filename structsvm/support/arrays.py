"""The arrays that signatures speak of, docstrings giving their shapes, and sums of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW = 8
"""Rows of a run of which NumPy adds all but the first in their order."""
LITTLE = 10_000
"""Numbers of an array that NumPy alone sums as quickly."""


def sums_of_runs(X: Floats, starts: Ints) -> Floats:
    """``np.add.reduceat(X, starts, axis=0)``, to the last bit, and faster where runs are short.

    To the first row of a run NumPy adds the sum of the others, in each column by itself.

    Parameters
    ----------
    X : array of shape (n, m)
    starts : int array of shape (G,)
        The first row of each run, increasing from 0; a run ends where the next one begins.

    Returns
    -------
    sums : array of shape (G, m)
    """
    sizes = np.diff(starts, append=len(X))
    short = sizes <= FEW
    if X.size < LITTLE or 2 * np.count_nonzero(short) <= sizes.size:
        return np.asarray(np.add.reduceat(X, starts, axis=0))
    sums = X[starts]
    if not short.all():
        ends = np.stack((starts[~short], (starts + sizes)[~short]), axis=1).ravel()
        sums[~short] = np.add.reduceat(X, ends[ends < len(X)], axis=0)[::2]
    several = np.flatnonzero(short & (sizes > 1))
    rest = X[starts[several] + 1]
    for k in range(2, FEW):
        more = np.flatnonzero(sizes[several] > k)
        rest[more] += X[starts[several[more]] + k]
    sums[several] += rest
    return sums
