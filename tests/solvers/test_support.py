"""The support labellings of an optimum, and the program of cvxpy that they make."""

import pickle
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from cases import cases
from enumerated import listed_risk, optimum
from recording_cases import recordings

from structsvm import Clustering, MetricLearner, load, save
from structsvm.errors import SettingsError
from structsvm.interop import risk_of
from structsvm.partitions import EquivalenceMatrix
from structsvm.problem import PSD, Custom, Free, Nonnegative, Product, Separable, SquaredNorm, Trace
from structsvm.problems import ChangePoint
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, CvxpyMaster, Memory, Stopping

Xs, YS = recordings(5, T=50)
TIGHT = Stopping(tol=1e-4)
CASES = {
    "diagonal": {"metric": "diagonal"},
    "full": {"metric": "full"},
    "trace": {"metric": "full", "regularizer": "trace"},
    "known number": {"problem": ChangePoint(segment_count="known")},
    "fixed price": {"problem": ChangePoint(penalty="fixed", kappa=0.5), "metric": "diagonal"},
    "constraints": {"metric": "full", "constraints": lambda B: [B[0, 0] <= 0.2, cp.trace(B) <= 2]},
    "custom": {
        "metric": "diagonal",
        "regularizer": Custom(lambda b: cp.norm1(b) + cp.sum_squares(b)),
    },
}
METHODS = {
    "n slacks": CuttingPlane(TIGHT),
    "one slack": CuttingPlane(TIGHT, slack="one"),
    "merged cuts": CuttingPlane(Stopping(tol=1e-3), max_cuts=10),
    "cvxpy master": CuttingPlane(TIGHT, master=CvxpyMaster()),
}


def learned(solver, **settings):
    return MetricLearner(solver=solver, **settings).fit(Xs, YS)


def is_between(value, solution, tol):
    scale = tol * abs(solution.upper)
    return solution.lower - scale <= value <= solution.upper + scale


@pytest.mark.parametrize("case", CASES)
def test_the_program_of_the_support_has_the_certified_value_with_any_solver(case):
    learner = learned(CuttingPlane(TIGHT), **CASES[case])
    program = risk_of(learner, Xs, YS).as_cvxpy(learner.solution_)
    for solver, options in (("CLARABEL", {}), ("SCS", {"eps_abs": 1e-8, "eps_rel": 1e-8})):
        value = program.solve(solver=solver, **options)
        assert is_between(value, learner.solution_, 1e-6), solver


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_multipliers_has_its_support(method, metric):
    learner = learned(METHODS[method], metric=metric)
    solution = learner.solution_
    risk = risk_of(learner, Xs, YS)
    program = risk.as_cvxpy(solution)
    assert is_between(program.solve(solver="CLARABEL"), solution, 1e-6)
    assert all(found.plane is None for found in solution.support)
    sums = np.bincount(
        [found.instance for found in solution.support],
        weights=[found.multiplier for found in solution.support],
        minlength=len(Xs),
    )
    assert (sums <= risk.sample_weight * (1 + 1e-9)).all()
    multipliers = [found.multiplier for found in solution.support]
    assert multipliers == sorted(multipliers, reverse=True)
    assert min(multipliers) > 0


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_follows_from_the_support_alone(method):
    """``sum alpha o + min Omega(w) + <sum alpha psi, w>``, as the definition has it."""
    learner = learned(METHODS[method], metric="diagonal")
    risk = risk_of(learner, Xs, YS)
    problem = learner.problem_.objective("diagonal", 4)
    offset = 0.0
    slope = np.zeros(risk.space.dim)
    for found in learner.solution_.support:
        x = risk.xs[found.instance]
        truth = risk.ys[found.instance]
        y = EquivalenceMatrix.from_labels(found.labelling.labels)
        offset += found.multiplier * found.loss
        away = problem.joint_feature(x, y) - problem.joint_feature(x, truth)
        slope += found.multiplier * away
    bound = offset + risk.regularizer.minimum(slope, risk.space, np.inf)
    assert bound == pytest.approx(learner.solution_.lower, rel=1e-6)


@cases(
    (Free(3), SquaredNorm(0.5)),
    (Nonnegative(4), Trace(0.4)),
    (PSD(3), SquaredNorm(0.2)),
    (
        Product((Free(2), Nonnegative(2), Free(1))),
        Separable((SquaredNorm(0.3), Trace(0.2), SquaredNorm(1.0))),
    ),
)
@pytest.mark.parametrize("slack", ["n", "one"])
def test_the_support_alone_has_the_optimum_over_all_labellings(slack, space, omega):
    risk = listed_risk(space, omega)
    solution = CuttingPlane(Stopping(tol=1e-6), slack=slack).solve(risk)
    value = risk.as_cvxpy(solution).solve(solver="CLARABEL")
    assert value == pytest.approx(optimum(risk), rel=1e-5)


def test_duals_of_the_support_are_derivatives_of_the_objective():
    """The derivative of the optimum with respect to a right side, by central differences."""

    def solution(bound):
        def kept(B):
            return [B[0, 0] <= bound, B[1, 1] >= 0.05, cp.norm(B, "fro") <= 10.0]

        solver = CuttingPlane(Stopping(tol=1e-6), master=CvxpyMaster("CLARABEL"))
        return MetricLearner(constraints=kept, solver=solver).fit(Xs, YS).solution_

    step = 0.004
    here = solution(0.2)
    falls = (solution(0.2 - step).upper - solution(0.2 + step).upper) / (2 * step)
    assert len(here.duals) == 3
    assert here.duals[0] == pytest.approx(falls, rel=0.05)
    assert here.duals[0] > 0.1 > 1e-6 > abs(here.duals[2])


def test_methods_without_multipliers_have_no_support():
    learner = learned(BlockFrankWolfe(), metric="diagonal")
    assert learner.solution_.support is None
    with pytest.raises(SettingsError, match=r"no support labellings: learn with CuttingPlane"):
        risk_of(learner, Xs, YS).as_cvxpy(learner.solution_)


def test_a_solution_of_another_risk_is_refused():
    solution = learned(CuttingPlane(), metric="diagonal").solution_
    with pytest.raises(SettingsError, match=r"of another risk, with 5 weights"):
        risk_of(MetricLearner(), Xs, YS).as_cvxpy(solution)
    with pytest.raises(SettingsError, match=r"more than 4 instances: here are 5 and 2"):
        risk_of(MetricLearner(metric="diagonal"), Xs[:2], YS[:2]).as_cvxpy(solution)


def test_a_model_file_keeps_the_support(tmp_path):
    settings = {"constraints": CASES["constraints"]["constraints"]}
    learner = learned(CuttingPlane(TIGHT), **settings)
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm").solution_
    assert [vars_of(found) for found in again.support] == [
        vars_of(found) for found in learner.solution_.support
    ]
    np.testing.assert_allclose(again.duals, learner.solution_.duals)
    program = risk_of(learner, Xs, YS).as_cvxpy(again)
    assert is_between(program.solve(solver="CLARABEL"), again, 1e-6)


def vars_of(found):
    return found.instance, found.multiplier, found.labelling, found.truth, found.loss


def test_a_resumed_run_keeps_planes_without_labellings_in_its_support(tmp_path):
    risk = risk_of(MetricLearner(metric="diagonal"), Xs, YS)
    for slack in ("n", "one"):
        path = tmp_path / slack
        CuttingPlane(Stopping(max_iter=3), slack=slack).solve(risk, resume=path)
        solution = CuttingPlane(Stopping(tol=1e-4), slack=slack).solve(risk, resume=path)
        value = risk.as_cvxpy(solution).solve(solver="CLARABEL")
        assert is_between(value, solution, 1e-6)
        ended = CuttingPlane(Stopping(tol=1e-4), slack=slack).solve(risk, resume=path)
        assert ended.support is None


def test_runs_that_share_a_memory_share_labellings_of_the_support():
    risk = risk_of(MetricLearner(metric="diagonal"), Xs, YS)
    memory = Memory()
    for lam in (1.0, 0.1):
        step = replace(risk, regularizer=risk.problem.regularizer(SquaredNorm(), lam))
        solution = CuttingPlane(TIGHT).solve(step, memory=memory)
        assert all(found.plane is None for found in solution.support)


def test_support_labellings_of_tables_are_clusters_of_rows():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    table = np.column_stack([y + 0.3 * rng.normal(size=30), rng.normal(size=30)])
    learner = MetricLearner(Clustering(), metric="diagonal").fit([table, table + 1.0], [y, y])
    for found in learner.solution_.support:
        assert (found.labelling is None) == (found.plane is not None)
        if found.labelling is not None:
            assert found.labelling.labels.shape == (30,)
    value = risk_of(learner, [table, table + 1.0], [y, y]).as_cvxpy(learner.solution_)
    assert is_between(value.solve(solver="CLARABEL"), learner.solution_, 1e-6)


@cases([0, 0, 1, 2], [0, 1, 0, 1], [3], [0] * 400 + [1], list(range(300)))
def test_a_pickled_partition_is_whole_and_small(labels):
    M = EquivalenceMatrix.from_labels(labels)
    assert {M: 1}[pickle.loads(pickle.dumps(M))] == 1
    assert M.n_bytes <= 2 * len(labels) + 2
    assert M != labels
