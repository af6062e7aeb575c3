"""Names of states by the best candidate of all, which may be a classifier or know no names."""

import numpy as np
import pytest

from structsvm import MetricLearnerCV
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.errors import SettingsError
from structsvm.features import Lags, StateScores
from structsvm.model_selection.search import ChosenBaseline
from structsvm.partitions import Baseline, Candidate

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [8, 10, 7, 5])
MEANS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0)}
SCORES = Candidate(
    "scores", settings={"metric": "diagonal", "features": StateScores("logistic", lags=(0,))}
)
FRAMES = Candidate("frames", baseline=Baseline("frames", FrameClassifier("logistic", Lags((0,)))))
BOUNDS = Candidate(
    "bounds", baseline=Baseline("bounds", BoundaryClassifier("logistic", widths=(3,)))
)

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(n, seed=0):
    rng, means = np.random.default_rng(seed), np.array([MEANS[name] for name in NAMES])
    return [means + rng.normal(scale=0.6, size=means.shape) for _ in range(n)]


def search(best, *candidates):
    """A search whose best candidate is what the test is about."""
    found = MetricLearnerCV(candidates=("untrained", *candidates), lams=(0.1,), cv=3)
    found = found.set_params(random_state=0).fit(recordings(6), [NAMES] * 6)
    return ChosenBaseline(found.best_estimator_, best)


def test_a_frame_classifier_gives_its_own_names():
    found, new = search("frames", SCORES, FRAMES), recordings(2, seed=1)
    own = found.learner.baselines_["frames"].predict_states(new, [4, 4])
    names = found.predict_states(new, 4)
    assert all(np.array_equal(a, b) for a, b in zip(names, own, strict=True))
    tables = found.predict_segments(new, 4)
    assert [row["state"] for row in tables[0]] == own[0][[0, 8, 18, 25]].tolist()


def test_boundaries_of_a_classifier_have_names_from_the_learned_scores():
    found, new = search("bounds", SCORES, BOUNDS), recordings(2, seed=1)
    (names, _), (ends, _) = (
        found.predict_states(new),
        found.predict_breakpoints(new),
    )
    assert (names == NAMES).mean() > 0.9
    assert set(np.flatnonzero(names[1:] != names[:-1]) + 1) <= set(ends)
    assert found.predict_segments({"a": new[0]})["a"][-1]["end"] == 30


def test_where_nothing_knows_names_the_error_says_so():
    found = search("bounds", "diagonal", BOUNDS)
    with pytest.raises(SettingsError, match="bounds knows no names of states, nor does"):
        found.predict_states(recordings(1))
