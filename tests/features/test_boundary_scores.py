"""Boundaries that a classifier finds, as features of a metric."""

import numpy as np
import pytest
from cases import refused

from structsvm import MetricLearner, PartialLabels, evaluate
from structsvm.baselines import BoundaryClassifier
from structsvm.errors import DataError, SettingsError
from structsvm.features import BoundaryScores, Lags, Union

ENDS = [25, 40, 70, 90]
LABELS = np.repeat(["rest", "walk", "turn", "rest"], [25, 15, 30, 20])
LEVELS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}


def recordings(n, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    means = np.array([LEVELS[name] for name in LABELS])
    return [means + rng.normal(scale=noise, size=means.shape) for _ in range(n)]


def scores(**settings):
    return BoundaryScores("logistic", widths=(3, 5), **settings)


def test_boundary_scores_change_sign_at_boundaries_and_are_constant_between():
    wave = scores().fit(recordings(6), [ENDS] * 6).transform(recordings(1, seed=1))[0]
    assert wave.shape == (90, 2)
    assert np.allclose((wave**2).sum(axis=1), 1.0)
    inside = [wave[start:end, 0] for start, end in ((3, 22), (28, 37), (43, 67), (73, 88))]
    assert [np.sign(part.mean()) for part in inside] == [1, -1, 1, -1]
    assert max(float(part.std()) for part in inside) < 0.2


def test_names_of_states_and_breakpoints_teach_the_same():
    Xs = recordings(4)
    by_names = scores().fit_transform(Xs, [LABELS] * 4)
    by_ends = scores().fit_transform(Xs, [ENDS] * 4)
    assert all(np.array_equal(a, b) for a, b in zip(by_names, by_ends, strict=True))


def test_boundary_scores_learn_from_partial_labels():
    some = LABELS.astype(object)
    some[60:] = None
    fitted = scores().fit(recordings(4), [PartialLabels(labels=some)] * 4)
    assert 0.5 < float(np.ptp(fitted.transform(recordings(1, seed=2))[0][:, 0])) <= 2


def test_boundary_scores_are_cross_fitted_by_group():
    """Labels that say nothing look as if they could be found only to who has seen them."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(6), 2)
    Xs = []
    ys = []
    for _ in range(6):  # two that overlap in each group, with boundaries at random
        X = rng.normal(size=(60, 8))
        ends = [*sorted(rng.choice(np.arange(5, 55), 3, False)), 60]
        Xs = [*Xs, X, X[:-1]]
        ys = [*ys, ends, [*ends[:-1], 59]]

    def agreement(waves):
        jumps = [np.abs(np.diff(w, axis=0)).sum(axis=1) for w in waves]
        at = [np.isin(np.arange(1, e[-1]), e) for e in ys]
        inside = np.mean([j[~a].mean() for j, a in zip(jumps, at, strict=True)])
        return float(np.mean([j[a].mean() for j, a in zip(jumps, at, strict=True)]) / inside)

    honest = agreement(scores().fit_transform(Xs, ys, groups))
    leaking = agreement(scores().fit_transform(Xs, ys))
    assert leaking > 2 * honest


def test_a_metric_on_boundary_scores_is_no_worse_than_their_classifier():
    Xs = recordings(8, noise=1.2)
    new = recordings(10, seed=5, noise=1.2)
    learner = MetricLearner(metric="diagonal", features=Union(Lags((-1, 0, 1)), scores()))
    learner.fit(Xs, [ENDS] * 8)
    baseline = BoundaryClassifier("logistic", widths=(3, 5)).fit(Xs, [ENDS] * 8)
    found = evaluate(learner, new, [ENDS] * 10, baselines={"boundaries": baseline}).scores
    assert found["learned"]["loss"] <= found["boundaries"]["loss"]


def test_very_short_recordings_have_boundary_scores():
    fitted = scores().fit(recordings(4), [ENDS] * 4)
    assert fitted.transform([np.zeros((1, 2))])[0].tolist() == [[1.0, 0.0]]
    assert fitted.transform([np.zeros((2, 2))])[0].shape == (2, 2)


test_boundary_scores_refuse_recordings_that_cannot_be_learned_from = refused(
    DataError,
    lambda n, ys, groups: scores().fit(recordings(n), ys, groups),
    (1, [ENDS], None, "there is only one recording"),
    (2, [ENDS] * 2, ["a", "a"], "only one group"),
    (2, [[90]] * 2, None, "no recording has a change"),
    (
        2,
        [[20, 80]] * 2,
        None,
        "recording 0: there are 90 samples, and the last breakpoint is 80",
    ),
    (2, [ENDS], None, "BoundaryScores needs labels or breakpoints of each"),
)


def test_impossible_settings_of_boundary_scores_are_refused():
    with pytest.raises(SettingsError, match="standardize must be one of"):
        scores(standardize="rows").fit(recordings(2), [ENDS] * 2)
    with pytest.raises(SettingsError, match="widths"):
        BoundaryScores("logistic", widths=()).fit(recordings(2), [ENDS] * 2)


def test_the_boundary_classifier_with_k_segments_takes_the_highest_peaks():
    rng = np.random.default_rng(0)
    T = 30
    levels = np.repeat([0.0, 5.0, 0.0], T // 3)[:, None]
    Xs = [levels + rng.normal(scale=0.1, size=(T, 1)) for _ in range(4)]
    baseline = BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [[10, 20, T]] * 4)
    for K in (1, 2, 3, 7, T):
        for y in baseline.predict(Xs, K):
            assert y.max() + 1 == np.unique(y).size == K
    assert baseline.predict_breakpoints(Xs, 3) == [[10, 20, T]] * 4
    assert baseline.predict_breakpoints(Xs[:2], [1, 3]) == [[T], [10, 20, T]]
    with pytest.raises(DataError, match="cannot have 31 segments"):
        baseline.predict(Xs[:1], T + 1)
