"""Partitions: rescaled equivalence matrices held as their factor, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsvm.data.samples import full_labels
from structsvm.errors import DataError
from structsvm.support.arrays import Floats, Ints

MOST_SAMPLES = 100_000_000
"""Labels of more would take the memory of a whole machine."""
WIDE = 64
"""Columns from which on numpy adds the rows of one segment at a time ten times as quickly."""
LARGE_TABLE = 1_000_000
"""Cells of a contingency table beyond which only those that are not zero are looked at."""


@dataclass(frozen=True, eq=False)
class EquivalenceMatrix:
    """A rescaled equivalence matrix ``M = U U^T``, an orthogonal projector of rank K.

    For a partition with assignment matrix ``Y`` (T, K), ``U = Y (Y^T Y)^{-1/2}`` and ``M_ij`` is
    one over the size of the cluster that holds both ``i`` and ``j``, or zero (Lajugie et al.,
    section "Representing partitions"). A spectral relaxation gives the same object from any
    orthonormal ``U``, so partitions and spectral projectors are one type. The T x T matrix exists
    only in :meth:`dense`.

    Build one with :meth:`from_labels`, :meth:`from_breakpoints` or :meth:`from_factor`.

    Examples
    --------
    >>> from structsvm import EquivalenceMatrix
    >>> M = EquivalenceMatrix.from_labels(["rest", "rest", "walk"])
    >>> M.n_clusters, M.breakpoints
    (2, [2, 3])
    >>> M.dense().round(3).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    >>> M == EquivalenceMatrix.from_breakpoints([2, 3])
    True
    """

    labels: Ints | None
    """Cluster of each sample, (T,), values 0..K-1 in order of first appearance; None if relaxed."""
    relaxed_factor: Floats | None
    """Orthonormal factor (T, K) of a relaxation; None for a partition."""

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> EquivalenceMatrix:
        """The partition given by one label per sample (any values that can be compared).

        Raises
        ------
        DataError
            If they are no vector, are missing or do not compare.
        """
        values = full_labels(labels)
        try:
            _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        except TypeError:
            kinds = sorted({type(v).__name__ for v in values.tolist()})
            raise DataError(f"labels of several kinds do not compare: {', '.join(kinds)}") from None
        rank = np.empty(first.size, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        return cls(_frozen(rank[inverse]), None)

    @classmethod
    def from_breakpoints(cls, breakpoints: ArrayLike) -> EquivalenceMatrix:
        """The segmentation given by its sorted segment ends, the last being T (as in ruptures).

        Raises
        ------
        DataError
            If they are not positive, strictly increasing integers.
        """
        ends = np.asarray(breakpoints)
        if ends.ndim != 1 or ends.size == 0 or not np.issubdtype(ends.dtype, np.integer):
            raise DataError("breakpoints must be a non-empty list of integers, the last being T")
        ends = ends.astype(np.int64)  # a difference of unsigned ones would not be an integer
        sizes = np.diff(ends, prepend=0)
        if (sizes <= 0).any():
            raise DataError(
                f"breakpoints must be positive and strictly increasing, got {ends.tolist()}"
            )
        if ends[-1] > MOST_SAMPLES:
            raise DataError(
                f"breakpoints end at {ends[-1]}, the number of samples, of which at most "
                f"{MOST_SAMPLES:,} can be held"
            )
        return cls(_frozen(np.repeat(np.arange(ends.size, dtype=np.int64), sizes)), None)

    @classmethod
    def from_search(cls, labels: Ints, boundaries: Ints) -> EquivalenceMatrix:
        """A segmentation that is not checked: ``labels`` (T,) from 0, ``boundaries`` (K + 1,)."""
        found = object.__new__(cls)  # thousands are made of a batch: less than half the time
        found.__dict__.update(
            labels=_frozen(labels),
            relaxed_factor=None,
            n_clusters=boundaries.size - 1,
            boundaries=_frozen(boundaries),
            is_contiguous=True,
        )
        return found

    @classmethod
    def from_factor(cls, factor: ArrayLike) -> EquivalenceMatrix:
        """The projector on the columns of an orthonormal ``factor`` (T, K).

        Raises
        ------
        DataError
            If the columns are not orthonormal.
        """
        U = np.array(factor, dtype=np.float64)
        if U.ndim != 2 or not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8):
            raise DataError("the columns of a relaxed factor must be orthonormal")
        return cls(None, _frozen(U))

    @property
    def is_partition(self) -> bool:
        """Whether this is a true partition rather than a relaxation."""
        return self.labels is not None

    @property
    def _held(self) -> Any:
        return self.relaxed_factor if self.labels is None else self.labels

    @property
    def n_samples(self) -> int:
        """The number of samples, T."""
        return int(self._held.shape[0])

    @cached_property
    def n_clusters(self) -> int:
        """K = Tr M."""
        if self.labels is not None:
            return int(self.labels.max()) + 1
        assert self.relaxed_factor is not None
        return int(self.relaxed_factor.shape[1])

    @cached_property
    def sizes(self) -> Ints:
        """The number of samples in each cluster, (K,)."""
        sizes = np.bincount(self._partition_labels(), minlength=self.n_clusters)
        frozen: Ints = _frozen(sizes.astype(np.int64))
        return frozen

    @cached_property
    def boundaries(self) -> Ints:
        """Boundaries ``0 = b_0 < ... < b_K = T`` of a segmentation, (K+1,).

        Raises
        ------
        DataError
            If a cluster is not a segment of consecutive samples, or the matrix is relaxed.
        """
        labels = self._partition_labels()
        changes = np.flatnonzero(np.diff(labels)) + 1
        if changes.size != self.n_clusters - 1:
            raise DataError("this partition is not contiguous, so it has no breakpoints")
        boundaries: Ints = _frozen(np.concatenate(([0], changes, [labels.size])).astype(np.int64))
        return boundaries

    @property
    def breakpoints(self) -> list[int]:
        """Segment ends, the last being T (as in ruptures); an error if not contiguous."""
        return [int(end) for end in self.boundaries[1:]]

    @cached_property
    def is_contiguous(self) -> bool:
        """Whether the clusters are segments of consecutive samples."""
        if self.labels is None:
            return False
        return int(np.count_nonzero(np.diff(self.labels))) == self.n_clusters - 1

    def project(self, X: Floats) -> Floats:
        """Return ``U^T X``, (K, P), for ``X`` (T, P), in O(T P)."""
        if self.relaxed_factor is not None:
            return self.relaxed_factor.T @ X
        if self.is_contiguous:
            sums = _segment_sums(X, self.boundaries)
        else:
            sums = np.zeros((self.n_clusters, X.shape[1]))
            np.add.at(sums, self._partition_labels(), X)
        return np.asarray(sums / np.sqrt(self.sizes)[:, None])

    def gram(self, X: Floats) -> Floats:
        """Return ``X^T M X``, (P, P), for ``X`` (T, P), in O(T P + K P^2)."""
        projected = self.project(X)
        return projected.T @ projected

    def gram_diagonal(self, X: Floats) -> Floats:
        """Return the diagonal of ``X^T M X``, (P,), for ``X`` (T, P), in O(T P).

        A value that is missing, NaN, is left out: the sums of a feature over the clusters are
        divided by the number of values that it has there.
        """
        if self.is_contiguous:
            sums = _segment_sums(X, self.boundaries)
            if X.shape[1] < WIDE:
                diagonal = (sums**2 / self.sizes[:, None]).cumsum(axis=0)[-1]
            else:
                diagonal = np.einsum("kp,kp,k->p", sums, sums, 1.0 / self.sizes)
        else:
            projected = self.project(X)
            diagonal = np.einsum("kp,kp->p", projected, projected)
        return self._observed_diagonal(X) if np.isnan(diagonal).any() else diagonal

    def _observed_diagonal(self, X: Floats) -> Floats:
        """The squared sum of the values of each feature in each cluster over their number, (P,)."""
        there, sizes = ~np.isnan(X), np.sqrt(self.sizes)[:, None]
        counts = np.rint(self.project(there.astype(np.float64)) * sizes)
        sums = self.project(np.where(there, X, 0.0)) * sizes
        squares = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0)
        return np.asarray(squares.sum(axis=0))

    def inner(self, other: EquivalenceMatrix) -> float:
        """``Tr(M M')``: ``sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)`` for two partitions."""
        refuse_other_sizes(self, other)
        if not (self.is_partition and other.is_partition):
            return float(np.sum(self.project(other.factor()) ** 2))
        if self.n_clusters * other.n_clusters > LARGE_TABLE:
            mine, theirs = self._partition_labels(), other._partition_labels()
            pairs, counts = np.unique(mine * other.n_clusters + theirs, return_counts=True)
            k, m = np.divmod(pairs, other.n_clusters)
            return float(np.sum(counts**2 / (self.sizes[k] * other.sizes[m])))
        if self.is_contiguous and other.is_contiguous:
            # Where both have a boundary there is a piece of length 0, which adds nothing.
            ends = np.sort(np.concatenate([self.boundaries, other.boundaries]))
            k, m = (np.searchsorted(M.boundaries, ends[1:]) - 1 for M in (self, other))
            shared = np.diff(ends) ** 2 / (self.sizes[k] * other.sizes[m])
            return float(shared.cumsum()[-1])
        table = self.contingency(other)
        return float(np.sum(table**2 / np.outer(self.sizes, other.sizes)))

    def contingency(self, other: EquivalenceMatrix) -> Ints:
        """Return how many samples each pair of clusters shares, ``|A_k n B_l|``, (K, K')."""
        refuse_other_sizes(self, other)
        mine, theirs = self._partition_labels(), other._partition_labels()
        flat = np.bincount(
            mine * other.n_clusters + theirs, minlength=self.n_clusters * other.n_clusters
        )
        return flat.reshape(self.n_clusters, other.n_clusters).astype(np.int64)

    def factor(self) -> Floats:
        """Return the factor ``U``, (T, K), of ``M = U U^T``."""
        if self.relaxed_factor is not None:
            return self.relaxed_factor
        labels = self._partition_labels()
        U = np.zeros((labels.size, self.n_clusters))
        U[np.arange(labels.size), labels] = 1.0 / np.sqrt(self.sizes[labels])
        return U

    def dense(self) -> Floats:
        """Return ``M`` as an array, (T, T), for tests and teaching."""
        U = self.factor()
        return U @ U.T

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EquivalenceMatrix):
            return NotImplemented
        same_kind = self.is_partition == other.is_partition
        return same_kind and self._held.tobytes() == other._held.tobytes()

    def __hash__(self) -> int:
        return hash(self._held.tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        """To other processes a segmentation travels as its boundaries."""
        if self.is_contiguous and 2 * self.n_clusters < self.n_samples:
            return _of_boundaries, (self.boundaries,)
        return EquivalenceMatrix, (self.labels, self.relaxed_factor)

    def _partition_labels(self) -> Ints:
        if self.labels is None:
            raise DataError("a relaxed equivalence matrix has no cluster labels")
        return self.labels


def refuse_other_sizes(M: EquivalenceMatrix, other: EquivalenceMatrix) -> None:
    if M.n_samples != other.n_samples:
        raise DataError(
            f"partitions of {M.n_samples} and of {other.n_samples} samples do not compare"
        )


def _of_boundaries(boundaries: Ints) -> EquivalenceMatrix:
    sizes = np.diff(boundaries)
    labels = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
    return EquivalenceMatrix.from_search(labels, boundaries)


def _segment_sums(X: Floats, boundaries: Ints) -> Floats:
    """The sum of the rows of each segment, (K, P)."""
    if X.shape[1] < WIDE:
        return np.asarray(np.add.reduceat(X, boundaries[:-1], axis=0))
    return np.array([X[start:end].sum(axis=0) for start, end in pairwise(boundaries.tolist())])


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, slots=True)
class KeptPartition:
    """A partition in compact form; two are equal when they group the same items in the same way.

    Examples
    --------
    >>> from structsvm.partitions import EquivalenceMatrix, KeptPartition
    >>> kept = KeptPartition.of(EquivalenceMatrix.from_breakpoints([2, 5]))
    >>> kept.breakpoints, kept.labels.tolist(), kept.n_samples, kept.n_clusters
    ([2, 5], [0, 0, 1, 1, 1], 5, 2)
    """

    values: NDArray[Any]
    """Segment ends, the last being T, or the cluster of each item from 0, (T,)."""
    is_contiguous: bool
    """Which of the two: whether the clusters are segments of consecutive items."""

    @classmethod
    def of(cls, M: EquivalenceMatrix) -> KeptPartition:
        """Keep a partition; DataError if it is a relaxation, which has no clusters."""
        values = M.boundaries[1:] if M.is_contiguous else M._partition_labels()
        small = np.int32 if M.is_contiguous else np.min_scalar_type(int(values.max()))
        return cls(_frozen(values.astype(small)), M.is_contiguous)

    @property
    def matrix(self) -> EquivalenceMatrix:
        """The equivalence matrix."""
        if self.is_contiguous:
            return EquivalenceMatrix.from_breakpoints(self.values.astype(np.int64))
        return EquivalenceMatrix.from_labels(self.values)

    @property
    def labels(self) -> Ints:
        """The cluster or segment of each item, from 0, (T,)."""
        return self.matrix._partition_labels()

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
        bits = -(-self.n_samples // 8)
        return min(self.values.nbytes, bits) if self.is_contiguous else self.values.nbytes

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
        is_end[self.values - 1] = True
        return _from_bits, (np.packbits(is_end), self.n_samples)

    @property
    def _key(self) -> tuple[bool, str, bytes]:
        return self.is_contiguous, self.values.dtype.str, self.values.tobytes()


def _from_bits(packed: NDArray[np.uint8], n_samples: int) -> KeptPartition:
    ends = np.flatnonzero(np.unpackbits(packed, count=n_samples)) + 1
    return KeptPartition(_frozen(ends.astype(np.int32)), True)
