"""The exhaustive oracle: the enumeration is complete, and its maximum is one."""

from itertools import product
from math import comb

import numpy as np
import pytest
from cases import refused

from structsvm.errors import OracleError
from structsvm.oracles.exhaustive import ExhaustiveOracle, all_partitions, all_segmentations
from structsvm.partitions.constraint import Constraint, Region
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality


def canonical(labels) -> tuple[int, ...]:
    return tuple(EquivalenceMatrix.from_labels(np.asarray(labels)).labels.tolist())


@pytest.mark.parametrize("T", range(1, 7))
def test_partitions_are_those_that_all_labellings_give(T: int) -> None:
    found = [tuple(row) for row in all_partitions(T).tolist()]
    assert set(found) == {canonical(labels) for labels in product(range(T), repeat=T)}
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("T", range(1, 9))
def test_segmentations_are_the_contiguous_partitions(T: int) -> None:
    contiguous = [
        row
        for row in all_partitions(T).tolist()
        if EquivalenceMatrix.from_labels(row).is_contiguous
    ]
    assert all_segmentations(T).tolist() == contiguous


@pytest.mark.parametrize("K", [None, 1, 2, 4, 5])
@pytest.mark.parametrize("contiguous", [False, True])
def test_the_exhaustive_maximum_is_that_of_dense_traces(contiguous: bool, K: int | None) -> None:
    """Against ``Tr(A M)`` with both matrices formed, one partition at a time."""
    rng = np.random.default_rng(0)
    for shift in (-1.0, 0.0, 0.4):
        truth = EquivalenceMatrix.from_labels(rng.integers(0, 3, 5))
        objective = TraceObjective(rng.standard_normal((5, 3)) + 7, truth, 2.0, shift)
        candidates = (all_segmentations if contiguous else all_partitions)(5)
        traces = [
            float(np.sum(objective.dense() * EquivalenceMatrix.from_labels(row).dense()))
            for row in candidates
            if K is None or row.max() == K - 1
        ]
        answer = ExhaustiveOracle(contiguous).maximize(objective, Constraint(n_clusters=K))
        assert answer.value == pytest.approx(max(traces), abs=1e-9)
        assert answer.value == objective.value(answer.y) == answer.upper_bound
        assert answer.quality is Quality.EXACT
        assert K is None or answer.y.n_clusters == K


def test_boundaries_leave_the_right_number_of_segmentations() -> None:
    """Four free positions, one of them used: the best of ``comb(4, 1)`` with K = 3."""
    constraint = Constraint(n_clusters=3, forced=(2,), forbidden=(4,))
    objective = TraceObjective(np.random.default_rng(2).standard_normal((7, 2)))
    allowed = [(2, t) for t in (1, 3, 5, 6)]
    assert len(allowed) == comb(4, 1)
    best = max(
        objective.value(EquivalenceMatrix.from_breakpoints([*sorted(pair), 7])) for pair in allowed
    )
    answer = ExhaustiveOracle(contiguous=True).maximize(objective, constraint)
    assert answer.value == pytest.approx(best, rel=1e-12)


def test_ties_of_the_exhaustive_oracle_go_to_the_first() -> None:
    null = TraceObjective(np.zeros((4, 0)))
    assert ExhaustiveOracle().maximize(null).y.labels.tolist() == [0, 0, 0, 0]
    two = ExhaustiveOracle().maximize(null, Constraint(n_clusters=2)).y
    assert two.labels.tolist() == [0, 0, 0, 1]


test_the_exhaustive_oracle_refuses_too_many_samples_and_wrong_constraints = refused(
    OracleError,
    lambda oracle, T, constraint: oracle.ask(TraceObjective(np.zeros((T, 1))), constraint),
    (ExhaustiveOracle(), 12, Constraint(), "too many partitions of 12 samples"),
    (ExhaustiveOracle(True), 19, Constraint(), "too many segmentations of 19 samples"),
    (ExhaustiveOracle(), 4, Constraint(n_clusters=5), "cannot make 5 clusters out of 4"),
    (ExhaustiveOracle(), 4, Constraint(n_clusters=0), "cannot make 0 clusters"),
    (ExhaustiveOracle(), 4, Constraint(forced=(2,)), "belong to segmentations"),
    (ExhaustiveOracle(True), 4, Constraint(forced=(4,)), "outside 1..3"),
    (
        ExhaustiveOracle(True),
        4,
        Constraint(regions=(Region(0, 4, 1), Region(0, 4, 2))),
        "no partition satisfies the constraint",
    ),
)
