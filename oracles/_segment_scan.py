"""Dynamic programs that look at every segment: any signs, any shift, O(T^2 r) operations.

They are Algorithm 1 of Lajugie et al. with its slips corrected (one vector instead of a T x T
table, the backtrack along a column), on factored scores instead of the summed-area table.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.oracles._segment_table import FAST, LANES, SegmentTable, end_row, lane_scores

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
    tile, top = np.empty((LANES, CHUNK * LANES)), np.empty((K + 1, LANES))
    rows = np.empty((LANES, table.sums.shape[1]))
    zero = np.zeros((table.first_group[1], LANES))
    for block in range((m - 1) // LANES + 1):
        ends = np.arange(block * LANES + 1, min((block + 1) * LANES, m) + 1)
        for i in range(ends.size):
            end_row(table.sums, ends[i], rows[i])
        top[:] = -np.inf
        for g in range(earliest[ends[0]] // LANES, block, CHUNK):
            last = min(g + CHUNK, block)
            _tile_scores(table, earliest, zero, g, last, ends, rows, tile)
            for i in range(ends.size):
                _raise_layers(band, g * LANES, last * LANES, tile[i], top[:, i], ends[i])
        _tile_scores(table, earliest, zero, block, block + 1, ends, rows, tile)
        for i in range(ends.size):
            _raise_layers(band, block * LANES, ends[i], tile[i], top[:, i], ends[i])
            _store_layers(band, top[:, i], ends[i], table.shift)
    return band


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def _tile_scores(
    table: SegmentTable,
    earliest: Ints,
    zero: Floats,
    first: int,
    last: int,
    ends: Ints,
    rows: Floats,
    tile: Floats,
) -> None:
    """Scores without shift of the starts in groups ``first..last-1`` for all ``ends``."""
    for i in range(ends.size):
        for g in range(first, last):
            a = (g - first) * LANES
            lane_scores(table, g, zero, ends[i], rows[i], tile[i, a : a + LANES])
        for s in range(first * LANES, min(earliest[ends[i]], last * LANES)):
            tile[i, s - first * LANES] = -np.inf


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def _raise_layers(
    band: Floats, first: int, last: int, scores: Floats, top: Floats, end: int
) -> None:
    """``top[k] = max(top[k], max_s F(k-1, s) + scores[s - first])`` over ``first <= s < last``."""
    K, width = band.shape[0] - 1, band.shape[1]
    for k in range(max(1, end - width + 1), min(K, end) + 1):
        begin, stop = max(first, k - 1), min(last, k - 1 + width)
        if begin >= stop:
            continue
        values = band[k - 1, begin - (k - 1) : stop - (k - 1)]
        gains = scores[begin - first : stop - first]
        best = top[k]
        for s in range(values.size):
            candidate = values[s] + gains[s]
            best = candidate if candidate > best else best
        top[k] = best


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _store_layers(band: Floats, top: Floats, end: int, shift: float) -> None:
    """Write the finished column ``end`` into the band."""
    width = band.shape[1]
    for k in range(max(1, end - width + 1), min(band.shape[0] - 1, end) + 1):
        band[k, end - k] = top[k] + shift


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
