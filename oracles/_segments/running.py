"""Segments that may be running, and the paths to them, as values that a search goes on from.

Paths are rows of a table, each a segment with the row of the one before it. A row is older than the
rows of the segments that follow, so that one sweep from the newest finds what is still needed, and
from where on paths have parted.
"""

from typing import NamedTuple

import numpy as np

from structsvm.support.compiled import inner
from structsvm.support.values import Bools, Floats, Ints

START, STATE, BEFORE = 0, 1, 2
"""Columns: where the segment begins, its state, and the row of the segment before, or -1."""

SLACK = 1e-9
"""What a segment has to be behind before it is left out, as a part of its score: far above
rounding, so that ties are those of a search over all."""


Passed = tuple[int, int, int, int]
"""What a step of a search returns: how many rows the table of paths has, where the last segment of
the best ones begins, its state, and how often others were thinned.

A step goes on from ``now`` samples to ``end``; those that it sees come after ``first`` others, and
no segment begins from ``low`` to ``high``. Whatever :class:`Running` has is given one by one, which
takes a third of the time.
"""


class Running(NamedTuple):
    """Segments that may be running, of each state the oldest first, (C, at most n)."""

    value: Floats
    """The best score of all before the segment, and of its samples so far."""
    start: Ints
    row: Ints
    """In the table of paths."""
    mean: Floats
    """Of its samples, (n, r); of segments with states nothing, (0, 0)."""
    size: Ints
    """How many there are of each state, (C,)."""
    closed: Floats
    """The best score of segments of which the last, in each state, ends now, (C,)."""
    best: Ints
    """The number of that last one among those of its state, or -1, (C,)."""
    behind: Ints
    """Its row, or -1, (C,)."""

    @classmethod
    def of(cls, first: Floats, most: int, r: int = 0) -> "tuple[Running, Ints, int]":
        """The first segments of a recording, and their paths."""
        begin = np.flatnonzero(first > -np.inf)
        C = first.size
        value = np.zeros((C, most))
        start, row = np.zeros((2, C, most), dtype=np.int64)
        size = np.zeros(C, dtype=np.int64)
        value[begin, 0] = first[begin]
        row[begin, 0] = np.arange(begin.size)
        size[begin] = 1
        tree = np.empty((64 + 2 * C, 3), dtype=np.int64)
        tree[: begin.size] = [(0, c, -1) for c in begin.tolist()]
        means = np.zeros((most if r else 0, r))
        ends = np.full(C, -np.inf), np.full(C, -1), np.full(C, -1)
        return cls(value, start, row, means, size, *ends), tree, begin.size


@inner(_nrt=False)
def begin(
    running: Running, tree: Ints, n_rows: int, c: int, t: int, value: float, before: int
) -> int:
    """Let a segment in state c begin at t, after the one of a row; how many rows there are."""
    k = running.size[c]
    running.value[c, k] = value
    running.start[c, k] = t
    running.row[c, k] = n_rows
    running.size[c] += 1
    tree[n_rows, START] = t
    tree[n_rows, STATE] = c
    tree[n_rows, BEFORE] = before
    return n_rows + 1


@inner(no_cpython_wrapper=False)
def forget(
    tree: Ints,
    n: int,
    value: Floats,
    start: Ints,
    row: Ints,
    mean: Floats,
    size: Ints,
    closed: Floats,
    best: Ints,
    behind: Ints,
) -> tuple[int, int, float]:
    """Drop the rows of the table that no segment needs that may be running, or ends now.

    How many are left, the newest that all paths have, or -1, and what is taken from all scores.
    """
    running = Running(value, start, row, mean, size, closed, best, behind)
    marked, common = _marked(running, tree, n)
    number = np.full(n, -1)
    left = 0
    for i in range(n):
        if marked[i]:
            number[i] = left
            for j in range(3):
                tree[left, j] = tree[i, j]
            if tree[left, BEFORE] >= 0:
                tree[left, BEFORE] = number[tree[left, BEFORE]]
            left += 1
    for c in range(running.size.size):
        for k in range(running.size[c]):
            running.row[c, k] = number[running.row[c, k]]
        if running.behind[c] >= 0:
            running.behind[c] = number[running.behind[c]]
    most = np.max(closed)
    if np.isfinite(most):
        value -= most
        closed -= most
    return left, number[common] if common >= 0 else -1, most if np.isfinite(most) else 0.0


@inner(no_cpython_wrapper=False, _nrt=False)
def are_scores(rows: Floats, largest: float, forbid: bool) -> bool:
    """Whether all are numbers up to the largest, or minus infinity where that may be."""
    for t in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            if not (abs(rows[t, c]) <= largest or (forbid and rows[t, c] == -np.inf)):
                return False
    return True


@inner()
def _marked(running: Running, tree: Ints, n: int) -> tuple[Bools, int]:
    """Which rows are on paths to segments, and the newest that is on all of them, or -1."""
    marked = np.zeros(n, dtype=np.bool_)
    apart = 0
    for c in range(running.size.size):
        for k in range(running.size[c] + 1):
            i = running.behind[c] if k == running.size[c] else running.row[c, k]
            if i >= 0 and not marked[i]:
                marked[i] = True
                apart += 1
    common = -1
    for i in range(n - 1, -1, -1):
        if not marked[i]:
            continue
        if apart == 1 and common < 0:
            common = i
        before = tree[i, BEFORE]
        if before >= 0 and marked[before]:
            apart -= 1
        elif before >= 0:
            marked[before] = True
    return marked, common
