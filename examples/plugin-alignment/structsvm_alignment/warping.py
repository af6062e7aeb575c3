"""Paths through tables: the cheapest one, and how far cells are from one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def deviations(y: Ints, rows: int, columns: int) -> Floats:
    """How far each cell is from a path: the mean of that in its row and in its column."""
    across = _outside(y[:, 0], y[:, 1], rows, columns)
    along = _outside(y[:, 1], y[:, 0], columns, rows).T
    return (across + along) / 2.0


def _outside(lines: Ints, places: Ints, n_lines: int, n_places: int) -> Ints:
    """How far each place of a line is from the places that the path has there."""
    low = np.full(n_lines, n_places)
    high = np.full(n_lines, -1)
    np.minimum.at(low, lines, places)
    np.maximum.at(high, lines, places)
    every = np.arange(n_places)
    return np.maximum(np.maximum(low[:, None] - every, every - high[:, None]), 0)


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
    path = np.empty((rows + columns, 2), dtype=np.int64)
    i = rows
    j = columns
    length = 0
    while i > 0 and j > 0:
        path[length, 0] = i - 1
        path[length, 1] = j - 1
        length += 1
        diagonal = total[i - 1, j - 1]
        is_diagonal = diagonal <= total[i - 1, j] and diagonal <= total[i, j - 1]
        is_up = is_diagonal or total[i - 1, j] <= total[i, j - 1]
        is_left = is_diagonal or not is_up
        i -= is_up
        j -= is_left
    return path[:length][::-1].copy()
