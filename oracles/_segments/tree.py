"""Dynamic program that looks at few segments: all signs positive, near-linear time in practice.

Let ``F(t)`` be the best value of a segmentation of ``[0, t)``. Two facts rule starts out exactly.

Block bound. ``g(s, t) = |C_t - C_s|^2 / (t - s)`` is superadditive,
``g(s, t) <= g(s, e) + g(e, t)``, and ``w(s, t)`` grows with the
segment. So for a run of starts from ``o`` to its anchor ``e``, with
``H = max_s F(s) + g(s, e)`` over the run,

    F(s) + score(s, t) <= H + g(e, t) - c w(e, t) / (t - o) + d;

if the run and ``t - 1`` lie in one true segment, ``w(s, t) / (t - s)`` grows with ``t - s``, and
``t - e`` takes the place of ``t - o``.

Splitting bound. Splitting ``[s, t)`` at ``e`` adds a unit vector ``v`` to the range of ``M``, which
changes ``Tr(A M)`` by ``v^T A v >= d - c``. So, with ``kappa = c - d``,

    F(s) + score(s, t) <= F(e) + score(e, t) + kappa   for every s < e:

once the right side is no better than the best start known, no start before ``e`` matters at ``t``.
The classical constant of PELT, ``-d``, would be wrong here: it forgets the loss.

Rounding may make a bound smaller than a score that it bounds. Starts are left out where they are
worse by more than that, so that which of several equal segmentations is found depends on the scores
alone, and not on how they are looked for.

The runs are the nodes of a 16-ary tree over the starts; one vector operation bounds the sixteen
children of a node, and at the leaves the bound is the score itself.
"""

from __future__ import annotations

import numpy as np

from structsvm.oracles._segments.lanes import BITS, FAST, LANES, lane_of, lane_scores, next_above
from structsvm.oracles._segments.table import OVERHEAD, SegmentTable, end_row
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces, uninterrupted
from structsvm.support.progress import tell

ROUNDING = 2.0**-50
"""Of a score, at most: for each column of ``Z``, and in units of what the score is a sum of."""
FREE, NO_START = np.inf, -np.inf
"""What a stage says of a knot: it begins segments at its best value, or none."""


def tree_scan(table: SegmentTable, earliest: Ints, kappa: float) -> tuple[Floats, Ints]:
    """Best value ``F(t)`` of a segmentation that ends at each knot, and its last start."""
    n_knots = table.ends.shape[0]
    F, previous = stage_scan(table, earliest, kappa, None, 0, 1, n_knots, blank_tree(table))
    F[0] = 0.0
    return F, previous


def blank_tree(table: SegmentTable) -> Floats:
    """A tree in which nothing is a start, (n_groups, 16)."""
    return np.full((int(table.first_group[-1]), LANES), -np.inf)


def stage_scan(
    table: SegmentTable,
    earliest: Ints,
    kappa: float,
    start: Floats | None,
    begin: int,
    first: int,
    end: int,
    value: Floats,
) -> tuple[Floats, Ints]:
    F, previous = np.full(end - begin, -np.inf), np.zeros(end - begin, np.int64)
    own = 0.0 if start is None or start[0] == FREE else start[0]
    value[begin >> BITS, begin % LANES] = own
    positions = np.ascontiguousarray(table.ends[:, :1])
    fixed = table, positions, earliest, kappa, start, begin, first
    argument = begin
    for low, high in pieces(begin + 1, end, (end - begin) * (table.sums.shape[1] + OVERHEAD)):
        argument = _scan(*fixed, value, F, previous, low, high, argument)
        if high < end and table.ends.shape[1] == 1:  # no truth: a prediction, and a long one
            tell("segments", high / end)
    if start is not None:  # else the tree is of no further use
        _clear(value, table.first_group, begin, end)
    return F, previous


@compiled(fastmath=FAST)
def compiled_scan(
    table: SegmentTable,
    positions: Floats,
    earliest: Ints,
    kappa: float,
    start: Floats | None,
    begin: int,
    first: int,
    value: Floats,
    F: Floats,
    previous: Ints,
    low: int,
    high: int,
    argument: int,
) -> int:
    """Fill ``F`` and ``previous`` in for the knots from ``low`` to ``high - 1``."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    first_group = table.first_group
    n_levels = first_group.size - 1
    row, out = np.empty(sums.shape[1]), np.empty(LANES)
    pending = np.empty((n_levels + 1) * LANES, np.int64)
    bound = np.empty((n_levels + 1) * LANES)
    rounding = ROUNDING * (sums.shape[1] + OVERHEAD)
    prices = (abs(table.shift) + abs(kappa)) * positions[positions.shape[0] - 1, 0]
    for t in range(low, high):
        if earliest[t] != earliest[t - 1]:
            _forget(value, first_group, max(earliest[t - 1], begin), earliest[t])
            argument = max(earliest[t], begin)
        if t < first:
            _begin(table, positions, value, t, _own_value(start, t - begin, 0.0), row, out)
            continue
        end_row(sums, t, row)
        seed = argument >> BITS
        best = lane_scores(sums, lanes, n_plus, value, seed, row, ends, t, out)
        argument = seed * LANES + lane_of(out, best)
        least = best - rounding * (abs(best) + prices)
        n = _path_to_root(t, n_levels, seed, pending, bound)
        while n > 0:
            n -= 1
            if bound[n] <= least:
                continue
            level, node = pending[n] % 64, pending[n] // 64
            group = first_group[level] + node
            top = lane_scores(sums, lanes, n_plus, value, group, row, ends, t, out)
            if level == 0 and (top > best or (top == best and node < argument >> BITS)):
                best, argument = top, node * LANES + lane_of(out, top)
                least = best - rounding * (abs(best) + prices)
            if out[0] + kappa <= least and _anchor_is_free(start, begin, level, node):
                n = 0  # no start before the first anchor of this group matters
            if level > 0 and top > least:
                n = _push_children(out, least, level, node, seed, pending, bound, n)
        F[t - begin], previous[t - begin] = best + table.shift, argument
        _begin(table, positions, value, t, _own_value(start, t - begin, F[t - begin]), row, out)
    return argument


_scan = uninterrupted(compiled_scan)


@inner(forceinline=True)
def _own_value(start: Floats | None, knot: int, found: float) -> float:
    """The value up to a knot of what begins there."""
    if start is None:
        return found
    return found if start[knot] == FREE else start[knot]


@inner(fastmath=FAST, inline="always")
def _begin(
    table: SegmentTable,
    positions: Floats,
    value: Floats,
    t: int,
    best: float,
    row: Floats,
    out: Floats,
) -> None:
    """From now on segments may begin at ``t``, of this value up to there."""
    value[t >> BITS, t % LANES] = best
    if t % LANES == 0:
        _close_runs(table, positions, value, t, row, out)


@uninterrupted
@compiled()
def _clear(value: Floats, first_group: Ints, begin: int, end: int) -> None:
    """No knot from ``begin`` to ``end - 1`` is a start any more."""
    for level in range(first_group.size - 1):
        for run in range(begin >> (BITS * level), ((end - 1) >> (BITS * level)) + 1):
            value[first_group[level] + run // LANES, run % LANES] = -np.inf


@inner(forceinline=True)
def _anchor_is_free(start: Floats | None, begin: int, level: int, node: int) -> bool:
    if start is None:
        return True
    anchor = ((node * LANES + 1) << (BITS * level)) - 1
    return begin <= anchor < begin + start.size and start[anchor - begin] == FREE


@inner(forceinline=True)
def _path_to_root(t: int, n_levels: int, seed: int, pending: Ints, bound: Floats) -> int:
    """Stack the groups that hold the starts before ``t``, the nearest on top."""
    n = 0
    for level in range(n_levels - 1, -1, -1):
        node = (t - 1) >> (BITS * (level + 1))
        if _n_complete(t, level, node) > 0 and (level > 0 or node != seed):
            pending[n], bound[n] = node * 64 + level, np.inf
            n += 1
    return n


@inner(forceinline=True)
def _n_complete(t: int, level: int, node: int) -> int:
    done = t if level == 0 else (t - 1) >> (BITS * level)
    return min(done - node * LANES, LANES)


@inner(forceinline=True)
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
    i = next_above(out, least, 0)
    while i < LANES:
        child = node * LANES + i
        if level > 1 or child != seed:
            pending[n], bound[n] = child * 64 + level - 1, out[i]
            n += 1
        i = next_above(out, least, i + 1)
    return n


@inner(fastmath=FAST)
def _close_runs(
    table: SegmentTable, positions: Floats, value: Floats, t: int, row: Floats, out: Floats
) -> None:
    """Set ``H`` of the runs whose anchor is ``t - 1``: every start of theirs is known."""
    sums, lanes, n_plus, first_group = table.sums, table.lanes, table.n_plus, table.first_group
    level, anchor = 1, t - 1
    end_row(sums, anchor, row)
    while level < first_group.size - 1 and t % (1 << (BITS * level)) == 0:
        best, stop = -np.inf, t >> BITS
        for group in range(stop - (1 << (BITS * (level - 1))), stop):
            top = lane_scores(sums, lanes, n_plus, value, group, row, positions, anchor, out)
            best = max(best, top)
        run = (t >> (BITS * level)) - 1
        value[first_group[level] + run // LANES, run % LANES] = best
        level += 1


@inner()
def _forget(value: Floats, first_group: Ints, begin: int, end: int) -> None:
    """Starts from ``begin`` to ``end - 1`` are out of reach from now on."""
    for level in range(first_group.size - 1):
        for run in range(begin >> (BITS * level), end >> (BITS * level)):
            value[first_group[level] + run // LANES, run % LANES] = -np.inf
