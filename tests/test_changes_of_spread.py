"""Changes that no mean shows: what one is told, and what finds them."""

import numpy as np

from structsvm import MetricLearnerCV, evaluate


def shaking(n, seed=0):
    """Recordings that shake more or less, always about the same mean."""
    rng = np.random.default_rng(seed)
    Xs, ys = [], []
    for _ in range(n):
        lengths = rng.integers(30, 60, size=5)
        y = np.repeat(np.arange(5), lengths)
        Xs.append(np.where(y % 2, 2.0, 0.4)[:, None] * rng.normal(size=(y.size, 2)))
        ys.append(np.cumsum(lengths).tolist())
    return Xs, ys


def test_the_menu_of_recordings_finds_changes_of_spread():
    Xs, ys = shaking(14)
    menu = ("untrained", "equal-segments", "diagonal", "lags-diagonal", "moments-diagonal")
    search = MetricLearnerCV(candidates=menu, cv=3, random_state=0).fit(Xs[:9], ys[:9])
    assert search.best_candidate_ == "moments-diagonal"
    assert search.verdict_.answer == "Learning pays."
    result = evaluate(search, Xs[9:], ys[9:])
    assert result.scores["learned"]["loss"] < 0.5 * result.scores["equal-segments"]["loss"]
