"""Compiled sums over neighbouring rows, such as the segments of a recording.

Rows are added in the order of ``np.add.reduceat``: in halves of halves down to blocks, so that the
rounding of a sum grows with the logarithm of the number of its terms.
"""

from __future__ import annotations

import numpy as np

from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import uninterrupted
from structsvm.support.plain import read_only

LANES = 8
"""Sums of a block that are formed side by side."""
BLOCK = 128
"""Rows of a block at most; what has more is halved."""
DEPTH = 64
"""Halvings at most."""


def segment_sums(X: Floats, boundaries: Ints) -> Floats:
    """The sum of the rows of ``X`` (T, P) over each segment, (K, P).

    Parameters
    ----------
    boundaries : array of shape (K + 1,)
        Strictly increasing, from 0 to T.
    """
    sums = np.empty((boundaries.size - 1, X.shape[1]))
    _segment_sums(read_only(np.asarray(X, np.float64, order="C")), boundaries, sums)
    return sums


def shared(mine: Ints, theirs: Ints) -> Floats:
    """``|A_k n B_l|^2 / (|A_k| |B_l|)`` of the boundaries of two segmentations, (K, K')."""
    table = np.zeros((mine.size - 1, theirs.size - 1))
    _share(mine, theirs, table)
    return table


@uninterrupted
@compiled()
def _segment_sums(X: Floats, boundaries: Ints, sums: Floats) -> None:
    room = np.empty((LANES + DEPTH, X.shape[1]))
    for k in range(sums.shape[0]):
        begin, end, total = boundaries[k], boundaries[k + 1], sums[k]
        if end - begin > LANES:
            _sum_rows(X, begin + 1, end, room, total)
        else:
            for p in range(X.shape[1]):
                total[p] = -0.0  # which changes no sum, not even that of nothing but -0.0
            for t in range(begin + 1, end):
                _add(X[t], total)
        _add(X[begin], total)


@inner()
def _sum_rows(X: Floats, begin: int, end: int, room: Floats, total: Floats) -> None:
    """``total`` becomes the sum of the rows from ``begin`` to ``end - 1``, ``LANES`` or more."""
    lanes, left = room[:LANES], room[LANES:]
    if end - begin <= BLOCK:
        _sum_block(X, begin, end, lanes, total)
        return
    ends, is_left = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.bool_)
    depth = 0
    while True:
        while end - begin > BLOCK:
            ends[depth], is_left[depth], depth = end, True, depth + 1
            half = (end - begin) // 2
            end = begin + half - half % LANES
        _sum_block(X, begin, end, lanes, total)
        while depth > 0 and not is_left[depth - 1]:
            depth -= 1
            for p in range(total.size):
                total[p] = left[depth, p] + total[p]
        if depth == 0:
            return
        for p in range(total.size):
            left[depth - 1, p] = total[p]
        begin, end, is_left[depth - 1] = end, ends[depth - 1], False


@inner()
def _sum_block(X: Floats, begin: int, end: int, lanes: Floats, total: Floats) -> None:
    """The same of ``LANES`` rows or more."""
    whole = begin + (end - begin) // LANES * LANES
    for i in range(LANES):
        for p in range(total.size):
            lanes[i, p] = X[begin + i, p]
    for t in range(begin + LANES, whole, LANES):
        for i in range(LANES):
            _add(X[t + i], lanes[i])
    for p in range(total.size):
        total[p] = ((lanes[0, p] + lanes[1, p]) + (lanes[2, p] + lanes[3, p])) + (
            (lanes[4, p] + lanes[5, p]) + (lanes[6, p] + lanes[7, p])
        )
    for t in range(whole, end):
        _add(X[t], total)


@inner()
def _add(row: Floats, total: Floats) -> None:
    for p in range(total.size):
        total[p] += row[p]


@uninterrupted
@compiled()
def _share(mine: Ints, theirs: Ints, table: Floats) -> None:
    k, m = 0, 0
    while k < table.shape[0] and m < table.shape[1]:
        end, end_of_theirs = mine[k + 1], theirs[m + 1]
        common = min(end, end_of_theirs) - max(mine[k], theirs[m])
        table[k, m] = common * common / ((end - mine[k]) * (end_of_theirs - theirs[m]))
        if end <= end_of_theirs:
            k += 1
        if end_of_theirs <= end:
            m += 1
