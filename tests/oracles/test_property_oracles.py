"""Oracles compared with enumeration, on cases drawn by hypothesis.

An answer is the best there is (or its bound says how much better another may be), or it is an error
of ours.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import constraints, examples, matrices, objectives, size_of

from structsvm import EquivalenceMatrix
from structsvm.errors import OracleError
from structsvm.oracles import (
    ClusteringOracle,
    ExhaustiveOracle,
    SemidefiniteOracle,
    SequentialOracle,
    SpectralOracle,
)
from structsvm.partitions import Constraint, Quality, TraceObjective

ALL = ExhaustiveOracle()
SEGMENTS = ExhaustiveOracle(contiguous=True)
DIGITS = 1e-10


def asked(oracle, objective, constraint=None):
    """The answer, or None where our error says that there is none."""
    try:
        return oracle.ask(objective, constraint or Constraint())
    except OracleError:
        return None


@examples(120)
@given(st.data())
def test_drawn_segmentations_are_optimal(data):
    objective = data.draw(objectives(contiguous=True, most=9))
    constraint = data.draw(constraints(objective.n_samples))
    best = asked(SEGMENTS, objective, constraint)
    for pruning in (True, False):
        found = asked(SequentialOracle(pruning=pruning), objective, constraint)
        if best is None or found is None:
            # Regions that overlap can be counted by enumeration alone.
            assert found is None
            assert best is None or len(constraint.regions) > 1
            continue
        slack = DIGITS * size_of(objective)
        assert constraint.violation(found.y) is None
        assert abs(found.value - objective.value(found.y)) <= slack
        assert found.value >= best.value - slack - (found.upper_bound - found.value)
        assert found.upper_bound >= best.value - slack
        assert found.upper_bound - found.value <= 1e-9 * (1 + size_of(objective))


@examples(15)
@given(st.data())
def test_bounds_of_drawn_clusterings_hold(data):
    objective = data.draw(objectives(contiguous=False, most=7))
    T = objective.n_samples
    constraint = Constraint(n_clusters=data.draw(st.none() | st.integers(1, T)))
    best = asked(ALL, objective, constraint)
    slack = 1e-8 * (1 + size_of(objective))
    for oracle in (ClusteringOracle(), ClusteringOracle(relaxation=False), SpectralOracle()):
        found = asked(oracle, objective, constraint)
        if found is None:
            # The spectral one takes a number of clusters alone, the decoder no truth.
            assert not isinstance(oracle, ClusteringOracle)
            continue
        assert np.isfinite(found.value)
        if found.y.is_partition:
            assert constraint.violation(found.y) is None
            assert abs(found.value - objective.value(found.y)) <= slack
            assert found.value <= best.value + slack
        if found.quality is not Quality.HEURISTIC:
            assert found.upper_bound >= best.value - slack
        if found.quality is Quality.EXACT:
            assert found.value >= best.value - slack


@examples(5)
@given(objectives(contiguous=False, most=5))
def test_a_semidefinite_bound_is_above_the_best_clustering(objective):
    for K in range(1, objective.n_samples + 1):
        found = asked(SemidefiniteOracle(tol=1e-6), objective, Constraint(n_clusters=K))
        best = ALL.ask(objective, Constraint(n_clusters=K))
        if found is not None:
            assert found.upper_bound >= best.value - 1e-4 * (1 + size_of(objective))


@examples(60)
@given(objectives(contiguous=True, most=9))
def test_a_recording_played_backwards_has_the_segments_backwards(objective):
    truth = objective.truth
    if truth is not None:
        truth = EquivalenceMatrix.from_labels(truth.labels[::-1])
    backwards = TraceObjective(
        objective.Z[::-1].copy(), truth, objective.truth_weight, objective.shift
    )
    there, back = (SequentialOracle().ask(o) for o in (objective, backwards))
    assert there.value == pytest.approx(back.value, abs=1e-9 * (1 + size_of(objective)))


@examples(60)
@given(
    matrices(st.integers(2, 12), st.integers(1, 3)),
    st.sampled_from([1e-6, 1e-3, 1e3, 1e6]),
    st.sampled_from([-7.0, 1e3]),
)
def test_neither_unit_nor_level_changes_the_segments(X, unit, level):
    """Scores are as far apart as the data make them: equal ones may be told apart by rounding."""
    price = float((X**2).sum()) / len(X) + 1.0
    here = SequentialOracle().ask(TraceObjective(X, shift=-price))
    moved = unit * (X - X.mean(axis=0) + level)
    there = SequentialOracle().ask(TraceObjective(moved, shift=-price * unit**2))
    objective = TraceObjective(X, shift=-price)
    slack = 1e-6 * (size_of(objective) + level**2 * 1e-6)
    assert abs(objective.value(here.y) - objective.value(there.y)) <= slack
