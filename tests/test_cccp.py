"""Descent on risks that are not convex: it never rises, and both solvers find the same minimum."""

import numpy as np
import pytest
from cut_cases import planted

from structsvm.errors import SettingsError
from structsvm.graphs.labels import node_labels
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.problems.normalized_cut import CutRisk, NormalizedCut
from structsvm.regularizers import Custom, Separable, SquaredNorm, Trace
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.status import Status
from structsvm.weights import PSD, Nonnegative, Product

SPACES = {"diagonal": Nonnegative, "full": PSD}


def random_risk(seed, objective="normalized", metric="full", oracle="relaxed", lam=0.02, K=2):
    rng = np.random.default_rng(seed)
    graphs, labels = planted(rng, n=4, T=25, K=K, noise=2.0, sparse=seed % 2 == 1)
    problem = NormalizedCut(objective=objective, oracle=oracle)
    scale = np.full(3, 0.4)
    hinges = [
        problem.hinge(g, node_labels(y, g), scale) for g, y in zip(graphs, labels, strict=True)
    ]
    decoder = problem.decoder if oracle == "rounded" else None
    return CutRisk(hinges, SPACES[metric](3), SquaredNorm(lam, center=1.0), decoder)


def objective(risk, w):
    return risk.losses(w)[0] + risk.regularizer.value(w, risk.space)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["normalized", "plain"])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_the_true_objective_never_rises(seed, kind, metric):
    risk = random_risk(seed, kind, metric, K=2 + seed // 2)
    start = 4.0 * risk.space.identity()
    found = CCCP(tol=1e-5).minimize(risk, start)
    values = [entry.objective for entry in found.history]
    assert found.status is Status.STATIONARY
    assert values[0] == pytest.approx(objective(risk, start))
    assert (np.diff(values) < 0).all()
    assert found.objective == values[-1] == pytest.approx(objective(risk, found.w))
    assert found.objective < found.start - 1e-3
    assert found.n_iter == len(values) - 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normalized", "plain"])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_both_solvers_reach_the_same_minimum(seed, kind, metric):
    risk = random_risk(seed, kind, metric)
    start = risk.space.identity()
    convex = CCCP(tol=1e-7).minimize(risk, start)
    quasi = QuasiNewton(tol=1e-5).minimize(risk, start)
    assert convex.objective == pytest.approx(quasi.objective, rel=2e-4)
    for found in (convex, quasi):
        assert found.stationarity < 0.02
        assert found.status is Status.STATIONARY
        assert (np.diff([entry.objective for entry in found.history]) <= 0).all()


def test_any_cvxpy_solver_can_be_the_master():
    risk = random_risk(0, metric="diagonal")
    start = risk.space.identity()
    inner = CuttingPlane(Stopping(tol=1e-3, max_iter=60), master=CvxpyMaster("clarabel"))
    conic = CCCP(tol=1e-4, inner=inner).minimize(risk, start)
    usual = CCCP(tol=1e-4).minimize(risk, start)
    assert conic.objective == pytest.approx(usual.objective, rel=1e-3)


@pytest.mark.parametrize("kind", ["normalized", "plain"])
def test_a_step_that_would_raise_the_objective_is_not_taken(kind):
    """With next to no proximal term the model is trusted too far at first."""
    risk = random_risk(0, kind, "diagonal", lam=1e-3)
    start = 6.0 * risk.space.identity()
    found = CCCP(tol=1e-4, proximal=1e-4, max_iter=12).minimize(risk, start)
    assert found.rejected > 0
    assert (np.diff([entry.objective for entry in found.history]) < 0).all()


def test_the_model_touches_the_risk_and_is_tangent_to_it():
    risk = random_risk(1)
    w = risk.space.identity()
    model = risk.model(w, risk.regularizer)
    value, gradient = risk.losses(w)
    separations = [model.problem.separate(w, x, y) for x, y in zip(model.xs, model.ys, strict=True)]
    at_w = np.mean([s.y.offset + s.y.slope @ w for s in separations])
    assert at_w == pytest.approx(value)
    np.testing.assert_allclose(np.mean([s.y.slope for s in separations], axis=0), gradient)
    # To first order the model is the risk.
    rng = np.random.default_rng(0)
    step = risk.space.from_metric(np.diag(1e-4 * rng.normal(size=3)))
    moved = [
        model.problem.separate(w + step, x, y) for x, y in zip(model.xs, model.ys, strict=True)
    ]
    modelled = np.mean([s.y.offset + s.y.slope @ (w + step) for s in moved])
    assert modelled == pytest.approx(risk.losses(w + step)[0], abs=1e-6)


@pytest.mark.parametrize("solver", [CCCP(max_iter=20), QuasiNewton(max_iter=20)])
@pytest.mark.parametrize("kind", ["normalized", "plain"])
def test_rounded_cuts_descend_too(solver, kind):
    risk = random_risk(2, kind, oracle="rounded")
    start = risk.space.identity()
    found = solver.minimize(risk, start)
    assert found.objective <= found.start
    assert (np.diff([entry.objective for entry in found.history]) <= 0).all()
    assert found.objective == pytest.approx(objective(risk, found.w))


@pytest.mark.parametrize("solver", [CCCP(), QuasiNewton()])
def test_an_interrupted_run_returns_the_best_so_far(solver):
    risk = random_risk(0)

    def interrupt(entry):
        if entry.iteration == 2:
            raise KeyboardInterrupt

    found = solver.minimize(risk, 3 * risk.space.identity(), interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.objective < found.start
    assert found.objective == pytest.approx(objective(risk, found.w))


@pytest.mark.parametrize("solver", [CCCP(max_iter=1), QuasiNewton(max_iter=1)])
def test_too_few_steps_say_so(solver):
    found = solver.minimize(random_risk(0), PSD(3).identity())
    assert found.status is Status.TOO_FEW_STEPS
    assert not found.status.converged
    assert "still falling" in found.summary()


@pytest.mark.parametrize("solver", [CCCP(tol=1e-5), QuasiNewton()])
def test_trace_regularizer(solver):
    risk = random_risk(0)
    traced = CutRisk(risk.hinges, risk.space, Trace(0.05))
    found = solver.minimize(traced, risk.space.identity())
    assert found.objective < found.start


@pytest.mark.parametrize("solver", [CCCP(), QuasiNewton()])
def test_regularizers_without_a_gradient_are_refused(solver):
    risk = random_risk(0)
    custom = CutRisk(risk.hinges, risk.space, Custom(lambda B: B[0, 0]))
    with pytest.raises(SettingsError, match="use SquaredNorm or Trace"):
        solver.minimize(custom, risk.space.identity())


def test_what_is_no_metric_is_refused():
    risk = random_risk(0)
    space = Product((PSD(3), Nonnegative(1)))
    both = CutRisk(risk.hinges, space, Separable((SquaredNorm(), SquaredNorm())))
    with pytest.raises(SettingsError, match="needs a metric"):
        QuasiNewton().minimize(both, np.ones(7))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CCCP(tol=0), "tol must be > 0"),
        (lambda: CCCP(max_iter=0), "max_iter must be at least 1"),
        (lambda: CCCP(proximal=0), "proximal must be > 0"),
        (lambda: QuasiNewton(tol=0), "tol must be > 0"),
        (lambda: QuasiNewton(max_iter=0), "max_iter must be at least 1"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(SettingsError, match=message):
        make()
