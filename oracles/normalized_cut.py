"""Cuts of a graph in a given metric: spectral relaxation, then rounding.

Shi and Malik (2000): the eigenvectors of ``S = D^{-1/2} W D^{-1/2}`` after sqrt(d), divided by
sqrt(d); two clusters by the exact degree-weighted 2-means of the first of them, more by K-means
with the degrees as weights.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.linalg import blas

from structsvm.errors import OracleError
from structsvm.graphs.similarity import Similarity, Weights
from structsvm.oracles._starts import lloyd, numbered, with_exactly
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.spectral import fix_signs, top_eigenpairs
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints

MOST_CLUSTERS = 20
"""Where counting clusters ends."""
LANCZOS_TOLERANCE = 1e-6
"""Of Lanczos."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """The relaxed cut: leading eigenvectors of a normalized similarity, sqrt(d) the first."""

    values: Floats
    """Decreasing, (m,); at most 1."""
    vectors: Floats
    """Orthonormal, (T, m)."""
    degrees: Floats
    """(T,)."""

    @classmethod
    def of(cls, W: Weights, count: int) -> Embedding:
        """The first ``count`` eigenvectors."""
        d = W.degrees
        u0 = np.sqrt(d / d.sum())[:, None]
        operator = CutOperator(scaled(W.matrix, 1.0 / np.sqrt(d)), u0, np.array([[-DEFLATION]]))
        values, vectors = operator.top(min(count, d.size) - 1, LANCZOS_TOLERANCE)
        return cls(np.append(1.0, values), np.hstack([u0, vectors]), d)

    def n_clusters(self, threshold: float) -> int:
        return max(1, int(np.count_nonzero(self.values >= threshold)))

    def partition(self, n_clusters: int, seed: int) -> EquivalenceMatrix:
        """Round to exactly so many clusters, none of them empty."""
        d = self.degrees
        K = n_clusters
        if K > d.size:
            raise OracleError(f"cannot make {K} clusters out of {d.size} nodes")
        if K == 1:
            return EquivalenceMatrix.from_breakpoints([d.size])
        coordinates = self.vectors[:, 1:K] / np.sqrt(d)[:, None]
        if K == 2:
            return EquivalenceMatrix.from_labels(two_means(coordinates[:, 0], d))
        # K-means on coordinates of size 1 whatever the size of the graph.
        scale = np.abs(coordinates).max(initial=0.0)
        unit = coordinates / scale if scale > 0 else coordinates
        return _exactly(lloyd(unit, K, 10, seed, d / d.mean()), unit, K)


def constrained_cut(
    W: Weights, constraint: Constraint, n_clusters: int | None, threshold: float | None, seed: int
) -> EquivalenceMatrix:
    """A cut in which labelled nodes keep their labels."""
    groups = _groups(constraint)
    home: dict[int, int] = {}
    for k, group in enumerate(groups):
        home |= dict.fromkeys(group, k)
    apart = {frozenset((home[i], home[j])) for i, j in constraint.apart}
    all_apart = len(apart) == len(groups) * (len(groups) - 1) // 2
    linked = Weights(_linked(W, constraint), None)
    K = n_clusters
    embedding = Embedding.of(linked, max(MOST_CLUSTERS if K is None else K, len(groups)))
    if K is None:
        assert threshold is not None
        least = len(groups) if all_apart else 2 if constraint.apart else 1
        K = max(least, embedding.n_clusters(threshold))
    coordinates = embedding.vectors[:, 1 : max(K, 2)] / np.sqrt(embedding.degrees)[:, None]
    if not all_apart:
        objective = TraceObjective(coordinates - coordinates.mean(axis=0))
        search = ClusteringOracle(relaxation=False, random_state=seed)
        return search.ask(objective, replace(constraint, n_clusters=K)).y
    if len(groups) > K:
        raise OracleError(f"{len(groups)} groups of labelled nodes cannot be {K} clusters")
    free = embedding.partition(K, seed).labels
    centres = np.array([coordinates[list(group)].mean(axis=0) for group in groups])
    distances = ((coordinates[:, None, :] - centres[None]) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    # Clusters that hold no labelled node stay clusters of their own, the largest ones first.
    forced = {int(free[i]) for i in home}
    others = [k for k in np.argsort(-np.bincount(free), kind="stable") if int(k) not in forced]
    for number, k in enumerate(others[: K - len(groups)]):
        labels[free == k] = len(groups) + number
    for number, group in enumerate(groups):
        labels[list(group)] = number
    if n_clusters is None:
        return EquivalenceMatrix.from_labels(labels)
    return _exactly(labels, coordinates, K)


def _groups(constraint: Constraint) -> list[tuple[int, ...]]:
    """Groups of nodes that are in different clusters: those together, and single ones apart."""
    groups = [tuple(group) for group in constraint.together]
    inside = set(chain.from_iterable(groups))
    alone = set(chain.from_iterable(constraint.apart)) - inside
    return groups + [(i,) for i in sorted(alone)]


def _linked(W: Weights, constraint: Constraint) -> Floats:
    """The similarity, dense, with 1 inside the groups and 0 between those that are apart."""
    matrix = W.matrix.toarray() if hasattr(W.matrix, "toarray") else np.array(W.matrix)
    home: dict[int, list[int]] = {}
    for group in constraint.together:
        home |= {i: list(group) for i in group}
    for group in constraint.together:
        matrix[np.ix_(group, group)] = 1.0
    for i, j in constraint.apart:
        rows = home.get(i, [i])
        columns = home.get(j, [j])
        matrix[np.ix_(rows, columns)] = 0.0
        matrix[np.ix_(columns, rows)] = 0.0
    return np.asarray(matrix)


def two_means(x: Floats, weights: Floats) -> Ints:
    """The split of points on a line of least weighted within-cluster scatter, exactly: 0 or 1."""
    order = np.argsort(x, kind="stable")
    centred = x[order] - np.average(x, weights=weights)
    w = weights[order]
    left = np.cumsum(w)[:-1]
    moment = np.cumsum(w * centred)[:-1]
    total = w.sum()
    rest = float(w @ centred)
    gain = moment**2 / left + (rest - moment) ** 2 / (total - left)
    labels = np.zeros(x.size, dtype=np.int64)
    labels[order[int(np.argmax(gain)) + 1 :]] = 1
    return labels


def _exactly(labels: Ints, coordinates: Floats, K: int) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_labels(with_exactly(coordinates, numbered(labels), K))


# ---- leading eigenvectors of a similarity matrix plus a few rank-one terms

DENSE = 400
"""Nodes up to which the matrix is decomposed rather than iterated on."""

DENSE_AT_LAST = 3000
"""Nodes up to which it is where Lanczos does not converge, because a graph nearly falls apart."""

LAST_TOLERANCES = (1e-5, 1e-3)
"""With which Lanczos tries again on larger graphs."""


@dataclass(frozen=True, eq=False)
class CutOperator:
    """``A = matrix + vectors core vectors^T``, symmetric."""

    matrix: Any
    """(T, T), an array or in CSR form."""
    vectors: Floats
    """(T, m)."""
    core: Floats
    """Symmetric, (m, m)."""

    def apply(self, V: Floats) -> Floats:
        """``A V`` for a vector (T,) or several (T, k)."""
        return _times(self.matrix, V) + self.vectors @ (self.core @ (self.vectors.T @ V))

    def dense(self) -> Floats:
        """``A`` itself."""
        matrix = self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix
        return np.asarray(matrix + (self.vectors @ self.core) @ self.vectors.T)

    def top(self, count: int, tol: float = 0.0) -> tuple[Floats, Floats]:
        """The ``count`` largest eigenvalues, decreasing, and their vectors (T, count)."""
        T = self.vectors.shape[0]
        count = min(count, T)
        if count == 0:
            return np.empty(0), np.empty((T, 0))
        if T <= DENSE or 2 * count >= T:
            return self._dense_top(count)
        start = np.asarray(np.random.default_rng(0).normal(size=T))
        operator = sla.LinearOperator((T, T), matvec=self.apply, matmat=self.apply, dtype=float)
        for tolerance in (tol, *LAST_TOLERANCES[:-1]):
            with suppress(OracleError):
                return leading_eigenpairs(operator, count, start, tolerance)
            if T <= DENSE_AT_LAST:
                return self._dense_top(count)
        return leading_eigenpairs(operator, count, start, LAST_TOLERANCES[-1])

    def _dense_top(self, count: int) -> tuple[Floats, Floats]:
        values, vectors = top_eigenpairs(self.dense(), count)
        return values[:count], vectors[:, :count]


def leading_eigenpairs(
    A: sla.LinearOperator, count: int, start: Floats, tol: float = 0.0
) -> tuple[Floats, Floats]:
    """The ``count`` largest eigenvalues of ``A``, decreasing, by Lanczos with a fixed start."""
    T = A.shape[0]
    try:
        values, vectors = sla.eigsh(A, k=count, which="LA", v0=start, tol=tol)
    except sla.ArpackError as error:
        raise OracleError(
            f"Lanczos failed on an operator of size {T} ({error}): ask for fewer clusters or "
            "a larger tolerance"
        ) from error
    order = np.argsort(-values, kind="stable")
    return values[order], fix_signs(vectors[:, order])


def scaled(matrix: Any, r: Floats) -> Any:
    """``Diag(r) matrix Diag(r)``."""
    if sp.issparse(matrix):
        return sp.diags_array(r) @ matrix @ sp.diags_array(r)
    return matrix * r[:, None] * r


def _times(matrix: Any, V: Floats) -> Floats:
    """``matrix V``; of a dense symmetric matrix and a vector, by reading half of the matrix."""
    if sp.issparse(matrix) or V.ndim > 1:
        return np.asarray(matrix @ V)
    columns = matrix if matrix.flags.f_contiguous else matrix.T  # or BLAS would copy it
    return np.asarray(blas.dsymv(1.0, columns, V))


# ---- the structured hinge loss of a cut: its value, its gradient, and its prox-linear model
#
# *Normalized*: S = D^{-1/2} W_B D^{-1/2} with the degree-weighted equivalence matrices, and sqrt(d)
# forced into M. *Plain*: the paper's Tr(W_B M) / T. In both,
#
#     L(B) = constant + (sum of the `count` largest eigenvalues of C(B)) - a(B),
#
# C a smooth symmetric matrix and a the score of the truth. L is not convex in B, because spectral
# projectors have negative entries: hence the model, in which C and a are linearised, which is
# convex.

DEFLATION = 3.0
"""Taken off the eigenvalue 1 - 2 kappa of sqrt(d), which makes it the smallest."""


@dataclass(frozen=True, eq=False)
class Point:
    """A hinge at one metric."""

    W: Weights
    operator: CutOperator
    """``C``."""
    truth: float
    """``a``."""


@dataclass(frozen=True, eq=False)
class _LabelledGraph:
    similarity: Similarity
    Y: Floats
    """True clusters of the nodes, (T, K)."""
    margin: float
    """``kappa``."""
    forced: ClassVar[int] = 0
    """How many eigenvectors are forced into the maximiser, each with the score 1."""

    @property
    def count(self) -> int:
        """Number of eigenvectors of the maximiser that are not forced."""
        return int(self.Y.shape[1]) - self.forced

    @property
    def constant(self) -> float:
        """Part of the loss that is not the sum of their eigenvalues."""
        return self.margin * 2.0 * self.count + self.forced


class NormalizedHinge(_LabelledGraph):
    """The hinge loss of a labelled graph for the normalized cut, in which sqrt(d) is forced."""

    forced = 1

    def at(self, L: Floats) -> Point:
        """At ``B = L L^T``, ``C = S - 2 kappa M_i`` less a multiple of the projector on sqrt(d)."""
        W = self.similarity(L)
        d = W.degrees
        Y = self.Y
        U = np.sqrt(d)[:, None] * Y / np.sqrt(Y.T @ d)
        u0 = np.sqrt(d / d.sum())
        core = np.diag([*np.full(Y.shape[1], -2.0 * self.margin), -DEFLATION])
        vectors = np.column_stack([U, u0])
        operator = CutOperator(scaled(W.matrix, 1.0 / np.sqrt(d)), vectors, core)
        return Point(W, operator, _association(W, Y).sum())

    def gradient(self, point: Point, V: Floats) -> Floats:
        """Of ``Tr(V^T C V) - a`` with ``V`` fixed, (P, P)."""
        W = point.W
        Y = self.Y
        d = W.degrees
        volumes = Y.T @ d
        S = point.operator.matrix
        degree = -np.einsum("tk,tk->t", S @ V, V) / d
        degree -= 2.0 * self.margin * _overlap_gradient(Y, V, d)
        degree -= DEFLATION * _overlap_gradient(np.ones((d.size, 1)), V, d)
        degree += Y @ (_association(W, Y) / volumes)
        plus = V / np.sqrt(d)[:, None]
        minus = Y / np.sqrt(volumes)
        return self.similarity.gradient(W, plus, minus, degree)

    def derivative(self, point: Point, direction: Floats) -> CutOperator:
        """``C + dC`` when ``B`` moves along a symmetric matrix (P, P)."""
        W = point.W
        Y = self.Y
        K = self.Y.shape[1]
        d = W.degrees
        r = 1.0 / np.sqrt(d)
        dW = self.similarity.derivative(W, direction)
        moved = np.asarray(dW.sum(axis=1)).ravel()
        relative = 0.5 * moved / d
        S = point.operator.matrix
        matrix = scaled(dW, r) + S - _entrywise(S, relative[:, None]) - _entrywise(S, relative)
        U = point.operator.vectors[:, :K]
        u0 = point.operator.vectors[:, K]
        dU = U * (relative[:, None] - 0.5 * (Y.T @ moved) / (Y.T @ d))
        du0 = u0 * (relative - 0.5 * moved.sum() / d.sum())
        vectors = np.column_stack([U, dU, u0, du0])
        core = np.zeros((2 * K + 2, 2 * K + 2))
        eye = np.eye(K)
        core[: 2 * K, : 2 * K] = -2.0 * self.margin * np.block([[eye, eye], [eye, 0 * eye]])
        core[2 * K :, 2 * K :] = -DEFLATION * np.array([[1.0, 1.0], [1.0, 0.0]])
        return CutOperator(matrix, vectors, core)

    def partition(self, point: Point, M: EquivalenceMatrix) -> tuple[float, Floats]:
        """The loss of a partition plus its score less the truth's, and the gradient, (P, P)."""
        W = point.W
        Y = self.Y
        d = W.degrees
        labels = indicators(M)
        association = _association(W, labels)
        true = _association(W, Y)
        volumes = labels.T @ d
        true_volumes = Y.T @ d
        degree = Y @ (true / true_volumes) - labels @ (association / volumes)
        plus = labels / np.sqrt(volumes)
        minus = Y / np.sqrt(true_volumes)
        value = self.margin * _loss(Y, labels) + association.sum() - true.sum()
        return float(value), self.similarity.gradient(W, plus, minus, degree)


class PlainHinge(_LabelledGraph):
    """That of the paper: ``kappa |M - M_i|^2 + Tr(W_B (M - M_i)) / T``."""

    def at(self, L: Floats) -> Point:
        """``C = W / T - 2 kappa M_i``."""
        W = self.similarity(L)
        T, K = self.Y.shape
        U = self.Y / np.sqrt(self.Y.sum(axis=0))
        operator = CutOperator(W.matrix / T, U, -2.0 * self.margin * np.eye(K))
        return Point(W, operator, float(np.sum(U * (W.matrix @ U))) / T)

    def gradient(self, point: Point, V: Floats) -> Floats:
        T = self.Y.shape[0]
        minus = point.operator.vectors / np.sqrt(T)
        return self.similarity.gradient(point.W, V / np.sqrt(T), minus, np.zeros(T))

    def derivative(self, point: Point, direction: Floats) -> CutOperator:
        dW = self.similarity.derivative(point.W, direction)
        C = point.operator
        return CutOperator(C.matrix + dW / self.Y.shape[0], C.vectors, C.core)

    def partition(self, point: Point, M: EquivalenceMatrix) -> tuple[float, Floats]:
        """Convex in ``B`` but for the truth's part, because ``M`` has no negative entry."""
        T = self.Y.shape[0]
        labels = indicators(M)
        U = labels / np.sqrt(labels.sum(axis=0))
        score = float(np.sum(U * (point.W.matrix @ U))) / T
        value = self.margin * _loss(self.Y, labels) + score - point.truth
        return value, self.gradient(point, U)


CutHinge = NormalizedHinge | PlainHinge


def _association(W: Weights, Y: Floats) -> Floats:
    """``y_k^T W y_k / y_k^T D y_k``, (K,)."""
    inside = np.einsum("tk,tk->k", Y, W.matrix @ Y)
    return np.asarray(inside / (Y.T @ W.degrees))


def _overlap_gradient(Y: Floats, V: Floats, d: Floats) -> Floats:
    """Gradient with respect to ``d`` of ``|V^T U|^2``, U the normalized clusters, (T,)."""
    s = np.sqrt(d)
    volumes = Y.T @ d
    q = (V * s[:, None]).T @ Y / volumes  # (count, K)
    share = np.einsum("ck,ck->k", q, q)
    return np.asarray(np.einsum("tk,tk->t", Y, V @ q) / s - Y @ share)


def _entrywise(matrix: Any, r: Floats) -> Any:
    """Entries times those of ``r``, repeated along rows or columns."""
    return matrix.multiply(r).tocsr() if hasattr(matrix, "tocsr") else matrix * r


def indicators(M: EquivalenceMatrix) -> Floats:
    return np.eye(M.n_clusters)[M.labels]


def _loss(Y: Floats, labels: Floats) -> float:
    """``|M - M_i|_F^2``."""
    common = Y.T @ labels
    overlap = np.sum(common**2 / np.outer(Y.sum(axis=0), labels.sum(axis=0)))
    return float(Y.shape[1] + labels.shape[1] - 2.0 * overlap)
