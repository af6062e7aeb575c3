"""What model selection tries on recordings: context, state scores and classifiers."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from recording_cases import NAMES, recordings_of_states
from sklearn.linear_model import LogisticRegression

from structsvm import MetricLearner, MetricLearnerCV
from structsvm.baselines import EqualSegments
from structsvm.errors import DataWarning, LearningError, VerdictWarning
from structsvm.features import Lags, StateScores, Union
from structsvm.features.context import Columns
from structsvm.learner import Method, TrainingSet
from structsvm.model_selection.recordings import Recordings
from structsvm.problems import ChangePoint

TUNED = ("untrained", "rca", "olda")
LEARNED = ("diagonal", "full")
BOUNDARIES = ("boundaries-mean", "boundaries-olda")
SCORED = ("scores-boundaries-diagonal", "scores-diagonal", *BOUNDARIES)
CONTEXT = ("lags-diagonal", "lags-full")
GAINED = (
    *("full", "diagonal", "statistics-centred"),
    *("lags-diagonal", "lags-full", "lags-olda"),
)
MOMENTS = "moments-diagonal"
STATES = ("states", "states-quick")
OLDA = ("statistics-olda", "statistics-centred", "lags-olda")
CLASSIFIERS = [
    *("frame-lda", "frame-logistic", "boundary-logistic"),
    *("frame-boosting", "boundary-boosting"),
]

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")


def recordings(n, seed=0):
    return recordings_of_states(n, np.random.default_rng(seed), 0.8)


def menu_of(labels, features=None, T=30, question=None):
    data = TrainingSet.of(ChangePoint(), [np.zeros((T, 2))] * len(labels), labels)
    learner = MetricLearner(features=features)
    return Recordings(replace(data, question=question), learner).candidates


def names_of(labels, features=None, T=30):
    return [candidate.name for candidate in menu_of(labels, features, T)]


def after_what_gained(classifier, names):
    """These names, but for those that gained on shipped sets, which come first."""
    gained = [name for name in (classifier, *GAINED) if name in names]
    return [*gained, *(name for name in names if name not in gained)]


def test_the_default_of_names_of_states_is_a_segmenter_of_states():
    (first, quick) = STATES
    others = [quick, *CONTEXT, *LEARNED, MOMENTS, *OLDA, *CLASSIFIERS, *TUNED]
    assert names_of([NAMES] * 4) == [first, *after_what_gained("frame-logistic", others)]


def test_the_default_of_change_points_is_a_metric_of_context_and_boundaries():
    (first, olda) = BOUNDARIES
    others = [olda, *CONTEXT, *LEARNED, MOMENTS, *OLDA, *CLASSIFIERS[2:3], *CLASSIFIERS[4:], *TUNED]
    assert names_of([[8, 18, 30]] * 4) == [first, *after_what_gained(None, others)]


def test_metrics_with_hidden_states_use_scores_of_classifiers():
    found = menu_of([NAMES] * 4, question="states")
    assert [c.name for c in found] == [*SCORED, *OLDA, *CLASSIFIERS, *TUNED]
    # Three recordings are too few for scores: everything else is left to choose from.
    few = [candidate.name for candidate in menu_of([NAMES] * 3, question="states")]
    assert few == [*CONTEXT, *LEARNED, MOMENTS, *OLDA, *CLASSIFIERS, *TUNED]


@pytest.mark.parametrize(
    ("labels", "T", "first"),
    [
        ([NAMES] * 4, 30, "states-quick"),
        ([[8, 18, 30]] * 4, 30, "statistics-olda"),
        ([[2, 4]] * 4, 4, "olda"),  # too short for lags
    ],
)
def test_the_first_answer_is_a_candidate_or_a_closed_form(labels, T, first):
    data = TrainingSet.of(ChangePoint(), [np.zeros((T, 2))] * len(labels), labels)
    menu = Recordings(data, MetricLearner())
    assert menu.first.name == first
    assert first in [candidate.name for candidate in menu.candidates]
    for in_time in (True, False):
        asked = menu.to_choose_from(in_time)
        assert sorted(one.name for one in asked) == sorted(one.name for one in menu.candidates)
        assert [one.name for one in asked if one.is_first] == [first]
        assert asked[0].name == menu.candidates[0].name
        assert first in [one.name for one in asked[:2]]


@pytest.mark.parametrize("begin", ["s", "segment ", "run_07-"])
def test_running_numbers_as_text_are_no_names_unless_all_recordings_have_the_same(begin):
    """Segments that every recording counts anew, and the phases of a protocol."""

    def counted(n_segments, start=0):
        numbers = np.minimum(np.arange(30) // 4, n_segments - 1) + start
        return np.array([f"{begin}{k:02d}" for k in numbers])

    with pytest.warns(DataWarning, match="count the segments of each recording"):
        found = names_of([counted(3), counted(5), counted(4), counted(6)])
    assert "states" not in found
    assert "states" in names_of([counted(3)] * 4)
    assert "states" in names_of([counted(3), counted(5), counted(4), NAMES])


@pytest.mark.parametrize(
    ("labels", "P", "first", "sees"),
    [
        ([NAMES] * 4, 150, "states-quick", None),
        ([NAMES] * 4, 151, "states-quick", Columns),
        ([[8, 18, 30]] * 4, 150, "statistics-olda", Union),
        ([[8, 18, 30]] * 4, 1000, "olda", None),
    ],
)
def test_the_first_answer_uses_no_context_of_very_many_columns(labels, P, first, sees):
    """Linear discriminants of seven thousand windows take minutes."""
    data = TrainingSet.of(ChangePoint(), [np.zeros((30, P))] * len(labels), labels)
    method = Recordings(data, MetricLearner()).first
    assert method.name == first
    assert type(method.learner.features) is (sees or type(None))


def test_context_needs_long_recordings_and_scores_need_four():
    short = names_of([np.repeat(["a", "b"], 2)] * 4, T=4)
    (first, quick) = STATES
    others = [quick, *LEARNED, *CLASSIFIERS, *TUNED]
    assert short == [first, *after_what_gained("frame-logistic", others)]
    assert not {"scores-diagonal", "boundaries-mean"} & set(names_of([NAMES] * 3))


def scores(*names):
    """A search over scores by logistic regression, which is quick."""
    features = Union(Lags((-1, 0, 1)), StateScores("logistic", lags=(-1, 0, 1), n_folds=2))
    own = Method("scores", MetricLearner(metric="diagonal", features=features))
    return MetricLearnerCV(candidates=(own, *names, "untrained"), lams=(0.1,), cv=3, random_state=0)


def test_scores_are_cross_fitted_within_a_fold_by_group(monkeypatch):
    """No classifier has seen a recording of the group that it scores."""
    trained = []
    original = StateScores.fit_transform

    def watched(self, Xs, ys=None, groups=None):
        trained.append(groups)
        return original(self, Xs, ys, groups)

    monkeypatch.setattr(StateScores, "fit_transform", watched)
    groups = list("aabbccdd")
    search = scores().fit(recordings(8), [NAMES] * 8, groups=groups)
    in_folds = trained[:-1]
    whole = trained[-1]
    assert len(in_folds) == 3
    assert len(set(zip(groups, whole, strict=True))) == len(set(groups))  # none is divided
    assert len(set(whole)) == 3
    held_out = [set(groups) - set(seen) for seen in in_folds]
    assert set().union(*held_out) == set(groups)
    assert all(held_out)
    assert search.best_candidate_ == "scores"
    assert search.best_estimator_.predict_states(recordings(1, 5))[0].shape == (30,)


class Moody(EqualSegments):
    """Refuses to learn without a certain recording."""

    def _learn(self, data, how):
        if len(data) < 4:
            raise LearningError("it needs four")
        return super()._learn(data, how)


def test_a_candidate_that_fails_in_a_fold_is_named_with_the_fold():
    moody = Method("moody", Moody())
    search = MetricLearnerCV(candidates=("untrained", "diagonal", moody), lams=(0.1,), cv=2)
    with pytest.warns(DataWarning, match=r"moody is not compared: it needs four \(fold 0\)"):
        search.fit(recordings(4), [NAMES] * 4)
    assert "moody" not in search.verdict_.contrasts


# ---- a classifier of the same recordings is learned once, also in folds within folds


def walks(n=10):
    rng = np.random.default_rng(0)
    Xs = []
    ys = []
    for _ in range(n):
        y = np.repeat([0, 1, 2, 0], rng.integers(6, 9, 4))
        Xs.append(3.0 * np.eye(3)[y] + rng.standard_normal((y.size, 3)))
        ys.append(np.array(["a", "b", "c"])[y])
    return Xs, ys


@pytest.fixture
def learned(monkeypatch):
    """Return how often classifiers were learned, by their type."""
    counts = Counter()
    fit = LogisticRegression.fit

    def counted(self, *args):
        counts[type(self).__name__] += 1
        return fit(self, *args)

    monkeypatch.setattr(LogisticRegression, "fit", counted)
    return counts


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
@pytest.mark.parametrize(("cv", "most"), [(5, 10 + 5 + 1), (2, 2 * 6 + 6)])
def test_folds_within_two_folds_share_their_classifier(learned, cv, most):
    """Five folds: one for each pair of them, for each of them, and for all recordings."""
    Xs, ys = walks()
    names = ("untrained", "diagonal", "frame-logistic")
    search = MetricLearnerCV(candidates=names, cv=cv, lams=(0.2,), random_state=0).fit(Xs, ys)
    assert learned["LogisticRegression"] <= most
    best = search.best_estimator_
    assert "frame-logistic" in (search.best_candidate_, *best.baselines_)


def test_a_state_of_one_fold_is_scored_in_folds_of_its_own(learned):
    """A state of two neighbours in one fold: the other folds cannot be the groups."""
    Xs, ys = walks()
    for i in (0, 1):
        ys[i] = np.where(ys[i] == "b", "d", ys[i])
    with pytest.warns(VerdictWarning):
        search = MetricLearnerCV(
            candidates=("untrained", "diagonal", "frame-logistic"), lams=(0.2,), random_state=0
        ).fit(Xs, ys)
    assert np.isfinite(search.cv_results_["mean_loss"]).all()
