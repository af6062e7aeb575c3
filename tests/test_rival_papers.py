"""The rivals of experiments/ that are papers do what their papers say."""

import sys
from pathlib import Path

import numpy as np
import pytest

from structsvm.io import Recording

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

import penalty_regression
import sinkhorn
import tcpd
from _sets import Annotated


class TestIntervalRegression:
    def test_finds_a_rule_that_lies_in_every_interval(self, rng):
        features = rng.normal(size=(30, 2))
        logs = 1.0 + features @ [0.5, 2.0]
        intervals = np.column_stack([logs - 2.0, logs + 2.0])
        intervals[::3, 0], intervals[1::3, 1] = -np.inf, np.inf
        rule = penalty_regression.regression(features, intervals, constant=False)
        found = np.log([rule(x) for x in features])
        assert ((intervals[:, 0] < found) & (found < intervals[:, 1])).all()

    def test_a_constant_is_one_penalty_for_all(self, rng):
        features = rng.normal(size=(6, 2))
        intervals = np.column_stack([np.zeros(6), np.full(6, 3.0)])
        rule = penalty_regression.regression(features, intervals, constant=True)
        assert [rule(x) for x in features] == pytest.approx([np.exp(1.5)] * 6)

    def test_what_never_varies_says_nothing(self, rng):
        features = np.column_stack([np.ones(8), rng.normal(size=8)])
        intervals = np.column_stack([features[:, 1] - 1, features[:, 1] + 1])
        rule = penalty_regression.regression(features, intervals, constant=False)
        other = np.array([5.0, 0.3])
        assert rule(other) == pytest.approx(rule(np.array([1.0, 0.3])))


class TestSinkhorn:
    @pytest.fixture
    def windows(self, rng):
        return rng.normal(size=(3, 5, 3)), rng.normal(size=(3, 5, 3)) + 1.0

    def test_the_divergence_of_a_window_with_itself_is_zero(self, windows):
        X, Y = windows
        L = np.diag([1.0, 0.5, 2.0])
        assert sinkhorn.divergence(X, X, L, 0.5)[0] == pytest.approx(np.zeros(3), abs=1e-9)
        assert (sinkhorn.divergence(X, Y, L, 0.5)[0] > 0).all()

    def test_plans_have_the_right_sums(self, windows, monkeypatch):
        monkeypatch.setattr(sinkhorn, "ROUNDS", 300)
        _, plan = sinkhorn.transport(*windows, np.eye(3), 5.0)
        assert plan.sum(axis=1) == pytest.approx(np.full((3, 5), 0.2), abs=1e-6)
        assert plan.sum(axis=2) == pytest.approx(np.full((3, 5), 0.2), abs=1e-6)

    def test_the_gradient_is_that_of_differences(self, windows, monkeypatch, rng):
        monkeypatch.setattr(sinkhorn, "ROUNDS", 300)
        L, weights = np.eye(3) + 0.1 * rng.normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
        _, kept = sinkhorn.divergence(*windows, L, 5.0)
        found = sinkhorn.slope(kept, weights, L)
        for i, j in ((0, 0), (1, 2), (2, 1)):
            step = np.zeros((3, 3))
            step[i, j] = 1e-5
            up, down = (sinkhorn.divergence(*windows, L + s, 5.0)[0] for s in (step, -step))
            assert found[i, j] == pytest.approx(weights @ (up - down) / 2e-5, rel=1e-4)

    def test_learning_looks_at_the_feature_that_changes(self, rng, monkeypatch):
        monkeypatch.setattr(sinkhorn, "STEPS", 60)
        ends = [[20, 40, 60]] * 4
        Zs = [
            rng.normal(size=(60, 3)) + np.outer(np.repeat([0, 2, 0], 20), [1, 0, 0]) for _ in ends
        ]
        given = sinkhorn.triplets(Zs, ends, 5, rng)
        L = sinkhorn.learned(given, 0.5, 3)
        weights = np.diag(L.T @ L)
        assert weights[0] > 2 * weights[1:].max()


class TestScoresOfAnnotators:
    one = Annotated(
        Recording("x", np.zeros((100, 1)), None, ("x",)), {"a": [50, 100], "b": [52, 80, 100]}
    )

    def test_agreement_with_everybody_is_perfect(self):
        alone = Annotated(self.one.recording, {"a": [50, 100]})
        assert tcpd.scores(alone, [50, 100]) == (1.0, 1.0)

    def test_precision_is_against_any_mark_and_recall_is_a_mean(self):
        _, f1 = tcpd.scores(self.one, [51, 100])
        recall = (1.0 + 2 / 3) / 2
        assert f1 == pytest.approx(2 * recall / (1 + recall))

    def test_regions_of_the_majority(self):
        ((labels, weight),) = tcpd.of_the_majority(self.one)
        assert weight == 1.0
        assert [(r.start, r.end, r.changes) for r in labels.regions] == [
            (0, 45, 0),
            (45, 58, 1),
            (58, 75, 0),
            (86, 100, 0),
        ]

    def test_weights_of_annotators_add_up_to_one(self):
        assert sum(weight for _, weight in tcpd.of_all(self.one)) == 1.0
        assert tcpd.of_one(self.one) == [([50, 100], 1.0)]
