"""The best segments with states: a semi-Markov dynamic program over changes, states and lengths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.data.missing import LARGEST
from structsvm.errors import OracleError
from structsvm.oracles.sequential import Boundaries
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss, runs_of
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, faults_of_truth
from structsvm.support.arrays import Bools, Floats, Ints
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
        given = self.samples, self.lengths, self.changes, self.first, self.last
        arrays = [_as_scores(name, one) for name, one in zip(ARRAYS, given, strict=True)]
        vars(self).update(zip(ARRAYS, arrays, strict=True))
        samples, lengths, changes, first, last = arrays
        if samples.ndim != 2 or samples.size == 0:
            raise OracleError(f"samples must have shape (T, C), got {samples.shape}")
        C = samples.shape[1]
        if lengths.ndim != 2 or lengths.shape[0] != C or lengths.shape[1] < 2:
            raise OracleError(
                f"lengths must have shape ({C}, L + 1) with L >= 1, got {lengths.shape}"
            )
        if changes.shape != (C, C):
            raise OracleError(f"changes must have shape {(C, C)}, got {changes.shape}")
        if first.shape != (C,) or last.shape != (C,):
            raise OracleError(
                f"first and last must have shape {(C,)}, got {first.shape} and {last.shape}"
            )
        fault = _first_fault(samples, lengths, changes, first, last, LARGEST)
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

    def lasting(self, shortest: int = 1, longest: int | None = None) -> StateScore:
        """The same where no segment has fewer or more samples than these.

        A recording that is shorter may be one segment.

        Raises
        ------
        OracleError
            When they are not integers of 1 or more, the first at most the second.
        """
        fits = is_whole(shortest) and shortest >= 1
        if not (fits and (longest is None or (is_whole(longest) and longest >= shortest))):
            raise OracleError(f"segments cannot last {shortest!r} samples to {longest!r}")
        T = len(self.samples)
        least = min(shortest, T)
        most = T if longest is None else min(longest, T)
        more = max(0, most + 2 - self.lengths.shape[1])
        lengths = np.pad(self.lengths, ((0, 0), (0, more)), mode="edge")
        lengths[:, :least] = -np.inf
        if most < T:
            lengths[:, most + 1 :] = -np.inf
        return replace(self, lengths=lengths)

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
        found = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise OracleError(f"{name} must be an array of numbers, got {shown(given)}") from error
    found.setflags(write=False)
    return found


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


def best_states(
    score: StateScore, n_segments: int | None = None, constraint: Constraint = UNCONSTRAINED
) -> Ints:
    """The states of the largest score, (T,), in exactly ``n_segments`` segments if that is given.

    Exact, in O(T L C + T C^2) operations and O(T C) numbers, both times ``n_segments`` where it is
    given; with a truth, L is T.

    Parameters
    ----------
    constraint : Constraint
        Where segments must begin, must not, or do so at least once, and states that are known.

    Raises
    ------
    OracleError
        When no segments keep what is forbidden, ``n_segments`` is none of 1, ..., T, or the
        constraint is about links, or about regions with exactly so many changes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_states
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_states(score).tolist(), best_states(score, n_segments=2).tolist()
    ([0, 0, 0, 0], [0, 0, 1, 1])
    """
    score, boundaries, K = _question(score, n_segments, constraint)
    T = len(score.samples)
    lengths = score.lengths
    bounds = NOWHERE
    weight = 0.0
    if score.truth is not None:  # the loss of a long segment depends on where it begins
        bounds = score.truth.boundaries
        weight = float(score.truth_weight)
        more = max(0, T + 2 - lengths.shape[1])
        lengths = read_only(np.pad(lengths, ((0, 0), (0, more)), mode="edge"))
    where = _places(boundaries, T)
    path = _search(
        score.samples, lengths, score.changes, *where, score.first, score.last, bounds, weight, K
    )
    if path[0] < 0:
        into = "" if n_segments is None else f" into {n_segments} segments"
        raise OracleError(
            f"{T} samples have no segmentation{into} with the lengths and changes of states that "
            "are allowed: allow more of them, or ask for another number of segments"
        )
    return np.asarray(path)


def best_together(
    score: StateScore,
    begins: Ints,
    ends: Ints,
    n_segments: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
) -> Floats:
    """The best score with the samples from ``begins[i]`` to ``ends[i] - 1`` in one segment, (n, C).

    By the state of that segment; minus infinity where none is allowed. One forward and one backward
    pass of the search give what is before and after every segment.

    Raises
    ------
    OracleError
        As :func:`best_states`, if there is a truth, or samples are none of the recording.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_together
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_together(score, np.array([0, 2]), np.array([4, 4])).round(1).tolist()
    [[3.4, 0.5], [3.4, 1.5]]
    """
    score, boundaries, K = _question(score, n_segments, constraint)
    if score.truth is not None:
        raise OracleError("what is together is asked of a score without a truth: leave it out")
    T = len(score.samples)
    first, stop = _stretches(begins, ends, T)
    ahead = Rules(score.samples, score.lengths, score.changes, *_places(boundaries, T))
    back = Rules(
        read_only(np.ascontiguousarray(score.samples[::-1])),
        score.lengths,
        read_only(np.ascontiguousarray(score.changes.T)),
        *_places(boundaries and boundaries.reversed(), T),
    )
    return np.asarray(_together(ahead, back, score.first, score.last, K, first, stop))


def _stretches(begins: Any, ends: Any, n_samples: int) -> tuple[Ints, Ints]:
    """Where stretches of samples begin and end, checked."""
    first = np.asarray(begins)
    stop = np.asarray(ends)
    if (
        first.ndim != 1
        or first.shape != stop.shape
        or {first.dtype.kind, stop.dtype.kind} - {*"iu"}
    ):
        raise OracleError("begins and ends must be vectors of as many integers")
    if not ((first >= 0) & (first < stop) & (stop <= n_samples)).all():
        raise OracleError(f"begins and ends must be those of samples, from 0 to {n_samples}")
    return first.astype(np.int64), stop.astype(np.int64)


@dataclass(frozen=True, eq=False)
class StateMargins:
    """The best states of a recording, and how much is lost without each of their segments.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, state_margins
    >>> samples = np.repeat([[1.0, 0.0], [0.0, 3.0]], 2, axis=0)
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> margins = state_margins(score, tolerance=1)
    >>> type(margins).__name__, margins.boundaries.tolist()
    ('StateMargins', [1.0])
    """

    states: Ints
    """The state of each sample, (T,)."""
    boundaries: Floats
    """What the best segmentation loses that has no boundary near each of these, (K - 1,)."""
    segments: Floats
    """What the best one loses that has all samples of each segment in one of another state, (K,).
    """


def state_margins(
    score: StateScore,
    n_segments: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
    tolerance: int = 0,
) -> StateMargins:
    """The best states, and by how much the best ones without each boundary or state are worse.

    Exact: 0 where another segmentation is as good, and infinite where none is left.

    Parameters
    ----------
    tolerance : int
        A boundary within so many samples of one is as good as that one.

    Raises
    ------
    OracleError
        As :func:`best_together`, or if ``tolerance`` is none of 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, state_margins
    >>> samples = np.repeat([[1.0, 0.0], [0.0, 3.0]], 2, axis=0)
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> margins = state_margins(score)
    >>> margins.states.tolist(), margins.boundaries.tolist(), margins.segments.tolist()
    ([0, 0, 1, 1], [1.0], [1.0, 5.0])
    """
    if not (is_whole(tolerance) and tolerance >= 0):
        raise OracleError(f"tolerance must be an integer >= 0, got {tolerance!r}")
    states = best_states(score, n_segments, constraint)
    T = states.size
    (starts, ends, of) = segments_of(states)
    low = np.maximum(starts[1:] - tolerance, 1)
    high = np.minimum(starts[1:] + tolerance, T - 1)
    begins = np.concatenate([low - 1, starts])
    stops = np.concatenate([high + 1, ends])
    without, held = np.split(
        best_together(score, begins, stops, n_segments, constraint), [low.size]
    )
    own = np.arange(of.size), of
    best = held[own].max()
    held[own] = -np.inf
    losses = best - without.max(axis=1), best - held.max(axis=1)
    return StateMargins(states, *(np.maximum(loss, 0.0) for loss in losses))


def _question(
    score: Any, n_segments: int | None, constraint: Constraint
) -> tuple[StateScore, Boundaries | None, int]:
    """The score with the states that are known, where boundaries may be, and how many segments.

    None for boundaries anywhere, 0 for any number; what cannot be asked is refused.
    """
    if not isinstance(score, StateScore):
        raise OracleError(f"the score is {shown(score)}: give a StateScore")
    T = len(score.samples)
    if n_segments is not None and not (is_whole(n_segments) and 1 <= n_segments <= T):
        raise OracleError(f"cannot make {n_segments!r} segments out of {T} samples")
    if constraint is UNCONSTRAINED:
        return score, None, int(n_segments or 0)
    given: Any = constraint
    if not isinstance(given, Constraint):
        raise OracleError(f"the constraint is {shown(given)}: give a Constraint")
    constraint = constraint.with_clusters(n_segments)
    constraint.validate(T)
    counted = [region for region in constraint.regions if region.changes and not region.or_more]
    if constraint.has_links or counted:
        what = str(counted[0]) if counted else "links"
        raise OracleError(
            f"{what}: segments with states keep boundaries that are forced or forbidden, and "
            "regions without a change or with at least one"
        )
    if constraint.states:
        score = score.knowing(np.array(constraint.states))
    return score, Boundaries.of(constraint, T), int(constraint.n_clusters or 0)


NOWHERE = read_only(np.zeros(0, dtype=np.int64))
ANYWHERE = read_only(np.zeros(0, dtype=np.bool_))


def _places(boundaries: Boundaries | None, T: int) -> tuple[Ints, Bools]:
    """The first start of a segment that ends at each place, and whether one may, (T + 1,).

    Nothing of both where they may be anywhere.
    """
    if boundaries is None:
        return NOWHERE, ANYWHERE
    may_end = np.ones(T + 1, dtype=np.bool_)
    knots = boundaries.knots
    required = knots[boundaries.required]
    everywhere = np.arange(T + 1)
    earliest = required[np.maximum(np.searchsorted(required, everywhere) - 1, 0)]
    for a, b in boundaries.somewhere:
        earliest[b:] = np.maximum(earliest[b:], a)
    may_end[np.setdiff1d(everywhere, knots)] = False
    return read_only(earliest), read_only(may_end)


# ---- the search: one pass over the samples, and the way back


class Rules(NamedTuple):
    """What a pass over a recording goes by, but for how it begins and ends."""

    samples: Floats
    lengths: Floats
    changes: Floats
    earliest: Ints
    may_end: Bools


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
    earliest: Ints,
    may_end: Bools,
    first: Floats,
    last: Floats,
    bounds: Ints,
    weight: float,
    K: int,
) -> Ints:
    """The best states; -1 each if none are allowed."""
    rules = Rules(samples, lengths, changes, earliest, may_end)
    found = _passed(rules, first, bounds, weight, K)
    return _traced(found.closed[-1] + last, found.begin, found.before, K)


@inner()
def _passed(rules: Rules, first: Floats, bounds: Ints, weight: float, K: int) -> Passed:
    samples = rules.samples
    lengths = rules.lengths
    changes = rules.changes
    may_end = rules.may_end
    (T, C) = samples.shape
    rows = max(K, 1)
    L = lengths.shape[1] - 1
    total, clear = _added(samples, rules.earliest)
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
        ends = may_end.size == 0 or may_end[t]
        for k in range(rows):
            for c in range(C):
                reach = clear[c, t]
                known = longest[k, c]
                if t - L >= reach and (known < reach or opened[k, c, t - L] > opened[k, c, known]):
                    longest[k, c] = known = t - L
                low = max(reach, t - L + 1) if ends else t
                known = known if known >= reach and ends else -1
                start, value = _best_start(opened[k, c], lengths[c], losses, known, low, t)
                begin[k, c, t] = start
                closed[k, c] = value + total[c, t]
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
def _added(samples: Floats, earliest: Ints) -> tuple[Floats, Ints]:
    """``total`` and ``clear``."""
    T, C = samples.shape
    total = np.zeros((C, T + 1))
    clear = np.zeros((C, T + 1), dtype=np.int64)
    for t in range(1, T + 1):
        for c in range(C):
            x = samples[t - 1, c]
            if x == -np.inf:
                total[c, t] = total[c, t - 1]
                clear[c, t] = t
            else:
                total[c, t] = total[c, t - 1] + x
                clear[c, t] = max(clear[c, t - 1], earliest[t] if earliest.size > 0 else 0)
    return total, clear


@compiled()
def _together(
    ahead: Rules, back: Rules, first: Floats, last: Floats, K: int, begins: Ints, ends: Ints
) -> Floats:
    """What :func:`best_together` finds."""
    there = _passed(ahead, first, NOWHERE, 0.0, K)
    after = _passed(back, last, NOWHERE, 0.0, K)
    (rows, C, T) = there.opened.shape
    best = np.full((begins.size, there.opened.shape[1]), -np.inf)
    for i in range(begins.size):
        for c in range(C):
            for k in range(rows):
                value = _best_around(
                    there.opened[k, c],
                    after.opened[rows - 1 - k, c],
                    ahead.lengths[c],
                    there.clear[c],
                    begins[i],
                    ends[i],
                )
                best[i, c] = max(best[i, c], value + there.total[c, T])
    return best


@inner()
def _best_around(
    opened: Floats, after: Floats, lengths: Floats, clear: Ints, begin: int, end: int
) -> float:
    """The best segment that begins at ``begin`` or before, and ends at ``end`` or after.

    ``after[T - e]`` is what is behind the place e as ``opened[s]`` is what is before s.
    """
    T = opened.size
    L = lengths.size - 1
    # of the starts before n_seen
    best = -np.inf
    longest = -1
    n_seen = 0
    for e in range(end, T + 1):
        start = clear[e]
        if start > begin:
            break
        if longest < start:
            longest = -1
            n_seen = start
        while n_seen <= min(begin, e - L):
            if longest < 0 or opened[n_seen] > opened[longest]:
                longest = n_seen
            n_seen += 1
        value = -np.inf if longest < 0 else opened[longest] + lengths[L]
        for s in range(max(start, e - L + 1), begin + 1):
            value = max(value, opened[s] + lengths[e - s])
        best = max(best, value + after[T - e])
    return best


@inner()
def _traced(values: Floats, begin: NDArray[np.int32], before: NDArray[np.int32], K: int) -> Ints:
    """The states on the way to the best value of the last segment."""
    T = before.shape[2]
    path = np.full(T, -1)
    t = T
    k = begin.shape[0] - 1
    c = np.argmax(values)
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
    start = -1
    best = -np.inf
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
