"""The search for the best segments a sample at a time, with those alone that may be the best.

Of two segments in the same state that may be running, one is of no use as soon as no length can
make up for what it is behind: what is found is what the search over all of them finds. In a metric
no begin of a segment within the one that is running is ever of no use, so that they grow with time
where nothing changes: of at most so many, the worse one of neighbours in the older half is left
out.

The paths to them are rows of a table, each a segment with the row of the one before it. A row is
older than the rows of the segments that follow, so that one sweep from the newest finds what is
still needed, and from where on paths have parted.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Floats, Ints, compiled, inner, read_only

Record = Any
Records = NDArray[Any]

PATHS = np.dtype([("start", "i8"), ("state", "i8"), ("before", "i8")])
"""A segment, and the row of the one before it, or -1."""

RUNNING = np.dtype([("value", "f8"), ("start", "i8"), ("row", "i8")])
"""A segment that may be running: the best score of all before it and of its samples so far, where
it begins, and its row."""

STATES = np.dtype(
    [
        ("n", "i8"),  # segments that may be running
        ("best", "i8"),  # the number of the one that is the best if it ends now, or -1
        ("closed", "f8"),  # the score up to its end
        ("last", "f8"),  # what the last segment of a recording earns
        ("total", "f8"),  # what the first one earns, and the scores of all samples
        ("gone", "f8"),  # what was taken from all scores
    ]
)
"""What is known of a state."""

N_ROWS, N_SAMPLES, N_THINNED, BEST = range(4)
"""What is counted, in one array: the rows of the table of paths, the samples so far, how often
segments were thinned; and the row of the last one of the best segments, or -1."""

SLACK = 1e-9
"""What a segment has to be behind before it is left out, as a part of its score: far above
rounding, so that ties are those of a search over all."""

MOST_COMPARED = 4096  # lengths whose differences have bounds of their own: squared for each state
OLDER, NEWER = 0, 1


class Progress(NamedTuple):
    """All that a step changes, so that Ctrl-C finds it done or not begun."""

    running: Any
    """Of each state, the oldest segment first, (C, at most n)."""
    states: Any
    paths: Any
    counts: Any
    mean: Any
    """Of the samples of segments in a metric, which is the only state, (n, columns)."""

    @classmethod
    def of(cls, first: Floats, last: Floats, n: int, n_columns: int | None = None) -> "Progress":
        """That of a recording without a sample; ``n_columns`` in a metric."""
        running = np.zeros((first.size, n), RUNNING)
        states = np.zeros(first.size, STATES)
        states["closed"] = -np.inf
        states["best"] = -1
        states["last"] = last
        states["total"] = first
        mean = np.zeros((0, 0) if n_columns is None else (n, n_columns))
        return cls(running, states, np.empty(0, PATHS), np.array([0, 0, 0, -1]), mean)

    @property
    def n_samples(self) -> int:
        return int(self.counts[N_SAMPLES])

    def copy(self) -> "Progress":
        return Progress(*(part.copy() for part in self))


class Rules(NamedTuple):
    """What a search goes by: the parts of a :class:`StateScore`, and what they are measured by."""

    unit: Any
    """Of losses: the price of a change in a metric."""
    lengths: Any
    changes: Any
    late: Any
    gain: Any
    """What :func:`gains` of the lengths are."""

    @classmethod
    def of(cls, unit: float, lengths: Floats, changes: Floats, late: Ints) -> "Rules":
        return cls(unit, *map(read_only, (lengths, changes, late, gains(lengths))))


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
                then = lengths[c, min(k + m, L)] - lengths[c, k]
                if then > more:  # not where both are forbidden, which is no number
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
    unit: float,
    lengths: Floats,
    changes: Floats,
    late: Ints,
    gain: Floats,
) -> bool:
    """Go on by samples (m, columns) that come after ``first`` others, until there are ``end``.

    Whether the last of the best segments is another one then. No segment begins from ``low`` to
    ``high``. In a metric segments have means (n, r), and one follows another in the only state.
    """
    C = states.size
    if counts[N_SAMPLES] == 0:
        for c in range(C):
            if states[c].total > -np.inf:
                _begin(running[c], states[c], paths, counts, mean, (c, 0, -1), states[c].total)
    for t in range(counts[N_SAMPLES] + 1, end + 1):
        x = samples[t - 1 - first]
        for c in range(C):
            if len(mean) > 0:
                _add_spread(running[c], states[c].n, mean, x, t)
            else:
                _add_score(running[c], states[c], x[c])
            _end(running[c], states[c], lengths[c], t)
        if low <= t <= high:
            continue
        for c in range(C):
            a, opened = _state_before(states, samples, t - first, changes, late, c)
            if _may_begin(running[c], states[c], counts, mean, gain[c], t, opened, unit):
                path = c, t, running[a, states[a].best].row
                _begin(running[c], states[c], paths, counts, mean, path, opened)
    c = 0
    for a in range(1, C):
        if states[a].closed + states[a].last > states[c].closed + states[c].last:
            c = a
    counts[N_SAMPLES] = end
    before = counts[BEST]
    counts[BEST] = running[c, states[c].best].row if states[c].best >= 0 else -1
    return bool(counts[BEST] != before)


@inner(_nrt=False)
def _begin(
    segments: Records,
    state: Record,
    paths: Records,
    counts: Ints,
    mean: Floats,
    path: tuple[int, int, int],
    value: float,
) -> None:
    """Let a segment begin: its state, where, and the row of the one before it are its path."""
    one = segments[state.n]
    row = paths[counts[N_ROWS]]
    row.state, row.start, row.before = path
    one.value = value
    one.start = row.start
    one.row = counts[N_ROWS]
    if len(mean) > 0:
        mean[state.n] = 0.0
    state.n += 1
    counts[N_ROWS] += 1


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
    state.closed = -np.inf
    for k in range(state.n):
        ended = segments[k].value + lengths[min(t - segments[k].start, L)]
        if ended > state.closed:
            state.best = k
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
        if earned > opened:
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
def _may_begin(
    segments: Records,
    state: Record,
    counts: Ints,
    mean: Floats,
    gain: Floats,
    t: int,
    opened: float,
    unit: float,
) -> bool:
    """Whether a segment that begins at t may be the best; leave out those that cannot any more.

    They are compared with the one that is the best now, and in a metric with the one that begins.
    """
    L = gain.shape[2] - 1
    in_metric = len(mean) > 0
    begun = t
    most = opened
    if state.best >= 0 and not in_metric:
        begun = segments[state.best].start
        most = segments[state.best].value
    least = most - SLACK * (unit + abs(most))
    after = _power(min(t - begun + 1, L))
    left = 0
    for k in range(state.n):
        value = segments[k].value
        start = segments[k].start
        age = min(t - start, L)
        apart = min(abs(start - begun), L)
        if start < begun and value + gain[OLDER, after, apart] < least:
            continue
        if start > begun and value + gain[NEWER, _power(min(age + 1, L)), apart] < least:
            continue
        if not in_metric and age == L and left > 0 and t - segments[left - 1].start >= L:
            if value <= segments[left - 1].value:
                continue  # of those that are as long as lengths are told apart, the best is enough
            left -= 1
        _move(segments, state, mean, k, left)
        left += 1
    state.n = left
    if left == segments.size:
        counts[N_THINNED] += 1
        _thin(segments, state, mean)
    return opened > -np.inf and opened + gain[NEWER, 0, min(t - begun, L)] >= least


@inner(_nrt=False)
def _thin(segments: Records, state: Record, mean: Floats) -> None:
    """Leave out the worse one of neighbours in the older half."""
    left = 0
    k = 0
    older = max(state.n // 2, 2)
    while k < state.n:
        pair = 2 if k + 1 < older else 1
        better = k + 1 if pair == 2 and segments[k + 1].value > segments[k].value else k
        _move(segments, state, mean, better, left)
        left += 1
        k += pair
    state.n = left


@inner(_nrt=False)
def _move(segments: Records, state: Record, mean: Floats, k: int, to: int) -> None:
    """Put a segment in the place of one that is left out, which the best one never is."""
    if state.best == k:
        state.best = to
    if k != to:
        segments[to] = segments[k]
        for i in range(mean.shape[1]):
            mean[to, i] = mean[k, i]


@inner(no_cpython_wrapper=False)
def forget(running: Records, states: Records, paths: Records, counts: Ints) -> int:
    """Drop the rows that no segment needs that may be running.

    The newest that all of them have, or -1. What all scores have in common is taken from them.
    """
    n = counts[N_ROWS]
    number = np.zeros(n, dtype=np.int64)  # of segments whose path goes through each row
    for c in range(states.size):
        for k in range(states[c].n):
            number[running[c, k].row] += 1
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
            number[i] = left  # the row that it is from now on
            paths[left] = paths[i]
            if paths[left].before >= 0:
                paths[left].before = number[paths[left].before]
            left += 1
    counts[N_ROWS] = left
    shared = _shared(states)
    for c in range(states.size):
        states[c].closed -= shared
        states[c].gone += shared
        for k in range(states[c].n):
            running[c, k].value -= shared
            running[c, k].row = number[running[c, k].row]
    return number[common] if common >= 0 else -1


@inner(_nrt=False)
def _shared(states: Records) -> float:
    """What all scores have in common."""
    most = -np.inf
    for state in states:
        most = max(most, state.closed)
    return most if most > -np.inf else 0.0
