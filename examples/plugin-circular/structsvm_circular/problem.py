"""Circular change-points: the last and the first segment may be one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.sample import Sample
from structsvm.partitions.traits import Traits
from structsvm_circular.oracle import CircularOracle

__all__ = ["Circular"]


@dataclass(frozen=True)
class Circular(PartitionProblem):
    """Segment sequences without beginning or end, such as outlines, heart beats or days.

    A label for each sample: every change of label ends a segment, and if the last label is the
    first one, the segment goes on around the corner.
    """

    @property
    def traits(self) -> Traits:
        """Not contiguous: a segment may hold both ends, so there are no breakpoints."""
        return Traits()

    def decoder(self, sample: Sample) -> Oracle:
        """Exact dynamic programming around the circle."""
        return CircularOracle()

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        """Runs of equal labels, the last of which joins the first if its label is the same."""
        labels = np.asarray(y)
        if labels.shape != (sample.n_samples,):
            raise DataError(
                f"labels of shape {labels.shape} for {sample.n_samples} samples: one for each"
            )
        segment = np.concatenate(([0], np.cumsum(labels[1:] != labels[:-1])))
        if labels[-1] == labels[0]:
            segment[segment == segment[-1]] = 0
        return EquivalenceMatrix.from_labels(segment)
