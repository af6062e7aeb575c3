"""Partitions: rescaled equivalence matrices, held as boundaries, labels or a factor."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structsvm.data import full_labels
from structsvm.errors import DataError
from structsvm.support import Bools, Floats, Ints

MOST_SAMPLES = 100_000_000  # labels of more would take the memory of a whole machine
WIDE = 64  # columns from which on adding each segment by itself is ten times as quick
LARGE_TABLE = 1_000_000
"""Cells of a contingency table above which only its nonzero cells are computed."""


@dataclass(frozen=True, eq=False)
class EquivalenceMatrix:
    """A rescaled equivalence matrix ``M = U U^T``, an orthogonal projector of rank K.

    For a partition with assignment matrix ``Y`` (T, K), ``U = Y (Y^T Y)^{-1/2}`` and ``M_ij`` is
    one over the size of the cluster that holds both ``i`` and ``j``, or zero (Lajugie et al.,
    section "Representing partitions"). A spectral relaxation gives the same object from any
    orthonormal ``U``, so partitions and spectral projectors are one type. The T x T matrix exists
    only in :meth:`dense`.

    Build one with :meth:`from_labels`, :meth:`from_breakpoints` or :meth:`from_factor`. Two are
    equal if they group the same samples in the same way.

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

    held: NDArray[Any]
    """Boundaries ``0 = b_0 < ... < b_K = T`` of a segmentation, (K + 1,); labels of another
    partition, (T,); or the orthonormal factor of a relaxation, (T, K)."""
    form: str
    """Which of the three it is: "boundaries", "labels" or "factor"."""

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> "EquivalenceMatrix":
        """The partition given by one label per sample (any values that can be compared).

        Raises
        ------
        DataError
            If the labels are no vector, if one is missing, or if they cannot be compared.
        """
        values = full_labels(labels)
        try:
            _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        except TypeError:
            kinds = sorted({type(v).__name__ for v in values.tolist()})
            raise DataError(f"labels of several kinds do not compare: {', '.join(kinds)}") from None
        rank = np.empty(first.size, dtype=np.int64)
        rank[np.argsort(first)] = np.arange(first.size)
        numbers = rank[inverse]
        runs = runs_of(numbers)
        return runs if runs.n_clusters == first.size else cls(_frozen(numbers), "labels")

    @classmethod
    def from_breakpoints(cls, breakpoints: ArrayLike) -> "EquivalenceMatrix":
        """The segmentation given by its sorted segment ends, the last being T (as in ruptures).

        Raises
        ------
        DataError
            If they are not positive, strictly increasing integers.
        """
        ends = np.asarray(breakpoints)
        if ends.ndim != 1 or ends.size == 0 or not np.issubdtype(ends.dtype, np.integer):
            raise DataError("breakpoints must be a non-empty list of integers, the last being T")
        ends = ends.astype(np.int64)  # differences of unsigned integers would wrap around
        if (np.diff(ends, prepend=0) <= 0).any() or ends[-1] > MOST_SAMPLES:
            raise DataError(
                "breakpoints must be positive and strictly increasing, the last being the number "
                f"of samples, of which at most {MOST_SAMPLES:,} can be held, got {ends.tolist()}"
            )
        return cls.from_boundaries(np.concatenate(([0], ends)))

    @classmethod
    def from_boundaries(cls, boundaries: Ints) -> "EquivalenceMatrix":
        """The segmentation with ``boundaries`` (K + 1,), from 0 to T, which are not checked."""
        return cls(_frozen(np.asarray(boundaries, dtype=np.int64)), "boundaries")

    @classmethod
    def from_factor(cls, factor: ArrayLike) -> "EquivalenceMatrix":
        """The projector on the columns of an orthonormal ``factor`` (T, K).

        Raises
        ------
        DataError
            If the columns are not orthonormal.
        """
        U = np.array(factor, dtype=np.float64)
        if U.ndim != 2 or not np.allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8):
            raise DataError("the columns of a relaxed factor must be orthonormal")
        return cls(_frozen(U), "factor")

    @cached_property
    def is_sound(self) -> bool:
        """Whether the array is a valid one of its form, on which compiled code relies."""
        array = self.held
        if self.form == "factor":
            return array.ndim == 2 and array.dtype == np.float64
        if array.ndim != 1 or array.size == 0 or array.dtype != np.int64:
            return False
        if self.form == "boundaries":
            return bool(array.size > 1 and array[0] == 0 and (np.diff(array) > 0).all())
        return bool(array.min() >= 0 and array.max() < array.size and np.bincount(array).all())

    @property
    def is_partition(self) -> bool:
        """Whether this is a true partition rather than a relaxation."""
        return self.form != "factor"

    @property
    def is_contiguous(self) -> bool:
        """Whether the clusters are segments of consecutive samples."""
        return self.form == "boundaries"

    @property
    def n_samples(self) -> int:
        """The number of samples, T."""
        return int(self.held[-1]) if self.is_contiguous else self.held.shape[0]

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters, ``K = Tr M``."""
        if self.is_contiguous:
            return self.held.size - 1
        return int(self.held.max()) + 1 if self.is_partition else self.held.shape[1]

    @cached_property
    def labels(self) -> Ints:
        """Cluster of each sample, (T,), 0..K-1 by first appearance; an error if relaxed."""
        if self.is_contiguous:
            sizes = self.held[1:] - self.held[:-1]  # quicker than the cached property
            return np.asarray(_frozen(np.arange(sizes.size).repeat(sizes)))
        if not self.is_partition:
            raise DataError("a relaxed equivalence matrix has no cluster labels")
        return self.held

    @cached_property
    def sizes(self) -> Ints:
        """The number of samples in each cluster, (K,)."""
        if self.is_contiguous:  # quicker than numpy.diff for a few numbers
            return np.asarray(_frozen(self.held[1:] - self.held[:-1]))
        return np.asarray(_frozen(np.bincount(self.labels)))

    @property
    def boundaries(self) -> Ints:
        """Boundaries ``0 = b_0 < ... < b_K = T`` of a segmentation, (K + 1,)."""
        if not self.is_contiguous:
            if self.is_partition:
                raise DataError("this partition is not contiguous, so it has no breakpoints")
            raise DataError("a relaxed equivalence matrix has no cluster labels and no breakpoints")
        return self.held

    @property
    def breakpoints(self) -> list[int]:
        """Segment ends, the last being T (as in ruptures); an error if not contiguous."""
        ends: list[int] = self.boundaries[1:].tolist()
        return ends

    def project(self, X: Floats) -> Floats:
        """Return ``U^T X``, (K, P), for ``X`` (T, P), in O(T P)."""
        if not self.is_partition:
            return np.asarray(self.held.T @ X)
        if self.is_contiguous:
            sums = _segment_sums(X, self.boundaries)
        else:
            sums = np.zeros((self.n_clusters, X.shape[1]))
            np.add.at(sums, self.labels, X)
        return np.asarray(sums / np.sqrt(self.sizes)[:, None])

    def gram(self, X: Floats) -> Floats:
        """Return ``X^T M X``, (P, P), for ``X`` (T, P), in O(T P + K P^2)."""
        projected = self.project(X)
        return projected.T @ projected

    def gram_diagonal(self, X: Floats) -> Floats:
        """Return the diagonal of ``X^T M X``, (P,), for ``X`` (T, P), in O(T P).

        Missing values (NaN) are left out: the squared sum of a feature in a cluster is divided by
        the number of values that the feature has there.
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
        """:meth:`gram_diagonal` where values are missing."""
        is_present = ~np.isnan(X)
        sizes = np.sqrt(self.sizes)[:, None]
        counts = np.rint(self.project(is_present.astype(np.float64)) * sizes)
        sums = self.project(np.where(is_present, X, 0.0)) * sizes
        squares = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0)
        return np.asarray(squares.sum(axis=0))

    def inner(self, other: "EquivalenceMatrix") -> float:
        """``Tr(M M')``: ``sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)`` for two partitions."""
        refuse_other_sizes(self, other)
        if not (self.is_partition and other.is_partition):
            return float(np.sum(self.project(other.factor()) ** 2))
        if self.n_clusters * other.n_clusters > LARGE_TABLE:
            mine = self.labels
            theirs = other.labels
            pairs, counts = np.unique(mine * other.n_clusters + theirs, return_counts=True)
            k, m = np.divmod(pairs, other.n_clusters)
            return float(np.sum(counts**2 / (self.sizes[k] * other.sizes[m])))
        if self.is_contiguous and other.is_contiguous:
            # A boundary of both makes a piece of length 0, which adds nothing.
            ends = np.sort(np.concatenate([self.boundaries, other.boundaries]))
            k, m = (np.searchsorted(M.boundaries, ends[1:]) - 1 for M in (self, other))
            shared = np.diff(ends) ** 2 / (self.sizes[k] * other.sizes[m])
            return float(shared.cumsum()[-1])
        table = self.contingency(other)
        return float(np.sum(table**2 / np.outer(self.sizes, other.sizes)))

    def contingency(self, other: "EquivalenceMatrix") -> Ints:
        """Return how many samples each pair of clusters shares, ``|A_k n B_l|``, (K, K')."""
        refuse_other_sizes(self, other)
        mine = self.labels
        theirs = other.labels
        flat = np.bincount(
            mine * other.n_clusters + theirs, minlength=self.n_clusters * other.n_clusters
        )
        return flat.reshape(self.n_clusters, other.n_clusters).astype(np.int64)

    def factor(self) -> Floats:
        """Return the factor ``U``, (T, K), of ``M = U U^T``."""
        if not self.is_partition:
            return self.held
        labels = self.labels
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
        return self.form == other.form and self.held.tobytes() == other.held.tobytes()

    def __hash__(self) -> int:
        return hash(self.held.tobytes())

    @property
    def n_bytes(self) -> int:
        """The number of bytes that it takes to send it to another process."""
        return int(self.__reduce__()[1][0].nbytes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a partition with the smallest integers that hold its numbers."""
        kind = np.min_scalar_type(self.held.max()) if self.is_partition else np.float64
        return _received, (self.held.astype(kind), self.form)


def runs_of(values: NDArray[Any]) -> EquivalenceMatrix:
    """The segmentation in which every change of value, (T,), begins a segment."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return EquivalenceMatrix.from_boundaries(np.concatenate(([0], changes, [values.size])))


def stretches_of(known: Bools, begins: Bools) -> list[tuple[int, int, EquivalenceMatrix]]:
    """First row, end and segmentation of each stretch in which all changes are known.

    ``known[t]`` is whether it is known if a segment begins at t, and ``begins[t]`` whether it does.
    """
    edges = np.flatnonzero(np.diff(known, prepend=False, append=False)).reshape(-1, 2).tolist()
    labels = [np.cumsum([False, *begins[first:end]]) for first, end in edges]
    return [(a - 1, b, runs_of(y)) for (a, b), y in zip(edges, labels, strict=True)]


def _received(values: NDArray[Any], form: str) -> EquivalenceMatrix:
    """The matrix that another process has sent."""
    kind = np.float64 if form == "factor" else np.int64
    return EquivalenceMatrix(_frozen(values.astype(kind)), form)


def refuse_other_sizes(M: EquivalenceMatrix, other: EquivalenceMatrix) -> None:
    if M.n_samples != other.n_samples:
        raise DataError(
            f"partitions of {M.n_samples} and of {other.n_samples} samples do not compare"
        )


def _segment_sums(X: Floats, boundaries: Ints) -> Floats:
    """The sum of the rows of each segment, (K, P)."""
    if X.shape[1] < WIDE:
        return np.asarray(np.add.reduceat(X, boundaries[:-1], axis=0))
    return np.array([X[start:end].sum(axis=0) for start, end in pairwise(boundaries.tolist())])


def _frozen(array: Any) -> Any:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array


class Projector(Protocol):
    """The members of equivalence matrices, of any form, that losses need."""

    @property
    def n_samples(self) -> int:
        """The number of samples, T."""

    @property
    def n_clusters(self) -> int:
        """``Tr M``."""

    def inner(self, other: Any) -> float:
        """Return ``Tr(M M')`` with another projector of the same form."""
