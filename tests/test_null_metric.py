"""In the null metric the data say nothing, and one call answers for many recordings."""

from __future__ import annotations

import numpy as np
import pytest

from structsvm.oracles import ExhaustiveOracle, SequentialOracle
from structsvm.partitions import EquivalenceMatrix, TraceObjective
from structsvm.partitions.oracle import Constraint

TRUTHS = [EquivalenceMatrix.from_breakpoints(ends) for ends in ([7], [3, 7], [1, 2, 7], [2, 5, 7])]


def in_null_metric(r: int, shift: float, weight: float) -> list[TraceObjective]:
    return [TraceObjective(np.zeros((7, r)), truth, weight, shift) for truth in TRUTHS]


@pytest.mark.parametrize("r", [0, 2])
@pytest.mark.parametrize("shift", [-1.0, 0.0, 0.2, 0.9])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_many_recordings_are_answered_as_each_of_them(r: int, shift: float, weight: float) -> None:
    objectives = in_null_metric(r, shift, weight)
    for objective, answer in zip(
        objectives, SequentialOracle().maximize_all(objectives), strict=True
    ):
        alone = SequentialOracle().maximize(objective)
        best = ExhaustiveOracle(contiguous=True).maximize(objective)
        assert answer == alone
        assert answer.upper_bound == answer.value == pytest.approx(best.value, abs=1e-12)
        assert answer.value == pytest.approx(objective.value(answer.y), abs=1e-12)


@pytest.mark.parametrize("shift", [-1.0, 0.0])
def test_one_segment_is_best_where_no_boundary_is_rewarded(shift: float) -> None:
    for objective in in_null_metric(3, shift, 1.0):
        assert SequentialOracle().maximize(objective).y.breakpoints == [7]
        forced = SequentialOracle().maximize(objective, Constraint(forced=(4,)))
        assert forced.y.breakpoints == [4, 7]


def test_an_objective_says_whether_a_value_is_missing() -> None:
    Z = np.array([[1.0], [2.0]])
    assert not TraceObjective(Z, gaps=True).gaps
    assert TraceObjective(np.array([[1.0], [np.nan]]), gaps=True).gaps
