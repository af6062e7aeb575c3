"""Small questions to an oracle, and their answers by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from structsvm.errors import PluginError
from structsvm.oracles.exhaustive import all_partitions, all_segmentations
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Argmax, Constraint, Oracle, Region
from structsvm.partitions.trace_objective import TraceObjective

Family = Callable[[int], Iterable[ArrayLike]]
"""T to one vector of labels for each partition of T samples that an oracle searches."""

MOST = 8
"""Items of the largest question."""

TOLERANCE = 1e-9
"""Rounding allowed, as a fraction of the size of the objective."""


@dataclass(frozen=True)
class Kind:
    """The kind of questions an oracle answers."""

    contiguous: bool
    known_k: bool
    unknown_k: bool
    boundaries: bool
    family: Family | None = None
    regions: bool = False
    links: bool = False
    _listed: dict[int, dict[EquivalenceMatrix, None]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Number of samples to the partitions of so many, in their order."""

    def __post_init__(self) -> None:
        """Some question must be left."""
        if not (self.known_k or self.unknown_k):
            raise PluginError("an oracle answers for known K or for unknown K: set one of the two")

    def partitions(self, n_samples: int) -> list[EquivalenceMatrix]:
        """Every partition of ``n_samples`` samples that is searched."""
        return list(self._all(n_samples))

    def searches(self, M: EquivalenceMatrix) -> bool:
        if self.family is not None:
            return M in self._all(M.n_samples)
        return M.is_contiguous or not self.contiguous

    def _all(self, n_samples: int) -> dict[EquivalenceMatrix, None]:
        if n_samples not in self._listed:
            rows = self.family or (all_segmentations if self.contiguous else all_partitions)
            self._listed[n_samples] = {
                EquivalenceMatrix.from_labels(np.asarray(row, np.int64)): None
                for row in rows(n_samples)
            }
        return self._listed[n_samples]


@dataclass(frozen=True)
class Instance:
    """A small question to an oracle."""

    name: str
    objective: TraceObjective
    constraint: Constraint
    kind: Kind
    oracle: Oracle | None = None
    """Whom it is asked."""

    def ask(self) -> Argmax:
        """The answer of the oracle, verified."""
        assert self.oracle is not None
        return self.oracle.ask(self.objective, self.constraint)

    @property
    def slack(self) -> float:
        A = self.objective
        size = float(np.sum(A.Z**2)) + (abs(A.shift) + A.truth_weight) * A.n_samples
        return TOLERANCE * max(1.0, size)

    def allows(self, M: EquivalenceMatrix) -> bool:
        if self.constraint.violation(M) is not None:
            return False
        return not M.is_partition or self.kind.searches(M)

    @cached_property
    def candidates(self) -> list[EquivalenceMatrix]:
        """Every partition that the constraint allows."""
        found = self.kind.partitions(self.objective.n_samples)
        return [M for M in found if self.constraint.violation(M) is None]

    def best(self) -> float:
        """The largest ``Tr(A M)`` over the candidates, both matrices formed."""
        A = self.objective.dense()
        return max(float(np.sum(A * M.dense())) for M in self.candidates)

    def described(self) -> str:
        """The question in a line."""
        A = self.objective
        truth = None if A.truth is None else A.truth.labels
        return (
            f"{self.name}: T={A.n_samples}, r={A.Z.shape[1]}, truth={truth}, "
            f"truth_weight={A.truth_weight}, shift={A.shift}, {self.constraint}"
        )

    def require(self, kept: bool, complaint: str) -> None:
        """Check one promise of the oracle at this question."""
        if not kept:
            raise PluginError(f"{complaint} [{self.described()}]")


def random_instances(
    rng: np.random.Generator, n_instances: int, kind: Kind, negative_signs: bool
) -> list[Instance]:
    """Questions of a kind; with negative signs, a fourth of them once more with some."""
    instances = [_random_instance(rng, number, kind) for number in range(n_instances)]
    if negative_signs:
        instances += [_with_negative_signs(rng, instance) for instance in instances[::4]]
    further = [_with_counts_or_links(rng, instance) for instance in instances[1::4]]
    return instances + [instance for instance in further if instance is not None]


def _random_instance(rng: np.random.Generator, number: int, kind: Kind) -> Instance:
    """Gaussian samples, integers with ties, offsets and null metrics in turn."""
    T, r = int(rng.integers(1, MOST + 1 if kind.contiguous else 7)), int(rng.integers(0, 4))
    name, Z = [
        ("gaussian samples", rng.standard_normal((T, r))),
        ("integer samples with ties", rng.integers(-1, 2, (T, r)).astype(np.float64)),
        ("samples with a large offset", rng.standard_normal((T, r)) + 1e4),
        ("a null metric", np.zeros((T, r))),
    ][number // 2 % 4]
    truth = _random_truth(rng, T, kind) if rng.random() < 0.7 else None
    objective = TraceObjective(
        Z,
        truth,
        truth_weight=0.0 if truth is None else float(rng.choice([0.5, 2.0])),
        shift=float(rng.choice([-1.0, -0.3, 0.0, 0.6])),
    )
    positions = [int(t) for t in rng.permutation(np.arange(1, T))]
    n_forced, n_forbidden = rng.integers(0, 3, 2) if kind.boundaries and number % 3 == 0 else (0, 0)
    forced = tuple(positions[:n_forced])
    forbidden = tuple(positions[n_forced:][:n_forbidden])
    fix_k = kind.known_k and (not kind.unknown_k or number % 2 == 1)
    K = int(rng.integers(len(forced) + 1, T - len(forbidden) + 1)) if fix_k else None
    return Instance(name, objective, Constraint(K, forced, forbidden), kind)


def _random_truth(rng: np.random.Generator, T: int, kind: Kind) -> EquivalenceMatrix | None:
    if kind.family is not None:
        found = kind.partitions(T)
        return found[int(rng.integers(len(found)))] if found else None
    labels = np.cumsum(rng.random(T) < 0.4) if kind.contiguous else rng.integers(0, 3, T)
    return EquivalenceMatrix.from_labels(labels)


def _with_negative_signs(rng: np.random.Generator, instance: Instance) -> Instance:
    signs = rng.choice([-1.0, 1.0], instance.objective.Z.shape[1])
    return replace(
        instance,
        name=instance.name + ", negative signs",
        objective=replace(instance.objective, signs=signs),
    )


def _with_counts_or_links(rng: np.random.Generator, instance: Instance) -> Instance | None:
    kind, T = instance.kind, instance.objective.n_samples
    found = kind.partitions(T)
    if T < 3 or not found or not (kind.regions or kind.links) or not kind.unknown_k:
        return None
    M = found[int(rng.integers(len(found)))]
    i, j = sorted(rng.permutation(T)[:2].tolist())
    if kind.regions:
        n = int(np.count_nonzero((M.boundaries >= max(i, 1)) & (M.boundaries < j + 1)))
        some = bool(rng.random() < 0.5) and n > 0
        constraint = Constraint(regions=(Region(i, j + 1, 1 if some else n, or_more=some),))
    else:
        assert M.labels is not None
        same = M.labels[i] == M.labels[j]
        constraint = Constraint(together=((i, j),)) if same else Constraint(apart=((i, j),))
    return replace(instance, name=instance.name + ", regions or links", constraint=constraint)
