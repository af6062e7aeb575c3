"""The search for the best segmentation a sample at a time: segments that may be running, thinned.

Pruning leaves out no begin of a segment within the one that is running, so that where nothing
changes they grow with time: of at most so many, every second one of the older half is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.tree import BEFORE, START, STATE, kept, with_room
from structsvm.support.compiled import inner
from structsvm.support.values import Floats, Ints

SLACK = 1e-9
"""What a segment has to cost beyond the best before it is left out, as a part of that: far above
rounding."""


class RunningMeans(NamedTuple):
    """Segments that may be running, the oldest first, (at most n,)."""

    value: Floats
    """The least cost of all before the segment."""
    start: Ints
    row: Ints
    """In the tree."""
    scatter: Floats
    """The sum of squared distances of its samples from their mean."""
    mean: Floats
    """(n, r)."""


@inner(no_cpython_wrapper=False, error_model="numpy")
def pass_changes(
    running: RunningMeans,
    size: int,
    tree: Ints,
    n_rows: int,
    samples: Floats,
    offset: int,
    price: float,
    barred: tuple[int, int],
) -> tuple[int, Ints, int, float, int, int]:
    """Go on by samples, (m, r), after ``offset`` others.

    How many segments may be running, the tree, its size, the least cost, the row of the last
    segment there, and how often others were thinned. No segment begins from ``barred[0]`` to
    ``barred[1]``.
    """
    (m, r) = samples.shape
    best = np.inf
    row = -1
    n_thinned = 0
    for j in range(m):
        t = offset + j + 1
        best = np.inf
        for k in range(size):
            n = t - running.start[k]
            share = 1.0 / n
            away = 0.0
            for i in range(r):
                d = samples[j, i] - running.mean[k, i]
                away += d * d
                running.mean[k, i] += d * share
            running.scatter[k] += away * (n - 1) * share
            cost = running.value[k] + running.scatter[k] + price
            if cost < best:
                best, row = cost, running.row[k]
        if barred[0] <= t <= barred[1]:
            continue
        size = _without_useless(running, size, best + SLACK * (price + abs(best)))
        if size == len(running.value):
            size = _thinned(running, size)
            n_thinned += 1
        if n_rows >= len(tree):
            needed = np.append(running.row[:size], row)
            n_rows = kept(tree, n_rows, needed)[0]
            running.row[:size] = needed[:size]
            row = needed[size]
            tree = with_room(tree, n_rows, n_rows + 1)
        running.value[size] = best
        running.start[size] = t
        running.row[size] = n_rows
        running.scatter[size] = 0.0
        running.mean[size] = 0.0
        size += 1
        tree[n_rows, START] = t
        tree[n_rows, STATE] = 0
        tree[n_rows, BEFORE] = row
        n_rows += 1
    return size, tree, n_rows, best, row, n_thinned


@inner()
def _move(running: RunningMeans, k: int, to: int) -> None:
    if k == to:
        return
    running.value[to] = running.value[k]
    running.start[to] = running.start[k]
    running.row[to] = running.row[k]
    running.scatter[to] = running.scatter[k]
    running.mean[to] = running.mean[k]


@inner()
def _without_useless(running: RunningMeans, size: int, most: float) -> int:
    """Leave out what costs more than ending it now, and so whatever comes."""
    left = 0
    for k in range(size):
        if running.value[k] + running.scatter[k] <= most:
            _move(running, k, left)
            left += 1
    return left


@inner()
def _thinned(running: RunningMeans, size: int) -> int:
    """Leave out the dearer one of neighbours in the older half."""
    left = 0
    k = 0
    while k < size:
        pair = k + 1 < size // 2
        cost = running.value[k] + running.scatter[k]
        next_is_better = pair and running.value[k + 1] + running.scatter[k + 1] < cost
        _move(running, k + 1 if next_is_better else k, left)
        left += 1
        k += 2 if pair else 1
    return left
