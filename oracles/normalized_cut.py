"""Cuts of a graph in a given metric: spectral relaxation, then rounding.

Shi and Malik (2000): the eigenvectors of ``S = D^{-1/2} W D^{-1/2}`` after sqrt(d), divided by
sqrt(d); two clusters by the exact degree-weighted 2-means of the first of them, more by K-means
with the degrees as weights.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy.linalg import blas

from structsvm.errors import OracleError
from structsvm.graphs.similarity import Weights
from structsvm.oracles._starts import lloyd, numbered, with_exactly
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.oracles.spectral import fix_signs, top_eigenpairs
from structsvm.partitions import Constraint, EquivalenceMatrix, TraceObjective
from structsvm.support import Floats, Ints

MOST_CLUSTERS = 20  # the largest number of clusters that is counted
LANCZOS_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Embedding:
    """The relaxed cut: leading eigenvectors of a normalized similarity, sqrt(d) the first."""

    values: Floats  # decreasing, (m,); at most 1
    vectors: Floats  # orthonormal, (T, m)
    degrees: Floats  # (T,)

    @classmethod
    def of(cls, W: Weights, count: int) -> "Embedding":
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
        # K-means has absolute tolerances: coordinates are scaled to size 1.
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
    """Labelled nodes in groups: those that have to be together, and single ones."""
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
    whole_moment = float(w @ centred)
    gain = moment**2 / left + (whole_moment - moment) ** 2 / (total - left)
    labels = np.zeros(x.size, dtype=np.int64)
    labels[order[int(np.argmax(gain)) + 1 :]] = 1
    return labels


def _exactly(labels: Ints, coordinates: Floats, K: int) -> EquivalenceMatrix:
    """The partition of these labels, merged or split into exactly K clusters."""
    return EquivalenceMatrix.from_labels(with_exactly(coordinates, numbered(labels), K))


DEFLATION = 3.0  # subtracted from the eigenvalue 1 - 2 kappa of sqrt(d): it becomes the smallest
DENSE = 400  # nodes up to which the dense matrix is decomposed, instead of by Lanczos
DENSE_AT_LAST = 3000
"""Nodes up to which it is decomposed if Lanczos fails, as on nearly disconnected graphs."""
LAST_TOLERANCES = (1e-5, 1e-3)  # tolerances with which Lanczos tries again on larger graphs


@dataclass(frozen=True, eq=False)
class CutOperator:
    """``A = matrix + vectors core vectors^T``, symmetric."""

    matrix: Any  # (T, T), an array or in CSR form
    vectors: Floats  # (T, m)
    core: Floats  # symmetric, (m, m)

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
        """The same by decomposing the dense matrix."""
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
    """``matrix V``; for a dense symmetric matrix and a vector only half of the matrix is read."""
    if sp.issparse(matrix) or V.ndim > 1:
        return np.asarray(matrix @ V)
    columns = matrix if matrix.flags.f_contiguous else matrix.T  # or BLAS would copy it
    return np.asarray(blas.dsymv(1.0, columns, V))
