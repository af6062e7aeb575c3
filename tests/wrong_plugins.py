"""Recordings with a few long segments, and problems of few definitions to break."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.data.instance import Instance
from structsvm.errors import DataError, OracleError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.constraint import UNCONSTRAINED, Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Argmax, Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.problem import Free, Problem, Quality, Separation

CLASSES = range(3)
BUFFER = np.zeros(6)


@dataclass(frozen=True)
class Segments(PartitionProblem):
    """Segments of consecutive samples."""

    traits = Traits(contiguous=True)

    def decoder(self, instance: Instance) -> Oracle:
        return SequentialOracle()

    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        labels = np.asarray(y)
        if labels.shape != (instance.n_samples,):
            raise DataError(f"labels of shape {labels.shape} for {instance.n_samples} samples")
        return EquivalenceMatrix.from_labels(np.cumsum(np.diff(labels, prepend=labels[0]) != 0))


@dataclass(frozen=True)
class MinDwellOracle(Oracle):
    """Segments of a minimum length: knows boundaries by their masks, and no regions."""

    min_length: int

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T = objective.n_samples
        m = min(self.min_length, objective.n_samples)
        allowed, forced = constraint.boundary_masks(T)
        A = objective.dense()
        best = np.full(T + 1, -np.inf)
        start = np.zeros(T + 1, dtype=int)
        best[0] = 0.0
        for t in np.flatnonzero(allowed[1:]) + 1:
            first = np.flatnonzero(forced[:t]).max(initial=0)
            for s in range(first, t - m + 1):
                value = best[s] + A[s:t, s:t].sum() / (t - s)
                if value > best[t]:
                    best[t], start[t] = value, s
        if not np.isfinite(best[T]) or constraint.n_clusters is not None:
            raise OracleError("no such segmentation")
        ends = [T]
        while start[ends[0]]:
            ends.insert(0, int(start[ends[0]]))
        y = EquivalenceMatrix.from_breakpoints(ends)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def recordings(n: int = 3, lengths: tuple[int, ...] = (14, 10, 16), seed: int = 0) -> Any:
    """Samples whose first feature tells the segment, and their labels."""
    rng = np.random.default_rng(seed)
    ys = [np.repeat(np.arange(len(lengths)), np.roll(lengths, i)) for i in range(n)]
    Xs = [3.0 * (y % 2)[:, None] * [1, 0] + rng.standard_normal((y.size, 2)) for y in ys]
    return Xs, ys


@dataclass(frozen=True)
class Classes(Problem):
    """Multiclass classification by enumeration, with one promise broken perhaps."""

    broken: str = ""

    def weight_space(self) -> Free:
        return Free(6)

    def joint_feature(self, x: Any, y: Any) -> Any:
        phi = np.kron(np.eye(3)[np.asarray(y).item()], x[:2])
        if self.broken == "buffer":
            BUFFER[:] = phi
            return BUFFER
        shapes = {"table": phi.reshape(3, 2), "list": phi.tolist(), "integers": phi.astype(int)}
        return shapes.get(self.broken, phi)

    def loss(self, y: Any, y_hat: Any) -> Any:
        differs = float(np.any(y != y_hat))
        if self.broken == "text":
            return "much"
        if self.broken == "truth costs":
            return 0.1 + differs
        return -differs if self.broken == "negative" else differs

    def separate(self, w: Any, x: Any, y: Any) -> Any:
        loss = replace(self, broken="" if self.broken == "text" else self.broken).loss
        phi = replace(self, broken="").joint_feature
        sign = -1.0 if self.broken == "subtracted" else 1.0
        best = int(np.argmax([w @ phi(x, k) + sign * loss(y, k) for k in CLASSES]))
        if self.broken == "writes x":
            x *= 1.5
        if self.broken == "writes y":
            y[...] = best
        if self.broken == "bare":
            return best
        if self.broken == "quality":
            return Separation(best, 0.0, "exact")
        slacks: dict[str, Any] = {"slack": -1.0, "no slack": None, "vector of slacks": np.zeros(2)}
        answer = Separation(best, slacks.get(self.broken, 0.0), Quality.EXACT)
        given = {
            "another feature": {"feature": phi(x, best) * 2.0},
            "another size": {"feature": np.zeros(1)},
            "same feature": {"feature": phi(x, best)},
        }
        return replace(answer, **given.get(self.broken, {}))

    def predict(self, w: Any, x: Any) -> int:
        return int(np.argmax([w @ self.joint_feature(x, k) for k in CLASSES]))


def mutant(cls, **definitions):
    """A class with other definitions, which can be pickled as one of this module."""
    name = f"{cls.__name__}{len(globals())}"
    globals()[name] = type(cls)(name, (cls,), {"__module__": __name__, **definitions})
    return globals()[name]
