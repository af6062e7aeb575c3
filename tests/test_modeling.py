"""Atoms of cvxpy that an oracle knows, against the full program, which lists every plane."""

import cvxpy as cp
import numpy as np
import pytest

from structsvm.modeling import OracleMax


def family(rng, n=60, dim=4):
    """Planes, and an oracle that knows which of them is highest."""
    A, c = rng.normal(size=(n, dim)), rng.normal(size=n)

    def oracle(x):
        heights = c + A @ x
        k = heights.argmax()
        return heights[k], A[k]

    return A, c, oracle


def solved(problem, **settings):
    """The value found by cutting planes, with a certificate that holds."""
    value = problem.solve(method="cutting-plane", **{"tol": 1e-6, **settings})
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= stats.upper
    assert problem.value == value
    return value


@pytest.mark.parametrize("seed", range(4))
def test_a_problem_with_atoms_everywhere_has_the_optimum_of_the_full_program(seed):
    rng = np.random.default_rng(seed)
    families = [family(rng) for _ in range(3)]
    x, y = cp.Variable(4), cp.Variable()

    def problem(heights):
        objective = cp.sum_squares(x) + 0.3 * sum(cp.pos(h) for h in heights) + cp.abs(y - x[0])
        return cp.Problem(cp.Minimize(objective), [cp.norm1(x) <= 3, heights[0] <= 1 + y])

    full = problem([cp.max(c + A @ x) for A, c, _ in families])
    best = full.solve(solver=cp.CLARABEL)
    point, dual = x.value, full.constraints[1].dual_value
    ours = problem([OracleMax(x, oracle) for _, _, oracle in families])
    assert solved(ours) == pytest.approx(best, abs=1e-5)
    assert ours.status == cp.OPTIMAL
    np.testing.assert_allclose(x.value, point, atol=1e-3)
    assert ours.constraints[1].dual_value == pytest.approx(dual, abs=1e-3)
    assert ours.solver_stats.extra_stats.lower <= best + 1e-6
