"""Paths through tables: the cheapest one, and how far cells are from one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def deviations(y: Ints) -> Floats:
    """How far each cell is from a path: the mean of that in its row and in its column."""
    rows, columns = y.T
    return (_outside(rows, columns) + _outside(columns, rows).T) / 2.0


def _outside(lines: Ints, places: Ints) -> Ints:
    """How far each place of a line is from the places that the path has there."""
    each = np.arange(lines[-1] + 1)
    low = places[np.searchsorted(lines, each)]
    high = places[np.searchsorted(lines, each, "right") - 1]
    at = np.arange(places[-1] + 1)
    return np.maximum(np.maximum(low[:, None] - at, at - high[:, None]), 0)


@njit(cache=True)
def warp(costs: Floats) -> Ints:
    """The cheapest path from the first to the last cell, (L, 2); costs may be negative."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(rows):
        for j in range(columns):
            before = min(total[i, j], total[i, j + 1], total[i + 1, j])
            total[i + 1, j + 1] = costs[i, j] + before
    path = [(rows - 1, columns - 1)]
    i = rows
    j = columns
    while i + j > 2:
        step = np.array([total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]]).argmin()
        i -= step != 2
        j -= step != 1
        path.append((i - 1, j - 1))
    return np.array(path[::-1])
