"""Every search for segments against its plain twin in ``naive.py``, on recordings of any kind."""

from collections.abc import Callable

import naive
import numpy as np
import pytest
from sequential_cases import random_samples, random_truth

from structsvm.oracles import AllowedSegmentsOracle, SequentialOracle
from structsvm.oracles._segments.best_path import SegmentSearch
from structsvm.oracles._segments.boundaries import Boundaries
from structsvm.oracles.allowed_segments import Lengths
from structsvm.partitions import Constraint, EquivalenceMatrix, TraceObjective
from structsvm.partitions.constraint import UNCONSTRAINED

KINDS = ("gaussian", "ties", "offset", "steps")
LENGTHS = (1, 2, 15, 16, 17, 33, 257, 600)


def objective(kind: str, T: int, truthful: bool, seed: int) -> TraceObjective:
    rng = np.random.default_rng(1_000 * seed + T)
    truth = random_truth(rng, T)
    Z = rng.choice([0.1, 0.5, 2.0]) * random_samples(rng, kind, truth, 1 + seed)
    weight, shift = (2.0, float(rng.choice([-1.0, 0.5]))) if truthful else (0.0, -1.0)
    return TraceObjective(Z, truth if truthful else None, weight, shift)


def tolerance(A: TraceObjective) -> float:
    offset = float(np.abs(A.Z).max())
    centred = A.Z - A.Z.mean(axis=0)
    return 1e-11 * max(1.0, float(np.sum(centred**2))) + 1e-13 * offset * float(np.abs(A.Z).sum())


def by_tree(A: TraceObjective) -> EquivalenceMatrix:
    search = SegmentSearch(A, Boundaries.of(UNCONSTRAINED, A.n_samples))
    return EquivalenceMatrix.from_breakpoints(search.at_price(A.shift)[1][1:])


SEARCHES: dict[str, Callable[[TraceObjective], EquivalenceMatrix]] = {
    "one call": lambda A: SequentialOracle().maximize(A).y,
    "tree": by_tree,
    "tree, lengths": lambda A: AllowedSegmentsOracle(Lengths()).maximize(A).y,
    "every": lambda A: SequentialOracle(pruning=False).maximize(A).y,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("truthful", [False, True], ids=["decoding", "augmented"])
def test_all_searches_agree_with_the_plain_twin_and_break_ties_alike(
    kind: str, truthful: bool
) -> None:
    for T in LENGTHS:
        for seed in range(4):
            A = objective(kind, T, truthful, seed)
            centred = TraceObjective(A.Z - A.Z.mean(axis=0), A.truth, A.truth_weight, A.shift)
            scores = centred.segment_scores()
            found = {k: s(A) for k, s in SEARCHES.items()}
            expected = naive.best(scores)[0]
            kappa = (A.truth_weight if truthful else 0.0) - A.shift
            assert naive.pelt(scores, kappa) == pytest.approx(expected, abs=tolerance(A))
            for name, M in found.items():
                assert abs(centred.value(M) - expected) <= tolerance(A), (name, T, seed)
                assert M == found["one call"], (name, T, seed)


@pytest.mark.parametrize("truthful", [False, True], ids=["decoding", "augmented"])
def test_searches_for_any_number_of_segments_agree_with_the_plain_twin(truthful: bool) -> None:
    for T in LENGTHS[1:-1]:
        for kind in KINDS[:2]:
            A = objective(kind, T, truthful, 2)
            scores = A.segment_scores()
            oracle = SequentialOracle()
            assert oracle.maximize(A).value == pytest.approx(naive.best(scores)[0], rel=1e-9)
            for K in {1, 2, T // 3 + 1, T}:
                expected = naive.best_of_known_length(scores, K)
                assert oracle.maximize(A, Constraint(K)).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("lengths", [(1, 600), (3, 600), (20, 600), (1, 9), (7, 40)], ids=str)
def test_searches_with_length_limits_agree_with_the_plain_twin(
    lengths: tuple[int, int], gaps: bool
) -> None:
    oracle = AllowedSegmentsOracle(Lengths(*lengths))
    rule = Lengths(*lengths)
    asked = AllowedSegmentsOracle(lambda starts, end, n: rule(starts, end, n))
    for T in (40, 257, 600):
        for truthful in (False, True):
            A = objective("steps", T, truthful, 2)
            if gaps:
                Z = np.where(np.random.default_rng(T).random(A.Z.shape) < 0.3, np.nan, A.Z)
                Z[5:30, 0] = np.nan
                A = TraceObjective(Z, A.truth, A.truth_weight, A.shift, gaps=True)
            answer = oracle.maximize(A)
            expected = naive.best(naive.lengths_only(A.segment_scores(), *lengths))[0]
            assert answer.value == pytest.approx(expected, rel=1e-9)
            assert asked.maximize(A).y == answer.y
            assert lengths[0] <= answer.y.sizes.min() <= answer.y.sizes.max() <= lengths[1]
            if lengths[1] == 600:
                allowed = naive.lengths_only(A.segment_scores(), *lengths)
                two = oracle.maximize(A, Constraint(2)).value
                assert two == pytest.approx(naive.best_of_known_length(allowed, 2), rel=1e-9)
