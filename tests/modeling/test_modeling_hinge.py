"""Structured hinge losses as atoms, their fast masters, and the examples, against full programs."""

import runpy
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from enumerated import Listed, Relaxed, listed_risk, optimum
from recording_cases import recordings

from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.errors import MasterError, OracleError, SettingsError
from structsvm.interop import risk_of
from structsvm.io import arrays_and_labels
from structsvm.masters.newton import NewtonMaster
from structsvm.modeling import OracleMax, StructuredHinge, segmentation_hinge
from structsvm.problem import PSD, Free, Nonnegative, Product, Quality, Separation, SquaredNorm
from structsvm.problems import ChangePoint

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "cutting_planes"
sys.path.insert(0, str(EXAMPLES))

import adversary  # noqa: E402
import chebyshev  # noqa: E402
import crammer_singer  # noqa: E402
import cvar  # noqa: E402
import interdiction  # noqa: E402
import two_metrics  # noqa: E402


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


def test_the_weight_of_a_hinge_may_be_a_sum_of_given_matrices():
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


def test_the_weight_of_a_hinge_with_several_cones_is_a_list():
    space = Product((Nonnegative(2), Free(1)))
    risk = listed_risk(space, SquaredNorm(0.3), seed=2)
    w = cp.Variable(2)
    b = cp.Variable()
    hinge = StructuredHinge(*parts_of(risk), [w, b])
    half = 0.5 * (cp.sum_squares(w) + cp.square(b))
    value = cp.Problem(cp.Minimize(0.3 * half + hinge)).solve(method="cutting-plane", tol=1e-6)
    assert value == pytest.approx(optimum(risk), abs=2e-6)
    assert (w.value >= 0).all(), "the atom keeps its weight in the cone"
    for wrong in (w, [cp.Variable(1), b]):
        with pytest.raises(SettingsError, match=r"give expressions of shape \[\(2,\), \(1,\)\]"):
            StructuredHinge(*parts_of(risk), wrong)


def test_the_price_in_a_hinge_is_one_by_default():
    recordings = relevant_changes(3, n_samples=200, n_features=2, n_relevant=1, random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    B = cp.Variable(2, nonneg=True)
    hinge = StructuredHinge(ChangePoint(), Xs, ys, B)
    B.value = np.array([0.5, 0.1])
    priced = StructuredHinge(ChangePoint(), Xs, ys, [B, cp.Constant(1.0)])
    assert hinge.value == pytest.approx(float(priced.value))
    assert hinge.value >= 0


def test_lam_and_shares_of_a_hinge_may_be_parameters():
    space = Nonnegative(3)
    lam = cp.Parameter(nonneg=True)
    share = cp.Parameter(nonneg=True)
    w = cp.Variable(3, nonneg=True)
    risk = listed_risk(space, SquaredNorm(1.0), seed=6)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + share * hinge))
    rests = []
    for lam.value, share.value in ((0.5, 1.0), (0.1, 1.0), (0.1, 3.0)):
        value = problem.solve(method="cutting-plane", tol=1e-6)
        same = replace(risk, regularizer=SquaredNorm(2 * lam.value / share.value))
        assert value == pytest.approx(share.value * optimum(same), abs=1e-5)
        rests.append(problem.solver_stats.extra_stats.bound)
    assert rests[0] == "certified"
    assert rests[1].startswith("certified, and on planes of earlier solutions")


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
    space = Nonnegative(3)
    lam = cp.Parameter(nonneg=True)
    risk = listed_risk(space, SquaredNorm(), n_labels=18, seed=11, problem=Relaxed(space))
    w, half = variables(space)
    hinge = StructuredHinge(*parts_of(risk), w)
    problem = cp.Problem(cp.Minimize(lam * half + hinge), [cp.sum(w) <= 1e3])
    for lam.value in (8.0, 2.0, 0.5, 0.1, 0.02):
        problem.solve(method="cutting-plane", tol=1e-3)
    assert "for the relaxation" in problem.solver_stats.extra_stats.bound


def nonnegative_planes(rng, shape, n=40):
    """A nonnegative maximum of planes, the last of which is zero, and an oracle of it."""
    dim = int(np.prod(shape))
    A = np.append(rng.normal(size=(n, dim)), np.zeros((1, dim)), axis=0)
    c = rng.normal(size=n)
    c = np.append(c, 0.0)

    def oracle(x):
        heights = c + A @ x.ravel(order="F")
        k = heights.argmax()
        return heights[k], A[k].reshape(shape, order="F")

    return A, c, oracle


def masters(problem):
    return {entry.master for entry in problem.solver_stats.extra_stats.history.entries}


def is_fast(problem):
    return all("newton" in label for label in masters(problem))


def solved(problem, tol=1e-7):
    value = problem.solve(method="cutting-plane", tol=tol)
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= value <= stats.upper * (1 + 1e-12) + 1e-12
    assert problem.status == cp.OPTIMAL
    return value


KINDS = {
    "free": lambda: cp.Variable(3),
    "nonnegative": lambda: cp.Variable(3, nonneg=True),
    "matrix": lambda: cp.Variable((3, 3), PSD=True),
    "entries": lambda: cp.Variable((2, 2), nonneg=True),
}

TERMS = {
    "squares": lambda x: 0.3 * cp.sum_squares(x),
    "shifted squares": lambda x: 0.3 * cp.sum_squares(x - 0.5) + cp.sum(x) + 7.0,
    "trace": lambda x: 2.0 * cp.trace(x) if x.ndim == 2 and x.is_psd() else 2.0 * cp.sum(x),
}

CASES = [(name, term) for name, term in product(KINDS, TERMS) if (name, term) != ("free", "trace")]


@pytest.mark.parametrize(("name", "term"), CASES)
def test_fast_masters_are_used_and_agree_with_the_full_program(name, term):
    rng = np.random.default_rng(3)
    x = KINDS[name]()
    y = cp.Variable(2, nonneg=True)
    A, c, first = nonnegative_planes(rng, x.shape)
    D, e, second = nonnegative_planes(rng, (2,))
    rest = TERMS[term](x) + cp.sum_squares(y)
    h = OracleMax(x, first, sign="nonneg")
    g = OracleMax(y, second, sign="nonneg")
    ours = cp.Problem(cp.Minimize(rest + 2.0 * h + 0.5 * g))
    listed = 2.0 * cp.max(c + A @ cp.vec(x, order="F")) + 0.5 * cp.max(e + D @ y)
    best = cp.Problem(cp.Minimize(rest + listed)).solve(solver="CLARABEL")
    assert solved(ours) == pytest.approx(best, rel=1e-5)
    assert is_fast(ours)
    stats = ours.solver_stats.extra_stats
    assert stats.bound == "certified", "no conic solver was needed"
    assert stats.lower <= best + 1e-6
    if x.ndim == 2 and x.is_psd():
        assert np.linalg.eigvalsh(x.value).min() >= -1e-12
    else:
        assert not x.is_nonneg() or x.value.min() >= 0


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_the_losses_of_a_learner_have_its_bounds(metric):
    Xs, ys = recordings(4, T=40)
    learner = MetricLearner(metric=metric)
    risk = risk_of(learner, Xs, ys)
    B = cp.Variable(4, nonneg=True) if metric == "diagonal" else cp.Variable((4, 4), PSD=True)
    price = cp.Variable(nonneg=True)
    weights = [part.weight for part in risk.regularizer.parts]
    size = 0.5 * weights[0] * cp.sum_squares(B) + 0.5 * weights[1] * cp.square(price)
    samples = risk.problem, risk.xs, risk.ys
    hinge = StructuredHinge(*samples, [B, price], sample_weight=risk.sample_weight)
    problem = cp.Problem(cp.Minimize(size + risk.sample_weight.sum() * hinge))
    value = solved(problem, 1e-5)
    solution = learner.fit(Xs, ys).solution_
    assert solution.lower - 1e-5 <= value <= solution.upper + 1e-5
    assert is_fast(problem)
    assert sum(plane.multiplier for plane in hinge.planes) > 0


OTHERS = {
    "a constraint": lambda x: ([cp.sum(x) <= 0.5], cp.sum_squares(x)),
    "mixed terms": lambda x: ([], cp.square(x[0] + x[1]) + cp.sum_squares(x)),
    "another curvature": lambda x: ([], cp.sum_squares(x) + cp.square(x[0])),
    "a norm": lambda x: ([], cp.norm(x) + cp.norm1(x)),
    "weights of a sum": lambda x: ([], x[0] + 2 * cp.sum(x)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_programs_beyond_fast_masters_are_left_to_clarabel(name):
    rng = np.random.default_rng(1)
    x = cp.Variable(3, nonneg=True)
    A, c, oracle = nonnegative_planes(rng, (3,))
    constraints, rest = OTHERS[name](x)
    ours = cp.Problem(cp.Minimize(rest + OracleMax(x, oracle, sign="nonneg")), constraints)
    full = cp.Problem(cp.Minimize(rest + cp.max(c + A @ x)), constraints)
    assert solved(ours, 1e-6) == pytest.approx(full.solve(solver="CLARABEL"), rel=1e-5, abs=1e-6)
    assert all("clarabel" in label for label in masters(ours))


def test_clarabel_takes_over_if_a_fast_master_fails(monkeypatch):
    def fails(self, risk, cuts, request=None):
        raise MasterError("stalled")

    monkeypatch.setattr(NewtonMaster, "solve", fails)
    rng = np.random.default_rng(2)
    x = cp.Variable((3, 3), PSD=True)
    A, c, oracle = nonnegative_planes(rng, (3, 3))
    rest = cp.sum_squares(cp.vec(x, order="F"))
    ours = cp.Problem(cp.Minimize(rest + OracleMax(x, oracle, sign="nonneg")))
    full = cp.Problem(cp.Minimize(rest + cp.max(c + A @ cp.vec(x, order="F"))))
    assert solved(ours, 1e-6) == pytest.approx(full.solve(solver="CLARABEL"), rel=1e-5)
    assert all("clarabel" in label for label in masters(ours))


def is_optimal(problem, full, tol=1e-6):
    value = solved(problem, tol)
    best = full.solve(solver="CLARABEL")
    assert value == pytest.approx(best, rel=10 * tol, abs=10 * tol)
    assert problem.solver_stats.extra_stats.lower <= best * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("degree", [2, 4, 8])
def test_the_example_of_chebyshev_approximation_has_known_values(degree):
    """Over 20,001 points instead of all; and the values that are known (Bernstein, 1914)."""
    value = solved(chebyshev.nearest_polynomial(degree), 1e-6)
    assert value == pytest.approx({2: 0.125, 4: 0.0676, 8: 0.0347}[degree], abs=1e-4)
    t = np.linspace(0, 1, 20_001)
    basis = np.cos(np.arange(0, degree + 1, 2) * np.arccos(t)[:, None])
    c = cp.Variable(basis.shape[1])
    z = cp.Variable()
    listed = cp.Problem(cp.Minimize(z), [basis @ c - t <= z, t - basis @ c <= z])
    listed = listed.solve(solver="HIGHS")
    assert listed - 1e-6 <= value <= listed + 1e-5


def test_the_example_of_robust_regression_agrees_with_the_full_program():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 3))
    b = A @ np.ones(3) + rng.normal(size=40)
    problem = adversary.robust_regression(A, b, moved=6, by=1.5)
    x = cp.Variable(3)
    damage = 3.0 * cp.sum_largest(cp.abs(A @ x - b), 6) + 6 * 1.5**2
    is_optimal(problem, cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + damage)))


def test_the_example_of_conditional_value_at_risk_agrees_with_the_full_program():
    rng = np.random.default_rng(0)
    losses = rng.standard_t(4, size=(2000, 8)) - 0.1 * np.arange(8)
    x = cp.Variable(8, nonneg=True)
    worst = cp.sum_largest(losses @ x, 100) / 100
    full = cp.Problem(cp.Minimize(worst), [cp.sum(x) == 1, x <= 0.2])
    is_optimal(cvar.least_cvar(losses, 0.05), full)


@pytest.mark.parametrize("seed", range(3))
def test_the_example_of_a_robust_network_agrees_with_the_full_program(seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(6, 0.6, seed=seed, directed=True)
    graph.add_edges_from([(0, 5), (0, 1), (1, 5), (0, 2), (2, 5)])
    edges = list(graph.edges)
    costs = rng.uniform(1, 3, graph.number_of_edges())
    problem = interdiction.survivable(graph, costs, 0, 5, 2.0)
    u = cp.Variable(len(edges), nonneg=True)
    constraints = []
    balance = np.zeros((6, len(edges)))
    for k, (i, j) in enumerate(edges):
        balance[i, k] = 1.0
        balance[j, k] = -1.0
    for lost in range(len(edges)):  # a flow for each attack
        f = cp.Variable(len(edges), nonneg=True)
        demand = np.array([2.0, 0, 0, 0, 0, -2.0])
        constraints += [f <= u, f[lost] == 0, balance @ f == demand]
    is_optimal(problem, cp.Problem(cp.Minimize(costs @ u), constraints))


def test_the_example_of_a_multiclass_machine_agrees_with_the_full_program():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.column_stack([np.eye(3)[y][:, :2] + 0.7 * rng.normal(size=(60, 2)), np.ones(60)])
    problem = crammer_singer.multiclass(X, y, lam=0.05)
    W = cp.Variable((3, 3))
    truth = np.eye(3)[y]
    scores = X @ W
    hinges = cp.max(1 - truth + scores, axis=1) - cp.sum(cp.multiply(truth, scores), axis=1)
    size = 0.025 * cp.sum_squares(W)
    is_optimal(problem, cp.Problem(cp.Minimize(size + cp.sum(hinges) / 60)))


@pytest.mark.parametrize("apart", [0.05, 0.5])
def test_the_example_of_two_related_metrics_agrees_with_the_full_program(apart):
    rng = np.random.default_rng(0)
    data = []
    for k in range(2):
        Xs = []
        ys = []
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
def test_examples_of_modeling_run_as_scripts(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
