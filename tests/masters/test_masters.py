"""Masters: one KKT kit for every answer, agreement, names, failures."""

import os
import signal
import threading
import warnings
from dataclasses import replace
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from cases import cases
from enumerated import listed_risk

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters import base, bounds, newton
from structsvm.masters.base import Cut, MasterSolution, Proximal, Request, WorkingSet, checked
from structsvm.masters.bounds import lower_bound
from structsvm.masters.cvxpy import CvxpyMaster, solve_by, solve_with, solved
from structsvm.masters.newton import NewtonMaster, QuadraticModel, master_from, maximize
from structsvm.problem import (
    PSD,
    Custom,
    Free,
    Nonnegative,
    Product,
    Separable,
    SquaredNorm,
    Status,
    Trace,
)
from structsvm.solvers import CuttingPlane, Stopping

CASES = {
    "free-squared": (Free(4), SquaredNorm(0.5)),
    "diagonal-squared": (Nonnegative(6), SquaredNorm(0.5)),
    "diagonal-centred": (Nonnegative(6), SquaredNorm(0.5, center=0.3)),
    "diagonal-trace": (Nonnegative(6), Trace(0.4)),
    "full-squared": (PSD(4), SquaredNorm(0.2)),
    "full-centred": (PSD(4), SquaredNorm(0.5, center=0.5)),
    "full-trace": (PSD(4), Trace(0.3)),
    "priced-diagonal": (
        Product((Nonnegative(5), Nonnegative(1))),
        Separable((SquaredNorm(0.3), SquaredNorm(2.0))),
    ),
    "priced-diagonal-trace": (
        Product((Nonnegative(5), Nonnegative(1))),
        Separable((Trace(0.3), SquaredNorm(0.1))),
    ),
    "diagonal-next-to-free": (Product((Free(2), Nonnegative(3), Free(1))), SquaredNorm(0.4)),
    "larger-diagonal": (Nonnegative(60), SquaredNorm(0.02)),
    "larger-diagonal-trace": (Nonnegative(60), Trace(0.5)),
    "priced-full": (
        Product((PSD(4), Nonnegative(1))),
        Separable((SquaredNorm(0.1), SquaredNorm(2.0))),
    ),
    "priced-full-trace": (
        Product((PSD(4), Nonnegative(1))),
        Separable((Trace(0.3), SquaredNorm(0.1))),
    ),
    "larger-full": (PSD(9), SquaredNorm(0.02)),
    "larger-full-trace": (PSD(9), Trace(0.1)),
}
VECTORS = [case for case in CASES if "full" not in case]
SIZES = {"one-slack": (1, 12), "n-slack": (5, 40), "single-cuts": (3, 3)}
TIGHT = Request(tol=1e-10)


def restricted(case, size, seed=0):
    """A restricted problem with random cuts of several scales."""
    space, omega = CASES[case]
    n_groups, n_cuts = SIZES[size]
    risk = listed_risk(space, omega)
    rng = np.random.default_rng(seed)
    cuts = WorkingSet(n_groups, space.dim)
    for c in range(n_cuts):
        scale = rng.choice([0.3, 1.0, 3.0])
        slope = scale * (rng.standard_normal(space.dim) - 0.3 * space.identity())
        cuts.add([Cut(c % n_groups, float(rng.uniform(0.1, 1)), slope)])
    return risk, cuts


def value(risk, cuts, w):
    return risk.penalty(w) + cuts.group_values(w).sum()


def assert_optimal(risk, cuts, answer, tol):
    """The KKT conditions: primal feasibility, dual cone, complementarity, stationarity.

    With ``s = grad Omega(w) + Psi^T alpha``, stationarity in the cone is ``s`` in the dual cone and
    ``<s, w> = 0``. What is not exact is measured against the objective.
    """
    w = answer.w
    alpha = answer.multipliers
    scale = value(risk, cuts, w)
    size = 1.0 + np.abs(w).max()
    np.testing.assert_allclose(risk.space.project(w), w, atol=1e-12 * size)
    assert alpha.min() >= 0
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    assert sums.max() <= 1 + 1e-12

    form = risk.regularizer.as_quadratic(risk.space)
    s = form.curvature * (w - form.center) + form.linear + alpha @ cuts.slopes
    slacks = cuts.group_values(w)
    values = cuts.values(w)
    assert risk.space.dual_margin(s) >= -np.sqrt(tol) * size
    assert abs(s @ w) <= tol * scale + np.sqrt(tol) * 1e-3
    assert np.all(alpha * (slacks[cuts.groups] - values) <= tol * scale)
    assert np.all((1 - sums) * slacks <= tol * scale)
    lower, _ = lower_bound(risk, cuts, alpha, scale)
    assert scale * (1 - tol) <= lower <= scale * (1 + 1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_the_fast_masters_answers_are_optimal(case, size):
    risk, cuts = restricted(case, size)
    answer = NewtonMaster().solve(risk, cuts, TIGHT)
    assert answer.label.removeprefix("proximal ") == "newton"
    assert_optimal(risk, cuts, answer, 1e-7)


@cases(
    "full-squared",
    "diagonal-squared",
    "priced-full",
    "full-trace",
    "priced-full-trace",
    "diagonal-trace",
)
def test_masters_agree_with_a_proximal_term(case):
    """With one, a trace is strongly convex as it is, and takes no proximal iterations."""
    risk, cuts = restricted(case, "n-slack", seed=2)
    center = risk.space.project(np.random.default_rng(0).standard_normal(risk.space.dim))
    request = Request(1e-10, Proximal(center, 0.7))
    values = []
    for master in (CvxpyMaster("clarabel"), NewtonMaster()):
        answer = master.solve(risk, cuts, request)
        assert answer.label in ("clarabel", "newton")
        w = answer.w
        values.append(value(risk, cuts, w) + 0.35 * np.sum((w - center) ** 2))
    assert values[1:] == pytest.approx(values[:1], rel=1e-6)


@pytest.mark.parametrize("case", ["full-squared", "full-trace", "diagonal-trace"])
def test_a_warm_start_changes_the_way_not_the_answer(case):
    risk, cuts = restricted(case, "n-slack", seed=4)
    cold = NewtonMaster().solve(risk, cuts, TIGHT)
    cuts.retire(cold.multipliers, max_idle=10)
    rng = np.random.default_rng(5)
    cuts.add(Cut(g, 0.5, rng.standard_normal(risk.space.dim)) for g in range(cuts.n_groups))
    warm = NewtonMaster().solve(risk, cuts, Request(1e-10, start=cold.w))
    fresh = WorkingSet(cuts.n_groups, risk.space.dim)
    fresh.add(Cut(*t) for t in zip(cuts.groups, cuts.intercepts, cuts.slopes, strict=True))
    again = NewtonMaster().solve(risk, fresh, TIGHT)
    assert_optimal(risk, cuts, warm, 1e-7)
    assert value(risk, cuts, warm.w) == pytest.approx(value(risk, cuts, again.w), rel=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_masters_solve_a_program_without_cuts(case):
    space, omega = CASES[case]
    risk = listed_risk(space, omega)
    cuts = WorkingSet(2, space.dim)
    answer = solved(NewtonMaster(), risk, cuts, TIGHT)
    conic = CvxpyMaster("clarabel").solve(risk, cuts, TIGHT)
    assert answer.multipliers.shape == (0,)
    assert value(risk, cuts, answer.w) == pytest.approx(value(risk, cuts, conic.w), abs=1e-6)


def with_slopes(cuts, change):
    return [c._replace(slope=change(c.slope)) for c in cuts]


DEGENERATE = {
    "one cut": lambda cuts: cuts[:1],
    "nearly the same ones": lambda cuts: (
        cuts + [Cut(c.group, c.intercept + 1e-13, c.slope * (1 + 1e-13)) for c in cuts]
    ),
    "the same in every group": lambda cuts: [
        c._replace(group=g) for c, g in product(cuts[:6], range(5))
    ],
    "constant cuts": lambda cuts: cuts + [Cut(g, 0.3, 0 * cuts[0].slope) for g in range(5)],
    "a feature that is constant": lambda cuts: with_slopes(
        cuts, lambda slope: np.where(np.arange(slope.size) == 1, 0, slope)
    ),
    "satisfied at zero": lambda cuts: [c._replace(intercept=-c.intercept) for c in cuts],
    "nothing to lose": lambda cuts: [c._replace(intercept=0.0) for c in cuts],
    "nothing to gain": lambda cuts: with_slopes(cuts, np.abs),
    "easily separated": lambda cuts: with_slopes(cuts, lambda slope: -100 - np.abs(slope)),
}
"""Cuts of five groups that are special in one way."""


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("case", VECTORS)
def test_masters_solve_degenerate_programs(case, kind):
    risk = listed_risk(*CASES[case])
    dim = risk.space.dim
    rng = np.random.default_rng(8)
    usual = [Cut(c % 5, float(rng.uniform(0.1, 1)), rng.standard_normal(dim)) for c in range(30)]
    cuts = WorkingSet(5, dim)
    cuts.add(DEGENERATE[kind](usual))
    answer = checked(solved(NewtonMaster(), risk, cuts, TIGHT), risk, cuts)
    conic = CvxpyMaster("clarabel").solve(risk, cuts, TIGHT)
    best = value(risk, cuts, conic.w)
    assert value(risk, cuts, answer.w) <= best * (1 + 1e-6) + 1e-9
    lower, _ = lower_bound(risk, cuts, answer.multipliers, best + 1e-9)
    assert lower >= best * (1 - 1e-6) - 1e-9


def value_in_units(case, of_slopes, of_losses, omega):
    """The optimum of cuts in other units, and that in the usual ones."""
    risk, cuts = restricted(case, "n-slack")
    usual = value(risk, cuts, solved(NewtonMaster(), risk, cuts, TIGHT).w)
    scaled = WorkingSet(cuts.n_groups, risk.space.dim)
    columns = cuts.groups, cuts.intercepts * of_losses, cuts.slopes * of_slopes
    scaled.add(Cut(*column) for column in zip(*columns, strict=True))
    risk = listed_risk(risk.space, omega(risk.regularizer))
    return value(risk, scaled, solved(NewtonMaster(), risk, scaled, TIGHT).w), usual


@pytest.mark.parametrize("case", ["priced-full", *VECTORS])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_units_of_the_features_do_not_matter(factor, case):
    """Slopes times 1e6 and weights divided by it."""

    def in_units(omega):
        if isinstance(omega, Separable):
            return Separable(tuple(map(in_units, omega.parts)))
        if isinstance(omega, Trace):
            return omega.scaled(factor)
        return SquaredNorm(omega.weight * factor**2, center=omega.center / factor)

    found, usual = value_in_units(case, factor, 1.0, in_units)
    assert found == pytest.approx(usual, rel=1e-7)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize("case", VECTORS)
def test_the_unit_of_the_objective_does_not_matter(case, factor):
    found, usual = value_in_units(case, factor, factor, lambda omega: omega.scaled(factor))
    assert found == pytest.approx(usual * factor, rel=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(("n", "rank", "n_groups"), [(5, 2, 1), (30, 4, 7), (25, 40, 25)])
def test_quadratic_programs_over_simplices_are_solved_to_optimality(n, rank, n_groups, ridge):
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, rank))
    q = 2 * rng.standard_normal(n)
    groups = np.sort(np.concatenate((np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))))
    x = maximize(QuadraticModel(q, F, ridge, groups), np.inf, 1e-12)
    sums = np.bincount(groups, weights=x, minlength=n_groups)
    assert x.min() >= 0
    assert sums.max() <= 1 + 1e-12
    gradient = q - F @ (x @ F) - ridge * x
    best = np.zeros(n_groups)
    np.maximum.at(best, groups, gradient)
    assert best.sum() - gradient @ x <= 1e-8


class TestNames:
    @pytest.mark.parametrize("case", ["diagonal-squared", "diagonal-trace"])
    @pytest.mark.parametrize("name", ["CLARABEL", "SCS", "OSQP", "PIQP", "HIGHS"])
    def test_solvers_of_quadratic_and_linear_programs_solve_what_they_can(self, name, case):
        risk, cuts = restricted(case, "n-slack")
        answer = master_from(name).solve(risk, cuts, TIGHT)
        assert answer.label == name.lower()
        assert_optimal(risk, cuts, answer, 1e-4)

    def test_an_unknown_master_is_refused_with_the_known_ones(self):
        with pytest.raises(SettingsError, match=r"'simplexor' is not installed; .*CLARABEL.*SCS"):
            master_from("simplexor")

    def test_the_conic_solver_takes_over_where_newton_does_not_apply(self):
        constrained = listed_risk(PSD(2), SquaredNorm(), constraints=lambda B: [cp.trace(B) == 1])
        custom = listed_risk(Nonnegative(3), Custom(lambda b: cp.norm1(b)))
        for risk in (constrained, custom):
            cuts = WorkingSet(1, risk.space.dim)
            cuts.add([Cut(0, 1.0, -np.ones(risk.space.dim))])
            assert solved(NewtonMaster(), risk, cuts, Request()).label == "clarabel"


class TestFailures:
    def test_the_conic_solver_takes_over_when_newton_stalls_and_says_so(self):
        risk, cuts = restricted("larger-full", "n-slack")
        answer = solved(NewtonMaster(max_steps=1), risk, cuts, TIGHT)
        assert "newton stalled at a relative gap of" in answer.label
        assert answer.label.endswith("clarabel")
        assert_optimal(risk, cuts, answer, 1e-5)

    def test_a_solver_that_fails_is_followed_by_the_next(self):
        """HiGHS solves no semi-definite program."""
        if "HIGHS" not in cp.installed_solvers():
            pytest.fail("the tests need HiGHS, which comes with scipy and cvxpy")
        risk, cuts = restricted("full-squared", "one-slack")
        assert CvxpyMaster("highs").solve(risk, cuts, Request()).label == "highs failed, clarabel"

    @pytest.mark.parametrize("solver", ["SCS", "OSQP"])
    def test_a_solver_that_answers_ctrl_c_itself_is_not_followed_by_the_next(self, solver):
        """Both take the place of Python's handler, and call it a failure."""
        x = cp.Variable(200)
        A = np.random.default_rng(0).standard_normal((150, 200))
        never = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - 1) + cp.norm1(x)), [x <= 1])
        options = {"eps_abs": 1e-300, "eps_rel": 1e-300}
        options |= {"max_iters": 10**8} if solver == "SCS" else {"max_iter": 10**8}
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt), without_warnings(Warning):
                solve_by(never, solver, options)
        finally:
            timer.cancel()  # it would end the tests

    def test_constraints_that_contradict_each_other_are_named(self):
        risk = listed_risk(
            PSD(2), SquaredNorm(), constraints=lambda B: [cp.trace(B) == 1, cp.trace(B) == 2]
        )
        with pytest.raises(MasterError, match="infeasible: do the extra constraints contradict"):
            solved(NewtonMaster(), risk, WorkingSet(1, 3), Request())

    def test_a_constraint_that_is_not_convex_is_refused(self):
        risk = listed_risk(PSD(2), SquaredNorm(), constraints=lambda B: [cp.norm1(B) >= 1])
        with pytest.raises(SettingsError, match="not convex"), warnings.catch_warnings():
            solved(NewtonMaster(), risk, WorkingSet(1, 3), Request())

    @cases(
        (np.full(3, np.nan), np.zeros(1), "no finite weight"),
        (np.array([1.0, np.inf, 0]), np.zeros(1), "no finite weight"),
        (np.zeros(2), np.zeros(1), r"shapes \(2,\) and \(1,\) for 3 weights and 1 cuts"),
        (np.zeros(3), np.zeros(2), "for 3 weights and 1 cuts"),
    )
    def test_an_answer_of_a_master_that_is_no_number_is_refused(self, w, alpha, message):
        risk = listed_risk(PSD(2), SquaredNorm())
        cuts = WorkingSet(1, 3)
        cuts.add([Cut(0, 1.0, np.ones(3))])
        with pytest.raises(MasterError, match=message):
            checked(MasterSolution(w, alpha, "made up"), risk, cuts)

    def test_an_indefinite_matrix_and_wild_multipliers_are_repaired(self):
        risk = listed_risk(PSD(2), SquaredNorm())
        cuts = WorkingSet(1, 3)
        cuts.add(Cut(0, o, np.ones(3)) for o in (1.0, 2.0, 3.0))
        wild = MasterSolution(np.array([1.0, 0.0, -1.0]), np.array([np.nan, -1.0, 7.0]), "made up")
        answer = checked(wild, risk, cuts)
        np.testing.assert_allclose(answer.w, [1, 0, 0], atol=1e-12)
        np.testing.assert_allclose(answer.multipliers, [0, 0, 1])


def hardly(size, by=1e-8):
    """Constraints that contradict each other by so little that conic solvers may not notice."""
    return [size >= 1, size <= 1 - by]


def test_an_inaccurate_answer_outlasts_a_solver_that_finds_none():
    """SCS is inaccurate, and Clarabel calls the same problem infeasible."""
    x = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), hardly(cp.sum(x)))
    label = solve_with(problem, ["SCS", "CLARABEL"], precise=True)
    assert label == "scs optimal_inaccurate, clarabel infeasible_inaccurate"
    assert problem.status == cp.OPTIMAL_INACCURATE
    np.testing.assert_allclose(x.value, 1 / 3, atol=1e-6)


def test_a_run_outlasts_a_solver_that_finds_no_answer():
    """By 1e-8, Clarabel finds the contradiction with the linear algebra of some processors only."""
    risk = listed_risk(PSD(3), SquaredNorm(0.05), constraints=lambda B: hardly(cp.trace(B), 2e-7))
    right = CuttingPlane(Stopping(1e-4)).solve(replace(risk, constraints=exactly))
    found = CuttingPlane(Stopping(1e-8), master="scs").solve(risk)
    assert found.status is Status.STALLED
    assert found.upper == pytest.approx(right.upper, rel=1e-3)
    assert "scs optimal_inaccurate, clarabel infeasible" in found.history.entries[-1].master


def exactly(B):
    return [cp.trace(B) == 1]


@pytest.mark.parametrize("omega", [SquaredNorm(0.05), Trace(0.05)], ids=["squared", "trace"])
def test_a_master_that_fails_late_leaves_the_best_weight(omega, tmp_path):
    """Precisely, the constraints contradict each other; they do not to the usual accuracy."""
    risk = listed_risk(
        Nonnegative(3), omega, n_samples=6, n_labels=20, constraints=lambda B: hardly(cp.sum(B))
    )
    solver = CuttingPlane(Stopping(1e-8))
    seen = []
    file = tmp_path / "run.npz"
    found = solver.solve(risk, seen.append, resume=file)
    assert found.status is Status.MASTER_FAILED
    assert 0 < seen[-1].lower <= found.lower <= found.upper <= seen[-1].upper < found.null
    assert "infeasible" in found.history.entries[-1].master
    again = solver.solve(risk, resume=file)
    assert found.lower <= again.lower <= again.upper <= found.upper


@pytest.mark.parametrize("seed", range(20))
def test_the_steps_of_newton_are_as_good_by_either_method(seed):
    """Of few cuts by the active-set method, which is exact; of many by interior points."""
    rng = np.random.default_rng(seed)
    C = int(rng.integers(1, 33))
    f = int(rng.integers(0, 9))
    G = int(rng.integers(1, 5))
    groups = np.sort(np.concatenate((np.arange(min(C, G)), rng.integers(0, G, C)[: max(0, C - G)])))
    q = rng.standard_normal(C)
    F = rng.choice([1e-3, 1.0, 1e3]) * rng.standard_normal((C, f))
    ridge = 10.0 ** rng.uniform(-12, 0)
    tol = 1e-12
    found = {}
    for few in (0, 32):
        x = maximize(QuadraticModel(q, F, ridge, groups), 0.0, tol, few)
        assert x.min() >= 0
        assert np.bincount(groups, x).max() <= 1 + 1e-12
        image = x @ F
        found[few] = q @ x - 0.5 * (image @ image) - 0.5 * ridge * (x @ x)
    assert found[32] >= found[0] - 1e-9 * abs(found[0])
    assert found[0] >= 0.98 * found[32]  # a gap of one in a hundred will do


# ---- the master of full metrics: single precision far from the answer, little memory


ORDER, N_CUTS = 20, 40


def large(unit=1.0):
    """A problem with more curvature than cuts, whose slopes are in this unit."""
    space = PSD(ORDER)
    rng = np.random.default_rng(0)
    cuts = WorkingSet(4, space.dim)
    for c in range(N_CUTS):
        slope = rng.standard_normal(space.dim) - 0.3 * space.identity()
        cuts.add([Cut(c % 4, float(rng.uniform(0.1, 1)), unit * slope)])
    return listed_risk(space, SquaredNorm(0.02 * unit**2)), cuts


def relative_gap(risk, cuts, answer):
    upper = risk.penalty(answer.w) + cuts.group_values(answer.w).sum()
    return (upper - lower_bound(risk, cuts, answer.multipliers, upper)[0]) / upper


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-10])
def test_newton_reaches_the_tolerance_from_single_precision(tol):
    risk, cuts = large()
    assert relative_gap(risk, cuts, NewtonMaster().solve(risk, cuts, Request(tol))) <= tol


def test_single_precision_takes_the_steps_of_double_precision(monkeypatch):
    risk, cuts = large()
    single = NewtonMaster().solve(risk, cuts, Request(1e-3))
    monkeypatch.setattr(newton, "COARSE", np.inf)
    double = NewtonMaster().solve(risk, cuts, Request(1e-3))
    np.testing.assert_allclose(single.w, double.w, atol=1e-4 * np.abs(double.w).max())
    assert not np.array_equal(single.w, double.w)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_slopes_whose_squares_overflow_single_precision_are_handled(unit):
    risk, cuts = large(unit)
    answer = NewtonMaster().solve(risk, cuts, Request(1e-3))
    assert answer.label == "newton"
    assert relative_gap(risk, cuts, answer) <= 1e-3


def test_slopes_that_are_taken_some_at_a_time_give_the_same_answer(monkeypatch):
    risk, cuts = large()
    whole = NewtonMaster().solve(risk, cuts, Request(1e-8))
    for module in (bounds, newton, base):
        monkeypatch.setattr(module, "CHUNK", 3 * cuts.slopes[0].nbytes)
    parts = NewtonMaster().solve(risk, cuts, Request(1e-8))
    np.testing.assert_allclose(parts.w, whole.w, rtol=1e-6, atol=1e-9)
    assert relative_gap(risk, cuts, parts) <= 1e-8


def test_a_working_set_that_drops_cuts_some_at_a_time_keeps_the_others(monkeypatch):
    _, cuts = large()
    monkeypatch.setattr(base, "CHUNK", 3 * cuts.slopes[0].nbytes)
    slopes = cuts.slopes.copy()
    kept = np.arange(N_CUTS) % 3 != 1
    assert cuts.retire(kept.astype(float), max_idle=1) == np.count_nonzero(~kept)
    assert np.array_equal(cuts.slopes, slopes[kept])
    assert np.array_equal(cuts.groups, np.arange(N_CUTS)[kept] % 4)
