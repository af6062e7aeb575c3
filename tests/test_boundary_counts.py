"""A boundary classifier that is told the number of segments."""

import numpy as np
import pytest

from structsvm.errors import DataError
from structsvm.rivals import BoundaryClassifier

T = 30


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    levels = np.repeat([0.0, 5.0, 0.0], T // 3)[:, None]
    Xs = [levels + rng.normal(scale=0.1, size=(T, 1)) for _ in range(4)]
    return BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [[10, 20, T]] * 4), Xs


def test_it_returns_exactly_that_many_segments_whatever_the_threshold(fitted):
    rival, Xs = fitted
    for K in (1, 2, 3, 7, T):
        for y in rival.predict(Xs, K):
            assert y.max() + 1 == np.unique(y).size == K


def test_the_highest_peaks_are_the_boundaries(fitted):
    rival, Xs = fitted
    assert rival.predict_breakpoints(Xs, 3) == [[10, 20, T]] * 4
    assert rival.predict_breakpoints(Xs[:2], [1, 3]) == [[T], [10, 20, T]]


def test_numbers_that_cannot_be_are_refused(fitted):
    rival, Xs = fitted
    with pytest.raises(DataError, match="cannot have 31 segments"):
        rival.predict(Xs[:1], T + 1)
