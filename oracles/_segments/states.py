"""The search for the best states: one pass over the samples, and the way back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Bools, Floats, Ints, compiled, inner, read_only

NOWHERE = read_only(np.zeros(0, dtype=np.int64))
ANYWHERE = read_only(np.zeros(0, dtype=np.bool_))


class Rules(NamedTuple):
    """What a pass over a recording goes by, but for how it begins and ends."""

    samples: Floats
    lengths: Floats
    changes: Floats
    late: Ints
    earliest: Ints
    may_end: Bools


class Passed(NamedTuple):
    """The best scores of what is before each place.

    Row k is about k segments before, or about any number of them where there is one row.
    """

    total: Floats
    """Sum of the scores of the samples before t that are not forbidden, (C, T + 1)."""
    clear: Ints
    """The first start of a segment in state c that ends at t without a forbidden sample,
    (C, T + 1)."""
    opened: Floats
    """A segment in state c begins at t: the best score of all before it, less ``total[c, t]``,
    (rows, C, T)."""
    closed: Floats
    """A segment in state c ends at t: the best score of all up to there, (T + 1, rows, C)."""
    begin: NDArray[np.int32]
    """Where the best segment in state c begins that ends at t; -1 for nowhere, (rows, C, T + 1)."""
    before: NDArray[np.int32]
    """The state before the best segment in state c that begins at t, (rows, C, T)."""


@compiled()
def search_states(
    samples: Floats,
    lengths: Floats,
    changes: Floats,
    late: Ints,
    earliest: Ints,
    may_end: Bools,
    first: Floats,
    last: Floats,
    bounds: Ints,
    weight: float,
    K: int,
) -> Ints:
    """The best states; -1 each if none are allowed."""
    rules = Rules(samples, lengths, changes, late, earliest, may_end)
    path = passed(rules, first, bounds, weight, K)
    return _traced(path.closed[-1, -1] + last, path.begin, path.before, K)


@inner()
def passed(rules: Rules, first: Floats, bounds: Ints, weight: float, K: int) -> Passed:
    samples = rules.samples
    lengths = rules.lengths
    changes = rules.changes
    late = rules.late
    may_end = rules.may_end
    (T, C) = samples.shape
    rows = max(K, 1)
    L = lengths.shape[1] - 1
    total, clear = added(samples, rules.earliest)
    opened = np.full((rows, C, T), -np.inf)
    for c in range(C):
        opened[0, c, 0] = first[c]
    closed = np.empty((T + 1, rows, C))
    longest = np.full((rows, C), -1)  # where the best of those that are L samples or longer begins
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
                start, value = _best_start(opened[k, c], lengths[c], losses, farthest, low, t)
                begin[k, c, t] = start
                closed[t, k, c] = value + total[c, t]
        if t == T:
            break
        for k in range(rows if K == 0 else K - 1):
            into = k if K == 0 else k + 1
            for c in range(C):
                for a in range(C):
                    value = closed[t, k, a] + changes[a, c] - total[c, t]
                    value += of_late(total, t, late, a, c)
                    if a != c and value > opened[into, c, t]:
                        opened[into, c, t], before[into, c, t] = value, a
    return Passed(total, clear, opened, closed, begin, before)


@inner()
def of_late(total: Floats, t: int, late: Ints, a: int, c: int) -> float:
    """What samples between a boundary and where scores show it earn in the state before it."""
    if late.size == 0 or late[a, c] == 0:
        return 0.0
    shown = min(max(t + late[a, c], 0), total.shape[1] - 1)
    gain: float = total[a, shown] - total[a, t] - total[c, shown] + total[c, t]
    return gain


@inner()
def added(samples: Floats, earliest: Ints) -> tuple[Floats, Ints]:
    """``total`` and ``clear``."""
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
    ahead: Rules, back: Rules, first: Floats, last: Floats, K: int, begins: Ints, ends: Ints
) -> Floats:
    """What :func:`best_together` finds."""
    there = passed(ahead, first, NOWHERE, 0.0, K)
    after = passed(back, last, NOWHERE, 0.0, K)
    (rows, C, T) = there.opened.shape
    best = np.full((begins.size, there.opened.shape[1]), -np.inf)
    for i in range(begins.size):
        for c in range(C):
            for k in range(rows):
                value = _best_around(
                    there.opened[k, c],
                    after.opened[rows - 1 - k, c],
                    ahead.lengths[c],
                    there.clear[c],
                    begins[i],
                    ends[i],
                )
                best[i, c] = max(best[i, c], value + there.total[c, T])
    return best


@inner()
def _best_around(
    opened: Floats, after: Floats, lengths: Floats, clear: Ints, begin: int, end: int
) -> float:
    """The best segment that begins at ``begin`` or before, and ends at ``end`` or after.

    ``after[T - e]`` is what is behind the place e as ``opened[s]`` is what is before s.
    """
    T = opened.size
    L = lengths.size - 1
    # of the starts before n_seen
    best = -np.inf
    longest = -1
    n_seen = 0
    for e in range(end, T + 1):
        start = clear[e]
        if start > begin:
            break
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
def search_boundaries(ahead: Rules, back: Rules, first: Floats, last: Floats, K: int) -> Floats:
    """The best score with a segment that begins at each place, (T,)."""
    there = passed(ahead, first, NOWHERE, 0.0, K)
    after = passed(back, last, NOWHERE, 0.0, K)
    (rows, C, T) = there.opened.shape
    best = np.full(T, -np.inf)
    for t in range(T):
        for c in range(C):
            for k in range(rows):
                before = there.opened[k, c, t] + there.total[c, t]
                best[t] = max(best[t], before + after.closed[T - t, rows - 1 - k, c])
    return best


@inner()
def _traced(values: Floats, begin: NDArray[np.int32], before: NDArray[np.int32], K: int) -> Ints:
    """The states on the way to the best value of the last segment."""
    T = before.shape[2]
    path = np.full(T, -1)
    t = T
    k = begin.shape[0] - 1
    c = np.argmax(values)
    if values[c] == -np.inf:
        return path
    while t > 0:
        start = begin[k, c, t]
        if start < 0 or c < 0:  # not beyond the arrays, whatever the numbers are
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
    """The best start up to ``last``, given that of those before; all again where that is lost."""
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
    opened: Floats, lengths: Floats, losses: Floats, longest: int, low: int, t: int
) -> tuple[int, float]:
    """Where the best segment that ends at t begins, the first of equals; -1 if nowhere.

    ``longest`` is the best start of those with L samples or more, and ``low`` the first of others.
    """
    L = lengths.size - 1
    start = -1
    best = -np.inf
    if longest >= 0:
        value = opened[longest] + lengths[L] + losses[longest]
        if value > best:
            start, best = longest, value
    for s in range(low, t):
        value = opened[s] + lengths[t - s] + losses[s]
        if value > best:
            start, best = s, value
    return start, best


@inner(error_model="numpy")
def _fill_losses(losses: Floats, low: int, t: int, bounds: Ints, weight: float) -> None:
    """Write what a segment from s to t adds to the loss: ``1 - 2 sum_B |A n B|^2 / |A||B|``."""
    g = 0  # the true segment that holds t - 1
    while bounds[g + 1] < t:
        g += 1
    tail = (t - bounds[g]) ** 2 / (bounds[g + 1] - bounds[g])
    f = g  # and s
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
