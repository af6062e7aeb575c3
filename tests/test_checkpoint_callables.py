"""A run goes on with the constraints and the regularizer that it began with, by what they say."""

import cvxpy as cp
import numpy as np
import pytest
from enumerated import Listed, listed_risk

from structsvm import MetricLearner
from structsvm.errors import CheckpointError, SettingsError
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Custom, SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.checkpoint import identity
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.weights import PSD

LIMIT = 50.0
STRENGTH = 1.0
SHIFT = 0.0


def at_most(B):
    return [cp.trace(B) <= LIMIT]


def norm(B):
    return STRENGTH * cp.norm1(B) + SHIFT


def marks(constraints=None, regularizer=None, order=3):
    risk = listed_risk(PSD(order), regularizer or SquaredNorm(0.5))
    changed = RegularizedRisk(
        Listed(PSD(order)),
        risk.xs,
        risk.ys,
        risk.regularizer,
        risk.sample_weight,
        risk.null,
        constraints,
    )
    return identity(changed, CuttingPlane())


def recordings():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 10)
    Xs = []
    for _ in range(4):
        X = rng.normal(size=(40, 3))
        X[:, 0] += 3 * rng.normal(size=4)[y]
        Xs.append(X)
    return Xs, [y] * 4


def test_a_constraint_that_reads_a_changed_global_is_another(tmp_path, monkeypatch):
    Xs, ys = recordings()
    learner = MetricLearner(constraints=at_most)
    free = learner.fit(Xs, ys, resume=tmp_path / "run").solution_
    again = learner.fit(Xs, ys, resume=tmp_path / "run").solution_
    np.testing.assert_array_equal(again.w, free.w)
    monkeypatch.setattr(f"{__name__}.LIMIT", 0.5)
    with pytest.raises(CheckpointError, match="a checkpoint with other constraints"):
        learner.fit(Xs, ys, resume=tmp_path / "run")


def test_a_regularizer_that_reads_a_changed_global_is_another(monkeypatch):
    before = marks(regularizer=Custom(norm))
    assert marks(regularizer=Custom(norm)) == before
    for name, value in (("STRENGTH", 2.0), ("SHIFT", 0.25)):
        with monkeypatch.context() as changed:
            changed.setattr(f"{__name__}.{name}", value)
            after = marks(regularizer=Custom(norm))
        assert [mark for mark in before if before[mark] != after[mark]] == ["regularizer"]
    assert marks(regularizer=Custom(norm, weight=2.0))["regularizer"] != before["regularizer"]


def test_a_parameter_counts_by_its_value():
    limit = cp.Parameter(value=1.0)
    bounded = lambda B: [cp.norm(B, "fro") <= limit]  # noqa: E731
    before = marks(bounded)
    assert marks(bounded) == before
    limit.value = 2.0
    assert marks(bounded)["constraints"] != before["constraints"]


def test_other_code_that_says_the_same_is_the_same():
    def first(B):
        return [cp.trace(B) <= 2.0, B[0, 0] >= 0.25]

    def second(B):
        for _ in range(7):
            cp.Variable(3)  # numbers of variables are no part of a problem
        floor = 1 / 4
        return [cp.trace(B) <= sum([1.0, 1.0]), B[0, 0] >= floor]

    assert marks(first) == marks(second)
    assert marks(first) != marks(lambda B: [cp.trace(B) <= 2.0])
    assert marks(lambda B: []) != marks(first)


@pytest.mark.parametrize(
    "constraint",
    [
        lambda B: cp.log_det(B + np.eye(3)) >= -1,
        lambda B: cp.lambda_max(B) <= 4,
        lambda B: cp.norm(B, "nuc") <= 4,
        lambda B: cp.geo_mean(cp.diag(B)) >= 0,
    ],
)
def test_any_cone_has_a_mark(constraint):
    first, second = (marks(lambda B: [constraint(B)])["constraints"] for _ in range(2))
    assert first == second != marks(at_most)["constraints"]


def test_what_is_not_convex_is_refused_before_any_work(tmp_path):
    Xs, ys = recordings()
    with pytest.raises(SettingsError, match="a constraint is not convex"):
        MetricLearner(constraints=lambda B: [cp.trace(B) ** 2 >= 1]).fit(
            Xs, ys, resume=tmp_path / "run"
        )


def test_a_run_goes_on_with_a_custom_regularizer(tmp_path):
    risk = listed_risk(PSD(3), Custom(norm))
    whole = CuttingPlane(Stopping(1e-6)).solve(risk)
    CuttingPlane(Stopping(1e-6, max_iter=2)).solve(risk, resume=tmp_path / "run")
    resumed = CuttingPlane(Stopping(1e-6)).solve(risk, resume=tmp_path / "run")
    np.testing.assert_allclose(resumed.w, whole.w, atol=1e-4)
    assert resumed.lower <= resumed.upper
