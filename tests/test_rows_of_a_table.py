"""What learning is worth on the rows of one table, and what question that answers."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from structsvm import ChangePoint, Clustering, MetricLearner, evaluate, load, save
from structsvm.errors import DataError, DataWarning
from structsvm.evaluation.splits import fewest_rows, split_rows
from structsvm.learner.steps import read_training

X, Y = load_iris(return_X_y=True)


def groups_of(X, y):
    """The rows of each group."""
    split = split_rows(read_training(MetricLearner(Clustering(), metric="diagonal"), X, y), 10, 0)
    return [rows for _, rows in split.pieces]


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering(), metric="diagonal").fit(X, Y)


@pytest.fixture(scope="module")
def found(learner):
    return evaluate(learner, X, Y, split="auto")


def test_the_table_learned_from_is_cross_validated(found):
    assert found.learned_again
    assert len(found.samples) == 10
    assert {r.n_clusters for r in found.samples} == {3}
    assert found.verdict.is_supported
    assert found.verdict.words.whole == "row group"
    assert "10 held-out row groups" in str(found.verdict)
    assert "by a metric learned from the others" in found.verdict.question


def test_a_group_is_not_learned_from_itself(learner, monkeypatch):
    learned, groups = [], groups_of(X, Y)
    inner = MetricLearner.fit
    monkeypatch.setattr(
        MetricLearner,
        "fit",
        lambda own, data, **given: learned.append(data) or inner(own, data, **given),
    )
    evaluate(learner, X, Y, split="auto")
    for data, group in zip(learned, groups, strict=True):
        (Z,), (y,) = data.arrays, data.given
        assert len(Z) == len(y) == len(X) - group.size
        seen = {tuple(row) for row in Z.tolist()}
        assert not any(tuple(row) in seen for row in X[group].tolist())


def test_a_table_not_learned_from_is_clustered_by_the_model():
    learner = MetricLearner(Clustering(), metric="diagonal").fit(X[::2], Y[::2])
    found = evaluate(learner, X[1::2], Y[1::2], split="auto")
    assert not found.learned_again
    assert len(found.samples) == 10
    assert "was clustered separately" in found.verdict.question
    assert found.learned["loss"] < found.untrained["loss"]
    assert json.loads(json.dumps(found.to_dict()))["learned_again"] is False


def test_equal_rows_are_in_one_group():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    twice, both = np.repeat(values, 2, axis=0), np.repeat(labels, 2)
    groups = groups_of(twice, both)
    assert sorted(np.concatenate(groups).tolist()) == list(range(80))
    for group in groups:
        assert set(group.tolist()) == {2 * (i // 2) for i in group} | {
            2 * (i // 2) + 1 for i in group
        }


def test_what_cannot_be_split(learner):
    n = fewest_rows(Y)
    few = np.arange(0, 150, 15)[: n - 4]
    with pytest.raises(DataError, match="of which none can be held out: 12 different rows are the"):
        evaluate(learner, X[few], Y[few], split="auto")
    both = MetricLearner(Clustering(), metric="diagonal").fit([X[::2], X[1::2]], [Y[::2], Y[1::2]])
    with pytest.raises(DataError, match="learned from this table and 1 more"):
        evaluate(both, X[::2], Y[::2], split="auto")
    with pytest.warns(DataWarning, match="one labelled recording"):
        recordings = MetricLearner(ChangePoint()).fit(X, Y)
    with pytest.raises(DataError, match="have an order"):
        evaluate(recordings, X, Y, split="auto")


@pytest.fixture(scope="module")
def noisy():
    """A table without equal rows, and a metric of some of them."""
    values = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    rows = np.random.default_rng(1).permutation(len(values))
    learned = MetricLearner(Clustering(), metric="diagonal").fit(values[rows[:100]], Y[rows[:100]])
    return values, rows, learned


def test_a_table_with_rows_that_were_learned_from_supports_no_verdict(noisy, tmp_path):
    """As after ``try``, which learns from seven tenths of the rows of a table."""
    values, _, learned = noisy
    save(learned, tmp_path / "m.structsvm")
    for model in (learned, load(tmp_path / "m.structsvm")):
        assert str(evaluate(model, values, Y, split="auto").verdict).startswith("No verdict")
        with pytest.warns(DataWarning, match="learned from 67% of the rows of this table"):
            assert "No verdict" in str(evaluate(model, [values], [Y]).verdict)
