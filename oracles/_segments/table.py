"""What the segment kernels read: the score of any segment in O(r) operations, 16 starts at once.

The objective ``A = Z Z^T - c M_i + d I`` gives the segment ``[s, t)`` of ``n`` samples

    score(s, t) = (|C_t - C_s|^2 - c w(s, t)) / n + d,   w(s, t) = sum_k |[s, t) n P_k|^2 / |P_k|

with ``C`` the prefix sums of the centred samples and ``P_k = [f_k, e_k)`` the true segments. If
both ends lie in one true segment, ``w = n^2 / |P_k|``; otherwise ``w = a_s + b_t`` with

    a_s = (e_k - s)^2 / |P_k| - e_k,   b_t = f_l + (t - f_l)^2 / |P_l|,   s in P_k, t - 1 in P_l.

Centring is exact: ``M 1 = 1`` for every partition, so that ``Z = Z_c + 1 mu^T`` only adds the
constant ``T mu^T mu + 2 mu^T C_T``, and it removes the cancellation that large offsets cause.

Boundaries may only lie on *knots* ``0 = x_0 < ... < x_m = T``: a forbidden boundary is a missing
knot. The kernels count in *nodes*, each of which stands for a knot (``Nodes``).
"""

from typing import Any, NamedTuple

import numpy as np

from structsvm.data import means
from structsvm.errors import OracleError
from structsvm.oracles._segments.vectors import (
    FAST,
    LANES,
    add_product,
    entry,
    kernel,
    larger,
    read,
    spread,
    where_larger,
)
from structsvm.partitions import TraceObjective
from structsvm.support import Floats, Ints, inner, read_only, uninterrupted

ANCHOR, ORIGIN, LEFT = 0, 1, 2
"""Rows of ``SegmentTable.lanes``."""
POSITION, RIGHT, RATE, LOW = 0, 1, 2, 3
"""Columns of ``SegmentTable.ends``."""
SCORE_OVERHEAD = 8
"""The time of a score without columns of ``Z``, in units of the time of one column."""
NO_INTEGERS = np.zeros(0, dtype=np.int64)
NO_TRUTH = read_only(np.zeros(0, dtype=np.int64))
"""Boundaries of the truth where there is no truth."""


class SegmentTable(NamedTuple):
    """Everything that segment scores are read from; memory O(T r)."""

    sums: Floats
    """Prefix sums at the anchors, (n_groups, r, 16)."""
    lanes: Floats
    """Per lane the position of its anchor and, where there is a truth, the least one in its run
    and ``c a_s`` at the anchor: (n_groups, 1 or 3, 16)."""
    ends: Floats
    """Per node its position and, where there is a truth, ``c b_t``, and ``c / |P_l|`` and ``f_l``
    of the true segment of the sample before it: (n, 1 or 4)."""
    first_group: Ints
    """Where the groups of each level begin, (n_levels + 1,)."""
    shift: float
    """``d``."""
    rank: int
    """r; where values are missing, ``sums`` has r more columns, which count the present values."""


def build_table(objective: TraceObjective, knots: Ints, nodes: Ints) -> SegmentTable:
    """The scores of the segments between ``nodes`` (n,), indices of ``knots`` (m + 1,)."""
    Z = np.ascontiguousarray(objective.Z, dtype=np.float64)
    r = Z.shape[1]
    mean = np.zeros(r)
    total = np.zeros(r)
    if objective.gaps:
        is_present = ~np.isnan(Z)
        mean = np.concatenate((means(Z), mean))
        Z = np.hstack((np.where(is_present, Z, mean[:r]), is_present))
        total = np.zeros(2 * r)
    # The kernels are compiled for read-only arrays alone.
    columns = _fill_for_python(read_only(Z), r, knots, nodes, *truth_of(objective), mean, total)
    return SegmentTable(*columns, float(objective.shift), r)


def truth_of(objective: TraceObjective) -> tuple[Ints, float]:
    """The boundaries of the truth and ``c``; NO_TRUTH and 0 for an objective without a loss."""
    if objective.truth is None or not objective.has_truth:
        return NO_TRUTH, 0.0
    if not objective.truth.is_contiguous:
        raise OracleError(
            "the truth must be made of segments of consecutive samples; use a clustering oracle "
            "for labels that come back"
        )
    return objective.truth.boundaries, float(objective.truth_weight)


@inner()
def free_table(
    Z: Floats, bounds: Ints, c: float, shift: float, mean: Floats, total: Floats
) -> SegmentTable:
    """The segment scores where every place is a knot."""
    T, r = Z.shape
    knots = np.arange(T + 1)
    sums, lanes, ends, first_group = _fill(Z, r, knots, knots, bounds, c, mean, total)
    return SegmentTable(sums, lanes, ends, first_group, shift, r)


# ---- scores


@kernel
def lane_scores(
    table: SegmentTable, value: Floats, group: int, row: Floats, ends: Floats, t: int
) -> Any:
    """``value[group, i] + score(s, t) - d`` for the 16 starts of a group, a vector.

    In a group of inner nodes the result bounds every start ``s`` of the run from above, given that
    ``value`` is at least ``F(s) + |C_e - C_s|^2 / (e - s)``, with ``e`` the anchor. Lanes at or
    after ``t`` must hold the value minus infinity.
    """
    lanes = table.lanes
    here = spread(ends[t, POSITION])
    first = group * lanes.shape[1]
    anchors = read(lanes, first + ANCHOR)
    length = larger(here - anchors, spread(1.0))
    share = _share(table, group, row, length)
    if ends.shape[1] > 1:
        origins = read(lanes, first + ORIGIN)
        low = spread(ends[t, LOW])
        longest = where_larger(low, origins, larger(here - origins, spread(1.0)), length)
        inside = spread(ends[t, RATE]) * length * length
        overlap = read(lanes, first + LEFT) + spread(ends[t, RIGHT])
        share = share - where_larger(low, anchors, overlap, inside) / longest
    return read(value, group) + share


@kernel
def _share(table: SegmentTable, group: int, row: Floats, length: Any) -> Any:
    """``|C_t - C_s|^2 / n`` for the sixteen starts of a group; ``row`` is ``C_t``."""
    sums = table.sums
    r = table.rank
    first = group * row.size
    # two sums in turn, neither of which waits for the other
    even = spread(0.0)
    odd = spread(0.0)
    if row.size > r:
        for j in range(r):
            difference = spread(row[j]) - read(sums, first + j)
            values = larger(spread(row[r + j]) - read(sums, first + r + j), spread(1.0))
            even = even + difference * difference / values
        return even
    for j in range(0, r - 1, 2):
        difference = spread(row[j]) - read(sums, first + j)
        even = add_product(even, difference, difference)
        difference = spread(row[j + 1]) - read(sums, first + j + 1)
        odd = add_product(odd, difference, difference)
    if r % 2 == 1:
        difference = spread(row[r - 1]) - read(sums, first + r - 1)
        even = add_product(even, difference, difference)
    return (even + odd) / length


@inner(no_cpython_wrapper=False, fastmath=FAST)
def sum_of_scores(table: SegmentTable, path: Ints) -> float:
    """Sum of the segment scores between the knots of ``path``, without shift and constant."""
    row = np.empty(table.sums.shape[1])
    nothing = np.zeros((table.sums.shape[0], LANES))
    total = 0.0
    for k in range(path.size - 1):
        s = path[k]
        t = path[k + 1]
        end_row(table.sums, t, row)
        total += entry(lane_scores(table, nothing, s // LANES, row, table.ends, t), s % LANES)
    return total


path_value = uninterrupted(sum_of_scores)
""":func:`sum_of_scores`, for Python."""


@kernel
def end_row(sums: Floats, knot: int, row: Floats) -> None:
    """Copy the prefix sums at ``knot`` into ``row`` (r,)."""
    for j in range(row.size):
        row[j] = sums[knot // LANES, j, knot % LANES]


@inner(no_cpython_wrapper=False)
def _fill(
    Z: Floats,
    rank: int,
    knots: Ints,
    nodes: Ints,
    bounds: Ints,
    c: float,
    mean: Floats,
    total: Floats,
) -> tuple[Floats, Floats, Floats, Ints]:
    """The arrays of a table; writes the mean of the columns of ``Z`` and their centred total."""
    first_group = _level_offsets(nodes.size)
    width = 4 if bounds.size > 0 else 1
    sums = np.empty((first_group[-1], Z.shape[1], LANES))
    ends = np.empty((nodes.size, width))
    left = np.empty(nodes.size)
    if rank == Z.shape[1]:
        _add_rows(Z, mean)
        for j in range(rank):
            mean[j] /= Z.shape[0]
    if nodes.size == knots.size:  # each knot is one node
        _fill_leaves(Z, knots, bounds, c, mean, total, sums, ends, left)
    else:
        at_knots = np.empty((-(-knots.size // LANES), Z.shape[1], LANES))
        ends_at = np.empty((knots.size, width))
        left_at = np.empty(knots.size)
        _fill_leaves(Z, knots, bounds, c, mean, total, at_knots, ends_at, left_at)
        for v in range(first_group[1] * LANES):
            k = nodes[min(v, nodes.size - 1)]
            for j in range(Z.shape[1]):
                sums[v // LANES, j, v % LANES] = at_knots[k // LANES, j, k % LANES]
            if v < nodes.size:
                left[v] = left_at[k]
                for j in range(width):
                    ends[v, j] = ends_at[k, j]
    lanes = np.empty((first_group[-1], 3 if bounds.size > 0 else 1, LANES))
    _fill_lanes(ends, left, first_group, sums, lanes)
    return sums, lanes, ends, first_group


_fill_for_python = uninterrupted(_fill)


@inner()
def _add_rows(X: Floats, total: Floats) -> None:
    """Add the rows of ``X`` to ``total``, four in one pass, since rows are short."""
    T = X.shape[0]
    fours = T - T % 4
    for t in range(0, fours, 4):
        for j in range(total.size):
            total[j] += (X[t, j] + X[t + 1, j]) + (X[t + 2, j] + X[t + 3, j])
    for t in range(fours, T):
        for j in range(total.size):
            total[j] += X[t, j]


@inner()
def _level_offsets(n_nodes: int) -> Ints:
    """The first group of each level of a 16-ary tree over ``n_nodes`` leaves, and the total."""
    offsets = np.zeros(17, np.int64)
    count = n_nodes
    n_levels = 0
    while count > 1 or n_levels == 0:
        count = -(-count // LANES)
        n_levels += 1
        offsets[n_levels] = offsets[n_levels - 1] + count
    return offsets[: n_levels + 1].copy()


@inner()
def _fill_leaves(
    Z: Floats,
    knots: Ints,
    bounds: Ints,
    c: float,
    mean: Floats,
    total: Floats,
    sums: Floats,
    ends: Floats,
    left: Floats,
) -> None:
    """Write positions, truth terms and prefix sums at the knots."""
    for i in range(knots.size):
        ends[i, POSITION] = knots[i]
    if bounds.size > 0:
        _fill_truth_terms(knots, bounds, c, ends, left)
    _fill_prefix_sums(Z, knots, mean, total, sums)


@inner(error_model="numpy")
def _fill_truth_terms(knots: Ints, bounds: Ints, c: float, ends: Floats, left: Floats) -> None:
    """``c b_t``, ``c / |P_l|``, ``f_l`` and ``c a_s`` at the knots; ``bounds`` of the truth."""
    k = 0
    for i in range(knots.size):
        x = knots[i]
        while bounds[k + 1] < x:
            k += 1
        low = bounds[k]
        size = bounds[k + 1] - bounds[k]
        ends[i, RIGHT] = c * (low + (x - low) * (x - low) / size)
        ends[i, RATE] = c / size
        ends[i, LOW] = low
        starting = k + 1 if x == bounds[k + 1] and k + 2 < bounds.size else k
        upper = bounds[starting + 1]
        size = bounds[starting + 1] - bounds[starting]
        left[i] = c * ((upper - x) * (upper - x) / size - upper)


@inner()
def _fill_lanes(ends: Floats, left: Floats, first_group: Ints, sums: Floats, lanes: Floats) -> None:
    """Write the anchors of all groups, and their prefix sums in groups of inner nodes."""
    cap = ends.shape[0] - 1
    size = 1
    for level in range(first_group.size - 1):
        for g in range(first_group[level], first_group[level + 1]):
            for i in range(LANES):
                lane = (g - first_group[level]) * LANES + i
                anchor = min((lane + 1) * size - 1, cap)
                lanes[g, ANCHOR, i] = ends[anchor, POSITION]
                if lanes.shape[1] > 1:
                    lanes[g, LEFT, i] = left[anchor]
                    lanes[g, ORIGIN, i] = ends[min(lane * size, cap), POSITION]
                    below = first_group[level - 1] + lane
                    if level > 0 and below < first_group[level]:
                        for q in range(LANES):
                            lanes[g, ORIGIN, i] = min(lanes[g, ORIGIN, i], lanes[below, ORIGIN, q])
                if level > 0:
                    for j in range(sums.shape[1]):
                        sums[g, j, i] = sums[anchor // LANES, j, anchor % LANES]
        size *= LANES


@inner()
def _fill_prefix_sums(Z: Floats, knots: Ints, mean: Floats, running: Floats, sums: Floats) -> None:
    """Write prefix sums of centred samples at the leaves; the last knot fills the last group."""
    T, r = Z.shape
    last = knots.size - 1
    for g in range(last // LANES + 1):
        first = g * LANES
        if last == T and first + LANES <= T:  # one sample from each knot to the next
            _add_up(Z[first : first + LANES], mean, running, sums[g])
            continue
        for j in range(r):
            for k in range(first, first + LANES):
                sums[g, j, k - first] = running[j]
                if k < last:
                    for t in range(knots[k], knots[k + 1]):
                        running[j] += Z[t, j] - mean[j]


@inner()
def _add_up(Z: Floats, mean: Floats, running: Floats, sums: Floats) -> None:
    """Write the prefix sums before each of sixteen samples, and add the samples to ``running``."""
    for j in range(mean.size):
        total = running[j]
        level = mean[j]
        for i in range(LANES):
            sums[j, i] = total
            total += Z[i, j] - level
        running[j] = total
