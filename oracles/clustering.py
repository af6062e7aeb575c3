"""Clustering oracle: a good partition of a set, by Hartigan moves from several starts.

The starts are K-means++, Ward's tree (cut at K or at its best level), the truth and labellings that
cut across it, and the rounded spectral relaxation. The worse ones are improved by a few sweeps
only. Nothing says that the best answer is the maximum: it is declared heuristic, and the value of
the relaxation bounds what it may have missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.cluster import kmeans_plusplus

from structsvm.errors import OracleError
from structsvm.oracles._starts import (
    Clusters,
    GroupedObjective,
    across,
    clusters_of,
    kmeans,
    numbered,
    ward,
    with_exactly,
)
from structsvm.oracles.spectral import SpectralOracle
from structsvm.parallel import single_threaded
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, TraceObjective
from structsvm.status import Quality
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_below
from structsvm.support.compiled import compiled, inner

WARD_BESIDE_KMEANS = 2_000
"""With K known, samples up to which Ward's tree (O(T^2)) is tried as well as K-means."""

HEAT = 5
"""Sweeps of Hartigan moves from every start, before the worse ones are left."""
FINALISTS = 3
"""Starts that go on. On digits, letter and movement_libras the answers lost no more than 0.0004 of
an objective of 2 on average, in half of the sweeps."""


@dataclass(frozen=True)
class ClusteringOracle(Oracle):
    """Maximises ``Tr(A M)`` over partitions of a set, approximately.

    Parameters
    ----------
    n_init : int
        Restarts of K-means++; loss-augmented inference has half as many random starts besides.
    max_sweeps : int
        Most sweeps of Hartigan moves from a start.
    relaxation : bool
        Also start from the rounded spectral relaxation, and return its value as ``upper_bound``;
        otherwise ``upper_bound`` is infinite.
    random_state : int
        Seed of K-means and of the order in which samples are visited.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import ClusteringOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> Z = np.array([[0.0], [9.0], [0.0], [9.0]])
    >>> answer = ClusteringOracle().ask(TraceObjective(Z), Constraint(n_clusters=2))
    >>> answer.y.labels.tolist(), answer.quality.name
    ([0, 1, 0, 1], 'HEURISTIC')
    """

    takes = frozenset({"n_clusters", "links"})

    n_init: int = 10
    max_sweeps: int = 50
    relaxation: bool = True
    random_state: int = 0

    def __post_init__(self) -> None:
        """Check once, at the door."""
        refuse_below(1, "n_init", self.n_init)
        refuse_below(0, "max_sweeps", self.max_sweeps)

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Look for a partition of large value; with K given, into K non-empty clusters."""
        return self.maximize_from(objective, (), constraint)

    def maximize_from(
        self,
        objective: TraceObjective,
        starts: Sequence[Ints],
        constraint: Constraint = UNCONSTRAINED,
    ) -> Argmax:
        """As :meth:`maximize`, also from other labels (T,), first merged or split into K."""
        objective, constraint = self.verified(objective, constraint)
        T = objective.n_samples
        K = constraint.n_clusters
        grouped = GroupedObjective.of(objective)
        order = np.random.default_rng(self.random_state).permutation(T)
        given = []
        for labels in starts:
            if np.shape(labels) != (T,):  # beyond which compiled code would write
                n = np.size(labels)
                raise OracleError(f"a start labels {n} samples, the objective has {T}")
            given.append(with_exactly(grouped.Z, numbered(labels), K))
        with single_threaded():
            bound, rounded = self._relaxed(objective, K)
            starts = (*rounded, *self._starts(objective, grouped, K), *given)
            best = self._race(grouped, starts, K is not None, order)
            if constraint.has_links:
                best = self._under_links(grouped, constraint, best)
                bound = np.inf
        y = EquivalenceMatrix.from_labels(best)
        value = objective.value(y)
        return Argmax(y, value, max(value, bound), Quality.HEURISTIC)

    def _under_links(self, objective: GroupedObjective, constraint: Constraint, free: Ints) -> Ints:
        """A clustering of large value that keeps samples together and apart, (T,)."""
        chunks = Chunks.from_links(objective, constraint)
        K = constraint.n_clusters
        if K is not None and len(chunks.sums) < K:
            raise OracleError(
                f"cannot make {K} clusters out of {len(chunks.sums)} groups of rows that have to "
                "be together"
            )
        rng = np.random.default_rng(self.random_state)
        found = []
        for wishes in _wishes(objective, chunks, K, free, self.n_init, rng):
            home = _placed(chunks, wishes, K, rng)
            if home is None:
                continue
            order = rng.permutation(home.size)
            for _ in range(self.max_sweeps):
                n = int(home.max()) + 1
                n_slots = n if K is not None else min(home.size, 2 * n + 16)
                moved = _sweep_chunks(chunks, objective.shift, home, n_slots, order, K is not None)
                home = numbered(home)
                if not moved:
                    break
            found.append(home[chunks.of])
        if not found:
            raise OracleError(
                f"found no clustering into {K} clusters that keeps {len(constraint.apart)} pairs "
                "of rows apart; the search is a heuristic: there may be one, and with more "
                "clusters there is"
            )
        return max(found, key=objective.value)

    def _race(
        self, objective: GroupedObjective, starts: Sequence[Ints], fixed: bool, order: Ints
    ) -> Ints:
        """The best partition that moves reach; after a few sweeps only the leaders go on."""
        few = min(HEAT, self.max_sweeps)
        heats = [improve(objective, start, fixed, order, few) for start in starts]
        leaders = sorted(heats, key=objective.value, reverse=True)[:FINALISTS]
        rest = self.max_sweeps - few
        return max(
            (improve(objective, labels, fixed, order, rest) for labels in leaders),
            key=objective.value,
        )

    def _starts(
        self, objective: TraceObjective, grouped: GroupedObjective, K: int | None
    ) -> Iterator[Ints]:
        """Return the partitions (T,) that data and truth suggest, from which the search starts."""
        points = grouped.Z
        if K is not None:
            yield kmeans(points, K, self.n_init, self.random_state)
        if K is None or len(points) <= WARD_BESIDE_KMEANS:
            yield ward(grouped, K, self.random_state)
        if objective.has_truth and objective.truth is not None:
            k = objective.truth.n_clusters if K is None else K
            yield across(grouped.truth, k)
            yield with_exactly(points, grouped.truth, K)
            rng = np.random.default_rng(self.random_state)
            for _ in range((self.n_init + 1) // 2):
                yield rng.permutation(np.arange(len(points)) % k)

    def _relaxed(self, objective: TraceObjective, K: int | None) -> tuple[float, tuple[Ints, ...]]:
        """The value of the spectral relaxation, and its solution rounded by K-means."""
        if not self.relaxation:
            return np.inf, ()
        M, bound, basis = SpectralOracle().relaxed(objective, K)
        directions = basis.lift(M.V[:, 1:])
        K = K or min(M.n_clusters, M.V.shape[1])
        return bound, (kmeans(directions, K, 1, self.random_state),)


# ---- Hartigan moves: a partition improved one sample at a time, under any trace objective
#
# A cluster S contributes h(S) / |S| + d to Tr(A M), where
#
#     h(S) = |sum_{t in S} z_t|^2 - c sum_k |S n P_k|^2 / |P_k|,
#
# P_k the true clusters, and a move changes h of two clusters by inner products in O(r) (Hartigan
# 1975; Telgarsky and Vattani 2010). With K known every cluster keeps a sample; otherwise a sample
# may open a cluster of its own and the last one of a cluster may leave it.

MOST_WORK = 4e9
"""Products after which no further sweep begins: reached when clusters cost nothing and there are
nearly as many of them as samples."""
UNROLLED = 4
"""Features that are multiplied in one pass over the clusters."""


class _Slots(NamedTuple):
    """The same in columns, so that all clusters are judged at once."""

    sums: Floats
    """(r, K), with rows of zeros at the end."""
    table: Floats
    """(K_i, K)."""
    sizes: Floats
    h: Floats
    share: Floats
    """``1 / (size + 1)``, (K,)."""
    worth: Floats
    """``h / size``; ``-d`` for an empty slot, what opening it brings, (K,)."""


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
    """Visit every sample once; how many moved. ``labels`` change in place, the first slots used."""
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
    """Put a sample into a cluster, or take it out of it, whose ``h`` is right already."""
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


# ---- moves under links: of whole chunks, none of them into a forbidden cluster
#
# Rows that have to be together are one *chunk* and move as one; a chunk does not move into a
# cluster that holds one it has to be apart from. Starts are the clustering without links, each
# chunk where most of its rows are, and K-means++ seeds with the other chunks put, the most
# restricted first, into the nearest cluster that takes them (as in COP-KMeans; Wagstaff et al.,
# 2001). To decide whether there is any such clustering is to colour a graph: this is a heuristic in
# that too.


class Chunks(NamedTuple):
    """Samples that are linked, as chunks, and which chunks have to be apart."""

    of: Ints
    """Chunk of each row, (T,)."""
    sums: Floats
    """Sum of the rows of each, how many it has of each true cluster, and of all, (C, r + K_i + 1).

    The sum of a cluster's chunks is scored by ``sum_j weights[j] sums[j]^2 / sums[-1]``.
    """
    weights: Floats
    """1 for each column, and minus the prices of the true clusters, (r + K_i,)."""
    first: Ints
    """``apart[first[c]:first[c + 1]]`` have to be apart from c, (C + 1,)."""
    apart: Ints

    @classmethod
    def from_links(cls, objective: GroupedObjective, constraint: Constraint) -> Chunks:
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
        pairs = {(int(of[i]), int(of[j])) for a, b in constraint.apart for i, j in ((a, b), (b, a))}
        if any(a == b for a, b in pairs):
            raise OracleError("rows that have to be together have to be apart as well")
        ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(ends[:, 0], np.arange(len(sums) + 1)).astype(np.int64)
        weights = np.concatenate((np.ones(r), -objective.truth_price))
        return cls(of, sums, weights, first, ends[:, 1].copy())


def _wishes(
    objective: GroupedObjective,
    chunks: Chunks,
    K: int | None,
    free: Ints,
    n_init: int,
    rng: np.random.Generator,
) -> Iterator[Ints]:
    """For each start the clusters in the order in which each chunk would join them, (C, k)."""
    C = len(chunks.sums)
    sizes = chunks.sums[:, -1]
    votes = np.zeros((C, int(free.max()) + 1))
    np.add.at(votes, (chunks.of, free), 1.0)
    yield np.argsort(-votes, axis=1, kind="stable")
    points = chunks.sums[:, : objective.Z.shape[1]] / sizes[:, None]
    n_seeds = min(votes.shape[1], C) if K is None else K
    for _ in range(n_init):
        seed = int(rng.integers(2**31))
        # With a column more, because there are none in the null metric.
        wide = np.pad(points, ((0, 0), (0, 1)))
        _, chosen = kmeans_plusplus(wide, n_seeds, sample_weight=sizes, random_state=seed)
        centres = points[chosen]
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        yield np.argsort(distance, axis=1, kind="stable")


def _placed(c: Chunks, wishes: Ints, K: int | None, rng: np.random.Generator) -> Ints | None:
    """Every chunk in the first cluster that takes it, the most restricted first; None if stuck."""
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
    # Chunks on their own until there are K clusters; more cannot have come about.
    for new in range(int(home.max()) + 1, K or 0):
        crowded = np.flatnonzero(np.bincount(home)[home] > 1)
        home[crowded[0]] = new
    return home


@inner()
def _worth(weights: Floats, total: Floats, shift: float) -> float:
    """The score of a cluster by the sum of its chunks; 0 for one that has none."""
    if total[-1] == 0.0:
        return 0.0
    h = 0.0
    for j in range(weights.size):
        h += weights[j] * total[j] * total[j]
    return float(h / total[-1] + shift)


@compiled()
def _sweep_chunks(
    c: Chunks, shift: float, home: Ints, n_slots: int, order: Ints, fixed: bool
) -> int:
    """Visit every chunk once; ``home`` changes in place. How many moved."""
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
        rest = _worth(c.weights, sums[a] - own, shift)
        best, gain, there = a, tiny, 0.0
        seen_empty = fixed
        for b in range(n_slots):
            empty = sums[b, -1] == 0.0
            if blocked[b] or (empty and seen_empty):
                continue
            seen_empty = seen_empty or empty
            joined = _worth(c.weights, sums[b] + own, shift)
            if rest + joined - worth[a] - worth[b] > gain:
                best = b
                gain = rest + joined - worth[a] - worth[b]
                there = joined
        if best != a:
            sums[a] -= own
            sums[best] += own
            worth[a], worth[best], home[x] = rest, there, best
            moves += 1
    return moves
