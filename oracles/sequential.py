"""Change-point oracle: the best segmentation, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from structsvm.errors import OracleError
from structsvm.oracles._segments.best_path import (
    SegmentSearch,
    best_path,
    rounding_at,
    rounding_of,
    splitting_price,
)
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.every_price import loss_curve, price_path
from structsvm.oracles._segments.every_segment import best_of_every_length
from structsvm.oracles._segments.one_call import segment, segment_each
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.oracles._segments.table import SCORE_OVERHEAD, truth_of
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    TraceObjective,
)
from structsvm.problem import Quality
from structsvm.support import Floats, Ints, Stack, is_whole, overrides, read_only

ONE_CALL = 2e9
"""Most operations of a search that is one compiled call: less than a second, in the worst case."""
ROUNDING_MATTERS = 1e-3
"""Part of a price above which rounding of prefix sums is avoided by the online search. A value of
1e9 makes it some prices; of a million ordinary samples it is 1e-6 of one, and the online search
took 3 to 19 times as long for the same segments there."""
MOST_RUNNING = 4096
"""Candidates that the online search compares at a time, at most."""
SHORT_ENOUGH = 2048
"""Samples up to which the scores of all segments are stored for a path of prices: 34 MB. At 1,400
samples it takes a ninth to a half of the time of a search for each price, at 3,000 more."""


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
        answer = self._maximize(objective, constraint)
        is_free = constraint.says_nothing and self.pruning and not objective.gaps
        if is_free and not objective.has_truth and _is_doubtful(answer, -objective.shift):
            return _as_samples_come(_samples(objective), -objective.shift, answer)
        return answer

    def _maximize(self, objective: TraceObjective, constraint: Constraint) -> Argmax:
        if not (constraint.says_nothing and self._is_one_call(objective)):
            return self._maximize_alone(objective, constraint)
        segmentation = segment(_samples(objective), *truth_of(objective), float(objective.shift))
        y = EquivalenceMatrix.from_boundaries(segmentation.path)
        value = segmentation.score + objective.shift * y.n_clusters + segmentation.constant
        rounding = rounding_of(objective, value, scatter=segmentation.scatter)
        return Argmax(y, value, value + rounding, Quality.EXACT)

    def maximize_each(self, Zs: Stack, price: float) -> list[Argmax]:
        """One compiled call for all recordings that are short enough for :func:`segment`."""
        if price == 0.0 or not self.pruning or overrides(type(self), "maximize", SequentialOracle):
            return super().maximize_each(Zs, price)
        together = Zs.sizes * Zs.sizes * float(Zs.rows.shape[1] + SCORE_OVERHEAD) <= ONE_CALL
        # A column of zeros would have to be left out, and shows in the first sample.
        together &= Zs.rows[Zs.first[:-1]].all(axis=1)
        which = np.flatnonzero(together)
        answers = zip(which.tolist(), _segment_each(Zs, which, price), strict=True)
        by_number = {i: answer for i, answer in answers if not _is_doubtful(answer, price)}
        for i in range(len(Zs)):
            if i not in by_number:
                by_number[i] = self.maximize(TraceObjective(Zs.array(i), shift=-price))
        return [by_number[i] for i in range(len(Zs))]

    def losses_with(
        self, objective: TraceObjective, places: Ints, constraint: Constraint = UNCONSTRAINED
    ) -> Floats:
        """One search from the start and one from the end, unless changes are counted."""
        boundaries = Boundaries.of(constraint, objective.n_samples)
        counted = boundaries.counted or boundaries.somewhere or constraint.n_clusters is not None
        if counted or not self.pruning or overrides(type(self), "maximize", SequentialOracle):
            return super().losses_with(objective, places, constraint)
        search = SegmentSearch(_without_null_columns(objective), boundaries)
        before, _ = search.at_price(objective.shift)
        after, _ = search.reversed().at_price(objective.shift)
        losses = np.full(objective.n_samples + 1, np.inf)
        losses[boundaries.knots] = np.maximum(before[-1] - (before + after[::-1]), 0.0)
        return losses[places]

    def online(self, n_columns: int, price: float, max_candidates: int) -> OnlineSearch:
        return OnlineSearch.of_changes(n_columns, price, max_candidates)

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
        by_ends: dict[bytes, EquivalenceMatrix] = {}
        for path in (paths := price_path(_samples(objective), prices)):
            if path.tobytes() not in by_ends:
                by_ends[path.tobytes()] = EquivalenceMatrix.from_boundaries(path)
        return [by_ends[path.tobytes()] for path in paths]

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
        return len(Z) > SHORT_ENOUGH or overrides(type(self), "maximize", SequentialOracle)

    def _is_one_call(self, objective: TraceObjective) -> bool:
        """Whether the search is one compiled call, in which not every boundary pays."""
        (T, r) = objective.Z.shape
        shift = objective.shift
        if not self.pruning or (r == 0 and shift > 0.0):
            return False
        return splitting_price(objective, shift) > 0.0 and T * T * (r + SCORE_OVERHEAD) <= ONE_CALL


def _is_doubtful(answer: Argmax, price: float) -> bool:
    """Whether rounding of prefix sums may have hidden more than a small part of the price."""
    return price > 0.0 and answer.upper_bound - answer.value > ROUNDING_MATTERS * price


def _as_samples_come(Z: Floats, price: float, answer: Argmax) -> Argmax:
    """The answer of the online search, whose means of segments keep their digits beside a jump.

    Its value is a difference of large sums and stays as uncertain as that of ``answer``.
    """
    search = OnlineSearch.of_changes(Z.shape[1], price, min(len(Z) + 1, MOST_RUNNING))
    search.push(np.array(Z))
    search.end()
    if search.n_thinned:
        return answer
    ends = [*(start for start, _ in search.segments()), len(Z)]
    y = EquivalenceMatrix.from_boundaries(np.array(ends))
    value = TraceObjective(Z, shift=-price).value(y)
    return replace(answer, y=y, value=value, upper_bound=max(answer.upper_bound, value))


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
        required, null = everything, False  # fewer boundaries may break "at least one change"
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
    """The answers for the recordings of numbers ``which``, without a constraint."""
    rows = read_only(np.ascontiguousarray(Zs.rows, dtype=np.float64))
    boundaries, sizes, numbers = segment_each(rows, Zs.first, which, -price)
    boundaries = read_only(boundaries)
    lengths = Zs.sizes[which]
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
    if 0.0 not in objective.Z[0].tolist():  # faster than numpy for a few numbers
        return objective
    used = objective.Z.any(axis=0)
    if used.all():
        return objective
    return replace(objective, Z=objective.Z[:, used])


def _samples(objective: TraceObjective) -> Floats:
    """``Z`` as kernels are compiled for: a read-only C array of doubles."""
    Z = objective.Z  # a read-only view
    if type(Z) is np.ndarray and Z.flags.c_contiguous and Z.dtype == np.float64:
        return Z
    return read_only(np.ascontiguousarray(Z, dtype=np.float64))
