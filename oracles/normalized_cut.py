"""Cuts of a graph in a given metric: spectral relaxation, then rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.cluster._spectral import cluster_qr

from structsvm.errors import OracleError
from structsvm.graphs.similarity import Weights
from structsvm.oracles._clusters.lloyd import lloyd
from structsvm.oracles._clusters.starts import numbered, with_exactly
from structsvm.oracles._spectra.cut_operator import CutOperator, scaled
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Constraint, TraceObjective
from structsvm.support.arrays import Floats, Ints

MOST_CLUSTERS = 20
"""Where counting clusters ends."""
DEFLATION = 3.0
"""Taken off the eigenvalue 1 of sqrt(d); the smallest of ``S`` is at least -1."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """The relaxed cut: leading eigenvectors of a similarity matrix."""

    values: Floats
    """Decreasing, (m,); at most 1."""
    vectors: Floats
    """Orthonormal, (T, m)."""
    degrees: Floats
    """(T,)."""


@dataclass(frozen=True)
class CutDecoder:
    """Maximises the association within clusters over partitions of a graph, approximately.

    Shi and Malik (2000): the eigenvectors of ``S = D^{-1/2} W D^{-1/2}`` after sqrt(d), divided by
    sqrt(d); two clusters by the exact degree-weighted 2-means of the first of them, more by
    K-means with the degrees as weights, or by its column-pivoted QR.
    """

    normalized: bool = True
    rounding: str = "kmeans"
    tol: float = 1e-6
    random_state: int = 0

    def embed(self, W: Weights, count: int) -> Embedding:
        """The first ``count`` eigenvectors, sqrt(d) being the first of a normalized cut."""
        d = W.degrees
        T = d.size
        count = min(count, T)
        if not self.normalized:
            operator = CutOperator(W.matrix / T, np.zeros((T, 1)), np.zeros((1, 1)))
            return Embedding(*operator.top(count, self.tol), d)
        u0 = np.sqrt(d / d.sum())[:, None]
        S = scaled(W.matrix, 1.0 / np.sqrt(d))
        operator = CutOperator(S, u0, np.array([[-DEFLATION]]))
        values, vectors = operator.top(count - 1, self.tol)
        return Embedding(np.append(1.0, values), np.hstack([u0, vectors]), d)

    def n_clusters(self, embedding: Embedding, threshold: float) -> int:
        return max(1, int(np.count_nonzero(embedding.values >= threshold)))

    def partition(self, embedding: Embedding, n_clusters: int) -> EquivalenceMatrix:
        """Round to exactly so many clusters, none of them empty."""
        d, K = embedding.degrees, n_clusters
        if K > d.size:
            raise OracleError(f"cannot make {K} clusters out of {d.size} nodes")
        if K == 1:
            return EquivalenceMatrix.from_labels(np.zeros(d.size, dtype=np.int64))
        if not self.normalized:
            return self._rounded(embedding.vectors[:, :K], np.ones(d.size), K)
        coordinates = embedding.vectors[:, 1:K] / np.sqrt(d)[:, None]
        if K == 2:
            return EquivalenceMatrix.from_labels(two_means(coordinates[:, 0], d))
        if self.rounding == "qr":
            return _exactly(cluster_qr(embedding.vectors[:, :K]), coordinates, K)
        return self._rounded(coordinates, d, K)

    def _rounded(self, coordinates: Floats, weights: Floats, K: int) -> EquivalenceMatrix:
        """K-means, on coordinates of size 1 whatever the size of the graph."""
        scale = np.abs(coordinates).max(initial=0.0)
        unit = coordinates / scale if scale > 0 else coordinates
        labels = lloyd(unit, K, 10, self.random_state, weights / weights.mean())
        return _exactly(labels, unit, K)


def constrained_cut(
    decoder: CutDecoder,
    W: Weights,
    constraint: Constraint,
    n_clusters: int | None,
    threshold: float | None,
) -> EquivalenceMatrix:
    """A cut in which labelled nodes keep their labels."""
    groups = _groups(constraint)
    all_apart = _all_apart(groups, constraint)
    linked = Weights(_linked(W, constraint), None)
    K = n_clusters
    embedding = decoder.embed(linked, max(MOST_CLUSTERS if K is None else K, len(groups)))
    if K is None:
        assert threshold is not None
        least = len(groups) if all_apart else 2 if constraint.apart else 1
        K = max(least, decoder.n_clusters(embedding, threshold))
    coordinates = embedding.vectors[:, 1 : max(K, 2)] / np.sqrt(embedding.degrees)[:, None]
    if not all_apart:
        objective = TraceObjective(coordinates - coordinates.mean(axis=0))
        search = ClusteringOracle(relaxation=False, random_state=decoder.random_state)
        return search.ask(objective, replace(constraint, n_clusters=K)).y
    if len(groups) > K:
        raise OracleError(f"{len(groups)} groups of labelled nodes cannot be {K} clusters")
    free = decoder.partition(embedding, K).labels
    assert free is not None
    centres = np.array([coordinates[list(group)].mean(axis=0) for group in groups])
    distances = ((coordinates[:, None, :] - centres[None]) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    # Clusters that hold no labelled node stay clusters of their own, the largest ones first.
    held = {int(free[i]) for group in groups for i in group}
    others = [k for k in np.argsort(-np.bincount(free), kind="stable") if int(k) not in held]
    for number, k in enumerate(others[: K - len(groups)]):
        labels[free == k] = len(groups) + number
    for number, group in enumerate(groups):
        labels[list(group)] = number
    if n_clusters is None:
        return EquivalenceMatrix.from_labels(labels)
    return _exactly(labels, coordinates, K)


def _all_apart(groups: list[tuple[int, ...]], constraint: Constraint) -> bool:
    home = {i: k for k, group in enumerate(groups) for i in group}
    apart = {frozenset((home[i], home[j])) for i, j in constraint.apart}
    return len(apart) == len(groups) * (len(groups) - 1) // 2


def _groups(constraint: Constraint) -> list[tuple[int, ...]]:
    """Groups of nodes that are in different clusters: those together, and single ones apart."""
    groups = [tuple(group) for group in constraint.together]
    inside = {i for group in groups for i in group}
    alone = {i for pair in constraint.apart for i in pair} - inside
    return groups + [(i,) for i in sorted(alone)]


def _linked(W: Weights, constraint: Constraint) -> Floats:
    """The similarity, dense, with 1 inside the groups and 0 between those that are apart."""
    matrix = W.matrix.toarray() if hasattr(W.matrix, "toarray") else np.array(W.matrix)
    home = {i: list(group) for group in constraint.together for i in group}
    for group in constraint.together:
        matrix[np.ix_(group, group)] = 1.0
    for i, j in constraint.apart:
        rows, columns = home.get(i, [i]), home.get(j, [j])
        matrix[np.ix_(rows, columns)] = 0.0
        matrix[np.ix_(columns, rows)] = 0.0
    return np.asarray(matrix)


def two_means(x: Floats, weights: Floats) -> Ints:
    """The split of points on a line of least weighted within-cluster scatter, exactly: 0 or 1."""
    if x.size < 2:
        raise OracleError("one point cannot be split in two")
    order = np.argsort(x, kind="stable")
    centred = x[order] - np.average(x, weights=weights)
    w = weights[order]
    left = np.cumsum(w)[:-1]
    moment = np.cumsum(w * centred)[:-1]
    total, rest = w.sum(), float(w @ centred)
    gain = moment**2 / left + (rest - moment) ** 2 / (total - left)
    labels = np.zeros(x.size, dtype=np.int64)
    labels[order[int(np.argmax(gain)) + 1 :]] = 1
    return labels


def _exactly(labels: Ints, coordinates: Floats, K: int) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_labels(with_exactly(coordinates, numbered(labels), K))
