"""Classifiers tuned as baselines of a learner: which apply, and where they appear."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from cases import cases
from recording_cases import ENDS, NAMES, recordings_of_states

from structsvm import MetricLearner, PartialLabels, StateSegmenter, evaluate, load, save
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.features import Columns, Lags, MovingStatistics, StateScores, Union
from structsvm.learner import AsMeasured, Learned, Learner, Menu, Method, TrainingSet
from structsvm.learner.methods import menu_of
from structsvm.learner.preparing import encode
from structsvm.partitions import EquivalenceMatrix, Found, Model, partition_loss
from structsvm.problems import ChangePoint, Clustering

QUICK = ["equal-segments", "frame-lda", "frame-logistic", "boundary-logistic"]
recordings = partial(recordings_of_states, noise=0.6)


def found_for(labels, features=None):
    data = TrainingSet.of(ChangePoint(), [np.zeros((30, 2))] * len(labels), labels)
    return menu_of(data, MetricLearner(features=features)).others


def names_of(labels, features=None):
    return [one.name for one in found_for(labels, features)]


@pytest.fixture(scope="module")
def tuned():
    rng = np.random.default_rng(0)
    learner = MetricLearner(metric="diagonal")
    learner.fit(recordings(6, rng), [NAMES] * 6, baselines="quick")
    return learner, recordings(5, rng), [NAMES] * 5


def test_named_states_bring_classifiers_of_samples_and_of_boundaries(tuned):
    learner, _, _ = tuned
    assert list(learner.baselines_) == ["untrained", "pca", "rca", "olda", *QUICK]
    assert learner.baselines_["frame-logistic"].classes_.tolist() == ["rest", "turn", "walk"]


def test_evaluate_compares_with_tuned_classifiers_by_name(tuned):
    learner, Xs, ys = tuned
    found = evaluate(learner, Xs, ys)
    assert list(found.scores)[:5] == ["learned", "untrained", "pca", "rca", "olda"]
    assert {"fixed-times", *QUICK} <= found.scores.keys()
    assert next(iter(found.verdict.contrasts)) == "untrained"
    assert set(QUICK) < set(found.to_dict()["verdict"]["contrasts"])
    losses = [row.scores["frame-logistic"]["loss"] for row in found.instances]
    guesses = learner.baselines_["frame-logistic"].predict_partitions(Xs)
    pairs = zip(encode(learner, Xs, ys), guesses, strict=True)
    assert losses == [partition_loss(truth, guess) for truth, guess in pairs]


@cases(
    PartialLabels(labels=np.where(np.arange(30) % 11 == 9, "", NAMES)),
    PartialLabels(labels=np.where(np.arange(30) < 25, np.arange(30) // 9, -1)),
    PartialLabels(regions=[(1, 9, 0), (9, 14, 1), (14, 30, 0)]),
    ids=["gaps among names", "an end that nobody labelled", "counts of changes alone"],
)
def test_blind_baselines_are_evaluated_after_learning_from_partial_labels(tuned, y):
    _, Xs, ys = tuned
    learner = MetricLearner(metric="diagonal").fit([X[::-1] for X in Xs], [y] * 5)
    found = evaluate(learner, Xs, ys)
    assert {"equal-segments", "fixed-times", "one-part"} <= found.scores.keys()


def test_the_most_frequent_name_is_a_baseline_after_learning_from_partial_names(tuned):
    _, Xs, ys = tuned
    y = PartialLabels(labels=np.where(np.arange(30) % 11 == 9, "", NAMES))
    found = evaluate(StateSegmenter(["lda"]).fit(Xs[:3], [y] * 3), Xs[3:], ys[3:])
    assert {"fixed-times", "one-part", "most-frequent"} <= found.scores.keys()


def test_fixed_times_use_the_position_of_partial_labels_in_their_recording():
    y = np.repeat([0, 1, 2], [10, 10, 10])
    rng = np.random.default_rng(0)
    Xs = [(y == 1)[:, None] + rng.normal(scale=0.1, size=(30, 1)) for _ in range(4)]
    hidden = PartialLabels(labels=np.where(np.arange(30) == 4, -1, y))
    learner = MetricLearner(metric="olda").fit(Xs, [hidden] * 4)
    again = [X + 0.01 for X in Xs]
    assert evaluate(learner, again, [y] * 4).scores["fixed-times"]["loss"] == 0.0


def test_classifiers_find_as_many_segments_as_asked_for(tuned):
    learner, Xs, _ = tuned
    for name in QUICK:
        baseline = learner.baselines_[name]
        assert [M.n_clusters for M in baseline.predict_partitions(Xs, 3)] == [3] * 5
        counts = [1, 2, 3, 4, 30]
        assert [M.n_clusters for M in baseline.predict_partitions(Xs, counts)] == counts
    with pytest.raises(DataError, match="31"):
        learner.baselines_[QUICK[0]].predict_partitions(Xs, 31)


def test_a_baseline_that_cannot_be_stored_is_left_out_of_the_file_with_a_warning(tuned, tmp_path):
    learner = MetricLearner(metric="diagonal").fit(*tuned[1:], baselines=["frame-logistic"])
    learner.baselines_["odd"] = Remembering().fit(*tuned[1:])
    with pytest.warns(DataWarning, match="odd is not stored"):
        save(learner, tmp_path / "walks.structsvm")
    again = load(tmp_path / "walks.structsvm")
    assert list(again.baselines_) == ["untrained", "frame-logistic"]


@cases(
    [ENDS] * 3,
    [np.repeat([0, 1, 2, 3], [8, 10, 7, 5])] * 3,
    [np.repeat([1, 2], 15), np.repeat([1, 2, 3], 10)],
    [np.repeat(["a", "b"], 15), np.repeat(["c", "d"], 15)],
    [np.repeat(["a", "b"], 15)],
    ids=["breakpoints", "numbers of segments", "from one", "names of their own", "one recording"],
)
def test_labels_that_do_not_repeat_between_recordings_bring_no_names(labels):
    assert names_of(labels) == ["equal-segments", "boundary-logistic", "boundary-boosting"]


def test_names_beside_breakpoints_are_left_out_and_the_warning_says_where():
    with pytest.warns(DataWarning, match="recording 0 has names .* recording 2 has breakpoints"):
        found = names_of([NAMES, NAMES, ENDS])
    assert found == ["equal-segments", "boundary-logistic", "boundary-boosting"]


def test_classifiers_of_samples_see_the_context_of_the_metric_without_scores():
    def context(features):
        return repr(found_for([NAMES] * 2, features)[1].learner.features)

    assert context(None) == context(StateScores()) == "None"  # their own
    assert context(Union(Columns(), StateScores())) == "None"
    assert context(Lags((-1, 0))) == repr(Lags((-1, 0)))
    both = Union(Columns(), MovingStatistics((3,)), StateScores())
    assert "MovingStatistics(windows=(3,))" in context(both)
    assert "StateScores" not in context(both)


class Whole(Model):
    """One cluster, whatever the sample."""

    def partition(self, problem, instance, constraint):
        return Found(EquivalenceMatrix.from_breakpoints([instance.n_samples]))


class Remembering(Learner):
    """A method that finds one cluster, and remembers what it was given."""

    problem = None

    def _learn(self, data, how):
        self.seen_ = data
        return Learned(AsMeasured(), Whole())


class Refusing(Learner):
    """One that cannot learn."""

    problem = None

    def _learn(self, data, how):
        raise DataError("there is nothing to learn")


@dataclass(frozen=True)
class WithBaseline(Clustering):
    """A clustering that declares baselines of its own."""

    @property
    def traits(self):
        return replace(super().traits, menu=f"{__name__}:OwnMenu")


class OwnMenu(Menu):
    @property
    def others(self):
        return [Method("own", Remembering()), Method("refusing", Refusing(), cost=99.0)]


def test_a_baseline_that_cannot_learn_is_left_out_with_a_warning_unless_asked_for(rng):
    Xs = [rng.normal(size=(10, 2)) + 3 * (np.arange(10) > 4)[:, None] for _ in range(4)]
    y = np.repeat(["a", "b"], 5)
    learner = MetricLearner(WithBaseline(), metric="diagonal")
    with pytest.warns(DataWarning, match="refusing is not compared with: there is nothing"):
        learner.fit(Xs, [y] * 4, baselines="all")
    assert list(learner.baselines_) == ["untrained", "pca", "rca", "own"]
    with pytest.raises(DataError, match="there is nothing to learn"):
        learner.fit(Xs, [y] * 4, baselines=["refusing"])


def test_a_plugin_adds_baselines_of_its_own_which_get_labels_and_groups_as_given(rng):
    Xs = [rng.normal(size=(10, 2)) + 3 * (np.arange(10) > 4)[:, None] for _ in range(6)]
    y = np.repeat(["a", "b"], 5)
    learner = MetricLearner(WithBaseline(), metric="diagonal")
    learner.fit(Xs, [y] * 6, groups=list("aabbcc"), baselines="quick")
    seen = learner.baselines_["own"].seen_
    assert all(np.array_equal(X, Z) for X, Z in zip(Xs, seen.arrays, strict=True))
    assert [list(found) for found in seen.item_labels] == [list(y)] * 6
    assert seen.groups == list("aabbcc")
    assert learner.baselines_["own"].predict_partitions(Xs[:1]) == [
        EquivalenceMatrix.from_labels(np.zeros(10))
    ]
    assert "own" in evaluate(learner, [X + 1e-9 for X in Xs], [y] * 6).scores


class Short:
    """An estimator of others, whose labels do not fit."""

    def __init__(self, found):
        self.found = found

    def predict(self, Xs, n_clusters=None):
        return self.found(Xs)


def test_labels_of_another_length_from_a_users_baseline_are_refused(tuned):
    learner = MetricLearner(metric="diagonal").fit(*tuned[1:])
    new = [X + 1e-9 for X in tuned[1]]
    for found in (lambda Xs: [np.zeros(3, int) for _ in Xs], lambda _: []):
        with pytest.raises(SettingsError, match="short predicts labels of other shapes"):
            evaluate(learner, new, tuned[2], baselines={"short": Short(found)})


def test_a_menu_that_cannot_be_loaded_is_named_with_its_problem():
    @dataclass(frozen=True)
    class Astray(Clustering):
        @property
        def traits(self):
            return replace(super().traits, menu="nowhere.at:All")

    with pytest.raises(SettingsError, match=r"the traits of Astray say menu=.nowhere\.at:All"):
        MetricLearner(Astray()).fit([np.arange(8.0)[:, None]], [[0] * 4 + [1] * 4])
