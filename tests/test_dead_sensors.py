"""A sensor that has died since learning is told of, also where nobody reads a command's output."""

import warnings

import numpy as np
import pytest

from structsvm import MetricLearner, evaluate
from structsvm.errors import DataWarning
from structsvm.learner.columns import warn_of_dead_features
from structsvm.learner.steps import as_measured, prepare

Y = np.repeat([0, 1, 0, 1], 30)
WAYS = ["predict", "predict_partitions", "predict_breakpoints", "predict_segments"]


def recordings(n):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(120, 2)) + np.outer(Y, [3.0, 0.0]) for _ in range(n)], [Y] * n


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(metric="diagonal").fit(*recordings(6))


def told_by(call):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DataWarning)
        call()
    return [str(warning.message) for warning in told]


@pytest.mark.parametrize("way", WAYS)
def test_whoever_predicts_is_told_once_which_sensor_died_where(learner, way):
    Xs, _ = recordings(3)
    assert told_by(lambda: getattr(learner, way)(Xs)) == []
    for i in (0, 2):
        Xs[i][:, 0] = 7.0
    (message,) = told_by(lambda: getattr(learner, way)(Xs))
    assert message.startswith("recording 0, recording 2: x0 is constant, which has ")
    assert message.endswith("% of the weight of the metric")


def test_nobody_is_told_of_a_feature_that_does_not_count():
    Xs, ys = recordings(6)
    learner = MetricLearner(metric="diagonal", regularizer="trace").fit(Xs, ys)
    Xs[0][:, 1] = 7.0
    shares = learner.metric_.factor.T**2
    assert shares[:, 1].sum() < 0.05 * shares.sum()
    assert told_by(lambda: learner.predict(Xs)) == []


def test_scores_and_evaluations_say_nothing(learner):
    Xs, ys = recordings(6)
    Xs[0][:, 0] = 7.0
    assert told_by(lambda: learner.score(Xs, ys)) == []
    assert not any("constant" in line for line in told_by(lambda: evaluate(learner, Xs, ys)))


class Counted:
    """Recordings that are made when they are asked for, and how often each was."""

    def __init__(self, Xs):
        self.Xs, self.reads = Xs, [0] * len(Xs)

    def __len__(self):
        return len(self.Xs)

    def __getitem__(self, i):
        self.reads[i] += 1
        return self.Xs[i]


@pytest.mark.parametrize("way", [as_measured, prepare])
def test_recordings_on_demand_are_not_read_once_more_for_it(learner, way):
    Xs, _ = recordings(3)
    Xs[1][:, 0] = 7.0
    there = Counted(Xs)
    samples = way(learner, there)
    read = list(there.reads)
    (message,) = told_by(lambda: warn_of_dead_features(learner, samples))
    assert message.startswith("recording 1: x0 is constant")
    assert there.reads == read
