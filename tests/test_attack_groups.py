"""Whom a recording is of is what was given for it, and nobody if nothing was."""

import numpy as np
import pandas as pd
import pytest

from structsvm import MetricLearner, MetricLearnerCV, evaluate
from structsvm.errors import DataError
from structsvm.features import StateScores
from structsvm.plotting import report_page

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
GROUPS = ["ann", "bob", "cyd", "ann", "bob", "cyd"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ys = [np.repeat(["a", "b", "c"], [12, 15, 13]) for _ in range(6)]
    mean = {"a": [0.0, 0.0], "b": [4.0, 0.0], "c": [0.0, 4.0]}
    return [np.array([mean[k] for k in y]) + rng.normal(size=(40, 2)) for y in ys], ys


def folds(Xs, ys, groups):
    candidates = ("untrained", "diagonal")
    search = MetricLearnerCV(candidates=candidates, lams=(0.1,), cv=3, random_state=0)
    return search.fit(Xs, ys, groups=groups).fold_.tolist()


def test_groups_and_weights_by_name_are_those_of_the_recordings_of_that_name(data):
    """The names themselves are no groups: every recording would be one of its own."""
    names = [f"r{i}" for i in range(6)]
    Xs, ys, groups = (dict(zip(names, some, strict=True)) for some in (*data, GROUPS))
    turned = dict(reversed(groups.items()))
    assert folds(Xs, ys, turned) == folds(*data, GROUPS)
    with pytest.raises(DataError, match="groups is a dict: give arrays"):
        folds(*data, groups)
    with pytest.raises(DataError, match="samples and groups are given by different names: 'ann'"):
        folds(Xs, ys, {"ann": 1})
    learner = MetricLearner(metric="diagonal")
    expected = learner.fit(*data, sample_weight=[1, 2, 1, 1, 1, 3]).metric_.price
    weights = dict(zip(reversed(names), [3, 1, 1, 1, 2, 1], strict=True))
    assert learner.fit(Xs, ys, sample_weight=weights).metric_.price == expected


@pytest.mark.parametrize("unknown", [None, np.nan, pd.NA, ""], ids=["None", "NaN", "NA", "blank"])
def test_recordings_of_nobody_are_not_of_one(data, unknown):
    groups = [unknown, "bob", "cyd", unknown, "bob", "cyd"]
    if unknown is np.nan:
        groups = [unknown, 1.0, 2.0, unknown, 1.0, 2.0]
    message = r"the group of recording 0 is missing \(2 in all\): give one for each"
    with pytest.raises(DataError, match=message):
        folds(*data, groups)
    with pytest.raises(DataError, match=message):
        StateScores("logistic").fit_transform(*data, groups)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, "1", 2, 2, 3, 3], "groups do not compare .*: give text or numbers"),
        ([object()] * 6, "groups do not compare"),
        (set(range(6)), "groups is a set"),
        ("aabbcc", "groups is 'aabbcc', a text"),
        (np.ma.array([1, 1, 2, 2, 3, 3], mask=[1, 0, 0, 0, 0, 0]), "groups: .* masked"),
    ],
)
def test_groups_that_are_none(data, groups, message):
    with pytest.raises(DataError, match=message):
        folds(*data, groups)


def test_an_evaluation_counts_groups_and_not_their_recordings(data):
    """Copies join groups, and several recordings of a group say as much as their mean."""
    Xs, ys = data
    learner = MetricLearner(metric="diagonal").fit(Xs[:3], ys[:3], baselines=["rca"])
    rng = np.random.default_rng(1)
    more = [X + rng.normal(scale=3.0, size=X.shape) for X in Xs for _ in range(2)]
    labels = [y for y in ys for _ in range(2)]
    alone = evaluate(learner, more, labels)
    groups = [f"p{i // 2}" for i in range(12)]
    found = evaluate(learner, more, labels, groups=groups)
    losses = {
        name: np.array([row.scores[name]["disagreement"] for row in found.samples])
        for name in ("untrained", "learned")
    }
    gains = (losses["untrained"] - losses["learned"]).reshape(6, 2).mean(axis=1)
    assert found.verdict.untrained.mean == pytest.approx(gains.mean())
    assert found.verdict.untrained.se == pytest.approx(gains.std(ddof=1) / np.sqrt(6))
    assert found.scores == alone.scores
    assert (alone.verdict.untrained.units, found.verdict.untrained.units) == (12, 6)
    assert "On 12 held-out recordings in 6 groups" in str(found.verdict)
    by_name = dict(enumerate(more)), dict(enumerate(labels))
    turned = dict(reversed(list(enumerate(groups))))
    assert str(evaluate(learner, *by_name, groups=turned).verdict) == str(found.verdict)
    copied = evaluate(learner, [*more[:11], more[0]], labels, groups=groups)
    assert copied.verdict.untrained.units == 5
    with pytest.raises(DataError, match=r"12 recordings but groups of shape \(2,\)"):
        evaluate(learner, more, labels, groups=["a", "b"])
    page = report_page(learner, more, labels, groups=groups)
    assert "in 6 groups" in page
