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

from structsvm.oracles._segments.lanes import BITS, FAST, LANES, best_at_ends, end_scores
from structsvm.oracles._segments.table import SegmentTable
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import inner

FEW = 128
"""Starts that may be left in any case."""
ROWS = 128
"""Rows of sixteen scores for each sixteen ends, in the time of which the tree finds these."""


@inner(fastmath=FAST)
def pelt_scan(table: SegmentTable, kappa: float, rounding: float, previous: Ints) -> bool:
    """Fill ``previous`` in along the best segmentation: where the segment begins that ends there.

    False is returned, and nothing filled in, where so many starts are left that it may take long.

    Parameters
    ----------
    table : SegmentTable
        Segment scores where every place is a knot.
    kappa : float
        Splitting constant ``c - d``.
    rounding : float
        What a value is wrong by at most.
    """
    n_groups = table.first_group[1]
    n_knots = n_groups * LANES  # beyond the last one, the last one again
    marks = _by_lanes(table.ends, n_groups)
    # All of them, or those with few starts and those that are ahead when they are found to be many.
    n_rows = n_groups * min(LANES * (n_groups + 1) // 2, FEW + ROWS + 2 * LANES)
    scores, starts = np.empty((n_rows, LANES)), np.empty(n_rows, np.int64)
    first_row = np.zeros(n_groups + 1, np.int64)
    F, top = np.empty(n_knots), np.full(n_knots, -np.inf)
    top[0] = -table.shift
    n_left = 0
    for g in range(n_groups):
        begin = first_row[g]
        end = first_row[g + 1] = begin + n_left + LANES
        for i in range(LANES):
            starts[end - LANES + i] = g * LANES + i
        end_scores(table.sums, table.lanes, marks, starts, begin, end, g, scores)
        best_at_ends(scores, starts, begin, end, table.shift, F, top)
        if g + 1 < n_groups:
            least = top[(g + 1) * LANES - 1] - kappa - rounding
            n_left = _keep(scores, starts, begin, end, F, least)
            ahead = n_groups - 1 - g
            if n_left > FEW and ahead * (n_left + LANES * ahead // 2) > n_groups * ROWS:
                return False  # that many rows, if no more starts are dropped
    _trace_back(scores, starts, first_row, F, top, table.ends.shape[0] - 1, previous)
    return True


@inner()
def _by_lanes(ends: Floats, n_groups: int) -> Floats:
    """What a table says of its knots, sixteen to a group, (n_groups, 1 or 4, 16)."""
    marks = np.empty((n_groups, ends.shape[1], LANES))
    for t in range(n_groups * LANES):
        knot = min(t, ends.shape[0] - 1)
        for k in range(ends.shape[1]):
            marks[t >> BITS, k, t % LANES] = ends[knot, k]
    return marks


@inner()
def _keep(scores: Floats, starts: Ints, begin: int, end: int, F: Floats, least: float) -> int:
    """Copy the starts whose value at the last knot is better than ``least`` to after ``end``."""
    kept = end
    for k in range(begin, end - 1):
        starts[kept] = starts[k]
        kept += F[starts[k]] + scores[k, LANES - 1] > least
    starts[kept] = starts[end - 1]  # the last knot itself
    return kept + 1 - end


@inner()
def _trace_back(
    scores: Floats, starts: Ints, first_row: Ints, F: Floats, top: Floats, t: int, previous: Ints
) -> None:
    """Find the first start that reaches the best value at each knot, from the last knot back."""
    while t > 0:
        k = first_row[t >> BITS]
        while F[starts[k]] + scores[k, t % LANES] < top[t]:
            k += 1
        previous[t] = starts[k]
        t = starts[k]
