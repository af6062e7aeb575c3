"""Results do not depend on the units of objectives and constraints."""

import cvxpy as cp
import numpy as np
import pytest

from structsvm.modeling import OracleMax

FACTORS = [10.0**k for k in (-8, -6, -4, -2, 0, 2, 4, 6, 8)]
SOLVERS = [None, "HIGHS"]
A = np.random.default_rng(0).normal(size=(200, 5))
B = -1 - np.abs(np.random.default_rng(1).normal(size=200))


def highest(rows, levels, factor):
    def oracle(x):
        heights = factor * (rows @ x + levels)
        k = heights.argmax()
        return heights[k], factor * rows[k]

    return oracle


def solved(problem, **settings):
    value = problem.solve(method="cutting-plane", **{"tol": 1e-6, **settings})
    stats = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL
    assert stats.lower <= value + 1e-12 * stats.scale
    assert stats.violation <= 1e-6
    return value


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("factor", FACTORS)
class TestFactor:
    def test_of_a_constraint(self, factor, solver):
        x, y = cp.Variable(5), cp.Variable(5)
        kept = OracleMax(x, highest(A, B, factor)) <= 0
        problem = cp.Problem(cp.Minimize(cp.sum(x)), [kept, cp.abs(x) <= 1])
        full = cp.Problem(cp.Minimize(cp.sum(y)), [A @ y + B <= 0, cp.abs(y) <= 1])
        best = full.solve(solver="CLARABEL")
        assert solved(problem, solver=solver) == pytest.approx(best, abs=1e-5)
        assert (A @ x.value + B).max() <= 1e-5
        dual = np.sum(full.constraints[0].dual_value)
        assert factor * kept.dual_value == pytest.approx(dual, rel=1e-3)

    def test_of_the_objective(self, factor, solver):
        x, y = cp.Variable(5), cp.Variable(5)
        best = cp.Problem(cp.Minimize(cp.max(A @ y + B)), [cp.norm1(y) <= 1]).solve(
            solver="CLARABEL"
        )
        problem = cp.Problem(cp.Minimize(OracleMax(x, highest(A, B, factor))), [cp.norm1(x) <= 1])
        assert solved(problem, solver=solver) == pytest.approx(factor * best, rel=1e-5)

    def test_of_both_and_a_plain_constraint(self, factor, solver):
        x, y, t = cp.Variable(5), cp.Variable(5), cp.Variable()
        h = OracleMax(x, highest(A, B, factor))
        ours = [h <= factor * t, factor * (x[0] + x[1]) >= 0.3 * factor, cp.norm_inf(x) <= 1]
        theirs = [A @ y + B <= t, y[0] + y[1] >= 0.3, cp.norm_inf(y) <= 1]
        best = cp.Problem(cp.Minimize(2 * t + cp.sum(y)), theirs).solve(solver="CLARABEL")
        problem = cp.Problem(cp.Minimize(factor * (2 * t + cp.sum(x))), ours)
        assert solved(problem, solver=solver) == pytest.approx(factor * best, rel=1e-4)


@pytest.mark.parametrize("factor", FACTORS)
def test_of_an_optimum_of_zero(factor):
    x, target = cp.Variable(4), np.array([3.0, 1, 4, 1])

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
    mean, S = deviation * rng.uniform(0, 0.1, 10), np.cov(returns.T)
    x, y = cp.Variable(10, nonneg=True), cp.Variable(10, nonneg=True)
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
