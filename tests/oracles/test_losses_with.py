"""What a boundary at each sample would cost: two passes against a search for each sample."""

from dataclasses import replace

import numpy as np
import pytest

from structsvm.errors import OracleError
from structsvm.oracles import (
    SequentialOracle,
    StateScore,
    best_states,
    losses_with,
)
from structsvm.partitions import Constraint, Oracle, TraceObjective

SEEDS = range(60)


def drawn_constraint(rng, T):
    """Nothing, a forbidden place, a forced one, or a stretch without a change."""
    places = rng.integers(1, max(T, 2), 2).tolist()
    kinds = [
        Constraint(),
        Constraint(forbidden=(places[0],)),
        Constraint(forced=(places[0],)),
        Constraint(n_clusters=int(rng.integers(1, T + 1))),
    ]
    return kinds[int(rng.integers(len(kinds)))] if T > 1 else Constraint()


@pytest.mark.parametrize("seed", SEEDS)
def test_two_passes_find_what_a_search_for_each_sample_finds(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 30))
    Z = rng.normal(size=(T, int(rng.integers(1, 4)))) + 3.0 * (np.arange(T) // 7)[:, None]
    objective = TraceObjective(
        Z * 10.0 ** rng.integers(-6, 7), shift=-(10.0 ** rng.integers(-3, 3))
    )
    constraint = drawn_constraint(rng, T)
    oracle = SequentialOracle()
    places = np.arange(1, T)
    there = oracle.losses_with(objective, places, constraint)
    plain = Oracle.losses_with(oracle, objective, places, constraint)
    size = float(np.square(objective.Z).sum()) + abs(objective.shift)
    assert np.array_equal(np.isinf(there), np.isinf(plain))
    assert np.allclose(there, plain, rtol=1e-9, atol=1e-10 * size)
    if constraint == Constraint():
        best = oracle.ask(objective).y
        assert (there[best.boundaries[1:-1] - 1] <= 1e-10 * size).all()


def drawn_score(rng, T):
    C = int(rng.integers(1, 4))
    shapes = ((T, C), (C, int(rng.integers(2, 7))), (C, C))
    samples, lengths, changes = (rng.normal(size=shape) for shape in shapes)
    for scores in (samples, lengths, changes):
        if rng.random() < 0.4:
            scores[rng.random(scores.shape) < 0.2] = -np.inf
    late = rng.integers(-3, 4, (C, C)) if rng.random() < 0.4 else np.zeros((0, 0), dtype=int)
    ends = rng.normal(size=C), rng.normal(size=C)
    return StateScore(samples, lengths, changes, *ends, late=late)


def of_states_one_by_one(score, K, constraint):
    best = score.value(best_states(score, K, constraint))
    losses = np.full(len(score.samples) - 1, np.inf)
    for t in range(1, len(score.samples)):
        try:
            forced = replace(constraint, forced=(*constraint.forced, t))
            losses[t - 1] = best - score.value(best_states(score, K, forced))
        except OracleError:
            continue
    return losses


@pytest.mark.parametrize("seed", SEEDS)
def test_losses_with_a_boundary_of_states_are_those_of_single_searches(seed):
    rng = np.random.default_rng(seed)
    for T in rng.integers(1, 12, 5).tolist():
        score = drawn_score(rng, T)
        K = int(rng.integers(1, T + 1)) if rng.random() < 0.4 else None
        constraint = replace(drawn_constraint(rng, T), n_clusters=None)
        try:
            plain = of_states_one_by_one(score, K, constraint)
        except OracleError:
            with pytest.raises(OracleError):
                losses_with(score, np.arange(1, T), K, constraint)
            continue
        there = losses_with(score, np.arange(1, T), K, constraint)
        assert np.array_equal(np.isinf(there), np.isinf(plain))
        assert np.allclose(there, plain, atol=1e-9)
