"""The best segmentation whose segments keep a rule, exactly, by dynamic programming.

    best(t) = max over allowed (s, t) of best(s) + score(s, t)

``score(s, t) = sum_j sign_j |sum of Z_j over s..t-1|^2 / (t - s) - c overlap(s, t) + d``, where the
truth enters through its overlap ``sum_k |C_k n (s, t)|^2 / (|C_k| (t - s))``: only the first and
the last true segment that a segment meets are met in part, so prefix sums of the sizes give it at
once. Time O(n r) for n allowed segments of T samples and rank r, times K for K segments; memory
O(T (r + K)), and O(n) more unless the starts that go with an end are neighbours.

With an open number of segments, most starts need not be looked at again (Killick, Fearnhead and
Eckley, 2012). Cutting a segment in two adds a square to what the samples contribute, and costs at
most c of what the truth does, because the eigenvalues of M_i are 0 and 1. So once

    best(s) + score(s, t) + c <= best(t),

t is as good a start as s for every end for which t is allowed, and s is left out where it stays so:
for rules whose starts are neighbours that move on with the end, such as lengths from a to b.

Where values are missing, the score of a column is divided by the number of those there are. Cutting
a segment then still adds a square: the sum of a part without any value is 0.

Regions that count changes cut the program in layers, as for all segments, and every allowed start
is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from structsvm.errors import OracleError, PluginError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.counted import counted_path
from structsvm.oracles._segments.prefixes import Allowed, Prefixes, add_truth, squares
from structsvm.oracles._segments.rounding import rounding_of
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.contract import asked
from structsvm.support.interrupts import pieces, uninterrupted
from structsvm.support.plain import read_only, shown

Rule = Callable[[Any, Any, int], Any]
ADVICE = {
    "truth value of an array": "start is an array: combine conditions with & and |, not with if, "
    "and, or",
    "read-only": "start is not written to: copy it first",
}
"""What to do about an error of a rule, by what numpy says."""

ROUNDING = 1e-11
"""A start is left out only where it is worse by this part of the scatter, and not by rounding."""


DOUBTFUL = 1e-6
"""What rounding may be of the price of a segment before the answer says so: what is less is in what
bounds of the objective allow for their sums."""

KNOWN = ", with changes where they are known to be"


@dataclass(frozen=True)
class AllowedSegmentsOracle(Oracle):
    """Maximises ``Tr(A M)`` over the segmentations whose segments obey a rule.

    Parameters
    ----------
    rule : callable
        ``rule(starts, end, n_samples)`` says which of the segments ``start, ..., end - 1`` are
        allowed; ``starts`` is an array of integers, and the answer as many truth values. It is
        asked once for a number of samples, and must be hashable: a function, or a method of a
        frozen dataclass.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import AllowedSegmentsOracle
    >>> from structsvm.partitions import TraceObjective
    >>> at_least_two = lambda starts, end, n: end - starts >= 2
    >>> Z = np.array([[0.0], [9.0], [0.0], [0.0]])
    >>> answer = AllowedSegmentsOracle(at_least_two).maximize(TraceObjective(Z, shift=-1.0))
    >>> answer.y.breakpoints
    [2, 4]
    """

    takes = frozenset({"n_clusters", "boundaries", "regions"})
    takes_gaps = True

    rule: Rule

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the segmentations that rule and ``constraint`` allow.

        Raises
        ------
        OracleError
            When nothing is allowed, or when the truth is no segmentation.
        """
        T = objective.n_samples
        constraint.validate(T)
        if constraint.has_links:
            raise OracleError("links belong to clusterings; segments have boundaries")
        scores = Prefixes.of(objective)
        found = _path(scores, objective.shift, _allowed(self.rule, T), constraint, T)
        if found is None:
            K = constraint.n_clusters
            number = "no segmentation" if K is None else f"no segmentation into {K} segments"
            known = "" if constraint == replace(UNCONSTRAINED, n_clusters=K) else KNOWN
            allowed = f"{_called(self.rule)} allows{known}"
            raise OracleError(
                f"{number} of {T} samples has only segments that {allowed}: allow more"
            )
        y = EquivalenceMatrix.from_breakpoints(found[1:])
        value = objective.value(y)
        return Argmax(y, value, value + rounding_of(objective, value, DOUBTFUL), Quality.EXACT)


def _path(
    scores: Prefixes, shift: float, segments: Allowed, constraint: Constraint, T: int
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T; None if there is none."""
    K, boundaries = constraint.n_clusters, Boundaries.of(constraint, T)
    if boundaries.counted or boundaries.somewhere:
        return counted_path(scores, shift, segments, boundaries, K)
    allowed, forced = constraint.boundary_masks(T)
    if K is None and segments.move_on and (scores.signs >= 0).all():
        return _pruned_path(scores, shift, segments, allowed, forced)
    return _layered_path(scores, shift, segments, allowed, forced, K)


@lru_cache(maxsize=64)
def _allowed(rule: Rule, T: int) -> Allowed:
    every = read_only(np.arange(T, dtype=np.int64))
    _check_one_by_one(rule, every)
    found = [every[:0]]
    low, high = np.zeros(T + 1, dtype=np.int64), np.full(T + 1, -1, dtype=np.int64)
    neighbours = True
    for end in range(1, T + 1):
        kept = rule_says(rule, every[:end], end, T)
        n = int(np.count_nonzero(kept))
        if n:
            low[end], high[end] = int(kept.argmax()), end - 1 - int(kept[::-1].argmax())
        if neighbours and n == high[end] - low[end] + 1:
            continue
        if neighbours:  # the first end whose starts are none: those before it were not written down
            neighbours = False
            found += [every[low[t] : high[t] + 1] for t in range(1, end)]
        found.append(every[:end][kept])
    if neighbours:
        some = high >= low
        move_on = bool((np.diff(low[some]) >= 0).all() and (np.diff(high[some]) >= 0).all())
        return Allowed(low, high, np.zeros(T + 2, dtype=np.int64), every[:0], move_on)
    firsts = np.concatenate([[0], np.cumsum([len(starts) for starts in found])])
    return Allowed(low, high, firsts.astype(np.int64), np.concatenate(found), False)


def rule_says(rule: Rule, starts: Ints, end: int, n_samples: int) -> Bools:
    """Which segments a rule allows, (n,)."""
    owner = getattr(rule, "__self__", None)
    called = getattr(rule, "__name__", type(rule).__name__)
    named = called if owner is None else f"{type(owner).__name__}.{called}"
    with asked(rule if owner is None else owner, called), _advised():
        given = rule(starts, end, n_samples)
    found = np.asarray(given)
    if found.dtype != np.bool_ or found.shape not in ((), starts.shape):
        raise PluginError(
            f"{named} returned {shown(given)} for an array of {starts.size} starts: return a truth "
            "value for each, such as (end - start >= 4) & (start % 2 == 0), or one for all of them"
        )
    return np.broadcast_to(found, starts.shape)


@contextmanager
def _advised() -> Iterator[None]:
    """Say what to do about the errors of those who take the array of starts for a number."""
    try:
        yield
    except ValueError as error:
        advice = [said for sign, said in ADVICE.items() if sign in str(error)]
        if advice:
            error.args = (f"{error}; {advice[0]}",)
        raise


def _check_one_by_one(rule: Rule, every: Ints) -> None:
    """Refuse a rule whose answer about one start depends on which others it is asked about."""
    T = every.size
    together = rule_says(rule, every, T, T)
    for start in sorted({0, T // 2, T - 1}):
        if rule_says(rule, every[start : start + 1], T, T)[0] != together[start]:
            raise PluginError(
                f"{_called(rule)} allows the segment {start}..{T} or not, depending on the other "
                "starts that it is asked about: its answer must hold an entry for each start"
            )


def _pruned_path(
    scores: Prefixes, shift: float, segments: Allowed, allowed: Bools, forced: Bools
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T; None if there is none."""
    rank, T = scores.rank, scores.sums.shape[1] - 1
    best, last = np.full(T + 1, -np.inf), np.full(T + 1, -1, dtype=np.int64)
    best[0] = 0.0
    alive, columns = np.empty(T + 1, dtype=np.int64), np.empty((len(scores.sums), T + 1))
    gap = scores.weight + ROUNDING * (scores.size + scores.weight)
    state = np.zeros(3, dtype=np.int64)
    for begin, end in pieces(1, T + 1, 2.0 * T * (rank + 4)):
        _extend_pruned(
            scores.sums, scores.signs, scores.sizes, scores.home, scores.ends, scores.weight,
            shift, gap, segments.low, segments.high, allowed, forced, best, last, alive, columns,
            state, begin, end,
        )  # fmt: skip
    path = [T]
    while path[-1] > 0:
        path.append(int(last[path[-1]]))
    return None if path[-1] < 0 else np.array(path[::-1], dtype=np.int64)


def _layered_path(
    scores: Prefixes, shift: float, segments: Allowed, allowed: Bools, forced: Bools, K: int | None
) -> Ints | None:
    """The boundaries of the best segmentation, into K segments if K is given; None for none."""
    rank, T = scores.rank, scores.sums.shape[1] - 1
    layers = 1 if K is None else K
    best = np.full((layers + 1, T + 1), -np.inf)
    last = np.full((layers + 1, T + 1), -1, dtype=np.int64)
    best[0, 0] = 0.0
    if K is None:
        best[1, 0] = 0.0
    for begin, end in pieces(1, T + 1, T * (rank + 4.0 + layers)):
        _extend_layers(
            scores.sums, scores.signs, scores.sizes, scores.home, scores.ends, scores.weight,
            shift, segments.low, segments.high, segments.firsts, segments.starts, allowed, forced,
            K is None, best, last, begin, end,
        )  # fmt: skip
    path, k = [T], layers
    while path[-1] > 0:
        path.append(int(last[k, path[-1]]))
        k -= K is not None
    return None if path[-1] < 0 else np.array(path[::-1], dtype=np.int64)


@uninterrupted
@compiled()
def _extend_pruned(
    sums: Floats,
    signs: Floats,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    shift: float,
    gap: float,
    low: Ints,
    high: Ints,
    allowed: Bools,
    forced: Bools,
    best: Floats,
    last: Ints,
    alive: Ints,
    columns: Floats,
    state: Ints,
    begin: int,
    end: int,
) -> None:  # pragma: no cover (compiled)
    """Best values of the ends ``begin, ..., end - 1``, and the starts they go with."""
    n, upcoming, latest = state[0], state[1], state[2]
    scores = np.empty(alive.size)
    for t in range(begin, end):
        if allowed[t] and high[t] >= low[t]:
            first = max(low[t], latest)
            n = _drop_before(first, n, alive, columns)
            for new in range(max(upcoming, first), high[t] + 1):
                if not np.isfinite(best[new]):
                    continue
                # Whoever is clearly worse than a cut at the new start is left out from here on.
                squares(new, alive[:n], 0, columns, sums, signs, scores)
                add_truth(new, alive[:n], sizes, home, ends, weight, scores)
                n = _drop_worse(best, best[new] - gap, scores, n, alive, columns)
                alive[n] = new
                for j in range(sums.shape[0]):
                    columns[j, n] = sums[j, new]
                n += 1
            upcoming = max(upcoming, high[t] + 1)
            squares(t, alive[:n], 0, columns, sums, signs, scores)
            add_truth(t, alive[:n], sizes, home, ends, weight, scores)
            most, where = _best_start(best, scores, n, alive)
            best[t], last[t] = most + shift, where
        if forced[t]:
            latest = t
    state[0], state[1], state[2] = n, upcoming, latest


@inner()
def _drop_before(
    first: int, n: int, alive: Ints, columns: Floats
) -> int:  # pragma: no cover (compiled)
    """Leave out the starts below ``first``; how many of n are left."""
    gone = 0
    while gone < n and alive[gone] < first:
        gone += 1
    if gone:
        for i in range(gone, n):
            alive[i - gone] = alive[i]
            for j in range(columns.shape[0]):
                columns[j, i - gone] = columns[j, i]
    return n - gone


@inner()
def _drop_worse(
    best: Floats, least: float, scores: Floats, n: int, alive: Ints, columns: Floats
) -> int:  # pragma: no cover (compiled)
    """Leave out the starts from which the value is at most ``least``; how many of n are left."""
    kept = 0
    for i in range(n):
        if best[alive[i]] + scores[i] > least:
            if kept < i:
                alive[kept] = alive[i]
                for j in range(columns.shape[0]):
                    columns[j, kept] = columns[j, i]
            kept += 1
    return kept


@inner()
def _best_start(
    best: Floats, scores: Floats, n: int, alive: Ints
) -> tuple[float, int]:  # pragma: no cover (compiled)
    """The largest value, and the start it goes with; -1 if there is none."""
    most, where = -np.inf, -1
    for i in range(n):
        value = best[alive[i]] + scores[i]
        if value > most:
            most, where = value, alive[i]
    return most, where


@uninterrupted
@compiled()
def _extend_layers(
    sums: Floats,
    signs: Floats,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    shift: float,
    low: Ints,
    high: Ints,
    firsts: Ints,
    every: Ints,
    allowed: Bools,
    forced: Bools,
    open_count: bool,
    best: Floats,
    last: Ints,
    begin: int,
    end: int,
) -> None:  # pragma: no cover (compiled)
    """Best values of the ends ``begin, ..., end - 1`` in every layer, and their starts."""
    n_rows, T = sums.shape[0], sums.shape[1] - 1
    layers = best.shape[0] - 1
    latest = 0  # the last boundary that has to be one
    for t in range(begin):
        if forced[t]:
            latest = t
    scores, columns = np.empty(T), np.empty((n_rows, T))
    for t in range(begin, end):
        if allowed[t] and high[t] >= low[t]:
            if every.size:
                starts = every[firsts[t] : firsts[t + 1]]
                for j in range(n_rows):
                    for i in range(starts.size):
                        columns[j, i] = sums[j, starts[i]]
                squares(t, starts, 0, columns, sums, signs, scores)
            else:
                starts = np.arange(low[t], high[t] + 1)
                squares(t, starts, low[t], sums, sums, signs, scores)
            add_truth(t, starts, sizes, home, ends, weight, scores)
            for k in range(1, layers + 1):
                before = best[k if open_count else k - 1]
                most, where = -np.inf, -1
                for i in range(starts.size):
                    s = starts[i]
                    value = before[s] + scores[i]
                    if value > most and s >= latest:
                        most, where = value, s
                best[k, t], last[k, t] = most + shift, where
        if forced[t]:
            latest = t


def _called(rule: Rule) -> str:
    owner = getattr(rule, "__self__", None)
    if not is_dataclass(owner):
        return getattr(rule, "__name__", "the rule")
    told = [
        f"{field.name}={getattr(owner, field.name)!r}"
        for field in fields(owner)
        if getattr(owner, field.name) != field.default
    ]
    return f"{type(owner).__name__}({', '.join(told)})"
