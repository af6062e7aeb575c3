"""The best segments with states: a semi-Markov dynamic program over changes, states and lengths."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.oracles._segments.states import (
    ANYWHERE,
    NOWHERE,
    Rules,
    search_boundaries,
    search_states,
    search_together,
)
from structsvm.oracles.state_score import StateScore, segments_of
from structsvm.partitions import UNCONSTRAINED, Constraint
from structsvm.partitions.constraint import checked_places
from structsvm.support import Bools, Floats, Ints, is_whole, read_only, shown

LONG = 4
"""A recording of so many times the longest length that is told apart is searched online, which is
faster from there on."""


def best_states(
    score: StateScore, n_segments: int | None = None, constraint: Constraint = UNCONSTRAINED
) -> Ints:
    """The states of the largest score, (T,), in exactly ``n_segments`` segments if that is given.

    Exact, in O(T L C + T C^2) operations and O(T C) numbers, both times ``n_segments`` where it is
    given; with a truth, L is T. Long recordings of which nothing is known take a tenth of that, by
    the segments alone that may be the best.

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
    ends = score.first, score.last
    if score.truth is None and boundaries is None and not K and T > LONG * lengths.shape[1]:
        path = _path_of_running(score)
    else:
        where = _places(boundaries, T)
        path = search_states(
            *(score.samples, lengths, score.changes, score.late, *where),
            *(*ends, bounds, weight, K),
        )
    if path[0] < 0:
        into = "" if n_segments is None else f" into {n_segments} segments"
        raise OracleError(
            f"{T} samples have no segmentation{into} with the lengths and changes of states that "
            "are allowed: allow more of them, or ask for another number of segments"
        )
    return np.asarray(path)


def _path_of_running(score: StateScore) -> Ints:
    """The same by the search that takes samples as they come; -1 each if none are allowed."""
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
    score, ahead, back, K = _both_ways(score, n_segments, constraint)
    first, stop = _stretches(begins, ends, len(score.samples))
    return np.asarray(search_together(ahead, back, score.first, score.last, K, first, stop))


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
    score, ahead, back, K = _both_ways(score, n_segments, constraint)
    at = checked_places(places, len(score.samples))
    best = search_boundaries(ahead, back, score.first, score.last, K)
    if best[0] == -np.inf:
        raise OracleError("no segments with states keep what is forbidden: leave some of it out")
    return np.asarray(np.maximum(best[0] - best[at], 0.0))


def _both_ways(
    score: StateScore, n_segments: int | None, constraint: Constraint
) -> tuple[StateScore, Rules, Rules, int]:
    """The question, as a pass over the recording and as one backwards."""
    score, boundaries, K = _question(score, n_segments, constraint)
    if score.truth is not None:
        raise OracleError("what else is as good is asked of a score without a truth: leave it out")
    T = len(score.samples)
    ahead = Rules(
        *(score.samples, score.lengths, score.changes, score.late), *_places(boundaries, T)
    )
    back = Rules(
        read_only(np.ascontiguousarray(score.samples[::-1])),
        score.lengths,
        read_only(np.ascontiguousarray(score.changes.T)),
        read_only(np.ascontiguousarray(-score.late.T)),
        *_places(boundaries and boundaries.reversed(), T),
    )
    return score, ahead, back, K


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
    without, with_it = np.split(
        best_together(score, begins, stops, n_segments, constraint), [low.size]
    )
    own = np.arange(of.size), of
    best = with_it[own].max()
    with_it[own] = -np.inf
    losses = best - without.max(axis=1), best - with_it.max(axis=1)
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


def _places(boundaries: Boundaries | None, T: int) -> tuple[Ints, Bools]:
    """The first start of a segment that ends at each place, and whether one may, (T + 1,).

    Empty arrays stand for no rule: segments may begin and end anywhere.
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
