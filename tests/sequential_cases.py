"""Questions to the sequential oracle, and their answers by other means."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective


@dataclass(frozen=True)
class Case:
    kind: str
    objective: TraceObjective
    constraint: Constraint

    @property
    def centred(self) -> TraceObjective:
        """The same question up to a constant, since ``M 1 = 1``, without its offset."""
        A = self.objective
        Z = A.Z - A.Z.mean(axis=0)
        return TraceObjective(Z, A.truth, A.truth_weight, A.shift)

    @property
    def slack(self) -> float:
        A = self.centred
        offset = float(np.abs(self.objective.Z).max(initial=0.0))
        size = float(np.sum(A.Z**2)) + (abs(A.shift) + A.truth_weight) * A.n_samples
        return 1e-11 * max(1.0, size) + 1e-14 * offset * float(np.abs(A.Z).sum())


def random_truth(rng: np.random.Generator, T: int) -> EquivalenceMatrix:
    """Few or many segments."""
    return EquivalenceMatrix.from_labels(np.cumsum(rng.random(T) < rng.choice([0.05, 0.3, 0.8])))


def random_samples(
    rng: np.random.Generator, kind: str, truth: EquivalenceMatrix, r: int
) -> np.ndarray:
    T = truth.n_samples
    noise = rng.standard_normal((T, r)) * rng.choice([0.05, 0.3, 1.0])
    if kind == "ties":
        return rng.integers(-1, 2, (T, r)).astype(float)
    if kind == "offset":
        return noise + 1e5
    if kind == "null":
        return np.zeros((T, r))
    if kind == "steps":
        return noise + rng.standard_normal((truth.n_clusters, r))[truth.labels]
    return noise


def random_constraint(rng: np.random.Generator, T: int, largest_k: int) -> Constraint:
    positions = [int(t) for t in rng.permutation(np.arange(1, T))]
    n_forced, n_forbidden = rng.integers(0, T // 4 + 1, 2) if rng.random() < 0.4 else (0, 0)
    forced = positions[:n_forced]
    forbidden = positions[n_forced : n_forced + n_forbidden]
    K = None
    if rng.random() < 0.5:
        low = len(forced) + 1
        high = T - len(forbidden)
        K = int(rng.integers(low, max(low, min(high, largest_k)) + 1))
    return Constraint(K, tuple(forced), tuple(forbidden))


def random_case(seed: int, most_samples: int) -> Case:
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, most_samples + 1))
    r = int(rng.integers(0, 4))
    kind = ("gaussian", "ties", "offset", "null", "steps")[seed % 5]
    truth = random_truth(rng, T)
    objective = TraceObjective(
        random_samples(rng, kind, truth, r),
        truth if rng.random() < 0.75 else None,
        truth_weight=float(rng.choice([0.0, 0.5, 2.0])),
        shift=float(rng.choice([-1.0, -0.7, -0.1, 0.0, 1e-3, 0.6, 1.0, 2.5])),
    )
    return Case(kind, objective, random_constraint(rng, T, largest_k=30))


@cache
def segmentations(T: int) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Boundaries at 0..T of every segmentation, which segments each has, and the segments."""
    codes = np.arange(2 ** (T - 1))[:, None]
    boundary = np.ones((codes.shape[0], T + 1), dtype=bool)
    boundary[:, 1:T] = (codes >> np.arange(T - 1)) & 1
    segments = list(combinations(range(T + 1), 2))
    holds = np.column_stack(
        [boundary[:, s] & boundary[:, t] & ~boundary[:, s + 1 : t].any(axis=1) for s, t in segments]
    )
    return boundary, holds.astype(float), segments


def segment_scores(objective: TraceObjective) -> np.ndarray:
    """``Tr(A M)`` of every segmentation."""
    A = objective.dense()
    return np.asarray(segmentations(A.shape[0])[1] @ (segment_matrices(A.shape[0]) @ A.ravel()))


@cache
def segment_matrices(T: int) -> np.ndarray:
    """The part of ``M`` of each segment, (n_segments, T^2)."""
    segments = segmentations(T)[2]
    found = np.zeros((len(segments), T, T))
    for M, (s, t) in zip(found, segments, strict=True):
        M[s:t, s:t] = 1.0 / (t - s)
    return found.reshape(len(segments), -1)
