"""Segmentations whose numbers of changes are given in places: the graph, and paths through it.

A region ``(a, b)`` with exactly k changes is k *layers* of nodes: the c-th holds its knots, each
standing for "the c-th change of this region is here". The knots between regions are nodes once.
Written down in the order of the recording, layer after layer, every node follows on a window of
nodes that lie side by side:

    a knot outside     the last layer of the region before it, and the knots since;
    the first layer    the same, up to the beginning of the region;
    the c-th layer     layer c - 1 (as far as it lies to the left).

No segment jumps over a region, so the work is quadratic in the gaps between regions rather than in
T. "At least one change" needs no layer: it forbids the segments that hold the region, as a forced
boundary does, by a lower end of the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.lanes import FAST, LANES, lane_scores
from structsvm.oracles._segments.table import OVERHEAD, SegmentTable, build_table, end_row
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled
from structsvm.support.interrupts import pieces, uninterrupted

ANCHOR, POSITION = 0, 0


class Windows(NamedTuple):
    """Which node may follow on which."""

    position: Ints
    """Where the boundary of each node lies; the first is 0 and the last T, (n,)."""
    first: Ints
    """Nodes ``first, ..., stop - 1`` come before it ..."""
    stop: Ints
    low: Ints
    """... as far as they lie at ``low`` or later, and to the left of it."""


def windows(boundaries: Boundaries) -> Windows:
    """The graph of the segmentations with so many boundaries in each of the counted regions."""
    knots = boundaries.knots
    chosen: list[Ints] = []
    first: list[Ints] = []
    stop: list[Ints] = []
    n, begin, at = 0, 0, 0

    def add(part: Ints, lowest: int, highest: Ints) -> None:
        nonlocal n
        chosen.append(part)
        first.append(np.full(part.size, lowest))
        stop.append(highest)
        n += part.size

    for region in boundaries.counted:
        inside = np.flatnonzero((knots > region.start) & (knots < region.end))
        outside = np.arange(at, np.searchsorted(knots, region.start, side="right"))
        add(outside, begin, n + np.arange(outside.size))
        before, top = begin, n
        for _ in range(region.changes):
            begin = n
            add(inside, before, np.full(inside.size, top))
            before, top = begin, n
        at = int(np.searchsorted(knots, region.end))
    rest = np.arange(at, knots.size)
    add(rest, begin, n + np.arange(rest.size))
    nodes = np.concatenate(chosen)
    low = knots[boundaries.earliest[nodes]]
    return Windows(knots[nodes], np.concatenate(first), np.concatenate(stop), low)


def _table(objective: TraceObjective, position: Ints) -> SegmentTable:
    """The table of the knots, its columns in the order of the nodes."""
    knots, which = np.unique(position, return_inverse=True)
    table = build_table(objective, knots.astype(np.int64))
    n_groups = -(-which.size // LANES)
    padded = np.full(n_groups * LANES, which[-1])
    padded[: which.size] = which

    def by_node(columns: Floats) -> Floats:
        n_rows, width = columns.shape[0] * LANES, columns.shape[1]
        rows = np.moveaxis(columns, 1, 2).reshape(n_rows, width)[padded]
        groups = rows.reshape(n_groups, LANES, width)
        return np.ascontiguousarray(np.moveaxis(groups, 2, 1))

    return table._replace(
        sums=by_node(table.sums),
        lanes=by_node(table.lanes),
        ends=np.ascontiguousarray(table.ends[which]),
        first_group=np.array([0, n_groups], dtype=np.int64),
    )


def best_path(objective: TraceObjective, nodes: Windows) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T; None if there is none."""
    table = _table(objective, nodes.position)
    n = table.ends.shape[0]
    value, previous = np.full(n, -np.inf), np.zeros(n, np.int64)
    value[0] = 0.0
    for begin, end in pieces(1, n, n * (table.sums.shape[1] + OVERHEAD)):
        _best(table, *nodes[1:], value, previous, begin, end)
    if not np.isfinite(value[-1]):
        return None
    v, path = n - 1, [int(nodes.position[-1])]
    while v > 0:
        v = previous[v]
        path.append(int(nodes.position[v]))
    return np.array(path[::-1], dtype=np.int64)


def path_with_known_length(objective: TraceObjective, nodes: Windows, K: int) -> Ints | None:
    """The boundaries of the best segmentation into K segments; None if there is none."""
    table = _table(objective, nodes.position)
    n = table.ends.shape[0]
    value = np.full((n, K + 1), -np.inf)
    value[0, 0] = 0.0
    previous = np.zeros((n, K + 1), np.int64)
    for begin, end in pieces(1, n, n * (table.sums.shape[1] + OVERHEAD + K)):
        _layer(table, *nodes[1:], value, previous, begin, end)
    if not np.isfinite(value[-1, K]):
        return None
    v, path = value.shape[0] - 1, [int(nodes.position[-1])]
    for k in range(K, 0, -1):
        v = previous[v, k]
        path.append(int(nodes.position[v]))
    return np.array(path[::-1], dtype=np.int64)


@uninterrupted
@compiled(fastmath=FAST)
def _best(
    table: SegmentTable,
    first: Ints,
    stop: Ints,
    low: Ints,
    value: Floats,
    previous: Ints,
    begin: int,
    end: int,
) -> None:
    """Best value at these nodes, and the node before it: (n,) each."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    row, out, nothing = np.empty(sums.shape[1]), np.empty(LANES), np.zeros((sums.shape[0], LANES))
    for v in range(begin, end):
        end_row(sums, v, row)
        for g in range(first[v] // LANES, (stop[v] - 1) // LANES + 1):
            lane_scores(sums, lanes, n_plus, nothing, g, row, ends, v, out)
            for u in range(max(first[v], g * LANES), min(stop[v], (g + 1) * LANES)):
                place = lanes[g, ANCHOR, u % LANES]
                if place < low[v] or place >= ends[v, POSITION]:
                    continue
                candidate = value[u] + out[u % LANES] + table.shift
                if candidate > value[v]:
                    value[v], previous[v] = candidate, u


@uninterrupted
@compiled(fastmath=FAST)
def _layer(
    table: SegmentTable,
    first: Ints,
    stop: Ints,
    low: Ints,
    value: Floats,
    previous: Ints,
    begin: int,
    end: int,
) -> None:
    """Best value of k segments up to these nodes, and the node before it: (n, K + 1) each."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    K = value.shape[1] - 1
    row, out, nothing = np.empty(sums.shape[1]), np.empty(LANES), np.zeros((sums.shape[0], LANES))
    for v in range(begin, end):
        end_row(sums, v, row)
        for g in range(first[v] // LANES, (stop[v] - 1) // LANES + 1):
            lane_scores(sums, lanes, n_plus, nothing, g, row, ends, v, out)
            for u in range(max(first[v], g * LANES), min(stop[v], (g + 1) * LANES)):
                place = lanes[g, ANCHOR, u % LANES]
                if place < low[v] or place >= ends[v, POSITION]:
                    continue
                for k in range(1, K + 1):
                    candidate = value[u, k - 1] + out[u % LANES] + table.shift
                    if candidate > value[v, k]:
                        value[v, k], previous[v, k] = candidate, u
