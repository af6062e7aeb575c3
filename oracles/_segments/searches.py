"""The dynamic program that leaves out segments by bounds: near-linear time in practice.

Starts are the leaves of a 16-ary tree. The best value ``F`` of a run of starts bounds the value of
its segments (the block bound), and splitting a segment costs at most ``kappa = c - d``, so that no
start before ``e`` matters at ``t`` once ``F(e) + score(e, t) + kappa`` is no better than the best
start known (the splitting bound). docs/oracles.md proves both.

Where segments that end at ``t`` may only begin up to some start (a shortest length, a change that
has to come first), a start joins the tree when it is needed, and the splitting bound holds for the
starts ``s`` with ``[s, e)`` allowed. Starts that are out of reach leave the tree; the bound of a
run that they belonged to may stay larger than necessary, which is safe.

Rounding may make a bound smaller than a score that it bounds. Starts are left out only where they
are worse by more than that, so that which of several equally good segmentations is found depends on
the scores alone, and not on the order of the search.
"""

import numpy as np

from structsvm.oracles._segments.table import SCORE_OVERHEAD, SegmentTable, end_row, lane_scores
from structsvm.oracles._segments.vectors import (
    BITS,
    FAST,
    LANES,
    entry,
    first_reaching,
    kernel,
    largest,
    read,
    write,
)
from structsvm.support import Floats, Ints, compiled, inner, pieces, tell, uninterrupted

SCORE_ROUNDING = 2.0**-50
"""Largest rounding error of a score, per column of ``Z`` and unit of the terms of the score."""


def tree_scan(
    table: SegmentTable, earliest: Ints, latest: Ints, kappa: float
) -> tuple[Floats, Ints]:
    """Best value ``F(t)`` of a segmentation that ends at each node, and its last start.

    Segments that end at a node begin at those from ``earliest`` to ``latest``, whose positions
    increase, and neither of which decreases from one node that has any to the next.
    """
    n_nodes = table.ends.shape[0]
    n_groups = int(table.first_group[-1])
    F = np.full(n_nodes, -np.inf)
    previous = np.zeros(n_nodes, np.int64)
    F[0] = 0.0
    positions = np.ascontiguousarray(table.ends[:, :1])
    state = np.zeros(3, np.int64)
    value = np.full((n_groups, LANES), -np.inf)
    for low, high in pieces(1, n_nodes, n_nodes * (table.sums.shape[1] + SCORE_OVERHEAD)):
        scan(table, positions, earliest, latest, kappa, value, F, previous, low, high, state)
        if high < n_nodes and table.ends.shape[1] == 1:  # no truth: a prediction, and a long one
            tell("segments", high / n_nodes)
    return F, previous


@inner(no_cpython_wrapper=False, fastmath=FAST)
def scan_from(
    table: SegmentTable,
    positions: Floats,
    earliest: Ints,
    latest: Ints,
    kappa: float,
    value: Floats,
    F: Floats,
    previous: Ints,
    low: int,
    high: int,
    state: Ints,
) -> None:
    """Fill in ``F`` and ``previous`` for the nodes from ``low`` to ``high - 1``.

    ``state`` goes from call to call: the best start of the last node, the next node to become a
    start, and the first node that still is one.
    """
    argument = state[0]
    ready = state[1]
    gone = state[2]
    sums = table.sums
    ends = table.ends
    first_group = table.first_group
    n_levels = first_group.size - 1
    row = np.empty(sums.shape[1])
    out = np.empty(LANES)
    pending = np.empty((n_levels + 1) * LANES, np.int64)
    bound = np.empty((n_levels + 1) * LANES)
    rounding = SCORE_ROUNDING * (sums.shape[1] + SCORE_OVERHEAD)
    prices = (abs(table.shift) + abs(kappa)) * positions[positions.shape[0] - 1, 0]
    for t in range(low, high):
        if latest[t] < earliest[t]:
            continue
        while ready <= latest[t]:
            value[ready >> BITS, ready % LANES] = F[ready]
            if ready % LANES == 0 and ready > 0:
                _close_runs(table, positions, value, ready, row)
            ready += 1
        if earliest[t] > gone:
            _forget(value, first_group, gone, earliest[t])
            argument = gone = earliest[t]
        end_row(sums, t, row)
        seed = argument >> BITS
        scores = lane_scores(table, value, seed, row, ends, t)
        best = largest(scores)
        argument = seed * LANES + first_reaching(scores, best, 0)
        least = best - rounding * (abs(best) + prices)
        free = 0  # no start before it matters
        n = _path_to_root(ready, n_levels, seed, pending, bound)
        while n > 0:
            n -= 1
            level = pending[n] % 64
            node = pending[n] // 64
            if bound[n] <= least:
                continue
            if free > 0 and _n_before(ready, level, node) <= free:
                break
            scores = lane_scores(table, value, first_group[level] + node, row, ends, t)
            top = largest(scores)
            if level == 0 and (top > best or (top == best and node < argument >> BITS)):
                best = top
                argument = node * LANES + first_reaching(scores, top, 0)
                least = best - rounding * (abs(best) + prices)
            if entry(scores, 0) + kappa <= least:
                anchor = ((node * LANES + 1) << (BITS * level)) - 1
                free = max(free, latest[anchor] + 1)
            if level > 0 and top > least:
                write(scores, out, 0)
                n = _push_children(out, least, level, node, seed, pending, bound, n)
        argument = min(argument, t - 1)  # stay inside the arrays even if scores are NaN
        F[t] = best + table.shift
        previous[t] = argument
    state[0], state[1], state[2] = argument, ready, gone


scan = uninterrupted(scan_from)


@compiled()
def backtrack(previous: Ints) -> Ints:
    """The nodes of the best segmentation, from 0 to the last one."""
    path = np.empty(previous.size, np.int64)
    return path[: trace_back(previous, path) + 1].copy()


@inner()
def trace_back(previous: Ints, path: Ints) -> int:
    """Write the nodes of the best segmentation to ``path``; the number of its segments."""
    n = 0
    t = previous.size - 1
    while t > 0:
        n = n + 1
        t = previous[t]
    t = previous.size - 1
    for k in range(n, -1, -1):
        path[k] = t
        t = previous[t]
    return n


@kernel
def _path_to_root(n_starts: int, n_levels: int, seed: int, pending: Ints, bound: Floats) -> int:
    """Stack the groups that together hold the first ``n_starts`` starts, the nearest on top."""
    n = 0
    for level in range(n_levels - 1, -1, -1):
        node = (n_starts - 1) >> (BITS * (level + 1))
        complete = n_starts if level == 0 else (n_starts - 1) >> (BITS * level)
        if complete > node * LANES and (level > 0 or node != seed):
            pending[n] = node * 64 + level
            bound[n] = np.inf
            n += 1
    return n


@kernel
def _n_before(n_starts: int, level: int, node: int) -> int:
    """The number of starts up to the last one of a group."""
    complete = n_starts if level == 0 else (n_starts - 1) >> (BITS * level)
    return min(complete, (node + 1) * LANES) << (BITS * level)


@kernel
def _push_children(
    out: Floats,
    least: float,
    level: int,
    node: int,
    seed: int,
    pending: Ints,
    bound: Floats,
    n: int,
) -> int:
    """Stack the children whose bound is at least ``least``; the new height of the stack."""
    scores = read(out, 0)
    i = first_reaching(scores, least, 0)
    while i < LANES:
        child = node * LANES + i
        if level > 1 or child != seed:
            pending[n] = child * 64 + level - 1
            bound[n] = out[i]
            n += 1
        i = first_reaching(scores, least, i + 1)
    return n


@kernel
def _close_runs(table: SegmentTable, positions: Floats, value: Floats, s: int, row: Floats) -> None:
    """Set the bounds of the runs of starts that end with the start ``s - 1``, their anchor."""
    first_group = table.first_group
    level = 1
    anchor = s - 1
    end_row(table.sums, anchor, row)
    while level < first_group.size - 1 and s % (1 << (BITS * level)) == 0:
        best = -np.inf
        stop = s >> BITS
        for group in range(stop - (1 << (BITS * (level - 1))), stop):
            best = max(best, largest(lane_scores(table, value, group, row, positions, anchor)))
        run = (s >> (BITS * level)) - 1
        value[first_group[level] + run // LANES, run % LANES] = best
        level += 1


@kernel
def _forget(value: Floats, first_group: Ints, begin: int, end: int) -> None:
    """Remove the starts from ``begin`` to ``end - 1``, which no later segment may have."""
    for level in range(first_group.size - 1):
        for run in range(begin >> (BITS * level), end >> (BITS * level)):
            value[first_group[level] + run // LANES, run % LANES] = -np.inf
