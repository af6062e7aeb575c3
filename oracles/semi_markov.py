"""The best segments with states: a semi-Markov dynamic program over changes, states and lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss, runs_of
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner


@dataclass(frozen=True, eq=False)
class StateScore:
    """What a recording of T samples earns by segments that have one of C states each.

    The score is the sum of ``samples[t, c]`` over the samples in state c, of ``lengths[c, n]`` over
    the segments of n samples in state c, of ``changes[a, b]`` over neighbouring segments in states
    a and b, and of ``first[c]`` and ``last[c]`` for the first and the last segment. What is
    forbidden earns minus infinity. With a ``truth``, ``truth_weight`` times the partition loss
    ``|M - truth|_F^2`` is added.

    Parameters
    ----------
    samples : array of shape (T, C)
    lengths : array of shape (C, L + 1)
        The last column stands for all longer segments too; that of length 0 is not read.
    changes : array of shape (C, C)
        The diagonal is not read, because neighbours have different states.
    first, last : array of shape (C,)
    truth : EquivalenceMatrix, optional
    truth_weight : float

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> score.value(np.array([0, 0, 1, 0]))
    1.5
    """

    samples: Floats
    lengths: Floats
    changes: Floats
    first: Floats
    last: Floats
    truth: EquivalenceMatrix | None = None
    truth_weight: float = 0.0

    def value(self, states: Ints) -> float:
        """The score of a state for each sample, (T,)."""
        starts, ends, of = segments_of(states)
        found = self.samples[np.arange(states.size), states].sum()
        n = np.minimum(ends - starts, self.lengths.shape[1] - 1)
        found += self.lengths[of, n].sum() + self.changes[of[:-1], of[1:]].sum()
        found += self.first[of[0]] + self.last[of[-1]]
        if self.truth is not None:
            guess = EquivalenceMatrix.from_breakpoints(ends)
            found += self.truth_weight * partition_loss(self.truth, guess)
        return float(found)


def segments_of(states: Ints) -> tuple[Ints, Ints, Ints]:
    """Where the segments of a state for each sample begin, where they end, and their states."""
    bounds = runs_of(states).boundaries
    return bounds[:-1], bounds[1:], states[bounds[:-1]]


def best_states(score: StateScore, n_segments: int | None = None) -> Ints:
    """The states of the largest score, (T,), in exactly ``n_segments`` segments if that is given.

    Exact, in O(T L C + T C^2) operations and O(T C) numbers, both times ``n_segments`` where it is
    given; with a truth, L is T.

    Raises
    ------
    OracleError
        When no segments keep what is forbidden.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_states
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_states(score).tolist(), best_states(score, n_segments=2).tolist()
    ([0, 0, 0, 0], [0, 0, 1, 1])
    """
    T, C = score.samples.shape
    total = np.zeros((C, T + 1))
    np.cumsum(score.samples.T, axis=1, out=total[:, 1:])
    lengths, bounds, weight = score.lengths, np.array([0, T]), 0.0
    if score.truth is not None:  # the loss of a long segment depends on where it begins
        bounds, weight = score.truth.boundaries, float(score.truth_weight)
        lengths = np.pad(lengths, ((0, 0), (0, max(0, T + 2 - lengths.shape[1]))), mode="edge")
    lengths, changes, first, last = (
        np.ascontiguousarray(values, dtype=np.float64)
        for values in (lengths, score.changes, score.first, score.last)
    )
    K = 0 if n_segments is None else int(n_segments)
    path = _search(total, lengths, changes, first, last, bounds, weight, K)
    if path[0] < 0:
        into = "" if n_segments is None else f" into {n_segments} segments"
        raise OracleError(
            f"{T} samples have no segmentation{into} with the lengths and changes of states that "
            "are allowed: allow more of them, or ask for another number of segments"
        )
    return np.asarray(path)


@compiled()
def _search(
    total: Floats,
    lengths: Floats,
    changes: Floats,
    first: Floats,
    last: Floats,
    bounds: Ints,
    weight: float,
    K: int,
) -> Ints:
    """The best states; -1 each if none are allowed.

    Row k of what follows is about k segments before, or about any number of them if K is 0 and
    there is one row.
    """
    (C, T), rows, L = (total.shape[0], total.shape[1] - 1), max(K, 1), lengths.shape[1] - 1
    opened = np.full((rows, C, T), -np.inf)  # a segment in state c begins at t, less total[c, t]
    for c in range(C):
        opened[0, c, 0] = first[c]
    closed = np.empty((rows, C))  # one ends at t
    longest = np.full((rows, C), -1)  # where the best of those that are L samples or longer begins
    begin = np.full((rows, C, T + 1), -1, dtype=np.int32)
    before = np.full((rows, C, T), -1, dtype=np.int32)
    losses = np.zeros(T)
    for t in range(1, T + 1):
        if weight > 0.0:
            _fill_losses(losses, max(0, t - L + 1), t, bounds, weight)
        for k in range(rows):
            for c in range(C):
                known = longest[k, c]
                if t >= L and (known < 0 or opened[k, c, t - L] > opened[k, c, known]):
                    longest[k, c] = t - L
                start, value = _best_start(opened[k, c], lengths[c], losses, longest[k, c], t)
                begin[k, c, t], closed[k, c] = start, value + total[c, t]
        if t == T:
            break
        for k in range(rows if K == 0 else K - 1):
            into = k if K == 0 else k + 1
            for c in range(C):
                for a in range(C):
                    value = closed[k, a] + changes[a, c] - total[c, t]
                    if a != c and value > opened[into, c, t]:
                        opened[into, c, t], before[into, c, t] = value, a
    return _traced(closed[rows - 1] + last, begin, before, K)


@inner()
def _traced(values: Floats, begin: Ints, before: Ints, K: int) -> Ints:
    """The states on the way to the best value of the last segment."""
    T = before.shape[2]
    path, t, k, c = np.full(T, -1), T, begin.shape[0] - 1, np.argmax(values)
    if values[c] == -np.inf:
        return path
    while t > 0:
        start = begin[k, c, t]
        for i in range(start, t):
            path[i] = c
        if start > 0:
            c = before[k, c, start]
            k -= min(K, 1)
        t = start
    return path


@inner()
def _best_start(
    opened: Floats, lengths: Floats, losses: Floats, longest: int, t: int
) -> tuple[int, float]:
    """Where the best segment that ends at t begins, the first of equals; -1 if nowhere."""
    L = lengths.size - 1
    start, best = -1, -np.inf
    if longest >= 0:
        value = opened[longest] + lengths[L] + losses[longest]
        if value > best:
            start, best = longest, value
    for s in range(max(0, t - L + 1), t):
        value = opened[s] + lengths[t - s] + losses[s]
        if value > best:
            start, best = s, value
    return start, best


@inner(error_model="numpy")
def _fill_losses(losses: Floats, low: int, t: int, bounds: Ints, weight: float) -> None:
    """What a segment from s to t adds to the partition loss: ``1 - 2 sum_B |A n B|^2 / |A||B|``."""
    g = 0  # the true segment that holds t - 1
    while bounds[g + 1] < t:
        g += 1
    tail = (t - bounds[g]) ** 2 / (bounds[g + 1] - bounds[g])
    f = g  # and s
    while bounds[f] > low:
        f -= 1
    for s in range(low, t):
        if s == bounds[f + 1]:
            f += 1
        if f == g:
            shared = (t - s) ** 2 / (bounds[g + 1] - bounds[g])
        else:
            inside = bounds[g] - bounds[f + 1]
            shared = (bounds[f + 1] - s) ** 2 / (bounds[f + 1] - bounds[f]) + inside + tail
        losses[s] = weight * (1.0 - 2.0 * shared / (t - s))
