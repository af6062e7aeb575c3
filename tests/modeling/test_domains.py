"""Oracles without a value at some points, and oracles that return several planes."""

import sys
import warnings
from itertools import chain
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from drawn_programs import FINE, SHORT, corners, outcomes

from structsvm.errors import OracleError, PluginError
from structsvm.modeling import Infeasible, OracleMax

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "cutting_planes"))

import two_stage

EXACT = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def solve(problem, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.solve(method="cutting-plane", **settings)


# ---- two-stage programs


def in_full(prices, stages):
    """The two-stage program with the variables of all scenarios."""
    x = cp.Variable(len(prices), nonneg=True)
    total = prices @ x
    kept = []
    for q, W, h, T in stages:
        y = cp.Variable(len(q), nonneg=True)
        total = total + q @ y / len(stages)
        kept.append(W @ y >= h - T @ x)
    return cp.Problem(cp.Minimize(total), kept).solve(**EXACT)


def drawn_stages(kind, rng):
    """Prices and second stages: of transport, or with any matrices."""
    if kind == "transport":
        costs = rng.uniform(1.0, 5.0, (3, 4))
        demands = rng.uniform(0.0, 2.0, (8, 4))
        return rng.uniform(1.0, 3.0, 3), [two_stage.transport(costs, one) for one in demands]
    stages = []
    for _ in range(6):
        W = rng.random((6, 8)) * (rng.random((6, 8)) < 0.6)
        bounds = np.vstack([W, -np.eye(8)])  # y is at most 0.3
        h = np.r_[3 * rng.random(6), np.full(8, -0.3)]
        stages.append(
            (rng.random(8) + 0.5, bounds, h, np.vstack([rng.random((6, 4)), np.zeros((8, 4))]))
        )
    return rng.random(4) + 1, stages


@pytest.mark.parametrize("is_multi_cut", [True, False], ids=["multi-cut", "single-cut"])
@pytest.mark.parametrize("kind", ["transport", "any"])
def test_a_two_stage_program_with_infeasible_second_stages_is_one_atom(kind, is_multi_cut):
    prices, stages = drawn_stages(kind, np.random.default_rng(3))
    problem = two_stage.capacities(prices, stages, is_multi_cut)
    value = solve(problem, tol=1e-7)
    truth = in_full(prices, stages)
    found = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL
    assert abs(value - truth) <= 1e-6 * truth
    assert found.lower <= truth * (1 + 1e-9)
    assert truth <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("seed", [104, 111, 132])
def test_an_oracle_may_be_as_accurate_as_a_solver_of_linear_programs(seed):
    """One of zero here was said to contradict a plane of 1e-8, whose terms are of size one."""
    prices, stages = drawn_stages("any", np.random.default_rng(seed))
    problem = two_stage.capacities(prices, stages, is_multi_cut=True)
    assert abs(solve(problem, tol=1e-7) / in_full(prices, stages) - 1) <= 1e-6


# ---- domains of every form


def within(oracle, A, b):
    """The oracle where ``A x <= b``; elsewhere the row that is broken most."""

    def answer(x):
        away = A @ x - b
        k = away.argmax()
        return Infeasible(away[k], A[k]) if away[k] > 0 else oracle(x)

    return answer


ROWS = np.random.default_rng(0).normal(size=(50, 3))
highest = corners(ROWS)


SIDES = np.array([[1.0, 1.0, 1.0], [-1.0, 0.5, 0.0]])
ENDS = np.array([-0.5, 0.8])  # zero, where a run begins, is outside


FORMS = {
    "clarabel": ({}, lambda x: [cp.norm_inf(x) <= 2]),
    "newton": ({}, lambda x: []),
    "another solver": ({"solver": "SCS"}, lambda x: [cp.norm_inf(x) <= 2]),
    "integers": ({}, lambda x: [cp.norm_inf(x) <= 2]),
    "maximised": ({}, lambda x: [cp.norm_inf(x) <= 2]),
    "workers": ({"backend": "threads"}, lambda x: [cp.norm_inf(x) <= 2]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_domain_is_a_constraint(form):
    settings, kept = FORMS[form]
    x = cp.Variable(3, integer=form == "integers")
    h = OracleMax(x, within(highest, SIDES, ENDS))
    g = cp.max(ROWS @ x)
    beside = cp.norm1(x - 1) if form == "integers" else cp.sum_squares(x - 1)
    full = cp.Problem(cp.Minimize(g + beside), [*kept(x), SIDES @ x <= ENDS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = full.solve(solver="HIGHS") if form == "integers" else full.solve(**EXACT)
    x.value = None
    objective = cp.Maximize(-h - beside) if form == "maximised" else cp.Minimize(h + beside)
    problem = cp.Problem(objective, kept(x))
    for _ in range(2):  # the second time with the planes that are known
        value = solve(problem, tol=1e-5, **settings)
        assert problem.status == cp.OPTIMAL
        assert abs(abs(value) - truth) <= 1e-4 * abs(truth)
        assert (SIDES @ x.value <= ENDS + 1e-9).all()
    assert problem.solver_stats.extra_stats.rounds <= 3
    has_multipliers = form != "integers"
    assert any(plane.term is None for plane in h.planes) == has_multipliers


@pytest.mark.parametrize(
    ("n", "axes", "seed"),
    [(6, (1.0,), 1), (8, (1.0, 0.5), 3), (6, (1e4,), 1)],
    ids=["ball", "ellipsoid", "units"],
)
def test_a_round_domain_is_entered_although_every_minimiser_is_outside(n, axes, seed):
    """The start has a value but breaks a constraint, so that no point is known at first."""
    c = np.random.default_rng(seed).normal(size=n)
    half = np.resize(axes, n)

    def inside_ellipsoid(x):
        size = np.linalg.norm(x / half)
        return (0.0, np.zeros(n)) if size <= 1 else Infeasible(size - 1, x / half**2 / size)

    x, y = cp.Variable(n), cp.Variable(n)
    least = -1e-3 * half.max()
    kept = [cp.abs(x) <= 2 * half.max(), cp.sum(x) <= least]
    problem = cp.Problem(cp.Minimize(c @ x + OracleMax(x, inside_ellipsoid)), kept)
    value = solve(problem, tol=1e-3)
    in_full = [cp.sum(y) <= least / half.max(), cp.norm(cp.multiply(half.max() / half, y)) <= 1]
    truth = half.max() * cp.Problem(cp.Minimize(c @ y), in_full).solve(solver=cp.CLARABEL)
    certificate = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL
    assert certificate.lower <= truth + 1e-6 * abs(truth)
    assert truth - 1e-6 * abs(truth) <= value <= truth + 2e-3 * certificate.scale


def test_an_atom_is_infinite_outside_of_its_domain():
    x = cp.Variable(3, value=np.zeros(3))
    h = OracleMax(x, within(highest, SIDES, ENDS))
    assert h.value == np.inf
    assert h.grad == {x: None}
    x.value = np.full(3, -1.0)
    assert h.value == highest(x.value)[0]


def test_random_programs_with_domains_have_the_bounds_of_the_explicit_ones():
    programs = [outcomes(seed, has_domains=True)[1] for seed in range(56)]
    ends = [*chain.from_iterable(programs)]
    assert not [end for end in ends if end[0] not in (*FINE, SHORT)]
    words = [word for word, _ in ends]
    assert words.count("optimal") >= 51
    assert words.count("infeasible") > 3
    assert words.count(SHORT) <= 1


# ---- domains that cannot be


@pytest.mark.parametrize("kept", [lambda x: [], lambda x: [cp.norm(x) <= 1]])
@pytest.mark.parametrize("declared", [{}, {"sign": "nonneg"}])
def test_an_oracle_without_a_value_anywhere_is_reported(kept, declared):
    x = cp.Variable(3)
    nowhere = OracleMax(x, lambda at: Infeasible(1.0, 0 * at), label="cost", **declared)
    problem = cp.Problem(cp.Minimize(nowhere), kept(x))
    assert solve(problem) == np.inf
    assert problem.status == cp.INFEASIBLE
    assert problem.solver_stats.extra_stats.conflict == (
        "the planes of Infeasible(value, slope) that cost returned",
    )


def test_a_domain_outside_of_the_constraints_is_infeasible():
    x = cp.Variable(3)
    h = OracleMax(x, within(highest, np.eye(3), np.full(3, -1.0)), label="cost")
    problem = cp.Problem(cp.Minimize(h), [x >= -0.5])
    assert solve(problem) == np.inf
    (why,) = problem.solver_stats.extra_stats.conflict
    assert "constraint 0" in why or "cost" in why


def test_a_plane_that_cuts_off_a_point_with_a_value_is_named():
    """The half-space is too small by what the point before has kept."""

    def wrong(x):
        if x[0] > 0.5:
            return Infeasible(x[0] + 0.25, np.eye(3)[0])  # cuts off 0, where a value was
        return highest(x)

    x = cp.Variable(3)
    problem = cp.Problem(
        cp.Minimize(OracleMax(x, wrong, label="cost") - 5 * x[0]), [x <= 1, x >= -1]
    )
    with pytest.raises(OracleError, match=r"cost: its new plane of Infeasible cuts off a point"):
        solve(problem)


def test_a_value_at_a_point_that_was_cut_off_is_named():
    asked = []

    def changes(x):
        asked.append(x)
        return Infeasible(0.5 + x.sum(), np.ones(3)) if len(asked) == 1 else highest(x)

    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(OracleMax(x, changes, label="cost")), [cp.norm_inf(x) <= 1])
    solve(problem)
    x.value = np.zeros(3)
    with pytest.raises(OracleError, match=r"cost: an earlier plane of Infeasible cuts off a point"):
        solve(problem)


# ---- several planes


def test_several_planes_at_once_take_a_fifth_of_the_rounds():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(600, 60))
    c = rng.normal(size=600)

    def problem(n_planes):
        def oracle(x):
            heights = A @ x + c
            best = np.argpartition(heights, -n_planes)[-n_planes:]
            return heights[best], A[best]

        x = cp.Variable(60)
        return cp.Problem(cp.Minimize(OracleMax(x, oracle) + 0.5 * cp.sum_squares(x)))

    several = problem(20)
    solve(several)
    assert several.status == cp.OPTIMAL
    one = problem(1)
    solve(one, max_iter=5 * several.solver_stats.num_iters)
    assert one.status == cp.USER_LIMIT


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_planes_may_be_of_any_number_and_shape(count, shape):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, *shape))
    c = rng.normal(size=30)

    def oracle(x):
        heights = c + (A * x).reshape(30, -1).sum(axis=1)
        best = np.argsort(heights)[-count:]
        return heights[best], A[best], heights.max()

    x = cp.Variable(shape)
    full = cp.max(c + A.reshape(30, -1, order="C") @ cp.vec(x, order="C"))
    squares = cp.sum_squares(x)
    truth = cp.Problem(cp.Minimize(full + squares)).solve(**EXACT)
    assert solve(cp.Problem(cp.Minimize(OracleMax(x, oracle) + squares)), tol=1e-6) == (
        pytest.approx(truth, abs=1e-4)
    )


WRONG_PLANES = {
    "none": (lambda x: (np.zeros(0), np.zeros((0, 3))), PluginError, "no plane: return one"),
    "another number of slopes": (
        lambda x: (np.zeros(2), np.zeros((3, 3))),
        PluginError,
        r"a slope of shape \(3, 3\), where \(2, 3\) is due",
    ),
    "slopes of another shape": (
        lambda x: (np.zeros(2), np.zeros((2, 4))),
        PluginError,
        r"a slope of shape \(2, 4\), where \(2, 3\) is due",
    ),
    "two upper bounds": (
        lambda x: (np.zeros(2), np.zeros((2, 3)), np.zeros(2)),
        PluginError,
        r"an upper bound of shape \(2,\), where \(\) is due|upper bound of shape",
    ),
    "a domain that allows the point": (
        lambda x: Infeasible(0.0, x),
        OracleError,
        "Infeasible with the value 0: it is positive",
    ),
    "a domain without planes": (lambda x: Infeasible([], []), PluginError, "no plane"),
    "a domain of another shape": (
        lambda x: Infeasible(1.0, x[:2]),
        PluginError,
        r"a slope of shape \(2,\), where \(3,\) is due",
    ),
    "a domain without a number": (lambda x: Infeasible(np.nan, x), OracleError, "nan in its value"),
}


@pytest.mark.parametrize(("oracle", "error", "words"), WRONG_PLANES.values(), ids=WRONG_PLANES)
def test_impossible_planes_are_refused(oracle, error, words):
    x = cp.Variable(3)
    with pytest.raises(error, match=f"cost: the oracle returned .*{words}"):
        solve(cp.Problem(cp.Minimize(OracleMax(x, oracle, label="cost")), [cp.norm(x) <= 1]))
