"""Dynamic program over the starts that are left, sixteen ends at a time; all signs positive.

This is PELT (Killick, Fearnhead and Eckley, 2012) with the splitting bound of ``tree.py``, which
takes the loss into account: after a knot ``e`` a start ``s`` with

    F(s) + score(s, e) + kappa <= F(e)

is never better than ``e``, and is dropped. For ``n`` starts that are left it takes ``O(n r)``
operations a knot, where the tree takes ``O(r log T)``. But a start and sixteen ends are one vector
operation, with no search around it, and where segments are short few starts are left. Where they
become many it gives up, for the tree.

Rounding drops no start: it has to be worse by more than that. So the scores alone decide which of
several equal segmentations is found: that with the leftmost starts, as in the other programs.
"""

from __future__ import annotations

import numpy as np

from structsvm.oracles._segments.table import SegmentTable, end_scores
from structsvm.oracles._segments.vectors import (
    BITS,
    LANES,
    entry,
    kernel,
    larger,
    read,
    spread,
    where_larger,
)
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import inner

FEW = 128
"""Starts that may be left in any case."""
ROWS = 192
"""Starts at sixteen ends, for each sixteen ends, in the time of which the tree finds these."""


@inner()
def pelt_scan(table: SegmentTable, kappa: float, rounding: float, previous: Ints) -> bool:
    """Fill in the last start of the best segmentation up to each knot, (m + 1,)."""
    n_groups, n_knots = table.first_group[1], previous.size
    size = n_groups * LANES  # beyond the last knot, the last one again
    marks, scores = _by_lanes(table.ends, n_groups), np.empty((size, LANES))
    starts, F, found = np.empty(size, np.int64), np.empty(size), np.empty(size, np.int64)
    n = rows = 0
    for g in range(n_groups):
        for i in range(LANES):
            starts[n + i] = g * LANES + i
        n += LANES
        end_scores(table, marks, starts, n, g, scores)
        _best_at_ends(scores, starts, n, table.shift, F, found)
        if g + 1 < n_groups:
            least = F[starts[n - 1]] - table.shift - kappa - rounding
            n = _keep(scores, starts, n, F, least)
            rows += n
            if _is_slow(n, rows, g + 1, n_groups):
                return False
    for t in range(n_knots):
        previous[t] = found[t]
    return True


@kernel
def _best_at_ends(
    scores: Floats, starts: Ints, n: int, shift: float, F: Floats, previous: Ints
) -> None:
    """Best values at sixteen knots, one after the other, since each is a start for the next.

    Row ``k < n`` of ``scores`` is of the start ``starts[k]``; the knots are the last sixteen.
    """
    best, which, older = spread(-np.inf), spread(0.0), n - LANES
    for k in range(older):
        total = spread(F[starts[k]]) + read(scores, k)
        which = where_larger(total, best, spread(float(starts[k])), which)
        best = larger(total, best)
    for i in range(LANES):
        here = starts[older] + i
        F[here] = entry(best, i) + shift if here > 0 else 0.0
        previous[here] = int(entry(which, i))
        total = spread(F[here]) + read(scores, older + i)
        which = where_larger(total, best, spread(float(here)), which)
        best = larger(total, best)


@kernel
def _is_slow(n: int, rows: int, done: int, n_groups: int) -> bool:
    if rows > ROWS * (done + LANES):
        return True
    ahead = n_groups - done
    hardly_any = 4 * n > 3 * LANES * done
    return n > FEW and hardly_any and ahead * (n + LANES * ahead // 2) > n_groups * ROWS


@inner()
def _by_lanes(ends: Floats, n_groups: int) -> Floats:
    marks = np.empty((n_groups, ends.shape[1], LANES))
    for t in range(n_groups * LANES):
        knot = min(t, ends.shape[0] - 1)
        for k in range(ends.shape[1]):
            marks[t >> BITS, k, t % LANES] = ends[knot, k]
    return marks


@kernel
def _keep(scores: Floats, starts: Ints, n: int, F: Floats, least: float) -> int:
    """Keep the starts whose value at the last knot is better than ``least``; their number."""
    kept = 0
    for k in range(n - 1):
        start = starts[k]
        starts[kept] = start
        kept += F[start] + scores[k, LANES - 1] > least
    starts[kept] = starts[n - 1]  # the last knot itself
    return kept + 1
