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
    NO_TRUTH,
    NOTHING,
    OVERHEAD,
    POSITION,
    SegmentTable,
    end_row,
    free_table,
    lane_scores,
    sum_of_scores,
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
from structsvm.support.interrupts import pieces, uninterrupted
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
    n_nodes = table.ends.shape[0]
    n_groups = int(table.first_group[-1])
    F = np.full(n_nodes, -np.inf)
    previous = np.zeros(n_nodes, np.int64)
    F[0] = 0.0
    positions = np.ascontiguousarray(table.ends[:, :1])
    state = np.zeros(3, np.int64)
    value = np.full((n_groups, LANES), -np.inf)
    for low, high in pieces(1, n_nodes, n_nodes * (table.sums.shape[1] + OVERHEAD)):
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
    """Fill ``F`` and ``previous`` in for the nodes from ``low`` to ``high - 1``.

    ``state``: the last start that was found best, the next one that becomes a start, and the first
    that still is one.
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
        argument = min(argument, t - 1)  # not beyond the arrays, whatever the numbers are
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
    """Fill in the nodes of the best segmentation; the number of its segments."""
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
    """Stack the groups that hold the starts there are, the nearest on top."""
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
    """Stack the children whose bound is better than ``least``."""
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
    """Set ``H`` of the runs whose anchor is ``s - 1``: every start of theirs is known."""
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
    n = graph.latest.size
    layers = 0 if K is None else K
    best = np.full((layers + 1, -(-n // LANES) * LANES), -np.inf)
    best[0, 0] = 0.0
    for begin, end in pieces(1, n, n * (graph.table.sums.shape[1] + OVERHEAD + layers)):
        _extend(graph, best, begin, end)
    return best


@compiled(fastmath=FAST)
def _extend(graph: Graph, best: Floats, begin: int, end: int) -> None:
    """Best values of the nodes ``begin, ..., end - 1`` in every layer."""
    out = np.empty(best.shape[1])
    layers = best.shape[0] - 1
    shift = graph.table.shift
    row = np.empty(graph.table.sums.shape[1])
    nothing = np.zeros((out.size // LANES, LANES))
    for v in range(begin, end):
        a = graph.earliest[v]
        b = max(graph.earliest[v], graph.latest[v] + 1)
        _score(graph, v, a, b, row, nothing, out)
        for k in range(min(1, layers), min(layers, v) + 1):
            best[k, v] = _largest_sum(best, max(k - 1, 0), out, a, b) + shift


@compiled(fastmath=FAST)
def _trace(graph: Graph, best: Floats, k: int) -> Ints:
    """The nodes of the best path, each the first of the best ones."""
    out = np.empty(best.shape[1])
    path = np.empty(graph.latest.size, np.int64)
    row = np.empty(graph.table.sums.shape[1])
    nothing = np.zeros((out.size // LANES, LANES))
    v = graph.latest.size - 1
    n = 0
    while v > 0:
        path[n] = v
        n = n + 1
        a = graph.earliest[v]
        b = max(graph.earliest[v], graph.latest[v] + 1)
        _score(graph, v, a, b, row, nothing, out)
        k = max(k - 1, 0)
        most = -np.inf
        v = a
        for u in range(a, b):
            if best[k, u] + out[u] > most:
                most = best[k, u] + out[u]
                v = u
    path[n] = 0
    return path[: n + 1][::-1].copy()


@kernel
def _largest_sum(best: Floats, k: int, out: Floats, a: int, b: int) -> float:
    """The largest ``best[k, u] + out[u]`` for ``a <= u < b``; no other start of these sixteens."""
    most = spread(-np.inf)
    first = k * (best.shape[1] // LANES)
    for g in range(a // LANES, (b + LANES - 1) // LANES):
        most = larger(most, read(best, first + g) + read(out, g))
    return float(largest(most))


@kernel
def _score(graph: Graph, v: int, a: int, b: int, row: Floats, nothing: Floats, out: Floats) -> None:
    """``out[u]``: score without shift from the node ``u`` to ``v``, for ``a <= u < b``.

    It is minus infinity in what is left of the first and the last sixteen.
    """
    table = graph.table
    first = a // LANES
    stop = (b + LANES - 1) // LANES
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


# ---- searches that are one compiled call, for recordings of which nothing is known


class Found(NamedTuple):
    """The best segmentation of a recording."""

    path: Ints
    """Its boundaries, from 0 to T, (K + 1,)."""
    score: float
    """The sum of the scores of its segments, without shift and constant."""
    constant: float
    scatter: float
    """The sum of the squares of the centred samples."""


@inner(no_cpython_wrapper=False)
def segment_from(Z: Floats, bounds: Ints, c: float, shift: float) -> Found:
    """The best segmentation of a recording (T, r) without null columns.

    ``bounds`` are the boundaries of its truth, ``NO_TRUTH`` for none. ``c > shift``: else every
    boundary pays; ``shift <= 0`` in the null metric, ``r = 0``, in which one segment is best.
    """
    T, r = Z.shape
    mean = np.zeros(r)
    total = np.zeros(r)
    previous = np.zeros(T + 1, np.int64)
    table = free_table(Z, bounds, c, shift, mean, total)
    if r > 0:
        positions = np.ascontiguousarray(table.ends[:, :1])
        earliest = np.zeros(T + 1, np.int64)
        latest = np.arange(-1, T)
        F = np.full(T + 1, -np.inf)
        value = np.full((table.first_group[-1], LANES), -np.inf)
        F[0] = 0.0
        state = np.zeros(3, np.int64)
        kappa = (c if bounds.size > 0 else 0.0) - shift
        scan_from(table, positions, earliest, latest, kappa, value, F, previous, 1, T + 1, state)
    ends = np.empty(T + 1, np.int64)
    path = ends[: trace_back(previous, ends) + 1].copy()
    constant = 0.0
    for j in range(r):
        constant += mean[j] * (T * mean[j] + 2.0 * total[j])
    return Found(path, sum_of_scores(table, path), constant, scatter_of(Z, mean))


segment = uninterrupted(segment_from)


class FoundTogether(NamedTuple):
    """The best segmentations of recordings that are side by side."""

    boundaries: Ints
    """Those of all, one recording behind the other."""
    sizes: Ints
    """How many there are of each, (N,)."""
    numbers: Floats
    """Score, constant and scatter of each, as in :class:`Found`, (3, N)."""


@compiled()
def segment_each(
    rows: Floats, first: Ints, which: Ints, nothing: Ints, shift: float
) -> FoundTogether:
    """What :func:`segment` finds in recordings, the rows ``first[i], ..., first[i + 1] - 1`` each.

    ``nothing`` is ``NO_TRUTH``; ``which`` are the numbers of those that are looked at, (N,).
    """
    N = which.size
    boundaries = np.empty(rows.shape[0] + N, np.int64)
    sizes = np.empty(N, np.int64)
    numbers = np.empty((3, N))
    n = 0
    for k in range(N):
        i = which[k]
        found = segment_from(rows[first[i] : first[i + 1]], nothing, 0.0, shift)
        sizes[k] = found.path.size
        boundaries[n : n + sizes[k]] = found.path
        n += sizes[k]
        numbers[0, k] = found.score
        numbers[1, k] = found.constant
        numbers[2, k] = found.scatter
    return FoundTogether(boundaries[:n].copy(), sizes, numbers)


@inner()
def scatter_of(Z: Floats, mean: Floats) -> float:
    """The sum of the squares of the centred samples."""
    total = 0.0
    for t in range(Z.shape[0]):
        for j in range(mean.size):
            total += (Z[t, j] - mean[j]) ** 2
    return total


# ---- the best segmentations of a short recording at many prices of a segment
#
# The score of every segment is written down once, and each price looks at all of them: this takes
# a sixth of the time of a search for each. It finds the same one of equal segmentations.

TOGETHER = 8
"""Prices that are searched side by side."""
ENOUGH = 1.001
"""Times a price at which one segment is best: from here on it is so by more than rounding.

Below the price at which every boundary pays, divided by this, every boundary does likewise.
"""
BEYOND_ROUNDING = 1e-9
"""The share of the scatter that is more than the rounding of a score."""


def price_path(Z: Floats, prices: Floats) -> list[Ints]:
    """The boundaries, from 0 to T, of the best segmentation of a recording at every price."""
    ends, counts = _every_price(Z, NO_TRUTH, prices)
    return [row[: n + 1] for row, n in zip(ends, counts.tolist(), strict=True)]


def loss_curve(Z: Floats, bounds: Ints, prices: Floats) -> Floats:
    """``|M - M_i|_F^2`` of a recording's best segmentation at every price, (n,)."""
    return np.asarray(path_losses(bounds, *_every_price(Z, NO_TRUTH, prices)))


@compiled()
def _every_price(Z: Floats, nothing: Ints, prices: Floats) -> tuple[Ints, Ints]:
    """The boundaries of the best segmentation at every price, and their numbers."""
    T, r = Z.shape
    ends = np.empty((prices.size, T + 1), np.int64)
    counts = np.empty(prices.size, np.int64)
    if r == 0:
        for k in range(prices.size):
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        return ends, counts
    mean = np.zeros(r)
    table = free_table(Z, nothing, 0.0, 0.0, mean, np.zeros(r))
    n_groups = table.first_group[1]
    gains = np.empty((T + 1, n_groups, LANES))
    _write_gains(table, gains)
    F = np.empty((TOGETHER, n_groups, LANES))
    previous = np.zeros((TOGETHER, T + 1), np.int64)
    batch = np.empty(TOGETHER)
    rounding = np.empty(TOGETHER)
    places = np.empty(TOGETHER, np.int64)
    scatter = scatter_of(Z, mean)
    least = BEYOND_ROUNDING * scatter
    # prices at which every boundary pays, and none does
    all_below = 0.0
    one_above = np.inf
    n = 0
    for step in range(prices.size):  # from the middle outwards: both ends are often clear by then
        k = prices.size // 2 + (step // 2 if step % 2 == 0 else -(step + 1) // 2)
        if prices[k] <= 0.0 or ENOUGH * prices[k] <= all_below:
            for t in range(T + 1):
                ends[k, t] = t
            counts[k] = T
        elif prices[k] >= ENOUGH * one_above:
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        else:
            batch[n] = prices[k]
            places[n] = k
            n = n + 1
        if n == TOGETHER or (n > 0 and step == prices.size - 1):
            for j in range(n):
                rounding[j] = ROUNDING * (r + OVERHEAD) * (scatter + 2.0 * T * batch[j])
            _scan_all(gains, batch[:n], rounding, F, previous)
            for j in range(n):
                counts[places[j]] = trace_back(previous[j], ends[places[j]])
                if counts[places[j]] == 1:
                    one_above = min(one_above, batch[j])
                elif counts[places[j]] == T and batch[j] >= least:
                    all_below = max(all_below, batch[j])
            n = 0
    return ends, counts


@inner()
def _write_gains(table: SegmentTable, gains: Floats) -> None:
    """``gains[t, g, i]``: the score, without shift, from the ``i``-th start of a group to t."""
    row = np.empty(table.sums.shape[1])
    nothing = np.zeros((gains.shape[1], LANES))
    for t in range(1, gains.shape[0]):
        end_row(table.sums, t, row)
        for g in range((t - 1) // LANES + 1):
            scores = lane_scores(table, nothing, g, row, table.ends, t)
            write(scores, gains, t * gains.shape[1] + g)


@inner()
def _scan_all(gains: Floats, prices: Floats, rounding: Floats, F: Floats, previous: Ints) -> None:
    """Best values ``F[k]`` of segmentations that end at each knot, and the starts of the best one.

    The prices go side by side, so that the processor need not wait for the value at one knot. The
    groups of starts before ``first[k, g]`` never matter from the ``g``-th group of ends on, by the
    splitting bound.
    """
    T = gains.shape[0] - 1
    n_prices = prices.size
    top = np.empty((n_prices, T + 1))
    first = np.zeros((n_prices, gains.shape[1]), np.int64)
    for k in range(n_prices):
        for g in range(gains.shape[1]):
            for i in range(LANES):
                F[k, g, i] = -np.inf
        F[k, 0, 0] = 0.0
    for t in range(1, T + 1):
        g = t >> BITS
        n = (t - 1 >> BITS) + 1
        for k in range(n_prices):
            top[k, t] = _best_of(gains, t, F, k, first[k, g], n)
            F[k, g, t % LANES] = top[k, t] - prices[k]
        if t % LANES == LANES - 1 and t < T:
            for k in range(n_prices):
                least = top[k, t] - prices[k] - rounding[k]
                first[k, g + 1] = _first_left(gains, t, F, k, first[k, g], least)
    for k in range(n_prices):
        _fill_starts(gains, F, k, top, first, previous)


@kernel
def _best_of(gains: Floats, t: int, F: Floats, k: int, begin: int, end: int) -> float:
    """The best value at ``t``, of all starts in these groups."""
    first = t * gains.shape[1]
    own = k * F.shape[1]
    even = odd = spread(-np.inf)  # two in turn: one need not wait for the other
    for g in range(begin, end - 1, 2):
        even = larger(even, read(gains, first + g) + read(F, own + g))
        odd = larger(odd, read(gains, first + g + 1) + read(F, own + g + 1))
    if (end - begin) % 2 == 1:
        even = larger(even, read(gains, first + end - 1) + read(F, own + end - 1))
    return float(largest(larger(even, odd)))


@kernel
def _first_left(gains: Floats, t: int, F: Floats, k: int, group: int, least: float) -> int:
    """The first group, from one on, with a start whose value at ``t`` is better than ``least``."""
    while group < t >> BITS and _best_of(gains, t, F, k, group, group + 1) <= least:
        group += 1
    return group


@kernel
def _fill_starts(
    gains: Floats, F: Floats, k: int, top: Floats, first: Ints, previous: Ints
) -> None:
    """Find the first start that reaches the best value at each knot, from the last knot back."""
    t = gains.shape[0] - 1
    while t > 0:
        group = first[k, t >> BITS]
        lane = LANES
        while lane == LANES and group <= t - 1 >> BITS:
            total = read(gains, t * gains.shape[1] + group) + read(F, k * F.shape[1] + group)
            lane = first_reaching(total, top[k, t], 0)
            group += 1
        previous[k, t] = min((group - 1) * LANES + lane, t - 1)
        t = previous[k, t]


@compiled(error_model="numpy")
def path_losses(truth: Ints, ends: Ints, counts: Ints) -> Floats:
    """``K + K' - 2 sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)`` of the truth and of each path."""
    losses = np.empty(counts.size)
    for i in range(losses.size):
        k = 0
        m = 0
        shared = 0.0
        path = ends[i, : counts[i] + 1]
        while k < truth.size - 1 and m < path.size - 1:
            low = truth[k] if truth[k] > path[m] else path[m]
            high = truth[k + 1] if truth[k + 1] < path[m + 1] else path[m + 1]
            common = float(high - low)
            sizes = float(truth[k + 1] - truth[k]) * float(path[m + 1] - path[m])
            shared += common * common / sizes
            if truth[k + 1] == high:
                k += 1
            if path[m + 1] == high:
                m += 1
        losses[i] = truth.size - 1 + path.size - 1 - 2.0 * shared
    return losses
