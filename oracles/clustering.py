"""Clustering oracle: a good partition of a set, by Hartigan moves from several starts.

The starts are K-means++, Ward's tree (cut at K or at its best level), the truth and labellings that
cut across it, and the rounded spectral relaxation. The worse ones are improved by a few sweeps
only. The best answer need not be the maximum: it is declared heuristic, and the value of the
relaxation is its upper bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._chunks import Chunks, place_chunks, sweep_chunks, wished_clusters
from structsvm.oracles._moves import improve
from structsvm.oracles._starts import GroupedObjective, across, kmeans, numbered, ward, with_exactly
from structsvm.oracles.spectral import SpectralOracle
from structsvm.parallel import single_threaded
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    TraceObjective,
)
from structsvm.problem import Quality
from structsvm.support import Ints, refuse_below

WARD_BESIDE_KMEANS = 2_000
"""With K known, samples up to which Ward's tree (O(T^2)) is tried as well as K-means."""
HEAT = 5  # sweeps of Hartigan moves from every start, before the worse ones are given up
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
        first_labels = []
        for labels in starts:
            if np.shape(labels) != (T,):  # compiled code would write beyond the arrays
                n = np.size(labels)
                raise OracleError(f"a start labels {n} samples, the objective has {T}")
            first_labels.append(with_exactly(grouped.Z, numbered(labels), K))
        with single_threaded():
            bound, rounded = self._relaxed(objective, K)
            starts = (*rounded, *self._starts(objective, grouped, K), *first_labels)
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
        candidates = []
        for wishes in wished_clusters(objective, chunks, K, free, self.n_init, rng):
            home = place_chunks(chunks, wishes, K, rng)
            if home is None:
                continue
            order = rng.permutation(home.size)
            for _ in range(self.max_sweeps):
                n = int(home.max()) + 1
                n_slots = n if K is not None else min(home.size, 2 * n + 16)
                moved = sweep_chunks(chunks, objective.shift, home, n_slots, order, K is not None)
                home = numbered(home)
                if not moved:
                    break
            candidates.append(home[chunks.of])
        if not candidates:
            raise OracleError(
                f"found no clustering into {K} clusters that keeps {len(constraint.apart)} pairs "
                "of rows apart; the search is a heuristic: there may be one, and with more "
                "clusters there is"
            )
        return max(candidates, key=objective.value)

    def _race(
        self, objective: GroupedObjective, starts: Sequence[Ints], fixed: bool, order: Ints
    ) -> Ints:
        """The best partition that moves reach; after a few sweeps only the best starts go on."""
        few = min(HEAT, self.max_sweeps)
        heats = [improve(objective, start, fixed, order, few) for start in starts]
        leaders = sorted(heats, key=objective.value, reverse=True)[:FINALISTS]
        more = self.max_sweeps - few
        return max(
            (improve(objective, labels, fixed, order, more) for labels in leaders),
            key=objective.value,
        )

    def _starts(
        self, objective: TraceObjective, grouped: GroupedObjective, K: int | None
    ) -> Iterator[Ints]:
        """Labels (T,) of partitions that data and truth suggest, from which the search starts."""
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
