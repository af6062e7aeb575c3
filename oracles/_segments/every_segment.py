"""The dynamic program over all allowed segments, with which every constraint can be kept.

    F(k, v) = d + max over the nodes u before v of F(k - 1, u) + score(u, v),

or the same without k. O(n^2 (r + K)) for n nodes. It is Algorithm 1 of Lajugie et al. with its
slips corrected (one vector instead of a T x T table, the backtrack along a column), on factored
scores instead of the summed-area table.
"""

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.table import (
    NO_INTEGERS,
    POSITION,
    SCORE_OVERHEAD,
    SegmentTable,
    end_row,
    lane_scores,
)
from structsvm.oracles._segments.vectors import (
    FAST,
    LANES,
    kernel,
    larger,
    largest,
    read,
    spread,
    write,
)
from structsvm.support import Floats, Ints, compiled, pieces


class Graph(NamedTuple):
    """Nodes, whose positions increase, and the segments between them with their scores."""

    table: SegmentTable
    earliest: Ints
    """For each node the first one at which a segment that ends there may begin."""
    latest: Ints
    """The last such node; before ``earliest`` where there is none."""
    listed: Ints = NO_INTEGERS
    """``starts[listed[t]:listed[t + 1]]`` are the allowed starts for the end t; empty: all."""
    starts: Ints = NO_INTEGERS


def best_of_every(graph: Graph, K: int | None) -> Ints | None:
    """The nodes of the best segmentation, into K segments if given; None if none is allowed."""
    best = _best_values(graph, K)
    reached = np.isfinite(best[-1, graph.latest.size - 1])
    return _trace(graph, best, best.shape[0] - 1) if reached else None


def best_of_every_length(graph: Graph, most: int) -> list[Ints]:
    """The same for 1, 2, ..., ``most`` segments, in a graph with at least ``most`` starts."""
    best = _best_values(graph, most)
    return [_trace(graph, best, K) for K in range(1, most + 1)]


def _best_values(graph: Graph, K: int | None) -> Floats:
    """``F(k, v)`` for k = 0, ..., K; one row, of the best over all k, if K is None."""
    n = graph.latest.size
    layers = 0 if K is None else K
    best = np.full((layers + 1, -(-n // LANES) * LANES), -np.inf)
    best[0, 0] = 0.0
    for begin, end in pieces(1, n, n * (graph.table.sums.shape[1] + SCORE_OVERHEAD + layers)):
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
    """The largest ``best[k, u] + out[u]`` for ``a <= u < b``; elsewhere ``out`` is -inf."""
    most = spread(-np.inf)
    first = k * (best.shape[1] // LANES)
    for g in range(a // LANES, (b + LANES - 1) // LANES):
        most = larger(most, read(best, first + g) + read(out, g))
    return float(largest(most))


@kernel
def _score(graph: Graph, v: int, a: int, b: int, row: Floats, nothing: Floats, out: Floats) -> None:
    """Write the score without shift from node u to ``v`` to ``out[u]``, for ``a <= u < b``.

    Other entries of the first and the last vector become minus infinity.
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
    """Set the scores of starts that are not ``allowed``, both sorted, to minus infinity."""
    k = 0
    for i in range(starts.size):
        while k < allowed.size and allowed[k] < starts[i]:
            k += 1
        if k == allowed.size or allowed[k] != starts[i]:
            scores[i] = -np.inf
