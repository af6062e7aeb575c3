"""Scores of named states: cross-fitted where they are learned, plain where they are predicted."""

import numpy as np
import pytest
from cases import refused
from recording_cases import NAMES
from recording_cases import recordings_of_states as recordings
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from spy import Spy

from structsvm.data.states import States
from structsvm.errors import DataError, LearningError, SettingsError
from structsvm.features import Lags, StateScores


def test_state_scores_are_cross_fitted_by_group(rng):
    Xs = recordings(6, rng)
    groups = ["ann", "bob", "ann", "cyd", "bob", "cyd"]
    # Those of one person are the same but for a sample: to have seen one is to have seen all.
    Xs = [
        Xs[groups.index(g)] + (i * (np.arange(len(Xs[0])) == 0))[:, None]
        for i, g in enumerate(groups)
    ]
    scores = StateScores(Spy(), lags=(0,), n_folds=3, standardize=None)
    honest = scores.fit_transform(Xs, [NAMES] * 6, groups)
    assert not np.any(honest), "a spy is sure of nothing but what it has seen"
    leaking = scores.transform(Xs)
    assert all(np.abs(L).max() > 1 for L in leaking), "the final model has seen all of them"
    alone = clone(scores).fit_transform(Xs, [NAMES] * 6)
    assert any(np.any(L) for L in alone), "without groups a recording of the same person leaks"


def test_scores_of_training_recordings_are_as_good_as_those_of_new_ones(rng):
    """The nearest neighbour is always sure, and right about whatever it has seen."""
    Xs = recordings(12, rng, 1.5)
    new = recordings(12, rng, 1.5)
    scores = StateScores(KNeighborsClassifier(1), lags=(0,))
    truth = np.searchsorted(np.unique(NAMES), np.tile(NAMES, 12))

    def accuracy(found):
        return float((np.vstack(found).argmax(axis=1) == truth).mean())

    honest = accuracy(scores.fit_transform(Xs, [NAMES] * 12))
    assert accuracy(scores.transform(Xs)) == 1.0
    assert honest < 0.85
    assert honest == pytest.approx(accuracy(scores.transform(new)), abs=0.08)


def test_state_scores_are_centred_logarithms_of_probabilities(rng):
    Xs = recordings(4, rng)
    scores = StateScores(LogisticRegression(), lags=(-1, 0), smoothing=0.1, standardize=None)
    scores.fit(Xs, [NAMES] * 4, groups=["one"] * 4)  # nothing can be held out: one classifier
    rows = Lags((-1, 0)).fit_transform(Xs)
    model = LogisticRegression().fit(np.vstack(rows), np.tile(NAMES, 4))
    L = np.log(model.predict_proba(rows[2]) + 0.1)
    np.testing.assert_allclose(
        scores.transform(Xs)[2], L - L.mean(axis=1, keepdims=True), atol=1e-4
    )
    np.testing.assert_allclose(scores.predict_proba(Xs)[2], model.predict_proba(rows[2]), atol=1e-4)
    assert scores.classes_.tolist() == ["rest", "turn", "walk"]
    assert scores.get_feature_names_out().tolist() == ["score rest", "score turn", "score walk"]


def test_new_recordings_are_scored_by_the_mean_of_all_models(rng):
    Xs = recordings(4, rng)
    new = recordings(2, rng)
    ys = [NAMES] * 4
    scores = StateScores("logistic", lags=(0,), n_folds=2, standardize=None)
    scores.fit_transform(Xs, ys)
    models = scores.models_
    assert len(models) == 3
    each = [model.classifier.predict_proba(new[0]) for model in models]
    np.testing.assert_allclose(scores.predict_proba(new)[0], np.mean(each, axis=0))
    of_all = LogisticRegression(C=0.05, max_iter=1000).fit(np.vstack(Xs), np.tile(NAMES, 4))
    np.testing.assert_allclose(each[-1], of_all.predict_proba(new[0]), atol=1e-4)
    again = clone(scores).fit(Xs, ys)
    np.testing.assert_array_equal(again.transform(new)[1], scores.transform(new)[1])


@pytest.mark.parametrize("missing", [None, "", float("nan")])
def test_samples_without_a_name_are_scored_and_not_learned_from(missing, rng):
    Xs = recordings(3, rng)
    named = NAMES.astype(object)
    some = named.copy()
    some[5:9] = missing
    scores = StateScores(Spy(), lags=(0,), standardize=None)
    found = scores.fit_transform(Xs, [some, named, named])
    assert found[0].shape == (30, 3)
    assert scores.classes_.tolist() == ["rest", "turn", "walk"]
    L = scores.transform(Xs)[0]
    assert not L[5:9].any()
    assert (np.abs(np.delete(L, slice(5, 9), axis=0)).max(axis=1) > 1).all()


def test_scores_have_a_column_for_states_that_a_fold_has_not_seen(rng):
    """Two groups out of three have the state, and both happen to be held out together."""
    y = np.repeat(["a", "b"], 10)
    rare = np.repeat(["a", "c"], 10)
    Xs = [rng.normal(size=(20, 1)) for _ in range(4)]
    states = States.read([y, y, rare, rare], Xs, "a test")
    recipe = StateScores("logistic", lags=(0,))._recipe()
    together = np.array([0, 1, 2, 2])
    found, _, _ = recipe.cross_fit(Xs, states, together)
    assert [p.shape for p in found] == [(20, 3)] * 4
    assert not found[2][:, 2].any()
    assert found[0][:, 2].all()
    for p in found:
        np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(10))
def test_folds_are_drawn_so_that_every_state_is_known_to_each(seed):
    y = np.repeat(["a", "b"], 5)
    rare = np.repeat(["a", "c"], 5)
    Xs = [np.full((10, 1), i) for i in range(8)]
    states = States.read([y] * 6 + [rare] * 2, Xs, "a test")
    recipe = StateScores(n_folds=2, random_state=seed)._recipe()
    folds = recipe.draw(Xs, states, None, every_state=True)
    assert folds[6] != folds[7]


class Fails(ClassifierMixin, BaseEstimator):
    """Cannot learn from less than all recordings, or answers with what is no probability."""

    def __init__(self, least=0, answer=None):
        self.least = least
        self.answer = answer

    def fit(self, X, y):
        if len(X) < self.least:
            raise ValueError(f"only {len(X)} rows")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.classes_.size), self.answer)


def test_a_classifier_that_fails_in_a_fold_is_named_with_its_fold(rng):
    Xs = recordings(3, rng)
    message = r"Fails\(least=90\) failed in fold 0, which holds out recording \d: only 60 rows"
    with pytest.raises(LearningError, match=message):
        StateScores(Fails(90), lags=(0,)).fit_transform(Xs, [NAMES] * 3)
    with pytest.raises(LearningError, match=r"StateScores: Fails\(least=90\) failed: only 60 rows"):
        StateScores(Fails(90), lags=(0,)).fit(Xs[:2], [NAMES] * 2, groups=["one"] * 2)


def test_probabilities_that_are_not_finite_are_refused(rng):
    Xs = recordings(3, rng)
    with pytest.raises(LearningError, match=r"in fold 0.* gives no probabilities"):
        StateScores(Fails(0, np.nan), lags=(0,)).fit_transform(Xs, [NAMES] * 3)


test_impossible_settings_of_state_scores_are_refused_by_fit = refused(
    SettingsError,
    lambda rng, scores: scores.fit_transform(recordings(2, rng), [NAMES] * 2),
    (StateScores(SVC()), "with predict_proba, got SVC.*CalibratedClassifierCV"),
    (StateScores("trees"), r"one of \('logistic', 'lda', "),
    (StateScores(smoothing=0), "smoothing must be between 0 and 1"),
    (StateScores(standardize="rows"), "standardize must be one of"),
    (StateScores("logistic", lags=()), "lags must be different whole numbers"),
    (StateScores(n_folds=1), "n_folds of StateScores must be an integer >= 2, got 1"),
)


OTHERS = np.where(NAMES == "walk", "rest", NAMES)


test_state_scores_refuse_labels_that_cannot_be_learned_from = refused(
    DataError,
    lambda rng, ys, groups: StateScores("logistic", lags=(0,)).fit_transform(
        recordings(3, rng), ys, groups
    ),
    (None, None, "learns the states of samples by name, so give a name"),
    ([NAMES] * 2, None, "3 recordings but 2 labellings"),
    ([NAMES, [8, 18, 25, 30], NAMES], None, "recording 1 has 30 samples and 4 labels"),
    ([NAMES, OTHERS, OTHERS], None, "walk only in recording 0.*Label that state in another"),
    ([NAMES, NAMES, OTHERS], list("uuv"), "walk only in group 'u'"),
    ([NAMES] * 3, list("uuu"), "there is only one group, 'u': label another group"),
    ([NAMES] * 3, list("uv"), r"3 recordings but groups of shape \(2,\)"),
    ([["rest"] * 30] * 3, None, r"needs at least 2 states, and the labels name \['rest'\]"),
    ([[None] * 30] * 3, None, r"needs at least 2 states, and the labels name \[\]"),
    ([NAMES, NAMES, np.arange(30) // 9], None, "the states do not compare"),
)


def test_a_single_recording_can_be_fitted_but_not_cross_fitted(rng):
    Xs = recordings(1, rng)
    with pytest.raises(DataError, match="only one recording: label another recording"):
        StateScores("logistic").fit_transform(Xs, [NAMES])
    assert StateScores("logistic").fit(Xs, [NAMES]).transform(Xs)[0].shape == (30, 3)
