"""Candidates with settings of their own, and estimators among them."""

from types import SimpleNamespace

import numpy as np
import pytest
from recording_cases import MEANS, NAMES

from structsvm import (
    ChangePoint,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
    PartialLabels,
)
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.baselines.blind import EqualSegments
from structsvm.errors import DataError, DataWarning, LearningError, SettingsError
from structsvm.features import Lags, RecordingTransformer, StateScores
from structsvm.learner import Menu, Method, TrainingSet
from structsvm.learner.preparing import encode
from structsvm.model_selection.candidates import candidates_among
from structsvm.model_selection.held_out import HeldOut
from structsvm.partitions import UNCONSTRAINED

FRAMES = Method("frames", FrameClassifier("logistic", Lags((-1, 0, 1))))


def metric(name, kind="diagonal", lam=None, **settings):
    return Method(name, MetricLearner(metric=kind, lam=lam, **settings))


pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    means = np.array([MEANS[name] for name in NAMES])

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
    own = metric("own", "full", 0.3, whiten=0.2)
    menu = Menu(TrainingSet.of(ChangePoint(), [np.zeros((4, 2))], [[2, 4]]), MetricLearner())
    asked = ["full", own, "rca", FRAMES, "diagonal", "untrained"]
    found = candidates_among(asked, [0.1, 1.0], menu)
    assert [str(c) for c in found] == [
        *("full, lam=1", "full, lam=0.1", "own, lam=0.3", "RCA", "frames"),
        *("diagonal, lam=1", "diagonal, lam=0.1", "untrained"),
    ]


def test_two_candidates_of_one_name_are_refused(data):
    with pytest.raises(SettingsError, match="two candidates are called 'full'"):
        search("full", metric("full")).fit(*data)


def test_candidates_are_learners_by_name(data):
    named = {"olda": MetricLearner(metric="olda"), "frames": FRAMES.learner}
    found = MetricLearnerCV(candidates=named, cv=2, random_state=0).fit(*data)
    assert [c.name for c in found.candidates_] == ["olda", "frames", "untrained"]
    assert type(found.best_estimator_) in (MetricLearner, FrameClassifier)
    with pytest.raises(SettingsError, match="there is no candidate"):
        MetricLearnerCV(candidates={"odd": 3}).fit(*data)
    with pytest.raises(SettingsError, match=r"candidates=\['untrained', 'olda'\]"):
        MetricLearnerCV(metric="olda")


def test_features_of_a_candidate_are_refitted_with_it(data):
    found = search(metric("lags", features=Lags((-1, 0, 1))), "diagonal").fit(*data)
    assert [c.name for c in found.candidates_] == ["untrained", *["lags"] * 2, *["diagonal"] * 2]
    means = dict(zip(map(str, found.candidates_), found.cv_results_["mean_criterion"], strict=True))
    of_lags = [name for name in means if name.startswith("lags")]
    assert min(of_lags, key=means.get) == f"lags, lam={found.best_lam_:g}"
    assert str(found.best_estimator_.features) == str(Lags((-1, 0, 1)))
    assert found.best_estimator_.metric_.factor.shape[0] == 12


def test_the_losses_of_a_candidate_are_those_of_its_own_learner(data):
    Xs, ys = data
    settings = {"metric": "full", "whiten": 0.3, "regularizer": "trace"}
    model = search(Method("own", MetricLearner(lam=0.2, **settings)), cv=3)
    model.choose(Xs, ys)
    found = model.candidates_[1].learner
    assert (found.whiten, found.regularizer, found.lam) == (0.3, "trace", 0.2)
    train = np.flatnonzero(model.fold_ != 0)
    test = np.flatnonzero(model.fold_ == 0)
    alone = MetricLearner(lam=0.2, **settings).fit([Xs[i] for i in train], [NAMES] * 4)
    held_out = [Xs[i] for i in test]
    truths = [NAMES] * 2
    losses = [
        -alone.problem_.agreement(truth, guess)
        for truth, guess in zip(
            encode(alone, held_out, truths), alone.predict_partitions(held_out), strict=True
        )
    ]
    np.testing.assert_allclose(model.losses_[test, 1], losses)


def test_candidates_whose_features_fail_in_a_fold_are_named_and_dropped(data):
    odd = metric("odd", features=Counting([], True))
    with pytest.warns(DataWarning, match=r"odd is not compared: it cannot \(fold 0\)"):
        found = search("diagonal", odd).fit(*data)
    assert found.best_candidate_ != "odd"
    assert found.cv_results_["failure"][-1] == "it cannot (fold 0)"
    with pytest.raises(LearningError, match="it cannot") as raised:
        search("diagonal", features=Counting([], True)).fit(*data)
    assert raised.value.__notes__ == ["in fold 0"]


def test_a_baseline_is_chosen_and_predicts(data):
    Xs, ys = data
    found = search(FRAMES, "diagonal").fit(Xs, ys)
    assert found.best_candidate_ == "frames"
    alone = FrameClassifier("logistic", Lags((-1, 0, 1))).fit(Xs, ys)
    labels = found.predict(Xs)
    for mine, theirs in zip(labels, alone.predict(Xs), strict=True):
        assert EquivalenceMatrix.from_labels(mine) == EquivalenceMatrix.from_labels(theirs)
    known = found.predict_breakpoints(Xs, 4)
    assert known == alone.predict_breakpoints(Xs, 4)
    assert list(found.best_estimator_.baselines_) == ["untrained"]
    assert "frames" not in found.verdict_.contrasts  # it is what the others are compared with
    assert "the loss of what is chosen without it is" in str(
        found.verdict_
    )  # once, an untrained one
    assert "Use the frame classifier: it" in str(found.verdict_)


def test_a_chosen_baseline_predicts_from_its_own_features(data):
    Xs = [X[:, :2] for X in data[0]]
    ys = data[1]
    found = search(metric("lags", lam=0.1, features=Lags((-9, 9)))).fit(Xs, ys)
    assert found.best_candidate_ == "untrained"
    assert found.best_lam_ is None
    plain = MetricLearner(metric="diagonal").fit(Xs, ys)
    assert found.predict_partitions(Xs) == plain.baselines_["untrained"].predict_partitions(Xs)


SCORES = metric("scores", features=StateScores("logistic", lags=(0,)))
BOUNDS = Method("bounds", BoundaryClassifier("logistic", widths=(3,)))


def test_accuracies_are_compared_if_labels_are_names(data):
    Xs, ys = data
    found = search("diagonal", SCORES, FRAMES, cv=3).fit(Xs, ys)
    results = found.cv_results_
    right = dict(zip(results["candidate"], results["mean_accuracy"], strict=True))
    assert np.isnan([right["untrained"], right["diagonal"]]).all()
    assert {found.best_candidate_} <= {"untrained", "scores", "frames"}
    model = FrameClassifier("logistic", Lags((-1, 0, 1)))
    folds = TrainingSet.of(ChangePoint(), Xs, ys, groups=found.fold_.tolist())
    held_out = []
    for instance, of_others in zip(*model.learn_held_out(folds), strict=True):
        M, states = of_others.partition(ChangePoint(), instance, UNCONSTRAINED)
        held_out.append(model.classes_[states[M.labels]])
    assert right["frames"] == pytest.approx(np.mean(np.array(held_out) == NAMES))
    best = max(right["frames"], right["scores"])
    said = f"it names the most samples right in cross-validation, {best:.0%}, and has the loss "
    assert said in str(found.verdict_)
    nameless = search("diagonal").fit(Xs, ys)
    assert "samples right" not in str(nameless.verdict_)


def test_random_names_do_not_decide_the_choice(data):
    """Names that follow each other from one of two at random: the changes alone can be found."""
    segment = np.cumsum(np.append(False, NAMES[1:] != NAMES[:-1]))
    ys = [np.array(["x", "y"])[(segment + first) % 2] for first in (0, 1, 1, 0, 1, 0)]
    found = search("diagonal", FRAMES, cv=3).fit(data[0], ys)
    results = found.cv_results_
    named = dict(zip(results["candidate"], results["mean_accuracy"], strict=True))
    assert named["frames"] < 0.5
    assert found.best_candidate_ != "frames"
    said = str(found.verdict_)
    assert "No method names more samples right than the most frequent name alone" in said
    assert "samples right in cross-validation" not in said


def test_baselines_of_the_chosen_learner_name_states_if_they_can(data):
    Xs = [X[:, :2] for X in data[0]]
    ys = data[1]
    found = search(SCORES, FRAMES, BOUNDS, cv=3).fit(Xs, ys)
    all_of_them = {found.best_candidate_: found.best_estimator_, **found.best_estimator_.baselines_}
    frames = all_of_them["frames"]
    bounds = all_of_them["bounds"]
    names = frames.predict_states(Xs[:2], 4)
    assert [row["state"] for row in frames.predict_segments(Xs[:2], 4)[0]] == names[0][
        [0, 8, 18, 25]
    ].tolist()
    assert bounds.predict_segments({"a": Xs[0]})["a"][-1]["end"] == 30
    with pytest.raises(SettingsError, match="has not learned names of states"):
        bounds.predict_states(Xs[:2])


@pytest.mark.parametrize("right", [(0.9, 0.5, 0.8), (0.5, 0.9, 0.8), (0.7, 0.71, 0.705)])
def test_methods_that_name_states_are_chosen_by_accuracy(right):
    """The second loses least, and is chosen where it also names more beyond chance."""
    losses = np.array([[2.0, 1.0, 2.5]] * 12) + np.random.default_rng(0).normal(0, 0.1, (12, 3))
    accuracy = np.array([right] * 12) + np.random.default_rng(1).normal(0, 0.04, (12, 3))
    found = held_out(losses, accuracy, {"one-part": losses[:, 0] + 1})
    assert found.best.name == ("b" if right[1] == 0.9 else "a")


def held_out(losses, accuracy, blind, first=None, problem=None):
    methods = [Method(name, EqualSegments(), is_first=name == first) for name in "abc"]
    data = SimpleNamespace(weights=np.ones(12), problem=problem or ChangePoint())
    split = SimpleNamespace(held_out=data, units=np.arange(12), draws_among=lambda which: 1)
    tried = {method: [] for method in methods}
    return HeldOut(split, tried, losses, losses, accuracy, np.full(12, 0.2), blind, {})


@pytest.mark.parametrize(
    ("names", "problem", "gain", "best"),
    [
        (False, ChangePoint(), 0.01, "a"),
        (False, ChangePoint(), 0.1, "a"),
        (False, ChangePoint(), 2.0, "b"),
        (True, ChangePoint(), 0.01, "b"),
        (True, ChangePoint(), -0.01, "a"),
        (False, NormalizedCut(), 0.01, "b"),
    ],
)
def test_without_names_the_first_answer_is_chosen_only_beyond_chance(names, problem, gain, best):
    noise = np.random.default_rng(0).normal(size=12)
    losses = np.full((12, 3), 3.0)
    losses[:, 1] += noise - noise.mean() - gain
    accuracy = (5.0 - losses) / 5.0 if names else np.full(losses.shape, np.nan)
    found = held_out(losses, accuracy, {"one-part": losses[:, 0] + 1}, "b", problem)
    assert found.best.name == best


@pytest.mark.parametrize("names", [True, False])
def test_the_verdict_of_a_search_advises_its_choice(data, names):
    """Whatever other methods lose, or name right."""
    Xs, ys = data
    ends = [[*(1 + np.flatnonzero(y[1:] != y[:-1])).tolist(), len(y)] for y in ys]
    found = search(FRAMES, "diagonal", "olda", cv=3) if names else search("diagonal", "olda", cv=3)
    found.fit(Xs, ys if names else ends)
    verdict = found.verdict_
    assert (verdict.use, verdict.best) == (None, found.best_candidate_)
    assert f"Use {verdict.evidence.method}: " in str(verdict)
    assert "baselines_[" not in str(verdict)


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("named", [(True, False), (True, True), (False, True)])
def test_the_choice_names_states_if_the_default_does(named, blind):
    """A third candidate names nothing and loses least; a first that is blind is left for others."""
    losses = np.array([[2.0, 3.0, 0.5], [2.5, 3.5, 0.1], [2.0, 3.0, 0.2]] * 4)
    accuracy = np.full(losses.shape, np.nan)
    accuracy[:, [j for j, names in enumerate(named) if names]] = 0.8
    found = held_out(losses, accuracy, {"one-part": losses[:, 0] if blind else losses[:, 0] + 1})
    if not named[0]:
        assert found.best.name == "c"
    elif blind and named[1]:
        assert found.best.name == "b"
    else:
        assert found.best.name == "a"


@pytest.mark.parametrize("every", [2, 3])
def test_labels_without_neighbours_are_refused_where_methods_are_compared(every):
    y = np.repeat([0, 1, 0], 12)
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(36, 2)) + 3.0 * y[:, None] for _ in range(4)]
    ys = [PartialLabels(np.where(np.arange(36) % every, -1, y).tolist())] * 4
    with pytest.raises(DataError, match="compared on samples next to each other that have labels"):
        MetricLearnerCV().fit(Xs, ys)
