"""Hartigan moves: a partition improved one sample at a time, under any trace objective.

A cluster S contributes h(S) / |S| + d to Tr(A M), where

    h(S) = |sum_{t in S} z_t|^2 - c sum_k |S n P_k|^2 / |P_k|,

P_k the true clusters, and a move changes h of two clusters by inner products in O(r) (Hartigan
1975; Telgarsky and Vattani 2010). With K known every cluster keeps a sample; otherwise a sample
may open a cluster of its own and the last one of a cluster may leave it.
"""

from typing import NamedTuple

import numpy as np

from structsvm.oracles._starts import Clusters, GroupedObjective, clusters_of, numbered
from structsvm.support import Floats, Ints, compiled, inner

MOST_WORK = 4e9
"""Multiplications after which no further sweep begins: reached only where clusters cost nothing
and there are nearly as many of them as samples."""
UNROLLED = 4  # features that are multiplied in one pass over the clusters


class _Slots(NamedTuple):
    """Clusters as columns, so that one pass over a row compares a sample with all of them."""

    sums: Floats  # (r, K), with rows of zeros at the end
    table: Floats  # (K_i, K)
    sizes: Floats
    h: Floats
    share: Floats  # ``1 / (size + 1)``, (K,)
    worth: Floats  # ``h / size``; ``-d`` for an empty slot, because opening it earns d, (K,)


def improve(
    objective: GroupedObjective, labels: Ints, fixed: bool, order: Ints, max_sweeps: int
) -> Ints:
    """Move samples while the objective rises."""
    labels = np.array(labels, dtype=np.int64)
    work = 0.0
    for _ in range(max_sweeps):
        K = int(labels.max()) + 1
        room = 0 if fixed else min(len(labels) - K, K + 16)
        clusters = clusters_of(objective, labels, room)
        moves = _sweep(objective, clusters, order, labels, fixed, K)
        if not fixed:
            labels = numbered(labels)
        work += float(objective.Z.size) * K
        if moves == 0 or work > MOST_WORK:
            break
    return labels


@compiled()
def _sweep(
    o: GroupedObjective, c: Clusters, order: Ints, labels: Ints, fixed: bool, used: int
) -> int:
    """Move each sample to its best cluster, once, updating ``labels``; the number of moves.

    The first ``used`` slots are those that have ever held a sample.
    """
    r = o.Z.shape[1]
    K = c.sizes.size
    slots = _Slots(
        np.zeros((-(-r // UNROLLED) * UNROLLED, K)),
        c.table.T.copy(),
        c.sizes.copy(),
        c.h.copy(),
        np.empty(K),
        np.empty(K),
    )
    sums, table, sizes, h, share, worth = slots
    sums[:r] = c.sums.T
    for b in range(K):
        _weigh(slots, o.shift, b)
    rounding = 1e-13 * (np.sum(np.abs(h) / np.maximum(sizes, 1.0)) + abs(o.shift))
    joined = np.empty(K)
    gain = np.empty(K)
    z = np.zeros(sums.shape[0])
    moves = 0
    for t in order:
        a = labels[t]
        p = o.truth[t]
        if fixed and sizes[a] == 1.0:
            continue
        own = -o.truth_price[p]
        for j in range(r):
            z[j] = o.Z[t, j]
            own += z[j] * o.Z[t, j]
        n = min(used + 1, K)
        _join(z, sums, table[p], o.truth_price[p], joined[:n])
        for b in range(n):
            joined[b] = h[b] + 2.0 * joined[b] + own
            gain[b] = joined[b] * share[b] - worth[b]
        left = 2.0 * (h[a] + own) - joined[a]
        loss = worth[a] + o.shift
        if sizes[a] > 1.0:
            loss = worth[a] - left / (sizes[a] - 1.0)
        best = a
        most = loss + rounding
        for b in range(n):
            if gain[b] > most and b != a:
                best = b
                most = gain[b]
        if best != a:
            h[a] = left
            h[best] = joined[best]
            _add(o, t, -1.0, a, slots)
            _add(o, t, 1.0, best, slots)
            labels[t] = best
            used = max(used, best + 1)
            moves += 1
    return moves


@inner()
def _add(o: GroupedObjective, t: int, sign: float, b: int, slots: _Slots) -> None:
    """Put a sample into a cluster (sign 1) or take it out (sign -1); ``h`` is already updated."""
    for j in range(o.Z.shape[1]):
        slots.sums[j, b] += sign * o.Z[t, j]
    slots.table[o.truth[t], b] += sign
    slots.sizes[b] += sign
    if slots.sizes[b] == 0.0:
        slots.sums[:, b] = 0.0
        slots.h[b] = 0.0
    _weigh(slots, o.shift, b)


@inner()
def _weigh(slots: _Slots, shift: float, b: int) -> None:
    """Compute ``share`` and ``worth`` of a cluster from its size and ``h``."""
    slots.share[b] = 1.0 / (slots.sizes[b] + 1.0)
    slots.worth[b] = slots.h[b] / slots.sizes[b] if slots.sizes[b] > 0.0 else -shift


@inner(fastmath={"reassoc", "contract", "nsz"})
def _join(z: Floats, sums: Floats, overlaps: Floats, price: float, out: Floats) -> None:
    """``sum_j z_j sums[j, b] - price overlaps[b]`` of every cluster b.

    Four features at a time, so that the results are loaded and stored a quarter as often.
    """
    for b in range(out.size):
        out[b] = -price * overlaps[b]
    for j in range(0, z.size, UNROLLED):
        z0 = z[j]
        z1 = z[j + 1]
        z2 = z[j + 2]
        z3 = z[j + 3]
        s0 = sums[j]
        s1 = sums[j + 1]
        s2 = sums[j + 2]
        s3 = sums[j + 3]
        for b in range(out.size):
            out[b] += (z0 * s0[b] + z1 * s1[b]) + (z2 * s2[b] + z3 * s3[b])
