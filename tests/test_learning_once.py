"""Classifiers that several ask for are learned once in a search."""

import numpy as np
import pytest

from structsvm import MetricLearnerCV
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.features import Lags, StateScores, Union
from structsvm.features.frames import FrameRecipe, learning_once
from structsvm.partitions import Baseline, Candidate

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [8, 10, 7, 5])
MEANS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}
LAGS = (-1, 0, 1)

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(n, seed=0):
    rng, means = np.random.default_rng(seed), np.array([MEANS[name] for name in NAMES])
    return [means + rng.normal(scale=0.8, size=means.shape) for _ in range(n)]


def features():
    return Union(Lags(LAGS), StateScores("logistic", lags=LAGS))


@pytest.fixture
def fits(monkeypatch):
    """One for each classifier of samples that is learned."""
    found, original = [], FrameRecipe._fit

    def counted(self, *given):
        found.append(self.owner)
        return original(self, *given)

    monkeypatch.setattr(FrameRecipe, "_fit", counted)
    return found


def search(*candidates):
    scores = Candidate("scores", settings={"metric": "diagonal", "features": features()})
    again = Candidate("again", settings={"metric": "diagonal", "features": features()})
    frames = Candidate(
        "frames", baseline=Baseline("frames", FrameClassifier("logistic", Lags(LAGS)))
    )
    menu = {"scores": scores, "again": again, "frames": frames}
    return MetricLearnerCV(
        candidates=["untrained", *(menu[name] for name in candidates)],
        lams=(0.1,),
        cv=3,
        random_state=0,
    )


def test_scores_and_the_frame_classifier_share_their_classifiers(fits):
    Xs, ys = recordings(8), [NAMES] * 8
    alone = search("scores").fit(Xs, ys)
    n_alone = len(fits)
    assert n_alone == 3 + 3 + 1  # for each pair of folds, for each fold, and for all recordings
    fits.clear()
    together = search("scores", "again", "frames").fit(Xs, ys)
    assert len(fits) == n_alone
    names = [candidate.name for candidate in together.candidates_]
    assert np.array_equal(together.losses_[:, names.index("scores")], alone.losses_[:, -1])


def test_other_labels_samples_or_settings_are_learned_anew(fits):
    Xs, ys, one = recordings(4), [NAMES] * 4, ["one"] * 4  # of one person: one classifier
    with learning_once():
        StateScores("logistic", lags=LAGS).fit(Xs, ys, one)
        StateScores("logistic", lags=LAGS).fit(Xs, ys, one)
        assert len(fits) == 1
        StateScores("logistic", lags=(0,)).fit(Xs, ys, one)
        StateScores("logistic", lags=LAGS).fit(Xs[:3], ys[:3], one[:3])
        StateScores("logistic", lags=LAGS).fit(Xs, [NAMES[::-1]] * 4, one)
        assert len(fits) == 4


@pytest.mark.parametrize("kind", [FrameClassifier, BoundaryClassifier])
def test_what_the_classifiers_of_all_folds_see_is_made_once(monkeypatch, kind):
    made, original = [], Lags.transform

    def counted(self, Xs):
        made.extend(Xs)
        return original(self, Xs)

    monkeypatch.setattr(Lags, "transform", counted)
    Xs, ys = recordings(6), [NAMES] * 6
    baseline = kind("logistic").fit(Xs, ys)
    assert len(made) == 6
    baseline.predict(Xs[:2])  # by the mean of six classifiers
    assert len(made) == 8
