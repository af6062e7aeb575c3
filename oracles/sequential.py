"""Change-point oracle: the best segmentation, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.oracles._segment_scan import backtrack, layers, layers_backtrack, scan
from structsvm.oracles._segment_table import SegmentTable, build_table, path_value
from structsvm.oracles._segment_tree import tree_scan
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import ANYTHING, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["SequentialOracle"]

Ints = NDArray[np.int64]


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
    of K (T - K) numbers for K known. See ``docs/oracles.md`` for the algorithms.
    """

    pruning: bool = True

    def maximize(self, objective: TraceObjective, constraint: Constraint = ANYTHING) -> Argmax:
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
        allowed, forced = constraint.boundary_masks(T)
        knots = np.flatnonzero(allowed).astype(np.int64)
        forced[0] = forced[T] = True
        required = np.flatnonzero(forced[knots]).astype(np.int64)
        table = build_table(objective, knots)
        path = _evident_path(objective, knots.size, required, constraint.n_clusters)
        if path is None:
            path = self._search(table, required, objective, constraint.n_clusters)
        y = EquivalenceMatrix.from_breakpoints(knots[path[1:]])
        value = path_value(table, path) + table.shift * (path.size - 1) + table.constant
        return Argmax(y, value, value, Quality.EXACT)

    def _search(
        self, table: SegmentTable, required: Ints, objective: TraceObjective, K: int | None
    ) -> Ints:
        """The knots of the best segmentation, from 0 to m, by dynamic programming."""
        earliest = _last_required_before(required)
        positive = table.n_plus == objective.Z.shape[1]
        if K is not None:
            return np.asarray(layers_backtrack(table, earliest, layers(table, earliest, K)))
        if self.pruning and positive:
            return np.asarray(backtrack(tree_scan(table, earliest, _splitting_price(objective))[1]))
        return np.asarray(backtrack(scan(table, earliest)[1]))


def _evident_path(
    objective: TraceObjective, n_knots: int, required: Ints, K: int | None
) -> Ints | None:
    """The best segmentation where it needs no search; None where it does.

    Splitting a segment adds a unit vector ``v`` to the range of ``M`` and ``v^T A v`` to the value.
    With positive signs that is at least ``d - c``: if ``d >= c``, every boundary pays. With
    ``Z = 0`` it is at most ``d``: if ``d <= 0``, no boundary pays.
    """
    everything = np.arange(n_knots, dtype=np.int64)
    if K == n_knots - 1:
        return everything
    if K == required.size - 1:
        return required
    if K is None and objective.shift <= 0.0 and not objective.Z.any():
        return required
    positive = objective.signs is None or bool((objective.signs > 0).all())
    if K is None and positive and _splitting_price(objective) <= 0.0:
        return everything
    return None


def _splitting_price(objective: TraceObjective) -> float:
    """``kappa = c - d``: splitting a segment costs at most this, if all signs are positive."""
    return (objective.truth_weight if objective.has_truth else 0.0) - objective.shift


def _last_required_before(required: Ints) -> Ints:
    """The last required knot strictly before each knot, (m + 1,)."""
    return np.concatenate(([0], np.repeat(required[:-1], np.diff(required)))).astype(np.int64)


def _require_segmentation(objective: TraceObjective) -> None:
    """Refuse a truth that the loss of a segmentation is not defined against."""
    if objective.truth is not None and objective.has_truth and not objective.truth.is_contiguous:
        raise OracleError(
            "the sequential oracle needs a truth made of segments of consecutive samples; "
            "use a clustering oracle for labels that come back"
        )
