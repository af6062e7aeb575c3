"""Dynamic program over the starts that are left, sixteen ends at a time.

This is PELT (Killick, Fearnhead and Eckley, 2012) with the splitting bound of ``tree.py``, which
takes the loss into account: after a knot ``e`` a start ``s`` with

    F(s) + score(s, e) + kappa <= F(e)

is never better than ``e``, and is dropped. For ``n`` starts that are left it takes ``O(n r)``
operations a knot, where the tree takes ``O(r log T)``. But a start and sixteen ends are one vector
operation, with no search around it, and where segments are short few starts are left. Where they
become many it gives up, for the tree.

A recording is one compiled call, or many side by side are, as flat arrays in :class:`Recordings`,
where nothing is known of the boundaries.

Rounding drops no start: it has to be worse by more than that. So the scores alone decide which of
several equal segmentations is found: that with the leftmost starts, as in the other programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.table import (
    NO_TRUTH,
    OVERHEAD,
    SegmentTable,
    end_row,
    end_scores,
    free_table,
    lane_scores,
    sum_of_scores,
)
from structsvm.oracles._segments.tree import ROUNDING, trace_back
from structsvm.oracles._segments.vectors import (
    BITS,
    LANES,
    entry,
    first_reaching,
    kernel,
    larger,
    largest,
    read,
    spread,
    where_larger,
    write,
)
from structsvm.support.arrays import Floats, Ints, offsets
from structsvm.support.checks import read_only
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces

FEW = 128
"""Starts that may be left in any case."""
ROWS = 192
"""Starts at sixteen ends, for each sixteen ends, in the time of which the tree finds these."""
VALUE, CONSTANT, SCATTER = 0, 1, 2


class Recordings(NamedTuple):
    """Recordings side by side."""

    samples: Floats
    """All numbers of all recordings."""
    first: Ints
    """Where those of each begin, (N + 1,)."""
    lengths: Ints
    """T of each, (N,)."""
    bounds: Ints
    """The boundaries of all truths, from 0 to T each."""
    first_bound: Ints
    """Where those of each begin, (N + 1,); nothing for a recording without a truth."""


class Found(NamedTuple):
    """The best segmentation of a recording."""

    path: Ints
    """Its boundaries, from 0 to T, (K + 1,)."""
    score: float
    """The sum of the scores of its segments, without shift and constant."""
    constant: float
    scatter: float
    """The sum of the squares of the centred samples."""


def segment_all(
    Zs: Sequence[Floats], bounds: Sequence[Ints], c: float, shifts: Floats
) -> list[Found | None]:
    """The best segmentation of each recording (T_i, r_i) without null columns; None where slow.

    ``bounds`` are the boundaries of their truths, ``NO_TRUTH`` for none.

    ``c > shift``: else every boundary pays; ``shift <= 0`` in the null metric, ``r = 0``.
    """
    N, alone = len(Zs), len(Zs) == 1  # and not copied
    recordings = Recordings(
        samples=read_only(Zs[0].ravel() if alone else np.concatenate([Z.ravel() for Z in Zs])),
        first=offsets([Z.size for Z in Zs]),
        lengths=np.array([Z.shape[0] for Z in Zs], dtype=np.int64),
        bounds=read_only(bounds[0] if alone else np.concatenate(bounds)),
        first_bound=offsets([b.size for b in bounds]),
    )
    paths = np.empty(int(recordings.lengths.sum()) + N, np.int64)
    counts, numbers = np.zeros(N, np.int64), np.empty((N, 3))
    at = offsets(recordings.lengths)
    numbers_read = np.diff(recordings.first) + OVERHEAD * recordings.lengths
    most = float((recordings.lengths * numbers_read.astype(np.float64)).max())
    for begin, end in pieces(0, N, most):
        _segment_all(recordings, at, c, shifts, paths, counts, numbers, begin, end)
    found: list[Found | None] = []
    for i, (n, row) in enumerate(zip(counts.tolist(), numbers.tolist(), strict=True)):
        begin = int(at[i]) + i
        path = paths[begin : begin + n + 1].copy()
        found.append(Found(path, *row) if n else None)
    return found


@compiled()
def _segment_all(
    recordings: Recordings,
    at: Ints,
    c: float,
    shifts: Floats,
    paths: Ints,
    counts: Ints,
    numbers: Floats,
    begin: int,
    end: int,
) -> None:
    """Fill ``paths`` and ``numbers`` in; ``counts`` stay 0 where PELT is slow."""
    for i in range(begin, end):
        T = recordings.lengths[i]
        samples = recordings.samples[recordings.first[i] : recordings.first[i + 1]]
        bounds = recordings.bounds[recordings.first_bound[i] : recordings.first_bound[i + 1]]
        r = samples.size // T
        Z = samples.reshape((T, r))
        mean, total, previous = np.zeros(r), np.zeros(r), np.zeros(T + 1, np.int64)
        table = free_table(Z, bounds, c, shifts[i], mean, total)
        scatter = scatter_of(Z, mean)
        kappa = (c if bounds.size > 0 else 0.0) - shifts[i]
        prices = (abs(shifts[i]) + abs(kappa)) * T
        rounding = ROUNDING * (r + OVERHEAD) * (scatter + prices)
        numbers[i, SCATTER] = scatter
        # In the null metric one segment is best.
        if r == 0 or pelt_scan(table, kappa, rounding, previous):
            path = paths[at[i] + i : at[i + 1] + i + 1]
            counts[i] = _finish(table, previous, mean, total, path, numbers[i])


@inner()
def _finish(
    table: SegmentTable,
    previous: Ints,
    mean: Floats,
    total: Floats,
    path: Ints,
    numbers: Floats,
) -> int:
    """Fill in what is known of the best segmentation; the number of its segments."""
    T = previous.size - 1
    n = trace_back(previous, path)
    numbers[VALUE] = sum_of_scores(table, path[: n + 1])
    numbers[CONSTANT] = 0.0
    for j in range(mean.size):
        numbers[CONSTANT] += mean[j] * (T * mean[j] + 2.0 * total[j])
    return n


@inner()
def scatter_of(Z: Floats, mean: Floats) -> float:
    """The sum of the squares of the centred samples."""
    total, squares = 0.0, np.zeros(Z.shape[1])
    T = Z.shape[0]
    fours = T - T % 4
    for t in range(0, fours, 4):
        for j in range(mean.size):
            a, b = Z[t, j] - mean[j], Z[t + 1, j] - mean[j]
            c, d = Z[t + 2, j] - mean[j], Z[t + 3, j] - mean[j]
            squares[j] += (a * a + b * b) + (c * c + d * d)
    for t in range(fours, T):
        for j in range(mean.size):
            squares[j] += (Z[t, j] - mean[j]) ** 2
    for j in range(squares.size):
        total += squares[j]
    return total


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


# ---- the best segmentations of a short recording at many prices of a segment
#
# The score of every segment is written down once, and each price looks at all of them: this takes
# a sixth of the time of a search for each. It finds the same one of equal segmentations.

TOGETHER = 8
"""Prices that are searched side by side."""
ENOUGH = 1.001
"""Times a price at which one segment is best: from here on it is so by more than rounding.

Below the price at which every boundary pays, divided by this, every boundary does likewise.
"""
BEYOND_ROUNDING = 1e-9
"""The share of the scatter that is more than the rounding of a score."""


def price_path(Z: Floats, prices: Floats) -> list[Ints]:
    """The boundaries, from 0 to T, of the best segmentation of a recording at every price."""
    ends, counts = _every_price(Z, NO_TRUTH, prices)
    return [row[: n + 1] for row, n in zip(ends, counts.tolist(), strict=True)]


def loss_curve(Z: Floats, bounds: Ints, prices: Floats) -> Floats:
    """``|M - M_i|_F^2`` of a recording's best segmentation at every price, (n,)."""
    return np.asarray(_losses(bounds, *_every_price(Z, NO_TRUTH, prices)))


@compiled()
def _every_price(Z: Floats, nothing: Ints, prices: Floats) -> tuple[Ints, Ints]:
    """The boundaries of the best segmentation at every price, and their numbers."""
    T, r = Z.shape
    ends, counts = np.empty((prices.size, T + 1), np.int64), np.empty(prices.size, np.int64)
    if r == 0:
        for k in range(prices.size):
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        return ends, counts
    mean = np.zeros(r)
    table = free_table(Z, nothing, 0.0, 0.0, mean, np.zeros(r))
    n_groups = table.first_group[1]
    gains = np.empty((T + 1, n_groups, LANES))
    _write_gains(table, gains)
    F, previous = np.empty((TOGETHER, n_groups, LANES)), np.zeros((TOGETHER, T + 1), np.int64)
    batch, rounding = np.empty(TOGETHER), np.empty(TOGETHER)
    places = np.empty(TOGETHER, np.int64)
    scatter = scatter_of(Z, mean)
    least = BEYOND_ROUNDING * scatter
    all_below, one_above = 0.0, np.inf  # prices at which every boundary pays, and none does
    n = 0
    for step in range(prices.size):  # from the middle outwards: both ends are often clear by then
        k = prices.size // 2 + (step // 2 if step % 2 == 0 else -(step + 1) // 2)
        if prices[k] <= 0.0 or ENOUGH * prices[k] <= all_below:
            for t in range(T + 1):
                ends[k, t] = t
            counts[k] = T
        elif prices[k] >= ENOUGH * one_above:
            ends[k, 0], ends[k, 1], counts[k] = 0, T, 1
        else:
            batch[n], places[n], n = prices[k], k, n + 1
        if n == TOGETHER or (n > 0 and step == prices.size - 1):
            for j in range(n):
                rounding[j] = ROUNDING * (r + OVERHEAD) * (scatter + 2.0 * T * batch[j])
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
    row, nothing = np.empty(table.sums.shape[1]), np.zeros((gains.shape[1], LANES))
    for t in range(1, gains.shape[0]):
        end_row(table.sums, t, row)
        for g in range((t - 1) // LANES + 1):
            scores = lane_scores(table, nothing, g, row, table.ends, t)
            write(scores, gains, t * gains.shape[1] + g)


@inner()
def _scan_all(gains: Floats, prices: Floats, rounding: Floats, F: Floats, previous: Ints) -> None:
    """Best values ``F[k]`` of segmentations that end at each knot, and the starts of the best one.

    The prices go side by side, so that the processor need not wait for the value at one knot. The
    groups of starts before ``first[k, g]`` never matter from the ``g``-th group of ends on, by the
    splitting bound of ``tree.py``.
    """
    T, n_prices = gains.shape[0] - 1, prices.size
    top, first = np.empty((n_prices, T + 1)), np.zeros((n_prices, gains.shape[1]), np.int64)
    for k in range(n_prices):
        for g in range(gains.shape[1]):
            for i in range(LANES):
                F[k, g, i] = -np.inf
        F[k, 0, 0] = 0.0
    for t in range(1, T + 1):
        g, n = t >> BITS, (t - 1 >> BITS) + 1
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
    first, own = t * gains.shape[1], k * F.shape[1]
    even = odd = spread(-np.inf)  # two in turn: one need not wait for the other
    for g in range(begin, end - 1, 2):
        even = larger(even, read(gains, first + g) + read(F, own + g))
        odd = larger(odd, read(gains, first + g + 1) + read(F, own + g + 1))
    if (end - begin) % 2 == 1:
        even = larger(even, read(gains, first + end - 1) + read(F, own + end - 1))
    return float(largest(larger(even, odd)))


@kernel
def _first_left(gains: Floats, t: int, F: Floats, k: int, group: int, least: float) -> int:
    """The first group, from one on, with a start whose value at ``t`` is better than ``least``."""
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
        group, lane = first[k, t >> BITS], LANES
        while lane == LANES:
            total = read(gains, t * gains.shape[1] + group) + read(F, k * F.shape[1] + group)
            lane = first_reaching(total, top[k, t], 0)
            group += 1
        previous[k, t] = (group - 1) * LANES + lane
        t = previous[k, t]


@compiled(error_model="numpy")
def _losses(truth: Ints, ends: Ints, counts: Ints) -> Floats:
    """``K + K' - 2 sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)`` of the truth and of each path."""
    losses = np.empty(counts.size)
    for i in range(losses.size):
        k, m, shared, path = 0, 0, 0.0, ends[i, : counts[i] + 1]
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
