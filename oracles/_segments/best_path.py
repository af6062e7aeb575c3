"""The best segmentation at a given price of a segment, or into a given number of segments."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from structsvm.data import means
from structsvm.oracles._segments.boundaries import Allowed, Boundaries, Nodes
from structsvm.oracles._segments.every_segment import Graph, best_of_every
from structsvm.oracles._segments.searches import backtrack, tree_scan
from structsvm.oracles._segments.table import SegmentTable, build_table, path_value
from structsvm.partitions import EquivalenceMatrix, TraceObjective
from structsvm.support import Floats, Ints

SCORE_TIES = 1e-10
"""Differences below this fraction of the objective's size are rounding."""

ROUNDING_OF_PREFIX_SUMS = 2.0**-51
"""For each unit of scatter; ``tests/solvers/test_exact_arithmetic.py`` measures 2^-53 or less."""

NEGLIGIBLE = 1e-10
"""Rounding of at most this part of the price of a segment, or of the noise, is not reported."""


def best_path(
    objective: TraceObjective,
    boundaries: Boundaries,
    K: int | None,
    allowed: Allowed | None = None,
    pruning: bool = True,
) -> Ints | None:
    """Boundaries, 0 to T, of the best segmentation (into K segments); None if there is none."""
    search = SegmentSearch(objective, boundaries, allowed)
    limited = allowed is not None or boundaries.counted or boundaries.somewhere
    path: Ints | None
    if pruning and K is None and (allowed is None or allowed.move_on):
        F, path = search.at_price(objective.shift)
        path = path if np.isfinite(F[-1]) else None
    elif pruning and K is not None and not limited:
        path = path_of_known_length(search, K)
    else:
        path = best_of_every(search.graph, K)
    return None if path is None else boundaries.knots[search.nodes.knot[path]]


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """The searches of one recording, which share the scores of its segments; paths are of nodes."""

    objective: TraceObjective
    boundaries: Boundaries
    rule: Allowed | None = None

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes.of(self.boundaries, self.rule)

    @cached_property
    def table(self) -> SegmentTable:
        return build_table(self.objective, self.boundaries.knots, self.nodes.knot)

    @property
    def graph(self) -> Graph:
        listed = () if self.rule is None else (self.rule.firsts, self.rule.starts)
        return Graph(self.table, self.nodes.earliest, self.nodes.latest, *listed)

    def value(self, path: Ints) -> float:
        """The sum of the segment scores of a path, without shift and constant."""
        return float(path_value(self.table, path))

    def at_price(self, shift: float) -> tuple[Floats, Ints]:
        """Best value up to each node and the best path when each segment earns ``shift``."""
        table = self.table._replace(shift=float(shift))
        nodes = self.nodes
        kappa = splitting_price(self.objective, shift)
        F, previous = tree_scan(table, nodes.earliest, nodes.latest, kappa)
        return F, backtrack(previous)

    def among(self, chosen: Ints, K: int) -> Ints:
        """The best path of K segments with boundaries on the ``chosen`` knots alone."""
        few = SegmentSearch(self.objective, self.boundaries.among(chosen))
        path = best_of_every(few.graph, K)
        assert path is not None
        return chosen[path]

    def reversed(self) -> "SegmentSearch":
        """The search in the recording played backwards."""
        objective = self.objective
        T = self.objective.n_samples
        truth = None
        if objective.truth is not None and objective.has_truth:
            ends = T - objective.truth.boundaries[::-1][1:]
            truth = EquivalenceMatrix.from_breakpoints(ends)
        backwards = replace(objective, Z=objective.Z[::-1], truth=truth)
        return SegmentSearch(backwards, self.boundaries.reversed())


def splitting_price(objective: TraceObjective, shift: float) -> float:
    """``kappa = c - d``: splitting a segment costs at most this."""
    return (objective.truth_weight if objective.has_truth else 0.0) - shift


def path_of_known_length(search: SegmentSearch, K: int) -> Ints:
    """The best path of K segments, a number that the constraint allows."""
    boundaries = search.boundaries
    below = boundaries.required
    above = np.arange(boundaries.knots.size, dtype=np.int64)
    while True:
        K1 = below.size - 1
        K2 = above.size - 1
        V1 = search.value(below)
        V2 = search.value(above)
        price = (V2 - V1) / (K2 - K1)
        _, path = search.at_price(-price)
        n = path.size - 1
        if n == K:
            return path
        gain = search.value(path) - price * n - (V1 - price * K1)
        if not K1 < n < K2 or gain <= SCORE_TIES * max(1.0, abs(V1), abs(V2)):
            return _close_gap(search, K, price, below, above)
        below, above = (path, above) if n < K else (below, path)


def _close_gap(search: SegmentSearch, K: int, price: float, below: Ints, above: Ints) -> Ints:
    """The best path of K segments, where no price makes K the best number of segments.

    K lies between the ends of the edge of slope ``price`` of the concave hull of the values.
    """
    guess = search.among(np.union1d(below, above), K)
    through = search.at_price(-price)[0] + search.reversed().at_price(-price)[0][::-1]
    enough = search.value(guess) - price * K
    enough -= SCORE_TIES * max(1.0, abs(enough), abs(price) * K)
    useful = through >= enough
    useful[search.boundaries.required] = True
    useful[guess] = True
    return search.among(np.flatnonzero(useful), K)


def rounding_of(
    objective: TraceObjective,
    value: float,
    negligible: float = NEGLIGIBLE,
    scatter: float | None = None,
) -> float:
    """By how much rounding may make a segmentation look better than the best one."""
    Z = objective.Z
    T = objective.n_samples
    if scatter is None:
        away = np.nan_to_num(Z - means(Z), copy=False) if objective.gaps else Z - Z.mean(axis=0)
        scatter = float(np.vdot(away, away))
    price = abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    if price == 0.0 and T > 1:
        price = float(np.median(np.nansum(np.square(np.diff(Z, axis=0)), axis=1)))
    return rounding_at(T, scatter, price, value, negligible)


def rounding_at(
    T: int, scatter: float, price: float, value: float, negligible: float = NEGLIGIBLE
) -> float:
    """The same for T samples of a given scatter, where one more segment costs ``price``."""
    rounding = ROUNDING_OF_PREFIX_SUMS * math.sqrt(T) * scatter
    if price == 0.0 or rounding <= negligible * price:
        return 0.0
    return rounding + float(np.spacing(abs(value)))
