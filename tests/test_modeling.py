"""Atoms of cvxpy that an oracle knows, against the full program, which lists every plane."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

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


def test_a_concave_maximisation_has_its_bounds_the_right_way_round():
    rng = np.random.default_rng(5)
    A, c, oracle = family(rng)
    x = cp.Variable(4)
    problem = cp.Problem(cp.Maximize(-OracleMax(x, oracle) - cp.sum_squares(x)))
    seen = []
    value = solved(problem, callback=seen.append)
    best = cp.Problem(cp.Maximize(-cp.max(c + A @ x) - cp.sum_squares(x))).solve(solver=cp.CLARABEL)
    assert value == pytest.approx(best, abs=1e-5)
    assert seen[-1].lower - 1e-9 <= best <= seen[-1].upper + 1e-9
    assert list(problem.solver_stats.extra_stats.history.entries) == seen


@pytest.mark.parametrize("several", [False, True], ids=["one oracle", "a list of oracles"])
def test_a_vector_of_functions_is_a_vector(several):
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

    X, s = cp.Variable((2, 3)), cp.Variable()
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


@pytest.mark.parametrize(
    "attributes", [{"PSD": True}, {"symmetric": True}, {"nonneg": True}, {"diag": True}], ids=str
)
def test_variables_with_attributes_keep_them(attributes):
    rng = np.random.default_rng(8)
    slopes, levels = rng.normal(size=(30, 3, 3)), rng.normal(size=30)

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
    x, X = cp.Variable(3), cp.Variable((3, 3), hermitian=True)
    z, q = cp.Variable(2, complex=True), cp.Variable(imag=True)
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
    assert solved(ours, tol=1e-8) == pytest.approx(best, abs=1e-5)
    found = [v.value for v in (x, X, z, q)] + [k.dual_value for k in kept[1:]]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-3)
    assert solved(ours, tol=1e-6) == pytest.approx(best, abs=1e-5)  # from the values that it has


def test_what_is_declared_counts_for_the_rules_of_cvxpy():
    rng = np.random.default_rng(9)
    A, c = np.abs(rng.normal(size=(50, 3))), np.abs(rng.normal(size=50))

    def oracle(z):
        k = (c + A @ z).argmax()
        return (c + A @ z)[k], A[k]

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
    A, c = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -2.0]]), np.array([0.1, 0.4, -0.2])

    def inner(x):
        k = (c + A @ x).argmax()
        return (c + A @ x)[k], A[k]

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
    x, lam = cp.Variable(6), cp.Parameter(nonneg=True, value=1.0)
    problem = cp.Problem(cp.Minimize(lam * cp.sum_squares(x) + OracleMax(x, oracle)))
    calls = []
    for lam.value in (1.0, 1.0, 0.9):
        solved(problem)
        calls.append(problem.solver_stats.extra_stats.oracle_calls)
        full = cp.Problem(cp.Minimize(lam * cp.sum_squares(x) + cp.max(c + A @ x)))
        assert problem.value == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)
    assert calls[1] == 1 < calls[2] < calls[0]
    solved(problem, warm_start=False)
    assert problem.solver_stats.extra_stats.oracle_calls > calls[2]


def test_an_oracle_that_depends_on_a_parameter_says_so():
    rng = np.random.default_rng(12)
    A, c, _ = family(rng)
    shift = cp.Parameter(4, value=np.zeros(4))

    def oracle(x, at):
        k = (c + A @ (x - at)).argmax()
        return (c + A @ (x - at))[k], A[k]

    x = cp.Variable(4)
    problem = cp.Problem(cp.Minimize(OracleMax(x, oracle, parameters=[shift]) + cp.sum_squares(x)))
    for shift.value in (np.zeros(4), np.ones(4), -2 * np.ones(4)):
        full = cp.Problem(cp.Minimize(cp.max(c + A @ (x - shift)) + cp.sum_squares(x)))
        assert solved(problem) == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_parameter_of_an_oracle_may_be_complex(shape):
    """Planes for another imaginary part are planes of another function."""
    x, phase = cp.Variable(2), cp.Parameter(shape, complex=True)
    slopes = np.array([[1.0, 0.0], [0.0, 1.0]])

    def oracle(at, value):
        heights = slopes @ at + np.ravel(value)[-1].imag * np.array([1.0, -1.0])
        k = heights.argmax()
        return heights[k], slopes[k]

    problem = cp.Problem(cp.Minimize(OracleMax(x, oracle, parameters=[phase]) + cp.sum_squares(x)))
    for turn in (3.0, -3.0):
        phase.value = np.full(shape, 1.0 + 1j * turn)
        problem.solve(method="cutting-plane", tol=1e-6)
        np.testing.assert_allclose(x.value, [-0.5, 0.0] if turn > 0 else [0.0, -0.5], atol=1e-4)


def test_a_parameter_may_stand_in_the_argument():
    rng = np.random.default_rng(13)
    A, c, oracle = family(rng)
    scale = cp.Parameter(value=1.0)
    x = cp.Variable(4)
    problem = cp.Problem(cp.Minimize(OracleMax(scale * x + 1, oracle) + cp.sum_squares(x)))
    for scale.value in (1.0, 0.5, -1.0):
        full = cp.Problem(cp.Minimize(cp.max(c + A @ (scale * x + 1)) + cp.sum_squares(x)))
        assert solved(problem) == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-5)


def test_the_planes_of_a_solution_have_multipliers_that_balance_it():
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
def test_other_solvers_may_solve_the_restricted_problems(solver):
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


def test_a_problem_whose_first_restriction_has_no_minimum_is_solved_all_the_same():
    """Chebyshev approximation: one plane bounds nothing."""
    grid = np.linspace(-1, 1, 2001)
    powers = np.vander(grid, 4)
    target = np.exp(grid)

    def largest_error(x):
        errors = powers @ x - target
        k = np.abs(errors).argmax()
        return abs(errors[k]), np.sign(errors[k]) * powers[k]

    x = cp.Variable(4)
    value = solved(cp.Problem(cp.Minimize(OracleMax(x, largest_error))), tol=1e-7)
    full = cp.Problem(cp.Minimize(cp.norm_inf(powers @ x - target)))
    assert value == pytest.approx(full.solve(solver=cp.CLARABEL), abs=1e-6)


def test_an_epigraph_that_the_user_writes_is_solved_too():
    rng = np.random.default_rng(18)
    A, c, oracle = family(rng)
    x, t = cp.Variable(4), cp.Variable()
    problem = cp.Problem(cp.Minimize(t + cp.sum_squares(x)), [OracleMax(x, oracle) <= t])
    best = cp.Problem(cp.Minimize(cp.max(c + A @ x) + cp.sum_squares(x))).solve(solver=cp.CLARABEL)
    assert solved(problem) == pytest.approx(best, abs=1e-5)
    assert problem.constraints[0].dual_value == pytest.approx(1.0, abs=1e-4)


def smooth(rng, n=100, dim=8):
    """The logarithm of a sum of exponentials, every plane of which is another one."""
    A, c = rng.normal(size=(n, dim)), rng.normal(size=n)

    def oracle(x):
        heights = c + A @ x
        top = heights.max()
        shares = np.exp(heights - top)
        return top + np.log(shares.sum()), A.T @ (shares / shares.sum())

    return A, c, oracle


def test_an_epigraph_of_a_smooth_function_takes_no_more_rounds_than_the_function():
    A, c, oracle = smooth(np.random.default_rng(19))
    x, t = cp.Variable(8), cp.Variable()
    box = cp.norm_inf(x) <= 5
    direct = cp.Problem(cp.Minimize(OracleMax(x, oracle)), [box])
    written = cp.Problem(cp.Minimize(t), [box, OracleMax(x, oracle) <= t])
    full = cp.Problem(cp.Minimize(cp.log_sum_exp(c + A @ x)), [box]).solve(solver=cp.CLARABEL)
    rounds = []
    for problem in (direct, written):
        assert solved(problem, tol=1e-5, warm_start=False) == pytest.approx(full, abs=1e-4)
        rounds.append(problem.solver_stats.extra_stats.rounds)
    assert rounds[1] <= 2 * rounds[0]


def test_a_constraint_on_a_smooth_function_is_kept():
    A, c, oracle = smooth(np.random.default_rng(20))
    x, slope = cp.Variable(8), np.random.default_rng(1).normal(size=8)
    most = oracle(np.zeros(8))[0] + 0.5
    problem = cp.Problem(
        cp.Minimize(slope @ x), [OracleMax(x, oracle) <= most, cp.norm_inf(x) <= 9]
    )
    value = solved(problem, tol=1e-4)
    full = [cp.log_sum_exp(c + A @ x) <= most, cp.norm_inf(x) <= 9]
    assert oracle(x.value)[0] <= most + 1e-5
    assert value == pytest.approx(
        cp.Problem(cp.Minimize(slope @ x), full).solve(solver=cp.CLARABEL), abs=1e-3
    )


@pytest.mark.parametrize("curved", [False, True])
def test_a_restricted_problem_that_fails_late_leaves_the_best_point(curved):
    """Constraints leave no room, by 1e-8: Clarabel finds points of some restricted problems."""
    rng = np.random.default_rng(0)
    A, b, x = rng.normal(size=(30, 3)), rng.normal(size=30), cp.Variable(3, nonneg=True)
    most = OracleMax(x, lambda v: (float((A @ v + b).max()), A[int((A @ v + b).argmax())]))
    omega = cp.sum_squares(x) if curved else cp.norm1(x)
    room = [cp.sum(x) >= 1, cp.sum(x) <= 1 - 1e-8]
    problem = cp.Problem(cp.Minimize(most + 0.1 * omega), room)
    with pytest.warns(ConvergenceWarning, match="the master failed: the best iterate is returned"):
        value = problem.solve(method="cutting-plane", tol=1e-8)
    certified = problem.solver_stats.extra_stats
    assert problem.status == cp.OPTIMAL_INACCURATE
    assert certified.lower <= value == certified.upper == pytest.approx(problem.objective.value)
    assert cp.sum(x).value == pytest.approx(1, abs=1e-6)
