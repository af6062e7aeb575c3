"""The online search for the best segments, which takes one sample at a time.

A *candidate* is a segment that may be running now. Of two candidates in the same state one is
dropped as soon as no length can make up for its deficit, so that the answer is that of the search
over all segments. In a metric a start within the running segment never becomes useless, so that
candidates grow with time where nothing changes: beyond a largest number, the worse one of every two
neighbours in the older half is dropped.

The paths to the candidates are rows of a table, each a segment with the row of the segment before
it. A row is older than the rows of the segments that follow, so that one sweep from the newest row
finds the rows that are still needed, and the last segment that all paths have in common.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Floats, Ints, compiled, inner, read_only

Record = Any
Records = NDArray[Any]

PATHS = np.dtype([("start", "i8"), ("state", "i8"), ("before", "i8")])
"""A segment, and the row of the segment before it, or -1."""

CANDIDATES = np.dtype([("value", "f8"), ("start", "i8"), ("row", "i8")])
"""A segment that may be running: the best score of all segments before it and of its own samples so
far, its first sample, and its row in the table of paths."""

STATES = np.dtype(
    [
        ("n", "i8"),  # number of candidates
        ("best", "i8"),  # the candidate that is the best segment if it ends now, or -1
        ("closed", "f8"),  # the score up to the end of that segment
        ("last", "f8"),  # the score of the state for the last segment of a recording
        ("total", "f8"),  # the score of the state for the first segment, and of all samples
        ("gone", "f8"),  # what has been subtracted from all scores
    ]
)
"""The candidates of one state in numbers."""

N_ROWS, N_SAMPLES, N_THINNED, BEST = range(4)
"""Entries of ``Progress.counts``: the rows of the table of paths that are in use, the samples so
far, how often candidates were thinned; and the row of the last one of the best segments, or -1."""

SLACK = 1e-9
"""Part of its score by which a candidate has to be worse before it is dropped: far above rounding,
so that ties are those of a search over all segments."""

MOST_COMPARED = 4096  # longest length for which :func:`gains` compares each pair of lengths
OLDER, NEWER = 0, 1


class Progress(NamedTuple):
    """All that a step changes, in arrays that one uninterrupted call writes to."""

    candidates: Any
    """Of each state, the oldest candidate first, (C, at most n)."""
    states: Any
    paths: Any
    counts: Any
    means: Any
    """The mean of each candidate in a metric, which has one state, (n, columns); else empty."""

    @classmethod
    def of(cls, first: Floats, last: Floats, n: int, n_columns: int | None = None) -> "Progress":
        """The progress before the first sample; ``n_columns`` is given in a metric."""
        candidates = np.zeros((first.size, n), CANDIDATES)
        states = np.zeros(first.size, STATES)
        states["closed"] = -np.inf
        states["best"] = -1
        states["last"] = last
        states["total"] = first
        means = np.zeros((0, 0) if n_columns is None else (n, n_columns))
        return cls(candidates, states, np.empty(0, PATHS), np.array([0, 0, 0, -1]), means)

    @property
    def n_samples(self) -> int:
        return int(self.counts[N_SAMPLES])

    def copy(self) -> "Progress":
        return Progress(*(part.copy() for part in self))


class Rules(NamedTuple):
    """The scores that do not depend on the samples, as in :class:`StateScore`."""

    unit: float
    """The unit of margins: the price of a change in a metric."""
    lengths: Any
    changes: Any
    late: Any
    gain: Any
    """The future gain of candidates by their lengths, see :func:`gains`."""

    @classmethod
    def of(cls, unit: float, lengths: Floats, changes: Floats, late: Ints) -> "Rules":
        return cls(unit, *map(read_only, (lengths, changes, late, gains(lengths))))


@compiled()
def gains(lengths: Floats) -> Floats:
    """How much more lengths can still earn the older of two candidates, or the newer one.

    For each state, older or newer, i where the newer candidate has at least 2^i samples, and the
    number of samples by which the other one is older, (C, 2, about log L, L + 1).
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
                then = lengths[c, min(k + m, L)] - lengths[c, k]
                if then > more:  # false if both are forbidden, whose difference is NaN
                    more = then
                if -then > less:
                    less = -then
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
    candidates: Records,
    states: Records,
    paths: Records,
    counts: Ints,
    means: Floats,
    unit: float,
    lengths: Floats,
    changes: Floats,
    late: Ints,
    gain: Floats,
    samples: Floats,
    first: int,
    end: int,
    low: int,
    high: int,
) -> bool:
    """Search samples (m, columns), which come after ``first`` others, up to ``end`` in all.

    Returns whether the last segment of the best segmentation is another one than before. No segment
    begins from ``low`` to ``high``. Progress and rules are given in parts, which numba takes from
    Python in half the time of named tuples.
    """
    now = Progress(candidates, states, paths, counts, means)
    rules = Rules(unit, lengths, changes, late, gain)
    return _go_on(now, rules, samples, first, end, low, high)


@inner(_nrt=False)
def _go_on(
    now: Progress, rules: Rules, samples: Floats, first: int, end: int, low: int, high: int
) -> bool:
    states = now.states
    counts = now.counts
    if counts[N_SAMPLES] == 0:
        for c in range(states.size):
            if states[c].total > -np.inf:
                _begin(now, c, 0, -1, states[c].total)
    for t in range(counts[N_SAMPLES] + 1, end + 1):
        x = samples[t - 1 - first]
        for c in range(states.size):
            if len(now.means) > 0:
                _add_spread(now.candidates[c], states[c].n, now.means, x, t)
            else:
                _add_score(now.candidates[c], states[c], x[c])
            _end(now.candidates[c], states[c], rules.lengths[c], t)
        if low <= t <= high:
            continue
        for c in range(states.size):
            a, opened = _state_before(states, samples, t - first, rules, c)
            if _may_begin(now, rules, c, t, opened):
                _begin(now, c, t, now.candidates[a, states[a].best].row, opened)
    c = 0
    for a in range(1, states.size):
        if states[a].closed + states[a].last > states[c].closed + states[c].last:
            c = a
    counts[N_SAMPLES] = end
    before = counts[BEST]
    counts[BEST] = now.candidates[c, states[c].best].row if states[c].best >= 0 else -1
    return bool(counts[BEST] != before)


@inner(_nrt=False)
def _begin(now: Progress, c: int, start: int, before: int, value: float) -> None:
    """Add a candidate in state c, after the segment in the row ``before`` of the paths."""
    state = now.states[c]
    candidate = now.candidates[c, state.n]
    path = now.paths[now.counts[N_ROWS]]
    path.state = c
    path.start = start
    path.before = before
    candidate.value = value
    candidate.start = start
    candidate.row = now.counts[N_ROWS]
    if len(now.means) > 0:
        now.means[state.n] = 0.0
    state.n += 1
    now.counts[N_ROWS] += 1


@inner(_nrt=False)
def _add_score(candidates: Records, state: Record, x: float) -> None:
    """Let all candidates of a state have one more sample, of the score x; -inf ends all of them."""
    if x == -np.inf:
        state.n = 0
    state.total += x
    for k in range(state.n):
        candidates[k].value += x


@inner(_nrt=False, error_model="numpy", fastmath={"reassoc"})
def _add_spread(candidates: Records, n: int, means: Floats, x: Floats, t: int) -> None:
    """Let all candidates have one more sample in the metric, at the cost of their scatter."""
    for k in range(n):
        size = t - candidates[k].start
        share = 1.0 / size
        away = 0.0
        for i in range(x.size):
            d = x[i] - means[k, i]
            away += d * d
            means[k, i] += d * share
        candidates[k].value -= away * (size - 1) * share


@inner(_nrt=False)
def _end(candidates: Records, state: Record, lengths: Floats, t: int) -> None:
    """Find the best segment of a state if it ends now."""
    L = lengths.size - 1
    state.best = -1
    state.closed = -np.inf
    for k in range(state.n):
        ended = candidates[k].value + lengths[min(t - candidates[k].start, L)]
        if ended > state.closed:
            state.best = k
            state.closed = ended


@inner(_nrt=False)
def _state_before(
    states: Records, samples: Floats, t: int, rules: Rules, c: int
) -> tuple[int, float]:
    """The best state before a segment in state c that begins at t, and the score until then."""
    before = 0
    opened = -np.inf
    for a in range(states.size):
        earned = states[a].closed + rules.changes[a, c]
        earned += _late_gain(samples, t, rules.late, a, c)
        if earned > opened:
            before = a
            opened = earned
    return before, opened


@inner(_nrt=False)
def _late_gain(samples: Floats, t: int, late: Ints, a: int, c: int) -> float:
    """What a late change from state a to c at t adds: samples until it shows still score as a."""
    if late.size == 0 or late[a, c] == 0:
        return 0.0
    shown = min(max(t + late[a, c], 0), len(samples))
    gain = 0.0
    for i in range(min(t, shown), max(t, shown)):
        gain += _finite(samples[i, a]) - _finite(samples[i, c])
    return gain if shown > t else -gain


@inner(_nrt=False)
def _finite(x: float) -> float:
    """The number itself; 0 for the score of a forbidden sample."""
    return 0.0 if x == -np.inf else x


@inner(_nrt=False)
def _may_begin(now: Progress, rules: Rules, c: int, t: int, opened: float) -> bool:
    """Whether a segment in state c may begin at t; drops candidates that can no longer be best.

    They are compared with the best one now, and in a metric with the one that begins.
    """
    state = now.states[c]
    candidates = now.candidates[c]
    gain = rules.gain[c]
    L = gain.shape[2] - 1
    in_metric = len(now.means) > 0
    begun = t
    most = opened
    if state.best >= 0 and not in_metric:
        begun = candidates[state.best].start
        most = candidates[state.best].value
    least = most - SLACK * (rules.unit + abs(most))
    after = _power(min(t - begun + 1, L))
    left = 0
    for k in range(state.n):
        value = candidates[k].value
        start = candidates[k].start
        age = min(t - start, L)
        apart = min(abs(start - begun), L)
        if start < begun and value + gain[OLDER, after, apart] < least:
            continue
        if start > begun and value + gain[NEWER, _power(min(age + 1, L)), apart] < least:
            continue
        if not in_metric and age == L and left > 0 and t - candidates[left - 1].start >= L:
            if value <= candidates[left - 1].value:
                continue  # of candidates of length L or more, the best one is enough
            left -= 1
        if k != left:
            _move(now, c, k, left)
        left += 1
    state.n = left
    if left == candidates.size:
        now.counts[N_THINNED] += 1
        _thin(now, c)
    return opened > -np.inf and opened + gain[NEWER, 0, min(t - begun, L)] >= least


@inner(_nrt=False)
def _thin(now: Progress, c: int) -> None:
    """Drop the worse one of every two neighbours in the older half."""
    state = now.states[c]
    candidates = now.candidates[c]
    left = 0
    k = 0
    older = max(state.n // 2, 2)
    while k < state.n:
        pair = 2 if k + 1 < older else 1
        better = k + 1 if pair == 2 and candidates[k + 1].value > candidates[k].value else k
        if better != left:
            _move(now, c, better, left)
        left += 1
        k += pair
    state.n = left


@inner(_nrt=False)
def _move(now: Progress, c: int, k: int, to: int) -> None:
    """Put candidate k in the place of a dropped one, which is never the best one."""
    if now.states[c].best == k:
        now.states[c].best = to
    now.candidates[c, to] = now.candidates[c, k]
    for i in range(now.means.shape[1]):
        now.means[to, i] = now.means[k, i]


@inner(no_cpython_wrapper=False)
def forget(now: Progress) -> int:
    """Drop the paths that lead to no candidate, and subtract the largest score from all scores.

    Returns the row of the last segment that all paths have in common, or -1.
    """
    states = now.states
    paths = now.paths
    counts = now.counts
    n = counts[N_ROWS]
    number = np.zeros(n, dtype=np.int64)  # of candidates whose path goes through each row
    for c in range(states.size):
        for k in range(states[c].n):
            number[now.candidates[c, k].row] += 1
    n_paths = number.sum()
    common = -1
    for i in range(n - 1, -1, -1):
        if paths[i].before >= 0:
            number[paths[i].before] += number[i]
        if common < 0 and 0 < n_paths == number[i]:
            common = i
    left = 0
    for i in range(n):
        if number[i] > 0:
            if counts[BEST] == i:
                counts[BEST] = left
            number[i] = left  # from here on: the new row of each row
            paths[left] = paths[i]
            if paths[left].before >= 0:
                paths[left].before = number[paths[left].before]
            left += 1
    counts[N_ROWS] = left
    shared = _largest_closed(states)
    for c in range(states.size):
        states[c].closed -= shared
        states[c].gone += shared
        for k in range(states[c].n):
            now.candidates[c, k].value -= shared
            now.candidates[c, k].row = number[now.candidates[c, k].row]
    return number[common] if common >= 0 else -1


@inner(_nrt=False)
def _largest_closed(states: Records) -> float:
    """The largest score up to the end of a segment; 0 if none may end now."""
    most = -np.inf
    for state in states:
        most = max(most, state.closed)
    return most if most > -np.inf else 0.0
