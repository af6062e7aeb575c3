"""Changes that no mean shows: what one is told, and what finds them."""

import dataclasses

import numpy as np
import pytest

from structsvm import MetricLearner, MetricLearnerCV, evaluate
from structsvm.evaluation.evaluate import Evaluation, SampleScores
from structsvm.features import HermiteMoments

FEATURES = "features=HermiteMoments()"
NOISE = np.array([0.3, -0.3, 0.2, -0.2, 0.1, -0.1])


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


def judged(**losses):
    """A verdict on these losses of each metric, by recording."""
    found = {"learned": 2 + 0 * NOISE, **losses}

    def scores(loss):
        return {"loss": loss, "adjusted_rand": 0.5, "disagreement": loss}

    rows = [
        SampleScores(str(i), 3, {name: scores(row[i]) for name, row in found.items()})
        for i in range(NOISE.size)
    ]
    return Evaluation(tuple(rows), tolerance=5, classifiers=frozenset({"equal-segments"})).verdict


def test_these_features_do_show_changes_of_spread():
    Xs, ys = shaking(8)
    learner = MetricLearner(features=HermiteMoments()).fit(
        Xs[:6], ys[:6], baselines=["equal-segments"]
    )
    scores = evaluate(learner, Xs[6:], ys[6:]).scores
    assert scores["learned"]["loss"] < 0.5 * scores["equal-segments"]["loss"]


def test_the_menu_of_recordings_finds_changes_of_spread():
    Xs, ys = shaking(14)
    menu = ("untrained", "equal-segments", "diagonal", "lags-diagonal", "moments-diagonal")
    search = MetricLearnerCV(candidates=menu, cv=3, random_state=0).fit(Xs[:9], ys[:9])
    assert search.best_candidate_ == "moments-diagonal"
    assert search.verdict_.answer == "Learning pays."
    result = evaluate(search, Xs[9:], ys[9:])
    assert result.scores["learned"]["loss"] < 0.5 * result.scores["equal-segments"]["loss"]


def test_segments_that_do_not_follow_from_the_means_may_follow_from_other_features():
    blind = judged(untrained=4 + NOISE, **{"equal-segments": 2 + NOISE})
    assert blind.answer.startswith(
        "There is no evidence that the segments follow from the features"
    )
    assert FEATURES in blind.found
    assert FEATURES not in dataclasses.replace(blind, best="full").found  # a search has tried them
    assert FEATURES not in judged(untrained=4 + NOISE, **{"equal-segments": 5 + NOISE}).found


@pytest.mark.parametrize(("untrained", "is_best"), [(2.1 + NOISE, True), (1.9 + NOISE, False)])
def test_what_did_worse_than_no_learning_is_not_called_the_best_guess(untrained, is_best):
    verdict = dataclasses.replace(judged(untrained=untrained), best="full")
    assert ("It is still the best choice." in verdict.found) == is_best
    assert verdict.found.endswith("Label more recordings to find out.")
