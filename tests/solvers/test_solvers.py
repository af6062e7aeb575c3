"""Every solver on problems whose optimum is known, and solvers of one's own."""

from dataclasses import replace
from itertools import product
from zlib import crc32

import cvxpy as cp
import numpy as np
import pytest
from cases import cases, refused
from enumerated import Listed, column, listed_risk, objective, optimum

from structsvm.errors import CertificateError, OracleWarning, PluginError, SettingsError
from structsvm.evaluation.compare import compare_on
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.problem import (
    PSD,
    Custom,
    Free,
    Nonnegative,
    Product,
    Quality,
    Separable,
    Separation,
    SquaredNorm,
    Status,
    Trace,
    relative_gap,
)
from structsvm.solvers.auto import CONVEX, solver_from
from structsvm.solvers.base import Solver
from structsvm.solvers.certificate import Step, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.first_order import BlockFrankWolfe, ProjectedSubgradient

FINE = Stopping(1e-6, 400)
COARSE = Stopping(3e-2, 2000)

SOLVERS: dict[str, Solver] = {
    "n-slack": CuttingPlane(FINE),
    "1-slack": CuttingPlane(FINE, slack="one"),
    "undamped": CuttingPlane(FINE, damping=0.0),
    "near the best": CuttingPlane(FINE, slack="one", proximal=1.0),
    "few cuts": CuttingPlane(Stopping(1e-4, 400), max_cuts=8, max_idle=2),
    "Frank-Wolfe": BlockFrankWolfe(Stopping(1e-3, 2000)),
    "Frank-Wolfe without cache": BlockFrankWolfe(Stopping(1e-2, 2000), cached_planes=0),
    "subgradient": ProjectedSubgradient(COARSE),
}

SMOOTH = {
    "free": (Free(3), SquaredNorm(0.5)),
    "diagonal": (Nonnegative(4), SquaredNorm(0.5)),
    "diagonal-centred": (Nonnegative(4), SquaredNorm(0.5, center=0.5)),
    "full": (PSD(3), SquaredNorm(0.5)),
    "full-centred": (PSD(3), SquaredNorm(0.5, center=0.5)),
    "priced": (Product((PSD(2), Nonnegative(1))), Separable((SquaredNorm(0.3), SquaredNorm(0.6)))),
    "free next to diagonal": (Product((Free(2), Nonnegative(2))), SquaredNorm(0.5, center=0.5)),
}

FLAT = {
    "diagonal-trace": (Nonnegative(4), Trace(0.1)),
    "full-trace": (PSD(3), Trace(0.1)),
    "priced-trace": (Product((PSD(2), Nonnegative(1))), Separable((Trace(0.1), SquaredNorm(0.3)))),
}

CONSTRAINED = {
    "trace-one": (PSD(2), SquaredNorm(0.1), lambda B: [cp.trace(B) == 1]),
    "bounded": (Nonnegative(3), Trace(0.01), lambda b: [b <= 0.4]),
    "two-equal": (Nonnegative(3), SquaredNorm(0.1), lambda b: [b[0] == b[1]]),
    "custom": (Nonnegative(3), Custom(lambda b: cp.norm(b, 2), weight=0.2), None),
    "custom-priced": (
        Product((PSD(2), Nonnegative(1))),
        Custom(lambda B: cp.norm(cp.vec(B, order="C"), 2), weight=0.2),
        lambda B: [cp.abs(B) <= 0.05],
    ),
    "custom-of-unknown-sign": (PSD(2), Custom(lambda B: cp.sum_squares(B - np.eye(2)) - 1), None),
}

NEED_STRONG_CONVEXITY = ("Frank-Wolfe", "Frank-Wolfe without cache", "subgradient")

ANY = [name for name in SOLVERS if name not in NEED_STRONG_CONVEXITY]

LEGAL = [
    (name, case)
    for name, case in product(SOLVERS, (*SMOOTH, *FLAT))
    if case in SMOOTH or name in ANY
]


def assert_certified(solution, best, tol):
    """Bounds around the optimum that only improve, and a gap that is what it is called."""
    slack = 1e-8 * (1 + abs(best))
    assert solution.lower <= best + slack
    assert best <= solution.upper + slack
    assert solution.gap == relative_gap(solution.lower, solution.upper, solution.null) <= tol
    assert np.all(np.diff(column(solution, "lower")) >= 0)
    assert np.all(np.diff(column(solution, "upper")) <= 0)
    calls = np.diff(column(solution, "oracle_calls"))
    assert np.all(calls[:-1] > 0)
    assert np.all(calls[-1:] >= 0)  # the last master's bound may close the gap
    assert np.all(np.diff(column(solution, "seconds")) >= 0)
    assert column(solution, "oracle_calls")[-1] == solution.oracle_calls
    assert solution.status in (Status.OPTIMAL, Status.NOTHING_TO_LEARN)


@pytest.mark.parametrize(("name", "case"), LEGAL)
def test_every_solver_attains_the_enumerated_optimum(name, case):
    space, omega = {**SMOOTH, **FLAT}[case]
    risk = listed_risk(space, omega, seed=1)
    solver = SOLVERS[name]
    solution = solver.solve(risk)
    assert_certified(solution, optimum(risk), solver.stopping.tol)
    assert solution.upper == pytest.approx(objective(risk, solution.w), rel=1e-9)
    np.testing.assert_allclose(space.project(solution.w), solution.w, atol=1e-9)


@pytest.mark.parametrize("case", CONSTRAINED)
@pytest.mark.parametrize("name", ["n-slack", "1-slack"])
def test_solvers_attain_the_optimum_with_constraints_and_custom_regularizers(name, case):
    space, omega, constraints = CONSTRAINED[case]
    risk = listed_risk(space, omega, seed=2, constraints=constraints)
    solution = CuttingPlane(Stopping(1e-4, 200), slack=SOLVERS[name].slack).solve(risk)
    best = optimum(risk)
    assert solution.lower <= best + 1e-6
    assert solution.upper == pytest.approx(best, rel=1e-3, abs=1e-5)
    basis, *relaxed = solution.bound.split(", the upper one for constraints relaxed by ")
    assert basis in ("certified", "to the accuracy of the conic solver")
    assert not relaxed or constraints is not None
    if constraints is not None:
        metric = cp.Constant(space.to_metric(solution.w))
        assert all(np.max(c.violation()) <= 1e-5 for c in constraints(metric))


def test_constraints_may_have_variables_of_their_own():
    def bounded(b):
        size = cp.Variable()
        return [cp.norm1(b) <= size, size <= 0.4]

    solver = CuttingPlane(Stopping(1e-4, 200))
    own, none = (
        solver.solve(listed_risk(Nonnegative(3), SquaredNorm(0.1), seed=2, constraints=constraints))
        for constraints in (bounded, lambda b: [cp.norm1(b) <= 0.4])
    )
    assert max(own.lower, none.lower) <= min(own.upper, none.upper) + 1e-6
    assert np.abs(own.w).sum() <= 0.4 + 1e-5
    whole = listed_risk(
        Nonnegative(3), SquaredNorm(), constraints=lambda b: [b == cp.Variable(3, integer=True)]
    )
    with pytest.raises(SettingsError, match="must not be boolean or integer"):
        solver.solve(whole)


ILLEGAL = list(product(NEED_STRONG_CONVEXITY, (*FLAT, *CONSTRAINED)))


@pytest.mark.parametrize(("name", "case"), ILLEGAL)
def test_an_illegal_pair_is_refused_before_work_starts(name, case):
    space, omega, *rest = {**FLAT, **CONSTRAINED}[case]
    risk = listed_risk(space, omega, constraints=rest[0] if rest else None)
    calls = []
    with pytest.raises(SettingsError, match="use CuttingPlane, which takes every"):
        SOLVERS[name].solve(risk, calls.append)
    assert not calls


def test_solvers_are_made_by_name():
    stopping = Stopping(0.5)
    made = [solver_from(name, stopping, "clarabel") for name in list(CONVEX)[:3]]
    plain = CuttingPlane(stopping, "n", CvxpyMaster("clarabel"))
    assert made == [plain, plain, CuttingPlane(stopping, "one", CvxpyMaster("clarabel"))]
    assert solver_from("auto", stopping, slack="one") == CuttingPlane(stopping, "one")
    assert solver_from("frank-wolfe", stopping) == BlockFrankWolfe(stopping)
    assert solver_from("subgradient", stopping) == ProjectedSubgradient(stopping)
    assert solver_from(own := BlockFrankWolfe()) is own


test_solvers_refuse_settings_that_do_not_go_with_them = refused(
    SettingsError,
    lambda solver, settings: solver_from(solver, **settings),
    ("magic", {}, r"one of \['auto', .*'subgradient'\], got 'magic'"),
    ("frank-wolfe", {"slack": "one"}, "slack='one' goes with solver='cutting-plane'"),
    ("subgradient", {"master": "scs"}, "and not with 'subgradient': leave it alone"),
    (CuttingPlane(), {"master": "scs"}, r"set it on a Solver, CuttingPlane\(master="),
)


@pytest.mark.parametrize("name", SOLVERS)
class TestStart:
    """The weight that a risk suggests is an incumbent from the beginning."""

    def first(self, name, start):
        risk = replace(listed_risk(*SMOOTH["full"], seed=1), start=start)
        solver = SOLVERS[name]
        kind = {k: v for k, v in vars(solver).items() if k != "stopping"}
        return risk, type(solver)(Stopping(1e-12, max_iter=1), **kind).solve(risk)

    def test_a_solver_returns_nothing_worse_than_its_start(self, name):
        risk = listed_risk(*SMOOTH["full"], seed=1)
        good = CuttingPlane(FINE).solve(risk).w
        risk, solution = self.first(name, good)
        assert solution.upper <= objective(risk, good) + 1e-12
        assert solution.lower <= optimum(risk) + 1e-8

    def test_a_start_that_is_too_long_is_shortened(self, name):
        risk = listed_risk(*SMOOTH["full"], seed=1)
        good = CuttingPlane(FINE).solve(risk).w
        assert objective(risk, 4 * good) > objective(risk, 0 * good)
        risk, solution = self.first(name, 4 * good)
        assert solution.upper <= objective(risk, good) + 1e-12


@pytest.mark.parametrize("name", SOLVERS)
class TestBudgets:
    def test_max_iter_ends_a_run(self, name, short):
        solution = short(name, max_iter=2)
        assert solution.status is Status.MAX_ITER
        assert solution.n_iter == 2
        assert solution.gap > 1e-9
        assert not solution.status.converged

    def test_max_calls_ends_a_run(self, name, short):
        solution = short(name, max_calls=19)
        assert solution.status is Status.MAX_CALLS
        # Rounds of four; the Frank-Wolfe method also calls one oracle at a time.
        assert 16 <= solution.oracle_calls <= 19
        assert np.isfinite(solution.upper)

    def test_max_seconds_ends_a_run(self, name, short):
        solution = short(name, max_seconds=1e-9)
        assert solution.status is Status.MAX_SECONDS
        assert solution.oracle_calls == 4  # the first round is always made
        assert solution.upper == solution.null

    @pytest.fixture
    def short(self):
        def run(name, **stopping):
            risk = listed_risk(*SMOOTH["full"], n_labels=60, seed=4)
            settings = {"tol": 1e-12, "max_iter": 1000} | stopping
            solver = SOLVERS[name]
            kind = {k: v for k, v in vars(solver).items() if k != "stopping"}
            solution = type(solver)(Stopping(**settings), **kind).solve(risk)
            best = optimum(risk)
            assert solution.lower <= best + 1e-8
            assert best <= solution.upper + 1e-8
            return solution

        return run


@cases(
    {"regularizer": SquaredNorm(100.0, center=2.0)},
    {"regularizer": SquaredNorm(10.0), "constraints": lambda b: [cp.sum(b) == 3.0]},
    ids=["centred", "constrained"],
)
def test_the_null_weight_is_no_candidate_if_it_is_penalised_or_forbidden(tmp_path, changed):
    """Its losses alone are below the optimum, but it is far from the center, or not allowed."""
    risk = listed_risk(Nonnegative(3), **changed, seed=2)
    for _ in range(2):
        solution = CuttingPlane(Stopping(1e-4)).solve(risk, resume=tmp_path / "run")
        assert solution.null < solution.lower
        assert solution.status is Status.OPTIMAL


test_impossible_settings_of_solvers_are_refused = refused(
    SettingsError,
    lambda make: make(),
    (lambda: CuttingPlane(slack="two"), "slack must be one of .*, got 'two'"),
    (lambda: CuttingPlane(master="simplexor"), "'simplexor' is not installed"),
    (lambda: CuttingPlane(damping=1.0), "damping must be in"),
    (lambda: CuttingPlane(proximal=-0.1), "proximal must be at least 0 or None, got -0.1"),
    (lambda: CuttingPlane(proximal=np.nan), "proximal must be at least 0 or None, got nan"),
    (lambda: CuttingPlane(max_idle=0), "max_idle must be an integer >= 1"),
    (lambda: BlockFrankWolfe(cached_planes=-1), "must be an integer >= 0"),
    (lambda: CuttingPlane(max_cuts=7).check(listed_risk(*SMOOTH["full"])), "at least two per"),
)


FEW = Stopping(1e-3, max_iter=5)


class Own(Solver):
    """Evaluates the start again and again; no dataclass, and it never calls ``run.start``."""

    stopping = FEW

    def check(self, risk):
        pass

    def steps(self, run):
        while True:
            run.evaluate(np.ones(run.dim), np.arange(run.n_instances))
            yield Step("the same again")


class Ends(Own):
    def __init__(self, n):
        self.n = n

    def steps(self, run):
        for _ in range(self.n):
            run.evaluate(np.ones(run.dim), run.groups("one"))
            yield Step("one of some", state=lambda: {"w": np.ones(run.dim)})


class Liar(Own):
    def steps(self, run):
        run.start(run.groups("one"))
        while True:
            run.bound_by(0.99 * run.certificate.upper, np.zeros(run.dim))
            yield Step("a bound from nowhere")


@pytest.fixture
def risk():
    return listed_risk(Nonnegative(3), SquaredNorm(0.5))


def test_a_solver_that_never_calls_start_has_gaps_that_hold(risk):
    found = Own().solve(risk)
    whole = CuttingPlane().solve(risk)
    assert found.status is Status.MAX_ITER
    assert found.gap > 0.1
    assert found.null == whole.null
    assert found.lower <= whole.upper


@cases((1, Status.STALLED), (3, Status.STALLED), (5, Status.MAX_ITER), (9, Status.MAX_ITER))
def test_a_solver_whose_steps_end_has_stalled(risk, tmp_path, n, status):
    """Also when it is resumed: there is nothing more to gain."""
    found = Ends(n).solve(risk, resume=tmp_path / "state")
    again = Ends(n).solve(risk, resume=tmp_path / "state")
    assert found.status is again.status is status
    assert len(found.history.entries) == len(again.history.entries) == min(n, FEW.max_iter)


@cases(
    (lambda run: None, "gave None"),
    (lambda run: iter(["a label"]), "gave 'a label'"),
    (lambda run: iter([]), "gave None"),
    (lambda run: [Step("one")], "gave a list"),
)
def test_a_solver_whose_steps_are_no_generator_is_named(risk, steps, complaint):
    solver = type("Silent", (Own,), {"steps": staticmethod(steps)})()
    message = f"Silent: steps\\(run\\) {complaint}.*: yield Step\\(label\\) after every iteration"
    with pytest.raises(PluginError, match=message):
        solver.solve(risk)


def test_solvers_whose_bounds_contradict_each_other_are_named(risk):
    with pytest.raises(CertificateError, match=r"^liar and cutting-plane contradict each other: "):
        compare_on(risk, {"cutting-plane": CuttingPlane(), "liar": Liar()})


class Boaster(Own):
    def steps(self, run):
        run.start(run.groups("one"))
        while True:
            run.bound_by(2.0 * run.certificate.upper, np.zeros(run.dim))
            yield Step("a bound above all weights")


def test_bounds_that_cross_name_solvers_among_the_causes(risk):
    with pytest.raises(CertificateError, match=r"or a solver or a master of your own claims"):
        Boaster().solve(risk)


class Astray(Own):
    """Evaluates a weight at which there is nothing to find."""

    def __init__(self, w):
        self.w = w

    def steps(self, run):
        while True:
            run.evaluate(self.w, run.groups("one"))
            yield Step("astray")


@cases(
    (Nonnegative(3), [1.0, -1e-3, 1.0], r"outside of its cone Nonnegative\(size=3\), by 0.001"),
    (PSD(2), [1.0, 0.0, -0.5], r"outside of its cone PSD\(order=2\), by 0.5: project it"),
    (Product((PSD(2), Nonnegative(1))), [1.0, 0.0, 1.0, -2.0], "outside of its cone Product"),
    (Free(3), [1.0, np.nan, 0.0], "a weight that is not finite"),
    (Free(3), [1.0, 2.0], r"give an array of shape \(3,\)"),
)
def test_a_solver_that_leaves_its_cone_is_named(space, w, complaint):
    """There the objective may be below its minimum, and an honest oracle would be blamed."""
    with pytest.raises(PluginError, match=f"^Astray asks run.evaluate about .*{complaint}"):
        Astray(np.array(w)).solve(listed_risk(space, SquaredNorm(0.5)))


class Unprojected(NewtonMaster):
    """Says that its weights are in the cone, which they are not."""

    def solve(self, risk, cuts, request):
        answer = super().solve(risk, cuts, request)
        return replace(answer, w=answer.w - 1.0, is_projected=True)


def test_a_master_that_leaves_the_cone_is_named(risk):
    solver = CuttingPlane(FEW, master=Unprojected())
    with pytest.raises(PluginError, match=r"^CuttingPlane with Unprojected asks "):
        solver.solve(risk)


def test_a_weight_in_its_cone_but_for_rounding_is_none_outside():
    found = Astray(np.array([1.0, -1e-12, 1.0])).solve(
        listed_risk(Nonnegative(3), SquaredNorm(0.5))
    )
    assert found.status is Status.MAX_ITER


class Mistaken(Listed):
    """Answers one question in three by the second best labelling, and calls it the best."""

    def separate(self, w, x, y):
        values = np.array([self.loss(y, k) for k in range(len(x.features))]) + x.features @ w
        *_, second, best = np.argsort(values).tolist()
        wrong = crc32(w.tobytes() + x.features.tobytes()) % 3 == 0 and second != y
        slack = 0.3 * float(values[best] - values[second]) if wrong else 0.0
        return Separation(second if wrong else best, slack, Quality.EXACT)


@pytest.mark.parametrize("seed", [17, 21])
def test_later_labellings_raise_the_upper_bound_of_the_best_weight(seed):
    """The upper bound was below the objective, and both bounds close: certified as optimal."""
    lam = 10.0 ** np.random.default_rng(seed).uniform(-2, 0)
    problem = Mistaken(Free(3))
    risk = listed_risk(Free(3), SquaredNorm(lam), n_samples=6, seed=seed, problem=problem)
    with pytest.warns(OracleWarning):
        found = ProjectedSubgradient(Stopping(1e-2, 100)).solve(risk)
    assert found.upper < objective(risk, found.w)
    assert found.status in (Status.HEURISTIC, Status.CONTRADICTED)
