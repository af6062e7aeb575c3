"""The search for the best states a sample at a time, with the segments alone that may be the best.

Of two segments in the same state that may be running, one is of no use as soon as no length can
make up for what it is behind: what is found is what the search over all of them finds.
"""

import numpy as np

from structsvm.oracles._segments.running import (
    N_SAMPLES,
    SLACK,
    START,
    STATE,
    Record,
    Records,
    begin,
)
from structsvm.support.compiled import compiled, inner
from structsvm.support.values import Floats, Ints

MOST_COMPARED = 4096
"""Lengths up to which each difference of lengths has its own bound: so many squared per state."""

OLDER, NEWER = 0, 1


@compiled()
def gains(lengths: Floats) -> Floats:
    """What lengths can earn more of the older of two segments, and more of the newer.

    For each state, once the newer has 1, 2, 4, ... samples, and by how many samples the other one
    is older, (C, 2, about log L, L + 1).
    """
    C = lengths.shape[0]
    L = lengths.shape[1] - 1
    gain = np.full((C, 2, _power(L) + 1, L + 1), -np.inf)
    for c in range(C):
        if L > MOST_COMPARED:
            gain[c] = np.max(lengths[c, 1:]) - np.min(lengths[c, 1:])
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
                    gain[c, OLDER, _power(k), m] = more
                    gain[c, NEWER, _power(k), m] = less
    return gain


@inner()
def _power(k: int) -> int:
    """The largest i with 2^i at most k."""
    i = 0
    while 2 << i <= k:
        i += 1
    return i


@inner(no_cpython_wrapper=False, _nrt=False)
def pass_states(
    running: Records,
    states: Records,
    paths: Records,
    counts: Ints,
    samples: Floats,
    first: int,
    end: int,
    low: int,
    high: int,
    lengths: Floats,
    changes: Floats,
    late: Ints,
    gain: Floats,
) -> None:
    """Go on by scores of states (m, C) that come after ``first`` samples, until there are ``end``.

    No segment begins from ``low`` to ``high``.
    """
    C = states.size
    for t in range(counts[N_SAMPLES] + 1, end + 1):
        for c in range(C):
            _go_on(running[c], states[c], samples[t - 1 - first, c], lengths[c], t)
        if low <= t <= high:
            continue
        for c in range(C):
            a, opened = _state_before(states, samples, t - first, changes, late, c)
            if not _is_left_out(running[c], states[c], lengths[c], gain[c], t, opened):
                begin(running, states, paths, counts, c, t, opened, states[a].behind)
    c = 0
    for a in range(1, C):
        if states[a].closed + states[a].last > states[c].closed + states[c].last:
            c = a
    counts[N_SAMPLES] = end
    counts[START] = paths[states[c].behind].start if states[c].behind >= 0 else -1
    counts[STATE] = c


@inner(_nrt=False)
def _go_on(segments: Records, state: Record, x: float, lengths: Floats, t: int) -> None:
    """Let all segments of a state have one sample more, and find the best that ends there."""
    L = lengths.size - 1
    if x == -np.inf:
        state.n = 0
    state.total += x
    state.best = -1
    state.behind = -1
    state.closed = -np.inf
    for k in range(state.n):
        segments[k].value += x
        ended = segments[k].value + lengths[min(t - segments[k].start, L)]
        if ended > state.closed:
            state.best = k
            state.behind = segments[k].row
            state.closed = ended


@inner(_nrt=False)
def _state_before(
    states: Records, samples: Floats, t: int, changes: Floats, late: Ints, c: int
) -> tuple[int, float]:
    """The best state before a segment in state c that begins at t, and what is earned before it."""
    before = 0
    opened = -np.inf
    for a in range(states.size):
        earned = states[a].closed + changes[a, c]
        earned += _of_late(samples, t, late, a, c)
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
    segments: Records, state: Record, lengths: Floats, gain: Floats, t: int, opened: float
) -> bool:
    """Whether a segment that begins at t is of no use; leave out others that are.

    They are compared with that one, and with the one that is the best now.
    """
    L = lengths.size - 1
    slack = SLACK * (1.0 + abs(opened))
    left_out = opened == -np.inf
    begun = t
    most = -np.inf
    if state.best >= 0:
        begun = segments[state.best].start
        most = segments[state.best].value
    after = _power(min(t - begun + 1, L))
    left = 0
    for k in range(state.n):
        value = segments[k].value
        start = segments[k].start
        age = min(t - start, L)
        if value > opened + gain[NEWER, 0, age] + slack:
            left_out = True
        if not left_out and value + gain[OLDER, 0, age] < opened - slack:
            continue
        apart = min(abs(start - begun), L)
        if start < begun and value + gain[OLDER, after, apart] < most - slack:
            continue
        if start > begun:
            own = _power(min(age + 1, L))
            if value + gain[NEWER, own, apart] < most - slack:
                continue
        if age == L and left > 0 and t - segments[left - 1].start >= L:
            if value <= segments[left - 1].value:
                continue  # of those that are as long as lengths are told apart, the best is enough
            left -= 1
        segments[left] = segments[k]
        left += 1
    state.n = left
    return left_out
