"""Metrics in closed form are saved and used like learned ones."""

import numpy as np
import pytest
from cases import cases
from recording_cases import changes
from tables import table

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    NormalizedCut,
    PartialLabels,
    diagnose,
    load,
    save,
)
from structsvm.errors import DataError, LearningError, SettingsError
from structsvm.features import Lags
from structsvm.interop import risk_of
from structsvm.learner.closed_forms import LEADING
from structsvm.learner.fitting import PART_OF_OLDA, SHRINKAGE_BESIDE
from structsvm.plotting import report_page
from structsvm.problem import SquaredNorm, Status

XS, YS = changes(6)


@pytest.mark.parametrize("features", [None, Lags((0, 1))])
def test_a_learner_of_olda_is_the_baseline_olda(features, tmp_path):
    learner = MetricLearner(metric="olda", features=features)
    learner.fit(XS, YS, baselines=["olda"])
    beside = learner.baselines_["olda"]
    np.testing.assert_array_equal(learner.metric_.factor, beside.metric_.factor)
    assert learner.metric_.price == beside.metric_.price == learner.calibration_.penalty
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert again.predict_segments(XS[:1]) == learner.predict_segments(XS[:1])
    assert again.solution_.status is Status.CLOSED_FORM
    assert "nothing is certified" in report_page(again, XS, YS)


def test_views_of_a_closed_form_say_that_nothing_is_certified():
    learner = MetricLearner(metric="olda").fit(XS, YS)
    solution = learner.solution_
    assert (solution.lower, solution.upper, solution.gap) == (-np.inf, np.inf, np.inf)
    assert learner.solution_.certified_upper == np.inf
    assert learner.converged_
    assert "nothing is certified" in str(learner)
    assert "certificate" not in diagnose(learner).kinds
    with pytest.raises(SettingsError, match="minimises no objective"):
        risk_of(learner, XS, YS)


@pytest.mark.parametrize("name", ["untrained", "pca", "rca", "lda", "olda"])
def test_every_closed_form_is_the_baseline_of_its_name(name, tmp_path):
    learner = MetricLearner(metric=name).fit(XS, YS, baselines=[name])
    beside = learner.baselines_[name].metric_
    np.testing.assert_array_equal(learner.metric_.factor, beside.factor)
    assert learner.metric_.price == beside.price
    assert not learner.is_learned
    save(learner, tmp_path / "m.structsvm")
    assert load(tmp_path / "m.structsvm").predict_breakpoints(XS) == learner.predict_breakpoints(XS)


def test_tables_have_rca_and_graphs_a_grid():
    X, y = table()
    learner = MetricLearner(Clustering(), metric="rca").fit(X, y, baselines=["rca"])
    np.testing.assert_array_equal(learner.metric_.factor, learner.baselines_["rca"].metric_.factor)
    with pytest.raises(SettingsError, match="neighbours: use lda"):
        MetricLearner(Clustering(), metric="olda").fit(X, y)
    with pytest.raises(SettingsError, match="metric must be one of"):
        MetricLearner(Clustering(), metric="grid").fit(X, y)
    assert MetricLearner(NormalizedCut(), metric="grid").metric == "grid"


def test_masked_values_have_no_full_metric_but_the_untrained_one():
    holes = [np.where(np.arange(X.size).reshape(X.shape) % 97 == 0, np.nan, X) for X in XS]
    masked = ChangePoint(missing="mask")
    with pytest.raises(DataError, match="a full metric mixes features"):
        MetricLearner(masked, metric="rca").fit(holes, YS)
    assert MetricLearner(masked, metric="untrained").fit(holes, YS).metric_.price > 0


def test_whiten_shrinks_the_covariance():
    half, most = (MetricLearner(metric="rca", whiten=w).fit(XS, YS) for w in (0.5, 0.99))
    usual = MetricLearner(metric="rca").fit(XS, YS)
    np.testing.assert_array_equal(half.metric_.factor, usual.metric_.factor)
    assert not np.allclose(most.metric_.factor, usual.metric_.factor)
    with pytest.raises(SettingsError, match="whiten does nothing"):
        MetricLearner(metric="untrained", whiten=0.5).fit(XS, YS)


@cases(("lam", 0.1), ("solver", "frank-wolfe"), ("regularizer", "trace"))
def test_settings_without_effect_on_a_closed_form_are_refused(name, value):
    with pytest.raises(SettingsError, match=f"{name} does nothing"):
        MetricLearner(metric="olda", **{name: value}).fit(XS, YS)
    with pytest.raises(SettingsError, match="resume= keeps one convex problem"):
        MetricLearner(metric="olda").fit(XS, YS, resume="somewhere")


def test_olda_learns_from_labelled_stretches_with_changes():
    part = [np.where(y < 2, y, -1) for y in YS]
    alone = MetricLearner(metric="olda", standardize=None)
    whole = MetricLearner(metric="olda", standardize=None)
    alone.fit(XS, part)
    whole.fit([X[y < 2] for X, y in zip(XS, YS, strict=True)], [y[y < 2] for y in YS])
    np.testing.assert_allclose(alone.metric_.matrix, whole.metric_.matrix)
    with pytest.raises(DataError, match="that is not in closed form"):
        alone.fit(XS, [PartialLabels(regions=[(0, 60, 1)])] * 6)


def test_segments_of_equal_means_have_no_metric():
    X = np.array([[0.0], [2.0], [2.0], [0.0]])
    with pytest.raises(LearningError, match="the same means"):
        MetricLearner(metric="olda").fit([X, X], [[2, 4]] * 2)


CENTRED = SquaredNorm(center=1)


@pytest.mark.parametrize("features", [None, Lags((-1, 0, 1))])
def test_a_metric_shrunk_strongly_to_olda_is_olda(features):
    strongly = MetricLearner(features=features, whiten="olda", regularizer=CENTRED, lam=1e6)
    strongly.fit(XS, YS)
    olda = MetricLearner(metric="olda", features=features).fit(XS, YS)
    expected = olda.metric_.matrix * strongly.metric_.matrix.trace() / olda.metric_.matrix.trace()
    np.testing.assert_allclose(strongly.metric_.matrix, expected, rtol=1e-3, atol=1e-3)
    assert strongly.predict_breakpoints(XS) == olda.predict_breakpoints(XS)
    assert strongly.solution_.gap <= 1e-2
    assert strongly.is_learned


def test_stretches_without_changes_are_learned_from_in_directions_of_olda():
    """There are fewer directions than features, and the price was sought among the features."""
    P = 3
    rng = np.random.default_rng(30)
    Xs = []
    ys = []
    for _ in range(2):
        y = np.repeat([0, 1, 2, 0][: rng.integers(2, 5)], rng.integers(6, 15))
        Xs.append(rng.normal(size=(len(y), P)) + 2.5 * y[:, None])
        ys.append(PartialLabels(np.where(rng.random(len(y)) < 0.2, -1, y).tolist()))
    learner = MetricLearner(whiten="olda").fit(Xs, ys)
    assert learner.whitening_.shape[1] < P
    assert all(len(ends) > 1 for ends in learner.predict_breakpoints(Xs))


def test_olda_needs_a_change_between_labels():
    known = np.where(np.arange(36) % 12 < 9, np.repeat([0, 1, 2], 12), -1)
    X = np.random.default_rng(0).normal(size=(36, 2)) + np.repeat([0, 3, 6], 12)[:, None]
    with pytest.raises(LearningError, match="no labelled change is within a stretch"):
        MetricLearner(whiten="olda").fit([X], [PartialLabels(known.tolist())])


@pytest.mark.parametrize("n_features", [40, 50])
def test_metrics_of_many_features_are_learned_in_leading_directions_of_olda(n_features, tmp_path):
    Xs, ys = changes(6, n_features=n_features)
    learner = MetricLearner(whiten="olda", regularizer=CENTRED, lam=1.0).fit(Xs, ys)
    assert learner.whitening_.shape == (n_features, LEADING)
    assert learner.metric_.matrix.shape == (n_features, n_features)
    assert np.linalg.matrix_rank(learner.metric_.matrix) <= LEADING
    save(learner, tmp_path / "m.structsvm")
    assert load(tmp_path / "m.structsvm").predict_breakpoints(Xs) == learner.predict_breakpoints(Xs)


def test_partial_labels_are_completed_in_directions_of_olda():
    partial = [*YS[:5], PartialLabels(regions=[(0, 60, 1)])]
    learner = MetricLearner(whiten="olda", regularizer=CENTRED, lam=1.0).fit(XS, partial)
    assert learner.whitening_.shape[0] == XS[0].shape[1]


def test_a_diagonal_metric_with_olda_is_a_mean_of_both_each_divided_by_its_price():
    both = MetricLearner(metric="diagonal", whiten="olda", lam=0.3).fit(XS, YS)
    alone = MetricLearner(metric="diagonal", lam=0.3).fit(XS, YS)
    olda = MetricLearner(metric="olda", whiten=SHRINKAGE_BESIDE).fit(XS, YS)
    (own, other) = (one.metric_.matrix / one.metric_.price for one in (alone, olda))
    expected = (1 - PART_OF_OLDA) * own + PART_OF_OLDA * other
    np.testing.assert_allclose(both.metric_.matrix, expected, rtol=1e-6, atol=1e-9)
    assert both.is_learned
    assert both.solution_.w == pytest.approx(alone.solution_.w)


def test_a_mean_of_metrics_is_that_of_labelled_stretches_and_of_no_missing_values():
    part = [np.where(y < 2, y, -1) for y in YS]
    both = MetricLearner(metric="diagonal", whiten="olda", standardize=None)
    both.fit([X[y < 2] for X, y in zip(XS, YS, strict=True)], [y[y < 2] for y in YS])
    expected = both.metric_.matrix
    np.testing.assert_allclose(both.fit(XS, part).metric_.matrix, expected)
    holes = [np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan) for X in XS]
    with pytest.raises(DataError, match="masked values take whiten=None"):
        both.set_params(problem=ChangePoint(missing="mask")).fit(holes, YS)


@cases(
    ({"metric": "rca"}, ChangePoint(), "'olda' for a learned metric"),
    ({"metric": "full"}, Clustering(), "have no neighbours"),
)
def test_directions_of_olda_are_refused_for_other_problems(settings, problem, message):
    with pytest.raises(SettingsError, match=message):
        MetricLearner(problem, whiten="olda", **settings).fit(XS, YS)
