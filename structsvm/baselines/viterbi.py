"""The best sequence of states where every change has the same price: Viterbi's dynamic program."""

from __future__ import annotations

import numpy as np

from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner


def best_path(scores: Floats, price: float) -> Ints:
    """Return the states that maximise the sum of their scores minus ``price`` for each change.

    Exact, in O(T C): a state is best reached from itself or from the best of all.
    """
    return np.asarray(_path(np.ascontiguousarray(scores, dtype=np.float64), float(price)))


def best_path_of(scores: Floats, n_clusters: int) -> Ints:
    """Return the states that maximise the sum of their scores with ``n_clusters - 1`` changes.

    Exact, in O(T K C) for K segments.
    """
    return np.asarray(_path_of(np.ascontiguousarray(scores, dtype=np.float64), int(n_clusters)))


@compiled()
def _path(scores: Floats, price: float) -> Ints:
    T, C = scores.shape
    value = scores[0].copy()
    changed = np.zeros((T, C), dtype=np.bool_)
    source = np.zeros(T, dtype=np.int64)
    for t in range(1, T):
        best = np.argmax(value)
        source[t] = best
        reached = value[best] - price
        for c in range(C):
            if reached > value[c]:
                changed[t, c] = True
                value[c] = reached
            value[c] += scores[t, c]
    path = np.empty(T, dtype=np.int64)
    path[T - 1] = np.argmax(value)
    for t in range(T - 1, 0, -1):
        path[t - 1] = source[t] if changed[t, path[t]] else path[t]
    return path


@inner()
def _two_best(value: Floats) -> tuple[int, int]:
    """The states of the largest and the second largest value; -1 for the second of a single one."""
    first, second = -1, -1
    for c in range(value.size):
        if first < 0 or value[c] > value[first]:
            first, second = c, first
        elif second < 0 or value[c] > value[second]:
            second = c
    return first, second


@compiled()
def _path_of(scores: Floats, K: int) -> Ints:
    T, C = scores.shape
    value = np.full((K, C), -np.inf)
    value[0] = scores[0]
    source = np.full((T, K, C), -1, dtype=np.int32)  # -1: from itself
    for t in range(1, T):
        for k in range(min(K - 1, t), -1, -1):
            # With one segment less, the two best states.
            first, second = _two_best(value[k - 1]) if k > 0 else (-1, -1)
            for c in range(C):
                other = second if c == first else first
                if other >= 0 and value[k - 1, other] > value[k, c]:
                    source[t, k, c] = other
                    value[k, c] = value[k - 1, other]
                value[k, c] += scores[t, c]
    path = np.empty(T, dtype=np.int64)
    k = K - 1
    path[T - 1] = np.argmax(value[k])
    for t in range(T - 1, 0, -1):
        before = source[t, k, path[t]]
        if before >= 0:
            path[t - 1] = before
            k -= 1
        else:
            path[t - 1] = path[t]
    return path
