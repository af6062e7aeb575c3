"""What a constraint says about boundaries, in the form in which segmentations are searched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions.oracle import Constraint, Region
from structsvm.support.arrays import Ints


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Where boundaries may lie, where they must, and how many of them."""

    knots: Ints
    """Positions where a boundary may lie, from 0 to T, (m + 1,)."""
    required: Ints
    """Indices of the knots where one must lie, from 0 to m."""
    somewhere: tuple[tuple[int, int], ...]
    """``(a, b)``: at least one boundary in ``a, ..., b - 1``."""
    counted: tuple[Region, ...]
    """Disjoint regions, in order, with exactly so many boundaries, at least 1."""

    @classmethod
    def of(cls, constraint: Constraint, n_samples: int) -> Boundaries:
        allowed, forced = constraint.boundary_masks(n_samples)
        counted: list[Region] = []
        for region in sorted(set(constraint.regions), key=lambda r: r.end - r.first):
            if region.or_more or not _absorb(region, counted, allowed):
                continue
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

    @cached_property
    def earliest(self) -> Ints:
        """The first knot where a segment that ends at each knot may begin, (m + 1,)."""
        last = np.repeat(self.required[:-1], np.diff(self.required))
        earliest = np.concatenate(([0], last)).astype(np.int64)
        for a, b in self.somewhere:
            later = self.knots >= b
            earliest[later] = np.maximum(earliest[later], np.searchsorted(self.knots, a))
        return earliest

    @property
    def latest(self) -> Ints:
        """The last such knot."""
        return np.arange(-1, self.knots.size - 1)

    def among(self, chosen: Ints) -> Boundaries:
        required = np.searchsorted(chosen, self.required)
        return replace(self, knots=self.knots[chosen], required=required)


def _absorb(region: Region, counted: list[Region], allowed: NDArray[np.bool_]) -> bool:
    """Rule out what a region leaves no room for; whether it still has to be counted."""
    places = np.arange(region.first, region.end)
    inner = [r for r in counted if max(r.first, region.first) < min(r.end, region.end)]
    if region.changes == 0:
        allowed[places] = False
        return False
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
