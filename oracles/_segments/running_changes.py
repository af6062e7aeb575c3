"""The search for the best segmentation a sample at a time: segments that may be running, thinned.

Pruning leaves out no begin of a segment within the one that is running, so that where nothing
changes they grow with time: of at most so many, every second one of the older half is left out.
"""

from structsvm.oracles._segments.running import (
    N_SAMPLES,
    N_THINNED,
    SLACK,
    START,
    Record,
    Records,
    begin,
)
from structsvm.support.compiled import inner
from structsvm.support.values import Floats, Ints


@inner(no_cpython_wrapper=False, _nrt=False, error_model="numpy", fastmath={"reassoc"})
def pass_changes(
    running: Records,
    states: Records,
    paths: Records,
    counts: Ints,
    samples: Floats,
    first: int,
    end: int,
    low: int,
    high: int,
    mean: Floats,
    price: float,
) -> None:
    """Go on at a price by samples (m, r) that come after ``first`` others, until there are ``end``.

    No segment begins from ``low`` to ``high``; means are those of segments, (n, r).
    """
    state = states[0]
    segments = running[0]
    for t in range(counts[N_SAMPLES] + 1, end + 1):
        x = samples[t - 1 - first]
        b = 0
        for k in range(state.n):
            n = t - segments[k].start
            share = 1.0 / n
            away = 0.0
            for i in range(x.size):
                d = x[i] - mean[k, i]
                away += d * d
                mean[k, i] += d * share
            segments[k].value -= away * (n - 1) * share
            if segments[k].value > segments[b].value:
                b = k
        state.closed = segments[b].value - price
        state.behind = segments[b].row
        if low <= t <= high:
            continue
        least = state.closed - SLACK * (price + abs(state.closed))  # is worse whatever comes
        left = 0
        for k in range(state.n):
            if segments[k].value >= least:
                left = _moved(segments, mean, k, left)
        state.n = left
        if left == segments.size:
            _thin(segments, mean, state)
            counts[N_THINNED] += 1
        mean[state.n] = 0.0
        begin(running, states, paths, counts, 0, t, state.closed, state.behind)
    counts[N_SAMPLES] = end
    counts[START] = paths[state.behind].start


@inner(_nrt=False)
def _thin(segments: Records, mean: Floats, state: Record) -> None:
    """Leave out the worse one of neighbours in the older half."""
    left = 0
    k = 0
    while k < state.n:
        n = 2 if k + 1 < state.n // 2 else 1
        better = k + 1 if n == 2 and segments[k + 1].value > segments[k].value else k
        left = _moved(segments, mean, better, left)
        k += n
    state.n = left


@inner(_nrt=False)
def _moved(segments: Records, mean: Floats, k: int, to: int) -> int:
    """Move a segment to where so many others are, of which there is one more then."""
    if k != to:
        segments[to] = segments[k]
        for i in range(mean.shape[1]):
            mean[to, i] = mean[k, i]
    return to + 1
