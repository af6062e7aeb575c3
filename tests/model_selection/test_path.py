"""A path of regularizers, each run beginning with what the one before found."""

from dataclasses import replace

import pytest
from cases import cases
from enumerated import Relaxed, listed_risk
from recording_cases import recordings_of_two_kinds as recordings

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.errors import SettingsError
from structsvm.interop import risk_of
from structsvm.model_selection import attempts
from structsvm.problem import PSD, SquaredNorm, Status, Trace
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient
from structsvm.solvers.planes import Memory

STOPPING = Stopping(tol=1e-3, max_iter=2000)
LAMS = (1.0, 0.1, 0.02)


@pytest.fixture(scope="module")
def risk():
    return risk_of(MetricLearner(metric="diagonal"), *recordings())


def path(risk, regularizer=None):
    """The same samples with weaker and weaker regularizers, in the units of the learner."""
    regularizer = SquaredNorm() if regularizer is None else regularizer
    return [replace(risk, regularizer=risk.problem.regularizer(regularizer, lam)) for lam in LAMS]


@cases(
    CuttingPlane(STOPPING),
    CuttingPlane(STOPPING, slack="one"),
    BlockFrankWolfe(Stopping(tol=1e-2, max_iter=2000)),
)
def test_a_path_of_lam_needs_fewer_calls_for_the_same_certificates(risk, solver):
    memory = Memory()
    calls = []
    for step in path(risk):
        warm = solver.solve(step, memory=memory)
        cold = solver.solve(step)
        for found in (warm, cold):
            assert found.gap <= solver.stopping.tol
            value = step.penalty(found.w) + hinge(step, found.w)
            assert value == pytest.approx(found.upper, rel=1e-9)
        assert max(warm.lower, cold.lower) <= min(warm.upper, cold.upper) + 1e-12
        assert warm.null == cold.null
        calls.append((warm.oracle_calls, cold.oracle_calls))
    assert calls[0][0] == calls[0][1]
    assert all(warm <= cold - 2 * risk.n_instances for warm, cold in calls[1:])


def hinge(risk, w):
    """The weighted hinge losses at a weight, from their definition."""
    total = 0.0
    for x, y, omega in zip(risk.xs, risk.ys, risk.sample_weight, strict=True):
        problem = risk.problem
        found = problem.separate(w, x, y).y
        gain = (problem.joint_feature(x, found) - problem.joint_feature(x, y)) @ w
        total += omega * max(0.0, problem.loss(y, found) + gain)
    return total


@pytest.mark.parametrize("regularizer", [Trace(), SquaredNorm(center=1.0)])
def test_a_path_of_other_regularizers_ends_where_each_fit_does(regularizer, risk):
    memory = Memory()
    solver = CuttingPlane(STOPPING)
    for step in path(risk, regularizer):
        warm = solver.solve(step, memory=memory)
        cold = solver.solve(step)
        assert max(warm.lower, cold.lower) <= min(warm.upper, cold.upper) + 1e-12
        assert warm.gap <= STOPPING.tol


def test_a_path_of_lam_keeps_constraints(risk):
    """The best weight of the run before keeps them too, or it would be no candidate."""
    tied = replace(risk, constraints=lambda b: [b[0] == b[1]])
    memory = Memory()
    solver = CuttingPlane(STOPPING)
    for step in path(tied):
        warm = solver.solve(step, memory=memory)
        assert warm.w[0] == pytest.approx(warm.w[1], abs=1e-5)


def test_the_best_weight_of_a_run_without_constraints_is_no_candidate_with_them(risk):
    memory = Memory()
    solver = CuttingPlane(STOPPING)
    free = solver.solve(risk, memory=memory)
    bounded = replace(risk, constraints=lambda b: [b <= 0.5 * free.w[:-1].max()])
    warm = solver.solve(bounded, memory=memory)
    cold = solver.solve(bounded)
    assert max(warm.lower, cold.lower) <= min(warm.upper, cold.upper) + 1e-6
    assert warm.w[:-1].max() <= 0.5 * free.w[:-1].max() + 1e-5


def test_a_solver_that_has_no_cuts_still_knows_the_start(risk):
    memory = Memory()
    solver = ProjectedSubgradient(Stopping(tol=0.3, max_iter=50))
    first, second = path(risk)[:2]
    solver.solve(first, memory=memory)
    warm = solver.solve(second, memory=memory)
    cold = solver.solve(second)
    assert warm.oracle_calls <= cold.oracle_calls - 2 * risk.n_instances
    assert warm.upper <= second.penalty(memory.best.w) + float(memory.best.values.sum()) + 1e-12


def test_the_memory_of_another_problem_is_refused(risk):
    memory = Memory()
    solver = CuttingPlane(Stopping(max_iter=2))
    solver.solve(risk, memory=memory)
    other = risk_of(MetricLearner(metric="diagonal"), *recordings())
    with pytest.raises(SettingsError, match="of other instances or of another solver"):
        solver.solve(other, memory=memory)
    for another in (replace(solver, slack="one"), BlockFrankWolfe()):
        with pytest.raises(SettingsError, match="begin with a new Memory"):
            another.solve(risk, memory=memory)
    replace(solver, stopping=Stopping(tol=0.1)).solve(risk, memory=memory)


def test_an_unfinished_run_passes_its_planes_on(risk):
    memory = Memory()
    first, second = path(risk)[:2]
    CuttingPlane(Stopping(tol=1e-9, max_calls=20)).solve(first, memory=memory)
    warm = CuttingPlane(STOPPING).solve(second, memory=memory)
    cold = CuttingPlane(STOPPING).solve(second)
    assert warm.oracle_calls < cold.oracle_calls
    assert max(warm.lower, cold.lower) <= min(warm.upper, cold.upper) + 1e-12


# ---- choosing by cross-validation


def search(**settings):
    usual = {"candidates": ("untrained", "rca", "diagonal"), "lams": LAMS, "cv": 3}
    return MetricLearnerCV(**usual, random_state=0, **settings)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_baselines_that_do_not_depend_on_lam_are_tuned_once_a_fold(monkeypatch):
    tuned = []

    def counted(name, problem, data, *settings):
        tuned.append((name, len(data.instances)))
        return original(name, problem, data, *settings)

    original = attempts.tuned
    monkeypatch.setattr(attempts, "tuned", counted)
    found = search().fit(*recordings())
    in_folds = [kind for kind, n in tuned if n == 4]
    assert sorted(in_folds) == ["rca"] * 3 + ["untrained"] * 3
    calls = found.cv_results_["mean_oracle_calls"]
    assert calls[:2] == [0, 0]
    assert calls[2] > max(calls[3:])


@pytest.mark.parametrize("seed", [21, 26])
def test_an_interrupted_run_leaves_the_memory_unchanged(seed):
    """The program over the support of the next run has its value between the bounds."""
    solver = CuttingPlane(Stopping(1e-6), slack="one", cached_planes=3)
    memory = Memory()
    risk = listed_risk(PSD(3), SquaredNorm(), n_samples=8, n_labels=40, seed=seed)

    def stop(entry):
        if lam in (0.3, 0.1) and entry.iteration == 2:
            raise KeyboardInterrupt

    for lam in (1.0, 0.3, 0.1, 0.03):
        step = replace(risk, regularizer=SquaredNorm(lam))
        solution = solver.solve(step, stop, memory=memory)
    value = step.as_cvxpy(solution).solve(solver="CLARABEL")
    assert solution.lower - 1e-6 <= value <= solution.upper + 1e-6


@cases(
    ("n", 21, (0.02, 0.1)),
    ("n", 46, (8.0, 2.0, 0.5, 0.1, 0.02)),
    ("one", 54, (8.0, 2.0, 0.5, 0.1, 0.02)),
)
def test_planes_of_a_relaxation_are_none_of_the_problem_in_later_runs(slack, seed, lams):
    """Their oracles gave exact answers only, and a lower bound above the minimum was certified."""
    solver = CuttingPlane(STOPPING, slack)
    memory = Memory()
    risk = listed_risk(PSD(3), SquaredNorm(), n_samples=4, n_labels=18, seed=seed)
    risk = replace(risk, problem=Relaxed(PSD(3)))
    for lam in lams:
        found = solver.solve(replace(risk, regularizer=SquaredNorm(lam)), memory=memory)
    assert found.status is Status.RELAXED
    assert found.bound == "certified, for the relaxation"
