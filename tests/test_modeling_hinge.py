"""Structured hinge losses as atoms, against the program over all labellings."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from enumerated import Listed, Relaxed, Sample, listed_risk, optimum

from structsvm.datasets import relevant_changes
from structsvm.errors import OracleError, SettingsError
from structsvm.io import arrays_and_labels
from structsvm.modeling import StructuredHinge
from structsvm.modeling.hinge import SlackRescaled
from structsvm.problem import Separation
from structsvm.problems import ChangePoint
from structsvm.regularizers import Separable, SquaredNorm, Trace
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.status import Quality
from structsvm.weights import PSD, Free, Nonnegative, Product


def parts_of(risk):
    """What a risk was made of."""
    return risk.problem, risk.xs, risk.ys


def variables(space):
    """A variable in a cone, and half its squared norm."""
    if isinstance(space, PSD):
        B = cp.Variable((space.order, space.order), PSD=True)
        return B, 0.5 * cp.sum_squares(cp.vec(B, order="F"))
    w = cp.Variable(space.dim, nonneg=isinstance(space, Nonnegative))
    return w, 0.5 * cp.sum_squares(w)


@pytest.mark.parametrize("slack", ["n", "one"])
@pytest.mark.parametrize("space", [Free(3), Nonnegative(3), PSD(2)], ids=str)
def test_the_hinge_of_a_problem_has_the_optimum_of_the_program_over_all_labellings(space, slack):
    risk = listed_risk(space, SquaredNorm(0.2), seed=3)
    w, half = variables(space)
    hinge = StructuredHinge(*parts_of(risk), w)
    # A constraint that never binds keeps it from the masters that know this form.
    problem = cp.Problem(cp.Minimize(0.2 * half + hinge), [cp.sum(w) <= 1e3])
    value = problem.solve(method="cutting-plane", tol=1e-6, slack=slack)
    assert value == pytest.approx(optimum(risk), abs=2e-6)
    assert problem.status == cp.OPTIMAL


def test_a_weight_may_be_a_sum_of_given_matrices():
    risk = listed_risk(PSD(2), SquaredNorm(0.1), seed=1)
    rng = np.random.default_rng(0)
    bases = [(lambda A: A @ A.T)(rng.normal(size=(2, 1))) for _ in range(3)]
    shares = cp.Variable(3, nonneg=True)
    weight = sum(shares[k] * bases[k] for k in range(3))
    problem = cp.Problem(
        cp.Minimize(cp.norm(shares) + 3 * StructuredHinge(*parts_of(risk), weight))
    )
    value = problem.solve(method="cutting-plane", tol=1e-6)

    losses = []
    for x, y in zip(risk.xs, risk.ys, strict=True):
        slopes = [risk.space.to_metric(f - x.features[y]) for f in x.features]
        costs = [risk.problem.loss(y, k) for k in range(len(slopes))]
        heights = [c + cp.trace(S @ weight) for c, S in zip(costs, slopes, strict=True)]
        losses.append(cp.max(cp.hstack(heights)))
    mean = sum(losses) / len(losses)
    full = cp.Problem(cp.Minimize(cp.norm(shares) + 3 * mean))
    assert value == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)


def test_a_weight_of_several_cones_is_a_list():
    space = Product((Nonnegative(2), Free(1)))
    risk = listed_risk(space, SquaredNorm(0.3), seed=2)
    w, b = cp.Variable(2), cp.Variable()
    hinge = StructuredHinge(*parts_of(risk), [w, b])
    half = 0.5 * (cp.sum_squares(w) + cp.square(b))
    value = cp.Problem(cp.Minimize(0.3 * half + hinge)).solve(method="cutting-plane", tol=1e-6)
    assert value == pytest.approx(optimum(risk), abs=2e-6)
    assert (w.value >= 0).all(), "the atom keeps its weight in the cone"
    with pytest.raises(SettingsError, match="list of 2 expressions"):
        StructuredHinge(*parts_of(risk), w)
    with pytest.raises(SettingsError, match=r"weight 0 has shape \(1,\), where \(2,\) is due"):
        StructuredHinge(*parts_of(risk), [cp.Variable(1), b])


@pytest.mark.parametrize("seed", range(3))
def test_slack_rescaling_multiplies_and_its_bounds_hold(seed):
    rng = np.random.default_rng(seed)
    xs = [Sample(rng.normal(size=(6, 3))) for _ in range(5)]
    problem, ys = Listed(Free(3)), [0] * 5
    w = cp.Variable(3)
    hinge = StructuredHinge(problem, xs, ys, w, rescaling="slack")
    ours = cp.Problem(cp.Minimize(0.1 * cp.sum_squares(w) + hinge))
    value = ours.solve(method="cutting-plane", tol=1e-6)
    losses = []
    for x in xs:
        scores = (x.features - x.features[0]) @ w
        costs = np.array([problem.loss(0, k) for k in range(6)])
        losses.append(cp.max(cp.multiply(costs, 1 + scores)))
    full = cp.Problem(cp.Minimize(0.1 * cp.sum_squares(w) + sum(losses) / 5))
    best = full.solve(solver=cp.CLARABEL)
    stats = ours.solver_stats.extra_stats
    assert stats.lower <= best + 1e-6
    assert best <= stats.upper + 1e-6
    assert value == pytest.approx(best, rel=0.05)


def test_slack_rescaling_is_no_surer_than_the_least_sure_of_the_answers_it_is_made_of():
    class Unsure(Listed):
        def separate(self, w, x, y):
            large = np.abs(w).max() > 1.0
            quality = Quality.HEURISTIC if large else Quality.RELAXATION
            return replace(super().separate(w, x, y), quality=quality)

    x = Sample(np.random.default_rng(0).normal(size=(6, 3)))
    for w in np.random.default_rng(1).normal(size=(5, 3)):
        answer = SlackRescaled(Unsure(Free(3))).separate(1.5 * w / np.abs(w).max(), (x, 0), 0)
        assert answer.quality is Quality.HEURISTIC


def test_the_hinge_of_change_points_is_that_of_the_learner():
    recordings = relevant_changes(3, n_samples=200, n_features=3, n_relevant=1, random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    for shape in ((3,), (3, 3)):
        B = cp.Variable(shape, nonneg=True) if len(shape) == 1 else cp.Variable(shape, PSD=True)
        price = cp.Variable(nonneg=True)
        hinge = StructuredHinge(ChangePoint(), Xs, ys, [B, price])
        size = cp.sum(B) if len(shape) == 1 else cp.trace(B)
        problem = cp.Problem(cp.Minimize(0.01 * size + 0.025 * price**2 + hinge), [size <= 50])
        value = problem.solve(method="cutting-plane", tol=1e-4)

        risk = hinge.risk.regularized(Separable((Trace(0.01), SquaredNorm(0.05))))
        solution = CuttingPlane(Stopping(tol=1e-5)).solve(risk)
        assert value == pytest.approx(solution.upper, abs=1e-3)


def test_the_price_of_a_cluster_is_one_unless_it_is_given():
    recordings = relevant_changes(3, n_samples=200, n_features=2, n_relevant=1, random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    B = cp.Variable(2, nonneg=True)
    hinge = StructuredHinge(ChangePoint(), Xs, ys, B)
    B.value = np.array([0.5, 0.1])
    priced = StructuredHinge(ChangePoint(), Xs, ys, [B, cp.Constant(1.0)])
    assert hinge.value == pytest.approx(float(priced.value))
    assert hinge.value >= 0


FORMS = {
    "squared": (lambda w, space: 0.3 * cp.sum_squares(cp.vec(w, order="F")), SquaredNorm(0.6)),
    "squared around a center": (
        lambda w, space: 0.3 * cp.sum_squares(cp.vec(w - 1, order="F")) + 2,
        SquaredNorm(0.6, center=np.ones(3)),
    ),
    "trace": (
        lambda w, space: 0.2 * (cp.trace(w) if isinstance(space, PSD) else cp.sum(w)),
        Trace(0.2),
    ),
}


STRUCTURED_SVMS = [
    (form, space)
    for form in FORMS
    for space in (Free(3), Nonnegative(3), PSD(2))
    if not (form == "trace" and isinstance(space, Free))
    and not ("center" in form and isinstance(space, PSD))
]


@pytest.mark.parametrize(("form", "space"), STRUCTURED_SVMS, ids=str)
def test_a_problem_that_is_a_structured_svm_goes_to_its_masters(form, space):
    omega, regularizer = FORMS[form]
    risk = listed_risk(space, regularizer, seed=5)
    w, _ = variables(space)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(omega(w, space) + hinge))
    value = problem.solve(method="cutting-plane", tol=1e-6)
    constant = 2 if "center" in form else 0
    assert value == pytest.approx(optimum(risk) + constant, abs=6e-6)
    stats = problem.solver_stats.extra_stats
    assert stats.gap <= 1e-6
    assert stats.bound == "certified", "no conic solver was needed"
    assert stats.lower <= optimum(risk) + constant + 1e-8
    assert float(problem.objective.value) == pytest.approx(value, abs=1e-6)
    assert len({plane.term for plane in hinge.planes}) <= risk.n_samples
    again = problem.solve(method="cutting-plane", tol=1e-6)
    assert again == pytest.approx(value, abs=2e-6)
    assert problem.solver_stats.extra_stats.rounds <= stats.rounds


def test_what_a_structured_svm_weighs_may_be_a_parameter():
    space = Nonnegative(3)
    lam, share = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
    w = cp.Variable(3, nonneg=True)
    risk = listed_risk(space, SquaredNorm(1.0), seed=6)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + share * hinge))
    for lam.value, share.value in ((0.5, 1.0), (0.1, 1.0), (0.1, 3.0)):
        value = problem.solve(method="cutting-plane", tol=1e-6)
        same = risk.regularized(SquaredNorm(2 * lam.value / share.value))
        assert value == pytest.approx(share.value * optimum(same), abs=1e-5)
        assert problem.solver_stats.extra_stats.bound == "certified"


def test_anything_else_beside_the_hinge_is_left_to_the_conic_solver():
    risk = listed_risk(Nonnegative(3), SquaredNorm(0.4), seed=7)
    w = cp.Variable(3, nonneg=True)
    hinge = StructuredHinge(*parts_of(risk), w)
    half = 0.2 * cp.sum_squares(w)
    for objective, constraints in (
        (half + hinge + 0.1 * cp.norm1(w - 1), []),
        (0.2 * cp.square(w[0]) + 0.3 * cp.sum_squares(w[1:]) + hinge, []),
        (half + cp.square(hinge), []),
        (half + hinge, [w[0] >= 0.1]),
    ):
        problem = cp.Problem(cp.Minimize(objective), constraints)
        problem.solve(method="cutting-plane", tol=1e-5)
        assert problem.status == cp.OPTIMAL
        assert "conic" in problem.solver_stats.extra_stats.bound


class Guessing(Listed):
    """A problem whose oracle may miss the maximum, and says so."""

    def separate(self, w, x, y):
        return replace(super().separate(w, x, y), quality=Quality.HEURISTIC)


def test_a_heuristic_oracle_certifies_nothing_from_above():
    risk = listed_risk(Free(3), SquaredNorm(0.2), seed=8, problem=Guessing(Free(3)))
    w = cp.Variable(3)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(0.1 * cp.sum_squares(w) + hinge))
    problem.solve(method="cutting-plane", tol=1e-5)
    assert problem.status == cp.OPTIMAL_INACCURATE
    assert "heuristic" in problem.solver_stats.extra_stats.bound
    assert problem.solver_stats.extra_stats.lower <= optimum(risk) + 1e-7


class Turning(Listed):
    """Says of its first answers that they may miss the maximum, and afterwards looks no further."""

    def separate(self, w, x, y):
        if not np.any(w):
            return replace(super().separate(w, x, y), quality=Quality.HEURISTIC)
        return Separation(y, 0.0, Quality.EXACT)


def test_answers_that_claim_to_be_exact_are_compared_beside_those_of_heuristics():
    space = Free(3)
    heuristic = listed_risk(space, SquaredNorm(), seed=8, problem=Guessing(space))
    turning = listed_risk(space, SquaredNorm(), seed=9, problem=Turning(space))
    w = cp.Variable(3)
    hinges = [StructuredHinge(*parts_of(risk), w) for risk in (heuristic, turning)]
    for some, lam in ((hinges, 0.1), (hinges[1:], 1.0)):
        problem = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + sum(some)), [w <= 1e3])
        w.value = np.zeros(3)
        with pytest.raises(OracleError, match="an earlier plane says that it is"):
            problem.solve(method="cutting-plane")


def test_planes_of_a_relaxation_are_none_of_the_problem_in_later_solves():
    """Their oracles gave exact answers only, and a lower bound above the minimum was certified."""
    space, lam = Nonnegative(3), cp.Parameter(nonneg=True)
    risk = listed_risk(space, SquaredNorm(), n_labels=18, seed=11, problem=Relaxed(space))
    w, half = variables(space)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(lam * half + hinge), [cp.sum(w) <= 1e3])
    for lam.value in (8.0, 2.0, 0.5, 0.1, 0.02):
        problem.solve(method="cutting-plane", tol=1e-3)
    assert "for the relaxation" in problem.solver_stats.extra_stats.bound
