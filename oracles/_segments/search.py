"""Which search finds the best segmentation; that of known length mostly needs no layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from structsvm.data.sample import means
from structsvm.errors import OracleError
from structsvm.oracles._segments.table import NOTHING, SegmentTable, build_table, path_value
from structsvm.oracles._segments.tree import Graph, backtrack, best_of_every, tree_scan
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Constraint, Region, TraceObjective
from structsvm.support.arrays import Bools, Floats, Ints

ROUNDING = 1e-10
"""Differences below this fraction of the objective's size are rounding."""
ERROR = 2.0**-51
"""Of the prefix sums, for each unit of scatter; measured at 2^-53 or less in
``tests/test_exact_arithmetic.py``."""
NEGLIGIBLE = 1e-10
"""What rounding may be of the price of a segment, or of the noise, before the answer says so."""


def best_path(
    objective: TraceObjective,
    boundaries: Boundaries,
    K: int | None,
    allowed: Allowed | None = None,
    pruning: bool = True,
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T, into K if given; None for none."""
    search = SegmentSearch(objective, boundaries, allowed)
    limited = allowed is not None or boundaries.counted or boundaries.somewhere
    path: Ints | None
    if pruning and K is None and (allowed is None or allowed.move_on):
        F, path = search.at_price(objective.shift)
        path = path if np.isfinite(F[-1]) else None
    elif pruning and K is not None and not limited:
        path = _path_of_known_length(search, K)
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
        table, nodes = self.table._replace(shift=float(shift)), self.nodes
        kappa = splitting_price(self.objective, shift)
        F, previous = tree_scan(table, nodes.earliest, nodes.latest, kappa)
        return F, backtrack(previous)

    def among(self, chosen: Ints, K: int) -> Ints:
        """The best path of K segments with boundaries on these knots."""
        few = SegmentSearch(self.objective, self.boundaries.among(chosen))
        path = best_of_every(few.graph, K)
        assert path is not None
        return chosen[path]

    def reversed(self) -> SegmentSearch:
        objective, T, ahead = self.objective, self.objective.n_samples, self.boundaries
        truth = None
        if objective.truth is not None and objective.has_truth:
            ends = T - objective.truth.boundaries[::-1][1:]
            truth = EquivalenceMatrix.from_breakpoints(ends)
        backwards = replace(objective, Z=objective.Z[::-1], truth=truth)
        required = ahead.knots.size - 1 - ahead.required[::-1]
        return SegmentSearch(backwards, Boundaries(T - ahead.knots[::-1], required))


def splitting_price(objective: TraceObjective, shift: float) -> float:
    """``kappa = c - d``: splitting a segment costs at most this."""
    return (objective.truth_weight if objective.has_truth else 0.0) - shift


def _path_of_known_length(search: SegmentSearch, K: int) -> Ints:
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
    through = search.at_price(-price)[0] + search.reversed().at_price(-price)[0][::-1]
    enough = search.value(guess) - price * K
    enough -= ROUNDING * max(1.0, abs(enough), abs(price) * K)
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
    Z, T = objective.Z, objective.n_samples
    if scatter is None:
        away = np.nan_to_num(Z - means(Z), copy=False) if objective.gaps else Z - Z.mean(axis=0)
        scatter = float(np.vdot(away, away))
    price = abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    if price == 0.0 and T > 1:
        price = float(np.median(np.nansum(np.square(np.diff(Z, axis=0)), axis=1)))
    rounding = ERROR * math.sqrt(T) * scatter
    if price == 0.0 or rounding <= negligible * price:
        return 0.0
    return rounding + float(np.spacing(abs(value)))


# ---- where boundaries may lie, as a graph: its nodes, and those that a segment may begin at
#
# A region (a, b) with exactly k changes is k *layers* of nodes: the c-th holds its knots, each
# standing for "the c-th change of this region is here". The knots between regions are nodes once.
# Layer after layer, every node follows on a window of nodes that lie side by side, whose positions
# increase and whose ends never decrease, so that the tree of starts searches this graph, too. "At
# least one change" forbids the segments that hold the region, by a lower end of the window.


@dataclass(frozen=True, eq=False)
class Boundaries:
    """What a constraint says: where boundaries may lie, where they must, and how many of them."""

    knots: Ints
    """Positions where a boundary may lie, from 0 to T, (m + 1,)."""
    required: Ints
    """Indices of the knots where one must lie, from 0 to m."""
    somewhere: tuple[tuple[int, int], ...] = ()
    """``(a, b)``: at least one boundary in ``a, ..., b - 1``."""
    counted: tuple[Region, ...] = ()
    """Disjoint regions, in order, with exactly so many boundaries, at least 1."""

    @classmethod
    def of(cls, constraint: Constraint, n_samples: int) -> Boundaries:
        allowed, forced = constraint.boundary_masks(n_samples)
        counted: list[Region] = []
        for region in sorted(set(constraint.regions), key=lambda r: r.end - r.first):
            if not region.or_more and _must_be_counted(region, counted, allowed):
                counted.append(region)
        loose = [r for r in constraint.regions if r.or_more and r.changes > 0]
        for region in (*loose, *counted):
            if not allowed[region.first : region.end].any():
                raise OracleError(f"{region}: every place where it could be is ruled out")
        clash = np.flatnonzero(forced & ~allowed)
        if clash.size:
            raise OracleError(f"boundary {clash[0]} is both forced and inside a region without")
        forced[0] = forced[n_samples] = True
        knots = np.flatnonzero(allowed).astype(np.int64)
        return cls(
            knots=knots,
            required=np.flatnonzero(forced[knots]).astype(np.int64),
            somewhere=tuple((r.first, r.end) for r in loose),
            counted=tuple(sorted(counted, key=lambda r: r.first)),
        )

    @classmethod
    def anywhere(cls, n_samples: int) -> Boundaries:
        return cls(np.arange(n_samples + 1), np.array([0, n_samples]))

    def earliest(self) -> Ints:
        """The first position where a segment that ends at each knot may begin, (m + 1,)."""
        last = np.repeat(self.required[:-1], np.diff(self.required))
        earliest = self.knots[np.concatenate(([0], last)).astype(np.int64)]
        for a, b in self.somewhere:
            later = self.knots >= b
            earliest[later] = np.maximum(earliest[later], a)
        return earliest

    def among(self, chosen: Ints) -> Boundaries:
        required = np.searchsorted(chosen, self.required)
        return replace(self, knots=self.knots[chosen], required=required)


def _must_be_counted(region: Region, counted: list[Region], allowed: Bools) -> bool:
    """Whether a region is no consequence of others; what it leaves no room for is ruled out."""
    places = np.arange(region.first, region.end)
    if region.changes == 0:
        allowed[places] = False
        return False
    inner = [r for r in counted if max(r.first, region.first) < min(r.end, region.end)]
    if not inner:
        return True
    nested = all(region.first <= r.first and r.end <= region.end for r in inner)
    if not nested or sum(r.changes for r in inner) != region.changes:
        raise OracleError(
            f"{region} overlaps {inner[0]}, and both count exactly: cut them so that they do not"
        )
    for r in inner:
        places = places[(places < r.first) | (places >= r.end)]
    allowed[places] = False
    return False


class Allowed(NamedTuple):
    """The segments of T samples that a rule allows, by their end ``t = 0, ..., T``."""

    low: Ints
    """The first start that goes with each end, (T + 1,)."""
    high: Ints
    """The last one; below ``low`` where there is none."""
    move_on: bool = True
    """Whether all from ``low`` to ``high`` go with each end, and neither decreases from one end
    that has any to the next."""
    firsts: Ints = NOTHING
    """``starts[firsts[t]:firsts[t + 1]]`` go with ``t``, increasing; (T + 2,)."""
    starts: Ints = NOTHING
    """Empty where all starts from ``low`` to ``high`` are allowed for every end."""


class Nodes(NamedTuple):
    """The graph of the segmentations with so many boundaries in each of the counted regions."""

    knot: Ints
    """Which knot each node stands for; the first is 0 and the last m, (n,)."""
    earliest: Ints
    """The first node that a segment that ends at each may begin at, ..."""
    latest: Ints
    """... and the last one, before ``earliest`` where there is none."""

    @classmethod
    def of(cls, boundaries: Boundaries, allowed: Allowed | None) -> Nodes:
        knots = boundaries.knots
        low, high = boundaries.earliest(), knots - 1
        if allowed is None and not boundaries.counted:
            return cls(each := np.arange(knots.size), np.searchsorted(knots, low), each - 1)
        if allowed is not None:
            low, high = np.maximum(low, allowed.low[knots]), np.minimum(high, allowed.high[knots])
        parts: list[tuple[Ints, Ints, Ints]] = []

        def add(part: Ints, first: int, window: Ints) -> None:
            """Let these knots follow on the window, which begins at the node ``first``."""
            earliest = first + np.searchsorted(knots[window], low[part])
            latest = first + np.searchsorted(knots[window], high[part], side="right") - 1
            parts.append((part, earliest, latest))

        n, at, first, layer = 0, 0, 0, np.arange(0)
        end = int(knots[-1]) + 1
        spans = [(r.first, r.end, r.changes) for r in boundaries.counted]
        for begin, stop, changes in [*spans, (end, end, 0)]:
            a, b = np.searchsorted(knots, (begin, stop)).tolist()
            outside = np.arange(at, a)
            window = np.concatenate((layer, outside))
            add(outside, first, window)
            n, at, layer = n + outside.size, b, np.arange(a, b)
            for _ in range(changes):
                add(layer, first, window)
                first, window, n = n, layer, n + layer.size
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))
