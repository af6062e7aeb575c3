"""The sequential oracle: the plain scan, its pruning, answers without a search, bad input."""

from itertools import combinations
from typing import Any

import naive
import numpy as np
import pytest
from cases import refused
from numba import njit
from sequential_cases import Case, random_case, random_samples, random_truth, segment_scores

from structsvm.errors import OracleError
from structsvm.oracles._segments.table import build_table, lane_scores
from structsvm.oracles._segments.vectors import LANES, write
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.constraint import UNCONSTRAINED, Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.values import Stack
from structsvm.testing import check_oracle

FAST = SequentialOracle()
PLAIN = SequentialOracle(pruning=False)


@njit
def write_lane_scores(out: Any, *arguments: Any) -> None:
    """What kernels call, for Python to call."""
    write(lane_scores(*arguments), out, 0)


# ------------------------------------------------------------------- pruned against plain


def assert_pruning_loses_nothing(case: Case, seed: int) -> None:
    fast = FAST.maximize(case.objective, case.constraint)
    plain = PLAIN.maximize(case.objective, case.constraint)
    values = case.centred.value(fast.y), case.centred.value(plain.y)
    assert abs(values[0] - values[1]) <= case.slack, (seed, case.kind, case.constraint)


def test_pruning_of_the_sequential_oracle_loses_nothing() -> None:
    for seed in range(800):
        assert_pruning_loses_nothing(random_case(seed, most_samples=299), seed)


def test_pruning_loses_nothing_where_few_segments_matter() -> None:
    """Several hundred samples, few changes, noise near the price of a segment."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth = EquivalenceMatrix.from_labels(np.cumsum(rng.random(1_200) < rng.choice([0, 0.004])))
        Z = rng.choice([0.03, 0.1, 0.3]) * random_samples(rng, "steps", truth, 2)
        objective = TraceObjective(Z, truth, rng.choice([0.0, 2.0]), rng.choice([-0.05, -0.5]))
        assert_pruning_loses_nothing(Case("few", objective, UNCONSTRAINED), seed)


def test_bounds_of_runs_hold_for_every_start() -> None:
    """The lanes of inner nodes, for any values ``F`` of the starts: optimal ones hide errors."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        T = 300
        truth = random_truth(rng, T)
        Z = rng.choice([0.0, 0.1]) * random_samples(rng, "steps", truth, 2)
        Z -= Z.mean(axis=0)
        objective = TraceObjective(Z, truth, truth_weight=2.0)
        table = build_table(objective, np.arange(T + 1), np.arange(T + 1))
        F = rng.choice([0.0, 0.1]) * rng.standard_normal(T)
        sums = np.vstack((np.zeros(2), Z.cumsum(axis=0)))
        value = np.full((table.sums.shape[0], LANES), -np.inf)
        for e in range(LANES - 1, T, LANES):
            run = np.arange(e - LANES + 1, e + 1)
            gain = ((sums[e] - sums[run]) ** 2).sum(axis=1) / np.maximum(e - run, 1)
            value[table.first_group[1] + e // LANES**2, e // LANES % LANES] = (F[run] + gain).max()
        A = objective.dense().cumsum(axis=0).cumsum(axis=1)
        A = np.pad(A, ((1, 0), (1, 0)))
        out = np.empty(LANES)
        for t in rng.integers(LANES, T + 1, 20):
            s = np.arange(t)
            exact = F[:t] + (A[t, t] + A[s, s] - 2 * A[s, t]) / (t - s)
            for group in range(table.first_group[1], table.first_group[2]):
                write_lane_scores(out, table, value, group, sums[t], table.ends, t)
                for i in range(LANES):
                    first = ((group - table.first_group[1]) * LANES + i) * LANES
                    if first + LANES <= t:
                        assert out[i] >= exact[first : first + LANES].max() - 1e-9


@pytest.mark.parametrize("K", [None, 7])
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_pruning_loses_nothing_on_a_deep_tree(weight: float, K: int | None) -> None:
    """T = 9,000: four levels of starts, two of them with several groups."""
    rng = np.random.default_rng(3)
    truth = EquivalenceMatrix.from_labels(np.arange(9_000) // 1_300)
    Z = 0.15 * random_samples(rng, "steps", truth, 2)
    constraint = Constraint(K, forced=(2_000,), forbidden=tuple(range(4_100, 4_500, 3)))
    objective = TraceObjective(Z, truth, weight, shift=-0.4)
    assert_pruning_loses_nothing(Case("deep", objective, constraint), 3)


# ------------------------------------------------------------------- the pruning constant


def test_the_classical_pruning_constant_is_wrong_here() -> None:
    """``-d`` loses the maximum often, ``c - d`` never, and half of ``c`` is not enough."""
    lost = dict.fromkeys((0.0, 0.5, 1.0), 0)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        truth = random_truth(rng, int(rng.integers(5, 60)))
        Z = random_samples(rng, "steps", truth, 2) * rng.choice([0.1, 0.3])
        objective = TraceObjective(Z, truth, truth_weight=2.0, shift=0.0)
        scores = objective.segment_scores()
        best = naive.best(scores)[0]
        for part in lost:
            lost[part] += naive.pelt(scores, part * 2.0 - objective.shift) < best - 1e-9
        assert FAST.maximize(objective).value == pytest.approx(best, abs=1e-9)
    assert lost[0.0] > 100
    assert lost[0.5] > 0
    assert lost[1.0] == 0


def test_splitting_costs_at_most_the_truth_weight() -> None:
    """``score(s, u) <= score(s, t) + score(t, u) + c - d``, attained by two whole true segments."""
    largest = -np.inf
    for seed in range(300):
        case = random_case(seed, most_samples=12)
        A = case.centred.dense()
        T = case.objective.n_samples
        price = (
            case.objective.truth_weight if case.objective.truth else 0.0
        ) - case.objective.shift
        for s, t, u in combinations(range(T + 1), 3):
            whole, left, right = (A[a:b, a:b].sum() / (b - a) for a, b in ((s, u), (s, t), (t, u)))
            assert whole - left - right <= price + case.slack
            largest = max(largest, whole - left - right - price)
    assert largest > -1e-9


# ------------------------------------------------------------------- answers without a search


@pytest.mark.parametrize("r", [0, 3])
def test_a_null_metric_is_answered_at_once(r: int) -> None:
    """A scan would look at 2 * 10^10 segments."""
    T = 200_000
    truth = EquivalenceMatrix.from_labels(np.arange(T) // 500)
    Z = np.zeros((T, r))
    priced = FAST.maximize(TraceObjective(Z, truth, 2.0, shift=0.0), Constraint(forced=(70,)))
    assert priced.y.breakpoints == [70, T]
    assert FAST.maximize(TraceObjective(Z, shift=-1.0)).y.n_clusters == 1
    rewarded = FAST.maximize(TraceObjective(Z, shift=1.0), Constraint(forbidden=(5,)))
    assert rewarded.y.n_clusters == T - 1
    leftmost = FAST.maximize(TraceObjective(Z), Constraint(4, forced=(9,), forbidden=(1,)))
    assert leftmost.y.breakpoints == [2, 3, 9, T]
    start_of_learning = PLAIN.maximize(TraceObjective(Z, truth, 2.0, shift=1.0))
    assert start_of_learning.y.n_clusters == T


def test_the_null_metric_has_singletons_from_a_known_reward_on() -> None:
    """At that reward the answer is written down, just below it is searched for: both are best."""
    written_down = searched = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        truth = random_truth(rng, int(rng.integers(1, 11)))
        threshold = 2.0 / truth.sizes.min()
        for shift in (threshold, 0.999 * threshold, 0.5 * threshold):
            objective = TraceObjective(np.zeros((truth.n_samples, 1)), truth, 2.0, shift)
            answer = FAST.maximize(objective)
            best = segment_scores(objective).max()
            assert objective.value(answer.y) == pytest.approx(best, abs=1e-12), seed
            singletons = answer.y.n_clusters == truth.n_samples
            written_down += singletons and shift == threshold
            searched += not singletons
    assert written_down == 300
    assert searched > 0


def test_a_large_offset_costs_no_digits() -> None:
    rng = np.random.default_rng(1)
    truth = EquivalenceMatrix.from_labels(np.arange(400) // 40)
    Z = random_samples(rng, "steps", truth, 3)
    for constraint in (UNCONSTRAINED, Constraint(n_clusters=10)):
        near = FAST.maximize(TraceObjective(Z, truth, 2.0, -0.5), constraint).y
        far = FAST.maximize(TraceObjective(Z + 1e5, truth, 2.0, -0.5), constraint).y
        assert near == far


# ------------------------------------------------------------------- the contract and bad input


def test_the_sequential_oracle_passes_its_checks() -> None:
    check_oracle(FAST, contiguous=True)


def test_the_sequential_oracle_without_pruning_passes_its_checks() -> None:
    check_oracle(PLAIN, contiguous=True)


test_impossible_constraints_on_segments_are_refused = refused(
    OracleError,
    lambda constraint: FAST.ask(TraceObjective(np.ones((6, 1))), constraint),
    (Constraint(n_clusters=7), "cannot make 7 clusters out of 6 samples"),
    (Constraint(n_clusters=0), "cannot make 0 clusters"),
    (Constraint(forced=(6,)), r"forced boundary 6 is outside 1\.\.5"),
    (Constraint(forbidden=(0,)), r"forbidden boundary 0 is outside 1\.\.5"),
    (Constraint(forced=(2,), forbidden=(2,)), "boundary 2 is both forced and forbidden"),
    (Constraint(2, forced=(2, 4)), "cannot make 2 segments: .* leave 3 to 6"),
    (Constraint(5, forbidden=(1, 2)), "cannot make 5 segments"),
)


def test_a_truth_that_is_no_segmentation_is_refused() -> None:
    truth = EquivalenceMatrix.from_labels([0, 1, 0])
    with pytest.raises(OracleError, match="segments of consecutive samples"):
        FAST.maximize(TraceObjective(np.zeros((3, 1)), truth, 2.0))
    assert FAST.maximize(TraceObjective(np.zeros((3, 1)), truth, 0.0)).y.n_clusters == 1


@pytest.mark.parametrize("layout", ["F", "strided", "float32", "read-only"])
def test_the_sequential_oracle_takes_any_memory_layout(layout: str) -> None:
    Z = np.random.default_rng(2).standard_normal((40, 3)).round(2)
    same = {
        "F": np.asfortranarray(Z),
        "strided": np.repeat(Z, 2, axis=0)[::2],
        "float32": Z.astype(np.float32),
        "read-only": Z.copy(),
    }[layout]
    same.setflags(write=False)
    expected = FAST.maximize(TraceObjective(Z, shift=-1.0))
    assert FAST.maximize(TraceObjective(same, shift=-1.0)).y == expected.y


test_arrays_that_would_break_compiled_code_are_refused = refused(
    OracleError,
    lambda objective: TraceObjective(**{"Z": np.ones((3, 2)), **objective}),
    ({"Z": np.ones(3)}, r"Z must have shape \(T, r\) with T >= 1, got \(3,\)"),
    ({"Z": np.ones((0, 2))}, "Z must have shape"),
    ({"truth_weight": -1.0}, "truth_weight must be >= 0, got -1"),
)


# ------------------------------------------------------------------- many recordings at once


def drawn_recordings(seed: int) -> list[np.ndarray]:
    """Recordings of any length, among them some that are not searched with the others."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 6))
    Zs = []
    for T in rng.integers(1, 120, size=12):
        truth = random_truth(rng, int(T))
        Zs.append(random_samples(rng, str(rng.choice(["steps", "gaussian", "ties"])), truth, r))
    Zs[2] = Zs[2] * (np.arange(r) > 0)  # a column that is left out
    Zs[5][0] = 0.0  # and one that only begins with 0
    Zs[7] = Zs[7] + 1e6
    return Zs


@pytest.mark.parametrize("price", [0.0, 1e-9, 0.3, 2.0, 1e6])
@pytest.mark.parametrize("oracle", [FAST, PLAIN])
def test_many_at_once_are_answered_as_each_alone(oracle: SequentialOracle, price: float) -> None:
    for seed in range(20):
        Zs = drawn_recordings(seed)
        answers = oracle.ask_each(Stack.of(Zs), price)
        for answer, Z in zip(answers, Zs, strict=True):
            alone = oracle.ask(TraceObjective(Z, shift=-price))
            assert answer.y == alone.y
            assert (answer.value, answer.upper_bound) == (alone.value, alone.upper_bound)
            assert answer.quality == alone.quality


def test_long_recordings_among_many_are_searched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structsvm.oracles.sequential.ONE_CALL", 30_000.0)
    test_many_at_once_are_answered_as_each_alone(FAST, 0.3)


def test_an_impossible_instance_among_many_is_named() -> None:
    Zs = [np.zeros((3, 2)), np.full((4, 2), 1e200)]
    with pytest.raises(OracleError, match=r"instance 1.*reach 1e"):
        FAST.ask_each(Stack.of(Zs), 1.0)
    Zs[1] = np.full((4, 2), np.nan)
    with pytest.raises(OracleError, match=r"instance 1.*missing values"):
        FAST.ask_each(Stack.of(Zs), 1.0)
