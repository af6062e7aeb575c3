"""Numerical safety: offsets, extreme settings, values that overflow, inaccurate solvers."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from conic_bounds import dual_bound, proved_bound
from recording_cases import recordings_of_four_segments as recordings
from sklearn.base import clone

import structsvm.masters.bounds
from structsvm import (
    ChangePoint,
    DataError,
    EquivalenceMatrix,
    MetricLearner,
    SettingsError,
    Status,
)
from structsvm.data.instance import Instance
from structsvm.errors import CertificateError, DataWarning, OracleError
from structsvm.interop import risk_of
from structsvm.masters.base import Master, MasterSolution
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.partitions import Metric, TraceObjective
from structsvm.problem import Custom
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.solvers.certificate import Certificate

EXACT = MetricLearner(standardize=None, solver=CuttingPlane(Stopping(tol=1e-6)))


@pytest.fixture(scope="module")
def data():
    return recordings()


class TestOffsets:
    @pytest.mark.parametrize("offset", [1e4, 1e6, 1e7, 1e9])
    def test_an_offset_of_recordings_keeps_the_optimum(self, data, offset):
        Xs, ys = data
        right = EXACT.fit(Xs, ys).solution_
        found = clone(EXACT).fit([X + offset for X in Xs], ys)
        error = 10 * np.finfo(float).eps * offset  # of the recordings themselves
        assert found.solution_.status is Status.OPTIMAL
        assert found.solution_.lower <= right.upper + error
        assert right.lower <= found.solution_.upper + error
        agreed = zip(found.predict([X + offset for X in Xs]), EXACT.predict(Xs), strict=True)
        assert all(np.array_equal(a, b) for a, b in agreed)

    def test_conic_masters_solve_the_same_problem_with_an_offset(self, data):
        Xs, ys = data
        learner = MetricLearner(
            metric="diagonal",
            regularizer=Custom(l1),
            standardize=None,
            solver=CuttingPlane(Stopping(max_iter=15)),
        )
        found = [learner.fit([X + offset for X in Xs], ys).solution_ for offset in (0.0, 1e7)]
        assert found[0].lower <= found[1].upper + 1e-6
        assert found[1].lower <= found[0].upper + 1e-6


def l1(B):
    return cp.norm1(B)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_a_small_weight_of_a_feature_with_large_values_counts(metric):
    """In units that are 1e6 apart, weights are 1e12 apart: the question is the same.

    Such weights were left out, and learning certified an optimum of 0.046, where it is 0.58.
    """
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.repeat([0, 1], 20)
    objective = ChangePoint().objective(metric, 2)
    B = np.array([2.0, 2.0]) if metric == "diagonal" else np.array([[2.0, 0.5], [0.5, 2.0]])
    found = []
    for scale in (np.ones(2), np.array([1.0, 1e6])):
        weight = B / scale**2 if metric == "diagonal" else B / np.outer(scale, scale)
        w = objective.join(weight, 8.0)
        M = EquivalenceMatrix.from_labels(y)
        x = ChangePoint().training_instance(Instance(X * scale), M)
        answer = objective.separate(w, x, M)
        gain = objective.joint_feature(x, answer.y) - objective.joint_feature(x, M)
        found.append(objective.loss(M, answer.y) + gain @ w + answer.slack)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


class TestSettingsAndValues:
    @pytest.mark.parametrize("lam", [1e-320, 1e-200, 1e200])
    def test_a_strength_beyond_arithmetic_is_refused(self, data, lam):
        with pytest.raises(SettingsError, match=r"lam must be from 1e-100 to 1e100, got"):
            MetricLearner(lam=lam).fit(*data)

    @pytest.mark.parametrize("lam", [1e-100, 1e-30])
    def test_a_tiny_strength_is_never_certified_by_overflow(self, data, lam):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence
            learner = MetricLearner(lam=lam, solver=CuttingPlane(Stopping(max_iter=5)))
            solution = learner.fit(*data).solution_
        assert 0 <= solution.lower <= solution.upper

    @pytest.mark.parametrize("value", [1e200, -1e160])
    def test_values_whose_squares_overflow_are_refused_by_place(self, data, value):
        Xs, ys = data
        learner = MetricLearner().fit(Xs, ys)
        broken = [X.copy() for X in Xs]
        broken[2][3, 1] = value
        for use in (learner.predict, lambda Xs: MetricLearner().fit(Xs, ys)):
            with pytest.raises(DataError, match=r"recording 2 has .* in row 3, column 1.*scale"):
                use(broken)

    def test_values_that_overflow_in_the_metric_are_refused(self):
        with pytest.raises(OracleError, match=r"reach 1e\+200 in the metric.*scale the data"):
            TraceObjective(np.array([[1e200], [0.0]]))


@pytest.mark.parametrize(
    "problem",
    [ChangePoint(), ChangePoint(min_length=2), ChangePoint(missing="mask")],
    ids=["all", "lengths", "masked"],
)
def test_jumps_that_leave_the_noise_no_digits_are_warned_of(data, problem):
    X = data[0][0][:, :1].copy()
    if problem.missing == "mask":
        X[3] = np.nan
    metric = Metric(np.eye(1), 10.0)
    quiet = problem.partition(Instance(X), metric)
    steps = 1e8 * (np.arange(len(X)) >= 25)[:, None]
    with pytest.warns(DataWarning, match="rounding may hide changes"):
        problem.partition(Instance(X + steps), metric)
    steps = 1e4 * (np.arange(len(X)) >= 20)[:, None]
    assert set(quiet.breakpoints) <= {
        20,
        *problem.partition(Instance(X + steps), metric).breakpoints,
    }


class TestContradiction:
    def test_a_lower_bound_above_the_upper_one_is_no_success(self):
        certificate = Certificate(floor=0.0)
        certificate.best = np.ones(1)
        certificate.upper = 1.0
        certificate.null = 2.0
        certificate.update_lower(1.1, "certified")
        with pytest.raises(CertificateError, match=r"bound 1\.1 is above the upper bound 1\.0"):
            certificate.solution(Status.OPTIMAL, 1)


class Garbage(Master):
    """Weights and multipliers of nothing."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def solve(self, risk, cuts, request=None):
        w = np.abs(self.rng.normal(size=risk.space.dim)) * 10.0 ** self.rng.integers(-3, 3)
        alpha = self.rng.normal(size=len(cuts)) * 10.0 ** self.rng.integers(-3, 3)
        return MasterSolution(w, alpha, "garbage")


class TestSabotage:
    @pytest.mark.parametrize("metric", ["full", "diagonal"])
    @pytest.mark.parametrize("regularizer", ["squared", "trace", "custom"])
    def test_bounds_hold_whatever_the_master_and_the_conic_solver_say(
        self, metric, regularizer, monkeypatch
    ):
        for seed in (1,) if regularizer == "custom" else range(3):
            Xs, ys = recordings(2, 12, 2, seed)
            chosen = Custom(l1) if regularizer == "custom" else regularizer
            learner = MetricLearner(
                metric=metric, regularizer=chosen, solver=CuttingPlane(Stopping(tol=1e-6))
            )
            risk = risk_of(learner, Xs, ys)
            right = CuttingPlane(Stopping(1e-6, 60)).solve(risk)
            real = cp.Problem.solve

            def sloppy(self, real=real, seed=seed, **options):
                eps = 10.0 ** -(1 + seed % 3)
                return real(self, solver="SCS", eps=eps, max_iters=20 * (1 + seed))

            with monkeypatch.context() as patch:
                solvers = [CuttingPlane(Stopping(1e-6, 8), master=Garbage(seed))]
                patch.setattr(cp.Problem, "solve", sloppy)
                solvers.append(CuttingPlane(Stopping(1e-6, 8), master=CvxpyMaster()))
                found = [solver.solve(risk) for solver in solvers]
            for solution in found:
                assert solution.lower <= right.upper
                assert right.lower <= solution.upper
                assert solution.lower <= solution.upper

    @pytest.mark.parametrize("steps", [1, 3, 6, 10, 200])
    def test_a_conic_bound_holds_however_early_its_solver_stops(self, rng, steps, monkeypatch):
        """Every kind of cone; the exact minima are known."""
        options = {"CLARABEL": {"max_iter": steps}}
        monkeypatch.setattr(structsvm.masters.bounds, "PRECISE_OPTIONS", options)
        a = rng.normal(size=3)
        n = 3
        x = cp.Variable(n)
        X = cp.Variable((n, n), symmetric=True)
        C = rng.normal(size=(n, n))
        C = C + C.T
        eigenvalue = float(np.linalg.eigvalsh(C)[0])
        cases = [
            (cp.sum_squares(x - a) + 1.5, [], 1.5),
            (cp.norm1(x - a), [x >= 0], float(np.abs(np.minimum(a, 0)).sum())),
            (cp.norm2(x) + a @ x / (2 * np.linalg.norm(a)), [], 0.0),
            (cp.trace(C @ X), [X >> 0, cp.trace(X) == 1], eigenvalue),
            (cp.sum(cp.exp(x) - x), [], 3.0),
            (cp.sum(cp.power(x, 1.5)) - cp.sum(x) * 1.5, [x >= 0], -1.5),
        ]
        for objective, constraints, minimum in cases:
            bound = dual_bound(cp.Problem(cp.Minimize(objective), constraints))
            assert bound <= minimum + 1e-12
            if steps == 200:
                assert bound >= minimum - 1e-4

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("size", [1e100, 1e200, 1e308, np.inf, np.nan])
    def test_a_point_however_large_proves_nothing_and_warns_of_nothing(self, size):
        x = cp.Variable(2)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + cp.norm1(x)), [x >= 1])
        program, _, _ = problem.get_problem_data("CLARABEL")
        y = np.full(program["c"].size, size)
        z = np.full(program["b"].size, size)
        assert proved_bound(program, 0.0, y, z) == -np.inf
