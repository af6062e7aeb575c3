"""The consensus of estimators: exact, named, and an estimator like others."""

import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from structsvm import EquivalenceMatrix, MetricLearner, MetricLearnerCV, evaluate, load, save
from structsvm.baselines import BoundaryClassifier, Consensus, EqualSegments, FrameClassifier
from structsvm.baselines.consensus import nearest_segmentation
from structsvm.errors import DataError, DataWarning, SettingsError, VerdictWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.evaluation.verdict import Verdict
from structsvm.features import Lags
from structsvm.learner.baselines import partition_with
from structsvm.learner.steps import encode
from structsvm.model_selection.search import ChosenBaseline
from structsvm.partitions import Baseline, Candidate
from structsvm.partitions.losses import partition_loss
from structsvm.problems import Clustering

NAMES = np.array(["sit", "walk", "turn"])


def members() -> list[tuple[str, object]]:
    return [
        ("metric", MetricLearner(metric="diagonal")),
        ("frames", FrameClassifier("logistic")),
        ("edges", BoundaryClassifier("logistic", widths=(5,))),
    ]


@pytest.fixture(scope="module")
def data():
    """Five stretches of one of three states, which differ in their means."""
    rng = np.random.default_rng(0)
    states = [np.repeat(rng.permutation([0, 1, 2, 0, 1]), 16) for _ in range(6)]
    means = 4.0 * np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    return [means[y] + rng.standard_normal((80, 4)) for y in states], [NAMES[y] for y in states]


@pytest.fixture(scope="module")
def fitted(data):
    Xs, ys = data
    return Consensus(members()).fit(Xs[:5], ys[:5])


def losses(guess: list[int], ends: list[list[int]], weights: np.ndarray) -> float:
    to = EquivalenceMatrix.from_breakpoints
    return sum(w * partition_loss(to(guess), to(e)) for w, e in zip(weights, ends, strict=True))


@pytest.mark.parametrize("known", [False, True])
def test_no_segmentation_is_nearer(known: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        T = int(rng.integers(1, 9))
        weights = rng.uniform(0.3, 2.0, int(rng.integers(1, 4)))
        sizes = rng.integers(1, T + 1, weights.size)
        if known:
            sizes[:] = sizes[0]
        inner = [rng.choice(np.arange(1, T), K - 1, replace=False) for K in sizes]
        ends = [[*sorted(found.tolist()), T] for found in inner]
        found = nearest_segmentation(ends, weights, int(sizes[0]) if known else None)
        every = (
            [*changes, T]
            for K in ([sizes[0]] if known else range(1, T + 1))
            for changes in itertools.combinations(range(1, T), K - 1)
        )
        least = min(losses(guess, ends, weights) for guess in every)
        assert losses(found, ends, weights) == pytest.approx(least, abs=1e-9)


def test_what_two_of_three_see_is_kept() -> None:
    ends = [[30, 60, 100], [31, 100], [30, 61, 100]]
    assert nearest_segmentation(ends, np.ones(3)) == [30, 60, 100]
    assert nearest_segmentation(ends, np.array([1.0, 9.0, 1.0])) == [31, 100]


def test_it_segments_and_names(data, fitted) -> None:
    Xs, ys = data
    (ends,), (states,), (numbers,) = (
        ask(Xs[5:]) for ask in (fitted.predict_breakpoints, fitted.predict_states, fitted.predict)
    )
    each = [member.predict_breakpoints(Xs[5:])[0] for member in fitted.estimators_.values()]
    assert ends == nearest_segmentation(each, np.ones(3))
    assert numbers.max() + 1 == len(ends)
    assert set(states.tolist()) <= set(fitted.classes_.tolist()) == set(NAMES.tolist())
    assert all(len(set(part.tolist())) == 1 for part in np.split(states, ends[:-1]))
    assert (states == ys[5]).mean() > 0.8
    assert [len(ends) for ends in fitted.predict_breakpoints(Xs[4:], [3, 5])] == [
        3,
        5,
    ]


class Sure(EqualSegments):
    """Two segments, whose names it says with these probabilities at each sample."""

    def __init__(self, p=()):
        self.p = p

    def fit(self, Xs, ys, groups=None):
        self.classes_ = np.array(["a", "b", "c"])
        return self

    def predict_breakpoints(self, Xs, n_clusters=None):
        return [[2, 4] for _ in Xs]

    def predict_proba(self, Xs):
        return [np.repeat(np.array(self.p, dtype=float), 2, axis=0) for _ in Xs]

    def predict_states(self, Xs, n_clusters=None):
        return [self.classes_[p.argmax(axis=1)] for p in self.predict_proba(Xs)]


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        # One is sure of b, and the other hardly prefers a.
        ([[0.4, 0.3, 0.3], [0, 0, 1]], [[0.1, 0.9, 0], [0, 0, 1]], "bbcc"),
        # A change between them was found, and both segments are probably a.
        ([[0.9, 0.1, 0], [0.6, 0, 0.4]], [[0.9, 0.1, 0], [0.6, 0, 0.4]], "aaaa"),
    ],
)
def test_each_segment_has_the_name_that_is_most_probable_in_it(first, second, named) -> None:
    found = Consensus([("one", Sure(first)), ("other", Sure(second))]).fit([], [])
    assert "".join(found.predict_states([np.zeros((4, 1))])[0]) == named


def test_without_names_there_are_no_states(data) -> None:
    Xs, _ = data
    found = Consensus([("equal", EqualSegments())]).fit(Xs, [[40, 80]] * len(Xs))
    assert found.classes_ is None
    with pytest.raises(SettingsError, match="names states: add a FrameClassifier"):
        found.predict_states(Xs)
    assert found.predict_breakpoints([np.zeros((1, 4))]) == [[1]]


JOINT = Candidate("consensus", joins=(("frames",), ("absent", "edges")))


def search_of(*more: Candidate, **settings) -> MetricLearnerCV:
    baselines = [Candidate(name, baseline=Baseline(name, model)) for name, model in members()[1:]]
    settings = {"cv": 2, "lams": (0.1, 1.0), "random_state": 0} | settings
    return MetricLearnerCV(candidates=[*more, "untrained", "diagonal", *baselines], **settings)


@pytest.fixture(scope="module")
def noisy():
    """Two of eight features differ between states, so little that each of the three errs."""
    rng = np.random.default_rng(13)
    states = [np.repeat(rng.permutation([0, 1, 2, 0, 1]), 16) for _ in range(10)]
    means = 1.6 * np.array([[0, 0], [1, 0], [0, 1]])
    Xs = [np.c_[means[y], np.zeros((80, 6))] + rng.standard_normal((80, 8)) for y in states]
    return Xs, [NAMES[y] for y in states]


@pytest.fixture(scope="module")
def search(noisy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        return search_of(JOINT).fit(*noisy)


def breakpoints_of(partitions) -> list[list[int]]:
    return [M.breakpoints for M in partitions]


def by_hand(model: MetricLearner, Xs, counts=None) -> list[list[int]]:
    """The consensus of the segmentations in a metric and of its two classifiers."""
    found = [model.predict_breakpoints(Xs, counts)]
    found += [breakpoints_of(partition_with(model, n, Xs, counts)) for n in ("frames", "edges")]
    Ks = [None] * len(Xs) if counts is None else counts
    return [
        nearest_segmentation(e, np.ones(3), K)
        for e, K in zip(zip(*found, strict=True), Ks, strict=True)
    ]


def test_a_search_chooses_the_consensus_of_what_it_has_learned(noisy, search) -> None:
    Xs = noisy[0]
    assert search.best_candidate_ == "consensus"
    assert search.best_estimator_.consensus_ == ("frames", "edges")
    best = ChosenBaseline(search.best_estimator_, "consensus")
    for counts in (None, [3, 4, 5, 6, 5, 5, 4, 2, 1, 5]):
        found = best.predict_breakpoints(Xs, counts)
        assert found == by_hand(search.best_estimator_, Xs, counts)
    assert found != search.predict_breakpoints(Xs, counts)
    named = best.predict_states(Xs)
    assert np.mean(np.concatenate(named) == np.concatenate(noisy[1])) > 0.8
    (table,) = best.predict_segments(Xs[:1])
    ends = best.predict_breakpoints(Xs[:1])[0]
    assert [row["end"] for row in table] == ends
    assert [row["state"] for row in table] == named[0][np.array(ends) - 1].tolist()


@pytest.fixture(scope="module")
def wide(noisy):
    """A search whose consensus joins a metric of another kind, on lags, beside the best."""
    lags = {"metric": "diagonal", "features": Lags(lags=(-1, 0, 1))}
    joint = replace(JOINT, joins_metrics=(("diagonal",), ("lags",), ("absent",)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        return search_of(joint, Candidate("lags", settings=lags)).fit(*noisy)


@pytest.mark.filterwarnings("ignore:the model was learned from 10")
def test_it_joins_a_metric_of_each_kind(noisy, wide, tmp_path) -> None:
    Xs, ys = noisy
    assert wide.best_candidate_ == "consensus"
    (other,) = {"diagonal", "lags"} - {wide.best_learned_}
    assert list(wide.best_estimator_.metrics_beside_) == [other]
    settings = {c.name: c.settings for c in wide.candidates_}[other]
    lams = [c.lam for c in wide.candidates_ if c.name == other]
    save(wide.best_estimator_, tmp_path / "m.structsvm")
    loaded = load(tmp_path / "m.structsvm")
    for counts in (None, [3, 4, 5, 6, 5, 5, 4, 2, 1, 5]):
        Ks = [None] * len(Xs) if counts is None else counts
        first = wide.predict_breakpoints(Xs, counts)
        model = wide.best_estimator_
        baselines = [breakpoints_of(partition_with(model, n, Xs, counts)) for n in model.consensus_]
        possible = []
        for lam in lams:
            learner = MetricLearner(lam=lam, **settings)
            groups = wide.fold_.tolist()
            beside = learner.fit(Xs, ys, groups=groups).predict_breakpoints(Xs, counts)
            ends = zip(first, beside, *baselines, strict=True)
            pairs = zip(ends, Ks, strict=True)
            possible.append([nearest_segmentation(e, np.ones(4), K) for e, K in pairs])
        found = ChosenBaseline(model, "consensus").predict_breakpoints(Xs, counts)
        assert found in possible
        assert found == breakpoints_of(partition_with(loaded, "consensus", Xs, counts))
    pairs = zip(encode(loaded, Xs, ys), partition_with(loaded, "consensus", Xs), strict=True)
    mean_loss = np.mean([partition_loss(truth, M) for truth, M in pairs])
    assert evaluate(loaded, Xs, ys).scores["consensus"]["loss"] == pytest.approx(mean_loss)


def test_held_out_it_joins_what_the_other_fold_chooses(noisy, search) -> None:
    Xs, ys = noisy
    column = [c.name for c in search.candidates_].index("consensus")
    lams = [c.lam for c in search.candidates_ if c.is_learned]
    for k in (0, 1):
        held_out, others = np.flatnonzero(search.fold_ == k), np.flatnonzero(search.fold_ != k)
        learn = [Xs[i] for i in others], [ys[i] for i in others]
        possible = []
        for lam in lams:
            model = MetricLearner(metric="diagonal", whiten=None, lam=lam).fit(*learn)
            for name, baseline in members()[1:]:
                model.baselines_[name] = clone(baseline).fit(*learn)
            guesses = by_hand(model, [Xs[i] for i in held_out])
            to = EquivalenceMatrix.from_breakpoints
            truths = encode(model, [Xs[i] for i in held_out], [ys[i] for i in held_out])
            pairs = zip(truths, guesses, strict=True)
            possible.append([partition_loss(truth, to(ends)) for truth, ends in pairs])
        losses_of_fold = search.losses_[held_out, column]
        assert any(np.allclose(losses_of_fold, found) for found in possible)


def test_the_verdict_says_to_use_it(search) -> None:
    verdict = search.verdict_
    assert verdict.code == "blind"  # ten recordings, of which segments of equal length say as much
    assert "consensus" in verdict.contrasts
    assert "choose_from='all'" in str(verdict)
    gains = {"untrained": 2.0, "frames": 0.1, "consensus": -0.5}
    noise, units = np.tile([0.3, -0.3], 5), np.arange(10)
    contrasts = {name: Contrast.of(name, gain + noise, units) for name, gain in gains.items()}
    better = Verdict.against(contrasts, {"frames"}, loss=1.0, best="consensus")
    assert (better.pays, better.use, better.baseline.baseline) == (True, "consensus", "frames")
    assert str(better).count("use the consensus") == 1
    assert "choose_from='all'" in str(better)


@pytest.mark.filterwarnings("ignore:the model was learned from 10")
def test_it_is_stored_and_compared(noisy, search, tmp_path) -> None:
    Xs, ys = noisy
    save(search.best_estimator_, tmp_path / "m.structsvm")
    best = ChosenBaseline(search.best_estimator_, "consensus")
    pickled = pickle.loads(pickle.dumps(search)).best_estimator_
    for model in (load(tmp_path / "m.structsvm"), pickled):
        assert model.consensus_ == ("frames", "edges")
        found = breakpoints_of(partition_with(model, "consensus", Xs))
        assert found == best.predict_breakpoints(Xs)
        found_by_all = evaluate(model, Xs, ys)
        scores = found_by_all.scores
        assert next(iter(found_by_all.confusion)) == "consensus"
        assert list(scores)[-1] == "consensus"
        truths = encode(model, Xs, ys)
        to = EquivalenceMatrix.from_breakpoints
        losses_found = [partition_loss(t, to(e)) for t, e in zip(truths, found, strict=True)]
        assert scores["consensus"]["loss"] == pytest.approx(np.mean(losses_found))
        assert scores["consensus"]["accuracy"] > 0.8


class FailsOnce(FrameClassifier):
    """A classifier that cannot learn where the recording with the largest value is held out."""

    def fit(self, Xs, ys, groups=None):
        if max(float(X.max()) for X in Xs) < 50:
            raise DataError("a recording is missing")
        return super().fit(Xs, ys, groups)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_what_cannot_learn_in_one_fold_is_joined_in_none(noisy) -> None:
    Xs, ys = [X.copy() for X in noisy[0]], noisy[1]
    Xs[0][0, 0] = 60.0
    once = Candidate("once", baseline=Baseline("once", FailsOnce("logistic")))
    search = search_of(Candidate("consensus", joins=(("once",), ("edges",))), once, cv=3)
    with pytest.warns(DataWarning, match="once is not compared"):
        search.fit(Xs, ys)
    assert search.best_estimator_.consensus_ == ()
    again = search_of(Candidate("consensus", joins=(("once", "frames"), ("edges",))), once, cv=3)
    with pytest.warns(DataWarning, match="once is not compared"):
        again.choose(Xs, ys)
    results = again.cv_results_
    assert results["failure"][results["candidate"].index("consensus")] == ""


def test_tables_have_none() -> None:
    rng = np.random.default_rng(0)
    search = MetricLearnerCV(Clustering(), candidates=["untrained", "diagonal", JOINT], cv=2)
    with pytest.raises(SettingsError, match="leave it out"):
        search.fit(list(rng.standard_normal((4, 12, 2))), [np.repeat([0, 1], 6)] * 4)
