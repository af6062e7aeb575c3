"""Partitions from which Hartigan moves start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import without_warnings
from structsvm.oracles._clusters.hartigan import Clusters, GroupedObjective, clusters_of, numbered
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces

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
        h = np.sum(sums[a] ** 2) - np.sum(o.truth_price * table[a] ** 2)
        values[i + 1] = values[i] + h / sizes[a] - score[a] - score[b] - o.shift
        score[a] = h / sizes[a]
    return values


# ---- K-means of small data, compiled
#
# The partition is that of scikit-learn's KMeans, unless distances are equal up to rounding: the
# same random numbers and steps. Learning asks for it at every call of the oracle, mostly on data
# for which checks and calls of NumPy take scikit-learn twenty times as long as the computation.

MOST = 300_000
"""Samples times features times clusters up to which a run is one compiled call; beyond,
scikit-learn's multiplies matrices, and a signal interrupts it."""
ITERATIONS = 300
"""Of Lloyd, at most; as in scikit-learn, like the tolerance."""
TOLERANCE = 1e-4
"""Of the variance: where the squares of what centres move are less, they have converged."""


def lloyd(points: Floats, K: int, n_init: int, seed: int, weights: Floats | None = None) -> Ints:
    """The best of ``n_init`` runs on ``points`` (T, r): clusters ``0..K-1``, some may be empty."""
    if points.size * K > MOST:
        model = KMeans(K, n_init=n_init, random_state=seed)
        with without_warnings(ConvergenceWarning):  # fewer points than clusters
            return np.asarray(model.fit(points, sample_weight=weights).labels_, dtype=np.int64)
    weights = np.ones(len(points)) if weights is None else weights
    X = np.ascontiguousarray(points - points.mean(axis=0))
    tolerance = TOLERANCE * float(np.mean(np.var(points, axis=0)))
    trials = 2 + int(np.log(K))
    best, least = np.zeros(X.shape[0], dtype=np.int64), np.inf
    for numbers in _uniform(seed, n_init, 1 + (K - 1) * trials):
        labels, inertia = run(X, weights, _seeds(X, weights, K, trials, numbers), tolerance)
        if inertia < least and (least == np.inf or not _is_finer(labels, best, K)):
            best, least = labels, inertia
    return best


@lru_cache(maxsize=64)
def _uniform(seed: int, *shape: int) -> Floats:
    """The first random numbers of a seed: seeding takes longer than drawing them."""
    numbers = np.random.RandomState(seed).random_sample(shape)
    numbers.flags.writeable = False
    return numbers


@compiled()
def run(X: Floats, weights: Floats, centers: Floats, tolerance: float) -> tuple[Ints, float]:
    """Lloyd's iterations: the cluster of each sample, and the sum of squared distances."""
    labels = np.full(X.shape[0], -1)
    settled = False
    for _ in range(ITERATIONS):
        settled = not _assign(X, centers, labels)
        moved = _means(X, weights, centers, labels)
        shift = 0.0
        for k in range(centers.shape[0]):
            shift += _square(moved, k, centers, k)
        centers = moved
        if settled or shift <= tolerance:
            break
    if not settled:
        _assign(X, centers, labels)
    inertia = 0.0
    for t in range(X.shape[0]):
        inertia += weights[t] * _square(X, t, centers, labels[t])
    return labels, inertia


@compiled()
def _seeds(X: Floats, weights: Floats, K: int, trials: int, numbers: Floats) -> Floats:
    """K-means++: of some samples drawn by their distance, the one that lessens it most, (K, r)."""
    T, r = X.shape
    centers, chosen = np.empty((K, r)), np.empty(K, np.int64)
    nearest, tried, best = np.empty(T), np.empty(T), np.empty(T)
    total = 0.0
    for t in range(T):
        total += weights[t]
    chosen[0] = _drawn(weights, numbers[0] * total)
    total = 0.0
    for t in range(T):
        nearest[t] = weights[t] * _square(X, t, X, chosen[0])
        total += nearest[t]
    for k in range(1, K):
        least = np.inf
        for trial in range(trials):
            candidate = _drawn(nearest, numbers[1 + (k - 1) * trials + trial] * total)
            potential = 0.0
            for t in range(T):
                tried[t] = min(nearest[t], weights[t] * _square(X, t, X, candidate))
                potential += tried[t]
            if potential < least:
                least, chosen[k] = potential, candidate
                tried, best = best, tried
        nearest, best, total = best, nearest, least
    for k in range(K):
        for j in range(r):
            centers[k, j] = X[chosen[k], j]
    return centers


@inner()
def _drawn(weights: Floats, number: float) -> int:
    """Where the sum of the weights up to there first reaches a number."""
    total = 0.0
    for t in range(weights.size - 1):
        total += weights[t]
        if total >= number:
            return t
    return weights.size - 1


@inner(fastmath={"reassoc", "contract", "nsz"})
def _assign(X: Floats, centers: Floats, labels: Ints) -> bool:
    """The nearest centre of each sample, the first of several; whether any is another one."""
    K, r = centers.shape
    columns, norms, distance = np.empty((r, K)), np.zeros(K), np.empty(K)
    for k in range(K):
        for j in range(r):
            columns[j, k] = -2.0 * centers[k, j]
            norms[k] += centers[k, j] * centers[k, j]
    changed = False
    for t in range(X.shape[0]):
        for k in range(K):
            distance[k] = norms[k]
        for j in range(r):
            x = X[t, j]
            for k in range(K):
                distance[k] += x * columns[j, k]
        best = 0
        for k in range(1, K):
            if distance[k] < distance[best]:
                best = k
        changed = changed or labels[t] != best
        labels[t] = best
    return changed


@inner()
def _means(X: Floats, weights: Floats, centers: Floats, labels: Ints) -> Floats:
    """The means of the clusters, the farthest samples for those that are empty, (K, r)."""
    sums, sizes = np.zeros(centers.shape), np.zeros(centers.shape[0])
    for t in range(labels.size):
        sizes[labels[t]] += weights[t]
        for j in range(X.shape[1]):
            sums[labels[t], j] += weights[t] * X[t, j]
    if min(sizes) == 0.0:
        _fill(X, weights, centers, labels, sums, sizes)
    for k in range(sizes.size):
        share = 1.0 / sizes[k] if sizes[k] > 0.0 else 0.0
        for j in range(X.shape[1]):
            sums[k, j] *= share
    return sums


@inner()
def _fill(
    X: Floats, weights: Floats, centers: Floats, labels: Ints, sums: Floats, sizes: Floats
) -> None:
    """Put the samples that are farthest from their centres into the empty clusters."""
    distances = np.empty(labels.size)
    for t in range(labels.size):
        distances[t] = _square(X, t, centers, labels[t])
    empty = sizes == 0.0
    for k in range(sizes.size):
        t = int(np.argmax(distances))
        if not empty[k] or distances[t] == 0.0:
            continue
        distances[t] = 0.0
        for j in range(X.shape[1]):
            sums[labels[t], j] -= weights[t] * X[t, j]
            sums[k, j] = weights[t] * X[t, j]
        sizes[labels[t]] -= weights[t]
        sizes[k] = weights[t]


@compiled()
def _is_finer(labels: Ints, others: Ints, K: int) -> bool:
    within = np.full(K, -1)
    for t in range(labels.size):
        if within[labels[t]] < 0:
            within[labels[t]] = others[t]
        elif within[labels[t]] != others[t]:
            return False
    return True


@inner(fastmath={"reassoc", "contract", "nsz"})
def _square(X: Floats, t: int, Y: Floats, s: int) -> float:
    """The squared distance of two rows."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[t, j] - Y[s, j]) ** 2
    return total


# ---- Ward's tree by nearest-neighbour chains, in memory O(L r), for leaves that may have weights
#
# Merging clusters a and b raises the distortion by
#
#     Delta(a, b) = n_a n_b / (n_a + n_b) |m_a - m_b|^2.
#
# A chain of nearest neighbours grows until two clusters are each other's nearest; these are merged,
# and the merges, sorted by cost, are Ward's (Murtagh 1983; Muellner 2011).

OVERHEAD = 8
"""So many more columns would cost what a distance costs without any."""


@dataclass(frozen=True, eq=False)
class WardTree:
    """The L - 1 merges of L leaves, the cheapest first."""

    pairs: Ints
    """A leaf of either side, (L - 1, 2): the second joins the cluster that the first stands for."""
    costs: Floats
    """``Delta`` of each merge, nondecreasing, (L - 1,)."""

    @property
    def n_leaves(self) -> int:
        return int(self.costs.size) + 1

    def cut(self, n_clusters: int) -> Ints:
        """Cluster of each leaf, ``0..n_clusters-1``, (L,), before the last merges are made."""
        return np.asarray(_cut(self.pairs[: self.n_leaves - n_clusters], self.n_leaves))


def ward_tree(centers: Floats, weights: Floats) -> WardTree:
    """Ward's tree of leaves at ``centers`` (L, r), each standing for ``weights`` (L,) samples.

    Costs ``O(L^2 r)`` operations.
    """
    L = weights.size
    pairs, costs = np.empty((L - 1, 2), np.int64), np.empty(L - 1)
    work = np.array(centers, dtype=np.float64), np.array(weights, dtype=np.float64)
    alive, place, chain, length = np.arange(L), np.arange(L), np.empty(L, np.int64), 0
    for done, end in pieces(0, L - 1, 3.0 * L * (centers.shape[1] + OVERHEAD)):
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
            chain[0], length = alive[0], 1
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
        alive[place[b]], place[alive[n_alive]] = alive[n_alive], place[b]
    return length


@inner(fastmath={"reassoc", "contract", "nsz"})
def _nearest(
    centers: Floats, weights: Floats, alive: Ints, a: int, previous: int
) -> tuple[int, float]:
    """The cluster that is cheapest to merge with ``a``; ``previous`` if it is among them."""
    best, best_cost = -1, np.inf
    if previous >= 0:
        best, best_cost = previous, _cost(centers, weights, a, previous)
    for b in alive:
        if b != a:
            cost = _cost(centers, weights, a, b)
            if cost < best_cost:
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
    stands_for, number, count = np.arange(n_leaves), np.full(n_leaves, -1), 0
    for i in range(pairs.shape[0] - 1, -1, -1):  # whom a leaf joins may join another one later
        stands_for[pairs[i, 1]] = stands_for[pairs[i, 0]]
    labels = np.empty(n_leaves, np.int64)
    for leaf in range(n_leaves):
        home = stands_for[leaf]
        if number[home] < 0:
            number[home] = count
            count += 1
        labels[leaf] = number[home]
    return labels
