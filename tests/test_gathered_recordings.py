"""Features and classifiers that learn from recordings that are read one at a time."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from spy import Spy

import structsvm
from structsvm import MetricLearner, MetricLearnerCV, evaluate
from structsvm.baselines import FrameClassifier
from structsvm.datasets import relevant_changes
from structsvm.errors import CheckpointError, DataError, DataWarning
from structsvm.features import (
    BoundaryScores,
    Chain,
    Columns,
    Components,
    Lags,
    RecordingTransformer,
    Rows,
    StateScores,
    Union,
)
from structsvm.io import arrays_and_labels
from structsvm.learner.baselines import ask, estimators_in, fit_baseline, partition_with
from structsvm.learner.inputs import Inputs
from structsvm.learner.steps import read_training
from structsvm.learner.training_set import even_part
from structsvm.model_selection.search import ChosenBaseline
from structsvm.parallel import Dask, Serial, Threads
from structsvm.partitions.comparison import Baseline
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.storage import limits

RECORDINGS = relevant_changes(6, n_samples=200, n_features=4, n_relevant=2, random_state=0)
XS, CHANGES = arrays_and_labels(RECORDINGS)
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


class Sequence:
    """Gives one recording at a time."""

    def __init__(self, held):
        self.held = held

    def __len__(self):
        return len(self.held)

    def __getitem__(self, i):
        return self.held[i].copy()


@pytest.fixture
def backend(request):
    def of(name):
        kinds = {"serial": Serial(), "threads": Threads(2)}
        return Dask(request.getfixturevalue("client")) if name == "dask" else kinds[name]

    return of


def learner_of(features, **settings):
    return MetricLearner(metric="diagonal", features=features, **settings)


def same(learner, other):
    """Whether two learners learned the same, to the last bit."""
    mine, theirs = learner.solution_, other.solution_
    return (
        np.array_equal(learner.metric_.factor, other.metric_.factor)
        and learner.metric_.price == other.metric_.price
        and (mine.lower, mine.upper, mine.n_iter) == (theirs.lower, theirs.upper, theirs.n_iter)
        and learner.training_data_ == other.training_data_
    )


@pytest.mark.parametrize("name", ["serial", "threads", "dask"])
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_the_bits_are_those_of_arrays_in_memory(name, features, backend):
    expected = learner_of(features).fit(XS, NAMES, groups=PEOPLE)
    learner = learner_of(features, backend=backend(name))
    learner.fit(Sequence(XS), NAMES, groups=PEOPLE)
    assert same(learner, expected)
    assert learner.predict_breakpoints(Sequence(XS)) == expected.predict_breakpoints(XS)
    assert learner.metric_feature_names_ == expected.metric_feature_names_


@pytest.mark.parametrize("name", ["serial", "dask"])
def test_classifiers_are_fitted_and_asked_as_in_memory(name, backend):
    expected = learner_of(None).fit(XS, NAMES, groups=PEOPLE, baselines="quick")
    learner = learner_of(None, backend=backend(name))
    learner.fit(Sequence(XS), NAMES, groups=PEOPLE, baselines="quick")
    found = list(estimators_in(learner.baselines_))
    assert found == ["equal-segments", "frame-logistic", "boundary-logistic"]
    assert list(learner.baselines_) == list(expected.baselines_)
    for baseline in found:
        for counts in (None, 3):
            mine = partition_with(learner, baseline, Sequence(XS), counts)
            theirs = partition_with(expected, baseline, XS, counts)
            assert [M.breakpoints for M in mine] == [M.breakpoints for M in theirs]
    with pytest.warns(DataWarning, match="learned from 6 of these"):
        found = evaluate(learner, Sequence(XS), NAMES)
    with pytest.warns(DataWarning, match="learned from 6 of these"):
        assert found.scores == evaluate(expected, XS, NAMES).scores


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_features_and_classifiers_are_chosen_from():
    """They learn in each fold, and the best one predicts."""
    names = ("untrained", "frame-logistic", "scores-diagonal")
    search = {"candidates": names, "lams": (0.1,), "cv": 2, "random_state": 0}
    mine = MetricLearnerCV(**search).fit(XS, NAMES)
    theirs = MetricLearnerCV(**search).fit(Sequence(XS), NAMES)
    assert not np.isnan(mine.losses_).any()
    assert np.array_equal(mine.losses_, theirs.losses_)
    assert mine.best_candidate_ == theirs.best_candidate_
    assert same(mine.best_estimator_, theirs.best_estimator_)
    for name in ("frame-logistic",):
        best = [ChosenBaseline(one.best_estimator_, name) for one in (theirs, mine)]
        assert best[0].predict_breakpoints(Sequence(XS)) == best[1].predict_breakpoints(XS)


def test_partial_labels_are_learned_from():
    some = [np.where(np.arange(y.size) % 97 < 60, y % 2, -1) for y in CHANGES]
    expected = learner_of(LOGISTIC).fit(XS, some)
    assert same(learner_of(LOGISTIC).fit(Sequence(XS), some), expected)


class TestMoreThanFits:
    """Whole recordings are drawn, and whoever learns says of how many."""

    def read(self, ys, groups=None, held=XS):
        return read_training(MetricLearner(), Sequence(held), ys, groups=groups)

    def test_they_are_drawn_evenly_from_the_groups(self):
        held, groups = XS * 4, [*"aaaaaaaaaaaaaaaaaaa", *"bbb", *"cc"]
        data = self.read(CHANGES * 4, groups, held)
        assert even_part(data, 24 * SIZE).tolist() == list(range(24))
        for count in (3, 6, 9):
            part = even_part(data, count * SIZE)
            assert part.size == count
            drawn = [groups[i] for i in part]
            assert [drawn.count(g) for g in "abc"] == {
                3: [1, 1, 1],
                6: [2, 2, 2],
                9: [4, 3, 2],
            }[count]
        assert even_part(data, 1).size == 2
        assert np.array_equal(even_part(data, 9 * SIZE), part), "the same ones each time"
        sizes = [even_part(self.read(CHANGES * 4, None, held), n * SIZE).size for n in (3, 6, 9)]
        assert sizes == [3, 6, 9]

    def test_a_rare_state_is_among_them_twice(self):
        names = [y.copy() for y in NAMES * 4]
        for i in (7, 20):
            names[i][:30] = "turn"
        part = even_part(self.read(names, None, XS * 4), 4 * SIZE)
        assert {7, 20} < set(part.tolist())

    @pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
    def test_others_are_seen_as_new_ones_are(self, features, monkeypatch):
        monkeypatch.setattr(limits, "GATHERED", 4 * SIZE)
        data = self.read(NAMES)
        part = even_part(data, 4 * SIZE)
        with pytest.warns(DataWarning, match=r"fitted on 4 of 6 recordings.* 25.6 kB.*give arrays"):
            inputs, seen = Inputs.fit(features, None, data)
        others = sorted({*range(6)} - {*part.tolist()})
        for i, sample in zip(others, inputs.seen(data.at(others)).samples, strict=True):
            np.testing.assert_array_equal(seen.samples[i].X, sample.X)
        alone, of_part = Inputs.fit(
            features,
            None,
            read_training(MetricLearner(), [XS[i] for i in part], [NAMES[i] for i in part]),
        )
        for i, sample in zip(part, of_part.samples, strict=True):
            np.testing.assert_array_equal(seen.samples[i].X, sample.X)
        assert alone.made == inputs.made

    def test_errors_say_whom_their_numbers_are_of(self, monkeypatch):
        monkeypatch.setattr(limits, "GATHERED", 2 * SIZE)
        names = [np.where(np.arange(y.size) < 100, f"alone {i}", y) for i, y in enumerate(NAMES)]
        with (
            pytest.warns(DataWarning, match="fitted on 2 of 6"),
            pytest.raises(
                DataError, match=r"only in recording 1.*among 2 of 6 recordings, .*: \d, \d;"
            ),
        ):
            learner_of(LOGISTIC).fit(Sequence(XS), names)


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
        data = read_training(MetricLearner(), Sequence(Xs), ys, groups=groups)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # of the part, and of constant features
            inputs, seen = Inputs.fit(features, None, data)
        found[kind] = [sample.X[:, 4:] for sample in seen.samples]
    assert not any(map(np.any, found["honest"])), "a spy is sure of nothing but what it has seen"
    assert any(map(np.any, found["leaking"]))
    assert all(np.any(sample.X[:, 4:]) for sample in inputs(data.samples))


LARGE = [np.repeat(X, 20, axis=0) for X in XS]


def peak_of(n):
    """The most memory of features and a classifier of so many recordings, in bytes."""

    class Made(Sequence):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return LARGE[i % 6].copy()

    data = read_training(MetricLearner(), Made(()), [np.repeat(NAMES[i % 6], 20) for i in range(n)])
    baseline = Baseline("frame", FrameClassifier("logistic", Columns(), n_folds=2, prices=[3.0]))
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of the part
        Inputs.fit(Chain(Lags((0, 1)), Components(4)), "training", data)
        ask(fit_baseline(baseline, data), "predict", data.samples, None)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_does_not_grow_with_the_recordings(monkeypatch):
    """But for what is answered of each, which takes few bytes beside its values."""
    monkeypatch.setattr(limits, "KEPT", 1)
    monkeypatch.setattr(limits, "GATHERED", 4 * LARGE[0].nbytes)
    _, few, many = (peak_of(n) for n in (5, 10, 30))  # the first one imports
    assert many - few < 20 * LARGE[0].nbytes / 2


def test_models_and_what_is_sent_hold_no_data(tmp_path):
    features = Union(Lags((-1, 0)), LOGISTIC, Chain(Components(2), Lags((0,))))
    learner = learner_of(features).fit(Sequence(XS), NAMES, groups=PEOPLE)
    expected = learner.predict_breakpoints(XS)
    structsvm.save(learner, tmp_path / "m.structsvm")
    again = structsvm.load(tmp_path / "m.structsvm")
    assert again.predict_breakpoints(Sequence(XS)) == expected
    assert again.predict_segments(Sequence(XS)) == learner.predict_segments(XS)
    assert pickle.loads(pickle.dumps(learner)).predict_breakpoints(XS) == expected
    data = Inputs.fit(features, None, read_training(learner, Sequence(XS), NAMES))[1]
    sent = [pickle.loads(pickle.dumps(sample.data)) for sample in data.samples]
    for X, sample in zip(sent, data.samples, strict=True):
        np.testing.assert_array_equal(X.read(), sample.X)


def test_a_run_is_resumed(tmp_path):
    """If features are learned alike, by whatever workers, and not if they are not."""
    features, state = StateScores("boosting", lags=(-1, 0)), tmp_path / "state.npz"
    short = CuttingPlane(Stopping(1e-4, 2))
    with pytest.warns(match="max_iter"):
        learner_of(features, solver=short).fit(Sequence(XS), NAMES, resume=state)
    usual = CuttingPlane(Stopping(1e-4))
    learner = learner_of(features, solver=usual, n_jobs=2, backend="threads")
    learner.fit(Sequence(XS), NAMES, resume=state)
    assert same(learner, learner_of(features, solver=usual).fit(XS, NAMES))
    other = learner_of(StateScores("boosting", lags=(-2, 0)), solver=usual)
    with pytest.raises(CheckpointError):
        other.fit(Sequence(XS), NAMES, resume=state)


class Scaled(RecordingTransformer):
    """A transformer of a user, which learns by ``fit`` alone."""

    def fit(self, Xs, ys=None, groups=None):
        self.scale_ = np.vstack(Xs).std(axis=0)
        return self

    def transform(self, Xs):
        return [X / self.scale_ for X in Xs]

    def get_feature_names_out(self, input_features=None):
        return np.asarray(input_features, dtype=object)


class Own(Scaled):
    """One that has a way of its own with what it learns from."""

    def fit_transform(self, Xs, ys=None, groups=None):
        return [X / X.std(axis=0) for X in Xs]
