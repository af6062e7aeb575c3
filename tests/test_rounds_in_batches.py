"""A round of learning separates one sample after another, each when it is needed."""

from itertools import islice

import numpy as np
import pytest

from structsvm import ChangePoint, MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.errors import PluginError
from structsvm.interop import risk_of
from structsvm.io import arrays_and_labels
from structsvm.oracles import SequentialOracle
from structsvm.partitions.learning import MetricObjective
from structsvm.problem import RegularizedRisk
from structsvm.solvers.planes import Planes
from structsvm.solvers.separation import blocks_of, separate_share


def risk_in(metric: str, segment_count: str = "unknown") -> RegularizedRisk:
    recordings = relevant_changes(7, n_samples=200, n_features=4, n_relevant=2, random_state=1)
    learner = MetricLearner(ChangePoint(segment_count=segment_count), metric=metric)
    risk = risk_of(learner, *arrays_and_labels(recordings))
    assert isinstance(risk, RegularizedRisk)
    return risk


def planes_at(risk: RegularizedRisk, w: np.ndarray, deadline: float = np.inf) -> list[Planes]:
    return separate_share(blocks_of(risk), (w, np.arange(risk.n_samples), deadline))


def test_one_sample_alone_has_the_same_plane():
    risk = risk_in("diagonal")
    together = planes_at(risk, risk.start)
    for k, block in enumerate(blocks_of(risk)):
        (alone,) = separate_share([block], (risk.start, np.arange(risk.n_samples), np.inf))
        assert np.array_equal(alone.slopes[0], together[k].slopes[0])


def test_the_sample_that_fails_is_named(monkeypatch):
    risk = risk_in("diagonal")
    broken = risk.xs[4]
    whole = SequentialOracle.maximize

    def fail(self, objective, *constraint):
        if objective.truth is broken.truth:
            raise ValueError("no answer to this one")
        return whole(self, objective, *constraint)

    monkeypatch.setattr(SequentialOracle, "maximize", fail)
    with pytest.raises(PluginError, match=r"sample 4: .*no answer to this one"):
        planes_at(risk, risk.start)


def test_answers_that_are_missing_are_no_end_of_the_time(monkeypatch):
    risk, whole = risk_in("diagonal"), MetricObjective.separate_all
    monkeypatch.setattr(MetricObjective, "separate_all", lambda *args: islice(whole(*args), 1))
    with pytest.raises(PluginError, match=r"sample 2: MetricObjective\.separate returned None"):
        planes_at(risk, risk.start)


def test_after_the_deadline_nothing_is_asked():
    risk = risk_in("diagonal")
    assert planes_at(risk, risk.start, deadline=0.0) == [None] * risk.n_samples


@pytest.mark.parametrize("segment_count", ["unknown", "known"])
def test_samples_are_taken_when_they_are_needed(segment_count):
    """Between them a run sees whether its time is over."""
    risk = risk_in("diagonal", segment_count)
    waiting = iter(zip(risk.xs, risk.ys, strict=True))
    next(risk.problem.separate_all(risk.start, waiting))
    assert len(list(waiting)) == 6
