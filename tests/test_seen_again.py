"""Judging a metric by what it was learned from is said, in Python as at the command line."""

import warnings

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
