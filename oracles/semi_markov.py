"""The best segments with states: a semi-Markov dynamic program over changes, states and lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import LARGEST
from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss, runs_of
from structsvm.partitions.oracle import faults_of_truth
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import is_number, is_whole, read_only, shown
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
    lengths : array of shape (C, L + 1), L at least 1
        The last column stands for all longer segments too; that of length 0 is not read.
    changes : array of shape (C, C)
        The diagonal is not read, because neighbours have different states.
    first, last : array of shape (C,)
    truth : EquivalenceMatrix, optional
        Of segments.
    truth_weight : float
        0 or more.

    Raises
    ------
    OracleError
        When shapes do not agree, or a score is neither a number nor minus infinity.

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

    def __post_init__(self) -> None:
        """Copy the arrays into the one form that is compiled, and check all that it relies on."""
        for name in ARRAYS:
            object.__setattr__(self, name, _as_scores(name, getattr(self, name)))
        if self.samples.ndim != 2 or self.samples.size == 0:
            raise OracleError(f"samples must have shape (T, C), got {self.samples.shape}")
        C = self.samples.shape[1]
        shapes = {"changes": (C, C), "first": (C,), "last": (C,)}
        if self.lengths.ndim != 2 or self.lengths.shape[0] != C or self.lengths.shape[1] < 2:
            raise OracleError(
                f"lengths must have shape ({C}, L + 1) with L >= 1, got {self.lengths.shape}"
            )
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise OracleError(
                    f"{name} must have shape {shape}, got {getattr(self, name).shape}"
                )
        fault = _first_fault(
            self.samples, self.lengths, self.changes, self.first, self.last, LARGEST
        )
        if fault >= 0:
            raise OracleError(
                f"{ARRAYS[fault]} must hold numbers up to {LARGEST:g}, or minus infinity for what "
                "is forbidden: look for NaN and inf"
            )
        if self.truth is not None:
            self._check_truth(self.truth)

    def _check_truth(self, truth: EquivalenceMatrix) -> None:
        fault = next(faults_of_truth(truth, len(self.samples)), None)
        if fault is None and not truth.is_contiguous:
            fault = "the truth must be made of segments of consecutive samples"
        if fault is None and not (
            is_number(self.truth_weight) and 0 <= self.truth_weight < LARGEST
        ):
            fault = f"truth_weight must be a number >= 0, got {self.truth_weight!r}"
        if fault is not None:
            raise OracleError(fault)

    def value(self, states: Ints) -> float:
        """The score of a state for each sample, (T,).

        Raises
        ------
        OracleError
            When a sample has no state, or one that is none of 0, ..., C - 1.
        """
        states = self._checked(states, least=0)
        starts, ends, of = segments_of(states)
        found = self.samples[np.arange(states.size), states].sum()
        n = np.minimum(ends - starts, self.lengths.shape[1] - 1)
        found += self.lengths[of, n].sum() + self.changes[of[:-1], of[1:]].sum()
        found += self.first[of[0]] + self.last[of[-1]]
        if self.truth is not None:
            guess = EquivalenceMatrix.from_breakpoints(ends)
            found += self.truth_weight * partition_loss(self.truth, guess)
        return float(found)

    def knowing(self, states: Ints) -> StateScore:
        """The same where samples have known states, (T,), and -1 stands for what is not known.

        Raises
        ------
        OracleError
            When they are not integers from -1 to C - 1, one for each sample.
        """
        states = self._checked(states, least=-1)
        others = (states >= 0)[:, None] & (np.arange(self.samples.shape[1]) != states[:, None])
        return replace(self, samples=np.where(others, -np.inf, self.samples))

    def _checked(self, states: Any, least: int) -> Ints:
        T, C = self.samples.shape
        return checked_states(states, T, C, least)


ARRAYS = ("samples", "lengths", "changes", "first", "last")


def checked_states(states: Any, n_samples: int, n_states: int, least: int = 0) -> Ints:
    """Numbers of states, from ``least`` on, one for each sample; an OracleError for others."""
    found = np.asarray(states)
    if found.shape != (n_samples,) or found.dtype.kind not in "iu":
        raise OracleError(f"give an integer for each of {n_samples} samples, not {shown(states)}")
    if found.min() < least or found.max() >= n_states:
        raise OracleError(
            f"states are {least}..{n_states - 1}, and there are {found.min()}..{found.max()}"
        )
    return found.astype(np.int64, copy=False)


def _as_scores(name: str, given: Any) -> Floats:
    try:
        return read_only(np.array(given, dtype=np.float64, order="C"))
    except (TypeError, ValueError) as error:
        raise OracleError(f"{name} must be an array of numbers, got {shown(given)}") from error


@compiled()
def _first_fault(
    samples: Floats, lengths: Floats, changes: Floats, first: Floats, last: Floats, most: float
) -> int:
    """Which of these holds what is no score: the number of the array; -1 if none does."""
    T, C = samples.shape
    for c in range(C):
        for t in range(T):
            if not _is_score(samples[t, c], most):
                return 0
        for n in range(1, lengths.shape[1]):
            if not _is_score(lengths[c, n], most):
                return 1
        for a in range(C):
            if a != c and not _is_score(changes[a, c], most):
                return 2
        if not _is_score(first[c], most):
            return 3
        if not _is_score(last[c], most):
            return 4
    return -1


@inner()
def _is_score(x: float, most: float) -> bool:
    return x == -np.inf or -most <= x <= most


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
        When no segments keep what is forbidden, or ``n_segments`` is none of 1, ..., T.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_states
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_states(score).tolist(), best_states(score, n_segments=2).tolist()
    ([0, 0, 0, 0], [0, 0, 1, 1])
    """
    K = _checked_number(score, n_segments)
    T = len(score.samples)
    lengths, bounds, weight = score.lengths, WITHOUT_TRUTH, 0.0
    if score.truth is not None:  # the loss of a long segment depends on where it begins
        bounds, weight = score.truth.boundaries, float(score.truth_weight)
        more = max(0, T + 2 - lengths.shape[1])
        lengths = read_only(np.pad(lengths, ((0, 0), (0, more)), mode="edge"))
    path = _search(
        score.samples, lengths, score.changes, score.first, score.last, bounds, weight, K
    )
    if path[0] < 0:
        into = "" if n_segments is None else f" into {n_segments} segments"
        raise OracleError(
            f"{T} samples have no segmentation{into} with the lengths and changes of states that "
            "are allowed: allow more of them, or ask for another number of segments"
        )
    return np.asarray(path)


WITHOUT_TRUTH = read_only(np.zeros(0, dtype=np.int64))


def _checked_number(score: StateScore, n_segments: int | None) -> int:
    """The number of segments, 0 for any."""
    if not isinstance(score, StateScore):
        raise OracleError(f"the score is {shown(score)}: give a StateScore")
    if n_segments is None:
        return 0
    T = len(score.samples)
    if not (is_whole(n_segments) and 1 <= n_segments <= T):
        raise OracleError(f"cannot make {n_segments!r} segments out of {T} samples")
    return int(n_segments)


# ---- the search: one pass over the samples, and the way back


class Passed(NamedTuple):
    """The best scores of what is before each place.

    Row k is about k segments before, or about any number of them where there is one row.
    """

    total: Floats
    """Sum of the scores of the samples before t that are not forbidden, (C, T + 1)."""
    clear: Ints
    """The first start of a segment in state c that ends at t without a forbidden sample,
    (C, T + 1)."""
    opened: Floats
    """A segment in state c begins at t: the best score of all before it, less ``total[c, t]``,
    (rows, C, T)."""
    closed: Floats
    """The last segment, in state c, ends at T, (rows, C)."""
    begin: NDArray[np.int32]
    """Where the best segment in state c begins that ends at t; -1 for nowhere, (rows, C, T + 1)."""
    before: NDArray[np.int32]
    """The state before the best segment in state c that begins at t, (rows, C, T)."""


@compiled()
def _search(
    samples: Floats,
    lengths: Floats,
    changes: Floats,
    first: Floats,
    last: Floats,
    bounds: Ints,
    weight: float,
    K: int,
) -> Ints:
    """The best states; -1 each if none are allowed."""
    found = _passed(samples, lengths, changes, first, bounds, weight, K)
    return _traced(found.closed[-1] + last, found.begin, found.before, K)


@inner()
def _passed(
    samples: Floats,
    lengths: Floats,
    changes: Floats,
    first: Floats,
    bounds: Ints,
    weight: float,
    K: int,
) -> Passed:
    (T, C), rows, L = samples.shape, max(K, 1), lengths.shape[1] - 1
    total, clear = _added(samples)
    opened = np.full((rows, C, T), -np.inf)
    for c in range(C):
        opened[0, c, 0] = first[c]
    closed = np.empty((rows, C))
    longest = np.full((rows, C), -1)  # where the best of those that are L samples or longer begins
    begin = np.full((rows, C, T + 1), -1, dtype=np.int32)
    before = np.full((rows, C, T), -1, dtype=np.int32)
    losses = np.zeros(T)
    for t in range(1, T + 1):
        if weight > 0.0:
            _fill_losses(losses, max(0, t - L + 1), t, bounds, weight)
        for k in range(rows):
            for c in range(C):
                reach, known = clear[c, t], longest[k, c]
                if t - L >= reach and (known < reach or opened[k, c, t - L] > opened[k, c, known]):
                    longest[k, c] = known = t - L
                low = max(reach, t - L + 1)
                known = known if known >= reach else -1
                start, value = _best_start(opened[k, c], lengths[c], losses, known, low, t)
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
    return Passed(total, clear, opened, closed, begin, before)


@inner()
def _added(samples: Floats) -> tuple[Floats, Ints]:
    """``total`` and ``clear``."""
    T, C = samples.shape
    total, clear = np.zeros((C, T + 1)), np.zeros((C, T + 1), dtype=np.int64)
    for t in range(T):
        for c in range(C):
            if samples[t, c] == -np.inf:
                total[c, t + 1], clear[c, t + 1] = total[c, t], t + 1
            else:
                total[c, t + 1], clear[c, t + 1] = total[c, t] + samples[t, c], clear[c, t]
    return total, clear


@inner()
def _traced(values: Floats, begin: NDArray[np.int32], before: NDArray[np.int32], K: int) -> Ints:
    """The states on the way to the best value of the last segment."""
    T = before.shape[2]
    path, t, k, c = np.full(T, -1), T, begin.shape[0] - 1, np.argmax(values)
    if values[c] == -np.inf:
        return path
    while t > 0:
        start = begin[k, c, t]
        if start < 0 or c < 0:  # not beyond the arrays, whatever the numbers are
            path[0] = -1
            return path
        for i in range(start, t):
            path[i] = c
        if start > 0:
            c = before[k, c, start]
            k -= min(K, 1)
        t = start
    return path


@inner()
def _best_start(
    opened: Floats, lengths: Floats, losses: Floats, longest: int, low: int, t: int
) -> tuple[int, float]:
    """Where the best segment that ends at t begins, the first of equals; -1 if nowhere.

    ``longest`` is the best start of those with L samples or more, and ``low`` the first of others.
    """
    L = lengths.size - 1
    start, best = -1, -np.inf
    if longest >= 0:
        value = opened[longest] + lengths[L] + losses[longest]
        if value > best:
            start, best = longest, value
    for s in range(low, t):
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
