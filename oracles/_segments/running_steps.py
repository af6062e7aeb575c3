"""The search for the best segments a sample at a time, with those alone that may be the best.

Of two segments in the same state that may be running, one is of no use as soon as no length can
make up for what it is behind: what is found is what the search over all of them finds. In a metric
no begin of a segment within the one that is running is ever of no use, so that they grow with time
where nothing changes: of at most so many, every second one of the older half is left out.
"""

import numpy as np

from structsvm.oracles._segments.running import (
    N_SAMPLES,
    N_THINNED,
    SLACK,
    START,
    STATE,
    Record,
    Records,
    begin,
)
from structsvm.support import Floats, Ints, compiled, inner

MOST_COMPARED = 4096  # lengths whose differences have bounds of their own: squared for each state
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
def go_on(
    running: Records,
    states: Records,
    paths: Records,
    counts: Ints,
    mean: Floats,
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
    """Go on by samples (m, columns) that come after ``first`` others, until there are ``end``.

    No segment begins from ``low`` to ``high``. Where there are no gains, samples are in a metric,
    segments have means (n, r), and all are in one state.
    """
    C = states.size
    in_metric = gain.size == 0
    for t in range(counts[N_SAMPLES] + 1, end + 1):
        x = samples[t - 1 - first]
        if in_metric:
            _add_spread(running[0], states[0].n, mean, x, t)
        for c in range(C):
            if not in_metric:
                _add_score(running[c], states[c], x[c])
            _end(running[c], states[c], lengths[c], t)
        if low <= t <= high:
            continue
        if in_metric:
            opened = states[0].closed + changes[0, 0]
            _leave_out_dearer(running[0], states[0], counts, mean, opened, -changes[0, 0])
            begin(running, states, paths, counts, 0, t, opened, states[0].behind)
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
def _add_score(segments: Records, state: Record, x: float) -> None:
    """Let all segments of a state have one sample more; minus infinity is in none."""
    if x == -np.inf:
        state.n = 0
    state.total += x
    for k in range(state.n):
        segments[k].value += x


@inner(_nrt=False, error_model="numpy", fastmath={"reassoc"})
def _add_spread(segments: Records, n: int, mean: Floats, x: Floats, t: int) -> None:
    """Let all segments have one sample more, whose spread is what they cost."""
    for k in range(n):
        size = t - segments[k].start
        share = 1.0 / size
        away = 0.0
        for i in range(x.size):
            d = x[i] - mean[k, i]
            away += d * d
            mean[k, i] += d * share
        segments[k].value -= away * (size - 1) * share


@inner(_nrt=False)
def _end(segments: Records, state: Record, lengths: Floats, t: int) -> None:
    """Find the best segment of a state if it ends now."""
    L = lengths.size - 1
    state.best = -1
    state.behind = -1
    state.closed = -np.inf
    for k in range(state.n):
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


@inner(_nrt=False)
def _leave_out_dearer(
    segments: Records, state: Record, counts: Ints, mean: Floats, opened: float, price: float
) -> None:
    """Leave out what is worse than another one from here on, and so whatever comes.

    If there is no room for that one, leave out the worse one of neighbours in the older half.
    """
    least = opened - SLACK * (price + abs(opened))
    left = 0
    for k in range(state.n):
        if segments[k].value >= least:
            left = _moved(segments, mean, k, left)
    n = left
    if n == segments.size:
        counts[N_THINNED] += 1
        left = 0
        k = 0
        while k < n:
            pair = 2 if k + 1 < n // 2 else 1
            better = k + 1 if pair == 2 and segments[k + 1].value > segments[k].value else k
            left = _moved(segments, mean, better, left)
            k += pair
    state.n = left
    mean[left] = 0.0


@inner(_nrt=False)
def _moved(segments: Records, mean: Floats, k: int, to: int) -> int:
    """Move a segment to where so many others are, of which there is one more then."""
    if k != to:
        segments[to] = segments[k]
        for i in range(mean.shape[1]):
            mean[to, i] = mean[k, i]
    return to + 1
