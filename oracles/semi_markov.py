"""The best segments with states: a semi-Markov dynamic program over changes, states and lengths."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.oracles._segments.states import (
    ANYWHERE,
    NOWHERE,
    Scores,
    search_boundaries,
    search_states,
    search_together,
)
from structsvm.oracles.state_score import StateScore, segments_of
from structsvm.partitions import UNCONSTRAINED, Constraint
from structsvm.partitions.constraint import checked_places
from structsvm.support import Floats, Ints, is_whole, read_only, shown

LONG = 100_000
"""Recordings with more samples are searched online, if nothing is prescribed: in less memory, and
a few thousand samples at a time, so that Ctrl-C is heard."""


def best_states(
    score: StateScore, n_segments: int | None = None, constraint: Constraint = UNCONSTRAINED
) -> Ints:
    """The states of the largest score, (T,), in exactly ``n_segments`` segments if that is given.

    Exact, in O(T L C + T C^2) operations at most and O(T C) numbers, both times ``n_segments``
    where it is given; with a truth, L is T. If segments are long it takes a fraction of this,
    because starts that cannot be the best are passed over, 32 at a time. More than 100,000 samples
    without a constraint take less memory.

    Parameters
    ----------
    constraint : Constraint
        Forced and forbidden boundaries, regions with no change or at least one, and known states.

    Raises
    ------
    OracleError
        When no labelling is allowed, ``n_segments`` is none of 1, ..., T, or the constraint is
        about links, or about regions with exactly so many changes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_states
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_states(score).tolist(), best_states(score, n_segments=2).tolist()
    ([0, 0, 0, 0], [0, 0, 1, 1])
    """
    score, boundaries, K = _checked_question(score, n_segments, constraint)
    T = len(score.samples)
    scores = _scores(score, boundaries)
    bounds = NOWHERE
    weight = 0.0
    if score.truth is not None:  # the loss of a long segment depends on where it begins
        bounds = score.truth.boundaries
        weight = float(score.truth_weight)
        more = max(0, T + 2 - score.lengths.shape[1])
        lengths = np.pad(score.lengths, ((0, 0), (0, more)), mode="edge")
        scores = scores._replace(lengths=read_only(lengths))
    if T > LONG and score.truth is None and boundaries is None and not K:
        path = _searched_online(score)
    else:
        path = search_states(scores, score.first, score.last, bounds, weight, K)
    if path[0] < 0:
        into = f" into {K} segments" if K else ""
        raise OracleError(
            f"{T} samples have no segmentation{into} with the lengths and changes of states that "
            "are allowed: allow more of them, or ask for another number of segments"
        )
    return np.asarray(path)


def _searched_online(score: StateScore) -> Ints:
    """The best states by the online search; -1 each if none are allowed."""
    search = OnlineSearch.of_states(score)
    search.push(np.array(score.samples))
    search.end()
    segments = search.segments()
    starts = [start for start, _ in segments]
    states = [state for _, state in segments] or [-1]
    return np.repeat(states, np.diff([*(starts or [0]), len(score.samples)]))


def best_together(
    score: StateScore,
    begins: Ints,
    ends: Ints,
    n_segments: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
) -> Floats:
    """The best score with the samples from ``begins[i]`` to ``ends[i] - 1`` in one segment, (n, C).

    The columns are the states of that segment, minus infinity where it is not allowed. One forward
    and one backward pass give the best score before and after every segment.

    Raises
    ------
    OracleError
        As :func:`best_states`, if there is a truth, or if begins and ends are not places of the
        recording.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, best_together
    >>> samples = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.5], [1.0, 0.0]])
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> best_together(score, np.array([0, 2]), np.array([4, 4])).round(1).tolist()
    [[3.4, 0.5], [3.4, 1.5]]
    """
    score, forwards, backwards, K = _both_ways(score, n_segments, constraint)
    first, stop = _checked_stretches(begins, ends, len(score.samples))
    best = search_together(forwards, backwards, score.first, score.last, K, first, stop)
    return np.asarray(best)


def losses_with(
    score: StateScore,
    places: Ints,
    n_segments: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
) -> Floats:
    """By how much the best states with a boundary at each of n places are worse, (n,).

    Exact: 0 at the boundaries of the best states, and infinite where no segment may begin. Places
    are from 1 to T - 1.

    Raises
    ------
    OracleError
        As :func:`best_together`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import StateScore, losses_with
    >>> samples = np.repeat([[1.0, 0.0], [0.0, 3.0]], 2, axis=0)
    >>> score = StateScore(samples, np.zeros((2, 5)), np.full((2, 2), -1.0), *np.zeros((2, 2)))
    >>> losses_with(score, np.arange(1, 4)).tolist()
    [1.0, 0.0, 3.0]
    """
    score, forwards, backwards, K = _both_ways(score, n_segments, constraint)
    at = checked_places(places, len(score.samples))
    best = search_boundaries(forwards, backwards, score.first, score.last, K)
    if best[0] == -np.inf:
        raise OracleError("no segments with states keep what is forbidden: leave some of it out")
    return np.asarray(np.maximum(best[0] - best[at], 0.0))


def _both_ways(
    score: StateScore, n_segments: int | None, constraint: Constraint
) -> tuple[StateScore, Scores, Scores, int]:
    """The checked question: its score, that of the recording and of the reversed one, and K."""
    score, boundaries, K = _checked_question(score, n_segments, constraint)
    if score.truth is not None:
        raise OracleError("what else is as good is asked of a score without a truth: leave it out")
    reversed_score = replace(
        score, samples=score.samples[::-1], changes=score.changes.T, late=-score.late.T
    )
    backwards = _scores(reversed_score, boundaries and boundaries.reversed())
    return score, _scores(score, boundaries), backwards, K


def _checked_stretches(begins: Any, ends: Any, n_samples: int) -> tuple[Ints, Ints]:
    """The starts and ends of stretches of samples, as integers."""
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
    """By how much the best segmentation without a boundary near each one is worse, (K - 1,)."""
    segments: Floats
    """By how much the best segmentation in which the samples of a segment are together in another
    state is worse, (K,)."""


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
        A segmentation without a boundary has none within so many samples of it.

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
    without, with_it = np.split(
        best_together(score, begins, stops, n_segments, constraint), [low.size]
    )
    own = np.arange(of.size), of
    best = with_it[own].max()
    with_it[own] = -np.inf
    losses = best - without.max(axis=1), best - with_it.max(axis=1)
    return StateMargins(states, *(np.maximum(loss, 0.0) for loss in losses))


def _checked_question(
    score: Any, n_segments: int | None, constraint: Constraint
) -> tuple[StateScore, Boundaries | None, int]:
    """The score with known states, the boundaries (None: anywhere), and the number K (0: any)."""
    if not isinstance(score, StateScore):
        raise OracleError(f"the score is {shown(score)}: give a StateScore")
    T = len(score.samples)
    rules: Any = constraint
    if not isinstance(rules, Constraint):
        raise OracleError(f"the constraint is {shown(rules)}: give a Constraint")
    constraint = constraint.with_clusters(n_segments)
    K = constraint.n_clusters
    if K is not None and not (is_whole(K) and 1 <= K <= T):
        raise OracleError(f"cannot make {K!r} segments out of {T} samples")
    if constraint is not UNCONSTRAINED:
        constraint.validate(T)
    if constraint.kinds <= {"n_clusters"}:
        return score, None, int(K or 0)
    counted = [region for region in constraint.regions if region.changes and not region.or_more]
    if constraint.has_links or counted:
        what = str(counted[0]) if counted else "links"
        raise OracleError(
            f"{what}: segments with states keep boundaries that are forced or forbidden, and "
            "regions without a change or with at least one"
        )
    if constraint.states:
        score = score.knowing(np.array(constraint.states))
    return score, Boundaries.of(constraint, T), int(K or 0)


def _scores(score: StateScore, boundaries: Boundaries | None) -> Scores:
    """A score and where boundaries may be, as compiled searches take them."""
    earliest = NOWHERE
    may_end = ANYWHERE
    if boundaries is not None:
        T = len(score.samples)
        earliest = np.zeros(T + 1, dtype=np.int64)
        may_end = np.zeros(T + 1, dtype=np.bool_)
        earliest[boundaries.knots] = boundaries.earliest()
        may_end[boundaries.knots] = True
    arrays = score.samples, score.lengths, score.changes, score.late, earliest, may_end
    return Scores(*map(read_only, arrays))
