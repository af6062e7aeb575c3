"""The best segmentation whose segments keep a rule, exactly, by dynamic programming.

    best(t) = max over allowed (s, t) of best(s) + score(s, t)

``score(s, t) = sum_j sign_j |sum of Z_j over s..t-1|^2 / (t - s) - c overlap(s, t) + d``, where the
truth enters through its overlap ``sum_k |C_k n (s, t)|^2 / (|C_k| (t - s))``: only the first and
the last true segment that a segment meets are met in part, so prefix sums of the sizes give it at
once. Time O(n r) for n allowed segments of T samples and rank r, times K for K segments; memory
O(n + T (r + K)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["AllowedSegmentsOracle"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rule = Callable[[Any, Any, int], Any]


@dataclass(frozen=True)
class AllowedSegmentsOracle(Oracle):
    """Maximises ``Tr(A M)`` over the segmentations all of whose segments a rule allows.

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

    rule: Rule

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the segmentations that rule and ``constraint`` allow.

        Raises
        ------
        OracleError
            When nothing is allowed, when the constraint counts changes in regions, or when the
            truth is no segmentation.
        """
        T = objective.n_samples
        constraint.validate(T)
        if constraint.has_links:
            raise OracleError("links belong to clusterings; segments have boundaries")
        if any(region.changes for region in constraint.regions):
            raise OracleError(
                "this oracle cannot count changes in regions; it takes forced and forbidden "
                "boundaries, and regions without a change"
            )
        allowed, forced = _boundary_masks(constraint, T)
        scores = _Scores.of(objective)
        firsts, starts = _allowed(self.rule, T)
        K = constraint.n_clusters
        found = _best_path(
            scores.sums, scores.signs, scores.sizes, scores.home, scores.ends, scores.weight,
            objective.shift, firsts, starts, allowed, forced, 0 if K is None else K,
        )  # fmt: skip
        if found[0] < 0:
            number = "no segmentation" if K is None else f"no segmentation into {K} segments"
            raise OracleError(f"{number} of {T} samples keeps the rule and the boundaries")
        y = EquivalenceMatrix.from_breakpoints(found[found > 0])
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


@dataclass(frozen=True, eq=False)
class _Scores:
    """What the score of a segment is made of, as prefix sums."""

    sums: Floats
    """Of the centred columns of Z, (r, T + 1): the mean adds the same to every segmentation."""
    signs: Floats
    sizes: Floats
    """Size of the true segment that each sample is in, (T,)."""
    home: Ints
    """Where that segment starts, (T,)."""
    ends: Ints
    """Where it ends, (T,)."""
    weight: float
    """``c``; 0 without a truth."""

    @classmethod
    def of(cls, objective: TraceObjective) -> _Scores:
        T, Z = objective.n_samples, objective.Z
        signs = np.ones(Z.shape[1]) if objective.signs is None else objective.signs
        sums = np.zeros((Z.shape[1], T + 1))
        np.cumsum((Z - Z.mean(axis=0)).T, axis=1, out=sums[:, 1:])
        if not objective.has_truth or objective.truth is None:
            return cls(sums, signs, np.ones(T), np.arange(T), np.arange(1, T + 1), 0.0)
        if not objective.truth.is_contiguous:
            raise OracleError("the truth is not a segmentation: its clusters are not contiguous")
        bounds = objective.truth.boundaries
        lengths = np.diff(bounds)
        home, ends = np.repeat(bounds[:-1], lengths), np.repeat(bounds[1:], lengths)
        sizes = np.repeat(lengths, lengths).astype(np.float64)
        return cls(sums, signs, sizes, home, ends, objective.truth_weight)


def _boundary_masks(constraint: Constraint, T: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """``(allowed, forced)`` over positions ``0..T``, regions without a change included."""
    allowed, forced = constraint.boundary_masks(T)
    for region in constraint.regions:
        allowed[region.start + 1 : region.end] = False
    clash = np.flatnonzero(forced & ~allowed)
    if clash.size:
        raise OracleError(f"boundary {clash[0]} is both forced and forbidden")
    return allowed, forced


@lru_cache(maxsize=64)
def _allowed(rule: Rule, T: int) -> tuple[Ints, Ints]:
    """For each end ``1..T`` the allowed starts: ``starts[firsts[t - 1]:firsts[t]]``, increasing."""
    found = []
    every = np.arange(T, dtype=np.int64)
    for end in range(1, T + 1):
        kept = np.broadcast_to(np.asarray(rule(every[:end], end, T), dtype=np.bool_), (end,))
        found.append(every[:end][kept])
    firsts = np.concatenate([[0], np.cumsum([len(starts) for starts in found])])
    return firsts.astype(np.int64), np.concatenate(found)


@njit(cache=True, nogil=True)
def _scores_at(
    t: int,
    starts: Ints,
    sums: Floats,
    signs: Floats,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    scores: Floats,
) -> None:  # pragma: no cover (compiled)
    """What the segments ``s, ..., t - 1`` from these starts add to ``Tr(A M)``, without shift."""
    scores[: starts.size] = 0.0
    for j in range(sums.shape[0]):  # a column at a time, which the compiler makes vectors of
        column, total, sign = sums[j], sums[j, t], signs[j]
        if starts.size and starts[-1] - starts[0] == starts.size - 1:
            first = starts[0]
            for i in range(starts.size):
                difference = total - column[first + i]
                scores[i] += sign * difference * difference
        else:
            for i in range(starts.size):
                difference = total - column[starts[i]]
                scores[i] += sign * difference * difference
    for i in range(starts.size):
        scores[i] /= t - starts[i]
    if weight == 0.0:
        return
    for i in range(starts.size):
        s = starts[i]
        if ends[s] >= t:
            overlap = (t - s) * (t - s) / sizes[s]
        else:
            before, after = ends[s] - s, t - home[t - 1]
            overlap = before * before / sizes[s] + after * after / sizes[t - 1]
            overlap += home[t - 1] - ends[s]
        scores[i] -= weight * overlap / (t - s)


@njit(cache=True, nogil=True)
def _best_path(
    sums: Floats,
    signs: Floats,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    shift: float,
    firsts: Ints,
    starts: Ints,
    allowed: NDArray[np.bool_],
    forced: NDArray[np.bool_],
    K: int,
) -> Ints:  # pragma: no cover (compiled)
    """Breakpoints of the best segmentation, into K segments if K > 0; [-1] if there is none.

    ``best[k, t]`` is the value of the best k segments of the first t samples; with an open number
    of segments all layers but the first are one.
    """
    T, open_count = sums.shape[1] - 1, K == 0
    layers = 1 if open_count else K
    best = np.full((layers + 1, T + 1), -np.inf)
    last = np.full((layers + 1, T + 1), -1, dtype=np.int64)
    best[0, 0] = 0.0
    if open_count:
        best[1, 0] = 0.0
    latest = 0  # the last boundary that has to be one
    scores = np.empty(T)
    for t in range(1, T + 1):
        here = starts[firsts[t - 1] : firsts[t]] if allowed[t] else starts[:0]
        _scores_at(t, here, sums, signs, sizes, home, ends, weight, scores)
        for k in range(1, layers + 1):
            before = best[k if open_count else k - 1]
            most, where = -np.inf, -1
            for i in range(here.size):
                s = here[i]
                value = before[s] + scores[i]
                if value > most and s >= latest and allowed[s]:
                    most, where = value, s
            best[k, t], last[k, t] = most + shift, where
        if forced[t]:
            latest = t
    return _trace_back(last, layers, open_count)


@njit(cache=True, nogil=True)
def _trace_back(last: Ints, layers: int, open_count: bool) -> Ints:  # pragma: no cover (compiled)
    """The breakpoints that lead to the end; [-1] if none do."""
    T = last.shape[1] - 1
    if last[layers, T] < 0:
        return np.full(1, -1, dtype=np.int64)
    path = np.zeros(T, dtype=np.int64)
    t, k, n = T, layers, 0
    while t > 0:
        path[n] = t
        n += 1
        t = last[k, t]
        if not open_count:
            k -= 1
    return path[:n][::-1].copy()
