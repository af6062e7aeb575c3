"""Experiments: the command that runs the paper's, shows that are made, rivals that are papers."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

import penalty_regression
import sinkhorn
from _figures import PAPER, faults, faults_of_file, pages
from paper import FOLDER, PARTS


def test_every_experiment_of_the_paper_is_run():
    scripts = {
        path.name
        for pattern in ("table*.py", "figure*.py", "appendix*.py")
        for path in FOLDER.glob(pattern)
    }
    assert scripts <= {part.command[0] for part in PARTS}
    assert scripts - {part.quick[0] for part in PARTS if part.quick} == set(), "nor left out in CI"


# ---- rivals


class TestIntervalRegression:
    def test_finds_a_rule_that_lies_in_every_interval(self, rng):
        features = rng.normal(size=(30, 2))
        logs = 1.0 + features @ [0.5, 2.0]
        intervals = np.column_stack([logs - 2.0, logs + 2.0])
        intervals[::3, 0], intervals[1::3, 1] = -np.inf, np.inf
        rule = penalty_regression.regression(features, intervals, constant=False)
        found = np.log([rule(x) for x in features])
        assert ((intervals[:, 0] < found) & (found < intervals[:, 1])).all()

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


# ---- printed numbers are those of the files of docs/paper, which say where they come from


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_prints_what_its_files_have(page):
    assert list(faults(page)) == []


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_says_where_it_comes_from(path):
    assert list(faults_of_file(path)) == []
