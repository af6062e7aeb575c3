"""Recordings with a few long segments, and a problem of three definitions to break."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import DataError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.sample import Sample
from structsvm.partitions.traits import Traits


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


def recordings(n: int = 3, lengths: tuple[int, ...] = (14, 10, 16), seed: int = 0) -> Any:
    """Samples whose first feature tells the segment, and their labels."""
    rng = np.random.default_rng(seed)
    ys = [np.repeat(np.arange(len(lengths)), np.roll(lengths, i)) for i in range(n)]
    Xs = [3.0 * (y % 2)[:, None] * [1, 0] + rng.standard_normal((y.size, 2)) for y in ys]
    return Xs, ys
