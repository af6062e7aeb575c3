"""Problems that are those of a learner are solved by its masters, and have the same answers."""

import cvxpy as cp
import numpy as np
import pytest
from recording_cases import recordings

from structsvm import MetricLearner
from structsvm.errors import MasterError
from structsvm.masters.auto import AutoMaster
from structsvm.modeling import OracleMax, StructuredHinge


def planes(rng, dim, n=40):
    """A nonnegative maximum of planes, and the same for cvxpy."""
    A, c = rng.normal(size=(n, dim)), rng.normal(size=n)

    def oracle(x):
        x = np.asarray(x).ravel(order="F")
        heights = np.append(c + A @ x, 0.0)
        k = heights.argmax()
        slope = A[k] if k < n else np.zeros(dim)
        return heights[k], slope

    return A, c, oracle


def masters(problem):
    return {entry.master for entry in problem.solver_stats.extra_stats.history.entries}


def is_fast(problem):
    return all("newton" in label for label in masters(problem))


def solved(problem, tol=1e-7):
    value = problem.solve(method="cutting-plane", tol=tol)
    stats = problem.solver_stats.extra_stats
    assert stats.lower <= value <= stats.upper
    assert problem.status == cp.OPTIMAL
    return value


def shaped(oracle, shape):
    """The oracle with slopes in the shape of its argument."""

    def answer(x):
        value, slope = oracle(x)
        return value, slope.reshape(shape, order="F")

    return answer


VARIABLES = {
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
CASES = [(name, term) for name in VARIABLES for term in TERMS if (name, term) != ("free", "trace")]


@pytest.mark.parametrize(("name", "term"), CASES)
def test_they_are_taken_and_agree_with_the_full_program(name, term):
    rng = np.random.default_rng(3)
    x, y = VARIABLES[name](), cp.Variable(2, nonneg=True)
    A, c, first = planes(rng, x.size)
    D, e, second = planes(rng, 2)
    rest = TERMS[term](x) + cp.sum_squares(y)
    ours = cp.Problem(
        cp.Minimize(
            rest
            + 2.0 * OracleMax(x, shaped(first, x.shape), sign="nonneg")
            + 0.5 * OracleMax(y, second, sign="nonneg")
        )
    )
    full = cp.Problem(
        cp.Minimize(
            rest
            + 2.0 * cp.pos(cp.max(c + A @ cp.vec(x, order="F")))
            + 0.5 * cp.pos(cp.max(e + D @ y))
        )
    )
    best = full.solve(solver="CLARABEL")
    assert solved(ours) == pytest.approx(best, rel=1e-5)
    assert is_fast(ours)
    assert ours.solver_stats.extra_stats.lower <= best + 1e-6
    if x.ndim == 2 and x.is_psd():
        assert np.linalg.eigvalsh(x.value).min() >= -1e-12
    else:
        assert not x.is_nonneg() or x.value.min() >= 0


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_the_losses_of_a_learner_have_its_bounds(metric):
    Xs, ys = recordings(4, T=40)
    learner = MetricLearner(metric=metric)
    risk = learner.risk(Xs, ys)
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


def test_parameters_are_read_at_each_solution():
    rng = np.random.default_rng(0)
    x, lam = cp.Variable(3, nonneg=True), cp.Parameter(nonneg=True)
    A, c, oracle = planes(rng, 3)
    ours = cp.Problem(cp.Minimize(lam * cp.sum_squares(x) + OracleMax(x, oracle, sign="nonneg")))
    full = cp.pos(cp.max(c + A @ x))
    for value in (2.0, 0.1):
        lam.value = value
        best = cp.Problem(cp.Minimize(value * cp.sum_squares(x) + full)).solve(solver="CLARABEL")
        assert solved(ours) == pytest.approx(best, rel=1e-5)


OTHERS = {
    "a constraint": lambda x: ([cp.sum(x) <= 0.5], cp.sum_squares(x)),
    "mixed terms": lambda x: ([], cp.square(x[0] + x[1]) + cp.sum_squares(x)),
    "another curvature": lambda x: ([], cp.sum_squares(x) + cp.square(x[0])),
    "a norm": lambda x: ([], cp.norm(x) + cp.norm1(x)),
    "weights of a sum": lambda x: ([], x[0] + 2 * cp.sum(x)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_is_left_to_clarabel(name):
    rng = np.random.default_rng(1)
    x = cp.Variable(3, nonneg=True)
    A, c, oracle = planes(rng, 3)
    constraints, rest = OTHERS[name](x)
    ours = cp.Problem(cp.Minimize(rest + OracleMax(x, oracle, sign="nonneg")), constraints)
    full = cp.Problem(cp.Minimize(rest + cp.pos(cp.max(c + A @ x))), constraints)
    assert solved(ours, 1e-6) == pytest.approx(full.solve(solver="CLARABEL"), rel=1e-5, abs=1e-6)
    assert all("clarabel" in label for label in masters(ours))


def test_clarabel_takes_over_where_they_fail(monkeypatch):
    def fails(self, risk, cuts, request=None):
        raise MasterError("stalled")

    monkeypatch.setattr(AutoMaster, "solve", fails)
    rng = np.random.default_rng(2)
    x = cp.Variable((3, 3), PSD=True)
    A, c, oracle = planes(rng, 9)
    rest = cp.sum_squares(cp.vec(x, order="F"))
    oracle = OracleMax(x, shaped(oracle, (3, 3)), sign="nonneg")
    ours = cp.Problem(cp.Minimize(rest + oracle))
    full = cp.Problem(cp.Minimize(rest + cp.pos(cp.max(c + A @ cp.vec(x, order="F")))))
    assert solved(ours, 1e-6) == pytest.approx(full.solve(solver="CLARABEL"), rel=1e-5)
    assert all("clarabel" in label for label in masters(ours))
