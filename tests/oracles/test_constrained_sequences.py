"""The sequential oracle against enumeration, with numbers of changes given in places or not."""

from dataclasses import replace

import numpy as np
import pytest
from cases import cases
from sequential_cases import Case, random_case, segment_scores, segmentations

from structsvm.errors import OracleError
from structsvm.oracles.sequential import SequentialOracle
from structsvm.partitions.constraint import Constraint, Region
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.oracle import Argmax
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality

PRUNED = SequentialOracle()
PLAIN = SequentialOracle(pruning=False)


def random_regions(rng: np.random.Generator, T: int) -> tuple[Region, ...]:
    """None, one, several or at least one change; they may overlap and contradict each other."""
    regions = []
    for _ in range(int(rng.integers(0, 4))):
        start, end = (int(t) for t in np.sort(rng.choice(T + 1, 2, replace=False)))
        loose = rng.random() < 0.4
        regions.append(Region(start, end, 1 if loose else int(rng.integers(0, 3)), loose))
    return tuple(regions)


def labelled_case(seed: int, most_samples: int = 10) -> Case:
    case = random_case(seed, most_samples)
    rng = np.random.default_rng(seed + 10**6)
    regions = random_regions(rng, case.objective.n_samples)
    return replace(case, constraint=replace(case.constraint, regions=regions))


def allowed_segmentations(constraint: Constraint, T: int) -> np.ndarray:
    boundary = segmentations(T)[0]
    allowed = boundary[:, list(constraint.forced)].all(axis=1)
    allowed &= ~boundary[:, list(constraint.forbidden)].any(axis=1)
    if constraint.n_clusters is not None:
        allowed &= boundary.sum(axis=1) == constraint.n_clusters + 1
    for region in constraint.regions:
        found = boundary[:, region.first : region.end].sum(axis=1)
        allowed &= found >= region.changes if region.or_more else found == region.changes
    return allowed


def answer_or_reason(oracle: SequentialOracle, case: Case) -> Argmax | str:
    try:
        return oracle.maximize(case.objective, case.constraint)
    except OracleError as error:
        return str(error)


@cases((PRUNED, 3_000), (PLAIN, 1_000), ids=["pruned", "plain"])
def test_the_sequential_oracle_reaches_the_maximum_under_constraints(
    oracle: SequentialOracle, n: int
) -> None:
    """Questions of every kind with T <= 10, compared on centred data: offsets cost no digits."""
    answered = impossible = refused = 0
    for seed in range(n):
        case = labelled_case(seed)
        T = case.objective.n_samples
        allowed = allowed_segmentations(case.constraint, T)
        answer = answer_or_reason(oracle, case)
        if isinstance(answer, Argmax):
            values = np.where(allowed, segment_scores(case.centred), -np.inf)
            assert abs(case.centred.value(answer.y) - values.max()) <= case.slack, seed
            size = 1.0 + float(np.sum(case.objective.Z**2))
            off = abs(answer.value - case.objective.value(answer.y))
            assert off <= 1e-13 * size + case.slack, seed
            assert (answer.upper_bound, answer.quality) == (answer.value, Quality.EXACT)
            ends = np.zeros(T + 1, dtype=bool)
            ends[answer.y.boundaries] = True
            assert allowed[(segmentations(T)[0] == ends).all(axis=1)].all(), seed
            answered += 1
        elif "both count exactly" in answer:
            refused += 1
        else:
            assert not allowed.any(), (seed, answer)
            impossible += 1
    assert answered > 0.3 * n
    assert impossible > 0.2 * n
    assert refused > 0.01 * n


def test_pruning_keeps_at_least_one_change() -> None:
    """Long recordings, where runs of starts are closed before a region rules part of them out."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        T = int(rng.integers(200, 900))
        Z = rng.standard_normal((T, 3))
        Z += 2 * rng.standard_normal((9, 3))[np.sort(rng.integers(0, 9, T))]
        starts = rng.integers(0, T - 40, 6)
        regions = tuple(Region(int(s), int(s + rng.integers(2, 40)), 1, True) for s in starts)
        constraint = Constraint(forbidden=(3, 77), regions=regions)
        objective = TraceObjective(Z, shift=-float(rng.choice([0.5, 10.0, 200.0])))
        fast = PRUNED.maximize(objective, constraint)
        assert fast.value == pytest.approx(PLAIN.maximize(objective, constraint).value)
        assert all(region.holds(fast.y.boundaries) for region in regions)


def random_counted(rng: np.random.Generator, T: int) -> tuple[Region, ...]:
    """Disjoint regions of none to three changes, some side by side, and some of at least one."""
    cuts = np.unique(np.r_[rng.integers(0, T, 8), T])
    regions = []
    for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if b - a > 4 and rng.random() < 0.6:
            loose = rng.random() < 0.2
            k = 1 if loose else int(rng.integers(0, 4))
            regions.append(Region(a, b + int(rng.integers(0, 2) and b < T), k, loose))
    return tuple(regions)


def test_pruning_keeps_exact_numbers_of_changes() -> None:
    """Long recordings, with or without a truth, against the program that looks at every segment."""
    answered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        T = int(rng.choice([40, 300, 900]))
        Z = rng.standard_normal((T, 3))
        Z += 2 * rng.standard_normal((9, 3))[np.sort(rng.integers(0, 9, T))]
        forced = tuple(int(t) for t in np.unique(rng.integers(1, T, seed % 3)))
        constraint = Constraint(forced=forced, regions=random_counted(rng, T))
        truth = EquivalenceMatrix.from_labels(np.sort(rng.integers(0, 6, T)))
        shift = -float(rng.choice([-0.5, 0.5, 10.0, 200.0]))
        objective = TraceObjective(Z, shift=shift)
        if seed % 2:
            objective = TraceObjective(Z, truth, 2.0, shift)
        try:
            exact = PLAIN.maximize(objective, constraint)
        except OracleError as error:
            with pytest.raises(OracleError, match=str(error)[:20]):
                PRUNED.maximize(objective, constraint)
            continue
        fast = PRUNED.maximize(objective, constraint)
        assert fast.value == pytest.approx(exact.value, rel=1e-9), seed
        assert all(region.holds(fast.y.boundaries) for region in constraint.regions)
        answered += 1
    assert answered > 40


def test_impossible_regions_are_refused() -> None:
    objective = TraceObjective(np.arange(6.0)[:, None])
    for region, message in (
        (Region(2, 9, 1), "has no room in a recording of 6 samples"),
        (Region(2, 4, 3), "has no room in a recording"),
        (Region(0, 6, 2, True), "exactly k, or at least 1"),
    ):
        with pytest.raises(OracleError, match=message):
            PRUNED.ask(objective, Constraint(regions=(region,)))
    overlapping = Constraint(regions=(Region(0, 4, 1), Region(2, 6, 2)))
    with pytest.raises(OracleError, match="cut them"):
        PRUNED.maximize(objective, overlapping)


def test_a_region_of_the_same_count_inside_another_one_is_understood() -> None:
    objective = TraceObjective(np.arange(12.0)[:, None], shift=-0.1)
    constraint = Constraint(regions=(Region(0, 12, 1), Region(8, 10, 1)))
    assert PRUNED.maximize(objective, constraint).y.breakpoints[0] in (8, 9)
