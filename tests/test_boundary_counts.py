"""A boundary classifier that is told the number of segments."""

import numpy as np
import pytest

from structsvm.baselines import BoundaryClassifier

T = 30


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    levels = np.repeat([0.0, 5.0, 0.0], T // 3)[:, None]
    Xs = [levels + rng.normal(scale=0.1, size=(T, 1)) for _ in range(4)]
    return BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [[10, 20, T]] * 4), Xs


def test_it_returns_exactly_that_many_segments_whatever_the_threshold(fitted):
    baseline, Xs = fitted
    for K in (1, 2, 3, 7, T):
        for y in baseline.predict(Xs, K):
            assert y.max() + 1 == np.unique(y).size == K


def test_the_highest_peaks_are_the_boundaries(fitted):
    baseline, Xs = fitted
    assert baseline.predict_breakpoints(Xs, 3) == [[10, 20, T]] * 4
    assert baseline.predict_breakpoints(Xs[:2], [1, 3]) == [[T], [10, 20, T]]
