"""The search for the best segmentation of known length, which mostly needs no layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.every import best_path
from structsvm.oracles._segments.table import SegmentTable, build_table, path_value
from structsvm.oracles._segments.tree import backtrack, tree_scan
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints

ROUNDING = 1e-10
"""Differences below this fraction of the objective's size are rounding."""


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """The best segmentation with boundaries on knots; all signs positive, no number counted."""

    objective: TraceObjective
    boundaries: Boundaries

    @cached_property
    def table(self) -> SegmentTable:
        """The scores of the segments."""
        return build_table(self.objective, self.boundaries.knots)

    def value(self, path: Ints) -> float:
        """The sum of the segment scores of a path, without shift and constant."""
        return float(path_value(self.table, path))

    def at_price(self, shift: float) -> tuple[Floats, Ints]:
        """Best value up to each knot and the best path when each segment earns ``shift``."""
        table, allowed = self.table._replace(shift=float(shift)), self.boundaries
        kappa = splitting_price(self.objective, shift)
        F, previous = tree_scan(table, allowed.earliest, allowed.latest, kappa)
        return F, backtrack(previous)

    def among(self, chosen: Ints, K: int) -> Ints:
        """The best path of K segments with boundaries on these knots."""
        path = best_path(self.objective, self.boundaries.among(chosen), K)
        assert path is not None
        return np.searchsorted(self.boundaries.knots, path)

    def reversed(self) -> SegmentSearch:
        objective, T, ahead = self.objective, self.objective.n_samples, self.boundaries
        truth = None
        if objective.truth is not None and objective.has_truth:
            ends = T - objective.truth.boundaries[::-1][1:]
            truth = EquivalenceMatrix.from_breakpoints(ends)
        backwards = TraceObjective(
            objective.Z[::-1], truth, objective.truth_weight, objective.shift, objective.signs
        )
        behind = replace(
            ahead,
            knots=T - ahead.knots[::-1],
            required=ahead.knots.size - 1 - ahead.required[::-1],
            somewhere=tuple((T - b + 1, T - a + 1) for a, b in ahead.somewhere),
        )
        return SegmentSearch(backwards, behind)


def splitting_price(objective: TraceObjective, shift: float) -> float:
    """``kappa = c - d``: splitting a segment costs at most this, if all signs are positive."""
    return (objective.truth_weight if objective.has_truth else 0.0) - shift


def path_of_known_length(search: SegmentSearch, K: int) -> Ints:
    """The best path of K segments, which the constraint leaves room for."""
    boundaries = search.boundaries
    below, above = boundaries.required, np.arange(boundaries.knots.size, dtype=np.int64)
    while True:
        K1, K2 = below.size - 1, above.size - 1
        V1, V2 = search.value(below), search.value(above)
        price = (V2 - V1) / (K2 - K1)
        _, path = search.at_price(-price)
        n = path.size - 1
        if n == K:
            return path
        gain = search.value(path) - price * n - (V1 - price * K1)
        if not K1 < n < K2 or gain <= ROUNDING * max(1.0, abs(V1), abs(V2)):
            return _close_gap(search, K, price, below, above)
        below, above = (path, above) if n < K else (below, path)


def _close_gap(search: SegmentSearch, K: int, price: float, below: Ints, above: Ints) -> Ints:
    """The best path of K segments, known to lie under the side of the hull with slope ``price``."""
    guess = search.among(np.union1d(below, above), K)
    backwards = search.reversed()
    through = search.at_price(-price)[0] + backwards.at_price(-price)[0][::-1]
    enough = search.value(guess) - price * K
    enough -= ROUNDING * max(1.0, abs(enough), abs(price) * K)
    useful = through >= enough
    useful[search.boundaries.required] = True
    useful[guess] = True
    return search.among(np.flatnonzero(useful), K)
