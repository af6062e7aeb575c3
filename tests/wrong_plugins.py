"""Recordings with a few long segments, and a problem of three definitions to break."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.data.sample import Sample
from structsvm.errors import DataError, OracleError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import Traits
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Quality,
    TraceObjective,
)
from structsvm.partitions.problem import PartitionProblem


@dataclass(frozen=True)
class Segments(PartitionProblem):
    """Segments of consecutive samples."""

    traits = Traits(contiguous=True)

    def decoder(self, sample: Sample) -> Oracle:
        return SequentialOracle()

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        labels = np.asarray(y)
        if labels.shape != (sample.n_samples,):
            raise DataError(f"labels of shape {labels.shape} for {sample.n_samples} samples")
        return EquivalenceMatrix.from_labels(np.cumsum(np.diff(labels, prepend=labels[0]) != 0))


@dataclass(frozen=True)
class MinDwellOracle(Oracle):
    """Segments of a minimum length: knows boundaries by their masks, and no regions."""

    min_length: int

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        T, m = objective.n_samples, min(self.min_length, objective.n_samples)
        allowed, forced = constraint.boundary_masks(T)
        A = objective.dense()
        best, start = np.full(T + 1, -np.inf), np.zeros(T + 1, dtype=int)
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
