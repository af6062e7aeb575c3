"""The classifiers that a learner is compared with by itself: which apply, and where they appear."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from cases import cases
from recording_cases import ENDS, NAMES, recordings_of_states
from sklearn.base import BaseEstimator

from structsvm import MetricLearner, evaluate, load, save
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.features import Columns, Lags, MovingStatistics, StateScores, Union
from structsvm.learner.baselines import estimators_in, partitions_with
from structsvm.learner.steps import as_measured, encode
from structsvm.partitions import Baseline, ComparisonData, EquivalenceMatrix, Sample, partition_loss
from structsvm.problems import ChangePoint, Clustering
from structsvm.problems.clustering import TableComparison

QUICK = ["equal-segments", "frame-lda", "frame-logistic", "boundary-logistic"]
recordings = partial(recordings_of_states, noise=0.6)


def found_for(data):
    return ChangePoint().comparison.baselines(data)


def names_of(labels, features=None):
    samples = [Sample(np.zeros((30, 2)))] * len(labels)
    return [one.name for one in found_for(ComparisonData(samples, labels, features))]


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


def test_evaluate_compares_with_them_and_names_them(tuned):
    learner, Xs, ys = tuned
    found = evaluate(learner, Xs, ys)
    assert list(found.scores)[:5] == ["learned", "untrained", "pca", "rca", "olda"]
    assert {"fixed-times", *QUICK} <= found.scores.keys()
    assert next(iter(found.verdict.contrasts)) == "untrained"
    assert set(QUICK) < set(found.to_dict()["verdict"]["contrasts"])
    losses = [row.scores["frame-logistic"]["loss"] for row in found.samples]
    pairs = zip(
        encode(learner, Xs, ys),
        partitions_with(learner, "frame-logistic", as_measured(learner, Xs)),
        strict=True,
    )
    assert losses == [partition_loss(truth, guess) for truth, guess in pairs]


def test_they_are_told_the_number_of_segments_as_the_metrics_are(tuned):
    learner, Xs, _ = tuned
    for name in QUICK:
        assert [
            M.n_clusters for M in partitions_with(learner, name, as_measured(learner, Xs), 3)
        ] == [3] * 5
        counts = [1, 2, 3, 4, 30]
        assert [
            M.n_clusters for M in partitions_with(learner, name, as_measured(learner, Xs), counts)
        ] == counts
    with pytest.raises(DataError, match="31"):
        partitions_with(learner, QUICK[0], as_measured(learner, Xs), 31)


def test_a_baseline_that_no_file_can_hold_is_left_out_of_it_with_a_warning(tuned, tmp_path):
    learner = MetricLearner(metric="diagonal").fit(*tuned[1:], baselines=["frame-logistic"])
    learner.baselines_["odd"] = Remembering()
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
        samples = [Sample(np.zeros((30, 2)))] * 2
        baselines = found_for(ComparisonData(samples, [NAMES] * 2, features))
        return repr(baselines[1].estimator.features)

    assert context(None) == context(StateScores()) == "None"  # their own
    assert context(Union(Columns(), StateScores())) == "None"
    assert context(Lags((-1, 0))) == repr(Lags((-1, 0)))
    both = Union(Columns(), MovingStatistics((3,)), StateScores())
    assert "MovingStatistics(windows=(3,))" in context(both)
    assert "StateScores" not in context(both)


class Remembering(BaseEstimator):
    """A baseline that finds one cluster, and remembers what it was given."""

    def fit(self, Xs, ys, groups=None):
        self.seen_ = Xs, ys, groups
        return self

    def predict(self, Xs, n_clusters=None):
        return [np.zeros(len(X), int) for X in Xs]


class Refusing(Remembering):
    """One that cannot learn."""

    def fit(self, Xs, ys, groups=None):
        raise DataError("there is nothing to learn")


@dataclass(frozen=True)
class WithBaseline(Clustering):
    """A clustering that declares baselines of its own."""

    @property
    def comparison(self):
        return WithOwn(self)


class WithOwn(TableComparison):
    def baselines(self, data):
        return [Baseline("own", Remembering()), Baseline("refusing", Refusing(), cost=99.0)]


def test_one_that_cannot_learn_is_left_out_with_a_warning_and_refused_where_it_was_asked_for(rng):
    Xs = [rng.normal(size=(10, 2)) + 3 * (np.arange(10) > 4)[:, None] for _ in range(4)]
    y, learner = np.repeat(["a", "b"], 5), MetricLearner(WithBaseline(), metric="diagonal")
    with pytest.warns(DataWarning, match="refusing is not compared with: there is nothing"):
        learner.fit(Xs, [y] * 4, baselines="all")
    assert list(estimators_in(learner.baselines_)) == ["own"]
    with pytest.raises(DataError, match="there is nothing to learn"):
        learner.fit(Xs, [y] * 4, baselines=["refusing"])


def test_a_plugin_adds_baselines_of_its_own_which_get_labels_and_groups_as_given(rng):
    Xs = [rng.normal(size=(10, 2)) + 3 * (np.arange(10) > 4)[:, None] for _ in range(6)]
    y = np.repeat(["a", "b"], 5)
    learner = MetricLearner(WithBaseline(), metric="diagonal")
    learner.fit(Xs, [y] * 6, groups=list("aabbcc"), baselines="quick")
    seen, labels, groups = learner.baselines_["own"].seen_
    assert all(np.array_equal(X, Z) for X, Z in zip(Xs, seen, strict=True))
    assert [list(found) for found in labels] == [list(y)] * 6
    assert groups == list("aabbcc")
    assert partitions_with(learner, "own", as_measured(learner, Xs[:1])) == [
        EquivalenceMatrix.from_labels(np.zeros(10))
    ]
    assert "own" in evaluate(learner, [X + 1e-9 for X in Xs], [y] * 6).scores


def test_labels_that_do_not_fit_their_sample_are_refused(tuned):
    learner = MetricLearner(metric="diagonal").fit(*tuned[1:])
    learner.baselines_["short"] = Remembering()
    learner.baselines_["short"].predict = lambda Xs, n=None: [np.zeros(3, int) for _ in Xs]
    with pytest.raises(SettingsError, match=r"predicts labels of other shapes"):
        partitions_with(learner, "short", as_measured(learner, tuned[1]))
    learner.baselines_["short"].predict = lambda Xs, n=None: []
    with pytest.raises(SettingsError, match="short predicts labels of other shapes"):
        partitions_with(learner, "short", as_measured(learner, tuned[1]))
