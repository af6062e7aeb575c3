"""A labelled data set rotated into as few rows as it has directions.

``T A = X B X^T - c U_i U_i^T + d I`` acts on the span of ``[1, U_i, X]``, whose dimension is at
most ``P + K + 1`` however many samples there are; on its orthogonal complement ``A`` is ``d I``.
With an orthonormal basis ``Q`` (T, m) of that span,

    X = Q Xc,   U_i = Q Uc,   T A = Q (Xc B Xc^T - c Uc Uc^T + d I) Q^T + d (I - Q Q^T),

so that ``Xc`` (m, P) and ``Uc`` (m, K), computed once per data set, replace ``X`` and ``U_i`` in
every later call: the objective is an m x m matrix, ``phi = (V^T Xc)^T (V^T Xc)`` and
``Tr(M M_i) = |V^T Uc|^2`` for ``M = (Q V)(Q V)^T``, and no vector of length T is formed.

The basis is ``Q = [W, Q_w]``. The columns of ``W`` span ``[1, U_i]`` and the first is
``1 / sqrt(T)``, so that row 0 of ``Xc`` is ``sqrt(T)`` times the mean and all other rows are free
of it: the variant that keeps ``M 1 = 1`` deletes row 0, and a large offset cancels nowhere. ``Q_w``
spans the scatter within the clusters, ``X - W W^T X``, by a QR decomposition in blocks of rows and
a singular value decomposition of its small triangle; a Gram matrix would be faster but squares the
condition number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from structsvm.errors import OracleError
from structsvm.parallel import single_threaded
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats

BLOCK = 16_384
"""Rows of a block of the QR decomposition: what stays in the cache for a few dozen features."""


@dataclass(frozen=True, eq=False)
class CompressedData:
    """``(Xc, Uc)``: everything an objective needs to know of ``(X, M_i)``, made once per data
    set.
    """

    X: Floats
    """``Xc = Q^T X``, (m, P); row 0 is ``sqrt(T)`` times the mean."""
    U: Floats
    """``Uc = Q^T U_i``, (m, K); no columns when there is no truth."""
    n_samples: int
    """T."""

    @classmethod
    def from_samples(cls, X: Floats, truth: EquivalenceMatrix | None = None) -> CompressedData:
        """Compress the samples ``X`` (T, P) together with their true labelling ``M_i``."""
        return compress(X, truth)[0]

    @property
    def n_rows(self) -> int:
        """m, at most ``min(T, P + K + 1)``."""
        return int(self.X.shape[0])

    @property
    def n_null(self) -> int:
        """T - m: dimension of the complement, on which the objective is ``d I``."""
        return self.n_samples - self.n_rows


@dataclass(frozen=True, eq=False)
class CompressedObjective:
    """``Tr(A M)`` with ``A = X B X^T - c M_i + d I`` on compressed data."""

    data: CompressedData
    metric: Floats
    truth_weight: float = 0.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        """Check once, at the door."""
        P = self.data.X.shape[1]
        if self.metric.shape not in {(P,), (P, P)}:
            raise OracleError(
                f"the metric must have shape ({P},) or ({P}, {P}), got {self.metric.shape}"
            )
        if not (np.isfinite(self.metric).all() and np.isfinite(self.truth_weight + self.shift)):
            raise OracleError("the objective is not finite: look for NaN or inf in the metric")
        if self.truth_weight and not self.data.U.shape[1]:
            raise OracleError("truth_weight needs data that were compressed with their truth")

    def matrix(self) -> Floats:
        """``Xc B Xc^T - c Uc Uc^T``, (m, m); the shift is left to the eigenvalues."""
        X, U = self.data.X, self.data.U
        S = (X * self.metric if self.metric.ndim == 1 else X @ self.metric) @ X.T
        if self.truth_weight:
            S -= self.truth_weight * (U @ U.T)
        return np.asarray((S + S.T) / 2)


@dataclass(frozen=True, eq=False)
class CompressedProjector:
    """``M = (Q V)(Q V)^T``, plus the projector on ``n_null`` directions orthogonal to the data."""

    data: CompressedData
    V: Floats
    """Orthonormal, (m, k)."""
    n_null: int

    @property
    def n_clusters(self) -> int:
        """``Tr M``."""
        return int(self.V.shape[1]) + self.n_null

    def gram(self) -> Floats:
        """``X^T M X``, (P, P)."""
        projected = self.V.T @ self.data.X
        return np.asarray(projected.T @ projected)

    def gram_diagonal(self) -> Floats:
        """The diagonal of ``X^T M X``, (P,)."""
        projected = self.V.T @ self.data.X
        return np.asarray(np.einsum("kp,kp->p", projected, projected))

    @classmethod
    def of_truth(cls, data: CompressedData) -> CompressedProjector:
        """``M_i``."""
        return cls(data, data.U, 0)

    @property
    def n_samples(self) -> int:
        """T."""
        return self.data.n_samples

    def inner(self, other: CompressedProjector) -> float:
        """``Tr(M M')`` for another projector of the same data."""
        if self.n_null and other.n_null:
            raise OracleError("two projectors with null directions do not compare")
        return float(np.sum((self.V.T @ other.V) ** 2))


@dataclass(frozen=True, eq=False)
class _LabelSpace:
    """``W = U R``: an orthonormal basis of ``[1, U_i]`` whose first column is ``1 / sqrt(T)``."""

    U: EquivalenceMatrix
    rotation: Floats
    truth: Floats
    """``W^T U_i``."""

    @classmethod
    def of(cls, n_samples: int, truth: EquivalenceMatrix | None) -> _LabelSpace:
        """The span of the truth and of the constant vector, without forming ``W``."""
        if truth is None:
            everything = EquivalenceMatrix.from_labels(np.zeros(n_samples, dtype=np.int64))
            return cls(everything, np.eye(1), np.empty((1, 0)))
        if truth.is_partition:
            reflection = _reflection_to_first_axis(np.sqrt(truth.sizes / n_samples))
            return cls(truth, reflection, reflection)
        W = _with_constant_first(truth.factor())
        return cls(EquivalenceMatrix.from_factor(W), np.eye(W.shape[1]), W.T @ truth.factor())

    @property
    def dimension(self) -> int:
        """Number of columns of ``W``."""
        return int(self.rotation.shape[0])

    def project(self, X: Floats) -> Floats:
        """``W^T X``."""
        return np.asarray(self.rotation.T @ self.U.project(X))

    def expand(self, coordinates: Floats, rows: slice) -> Floats:
        """The given rows of ``W`` times ``coordinates``."""
        turned = self.rotation @ coordinates
        if self.U.labels is None:
            return np.asarray(self.U.factor()[rows] @ turned)
        return np.asarray((turned / np.sqrt(self.U.sizes)[:, None])[self.U.labels[rows]])


@dataclass(frozen=True, eq=False)
class Basis:
    """``Q = [W, Q_w]`` (T, m), held by blocks of rows: from compressed vectors to long ones."""

    space: _LabelSpace
    blocks: tuple[Floats, ...]
    """``Q_w`` is block by block ``blocks[b] @ mixing[b]``, up to the overlap with ``W``."""
    mixing: tuple[Floats, ...]
    overlap: Floats
    """``W^T`` times those blocks, which rounding makes: it is taken out again."""
    n_samples: int

    def lift(self, V: Floats) -> Floats:
        """``Q V``, (T, k), for ``V`` (m, k)."""
        label_part, within_part = np.split(V, [self.space.dimension])
        label_part = label_part - self.overlap @ within_part
        out = np.empty((self.n_samples, V.shape[1]))
        for rows, block, mixing in zip(
            _blocks(self.n_samples), self.blocks, self.mixing, strict=True
        ):
            out[rows] = self.space.expand(label_part, rows) + block @ (mixing @ within_part)
        return out

    def complement(self, count: int) -> Floats:
        """``count`` orthonormal vectors orthogonal to ``Q``, (T, count), always the same ones."""
        m = self.space.dimension + int(self.mixing[0].shape[1])
        reflectors, tau, _, _ = lapack.dgeqrf(self.lift(np.eye(m)))
        axes = np.zeros((self.n_samples, count), order="F")
        axes[m + np.arange(count), np.arange(count)] = 1.0
        return np.asarray(lapack.dormqr("L", "N", reflectors, tau, axes, max(64 * count, 1))[0])


def compress(X: Floats, truth: EquivalenceMatrix | None = None) -> tuple[CompressedData, Basis]:
    """Compress ``X`` (T, P) with its truth, and keep the basis that leads back to T samples.

    Costs ``O(T P (P + K))`` once; the basis holds another T x P numbers.
    """
    T = X.shape[0]
    _check(X, truth)
    with single_threaded():
        space = _LabelSpace.of(T, truth)
        mean = X.mean(axis=0)
        deviation = X - mean
        between = space.project(deviation)
        within = (deviation[rows] - space.expand(between, rows) for rows in _blocks(T))
        blocks, mixing, triangle = _orthogonalize(
            within, max_rank=T - space.dimension, noise=float(np.linalg.norm(deviation))
        )
        between[0] = np.sqrt(T) * mean
        # What rounding leaves of W in the blocks counts where the data have all but one direction.
        within_basis = [block @ mixed for block, mixed in zip(blocks, mixing, strict=True)]
        overlap = space.project(np.vstack(within_basis))
        between += overlap @ triangle
        root = np.linalg.cholesky(np.eye(overlap.shape[1]) - overlap.T @ overlap)
        inverse = np.linalg.inv(root).T
        triangle, overlap = root.T @ triangle, overlap @ inverse
        mixing = tuple(mixed @ inverse for mixed in mixing)
    compressed_truth = np.zeros((space.dimension + triangle.shape[0], space.truth.shape[1]))
    compressed_truth[: space.dimension] = space.truth
    data = CompressedData(np.vstack((between, triangle)), compressed_truth, T)
    return data, Basis(space, blocks, mixing, overlap, T)


def compress_objective(objective: TraceObjective) -> tuple[CompressedObjective, Basis]:
    """The objective on compressed samples: the columns of ``Z`` as features, ``B`` their signs."""
    truth = objective.truth if objective.has_truth else None
    data, basis = compress(objective.Z, truth)
    signs = np.ones(objective.Z.shape[1]) if objective.signs is None else objective.signs
    weight = objective.truth_weight if objective.has_truth else 0.0
    return CompressedObjective(data, signs, weight, objective.shift), basis


def _check(X: Floats, truth: EquivalenceMatrix | None) -> None:
    if X.ndim != 2 or X.shape[0] == 0:
        raise OracleError(f"the samples must have shape (T, P) with T >= 1, got {X.shape}")
    if not np.isfinite(X).all():
        raise OracleError("the samples are not finite: look for NaN or inf in the data")
    if truth is not None and truth.n_samples != X.shape[0]:
        raise OracleError(f"the truth labels {truth.n_samples} samples, X has {X.shape[0]}")


def _blocks(n_samples: int) -> Iterator[slice]:
    """Consecutive blocks of rows."""
    return (slice(start, start + BLOCK) for start in range(0, n_samples, BLOCK))


def _orthogonalize(
    within: Iterator[Floats], max_rank: int, noise: float
) -> tuple[tuple[Floats, ...], tuple[Floats, ...], Floats]:
    """QR of a tall matrix given by blocks of rows, then the rank that is not rounding.

    With ``within[b] = Q_b R_b``, ``[R_1; R_2; ...] = Q R`` and ``R = L D N^T`` (singular values),
    block ``b`` of the orthonormal factor is ``Q_b (Q[b] L)`` and the small factor is ``D N^T``.
    """
    blocks, triangles = zip(*(np.linalg.qr(block) for block in within), strict=True)
    Q, R = np.linalg.qr(np.vstack(triangles))
    left, singular, right = np.linalg.svd(R, full_matrices=False)
    rank = min(int(np.sum(singular > 4 * np.finfo(float).eps * noise)), max_rank)
    ends = np.cumsum([triangle.shape[0] for triangle in triangles])[:-1]
    return blocks, tuple(np.split(Q @ left[:, :rank], ends)), singular[:rank, None] * right[:rank]


def _reflection_to_first_axis(unit: Floats) -> Floats:
    """The Householder reflection that exchanges a unit vector (nonnegative) and the first axis."""
    v = unit.copy()
    v[0] = -float(unit[1:] @ unit[1:]) / (1.0 + unit[0])
    norm = float(v @ v)
    identity = np.eye(unit.size)
    return identity if norm == 0.0 else np.asarray(identity - (2.0 / norm) * np.outer(v, v))


def _with_constant_first(U: Floats) -> Floats:
    """An orthonormal basis of ``[1, U]`` whose first column is ``1 / sqrt(T)``."""
    constant = np.full((U.shape[0], 1), 1.0 / np.sqrt(U.shape[0]))
    rest = U - constant @ (constant.T @ U)
    left, singular, _ = np.linalg.svd(rest, full_matrices=False)
    return np.hstack((constant, left[:, singular > 1e-8]))
