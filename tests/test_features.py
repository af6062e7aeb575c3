"""Features that are made before the metric is learned: one row for each sample, named, cloned."""

import numpy as np
import pytest
from sklearn.base import clone

from structsvm import MetricLearner
from structsvm.features import HermiteMoments


@pytest.fixture
def noisy(rng):
    """Recordings in which only the variance changes."""
    scale = np.repeat([1.0, 4.0, 1.0], 30)[:, None]
    return [scale * rng.normal(size=(90, 2)) for _ in range(4)]


def test_every_sample_keeps_its_row_and_every_feature_has_a_name(noisy):
    features = HermiteMoments(3)
    found = features.fit_transform(noisy)
    names = features.get_feature_names_out(["a", "b"])
    assert [X.shape for X in found] == [(90, len(names))] * 4
    assert len(set(names)) == len(names)


def test_the_learner_fits_a_clone(noisy):
    features = HermiteMoments(3)
    before = dict(vars(features))
    ends = [[30, 60, 90]] * 4
    learner = MetricLearner(metric="diagonal", features=features).fit(noisy, ends)
    assert vars(features) == before
    assert clone(learner).features.get_params() == features.get_params()
    assert learner.n_features_in_ == 2
    assert learner.metric_.factor.shape[0] == len(learner.metric_feature_names_)
