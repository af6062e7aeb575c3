"""Descent on risks that are not convex: it never rises, and both solvers find the same minimum."""

from dataclasses import replace

import numpy as np
import pytest
from cut_cases import planted
from noisy_master import FailsAfter
from scipy.optimize import minimize

from structsvm.data.sample import Sample
from structsvm.errors import MasterError, SettingsError
from structsvm.graphs.labelled_nodes import node_labels
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.partitions import Examples
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.regularizers import Custom, Separable, SquaredNorm
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import CCCP, QuasiNewton
from structsvm.status import Status
from structsvm.weights import PSD, Nonnegative, Product


def random_risk(seed, objective="normalized", metric="full", oracle="relaxed", lam=0.02, K=2):
    rng = np.random.default_rng(seed)
    graphs, labels = planted(rng, n=4, T=25, K=K, noise=2.0, sparse=seed % 2 == 1)
    problem = NormalizedCut(objective_kind=objective, oracle=oracle)
    samples = [Sample(0.4 * graph.X, graph) for graph in graphs]
    truths = [node_labels(y, graph) for y, graph in zip(labels, graphs, strict=True)]
    omega = SquaredNorm(lam, center=1.0)
    return problem.objective(metric, 3).risk(Examples(samples, truths), omega)


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
def test_the_true_objective_never_rises(seed, kind, metric):
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
def test_both_solvers_reach_the_same_minimum(seed, kind, metric):
    risk = random_risk(seed, kind, metric)
    start = risk.space.identity()
    convex = cccp(tol=1e-7).solve(replace(risk, start=start))
    quasi = quasi_newton(tol=1e-5).solve(replace(risk, start=start))
    assert convex.upper == pytest.approx(quasi.upper, rel=2e-4)
    for found in (convex, quasi):
        assert found.stationarity < 0.02
        assert found.status is Status.STATIONARY
        assert (np.diff(uppers(found)) <= 0).all()


def test_any_cvxpy_solver_can_be_the_master():
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
def test_rounded_cuts_descend_too(solver, kind):
    risk = random_risk(2, kind, oracle="rounded")
    start = risk.space.identity()
    found = solver.solve(replace(risk, start=start))
    assert found.upper <= found.null
    assert (np.diff(uppers(found)) <= 0).all()
    assert found.upper == pytest.approx(objective(risk, found.w))


@pytest.mark.parametrize("solver", [cccp(), quasi_newton()])
def test_an_interrupted_run_returns_the_best_so_far(solver):
    risk = random_risk(0)

    def interrupt(entry):
        if entry.iteration == 2:
            raise KeyboardInterrupt

    found = solver.solve(replace(risk, start=3 * risk.space.identity()), interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.upper < found.null
    assert found.upper == pytest.approx(objective(risk, found.w))


@pytest.mark.parametrize("seed", range(3))
def test_quasi_newton_takes_the_steps_of_one_whole_run_and_evaluates_nothing_twice(seed):
    """As scipy reports them to a callback."""
    risk = random_risk(seed, metric="diagonal")
    values = []
    asked = set()

    def value(x):
        w = x**2
        asked.add(w.tobytes())
        losses, slope = risk.losses(w)
        omega = risk.quadratic
        slope = slope + omega.curvature * (w - omega.center) + omega.linear
        return losses + risk.penalty(w), 2.0 * slope * x

    def note(intermediate_result):
        values.append(intermediate_result.fun)

    options = {"maxiter": 300, "gtol": 1e-4, "ftol": 1e-8}
    minimize(
        value, np.sqrt(risk.start), jac=True, method="L-BFGS-B", callback=note, options=options
    )
    found = quasi_newton().solve(risk)
    assert len(values) > 2
    assert len(found.history.entries) == len(values) + 2
    np.testing.assert_array_equal(uppers(found)[1:-1], np.minimum.accumulate(values))
    assert found.oracle_calls == len(asked | {risk.start.tobytes()}) * risk.n_samples


@pytest.mark.parametrize("solver", [cccp(max_iter=1), quasi_newton(max_iter=1)])
def test_too_few_steps_say_so(solver):
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


def test_what_is_no_metric_is_refused():
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


def test_a_master_that_fails_at_once_is_an_error():
    with pytest.raises(MasterError, match="no answer"):
        cccp(inner=CuttingPlane(master=FailsAfter())).solve(random_risk(1))


@pytest.mark.parametrize("seed", [0, 2])
def test_models_that_are_cut_short_say_nothing_of_a_minimum(seed):
    """It was called stationary, to 1e-6, where the objective could fall by half a percent."""
    found = cccp(inner=CuttingPlane(Stopping(tol=1e-3, max_iter=1))).solve(random_risk(seed))
    assert found.status is Status.STALLED
    assert found.upper > cccp().solve(random_risk(seed)).upper + 1e-3


@pytest.mark.parametrize("solver", [CCCP, QuasiNewton])
def test_a_descent_makes_no_more_oracle_calls_than_it_may(solver):
    for most in (20, 57):
        found = solver(Stopping(tol=1e-6, max_calls=most)).solve(random_risk(0))
        assert found.status is Status.MAX_CALLS
        assert found.oracle_calls <= most
