"""Capacities before demand is known: a two-stage program by Benders' method, one atom.

Too little capacity for a scenario leaves its second stage without a point.
"""

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from structsvm.modeling import Infeasible, OracleMax


def second_stage(q: np.ndarray, W: np.ndarray, h: np.ndarray, T: np.ndarray):
    """The oracle of the least ``q @ y`` with ``W @ y >= h - T @ x`` and ``y >= 0``."""
    beside = np.hstack([W, np.eye(len(h))])  # what each row lacks, where there is no such y
    lacks = np.r_[np.zeros(len(q)), np.ones(len(h))]

    def oracle(x):
        right = T @ x - h
        found = linprog(q, A_ub=-W, b_ub=right)
        if found.status == 0:
            return found.fun, T.T @ found.ineqlin.marginals
        lack = linprog(lacks, A_ub=-beside, b_ub=right)
        return Infeasible(lack.fun, T.T @ lack.ineqlin.marginals)

    return oracle


def mean_of(oracles: list):
    """One oracle of the mean over scenarios: single-cut, where a list of oracles is multi-cut."""

    def oracle(x):
        answers = [each(x) for each in oracles]
        outside = [one for one in answers if isinstance(one, Infeasible)]
        if outside:
            values = np.array([one.value for one in outside])
            return Infeasible(values, np.array([one.slope for one in outside]))
        values, slopes = zip(*answers, strict=True)
        return np.mean(values), np.mean(slopes, axis=0)

    return oracle


def transport(costs: np.ndarray, demand: np.ndarray) -> tuple[np.ndarray, ...]:
    """The second stage ``(q, W, h, T)``: to customers, from plants of capacity ``x``."""
    n_plants, n_customers = costs.shape
    sent = np.kron(np.eye(n_plants), np.ones(n_customers))
    received = np.kron(np.ones(n_plants), np.eye(n_customers))
    T = np.vstack([np.eye(n_plants), np.zeros((n_customers, n_plants))])
    return costs.ravel(), np.vstack([-sent, received]), np.r_[np.zeros(n_plants), demand], T


def capacities(prices: np.ndarray, stages: list, is_multi_cut: bool) -> cp.Problem:
    """Build capacities ``x`` for the price of them and the mean cost of the second stages."""
    x = cp.Variable(len(prices), nonneg=True, name="x")
    oracles = [second_stage(*stage) for stage in stages]
    costs = OracleMax(x, oracles if is_multi_cut else mean_of(oracles), label="second stage")
    return cp.Problem(cp.Minimize(prices @ x + cp.sum(costs) / costs.size))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    costs = rng.uniform(1.0, 5.0, (3, 4))
    stages = [transport(costs, rng.uniform(0.0, 2.0, 4)) for _ in range(20)]
    for is_multi_cut in (True, False):
        problem = capacities(np.array([3.0, 2.0, 2.5]), stages, is_multi_cut)
        value = problem.solve(method="cutting-plane", tol=1e-7)
        print(value, problem.solver_stats.extra_stats.summary())
