"""Judging a metric by what it was learned from is said, in Python as at the command line."""

import warnings

import numpy as np
import pytest

from structsvm import MetricLearner, evaluate
from structsvm.datasets import relevant_changes
from structsvm.errors import DataWarning
from structsvm.io import arrays_and_labels

XS, YS = arrays_and_labels(
    relevant_changes(4, n_samples=200, n_features=3, n_relevant=2, random_state=0)
)


def test_recordings_that_were_learned_from():
    learner = MetricLearner(metric="diagonal").fit(XS[:2], YS[:2])
    with pytest.warns(DataWarning, match="learned from 2 of these 4 recordings: the figures"):
        found = str(evaluate(learner, XS, YS).verdict)
    assert "On 4 recordings, the loss" in found
    with pytest.warns(DataWarning):
        found = str(evaluate(learner, XS[:2], YS[:2]).verdict)
    assert "On 2 recordings, the loss" in found
    with pytest.warns(DataWarning):
        found = str(evaluate(learner, XS[:1] * 2, YS[:1] * 2).verdict)
    assert "On 1 recording (copies not counted: 1)," in found
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = str(evaluate(learner, XS[2:], YS[2:]).verdict)
    assert "On 2 held-out recordings, the loss" in found


def test_there_is_no_verdict_where_some_were_learned_from():
    learner = MetricLearner(metric="diagonal").fit(XS[:3], YS[:3])
    rng = np.random.default_rng(0)
    more = [X + rng.normal(scale=0.5, size=X.shape) for X in XS[3:] for _ in range(4)]
    assert evaluate(learner, more + more[:1], YS[3:] * 5).verdict.answer.startswith("Too few")
    with pytest.warns(DataWarning, match="learned from 3 of these 7"):
        verdict = evaluate(learner, XS[:3] + more, YS[:3] + YS[3:] * 4).verdict
    assert verdict.untrained.units == 7
    assert not any((verdict.is_supported, verdict.pays, verdict.harms))
    said = "No verdict: the metric was learned from 3 of these recordings; leave these out."
    assert str(verdict).startswith(said)
