"""What was found out of other data is forgotten, and what is not known yet is not made up."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from structsvm import MetricLearner, MetricLearnerCV, load, margin_rates, save
from structsvm.errors import SettingsError
from structsvm.plotting import plot_metric, plot_segmentation, plot_weights
from structsvm.plotting.words import eigenvalues
from structsvm.storage.fingerprint import fingerprint

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(seed, n=6):
    rng = np.random.default_rng(seed)
    ys = [np.repeat([0, 1, 2], [12, 15, 13]) for _ in range(n)]
    return [np.eye(3)[y] @ np.diag([3, 0, 0]) + rng.normal(size=(40, 3)) for y in ys], ys


def small(*others):
    candidates = ("untrained", "rca", "diagonal", *others)
    return MetricLearnerCV(lams=(0.2,), candidates=candidates, cv=2, random_state=0)


def test_rates_of_margins_do_not_outlive_the_recordings_they_were_measured_on(tmp_path):
    Xs, ys = recordings(0)
    learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    learner.margin_rates_ = margin_rates(learner, Xs, ys, cv=2)
    learner.columns_ = {"label": "state"}
    save(learner, tmp_path / "before")
    assert "rate" in learner.predict_segments(Xs)[0][0]
    again = load(tmp_path / "before")
    for one in (learner, again):
        one.fit(*recordings(1))
        assert "rate" not in one.predict_segments(Xs)[0][0]
        assert not hasattr(one, "columns_")


def test_a_choice_alone_leaves_no_learner_of_the_choice_before():
    search = small().fit(*recordings(0))
    search.choose(*recordings(1, 4))
    assert len(search.losses_) == 4
    for use in ("learned", "best"):
        with pytest.raises(NotFittedError):
            search.predict(recordings(0)[0], use=use)
    search.fit(*recordings(1, 4))
    assert len(search.predict(recordings(0)[0], use="best")) == 6


@pytest.mark.parametrize("earlier", [False, True])
def test_a_best_candidate_that_was_not_tuned_any_more_is_said_to_be_so(monkeypatch, earlier):
    Xs, ys = recordings(0)
    search = small()
    if earlier:
        search.fit(*recordings(1))

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MetricLearner, "_tune_baselines", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search.fit(Xs, ys)
    learned = search.predict_breakpoints(Xs)
    assert search.predict_breakpoints(Xs, use="best") == learned
    search.best_candidate_ = "rca"
    with pytest.raises(SettingsError, match="rca was not tuned, because learning the choice was"):
        search.predict(Xs, use="best")


class Limit:
    """A constraint of an object that knows its number."""

    def __init__(self, most):
        self.most = most

    def on(self, B):
        return [B <= self.most]


def test_methods_of_two_objects_are_not_the_same_function():
    assert fingerprint(Limit(1).on) == fingerprint(Limit(1).on)
    assert fingerprint(Limit(1).on) != fingerprint(Limit(2).on)


def test_pictures_of_a_search_are_those_of_its_choice():
    Xs, ys = recordings(0)
    search = small().fit(Xs, ys)
    chosen = search.best_estimator_
    assert search.metric_feature_names_ == chosen.metric_feature_names_
    np.testing.assert_array_equal(eigenvalues(search), eigenvalues(chosen))
    assert len(plot_metric(search).images) == len(plot_metric(chosen).images)
    plot_segmentation(search, Xs[0], ys[0])
    with pytest.raises(SettingsError, match=r"learner must be MetricLearner(?s:.*): give its best"):
        plot_weights(search)
