"""Candidates with settings of their own, and estimators among them."""

import numpy as np
import pytest
from recording_cases import MEANS, NAMES

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.errors import DataWarning, LearningError, SettingsError
from structsvm.features import Lags, RecordingTransformer, StateScores
from structsvm.learner.baselines import ChosenBaseline
from structsvm.learner.steps import decode_with, encode
from structsvm.model_selection.search import menu
from structsvm.partitions import Baseline, Candidate, EquivalenceMatrix

FRAMES = Baseline("frames", FrameClassifier("logistic", Lags((-1, 0, 1))))

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


@pytest.fixture(scope="module")
def data():
    rng, means = np.random.default_rng(0), np.array([MEANS[name] for name in NAMES])

    def recording():
        relevant = means + rng.normal(scale=1.2, size=means.shape)
        return np.hstack([relevant, rng.normal(scale=2.0, size=means.shape)])

    return [recording() for _ in range(6)], [NAMES] * 6


def search(*candidates, **settings):
    usual = {"lams": (1.0, 0.1), "cv": 2, "random_state": 0}
    return MetricLearnerCV(candidates=("untrained", *candidates), **(usual | settings))


class Counting(RecordingTransformer):
    """The columns twice, which counts how often it was fitted, and fails where it is told to."""

    def __init__(self, calls, fails=False):
        self.calls = calls
        self.fails = fails

    def __sklearn_clone__(self):
        return Counting(self.calls, self.fails)

    def fit(self, Xs, ys=None, groups=None):
        self.calls.append((len(Xs), groups))
        if self.fails:
            raise LearningError("it cannot")
        return self

    def transform(self, Xs):
        return [np.hstack([X, X]) for X in Xs]

    def get_feature_names_out(self, input_features=None):
        return np.array([*input_features, *input_features], dtype=object)


def test_the_menu_has_the_order_of_preference_with_every_strength():
    own = Candidate("own", 0.3, {"metric": "full", "whiten": 0.2})
    baseline = Candidate("frames", baseline=FRAMES)
    found = menu(["full", own, "rca", baseline, "diagonal", "untrained"], [0.1, 1.0])
    assert [str(c) for c in found] == [
        *("full, lam=1", "full, lam=0.1", "own, lam=0.3", "RCA", "frames"),
        *("diagonal, lam=1", "diagonal, lam=0.1", "untrained"),
    ]


def test_two_candidates_of_one_name_are_refused():
    with pytest.raises(SettingsError, match="two candidates are called 'full'"):
        menu(("untrained", "full", Candidate("full")), [1.0])


def test_features_of_a_candidate_are_learned_again_with_it(data):
    lags = Candidate("lags", settings={"metric": "diagonal", "features": Lags((-1, 0, 1))})
    found = search(lags, "diagonal").fit(*data)
    assert [c.name for c in found.candidates_] == ["untrained", *["lags"] * 2, *["diagonal"] * 2]
    means = dict(zip(map(str, found.candidates_), found.cv_results_["mean_criterion"], strict=True))
    of_lags = [name for name in means if name.startswith("lags")]
    assert min(of_lags, key=means.get) == f"lags, lam={found.best_lam_:g}"
    assert str(found.best_estimator_.features) == str(Lags((-1, 0, 1)))
    assert found.best_estimator_.metric_.factor.shape[0] == 12


def test_the_losses_of_a_candidate_are_those_of_its_own_learner(data):
    Xs, ys = data
    settings = {"metric": "full", "whiten": 0.3, "regularizer": "trace"}
    model = search(Candidate("own", 0.2, settings), cv=3)
    found = model.choose(Xs, ys)
    assert (found.whiten, found.regularizer, found.lam) == (0.3, "trace", 0.2)
    train, test = np.flatnonzero(model.fold_ != 0), np.flatnonzero(model.fold_ == 0)
    alone = MetricLearner(lam=0.2, **settings).fit([Xs[i] for i in train], [NAMES] * 4)
    held_out, truths = [Xs[i] for i in test], [NAMES] * 2
    losses = [
        -alone.problem_.comparison.agreement(truth, guess)
        for truth, guess in zip(
            encode(alone, held_out, truths), alone.predict_partitions(held_out), strict=True
        )
    ]
    np.testing.assert_allclose(model.losses_[test, 1], losses)


def test_features_that_fail_in_a_fold_are_named_and_out_of_the_question(data):
    odd = Candidate("odd", settings={"metric": "diagonal", "features": Counting([], True)})
    with pytest.warns(DataWarning, match=r"odd is not compared: it cannot \(fold 0\)"):
        found = search("diagonal", odd).fit(*data)
    assert found.best_estimator_.features is None
    assert found.cv_results_["failure"][-1] == "it cannot (fold 0)"
    with pytest.raises(LearningError, match="it cannot") as raised:
        search("diagonal", features=Counting([], True)).fit(*data)
    assert raised.value.__notes__ == ["in fold 0"]


def test_a_baseline_is_chosen_and_predicts(data):
    Xs, ys = data
    found = search(Candidate("frames", baseline=FRAMES), "diagonal", choose_from="all")
    found.fit(Xs, ys)
    assert found.best_candidate_ == "frames"
    alone = FrameClassifier("logistic", Lags((-1, 0, 1))).fit(Xs, ys)
    labels = found.predict(Xs)
    for mine, theirs in zip(labels, alone.predict(Xs), strict=True):
        assert EquivalenceMatrix.from_labels(mine) == EquivalenceMatrix.from_labels(theirs)
    known = found.predict_breakpoints(Xs, 4)
    assert known == alone.predict_breakpoints(Xs, 4)
    assert list(found.best_estimator_.learner.baselines_) == ["untrained", "frames"]
    assert "frames" in found.verdict_.contrasts


def test_a_baseline_that_is_best_predicts_as_it_saw_the_recordings(data):
    Xs, ys = [X[:, :2] for X in data[0]], data[1]
    lags = Candidate("lags", 0.1, {"metric": "diagonal", "features": Lags((-9, 9))})
    found = search(lags, choose_from="all").fit(Xs, ys)
    assert found.best_candidate_ == "untrained"
    plain = MetricLearner(metric="diagonal").fit(Xs, ys)
    expected = decode_with(plain, plain.baselines_["untrained"], Xs)
    assert found.predict_partitions(Xs) == expected


SCORES = Candidate(
    "scores", settings={"metric": "diagonal", "features": StateScores("logistic", lags=(0,))}
)
BOUNDS = Candidate(
    "bounds", baseline=Baseline("bounds", BoundaryClassifier("logistic", widths=(3,)))
)


def test_names_are_compared_where_labels_have_them(data):
    Xs, ys = data
    frames = Candidate("frames", baseline=FRAMES)
    found = search("diagonal", SCORES, frames, cv=3, choose_from="all").fit(Xs, ys)
    results = found.cv_results_
    right = dict(zip(results["candidate"], results["mean_accuracy"], strict=True))
    assert np.isnan([right["untrained"], right["diagonal"]]).all()
    assert {found.best_candidate_} <= {"untrained", "scores", "frames"}
    model = FrameClassifier("logistic", Lags((-1, 0, 1)))
    held_out, _ = model.fit_cross_predict(Xs, ys, found.fold_.tolist(), [None] * len(Xs))
    assert right["frames"] == pytest.approx(np.mean(np.array(held_out) == NAMES))
    best = max(right["frames"], right["scores"])
    said = f"it names the most samples right in cross-validation, {best:.0%}, and has the loss "
    assert said in str(found.verdict_)
    nameless = search("diagonal").fit(Xs, ys)
    assert "samples right" not in str(nameless.verdict_)


def test_what_is_best_of_all_gives_its_own_names_or_those_of_the_learned_scores(data):
    Xs, ys = [X[:, :2] for X in data[0]], data[1]
    found = search(SCORES, Candidate("frames", baseline=FRAMES), BOUNDS, cv=3).fit(Xs, ys)
    best = ChosenBaseline(found.best_estimator_, "frames")
    own = best.learner.baselines_["frames"].predict_states(Xs[:2], [4, 4])
    names = best.predict_states(Xs[:2], 4)
    assert all(np.array_equal(a, b) for a, b in zip(names, own, strict=True))
    assert [row["state"] for row in best.predict_segments(Xs[:2], 4)[0]] == own[0][
        [0, 8, 18, 25]
    ].tolist()
    best = ChosenBaseline(found.best_estimator_, "bounds")
    (names, _), (ends, _) = best.predict_states(Xs[:2]), best.predict_breakpoints(Xs[:2])
    assert set(np.flatnonzero(names[1:] != names[:-1]) + 1) <= set(ends)
    assert best.predict_segments({"a": Xs[0]})["a"][-1]["end"] == 30
