"""What the segment kernels read: the score of any segment in O(r) operations, 16 starts at once.

The objective ``A = Z S Z^T - c M_i + d I`` gives the segment ``[s, t)`` of ``n`` samples the score

    score(s, t) = |C_t - C_s|^2_S / n - c w(s, t) / n + d,     w(s, t) = sum_k |[s, t) n P_k|^2 / |P_k|

with ``C`` the prefix sums of the centred samples and ``P_k = [f_k, e_k)`` the true segments. If both
ends lie in one true segment, ``w = n^2 / |P_k|``; otherwise ``w = a_s + b_t`` with

    a_s = (e_k - s)^2 / |P_k| - e_k,     b_t = f_l + (t - f_l)^2 / |P_l|,     s in P_k, t - 1 in P_l.

Centring is exact: ``M 1 = 1`` for every partition, so that ``Z = C' + 1 mu^T`` adds the constant
``T mu^T S mu + 2 mu^T S C_T``, and it removes the cancellation of large offsets.

Boundaries may only lie on *knots* ``0 = x_0 < ... < x_m = T``: a forbidden boundary is a missing
knot, and the kernels count in knots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.oracles._lanes import LANES, squares
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["FAST", "SegmentTable", "build_table", "end_row", "lane_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAST = {"reassoc", "contract", "nsz", "arcp", "nnan"}
"""Floating-point freedoms of the kernels: no NaN can occur, infinities do."""


class SegmentTable(NamedTuple):
    """Everything that segment scores are read from; memory O(T r).

    The starts are the leaves of a tree with 16 children per node. Node ``(g, i)`` stands for a run
    of consecutive starts, the last of which is its anchor; at level 0 the run is the anchor alone.
    """

    sums: Floats
    """Prefix sums at the anchors, (n_groups, r, LANES)."""
    anchor: Floats
    """Position of the anchors, (n_groups, LANES)."""
    origin: Floats
    """Position of the first start of each run, (n_groups, LANES)."""
    left: Floats
    """``c a_s`` at the anchors, (n_groups, LANES)."""
    first_group: Ints
    """Where each level's groups begin, (n_levels + 1,)."""
    position: Floats
    """Position of the knots, (m + 1,)."""
    right: Floats
    """``c b_t`` at the knots, (m + 1,)."""
    rate: Floats
    """``c / |P_l|`` of the true segment that ends a segment at each knot, (m + 1,)."""
    low: Floats
    """Where that true segment begins, (m + 1,)."""
    shift: float
    """``d``."""
    n_plus: int
    """The first ``n_plus`` columns count positively, the others negatively."""
    has_truth: bool
    """Whether ``c w`` is to be counted."""


def build_table(objective: TraceObjective, knots: Ints) -> tuple[SegmentTable, float]:
    """The table of ``objective`` on ``knots`` (m + 1,), and the constant that centring took away."""
    Z, n_plus = _columns_by_sign(objective)
    n_knots = knots.size
    first_group = _level_offsets(n_knots)
    n_groups = int(first_group[-1])
    anchors = _anchor_knots(n_knots, first_group)
    position = knots.astype(np.float64)
    left, right, rate, low = _truth_terms(objective, knots)
    sums = np.empty((n_groups, Z.shape[1], LANES))
    mean = np.empty(Z.shape[1])
    _fill_prefix_sums(Z, knots, mean, sums)
    _copy_anchor_sums(sums, anchors, first_group)
    total = end_row(sums, n_knots - 1, np.empty(Z.shape[1]))
    signed_mean = mean * np.where(np.arange(mean.size) < n_plus, 1.0, -1.0)
    constant = float(signed_mean @ (objective.n_samples * mean + 2.0 * total))
    level = np.repeat(np.arange(first_group.size - 1), np.diff(first_group))
    origins = np.maximum(anchors - (LANES ** level[:, None] - 1), 0)
    table = SegmentTable(
        sums=sums,
        anchor=position[anchors],
        origin=position[origins],
        left=left[anchors],
        first_group=first_group,
        position=position,
        right=right,
        rate=rate,
        low=low,
        shift=float(objective.shift),
        n_plus=n_plus,
        has_truth=objective.has_truth,
    )
    return table, constant


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")  # type: ignore[untyped-decorator]
def lane_scores(
    table: SegmentTable, group: int, value: Floats, end: int, row: Floats, out: Floats
) -> None:
    """``out[i] = value[group, i] + score(s, end) - d`` for the 16 starts of a group of leaves.

    In a group of inner nodes the score is an upper bound for every start of the run, given
    ``value >= F(s) + |C_e - C_s|^2 / (e - s)`` for its starts ``s``, ``e`` the anchor.
    """
    anchor, origin = table.anchor[group], table.origin[group]
    position = table.position[end]
    signed_squares(table, group, row, out)
    if table.has_truth:
        left, low = table.left[group], table.low[end]
        right, rate = table.right[end], table.rate[end]
        for i in range(LANES):
            length = max(position - anchor[i], 1.0)
            overlap = rate * length * length if anchor[i] >= low else left[i] + right
            longest = max(position - origin[i], 1.0)
            out[i] = value[group, i] + out[i] / length - overlap / longest
    else:
        for i in range(LANES):
            out[i] = value[group, i] + out[i] / max(position - anchor[i], 1.0)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")  # type: ignore[untyped-decorator]
def signed_squares(table: SegmentTable, group: int, row: Floats, out: Floats) -> None:
    """``out[i] = |row - C_e|^2_S`` at the anchors ``e`` of a group."""
    squares(table.sums[group], row, out, 0, table.n_plus)
    if table.n_plus < row.size:
        negative = np.empty(LANES)
        squares(table.sums[group], row, negative, table.n_plus, row.size)
        for i in range(LANES):
            out[i] -= negative[i]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def end_row(sums: Floats, knot: int, row: Floats) -> Floats:
    """Copy the prefix sums at ``knot`` into ``row`` (r,)."""
    for j in range(row.size):
        row[j] = sums[knot // LANES, j, knot % LANES]
    return row


def _columns_by_sign(objective: TraceObjective) -> tuple[Floats, int]:
    """The columns of ``Z`` with the positive ones first, and how many are positive."""
    Z = np.asarray(objective.Z, dtype=np.float64)
    if objective.signs is None or (objective.signs > 0).all():
        return Z, Z.shape[1]
    positive = objective.signs > 0
    return np.hstack((Z[:, positive], Z[:, ~positive])), int(positive.sum())


def _level_offsets(n_knots: int) -> Ints:
    """First group of each level of a 16-ary tree over ``n_knots`` starts, ending with the total."""
    counts = [-(-n_knots // LANES)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // LANES))
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _anchor_knots(n_knots: int, first_group: Ints) -> Ints:
    """Last start of every node, (n_groups, LANES); nodes beyond the end hold the last knot."""
    levels = [
        np.arange(1, LANES * int(count) + 1) * LANES**level - 1
        for level, count in enumerate(np.diff(first_group))
    ]
    return np.minimum(np.concatenate(levels), n_knots - 1).reshape(-1, LANES)


def _truth_terms(objective: TraceObjective, knots: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """``c a_s``, ``c b_t``, ``c / |P_l|`` and ``f_l`` at the knots, each (m + 1,)."""
    if objective.truth is None or not objective.has_truth:
        nothing = np.zeros(knots.size)
        return nothing, nothing, nothing, nothing
    c, bounds = objective.truth_weight, objective.truth.boundaries
    starting = np.minimum(np.searchsorted(bounds, knots, side="right"), bounds.size - 1)
    upper, size = bounds[starting], bounds[starting] - bounds[starting - 1]
    left = c * ((upper - knots) ** 2 / size - upper)
    ending = np.maximum(np.searchsorted(bounds, knots, side="left"), 1)
    low, size = bounds[ending - 1], bounds[ending] - bounds[ending - 1]
    right = c * (low + (knots - low) ** 2 / size)
    return left, right, c / size, low.astype(np.float64)


@njit(cache=True, nogil=True, fastmath=FAST)  # type: ignore[untyped-decorator]
def _fill_prefix_sums(Z: Floats, knots: Ints, mean: Floats, sums: Floats) -> None:
    """Column means of ``Z``, and the prefix sums of the centred samples at the leaves."""
    T, r = Z.shape
    mean[:] = 0.0
    for t in range(T):
        for j in range(r):
            mean[j] += Z[t, j]
    for j in range(r):
        mean[j] /= T
    running = np.zeros(r)
    k = 0
    for t in range(T + 1):
        if knots[k] == t:
            for j in range(r):
                sums[k // LANES, j, k % LANES] = running[j]
            k += 1
        if t < T:
            for j in range(r):
                running[j] += Z[t, j] - mean[j]
    for i in range(k, LANES * -(-k // LANES)):
        for j in range(r):
            sums[i // LANES, j, i % LANES] = running[j]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _copy_anchor_sums(sums: Floats, anchors: Ints, first_group: Ints) -> None:
    """Copy the prefix sums of the leaves to the inner nodes that they anchor."""
    for g in range(first_group[1], first_group[-1]):
        for i in range(LANES):
            leaf = anchors[g, i]
            for j in range(sums.shape[1]):
                sums[g, j, i] = sums[leaf // LANES, j, leaf % LANES]
