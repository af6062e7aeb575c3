"""Which dynamic program answers a question about segments, and the search for known K."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.scan import backtrack, layers, layers_backtrack, scan
from structsvm.oracles._segments.table import SegmentTable, build_table, path_value
from structsvm.oracles._segments.tree import tree_scan
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints
from structsvm.support.blocks import release

ROUNDING = 1e-10
"""Differences below this fraction of the objective's size are rounding."""


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """The best segmentation with boundaries on knots, no number of which is counted."""

    objective: TraceObjective
    boundaries: Boundaries

    @cached_property
    def table(self) -> SegmentTable:
        """The scores of the segments."""
        table = build_table(self.objective, self.boundaries.knots)
        release(self.objective.Z)  # read once, and not again
        return table

    @property
    def all_positive(self) -> bool:
        return bool(self.table.n_plus == self.objective.Z.shape[1])

    def value(self, path: Ints) -> float:
        """The sum of the segment scores of a path, without shift and constant."""
        return float(path_value(self.table, path))

    def scanned(self) -> Ints:
        """The best path, every segment looked at."""
        return np.asarray(backtrack(scan(self.table, self.boundaries.earliest)[1]))

    def pruned(self, shift: float) -> tuple[Floats, Ints]:
        """Best value up to each knot and the best path when each segment earns ``shift``."""
        kappa = splitting_price(self.objective, shift)
        table, earliest = self.table._replace(shift=float(shift)), self.boundaries.earliest
        F, previous = tree_scan(table, earliest, kappa)
        return F, np.asarray(backtrack(previous))

    def layered(self, K: int) -> Ints:
        """The best path of K segments, found by looking at every segment."""
        earliest = self.boundaries.earliest
        band = layers(self.table, earliest, K)
        if not np.isfinite(band[K, -1]):
            raise OracleError(
                f"no segmentation into {K} segments has its changes where they are known to be: "
                "ask for another number"
            )
        return np.asarray(layers_backtrack(self.table, earliest, band))

    def every_layered(self, most: int) -> list[Ints]:
        """The best path of each number of segments up to ``most``, with no boundary required."""
        table, earliest = self.table, self.boundaries.earliest
        band = layers(table, earliest, most, every=True)
        paths = (layers_backtrack(table, earliest, band[: K + 1]) for K in range(1, most + 1))
        return [np.asarray(path) for path in paths]

    def restricted(self, chosen: Ints) -> SegmentSearch:
        return SegmentSearch(self.objective, self.boundaries.among(chosen))

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
            somewhere=tuple((T - b, T - a) for a, b in ahead.somewhere),
        )
        return SegmentSearch(backwards, behind)


def splitting_price(objective: TraceObjective, shift: float) -> float:
    """``kappa = c - d``: splitting a segment costs at most this, if all signs are positive."""
    return (objective.truth_weight if objective.has_truth else 0.0) - shift


def path_of_known_length(search: SegmentSearch, K: int) -> Ints:
    """The best path of K segments, all signs positive, mostly without a K-layer program."""
    boundaries = search.boundaries
    below, above = boundaries.required, np.arange(boundaries.knots.size, dtype=np.int64)
    while True:
        K1, K2 = below.size - 1, above.size - 1
        V1, V2 = search.value(below), search.value(above)
        price = (V2 - V1) / (K2 - K1)
        _, path = search.pruned(-price)
        n = path.size - 1
        if n == K:
            return path
        gain = search.value(path) - price * n - (V1 - price * K1)
        if not K1 < n < K2 or gain <= ROUNDING * max(1.0, abs(V1), abs(V2)):
            return _close_gap(search, K, price, below, above)
        below, above = (path, above) if n < K else (below, path)


def _close_gap(search: SegmentSearch, K: int, price: float, below: Ints, above: Ints) -> Ints:
    """The best path of K segments, known to lie under the side of the hull with slope ``price``."""
    known = np.union1d(below, above)
    guess = known[search.restricted(known).layered(K)]
    backwards = search.reversed()
    through = search.pruned(-price)[0] + backwards.pruned(-price)[0][::-1]
    enough = search.value(guess) - price * K
    enough -= ROUNDING * max(1.0, abs(enough), abs(price) * K)
    useful = through >= enough
    useful[search.boundaries.required] = True
    useful[guess] = True
    chosen = np.flatnonzero(useful)
    return np.asarray(chosen[search.restricted(chosen).layered(K)])
