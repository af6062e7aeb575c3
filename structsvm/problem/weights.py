"""Where the weight ``w`` lives: closed convex cones, all of them self-dual or free.

A weight is always a vector. A symmetric matrix is stored as its scaled ``svec`` (off-diagonal
entries times sqrt(2)), so that ``<A, B>`` is a dot product and one working set of cuts serves every
cone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.support import Floats

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = [
    *("PSD", "Free", "Nonnegative", "Product", "Projection", "WeightSpace"),
    *("metric_factor", "smat", "svec"),
]


def svec(A: Floats) -> Floats:
    """Upper triangle of a symmetric (P, P) matrix, off-diagonal entries times sqrt(2)."""
    rows, cols, scale = _triangle(A.shape[0])
    return np.asarray(A[rows, cols] * scale)


def smat(v: Floats) -> Floats:
    """The symmetric matrix whose :func:`svec` is ``v``."""
    P = round((np.sqrt(8 * v.size + 1) - 1) / 2)
    rows, cols, scale = _triangle(P)
    A = np.empty((P, P))
    A[rows, cols] = A[cols, rows] = v / scale
    return A


def metric_factor(B: Floats, least: float = 0.0) -> Floats:
    """``L`` (P, r) with ``B = L L^T`` of rank r, for a diagonal (a vector) or a matrix.

    Its columns are the directions of the metric; of a matrix, those of large eigenvalues are first.
    Those whose eigenvalue is less than the share ``least`` of the largest are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import metric_factor
    >>> metric_factor(np.array([4.0, 0.0, 1.0]))
    array([[2., 0.],
           [0., 0.],
           [0., 1.]])
    >>> metric_factor(np.diag([0.1, 4.0]), least=0.5)
    array([[0.],
           [2.]])
    """
    if B.ndim == 1:
        kept = np.flatnonzero((B > 0) & (least * B.max() <= B))
        L = np.zeros((B.size, kept.size))
        L[kept, np.arange(kept.size)] = np.sqrt(B[kept])
        return L
    values, vectors = np.linalg.eigh(B)
    rounding = B.shape[0] * np.finfo(np.float64).eps
    kept = np.flatnonzero(values > rounding * max(values[-1], 0.0))[::-1]
    kept = kept[values[kept] >= least * values[-1]]
    L = vectors[:, kept] * np.sqrt(values[kept])
    if kept.size:
        L *= np.sign(L[np.abs(L).argmax(axis=0), np.arange(kept.size)])
    L.setflags(write=False)
    return np.asarray(L)


@dataclass(frozen=True)
class Projection:
    """The projection of a point on a cone, with a generalised derivative ``J`` of it there."""

    w: Floats
    """The projection, (d,)."""
    factor: Callable[[Floats], Floats]
    """Rows ``R`` (n, d) to ``F`` (n, f) with ``F F^T = R J R^T``."""


class WeightSpace(ABC):
    """A closed convex cone in R^d."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of weights, d."""

    def project(self, w: Floats) -> Floats:
        """Return the Euclidean projection of a vector (d,) on the cone."""
        return self.projection(w).w

    @abstractmethod
    def projection(self, u: Floats) -> Projection:
        """:meth:`project`, and the derivative that a Newton method needs."""

    @abstractmethod
    def dual_margin(self, s: Floats) -> float:
        """How far inside the dual cone ``s`` is: its smallest coordinate or eigenvalue.

        Negative outside of the dual cone. For :class:`Free`, whose dual is {0}, minus the norm.
        """

    @abstractmethod
    def identity(self) -> Floats:
        """``e`` with ``<e, w> = Tr B`` (sum of the entries for a vector)."""

    @abstractmethod
    def to_metric(self, w: Any) -> Any:
        """Return ``w``, of numbers or of cvxpy, as users see it: a vector or a symmetric matrix."""

    @abstractmethod
    def from_metric(self, B: Any) -> Floats:
        """Return the weight of a metric, the inverse of :meth:`to_metric`."""

    @abstractmethod
    def variable(self, *names: str) -> "tuple[cp.Expression, cp.Expression, list[cp.Constraint]]":
        """A cvxpy variable as users see it, the vector ``w`` it stands for, and the cone.

        ``names`` are those of the factors, "w" or "w0", "w1", ... where they are not given.
        """


@dataclass(frozen=True)
class _Vectors(WeightSpace):
    """A cone of vectors, which users see as they are."""

    size: int

    @property
    def dim(self) -> int:
        return self.size

    def identity(self) -> Floats:
        return np.ones(self.size)

    def to_metric(self, w: Any) -> Any:
        return w

    def from_metric(self, B: Any) -> Floats:
        """Return the weight, (d,), of a vector or of a diagonal matrix."""
        B = np.asarray(B, dtype=np.float64)
        if B.ndim == 2 and np.count_nonzero(B - np.diag(np.diag(B))) == 0:
            B = np.diag(B)
        return _vector(B, self.size)

    def variable(self, *names: str) -> "tuple[cp.Variable, cp.Expression, list[cp.Constraint]]":
        import cvxpy as cp

        w = cp.Variable(self.size, name=(*names, "w")[0])
        return w, w, [w >= 0] if isinstance(self, Nonnegative) else []


@dataclass(frozen=True)
class Free(_Vectors):
    """The whole of R^d, for weights without a constraint."""

    def projection(self, u: Floats) -> Projection:
        return Projection(u, lambda rows: rows)

    def dual_margin(self, s: Floats) -> float:
        """Return minus the norm of ``s``, because the dual cone is {0}."""
        return -float(np.linalg.norm(s))


@dataclass(frozen=True)
class Nonnegative(_Vectors):
    """The nonnegative orthant: a diagonal metric ``B = Diag(w)``."""

    def projection(self, u: Floats) -> Projection:
        positive = np.flatnonzero(u > 0)
        return Projection(np.maximum(u, 0.0), lambda rows: rows[:, positive])

    def dual_margin(self, s: Floats) -> float:
        return float(s.min())


@dataclass(frozen=True)
class PSD(WeightSpace):
    """Positive semi-definite matrices (P, P), as scaled svec of length P (P + 1) / 2.

    The weight is ``w = svec(B)``: the upper triangle of ``B`` row by row, entries off the diagonal
    times sqrt(2), so that ``<svec(A), svec(B)> = Tr(A B)``. A score ``Tr(B A)`` has the joint
    feature ``svec(A)``, and ``smat(w)`` is ``B`` again.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.problem import PSD, smat, svec
    >>> A, B = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -1.0], [-1.0, 4.0]])
    >>> PSD(2).dim, round(float(svec(A) @ svec(B)), 9), float(np.trace(A @ B))
    (3, 12.0, 12.0)
    >>> bool(np.allclose(smat(svec(B)), B))
    True
    """

    order: int

    @property
    def dim(self) -> int:
        return self.order * (self.order + 1) // 2

    def projection(self, u: Floats) -> Projection:
        """The derivative is diagonal in products of eigenvectors (Loewner's formula)."""
        values, vectors = np.linalg.eigh(smat(u))
        kept = values > 0
        w = u if values[0] >= 0 else svec((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)
        return Projection(w, lambda rows: _spectral_factor(rows, values, vectors))

    def dual_margin(self, s: Floats) -> float:
        return float(np.linalg.eigvalsh(smat(s))[0])

    def identity(self) -> Floats:
        return svec(np.eye(self.order))

    def to_metric(self, w: Any) -> Any:
        if isinstance(w, np.ndarray):
            return smat(w)
        import cvxpy as cp

        entries = smat_operator(self.order) @ w
        return cp.reshape(entries, (self.order, self.order), order="F")

    def from_metric(self, B: Any) -> Floats:
        """Return the weight, (d,), of a symmetric matrix (P, P)."""
        B = np.asarray(B, dtype=np.float64)
        square = B.shape == (self.order, self.order)
        if not square or not (np.array_equal(B, B.T) or np.allclose(B, B.T)):
            raise SettingsError(
                f"expected a symmetric matrix of shape {(self.order, self.order)}, got {B.shape}"
            )
        return svec(B)

    def variable(self, *names: str) -> "tuple[cp.Variable, cp.Expression, list[cp.Constraint]]":
        """A symmetric matrix, and its svec as a sparse linear image of it."""
        import cvxpy as cp

        P = self.order
        B = cp.Variable((P, P), symmetric=True, name=(*names, "w")[0])
        rows, cols, scale = _triangle(P)
        places = np.arange(rows.size), cols * P + rows
        to_svec = sp.csr_array((scale, places), shape=(rows.size, P * P))
        return B, to_svec @ cp.vec(B, order="F"), [B >> 0]


@dataclass(frozen=True)
class Product(WeightSpace):
    """A product of cones. Its users see the vector of all blocks, as ``predict`` takes it.

    Of a metric and its price, ``(B, beta)``, they see the metric alone.
    """

    factors: tuple[WeightSpace, ...]
    metric_first: bool = False
    """Whether the first factor is a metric, which is all that users see."""

    @property
    def dim(self) -> int:
        return sum(factor.dim for factor in self.factors)

    def split(self, w: Any) -> list[Any]:
        """Return the blocks of ``w``, of numbers or of cvxpy, one for each factor."""
        ends = np.cumsum([0, *(factor.dim for factor in self.factors)]).tolist()
        return [w[begin:end] for begin, end in pairwise(ends)]

    def projection(self, u: Floats) -> Projection:
        blocks = zip(self.factors, self.split(u), strict=True)
        parts = [factor.projection(block) for factor, block in blocks]

        def factor_rows(rows: Floats) -> Floats:
            pieces = zip(parts, self.split(rows.T), strict=True)
            return np.hstack([part.factor(piece.T) for part, piece in pieces])

        return Projection(np.concatenate([part.w for part in parts]), factor_rows)

    def dual_margin(self, s: Floats) -> float:
        blocks = zip(self.factors, self.split(s), strict=True)
        return min(factor.dual_margin(block) for factor, block in blocks)

    def identity(self) -> Floats:
        return np.concatenate([factor.identity() for factor in self.factors])

    def to_metric(self, w: Any) -> Any:
        """Return the vector itself, (d,), or the metric."""
        first = self.factors[0]
        return first.to_metric(w[: first.dim]) if self.metric_first else w

    def from_metric(self, B: Any) -> Floats:
        """Return the vector itself, (d,), or the weight of the metric ``B``, zero elsewhere."""
        if not self.metric_first:
            return _vector(B, self.dim)
        first = self.factors[0]
        return np.concatenate([first.from_metric(B), np.zeros(self.dim - first.dim)])

    def variable(self, *names: str) -> "tuple[cp.Expression, cp.Expression, list[cp.Constraint]]":
        """Return what users see of the variables of the factors, and the vector of all of them."""
        import cvxpy as cp

        default_names = [f"w{k}" for k in range(len(self.factors))]
        all_names = [*names, *default_names[len(names) :]]
        parts = [f.variable(name) for f, name in zip(self.factors, all_names, strict=False)]
        w = cp.hstack([vector for _, vector, _ in parts])
        users_view = parts[0][0] if self.metric_first else w
        return users_view, w, list(chain.from_iterable(cone for _, _, cone in parts))


def factors_of(space: WeightSpace) -> tuple[WeightSpace, ...]:
    """The factors of a product of cones; any other cone is its own factor."""
    return space.factors if isinstance(space, Product) else (space,)


def _spectral_factor(rows: Floats, values: Floats, vectors: Floats) -> Floats:
    """Multiply rows (n, d) in svec form by a square root of the derivative of the PSD projection.

    In the eigenbasis the derivative multiplies entry (j, k) by 1 if both eigenvalues are positive,
    by ``e_k / (e_k - e_j)`` if only ``e_k`` is, else by 0. A mixed entry stands for (j, k) and
    (k, j). The precision is that of ``rows``.
    """
    P = values.size
    n = rows.shape[0]
    positive = values > 0
    r = int(positive.sum())
    mixed = values[positive] - values[~positive][:, None]
    root = np.sqrt(2.0 * values[positive] / mixed).astype(rows.dtype)
    rows_r, cols_r, scale = _triangle(r)
    gather, shrink = _gather(P)
    vectors = vectors.astype(rows.dtype)
    shrink = shrink.astype(rows.dtype)
    factor = np.empty((n, rows_r.size + root.size), dtype=rows.dtype)
    step = max(1, 1_000_000 // (P * P))  # keeps the matrices of a chunk under 8 MB
    for start in range(0, n, step):
        chunk = rows[start : start + step]
        block = factor[start : start + step]
        matrices = chunk.take(gather, axis=1)  # chunk[:, gather] would have to be copied once more
        matrices *= shrink
        matrices = matrices.reshape(-1, P)
        half = (matrices @ vectors[:, positive]).reshape(len(chunk), P, r)
        inner = np.matmul(vectors[:, positive].T, half)
        outer = np.matmul(vectors[:, ~positive].T, half) * root
        block[:, : rows_r.size] = inner[:, rows_r, cols_r] * scale
        block[:, rows_r.size :] = outer.reshape(len(chunk), -1)
    return factor


@cache
def _triangle(P: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    rows, cols = np.triu_indices(P)
    return rows, cols, np.where(rows == cols, 1.0, np.sqrt(2.0))


@cache
def _gather(P: int) -> tuple[NDArray[np.intp], Floats]:
    """Where each of the P^2 entries of a matrix lies in its svec, and what to multiply it by."""
    rows, cols, scale = _triangle(P)
    position = np.empty((P, P), dtype=np.intp)
    position[rows, cols] = position[cols, rows] = np.arange(rows.size)
    return position.ravel(), 1.0 / scale[position.ravel()]


@cache
def smat_operator(P: int) -> sp.csr_array:
    """Sparse map (P^2, P (P + 1) / 2) of a svec to the vec of its matrix, an isometry."""
    gather, shrink = _gather(P)
    shape = (P * P, P * (P + 1) // 2)
    return sp.csr_array((shrink, (np.arange(P * P), gather)), shape=shape)


def _vector(w: Any, size: int) -> Floats:
    vector: Floats = np.asarray(w, dtype=np.float64)
    if vector.shape != (size,):
        raise SettingsError(f"expected a vector of length {size}, got shape {vector.shape}")
    return vector
