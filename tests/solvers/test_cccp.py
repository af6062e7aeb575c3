"""Descent on risks that are not convex: it never rises, and both solvers find the same minimum."""

from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest
from cut_cases import planted
from noisy_master import FailsAfter
from scipy.optimize import minimize

from structsvm.data.instance import Instance
from structsvm.errors import MasterError, SettingsError
from structsvm.graphs.labelled_nodes import node_labels
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.partitions import Examples
from structsvm.problem import PSD, Custom, Nonnegative, Product, Separable, SquaredNorm, Status
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import CCCP, QuasiNewton
from structsvm.solvers.lbfgs import descend


def random_risk(seed, objective="normalized", metric="full", oracle="relaxed", lam=0.02, K=2):
    rng = np.random.default_rng(seed)
    graphs, labels = planted(rng, n=4, T=25, K=K, noise=2.0, sparse=seed % 2 == 1)
    problem = NormalizedCut(objective_kind=objective, oracle=oracle)
    instances = [Instance(0.4 * graph.X, graph) for graph in graphs]
    truths = [node_labels(y, graph) for y, graph in zip(labels, graphs, strict=True)]
    omega = SquaredNorm(lam, center=1.0)
    return problem.objective(metric, 3).risk(Examples(instances, truths), omega)


def objective(risk, w):
    return risk.losses(w)[0] + risk.penalty(w)


def uppers(found):
    """Return the best objective after each iteration, the start included."""
    return np.array([entry.upper for entry in found.history.entries])


def cccp(tol=1e-6, max_iter=100, **settings):
    return CCCP(Stopping(tol=tol, max_iter=max_iter), **settings)


def quasi_newton(tol=1e-4, max_iter=200):
    return QuasiNewton(Stopping(tol=tol, max_iter=max_iter))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["normalized", "plain"])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_the_objective_of_a_descent_never_rises(seed, kind, metric):
    risk = random_risk(seed, kind, metric, K=2 + seed // 2)
    start = 4.0 * risk.space.identity()
    found = cccp(tol=1e-5).solve(replace(risk, start=start))
    values = uppers(found)
    assert found.status is Status.STATIONARY
    assert values[0] == found.null == pytest.approx(objective(risk, start))
    assert (np.diff(values) <= 0).all()
    assert found.upper == values[-1] == pytest.approx(objective(risk, found.w))
    assert found.upper < found.null - 1e-3
    assert found.lower == -np.inf


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normalized", "plain"])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_cccp_and_quasi_newton_reach_the_same_minimum(seed, kind, metric):
    risk = random_risk(seed, kind, metric)
    start = risk.space.identity()
    convex = cccp(tol=1e-7).solve(replace(risk, start=start))
    quasi = quasi_newton(tol=1e-5).solve(replace(risk, start=start))
    assert convex.upper == pytest.approx(quasi.upper, rel=2e-4)
    for found in (convex, quasi):
        assert found.stationarity < 0.02
        assert found.status is Status.STATIONARY
        assert (np.diff(uppers(found)) <= 0).all()


def test_any_cvxpy_solver_can_be_the_master_of_cccp():
    risk = random_risk(0, metric="diagonal")
    start = risk.space.identity()
    inner = CuttingPlane(Stopping(tol=1e-3, max_iter=60), master=CvxpyMaster("clarabel"))
    conic = cccp(tol=1e-4, inner=inner).solve(replace(risk, start=start))
    usual = cccp(tol=1e-4).solve(replace(risk, start=start))
    assert conic.upper == pytest.approx(usual.upper, rel=1e-3)


@pytest.mark.parametrize("kind", ["normalized", "plain"])
def test_a_step_that_would_raise_the_objective_is_not_taken(kind):
    """With next to no proximal term the model is trusted too far at first."""
    risk = random_risk(0, kind, "diagonal", lam=1e-3)
    start = 6.0 * risk.space.identity()
    found = cccp(tol=1e-4, proximal=1e-4, max_iter=12).solve(replace(risk, start=start))
    assert any("rejected" in entry.master for entry in found.history.entries)
    assert (np.diff(uppers(found)) <= 0).all()


@pytest.mark.parametrize("solver", [cccp(max_iter=20), quasi_newton(max_iter=20)])
@pytest.mark.parametrize("kind", ["normalized", "plain"])
def test_a_descent_of_rounded_cuts_never_rises(solver, kind):
    risk = random_risk(2, kind, oracle="rounded")
    start = risk.space.identity()
    found = solver.solve(replace(risk, start=start))
    assert found.upper <= found.null
    assert (np.diff(uppers(found)) <= 0).all()
    assert found.upper == pytest.approx(objective(risk, found.w))


@pytest.mark.parametrize("solver", [cccp(), quasi_newton()])
def test_an_interrupted_descent_returns_the_best_weight_so_far(solver):
    risk = random_risk(0)

    def interrupt(entry):
        if entry.iteration == 2:
            raise KeyboardInterrupt

    found = solver.solve(replace(risk, start=3 * risk.space.identity()), interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.upper < found.null
    assert found.upper == pytest.approx(objective(risk, found.w))


def by_scipy(evaluate, start, tol):
    """Return the minimum that scipy finds, and how often it evaluates the function."""
    options = {"maxiter": 300, "gtol": tol, "ftol": tol**2}
    found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    assert found.success
    return found.fun, found.nfev


def test_quasi_newton_takes_about_as_many_evaluations_as_scipy_to_the_same_minima():
    ours = 0
    others = 0
    for seed, kind, size in product(range(5), ["normalized", "plain"], [1.0, 4.0]):
        risk = random_risk(seed, kind, metric="diagonal")
        risk = replace(risk, start=size * risk.space.identity())
        omega = risk.quadratic

        def evaluate(x, risk=risk, omega=omega):
            losses, slope = risk.losses(x**2)
            slope = slope + omega.curvature * (x**2 - omega.center) + omega.linear
            return losses + risk.penalty(x**2), 2.0 * slope * x

        least, calls = by_scipy(evaluate, np.sqrt(risk.start), tol=1e-4)
        found = quasi_newton().solve(risk)
        assert found.status is Status.STATIONARY
        assert found.upper == pytest.approx(least, abs=1e-7)
        ours += found.oracle_calls // risk.n_instances
        others += calls
    assert ours <= 1.1 * others


def rosenbrock(x):
    away = x[1:] - x[:-1] ** 2
    slope = np.zeros_like(x)
    slope[:-1] = -400 * x[:-1] * away - 2 * (1 - x[:-1])
    slope[1:] += 200 * away
    return float(100 * away @ away + (1 - x[:-1]) @ (1 - x[:-1])), slope


def steep(x):
    """Of curvatures from 1 to 1e4."""
    curvatures = np.logspace(0, 4, x.size)
    return float(curvatures @ x**2) / 2, curvatures * x


def tiny(x):
    value, slope = steep(x)
    return 1e-12 * value, 1e-12 * slope


def huge(x):
    value, slope = steep(x)
    return 1e12 * value, 1e12 * slope


@pytest.mark.parametrize("function", [rosenbrock, steep, tiny, huge])
@pytest.mark.parametrize("size", [2, 7, 30])
def test_l_bfgs_descends_to_the_minimum(function, size):
    start = np.linspace(-1.5, 1.3, size)
    enough = 1e-12 * function(start)[0]
    path = list(islice(descend(function, start), 600))
    values = [point.value for point in path]
    n_steps = next((k for k, value in enumerate(values) if value < enough), None)
    assert n_steps is not None
    assert (np.diff(values[: n_steps + 1]) < 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_l_bfgs_descends_past_kinks(seed):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.5, 3.0, size=4)

    def function(x):
        return float(scales @ np.abs(x)), scales * np.sign(x)

    path = list(islice(descend(function, rng.normal(size=4)), 500))
    assert (np.diff([point.value for point in path]) < 0).all()
    assert path[-1].value < 0.2 * path[0].value


def test_a_step_into_what_is_not_finite_is_made_shorter():
    def function(x):
        inside = x[0] < 1.0
        return (
            (float(-np.log1p(-x[0]) - 0.5 * x[0]), np.array([1 / (1 - x[0]) - 0.5]))
            if (inside)
            else (np.inf, np.array([np.nan]))
        )

    path = list(islice(descend(function, np.array([-9.0])), 100))
    assert path[-1].x == pytest.approx(-1.0, abs=1e-5)


def test_a_gradient_of_the_wrong_sign_ends_the_descent():
    def function(x):
        return float(x @ x), np.array([-2.0, 1.0]) * x

    path = list(islice(descend(function, np.array([1.0, 0.0])), 100))
    assert len(path) == 1


@pytest.mark.parametrize("solver", [cccp(max_iter=1), quasi_newton(max_iter=1)])
def test_a_descent_that_stops_early_says_so(solver):
    found = solver.solve(random_risk(0))
    assert found.status is Status.MAX_ITER
    assert not found.status.converged
    assert "before the tolerance was reached" in found.summary()


@pytest.mark.parametrize("solver", [cccp(), quasi_newton()])
def test_regularizers_without_a_gradient_are_refused(solver):
    risk = random_risk(0)
    custom = replace(risk, regularizer=Custom(lambda B: B[0, 0]))
    with pytest.raises(SettingsError, match="use SquaredNorm or Trace"):
        solver.solve(custom)


def test_descents_refuse_weights_that_are_no_metric():
    risk = random_risk(0)
    space = Product((PSD(3), Nonnegative(1)))
    both = replace(risk, space=space, regularizer=Separable((SquaredNorm(), SquaredNorm())))
    with pytest.raises(SettingsError, match="must be a metric for QuasiNewton"):
        QuasiNewton().solve(both)


def test_a_master_that_fails_in_a_later_round_loses_no_weight(caplog):
    risk = random_risk(1)
    solved = FailsAfter(problems=10**9)
    whole = cccp(inner=CuttingPlane(master=solved)).solve(risk)
    for n in range(1, len(solved.solved), 7):
        found = cccp(inner=CuttingPlane(master=FailsAfter(problems=n))).solve(risk)
        assert found.status is Status.MASTER_FAILED
        assert whole.upper <= found.upper == pytest.approx(objective(risk, found.w))
        assert found.upper <= whole.null
        assert "the best weight so far is returned" in caplog.text
        caplog.clear()


def test_a_master_of_cccp_that_fails_at_once_is_an_error():
    with pytest.raises(MasterError, match="no answer"):
        cccp(inner=CuttingPlane(master=FailsAfter())).solve(random_risk(1))


@pytest.mark.parametrize("seed", [0, 2])
def test_a_model_that_is_cut_short_certifies_no_minimum(seed):
    """It was called stationary, to 1e-6, where the objective could fall by half a percent."""
    found = cccp(inner=CuttingPlane(Stopping(tol=1e-3, max_iter=1))).solve(random_risk(seed))
    assert found.status is Status.STALLED
    assert found.upper > cccp().solve(random_risk(seed)).upper + 1e-3


@pytest.mark.parametrize("solver", [CCCP, QuasiNewton])
def test_a_descent_keeps_its_limit_of_oracle_calls(solver):
    for most in (20, 57):
        found = solver(Stopping(tol=1e-6, max_calls=most)).solve(random_risk(0))
        assert found.status is Status.MAX_CALLS
        assert found.oracle_calls <= most
