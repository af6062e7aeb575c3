"""What a decoder answers on the samples that a plugin's author hands in.

A family may have a scale: segments of eight samples or more, changes on the hour. Of a handful of
samples it has one single partition, so that enumeration compares nothing. Here the samples are
those of the author, and the partitions to compare with are neighbours of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample
from structsvm.errors import DataError, OracleError, PluginError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality, Region
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats
from structsvm.testing.separation import TOLERANCE

QUESTIONS = ((0.3, -1.0), (1.0, -3.0), (1.0, -1.0), (1.0, -0.1), (3.0, -1.0), (1.0, 0.5))
"""Scales of the samples and rewards of a cluster."""

NEIGHBOURS = 12
"""Of each kind, of each partition."""

NEAR = 8
"""Items that are near the end of a cluster."""

PLANTS, MOST_PLANTED, PLANTED = 6, 50, 10.0
"""Partitions that are made the best answer, their most clusters, and how clearly they are."""

MOST_MEMBERS = 150
"""Partitions of a sample that answers are compared with."""


@dataclass(eq=False)
class GivenSample:
    """One sample of the author's, and the partitions of the family that are known of it."""

    problem: PartitionProblem
    oracle: Oracle
    sample: Sample
    truth: EquivalenceMatrix
    where: str
    rng: np.random.Generator
    members: dict[EquivalenceMatrix, None] = field(default_factory=dict)
    answers: list[tuple[Floats, TraceObjective, Constraint, Argmax]] = field(default_factory=list)
    """The samples in some metric, what was asked of them and what was answered."""

    def check(self) -> int:
        """Ask, and compare; how many partitions there were to compare with."""
        self.members[self.truth] = None
        for scale, shift in QUESTIONS:
            self._ask(scale * self.sample.X, shift, UNCONSTRAINED)
        X, free = self.sample.X, list(self.members)
        for constraint in self._constraints(free):
            self._ask(X, -1.0, constraint)
        for M in self._neighbours():
            if len(self.members) >= MOST_MEMBERS:
                break
            if M not in self.members and self._is_member(M):
                self.members[M] = None
        for M in self._to_plant():
            Z = PLANTED * M.factor()
            self._ask_one(Z, TraceObjective(Z, shift=-1.0), UNCONSTRAINED)
        self._compare()
        return len(self.members)

    def require(self, kept: bool, complaint: str) -> None:
        """Check one promise of the oracle at this sample."""
        if not kept:
            name = f"{type(self.problem).__name__}, {type(self.oracle).__name__}"
            raise PluginError(f"{name}: {complaint} [{self.where}]")

    def _ask(self, Z: Floats, shift: float, constraint: Constraint) -> None:
        """A question without and with the loss."""
        for truth, weight in ((None, 0.0), (self.truth, 2.0)):
            self._ask_one(Z, TraceObjective(Z, truth, weight, shift, gaps=True), constraint)

    def _ask_one(self, Z: Floats, objective: TraceObjective, constraint: Constraint) -> None:
        """One question; some member keeps the constraint, so that there is an answer."""
        try:
            answer = self.oracle.ask(objective, constraint)
        except OracleError as error:
            raise PluginError(
                f"{type(self.problem).__name__}, {type(self.oracle).__name__}: refused {constraint}"
                f" ({error}), though encode accepts partitions that keep it [{self.where}]"
            ) from error
        except PluginError as error:
            error.add_note(self.where)
            raise
        M = answer.y
        if M.is_partition:
            self.require(
                self._round_trip(M) == M,
                f"the answer {_in_short(M)} to {constraint} is no partition of this family: encode "
                "refuses it, or makes another of decode(M)",
            )
            self.members[M] = None
        slack = self._slack(objective)
        value = objective.value(M)
        self.require(
            abs(answer.value - value) <= slack,
            f"value is {answer.value!r} but Tr(A M) at y is {value!r}: return objective.value(y)",
        )
        self.require(
            answer.upper_bound >= answer.value - slack,
            f"upper_bound {answer.upper_bound!r} is below value {answer.value!r}: return value if "
            "the answer is exact, math.inf if no bound is known",
        )
        self.answers.append((Z, objective, constraint, answer))

    def _compare(self) -> None:
        """No member that keeps the constraint is better than the answer may say."""
        members = list(self.members)
        counts = np.array([M.n_clusters for M in members])
        shared = np.array([M.inner(self.truth) for M in members])
        scatters: dict[int, Floats] = {}  # of samples that are asked about several times
        for Z, objective, constraint, answer in self.answers:
            exact = answer.quality is Quality.EXACT
            most = answer.value if exact else answer.upper_bound
            if not np.isfinite(most):
                continue
            if id(Z) not in scatters:
                scatters[id(Z)] = np.array([M.gram_diagonal(Z).sum() for M in members])
            values = objective.shift * counts + scatters[id(Z)] - objective.truth_weight * shared
            for k in np.flatnonzero(values > most + self._slack(objective)):
                M = members[k]
                if constraint.violation(M) is not None:
                    continue
                self.require(
                    False,
                    f"declared {'exact' if exact else 'an upper bound'} with {most:.6g}, but "
                    f"{_in_short(M)}, which encode accepts, has {values[k]:.6g} (shift "
                    f"{objective.shift:g}, truth_weight {objective.truth_weight:g}, {constraint}): "
                    "fix the search, or declare Quality.HEURISTIC with math.inf as its bound",
                )

    def _constraints(self, free: list[EquivalenceMatrix]) -> Iterator[Constraint]:
        """Constraints that are kept by some member that is known."""
        takes = self.oracle.takes
        if "n_clusters" in takes:
            for K in sorted({M.n_clusters for M in free if M.is_partition})[:4]:
                yield Constraint(n_clusters=K)
        labels = self.truth.labels
        assert labels is not None
        T, at = labels.size, np.flatnonzero(np.diff(labels)) + 1
        if self.problem.traits.contiguous and "boundaries" in takes and T > 1:
            forced = self.rng.permutation(at)[:2].tolist()
            others = np.setdiff1d(np.arange(1, T), at)
            forbidden = self.rng.permutation(others)[: max(1, T // 4)].tolist()
            yield Constraint(forced=tuple(sorted(forced)))
            yield Constraint(forbidden=tuple(sorted(forbidden)))
            yield Constraint(forced=tuple(sorted(forced)), forbidden=tuple(sorted(forbidden)))
            ends = [0, *at.tolist(), T]
            k = int(np.argmax(np.diff(ends)))
            if ends[k] + 1 < ends[k + 1]:
                yield Constraint(regions=(Region(ends[k] + 1, ends[k + 1], 0),))
        if self.problem.traits.contiguous and "regions" in takes and at.size:
            a, b = max(0, int(at[0]) - 3), min(T, int(at[0]) + 3)
            n = int(np.count_nonzero((at >= a) & (at < b)))
            yield Constraint(regions=(Region(a, b, n),))
            yield Constraint(regions=(Region(a, b, 1, or_more=True),))
        if not self.problem.traits.contiguous and "links" in takes:
            i, j = self.rng.permutation(T)[:2].tolist() if T > 1 else (0, 0)
            if labels[i] == labels[j] and i != j:
                yield Constraint(together=((i, j),))
            elif i != j:
                yield Constraint(apart=((i, j),))

    def _to_plant(self) -> list[EquivalenceMatrix]:
        """Members whose clusters are the smallest, and some others: answers if samples are theirs.

        The rows of ``M.factor()`` are as far apart as the clusters of ``M``, so that ``M`` itself
        is the best partition of them, and the oracle has to have it.
        """
        small = [M for M in self.members if M.is_partition and M.n_clusters <= MOST_PLANTED]
        small.sort(key=lambda M: int(M.sizes.min()))
        others = [small[i] for i in self.rng.permutation(len(small))[:PLANTS]]
        return [*small[:PLANTS], *others]

    def _neighbours(self) -> Iterator[EquivalenceMatrix]:
        """Merges, splits and moves of the members that are known."""
        known = list(self.members)
        for M in self.rng.permutation(len(known)):
            labels = known[M].labels
            assert labels is not None
            yield from self._merged(labels)
            yield from self._split_and_moved(labels)

    def _merged(self, labels: NDArray[np.int64]) -> Iterator[EquivalenceMatrix]:
        """Clusters that touch put together, one pair after the other."""
        merged = labels.copy()
        for _ in range(NEIGHBOURS):
            at = np.flatnonzero(np.diff(merged))
            if not at.size:
                return
            t = int(self.rng.choice(at))
            once, (a, b) = labels.copy(), (labels[t], labels[t + 1])
            once[once == b] = a
            yield EquivalenceMatrix.from_labels(once)
            merged[merged == merged[t + 1]] = merged[t]
            yield EquivalenceMatrix.from_labels(merged)

    def _split_and_moved(self, labels: NDArray[np.int64]) -> Iterator[EquivalenceMatrix]:
        """Stretches made clusters, clusters cut, stretches given to the neighbour."""
        T = labels.size
        changes = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), T]
        for _ in range(NEIGHBOURS):
            start, end = sorted(self.rng.integers(0, T + 1, 2).tolist())
            stretch, cut, moved = labels.copy(), labels.copy(), labels.copy()
            stretch[start:end] = labels.max() + 1
            k = int(self.rng.integers(0, len(changes) - 1))
            # Near the end of the cluster as often as anywhere in it: a rule about lengths shows
            # where they are just long enough.
            first = max(changes[k], changes[k + 1] - int(self.rng.choice([NEAR, T])))
            middle = int(self.rng.integers(first, changes[k + 1]))
            cut[middle : changes[k + 1]] = labels.max() + 1
            moved[middle : changes[k + 1]] = labels[min(changes[k + 1], T - 1)]
            for changed in (stretch, cut, moved):
                yield EquivalenceMatrix.from_labels(changed)

    def _is_member(self, M: EquivalenceMatrix) -> bool:
        return self._round_trip(M) == M

    def _round_trip(self, M: EquivalenceMatrix) -> EquivalenceMatrix | None:
        try:
            return self.problem.encode(self.problem.decode(M, self.sample), self.sample)
        except DataError:
            return None

    def _slack(self, objective: TraceObjective) -> float:
        size = float(np.nansum(objective.Z**2))
        size += (abs(objective.shift) + objective.truth_weight) * objective.n_samples
        return TOLERANCE * (1.0 + size)


def _in_short(M: EquivalenceMatrix) -> str:
    """A partition in a message."""
    if M.labels is None:
        return "a projector"
    if M.is_contiguous:
        ends = M.breakpoints
        return f"the one with segments that end at {ends}" if len(ends) <= 20 else "one of segments"
    return f"the one with labels {M.labels.tolist()}" if M.n_samples <= 30 else "one of clusters"
