"""A learner refuses features that differ in number from recording to recording."""

import numpy as np
import pytest

from structsvm import DataError, MetricLearner
from structsvm.features import RecordingTransformer

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 10)
XS = [Y[:, None] + RNG.normal(size=(20, 2)) for _ in range(3)]


class Varying(RecordingTransformer):
    def transform(self, Xs):
        return [np.hstack([X] * (1 + (i == 2))) for i, X in enumerate(Xs)]

    def get_feature_names_out(self, input_features=None):
        return np.asarray(input_features, dtype=object)


def test_when_it_learns():
    with pytest.raises(DataError, match="Varying returned 4 features of recording 2 and 2 of rec"):
        MetricLearner(features=Varying()).fit(XS, [Y] * 3)
