"""Random problems with oracles, against the full program: value, status and both bounds."""

import cvxpy as cp
import numpy as np
import pytest

from structsvm.modeling import OracleMax


def corners(A, c):
    """The largest of some planes, by an oracle and for cvxpy."""

    def oracle(z):
        heights = c + A @ z
        k = heights.argmax()
        return heights[k], A[k]

    return oracle, lambda z: cp.max(c + A @ z)


def bends(A, c):
    """The same rounded off."""

    def oracle(z):
        heights = c + A @ z
        top = heights.max()
        shares = np.exp(heights - top)
        return top + np.log(shares.sum()), A.T @ (shares / shares.sum())

    return oracle, lambda z: cp.log_sum_exp(c + A @ z)


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


@pytest.mark.parametrize("shape", [corners, bends])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_random_problem_agrees_with_the_full_program(seed, kind, shape):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    d, n_atoms = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    x, s = VARIABLES[seed](d), cp.Variable()
    y = cp.Variable(int(rng.integers(1, 3)))
    ours, full = [], []
    for _ in range(n_atoms):
        n, m = int(rng.integers(2, 60)), int(rng.integers(1, 5))
        oracle, written = shape(rng.normal(size=(n, m)), rng.normal(size=n))
        mixed = y * (rng.random() < 0.5)
        argument = rng.normal(size=(m, d)) @ x + rng.normal(size=(m, y.size)) @ mixed
        argument = argument + rng.normal(size=m)
        ours.append(OracleMax(argument, oracle))
        full.append(written(argument))
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
