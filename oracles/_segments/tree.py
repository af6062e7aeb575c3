"""Segments that paths of a search are made of, each with the one before it, as rows of a table.

A row is older than the rows of the segments that follow, so that one sweep from the newest finds
what is still needed, and from where on paths have parted.
"""

from __future__ import annotations

import numpy as np

from structsvm.support.compiled import inner
from structsvm.support.values import Bools, Ints

START, STATE, BEFORE = 0, 1, 2
"""Columns: where the segment begins, its state, and the row of the segment before, or -1."""


@inner()
def with_room(tree: Ints, n: int, more: int) -> Ints:
    """The table, or one of twice its size, where there is room for more rows."""
    if n + more <= len(tree):
        return tree
    larger = np.empty((2 * len(tree) + more, 3), dtype=np.int64)
    larger[:n] = tree[:n]
    return larger


@inner(no_cpython_wrapper=False)
def kept(tree: Ints, n: int, needed: Ints) -> tuple[int, int]:
    """Drop the rows that no path to a needed one has; how many are left, and the newest on all.

    That is -1 where there is none. The numbers in ``needed`` follow, of which some may be -1.
    """
    marked, common = _marked(tree, n, needed)
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
    for k in range(needed.size):
        if needed[k] >= 0:
            needed[k] = number[needed[k]]
    return left, number[common] if common >= 0 else -1


@inner()
def _marked(tree: Ints, n: int, needed: Ints) -> tuple[Bools, int]:
    """Which rows are on the paths to some, and the newest that is on all of them, or -1."""
    marked = np.zeros(n, dtype=np.bool_)
    apart = 0
    for i in needed:
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


def path_to(tree: Ints, last: int) -> list[int]:
    """The rows on the way to one of them, the oldest first."""
    path = []
    while last >= 0:
        path.append(last)
        last = int(tree[last, BEFORE])
    return path[::-1]
