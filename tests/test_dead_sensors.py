"""A sensor that has died since learning is told of, also where nobody reads a command's output."""

import warnings

import numpy as np
import pytest

from structsvm import MetricLearner
from structsvm.errors import DataWarning

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
