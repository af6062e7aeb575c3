"""The objective of loss-augmented inference, and what a separation oracle promises."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from structsvm.data.missing import LARGEST, has_gaps, magnitudes, means
from structsvm.errors import OracleError, PluginError, about, warn
from structsvm.messages import nth
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss, runs_of
from structsvm.status import Quality as Quality
from structsvm.support.arrays import Floats, Stack, all_within, largest_of_all
from structsvm.support.checks import is_number, is_whole, read_only, shown
from structsvm.support.contract import Contract, asked, checked_by, hook, raise_wrong

# ---- the objective ``Tr(A M)`` of loss-augmented inference, in factored form


@dataclass(frozen=True, eq=False)
class TraceObjective:
    """``A = Z Z^T - c M_i + d I``: the only place where a loss-augmented matrix is represented.

    With ``Z = X L`` and ``B = L L^T`` this is ``T A_i = X B X^T - 2 kappa M_i + (kappa - beta) I``
    of Lajugie et al., section "Loss-augmented inference problem" (``c = 2 kappa``,
    ``d = kappa - beta``); without a truth it is the objective of plain decoding. ``Z`` is held
    as a read-only view.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import EquivalenceMatrix, TraceObjective
    >>> objective = TraceObjective(np.array([[0.0], [2.0], [2.0]]), shift=-1.0)
    >>> round(objective.value(EquivalenceMatrix.from_breakpoints([1, 3])), 3)
    6.0
    >>> round(objective.value(EquivalenceMatrix.from_breakpoints([3])), 3)
    4.333
    """

    Z: Floats
    """The samples in the metric, (T, r); ``r = 0`` is the null metric."""
    truth: EquivalenceMatrix | None = None
    """``M_i``, the labelling the loss is measured against."""
    truth_weight: float = 0.0
    """``c >= 0``."""
    shift: float = 0.0
    """``d``: reward (or, negative, price) of one more cluster."""
    gaps: bool = False
    """Whether NaN in ``Z`` are values that are missing: of a cluster and a column the squared sum
    of the values there are counts, over their number. There is no matrix ``A`` of that."""

    def __post_init__(self) -> None:
        """Check what compiled code relies on, once."""
        _refuse_no_samples(self.Z)
        within = all_within(self.Z, LARGEST)
        if self.gaps:
            object.__setattr__(self, "gaps", not within and has_gaps(self.Z))
        size = 0.0 if within else largest_of_all(self.Z)
        if self.gaps:
            size = float(magnitudes(self.Z).max(initial=0.0))
        fault = next(self._faults(size), None)
        if fault is not None:
            raise OracleError(fault)
        object.__setattr__(self, "Z", read_only(self.Z))

    def _faults(self, size: float) -> Iterator[str]:
        """What is wrong with an objective whose samples reach ``size``."""
        if not math.isfinite(size + self.truth_weight + self.shift):
            yield "the objective is not finite: look for NaN or inf in the data or B"
        if max(abs(self.truth_weight), abs(self.shift)) > LARGEST:
            yield f"truth_weight and shift must be within {LARGEST:g}"
        if size > LARGEST:
            yield (
                f"the samples reach {size:g} in the metric, and beyond {LARGEST:g} squares "
                "overflow: scale the data as those that were learned from"
            )
        if self.truth is not None:
            yield from faults_of_truth(self.truth, self.n_samples)
        if self.truth_weight < 0:
            yield f"truth_weight must be >= 0, got {self.truth_weight}"

    @property
    def n_samples(self) -> int:
        """The number of samples, T."""
        return int(self.Z.shape[0])

    @property
    def has_truth(self) -> bool:
        """Whether the loss takes part in the objective."""
        return self.truth is not None and self.truth_weight != 0.0

    def value(self, M: EquivalenceMatrix) -> float:
        """Return ``Tr(A M)``, in O(T r)."""
        total = self.shift * M.n_clusters
        if self.Z.shape[1]:
            total += float(M.gram_diagonal(self.Z).sum())
        if self.truth is not None and self.truth_weight:
            total -= self.truth_weight * M.inner(self.truth)
        return total

    def segment_scores(self) -> Floats:
        """Contribution of each segment to ``Tr(A M)``, (T + 1, T + 1), in O(T^2 (r + K)).

        Entry ``[s, t]`` is that of the samples ``s, ..., t - 1``, minus infinity for none.
        """
        T = self.n_samples
        mean = means(self.Z)
        there = ~np.isnan(self.Z)
        counts = np.concatenate([np.zeros((1, mean.size)), np.cumsum(there, axis=0)])
        away_from_mean = np.where(there, self.Z - mean, 0.0)
        sums = np.concatenate([np.zeros((1, mean.size)), np.cumsum(away_from_mean, axis=0)])
        overlaps = np.zeros((T + 1, 0))
        if self.truth is not None and self.has_truth:
            U = self.truth.factor()
            overlaps = np.concatenate([np.zeros((1, U.shape[1])), np.cumsum(U, axis=0)])
        scores = np.full((T + 1, T + 1), -np.inf)
        for t in range(1, T + 1):
            n = t - np.arange(t)
            away = sums[t] - sums[:t]
            values = counts[t] - counts[:t]
            squares = np.divide(away**2, values, out=np.zeros_like(away), where=values > 0)
            gram = squares.sum(axis=1) + 2.0 * away @ mean + values @ mean**2
            shared = ((overlaps[t] - overlaps[:t]) ** 2).sum(axis=1) / n
            scores[:t, t] = gram - self.truth_weight * shared + self.shift
        return scores

    def dense(self) -> Floats:
        """Return ``A`` as an array, (T, T); an OracleError if values are missing."""
        if self.gaps:
            raise OracleError("an objective with missing values has no matrix: use value()")
        A = self.Z @ self.Z.T + self.shift * np.eye(self.n_samples)
        if self.truth is not None:
            A -= self.truth_weight * self.truth.dense()
        return np.asarray(A)


def _refuse_no_samples(Z: Any) -> None:
    if not (isinstance(Z, np.ndarray) and Z.dtype.kind in "biuf"):
        raise OracleError(f"Z must be an array of numbers, got {shown(Z)}")
    if Z.ndim != 2 or Z.shape[0] == 0:
        raise OracleError(f"Z must have shape (T, r) with T >= 1, got {Z.shape}")


def faults_of_truth(truth: Any, n_samples: int) -> Iterator[str]:
    """What is wrong with the labelling that the loss of ``n_samples`` samples is measured by."""
    if not isinstance(truth, EquivalenceMatrix):
        yield f"the truth is {shown(truth)}: give an EquivalenceMatrix"
    elif not truth.is_sound:
        yield "the truth is no EquivalenceMatrix that from_breakpoints or from_labels made"
    elif truth.n_samples != n_samples:
        yield f"the truth labels {truth.n_samples} samples, and there are {n_samples}"


# ---- what a separation oracle promises


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
    """Exactly so many, or at least so many."""
    or_more: bool = False

    def __str__(self) -> str:
        n = "no" if self.changes == 0 else str(self.changes)
        count = f"{'at least ' if self.or_more else ''}{n} change{'' if n == '1' else 's'}"
        return f"region {self.start}..{self.end} with {count}"

    @property
    def first(self) -> int:
        """The first place of a change: none is at the first sample of a recording."""
        return max(self.start, 1)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes in it."""
        return self.changes == 0 and not self.or_more

    def holds(self, boundaries: NDArray[np.int64]) -> bool:
        """Whether a segmentation with these boundaries, ends included or not, agrees."""
        found = self.count(boundaries)
        return found >= self.changes if self.or_more else found == self.changes

    def count(self, boundaries: NDArray[np.int64]) -> int:
        """Number of these boundaries that are its changes."""
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
    """Positions where none ends."""
    regions: tuple[Region, ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    """Disjoint groups of samples, each inside one cluster."""
    apart: tuple[tuple[int, int], ...] = ()
    """Pairs of samples in different clusters."""
    states: tuple[int, ...] = ()
    """The number of the state of each sample, -1 where it is not known; none if none is."""

    @property
    def says_nothing(self) -> bool:
        """Whether every partition is allowed."""
        return self is UNCONSTRAINED or self == UNCONSTRAINED

    @property
    def kinds(self) -> frozenset[ConstraintKind]:
        """Kinds of what it says; regions without a change are boundaries ruled out."""
        found: dict[ConstraintKind, bool] = {
            "n_clusters": self.n_clusters is not None,
            "boundaries": bool(self.forced or self.forbidden)
            or any(region.is_empty for region in self.regions),
            "regions": any(region.changes > 0 for region in self.regions),
            "links": self.has_links,
            "states": bool(self.states),
        }
        return frozenset(kind for kind, said in found.items() if said)

    @property
    def has_boundaries(self) -> bool:
        """Whether it says anything about the boundaries of segments."""
        return bool(self.forced or self.forbidden or self.regions)

    @property
    def has_links(self) -> bool:
        """Whether any samples have to be together or apart."""
        return bool(self.together or self.apart)

    def with_clusters(self, n_clusters: int | None) -> Constraint:
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
        together = [i for group in self.together for i in group]
        for i in (*together, *(i for pair in self.apart for i in pair)):
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
        """What is not made of integers, which count samples, boundaries and clusters."""
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
        """Say what ``M`` does not keep, if anything; of a relaxation the number is checked."""
        return next(self._violations(M), None)

    def _violations(self, M: EquivalenceMatrix) -> Iterator[str]:
        if self.n_clusters not in (None, M.n_clusters):
            yield f"it has {M.n_clusters} clusters where exactly {self.n_clusters} are asked for"
        if not (M.is_partition and (self.has_boundaries or self.has_links)):
            return
        labels = M.labels
        at = runs_of(labels).boundaries[1:-1]
        found = set(at.tolist())
        for t in sorted(set(self.forced) - found):
            yield f"it has no boundary at {t}, where one is forced"
        for t in sorted(set(self.forbidden) & found):
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

DOUBT = 0.1
"""Cost of rounding from which on there is a warning, as a part of the price of a change."""


@dataclass(frozen=True)
class Argmax:
    """The answer of an oracle to ``max_M Tr(A M)``.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import Argmax, TraceObjective
    >>> answer = SequentialOracle().ask(TraceObjective(np.array([[0.0], [2.0]]), shift=-1.0))
    >>> isinstance(answer, Argmax), answer.value, answer.quality.name
    (True, 2.0, 'EXACT')
    """

    y: EquivalenceMatrix
    """The maximiser found."""
    value: float
    """``Tr(A M)`` at ``y``."""
    upper_bound: float
    """No allowed partition has a larger value (infinite for a heuristic that knows none)."""
    quality: Quality
    """Certificate of ``value`` and ``upper_bound``."""


def warn_of_rounding(answer: Argmax, price: float) -> None:
    """Say so where rounding may hide changes from an oracle that is exact otherwise."""
    lost = answer.upper_bound - answer.value
    if lost > DOUBT * price and answer.quality is Quality.EXACT:
        warn(
            f"a recording of {answer.y.n_samples} samples has jumps so large that rounding may "
            f"hide changes: up to {lost:.2g}, where a change costs {price:.2g}; take outliers out, "
            "or cut the recording where it jumps",
        )


class Oracle(Contract):
    """Maximises ``Tr(A M)`` over a family of partitions: loss-augmented inference and decoding.

    An oracle holds settings only; it is deterministic, does not modify its input and may be called
    from several threads and processes at once. Define :meth:`maximize`; what calls it is
    :meth:`ask`, which verifies the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import all_segmentations
    >>> from structsvm.partitions import Argmax, EquivalenceMatrix, Oracle, Quality, TraceObjective
    >>> class TwoSegments(Oracle):
    ...     takes = frozenset()
    ...
    ...     def maximize(self, objective, constraint=None):
    ...         rows = [y for y in all_segmentations(objective.n_samples) if y[-1] == 1]
    ...         best = max(map(EquivalenceMatrix.from_labels, rows), key=objective.value)
    ...         value = objective.value(best)
    ...         return Argmax(best, value, value, Quality.EXACT)
    >>> objective = TraceObjective(np.array([[0.0], [0.0], [9.0], [8.0]]))
    >>> TwoSegments().ask(objective).y.breakpoints
    [2, 4]
    """

    takes: ClassVar[frozenset[ConstraintKind]] = frozenset({"n_clusters", "boundaries"})
    """The kinds of constraints that :meth:`maximize` keeps; any other is refused before the work
    starts. "boundaries" are forced and forbidden ones and regions without a change, which
    :meth:`Constraint.boundary_masks` holds together, "regions" those that count changes, "links"
    samples that have to be together or apart."""

    takes_gaps: ClassVar[bool] = False
    """Whether values may be missing, :attr:`TraceObjective.gaps`; otherwise they are refused."""

    def verified(
        self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED
    ) -> tuple[TraceObjective, Constraint]:
        """A question that can be asked: what :meth:`maximize` is called with, whoever calls it."""
        if not isinstance(objective, TraceObjective):
            raise OracleError(f"the objective is {shown(objective)}: give a TraceObjective")
        self.refuse(constraint, objective.n_samples)
        if objective.gaps and not self.takes_gaps:
            raise OracleError(
                f"{type(self).__name__} does not take missing values: interpolate them first"
            )
        return objective, constraint

    def verified_prices(self, Z: Floats, prices: Floats) -> tuple[Floats, Floats]:
        """Samples (T, r) and prices (n,), finite, at least 0 and in order."""
        _refuse_no_samples(Z)
        found = np.asarray(prices)
        if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iuf":
            raise OracleError(f"prices must be a vector of numbers, got {shown(prices)}")
        if not (found[0] >= 0 and found[-1] <= LARGEST and (found[1:] >= found[:-1]).all()):
            raise OracleError(
                f"prices must be numbers from 0 to {LARGEST:g} in increasing order: sort them, "
                "and leave NaN out"
            )
        return Z, np.ascontiguousarray(found, dtype=np.float64)

    def verified_curve(
        self, Z: Floats, truth: EquivalenceMatrix, prices: Floats
    ) -> tuple[Floats, EquivalenceMatrix, Floats]:
        """The same with the labelling of as many samples by which the loss is measured."""
        Z, prices = self.verified_prices(Z, prices)
        fault = next(faults_of_truth(truth, len(Z)), None)
        if fault is not None:
            raise OracleError(fault)
        return Z, truth, prices

    def verified_each(self, Zs: Stack, price: float) -> tuple[Stack, float]:
        """Samples side by side, at least one row each, of which each can be asked about."""
        if not (isinstance(Zs, Stack) and Zs.is_sound):
            raise OracleError(f"the samples are {shown(Zs)}: give what Stack.of makes of arrays")
        _refuse_no_samples(Zs.rows)
        if not (is_number(price) and 0 <= price <= LARGEST):
            raise OracleError(f"the price must be a number from 0 to {LARGEST:g}, got {price!r}")
        if not all_within(Zs.rows, LARGEST):
            for i, Z in enumerate(Zs.arrays()):
                with about(nth("sample", i)):
                    self.verified(TraceObjective(Z, shift=-price, gaps=True))
        return Zs, float(price)

    @checked_by(verified)
    @abstractmethod
    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the partitions that ``constraint`` allows.

        OracleError where there is none.
        """

    def ask(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """The answer of :meth:`maximize`, verified: an Argmax that keeps the constraint.

        Raises
        ------
        OracleError
            As :meth:`maximize`; when the constraint is of a kind that the oracle does not take,
            or when values are missing and it does not take that.
        PluginError
            When it failed, or the answer is no Argmax, is about other samples, or breaks the
            constraint.
        """
        with asked(self, "maximize"):
            answer = self.maximize(objective, constraint)
        self._verify(answer, objective.n_samples, constraint)
        return answer

    def ask_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """The answers of :meth:`maximize_each`, verified, one for each of the samples.

        Raises
        ------
        OracleError, PluginError
            As :meth:`ask`, with the number of the sample.
        """
        with asked(self, "maximize_each"):
            answers = self.maximize_each(Zs, price)
        if not (isinstance(answers, list) and len(answers) == len(Zs)):
            raise_wrong(self, "maximize_each", answers, f"a list of {len(Zs)} Argmax")
        for answer, n_samples in zip(answers, np.diff(Zs.first).tolist(), strict=True):
            self._verify(answer, n_samples, UNCONSTRAINED)
        return answers

    def _verify(self, answer: Any, n_samples: int, constraint: Constraint) -> None:
        """Refuse what is no answer to a question."""
        y = getattr(answer, "y", None)
        quality = getattr(answer, "quality", None)
        if not (
            isinstance(answer, Argmax)
            and isinstance(y, EquivalenceMatrix)
            and isinstance(quality, Quality)
        ):
            found = shown(answer)
            if isinstance(answer, Argmax):
                found = f"an Argmax of {shown(y)} and {shown(quality)}"
            wrong = (
                f"returned {found}: return Argmax(y, value, upper_bound, quality) of an "
                "EquivalenceMatrix and a Quality"
            )
        elif y.n_samples != n_samples:
            wrong = f"answered for {y.n_samples} samples, the objective has {n_samples}"
        elif math.isnan(answer.value) or math.isnan(answer.upper_bound):
            wrong = (
                f"returned the value {answer.value} and the upper bound {answer.upper_bound}: "
                "return objective.value(y), and math.inf where no bound is known"
            )
        elif not constraint.says_nothing and (broken := constraint.violation(y)):
            wrong = (
                f"breaks its constraint: {broken}. Keep what the constraint says, or leave that "
                "kind out of takes"
            )
        else:
            return
        raise PluginError(f"{type(self).__name__}.maximize {wrong}")

    def refuse(self, constraint: Constraint, n_samples: int) -> None:
        """Refuse, before any work, a constraint that cannot be kept or is not in ``takes``."""
        if not isinstance(constraint, Constraint):
            raise OracleError(f"the constraint is {shown(constraint)}: give a Constraint")
        if constraint.says_nothing:
            return
        constraint.validate(n_samples)
        beyond = sorted(constraint.kinds - self.takes)
        if beyond:
            example = next((r for r in constraint.regions if r.changes > 0), None)
            said = f" ({example})" if beyond == ["regions"] else ""
            raise OracleError(
                f"{type(self).__name__} does not take {' and '.join(beyond)}{said}: it declares "
                f"takes = {sorted(self.takes)}. Leave such labels or arguments out, use another "
                "problem, or have maximize keep them and add them to takes"
            )

    @checked_by(verified_each)
    @hook
    def maximize_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """The answers for samples side by side, of which nothing is known, at a price >= 0."""
        objectives = [TraceObjective(Z, shift=-price, gaps=True) for Z in Zs.arrays()]
        return [self.maximize(objective) for objective in objectives]

    @checked_by(verified_prices)
    @hook
    def price_path(self, Z: Floats, prices: Floats) -> list[EquivalenceMatrix]:
        """The best partition of samples (T, r) at each of n positive, increasing prices."""
        return decode_between(lambda p: self.ask(TraceObjective(Z, shift=-p, gaps=True)).y, prices)

    @checked_by(verified_curve)
    @hook
    def loss_curve(self, Z: Floats, truth: EquivalenceMatrix, prices: Floats) -> Floats:
        """``|M - M_i|_F^2`` of the best partition of samples (T, r) at every price, (n,)."""
        path = self.price_path(Z, prices)
        losses = {id(M): partition_loss(truth, M) for M in path}
        return np.array([losses[id(M)] for M in path])


def decode_between(
    decode: Callable[[float], EquivalenceMatrix], prices: Floats
) -> list[EquivalenceMatrix]:
    """The best partition at every price, of which most need no decoding."""
    found: dict[int, EquivalenceMatrix] = {}

    def at(index: int) -> EquivalenceMatrix:
        if index not in found:
            found[index] = decode(float(prices[index]))
        return found[index]

    # The optimal value is a maximum of functions affine in the price, so that two prices with the
    # same optimal partition share it with all between them.
    pending = [(0, prices.size - 1)]
    while pending:
        low, high = pending.pop()
        if at(low) == at(high):
            found.update(dict.fromkeys(range(low, high), found[high]))
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(low, middle), (middle, high)]
    return [found[index] for index in range(prices.size)]
