"""Change-point oracle: the best segmentation, exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles._segments.search import (
    SegmentSearch,
    path_of_known_length,
    splitting_price,
)
from structsvm.oracles._segments.stages import path_in_stages
from structsvm.oracles._segments.windows import best_path, path_with_known_length, windows
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["SequentialOracle"]

Ints = NDArray[np.int64]

ROUNDING = 2.0**-51
"""Of the prefix sums, for each unit of scatter; measured at 2^-53 or less in
``tests/test_exact_arithmetic.py``."""

NEGLIGIBLE = 1e-10
"""What rounding may be of the price of a segment, or of the noise, before the answer says so."""


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
        constraint.validate(T)
        _require_segmentation(objective)
        boundaries = Boundaries.of(constraint, T)
        if boundaries.counted:
            return _argmax(objective, self._counted(objective, boundaries, constraint.n_clusters))
        knots, K = boundaries.knots, constraint.n_clusters
        if K is not None and not boundaries.required.size - 1 <= K < knots.size:
            raise OracleError(_no_segmentation(K))
        objective = _without_null_columns(objective)
        search = SegmentSearch(objective, knots, boundaries.required, boundaries.somewhere)
        evident = _evident_path(search, constraint.n_clusters)
        path = self._search(search, constraint.n_clusters) if evident is None else evident
        y = EquivalenceMatrix.from_breakpoints(knots[path[1:]])
        value = search.value(path) + objective.shift * y.n_clusters + search.table.constant
        rounding = 0.0 if evident is not None else _rounding(objective, value)
        return Argmax(y, value, value + rounding, Quality.EXACT)

    def _search(self, search: SegmentSearch, K: int | None) -> Ints:
        """The knots of the best segmentation, from 0 to m, by dynamic programming."""
        fast = self.pruning and search.all_positive and (K is None or not search.somewhere)
        if K is None:
            return search.pruned(search.objective.shift)[1] if fast else search.scanned()
        return path_of_known_length(search, K) if fast else search.layered(K)

    def _counted(self, objective: TraceObjective, boundaries: Boundaries, K: int | None) -> Ints:
        """The boundaries of the best segmentation with regions that count exactly."""
        positive = objective.signs is None or bool((objective.signs > 0).all())
        if K is None and self.pruning and positive:
            path = path_in_stages(_without_null_columns(objective), boundaries)
        else:
            nodes = windows(boundaries.knots, boundaries.low, boundaries.counted)
            path = (
                best_path(objective, nodes)
                if K is None
                else path_with_known_length(objective, nodes, K)
            )
        if path is None:
            raise OracleError(_no_segmentation(K))
        return path


def _evident_path(search: SegmentSearch, K: int | None) -> Ints | None:
    """The best segmentation where it needs no search; None where it does.

    Splitting a segment adds a unit vector ``v`` to the range of ``M`` and ``v^T A v`` to the value.
    With positive signs that is at least ``d - c``: if ``d >= c``, every boundary pays. In the null
    metric it is at most ``d``: if ``d <= 0``, no boundary pays; without a truth it is ``d``, so
    that for known K every segmentation is as good as the one with the leftmost boundaries.
    """
    objective, required = search.objective, search.required
    everything = np.arange(search.knots.size, dtype=np.int64)
    null = objective.Z.shape[1] == 0
    if search.somewhere:
        required = everything  # no boundary less will always do
        null = False
    if K is not None:
        if null and not objective.has_truth:
            optional = np.setdiff1d(everything, required)
            return np.union1d(required, optional[: K + 1 - required.size])
        return {required.size - 1: required, everything.size - 1: everything}.get(K)
    if null and objective.shift <= 0.0:
        return required
    if search.all_positive and splitting_price(objective, objective.shift) <= 0.0:
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
    used = objective.Z.any(axis=0)
    if used.all():
        return objective
    signs = None if objective.signs is None else objective.signs[used]
    return replace(objective, Z=objective.Z[:, used], signs=signs)


def _argmax(objective: TraceObjective, ends: Ints) -> Argmax:
    y = EquivalenceMatrix.from_breakpoints(ends[1:])
    value = objective.value(y)
    return Argmax(y, value, value + _rounding(objective, value), Quality.EXACT)


def _rounding(objective: TraceObjective, value: float) -> float:
    """By how much rounding may make a segmentation look better than the best one.

    Scores come from prefix sums of the centred samples, whose errors grow as ``sqrt(T)``, and are
    wrong in proportion to the scatter, of which a few large jumps may be nearly all: jumps of 1e7
    times the noise leave no digit for changes of its size. Zero where that is far below what
    decides: the price of a segment or, without one, the noise (the median square of a step).
    """
    T = objective.n_samples
    centred = objective.Z - objective.Z.mean(axis=0)
    scatter, price = float(np.vdot(centred, centred)), abs(objective.shift)
    if objective.truth is not None and objective.has_truth:
        scatter += objective.truth_weight * objective.truth.n_clusters
        price += objective.truth_weight
    error = ROUNDING * float(np.sqrt(T)) * scatter
    if price == 0.0 and T > 1:
        price = float(np.median(np.square(np.diff(centred, axis=0)).sum(axis=1)))
    if price == 0.0 or error <= NEGLIGIBLE * price:
        return 0.0
    return error + float(np.spacing(abs(value)))


def _no_segmentation(K: int | None) -> str:
    into = "" if K is None else f" into {K} segments"
    return f"no segmentation{into} has its boundaries where the constraint wants them"


def _require_segmentation(objective: TraceObjective) -> None:
    """Refuse a truth that the loss of a segmentation is not defined against."""
    if objective.truth is not None and objective.has_truth and not objective.truth.is_contiguous:
        raise OracleError(
            "the sequential oracle needs a truth made of segments of consecutive samples; "
            "use a clustering oracle for labels that come back"
        )
