"""Classifiers of the rows of tables as baselines."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from structsvm import Clustering, MetricLearner, PartialLabels, evaluate, load, save
from structsvm.baselines import RowClassifier
from structsvm.errors import DataError, SettingsError
from structsvm.learner import TrainingSet
from structsvm.model_selection.tables import Tables

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
BASELINES = ["forest-classifier", "lda-classifier", "nearest-centroid"]


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering(), "diagonal").fit(X[::2], NAMES[::2], baselines="quick")


@pytest.mark.parametrize("kind", ["lda", "centroid", "forest"])
def test_a_row_classifier_names_the_class_of_each_row(kind):
    baseline = RowClassifier(kind).fit([X[::2]], [NAMES[::2]])
    (found,) = baseline.predict_states([X[1::2]], 3)
    assert (found == NAMES[1::2]).mean() > 0.8
    assert baseline.classes_.tolist() == sorted(set(NAMES))


def test_row_classifiers_are_baselines_and_are_saved_with_the_learner(learner, tmp_path):
    assert list(learner.baselines_)[3:] == BASELINES
    found = evaluate(learner, [X[1::2]], [NAMES[1::2]])
    assert set(found.scores) == {"learned", "untrained", "pca", "rca", "one-part", *BASELINES}
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert evaluate(again, [X[1::2]], [NAMES[1::2]]).scores == found.scores


def test_groups_of_rows_are_classified_by_what_the_others_say(learner):
    found = evaluate(learner, X[::2], NAMES[::2], split="auto")
    assert found.learned_again
    assert found.scores["lda-classifier"]["loss"] < 1
    assert set(found.scores) == {"learned", "untrained", "pca", "rca", "one-part", *BASELINES}
    assert set(evaluate(learner, X[1::2], NAMES[1::2], split="auto").scores) >= set(BASELINES)


def test_row_classifiers_are_baselines_if_all_tables_have_the_same_classes():
    def names(*labels):
        Xs = [np.arange(3.0)[: len(getattr(y, "labels", y)), None] for y in labels]
        data = TrainingSet.of(Clustering("unknown"), Xs, list(labels))
        return [one.name for one in Tables(data, MetricLearner()).others]

    a = ["x", "x", "y"]
    b = ["y", "x"]
    assert names(a, b) == BASELINES
    assert names(a, ["y", "z"]) == []
    assert names(["x", "x"]) == []
    assert names([0, 1, -1]) == []
    assert names(PartialLabels(labels=["x", None, "y"])) == []


def test_a_row_classifier_refuses_unknown_kinds_and_a_single_class():
    with pytest.raises(SettingsError, match="kind must be one of"):
        RowClassifier("tree").fit([X], [Y])
    with pytest.raises(DataError, match="150 rows with 150 labels of 1 classes"):
        RowClassifier().fit([X], [np.zeros(150)])
    RowClassifier().fit([X[:80], X[80:]], [Y[:80], Y[80:]])  # without a warning
