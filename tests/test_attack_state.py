"""What was found out of other data is forgotten, and what is not known yet is not made up."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from structsvm import MetricLearner, MetricLearnerCV, load, margin_rates, save
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
    with pytest.raises(NotFittedError):
        search.predict(recordings(0)[0])
    search.fit(*recordings(1, 4))
    assert len(search.predict(recordings(0)[0])) == 6


class Limit:
    """A constraint of an object that knows its number."""

    def __init__(self, most):
        self.most = most

    def on(self, B):
        return [B <= self.most]


def test_methods_of_two_objects_are_not_the_same_function():
    assert fingerprint(Limit(1).on) == fingerprint(Limit(1).on)
    assert fingerprint(Limit(1).on) != fingerprint(Limit(2).on)
