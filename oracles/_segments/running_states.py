"""The search for the best states a sample at a time, with the segments alone that may be the best.

Of two segments in the same state that may be running, one is of no use as soon as no length can
make up for what it is behind: what is found is what the search over all of them finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.states import NOWHERE, added, of_late
from structsvm.oracles._segments.tree import BEFORE, START, STATE, kept, with_room
from structsvm.support.compiled import compiled, inner
from structsvm.support.values import Floats, Ints

SLACK = 1e-9
"""What a segment has to be behind beyond what lengths can make up for, as a part of its score: far
above rounding, so that ties are those of the search over all."""

MOST_COMPARED = 4096
"""Lengths up to which each difference of lengths has its own bound: so many squared per state."""


class Running(NamedTuple):
    """Segments that may be running, of each state the oldest first, (C, at most L + 2)."""

    value: Floats
    """The best score of all before the segment, less the total of its state where it begins."""
    start: Ints
    row: Ints
    """In the tree."""
    size: Ints
    """How many there are of each state, (C,)."""


class StateRules(NamedTuple):
    """What a pass goes by."""

    lengths: Floats
    changes: Floats
    late: Ints
    older: Floats
    """What lengths can earn more of a segment that is so many samples older than another, once the
    newer of both has 1, 2, 4, ... samples, (about log L, C, L + 1)."""
    newer: Floats
    """And what they can earn more of the newer."""


@inner(no_cpython_wrapper=False)
def gains(lengths: Floats) -> tuple[Floats, Floats]:
    """``older`` and ``newer`` of :class:`StateRules`."""
    C = lengths.shape[0]
    L = lengths.shape[1] - 1
    shape = (_power(L) + 1, C, L + 1)
    older = np.full(shape, -np.inf)
    newer = np.full(shape, -np.inf)
    for c in range(C):
        if L > MOST_COMPARED:
            spread = np.max(lengths[c, 1:]) - np.min(lengths[c, 1:])
            older[:, c] = spread
            newer[:, c] = spread
            continue
        for m in range(L + 1):
            more = -np.inf
            less = -np.inf
            for k in range(L, 0, -1):
                then = lengths[c, min(k + m, L)]
                now = lengths[c, k]
                if then > -np.inf:
                    more = max(more, then - now)
                if now > -np.inf:
                    less = max(less, now - then)
                if k & (k - 1) == 0:
                    older[_power(k), c, m] = more
                    newer[_power(k), c, m] = less
    return older, newer


@inner()
def _power(k: int) -> int:
    """The largest i with 2^i at most k."""
    i = 0
    while 2 << i <= k:
        i += 1
    return i


@inner(no_cpython_wrapper=False)
def continued(totals: Floats, rows: Floats) -> Floats:
    """Totals of samples, (C, m + 1), and of the rows (n, C) after them; what is forbidden is 0."""
    n, C = rows.shape
    m = totals.shape[1]
    longer = np.empty((C, m + n))
    longer[:, :m] = totals
    for j in range(n):
        for c in range(C):
            x = rows[j, c]
            longer[c, m + j] = longer[c, m + j - 1] + (0.0 if x == -np.inf else x)
    return longer


@inner(no_cpython_wrapper=False)
def pass_states(
    rules: StateRules,
    running: Running,
    tree: Ints,
    n_rows: int,
    scores: Floats,
    totals: Floats,
    offset: int,
    first: int,
    last: int,
    barred: tuple[int, int],
    closed: Floats,
    behind: Ints,
) -> tuple[Ints, int]:
    """Go on from column ``first`` of the totals, (C, m + 1), to ``last``; the tree, and its size.

    Column j is about ``offset + j`` samples, of which row j - 1 of the scores is the last. The best
    scores of all segments with the last in each state, (C,), and its rows in the tree are left in
    ``closed`` and ``behind``. No segment begins from ``barred[0]`` to ``barred[1]``.
    """
    C = rules.lengths.shape[0]
    best = np.empty(C, dtype=np.int64)
    for j in range(first + 1, last + 1):
        t = offset + j
        for c in range(C):
            if scores[j - 1, c] == -np.inf:
                running.size[c] = 0
            best[c] = _best(rules, running, c, t)
            closed[c] = -np.inf
            behind[c] = -1
            if best[c] >= 0:
                closed[c] = _earned(rules, running, c, best[c], t) + totals[c, j]
                behind[c] = running.row[c, best[c]]
        if barred[0] <= t <= barred[1]:
            continue
        if n_rows + C > len(tree):
            n_rows = forget(running, tree, n_rows, behind)[0]
            tree = with_room(tree, n_rows, n_rows + C)
        for c in range(C):
            opened = -np.inf
            before = -1
            for a in range(C):
                value = closed[a] + rules.changes[a, c] - totals[c, j]
                value += of_late(totals, j, rules.late, a, c)
                if a != c and value > opened:
                    opened, before = value, behind[a]
            if _is_left_out(rules, running, c, t, opened, best[c]):
                continue
            k = running.size[c]
            running.value[c, k] = opened
            running.start[c, k] = t
            running.row[c, k] = n_rows
            running.size[c] += 1
            tree[n_rows, START] = t
            tree[n_rows, STATE] = c
            tree[n_rows, BEFORE] = before
            n_rows += 1
    return tree, n_rows


@inner()
def _earned(rules: StateRules, running: Running, c: int, k: int, t: int) -> float:
    """What the best segments earn of which the last, in state c, ends at t, less its total."""
    L = rules.lengths.shape[1] - 1
    earned: float = running.value[c, k] + rules.lengths[c, min(t - running.start[c, k], L)]
    return earned


@inner()
def _best(rules: StateRules, running: Running, c: int, t: int) -> int:
    """The best segment in state c that ends at t, the first of equals; -1 if there is none."""
    best = -1
    most = -np.inf
    for k in range(running.size[c]):
        value = _earned(rules, running, c, k, t)
        if value > most:
            best, most = k, value
    return best


@inner()
def _is_left_out(
    rules: StateRules, running: Running, c: int, t: int, opened: float, best: int
) -> bool:
    """Whether a segment that begins at t is of no use; leave out others that are.

    They are compared with that one, and with the one that is the best now.
    """
    L = rules.lengths.shape[1] - 1
    slack = SLACK * (1.0 + abs(opened))
    left_out = opened == -np.inf
    begun = running.start[c, best] if best >= 0 else t
    most = running.value[c, best] if best >= 0 else -np.inf
    after = _power(min(t - begun + 1, L))
    left = 0
    for k in range(running.size[c]):
        value = running.value[c, k]
        start = running.start[c, k]
        age = min(t - start, L)
        if value > opened + rules.newer[0, c, age] + slack:
            left_out = True
        if not left_out and value + rules.older[0, c, age] < opened - slack:
            continue
        apart = min(abs(start - begun), L)
        if start < begun and value + rules.older[after, c, apart] < most - slack:
            continue
        if start > begun:
            own = _power(min(age + 1, L))
            if value + rules.newer[own, c, apart] < most - slack:
                continue
        if age == L and left > 0 and t - running.start[c, left - 1] >= L:
            if value <= running.value[c, left - 1]:
                continue  # of those that are as long as lengths are told apart, the best is enough
            left -= 1
        running.value[c, left] = value
        running.start[c, left] = start
        running.row[c, left] = running.row[c, k]
        left += 1
    running.size[c] = left
    return left_out


@inner(no_cpython_wrapper=False)
def forget(running: Running, tree: Ints, n_rows: int, behind: Ints) -> tuple[int, int]:
    """Drop the rows that no segment needs that may be running, or ends now."""
    C = running.size.size
    needed = np.empty(running.size.sum() + C, dtype=np.int64)
    i = 0
    for c in range(C):
        for k in range(running.size[c]):
            needed[i] = running.row[c, k]
            i += 1
    needed[i:] = behind
    kept_rows = kept(tree, n_rows, needed)
    i = 0
    for c in range(C):
        for k in range(running.size[c]):
            running.row[c, k] = needed[i]
            i += 1
    behind[:] = needed[i:]
    return kept_rows


@inner(no_cpython_wrapper=False)
def begun(first: Floats, L: int) -> tuple[Running, Ints, int]:
    """The first segments of a recording, and their tree."""
    C = first.size
    shape = (C, L + 2)
    running = Running(
        np.zeros(shape),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(C, dtype=np.int64),
    )
    tree = np.empty((64 + 2 * C, 3), dtype=np.int64)
    n_rows = 0
    for c in range(C):
        if first[c] > -np.inf:
            running.value[c, 0] = first[c]
            running.row[c, 0] = n_rows
            running.size[c] = 1
            tree[n_rows] = (0, c, -1)
            n_rows += 1
    return running, tree, n_rows


@compiled()
def search_running(
    samples: Floats, lengths: Floats, changes: Floats, late: Ints, first: Floats, last: Floats
) -> Ints:
    """The best states of a whole recording; -1 each if none are allowed."""
    (T, C) = samples.shape
    older, newer = gains(lengths)
    rules = StateRules(lengths, changes, late, older, newer)
    running, tree, n_rows = begun(first, lengths.shape[1] - 1)
    totals = added(samples, NOWHERE)[0]
    closed = np.full(C, -np.inf)
    behind = np.full(C, -1)
    tree, n_rows = pass_states(
        rules, running, tree, n_rows, samples, totals, 0, 0, T, (T, T), closed, behind
    )
    path = np.full(T, -1)
    c = np.argmax(closed + last)
    row = behind[c] if closed[c] + last[c] > -np.inf else -1
    t = T
    while row >= 0:
        for i in range(tree[row, START], t):
            path[i] = tree[row, STATE]
        t = tree[row, START]
        row = tree[row, BEFORE]
    return path
