"""Partitions from which Hartigan moves start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from structsvm.oracles._clusters.hartigan import Clusters, GroupedObjective, clusters_of
from structsvm.oracles._clusters.lloyd import lloyd
from structsvm.oracles._clusters.ward import ward_tree
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled

MOST_LEAVES = 8_000
"""Ward's tree stands on single samples up to here."""
SUMMARY = 1_000
"""Beyond, it stands on this many clusters of a coarse K-means."""
SUBSAMPLE = 50_000
"""Samples on which the coarse K-means is fitted."""


def kmeans(points: Floats, K: int, n_init: int, seed: int) -> Ints:
    """K-means++ with restarts: exactly K non-empty clusters of ``points`` (T, r)."""
    if K == 1:
        return np.zeros(points.shape[0], dtype=np.int64)
    if not _has_distinct(points, K):
        return with_exactly(points, _distinct(points), K)
    return with_exactly(points, numbered(lloyd(points, K, n_init, seed)), K)


def ward(objective: GroupedObjective, K: int | None, seed: int) -> Ints:
    """Ward's tree cut at K clusters, or at the level where the objective is largest.

    For plain decoding, ``Z Z^T - lambda_0 I``, that level is where a merge begins to cost more than
    ``lambda_0``.
    """
    points = objective.points
    leaves = _leaves(points, seed)
    clusters = clusters_of(objective, leaves, 0)
    centers = clusters.sums[:, objective.signs > 0] / clusters.sizes[:, None]
    tree = ward_tree(centers, clusters.sizes)
    if K is None:
        K = tree.n_leaves - int(np.argmax(_level_values(objective, clusters, tree.pairs)))
    return with_exactly(points, tree.cut(min(K, tree.n_leaves))[leaves], K)


def ward_levels(points: Floats, prices: Floats, seed: int) -> list[Ints]:
    """Ward's partition at the level where merges begin to cost more than each price."""
    leaves = _leaves(points, seed)
    tree = ward_tree(*_centers(points, leaves))
    counts = tree.n_leaves - np.searchsorted(tree.costs, prices, side="right")
    cuts = {K: tree.cut(K)[leaves] for K in set(counts.tolist())}
    return [cuts[K] for K in counts.tolist()]


def across(truth: Ints, K: int) -> Ints:
    """K clusters that share every true cluster evenly: little overlap with the truth."""
    labels = np.empty(truth.size, dtype=np.int64)
    labels[np.argsort(truth, kind="stable")] = np.arange(truth.size) % K
    return labels


def with_exactly(points: Floats, labels: Ints, K: int | None) -> Ints:
    """The partition merged or split into exactly K non-empty clusters, if K is known."""
    found = int(labels.max()) + 1
    if K is None or found == K:
        return labels
    centers, sizes = _centers(points, labels)
    if found > K:
        return ward_tree(centers, sizes).cut(K)[labels]
    distance = np.sum((points - centers[labels]) ** 2, axis=1)
    result = np.array(labels)
    for t in np.argsort(-distance, kind="stable"):
        if found == K:
            break
        if sizes[labels[t]] > 1:
            sizes[labels[t]] -= 1
            result[t] = found
            found += 1
    return result


def _centers(points: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """The means and the sizes of clusters."""
    sizes = np.bincount(labels).astype(np.float64)
    centers = np.zeros((sizes.size, points.shape[1]))
    np.add.at(centers, labels, points)
    return centers / sizes[:, None], sizes


def _leaves(points: Floats, seed: int) -> Ints:
    """The leaf of each sample: itself, or its cluster of a coarse K-means if there are too many."""
    T = points.shape[0]
    if T <= MOST_LEAVES:
        return np.arange(T)
    if not _has_distinct(points, SUMMARY):
        return _distinct(points)
    chosen = np.random.default_rng(seed).permutation(T)[:SUBSAMPLE]
    model = KMeans(SUMMARY, n_init=1, max_iter=10, random_state=seed).fit(points[chosen])
    return numbered(model.predict(points))


def _distinct(points: Floats) -> Ints:
    """Number the points, those that differ by rounding only together."""
    unit = 1e-7 * float(np.abs(points).max(initial=0.0))
    if unit == 0.0:
        return np.zeros(points.shape[0], dtype=np.int64)
    inverse = np.unique(np.round(points / unit), axis=0, return_inverse=True)[1]
    return np.asarray(inverse, dtype=np.int64).ravel()


def _has_distinct(points: Floats, K: int) -> bool:
    return any(
        int(_distinct(part).max()) + 1 >= K for part in (points[: 4 * K], points) if len(part) >= K
    )


def numbered(labels: NDArray[np.integer]) -> Ints:
    """Labels ``0..K-1`` without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


@compiled()
def _level_values(o: GroupedObjective, leaves: Clusters, pairs: Ints) -> Floats:
    """The objective, up to a constant, after the first i merges of a tree, (L,)."""
    sums, table, sizes = leaves.sums.copy(), leaves.table.copy(), leaves.sizes.copy()
    score = leaves.h / leaves.sizes
    values = np.zeros(sizes.size)
    for i in range(sizes.size - 1):
        a, b = pairs[i, 0], pairs[i, 1]
        sums[a] += sums[b]
        table[a] += table[b]
        sizes[a] += sizes[b]
        h = np.sum(o.signs * sums[a] ** 2) - np.sum(o.truth_price * table[a] ** 2)
        values[i + 1] = values[i] + h / sizes[a] - score[a] - score[b] - o.shift
        score[a] = h / sizes[a]
    return values
