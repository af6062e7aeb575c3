"""A classifier that names states is asked once for its names, which say its partition as well."""

import numpy as np
import pytest

from structsvm import MetricLearner, evaluate
from structsvm.baselines import FrameClassifier
from structsvm.learner.baselines import partitions_with
from structsvm.learner.steps import as_measured
from structsvm.plotting.report import HeldOut

NAMES = np.repeat(["rest", "walk", "rest"], [10, 15, 10])


def recordings(n, seed=0):
    rng = np.random.default_rng(seed)
    return [3.0 * (NAMES == "walk")[:, None] + rng.normal(size=(35, 2)) for _ in range(n)]


@pytest.fixture
def asked(monkeypatch):
    found, original = [], FrameClassifier.predict_proba
    monkeypatch.setattr(
        FrameClassifier,
        "predict_proba",
        lambda self, Xs: found.append(len(Xs)) or original(self, Xs),
    )
    return found


@pytest.mark.parametrize("judge", [evaluate, HeldOut.of], ids=["evaluate", "report"])
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_in_an_evaluation(asked, judge, n_clusters):
    learner = MetricLearner(metric="diagonal")
    learner.fit(recordings(5), [NAMES] * 5, baselines=["frame-logistic"])
    found = judge(learner, recordings(2, seed=1), [NAMES] * 2, n_clusters=n_clusters)
    evaluation = getattr(found, "evaluation", found)
    assert asked == [2]
    expected = partitions_with(
        learner, "frame-logistic", as_measured(learner, recordings(2, seed=1)), n_clusters
    )
    segments = learner.baselines_["frame-logistic"].predict(recordings(2, seed=1), n_clusters)
    for M, labels in zip(expected, segments, strict=True):
        np.testing.assert_array_equal(M.labels, labels)
    scores = [sample.scores["frame-logistic"] for sample in evaluation.samples]
    assert all(score["accuracy"] > 0.8 for score in scores)
