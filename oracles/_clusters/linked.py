"""Clustering under links: Hartigan moves of whole chunks, none of them into a forbidden cluster.

Rows that have to be together are one *chunk* and move as one; a chunk does not move into a cluster
that holds one it has to be apart from. Starts are the clustering without links, each chunk where
most of its rows are, and K-means++ seeds with the other chunks put, the most restricted first, into
the nearest cluster that takes them (as in COP-KMeans; Wagstaff et al., 2001). To decide whether
there is any such clustering is to colour a graph: this is a heuristic in that too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._clusters.hartigan import GroupedObjective
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


@dataclass(frozen=True, eq=False)
class _Search:
    objective: GroupedObjective
    chunks: Chunks
    K: int | None
    max_sweeps: int

    def improve(self, home: Ints, rng: np.random.Generator) -> Ints:
        """Move chunks while the objective rises; clusters ``0..K-1``, none empty, (C,)."""
        order = rng.permutation(home.size)
        for _ in range(self.max_sweeps):
            n = int(home.max()) + 1
            room = 0 if self.K is not None else min(home.size - n, n + 16)
            o, c = self.objective, self.chunks
            moved = _sweep(
                o.signs, o.truth_price, o.shift, c, home, n + room, order, self.K is not None
            )
            home = np.unique(home, return_inverse=True)[1].astype(np.int64)
            if not moved:
                break
        return home

    def starts(self, free: Ints, n_init: int, rng: np.random.Generator) -> Iterator[Ints | None]:
        """Clusterings that keep the links; None where one got stuck."""
        C = self.chunks.sizes.size
        votes = np.zeros((C, int(free.max()) + 1))
        np.add.at(votes, (self.chunks.of, free), 1.0)
        yield self._placed(np.argsort(-votes, axis=1, kind="stable"), rng)
        points = self.chunks.sums[:, self.objective.signs > 0] / self.chunks.sizes[:, None]
        K = min(votes.shape[1], C) if self.K is None else self.K
        for _ in range(n_init):
            centres = points[_seeds(points, self.chunks.sizes, K, rng)]
            distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
            yield self._placed(np.argsort(distance, axis=1, kind="stable"), rng)

    def _placed(self, wishes: Ints, rng: np.random.Generator) -> Ints | None:
        """Every chunk in the first cluster of its wishes that takes it, the most restricted
        first.
        """
        c = self.chunks
        C, n_slots = wishes.shape
        home, n_slots = np.full(C, -1), max(n_slots, self.K or 0)
        tie = rng.random((C,))
        for chunk in np.lexsort(np.stack([tie, -np.diff(c.first)])):
            taken = set(home[c.apart[c.first[chunk] : c.first[chunk + 1]]].tolist())
            order = [*wishes[chunk].tolist(), *range(wishes.shape[1], n_slots)]
            choice = next((k for k in order if k not in taken), None)
            if choice is None:
                if self.K is not None:
                    return None
                choice, n_slots = n_slots, n_slots + 1
            home[chunk] = choice
        home = np.unique(home, return_inverse=True)[1].astype(np.int64)
        return home if self.K is None else self._with_exactly(home, self.K)

    def _with_exactly(self, home: Ints, K: int) -> Ints | None:
        """Chunks on their own until there are K clusters; more cannot have come about."""
        for new in range(int(home.max()) + 1, K):
            crowded = np.flatnonzero(np.bincount(home)[home] > 1)
            if not crowded.size:
                return None
            home[crowded[0]] = new
        return home


def best_under_links(
    objective: GroupedObjective,
    constraint: Constraint,
    free: Ints,
    n_init: int,
    max_sweeps: int,
    random_state: int,
) -> Ints:
    """A clustering of large value that keeps samples together and apart, (T,)."""
    chunks = _chunks(objective, constraint)
    if constraint.n_clusters is not None and chunks.sizes.size < constraint.n_clusters:
        raise OracleError(
            f"cannot make {constraint.n_clusters} clusters out of {chunks.sizes.size} groups of "
            "rows that have to be together"
        )
    search = _Search(objective, chunks, constraint.n_clusters, max_sweeps)
    rng = np.random.default_rng(random_state)
    found = [
        search.improve(start, rng)[chunks.of]
        for start in search.starts(free, n_init, rng)
        if start is not None
    ]
    if not found:
        raise OracleError(
            f"found no clustering into {constraint.n_clusters} clusters that keeps "
            f"{len(constraint.apart)} pairs of rows apart; the search is a heuristic: there may be "
            "one, and with more clusters there is"
        )
    return max(found, key=objective.value)


def _chunks(objective: GroupedObjective, constraint: Constraint) -> Chunks:
    of = np.arange(objective.n_samples)
    for group in constraint.together:
        of[list(group)] = group[0]
    of = np.unique(of, return_inverse=True)[1].astype(np.int64)
    C = int(of.max()) + 1
    sums, table = np.zeros((C, objective.Z.shape[1])), np.zeros((C, objective.truth_price.size))
    np.add.at(sums, of, objective.Z)
    np.add.at(table, (of, objective.truth), 1.0)
    pairs = sorted(
        {(int(of[i]), int(of[j])) for a, b in constraint.apart for i, j in ((a, b), (b, a))}
    )
    loops = [a for a, b in pairs if a == b]
    if loops:
        raise OracleError("rows that have to be together have to be apart as well")
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(ends[:, 0], np.arange(C + 1)).astype(np.int64)
    return Chunks(of, sums, table, np.bincount(of).astype(np.float64), first, ends[:, 1].copy())


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
