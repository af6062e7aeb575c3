"""The hinge in closed form: an independent test of oracles, masters and bounds."""

from itertools import chain, product

import cvxpy as cp
import numpy as np
import pytest
from cases import cases

from structsvm import MetricLearner
from structsvm.errors import DataError, SettingsError
from structsvm.interop import risk_of
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.modeling import StructuredHinge, segmentation_hinge
from structsvm.oracles import all_segmentations
from structsvm.partitions import EquivalenceMatrix, partition_loss
from structsvm.problems import ChangePoint, Clustering
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, Stopping

PROBLEMS = {
    "free number": ChangePoint(),
    "known number": ChangePoint(segment_count="known"),
    "fixed price": ChangePoint(penalty="fixed", kappa=0.5),
    "lengths": ChangePoint(min_length=2, max_length=10),
    "lengths and number": ChangePoint(segment_count="known", max_length=10),
}
METRICS = ("diagonal", "full")


def recordings(seed, n=3, T=12, P=3):
    """Recordings with two or three changes, seen by the first feature alone."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        ends = np.sort(rng.choice(np.arange(2, T - 1, 2), rng.integers(1, 4), replace=False))
        y = np.searchsorted(ends, np.arange(T), side="right")
        X = rng.normal(size=(T, P)) + 5.0
        X[:, 0] += 2.0 * y * rng.choice([-1, 1])
        Xs.append(X)
        ys.append(y)
    return Xs, ys


def drawn_weight(rng, metric, P=3):
    """A metric and a price of about the size of learned ones."""
    factor = rng.normal(size=(P, P)) / 2.0
    return (rng.exponential(size=P) if metric == "diagonal" else factor @ factor.T), 3.0


def weights_of(problem, B, price):
    learned = problem.traits.learns_price and not problem.traits.given_k
    return [B, price] if learned else B


@pytest.mark.parametrize("lengths", [{}, {"min_length": 2}])
def test_the_closed_form_hinge_ignores_missing_values_like_oracles(lengths):
    """The loss of recordings with a NaN was 0."""
    problem = ChangePoint(missing="mask", **lengths)
    (Xs, ys) = recordings(0)
    Xs[0][3, 0] = np.nan
    Xs[1][4:9, 1] = np.nan
    Xs[2][:, 2] = np.nan
    B, price = drawn_weight(np.random.default_rng(0), "diagonal")
    found = segmentation_hinge(problem, Xs, ys, [B, price]).value
    assert found == pytest.approx(StructuredHinge(problem, Xs, ys, [B, price]).value)
    assert found > 0
    with pytest.raises(DataError, match=r"recording 0: values are missing .* a matrix B mixes"):
        segmentation_hinge(problem, Xs, ys, [np.diag(B), price])


@pytest.mark.parametrize("known", [False, True])
def test_the_closed_form_hinge_is_its_definition_over_all_segmentations(known):
    (X,), (y,) = recordings(4, n=1, T=9)
    problem = ChangePoint(segment_count="known" if known else "unknown", kappa=0.7)
    truth = EquivalenceMatrix.from_labels(y)
    B, price = drawn_weight(np.random.default_rng(0), "full")

    def score(M):
        return np.trace(B @ M.gram(X)) - (0.0 if known else price * M.n_clusters)

    worst = max(
        0.7 * partition_loss(truth, M) + score(M) - score(truth)
        for M in map(EquivalenceMatrix.from_labels, all_segmentations(9))
        if not known or M.n_clusters == truth.n_clusters
    )
    hinge = segmentation_hinge(problem, [X], [y], B if known else [B, price])
    assert hinge.value == pytest.approx(worst / (truth.n_clusters - 1), rel=1e-10)


METHODS = {
    "newton": (CuttingPlane(Stopping(tol=1e-6), master=NewtonMaster()), "squared", METRICS),
    "cvxpy": (CuttingPlane(Stopping(tol=1e-6), master=CvxpyMaster("CLARABEL")), "squared", METRICS),
    "trace": (CuttingPlane(Stopping(tol=1e-6)), "trace", METRICS),
    "one slack": (CuttingPlane(Stopping(tol=1e-6), slack="one"), "squared", METRICS),
    "Frank-Wolfe": (BlockFrankWolfe(Stopping(tol=1e-3)), "squared", ("diagonal",)),
}
CASES = list(chain.from_iterable(product([name], METHODS[name][2]) for name in METHODS))


@pytest.mark.parametrize("name", ["free number", "known number", "fixed price", "lengths"])
@pytest.mark.parametrize(("method", "metric"), CASES)
def test_certified_bounds_enclose_the_value_of_the_program_without_oracles(method, metric, name):
    solver, regularizer, _ = METHODS[method]
    problem = PROBLEMS[name]
    (Xs, ys) = recordings(7)
    learner = MetricLearner(problem, metric, regularizer, lam=0.3, solver=solver)
    risk = risk_of(learner, Xs, ys)
    B, w, cone = risk.space.variable()
    price = weights_of(problem, None, True)
    weight = [B, w[-1]] if isinstance(price, list) else B
    seen = [x.X for x in risk.xs]
    hinge = segmentation_hinge(problem, seen, [y.breakpoints for y in risk.ys], weight)
    omega = risk.regularizer.as_cvxpy(B, w, risk.space)
    value = cp.Problem(cp.Minimize(omega + hinge), cone).solve(solver="CLARABEL")
    solution = solver.solve(risk)
    assert solution.status.converged
    assert solution.lower - 1e-6 <= value <= solution.upper + 1e-6


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_closed_form_hinge_equals_the_atom_of_oracles(name, metric):
    problem = PROBLEMS[name]
    (Xs, ys) = recordings(11)
    B = cp.Variable(3, nonneg=True) if metric == "diagonal" else cp.Variable((3, 3), PSD=True)
    weight = weights_of(problem, B, cp.Variable(nonneg=True))
    squares = [cp.sum_squares(cp.vec(w, order="F")) for w in ([B] if weight is B else weight)]
    ridge = 0.05 * sum(squares)
    limit = [B[0] <= 0.3] if metric == "diagonal" else [cp.trace(B) <= 0.6]
    closed = segmentation_hinge(problem, Xs, ys, weight)
    value = cp.Problem(cp.Minimize(ridge + closed), limit).solve(solver="CLARABEL")
    oracles = StructuredHinge(problem, Xs, ys, weight)
    assert oracles.value == pytest.approx(closed.value, rel=1e-9)
    again = cp.Problem(cp.Minimize(ridge + oracles), limit)
    assert again.solve(method="cutting-plane", tol=1e-6) == pytest.approx(value, rel=1e-5)
    assert again.solver_stats.extra_stats.lower <= value + 1e-6


def test_the_closed_form_hinge_is_a_convex_nonnegative_expression():
    Xs, ys = recordings(1)
    b = cp.Variable(3, nonneg=True)
    hinge = segmentation_hinge(ChangePoint(), Xs, ys, b)
    assert hinge.is_convex()
    assert hinge.is_nonneg()
    problem = cp.Problem(
        cp.Minimize(cp.sum(b)), [cp.square(hinge) <= 1.0, cp.maximum(hinge, 0) <= 2]
    )
    value = problem.solve(solver="CLARABEL")
    assert hinge.value == pytest.approx(1.0, abs=1e-6)
    assert problem.solve(solver="SCS", eps=1e-5) == pytest.approx(value, rel=1e-3)
    linear = cp.Problem(cp.Minimize(cp.sum(b)), [hinge <= 1.0])
    assert linear.solve(solver="SCIPY") == pytest.approx(value, rel=1e-6)


def test_weights_in_the_closed_form_hinge_stand_for_copies():
    Xs, ys = recordings(2)
    B = np.full(3, 0.4)
    weighted = segmentation_hinge(ChangePoint(), Xs, ys, B, sample_weight=[2, 1, 0])
    copied = segmentation_hinge(ChangePoint(), [Xs[0], Xs[0], Xs[1]], [ys[0], ys[0], ys[1]], B)
    assert weighted.value == pytest.approx(copied.value, rel=1e-12)


@cases(
    ({"problem": Clustering()}, SettingsError, r"problem is .*Clustering.*: give ChangePoint"),
    ({"weight": cp.Variable(2)}, SettingsError, r"expressions of shape \[\(3,\), \(1,\)\]"),
    ({"weight": [cp.Variable(3)] * 3}, SettingsError, "expressions of shape"),
    ({"weight": [cp.Variable(3)] * 2}, SettingsError, "expressions of shape"),
    ({"weight": cp.square(cp.Variable(3))}, SettingsError, "must be affine"),
    ({"problem": ChangePoint(max_length=2)}, DataError, "is not one that ChangePoint allows"),
    ({"ys": [[12]] * 3}, DataError, "no recording has a change"),
    ({"Xs": [np.zeros((1, 3))] * 3}, DataError, "recording 0"),
)
def test_problems_without_a_closed_form_hinge_are_refused(change, error, message):
    Xs, ys = recordings(0)
    given = {"problem": ChangePoint(), "Xs": Xs, "ys": ys, "weight": cp.Variable(3)} | change
    with pytest.raises(error, match=message):
        segmentation_hinge(**given)


def test_long_recordings_are_left_to_oracles():
    X = np.zeros((4000, 10))
    y = [2000, 4000]
    with pytest.raises(DataError, match="recording 0: 4000 samples have 8002000 segments"):
        segmentation_hinge(ChangePoint(), [X], [y], cp.Variable(10))
