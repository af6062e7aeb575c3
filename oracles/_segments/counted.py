"""The best segmentation of allowed segments with numbers of changes given in places.

The nodes are those of :mod:`~structsvm.oracles._segments.windows`: a node of a region says "its
c-th change is here". A node follows on those of its window from which a rule allows a segment.
"""

from __future__ import annotations

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.prefixes import Allowed, Prefixes, add_truth, squares
from structsvm.oracles._segments.windows import windows
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces, uninterrupted


def counted_path(
    scores: Prefixes, shift: float, segments: Allowed, boundaries: Boundaries, K: int | None
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T; None if there is none."""
    nodes = windows(boundaries)
    n, layers = nodes.position.size, 1 if K is None else K
    best = np.full((layers + 1, n), -np.inf)
    last = np.full((layers + 1, n), -1, dtype=np.int64)
    best[0, 0] = 0.0
    if K is None:
        best[1, 0] = 0.0
    for begin, end in pieces(1, n, n * (scores.rank + 4.0 + layers)):
        _extend_nodes(
            scores.sums, scores.signs, scores.sizes, scores.home, scores.ends, scores.weight,
            shift, segments.low, segments.high, segments.firsts, segments.starts, *nodes,
            K is None, best, last, begin, end,
        )  # fmt: skip
    v, k, path = n - 1, layers, [int(nodes.position[-1])]
    while v > 0:
        v = int(last[k, v])
        if v < 0:
            return None
        path.append(int(nodes.position[v]))
        k -= K is not None
    return np.array(path[::-1], dtype=np.int64)


@uninterrupted
@compiled()
def _extend_nodes(
    sums: Floats,
    signs: Floats,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    shift: float,
    lowest: Ints,
    highest: Ints,
    firsts: Ints,
    every: Ints,
    position: Ints,
    first: Ints,
    stop: Ints,
    low: Ints,
    open_count: bool,
    best: Floats,
    last: Ints,
    begin: int,
    end: int,
) -> None:  # pragma: no cover (compiled)
    """Best values of the nodes ``begin, ..., end - 1`` in every layer, and those before them."""
    n, layers = position.size, best.shape[0] - 1
    before, starts = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    scores, columns = np.empty(n), np.empty((sums.shape[0], n))
    for v in range(begin, end):
        t, found = position[v], 0
        for u in range(first[v], stop[v]):
            s = position[u]
            if s >= t or s < low[v] or not _is_allowed(s, t, lowest, highest, firsts, every):
                continue
            before[found], starts[found] = u, s
            for j in range(sums.shape[0]):
                columns[j, found] = sums[j, s]
            found += 1
        squares(t, starts[:found], 0, columns, sums, signs, scores)
        add_truth(t, starts[:found], sizes, home, ends, weight, scores)
        for k in range(1, layers + 1):
            values = best[k if open_count else k - 1]
            most, where = -np.inf, -1
            for i in range(found):
                value = values[before[i]] + scores[i]
                if value > most:
                    most, where = value, before[i]
            best[k, v], last[k, v] = most + shift, where


@inner()
def _is_allowed(
    s: int, t: int, lowest: Ints, highest: Ints, firsts: Ints, every: Ints
) -> bool:  # pragma: no cover (compiled)
    if s < lowest[t] or s > highest[t]:
        return False
    if every.size == 0:
        return True
    starts = every[firsts[t] : firsts[t + 1]]
    at = np.searchsorted(starts, s)
    return bool(at < starts.size and starts[at] == s)
