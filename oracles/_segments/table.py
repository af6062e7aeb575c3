"""What the segment kernels read: the score of any segment in O(r) operations, 16 starts at once.

The objective ``A = Z S Z^T - c M_i + d I`` gives the segment ``[s, t)`` of ``n`` samples

    score(s, t) = (|C_t - C_s|^2_S - c w(s, t)) / n + d,   w(s, t) = sum_k |[s, t) n P_k|^2 / |P_k|

with ``C`` the prefix sums of the centred samples and ``P_k = [f_k, e_k)`` the true segments. If
both ends lie in one true segment, ``w = n^2 / |P_k|``; otherwise ``w = a_s + b_t`` with

    a_s = (e_k - s)^2 / |P_k| - e_k,   b_t = f_l + (t - f_l)^2 / |P_l|,   s in P_k, t - 1 in P_l.

Centring is exact: ``M 1 = 1`` for every partition, so that ``Z = Z_c + 1 mu^T`` only adds the
constant ``T mu^T S mu + 2 mu^T S C_T``, and it removes the cancellation that large offsets cause.

Boundaries may only lie on *knots* ``0 = x_0 < ... < x_m = T``: a forbidden boundary is a missing
knot, and the kernels count in knots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.lanes import ANCHOR, LANES, LEFT, ORIGIN, lane_scores
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints
from structsvm.support.columns import add_rows
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import uninterrupted
from structsvm.support.plain import read_only

POSITION, RIGHT, RATE, LOW = 0, 1, 2, 3
OVERHEAD = 8
"""So many columns of ``Z`` more would cost what a score costs without any."""
NO_TRUTH = read_only(np.zeros(0, dtype=np.int64))
"""The boundaries of the truth where there is none."""


class SegmentTable(NamedTuple):
    """Everything that segment scores are read from; memory O(T r)."""

    sums: Floats
    """Prefix sums at the anchors, (n_groups, r, 16)."""
    lanes: Floats
    """Per lane the position of its anchor and, where there is a truth, that of the first start of
    its run and ``c a_s`` at the anchor: (n_groups, 1 or 3, 16)."""
    ends: Floats
    """Per knot its position and, where there is a truth, ``c b_t`` and the ``c / |P_l|`` and the
    ``f_l`` of the true segment that ends there: (m + 1, 1 or 4)."""
    first_group: Ints
    """Where the groups of each level begin, (n_levels + 1,)."""
    shift: float
    """``d``."""
    n_plus: int
    """The first ``n_plus`` columns count positively, the others negatively."""
    constant: float
    """What centring took away from ``Tr(A M)``, the same for every partition."""


def build_table(objective: TraceObjective, knots: Ints) -> SegmentTable:
    """The segment scores of ``objective`` with boundaries on ``knots`` (m + 1,)."""
    Z, n_plus = _columns_by_sign(objective)
    first_group = _level_offsets(knots.size)
    n_groups, truthful = int(first_group[-1]), objective.has_truth
    sums = np.empty((n_groups, Z.shape[1], LANES))
    lanes = np.empty((n_groups, 3 if truthful else 1, LANES))
    ends = np.empty((knots.size, 4 if truthful else 1))
    mean, total = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    _fill_for_python(Z, knots, *truth_of(objective), mean, total, first_group, sums, lanes, ends)
    signed_mean = np.where(np.arange(mean.size) < n_plus, mean, -mean)
    constant = float(signed_mean @ (Z.shape[0] * mean + 2.0 * total))
    return SegmentTable(
        sums=sums,
        lanes=lanes,
        ends=ends,
        first_group=first_group,
        shift=float(objective.shift),
        n_plus=n_plus,
        constant=constant,
    )


def truth_of(objective: TraceObjective) -> tuple[Ints, float]:
    """The boundaries of the truth and ``c``, where the loss takes part."""
    if objective.truth is None or not objective.has_truth:
        return NO_TRUTH, 0.0
    return objective.truth.boundaries, float(objective.truth_weight)


@inner()
def free_table(
    Z: Floats, bounds: Ints, c: float, shift: float, mean: Floats, total: Floats
) -> SegmentTable:
    """The segment scores where every place is a knot and all signs are positive."""
    T, r = Z.shape
    knots = np.empty(T + 1, np.int64)
    for t in range(T + 1):
        knots[t] = t
    first_group = np.zeros(16, np.int64)
    count, n_levels = -(-knots.size // LANES), 1
    first_group[1] = count
    while count > 1:
        count = -(-count // LANES)
        n_levels += 1
        first_group[n_levels] = first_group[n_levels - 1] + count
    first_group = first_group[: n_levels + 1].copy()
    n_groups, truthful = first_group[n_levels], bounds.size > 0
    sums = np.empty((n_groups, r, LANES))
    lanes = np.empty((n_groups, 3 if truthful else 1, LANES))
    ends = np.empty((T + 1, 4 if truthful else 1))
    _fill(Z, knots, bounds, c, mean, total, first_group, sums, lanes, ends)
    return SegmentTable(sums, lanes, ends, first_group, shift, r, 0.0)


@compiled()
def sum_of_scores(table: SegmentTable, path: Ints) -> float:
    """Sum of the segment scores between the knots of ``path``, without shift and constant."""
    sums, lanes, ends, n_plus = table.sums, table.lanes, table.ends, table.n_plus
    row, out = np.empty(sums.shape[1]), np.empty(LANES)
    nothing = np.zeros((sums.shape[0], LANES))
    total = 0.0
    for k in range(path.size - 1):
        s, t = path[k], path[k + 1]
        end_row(sums, t, row)
        lane_scores(sums, lanes, n_plus, nothing, s // LANES, row, ends, t, out)
        total += out[s % LANES]
    return total


path_value = uninterrupted(sum_of_scores)
"""The same where Python calls it."""


@inner()
def end_row(sums: Floats, knot: int, row: Floats) -> None:
    """Copy the prefix sums at ``knot`` into ``row`` (r,)."""
    for j in range(row.size):
        row[j] = sums[knot // LANES, j, knot % LANES]


def _columns_by_sign(objective: TraceObjective) -> tuple[Floats, int]:
    """The columns of ``Z`` with the positive ones first, and how many are positive."""
    # Read-only whatever it is made of: the kernels are compiled for one kind of array.
    Z = np.ascontiguousarray(objective.Z, dtype=np.float64)
    if objective.signs is None or (objective.signs > 0).all():
        return read_only(Z), Z.shape[1]
    positive = objective.signs > 0
    return read_only(np.hstack((Z[:, positive], Z[:, ~positive]))), int(positive.sum())


def _level_offsets(n_knots: int) -> Ints:
    """First group of each level of a 16-ary tree over ``n_knots`` starts, ending with the total."""
    counts = [-(-n_knots // LANES)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // LANES))
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


@compiled()
def _fill(
    Z: Floats,
    knots: Ints,
    bounds: Ints,
    c: float,
    mean: Floats,
    total: Floats,
    first_group: Ints,
    sums: Floats,
    lanes: Floats,
    ends: Floats,
) -> None:
    """Fill the arrays of a table in."""
    left = np.empty(knots.size)
    for i in range(knots.size):
        ends[i, POSITION] = knots[i]
    if bounds.size > 0:
        _fill_truth_terms(knots, bounds, c, ends, left)
    _fill_prefix_sums(Z, knots, mean, total, sums)
    _fill_lanes(knots, left, first_group, sums, lanes)


_fill_for_python = uninterrupted(_fill)


@inner(error_model="numpy")
def _fill_truth_terms(knots: Ints, bounds: Ints, c: float, ends: Floats, left: Floats) -> None:
    """``c b_t``, ``c / |P_l|``, ``f_l`` and ``c a_s`` at the knots; ``bounds`` of the truth."""
    k = 0
    for i in range(knots.size):
        x = knots[i]
        while bounds[k + 1] < x:
            k += 1
        low, size = bounds[k], bounds[k + 1] - bounds[k]
        ends[i, RIGHT] = c * (low + (x - low) * (x - low) / size)
        ends[i, RATE] = c / size
        ends[i, LOW] = low
        starting = k + 1 if x == bounds[k + 1] and k + 2 < bounds.size else k
        upper, size = bounds[starting + 1], bounds[starting + 1] - bounds[starting]
        left[i] = c * ((upper - x) * (upper - x) / size - upper)


@inner()
def _fill_lanes(knots: Ints, left: Floats, first_group: Ints, sums: Floats, lanes: Floats) -> None:
    cap, size = knots.size - 1, 1
    for level in range(first_group.size - 1):
        for g in range(first_group[level], first_group[level + 1]):
            for i in range(LANES):
                lane = (g - first_group[level]) * LANES + i
                anchor = min((lane + 1) * size - 1, cap)
                lanes[g, ANCHOR, i] = knots[anchor]
                if lanes.shape[1] > 1:
                    lanes[g, ORIGIN, i] = knots[min(lane * size, cap)]
                    lanes[g, LEFT, i] = left[anchor]
                if level > 0:
                    for j in range(sums.shape[1]):
                        sums[g, j, i] = sums[anchor // LANES, j, anchor % LANES]
        size *= LANES


@inner()
def _fill_prefix_sums(Z: Floats, knots: Ints, mean: Floats, running: Floats, sums: Floats) -> None:
    """The prefix sums of the centred samples at the leaves; the last knot fills the last group."""
    T, r = Z.shape
    add_rows(Z, mean)
    for j in range(r):
        mean[j] /= T
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
    """The prefix sums of sixteen samples, and those after them."""
    for j in range(mean.size):
        total, level = running[j], mean[j]
        for i in range(LANES):
            sums[j, i] = total
            total += Z[i, j] - level
        running[j] = total
