"""Lower bounds of conic programs, whatever point a solver proposes."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from structsvm.masters.bounds import proved_bound


@pytest.fixture
def program():
    """``min |x|^2 + |x|_1`` over ``x >= 1``, of minimum 4, in Clarabel's form."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + cp.norm1(x)), [x >= 1])
    data, _, _ = problem.get_problem_data("CLARABEL")
    return data


@pytest.mark.parametrize("size", [1e100, 1e200, 1e308, np.inf, np.nan])
def test_a_point_however_large_proves_nothing_and_warns_of_nothing(program, size):
    y, z = np.full(program["c"].size, size), np.full(program["b"].size, size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert proved_bound(program, 0.0, y, z) == -np.inf


def test_a_point_near_the_solution_proves_nearly_the_minimum(program):
    import clarabel

    cones = [
        clarabel.ZeroConeT(program["dims"].zero),
        clarabel.NonnegativeConeT(program["dims"].nonneg),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    parts = (program["P"], program["c"], program["A"], program["b"])
    answer = clarabel.DefaultSolver(*parts, [c for c in cones if c.dim], settings).solve()
    found = proved_bound(program, 0.0, np.array(answer.x), np.array(answer.z))
    assert 4 - 1e-3 <= found <= 4
