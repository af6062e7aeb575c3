"""``metric="closed-form"``: the baseline of a problem, kept and asked as a learned metric."""

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
from structsvm.plotting import report_page
from structsvm.status import Status

XS, YS = changes(6)


@pytest.mark.parametrize("features", [None, Lags((0, 1))])
def test_it_is_the_baseline_of_recordings(features, tmp_path):
    learner = MetricLearner(metric="closed-form", features=features)
    learner.fit(XS, YS, baselines=["olda"])
    beside = learner.baselines_["olda"]
    np.testing.assert_array_equal(learner.metric_.factor, beside.factor)
    assert learner.metric_.price == beside.price == learner.calibration_.penalty
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert again.predict_segments(XS[:1]) == learner.predict_segments(XS[:1])
    assert again.solution_.status is Status.CLOSED_FORM
    assert "nothing is certified" in report_page(again, XS, YS)


def test_nothing_is_certified_and_all_who_ask_are_told():
    learner = MetricLearner(metric="closed-form").fit(XS, YS)
    solution = learner.solution_
    assert (solution.lower, solution.upper, solution.gap) == (-np.inf, np.inf, np.inf)
    assert learner.solution_.certified_upper == np.inf
    assert learner.converged_
    assert "nothing is certified" in str(learner)
    assert "certificate" not in diagnose(learner).kinds
    with pytest.raises(SettingsError, match="minimises no objective"):
        risk_of(learner, XS, YS)


def test_tables_have_rca_and_graphs_none():
    X, y = table()
    learner = MetricLearner(Clustering(), metric="closed-form").fit(X, y, baselines=["rca"])
    np.testing.assert_array_equal(learner.metric_.factor, learner.baselines_["rca"].factor)
    for problem in (NormalizedCut(), ChangePoint(missing="mask")):
        with pytest.raises(SettingsError, match="is for complete recordings and tables"):
            MetricLearner(problem, metric="closed-form").fit(XS, YS)


@cases(("lam", 0.1), ("solver", "frank-wolfe"), ("whiten", 0.5))
def test_what_would_do_nothing_is_refused(name, value):
    with pytest.raises(SettingsError, match=f"{name} does nothing"):
        MetricLearner(metric="closed-form", **{name: value}).fit(XS, YS)
    with pytest.raises(SettingsError, match="resume= keeps one convex problem"):
        MetricLearner(metric="closed-form").fit(XS, YS, resume="somewhere")


def test_labelled_stretches_are_enough_if_they_change():
    part = [np.where(y < 2, y, -1) for y in YS]
    alone = MetricLearner(metric="closed-form", standardize=None)
    whole = MetricLearner(metric="closed-form", standardize=None)
    alone.fit(XS, part)
    whole.fit([X[y < 2] for X, y in zip(XS, YS, strict=True)], [y[y < 2] for y in YS])
    np.testing.assert_allclose(alone.metric_.matrix, whole.metric_.matrix)
    with pytest.raises(DataError, match="that is not in closed form"):
        alone.fit(XS, [PartialLabels(regions=[(0, 60, 1)])] * 6)


def test_segments_of_equal_means_have_no_metric():
    X = np.array([[0.0], [2.0], [2.0], [0.0]])
    with pytest.raises(LearningError, match="the same means"):
        MetricLearner(metric="closed-form").fit([X, X], [[2, 4]] * 2)
