"""Dynamic programs that look at every segment: any signs, any shift, O(T^2 r) operations.

They are Algorithm 1 of Lajugie et al. with its slips corrected (one vector instead of a T x T
table, the backtrack along a column), on factored scores instead of the summed-area table.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.oracles._lanes import LANES, max_plus
from structsvm.oracles._segment_table import FAST, SegmentTable, end_row, lane_scores

__all__ = ["backtrack", "layers", "layers_backtrack", "scan"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 16
"""Groups of starts whose scores are held while the layers go over them."""


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def scan(table: SegmentTable, earliest: Ints) -> tuple[Floats, Ints]:
    """Best value ``F(t)`` of a segmentation that ends at each knot, and its last start.

    Parameters
    ----------
    table : SegmentTable
        Segment scores on m + 1 knots.
    earliest : array of shape (m + 1,)
        First start allowed for a segment that ends at each knot (the last forced boundary).

    Returns
    -------
    F : array of shape (m + 1,)
    previous : array of shape (m + 1,)
        The leftmost best start.
    """
    n_knots = table.position.size
    best = np.full((table.first_group[1], LANES), -np.inf)
    previous = np.zeros(n_knots, np.int64)
    row, out = np.empty(table.sums.shape[1]), np.empty(LANES)
    best[0, 0] = 0.0
    for t in range(1, n_knots):
        end_row(table.sums, t, row)
        top, argument = -np.inf, earliest[t]
        for g in range(earliest[t] // LANES, (t - 1) // LANES + 1):
            lane_scores(table, g, best, t, row, out)
            for i in range(LANES):
                if out[i] > top and g * LANES + i >= earliest[t]:
                    top, argument = out[i], g * LANES + i
        best[t // LANES, t % LANES] = top + table.shift
        previous[t] = argument
    return best.ravel()[:n_knots], previous


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def backtrack(previous: Ints) -> Ints:
    """The knots of the best segmentation, from 0 to m."""
    path = np.empty(previous.size, np.int64)
    t, n = previous.size - 1, 0
    while t > 0:
        path[n] = t
        t, n = previous[t], n + 1
    path[n] = 0
    return path[: n + 1][::-1].copy()


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def layers(table: SegmentTable, earliest: Ints, K: int) -> Floats:
    """Best value ``F(k, t)`` of exactly ``k`` segments that end at each knot, for ``k`` up to K.

    Only ``k <= t <= m - (K - k)`` can be part of an answer, so the result is the band
    ``F(k, t) = band[k, t - k]``, (K + 1, m - K + 1). Sixteen ends go through the starts together,
    so that a layer is read from memory once for all of them.
    """
    m = table.position.size - 1
    band = np.full((K + 1, m - K + 1), -np.inf)
    band[0, 0] = 0.0
    tile, top = np.empty((CHUNK * LANES, LANES)), np.empty((K + 1, LANES))
    zero = np.zeros((table.first_group[1], LANES))
    for block in range((m - 1) // LANES + 1):
        first_end, last_end = block * LANES + 1, min((block + 1) * LANES, m)
        top[:] = -np.inf
        for g in range(earliest[first_end] // LANES, block, CHUNK):
            last = min(g + CHUNK, block)
            _fill_tile(table, earliest, zero, g, last, first_end, last_end, tile)
            _raise_layers(band, g * LANES, last * LANES, tile, top)
        _fill_tile(table, earliest, zero, block, block + 1, first_end, last_end, tile)
        for t in range(first_end, last_end + 1):
            _raise_layers(band, t - 1, t, tile[t - first_end :], top)
            for k in range(max(1, t - m + K), min(K, t) + 1):
                band[k, t - k] = top[k, t - first_end] + table.shift
    return band


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def _fill_tile(
    table: SegmentTable,
    earliest: Ints,
    zero: Floats,
    first: int,
    last: int,
    first_end: int,
    last_end: int,
    tile: Floats,
) -> None:
    """``tile[s, i]``: score without shift from start ``first * 16 + s`` to ``first_end + i``."""
    row, out = np.empty(table.sums.shape[1]), np.empty(LANES)
    tile[:] = -np.inf
    for end in range(first_end, last_end + 1):
        end_row(table.sums, end, row)
        for g in range(max(first, earliest[end] // LANES), last):
            lane_scores(table, g, zero, end, row, out)
            for s in range(max(g * LANES, earliest[end]), min((g + 1) * LANES, end)):
                tile[s - first * LANES, end - first_end] = out[s % LANES]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _raise_layers(band: Floats, first: int, stop: int, tile: Floats, top: Floats) -> None:
    """``top[k, i] = max(top[k, i], F(k-1, s) + tile[s - first, i])`` over ``first <= s < stop``."""
    width = band.shape[1]
    for k in range(1, band.shape[0]):
        begin, end = max(first, k - 1), min(stop, k - 1 + width)
        if begin < end:
            values = band[k - 1, begin - (k - 1) :]
            max_plus(tile[begin - first :], values, top[k], 0, end - begin)


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def layers_backtrack(table: SegmentTable, earliest: Ints, band: Floats) -> Ints:
    """The knots of the best segmentation into K segments, taking the leftmost best start."""
    K, width = band.shape[0] - 1, band.shape[1]
    path = np.empty(K + 1, np.int64)
    path[K] = table.position.size - 1
    zero = np.zeros((table.first_group[1], LANES))
    row, out = np.empty(table.sums.shape[1]), np.empty(LANES)
    for k in range(K, 0, -1):
        t = path[k]
        end_row(table.sums, t, row)
        first, stop = max(earliest[t], k - 1), min(t, k - 1 + width)
        best, path[k - 1] = -np.inf, first
        for g in range(first // LANES, (stop - 1) // LANES + 1):
            lane_scores(table, g, zero, t, row, out)
            for s in range(max(first, g * LANES), min(stop, (g + 1) * LANES)):
                candidate = band[k - 1, s - k + 1] + out[s % LANES]
                if candidate > best:
                    best, path[k - 1] = candidate, s
    return path
