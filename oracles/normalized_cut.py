"""Cuts of a graph in a given metric: spectral relaxation, then rounding.

Shi and Malik (2000): the eigenvectors of ``S = D^{-1/2} W D^{-1/2}`` after sqrt(d), divided by
sqrt(d); two clusters by the exact degree-weighted 2-means of the first of them, more by K-means
with the degrees as weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from structsvm.errors import OracleError
from structsvm.graphs.similarity import Weights
from structsvm.oracles._clusters.lloyd import lloyd
from structsvm.oracles._clusters.starts import numbered, with_exactly
from structsvm.oracles._spectra.cut_hinge import DEFLATION
from structsvm.oracles._spectra.cut_operator import CutOperator, scaled
from structsvm.oracles.clustering import ClusteringOracle
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Constraint, TraceObjective
from structsvm.support.arrays import Floats, Ints

MOST_CLUSTERS = 20
"""Where counting clusters ends."""
TOLERANCE = 1e-6
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
        values, vectors = operator.top(min(count, d.size) - 1, TOLERANCE)
        return cls(np.append(1.0, values), np.hstack([u0, vectors]), d)

    def n_clusters(self, threshold: float) -> int:
        return max(1, int(np.count_nonzero(self.values >= threshold)))

    def partition(self, n_clusters: int, seed: int) -> EquivalenceMatrix:
        """Round to exactly so many clusters, none of them empty."""
        d, K = self.degrees, n_clusters
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
    W: Weights,
    constraint: Constraint,
    n_clusters: int | None,
    threshold: float | None,
    seed: int,
) -> EquivalenceMatrix:
    """A cut in which labelled nodes keep their labels."""
    groups = _groups(constraint)
    home = {i: k for k, group in enumerate(groups) for i in group}
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
