"""Segments that may be running, and the paths to them, as arrays that a search goes on from.

Paths are rows of a table, each a segment with the row of the one before it. A row is older than the
rows of the segments that follow, so that one sweep from the newest finds what is still needed, and
from where on paths have parted.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.support import Bools, Floats, Ints, inner

Record = Any
Records = NDArray[Any]

# a segment, and the row of the one before it, or -1
PATHS = np.dtype([("start", "i8"), ("state", "i8"), ("before", "i8")])

RUNNING = np.dtype([("value", "f8"), ("start", "i8"), ("row", "i8")])
"""A segment that may be running, and its row: the best score of all before it and of its samples so
far. Of each state the oldest is the first, (C, at most n)."""

STATES = np.dtype(
    [
        *(("n", "i8"), ("best", "i8"), ("behind", "i8"), ("closed", "f8")),
        *(("last", "f8"), ("total", "f8"), ("gone", "f8")),
    ]
)
"""How many segments of a state may be running, the number of the best one if it ends now, its row,
or -1, and its score; what the last segment of a recording earns; the scores of all samples; what
was taken from all scores."""

N_ROWS, N_SAMPLES, N_THINNED, START, STATE = range(5)
"""What is counted, in one array: the rows of the table of paths, the samples so far, how often
segments were thinned; and where the last one of the best segments begins, or -1, and its state."""

SLACK = 1e-9
"""What a segment has to be behind before it is left out, as a part of its score: far above
rounding, so that ties are those of a search over all."""


def at_first(first: Floats, last: Floats, most: int) -> tuple[Records, Records, Records, Ints]:
    """Segments, states, paths and counts of a recording without a sample."""
    running = np.zeros((first.size, most), RUNNING)
    states = np.zeros(first.size, STATES)
    states["closed"] = -np.inf
    states["best"] = states["behind"] = -1
    states["last"] = last
    states["total"] = first
    paths = np.zeros(64 + 2 * first.size, PATHS)
    counts = np.array([0, 0, 0, -1, 0])
    for c in np.flatnonzero(first > -np.inf).tolist():
        begin(running, states, paths, counts, c, 0, first[c], -1)
    return running, states, paths, counts


@inner(no_cpython_wrapper=False, _nrt=False)
def begin(
    running: Records,
    states: Records,
    paths: Records,
    counts: Ints,
    c: int,
    t: int,
    value: float,
    before: int,
) -> None:
    """Let a segment in state c begin at t, after the one of a row."""
    one = running[c, states[c].n]
    one.value = value
    one.start = t
    one.row = counts[N_ROWS]
    path = paths[counts[N_ROWS]]
    path.start = t
    path.state = c
    path.before = before
    states[c].n += 1
    counts[N_ROWS] += 1


@inner(no_cpython_wrapper=False)
def forget(running: Records, states: Records, paths: Records, counts: Ints) -> int:
    """Drop the rows that no segment needs that may be running, or ends now.

    The newest that all paths have, or -1. What all scores have in common is taken from them.
    """
    n = counts[N_ROWS]
    marked, common = _marked(running, states, paths, n)
    number = np.full(n, -1)
    left = 0
    for i in range(n):
        if marked[i]:
            number[i] = left
            paths[left] = paths[i]
            if paths[left].before >= 0:
                paths[left].before = number[paths[left].before]
            left += 1
    counts[N_ROWS] = left
    most = -np.inf
    for state in states:
        most = max(most, state.closed)
    gone = most if np.isfinite(most) else 0.0
    for c in range(states.size):
        states[c].closed -= gone
        states[c].gone += gone
        if states[c].behind >= 0:
            states[c].behind = number[states[c].behind]
        for k in range(states[c].n):
            running[c, k].value -= gone
            running[c, k].row = number[running[c, k].row]
    return number[common] if common >= 0 else -1


@inner(no_cpython_wrapper=False, _nrt=False)
def are_scores(rows: Floats, largest: float, forbid: bool) -> bool:
    """Whether all are numbers up to the largest, or minus infinity where that may be."""
    for t in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            if not (abs(rows[t, c]) <= largest or (forbid and rows[t, c] == -np.inf)):
                return False
    return True


@inner()
def _marked(running: Records, states: Records, paths: Records, n: int) -> tuple[Bools, int]:
    """Which rows are on paths to segments, and the newest that is on all of them, or -1."""
    marked = np.zeros(n, dtype=np.bool_)
    apart = 0
    for c in range(states.size):
        for k in range(states[c].n + 1):
            i = states[c].behind if k == states[c].n else running[c, k].row
            if i >= 0 and not marked[i]:
                marked[i] = True
                apart += 1
    common = -1
    for i in range(n - 1, -1, -1):
        if not marked[i]:
            continue
        if apart == 1 and common < 0:
            common = i
        before = paths[i].before
        if before >= 0 and marked[before]:
            apart -= 1
        elif before >= 0:
            marked[before] = True
    return marked, common
