"""The examples of cutting planes in cvxpy, each against the full program of all planes."""

import itertools
import runpy
import sys
from pathlib import Path

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

from structsvm.modeling import segmentation_hinge
from structsvm.problems import ChangePoint

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "cutting_planes"
NOTEBOOK = "09_cutting_planes_in_cvxpy.ipynb"
sys.path.insert(0, str(EXAMPLES))

import adversary  # noqa: E402
import chebyshev  # noqa: E402
import crammer_singer  # noqa: E402
import cvar  # noqa: E402
import interdiction  # noqa: E402
import two_metrics  # noqa: E402


def solved(problem, tol=1e-6):
    """The value, and the certificate around it."""
    value = problem.solve(method="cutting-plane", tol=tol)
    assert problem.status == cp.OPTIMAL
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= value <= stats.upper * (1 + 1e-12) + 1e-12
    return value


def is_optimal(problem, full, tol=1e-6):
    value, best = solved(problem, tol), full.solve(solver="CLARABEL")
    assert value == pytest.approx(best, rel=10 * tol, abs=10 * tol)
    assert problem.solver_stats.extra_stats.lower <= best * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_chebyshev_approximation(degree):
    """Over 20,001 points instead of all; and the values that are known (Bernstein, 1914)."""
    value = solved(chebyshev.nearest_polynomial(degree))
    assert value == pytest.approx({2: 0.125, 4: 0.0676, 8: 0.0347}[degree], abs=1e-4)
    t = np.linspace(0, 1, 20_001)
    basis = np.cos(np.arange(0, degree + 1, 2) * np.arccos(t)[:, None])
    c, z = cp.Variable(basis.shape[1]), cp.Variable()
    listed = cp.Problem(cp.Minimize(z), [basis @ c - t <= z, t - basis @ c <= z])
    listed = listed.solve(solver="HIGHS")
    assert listed - 1e-6 <= value <= listed + 1e-5


def test_regression_against_an_adversary():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 3))
    b = A @ np.ones(3) + rng.normal(size=40)
    problem = adversary.robust_regression(A, b, moved=6, by=1.5)
    x = cp.Variable(3)
    damage = 3.0 * cp.sum_largest(cp.abs(A @ x - b), 6) + 6 * 1.5**2
    is_optimal(problem, cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + damage)))


def test_the_worst_case_of_the_adversary_is_one_over_all_that_he_can_do():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(6, 2)), rng.normal(size=6)
    x = cp.Variable(2)
    moves = [
        np.bincount(which, signs, minlength=6)
        for which in itertools.combinations(range(6), 2)
        for signs in itertools.product([-0.7, 0.7], repeat=2)
    ]
    worst = cp.max(cp.hstack([cp.sum_squares(A @ x - b + move) for move in moves]))
    is_optimal(adversary.robust_regression(A, b, 2, 0.7), cp.Problem(cp.Minimize(worst)))


def test_conditional_value_at_risk():
    rng = np.random.default_rng(0)
    losses = rng.standard_t(4, size=(2000, 8)) - 0.1 * np.arange(8)
    x = cp.Variable(8, nonneg=True)
    worst = cp.sum_largest(losses @ x, 100) / 100
    full = cp.Problem(cp.Minimize(worst), [cp.sum(x) == 1, x <= 0.2])
    is_optimal(cvar.least_cvar(losses, 0.05), full)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_survives_the_loss_of_an_edge(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(6, 0.6, seed=seed, directed=True)
    graph.add_edges_from([(0, 5), (0, 1), (1, 5), (0, 2), (2, 5)])
    edges, costs = list(graph.edges), rng.uniform(1, 3, graph.number_of_edges())
    problem = interdiction.survivable(graph, costs, 0, 5, 2.0)
    u, constraints = cp.Variable(len(edges), nonneg=True), []
    balance = np.zeros((6, len(edges)))
    for k, (i, j) in enumerate(edges):
        balance[i, k], balance[j, k] = 1.0, -1.0
    for lost in range(len(edges)):  # a flow for each attack
        f = cp.Variable(len(edges), nonneg=True)
        demand = np.array([2.0, 0, 0, 0, 0, -2.0])
        constraints += [f <= u, f[lost] == 0, balance @ f == demand]
    is_optimal(problem, cp.Problem(cp.Minimize(costs @ u), constraints))


def test_the_multiclass_machine():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.column_stack([np.eye(3)[y][:, :2] + 0.7 * rng.normal(size=(60, 2)), np.ones(60)])
    problem = crammer_singer.multiclass(X, y, lam=0.05)
    W, truth = cp.Variable((3, 3)), np.eye(3)[y]
    scores = X @ W
    hinges = cp.max(1 - truth + scores, axis=1) - cp.sum(cp.multiply(truth, scores), axis=1)
    size = 0.025 * cp.sum_squares(W)
    is_optimal(problem, cp.Problem(cp.Minimize(size + cp.sum(hinges) / 60)))


@pytest.mark.parametrize("apart", [0.05, 0.5])
def test_two_related_metrics(apart):
    rng = np.random.default_rng(0)
    data = []
    for k in range(2):
        Xs, ys = [], []
        for _ in range(3):
            y = np.repeat([0, 1, 2], 8)
            X = rng.normal(size=(24, 3))
            X[:, k] += 2.0 * y
            Xs.append(X)
            ys.append(y)
        data.append((Xs, ys))
    problem = two_metrics.related_metrics(data, apart)
    B = [cp.Variable(3, nonneg=True) for _ in data]
    price = [cp.Variable(nonneg=True) for _ in data]
    losses = [
        segmentation_hinge(ChangePoint(), Xs, ys, [B[k], price[k]])
        for k, (Xs, ys) in enumerate(data)
    ]
    size = 0.1 * sum(cp.sum_squares(v) for v in [*B, *price])
    full = cp.Problem(cp.Minimize(size + sum(losses)), [cp.norm1(B[0] - B[1]) <= apart])
    is_optimal(problem, full)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
@pytest.mark.filterwarnings("error")
def test_examples_run_as_scripts(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
