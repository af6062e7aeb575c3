"""Constraints on partitions: numbers of clusters, boundaries, regions, links and known states."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix, runs_of
from structsvm.support import Ints, is_whole, shown

ConstraintKind = Literal["n_clusters", "boundaries", "regions", "links", "states"]
"""Kinds of constraints, of which an oracle declares those that it takes (:attr:`Oracle.takes`)."""


@dataclass(frozen=True)
class Region:
    """The number of changes at ``start, ..., end - 1``, where a change is at its first new sample.

    Of two adjacent regions each change belongs to one. Labels of LOPART (Hocking and Srivastava,
    2020), which count samples from 1 and both ends in, are these numbers as they stand.

    Examples
    --------
    >>> from structsvm import Region
    >>> print(Region(100, 200, 1))
    region 100..200 with 1 change
    >>> print(Region(100, 200, 1, or_more=True))
    region 100..200 with at least 1 change
    """

    start: int
    end: int
    changes: int
    """Exactly so many changes, or at least so many with ``or_more``."""
    or_more: bool = False

    def __str__(self) -> str:
        n = "no" if self.changes == 0 else str(self.changes)
        count = f"{'at least ' if self.or_more else ''}{n} change{'' if n == '1' else 's'}"
        return f"region {self.start}..{self.end} with {count}"

    @property
    def first(self) -> int:
        """The first possible place of a change: sample 0 of a recording is never one."""
        return max(self.start, 1)

    @property
    def is_empty(self) -> bool:
        """Whether it has no change."""
        return self.changes == 0 and not self.or_more

    def holds(self, boundaries: NDArray[np.int64]) -> bool:
        """Whether a segmentation has the right number of changes; 0 and T may be among them."""
        count = self.count(boundaries)
        return count >= self.changes if self.or_more else count == self.changes

    def count(self, boundaries: NDArray[np.int64]) -> int:
        """The number of these boundaries inside the region."""
        return int(np.count_nonzero((boundaries >= self.first) & (boundaries < self.end)))


@dataclass(frozen=True)
class Constraint:
    """A constraint on partitions.

    Boundaries and regions are for segmentations, links for clusterings. "At least" in a region
    counts to 1 only; of two regions that overlap and count exactly, one holds the other and counts
    the same.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> objective = TraceObjective(np.array([[0.0], [0.0], [9.0], [9.0], [9.0]]))
    >>> constraint = Constraint(n_clusters=3, forced=(2,), forbidden=(1, 3))
    >>> SequentialOracle().ask(objective, constraint).y.breakpoints
    [2, 4, 5]
    """

    n_clusters: int | None = None
    """Exactly this many clusters; None lets the objective decide."""
    forced: tuple[int, ...] = ()
    """Positions ``t`` in ``1..T-1`` where a segment ends: sample ``t-1`` is its last one."""
    forbidden: tuple[int, ...] = ()
    """Positions where no segment ends."""
    regions: tuple[Region, ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    """Disjoint groups of samples, each inside one cluster."""
    apart: tuple[tuple[int, int], ...] = ()
    """Pairs of samples in different clusters."""
    states: tuple[int, ...] = ()
    """The number of the state of each sample, -1 where it is unknown; empty if all are unknown."""

    @property
    def says_nothing(self) -> bool:
        """Whether every partition is allowed."""
        return self is UNCONSTRAINED or self == UNCONSTRAINED

    @property
    def kinds(self) -> frozenset[ConstraintKind]:
        """The kinds of its parts; regions without a change count as forbidden boundaries."""
        asked_for: dict[ConstraintKind, bool] = {
            "n_clusters": self.n_clusters is not None,
            "boundaries": bool(self.forced or self.forbidden)
            or any(region.is_empty for region in self.regions),
            "regions": any(region.changes > 0 for region in self.regions),
            "links": self.has_links,
            "states": bool(self.states),
        }
        return frozenset(kind for kind, is_asked in asked_for.items() if is_asked)

    @property
    def has_boundaries(self) -> bool:
        """Whether it says anything about the boundaries of segments."""
        return bool(self.forced or self.forbidden or self.regions)

    @property
    def has_links(self) -> bool:
        """Whether any samples have to be together or apart."""
        return bool(self.together or self.apart)

    def with_clusters(self, n_clusters: int | None) -> "Constraint":
        """Return the same constraint with this number of clusters, if one is given."""
        return self if n_clusters is None else replace(self, n_clusters=n_clusters)

    def validate(self, n_samples: int) -> None:
        """Refuse what no segmentation of ``n_samples`` samples can keep.

        Raises
        ------
        OracleError
            Naming the boundary, the region or the number that cannot be kept.
        """
        fault = next(self._faults(n_samples), None)
        if fault is not None:
            raise OracleError(fault)

    def _faults(self, n_samples: int) -> Iterator[str]:
        """Why no segmentation can keep the constraint, in words."""
        K = self.n_clusters
        last = n_samples - 1
        yield from self._faults_of_numbers()
        if K is not None and not 1 <= K <= n_samples:
            yield f"cannot make {K} clusters out of {n_samples} samples"
        for name, positions in (("forced", self.forced), ("forbidden", self.forbidden)):
            for t in positions:
                if not 1 <= t <= last:
                    yield (
                        f"{name} boundary {t} is outside 1..{last} "
                        f"(a recording of {n_samples} samples)"
                    )
        together = list(chain.from_iterable(self.together))
        for i in (*together, *chain.from_iterable(self.apart)):
            if not 0 <= i <= last:
                yield f"link of sample {i}, and there are samples 0..{last}"
        if len(set(together)) < len(together):
            yield "a sample is in two groups that are to be together: join them"
        for t in sorted(set(self.forced) & set(self.forbidden)):
            yield f"boundary {t} is both forced and forbidden"
        for region in self.regions:
            is_part = 0 <= region.start < region.end <= n_samples
            room = region.end - region.first
            if not (is_part and 0 <= region.changes <= (min(room, 1) if region.or_more else room)):
                yield (
                    f"{region} has no room in a recording of {n_samples} samples, or counts other "
                    "than 0, exactly k, or at least 1"
                )
        least = len(set(self.forced)) + 1
        most = n_samples - len(set(self.forbidden))
        if K is not None and not least <= K <= most:
            yield (
                f"cannot make {K} segments: forced and forbidden boundaries leave {least} to {most}"
            )

    def _faults_of_numbers(self) -> Iterator[str]:
        """Parts of the constraint that are no integers, regions, groups or pairs, in words."""
        numbers: list[Any] = [*self.forced, *self.forbidden, *self.states]
        regions: tuple[Any, ...] = self.regions
        for region in regions:
            if not isinstance(region, Region):
                yield f"regions hold {shown(region)}: give a Region"
            numbers += (region.start, region.end, region.changes)
        for group in (*self.together, *self.apart):
            numbers += group
        if self.n_clusters is not None:
            numbers.append(self.n_clusters)
        for number in numbers:
            if not is_whole(number):
                yield f"{shown(number)} is no integer, and samples and clusters are counted"
        if not all(self.together) or any(len(pair) != 2 for pair in self.apart):
            yield "together has a group of no sample, or apart one that is no pair"

    def boundary_masks(self, n_samples: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """``(allowed, forced)`` over positions ``0..T``; both ends always are boundaries.

        Regions without a change are not allowed; those that count are not in the masks.
        """
        allowed = np.ones(n_samples + 1, dtype=np.bool_)
        forced = np.zeros(n_samples + 1, dtype=np.bool_)
        allowed[list(self.forbidden)] = False
        for region in self.regions:
            if region.is_empty:
                allowed[region.first : region.end] = False
        forced[list(self.forced)] = True
        return allowed, forced

    def violation(self, M: EquivalenceMatrix) -> str | None:
        """What ``M`` breaks, in words, or None; of a relaxation only the rank is checked."""
        return next(self._violations(M), None)

    def _violations(self, M: EquivalenceMatrix) -> Iterator[str]:
        """The parts of the constraint that a partition breaks, in words."""
        if self.n_clusters not in (None, M.n_clusters):
            yield f"it has {M.n_clusters} clusters where exactly {self.n_clusters} are asked for"
        if not (M.is_partition and (self.has_boundaries or self.has_links)):
            return
        labels = M.labels
        at = runs_of(labels).boundaries[1:-1]
        boundaries = set(at.tolist())
        for t in sorted(set(self.forced) - boundaries):
            yield f"it has no boundary at {t}, where one is forced"
        for t in sorted(set(self.forbidden) & boundaries):
            yield f"it has a boundary at {t}, where none may be"
        for region in self.regions:
            if not region.holds(at):
                yield f"it has {region.count(at)} changes in the {region}"
        for group in self.together:
            if (labels[list(group)] != labels[group[0]]).any():
                yield f"it separates samples of {group}, which are to be together"
        for i, j in self.apart:
            if labels[i] == labels[j]:
                yield f"it puts samples {i} and {j} together, which are to be apart"


UNCONSTRAINED = Constraint()


def checked_places(places: Any, n_samples: int) -> Ints:
    """Places of boundaries, (n,), after a check that they are integers from 1 to T - 1."""
    array = np.asarray(places)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise OracleError(f"places must be a vector of integers, got {shown(places)}")
    if not ((array >= 1) & (array < n_samples)).all():
        raise OracleError(f"places must be from 1 to {n_samples - 1}, got {shown(places)}")
    return array.astype(np.int64)
