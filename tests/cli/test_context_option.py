"""``fit --context``: what the metric sees, without a line of Python."""

import csv
import json

import numpy as np
import pytest

from structsvm import load
from structsvm.features import Lags, StateScores

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [12, 15, 10, 8])
LEVELS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


@pytest.fixture
def run(tmp_path, run, monkeypatch):
    """Run a command beside a folder of recordings of three people, and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walks").mkdir()
    levels = np.array([LEVELS[state] for state in NAMES])
    for i in range(6):
        X = levels + np.random.default_rng(i).normal(scale=0.5, size=levels.shape)
        rows = [[*x, y] for x, y in zip(X.tolist(), NAMES, strict=True)]
        with (tmp_path / "walks" / f"p{i % 3}_{i}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "label"], *rows])
    return run


def test_a_model_of_states_is_learned_with_people_kept_apart(run, monkeypatch):
    seen = []
    original = StateScores.fit_transform

    def watched(self, Xs, ys=None, groups=None):
        seen.append(groups)
        return original(self.set_params(estimator="logistic"), Xs, ys, groups)

    monkeypatch.setattr(StateScores, "fit_transform", watched)
    context = "--context lags,scores --groups ^p[0-9] --metric diagonal --baselines none"
    code, _, _ = run(f"fit change-point walks -o m.structsvm {context}")
    assert code == 0
    assert seen == [["p0", "p0", "p1", "p1", "p2", "p2"]]
    stages = load("m.structsvm").inputs_.features.stages_
    assert [type(stage) for _, stage in stages] == [Lags, StateScores]
    _, out, _ = run("predict m.structsvm walks/p0_0.csv --json")
    assert json.loads(out)["recordings"][0]["states"] == ["rest", "walk", "turn", "rest"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "change-point walks --context lags,echoes",
            "lags, statistics, moments, scores",
        ),
        ("change-point walks --context regions", "got 'regions'"),
        ("change-point walks --context moments --set features.n_moments=0", "n_moments must be"),
        ("change-point walks --context moments --set features.few=1", "is of none of the features"),
        ("change-point walks --set spam.a=1", "one of the groups problem, solver, features, files"),
        ("change-point walks --set spam=1", "a learner has no such parameter, it has backend"),
        ("clustering walks/p0_0.csv --context lags", "is for recordings and images"),
        ("change-point walks --groups ^q", "finds nothing in the name 'p0_0'"),
        ("change-point walks --groups (", "is no regular expression"),
    ],
)
def test_what_does_not_fit_is_refused(run, typed, message):
    code, _, err = run(f"fit {typed} -o m.structsvm")
    assert code == 1
    assert message in " ".join(err.split())
