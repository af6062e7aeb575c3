"""The structured hinge loss of a cut: its value, its gradient, and its prox-linear model.

*Normalized*: S = D^{-1/2} W_B D^{-1/2} with the degree-weighted equivalence matrices, and sqrt(d)
forced into M. *Plain*: the paper's Tr(W_B M) / T. In both,

    L(B) = constant + (sum of the `count` largest eigenvalues of C(B)) - a(B),

C a smooth symmetric matrix and a the score of the truth. L is not convex in B, because spectral
projectors have negative entries: hence the model, in which C and a are linearised, which is
convex.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structsvm.graphs.similarity import Similarity, Weights
from structsvm.oracles.normalized_cut import DEFLATION, CutOperator, scaled
from structsvm.partitions import EquivalenceMatrix
from structsvm.support import Floats


@dataclass(frozen=True, eq=False)
class CutPoint:
    """The hinge loss of a graph at one metric."""

    W: Weights
    operator: CutOperator  # ``C``
    truth: float  # ``a``


@dataclass(frozen=True, eq=False)
class _LabelledGraph:
    similarity: Similarity
    Y: Floats  # true clusters of the nodes, (T, K)
    margin: float  # ``kappa``
    forced: ClassVar[int] = 0
    """Number of eigenvectors that are forced into the maximiser, each with the score 1."""

    @property
    def count(self) -> int:
        """Number of eigenvectors of the maximiser that are not forced."""
        return int(self.Y.shape[1]) - self.forced

    @property
    def constant(self) -> float:
        """Part of the loss that is not the sum of the eigenvalues of :attr:`count`."""
        return self.margin * 2.0 * self.count + self.forced


class NormalizedHinge(_LabelledGraph):
    """The hinge loss of a labelled graph for the normalized cut, in which sqrt(d) is forced."""

    forced = 1

    def at(self, L: Floats) -> CutPoint:
        """At ``B = L L^T``, ``C = S - 2 kappa M_i`` less a multiple of the projector on sqrt(d)."""
        W = self.similarity(L)
        d = W.degrees
        Y = self.Y
        U = np.sqrt(d)[:, None] * Y / np.sqrt(Y.T @ d)
        u0 = np.sqrt(d / d.sum())
        core = np.diag([*np.full(Y.shape[1], -2.0 * self.margin), -DEFLATION])
        vectors = np.column_stack([U, u0])
        operator = CutOperator(scaled(W.matrix, 1.0 / np.sqrt(d)), vectors, core)
        return CutPoint(W, operator, _association(W, Y).sum())

    def gradient(self, point: CutPoint, V: Floats) -> Floats:
        """The gradient of ``Tr(V^T C V) - a`` by ``B`` with ``V`` fixed, (P, P)."""
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

    def derivative(self, point: CutPoint, direction: Floats) -> CutOperator:
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

    def partition(self, point: CutPoint, M: EquivalenceMatrix) -> tuple[float, Floats]:
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
    """The hinge loss of the paper, of ``kappa |M - M_i|^2 + Tr(W_B (M - M_i)) / T``."""

    def at(self, L: Floats) -> CutPoint:
        """``C = W / T - 2 kappa M_i``."""
        W = self.similarity(L)
        T, K = self.Y.shape
        U = self.Y / np.sqrt(self.Y.sum(axis=0))
        operator = CutOperator(W.matrix / T, U, -2.0 * self.margin * np.eye(K))
        return CutPoint(W, operator, float(np.sum(U * (W.matrix @ U))) / T)

    def gradient(self, point: CutPoint, V: Floats) -> Floats:
        T = self.Y.shape[0]
        minus = point.operator.vectors / np.sqrt(T)
        return self.similarity.gradient(point.W, V / np.sqrt(T), minus, np.zeros(T))

    def derivative(self, point: CutPoint, direction: Floats) -> CutOperator:
        dW = self.similarity.derivative(point.W, direction)
        C = point.operator
        return CutOperator(C.matrix + dW / self.Y.shape[0], C.vectors, C.core)

    def partition(self, point: CutPoint, M: EquivalenceMatrix) -> tuple[float, Floats]:
        """Value and gradient, as above; convex in B except for the truth, as M has no entry < 0."""
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
    """A matrix, dense or sparse, times ``r``, (T,) or (T, 1), entry by entry."""
    return matrix.multiply(r).tocsr() if hasattr(matrix, "tocsr") else matrix * r


def indicators(M: EquivalenceMatrix) -> Floats:
    """1 where a sample, the row, is in a cluster, and 0 elsewhere, (T, K)."""
    return np.eye(M.n_clusters)[M.labels]


def _loss(Y: Floats, labels: Floats) -> float:
    """``|M - M_i|_F^2`` of two partitions by their indicators."""
    common = Y.T @ labels
    overlap = np.sum(common**2 / np.outer(Y.sum(axis=0), labels.sum(axis=0)))
    return float(Y.shape[1] + labels.shape[1] - 2.0 * overlap)
