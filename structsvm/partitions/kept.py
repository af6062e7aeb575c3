"""A partition as it is kept for long: nothing but its segment ends, or the cluster of each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Ints
from structsvm.support.plain import read_only


@dataclass(frozen=True, eq=False, slots=True)
class KeptPartition:
    """A partition in compact form.

    Two are equal when they group the same items in the same way.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, KeptPartition
    >>> kept = KeptPartition.of(EquivalenceMatrix.from_breakpoints([2, 5]))
    >>> kept.breakpoints, kept.labels.tolist(), kept.n_samples, kept.n_clusters
    ([2, 5], [0, 0, 1, 1, 1], 5, 2)
    >>> kept == KeptPartition.of(EquivalenceMatrix.from_labels([7, 7, 3, 3, 3]))
    True
    """

    values: NDArray[Any]
    """Segment ends, the last being T, or the cluster of each item, (T,)."""
    is_contiguous: bool
    """Which of the two: whether the clusters are segments of consecutive items."""

    @classmethod
    def of(cls, M: EquivalenceMatrix) -> KeptPartition:
        """Keep a partition.

        Raises
        ------
        DataError
            If it is a relaxation, which has no clusters.
        """
        if M.labels is None:
            raise DataError("a relaxed equivalence matrix has no clusters to keep")
        return cls.holding(M.boundaries[1:] if M.is_contiguous else M.labels, M.is_contiguous)

    @classmethod
    def holding(cls, values: Ints, is_contiguous: bool) -> KeptPartition:
        """Keep segment ends, or the cluster of each item from 0, of which nothing is checked."""
        small = np.int32 if is_contiguous else np.min_scalar_type(int(values.max()))
        return cls(read_only(values.astype(small)), is_contiguous)

    @property
    def matrix(self) -> EquivalenceMatrix:
        """The equivalence matrix."""
        if self.is_contiguous:
            return EquivalenceMatrix.from_breakpoints(self.values.astype(np.int64))
        return EquivalenceMatrix.from_labels(self.values)

    @property
    def labels(self) -> Ints:
        """The cluster or segment of each item, from 0, (T,)."""
        labels = self.matrix.labels
        assert labels is not None
        return labels

    @property
    def breakpoints(self) -> list[int]:
        """Segment ends, the last being T; DataError if the clusters are no segments."""
        return self.matrix.breakpoints

    @property
    def n_samples(self) -> int:
        """The number of items, T."""
        return int(self.values[-1]) if self.is_contiguous else self.values.size

    @property
    def n_clusters(self) -> int:
        """The number of clusters or segments, K."""
        return self.values.size if self.is_contiguous else int(self.values.max()) + 1

    @property
    def n_bytes(self) -> int:
        """What it takes to send it to another process."""
        if not self.is_contiguous:
            return self.values.nbytes
        return min(self.values.nbytes, -(-self.n_samples // 8))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptPartition):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes it travels in T bits at most."""
        if self.n_bytes == self.values.nbytes:
            return KeptPartition, (self.values, self.is_contiguous)
        is_end = np.zeros(self.n_samples, dtype=np.bool_)
        is_end[self.values.astype(np.int64) - 1] = True
        return _from_bits, (np.packbits(is_end), self.n_samples)

    @property
    def _key(self) -> tuple[bool, str, bytes]:
        return self.is_contiguous, self.values.dtype.str, self.values.tobytes()


def _from_bits(packed: NDArray[np.uint8], n_samples: int) -> KeptPartition:
    ends = np.flatnonzero(np.unpackbits(packed, count=n_samples)) + 1
    return KeptPartition.holding(ends, True)
