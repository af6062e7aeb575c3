"""Clustering under links: Hartigan moves of whole chunks, none of them into a forbidden cluster.

Rows that have to be together are one *chunk* and move as one; a chunk does not move into a cluster
that holds one it has to be apart from. Starts are the clustering without links, each chunk where
most of its rows are, and K-means++ seeds with the other chunks put, the most restricted first, into
the nearest cluster that takes them (as in COP-KMeans; Wagstaff et al., 2001). To decide whether
there is any such clustering is to colour a graph: this is a heuristic in that too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._clusters.hartigan import GroupedObjective
from structsvm.oracles._clusters.starts import numbered
from structsvm.partitions.oracle import Constraint
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner


class Chunks(NamedTuple):
    """What has to be together, and what apart."""

    of: Ints
    """Chunk of each row, (T,)."""
    sums: Floats
    """Sum of the rows of each, (C, r)."""
    table: Floats
    """How many rows it has of each true cluster, (C, K_i)."""
    sizes: Floats
    first: Ints
    """``apart[first[c]:first[c + 1]]`` have to be apart from c, (C + 1,)."""
    apart: Ints

    @classmethod
    def from_links(cls, objective: GroupedObjective, constraint: Constraint) -> Chunks:
        of = np.arange(objective.n_samples)
        for group in constraint.together:
            of[list(group)] = group[0]
        of = numbered(of)
        C = int(of.max()) + 1
        sums, table = np.zeros((C, objective.Z.shape[1])), np.zeros((C, objective.truth_price.size))
        np.add.at(sums, of, objective.Z)
        np.add.at(table, (of, objective.truth), 1.0)
        pairs = {(int(of[i]), int(of[j])) for a, b in constraint.apart for i, j in ((a, b), (b, a))}
        if any(a == b for a, b in pairs):
            raise OracleError("rows that have to be together have to be apart as well")
        ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(ends[:, 0], np.arange(C + 1)).astype(np.int64)
        return cls(of, sums, table, np.bincount(of).astype(np.float64), first, ends[:, 1].copy())


def best_under_links(
    objective: GroupedObjective,
    constraint: Constraint,
    free: Ints,
    n_init: int,
    max_sweeps: int,
    random_state: int,
) -> Ints:
    """A clustering of large value that keeps samples together and apart, (T,)."""
    chunks, K = Chunks.from_links(objective, constraint), constraint.n_clusters
    if K is not None and chunks.sizes.size < K:
        raise OracleError(
            f"cannot make {K} clusters out of {chunks.sizes.size} groups of rows that have to be "
            "together"
        )
    rng = np.random.default_rng(random_state)
    found = []
    for wishes in _wishes(objective, chunks, K, free, n_init, rng):
        home = _placed(chunks, wishes, K, rng)
        if home is not None:
            found.append(_improved(objective, chunks, home, K, max_sweeps, rng)[chunks.of])
    if not found:
        raise OracleError(
            f"found no clustering into {K} clusters that keeps {len(constraint.apart)} pairs of "
            "rows apart; the search is a heuristic: there may be one, and with more clusters there "
            "is"
        )
    return max(found, key=objective.value)


def _wishes(
    objective: GroupedObjective,
    chunks: Chunks,
    K: int | None,
    free: Ints,
    n_init: int,
    rng: np.random.Generator,
) -> Iterator[Ints]:
    """For each start the clusters in the order in which each chunk would join them, (C, k)."""
    C = chunks.sizes.size
    votes = np.zeros((C, int(free.max()) + 1))
    np.add.at(votes, (chunks.of, free), 1.0)
    yield np.argsort(-votes, axis=1, kind="stable")
    points = chunks.sums[:, objective.signs > 0] / chunks.sizes[:, None]
    n_seeds = min(votes.shape[1], C) if K is None else K
    for _ in range(n_init):
        centres = points[_seeds(points, chunks.sizes, n_seeds, rng)]
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        yield np.argsort(distance, axis=1, kind="stable")


def _placed(c: Chunks, wishes: Ints, K: int | None, rng: np.random.Generator) -> Ints | None:
    """Every chunk in the first cluster that takes it, the most restricted first; None if stuck."""
    C, n_slots = wishes.shape
    home, n_slots = np.full(C, -1), max(n_slots, K or 0)
    for chunk in np.lexsort(np.stack([rng.random((C,)), -np.diff(c.first)])):
        taken = set(home[c.apart[c.first[chunk] : c.first[chunk + 1]]].tolist())
        order = [*wishes[chunk].tolist(), *range(wishes.shape[1], n_slots)]
        choice = next((k for k in order if k not in taken), None)
        if choice is None:
            if K is not None:
                return None
            choice, n_slots = n_slots, n_slots + 1
        home[chunk] = choice
    home = numbered(home)
    # Chunks on their own until there are K clusters; more cannot have come about.
    for new in range(int(home.max()) + 1, K or 0):
        crowded = np.flatnonzero(np.bincount(home)[home] > 1)
        home[crowded[0]] = new
    return home


def _improved(
    o: GroupedObjective,
    chunks: Chunks,
    home: Ints,
    K: int | None,
    max_sweeps: int,
    rng: np.random.Generator,
) -> Ints:
    """Move chunks while the objective rises; clusters ``0..K-1``, none empty, (C,)."""
    order = rng.permutation(home.size)
    for _ in range(max_sweeps):
        n = int(home.max()) + 1
        n_slots = n if K is not None else min(home.size, 2 * n + 16)
        moved = _sweep(o.signs, o.truth_price, o.shift, chunks, home, n_slots, order, K is not None)
        home = numbered(home)
        if not moved:
            break
    return home


def _seeds(points: Floats, weights: Floats, K: int, rng: np.random.Generator) -> Ints:
    """K-means++ seeds among weighted points."""
    chosen = [int(rng.choice(weights.size, p=weights / weights.sum()))]
    nearest = np.full(weights.size, np.inf)
    while len(chosen) < K:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        chance = weights * nearest
        chance[chosen] = 0.0
        if not chance.sum() > 0:
            chance = np.ones(weights.size)
            chance[chosen] = 0.0
        chosen.append(int(rng.choice(weights.size, p=chance / chance.sum())))
    return np.array(chosen)


@inner()
def _h(signs: Floats, price: Floats, sums: Floats, table: Floats) -> float:
    total = 0.0
    for j in range(signs.size):
        total += signs[j] * sums[j] * sums[j]
    for k in range(price.size):
        total -= price[k] * table[k] * table[k]
    return total


@compiled()
def _sweep(
    signs: Floats,
    price: Floats,
    shift: float,
    c: Chunks,
    home: Ints,
    n_slots: int,
    order: Ints,
    fixed: bool,
) -> int:
    """Visit every chunk once; ``home`` changes in place. How many moved."""
    sums, table = np.zeros((n_slots, signs.size)), np.zeros((n_slots, price.size))
    sizes, members = np.zeros(n_slots), np.zeros(n_slots, np.int64)
    for x in range(home.size):
        sums[home[x]] += c.sums[x]
        table[home[x]] += c.table[x]
        sizes[home[x]] += c.sizes[x]
        members[home[x]] += 1
    worth = np.zeros(n_slots)
    for k in range(n_slots):
        if members[k] > 0:
            worth[k] = _h(signs, price, sums[k], table[k]) / sizes[k] + shift
    tiny = 1e-12 * (np.abs(worth).sum() + abs(shift))
    blocked, moves = np.zeros(n_slots, np.bool_), 0
    for x in order:
        a = home[x]
        if fixed and members[a] == 1:
            continue
        blocked[:] = False
        for i in range(c.first[x], c.first[x + 1]):
            blocked[home[c.apart[i]]] = True
        rest = 0.0
        if members[a] > 1:
            left = _h(signs, price, sums[a] - c.sums[x], table[a] - c.table[x])
            rest = left / (sizes[a] - c.sizes[x]) + shift
        best, gain, worth_there = a, tiny, 0.0
        seen_empty = False
        for b in range(n_slots):
            empty = members[b] == 0
            if b == a or blocked[b] or (empty and (fixed or seen_empty)):
                continue
            seen_empty = seen_empty or empty
            joined = _h(signs, price, sums[b] + c.sums[x], table[b] + c.table[x])
            there = joined / (sizes[b] + c.sizes[x]) + shift
            if rest + there - worth[a] - worth[b] > gain:
                best, gain, worth_there = b, rest + there - worth[a] - worth[b], there
        if best != a:
            sums[a] -= c.sums[x]
            table[a] -= c.table[x]
            sizes[a] -= c.sizes[x]
            members[a] -= 1
            sums[best] += c.sums[x]
            table[best] += c.table[x]
            sizes[best] += c.sizes[x]
            members[best] += 1
            worth[a], worth[best], home[x] = rest, worth_there, best
            moves += 1
    return moves
