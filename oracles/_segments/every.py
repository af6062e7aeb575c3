"""The dynamic program that looks at every segment there may be, and serves every question.

Any signs, missing values, a rule for segments, boundaries where some are known to be, numbers of
changes in regions, K known or not: the nodes are those of ``windows.py``, the segments between two
nodes those that rule and window allow, and

    F(k, v) = d + max over the nodes u before v of F(k - 1, u) + score(u, v),

or the same without k. O(n^2 (r + K)) for n nodes. It is Algorithm 1 of Lajugie et al. with its
slips corrected (one vector instead of a T x T table, the backtrack along a column), on factored
scores instead of the summed-area table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.table import (
    OVERHEAD,
    SegmentTable,
    at_nodes,
    build_table,
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
from structsvm.oracles._segments.windows import windows
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled
from structsvm.support.interrupts import pieces


@dataclass(frozen=True, eq=False)
class Allowed:
    """The allowed segments of T samples, by their end ``t = 0, ..., T``."""

    low: Ints
    """The first start that goes with each end, (T + 1,)."""
    high: Ints
    """The last one; below ``low`` where there is none."""
    firsts: Ints
    """``starts[firsts[t]:firsts[t + 1]]`` go with ``t``, increasing; (T + 2,)."""
    starts: Ints
    """Empty where all starts from ``low`` to ``high`` are allowed for every end."""
    move_on: bool
    """Whether they are, and neither decreases from one end that has any to the next."""

    @classmethod
    def all_of(cls, n_samples: int) -> Allowed:
        """Every segment."""
        none = np.zeros(n_samples + 2, dtype=np.int64)
        return cls(none[1:], np.arange(-1, n_samples), none, none[:0], True)


class _Graph(NamedTuple):
    """The nodes, and what the scores of the segments between them are read from."""

    table: SegmentTable
    """Its columns in the order of the nodes."""
    position: Ints
    """Where the boundary of each node lies, (n,)."""
    first: Ints
    """Nodes ``first, ..., stop - 1`` may come before it, whose positions increase, ..."""
    stop: Ints
    low: Ints
    """... as far as these lie between ``low`` and ``high``."""
    high: Ints
    listed: Ints
    """``starts[listed[t]:listed[t + 1]]`` go with the end t; all do where these are empty."""
    starts: Ints


def best_path(
    objective: TraceObjective, boundaries: Boundaries, K: int | None, allowed: Allowed | None = None
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T, into K if given; None for none."""
    graph = _graph(objective, boundaries, allowed)
    best = _best_values(graph, K)
    return _path(graph, best, 0 if K is None else K)


def best_paths(objective: TraceObjective, boundaries: Boundaries, most: int) -> list[Ints | None]:
    """The same for 1, 2, ..., ``most`` segments."""
    graph = _graph(objective, boundaries, None)
    best = _best_values(graph, most)
    return [_path(graph, best, K) for K in range(1, most + 1)]


def _graph(objective: TraceObjective, boundaries: Boundaries, allowed: Allowed | None) -> _Graph:
    nodes, T = windows(boundaries), objective.n_samples
    allowed = Allowed.all_of(T) if allowed is None else allowed
    at, knots = nodes.position, boundaries.knots
    table = build_table(objective, knots)
    return _Graph(
        table=at_nodes(table, np.searchsorted(knots, at)) if boundaries.counted else table,
        position=at,
        first=nodes.first,
        stop=nodes.stop,
        low=np.maximum(nodes.low, allowed.low[at]),
        high=np.minimum(allowed.high[at], at - 1),
        listed=allowed.firsts,
        starts=allowed.starts,
    )


def _best_values(graph: _Graph, K: int | None) -> Floats:
    """``F(k, v)`` for k = 0, ..., K; the row 0 alone if K is not known, whatever k is."""
    n, layers = graph.position.size, 0 if K is None else K
    best = np.full((layers + 1, -(-n // LANES) * LANES), -np.inf)
    best[0, 0] = 0.0
    for begin, end in pieces(1, n, n * (graph.table.sums.shape[1] + OVERHEAD + layers)):
        _extend(graph, best, begin, end)
    return best


def _path(graph: _Graph, best: Floats, K: int) -> Ints | None:
    if not np.isfinite(best[K, graph.position.size - 1]):
        return None
    return np.asarray(graph.position[_trace(graph, best, K)])


@compiled(fastmath=FAST)
def _extend(graph: _Graph, best: Floats, begin: int, end: int) -> None:
    """Best values of the nodes ``begin, ..., end - 1`` in every layer."""
    out, layers, shift = np.empty(best.shape[1]), best.shape[0] - 1, graph.table.shift
    row, nothing = np.empty(graph.table.sums.shape[1]), np.zeros((out.size // LANES, LANES))
    for v in range(begin, end):
        a, b = _starts(graph, v)
        _score(graph, v, a, b, row, nothing, out)
        for k in range(min(1, layers), min(layers, v) + 1):
            best[k, v] = _largest_sum(best, max(k - 1, 0), out, a, b) + shift


@compiled(fastmath=FAST)
def _trace(graph: _Graph, best: Floats, k: int) -> Ints:
    """The nodes of the best path, each the first of the best ones."""
    out, path = np.empty(best.shape[1]), np.empty(graph.position.size, np.int64)
    row, nothing = np.empty(graph.table.sums.shape[1]), np.zeros((out.size // LANES, LANES))
    v, n = graph.position.size - 1, 0
    while v > 0:
        path[n], n = v, n + 1
        a, b = _starts(graph, v)
        _score(graph, v, a, b, row, nothing, out)
        k, most = max(k - 1, 0), -np.inf
        for u in range(a, b):
            if best[k, u] + out[u] > most:
                most, v = best[k, u] + out[u], u
    path[n] = 0
    return path[: n + 1][::-1].copy()


@kernel
def _starts(graph: _Graph, v: int) -> tuple[int, int]:
    """The nodes ``a, ..., b - 1`` that lie where those before a node may."""
    a = _first_at(graph.position, graph.first[v], graph.stop[v], graph.low[v])
    b = _first_at(graph.position, a, graph.stop[v], graph.high[v] + 1)
    return a, b


@kernel
def _first_at(position: Ints, begin: int, end: int, least: int) -> int:
    while begin < end:
        middle = (begin + end) // 2
        if position[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def _largest_sum(best: Floats, k: int, out: Floats, a: int, b: int) -> float:
    """The largest ``best[k, u] + out[u]`` for ``a <= u < b``; no other start of these sixteens."""
    most, first = spread(-np.inf), k * (best.shape[1] // LANES)
    for g in range(a // LANES, (b + LANES - 1) // LANES):
        most = larger(most, read(best, first + g) + read(out, g))
    return float(largest(most))


@kernel
def _score(
    graph: _Graph, v: int, a: int, b: int, row: Floats, nothing: Floats, out: Floats
) -> None:
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
        t = graph.position[v]
        listed = graph.starts[graph.listed[t] : graph.listed[t + 1]]
        _rule_out(graph.position[a:b], listed, out[a:b])


@kernel
def _rule_out(starts: Ints, allowed: Ints, scores: Floats) -> None:
    k = 0
    for i in range(starts.size):
        while k < allowed.size and allowed[k] < starts[i]:
            k += 1
        if k == allowed.size or allowed[k] != starts[i]:
            scores[i] = -np.inf
