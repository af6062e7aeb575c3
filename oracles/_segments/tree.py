"""Dynamic program that looks at few segments: near-linear time in practice.

Starts are the leaves of a 16-ary tree. The best value ``F`` of a run of starts bounds the value of
its segments (the block bound), and splitting a segment costs at most ``kappa = c - d``, so that no
start before ``e`` matters at ``t`` once ``F(e) + score(e, t) + kappa`` is no better than the best
start known (the splitting bound). docs/oracles.md proves both.

Where segments that end at ``t`` may only begin up to some start (a shortest length, a change that
has to come first), a start joins the tree when it is needed, and the splitting bound holds for the
starts ``s`` with ``[s, e)`` allowed. Starts that are out of reach leave the tree; what they had
added to the bound of a run of which others are in reach only makes it larger.

Rounding may make a bound smaller than a score that it bounds. Starts are left out where they are
worse by more than that, so that which of several equal segmentations is found depends on the scores
alone, and not on how they are looked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.table import (
    NOTHING,
    OVERHEAD,
    POSITION,
    SegmentTable,
    end_row,
    lane_scores,
)
from structsvm.oracles._segments.vectors import (
    BITS,
    FAST,
    LANES,
    entry,
    first_reaching,
    kernel,
    larger,
    largest,
    read,
    spread,
    write,
)
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces
from structsvm.support.progress import tell

ROUNDING = 2.0**-50
"""Of a score, at most: for each column of ``Z``, and in units of what the score is a sum of."""


def tree_scan(
    table: SegmentTable, earliest: Ints, latest: Ints, kappa: float
) -> tuple[Floats, Ints]:
    """Best value ``F(t)`` of a segmentation that ends at each node, and its last start.

    Segments that end at a node begin at those from ``earliest`` to ``latest``, whose positions
    increase, and neither of which decreases from one node that has any to the next.
    """
    n_nodes, n_groups = table.ends.shape[0], int(table.first_group[-1])
    F, previous = np.full(n_nodes, -np.inf), np.zeros(n_nodes, np.int64)
    F[0] = 0.0
    positions, state = np.ascontiguousarray(table.ends[:, :1]), np.zeros(3, np.int64)
    value = np.full((n_groups, LANES), -np.inf)
    for low, high in pieces(1, n_nodes, n_nodes * (table.sums.shape[1] + OVERHEAD)):
        _scan(table, positions, earliest, latest, kappa, value, F, previous, low, high, state)
        if high < n_nodes and table.ends.shape[1] == 1:  # no truth: a prediction, and a long one
            tell("segments", high / n_nodes)
    return F, previous


@compiled(fastmath=FAST)
def _scan(
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
    """Fill ``F`` and ``previous`` in for the nodes from ``low`` to ``high - 1``.

    ``state``: the last start that was found best, the next one that becomes a start, and the first
    that still is one.
    """
    argument, ready, gone = state[0], state[1], state[2]
    sums, ends, first_group = table.sums, table.ends, table.first_group
    n_levels = first_group.size - 1
    row, out = np.empty(sums.shape[1]), np.empty(LANES)
    pending = np.empty((n_levels + 1) * LANES, np.int64)
    bound = np.empty((n_levels + 1) * LANES)
    rounding = ROUNDING * (sums.shape[1] + OVERHEAD)
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
            level, node = pending[n] % 64, pending[n] // 64
            if bound[n] <= least:
                continue
            if free > 0 and _n_before(ready, level, node) <= free:
                break
            scores = lane_scores(table, value, first_group[level] + node, row, ends, t)
            top = largest(scores)
            if level == 0 and (top > best or (top == best and node < argument >> BITS)):
                best, argument = top, node * LANES + first_reaching(scores, top, 0)
                least = best - rounding * (abs(best) + prices)
            if entry(scores, 0) + kappa <= least:
                anchor = ((node * LANES + 1) << (BITS * level)) - 1
                free = max(free, latest[anchor] + 1)
            if level > 0 and top > least:
                write(scores, out, 0)
                n = _push_children(out, least, level, node, seed, pending, bound, n)
        F[t], previous[t] = best + table.shift, argument
    state[0], state[1], state[2] = argument, ready, gone


@compiled()
def backtrack(previous: Ints) -> Ints:
    """The nodes of the best segmentation, from 0 to the last one."""
    path = np.empty(previous.size, np.int64)
    return path[: trace_back(previous, path) + 1].copy()


@inner()
def trace_back(previous: Ints, path: Ints) -> int:
    """Fill in the nodes of the best segmentation; the number of its segments."""
    n, t = 0, previous.size - 1
    while t > 0:
        n, t = n + 1, previous[t]
    t = previous.size - 1
    for k in range(n, -1, -1):
        path[k], t = t, previous[t]
    return n


@kernel
def _path_to_root(n_starts: int, n_levels: int, seed: int, pending: Ints, bound: Floats) -> int:
    """Stack the groups that hold the starts there are, the nearest on top."""
    n = 0
    for level in range(n_levels - 1, -1, -1):
        node = (n_starts - 1) >> (BITS * (level + 1))
        complete = n_starts if level == 0 else (n_starts - 1) >> (BITS * level)
        if complete > node * LANES and (level > 0 or node != seed):
            pending[n], bound[n] = node * 64 + level, np.inf
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
    """Stack the children whose bound is better than ``least``."""
    scores = read(out, 0)
    i = first_reaching(scores, least, 0)
    while i < LANES:
        child = node * LANES + i
        if level > 1 or child != seed:
            pending[n], bound[n] = child * 64 + level - 1, out[i]
            n += 1
        i = first_reaching(scores, least, i + 1)
    return n


@kernel
def _close_runs(table: SegmentTable, positions: Floats, value: Floats, s: int, row: Floats) -> None:
    """Set ``H`` of the runs whose anchor is ``s - 1``: every start of theirs is known."""
    first_group = table.first_group
    level, anchor = 1, s - 1
    end_row(table.sums, anchor, row)
    while level < first_group.size - 1 and s % (1 << (BITS * level)) == 0:
        best, stop = -np.inf, s >> BITS
        for group in range(stop - (1 << (BITS * (level - 1))), stop):
            best = max(best, largest(lane_scores(table, value, group, row, positions, anchor)))
        run = (s >> (BITS * level)) - 1
        value[first_group[level] + run // LANES, run % LANES] = best
        level += 1


@kernel
def _forget(value: Floats, first_group: Ints, begin: int, end: int) -> None:
    """Starts from ``begin`` to ``end - 1`` are out of reach from now on."""
    for level in range(first_group.size - 1):
        for run in range(begin >> (BITS * level), end >> (BITS * level)):
            value[first_group[level] + run // LANES, run % LANES] = -np.inf


# ---- the program that looks at every segment there may be, and serves every question
#
#     F(k, v) = d + max over the nodes u before v of F(k - 1, u) + score(u, v),
#
# or the same without k. O(n^2 (r + K)) for n nodes. It is Algorithm 1 of Lajugie et al. with its
# slips corrected (one vector instead of a T x T table, the backtrack along a column), on factored
# scores instead of the summed-area table.


class Graph(NamedTuple):
    """Nodes, the segments between them, and what their scores are read from."""

    table: SegmentTable
    earliest: Ints
    """The nodes that a segment that ends at each may begin at, ..."""
    latest: Ints
    """... whose positions increase."""
    listed: Ints = NOTHING
    """``starts[listed[t]:listed[t + 1]]`` go with the end t; all do where these are empty."""
    starts: Ints = NOTHING


def best_of_every(graph: Graph, K: int | None) -> Ints | None:
    """The nodes of the best segmentation, into K segments if given; None where there is none."""
    best = _best_values(graph, K)
    reached = np.isfinite(best[-1, graph.latest.size - 1])
    return _trace(graph, best, best.shape[0] - 1) if reached else None


def best_of_every_length(graph: Graph, most: int) -> list[Ints]:
    """The same for 1, 2, ..., ``most`` segments, of which there are as many starts at least."""
    best = _best_values(graph, most)
    return [_trace(graph, best, K) for K in range(1, most + 1)]


def _best_values(graph: Graph, K: int | None) -> Floats:
    """``F(k, v)`` for k = 0, ..., K; the row 0 alone if K is not known, whatever k is."""
    n, layers = graph.latest.size, 0 if K is None else K
    best = np.full((layers + 1, -(-n // LANES) * LANES), -np.inf)
    best[0, 0] = 0.0
    for begin, end in pieces(1, n, n * (graph.table.sums.shape[1] + OVERHEAD + layers)):
        _extend(graph, best, begin, end)
    return best


@compiled(fastmath=FAST)
def _extend(graph: Graph, best: Floats, begin: int, end: int) -> None:
    """Best values of the nodes ``begin, ..., end - 1`` in every layer."""
    out, layers, shift = np.empty(best.shape[1]), best.shape[0] - 1, graph.table.shift
    row, nothing = np.empty(graph.table.sums.shape[1]), np.zeros((out.size // LANES, LANES))
    for v in range(begin, end):
        a, b = graph.earliest[v], max(graph.earliest[v], graph.latest[v] + 1)
        _score(graph, v, a, b, row, nothing, out)
        for k in range(min(1, layers), min(layers, v) + 1):
            best[k, v] = _largest_sum(best, max(k - 1, 0), out, a, b) + shift


@compiled(fastmath=FAST)
def _trace(graph: Graph, best: Floats, k: int) -> Ints:
    """The nodes of the best path, each the first of the best ones."""
    out, path = np.empty(best.shape[1]), np.empty(graph.latest.size, np.int64)
    row, nothing = np.empty(graph.table.sums.shape[1]), np.zeros((out.size // LANES, LANES))
    v, n = graph.latest.size - 1, 0
    while v > 0:
        path[n], n = v, n + 1
        a, b = graph.earliest[v], max(graph.earliest[v], graph.latest[v] + 1)
        _score(graph, v, a, b, row, nothing, out)
        k, most = max(k - 1, 0), -np.inf
        for u in range(a, b):
            if best[k, u] + out[u] > most:
                most, v = best[k, u] + out[u], u
    path[n] = 0
    return path[: n + 1][::-1].copy()


@kernel
def _largest_sum(best: Floats, k: int, out: Floats, a: int, b: int) -> float:
    """The largest ``best[k, u] + out[u]`` for ``a <= u < b``; no other start of these sixteens."""
    most, first = spread(-np.inf), k * (best.shape[1] // LANES)
    for g in range(a // LANES, (b + LANES - 1) // LANES):
        most = larger(most, read(best, first + g) + read(out, g))
    return float(largest(most))


@kernel
def _score(graph: Graph, v: int, a: int, b: int, row: Floats, nothing: Floats, out: Floats) -> None:
    """``out[u]``: score without shift from the node ``u`` to ``v``, for ``a <= u < b``.

    It is minus infinity in what is left of the first and the last sixteen.
    """
    table, first, stop = graph.table, a // LANES, (b + LANES - 1) // LANES
    end_row(table.sums, v, row)
    for g in range(first, stop):
        write(lane_scores(table, nothing, g, row, table.ends, v), out, g)
    out[first * LANES : a] = -np.inf
    out[b : stop * LANES] = -np.inf
    if graph.starts.size > 0:
        t = int(table.ends[v, POSITION])
        listed = graph.starts[graph.listed[t] : graph.listed[t + 1]]
        _rule_out(table.ends[a:b, POSITION], listed, out[a:b])


@kernel
def _rule_out(starts: Floats, allowed: Ints, scores: Floats) -> None:
    k = 0
    for i in range(starts.size):
        while k < allowed.size and allowed[k] < starts[i]:
            k += 1
        if k == allowed.size or allowed[k] != starts[i]:
            scores[i] = -np.inf
