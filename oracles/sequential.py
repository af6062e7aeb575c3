"""Change-point oracle: the best segmentation, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from structsvm.data.words import LARGEST
from structsvm.errors import OracleError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.every import best_path, best_paths
from structsvm.oracles._segments.rounding import may_round, may_round_at, rounding_of
from structsvm.oracles._segments.search import SegmentSearch, path_of_known_length, splitting_price
from structsvm.oracles._segments.stages import path_in_stages
from structsvm.oracles._segments.table import truth_of
from structsvm.oracles._segments.whole import (
    SCATTER,
    Found,
    Recordings,
    loss_curves,
    price_path,
    search_all,
    segment_all,
    work_of,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Quality,
    decode_between,
)
from structsvm.partitions.trace_objective import NOT_FINITE, TraceObjective
from structsvm.support.arrays import Floats, Ints, all_within
from structsvm.support.plain import read_only
from structsvm.support.stack import Stack

ONE_CALL = 2e9
"""Operations of a search that is one compiled call: less than a second, in the worst case."""
SHORT = 1024
"""Samples up to which the scores of all segments are written down for a path of prices."""


@dataclass(frozen=True)
class SequentialOracle(Oracle):
    """Maximises ``Tr(A M)`` over segmentations, with K known or left to the objective.

    The answer is the maximum over all segmentations that the constraint allows, whatever the signs
    and the shift of the objective. Equal objectives give equal answers on every call, ties
    included.

    Parameters
    ----------
    pruning : bool
        Leave out the segments that bounds prove useless: near-linear time in practice, for an
        objective whose signs are all positive. False looks at every segment.

    Notes
    -----
    Time O(T^2 r), K unknown, or O(T^2 (r + K)), K known, before pruning; memory O(T r), and a band
    of K (T - K) numbers for K known. Forced and forbidden boundaries, regions without a change and
    with at least one keep the pruning where K is unknown, and so do regions that count exactly, at
    k searches of a region with k changes. See ``docs/oracles.md`` for the algorithms.

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
        """Maximise ``Tr(A M)`` over the segmentations that ``constraint`` allows.

        Raises
        ------
        OracleError
            When the constraint cannot be satisfied, the objective is not finite, or the truth is
            not a segmentation.
        """
        T = objective.n_samples
        truth_of(objective)  # a segmentation
        objective = _without_null_columns(objective)
        if constraint.says_nothing and self._is_one_call(objective):
            # Not that of a subclass, which may ask this method for each objective.
            return SequentialOracle.maximize_all(self, [objective])[0]
        constraint.validate(T)
        boundaries, K = Boundaries.of(constraint, T), constraint.n_clusters
        required = boundaries.required.size - 1
        if K is not None and not boundaries.counted and not required <= K < boundaries.knots.size:
            raise OracleError(_no_segmentation(K))
        path = _evident_path(objective, boundaries, K)
        if path is not None:
            y = _segmentation(path)
            value = objective.value(y)
            return Argmax(y, value, value, Quality.EXACT)
        path = self._search(objective, boundaries, K)
        if path is None:
            raise OracleError(_no_segmentation(K))
        y = _segmentation(path)
        value = objective.value(y)
        return Argmax(y, value, value + rounding_of(objective, value), Quality.EXACT)

    def maximize_all(self, objectives: Sequence[TraceObjective]) -> list[Argmax]:
        """Maximise ``Tr(A M)`` over all segmentations, of each of the recordings.

        Raises
        ------
        OracleError
            When a truth is not a segmentation.
        """
        prepared = [_without_null_columns(objective) for objective in objectives]
        answers: dict[int, Argmax] = {}
        together: dict[float, list[tuple[int, TraceObjective, Ints]]] = {}
        for i, A in enumerate(prepared):
            if self._is_one_call(A):
                bounds, c = truth_of(A)
                together.setdefault(c, []).append((i, A, bounds))
        for c, members in together.items():
            places, chosen, truths = zip(*members, strict=True)
            recordings = Recordings.of([_samples(A) for A in chosen], truths)
            shifts = np.array([A.shift for A in chosen], dtype=np.float64)
            found = segment_all(recordings, c, shifts, max(work_of(A.Z) for A in chosen))
            answers |= {i: _found(A, f) for i, A, f in zip(places, chosen, found, strict=True)}
        return [answers[i] if i in answers else self.maximize(A) for i, A in enumerate(prepared)]

    def at_price(self, Zs: Stack, price: float) -> list[EquivalenceMatrix | None]:
        """The best segmentation of each of N short recordings in the metric, at a price of a part.

        None stands for one that has to be asked about alone: where a column is zero, where the
        search is longer than a compiled call, or where rounding may have hidden a better one.

        Raises
        ------
        OracleError
            When a value is missing or infinite.

        Examples
        --------
        >>> import numpy as np
        >>> from structsvm.oracles import SequentialOracle
        >>> from structsvm.support.stack import Stack
        >>> Zs = Stack.of([np.array([[1.0], [1.0], [9.0]]), np.array([[1.0], [1.1]])])
        >>> [M.breakpoints for M in SequentialOracle().at_price(Zs, 1.0)]
        [[2, 3], [2]]
        """
        if not all_within(Zs.rows, LARGEST):
            raise OracleError(NOT_FINITE)
        lengths = np.diff(Zs.first)
        most = work_of(Zs.array(int(lengths.argmax())))
        if not self.pruning or price <= 0.0 or not Zs.rows.shape[1] or most > ONE_CALL:
            return [None] * len(Zs)
        recordings, shifts = Recordings.of_stack(Zs), np.full(len(Zs), -price)
        found, numbers = search_all(recordings, 0.0, shifts, most)
        clear = ~may_round_at(price, lengths, numbers[:, SCATTER])
        for i in np.flatnonzero(~Zs.rows[Zs.first[:-1]].all(axis=1)).tolist():
            clear[i] &= Zs.array(i).any(axis=0).all()
        answers = zip(found, clear.tolist(), strict=True)
        return [EquivalenceMatrix.from_search(*M) if sure else None for M, sure in answers]

    def price_path(self, Z: Floats, prices: Floats) -> list[EquivalenceMatrix]:
        """The best segmentation of a recording (T, r) in the metric at every price of a segment.

        Of a recording of up to 1,024 samples the scores of all segments are computed once and each
        price is decoded; of a longer one their table is, and two prices with the same segmentation
        share it with those between them.

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
        objective = _without_null_columns(TraceObjective(Z))
        if not self.pruning:
            return decode_between(lambda p: self.ask(TraceObjective(Z, shift=-p)).y, prices)
        T = objective.n_samples
        if T > SHORT:
            search = SegmentSearch(objective, Boundaries.of(UNCONSTRAINED, T))
            return decode_between(lambda p: _segmentation(search.at_price(-p)[1]), prices)
        known: dict[bytes, EquivalenceMatrix] = {}
        for path in (paths := price_path(_samples(objective), prices)):
            if path.tobytes() not in known:
                known[path.tobytes()] = _segmentation(path)
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
        T = Z.shape[0]
        if not 1 <= most <= T:
            raise OracleError(f"{T} samples have segmentations into 1 to {T} parts, not {most}")
        objective = _without_null_columns(TraceObjective(Z))
        paths = best_paths(objective, Boundaries.of(UNCONSTRAINED, T), most)
        return [_segmentation(path) for path in paths if path is not None]

    def loss_curves(
        self, Zs: Sequence[Floats], truths: Sequence[EquivalenceMatrix], prices: Floats
    ) -> Floats:
        """``|M - M_i|_F^2`` of the best segmentation of each recording at every price, (N, n)."""
        curves = np.empty((len(Zs), prices.size))
        short = [
            i
            for i, (Z, truth) in enumerate(zip(Zs, truths, strict=True))
            if self.pruning and Z.shape[0] <= SHORT and truth.is_contiguous
        ]
        samples = (_samples(_without_null_columns(TraceObjective(Zs[i]))) for i in short)
        found = loss_curves(samples, [truths[i].boundaries for i in short], prices)
        for i, losses in zip(short, found, strict=True):
            curves[i] = losses
        for i in sorted(set(range(len(Zs))) - set(short)):
            path = self.price_path(Zs[i], prices)
            losses_of = {id(M): partition_loss(truths[i], M) for M in path}
            curves[i] = [losses_of[id(M)] for M in path]
        return curves

    def _is_one_call(self, objective: TraceObjective) -> bool:
        pays = objective.shift > 0.0 and objective.Z.shape[1] == 0
        pays = pays or splitting_price(objective, objective.shift) <= 0.0
        prunes = self.pruning and _all_positive(objective)
        return prunes and not pays and work_of(objective.Z) <= ONE_CALL

    def _search(
        self, objective: TraceObjective, boundaries: Boundaries, K: int | None
    ) -> Ints | None:
        """The boundaries of the best segmentation, from 0 to T; None if there is none."""
        limited = bool(boundaries.counted or boundaries.somewhere)
        if not self.pruning or not _all_positive(objective) or (K is not None and limited):
            return best_path(objective, boundaries, K)
        if boundaries.counted:
            return path_in_stages(objective, boundaries)
        search = SegmentSearch(objective, boundaries)
        path = search.at_price(objective.shift)[1] if K is None else path_of_known_length(search, K)
        return boundaries.knots[path]


def _all_positive(objective: TraceObjective) -> bool:
    return objective.signs is None or bool((objective.signs > 0).all())


def _evident_path(objective: TraceObjective, boundaries: Boundaries, K: int | None) -> Ints | None:
    """The best segmentation where it needs no search; None where it does.

    Splitting a segment adds a unit vector ``v`` to the range of ``M`` and ``v^T A v`` to the value.
    With positive signs that is at least ``d - c``: if ``d >= c``, every boundary pays. In the null
    metric it is at most ``d``: if ``d <= 0``, no boundary pays; without a truth it is ``d``, so
    that for known K every segmentation is as good as the one with the leftmost boundaries.
    """
    if boundaries.counted:
        return None
    everything, required = boundaries.knots, boundaries.knots[boundaries.required]
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
    if _all_positive(objective) and splitting_price(objective, objective.shift) <= 0.0:
        return everything
    if null and everything.size == objective.n_samples + 1 and _singletons_pay(objective):
        return everything
    return None


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
    signs = None if objective.signs is None else objective.signs[used]
    return replace(objective, Z=objective.Z[:, used], signs=signs)


def _samples(objective: TraceObjective) -> Floats:
    """``Z`` in the one form that kernels are compiled for."""
    Z = objective.Z  # a read-only view
    if type(Z) is np.ndarray and Z.flags.c_contiguous and Z.dtype == np.float64:
        return Z
    return read_only(np.ascontiguousarray(Z, dtype=np.float64))


def _segmentation(path: Ints) -> EquivalenceMatrix:
    return EquivalenceMatrix.from_breakpoints(path[1:])


def _found(objective: TraceObjective, found: Found) -> Argmax:
    y = EquivalenceMatrix.from_search(found.labels, found.path)
    value = found.score + objective.shift * y.n_clusters + found.constant
    uncertain = objective.Z.shape[1] > 0 and may_round(objective, found.scatter)
    rounding = rounding_of(objective, value) if uncertain else 0.0
    return Argmax(y, value, value + rounding, Quality.EXACT)


def _no_segmentation(K: int | None) -> str:
    into, way_out = ("", "") if K is None else (f" into {K} segments", ": ask for another number")
    return f"no segmentation{into} has its changes where they are known to be{way_out}"
