"""Ctrl-C while the choice of a search is being learned leaves what was learned so far."""

import numpy as np
import pytest

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.status import Status


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    ys = [np.repeat([0, 1, 2], [12, 15, 13]) for _ in range(6)]
    return [np.eye(3)[y] @ np.diag([3, 0, 0]) + rng.normal(size=(40, 3)) for y in ys], ys


def small():
    return MetricLearnerCV(lams=(0.2,), candidates=("untrained", "rca", "diagonal"), random_state=0)


def test_it_is_handed_over_before_anything_else_is_tuned(data, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MetricLearner, "_tune_baselines", interrupt)
    learned, search = [], small()
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data, when_learned=learned.append)
    assert learned == [search.best_estimator_]
    assert len(search.predict(data[0])) == 6


def test_a_metric_that_is_not_finished_ends_the_search(data, monkeypatch):
    kept = MetricLearner._keep

    def unfinished(self, read, inputs, result):
        kept(self, read, inputs, result)
        object.__setattr__(self.solution_, "status", Status.INTERRUPTED)

    monkeypatch.setattr(MetricLearner, "_keep", unfinished)
    search = small()
    with pytest.raises(KeyboardInterrupt, match="best_estimator_ is the best so far"):
        search.fit(*data)
    assert search.best_estimator_.interrupted_
