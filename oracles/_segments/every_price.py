"""The best segmentations of a short recording at many prices of a segment.

The score of every segment is computed once for all prices, which takes a sixth of the time of one
search for each price. Of equally good segmentations it finds the same one as those searches.
"""

import numpy as np

from structsvm.oracles._segments.one_call import scatter_of
from structsvm.oracles._segments.searches import SCORE_ROUNDING, trace_back
from structsvm.oracles._segments.table import (
    NO_TRUTH,
    SCORE_OVERHEAD,
    SegmentTable,
    end_row,
    free_table,
    lane_scores,
)
from structsvm.oracles._segments.vectors import (
    BITS,
    LANES,
    first_reaching,
    kernel,
    larger,
    largest,
    read,
    spread,
    write,
)
from structsvm.support import Floats, Ints, compiled, inner

TOGETHER = 8
"""Prices that are searched side by side."""

BEYOND_LAST_PRICE = 1.001
"""From this many times a price at which one segment is best, it is best by more than rounding.

Likewise every boundary pays from a price at which each pays, divided by this, downwards.
"""

BEYOND_ROUNDING = 1e-9
"""The share of the scatter that is more than the rounding of a score."""


def price_path(Z: Floats, prices: Floats) -> list[Ints]:
    """The boundaries, from 0 to T, of the best segmentation of a recording at every price."""
    ends, counts = _every_price(Z, prices)
    return [row[: n + 1] for row, n in zip(ends, counts.tolist(), strict=True)]


def loss_curve(Z: Floats, bounds: Ints, prices: Floats) -> Floats:
    """``|M - M_i|_F^2`` of a recording's best segmentation at every price, (n,)."""
    return np.asarray(path_losses(bounds, *_every_price(Z, prices)))


@compiled()
def _every_price(Z: Floats, prices: Floats) -> tuple[Ints, Ints]:
    """The boundaries of the best segmentation at every price, and their numbers."""
    T, r = Z.shape
    ends = np.empty((prices.size, T + 1), np.int64)
    counts = np.empty(prices.size, np.int64)
    if r == 0:
        for k in range(prices.size):
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        return ends, counts
    mean = np.zeros(r)
    table = free_table(Z, NO_TRUTH, 0.0, 0.0, mean, np.zeros(r))
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
    # the largest price known at which every boundary pays, and the least at which none does
    all_below = 0.0
    one_above = np.inf
    n = 0
    for step in range(prices.size):  # from the middle outwards: both ends are often clear by then
        k = prices.size // 2 + (step // 2 if step % 2 == 0 else -(step + 1) // 2)
        if prices[k] <= 0.0 or BEYOND_LAST_PRICE * prices[k] <= all_below:
            for t in range(T + 1):
                ends[k, t] = t
            counts[k] = T
        elif prices[k] >= BEYOND_LAST_PRICE * one_above:
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        else:
            batch[n] = prices[k]
            places[n] = k
            n = n + 1
        if n == TOGETHER or (n > 0 and step == prices.size - 1):
            for j in range(n):
                rounding[j] = SCORE_ROUNDING * (r + SCORE_OVERHEAD) * (scatter + 2.0 * T * batch[j])
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

    The prices are searched side by side, because each knot has to wait for the one before it. The
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
    even = odd = spread(-np.inf)  # two maxima in turn, neither of which waits for the other
    for g in range(begin, end - 1, 2):
        even = larger(even, read(gains, first + g) + read(F, own + g))
        odd = larger(odd, read(gains, first + g + 1) + read(F, own + g + 1))
    if (end - begin) % 2 == 1:
        even = larger(even, read(gains, first + end - 1) + read(F, own + end - 1))
    return float(largest(larger(even, odd)))


@kernel
def _first_left(gains: Floats, t: int, F: Floats, k: int, group: int, least: float) -> int:
    """The first group from ``group`` on that has a start whose value at ``t`` exceeds ``least``."""
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
