"""Random programs with oracles beside the explicit ones, and what is proved in any unit."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations

import cvxpy as cp
import numpy as np
import pytest
from conic_bounds import dual_bound, proved_bound
from drawn_programs import FINE, SHORT, corners, outcomes
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import CertificateError
from structsvm.masters.conic import ConicProgram, box_of
from structsvm.modeling import OracleMax
from structsvm.modeling.by_name import ByName

SEEDS = 100
SHORT_OF_IT = 1
"""Of these programs, so many may say that they did not reach the tolerance."""


def test_random_programs_have_the_bounds_and_the_optimum_of_the_explicit_ones():
    found = {seed: outcomes(seed) for seed in range(SEEDS)}
    wrong = []
    for seed, (drawn, ends) in found.items():
        wrong += [(seed, *end, drawn.words) for end in ends if end[0] not in (*FINE, SHORT)]
    assert not wrong
    words = [word for word, _ in chain.from_iterable(ends for _, ends in found.values())]
    assert words.count("no truth") == 0
    assert words.count("optimal") >= 91
    assert words.count("infeasible") > 0
    assert words.count("unbounded") > 0
    assert words.count(SHORT) <= SHORT_OF_IT


@pytest.mark.parametrize(
    ("seed", "word"),
    [
        *((seed, "optimal") for seed in (470, 867, 1064, 1151, 1355, 1393, 1746, 1789, 1814, 1878)),
        *((seed, "infeasible") for seed in (1186, 1234, 1266)),
        (97, "optimal"),
    ],
)
def test_programs_that_were_hard_in_some_units_are_solved(seed, word):
    """Wide and empty boxes, points that break constraints, and what planes alone bound."""
    _, ends = outcomes(seed)
    assert {found for found, _ in ends} == {word}


# ---- in units of 2^k: powers of two are exact, and so every bit has to be the same

ROOMS = {
    "a box": lambda x, u: [cp.abs(x) <= u],
    "a ball": lambda x, u: [cp.norm(x) <= u],
    "squares": lambda x, u: [cp.sum_squares(x) <= u * u],
    "an equality": lambda x, u: [cp.sum(x) == u],
    "nothing": lambda x, u: [],
}


def bounds_in(unit, factor, room):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 4))
    c = rng.normal(size=40)

    def oracle(at):
        heights = factor * (c + A @ (at / unit))
        k = heights.argmax()
        return heights[k], factor * A[k] / unit

    x = cp.Variable(4)
    beside = cp.norm1(x) / unit if room == "an equality" else 0.0
    if room == "nothing":
        beside = cp.sum_squares(x - unit) / unit**2
    objective = cp.Minimize(OracleMax(x, oracle) + factor * beside)
    problem = cp.Problem(objective, ROOMS[room](x, unit))
    problem.solve(method="cutting-plane")
    found = problem.solver_stats.extra_stats
    return found.lower / factor, found.upper / factor, found.rounds, problem.status


@pytest.mark.parametrize("room", ROOMS)
def test_bounds_scale_to_the_last_bit(room):
    here = bounds_in(1.0, 1.0, room)
    assert here[-1] == cp.OPTIMAL
    for k, j in ((0, 60), (0, -60), (60, 0), (-60, 0), (30, -30)):
        assert bounds_in(2.0**k, 2.0**j, room) == here


# ---- the twin in rational numbers


def exact_minimum(c, A, b, low, high):
    """The least ``<c, x>`` with ``A x <= b`` in a box, at a corner, in fractions; None if empty."""
    n = len(c)
    rows = [list(map(Fraction, row)) for row in A]
    rows += [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    rows += [[-Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    right = [Fraction(x) for x in (*b, *high, *(-low))]
    values = []
    for chosen in combinations(range(len(rows)), n):
        x = exact_solution([rows[i] for i in chosen], [right[i] for i in chosen])
        if x is not None and all(dot(row, x) <= end for row, end in zip(rows, right, strict=True)):
            values.append(dot(map(Fraction, c), x))
    return min(values, default=None)


def dot(a, x):
    return sum(p * q for p, q in zip(a, x, strict=True))


def exact_solution(rows, right):
    """Gauss; None where the matrix is singular."""
    M = [[*row, end] for row, end in zip(rows, right, strict=True)]
    n = len(M)
    for k in range(n):
        pivot = next((i for i in range(k, n) if M[i][k] != 0), None)
        if pivot is None:
            return None
        M[k], M[pivot] = M[pivot], M[k]
        for i in range(n):
            if i != k and M[i][k] != 0:
                share = M[i][k] / M[k][k]
                M[i] = [a - share * p for a, p in zip(M[i], M[k], strict=True)]
    return [M[k][n] / M[k][k] for k in range(n)]


def drawn_program(rng):
    """A linear program in a box, with numbers of any size, as Clarabel takes it."""
    n = int(rng.integers(2, 4))
    m = int(rng.integers(1, 4))
    unit = 10.0 ** rng.integers(-9, 10, size=n)
    size = 10.0 ** rng.integers(-9, 10)
    A = rng.normal(size=(m, n)) / unit
    b = np.abs(rng.normal(size=m))
    c = size * rng.normal(size=n) / unit
    high = unit * 10.0 ** rng.integers(0, 4)
    x = cp.Variable(n)
    kept = [A @ x <= b, x <= high, x >= -high]
    return cp.Problem(cp.Minimize(c @ x), kept), (c, A, b, -high, high)


@pytest.mark.parametrize("seed", range(50))
def test_a_bound_is_below_the_minimum_in_fractions_whatever_the_dual_point(seed):
    rng = np.random.default_rng(seed)
    problem, program = drawn_program(rng)
    least = exact_minimum(*program)
    data, chain, _ = problem.get_problem_data("CLARABEL")
    raw = chain.solver.solve_via_data(data, False, False, {})
    y = np.asarray(raw.x)
    z = np.asarray(raw.z)
    for noise in (0.0, 1e-12, 1e-6, 1e-1, 10.0):
        near = y * (1 + noise * rng.normal(size=y.size)), z * (1 + noise * rng.normal(size=z.size))
        for scale in (1e-17, 1.0, 1e9):
            bound = proved_bound(data, 0.0, scale * near[0], near[1])
            assert bound == -np.inf or Fraction(bound) <= least
    bound = dual_bound(problem)
    assert float(least) - 1e-6 * abs(float(least)) <= bound
    assert Fraction(bound) <= least


def test_boxes_hold_every_point_of_the_constraints():
    """And are finite wherever rows, second-order cones and diagonals bound the variables."""
    x = cp.Variable(3)
    X = cp.Variable((3, 3), PSD=True)
    kept = [cp.norm(x) <= 2.0, cp.trace(X) <= 5.0]
    problem = cp.Problem(cp.Minimize(cp.sum(x) + cp.sum(X)), kept)
    data, _, _ = problem.get_problem_data("CLARABEL")
    low, high = box_of(ConicProgram.of(data, 0.0))
    first = data["param_prob"].var_id_to_col
    of_x = slice(first[x.id], first[x.id] + 3)
    assert (low[of_x] <= -2.0).all()
    assert (high[of_x] >= 2.0).all()
    assert np.isfinite([low, high]).all()
    assert max(-low[of_x].min(), high[of_x].max()) < 2.0 + 1e-9


# ---- a proof that assumes nothing of where the run is


@pytest.mark.parametrize("width", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("start", [0.0, 1e-17, 1e6])
def test_the_first_point_is_no_part_of_the_proof(start, width):
    x = cp.Variable(4)
    x.value = np.full(4, start)

    problem = cp.Problem(cp.Minimize(OracleMax(x, corners(np.eye(4))) + 1.0), [cp.abs(x) <= width])
    value = problem.solve(method="cutting-plane", tol=1e-6)
    found = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL
    room = 1e-14 * max(1.0, width)
    assert found.lower <= 1.0 - width <= found.upper + room
    assert found.upper == value
    assert value == pytest.approx(1.0 - width, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("terms", ["norm", "squares", "planes"])
def test_an_optimum_of_zero_at_zero_is_optimal(terms):
    x = cp.Variable(3)

    def furthest(at):
        k = np.abs(at).argmax()
        return abs(at[k]), np.sign(at[k]) * np.eye(3)[k]

    beside = {"norm": cp.norm(x), "squares": cp.sum_squares(x), "planes": 0.0}[terms]
    problem = cp.Problem(cp.Minimize(OracleMax(x, furthest) + beside), [cp.abs(x) <= 1])
    assert problem.solve(method="cutting-plane") == pytest.approx(0.0, abs=1e-7)
    assert problem.status == cp.OPTIMAL
    assert problem.solver_stats.extra_stats.lower <= 0.0


def test_a_conclusion_that_rests_on_the_units_of_the_data_says_so():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 3))
    c = rng.normal(size=30)

    highest = corners(A, c)
    free = cp.Variable(3)
    boxed = cp.Variable(3)
    problems = [
        cp.Problem(cp.Minimize(OracleMax(free, highest))),
        cp.Problem(cp.Minimize(OracleMax(boxed, highest)), [cp.norm(boxed) <= 10]),
    ]
    for problem in problems:
        problem.solve(method="cutting-plane")
    said = [problem.solver_stats.extra_stats.bound for problem in problems]
    assert "within 2^20 of the units" in said[0]
    assert "within" not in said[1]


# ---- upper bounds are those of points that keep the constraints

INSIDE = {
    "a box": lambda x, X: [cp.abs(x) <= 0.5],
    "a ball": lambda x, X: [cp.norm(x) <= 0.7],
    "squares": lambda x, X: [cp.sum_squares(x) <= 0.3, x[0] == x[1]],
    "a simplex": lambda x, X: [x >= 0, cp.sum(x) == 1],
    "a matrix": lambda x, X: [cp.trace(X) == 1, cp.diag(X) == x, cp.lambda_max(X) <= 0.6],
    "entropy": lambda x, X: [cp.sum(cp.entr(x)) >= 1.0, cp.sum(x) == 1, x <= 0.5],
    "a geometric mean": lambda x, X: [cp.geo_mean(x) >= 0.2, cp.sum(x) <= 1],
}


SOLVERS = ({}, {"solver": "SCS", "eps_abs": 1e-8, "eps_rel": 1e-8})


@pytest.mark.parametrize("settings", SOLVERS, ids=["Clarabel", "SCS"])
@pytest.mark.parametrize("room", INSIDE)
def test_points_keep_constraints_to_rounding(room, settings):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(40, 4))
    c = 0.1 * rng.normal(size=40)

    x = cp.Variable(4)
    X = cp.Variable((4, 4), PSD=True)
    kept = INSIDE[room](x, X)
    problem = cp.Problem(cp.Minimize(OracleMax(x, corners(A, c))), kept)
    problem.solve(method="cutting-plane", **settings)
    found = problem.solver_stats.extra_stats
    y = cp.Variable(4)
    Y = cp.Variable((4, 4), PSD=True)
    full = cp.Problem(cp.Minimize(cp.max(c + A @ y)), INSIDE[room](y, Y))
    truth = full.solve(solver="CLARABEL")
    assert problem.status == cp.OPTIMAL
    assert found.violation <= 1e-12
    assert all(np.max(constraint.violation()) <= 1e-12 for constraint in kept)
    assert max(c + A @ x.value) <= found.upper + 1e-12
    assert found.lower - 1e-6 <= truth <= found.upper + 1e-6
    assert found.upper - truth <= 1e-4 * found.scale + 1e-6


def test_constraints_without_an_inside_are_kept_to_the_accuracy_of_a_solver():
    x = cp.Variable(3)

    kept = [cp.sum(x) <= 1, cp.sum(x) >= 1, cp.norm(x - 1) <= 2]
    problem = cp.Problem(cp.Minimize(OracleMax(x, corners(np.eye(3)))), kept)
    assert problem.solve(method="cutting-plane") == pytest.approx(1 / 3, abs=1e-4)
    found = problem.solver_stats.extra_stats
    assert found.violation <= 1e-6
    assert ("for constraints relaxed by" in found.bound) == (found.violation > 1e-12)


def test_constraints_on_what_oracles_know_are_kept_to_rounding():
    """Robust constraints, each an ellipsoid, which points break by 1e-6: worth thirty gaps."""
    rng = np.random.default_rng(0)
    n, m = 12, 6
    a = rng.normal(size=(m, n))
    P = rng.normal(size=(m, n, n)) * 0.2
    c = rng.normal(size=n)

    def worst(x):
        turned = P.transpose(0, 2, 1) @ x
        length = np.linalg.norm(turned, axis=1)
        slopes = np.einsum("mij,mj->mi", P, turned / np.maximum(length, 1e-300)[:, None])
        return a @ x + length, a + slopes

    y = cp.Variable(n)
    full = [a[i] @ y + cp.norm(P[i].T @ y) <= 1 for i in range(m)]
    truth = cp.Problem(cp.Minimize(c @ y), [*full, cp.norm_inf(y) <= 3]).solve(solver="CLARABEL")
    for tol in (1e-3, 1e-5, 1e-7):
        x = cp.Variable(n)
        kept = [OracleMax(x, worst, n_terms=m) <= 1, cp.norm_inf(x) <= 3]
        problem = cp.Problem(cp.Minimize(c @ x), kept)
        problem.solve(method="cutting-plane", tol=tol)
        found = problem.solver_stats.extra_stats
        assert problem.status == cp.OPTIMAL
        assert found.violation <= 1e-12
        assert found.lower - 1e-7 <= truth <= found.upper + 1e-7


def least_of_the_largest(**settings):
    """Minimise the largest entry in a box: -1."""
    x = cp.Variable(3)

    problem = cp.Problem(cp.Minimize(OracleMax(x, corners(np.eye(3)))), [cp.norm_inf(x) <= 1])
    problem.solve(method="cutting-plane", **settings)
    return problem


def test_a_minimum_that_is_lower_in_other_units_takes_a_bound_back(monkeypatch):
    """A solver that takes its first point for the minimum, unless its units are others."""
    usual = ByName.solve
    first = []

    def content(self, cuts, tol):
        answer = usual(self, cuts, tol)
        first.append(self.restriction)
        if self.restriction is not first[0]:
            return answer
        return replace(answer, w=0.0 * answer.w, bound=(0.0, "a claim"))

    monkeypatch.setattr(ByName, "solve", content)
    with pytest.warns(ConvergenceWarning, match="between -1 and 0"):
        problem = least_of_the_largest(solver="HIGHS")
    assert problem.status == cp.OPTIMAL_INACCURATE


def test_a_point_below_a_lower_bound_raises(monkeypatch):
    usual = ByName.solve

    def boastful(self, cuts, tol):
        answer = usual(self, cuts, tol)
        return replace(answer, bound=(answer.bound[0] + 0.5, "a claim"))

    monkeypatch.setattr(ByName, "solve", boastful)
    with pytest.raises(CertificateError, match=r"is above the upper bound.*a claim"):
        least_of_the_largest(solver="HIGHS")
