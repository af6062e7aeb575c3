"""A trace objective cluster by cluster, and the partitions from which Hartigan moves start."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import without_warnings
from structsvm.partitions import TraceObjective
from structsvm.support import Floats, Ints, compiled, inner, pieces

MOST_LEAVES = 8_000  # samples up to which each is a leaf of Ward's tree
SUMMARY = 1_000  # of more samples the leaves are this many clusters of a coarse K-means
SUBSAMPLE = 50_000  # samples on which the coarse K-means is fitted


class GroupedObjective(NamedTuple):
    """A trace objective as a sum over clusters."""

    Z: Floats  # (T, r), contiguous
    truth: Ints  # true cluster of each sample, (T,); all 0 when there is none
    truth_price: Floats  # ``c / |P_k|``, (K_i,); zero when there is no truth
    shift: float  # d

    @classmethod
    def of(cls, objective: TraceObjective) -> "GroupedObjective":
        Z = objective.Z - objective.Z.mean(axis=0)
        labels = np.zeros(Z.shape[0], dtype=np.int64)
        price = np.zeros(1)
        if objective.has_truth and objective.truth is not None:
            price = objective.truth_weight / objective.truth.sizes
            labels = np.array(objective.truth.labels)
        return cls(np.ascontiguousarray(Z), labels, price, objective.shift)

    def value(self, labels: Ints) -> float:
        """``Tr(A M)`` up to a constant; labels ``0..K-1``, (T,)."""
        clusters = clusters_of(self, labels, 0)
        return float(np.sum(clusters.h / clusters.sizes)) + self.shift * clusters.sizes.size


class Clusters(NamedTuple):
    """The clusters of a labelling."""

    sums: Floats  # sum of the samples, (K, r)
    table: Floats  # contingency with the truth, (K, K_i)
    sizes: Floats  # (K,); empty slots at the end
    h: Floats  # ``h`` of each cluster, (K,)


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
    points = objective.Z
    leaves = _leaves(points, seed)
    clusters = clusters_of(objective, leaves, 0)
    centers = clusters.sums / clusters.sizes[:, None]
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
    n_clusters = int(labels.max()) + 1
    if K is None or n_clusters == K:
        return labels
    centers, sizes = _centers(points, labels)
    if n_clusters > K:
        return ward_tree(centers, sizes).cut(K)[labels]
    distance = np.sum((points - centers[labels]) ** 2, axis=1)
    result = np.array(labels)
    for t in np.argsort(-distance, kind="stable"):
        if n_clusters == K:
            break
        if sizes[labels[t]] > 1:
            sizes[labels[t]] -= 1
            result[t] = n_clusters
            n_clusters += 1
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
    """A number for each point, the same for points that differ by rounding only, (T,)."""
    unit = 1e-7 * float(np.abs(points).max(initial=0.0))
    if unit == 0.0:
        return np.zeros(points.shape[0], dtype=np.int64)
    inverse = np.unique(np.round(points / unit), axis=0, return_inverse=True)[1]
    return np.asarray(inverse, dtype=np.int64).ravel()


def _has_distinct(points: Floats, K: int) -> bool:
    """Whether at least K points differ; the first 4 K usually tell."""
    return any(
        int(_distinct(part).max()) + 1 >= K for part in (points[: 4 * K], points) if len(part) >= K
    )


@compiled()
def _level_values(o: GroupedObjective, leaves: Clusters, pairs: Ints) -> Floats:
    """The objective, up to a constant, after the first i merges of a tree, (L,)."""
    sums = leaves.sums.copy()
    table = leaves.table.copy()
    sizes = leaves.sizes.copy()
    score = leaves.h / leaves.sizes
    values = np.zeros(sizes.size)
    for i in range(sizes.size - 1):
        a = pairs[i, 0]
        b = pairs[i, 1]
        sums[a] += sums[b]
        table[a] += table[b]
        sizes[a] += sizes[b]
        h = np.sum(sums[a] ** 2) - np.sum(o.truth_price * table[a] ** 2)
        values[i + 1] = values[i] + h / sizes[a] - score[a] - score[b] - o.shift
        score[a] = h / sizes[a]
    return values


def lloyd(points: Floats, K: int, n_init: int, seed: int, weights: Floats | None = None) -> Ints:
    """The best of ``n_init`` runs on ``points`` (T, r): clusters ``0..K-1``, some may be empty."""
    model = KMeans(K, n_init=n_init, random_state=seed)
    with without_warnings(ConvergenceWarning):  # fewer points than clusters
        return np.asarray(model.fit(points, sample_weight=weights).labels_, dtype=np.int64)


# ---- Ward's tree by nearest-neighbour chains, in memory O(L r), for leaves that may have weights
#
# Merging clusters a and b raises the distortion by
#
#     Delta(a, b) = n_a n_b / (n_a + n_b) |m_a - m_b|^2.
#
# A chain of nearest neighbours grows until two clusters are each other's nearest; these are merged,
# and the merges, sorted by cost, are Ward's (Murtagh 1983; Muellner 2011).

DISTANCE_OVERHEAD = 8  # the time of a distance without columns, in units of that of one column


@dataclass(frozen=True, eq=False)
class WardTree:
    """The L - 1 merges of L leaves, the cheapest first."""

    pairs: Ints
    """A leaf of each merged cluster, (L - 1, 2); the merged one keeps the name of the first."""
    costs: Floats  # ``Delta`` of each merge, nondecreasing, (L - 1,)

    @property
    def n_leaves(self) -> int:
        return int(self.costs.size) + 1

    def cut(self, n_clusters: int) -> Ints:
        """Cluster of each leaf, ``0..n_clusters-1``, (L,), before the last merges are made."""
        return np.asarray(_cut(self.pairs[: self.n_leaves - n_clusters], self.n_leaves))


def ward_tree(centers: Floats, weights: Floats) -> WardTree:
    """Ward's tree of leaves at ``centers`` (L, r) of ``weights`` (L,) samples, in O(L^2 r)."""
    L = weights.size
    pairs = np.empty((L - 1, 2), np.int64)
    costs = np.empty(L - 1)
    work = np.array(centers, dtype=np.float64), np.array(weights, dtype=np.float64)
    alive = np.arange(L)
    place = np.arange(L)
    chain = np.empty(L, np.int64)
    length = 0
    for done, end in pieces(0, L - 1, 3.0 * L * (centers.shape[1] + DISTANCE_OVERHEAD)):
        length = _chains(*work, pairs, costs, alive, place, chain, length, done, end)
    order = np.argsort(costs, kind="stable")
    return WardTree(pairs[order], costs[order])


@compiled()
def _chains(
    centers: Floats,
    weights: Floats,
    pairs: Ints,
    costs: Floats,
    alive: Ints,
    place: Ints,
    chain: Ints,
    length: int,
    done: int,
    end: int,
) -> int:
    """Make the merges ``done, ..., end - 1``; the new length of the chain."""
    L = weights.size
    n_alive = L - done
    while n_alive > L - end:
        if length == 0:
            chain[0] = alive[0]
            length = 1
        a = chain[length - 1]
        previous = chain[length - 2] if length > 1 else -1
        b, cost = _nearest(centers, weights, alive[:n_alive], a, previous)
        if b != previous:
            chain[length] = b
            length += 1
            continue
        length -= 2
        pairs[L - n_alive] = a, b
        costs[L - n_alive] = cost
        total = weights[a] + weights[b]
        centers[a] += (weights[b] / total) * (centers[b] - centers[a])
        weights[a] = total
        n_alive -= 1
        alive[place[b]] = alive[n_alive]
        place[alive[n_alive]] = place[b]
    return length


@inner(fastmath={"reassoc", "contract", "nsz"})
def _nearest(
    centers: Floats, weights: Floats, alive: Ints, a: int, previous: int
) -> tuple[int, float]:
    """The cluster that is cheapest to merge with ``a``; ``previous`` if it is among them."""
    best = -1
    best_cost = np.inf
    if previous >= 0:
        best = previous
        best_cost = _cost(centers, weights, a, previous)
    for b in alive:
        if b != a:
            cost = _cost(centers, weights, a, b)
            if best < 0 or cost < best_cost:  # a cluster is returned even if every cost is NaN
                best, best_cost = b, cost
    return best, best_cost


@inner(fastmath={"reassoc", "contract", "nsz"})
def _cost(centers: Floats, weights: Floats, a: int, b: int) -> float:
    """``Delta(a, b)``."""
    square = 0.0
    for j in range(centers.shape[1]):
        square += (centers[a, j] - centers[b, j]) ** 2
    return float(weights[a] * weights[b] / (weights[a] + weights[b]) * square)


@compiled()
def _cut(pairs: Ints, n_leaves: int) -> Ints:
    """Number the clusters that remain after these merges by their first leaf."""
    stands_for = np.arange(n_leaves)
    number = np.full(n_leaves, -1)
    count = 0
    for i in range(pairs.shape[0] - 1, -1, -1):  # backwards: the merged cluster may merge again
        stands_for[pairs[i, 1]] = stands_for[pairs[i, 0]]
    labels = np.empty(n_leaves, np.int64)
    for leaf in range(n_leaves):
        home = stands_for[leaf]
        if number[home] < 0:
            number[home] = count
            count += 1
        labels[leaf] = number[home]
    return labels


def numbered(labels: NDArray[np.integer]) -> Ints:
    """Labels ``0..K-1`` without gaps."""
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def clusters_of(objective: GroupedObjective, labels: Ints, room: int) -> Clusters:
    """The clusters of a labelling, and ``room`` empty slots."""
    n_slots = int(labels.max()) + 1 + room
    n_truth = objective.truth_price.size
    sums = np.zeros((n_slots, objective.Z.shape[1]))
    _add_rows(objective.Z, labels, sums)
    cells = np.bincount(labels * n_truth + objective.truth, minlength=n_slots * n_truth)
    table = cells.reshape(n_slots, n_truth).astype(np.float64)
    h = (sums**2) @ np.ones(sums.shape[1]) - (table**2) @ objective.truth_price
    return Clusters(sums, table, table.sum(axis=1), h)


@compiled()
def _add_rows(Z: Floats, labels: Ints, sums: Floats) -> None:
    """``sums[labels[t]] += Z[t]``."""
    for t in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            sums[labels[t], j] += Z[t, j]
