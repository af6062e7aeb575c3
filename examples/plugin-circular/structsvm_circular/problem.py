"""Circular change points: the last and the first segment may be one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from structsvm.errors import DataError
from structsvm.partitions import EquivalenceMatrix, Instance, Oracle, PartitionProblem, Traits
from structsvm_circular.oracle import CircularOracle

__all__ = ["Circular"]


@dataclass(frozen=True)
class Circular(PartitionProblem):
    """Segment sequences without beginning or end, such as outlines, heart beats or days.

    A label for each sample: every change of label ends a segment, and if the last label is the
    first one, the segment goes on around the corner.
    """

    traits = Traits()  # a segment may hold both ends, so that clusters are not contiguous

    def decoder(self, instance: Instance) -> Oracle:
        """Exact dynamic programming around the circle."""
        return CircularOracle()

    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """Runs of equal labels, the last of which joins the first if its label is the same."""
        labels = np.asarray(y)
        T = instance.n_samples
        if labels.shape != (T,):
            raise DataError(f"labels of shape {labels.shape} for {T} samples: one for each")
        segment = np.concatenate(([0], np.cumsum(labels[1:] != labels[:-1])))
        if labels[-1] == labels[0]:
            segment[segment == segment[-1]] = 0
        return EquivalenceMatrix.from_labels(segment)
