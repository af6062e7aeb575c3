"""The search for the best segmentation a sample at a time: segments that may be running, thinned.

Pruning leaves out no begin of a segment within the one that is running, so that where nothing
changes they grow with time: of at most so many, every second one of the older half is left out.
"""

from structsvm.oracles._segments.running import SLACK, START, Passed, Running, begin
from structsvm.support.compiled import inner
from structsvm.support.values import Floats, Ints


@inner(no_cpython_wrapper=False, _nrt=False, error_model="numpy", fastmath={"reassoc"})
def pass_changes(
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
    price: float,
) -> Passed:
    """The step of a search at a price, of samples (m, r)."""
    running = Running(value, start, row, mean, size, closed, best, behind)
    n_thinned = 0
    for t in range(now + 1, end + 1):
        x = samples[t - 1 - first]
        b = 0
        for k in range(size[0]):
            n = t - start[0, k]
            share = 1.0 / n
            away = 0.0
            for i in range(x.size):
                d = x[i] - mean[k, i]
                away += d * d
                mean[k, i] += d * share
            value[0, k] -= away * (n - 1) * share
            if value[0, k] > value[0, b]:
                b = k
        closed[0] = value[0, b] - price
        behind[0] = row[0, b]
        if low <= t <= high:
            continue
        _leave_out_useless(running, closed[0] - SLACK * (price + abs(closed[0])))
        if size[0] == value.shape[1]:
            _thin(running)
            n_thinned += 1
        mean[size[0]] = 0.0
        n_rows = begin(running, tree, n_rows, 0, t, closed[0], behind[0])
    return n_rows, tree[behind[0], START], 0, n_thinned


@inner(_nrt=False)
def _move(running: Running, k: int, to: int) -> None:
    if k != to:
        running.value[0, to] = running.value[0, k]
        running.start[0, to] = running.start[0, k]
        running.row[0, to] = running.row[0, k]
        for i in range(running.mean.shape[1]):
            running.mean[to, i] = running.mean[k, i]


@inner(_nrt=False)
def _leave_out_useless(running: Running, least: float) -> None:
    """Leave out what is worse than ending it now, and so whatever comes."""
    left = 0
    for k in range(running.size[0]):
        if running.value[0, k] >= least:
            _move(running, k, left)
            left += 1
    running.size[0] = left


@inner(_nrt=False)
def _thin(running: Running) -> None:
    """Leave out the worse one of neighbours in the older half."""
    size = running.size[0]
    left = 0
    k = 0
    while k < size:
        pair = k + 1 < size // 2
        next_is_better = pair and running.value[0, k + 1] > running.value[0, k]
        _move(running, k + 1 if next_is_better else k, left)
        left += 1
        k += 2 if pair else 1
    running.size[0] = left
