"""The search for the best states a sample at a time, with the segments alone that may be the best.

Of two segments in the same state that may be running, one is of no use as soon as no length can
make up for what it is behind: what is found is what the search over all of them finds.
"""

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.running import SLACK, START, Passed, Running, begin
from structsvm.support.compiled import compiled, inner
from structsvm.support.values import Floats, Ints

MOST_COMPARED = 4096
"""Lengths up to which each difference of lengths has its own bound: so many squared per state."""


class StateRules(NamedTuple):
    """What a pass goes by."""

    lengths: Floats
    changes: Floats
    late: Ints
    older: Floats
    """What lengths can earn more of a segment that is so many samples older than another, once the
    newer of both has 1, 2, 4, ... samples, (about log L, C, L + 1)."""
    newer: Floats
    """And what they can earn more of the newer."""
    last: Floats


@compiled()
def gains(lengths: Floats) -> tuple[Floats, Floats]:
    """``older`` and ``newer`` of :class:`StateRules`."""
    C = lengths.shape[0]
    L = lengths.shape[1] - 1
    shape = (_power(L) + 1, C, L + 1)
    older = np.full(shape, -np.inf)
    newer = np.full(shape, -np.inf)
    for c in range(C):
        if L > MOST_COMPARED:
            spread = np.max(lengths[c, 1:]) - np.min(lengths[c, 1:])
            older[:, c] = spread
            newer[:, c] = spread
            continue
        for m in range(L + 1):
            more = -np.inf
            less = -np.inf
            for k in range(L, 0, -1):
                then = lengths[c, min(k + m, L)]
                now = lengths[c, k]
                if then > -np.inf:
                    more = max(more, then - now)
                if now > -np.inf:
                    less = max(less, now - then)
                if k & (k - 1) == 0:
                    older[_power(k), c, m] = more
                    newer[_power(k), c, m] = less
    return older, newer


@inner()
def _power(k: int) -> int:
    """The largest i with 2^i at most k."""
    i = 0
    while 2 << i <= k:
        i += 1
    return i


@inner(no_cpython_wrapper=False, _nrt=False)
def pass_states(
    tree: Ints,
    n_rows: int,
    samples: Floats,
    first: int,
    now: int,
    end: int,
    low: int,
    high: int,
    value: Floats,
    start: Ints,
    row: Ints,
    mean: Floats,
    size: Ints,
    closed: Floats,
    best: Ints,
    behind: Ints,
    lengths: Floats,
    changes: Floats,
    late: Ints,
    older: Floats,
    newer: Floats,
    last: Floats,
) -> Passed:
    """The step of a search for states, of their scores (m, C); none are ever thinned."""
    running = Running(value, start, row, mean, size, closed, best, behind)
    rules = StateRules(lengths, changes, late, older, newer, last)
    C = lengths.shape[0]
    L = lengths.shape[1] - 1
    for t in range(now + 1, end + 1):
        x = samples[t - 1 - first]
        for c in range(C):
            if x[c] == -np.inf:
                size[c] = 0
            best[c] = -1
            closed[c] = -np.inf
            for k in range(size[c]):
                value[c, k] += x[c]
                ended = value[c, k] + lengths[c, min(t - start[c, k], L)]
                if ended > closed[c]:
                    best[c] = k
                    closed[c] = ended
            behind[c] = row[c, best[c]] if best[c] >= 0 else -1
        if low <= t <= high:
            continue
        for c in range(C):
            a, opened = _state_before(rules, running, samples, t - first, c)
            if not _is_left_out(rules, running, c, t, opened, best[c]):
                n_rows = begin(running, tree, n_rows, c, t, opened, behind[a])
    c = 0
    for a in range(1, C):
        if closed[a] + last[a] > closed[c] + last[c]:
            c = a
    return n_rows, tree[behind[c], START] if behind[c] >= 0 else -1, c, 0


@inner(_nrt=False)
def _state_before(
    rules: StateRules, running: Running, samples: Floats, t: int, c: int
) -> tuple[int, float]:
    """The best state before a segment in state c that begins at t, and what is earned before it."""
    before = 0
    opened = -np.inf
    for a in range(running.size.size):
        earned = running.closed[a] + rules.changes[a, c]
        earned += _of_late(samples, t, rules.late, a, c)
        if a != c and earned > opened:
            before = a
            opened = earned
    return before, opened


@inner(_nrt=False)
def _of_late(samples: Floats, t: int, late: Ints, a: int, c: int) -> float:
    """What samples between a boundary and where scores show it earn in the state before it."""
    if late.size == 0 or late[a, c] == 0:
        return 0.0
    shown = min(max(t + late[a, c], 0), len(samples))
    gain = 0.0
    for i in range(min(t, shown), max(t, shown)):
        gain += _finite(samples[i, a]) - _finite(samples[i, c])
    return gain if shown > t else -gain


@inner(_nrt=False)
def _finite(x: float) -> float:
    return 0.0 if x == -np.inf else x


@inner(_nrt=False)
def _is_left_out(
    rules: StateRules, running: Running, c: int, t: int, opened: float, best: int
) -> bool:
    """Whether a segment that begins at t is of no use; leave out others that are.

    They are compared with that one, and with the one that is the best now.
    """
    L = rules.lengths.shape[1] - 1
    slack = SLACK * (1.0 + abs(opened))
    left_out = opened == -np.inf
    begun = running.start[c, best] if best >= 0 else t
    most = running.value[c, best] if best >= 0 else -np.inf
    after = _power(min(t - begun + 1, L))
    left = 0
    for k in range(running.size[c]):
        value = running.value[c, k]
        start = running.start[c, k]
        age = min(t - start, L)
        if value > opened + rules.newer[0, c, age] + slack:
            left_out = True
        if not left_out and value + rules.older[0, c, age] < opened - slack:
            continue
        apart = min(abs(start - begun), L)
        if start < begun and value + rules.older[after, c, apart] < most - slack:
            continue
        if start > begun:
            own = _power(min(age + 1, L))
            if value + rules.newer[own, c, apart] < most - slack:
                continue
        if age == L and left > 0 and t - running.start[c, left - 1] >= L:
            if value <= running.value[c, left - 1]:
                continue  # of those that are as long as lengths are told apart, the best is enough
            left -= 1
        running.value[c, left] = value
        running.start[c, left] = start
        running.row[c, left] = running.row[c, k]
        left += 1
    running.size[c] = left
    return left_out
