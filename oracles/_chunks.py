"""Hartigan moves under links: linked rows move together, and never into a forbidden cluster.

Rows that have to be together are one *chunk* and move as one; a chunk does not move into a
cluster that holds one it has to be apart from. The search starts from the clustering without
links, each chunk where most of its rows are, and from K-means++ seeds with the other chunks put,
the most restricted first, into the nearest cluster that takes them (as in COP-KMeans; Wagstaff et
al., 2001). Whether any clustering keeps the links is a graph-colouring problem, and this heuristic
may miss one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus

from structsvm.errors import OracleError
from structsvm.oracles._starts import GroupedObjective, numbered
from structsvm.partitions import Constraint
from structsvm.support import Floats, Ints, compiled, inner


class Chunks(NamedTuple):
    """Samples that are linked, as chunks, and which chunks have to be apart."""

    of: Ints  # chunk of each row, (T,)
    sums: Floats
    """Of each chunk the sum of its rows, how many of them each true cluster has, and their number,
    (C, r + K_i + 1). A cluster whose chunks add up to ``s`` scores ``sum_j weights[j] s[j]^2 /
    s[-1]``."""
    weights: Floats  # 1 for each column, and minus the prices of the true clusters, (r + K_i,)
    first: Ints  # ``apart[first[c]:first[c + 1]]`` have to be apart from c, (C + 1,)
    apart: Ints

    @classmethod
    def from_links(cls, objective: GroupedObjective, constraint: Constraint) -> "Chunks":
        T, r = objective.Z.shape
        of = np.arange(T)
        for group in constraint.together:
            of[list(group)] = group[0]
        of = numbered(of)
        rows = np.zeros((T, r + objective.truth_price.size + 1))
        rows[:, :r] = objective.Z
        rows[:, -1] = 1.0
        rows[np.arange(T), r + objective.truth] = 1.0
        sums = np.zeros((int(of.max()) + 1, rows.shape[1]))
        np.add.at(sums, of, rows)
        pairs = set()
        for a, b in constraint.apart:
            one = int(of[a])
            other = int(of[b])
            pairs |= {(one, other), (other, one)}
        if any(a == b for a, b in pairs):
            raise OracleError("rows that have to be together have to be apart as well")
        ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(ends[:, 0], np.arange(len(sums) + 1)).astype(np.int64)
        weights = np.concatenate((np.ones(r), -objective.truth_price))
        return cls(of, sums, weights, first, ends[:, 1].copy())


def wished_clusters(
    objective: GroupedObjective,
    chunks: Chunks,
    K: int | None,
    free: Ints,
    n_init: int,
    rng: np.random.Generator,
) -> Iterator[Ints]:
    """For each start the clusters in each chunk's order of preference, (C, k)."""
    C = len(chunks.sums)
    sizes = chunks.sums[:, -1]
    votes = np.zeros((C, int(free.max()) + 1))
    np.add.at(votes, (chunks.of, free), 1.0)
    yield np.argsort(-votes, axis=1, kind="stable")
    points = chunks.sums[:, : objective.Z.shape[1]] / sizes[:, None]
    n_seeds = min(votes.shape[1], C) if K is None else K
    for _ in range(n_init):
        seed = int(rng.integers(2**31))
        # kmeans_plusplus needs a column, and the null metric has none.
        wide = np.pad(points, ((0, 0), (0, 1)))
        _, chosen = kmeans_plusplus(wide, n_seeds, sample_weight=sizes, random_state=seed)
        centres = points[chosen]
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        yield np.argsort(distance, axis=1, kind="stable")


def place_chunks(c: Chunks, wishes: Ints, K: int | None, rng: np.random.Generator) -> Ints | None:
    """The cluster of each chunk, the most restricted chunk first; None if one fits nowhere."""
    C, n_slots = wishes.shape
    home = np.full(C, -1)
    n_slots = max(n_slots, K or 0)
    for chunk in np.lexsort(np.stack([rng.random((C,)), -np.diff(c.first)])):
        taken = set(home[c.apart[c.first[chunk] : c.first[chunk + 1]]].tolist())
        order = [*wishes[chunk].tolist(), *range(wishes.shape[1], n_slots)]
        choice = next((k for k in order if k not in taken), None)
        if choice is None:
            if K is not None:
                return None
            choice = n_slots
            n_slots = n_slots + 1
        home[chunk] = choice
    home = numbered(home)
    # Chunks leave crowded clusters until there are K; there are never more than K.
    for new in range(int(home.max()) + 1, K or 0):
        crowded = np.flatnonzero(np.bincount(home)[home] > 1)
        home[crowded[0]] = new
    return home


@inner()
def _worth(weights: Floats, total: Floats, shift: float) -> float:
    """The score of a cluster whose chunks add up to ``total``; 0 for an empty one."""
    if total[-1] == 0.0:
        return 0.0
    h = 0.0
    for j in range(weights.size):
        h += weights[j] * total[j] * total[j]
    return float(h / total[-1] + shift)


@compiled()
def sweep_chunks(
    c: Chunks, shift: float, home: Ints, n_slots: int, order: Ints, fixed: bool
) -> int:
    """Move each chunk to its best cluster, once, updating ``home``; the number of moves."""
    sums = np.zeros((n_slots, c.sums.shape[1]))
    worth = np.zeros(n_slots)
    for x in range(home.size):
        sums[home[x]] += c.sums[x]
    for k in range(n_slots):
        worth[k] = _worth(c.weights, sums[k], shift)
    tiny = 1e-12 * (np.abs(worth).sum() + abs(shift))
    blocked = np.zeros(n_slots, np.bool_)
    moves = 0
    for x in order:
        a = home[x]
        own = c.sums[x]
        if fixed and sums[a, -1] == own[-1]:
            continue
        blocked[:] = False
        blocked[a] = True
        for i in range(c.first[x], c.first[x + 1]):
            blocked[home[c.apart[i]]] = True
        worth_without = _worth(c.weights, sums[a] - own, shift)
        best, gain, worth_of_best = a, tiny, 0.0
        seen_empty = fixed
        for b in range(n_slots):
            empty = sums[b, -1] == 0.0
            if blocked[b] or (empty and seen_empty):
                continue
            seen_empty = seen_empty or empty
            joined = _worth(c.weights, sums[b] + own, shift)
            if worth_without + joined - worth[a] - worth[b] > gain:
                best = b
                gain = worth_without + joined - worth[a] - worth[b]
                worth_of_best = joined
        if best != a:
            sums[a] -= own
            sums[best] += own
            worth[a] = worth_without
            worth[best] = worth_of_best
            home[x] = best
            moves += 1
    return moves
