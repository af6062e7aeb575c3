"""MetricLearner as an estimator of scikit-learn: input, output, refusals and settings."""

import warnings
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from cases import cases, refused
from recording_cases import recordings
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from structsvm import (
    ChangePoint,
    DataError,
    LearningError,
    MetricLearner,
    MetricLearnerCV,
    SettingsError,
    Status,
)
from structsvm.errors import DataWarning, PluginError
from structsvm.learner.preparing import encode, measured
from structsvm.learner.steps import decode_with
from structsvm.oracles import SequentialOracle
from structsvm.partitions import Argmax, EquivalenceMatrix, Instance, Metric, Quality
from structsvm.partitions.constraint import UNCONSTRAINED
from structsvm.problem import Trace
from structsvm.solvers import BlockFrankWolfe, CuttingPlane, Stopping

P = 4


@pytest.fixture(scope="module")
def data():
    return recordings()


@pytest.fixture(scope="module")
def learner(data):
    return MetricLearner(metric="diagonal").fit(*data)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("problem", [None, ChangePoint("known"), ChangePoint(penalty="fixed")])
def test_a_metric_learns_which_feature_matters(data, metric, problem):
    learner = MetricLearner(problem, metric).fit(*data)
    Xt, yt = recordings(seed=1)
    B = learner.get_mahalanobis_matrix()
    assert B.shape == (P, P)
    assert B[0, 0] > 5 * np.delete(np.diag(B), 0).max()
    truths = encode(learner, Xt, yt)
    untrained = decode_with(learner, learner.baselines_["untrained"].metric_, Xt)
    errors = [sum(t != g for t, g in zip(truths, untrained, strict=True))]
    errors.append(sum(t != g for t, g in zip(truths, learner.predict_partitions(Xt), strict=True)))
    assert errors[1] <= 2 < errors[0]
    assert learner.solution_.lower <= learner.solution_.upper <= learner.solution_.null
    assert learner.converged_
    assert learner.solution_.gap <= 1e-2


def test_labels_and_breakpoints_are_the_same_labels(data, learner):
    Xs, ys = data
    names = np.array(["sit", "walk"])
    breakpoints = [[*(np.flatnonzero(np.diff(y)) + 1).tolist(), len(y)] for y in ys]
    for labels in (breakpoints, [names[y % 2] for y in ys]):
        again = MetricLearner(metric="diagonal").fit(Xs, labels)
        np.testing.assert_array_equal(again.metric_.factor.T, learner.metric_.factor.T)
        assert again.metric_.price == learner.metric_.price


def test_reaching_max_iter_is_warned_of_with_the_gap(data):
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter .* gap .* \(certified\)"):
        learner = MetricLearner(
            metric="full", solver=CuttingPlane(Stopping(tol=1e-9, max_iter=4))
        ).fit(*data)
    assert learner.solution_.status is Status.MAX_ITER
    assert not learner.converged_


def with_value(data, value, where=(2, 7, 1)):
    Xs = [X.copy() for X in data[0]]
    Xs[where[0]][where[1:]] = value
    return Xs, data[1]


def bad_length(data):
    return data[0], [*data[1][:3], data[1][3][:-1], *data[1][4:]]


def strings(data):
    Xs = [X.astype(object) for X in data[0]]
    Xs[1][5, 2] = "n/a"
    return Xs, data[1]


def nullable(data):
    frames = [pd.DataFrame(X, columns=[*"abcd"]) for X in data[0]]
    frames[1] = frames[1].astype("Float64")
    frames[1].iloc[5, 2] = pd.NA
    return frames, data[1]


def bad_breakpoints(ends):
    return lambda data: (data[0], [ends, *data[1][1:]])


FLAT = [np.zeros(60, dtype=int)] * 8

BAD_DATA = [
    (lambda d: with_value(d, np.nan), "recording 2 has nan in row 7, column 1: interpolate"),
    (lambda d: with_value(d, -np.inf), "recording 2 has -inf in row 7, column 1"),
    (lambda d: ([*d[0][:2], d[0][2][:, :3], *d[0][3:]], d[1]), "recording 2 has 3 features, rec"),
    (bad_length, "recording 3: 59 labels for 60 samples"),
    (bad_breakpoints([30, 20, 60]), "recording 0: breakpoints must be .* increasing"),
    (bad_breakpoints([20, 30]), r"recording 0: 2 labels .* in 1..60 that end with 60"),
    (bad_breakpoints([0, 60]), r"recording 0: .* in 1..60 that end with 60"),
    (bad_breakpoints([20.5, 60.0]), "recording 0: 2 labels for 60 samples: give one label per"),
    (bad_breakpoints([]), "recording 0: labels must be a non-empty vector"),
    (bad_breakpoints(np.eye(60)[:, :3]), r"got shape \(60, 3\); .*y.argmax\(axis=1\)"),
    (bad_breakpoints(np.zeros((60, 1))), r"got shape \(60, 1\); .*y.ravel\(\)"),
    (lambda d: (d[0], FLAT), "every recording is one single segment"),
    (lambda d: ([np.ones((60, 2))] * 8, d[1]), "every feature is constant in every recording"),
    (lambda d: ([], []), "no recordings were given"),
    (lambda d: (d[0], d[1][:5]), "8 recordings but 5 labellings"),
    (strings, "recording 1 has .n/a. in row 5, column 2: not a number; .* and times as dates"),
    (nullable, r"recording 1 has nan in row 5, column 2 \(c\): interpolate, .* missing='mask'"),
    (lambda d: ([X[:, 0] for X in d[0]], d[1]), r"recording 0 has shape \(60,\).*X\[:, None\]"),
    (lambda d: ([X[:0] for X in d[0]], d[1]), r"recording 0 is empty: .*\(0, 4\)"),
]


test_bad_data_is_refused_with_its_place = refused(
    DataError, lambda data, spoil: MetricLearner().fit(*spoil(data)), *BAD_DATA
)


test_impossible_numbers_of_segments_are_refused_by_predict = refused(
    DataError,
    lambda data, learner, asked: learner.predict(data[0], n_clusters=asked),
    (61, "recording 0 has 60 samples: it cannot have 61 segments"),
    (0, "cannot have 0 segments"),
    ([2] * 7, "8 recordings but 7 numbers of segments"),
    ([2.5] * 8, "it cannot have 2.5 segments"),
)


def test_a_metric_of_zero_is_an_error_that_says_what_to_do(data):
    with pytest.raises(LearningError, match=r"is zero.*lam=1000000.* lower lam"):
        MetricLearner(regularizer="trace", lam=1e6).fit(*data)


def test_constant_features_are_warned_of_by_name(data):
    frames = [pd.DataFrame(X, columns=list("abcd")).assign(d=1.0) for X in data[0]]
    with pytest.warns(DataWarning, match="constant in every recording.*feature d"):
        learner = MetricLearner(metric="diagonal").fit(frames, data[1])
    assert learner.get_mahalanobis_matrix()[3, 3] == pytest.approx(0.0, abs=1e-6)


# ---- by which solver, and on from where it was stopped


@pytest.mark.parametrize("solver", ["frank-wolfe", "subgradient", BlockFrankWolfe()])
@cases({"regularizer": Trace()}, {"constraints": lambda b: [b[0] == b[1]]})
def test_an_illegal_pair_is_refused_before_work_starts(solver, data, monkeypatch, settings):
    def work(*args):
        raise AssertionError("work has started")

    monkeypatch.setattr("structsvm.learner.fitting.untrained_of", work)
    with pytest.raises(SettingsError, match=r"use CuttingPlane, .*solver='cutting-plane'"):
        MetricLearner(metric="diagonal", solver=solver, **settings).fit(*data)


# ---- the settings of a problem are parameters of its learner, as scikit-learn knows parameters


def segments(n, rng):
    """Recordings whose segments are ten samples long, at least, and full of outliers."""
    y = np.repeat([0, 1, 0], [12, 10, 14])
    Xs = [2.0 * y[:, None] + rng.normal(size=(36, 1)) for _ in range(n)]
    return Xs, [y] * n


@pytest.mark.parametrize("learner", [MetricLearner, MetricLearnerCV])
def test_settings_of_a_problem_are_parameters_of_the_learner(learner):
    given = learner(ChangePoint(min_length=3))
    assert given.get_params()["problem__min_length"] == 3
    assert "problem__min_length" not in given.get_params(deep=False)
    before = given.problem
    assert given.set_params(problem__min_length=5, standardize=None) is given
    assert given.standardize is None
    assert given.problem == ChangePoint(min_length=5)
    assert before == ChangePoint(min_length=3)


def test_a_problem_and_its_settings_may_be_set_at_once():
    learner = MetricLearner().set_params(problem=ChangePoint(min_length=2), problem__kappa=0.5)
    assert learner.problem == ChangePoint(min_length=2, kappa=0.5)


@pytest.mark.parametrize("name", ["problem__spam", "problem__kappa__spam"])
def test_an_unknown_setting_is_refused_with_the_known_ones(name):
    with pytest.raises(SettingsError, match=r"has no setting 'spam', it has "):
        MetricLearner().set_params(**{name: 1})


def test_grid_search_runs_over_a_setting_of_the_problem(rng):
    Xs, ys = segments(6, rng)
    grid = {"problem__min_length": [1, 10]}
    search = GridSearchCV(MetricLearner(metric="diagonal"), grid, cv=2).fit(Xs, ys)
    assert search.best_params_ == {"problem__min_length": 10}
    assert search.best_estimator_.problem_ == ChangePoint(min_length=10)
    ends = search.best_estimator_.predict_breakpoints(Xs)
    assert all(min(np.diff([0, *found])) >= 10 for found in ends)


def test_many_recordings_are_partitioned_as_each_alone(rng):
    """One question to the oracle, whatever the columns of the metric, and what varies."""
    Xs = [rng.normal(size=(T, 3)) for T in (2, 90)]
    Xs += [np.repeat(rng.normal(size=(4, 3)), 25, axis=0) + 0.1 * rng.normal(size=(100, 3))] * 2
    Xs[1][:, 2] = 4.0
    learner = MetricLearner(metric="full").fit(Xs[2:], [[25, 50, 75, 100]] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = learner.predict_breakpoints(Xs)
        assert together == [learner.predict_breakpoints(X) for X in Xs]
        instances = list(chain.from_iterable(learner.inputs_(measured(learner, [X])) for X in Xs))
    model = learner.model_
    alone = [model.partition(learner.problem_, x, UNCONSTRAINED).partition for x in instances]
    assert together == [M.breakpoints for M in alone]
    assert [one.partition for one in model.partition_each(learner.problem_, instances)] == alone
    given = measured(learner, Xs)
    found = model.partition_each(learner.problem_, given, learner.inputs_.step)
    assert [one.partition for one in found] == alone
    assert all(np.array_equal(x.X, X) for x, X in zip(given, Xs, strict=True))


def test_a_problem_with_its_own_partition_is_called_for_each_recording(rng):
    class Whole(ChangePoint):
        def partition(self, instance, metric, n_clusters=None, constraint=UNCONSTRAINED):
            return EquivalenceMatrix.from_breakpoints([instance.n_samples])

        def calibrate(self, factor, data):
            return super().calibrate(factor, data)

    class Slow(SequentialOracle):
        def maximize(self, objective, constraint=UNCONSTRAINED):
            y = EquivalenceMatrix.from_breakpoints([1, objective.n_samples])
            return Argmax(y, objective.value(y), np.inf, Quality.HEURISTIC)

    class Slowly(ChangePoint):
        def decoder(self, instance):
            return Slow()

    Xs = [rng.normal(size=(20, 1)) for _ in range(3)]
    metric = Metric(np.eye(1), price=1e-9)
    instances = [Instance(X) for X in Xs]
    assert metric.partition_each(Whole(), instances) is None
    for problem, breakpoints in ((Whole(), [20]), (Slowly(), [1, 20])):
        learner = MetricLearner(ChangePoint()).fit(Xs, [[10, 20]] * 3)
        learner.problem_ = problem
        assert learner.predict_breakpoints(Xs) == [breakpoints] * 3


def test_the_recording_whose_decoder_fails_is_named(rng):
    class Sometimes(ChangePoint):
        def decoder(self, instance):
            if instance.n_samples == 7:
                raise ValueError("seven")
            return super().decoder(instance)

    Xs = [rng.normal(size=(20, 1)) for _ in range(3)]
    learner = MetricLearner(ChangePoint()).fit(Xs, [[10, 20]] * 3)
    learner.problem_ = Sometimes()
    with pytest.raises(PluginError, match=r"recording 2: Sometimes.decoder raised ValueError"):
        learner.predict([*Xs[:2], Xs[2][:7]])
