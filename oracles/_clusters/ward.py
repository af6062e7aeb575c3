"""Ward's tree by nearest-neighbour chains, in memory O(L r), for leaves that may have weights.

Merging clusters a and b raises the distortion by

    Delta(a, b) = n_a n_b / (n_a + n_b) |m_a - m_b|^2.

A chain of nearest neighbours grows until two clusters are each other's nearest; these are merged,
and the merges, sorted by cost, are Ward's (Murtagh 1983; Muellner 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces

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
