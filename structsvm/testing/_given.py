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
from structsvm.testing.oracle import check_value, size_of
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
    answers: list[tuple[TraceObjective, Constraint, Argmax]] = field(default_factory=list)

    def check(self) -> int:
        """Ask, and compare; how many partitions there were to compare with."""
        self.members[self.truth] = None
        X = self.sample.X
        for scale, shift in QUESTIONS:
            self._ask(scale * X, shift, UNCONSTRAINED)
        for constraint in list(self._constraints()):
            self._ask(X, -1.0, constraint)
        for M in self._neighbours():
            if len(self.members) >= MOST_MEMBERS:
                break
            if M not in self.members and self._is_member(M):
                self.members[M] = None
        for M in self._to_plant():
            self._ask_one(TraceObjective(PLANTED * M.factor(), shift=-1.0), UNCONSTRAINED)
        self._compare()
        return len(self.members)

    def require(self, kept: bool, complaint: str) -> None:
        if not kept:
            name = f"{type(self.problem).__name__}, {type(self.oracle).__name__}"
            raise PluginError(f"{name}: {complaint} [{self.where}]")

    def _ask(self, Z: Floats, shift: float, constraint: Constraint) -> None:
        """A question without and with the loss."""
        for truth, weight in ((None, 0.0), (self.truth, 2.0)):
            self._ask_one(TraceObjective(Z, truth, weight, shift, gaps=True), constraint)

    def _ask_one(self, objective: TraceObjective, constraint: Constraint) -> None:
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
        if answer.y.is_partition:
            self.require(
                self._is_member(answer.y),
                f"the answer {_in_short(answer.y)} to {constraint} is no partition of this family: "
                "encode refuses it, or makes another of decode(M)",
            )
            self.members[answer.y] = None
        check_value(self.require, objective, answer, _slack(objective))
        self.answers.append((objective, constraint, answer))

    def _compare(self) -> None:
        """No member that keeps the constraint is better than the answer may say."""
        for objective, constraint, answer in self.answers:
            exact = answer.quality is Quality.EXACT
            most = answer.value if exact else answer.upper_bound
            for M in self.members if np.isfinite(most) else ():
                if constraint.violation(M) is not None:
                    continue
                value = objective.value(M)
                self.require(
                    value <= most + _slack(objective),
                    f"declared {'exact' if exact else 'an upper bound'} with {most:.6g}, but "
                    f"{_in_short(M)}, which encode accepts, has {value:.6g} (shift "
                    f"{objective.shift:g}, truth_weight {objective.truth_weight:g}, {constraint}): "
                    "fix the search, or declare Quality.HEURISTIC with math.inf as its bound",
                )

    def _constraints(self) -> Iterator[Constraint]:
        """Constraints that are kept by some member that is known."""
        takes, contiguous = self.oracle.takes, self.problem.traits.contiguous
        if "n_clusters" in takes:
            for K in sorted({M.n_clusters for M in self.members if M.is_partition})[:4]:
                yield Constraint(n_clusters=K)
        labels = self.truth.labels
        assert labels is not None
        T, at = labels.size, np.flatnonzero(np.diff(labels)) + 1
        if contiguous and "boundaries" in takes and T > 1:
            others = self.rng.permutation(np.setdiff1d(np.arange(1, T), at))
            forced = tuple(sorted(self.rng.permutation(at)[:2].tolist()))
            forbidden = tuple(sorted(others[: max(1, T // 4)].tolist()))
            yield Constraint(forced=forced)
            yield Constraint(forbidden=forbidden)
            yield Constraint(forced=forced, forbidden=forbidden)
            ends = [0, *at.tolist(), T]
            k = int(np.argmax(np.diff(ends)))
            if ends[k] + 1 < ends[k + 1]:
                yield Constraint(regions=(Region(ends[k] + 1, ends[k + 1], 0),))
        if contiguous and "regions" in takes and at.size:
            a, b = max(0, int(at[0]) - 3), min(T, int(at[0]) + 3)
            n = int(np.count_nonzero((at >= a) & (at < b)))
            yield Constraint(regions=(Region(a, b, n),))
            yield Constraint(regions=(Region(a, b, 1, or_more=True),))
        if not contiguous and "links" in takes and T > 1:
            i, j = self.rng.permutation(T)[:2].tolist()
            same = labels[i] == labels[j]
            yield Constraint(together=((i, j),)) if same else Constraint(apart=((i, j),))

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
        for k in self.rng.permutation(len(known)):
            labels = known[k].labels
            assert labels is not None
            for changed in (*self._merged(labels), *self._split_and_moved(labels)):
                yield EquivalenceMatrix.from_labels(changed)

    def _merged(self, labels: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Clusters that touch put together, one pair after the other."""
        merged = labels.copy()
        for _ in range(NEIGHBOURS):
            at = np.flatnonzero(np.diff(merged))
            if not at.size:
                return
            t = int(self.rng.choice(at))
            yield np.where(labels == labels[t + 1], labels[t], labels)
            merged[merged == merged[t + 1]] = merged[t]
            yield merged.copy()

    def _split_and_moved(self, labels: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Stretches made clusters, clusters cut, stretches given to the neighbour."""
        T, new = labels.size, labels.max() + 1
        changes = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), T]
        for _ in range(NEIGHBOURS):
            start, end = sorted(self.rng.integers(0, T + 1, 2).tolist())
            stretch, cut, moved = labels.copy(), labels.copy(), labels.copy()
            stretch[start:end] = new
            k = int(self.rng.integers(0, len(changes) - 1))
            # Near the end of the cluster as often as anywhere in it: a rule about lengths shows
            # where they are just long enough.
            first = max(changes[k], changes[k + 1] - int(self.rng.choice([NEAR, T])))
            middle = int(self.rng.integers(first, changes[k + 1]))
            cut[middle : changes[k + 1]] = new
            moved[middle : changes[k + 1]] = labels[min(changes[k + 1], T - 1)]
            yield from (stretch, cut, moved)

    def _is_member(self, M: EquivalenceMatrix) -> bool:
        try:
            return self.problem.encode(self.problem.decode(M, self.sample), self.sample) == M
        except DataError:
            return False


def _slack(objective: TraceObjective) -> float:
    return TOLERANCE * (1.0 + size_of(objective))


def _in_short(M: EquivalenceMatrix) -> str:
    """A partition in a message."""
    if M.labels is None:
        return "a projector"
    if M.is_contiguous:
        ends = M.breakpoints
        return f"the one with segments that end at {ends}" if len(ends) <= 20 else "one of segments"
    return f"the one with labels {M.labels.tolist()}" if M.n_samples <= 30 else "one of clusters"
