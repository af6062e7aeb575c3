"""The search for the best states: one pass over the samples, and the trace back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Bools, Floats, Ints, compiled, inner, read_only

NOWHERE = read_only(np.zeros(0, dtype=np.int64))
ANYWHERE = read_only(np.zeros(0, dtype=np.bool_))

STARTS = 32
"""Starts of segments that are compared one by one, or passed over together if none can be best."""


class Scores(NamedTuple):
    """Scores of a recording as in :class:`StateScore`, and where its segments may begin and end."""

    samples: Floats
    lengths: Floats
    changes: Floats
    late: Ints
    earliest: Ints
    """The first allowed start of a segment that ends at each place, (T + 1,); empty: any."""
    may_end: Bools
    """Whether a segment may end at each place, (T + 1,); empty: at all."""


class Pass(NamedTuple):
    """The best scores of the samples before each place, in K rows by the number of segments.

    Row k is about k segments before a place; there is one row for any number of segments.
    """

    total: Floats
    """Sum of the scores of the samples before t that are not forbidden, (C, T + 1)."""
    clear: Ints
    """The first start of a segment in state c that ends at t without a forbidden sample,
    (C, T + 1)."""
    opened: Floats
    """The best score of all samples before a segment in state c that begins at t, less
    ``total[c, t]``, (rows, C, T)."""
    closed: Floats
    """The best score of all samples up to the end t of a segment in state c, (T + 1, rows, C)."""
    begin: NDArray[np.int32]
    """The start of the best segment in state c that ends at t; -1 for none, (rows, C, T + 1)."""
    before: NDArray[np.int32]
    """The state before the best segment in state c that begins at t, (rows, C, T)."""


@compiled()
def search_states(
    scores: Scores, first: Floats, last: Floats, bounds: Ints, weight: float, K: int
) -> Ints:
    """The state of each sample, in K segments (0: any number); -1 each if none are allowed.

    ``weight`` times the partition loss of a truth with ``bounds`` is added to the score.
    """
    path = forward_pass(scores, first, bounds, weight, K)
    return _traced(path.closed[-1, -1] + last, path.begin, path.before, K)


@inner()
def forward_pass(scores: Scores, first: Floats, bounds: Ints, weight: float, K: int) -> Pass:
    """Go through the samples in their order; arguments as for :func:`search_states`."""
    samples = scores.samples
    lengths = scores.lengths
    changes = scores.changes
    late = scores.late
    may_end = scores.may_end
    (T, C) = samples.shape
    rows = max(K, 1)
    L = lengths.shape[1] - 1
    total, clear = running_totals(samples, scores.earliest)
    most = best_of_lengths(lengths)
    opened = np.full((rows, C, T), -np.inf)
    tops = np.full((rows, C, (T - 1) // STARTS + 1), -np.inf)  # the largest of ``STARTS`` opened
    for c in range(C):
        opened[0, c, 0] = tops[0, c, 0] = first[c]
    closed = np.empty((T + 1, rows, C))
    longest = np.full((rows, C), -1)  # the start of the best segment of L samples or more
    begin = np.full((rows, C, T + 1), -1, dtype=np.int32)
    before = np.full((rows, C, T), -1, dtype=np.int32)
    losses = np.zeros(T)
    for t in range(1, T + 1):
        if weight > 0.0:
            _fill_losses(losses, max(0, t - L + 1), t, bounds, weight)
        ends = may_end.size == 0 or may_end[t]
        for k in range(rows):
            for c in range(C):
                reach = clear[c, t]
                farthest = _best_long(opened[k, c], longest[k, c], reach, t - L)
                longest[k, c] = farthest
                low = max(reach, t - L + 1) if ends else t
                farthest = farthest if farthest >= reach and ends else -1
                start, value = _best_start(
                    opened[k, c],
                    tops[k, c],
                    lengths[c],
                    most[c],
                    losses,
                    weight,
                    farthest,
                    low,
                    t,
                    begin[k, c, t - 1],
                )
                begin[k, c, t] = start
                closed[t, k, c] = value + total[c, t]
        if t == T:
            break
        for k in range(rows if K == 0 else K - 1):
            into = k if K == 0 else k + 1
            for c in range(C):
                for a in range(C):
                    value = closed[t, k, a] + changes[a, c] - total[c, t]
                    value += late_gain(total, t, late, a, c)
                    if a != c and value > opened[into, c, t]:
                        opened[into, c, t], before[into, c, t] = value, a
                top = tops[into, c, t // STARTS]
                tops[into, c, t // STARTS] = max(top, opened[into, c, t])
    return Pass(total, clear, opened, closed, begin, before)


@inner()
def best_of_lengths(lengths: Floats) -> Floats:
    """The largest score of each length and the next ``STARTS`` - 1, in the shape of ``lengths``."""
    (C, n) = lengths.shape
    most = lengths.copy()
    for c in range(C):
        for i in range(n):
            for j in range(i + 1, min(i + STARTS, n)):
                most[c, i] = max(most[c, i], lengths[c, j])
    return most


@inner()
def late_gain(total: Floats, t: int, late: Ints, a: int, c: int) -> float:
    """What a late change from state a to c at t adds: samples until it shows still score as a."""
    if late.size == 0 or late[a, c] == 0:
        return 0.0
    shown = min(max(t + late[a, c], 0), total.shape[1] - 1)
    gain: float = total[a, shown] - total[a, t] - total[c, shown] + total[c, t]
    return gain


@inner()
def running_totals(samples: Floats, earliest: Ints) -> tuple[Floats, Ints]:
    """``total`` and ``clear`` of a pass."""
    T, C = samples.shape
    total = np.zeros((C, T + 1))
    clear = np.zeros((C, T + 1), dtype=np.int64)
    for t in range(1, T + 1):
        for c in range(C):
            x = samples[t - 1, c]
            if x == -np.inf:
                total[c, t] = total[c, t - 1]
                clear[c, t] = t
            else:
                total[c, t] = total[c, t - 1] + x
                clear[c, t] = max(clear[c, t - 1], earliest[t] if earliest.size > 0 else 0)
    return total, clear


@compiled()
def search_together(
    forwards: Scores,
    backwards: Scores,
    first: Floats,
    last: Floats,
    K: int,
    begins: Ints,
    ends: Ints,
) -> Floats:
    """What :func:`best_together` returns; ``backwards`` is the reversed recording."""
    before = forward_pass(forwards, first, NOWHERE, 0.0, K)
    after = forward_pass(backwards, last, NOWHERE, 0.0, K)
    (rows, C, T) = before.opened.shape
    best = np.full((begins.size, C), -np.inf)
    for i in range(begins.size):
        for c in range(C):
            for k in range(rows):
                value = _best_around(
                    before.opened[k, c],
                    after.opened[rows - 1 - k, c],
                    forwards.lengths[c],
                    before.clear[c],
                    begins[i],
                    ends[i],
                )
                best[i, c] = max(best[i, c], value + before.total[c, T])
    return best


@inner()
def _best_around(
    opened: Floats, after: Floats, lengths: Floats, clear: Ints, begin: int, end: int
) -> float:
    """The best score with a segment from ``begin`` or before to ``end`` or after.

    ``after[T - e]`` is the best score behind the place e, as ``opened[s]`` is that before s.
    """
    T = opened.size
    L = lengths.size - 1
    best = -np.inf
    top = opened[: begin + 1].max() + lengths[1:].max()  # of all segments
    longest = -1  # the best one of the starts before n_seen, for a segment of L samples or more
    n_seen = 0
    for e in range(end, T + 1):
        start = clear[e]
        if start > begin:
            break
        if top + after[T - e] <= best:
            continue
        if longest < start:
            longest = -1
            n_seen = start
        while n_seen <= min(begin, e - L):
            if longest < 0 or opened[n_seen] > opened[longest]:
                longest = n_seen
            n_seen += 1
        value = -np.inf if longest < 0 else opened[longest] + lengths[L]
        for s in range(max(start, e - L + 1), begin + 1):
            value = max(value, opened[s] + lengths[e - s])
        best = max(best, value + after[T - e])
    return best


@compiled()
def search_boundaries(
    forwards: Scores, backwards: Scores, first: Floats, last: Floats, K: int
) -> Floats:
    """The best score with a segment that begins at each place, (T,)."""
    before = forward_pass(forwards, first, NOWHERE, 0.0, K)
    after = forward_pass(backwards, last, NOWHERE, 0.0, K)
    (rows, C, T) = before.opened.shape
    best = np.full(T, -np.inf)
    for t in range(T):
        for c in range(C):
            for k in range(rows):
                value = before.opened[k, c, t] + before.total[c, t]
                best[t] = max(best[t], value + after.closed[T - t, rows - 1 - k, c])
    return best


@inner()
def _traced(values: Floats, begin: NDArray[np.int32], before: NDArray[np.int32], K: int) -> Ints:
    """The state of each sample on the path whose last segment has the best of these values."""
    T = before.shape[2]
    path = np.full(T, -1)
    t = T
    k = begin.shape[0] - 1
    c = np.argmax(values)
    if values[c] == -np.inf:
        return path
    while t > 0:
        start = begin[k, c, t]
        if start < 0 or c < 0:  # stay inside the arrays even if scores are NaN
            path[0] = -1
            return path
        for i in range(start, t):
            path[i] = c
        if start > 0:
            c = before[k, c, start]
            k -= min(K, 1)
        t = start
    return path


@inner()
def _best_long(opened: Floats, best_start: int, reach: int, last: int) -> int:
    """The best start from ``reach`` to ``last``; ``best_start`` is the best one before ``last``."""
    first = last
    if best_start < reach:
        best_start = -1
        first = reach
    for s in range(first, last + 1):
        if s >= reach and (best_start < 0 or opened[s] > opened[best_start]):
            best_start = s
    return best_start


@inner()
def _best_start(
    opened: Floats,
    tops: Floats,
    lengths: Floats,
    most: Floats,
    losses: Floats,
    weight: float,
    longest: int,
    low: int,
    t: int,
    likely: int,
) -> tuple[int, float]:
    """The first start of the best segment that ends at t, or -1, and the value of that segment.

    ``longest`` is the best start of a segment of L samples or more, ``low`` the first start of
    shorter ones, and ``likely`` that of the best segment that ends at t - 1, or -1. A block of
    starts is passed over if it cannot hold one as good: ``tops`` are the largest values of
    ``opened`` in each block, ``most`` is from :func:`best_of_lengths`, and no loss is above
    ``weight``.
    """
    start = -1
    best = -np.inf
    if likely >= low:
        start = likely
        best = opened[start] + lengths[t - start] + losses[start]
    if longest >= 0:
        value = opened[longest] + lengths[-1] + losses[longest]
        if value >= best:
            start, best = longest, value
    for block in range(low // STARTS, (t + STARTS - 1) // STARTS):
        end = min(t, (block + 1) * STARTS)
        if tops[block] + most[t - end + 1] + weight < best:
            continue
        for s in range(max(low, block * STARTS), end):
            value = opened[s] + lengths[t - s] + losses[s]
            if value > best or (value == best and s < start):
                start, best = s, value
    return (start, best) if best > -np.inf else (-1, best)


@inner(error_model="numpy")
def _fill_losses(losses: Floats, low: int, t: int, bounds: Ints, weight: float) -> None:
    """Write what a segment A from s to t adds to the loss: ``1 - 2 sum_B |A n B|^2 / |A||B|``."""
    g = 0  # the true segment of sample t - 1
    while bounds[g + 1] < t:
        g += 1
    tail = (t - bounds[g]) ** 2 / (bounds[g + 1] - bounds[g])
    f = g  # the true segment of sample s
    while bounds[f] > low:
        f -= 1
    for s in range(low, t):
        if s == bounds[f + 1]:
            f += 1
        if f == g:
            shared = (t - s) ** 2 / (bounds[g + 1] - bounds[g])
        else:
            inside = bounds[g] - bounds[f + 1]
            shared = (bounds[f + 1] - s) ** 2 / (bounds[f + 1] - bounds[f]) + inside + tail
        losses[s] = weight * (1.0 - 2.0 * shared / (t - s))
