"""Atoms of cvxpy that an oracle knows, against the full program, and what is refused."""

import os
import signal
import warnings

import cvxpy as cp
import numpy as np
import pytest
from cases import cases, refused
from drawn_programs import corners
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import (
    LearningError,
    MasterError,
    OracleError,
    OracleWarning,
    PluginError,
    SettingsError,
)
from structsvm.modeling import OracleMax


def bends(A, c):
    """The same rounded off, a logarithm of a sum of exponentials: every plane is another one."""

    def oracle(x):
        heights = c + A @ x
        top = heights.max()
        shares = np.exp(heights - top)
        return top + np.log(shares.sum()), A.T @ (shares / shares.sum())

    return oracle


SHAPES = [(corners, cp.max), (bends, cp.log_sum_exp)]
"""Oracles, and how cvxpy writes their functions."""


def family(rng, n=60, dim=4, shape=corners):
    """Planes, and an oracle of them."""
    A = rng.normal(size=(n, dim))
    c = rng.normal(size=n)
    return A, c, shape(A, c)


def solve(problem, **settings):
    return problem.solve(method="cutting-plane", **settings)


def solved(problem, **settings):
    """The value found by cutting planes, with a certificate that holds."""
    value = solve(problem, **{"tol": 1e-6, **settings})
    stats = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL
    assert problem.value == value
    assert stats.lower <= value + 1e-12 * stats.scale
    assert stats.violation <= 1e-6
    return value


@pytest.mark.parametrize("several", [False, True], ids=["one oracle", "a list of oracles"])
def test_a_vector_of_functions_is_a_vector_expression(several):
    rng = np.random.default_rng(6)
    families = [family(rng) for _ in range(3)]

    def all_at_once(x):
        found = [oracle(x) for _, _, oracle in families]
        return np.array([v for v, _ in found]), np.stack([s for _, s in found])

    x = cp.Variable(4)
    if several:
        h = OracleMax(x, [oracle for _, _, oracle in families])
    else:
        h = OracleMax(x, all_at_once, n_terms=3)
    assert h.shape == (3,)
    ours = cp.Problem(cp.Minimize(cp.max(h) + 0.1 * cp.sum(h) + cp.sum_squares(x)), [h[1] <= 2])
    full = cp.hstack([cp.max(c + A @ x) for A, c, _ in families])
    theirs = cp.Problem(
        cp.Minimize(cp.max(full) + 0.1 * cp.sum(full) + cp.sum_squares(x)), [full[1] <= 2]
    )
    assert solved(ours) == pytest.approx(theirs.solve(solver=cp.CLARABEL), abs=1e-5)


def test_an_oracle_may_take_several_variables_of_any_shape():
    rng = np.random.default_rng(7)
    slopes = rng.normal(size=(40, 2, 3)), rng.normal(size=40)
    levels = rng.normal(size=40)

    def oracle(X, s):
        heights = levels + np.tensordot(slopes[0], X) + slopes[1] * s
        k = heights.argmax()
        return heights[k], (slopes[0][k], slopes[1][k])

    X = cp.Variable((2, 3))
    s = cp.Variable()
    ours = cp.Problem(
        cp.Minimize(OracleMax([X, 2 * s - 1], oracle) + cp.norm(X, "fro") + cp.abs(s)), [X <= 2]
    )
    value = solved(ours)
    heights = [
        levels[k] + cp.sum(cp.multiply(slopes[0][k], X)) + slopes[1][k] * (2 * s - 1)
        for k in range(40)
    ]
    full = cp.Minimize(cp.max(cp.hstack(heights)) + cp.norm(X, "fro") + cp.abs(s))
    assert value == pytest.approx(cp.Problem(full, [X <= 2]).solve(solver=cp.CLARABEL), abs=1e-5)


@cases({"PSD": True}, {"symmetric": True}, {"nonneg": True}, {"diag": True}, ids=str)
def test_variables_keep_their_attributes(attributes):
    rng = np.random.default_rng(8)
    slopes = rng.normal(size=(30, 3, 3))
    levels = rng.normal(size=30)

    def oracle(X):
        heights = levels + np.tensordot(slopes, X)
        k = heights.argmax()
        return heights[k], slopes[k]

    def problem(make):
        X = cp.Variable((3, 3), **attributes)
        return X, cp.Problem(
            cp.Minimize(make(X) + 0.5 * cp.sum_squares(cp.vec(X, order="F"))), [X[0, 0] >= 0.1]
        )

    def full(X):
        return cp.max(
            cp.hstack([a + cp.trace(S.T @ X) for a, S in zip(levels, slopes, strict=True)])
        )

    X, ours = problem(lambda X: OracleMax(X, oracle))
    _, theirs = problem(full)
    assert solved(ours) == pytest.approx(theirs.solve(solver=cp.CLARABEL), abs=1e-5)
    value = X.value.toarray() if hasattr(X.value, "toarray") else X.value
    if "PSD" in attributes:
        assert np.linalg.eigvalsh(value).min() >= -1e-9
    if "diag" in attributes:
        np.testing.assert_array_equal(value, np.diag(np.diag(value)))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of the full program
def test_complex_variables_that_no_atom_touches_are_passed_on():
    rng = np.random.default_rng(21)
    A, c, oracle = family(rng, dim=3)
    C = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    x = cp.Variable(3)
    X = cp.Variable((3, 3), hermitian=True)
    z = cp.Variable(2, complex=True)
    q = cp.Variable(imag=True)
    rest = (
        cp.real(cp.trace((C + C.conj().T) @ X))
        + cp.sum_squares(z - (1 + 2j))
        + cp.square(cp.abs(q - 1j))
    )
    kept = [X >> 0, cp.real(cp.trace(X)) == 1, z[0] == x[0] * 1j, cp.real(z[1]) + x[1] <= 0.1]

    def problem(height):
        return cp.Problem(cp.Minimize(height + rest + cp.sum_squares(x)), kept)

    best = problem(cp.max(c + A @ x)).solve(solver=cp.CLARABEL)
    expected = [v.value for v in (x, X, z, q)] + [k.dual_value for k in kept[1:]]
    ours = problem(OracleMax(x, oracle))
    # Clarabel itself has no more than seven digits of this program on some processors.
    assert solved(ours, tol=1e-7) == pytest.approx(best, abs=1e-5)
    found = [v.value for v in (x, X, z, q)] + [k.dual_value for k in kept[1:]]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
    assert solved(ours, tol=1e-6) == pytest.approx(best, abs=1e-5)  # from the values that it has


def test_declared_signs_and_monotonicity_count_for_the_rules_of_cvxpy():
    rng = np.random.default_rng(9)
    A = np.abs(rng.normal(size=(50, 3)))
    c = np.abs(rng.normal(size=50))

    oracle = corners(A, c)
    x = cp.Variable(3)
    inside = cp.square(x - 1)
    known = OracleMax(inside, oracle, sign="nonneg", monotonicity="increasing")
    assert known.is_convex()
    assert cp.square(known).is_convex()
    assert not OracleMax(inside, oracle).is_convex()
    assert not cp.square(OracleMax(x, oracle)).is_convex()
    value = solved(cp.Problem(cp.Minimize(cp.square(known) + cp.norm1(x))))
    full = cp.Minimize(cp.square(cp.max(c + A @ inside)) + cp.norm1(x))
    assert value == pytest.approx(cp.Problem(full).solve(solver=cp.CLARABEL), abs=1e-4)


def test_atoms_may_stand_inside_each_other():
    A = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]])
    c = np.array([0.1, 0.4, -0.2])

    inner = corners(A, c)

    def outer(u):  # max(2 u - 1, u / 2)
        return max((2 * u - 1, 2.0), (0.5 * u, 0.5))

    x = cp.Variable(2)
    nested = OracleMax(OracleMax(x, inner), outer, monotonicity="increasing")
    value = solved(cp.Problem(cp.Minimize(nested + 0.1 * cp.sum_squares(x - 2))))
    u = cp.max(c + A @ x)
    full = cp.Minimize(cp.maximum(2 * u - 1, 0.5 * u) + 0.1 * cp.sum_squares(x - 2))
    assert value == pytest.approx(cp.Problem(full).solve(solver=cp.CLARABEL), abs=1e-4)


def test_an_inexact_oracle_leaves_a_certificate_that_holds():
    rng = np.random.default_rng(10)
    A, c, _ = family(rng, n=200)

    def second_best(x):
        heights = c + A @ x
        order = np.argsort(heights)
        k = order[-2]
        return heights[k], A[k], heights[order[-1]] + 0.01

    x = cp.Variable(4)
    problem = cp.Problem(cp.Minimize(OracleMax(x, second_best) + cp.sum_squares(x)))
    value = problem.solve(method="cutting-plane", tol=1e-8)
    best = cp.Problem(cp.Minimize(cp.max(c + A @ x) + cp.sum_squares(x))).solve(solver=cp.CLARABEL)
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= best <= stats.upper == value
    assert stats.upper - stats.lower < 1
    assert "upper bounds that the oracles gave" in stats.bound
    assert problem.status == cp.OPTIMAL_INACCURATE
    assert stats.status.startswith("as good as the oracles")


def test_solving_again_begins_with_the_planes_that_are_known():
    rng = np.random.default_rng(11)
    A, c, oracle = family(rng, n=500, dim=6)
    x = cp.Variable(6)
    y = cp.Variable(6)
    lam = cp.Parameter(nonneg=True, value=1.0)
    asked = []

    def recorded(at):
        asked.append(at.copy())
        return oracle(at)

    problem = cp.Problem(cp.Minimize(lam * cp.sum_squares(x) + OracleMax(x, recorded)))
    calls = []
    rests = []
    for lam.value in (1.0, 1.0, 0.9):
        solved(problem)
        calls.append(problem.solver_stats.extra_stats.oracle_calls)
        rests.append("planes of earlier solutions" in problem.solver_stats.extra_stats.bound)
        full = cp.Problem(cp.Minimize(lam * cp.sum_squares(y) + cp.max(c + A @ y)))
        assert problem.value == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)
    assert calls[1] == 1 < calls[2] < calls[0]
    assert rests == [False, True, True]
    asked.clear()
    last = x.value
    x.value = np.ones(6)
    solved(problem)  # from elsewhere: it is asked at the last solution whether it has changed
    assert [at.tolist() for at in asked[:2]] == [np.ones(6).tolist(), last.tolist()]
    assert len(asked) < calls[0]
    solved(problem, warm_start=False)
    assert problem.solver_stats.extra_stats.oracle_calls > calls[2]


@pytest.mark.parametrize("named", [True, False], ids=["of the oracle", "in the argument"])
def test_parameters_may_change_between_solves(named):
    A, c, oracle = family(np.random.default_rng(12))
    shift = cp.Parameter(4, value=np.zeros(4))
    x = cp.Variable(4)
    if named:
        h = OracleMax(x, lambda x, at: oracle(x - at), parameters=[shift])
    else:
        h = OracleMax(x - shift, oracle)
    problem = cp.Problem(cp.Minimize(h + cp.sum_squares(x)))
    full = cp.Problem(cp.Minimize(cp.max(c + A @ (x - shift)) + cp.sum_squares(x)))
    for shift.value in (np.zeros(4), np.ones(4), -2 * np.ones(4)):
        assert solved(problem) == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)


def test_multipliers_of_planes_balance_the_solution():
    rng = np.random.default_rng(14)
    _, _, oracle = family(rng)
    x = cp.Variable(4)
    h = OracleMax(x, oracle)
    assert h.planes == ()
    solved(cp.Problem(cp.Minimize(h + 0.5 * cp.sum_squares(x))), tol=1e-8)
    assert sum(p.multiplier for p in h.planes) == pytest.approx(1.0, abs=1e-5)
    slope = sum(p.multiplier * p.slope for p in h.planes)
    np.testing.assert_allclose(slope, -x.value, atol=1e-3)
    for plane in h.planes:
        assert plane.intercept + plane.slope @ x.value == pytest.approx(float(h.value), abs=1e-4)


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_workers_find_the_same_solution(backend):
    rng = np.random.default_rng(15)
    families = [family(rng) for _ in range(4)]
    x = cp.Variable(4)
    h = OracleMax(x, [oracle for _, _, oracle in families])
    problem = cp.Problem(cp.Minimize(cp.sum(h) + cp.sum_squares(x)))
    values = [
        solved(problem, warm_start=False, backend=where, n_jobs=2) for where in ("serial", backend)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize("solver", ["SCS", "OSQP", "HIGHS"])
def test_restricted_problems_may_be_solved_by_other_solvers(solver):
    rng = np.random.default_rng(16)
    A, c, oracle = family(rng)
    x = cp.Variable(4)
    box = [cp.norm_inf(x) <= 1]
    problem = cp.Problem(cp.Minimize(OracleMax(x, oracle)), box)
    value = problem.solve(method="cutting-plane", solver=solver, tol=1e-3)
    best = cp.Problem(cp.Minimize(cp.max(c + A @ x)), box).solve(solver=cp.CLARABEL)
    assert value == pytest.approx(best, abs=3e-3)
    assert problem.solver_stats.extra_stats.bound.startswith(f"as claimed by {solver}")


def test_integers_go_to_a_mixed_integer_solver():
    rng = np.random.default_rng(17)
    A, c, oracle = family(rng)
    x = cp.Variable(4, integer=True)
    box = [x <= 3, x >= -3]
    problem = cp.Problem(cp.Minimize(OracleMax(x, oracle)), box)
    value = solved(problem, tol=1e-4)
    points = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 4), axis=-1).reshape(-1, 4)
    assert value == pytest.approx((c + points @ A.T).max(axis=1).min(), abs=1e-4)
    np.testing.assert_array_equal(x.value, np.round(x.value))


def test_an_epigraph_of_a_smooth_function_takes_no_more_rounds_than_the_function():
    A, c, oracle = family(np.random.default_rng(19), 100, 8, bends)
    x = cp.Variable(8)
    t = cp.Variable()
    box = cp.norm_inf(x) <= 5
    direct = cp.Problem(cp.Minimize(OracleMax(x, oracle)), [box])
    written = cp.Problem(cp.Minimize(t), [box, OracleMax(x, oracle) <= t])
    full = cp.Problem(cp.Minimize(cp.log_sum_exp(c + A @ x)), [box]).solve(solver=cp.CLARABEL)
    rounds = []
    for problem in (direct, written):
        assert solved(problem, tol=1e-5, warm_start=False) == pytest.approx(full, abs=1e-4)
        rounds.append(problem.solver_stats.extra_stats.rounds)
    assert rounds[1] <= 2 * rounds[0]


@pytest.mark.parametrize("curved", [False, True])
def test_a_late_failure_of_a_restricted_problem_leaves_the_best_point(curved):
    """Constraints leave no room, by 1e-8: Clarabel finds points of some restricted problems."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 3))
    b = rng.normal(size=30)
    x = cp.Variable(3, nonneg=True)
    most = OracleMax(x, corners(A, b))
    omega = cp.sum_squares(x) if curved else cp.norm1(x)
    room = [cp.sum(x) >= 1, cp.sum(x) <= 1 - 1e-8]
    problem = cp.Problem(cp.Minimize(most + 0.1 * omega), room)
    with pytest.warns(ConvergenceWarning, match="the master failed: the best iterate is returned"):
        value = problem.solve(method="cutting-plane", tol=1e-8)
    certified = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL_INACCURATE
    assert certified.lower <= value == certified.upper == pytest.approx(problem.objective.value)
    assert "the upper one for constraints relaxed by" in certified.bound
    assert 0.0 < certified.violation <= 1e-8
    assert cp.sum(x).value == pytest.approx(1, abs=1e-6)


def objective_and_constraints(kind, heights, weights, x, y, s, level):
    """Four ways in which atoms enter a problem."""
    total = sum(w * h for w, h in zip(weights, heights, strict=True))
    kept = [cp.norm_inf(y) <= 4, cp.norm_inf(x) <= 10]
    if kind == "squares beside":
        return total + 0.4 * cp.sum_squares(x - 1), kept
    if kind == "a soft constraint":
        return total + cp.norm1(y) + 2 * cp.pos(s), [*kept, heights[0] <= level + s]
    if kind == "a maximum of atoms":
        return cp.max(cp.hstack(heights)) + 0.1 * cp.norm(x), kept
    return s + 0.3 * total, [*kept, cp.sum(x) == 1, cp.maximum(heights[0], heights[-1]) <= s]


KINDS = ("squares beside", "a soft constraint", "a maximum of atoms", "an epigraph")

VARIABLES = (
    cp.Variable,
    lambda d: cp.Variable(d, nonneg=True),
    lambda d: cp.Variable(d, bounds=[-2, 3]),
)


@pytest.mark.parametrize("shape", SHAPES, ids=["corners", "bends"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_random_problem_agrees_with_the_full_program(seed, kind, shape):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    d = int(rng.integers(1, 6))
    n_atoms = int(rng.integers(1, 4))
    x = VARIABLES[seed](d)
    s = cp.Variable()
    y = cp.Variable(int(rng.integers(1, 3)))
    ours = []
    full = []
    for _ in range(n_atoms):
        n = int(rng.integers(2, 60))
        m = int(rng.integers(1, 5))
        A, c, oracle = family(rng, n, m, shape[0])
        mixed = y * (rng.random() < 0.5)
        argument = rng.normal(size=(m, d)) @ x + rng.normal(size=(m, y.size)) @ mixed
        argument = argument + rng.normal(size=m)
        ours.append(OracleMax(argument, oracle))
        full.append(shape[1](c + A @ argument))
    rest = (rng.random(n_atoms), x, y, s, rng.normal() + 2)
    mine, kept = objective_and_constraints(kind, ours, *rest)
    problem = cp.Problem(cp.Minimize(mine), kept)
    if seed == 1:
        problem = cp.Problem(cp.Maximize(-mine), kept)
    value = problem.solve(method="cutting-plane", tol=1e-4)
    theirs, kept = objective_and_constraints(kind, full, *rest)
    best = cp.Problem(cp.Minimize(theirs), kept).solve(solver=cp.CLARABEL)
    best = -best if seed == 1 else best
    room = 2e-4 * max(1.0, abs(best))
    assert problem.status == cp.OPTIMAL
    assert value == pytest.approx(best, abs=room)
    stats = problem.solver_stats.extra_stats
    assert stats.lower - 0.01 * room <= best <= stats.upper + 0.01 * room


FACTORS = [10.0**k for k in (-8, -4, 0, 4, 8)]

SOLVERS = [None, "HIGHS"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_of_objective_and_constraints_changes_nothing(factor, solver):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 5))
    c = -1 - np.abs(rng.normal(size=200))
    x = cp.Variable(5)
    y = cp.Variable(5)
    t = cp.Variable()
    h = OracleMax(x, corners(factor * A, factor * c))
    ours = [h <= factor * t, factor * (x[0] + x[1]) >= 0.3 * factor, cp.norm_inf(x) <= 1]
    theirs = [A @ y + c <= t, y[0] + y[1] >= 0.3, cp.norm_inf(y) <= 1]
    best = cp.Problem(cp.Minimize(2 * t + cp.sum(y)), theirs).solve(solver="CLARABEL")
    problem = cp.Problem(cp.Minimize(factor * (2 * t + cp.sum(x))), ours)
    assert solved(problem, solver=solver) == pytest.approx(factor * best, rel=1e-4)


@pytest.mark.parametrize("factor", FACTORS)
def test_an_optimum_of_zero_is_certified(factor):
    x = cp.Variable(4)
    target = np.array([3.0, 1, 4, 1])

    def furthest(at):
        k = np.abs(at - target).argmax()
        away = factor * (at[k] - target[k])
        return abs(away), factor * np.sign(away) * np.eye(4)[k]

    problem = cp.Problem(cp.Minimize(OracleMax(x, furthest)), [x >= -10, x <= 10])
    assert solved(problem) == pytest.approx(0.0, abs=1e-5 * factor)
    np.testing.assert_allclose(x.value, target, atol=1e-4)


@pytest.mark.parametrize("deviation", [1e-2, 1.5e-3, 3e-4, 1e-6])
def test_a_variance_of_returns_is_kept_below_its_limit(deviation):
    rng = np.random.default_rng(3)
    returns = deviation * (rng.normal(size=(500, 10)) + rng.normal(size=(500, 1)))
    mean = deviation * rng.uniform(0, 0.1, 10)
    S = np.cov(returns.T)
    x = cp.Variable(10, nonneg=True)
    y = cp.Variable(10, nonneg=True)
    scaled = S / deviation**2
    least = cp.Problem(cp.Minimize(cp.quad_form(y, scaled)), [cp.sum(y) == 1]).solve(
        solver="CLARABEL"
    )
    full = [cp.quad_form(y, scaled) <= 1.2 * least, cp.sum(y) == 1]
    best = cp.Problem(cp.Maximize(mean @ y / deviation), full).solve(solver="CLARABEL")
    variance = OracleMax(x, lambda at: (at @ S @ at, 2 * S @ at))
    limit = 1.2 * least * deviation**2
    problem = cp.Problem(cp.Maximize(mean @ x), [variance <= limit, cp.sum(x) == 1])
    assert solved(problem) / deviation == pytest.approx(best, rel=1e-5)
    assert x.value @ S @ x.value <= limit * (1 + 2e-6)


ROWS = np.random.default_rng(0).normal(size=(50, 3))
highest = corners(ROWS)


def problem_of(oracle, **declared):
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(OracleMax(x, oracle, **declared) + cp.sum_squares(x - 1)))


WRONG_ANSWERS = {
    "no pair": (lambda x: 1.0, PluginError, r"returned 1.0 \(a float\): return \(value, slope\)"),
    "NaN": (lambda x: (np.nan, x), OracleError, "returned nan in its value"),
    "an infinite slope": (lambda x: (1.0, x + np.inf), OracleError, "returned inf in its slope"),
    "rows of several lengths": (lambda x: (1.0, [[1], [2, 3]]), PluginError, "return real numbers"),
    "another shape": (lambda x: (1.0, x[:2]), PluginError, r"slope of shape \(2,\), where \(3,\)"),
    "an upper bound below": (
        lambda x: (1.0, 0 * x, 0.5),
        OracleError,
        "an upper bound below its value",
    ),
    "an error of its own": (lambda x: x["a"], OracleError, "the oracle raised IndexError"),
    "written to its argument": (
        lambda x: x.fill(0.0),
        PluginError,
        "the oracle modified its input .* copy before writing",
    ),
}


@pytest.mark.parametrize(("oracle", "error", "words"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_an_oracle_that_answers_wrongly_is_named(oracle, error, words):
    with pytest.raises(error, match=f"risk: .*{words}"):
        solve(problem_of(oracle, label="risk"))


def test_an_oracle_that_does_not_find_a_maximum_is_named():
    rng = np.random.default_rng(1)

    def some_row(x):
        row = ROWS[rng.integers(50)]
        return row @ x, row

    with pytest.raises(OracleError, match=r"OracleMax: .* it does not find a maximum of planes"):
        solve(problem_of(some_row))


def test_a_plane_above_an_earlier_value_is_named():
    """The slope is not one of the function: the plane cuts the function off elsewhere."""

    def wrong_slope(x):
        value, slope = highest(x)
        return value, slope + 3.0 * np.sign(x)

    with pytest.raises(OracleError, match=r"OracleMax: .* at least"):
        solve(problem_of(wrong_slope))


@cases(
    lambda A, c, p: (A, c - 5.0 * p),  # every value falls
    lambda A, c, p: (A, c + 5.0 * p),
    lambda A, c, p: (A / (1.0 + p), c),
    lambda A, c, p: (A[c <= 2.0 - 2.0 * p], c[c <= 2.0 - 2.0 * p]),  # planes are gone
)
@pytest.mark.parametrize("restart", [False, True], ids=["at the solution", "elsewhere"])
def test_planes_of_an_oracle_that_has_changed_are_forgotten(restart, changed):
    """It reads a parameter that is not declared, in loops as users of cvxpy write them."""
    A, c = np.random.default_rng(3).normal(size=(2, 60, 3))
    c = c[:, 0]
    p = cp.Parameter(value=0.0)
    x = cp.Variable(3)
    problem = cp.Problem(
        cp.Minimize(
            OracleMax(x, lambda at: corners(*changed(A, c, p.value))(at)) + 0.1 * cp.sum_squares(x)
        )
    )
    solved(problem)
    for p.value in (1.0, 0.5):
        if restart:
            x.value = np.ones(3)
        planes, heights = changed(A, c, p.value)
        full = cp.Problem(cp.Minimize(cp.max(heights + planes @ x) + 0.1 * cp.sum_squares(x)))
        with pytest.warns(OracleWarning, match=r"has changed, and what was known.*parameters="):
            value = solved(problem)
        assert value == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)
        solved(problem)  # without a warning: it says what it said


def test_planes_of_an_oracle_with_changed_slopes_are_forgotten():
    """At zero the value does not tell that the slopes are others."""
    A = np.random.default_rng(5).normal(size=(40, 3))
    p = cp.Parameter(value=1.0, nonneg=True)
    x = cp.Variable(3)
    b = cp.Parameter(3, value=np.zeros(3))

    def oracle(at):
        k = np.abs(A @ at).argmax()
        return p.value * abs(A[k] @ at), p.value * np.sign(A[k] @ at + 1e-300) * A[k]

    problem = cp.Problem(cp.Minimize(OracleMax(x, oracle) + 0.1 * cp.sum_squares(x - b) + 1))
    full = cp.Problem(cp.Minimize(p * cp.norm_inf(A @ x) + 0.1 * cp.sum_squares(x - b) + 1))
    solve(problem)
    p.value = 0.01
    b.value = np.ones(3)
    assert solved(problem) == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@cases(corners, bends)
def test_an_oracle_may_answer_in_fewer_digits(dtype, shape):
    """It has the tolerance of its type, and the bounds hold in spite of its rounding."""
    rng = np.random.default_rng(6)
    A = rng.normal(size=(300, 5))
    c = rng.normal(size=300)
    x = cp.Variable(5)
    A = A.astype(dtype)
    c = c.astype(dtype)
    value_of = shape(A, c)

    def oracle(at):
        value, slope = value_of(at.astype(dtype))
        return dtype(value), slope.astype(dtype)

    h = OracleMax(x, oracle, label="short")
    problem = cp.Problem(cp.Minimize(h + 0.1 * cp.sum_squares(x)), [cp.abs(x) <= 10])
    solve(problem, tol=1e-6)
    stats = problem.solver_stats.extra_stats
    A = A.astype(float)
    c = c.astype(float)
    write = cp.max if shape is corners else cp.log_sum_exp
    full = cp.Problem(cp.Minimize(write(c + A @ x) + 0.1 * cp.sum_squares(x)), [cp.abs(x) <= 10])
    assert stats.lower <= full.solve(solver=cp.CLARABEL) <= stats.upper
    assert stats.gap <= 400 * np.finfo(dtype).eps
    assert "upper bounds that the oracles gave" in stats.bound


def test_a_declared_sign_or_monotonicity_is_held_against_the_oracle():
    with pytest.raises(OracleError, match="another sign than declared by sign='nonneg', with the"):
        solve(problem_of(lambda x: (x[0] - 5.0, np.eye(3)[0]), sign="nonneg"))
    with pytest.raises(OracleError, match="declared by sign='nonpos'"):
        solve(problem_of(lambda x: (5.0, np.zeros(3)), sign="nonpos"))
    with pytest.raises(OracleError, match="declared by monotonicity='increasing'"):
        solve(problem_of(highest, monotonicity="increasing"))


def test_the_variables_keep_their_values_when_an_oracle_fails():
    calls = []

    def fails(x):
        calls.append(x)
        if len(calls) > 1:
            raise RuntimeError("out of order")
        return highest(x)

    problem = problem_of(fails)
    (x,) = problem.variables()
    x.value = np.array([1.0, 2.0, 3.0])
    with pytest.raises(OracleError, match="raised RuntimeError: out of order"):
        solve(problem)
    np.testing.assert_array_equal(x.value, [1.0, 2.0, 3.0])


def test_a_plain_solve_is_refused_with_the_call_to_make():
    with pytest.raises(SettingsError, match=r'call problem.solve\(method="cutting-plane"\)'):
        problem_of(highest).solve()


def test_a_concave_use_is_named():
    x = cp.Variable(3)
    h = OracleMax(x, highest, label="risk")
    words = r"is not convex .*: risk is convex, so that it may be"
    for problem in (cp.Problem(cp.Maximize(h)), cp.Problem(cp.Minimize(cp.sum(x)), [h >= 1])):
        with pytest.raises(SettingsError, match=words):
            solve(problem)


def test_problems_without_atoms_or_with_complex_or_unset_values_are_refused():
    x = cp.Variable(3)
    z = cp.Variable(3, complex=True)
    with pytest.raises(SettingsError, match="the problem has no atom with an oracle"):
        solve(cp.Problem(cp.Minimize(cp.sum_squares(x))))
    with pytest.raises(SettingsError, match=r"OracleMax depends on .* is complex"):
        solve(cp.Problem(cp.Minimize(OracleMax(cp.real(z), highest))))
    with pytest.raises(SettingsError, match="real and the imaginary part"):
        OracleMax(z, highest)
    unset = cp.Parameter(nonneg=True, name="lam")
    with pytest.raises(SettingsError, match="parameter lam has no value"):
        solve(cp.Problem(cp.Minimize(unset * OracleMax(x, highest))))
    with pytest.raises(SettingsError, match="parameter lam has no value"):
        solve(problem_of(lambda x, p: highest(x), parameters=[unset]))


SETTINGS = {
    "solver": ({"solver": "NOSUCH"}, "solver='NOSUCH': The solver NOSUCH is not installed"),
    "backend": ({"backend": "gpu"}, "backend must be"),
    "options": ({"no_such_option": 1}, "no_such_option"),
}


test_impossible_settings_of_cutting_planes_are_refused = refused(
    SettingsError, lambda settings: solve(problem_of(highest), **settings), *SETTINGS.values()
)


ATOMS = {
    "terms of a list": ({"oracle": [highest], "n_terms": 1}, "leave n_terms out"),
    "no terms": ({"n_terms": 0}, "n_terms must be an integer >= 1"),
    "no sign": ({"sign": "positive"}, "sign must be one of"),
}


@pytest.mark.parametrize(("given", "words"), ATOMS.values(), ids=ATOMS)
def test_impossible_arguments_of_an_atom_are_refused(given, words):
    settings = {"x": cp.Variable(3), "oracle": highest, **given}
    with pytest.raises(SettingsError, match=words):
        OracleMax(**settings)


def test_an_infeasible_problem_names_the_constraints_that_have_to_give_way():
    x = cp.Variable(3)
    h = OracleMax(
        x,
        lambda x: (np.abs(x).max(), np.eye(3)[np.abs(x).argmax()] * np.sign(x[np.abs(x).argmax()])),
    )
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] >= 3, h <= 1, x[1] == 0])
    assert solve(problem) == np.inf
    assert problem.status == cp.INFEASIBLE
    assert x.value is None
    stats = problem.solver_stats.extra_stats
    assert stats.lower == stats.upper == np.inf
    assert stats.conflict
    assert all(said.startswith(("constraint 0, ", "constraint 1, ")) for said in stats.conflict)


@pytest.mark.parametrize("limit", [-10.0, -1000.0])
@cases(
    lambda x, h: cp.sum(x),
    lambda x, h: h,
    lambda x, h: cp.Constant(0.0),
    lambda x, h: cp.norm_inf(x),
)
def test_a_function_bounded_below_its_least_value_is_infeasible(limit, objective):
    """Also where no variable is bounded, so that the first boxes hold no point either."""
    rng = np.random.default_rng(4)
    A, c, oracle = family(rng, n=100, dim=5)
    x = cp.Variable(5)
    y = cp.Variable(5)
    assert cp.Problem(cp.Minimize(cp.max(c + A @ y))).solve(solver=cp.CLARABEL) > limit
    h = OracleMax(x, oracle)
    problem = cp.Problem(cp.Minimize(objective(x, h)), [h <= limit])
    assert solve(problem) == np.inf
    assert problem.status == cp.INFEASIBLE
    assert "constraint 0, " in problem.solver_stats.extra_stats.conflict[0]


@pytest.mark.parametrize("least", [500.0, -5e4, 1e6])
def test_points_far_from_the_first_box_are_points(least):
    """The first plane leaves the objective without a minimum, and the first box holds no point."""
    A, c, oracle = family(np.random.default_rng(4), n=100, dim=5)
    x = cp.Variable(5)
    further = [cp.sum(x) >= least] if least > 0 else [cp.sum(x) <= least]
    value = solve(cp.Problem(cp.Minimize(OracleMax(x, oracle)), further))
    full = cp.Problem(cp.Minimize(cp.max(c + A @ x)), further)
    assert value == pytest.approx(full.solve(solver=cp.CLARABEL), rel=1e-3)


def test_a_problem_without_a_minimum_asks_for_bounds():
    x = cp.Variable(3)
    only_one_plane = OracleMax(x, lambda x: (x.sum(), np.ones(3)))
    with pytest.raises(MasterError, match=r"add bounds of its variables, such as cp.norm_inf"):
        solve(cp.Problem(cp.Minimize(only_one_plane)))
    bounded = cp.Problem(cp.Minimize(only_one_plane), [cp.norm_inf(x) <= 1000])
    assert solve(bounded) == pytest.approx(-3000)


def test_integers_and_squares_that_no_solver_takes_name_a_way_out():
    x = cp.Variable(3, integer=True)
    problem = cp.Problem(cp.Minimize(OracleMax(x, highest) + cp.sum_squares(x - 0.3)))
    with pytest.raises(SettingsError, match=r"HIGHS.*write cp.norm1"):
        solve(problem, solver="HIGHS")


def test_a_run_that_stops_early_says_so():
    problem = problem_of(highest)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        solve(problem, max_iter=1, tol=1e-12)
    assert problem.status == cp.USER_LIMIT
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= stats.upper == problem.value


def test_a_run_that_found_no_point_says_so():
    x = cp.Variable(3)

    def ball(x):  # |x|^2, whose planes are many
        return x @ x, 2 * x

    problem = cp.Problem(cp.Minimize(cp.sum(x)), [OracleMax(x, ball) <= 1, cp.norm_inf(x) <= 50])
    x.value = np.full(3, 40.0)
    with pytest.raises(LearningError, match=r"max_iter.* no weight that satisfies the constraints"):
        solve(problem, max_iter=2, tol=1e-9)
    np.testing.assert_array_equal(x.value, 40.0)


def test_ctrl_c_returns_the_best_point_so_far():
    problem = problem_of(highest)
    seen = []

    def stop(entry):
        seen.append(entry)
        os.kill(os.getpid(), signal.SIGINT)

    value = solve(problem, tol=1e-12, callback=stop)
    assert problem.status == cp.USER_LIMIT
    stats = problem.solver_stats.extra_stats
    assert "interrupted" in stats.status
    assert stats.lower <= value == stats.upper
    (x,) = problem.variables()
    assert value == pytest.approx(float((ROWS @ x.value).max() + ((x.value - 1) ** 2).sum()))
    assert solve(problem) <= value


def test_ctrl_c_after_the_last_round_does_not_lose_what_was_found(monkeypatch):
    """It comes while the run warns that it was too short."""
    problem = problem_of(highest)
    monkeypatch.setattr(warnings, "showwarning", lambda *_: signal.raise_signal(signal.SIGINT))
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        with pytest.raises(KeyboardInterrupt):
            solve(problem, max_iter=1, tol=1e-12)
    (x,) = problem.variables()
    assert problem.value == problem.solver_stats.extra_stats.upper
    assert problem.value == pytest.approx(
        float((ROWS @ x.value).max() + ((x.value - 1) ** 2).sum())
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_verbose_prints_a_line_for_each_round(capsys):
    problem = problem_of(highest)
    solve(problem, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == problem.solver_stats.num_iters
    assert lines[0].startswith("round 1: between")


@pytest.mark.filterwarnings("ignore:stalled", "ignore:stopped because the master failed")
def test_a_problem_with_a_point_is_not_called_infeasible_for_its_large_numbers():
    for seed in range(4, 9):
        rng = np.random.default_rng(seed)
        A = 1e8 * rng.normal(size=(200, 5))
        c = 1e8 * rng.normal(size=200)
        x = cp.Variable(5)
        x.value = rng.normal(size=5) * 10.0 ** rng.integers(-3, 5)

        objective = cp.Minimize(OracleMax(x, corners(A, c)) + 1e7 * cp.norm1(x))
        problem = cp.Problem(objective, [x <= 0.1, cp.sum(x) >= -0.2])
        try:
            solve(problem)
        except MasterError:
            continue
        assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def cut_dual(rng, scale, n=8):
    """The dual of a largest cut: a semidefinite bound by eigenvalues, over a subspace."""
    W = scale * np.triu(rng.random((n, n)) < 0.5, 1)
    L = np.diag(W.sum(axis=0) + W.sum(axis=1)) - W - W.T

    def oracle(u):
        values, vectors = np.linalg.eigh(L / 4 + np.diag(u))
        return n * values[-1], n * vectors[:, -1] ** 2

    u = cp.Variable(n)
    return cp.Problem(cp.Minimize(OracleMax(u, oracle)), [cp.sum(u) == 0])


def convex_regression(rng, n=15):
    """Values and slopes, all of whose tangents are below all values."""
    x = np.sort(rng.uniform(-1.0, 1.0, n))
    y = x**2 + 0.1 * rng.standard_normal(n)

    def most_broken(values, slopes):
        below = values[:, None] + slopes[:, None] * (x - x[:, None]) - values
        i, j = np.unravel_index(below.argmax(), below.shape)
        each = np.eye(n)
        return below[i, j], (each[i] - each[j], (x[j] - x[i]) * each[i])

    values = cp.Variable(n)
    slopes = cp.Variable(n)
    kept = OracleMax([values, slopes], most_broken) <= 0
    return cp.Problem(cp.Minimize(cp.sum_squares(values - y)), [kept])


def unbounded_below_by_first_planes(rng):
    _, _, oracle = family(rng, n=100, dim=6)
    return cp.Problem(cp.Minimize(OracleMax(cp.Variable(6), oracle)))


def outside_of_a_domain(rng):
    """The run begins at zero, where the logarithm has no value."""
    _, _, oracle = family(rng)
    x = cp.Variable(4, nonneg=True)
    return cp.Problem(cp.Minimize(OracleMax(x, oracle) - cp.sum(cp.log(x))), [x <= 10])


@cases(
    lambda rng: cut_dual(rng, 1.0),
    lambda rng: cut_dual(rng, 1e6, n=20),
    lambda rng: cut_dual(rng, 1e-6),
    convex_regression,
    unbounded_below_by_first_planes,
    outside_of_a_domain,
)
@pytest.mark.parametrize("slack", ["n", "one"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_is_computed_with_infinite_bounds(slack, make):
    """Warnings of numpy are errors in tests, and would end the run."""
    problem = make(np.random.default_rng(0))
    assert np.isfinite(solve(problem, slack=slack, max_iter=20))
