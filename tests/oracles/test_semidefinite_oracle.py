"""The semidefinite oracle: its bound holds, and it is the tightest of the relaxations."""

import os
import signal
import threading

import numpy as np
import pytest

from structsvm.errors import OracleError
from structsvm.oracles.exhaustive import ExhaustiveOracle
from structsvm.oracles.semidefinite import SemidefiniteOracle, certified_bound
from structsvm.oracles.spectral import SpectralOracle
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Quality


def case(seed: int) -> tuple[TraceObjective, Constraint]:
    """Plain and loss-augmented, K known and unknown, by turns."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(5, 10))
    r = int(rng.integers(1, 4))
    labels = rng.integers(0, 3, T)
    Z = rng.standard_normal((T, r)) + 1.5 * rng.standard_normal((3, r))[labels]
    truth = EquivalenceMatrix.from_labels(labels)
    K = truth.n_clusters if seed % 2 else None
    if seed % 4 < 2:
        return TraceObjective(Z, shift=-1.0), Constraint(n_clusters=K)
    return TraceObjective(Z, truth, 2.0, shift=-0.3), Constraint(n_clusters=K)


def test_ctrl_c_that_scs_takes_ends_the_search() -> None:
    """SCS answers it itself, and says that it failed."""
    Z = np.random.default_rng(0).standard_normal((40, 3))
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        SemidefiniteOracle(tol=1e-300).relax(TraceObjective(Z, shift=-1.0))
    timer.join()


def scale(objective: TraceObjective) -> float:
    return float(np.sum(objective.Z**2)) + 1.0


def test_the_semidefinite_bound_is_the_tightest_relaxation() -> None:
    """optimum <= semidefinite <= centred spectral <= plain spectral, on 80 brute-forced cases.

    Where the bound meets the partition, the answer says that it is exact.
    """
    optimal = 0
    gaps = []
    qualities = []
    for seed in range(80):
        objective, constraint = case(seed)
        best = ExhaustiveOracle().maximize(objective, constraint).value
        answer = SemidefiniteOracle().maximize(objective, constraint)
        centred = SpectralOracle(True).maximize(objective, constraint).upper_bound
        plain = SpectralOracle(False).maximize(objective, constraint).upper_bound
        eps = 1e-11 * scale(objective)
        assert answer.value <= best + eps
        assert best <= answer.upper_bound + eps
        assert answer.upper_bound <= centred + eps
        assert centred <= plain + eps
        assert answer.value == objective.value(answer.y)
        if answer.quality is Quality.EXACT:
            assert answer.value == pytest.approx(best, abs=2e-7 * scale(objective))
        qualities.append(answer.quality)
        optimal += answer.value >= best - 1e-9 * scale(objective)
        gaps.append(
            np.array([answer.upper_bound, centred, plain]) / scale(objective)
            - best / scale(objective)
        )
    semidefinite, centred, plain = np.median(gaps, axis=0)
    assert optimal >= 76
    assert semidefinite < 1e-3 < centred < plain
    assert qualities.count(Quality.EXACT) >= 10
    assert set(qualities) <= {Quality.EXACT, Quality.RELAXATION}


def test_the_semidefinite_solution_is_feasible_and_meets_its_bound() -> None:
    """Primal feasibility, and a duality gap as small as the accuracy that was asked for."""
    for seed in range(20):
        objective, constraint = case(seed)
        solution = SemidefiniteOracle(tol=1e-8).relax(objective, constraint)
        M = solution.M
        N = solution.multipliers
        assert np.abs(M.sum(axis=1) - 1.0).max() < 1e-5
        assert M.min() > -1e-5
        assert np.linalg.eigvalsh(M)[0] > -1e-5
        if constraint.n_clusters is not None:
            assert np.trace(M) == pytest.approx(constraint.n_clusters, abs=1e-5)
        assert np.abs(N * M).max() < 1e-4 * scale(objective)  # complementary slackness
        primal = float(np.sum(objective.dense() * M))
        assert abs(solution.upper_bound - primal) < 1e-5 * scale(objective)


def test_any_multipliers_give_a_semidefinite_bound() -> None:
    """The certificate does not depend on where N comes from."""
    rng = np.random.default_rng(0)
    for seed in range(60):
        objective, constraint = case(seed)
        T = objective.n_samples
        best = ExhaustiveOracle().maximize(objective, constraint).value
        N = rng.exponential(size=(T, T)) * 10.0 ** rng.integers(-2, 2)
        N = np.triu(N, 1) + np.triu(N, 1).T
        assert best <= certified_bound(objective.dense(), N, constraint.n_clusters)


def test_a_careless_solver_leaves_a_valid_bound() -> None:
    for seed in range(20):
        objective, constraint = case(seed)
        best = ExhaustiveOracle().maximize(objective, constraint).value
        careless = SemidefiniteOracle(tol=0.1).relax(objective, constraint).upper_bound
        careful = SemidefiniteOracle().relax(objective, constraint).upper_bound
        spectral = SpectralOracle().maximize(objective, constraint).upper_bound
        assert best <= careless + 1e-11 * scale(objective)
        assert careful <= careless + 1e-6 * scale(objective)
        assert careless <= spectral + 1e-11 * scale(objective)


@pytest.mark.parametrize("K", [1, 6])
def test_one_cluster_and_all_clusters_need_no_solver(K: int) -> None:
    Z = np.random.default_rng(0).standard_normal((6, 2))
    objective = TraceObjective(Z, EquivalenceMatrix.from_labels([0, 1, 1, 0, 2, 2]), 2.0)
    answer = SemidefiniteOracle("no such solver").maximize(objective, Constraint(n_clusters=K))
    assert answer.quality is Quality.EXACT
    assert answer.y.n_clusters == K
    assert answer.upper_bound == pytest.approx(answer.value, abs=1e-12)


def test_bad_settings_of_the_semidefinite_oracle_are_refused() -> None:
    objective = TraceObjective(np.random.default_rng(0).standard_normal((12, 2)))
    constraint = Constraint(n_clusters=3)
    with pytest.raises(OracleError, match=r"12 samples are too many.*\(max_samples=10\)"):
        SemidefiniteOracle(max_samples=10).maximize(objective, constraint)
    with pytest.raises(OracleError, match=r"NOT_A_SOLVER failed.*try another solver of"):
        SemidefiniteOracle("NOT_A_SOLVER").relax(objective, constraint)
    with pytest.raises(OracleError, match="HIGHS failed"):
        SemidefiniteOracle("HIGHS").relax(objective, constraint)
