"""Compiled sums over neighbouring rows, such as the segments of a recording.

Rows are added in the order of ``np.add.reduceat``: in halves of halves down to blocks, so that the
rounding of a sum grows with the logarithm of the number of its terms.
"""

from __future__ import annotations

import numpy as np

from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.plain import read_only

LANES = 8
"""Sums of a block that are formed side by side."""
BLOCK = 128
"""Rows of a block at most; what has more is halved."""
DEPTH = 64
"""Halvings at most."""


def segment_sums(X: Floats, boundaries: Ints) -> Floats:
    """The sum of the rows of ``X`` (T, P) over each segment, (K, P)."""
    sums = np.empty((boundaries.size - 1, X.shape[1]))
    _segment_sums(_flat(X), boundaries, np.empty((LANES + DEPTH) * X.shape[1]), sums)
    return sums


def squared_sums(X: Floats, boundaries: Ints) -> Floats:
    """The squares of :func:`segment_sums` over the sizes of the segments, summed, (P,)."""
    total = np.zeros(X.shape[1])
    _squared_sums(_flat(X), boundaries, np.empty((LANES + DEPTH + 1) * X.shape[1]), total)
    return total


def _flat(X: Floats) -> Floats:
    """The numbers of ``X``, row by row, in the one form that kernels are compiled for."""
    return read_only(np.asarray(X, np.float64, order="C").reshape(-1))


@compiled()
def _segment_sums(X: Floats, boundaries: Ints, room: Floats, sums: Floats) -> None:
    ends = np.empty(DEPTH, np.int64)
    for k in range(boundaries.size - 1):
        _sum_rows(X, boundaries[k], boundaries[k + 1], room, ends, sums[k])


@compiled()
def _squared_sums(X: Floats, boundaries: Ints, room: Floats, squares: Floats) -> None:
    P = squares.size
    total, room, ends = room[:P], room[P:], np.empty(DEPTH, np.int64)
    for k in range(boundaries.size - 1):
        _sum_rows(X, boundaries[k], boundaries[k + 1], room, ends, total)
        for p in range(P):
            squares[p] += total[p] * total[p] / (boundaries[k + 1] - boundaries[k])


@inner()
def _sum_rows(X: Floats, first: int, last: int, room: Floats, ends: Ints, total: Floats) -> None:
    """Write the sum of the rows ``first, ..., last - 1``."""
    P, depth = total.size, 0
    lanes, left = room[: LANES * P], room[LANES * P :]
    begin, end = first + 1, last  # ``ends`` of what is halved; -1 once ``left`` has its first half
    while True:
        while end - begin > BLOCK:
            ends[depth], depth = end, depth + 1
            half = (end - begin) // 2
            end = begin + half - half % LANES
        _sum_block(X[begin * P : end * P], lanes, total)
        while depth > 0 and ends[depth - 1] < 0:
            depth -= 1
            _add(left[depth * P : (depth + 1) * P], total)
        if depth == 0:
            break
        for p in range(P):
            left[(depth - 1) * P + p] = total[p]
        begin, end, ends[depth - 1] = end, ends[depth - 1], -1
    _add(X[first * P : (first + 1) * P], total)


@inner()
def _sum_block(X: Floats, lanes: Floats, total: Floats) -> None:
    """The sum of all rows; of ``LANES`` rows or more, that of as many sums side by side."""
    P, first = total.size, 0
    if 0 < lanes.size <= X.size:
        for i in range(lanes.size):
            lanes[i] = X[i]
        for at in range(lanes.size, X.size - lanes.size + 1, lanes.size):
            _add(X[at : at + lanes.size], lanes)
        for p in range(P):
            total[p] = ((lanes[p] + lanes[P + p]) + (lanes[2 * P + p] + lanes[3 * P + p])) + (
                (lanes[4 * P + p] + lanes[5 * P + p]) + (lanes[6 * P + p] + lanes[7 * P + p])
            )
        first = X.size // lanes.size * lanes.size
    else:
        for p in range(P):
            total[p] = -0.0  # which changes no sum, not even that of nothing but -0.0
    while first < X.size:
        _add(X[first : first + P], total)
        first += P


@inner()
def _add(numbers: Floats, total: Floats) -> None:
    for i in range(numbers.size):
        total[i] += numbers[i]


@compiled()
def overlap(mine: Ints, theirs: Ints) -> float:
    """``sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)`` of the boundaries of two segmentations."""
    k, m, total = 0, 0, 0.0
    while k < mine.size - 1 and m < theirs.size - 1:
        end, end_of_theirs = mine[k + 1], theirs[m + 1]
        common = min(end, end_of_theirs) - max(mine[k], theirs[m])
        total += common * common / ((end - mine[k]) * (end_of_theirs - theirs[m]))
        if end <= end_of_theirs:
            k += 1
        if end_of_theirs <= end:
            m += 1
    return total
