"""What a separation oracle promises."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.status import Quality
from structsvm.support.contract import Contract

__all__ = ["UNCONSTRAINED", "Argmax", "Constraint", "Oracle", "Quality", "Region"]


@dataclass(frozen=True)
class Region:
    """How many changes the samples ``start, ..., end - 1`` of a recording have among them.

    A change between two samples belongs to a region that holds both of them: regions that touch
    leave the place where they touch open. (The labels of LOPART; Hocking and Srivastava, 2020.)
    """

    start: int
    end: int
    changes: int
    """Exactly so many, or at least so many."""
    or_more: bool = False

    def __str__(self) -> str:
        """In words."""
        n = "no" if self.changes == 0 else str(self.changes)
        count = f"{'at least ' if self.or_more else ''}{n} change{'' if n == '1' else 's'}"
        return f"region {self.start}..{self.end} with {count}"

    def holds(self, boundaries: NDArray[np.int64]) -> bool:
        """Whether a segmentation with these boundaries, ends included or not, agrees."""
        found = int(np.count_nonzero((boundaries > self.start) & (boundaries < self.end)))
        return found >= self.changes if self.or_more else found == self.changes


@dataclass(frozen=True)
class Constraint:
    """Which partitions are allowed.

    Parameters
    ----------
    n_clusters : int, optional
        Exactly this many clusters; None lets the objective decide.
    forced, forbidden : tuple of int
        For segmentations: positions ``t`` in ``1..T-1`` where a segment must, or must not, end (a
        boundary at ``t`` separates sample ``t-1`` from sample ``t``).
    regions : tuple of Region
        For segmentations: numbers of boundaries. "At least" counts to 1 only; of two regions that
        overlap and count exactly, one holds the other and counts the same.
    together : tuple of tuples of int
        For clusterings: disjoint groups of samples, each inside one cluster.
    apart : tuple of pairs of int
        For clusterings: pairs of samples in different clusters.
    """

    n_clusters: int | None = None
    forced: tuple[int, ...] = ()
    forbidden: tuple[int, ...] = ()
    regions: tuple[Region, ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, int], ...] = ()

    @property
    def has_boundaries(self) -> bool:
        """Whether it says anything about the boundaries of segments."""
        return bool(self.forced or self.forbidden or self.regions)

    @property
    def has_links(self) -> bool:
        """Whether any samples have to be together or apart."""
        return bool(self.together or self.apart)

    def with_clusters(self, n_clusters: int | None) -> Constraint:
        """The same with this number of clusters, if one is given."""
        return self if n_clusters is None else replace(self, n_clusters=n_clusters)

    def validate(self, n_samples: int) -> None:
        """Raise OracleError when no segmentation of ``n_samples`` samples satisfies this."""
        K = self.n_clusters
        if K is not None and not 1 <= K <= n_samples:
            raise OracleError(f"cannot make {K} clusters out of {n_samples} samples")
        for name, positions in (("forced", self.forced), ("forbidden", self.forbidden)):
            outside = [t for t in positions if not 1 <= t <= n_samples - 1]
            if outside:
                raise OracleError(
                    f"{name} boundary {outside[0]} is outside 1..{n_samples - 1} "
                    f"(a recording of {n_samples} samples)"
                )
        clash = sorted(set(self.forced) & set(self.forbidden))
        if clash:
            raise OracleError(f"boundary {clash[0]} is both forced and forbidden")
        for region in self.regions:
            region_fits(region, n_samples)
        n_forced, n_forbidden = len(set(self.forced)), len(set(self.forbidden))
        if K is not None and K < n_forced + 1:
            raise OracleError(f"{n_forced} forced boundaries make more than {K} segments")
        if K is not None and n_samples - n_forbidden < K:
            raise OracleError(
                f"{n_forbidden} forbidden boundaries of {n_samples - 1} leave fewer than {K} "
                "segments"
            )

    def boundary_masks(self, n_samples: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """``(allowed, forced)`` over positions ``0..T``; both ends always are boundaries."""
        allowed = np.ones(n_samples + 1, dtype=np.bool_)
        forced = np.zeros(n_samples + 1, dtype=np.bool_)
        allowed[list(self.forbidden)] = False
        forced[list(self.forced)] = True
        return allowed, forced


def region_fits(region: Region, n_samples: int) -> None:
    """Raise OracleError for a region that no segmentation of ``n_samples`` samples can have."""
    if not 0 <= region.start < region.end <= n_samples:
        raise OracleError(f"{region} is not part of a recording of {n_samples} samples")
    if region.changes < 0 or (region.or_more and region.changes > 1):
        raise OracleError(f"{region}: count 0, exactly k, or at least 1")
    if region.changes > region.end - region.start - 1:
        raise OracleError(f"{region}: {region.end - region.start} samples cannot change so often")


UNCONSTRAINED = Constraint()


@dataclass(frozen=True)
class Argmax:
    """The answer of an oracle to ``max_M Tr(A M)``."""

    y: EquivalenceMatrix
    """The maximiser found."""
    value: float
    """``Tr(A M)`` at ``y``."""
    upper_bound: float
    """No allowed partition has a larger value (infinite for a heuristic that knows none)."""
    quality: Quality
    """What ``value`` and ``upper_bound`` certify."""


class Oracle(Contract):
    """Maximises ``Tr(A M)`` over a family of partitions: loss-augmented inference and decoding.

    An oracle holds settings only; it is deterministic, does not modify its input and may be called
    from several threads and processes at once.
    """

    @abstractmethod
    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the partitions that ``constraint`` allows.

        Raises
        ------
        OracleError
            When the constraint cannot be satisfied or the objective is not finite.
        """
