"""Spectral relaxation of clustering: the best orthogonal projector, by an eigendecomposition.

Over all orthogonal projectors of rank K (``M^spec_K`` of Lajugie et al.) ``Tr(A M)`` is largest at
the K leading eigenvectors of ``A``; over those of any rank, at the eigenvectors with a positive
eigenvalue. The centred variant keeps ``M 1 = 1``: ``1^T A 1 / T`` plus the eigenvalues of ``A``
restricted to the complement of 1.

Outside the compressed directions (:func:`compress`) ``A`` is ``d I``.
Strictly larger eigenvalues are taken first, then directions outside the data (which contribute
nothing to ``X^T M X``), then the rest.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from structsvm.errors import OracleError
from structsvm.parallel import single_threaded
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    TraceObjective,
)
from structsvm.problem import Quality
from structsvm.support import Floats

LARGEST_FACTOR = 2**27  # numbers in the largest relaxed factor (T, K) that is ever formed: 1 GB


@dataclass(frozen=True)
class SpectralOracle(Oracle):
    """Maximises ``Tr(A M)`` over orthogonal projectors, an upper bound over partitions.

    Parameters
    ----------
    centered : bool
        Keep ``M 1 = 1``, which every partition satisfies: tighter.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SpectralOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> Z = np.array([[0.0], [9.0], [0.0], [9.0]])
    >>> answer = SpectralOracle().ask(TraceObjective(Z), Constraint(n_clusters=2))
    >>> answer.quality.name, round(float(answer.upper_bound), 6)
    ('RELAXATION', 162.0)
    """

    takes = frozenset({"n_clusters"})

    centered: bool = True

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise over the projectors whose rank ``constraint`` allows."""
        M, bound, basis = self.relaxed(objective, constraint.n_clusters)
        if M.n_clusters * M.n_samples > LARGEST_FACTOR:
            raise OracleError(
                f"the relaxed solution has rank {M.n_clusters} on {M.n_samples} samples, too large "
                "to be written down: price the clusters (shift <= 0), or give K"
            )
        with single_threaded():
            factor = basis.lift(M.V)
            if M.n_null:
                factor = np.hstack((factor, basis.complement(M.n_null)))
            y = EquivalenceMatrix.from_factor(factor)
            value = objective.value(y)
        return Argmax(y, value, max(value, bound), Quality.RELAXATION)

    def relaxed(
        self, objective: TraceObjective, K: int | None
    ) -> "tuple[CompressedProjector, float, Basis]":
        """The best projector, its value, and the basis that leads back to the samples."""
        truth = objective.truth if objective.has_truth else None
        data, basis = compress(objective.Z, truth)
        weight = 0.0 if truth is None else objective.truth_weight
        metric = np.ones(objective.Z.shape[1])
        M, bound = self.maximize_compressed(data, metric, weight, objective.shift, K)
        return M, bound, basis

    def maximize_compressed(
        self,
        data: "CompressedData",
        metric: Floats,
        truth_weight: float,
        shift: float,
        K: int | None,
    ) -> "tuple[CompressedProjector, float]":
        """Maximise ``Tr((X B X^T - c M_i + d I) M)`` on compressed data, whatever T is."""
        with single_threaded():
            S = data.matrix(metric, truth_weight)
            fixed = int(self.centered)
            rank = None if K is None else K - fixed
            values, vectors = top_eigenpairs(S[fixed:, fixed:], rank)
            n, n_null = _select(values, shift, data.n_null, rank, least=1 - fixed)
            V = np.zeros((len(S), fixed + n))
            V[:fixed, :fixed] = 1.0
            V[fixed:, fixed:] = vectors[:, :n]
            value = float(np.trace(S[:fixed, :fixed]) + values[:n].sum())
            value += shift * (fixed + n + n_null)
        return CompressedProjector(data, V, n_null), value


def top_eigenpairs(S: Floats, count: int | None) -> tuple[Floats, Floats]:
    """Eigenpairs of ``S`` by decreasing eigenvalue: at least the first ``count``, or all."""
    m = len(S)
    values = np.empty(0)
    vectors = np.empty((len(S), 0))
    if count is not None and 0 < 4 * count < m:
        few = [m - count, m - 1]
        values, vectors = scipy.linalg.eigh(S, subset_by_index=few, check_finite=False)
    # LAPACK's partial solver fails on eigenvalues that are nearly equal.
    if values.size != count or not np.allclose(vectors.T @ vectors, np.eye(count), atol=1e-8):
        values, vectors = np.linalg.eigh(S)
    return values[::-1], fix_signs(vectors[:, ::-1])


def fix_signs(vectors: Floats) -> Floats:
    """Eigenvectors with their entry of largest modulus positive."""
    if not vectors.size:
        return vectors
    top = np.abs(vectors).argmax(axis=0)
    return np.asarray(vectors * np.where(vectors[top, np.arange(top.size)] < 0, -1.0, 1.0))


def _select(
    values: Floats, shift: float, n_null: int, rank: int | None, least: int
) -> tuple[int, int]:
    """How many of the eigenvectors, and of directions outside of the data, the projector spans."""
    scale = float(np.abs(values).max(initial=0.0))
    rounding = max(values.size, 1) * np.finfo(float).eps * scale
    if rank is None:
        n = int(np.sum(values + shift > rounding))
        null = n_null if shift > 0 else 0
        if n + null >= least:
            return n, null
        rank = least
    n = min(rank, int(np.sum(values > rounding)))
    null = min(rank - n, n_null)
    return rank - null, null


# ---- a labelled data set rotated into as few rows as it has directions
#
# With an orthonormal basis Q (T, m) of the span of [1, U_i, X],
#
#     X = Q Xc,   U_i = Q Uc,   T A = Q (Xc B Xc^T - c Uc Uc^T + d I) Q^T + d (I - Q Q^T),
#
# so that Xc (m, P) and Uc (m, K), computed once per data set, replace X and U_i in every later
# call, and no vector of length T is formed (docs/oracles.md).
#
# The basis is Q = [W, Q_w]. The columns of W span [1, U_i] and the first is 1 / sqrt(T), so that
# row 0 of Xc is sqrt(T) times the mean and all other rows are free of it: the variant that keeps
# M 1 = 1 deletes row 0, and a large offset cancels nowhere. Q_w spans the scatter within the
# clusters, X - W W^T X, by a QR decomposition in blocks of rows and a singular value decomposition
# of its small triangle; a Gram matrix would be faster but squares the condition number.

BLOCK = 16_384
"""Rows of a block of the QR decomposition, which stays in the cache for a few dozen features."""


@dataclass(frozen=True, eq=False)
class CompressedData:
    """``(Xc, Uc)``, which an objective needs in place of ``(X, M_i)``."""

    X: Floats  # ``Xc = Q^T X``, (m, P); row 0 is ``sqrt(T)`` times the mean
    U: Floats  # ``Uc = Q^T U_i``, (m, K); no columns when there is no truth
    n_samples: int  # T

    @property
    def n_null(self) -> int:
        """T - m: dimension of the complement, on which the objective is ``d I``."""
        return self.n_samples - len(self.X)

    def matrix(self, metric: Floats, truth_weight: float = 0.0) -> Floats:
        """``Xc B Xc^T - c Uc Uc^T``, (m, m), for a metric (P,) or (P, P)."""
        X = self.X
        U = self.U
        S = (X * metric if metric.ndim == 1 else X @ metric) @ X.T
        if truth_weight:
            S -= truth_weight * (U @ U.T)
        return np.asarray((S + S.T) / 2)


@dataclass(frozen=True, eq=False)
class CompressedProjector:
    """``M = (Q V)(Q V)^T``, plus the projector on ``n_null`` directions orthogonal to the data."""

    data: CompressedData
    V: Floats  # orthonormal, (m, k)
    n_null: int = 0

    @property
    def n_clusters(self) -> int:
        return int(self.V.shape[1]) + self.n_null

    @property
    def n_samples(self) -> int:
        return self.data.n_samples

    def inner(self, other: "CompressedProjector") -> float:
        """``Tr(M M')`` with a projector of the same data, if ``n_null`` of either is 0."""
        return float(np.sum((self.V.T @ other.V) ** 2))


@dataclass(frozen=True, eq=False)
class Basis:
    """``Q = [W, Q_w]`` (T, m): from compressed vectors to long ones."""

    labels: EquivalenceMatrix
    """``U``, with ``W = U R``: a basis of ``[1, U_i]`` whose first column is ``1 / sqrt(T)``."""
    rotation: Floats  # ``R``
    within: Floats  # ``Q_w`` up to rounding, (T, m - k)
    overlap: Floats  # ``W^T within``, which is not 0 through rounding, and is subtracted
    inverse: Floats
    """Makes them orthonormal after that: ``Q_w = (within - W overlap) inverse``."""

    def lift(self, V: Floats) -> Floats:
        """``Q V``, (T, k), for ``V`` (m, k)."""
        label_part, within_part = np.split(V, [len(self.rotation)])
        within_part = self.inverse @ within_part
        out = self.within @ within_part
        out += _expanded(self.labels, self.rotation, label_part - self.overlap @ within_part)
        return out

    def complement(self, count: int) -> Floats:
        """``count`` orthonormal vectors orthogonal to ``Q``, (T, count), always the same ones."""
        m = len(self.rotation) + len(self.inverse)
        T = len(self.within)
        reflectors, tau, _, _ = lapack.dgeqrf(self.lift(np.eye(m)))
        axes = np.zeros((T, count), order="F")
        axes[m + np.arange(count), np.arange(count)] = 1.0
        return np.asarray(lapack.dormqr("L", "N", reflectors, tau, axes, max(64 * count, 1))[0])


def compress(X: Floats, truth: EquivalenceMatrix | None = None) -> tuple[CompressedData, Basis]:
    """Compress ``X`` (T, P) with its truth, in ``O(T P (P + K))``; the basis leads back to T."""
    T = X.shape[0]
    with single_threaded():
        if truth is None:
            U = EquivalenceMatrix.from_breakpoints([T])
            rotation = np.eye(1)
        else:
            U = truth
            rotation = _reflection_to_first_axis(np.sqrt(truth.sizes / T))
        mean = X.mean(axis=0)
        deviation = X - mean
        between = rotation.T @ U.project(deviation)
        noise = float(np.linalg.norm(deviation))
        deviation -= _expanded(U, rotation, between)
        within, triangle = _orthogonalize(deviation, T - len(rotation), noise)
        between[0] = np.sqrt(T) * mean
        # Rounding leaves parts of W in the blocks, which matter if the data have T - 1 directions.
        overlap = rotation.T @ U.project(within)
        between += overlap @ triangle
        root = np.linalg.cholesky(np.eye(overlap.shape[1]) - overlap.T @ overlap)
        triangle = root.T @ triangle
    of_truth = rotation if truth is not None else np.empty((1, 0))  # W^T U_i
    Uc = np.vstack((of_truth, np.zeros((len(triangle), of_truth.shape[1]))))
    data = CompressedData(np.vstack((between, triangle)), Uc, T)
    return data, Basis(U, rotation, within, overlap, np.linalg.inv(root).T)


def _expanded(U: EquivalenceMatrix, rotation: Floats, coordinates: Floats) -> Floats:
    """``W coordinates``, (T, k), for ``W = U rotation``."""
    turned = rotation @ coordinates
    return np.asarray((turned / np.sqrt(U.sizes)[:, None])[U.labels])


def _orthogonalize(within: Floats, max_rank: int, noise: float) -> tuple[Floats, Floats]:
    """QR of a tall matrix by blocks of rows, then the rank that is not rounding.

    With ``within[b] = Q_b R_b``, ``[R_1; R_2; ...] = Q R`` and ``R = L D N^T`` (singular values),
    block ``b`` of the orthonormal factor is ``Q_b (Q[b] L)`` and the small factor is ``D N^T``.
    """
    starts = range(0, len(within), BLOCK)
    blocks, triangles = zip(*(np.linalg.qr(within[s : s + BLOCK]) for s in starts), strict=True)
    Q, R = np.linalg.qr(np.vstack(triangles))
    left, singular, right = np.linalg.svd(R, full_matrices=False)
    rank = min(int(np.sum(singular > 4 * np.finfo(float).eps * noise)), max_rank)
    ends = np.cumsum([triangle.shape[0] for triangle in triangles])[:-1]
    parts = zip(blocks, np.split(Q @ left[:, :rank], ends), strict=True)
    tall = np.vstack([block @ mixing for block, mixing in parts])
    return tall, singular[:rank, None] * right[:rank]


def _reflection_to_first_axis(unit: Floats) -> Floats:
    """The Householder reflection that exchanges a unit vector (nonnegative) and the first axis."""
    v = unit.copy()
    v[0] = -float(unit[1:] @ unit[1:]) / (1.0 + unit[0])
    norm = float(v @ v)
    identity = np.eye(unit.size)
    return identity if norm == 0.0 else np.asarray(identity - (2.0 / norm) * np.outer(v, v))
