"""Circular change-points: the last and the first segment may be one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.simple import SimpleProblem
from structsvm_circular.oracle import CircularOracle

__all__ = ["Circular"]


@dataclass(frozen=True)
class Circular(SimpleProblem):
    """Segment sequences without beginning or end, such as outlines, heart beats or days.

    A label for each sample: every change of label ends a segment, and if the last label is the
    first one, the segment goes on around the corner.
    """

    contiguous = False  # a segment may hold both ends, so there are no breakpoints

    @property
    def decoder(self) -> Oracle:
        """Exact dynamic programming around the circle."""
        return CircularOracle()

    def encode(self, y: Any, n_samples: int) -> EquivalenceMatrix:
        """Runs of equal labels, the last of which joins the first if its label is the same."""
        labels = np.asarray(y)
        if labels.shape != (n_samples,):
            raise DataError(f"labels of shape {labels.shape} for {n_samples} samples: one for each")
        segment = np.concatenate(([0], np.cumsum(labels[1:] != labels[:-1])))
        if labels[-1] == labels[0]:
            segment[segment == segment[-1]] = 0
        return EquivalenceMatrix.from_labels(segment)

    def decode(self, M: EquivalenceMatrix) -> NDArray[np.int64]:
        """Segment of each sample, (T,); 0 is the one that holds the first sample."""
        assert M.labels is not None
        return np.array(M.labels)
