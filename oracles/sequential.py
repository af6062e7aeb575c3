"""Change-point oracle: the best segmentation, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.oracles._segment_scan import backtrack, layers, layers_backtrack, scan
from structsvm.oracles._segment_table import SegmentTable, build_table
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import ANYTHING, Argmax, Constraint, Oracle, Quality
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["SequentialOracle"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SequentialOracle(Oracle):
    """Maximises ``Tr(A M)`` over segmentations, with K known or left to the objective.

    The answer is the maximum over all segmentations that the constraint allows, whatever the signs
    and the shift of the objective. Ties are broken the same way on every call.
    """

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
        earliest = _last_forced_before(knots, forced)
        table, constant = build_table(objective, knots)
        path = _best_path(table, earliest, constraint.n_clusters)
        y = EquivalenceMatrix.from_breakpoints(knots[path[1:]])
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def _best_path(table: SegmentTable, earliest: Ints, K: int | None) -> Ints:
    """The knots of the best segmentation, from 0 to m."""
    if K is None:
        return np.asarray(backtrack(scan(table, earliest)[1]))
    return np.asarray(layers_backtrack(table, earliest, layers(table, earliest, K)))


def _last_forced_before(knots: Ints, forced: NDArray[np.bool_]) -> Ints:
    """The last forced knot strictly before each knot, as an index into ``knots`` (m + 1,)."""
    index = np.where(forced[knots], np.arange(knots.size), 0)
    return np.concatenate(([0], np.maximum.accumulate(index)[:-1])).astype(np.int64)


def _require_segmentation(objective: TraceObjective) -> None:
    """Refuse a truth that the loss of a segmentation is not defined against."""
    if objective.truth is not None and objective.has_truth and not objective.truth.is_contiguous:
        raise OracleError(
            "the sequential oracle needs a truth made of segments of consecutive samples; "
            "use a clustering oracle for labels that come back"
        )
