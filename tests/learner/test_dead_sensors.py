"""Warnings of sensors that have died since learning, and learners without a column."""

import warnings

import numpy as np
import pytest

from structsvm import MetricLearner, load, save
from structsvm.errors import DataWarning, SettingsError
from structsvm.features import Chain, Components, Lags, StateScores, Union
from structsvm.interop import without

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
def test_predict_warns_once_of_each_dead_sensor(learner, way):
    Xs, _ = recordings(3)
    assert told_by(lambda: getattr(learner, way)(Xs)) == []
    for i in (0, 2):
        Xs[i][:, 0] = 7.0
    (message,) = told_by(lambda: getattr(learner, way)(Xs))
    assert message.startswith("recording 0, recording 2: x0 is constant, which has ")
    assert message.endswith("% of the weight of the metric")


def test_predict_does_not_warn_of_a_dead_sensor_without_weight():
    Xs, ys = recordings(6)
    learner = MetricLearner(metric="diagonal", regularizer="trace").fit(Xs, ys)
    Xs[0][:, 1] = 7.0
    shares = learner.metric_.factor.T**2
    assert shares[:, 1].sum() < 0.05 * shares.sum()
    assert told_by(lambda: learner.predict(Xs)) == []


def test_predict_does_not_warn_of_columns_that_were_constant_in_training():
    Xs, ys = recordings(6)
    Xs[3][:, 1] = 7.0  # a switch, say
    learner = MetricLearner().fit(Xs, ys)
    Xs, _ = recordings(1)
    Xs[0][:, 1] = 7.0
    assert told_by(lambda: learner.predict(Xs)) == []


# ---- partitions without a lost sensor


@pytest.mark.parametrize("features", [None, Lags((-1, 0)), Union(Lags((0,)), StateScores())])
@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_predict_does_not_warn_of_a_lost_column(metric, features):
    learner = MetricLearner(metric=metric, features=features).fit(*recordings(6))
    other = without(learner, "x1")
    (Xs, _) = recordings(3)
    changed = [X + np.outer(np.arange(120) ** 2, [0.0, 1.0]) for X in Xs]
    assert told_by(lambda: other.predict_breakpoints(changed)) == []
    assert other.predict_breakpoints(Xs) == other.predict_breakpoints(changed)
    if not isinstance(features, Union):  # whose scores, of all columns, are lost as well
        assert [M.n_clusters for M in other.predict_partitions(Xs)] == [4, 4, 4]


def test_the_price_without_a_column_scales_with_the_remaining_weight(learner, tmp_path):
    weights = np.sum(learner.metric_.factor**2, axis=1)
    other = without(learner, ["x[1-9]"])
    share = other.metric_.price / learner.metric_.price
    assert share == pytest.approx(weights[0] / weights.sum())
    assert set(other.baselines_) == {"untrained"}
    save(other, tmp_path / "m")
    again = load(tmp_path / "m")
    (Xs, _) = recordings(2)
    assert again.lost_ == ["x1"]
    assert again.predict_breakpoints(Xs) == other.predict_breakpoints(Xs)
    assert not hasattr(again.fit(*recordings(3)), "lost_")


def test_columns_that_cannot_be_dropped_are_refused(learner):
    with pytest.raises(SettingsError, match="no column is called 'y'"):
        without(learner, "y")
    with pytest.raises(SettingsError, match="no feature is left"):
        without(learner, "*")
    mixed = Chain(Lags((-1, 0)), Components())
    with pytest.raises(SettingsError, match="no feature is left"):
        without(MetricLearner(features=mixed).fit(*recordings(6)), "x1")
