"""The similarity ``W_B`` of a graph, and its derivatives with respect to ``B``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.errors import DataError
from structsvm.graphs.graph import FeatureGraph
from structsvm.support import Floats, Ints

EDGES_AT_ONCE = 2**18  # edges whose differences are in memory at a time
APPEARANCE = 0.5
SPATIAL = 1 / 16
"""Weights at which learning starts on images, in their fixed units. They were better than the best
of a grid, which often is at the grid's edge."""
BESIDE_MADE = 0.1
"""Factor of these weights beside computed features, such as scores of regions: with the full
weights, ten other features would drown two scores."""
MEAN_EXPONENT = 3.0
"""Mean over all edges of the exponent of W at which learning starts on other graphs."""


@dataclass(frozen=True, eq=False)
class Weights:
    """``W_B`` at one metric."""

    matrix: Any
    """(T, T) with unit diagonal; an array for a complete graph, otherwise in CSR form."""
    values: Floats | None
    """The similarity of each edge, (E,); None for a complete graph."""

    @cached_property
    def degrees(self) -> Floats:
        """``d = W 1``, at least 1, (T,)."""
        return np.asarray(self.matrix.sum(axis=1)).ravel()


@dataclass(frozen=True, eq=False)
class Similarity:
    """``W_ij = exp(-(x_i - x_j)^T B (x_i - x_j))`` on the edges of a graph, 1 on the diagonal."""

    X: Floats
    """Features with mean 0, (T, P): an offset changes no difference and costs accuracy."""
    edges: Ints | None
    """(2, E); None for a complete graph."""

    @classmethod
    def of(cls, graph: FeatureGraph) -> "Similarity":
        return cls(graph.X - graph.X.mean(axis=0), graph.edges)

    def __call__(self, L: Floats) -> Weights:
        """``W_B`` with ``B = L L^T``, ``L`` (P, r)."""
        Z = self.X @ L
        if self.edges is None:
            norms = np.einsum("ij,ij->i", Z, Z)
            W = Z @ Z.T
            W *= 2.0
            W -= norms[:, None]
            W -= norms
            np.minimum(W, 0.0, out=W)
            np.exp(W, out=W)
            np.fill_diagonal(W, 1.0)
            return Weights(W, None)
        values = np.empty(self.edges.shape[1])
        for part, i, j in self._chunks():
            difference = Z[i] - Z[j]
            values[part] = np.exp(-np.einsum("ep,ep->e", difference, difference))
        return Weights(self._matrix(values, 1.0), values)

    def gradient(self, W: Weights, plus: Floats, minus: Floats, degree: Floats) -> Floats:
        """Gradient with respect to ``B``, (P, P), of a function of ``W``.

        The function's gradient with respect to ``W_ij`` is ``plus_i . plus_j - minus_i . minus_j +
        (degree_i + degree_j) / 2``.
        """
        X = self.X
        if self.edges is None:
            H = plus @ plus.T
            H -= minus @ minus.T
            H += 0.5 * (degree[:, None] + degree)
            H *= W.matrix
            return np.asarray(-2.0 * ((X.T * H.sum(axis=1)) @ X - X.T @ (H @ X)))
        assert W.values is not None
        total = np.zeros((X.shape[1], X.shape[1]))
        for part, i, j in self._chunks():
            h = np.einsum("ek,ek->e", plus[i], plus[j]) - np.einsum("ek,ek->e", minus[i], minus[j])
            h += 0.5 * (degree[i] + degree[j])
            difference = X[i] - X[j]
            total -= 2.0 * (difference.T * (h * W.values[part])) @ difference
        return total

    def derivative(self, W: Weights, direction: Floats) -> Any:
        """``dW``, in the form of ``W.matrix``, when ``B`` moves along a symmetric matrix (P, P)."""
        X = self.X
        if self.edges is None:
            moved = X @ direction
            norms = np.einsum("ij,ij->i", moved, X)
            change = 2.0 * (moved @ X.T)
            change -= norms[:, None]
            change -= norms
            change *= W.matrix
            np.fill_diagonal(change, 0.0)
            return change
        assert W.values is not None
        values = np.empty(W.values.size)
        for part, i, j in self._chunks():
            away = X[i] - X[j]
            values[part] = -W.values[part] * np.einsum("ep,ep->e", away @ direction, away)
        return self._matrix(values, 0.0)

    def mean_square(self, scale: Floats) -> float:
        """Mean over the edges of ``|scale * (x_i - x_j)|^2``."""
        if self.edges is None:
            T = self.X.shape[0]
            return float(2.0 * np.sum((self.X * scale) ** 2) / max(T - 1, 1))
        total = sum(
            float(np.sum(((self.X[i] - self.X[j]) * scale) ** 2)) for _, i, j in self._chunks()
        )
        return float(total / max(self.edges.shape[1], 1))

    def _chunks(self) -> Iterator[tuple[slice, Ints, Ints]]:
        assert self.edges is not None
        for start in range(0, self.edges.shape[1], EDGES_AT_ONCE):
            part = slice(start, start + EDGES_AT_ONCE)
            yield part, self.edges[0, part], self.edges[1, part]

    @cached_property
    def _pattern(self) -> sp.csr_array:
        """The matrix (T, T) whose entries are the numbers of their edges, E on the diagonal."""
        assert self.edges is not None
        T = self.X.shape[0]
        E = self.edges.shape[1]
        ends = np.hstack([self.edges, self.edges[::-1], np.tile(np.arange(T), (2, 1))])
        which = np.concatenate([np.arange(E), np.arange(E), np.full(T, E)])
        return sp.coo_array((which, tuple(ends)), shape=(T, T)).tocsr()

    def _matrix(self, values: Floats, diagonal: float) -> sp.csr_array:
        which = self._pattern
        data = np.append(values, diagonal)[which.data]
        return sp.csr_array((data, which.indices, which.indptr), shape=which.shape)


def start_scale(graphs: Sequence[FeatureGraph], weights: Floats) -> Floats:
    """Square root of the diagonal metric at which learning starts, (P,); ``weights`` of graphs."""
    spatial = graphs[0].spatial
    start = np.where(spatial, SPATIAL, APPEARANCE)
    if not all(graph.in_units for graph in graphs):
        # Each graph is summed by itself, so that a graph of weight 2 has the same bits as two.
        within = np.array([((graph.X - graph.X.mean(axis=0)) ** 2).sum(axis=0) for graph in graphs])
        nodes = weights * [len(graph.X) for graph in graphs]
        deviation = np.sqrt((weights[:, None] * within).sum(axis=0) / nodes.sum())
        if not deviation.any():
            raise DataError("every feature is constant in every graph: nothing distinguishes nodes")
        start = np.divide(1.0, deviation**2, out=np.zeros(start.size), where=deviation > 0)
    if graphs[0].made.any():
        start = np.where(graphs[0].made, start, BESIDE_MADE * start)
    if all(graph.in_units and graph.edges is None for graph in graphs):
        return np.sqrt(start)
    root = np.sqrt(start)
    squares = [Similarity.of(graph).mean_square(root) for graph in graphs]
    spread = float(np.average(squares, weights=weights))
    return np.asarray(root * np.sqrt(MEAN_EXPONENT / spread)) if spread > 0 else root
