"""Dynamic programs that look at every segment: any signs, any shift, O(T^2 r) operations.

They are Algorithm 1 of Lajugie et al. with its slips corrected (one vector instead of a T x T
table, the backtrack along a column), on factored scores instead of the summed-area table.
"""

from __future__ import annotations

import numpy as np

from structsvm.oracles._segments.lanes import FAST, LANES, lane_of, lane_scores, largest, max_plus
from structsvm.oracles._segments.table import OVERHEAD, SegmentTable, end_row
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces, uninterrupted

CHUNK = 16
"""Groups of starts whose scores are held while the layers go over them."""


def scan(table: SegmentTable, earliest: Ints) -> tuple[Floats, Ints]:
    """Best value ``F(t)`` of a segmentation that ends at each knot, and its last start."""
    n_knots = table.ends.shape[0]
    F = np.full((int(table.first_group[1]), LANES), -np.inf)
    F[0, 0] = 0.0
    previous = np.zeros(n_knots, np.int64)
    for begin, end in pieces(1, n_knots, n_knots * (table.sums.shape[1] + OVERHEAD)):
        _scan(table, earliest, F, previous, begin, end)
    return F.ravel()[:n_knots], previous


@uninterrupted
@compiled(fastmath=FAST)
def _scan(
    table: SegmentTable, earliest: Ints, F: Floats, previous: Ints, begin: int, end: int
) -> None:
    """Fill ``F`` and ``previous`` in for the knots from ``begin`` to ``end - 1``."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    row, out = np.empty(sums.shape[1]), np.empty(LANES)
    for t in range(begin, end):
        end_row(sums, t, row)
        best, argument = -np.inf, earliest[t]
        for g in range(earliest[t] // LANES, (t - 1) // LANES + 1):
            lane_scores(sums, lanes, n_plus, F, g, row, ends, t, out)
            for i in range(min(earliest[t] - g * LANES, LANES)):
                out[i] = -np.inf
            top = largest(out)
            if top > best:
                best, argument = top, g * LANES + lane_of(out, top)
        F[t // LANES, t % LANES] = best + table.shift
        previous[t] = argument


@uninterrupted
@compiled()
def backtrack(previous: Ints) -> Ints:
    """The knots of the best segmentation, from 0 to m."""
    path = np.empty(previous.size, np.int64)
    t, n = previous.size - 1, 0
    while t > 0:
        path[n] = t
        t, n = previous[t], n + 1
    path[n] = 0
    return path[: n + 1][::-1].copy()


def layers(table: SegmentTable, earliest: Ints, K: int, every: bool = False) -> Floats:
    """Best value ``F(k, t)`` of exactly ``k`` segments that end at each knot, for ``k`` up to K.

    Only ``k <= t <= m - (K - k)`` can be part of an answer with K segments, so the result is the
    band ``F(k, t) = band[k, t - k]``, (K + 1, m - K + 1). For the answers with ``every`` number of
    segments up to K it is wider, (K + 1, m). Sixteen ends go through the starts together, so that a
    layer is read from memory once for all of them.
    """
    m = table.ends.shape[0] - 1
    band = np.full((K + 1, m if every else m - K + 1), -np.inf)
    band[0, 0] = 0.0
    most = LANES * m * (table.sums.shape[1] + OVERHEAD + K)
    for begin, end in pieces(0, (m - 1) // LANES + 1, most):
        _layers(table, earliest, band, begin, end)
    return band


@uninterrupted
@compiled()
def _layers(
    table: SegmentTable, earliest: Ints, band: Floats, first_block: int, stop_block: int
) -> None:
    """Fill ``band`` in for these blocks of sixteen ends."""
    m, K, width = table.ends.shape[0] - 1, band.shape[0] - 1, band.shape[1]
    tile, best = np.empty((CHUNK * LANES, LANES)), np.empty((K + 1, LANES))
    for block in range(first_block, stop_block):
        first, last = block * LANES + 1, min((block + 1) * LANES, m)
        best[:] = -np.inf
        for g in range(earliest[first] // LANES, block, CHUNK):
            stop = min(g + CHUNK, block)
            _fill_tile(table, earliest, g, stop, first, last, tile)
            _raise_layers(band, g * LANES, stop * LANES, tile, best)
        _fill_tile(table, earliest, block, block + 1, first, last, tile)
        for t in range(first, last + 1):
            _raise_layers(band, t - 1, t, tile[t - first :], best)
            for k in range(max(1, t - width + 1), min(K, t) + 1):
                band[k, t - k] = best[k, t - first] + table.shift


@inner(fastmath=FAST)
def _fill_tile(
    table: SegmentTable,
    earliest: Ints,
    first_group: int,
    stop_group: int,
    first_end: int,
    last_end: int,
    tile: Floats,
) -> None:
    """``tile[s, i]``: score without shift from the ``s``-th start of the groups to each end."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    row, out, nothing = np.empty(sums.shape[1]), np.empty(LANES), np.zeros((stop_group, LANES))
    tile[:] = -np.inf
    for t in range(first_end, last_end + 1):
        end_row(sums, t, row)
        for g in range(max(first_group, earliest[t] // LANES), stop_group):
            lane_scores(sums, lanes, n_plus, nothing, g, row, ends, t, out)
            for s in range(max(g * LANES, earliest[t]), min((g + 1) * LANES, t)):
                tile[s - first_group * LANES, t - first_end] = out[s % LANES]


@inner()
def _raise_layers(band: Floats, first: int, stop: int, tile: Floats, best: Floats) -> None:
    """Raise ``best[k, i]`` to ``F(k-1, s) + tile[s - first, i]`` for ``first <= s < stop``."""
    width = band.shape[1]
    for k in range(1, band.shape[0]):
        begin, end = max(first, k - 1), min(stop, k - 1 + width)
        if begin < end:
            values = band[k - 1, begin - (k - 1) :]
            max_plus(tile[begin - first :], values, end - begin, best[k])


@uninterrupted
@compiled(fastmath=FAST)
def layers_backtrack(table: SegmentTable, earliest: Ints, band: Floats) -> Ints:
    """The knots of the best segmentation into K segments, taking the leftmost best start."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    K, width = band.shape[0] - 1, band.shape[1]
    path = np.empty(K + 1, np.int64)
    path[K] = ends.shape[0] - 1
    nothing = np.zeros((table.first_group[1], LANES))
    row, out = np.empty(sums.shape[1]), np.empty(LANES)
    for k in range(K, 0, -1):
        t = path[k]
        end_row(sums, t, row)
        first, stop = max(earliest[t], k - 1), min(t, k - 1 + width)
        best, path[k - 1] = -np.inf, first
        for g in range(first // LANES, (stop - 1) // LANES + 1):
            lane_scores(sums, lanes, n_plus, nothing, g, row, ends, t, out)
            for s in range(max(first, g * LANES), min(stop, (g + 1) * LANES)):
                candidate = band[k - 1, s - k + 1] + out[s % LANES]
                if candidate > best:
                    best, path[k - 1] = candidate, s
    return path
