"""Where boundaries may lie, as a graph: its nodes, and where a segment that ends at each may begin.

A region (a, b) with exactly k changes is k *layers* of nodes: the c-th holds its knots, each
standing for "the c-th change of this region is here". The knots between regions are nodes once.
Layer after layer, every node follows on a window of nodes that lie side by side, whose positions
increase and whose ends never decrease, so that the tree of starts searches this graph, too. "At
least one change" forbids the segments that hold the region, by a lower end of the window.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._segments.table import NO_INTEGERS
from structsvm.partitions import Constraint, Region
from structsvm.support import Bools, Ints


@dataclass(frozen=True, eq=False)
class Boundaries:
    """What a constraint says: where boundaries may lie, where they must, and how many of them."""

    knots: Ints
    """Positions where a boundary may lie, from 0 to T, (m + 1,)."""
    required: Ints
    """Indices of the knots where a boundary must lie, the first 0 and the last m."""
    somewhere: tuple[tuple[int, int], ...] = ()
    """``(a, b)``: at least one boundary in ``a, ..., b - 1``."""
    counted: tuple[Region, ...] = ()
    """Disjoint regions, in order, with exactly so many boundaries, at least 1."""

    @classmethod
    def of(cls, constraint: Constraint, n_samples: int) -> "Boundaries":
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

    def earliest(self) -> Ints:
        """The first position where a segment that ends at each knot may begin, (m + 1,)."""
        last = np.repeat(self.required[:-1], np.diff(self.required))
        earliest = self.knots[np.concatenate(([0], last)).astype(np.int64)]
        for a, b in self.somewhere:
            later = self.knots >= b
            earliest[later] = np.maximum(earliest[later], a)
        return earliest

    def reversed(self) -> "Boundaries":
        """The boundaries of the recording played backwards; not for counted regions."""
        T = int(self.knots[-1])
        somewhere = tuple((T - b + 1, T - a + 1) for a, b in self.somewhere)
        required = self.knots.size - 1 - self.required[::-1]
        return Boundaries(T - self.knots[::-1], required, somewhere)

    def among(self, chosen: Ints) -> "Boundaries":
        """The boundaries on these knots alone, the required ones among them."""
        required = np.searchsorted(chosen, self.required)
        return replace(self, knots=self.knots[chosen], required=required)


def _must_be_counted(region: Region, counted: list[Region], allowed: Bools) -> bool:
    """Whether a region has to be counted; if not, the places it rules out leave ``allowed``."""
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
    """The first allowed start for each end, (T + 1,)."""
    high: Ints
    """The last allowed start; below ``low`` where there is none."""
    move_on: bool = True
    """Whether all starts from ``low`` to ``high`` are allowed, and neither ``low`` nor ``high``
    decreases from one end that has a start to the next."""
    firsts: Ints = NO_INTEGERS
    """``starts[firsts[t]:firsts[t + 1]]``, increasing, are the allowed starts for t; (T + 2,)."""
    starts: Ints = NO_INTEGERS
    """Empty where all starts from ``low`` to ``high`` are allowed for every end."""


class Nodes(NamedTuple):
    """The graph of the segmentations with so many boundaries in each of the counted regions."""

    knot: Ints
    """Which knot each node stands for; the first is 0 and the last m, (n,)."""
    earliest: Ints
    """For each node the first one at which a segment that ends there may begin, (n,)."""
    latest: Ints
    """The last such node; before ``earliest`` where there is none."""

    @classmethod
    def of(cls, boundaries: Boundaries, allowed: Allowed | None) -> "Nodes":
        knots = boundaries.knots
        low = boundaries.earliest()
        high = knots - 1
        if allowed is None and not boundaries.counted:
            return cls(each := np.arange(knots.size), np.searchsorted(knots, low), each - 1)
        if allowed is not None:
            low = np.maximum(low, allowed.low[knots])
            high = np.minimum(high, allowed.high[knots])
        columns: list[tuple[Ints, Ints, Ints]] = []

        def add(ends: Ints, first: int, window: Ints) -> None:
            """Add nodes for the knots ``ends``, with starts ``window``, nodes from ``first`` on."""
            earliest = first + np.searchsorted(knots[window], low[ends])
            latest = first + np.searchsorted(knots[window], high[ends], side="right") - 1
            columns.append((ends, earliest, latest))

        n = 0
        at = 0
        first = 0
        layer = np.arange(0)
        end = int(knots[-1]) + 1
        spans = [(r.first, r.end, r.changes) for r in boundaries.counted]
        for begin, stop, changes in [*spans, (end, end, 0)]:
            a, b = np.searchsorted(knots, (begin, stop)).tolist()
            outside = np.arange(at, a)
            window = np.concatenate((layer, outside))
            add(outside, first, window)
            n = n + outside.size
            at = b
            layer = np.arange(a, b)
            for _ in range(changes):
                add(layer, first, window)
                first = n
                window = layer
                n = n + layer.size
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))
