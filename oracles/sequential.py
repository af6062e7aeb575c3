"""Change-point oracle: the best segmentation, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from structsvm.data.missing import means
from structsvm.errors import OracleError
from structsvm.oracles._segments.searches import (
    Graph,
    backtrack,
    best_of_every,
    best_of_every_length,
    loss_curve,
    price_path,
    segment,
    segment_each,
    tree_scan,
)
from structsvm.oracles._segments.table import (
    NO_TRUTH,
    NOTHING,
    OVERHEAD,
    SegmentTable,
    build_table,
    path_value,
    truth_of,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Region,
    TraceObjective,
)
from structsvm.status import Quality
from structsvm.support.arrays import Bools, Floats, Ints, Stack
from structsvm.support.checks import is_whole, read_only
from structsvm.support.contract import overrides

ONE_CALL = 2e9
"""Operations of a search that is one compiled call: less than a second, in the worst case."""
SHORT = 1024
"""Samples up to which the scores of all segments are written down for a path of prices."""


@dataclass(frozen=True)
class SequentialOracle(Oracle):
    """Maximises ``Tr(A M)`` over segmentations, with K known or left to the objective.

    The answer is the maximum over all segmentations that the constraint allows. Equal objectives
    give equal answers on every call, ties included.

    Parameters
    ----------
    pruning : bool
        Leave out the segments that bounds prove useless: near-linear time in practice.
        False looks at every segment.

    Notes
    -----
    Time O(T^2 r), K unknown, or O(T^2 (r + K)), K known, before pruning; memory O(T r), and a band
    of K (T - K) numbers for K known. See ``docs/oracles.md`` for the algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import Constraint, TraceObjective
    >>> Z = np.array([[0.0], [0.0], [9.0], [9.0], [5.0]])
    >>> SequentialOracle().ask(TraceObjective(Z, shift=-1.0)).y.breakpoints
    [2, 4, 5]
    >>> SequentialOracle().ask(TraceObjective(Z), Constraint(n_clusters=2)).y.breakpoints
    [2, 5]
    """

    takes = frozenset({"n_clusters", "boundaries", "regions"})

    pruning: bool = True

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise over the segmentations that ``constraint`` allows."""
        objective = _without_null_columns(objective)
        if not (constraint.says_nothing and self._is_one_call(objective)):
            return self._maximize_alone(objective, constraint)
        found = segment(_samples(objective), *truth_of(objective), float(objective.shift))
        y = EquivalenceMatrix.from_boundaries(found.path)
        value = found.score + objective.shift * y.n_clusters + found.constant
        rounding = rounding_of(objective, value, scatter=found.scatter)
        return Argmax(y, value, value + rounding, Quality.EXACT)

    def maximize_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """One compiled call for all recordings of which each would be one."""
        if price == 0.0 or not self.pruning or overrides(type(self), "maximize", SequentialOracle):
            return super().maximize_each(Zs, price)
        sizes = np.diff(Zs.first)
        together = sizes * sizes * float(Zs.rows.shape[1] + OVERHEAD) <= ONE_CALL
        # A column that is zero throughout, and left out, is zero at the first sample.
        together &= Zs.rows[Zs.first[:-1]].all(axis=1)
        which = np.flatnonzero(together)
        found = dict(zip(which.tolist(), _segment_each(Zs, which, price), strict=True))
        for i in np.flatnonzero(~together).tolist():
            found[i] = self.maximize(TraceObjective(Zs.array(i), shift=-price))
        return [found[i] for i in range(len(Zs))]

    def _maximize_alone(self, objective: TraceObjective, constraint: Constraint) -> Argmax:
        T = objective.n_samples
        K = constraint.n_clusters
        boundaries = Boundaries.of(constraint, T)
        required = boundaries.required.size - 1
        path = None
        if K is None or boundaries.counted or required <= K < boundaries.knots.size:
            path = _evident_path(objective, boundaries, K)
            if path is None:
                path = best_path(objective, boundaries, K, pruning=self.pruning)
        if path is None:
            into = "" if K is None else f" into {K} segments"
            other = "" if K is None else ": ask for another number"
            raise OracleError(
                f"no segmentation{into} has its changes where they are known to be{other}"
            )
        y = EquivalenceMatrix.from_boundaries(path)
        value = objective.value(y)
        return Argmax(y, value, value + rounding_of(objective, value), Quality.EXACT)

    def price_path(self, Z: Floats, prices: Floats) -> list[EquivalenceMatrix]:
        """The best segmentation of a recording (T, r) in the metric at every price of a segment.

        Parameters
        ----------
        prices : array of shape (n,)
            Positive and increasing.

        Examples
        --------
        >>> import numpy as np
        >>> from structsvm.oracles import SequentialOracle
        >>> Z = np.array([[0.0], [0.0], [9.0], [9.0], [5.0]])
        >>> path = SequentialOracle().price_path(Z, np.array([1.0, 20.0, 200.0]))
        >>> [M.breakpoints for M in path]
        [[2, 4, 5], [2, 5], [5]]
        """
        if self._asks_each_price(Z):
            return super().price_path(Z, prices)
        objective = _without_null_columns(TraceObjective(Z))
        known: dict[bytes, EquivalenceMatrix] = {}
        for path in (paths := price_path(_samples(objective), prices)):
            if path.tobytes() not in known:
                known[path.tobytes()] = EquivalenceMatrix.from_boundaries(path)
        return [known[path.tobytes()] for path in paths]

    def count_path(self, Z: Floats, most: int) -> list[EquivalenceMatrix]:
        """The best segmentation of a recording (T, r) in the metric into 1, 2, ..., ``most`` parts.

        One dynamic program finds all of them, in O(T^2 (r + most)) operations and
        ``8 T (most + 1)`` bytes. Each is what the oracle answers if it is given that number alone.

        Raises
        ------
        OracleError
            If there are fewer than ``most`` samples, or ``most`` is below 1.

        Examples
        --------
        >>> import numpy as np
        >>> from structsvm.oracles import SequentialOracle
        >>> Z = np.array([[0.0], [0.0], [9.0], [9.0], [5.0]])
        >>> [M.breakpoints for M in SequentialOracle().count_path(Z, 3)]
        [[5], [2, 5], [2, 4, 5]]
        """
        objective = _without_null_columns(TraceObjective(Z))
        T = objective.n_samples
        if not (is_whole(most) and 1 <= most <= T):
            raise OracleError(f"{T} samples have segmentations into 1 to {T} parts, not {most!r}")
        search = SegmentSearch(objective, Boundaries.of(UNCONSTRAINED, T))
        paths = best_of_every_length(search.graph, most)
        return [EquivalenceMatrix.from_boundaries(path) for path in paths]

    def loss_curve(self, Z: Floats, truth: EquivalenceMatrix, prices: Floats) -> Floats:
        if self._asks_each_price(Z) or not truth.is_contiguous:
            return super().loss_curve(Z, truth, prices)
        samples = _samples(_without_null_columns(TraceObjective(Z)))
        return loss_curve(samples, truth.boundaries, prices)

    def _asks_each_price(self, Z: Floats) -> bool:
        """Whether a recording is long, or a subclass searches otherwise."""
        return len(Z) > SHORT or overrides(type(self), "maximize", SequentialOracle)

    def _is_one_call(self, objective: TraceObjective) -> bool:
        """Whether the search is one compiled call, in which not every boundary pays."""
        (T, r) = objective.Z.shape
        shift = objective.shift
        if not self.pruning or (r == 0 and shift > 0.0):
            return False
        return splitting_price(objective, shift) > 0.0 and T * T * (r + OVERHEAD) <= ONE_CALL


def _evident_path(objective: TraceObjective, boundaries: Boundaries, K: int | None) -> Ints | None:
    """The best segmentation where it needs no search; None where it does.

    Splitting a segment adds a unit vector ``v`` to the range of ``M`` and ``v^T A v`` to the value.
    That is at least ``d - c``: if ``d >= c``, every boundary pays. In the null
    metric it is at most ``d``: if ``d <= 0``, no boundary pays; without a truth it is ``d``, so
    that for known K every segmentation is as good as the one with the leftmost boundaries.
    """
    if boundaries.counted:
        return None
    everything = boundaries.knots
    required = boundaries.knots[boundaries.required]
    null = objective.Z.shape[1] == 0
    if boundaries.somewhere:
        required, null = everything, False  # no boundary less will always do
    if K is not None:
        if null and not objective.has_truth:
            optional = np.setdiff1d(everything, required)
            return np.union1d(required, optional[: K + 1 - required.size])
        return {required.size - 1: required, everything.size - 1: everything}.get(K)
    if null and objective.shift <= 0.0:
        return required
    if splitting_price(objective, objective.shift) <= 0.0:
        return everything
    if null and everything.size == objective.n_samples + 1 and _singletons_pay(objective):
        return everything
    return None


def _segment_each(Zs: Stack, which: Ints, price: float) -> Iterator[Argmax]:
    """The answers for some recordings, of which nothing is known."""
    rows = read_only(np.ascontiguousarray(Zs.rows, dtype=np.float64))
    boundaries, sizes, numbers = segment_each(rows, Zs.first, which, NO_TRUTH, -price)
    boundaries = read_only(boundaries)
    lengths = np.diff(Zs.first)[which]
    columns = lengths.tolist(), sizes.tolist(), *numbers.tolist()
    end = 0
    for T, size, score, constant, scatter in zip(*columns, strict=True):
        start = end
        end += size
        y = EquivalenceMatrix(boundaries[start:end], "boundaries")
        value = score - price * (size - 1) + constant
        yield Argmax(y, value, value + rounding_at(T, scatter, price, value), Quality.EXACT)


def _singletons_pay(objective: TraceObjective) -> bool:
    """Whether in the null metric no segment of two or more samples is worth its singletons.

    Say that a segment of ``n`` samples takes ``a_k`` of the ``|P_k|`` samples of each true segment.
    Its singletons earn ``(n - 1) d`` more and overlap the truth more by
    ``sum_k (a_k / |P_k|) (1 - a_k / n) <= (n - 1) / min_k |P_k|``, because ``sum_k a_k^2 >= n``.
    """
    smallest = 1 if objective.truth is None else int(objective.truth.sizes.min())
    return objective.shift * smallest >= objective.truth_weight


def _without_null_columns(objective: TraceObjective) -> TraceObjective:
    """The same objective without the columns of ``Z`` that are zero: a null metric has r = 0."""
    if 0.0 not in objective.Z[0].tolist():  # numpy takes longer to say so of a few numbers
        return objective
    used = objective.Z.any(axis=0)
    if used.all():
        return objective
    return replace(objective, Z=objective.Z[:, used])


def _samples(objective: TraceObjective) -> Floats:
    """``Z`` in the one form that kernels are compiled for."""
    Z = objective.Z  # a read-only view
    if type(Z) is np.ndarray and Z.flags.c_contiguous and Z.dtype == np.float64:
        return Z
    return read_only(np.ascontiguousarray(Z, dtype=np.float64))


ROUNDING = 1e-10
"""Differences below this fraction of the objective's size are rounding."""
ERROR = 2.0**-51
"""Of the prefix sums, for each unit of scatter; measured at 2^-53 or less in
``tests/solvers/test_exact_arithmetic.py``."""
NEGLIGIBLE = 1e-10
"""What rounding may be of the price of a segment, or of the noise, before the answer says so."""


def best_path(
    objective: TraceObjective,
    boundaries: Boundaries,
    K: int | None,
    allowed: Allowed | None = None,
    pruning: bool = True,
) -> Ints | None:
    """The boundaries of the best segmentation, from 0 to T, into K if given; None for none."""
    search = SegmentSearch(objective, boundaries, allowed)
    limited = allowed is not None or boundaries.counted or boundaries.somewhere
    path: Ints | None
    if pruning and K is None and (allowed is None or allowed.move_on):
        F, path = search.at_price(objective.shift)
        path = path if np.isfinite(F[-1]) else None
    elif pruning and K is not None and not limited:
        path = _path_of_known_length(search, K)
    else:
        path = best_of_every(search.graph, K)
    return None if path is None else boundaries.knots[search.nodes.knot[path]]


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """The searches of one recording, which share the scores of its segments; paths are of nodes."""

    objective: TraceObjective
    boundaries: Boundaries
    rule: Allowed | None = None

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes.of(self.boundaries, self.rule)

    @cached_property
    def table(self) -> SegmentTable:
        return build_table(self.objective, self.boundaries.knots, self.nodes.knot)

    @property
    def graph(self) -> Graph:
        listed = () if self.rule is None else (self.rule.firsts, self.rule.starts)
        return Graph(self.table, self.nodes.earliest, self.nodes.latest, *listed)

    def value(self, path: Ints) -> float:
        """The sum of the segment scores of a path, without shift and constant."""
        return float(path_value(self.table, path))

    def at_price(self, shift: float) -> tuple[Floats, Ints]:
        """Best value up to each node and the best path when each segment earns ``shift``."""
        table = self.table._replace(shift=float(shift))
        nodes = self.nodes
        kappa = splitting_price(self.objective, shift)
        F, previous = tree_scan(table, nodes.earliest, nodes.latest, kappa)
        return F, backtrack(previous)

    def among(self, chosen: Ints, K: int) -> Ints:
        """The best path of K segments with boundaries on these knots."""
        few = SegmentSearch(self.objective, self.boundaries.among(chosen))
        path = best_of_every(few.graph, K)
        assert path is not None
        return chosen[path]

    def reversed(self) -> SegmentSearch:
        objective = self.objective
        T = self.objective.n_samples
        truth = None
        if objective.truth is not None and objective.has_truth:
            ends = T - objective.truth.boundaries[::-1][1:]
            truth = EquivalenceMatrix.from_breakpoints(ends)
        backwards = replace(objective, Z=objective.Z[::-1], truth=truth)
        return SegmentSearch(backwards, self.boundaries.reversed())


def splitting_price(objective: TraceObjective, shift: float) -> float:
    """``kappa = c - d``: splitting a segment costs at most this."""
    return (objective.truth_weight if objective.has_truth else 0.0) - shift


def _path_of_known_length(search: SegmentSearch, K: int) -> Ints:
    """The best path of K segments, which the constraint leaves room for."""
    boundaries = search.boundaries
    below = boundaries.required
    above = np.arange(boundaries.knots.size, dtype=np.int64)
    while True:
        K1 = below.size - 1
        K2 = above.size - 1
        V1 = search.value(below)
        V2 = search.value(above)
        price = (V2 - V1) / (K2 - K1)
        _, path = search.at_price(-price)
        n = path.size - 1
        if n == K:
            return path
        gain = search.value(path) - price * n - (V1 - price * K1)
        if not K1 < n < K2 or gain <= ROUNDING * max(1.0, abs(V1), abs(V2)):
            return _close_gap(search, K, price, below, above)
        below, above = (path, above) if n < K else (below, path)


def _close_gap(search: SegmentSearch, K: int, price: float, below: Ints, above: Ints) -> Ints:
    """The best path of K segments, known to lie under the side of the hull with slope ``price``."""
    guess = search.among(np.union1d(below, above), K)
    through = search.at_price(-price)[0] + search.reversed().at_price(-price)[0][::-1]
    enough = search.value(guess) - price * K
    enough -= ROUNDING * max(1.0, abs(enough), abs(price) * K)
    useful = through >= enough
    useful[search.boundaries.required] = True
    useful[guess] = True
    return search.among(np.flatnonzero(useful), K)


def rounding_of(
    objective: TraceObjective,
    value: float,
    negligible: float = NEGLIGIBLE,
    scatter: float | None = None,
) -> float:
    """By how much rounding may make a segmentation look better than the best one."""
    Z = objective.Z
    T = objective.n_samples
    if scatter is None:
        away = np.nan_to_num(Z - means(Z), copy=False) if objective.gaps else Z - Z.mean(axis=0)
        scatter = float(np.vdot(away, away))
    price = abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    if price == 0.0 and T > 1:
        price = float(np.median(np.nansum(np.square(np.diff(Z, axis=0)), axis=1)))
    return rounding_at(T, scatter, price, value, negligible)


def rounding_at(
    T: int, scatter: float, price: float, value: float, negligible: float = NEGLIGIBLE
) -> float:
    """The same of T samples with this scatter, where a segment more costs ``price``."""
    rounding = ERROR * math.sqrt(T) * scatter
    if price == 0.0 or rounding <= negligible * price:
        return 0.0
    return rounding + float(np.spacing(abs(value)))


# ---- where boundaries may lie, as a graph: its nodes, and those that a segment may begin at
#
# A region (a, b) with exactly k changes is k *layers* of nodes: the c-th holds its knots, each
# standing for "the c-th change of this region is here". The knots between regions are nodes once.
# Layer after layer, every node follows on a window of nodes that lie side by side, whose positions
# increase and whose ends never decrease, so that the tree of starts searches this graph, too. "At
# least one change" forbids the segments that hold the region, by a lower end of the window.


@dataclass(frozen=True, eq=False)
class Boundaries:
    """What a constraint says: where boundaries may lie, where they must, and how many of them."""

    knots: Ints
    """Positions where a boundary may lie, from 0 to T, (m + 1,)."""
    required: Ints
    """Indices of the knots where one must lie, from 0 to m."""
    somewhere: tuple[tuple[int, int], ...] = ()
    """``(a, b)``: at least one boundary in ``a, ..., b - 1``."""
    counted: tuple[Region, ...] = ()
    """Disjoint regions, in order, with exactly so many boundaries, at least 1."""

    @classmethod
    def of(cls, constraint: Constraint, n_samples: int) -> Boundaries:
        allowed, forced = constraint.boundary_masks(n_samples)
        counted: list[Region] = []
        for region in sorted(set(constraint.regions), key=lambda r: r.end - r.first):
            if not region.or_more and _must_be_counted(region, counted, allowed):
                counted.append(region)
        loose = [r for r in constraint.regions if r.or_more and r.changes > 0]
        for region in (*loose, *counted):
            if not allowed[region.first : region.end].any():
                raise OracleError(f"{region}: every place where it could be is ruled out")
        clash = np.flatnonzero(forced & ~allowed)
        if clash.size:
            raise OracleError(f"boundary {clash[0]} is both forced and inside a region without")
        forced[0] = forced[n_samples] = True
        knots = np.flatnonzero(allowed).astype(np.int64)
        return cls(
            knots=knots,
            required=np.flatnonzero(forced[knots]).astype(np.int64),
            somewhere=tuple((r.first, r.end) for r in loose),
            counted=tuple(sorted(counted, key=lambda r: r.first)),
        )

    def earliest(self) -> Ints:
        """The first position where a segment that ends at each knot may begin, (m + 1,)."""
        last = np.repeat(self.required[:-1], np.diff(self.required))
        earliest = self.knots[np.concatenate(([0], last)).astype(np.int64)]
        for a, b in self.somewhere:
            later = self.knots >= b
            earliest[later] = np.maximum(earliest[later], a)
        return earliest

    def reversed(self) -> Boundaries:
        """The same of the recording backwards; without counted regions."""
        T = int(self.knots[-1])
        somewhere = tuple((T - b + 1, T - a + 1) for a, b in self.somewhere)
        required = self.knots.size - 1 - self.required[::-1]
        return Boundaries(T - self.knots[::-1], required, somewhere)

    def among(self, chosen: Ints) -> Boundaries:
        required = np.searchsorted(chosen, self.required)
        return replace(self, knots=self.knots[chosen], required=required)


def _must_be_counted(region: Region, counted: list[Region], allowed: Bools) -> bool:
    """Whether a region is no consequence of others; what it leaves no room for is ruled out."""
    places = np.arange(region.first, region.end)
    if region.changes == 0:
        allowed[places] = False
        return False
    inner = [r for r in counted if max(r.first, region.first) < min(r.end, region.end)]
    if not inner:
        return True
    nested = all(region.first <= r.first and r.end <= region.end for r in inner)
    if not nested or sum(r.changes for r in inner) != region.changes:
        raise OracleError(
            f"{region} overlaps {inner[0]}, and both count exactly: cut them so that they do not"
        )
    for r in inner:
        places = places[(places < r.first) | (places >= r.end)]
    allowed[places] = False
    return False


class Allowed(NamedTuple):
    """The segments of T samples that a rule allows, by their end ``t = 0, ..., T``."""

    low: Ints
    """The first start that goes with each end, (T + 1,)."""
    high: Ints
    """The last one; below ``low`` where there is none."""
    move_on: bool = True
    """Whether all from ``low`` to ``high`` go with each end, and neither decreases from one end
    that has any to the next."""
    firsts: Ints = NOTHING
    """``starts[firsts[t]:firsts[t + 1]]`` go with ``t``, increasing; (T + 2,)."""
    starts: Ints = NOTHING
    """Empty where all starts from ``low`` to ``high`` are allowed for every end."""


class Nodes(NamedTuple):
    """The graph of the segmentations with so many boundaries in each of the counted regions."""

    knot: Ints
    """Which knot each node stands for; the first is 0 and the last m, (n,)."""
    earliest: Ints
    """The first node that a segment that ends at each may begin at, ..."""
    latest: Ints
    """... and the last one, before ``earliest`` where there is none."""

    @classmethod
    def of(cls, boundaries: Boundaries, allowed: Allowed | None) -> Nodes:
        knots = boundaries.knots
        low = boundaries.earliest()
        high = knots - 1
        if allowed is None and not boundaries.counted:
            return cls(each := np.arange(knots.size), np.searchsorted(knots, low), each - 1)
        if allowed is not None:
            low = np.maximum(low, allowed.low[knots])
            high = np.minimum(high, allowed.high[knots])
        parts: list[tuple[Ints, Ints, Ints]] = []

        def add(part: Ints, first: int, window: Ints) -> None:
            """Let these knots follow on the window, which begins at the node ``first``."""
            earliest = first + np.searchsorted(knots[window], low[part])
            latest = first + np.searchsorted(knots[window], high[part], side="right") - 1
            parts.append((part, earliest, latest))

        n = 0
        at = 0
        first = 0
        layer = np.arange(0)
        end = int(knots[-1]) + 1
        spans = [(r.first, r.end, r.changes) for r in boundaries.counted]
        for begin, stop, changes in [*spans, (end, end, 0)]:
            a, b = np.searchsorted(knots, (begin, stop)).tolist()
            outside = np.arange(at, a)
            window = np.concatenate((layer, outside))
            add(outside, first, window)
            n = n + outside.size
            at = b
            layer = np.arange(a, b)
            for _ in range(changes):
                add(layer, first, window)
                first = n
                window = layer
                n = n + layer.size
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))
