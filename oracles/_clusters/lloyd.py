"""K-means of small data, compiled.

The partition is that of scikit-learn's ``KMeans``, unless distances are equal up to rounding: the
same random numbers and steps. Learning asks for it at every call of the oracle, mostly on data for
which checks and calls of NumPy take scikit-learn twenty times as long as the computation.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.quiet import without_warnings

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
