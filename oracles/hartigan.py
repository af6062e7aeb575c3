"""Hartigan moves: a partition improved one sample at a time, under any trace objective.

A cluster S contributes ``h(S) / |S| + d`` to ``Tr(A M)``, where

    h(S) = |sum_{t in S} z_t|^2_S - c sum_k |S n P_k|^2 / |P_k|

(``|.|_S`` the inner product with the signs of the objective, ``P_k`` the true clusters). Taking
sample t out of cluster a and putting it into b changes ``h`` of both by inner products of ``z_t``
with their sums and by one entry of the contingency table, so a move is judged in O(r), exactly;
K-means instead compares distances to centroids that the move itself displaces (Hartigan 1975;
Telgarsky and Vattani 2010). A move is made when it raises the objective; the sweeps end at a
partition that no single move improves.

With K known every cluster keeps a sample; otherwise a sample may open a cluster of its own and the
last one of a cluster may leave it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["Clusters", "GroupedObjective", "clusters_of", "improve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_WORK = 4e9
"""Products after which no further sweep begins: reached when clusters cost nothing and there are
nearly as many of them as samples."""


class GroupedObjective(NamedTuple):
    """A trace objective in the form in which single clusters are scored.

    The samples are centred, which adds a constant to every partition and saves digits. A truth that
    is itself a relaxation joins the samples as columns ``sqrt(c) U`` of negative sign.
    """

    Z: Floats
    """(T, r), contiguous."""
    signs: Floats
    """+1 or -1 for each column, (r,)."""
    truth: Ints
    """True cluster of each sample, (T,); all 0 when there is none."""
    truth_price: Floats
    """``c / |P_k|``, (K_i,); zero when there is no truth."""
    shift: float
    """d."""

    @classmethod
    def of(cls, objective: TraceObjective) -> GroupedObjective:
        """The same objective up to a constant."""
        Z = objective.Z - objective.Z.mean(axis=0)
        signs = np.ones(Z.shape[1]) if objective.signs is None else objective.signs
        labels, price = np.zeros(Z.shape[0], dtype=np.int64), np.zeros(1)
        if objective.has_truth and objective.truth is not None:
            if objective.truth.labels is not None:
                labels = objective.truth.labels.copy()
                price = objective.truth_weight / objective.truth.sizes
            else:
                U = objective.truth.factor()
                Z = np.hstack((Z, np.sqrt(objective.truth_weight) * U))
                signs = np.concatenate((signs, np.full(U.shape[1], -1.0)))
        return cls(np.ascontiguousarray(Z), signs, labels, price, objective.shift)

    @property
    def n_samples(self) -> int:
        """T."""
        return int(self.Z.shape[0])

    @property
    def points(self) -> Floats:
        """The columns of ``Z`` with a positive sign: between them there are distances, (T, r')."""
        return np.ascontiguousarray(self.Z[:, self.signs > 0])

    def value(self, labels: Ints) -> float:
        """``Tr(A M)`` up to a constant; labels ``0..K-1``, (T,)."""
        clusters = clusters_of(self, labels, 0)
        return float(np.sum(clusters.h / clusters.sizes)) + self.shift * clusters.sizes.size


class Clusters(NamedTuple):
    """What moves have to know of the clusters; they change it in place."""

    sums: Floats
    """Sum of the samples, (K, r)."""
    table: Floats
    """Contingency with the truth, (K, K_i)."""
    sizes: Floats
    """(K,); empty slots at the end."""
    h: Floats
    """``h`` of each cluster, (K,)."""


def improve(
    objective: GroupedObjective, labels: Ints, fixed: bool, order: Ints, max_sweeps: int
) -> Ints:
    """Move samples while the objective rises.

    Parameters
    ----------
    objective : GroupedObjective
    labels : array of shape (T,)
        Where to start, clusters ``0..K-1``, none of them empty.
    fixed : bool
        Whether the number of clusters must stay.
    order : array of shape (T,)
        In which the samples are visited.
    max_sweeps : int
        Most visits of every sample.

    Returns
    -------
    array of shape (T,)
        Labels ``0..K'-1``; the value is at least that of the start.
    """
    labels, work = np.array(labels, dtype=np.int64), 0.0
    for _ in range(max_sweeps):
        K = int(labels.max()) + 1
        room = 0 if fixed else min(objective.n_samples - K, K + 16)
        clusters = clusters_of(objective, labels, room)
        moves = _sweep(objective, clusters, order, labels, fixed)
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        work += float(objective.Z.size) * K
        if moves == 0 or work > MOST_WORK:
            break
    return labels


def clusters_of(objective: GroupedObjective, labels: Ints, room: int) -> Clusters:
    """The clusters of a labelling, and ``room`` empty slots."""
    n_slots, n_truth = int(labels.max()) + 1 + room, objective.truth_price.size
    sums = np.zeros((n_slots, objective.Z.shape[1]))
    _add_rows(objective.Z, labels, sums)
    cells = np.bincount(labels * n_truth + objective.truth, minlength=n_slots * n_truth)
    table = cells.reshape(n_slots, n_truth).astype(np.float64)
    h = (sums**2) @ objective.signs - (table**2) @ objective.truth_price
    return Clusters(sums, table, table.sum(axis=1), h)


@njit(cache=True, nogil=True)
def _add_rows(Z: Floats, labels: Ints, sums: Floats) -> None:
    """``sums[labels[t]] += Z[t]``."""
    for t in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            sums[labels[t], j] += Z[t, j]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _product(signs: Floats, x: Floats, y: Floats) -> float:
    """``sum_j s_j x_j y_j``."""
    total = 0.0
    for j in range(x.size):
        total += signs[j] * x[j] * y[j]
    return total


@njit(cache=True, nogil=True)
def _sweep(o: GroupedObjective, c: Clusters, order: Ints, labels: Ints, fixed: bool) -> int:
    """Visit every sample once; clusters and labels change in place. How many moved."""
    scale = np.sum(np.abs(c.h) / np.maximum(c.sizes, 1.0)) + abs(o.shift)
    moves = 0
    for t in order:
        a, p = labels[t], o.truth[t]
        if fixed and c.sizes[a] == 1.0:
            continue
        own = _product(o.signs, o.Z[t], o.Z[t])
        left = c.h[a] - 2.0 * _product(o.signs, c.sums[a], o.Z[t]) + own
        left += o.truth_price[p] * (2.0 * c.table[a, p] - 1.0)
        loss = c.h[a] / c.sizes[a]
        if c.sizes[a] > 1.0:
            loss -= left / (c.sizes[a] - 1.0)
        else:
            loss += o.shift
        best, gain, joined = _best_cluster(o, c, t, a, own, fixed)
        if gain - loss > 1e-13 * scale:
            c.h[a], c.h[best] = left, joined
            _move(o, c, t, a, best)
            labels[t] = best
            moves += 1
    return moves


@njit(cache=True, nogil=True)
def _best_cluster(
    o: GroupedObjective, c: Clusters, t: int, a: int, own: float, fixed: bool
) -> tuple[int, float, float]:
    """Where sample t of cluster a would add most, how much, and ``h`` of that cluster with it."""
    p = o.truth[t]
    best, best_gain, best_h, seen_empty = a, -np.inf, c.h[a], False
    for b in range(c.sizes.size):
        empty = c.sizes[b] == 0.0
        if b == a or (empty and (fixed or seen_empty)):
            continue
        joined = c.h[b] + 2.0 * _product(o.signs, c.sums[b], o.Z[t]) + own
        joined -= o.truth_price[p] * (2.0 * c.table[b, p] + 1.0)
        gain = joined / (c.sizes[b] + 1.0)
        gain += o.shift if empty else -c.h[b] / c.sizes[b]
        seen_empty = seen_empty or empty
        if gain > best_gain:
            best, best_gain, best_h = b, gain, joined
    return best, best_gain, best_h


@njit(cache=True, nogil=True)
def _move(o: GroupedObjective, c: Clusters, t: int, a: int, b: int) -> None:
    """Take sample t out of cluster a and put it into b."""
    c.sums[b] += o.Z[t]
    c.table[b, o.truth[t]] += 1.0
    c.sizes[b] += 1.0
    c.table[a, o.truth[t]] -= 1.0
    c.sizes[a] -= 1.0
    if c.sizes[a] > 0.0:
        c.sums[a] -= o.Z[t]
    else:
        c.sums[a] = 0.0
        c.h[a] = 0.0
