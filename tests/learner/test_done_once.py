"""Work that several steps share is done once: checks, scaling, classifiers, searches."""

import numpy as np
import pytest
from cases import cases
from cut_cases import planted
from recording_cases import NAMES, recordings, recordings_of_states
from sklearn.base import clone

from structsvm import Clustering, DataError, MetricLearner, MetricLearnerCV, NormalizedCut
from structsvm import evaluate as evaluated
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.features import Lags, StateScores, Union
from structsvm.features.frames import FrameModel, learning_once
from structsvm.learner import Method, preparing
from structsvm.learner.form import Form, is_prepared
from structsvm.learner.preparing import prepare, read_training
from structsvm.oracles import SequentialOracle
from structsvm.partitions import Constraint, TraceObjective
from structsvm.problems import normalized_cut

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
LAGS = Lags((-1, 0, 1))


def counted(monkeypatch, owner, name, entries=lambda *given: [given]):
    """A list that gets an entry for each call of a function or method from now on."""
    calls = []
    original = getattr(owner, name)

    def counting(*given, **named):
        before = len(calls)
        found = original(*given, **named)
        calls[before:] = entries(*given)
        return found

    monkeypatch.setattr(owner, name, counting)
    return calls


# ---- arrays


def test_fit_and_predict_convert_each_graph_once(monkeypatch):
    graphs, labels = planted(np.random.default_rng(1), n=4)
    pairs = [(1.0 - np.eye(g.n_samples), g.X) for g in graphs]
    made = counted(monkeypatch, normalized_cut, "as_graph")
    learner = MetricLearner(NormalizedCut()).fit(pairs, labels, baselines="quick")
    assert len(made) == 4
    instances = prepare(learner, pairs)
    learner.predict(instances)
    assert len(made) == 8
    evaluated(learner, [(W, X + 1e-3) for W, X in pairs], labels)
    assert len(made) == 12


@pytest.mark.parametrize("learner", [MetricLearner(), FrameClassifier("lda")])
@pytest.mark.parametrize(
    "question",
    [
        lambda learner, Xs: learner.predict(Xs),
        lambda learner, Xs: learner.predict_breakpoints(Xs),
        lambda learner, Xs: learner.predict_segments(Xs),
        lambda learner, Xs: learner.score(Xs, [NAMES] * len(Xs)),
        lambda learner, Xs: evaluated(learner, Xs, [NAMES] * len(Xs)),
    ],
)
def test_fit_reads_each_recording_once(monkeypatch, learner, question):
    Xs = recordings_of_states(4, np.random.default_rng(0))
    fitted = clone(learner).fit(Xs, [NAMES] * len(Xs))
    read = counted(monkeypatch, preparing, "read_instances")
    apart = counted(monkeypatch, Form, "of", lambda Xs, *_: [] if is_prepared(Xs) else [Xs])
    question(fitted, [X + 1e-3 for X in Xs])
    assert len(read) == 1
    assert len(apart) == 1


# ---- samples and labels are read once: what fit and its relatives take in place of both


def test_fit_and_search_take_a_training_set():
    Xs, ys = recordings()
    learner = MetricLearner(metric="diagonal")
    weights = np.arange(1.0, 9.0)
    names = list("abcd")
    given = {"sample_weight": weights, "feature_names": names}
    read = read_training(learner, Xs, ys, **given)
    assert (len(read), read.n_features, read.names) == (8, 4, names)
    expected = clone(learner).fit(Xs, ys, **given)
    assert np.array_equal(learner.fit(read).metric_.factor, expected.metric_.factor)
    assert learner.training_data_ == expected.training_data_
    assert learner.feature_names_in_.tolist() == names
    search = MetricLearnerCV(
        candidates=("untrained", "diagonal"), lams=(0.2,), cv=2, random_state=0
    )
    read = read_training(learner, Xs, ys)
    assert np.array_equal(search.fit(read).losses_, clone(search).fit(Xs, ys).losses_)
    some = [np.where(np.arange(60) < 40, y, -1) for y in ys]
    again = clone(learner).fit(read_training(learner, Xs, some))
    assert again.metric_.price == clone(learner).fit(Xs, some).metric_.price


def test_a_training_set_is_refused_with_labels_or_another_problem():
    Xs, ys = recordings()
    read = read_training(MetricLearner(), Xs, ys)
    for more in ({"y": ys}, {"sample_weight": np.ones(8)}, {"groups": list(range(8))}):
        for estimator in (MetricLearner(), MetricLearnerCV()):
            with pytest.raises(DataError, match=f"a TrainingSet holds {next(iter(more))} already"):
                estimator.fit(read, **more)
    with pytest.raises(DataError, match="read for ChangePoint, and this learner is for Clustering"):
        MetricLearner(Clustering()).fit(read)


# ---- classifiers


def labelled(n):
    return recordings_of_states(n, np.random.default_rng(0), 0.8), [NAMES] * n


def lags_and_scores():
    return Union(LAGS, StateScores("logistic", lags=(-1, 0, 1)))


@pytest.fixture
def fits(monkeypatch):
    """One for each classifier of samples that is learned."""
    return counted(monkeypatch, FrameModel, "__init__")


def test_scores_and_the_frame_classifier_share_their_classifiers(fits):
    def search(*candidates):
        settings = {"candidates": [*candidates, "untrained"], "lams": (0.1,), "cv": 3}
        return MetricLearnerCV(**settings, random_state=0).fit(*labelled(8))

    scores, again = (
        Method(name, MetricLearner(metric="diagonal", features=lags_and_scores()))
        for name in ("scores", "again")
    )
    frames = Method("frames", FrameClassifier("logistic", LAGS))
    alone = search(scores)
    n_alone = len(fits)
    assert n_alone == 3 + 3 + 1  # for each pair of folds, for each fold, and for all recordings
    fits.clear()
    together = search(scores, again, frames)
    assert len(fits) == n_alone
    names = [candidate.name for candidate in together.candidates_]
    assert np.array_equal(together.losses_[:, names.index("scores")], alone.losses_[:, 0])


def test_classifiers_of_other_labels_samples_or_settings_are_learned_anew(fits):
    # of one person: one classifier
    (Xs, ys) = labelled(4)
    one = ["one"] * 4
    scores = StateScores("logistic", lags=(-1, 0, 1))
    with learning_once():
        for _ in range(2):
            scores.fit(Xs, ys, one)
            assert len(fits) == 1
        StateScores("logistic", lags=(0,)).fit(Xs, ys, one)
        scores.fit(Xs[:3], ys[:3], one[:3])
        scores.fit(Xs, [NAMES[::-1]] * 4, one)
        assert len(fits) == 4


@cases((FrameClassifier, {"features": Lags()}), (BoundaryClassifier, {}))
def test_features_of_all_folds_are_computed_once(monkeypatch, kind, settings):
    made = counted(monkeypatch, Lags, "transform", lambda self, Xs: list(Xs))
    Xs, ys = labelled(6)
    baseline = kind("logistic", **settings).fit(Xs, ys)
    assert len(made) == 6
    baseline.predict(Xs[:2])  # by the mean of six classifiers
    assert len(made) == 8


# ---- every number of segments, from one dynamic program


def alone(oracle, Z, most):
    """The answer for each number of parts, asked for one after the other."""
    questions = (Constraint(n_clusters=K) for K in range(1, most + 1))
    return [oracle.ask(TraceObjective(Z), question).y.breakpoints for question in questions]


def together(oracle, Z, most):
    return [M.breakpoints for M in oracle.count_path(Z, most)]


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize("rank", [0, 1, 3, 17])
@pytest.mark.parametrize("T", [1, 2, 7, 15, 16, 17, 33, 70])
def test_searches_for_all_numbers_of_parts_agree_with_single_ones(pruning, T, rank):
    rng = np.random.default_rng(T + rank)
    oracle = SequentialOracle(pruning=pruning)
    Z = rng.standard_normal((T, rank)) + np.repeat(3 * rng.standard_normal((T, rank)), 5, 0)[:T]
    assert together(oracle, Z, T) == alone(oracle, Z, T)


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_searches_for_all_numbers_of_parts_break_ties_like_single_ones(pruning, seed):
    """Steps of whole numbers that come back have many best segmentations."""
    rng = np.random.default_rng(seed)
    oracle = SequentialOracle(pruning=pruning)
    Z = np.repeat(rng.integers(0, 2, (8, 2)), 4, axis=0).astype(float)
    expected = alone(oracle, Z, 12)
    for same in (Z, np.asfortranarray(Z), Z.astype(np.float32)):
        assert together(oracle, same, 12) == expected
    assert together(oracle, Z, 30)[:12] == expected
