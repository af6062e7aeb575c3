"""What several ask for is done once: checks, scaling, classifiers, counts of segments, forms."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from cut_cases import planted
from recording_cases import NAMES, recordings, recordings_of_states

from structsvm import (
    ChangePoint,
    Clustering,
    EquivalenceMatrix,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
)
from structsvm import evaluate as evaluated
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.data import samples as doors
from structsvm.data.samples import Standardizer
from structsvm.datasets import relevant_changes
from structsvm.features import Chain, Components, Lags, StateScores, Union
from structsvm.features.frames import FrameRecipe, learning_once
from structsvm.io import arrays_and_labels
from structsvm.learner.steps import prepare
from structsvm.oracles import ExhaustiveOracle, SequentialOracle
from structsvm.partitions import Baseline, Candidate, Constraint, Quality, TraceObjective
from structsvm.partitions.comparison import BLIND
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.problems import normalized_cut
from structsvm.regularizers import SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.support.progress import watching
from structsvm.weights import Free

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
LAGS = Lags((-1, 0, 1))


def counted(monkeypatch, owner, name, entries=lambda *given: [given]):
    """A list that gets an entry for each call of a function or method from now on."""
    calls, original = [], getattr(owner, name)

    def counting(*given, **named):
        before = len(calls)
        found = original(*given, **named)
        calls[before:] = entries(*given)
        return found

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.fixture
def scaled(monkeypatch):
    """The shape of each array that is standardised, alone or together with others."""
    calls = counted(
        monkeypatch, Standardizer, "__call__", lambda self, X: [X.shape] if self.kind else []
    )
    together = Standardizer.of_stack

    def counting(self, Xs):
        before, shapes = len(calls), [X.shape for X in Xs.arrays()]
        found = together(self, Xs)
        calls[before:] = shapes if self.kind else []
        return found

    monkeypatch.setattr(Standardizer, "of_stack", counting)
    return calls


# ---- arrays


@pytest.mark.parametrize("problem", [ChangePoint(), Clustering()], ids=["changes", "clusters"])
def test_each_array_is_checked_and_standardised_once(problem, scaled, monkeypatch):
    """In learning with all metrics; and in an evaluation, of all metrics together."""
    Xs, ys = recordings()
    if isinstance(problem, Clustering):
        Xs, ys = Xs[:3], [y % 3 for y in ys[:3]]
    checked = counted(monkeypatch, doors, "as_floats")
    learner = MetricLearner(problem, metric="diagonal").fit(Xs, ys, baselines=["pca", "rca"])
    assert (len(checked), len(scaled)) == (len(Xs), len(Xs))
    checked.clear()
    scaled.clear()
    others = [X + 1e-3 for X in Xs]
    samples = prepare(learner, others)
    found = evaluated(learner, samples, ys)
    assert found.scores.keys() - BLIND == {"learned", "untrained", "pca", "rca"}
    assert learner.predict(samples)[0].shape == (60,)
    assert (len(checked), len(scaled)) == (len(Xs), len(Xs))
    scores = evaluated(learner, others, ys).scores
    assert {name: scores[name] for name in found.scores} == found.scores


def test_graphs_are_made_once(monkeypatch):
    graphs, labels = planted(np.random.default_rng(1), n=4)
    pairs = [(1.0 - np.eye(g.n_samples), g.X) for g in graphs]
    made = counted(monkeypatch, normalized_cut, "as_graph")
    learner = MetricLearner(NormalizedCut()).fit(pairs, labels, baselines="quick")
    assert len(made) == 4
    samples = prepare(learner, pairs)
    evaluated(learner, samples, labels)
    learner.predict(samples)
    assert len(made) == 8


@pytest.mark.parametrize(
    ("kind", "features"),
    [("recording", LAGS), ("training", LAGS), ("auto", Chain(LAGS, Components(2)))],
    ids=["lags", "lags scaled together", "components of lags"],
)
def test_choosing_scales_each_recording_once_in_each_fold_and_once_more(scaled, kind, features):
    """For a choice of features, whatever is tried with them."""
    T, N, folds = 200, 6, 3
    Xs, ys = arrays_and_labels(
        relevant_changes(N, n_samples=T, n_features=3, n_relevant=2, random_state=0)
    )
    lagged = [
        Candidate(f"lagged {metric}", settings={"metric": metric, "features": features})
        for metric in ("diagonal", "full")
    ]
    search = MetricLearnerCV(
        candidates=["untrained", "pca", "rca", "diagonal", "full", *lagged],
        lams=(0.1, 1.0),
        cv=folds,
        random_state=0,
        standardize=kind,
    )
    learner = search.choose(Xs, ys)
    seen = {(T, 3): folds * N, (T, 9): folds * N}
    assert Counter(scaled) == Counter(seen)
    learner.fit(Xs, ys, baselines=["pca", "rca"])
    seen[T, 3 if learner.features is None else 9] += N
    assert Counter(scaled) == Counter(seen)


# ---- classifiers


def labelled(n):
    return recordings_of_states(n, np.random.default_rng(0), 0.8), [NAMES] * n


def lags_and_scores():
    return Union(LAGS, StateScores("logistic", lags=(-1, 0, 1)))


@pytest.fixture
def fits(monkeypatch):
    """One for each classifier of samples that is learned."""
    return counted(monkeypatch, FrameRecipe, "_fit")


def test_scores_and_the_frame_classifier_share_their_classifiers(fits):
    def search(*candidates):
        settings = {"candidates": ["untrained", *candidates], "lams": (0.1,), "cv": 3}
        return MetricLearnerCV(**settings, random_state=0).fit(*labelled(8))

    scores, again = (
        Candidate(name, settings={"metric": "diagonal", "features": lags_and_scores()})
        for name in ("scores", "again")
    )
    frames = Candidate("frames", baseline=Baseline("frames", FrameClassifier("logistic", LAGS)))
    alone = search(scores)
    n_alone = len(fits)
    assert n_alone == 3 + 3 + 1  # for each pair of folds, for each fold, and for all recordings
    fits.clear()
    together = search(scores, again, frames)
    assert len(fits) == n_alone
    names = [candidate.name for candidate in together.candidates_]
    assert np.array_equal(together.losses_[:, names.index("scores")], alone.losses_[:, -1])


def test_other_labels_samples_or_settings_are_learned_anew(fits):
    (Xs, ys), one = labelled(4), ["one"] * 4  # of one person: one classifier
    scores = StateScores("logistic", lags=(-1, 0, 1))
    with learning_once():
        for _ in range(2):
            scores.fit(Xs, ys, one)
            assert len(fits) == 1
        StateScores("logistic", lags=(0,)).fit(Xs, ys, one)
        scores.fit(Xs[:3], ys[:3], one[:3])
        scores.fit(Xs, [NAMES[::-1]] * 4, one)
        assert len(fits) == 4


@pytest.mark.parametrize("kind", [FrameClassifier, BoundaryClassifier])
def test_what_the_classifiers_of_all_folds_see_is_made_once(monkeypatch, kind):
    made = counted(monkeypatch, Lags, "transform", lambda self, Xs: list(Xs))
    Xs, ys = labelled(6)
    baseline = kind("logistic").fit(Xs, ys)
    assert len(made) == 6
    baseline.predict(Xs[:2])  # by the mean of six classifiers
    assert len(made) == 8


# ---- rounds of learning


@dataclass(frozen=True)
class Classes(Problem):
    """The class of a vector of four features, with a weight for each of three classes."""

    def weight_space(self):
        return Free(12)

    def joint_feature(self, x, y):
        return np.kron(np.eye(3)[y], x)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def separate(self, w, x, y):
        scores = w.reshape(3, 4) @ x + (np.arange(3) != y)
        return Separation(int(scores.argmax()), 0.0, Quality.EXACT)

    def predict(self, w, x):
        return int((w.reshape(3, 4) @ x).argmax())


def test_a_form_is_asked_for_once_and_rounds_are_described_to_those_who_watch(monkeypatch):
    rng = np.random.default_rng(0)
    xs, ys = list(rng.standard_normal((6, 4))), rng.integers(3, size=6).tolist()
    risk = RegularizedRisk(Classes(), xs, ys, SquaredNorm(0.01), np.full(6, 1 / 6), np.zeros(12))
    forms = counted(monkeypatch, SquaredNorm, "as_quadratic")
    described, told = counted(monkeypatch, Stopping, "part"), []
    solver = CuttingPlane(Stopping(1e-7))
    assert solver.solve(risk).n_iter > 2
    assert (len(forms), len(described)) == (1, 0)
    with watching(lambda words, part: told.append((words, part))):
        solution = solver.solve(risk)
    assert len(told) == len(described) == solution.n_iter


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
def test_every_number_of_parts_has_the_answer_that_it_has_alone(pruning, T, rank):
    rng, oracle = np.random.default_rng(T + rank), SequentialOracle(pruning=pruning)
    Z = rng.standard_normal((T, rank)) + np.repeat(3 * rng.standard_normal((T, rank)), 5, 0)[:T]
    assert together(oracle, Z, T) == alone(oracle, Z, T)


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_ties_are_broken_as_for_one_number_alone(pruning, seed):
    """Steps of whole numbers that come back have many best segmentations."""
    rng, oracle = np.random.default_rng(seed), SequentialOracle(pruning=pruning)
    Z = np.repeat(rng.integers(0, 2, (8, 2)), 4, axis=0).astype(float)
    expected = alone(oracle, Z, 12)
    for same in (Z, np.asfortranarray(Z), Z.astype(np.float32)):
        assert together(oracle, same, 12) == expected
    assert together(oracle, Z, 30)[:12] == expected


@pytest.mark.parametrize("r", [0, 2])
@pytest.mark.parametrize("shift", [-1.0, 0.0, 0.2, 0.9])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_in_the_null_metric_many_recordings_are_answered_as_each_of_them(r, shift, weight):
    truths = map(EquivalenceMatrix.from_breakpoints, ([7], [3, 7], [1, 2, 7], [2, 5, 7]))
    objectives = [TraceObjective(np.zeros((7, r)), truth, weight, shift) for truth in truths]
    answers = SequentialOracle().maximize_all(objectives)
    for objective, answer in zip(objectives, answers, strict=True):
        best = ExhaustiveOracle(contiguous=True).maximize(objective)
        assert answer == SequentialOracle().maximize(objective)
        assert answer.upper_bound == answer.value == pytest.approx(best.value, abs=1e-12)
        assert answer.value == pytest.approx(objective.value(answer.y), abs=1e-12)
