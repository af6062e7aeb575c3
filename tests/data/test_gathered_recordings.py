"""Recordings read one at a time: features, classifiers, folds, recipes for clusters."""

import pickle
import tracemalloc
from functools import cache

import numpy as np
import pytest
from cases import cases
from recording_cases import OnDemand, changes, same_bits
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GroupKFold
from spy import Spy

from structsvm import DataError, MetricLearner, MetricLearnerCV, evaluate, load, save
from structsvm.baselines import FrameClassifier
from structsvm.data.standardize import centred
from structsvm.errors import DataWarning
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    Components,
    Lags,
    Rows,
    StateScores,
    Union,
)
from structsvm.learner import Method
from structsvm.learner.preparing import read_training
from structsvm.learner.stages import Inputs
from structsvm.learner.training_set import even_part
from structsvm.support import limits

XS, CHANGES = changes(6)
NAMES = [np.where(y % 2 == 0, "rest", "walk") for y in CHANGES]
PEOPLE = ["ann", "bob", "cyd", "ann", "bob", "cyd"]
SIZE = XS[0].nbytes
LOGISTIC = StateScores("logistic", lags=(0,))
FEATURES = {
    "components": Chain(Lags((-1, 0, 1)), Components(3)),
    "rows": Chain(Rows(PCA(2)), Lags((0, 1))),
    "scores": StateScores("boosting", lags=(-1, 0)),
    "boundaries": BoundaryScores("logistic", widths=(5,)),
    "side by side": Union(Lags((-1, 0)), LOGISTIC, BoundaryScores("logistic", widths=(5,))),
    "scores of scores": Chain(Union(Columns(), LOGISTIC), StateScores("logistic", n_folds=2)),
}


def learner_of(features, **settings):
    return MetricLearner(metric="diagonal", features=features, **settings)


def read_later(ys=NAMES, groups=None, held=XS):
    return read_training(MetricLearner(), OnDemand(held), ys, groups=groups)


@cache
def of_arrays(features):
    """What all backends have to learn."""
    return learner_of(FEATURES[features]).fit(XS, NAMES, groups=PEOPLE)


@pytest.mark.parametrize("name", ["serial", "dask"])
@pytest.mark.parametrize("features", FEATURES)
def test_features_and_classifiers_on_demand_have_the_bits_of_arrays_in_memory(
    name, features, backend
):
    expected = of_arrays(features)
    learner = learner_of(FEATURES[features], backend=backend(name))
    learner.fit(OnDemand(XS), NAMES, groups=PEOPLE)
    assert same_bits(learner, expected)
    assert learner.predict_breakpoints(OnDemand(XS)) == expected.predict_breakpoints(XS)
    assert learner.metric_feature_names_ == expected.metric_feature_names_


@pytest.fixture(scope="module")
def with_baselines():
    return learner_of(None).fit(XS, NAMES, groups=PEOPLE, baselines="quick")


@pytest.mark.filterwarnings("ignore:the model was learned from 6 of these")
@pytest.mark.parametrize("name", ["serial", "dask"])
def test_baselines_on_demand_are_those_in_memory(name, backend, with_baselines):
    expected = with_baselines
    learner = learner_of(None, backend=backend(name))
    learner.fit(OnDemand(XS), NAMES, groups=PEOPLE, baselines="quick")
    found = [name for name, one in learner.baselines_.items() if one.sees is None]
    assert found == ["equal-segments", "frame-lda", "frame-logistic", "boundary-logistic"]
    assert list(learner.baselines_) == list(expected.baselines_)
    for baseline in found:
        for counts in (None, 3):
            mine = learner.baselines_[baseline].predict_breakpoints(OnDemand(XS), counts)
            assert mine == expected.baselines_[baseline].predict_breakpoints(XS, counts)
    scores = evaluate(learner, OnDemand(XS), NAMES).scores
    assert scores == evaluate(expected, XS, NAMES).scores


def test_partial_labels_of_recordings_on_demand_are_learned_from():
    some = [np.where(np.arange(y.size) % 97 < 60, y % 2, -1) for y in CHANGES]
    expected = learner_of(LOGISTIC).fit(XS, some)
    assert same_bits(learner_of(LOGISTIC).fit(OnDemand(XS), some), expected)


# ---- folds and choices


@cases(
    {"cv": 2, "random_state": 4},
    {"cv": GroupKFold(3)},
    {"standardize": "training"},
    ids=["shuffled", "splitter", "standardized"],
)
def test_folds_choice_and_verdict_are_those_in_memory(settings):
    search = MetricLearnerCV(
        **{"candidates": ("untrained", "pca", "diagonal"), "lams": (0.1, 0.3), "cv": 3}
        | {"random_state": 0}
        | settings
    )
    mine = clone(search)
    theirs = clone(search)
    mine.choose(XS, CHANGES, groups=PEOPLE)
    theirs.choose(OnDemand(list(zip(XS, CHANGES, strict=True))), groups=PEOPLE)
    assert mine.fold_.tolist() == theirs.fold_.tolist()
    assert np.array_equal(mine.losses_, theirs.losses_)
    assert (mine.best_candidate_, mine.best_lam_) == (theirs.best_candidate_, theirs.best_lam_)
    assert str(mine.verdict_) == str(theirs.verdict_)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_model_selection_on_demand_tries_features_and_classifiers():
    """They learn in each fold, and the best one is learned again from all and predicts."""
    scores = Method("scores", learner_of(StateScores("logistic")))
    names = (scores, "frame-logistic", "untrained")
    search = MetricLearnerCV(candidates=names, lams=(0.1,), cv=2, random_state=0)
    mine = clone(search).fit(XS, NAMES)
    theirs = clone(search).fit(OnDemand(XS), NAMES)
    assert not np.isnan(mine.losses_).any()
    assert np.array_equal(mine.losses_, theirs.losses_)
    assert mine.best_candidate_ == theirs.best_candidate_
    assert same_bits(mine.best_estimator_, theirs.best_estimator_)
    one, other = (s.best_estimator_.baselines_["frame-logistic"] for s in (mine, theirs))
    assert other.predict_breakpoints(OnDemand(XS)) == one.predict_breakpoints(XS)


# ---- more recordings than fit


class TestMoreThanFits:
    """Whole recordings are drawn, and whoever learns says of how many."""

    @cases((3, [1, 1, 1]), (6, [2, 2, 2]), (9, [4, 3, 2]), (24, [19, 3, 2]))
    def test_recordings_that_fit_in_memory_are_drawn_evenly_from_the_groups(self, count, drawn):
        groups = [*"a" * 19, *"bbb", *"cc"]
        data = read_later(CHANGES * 4, groups, XS * 4)
        part = even_part(data, count * SIZE)
        assert [[groups[i] for i in part].count(g) for g in "abc"] == drawn
        assert np.array_equal(even_part(data, count * SIZE), part), "the same ones each time"
        assert even_part(read_later(CHANGES * 4, None, XS * 4), count * SIZE).size == count
        assert even_part(data, 1).size == 2

    def test_recordings_that_fit_in_memory_have_a_rare_state_twice(self):
        names = [y.copy() for y in NAMES * 4]
        for i in (7, 20):
            names[i][:30] = "turn"
        part = even_part(read_later(names, None, XS * 4), 4 * SIZE)
        assert {7, 20} < set(part.tolist())

    @pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
    def test_recordings_that_do_not_fit_in_memory_are_transformed_like_new_ones(
        self, features, monkeypatch
    ):
        monkeypatch.setattr(limits, "GATHERED", 4 * SIZE)
        data = read_later()
        part = even_part(data, 4 * SIZE)
        with pytest.warns(DataWarning, match=r"fitted on 4 of 6 recordings.* 25.6 kB.*give arrays"):
            inputs, seen = Inputs.fit(features, None, data)
        others = sorted({*range(6)} - {*part.tolist()})
        for i, instance in zip(others, inputs(data.at(others).instances), strict=True):
            np.testing.assert_array_equal(seen.instances[i].X, centred(instance.X))
        held = [XS[i] for i in part]
        labels = [NAMES[i] for i in part]
        alone, of_part = Inputs.fit(features, None, read_training(MetricLearner(), held, labels))
        for i, instance in zip(part, of_part.instances, strict=True):
            np.testing.assert_array_equal(seen.instances[i].X, instance.X)
        assert alone.made == inputs.made

    def test_errors_number_recordings_among_all(self, monkeypatch):
        monkeypatch.setattr(limits, "GATHERED", 2 * SIZE)
        names = [np.where(np.arange(y.size) < 100, f"alone {i}", y) for i, y in enumerate(NAMES)]
        said = r"alone (\d) only in recording \1; alone (\d) only in recording \2\."
        with (
            pytest.warns(DataWarning, match="fitted on 2 of 6"),
            pytest.raises(DataError, match=said) as caught,
        ):
            learner_of(LOGISTIC).fit(OnDemand(XS), names)
        assert "fitted on 2 of 6 recordings, an even subset" in caught.value.__notes__[0]


@pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning")  # of the part, of constants
@pytest.mark.parametrize("held", [6, 4], ids=["all fit", "four of six fit"])
def test_no_recording_is_scored_by_a_model_that_has_seen_its_group(held, monkeypatch):
    """Those of a person are the same but for a sample: having seen one is having seen all."""
    monkeypatch.setattr(limits, "GATHERED", held * SIZE)
    Xs, ys = [[held[PEOPLE.index(g)] for g in PEOPLE] for held in (XS, NAMES)]
    Xs[3:] = [X + (np.arange(len(X)) == 0)[:, None] for X in Xs[3:]]
    scores = StateScores(Spy(), lags=(0,), n_folds=3, standardize=None)
    features = Union(Columns(), Chain(Columns(), scores))
    found = {}
    for kind, groups in (("honest", PEOPLE), ("leaking", None)):
        data = read_later(ys, groups, Xs)
        inputs, seen = Inputs.fit(features, None, data)
        found[kind] = [instance.X[:, 4:] for instance in seen.instances]
    assert not any(map(np.any, found["honest"])), "a spy is sure of nothing but what it has seen"
    assert any(map(np.any, found["leaking"]))
    assert all(np.any(instance.X[:, 4:]) for instance in inputs(data.instances))


@pytest.mark.filterwarnings("ignore::structsvm.errors.DataWarning")  # of the part
def test_memory_does_not_grow_with_the_number_of_recordings_on_demand(monkeypatch):
    """But for what is answered of each, which takes few bytes beside its values."""
    large = [np.repeat(X, 20, axis=0) for X in XS]
    monkeypatch.setattr(limits, "KEPT_BYTES", 1)
    monkeypatch.setattr(limits, "GATHERED", 4 * large[0].nbytes)
    frames = FrameClassifier("logistic", Columns(), n_folds=2, prices=[3.0])

    def peak_of(n):
        """The most memory of features and a classifier of so many recordings, in bytes."""
        labels = [np.repeat(NAMES[i % 6], 20) for i in range(n)]
        data = read_later(labels, held=[large[i % 6] for i in range(n)])
        tracemalloc.start()
        Inputs.fit(Chain(Lags((0, 1)), Components(4)), "training", data)
        clone(frames).learn(data).inputs_(data.instances)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    _, few, many = (peak_of(n) for n in (5, 10, 30))  # the first one imports
    assert many - few < 20 * large[0].nbytes / 2


def test_models_and_what_is_sent_hold_no_data(tmp_path):
    features = Union(Lags((-1, 0)), LOGISTIC, Chain(Components(2), Lags((0,))))
    learner = learner_of(features).fit(OnDemand(XS), NAMES, groups=PEOPLE)
    expected = learner.predict_breakpoints(XS)
    save(learner, tmp_path / "m.structsvm")
    again = load(tmp_path / "m.structsvm")
    assert again.predict_breakpoints(OnDemand(XS)) == expected
    assert again.predict_segments(OnDemand(XS)) == learner.predict_segments(XS)
    data = Inputs.fit(features, None, read_later())[1]
    sent = [pickle.loads(pickle.dumps(instance.data)) for instance in data.instances]
    for X, instance in zip(sent, data.instances, strict=True):
        np.testing.assert_array_equal(X.read(), instance.X)
