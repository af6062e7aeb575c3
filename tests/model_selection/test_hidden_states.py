"""Choosing for states that nobody labelled: folds in which one state has no labels."""

import json
from itertools import chain

import numpy as np
import pytest
from cases import cases

from structsvm import ChangePoint, MetricLearnerCV
from structsvm.baselines import BoundaryClassifier
from structsvm.errors import DataError
from structsvm.evaluation.split_wholes import split_states
from structsvm.features import Lags, StateScores, Union
from structsvm.learner import Method, MetricLearner, TrainingSet

LEVELS = {"rest": (0.0, 0.0), "walk": (2.0, 0.0), "turn": (0.0, 2.0), "sit": (-2.0, -2.0)}
NAMES = list(LEVELS)


def recordings(n=8, names=NAMES, seed=0):
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        y = np.repeat(rng.permutation(names), 10)
        Xs.append(np.array([LEVELS[name] for name in y]) + rng.normal(scale=0.4, size=(y.size, 2)))
        ys.append(y)
    return Xs, ys


def read(Xs, ys, problem=None, **given):
    return TrainingSet.of(problem or ChangePoint(), Xs, ys, **given)


MENU = (
    "untrained",
    "frame-logistic",
    Method("boundaries", BoundaryClassifier("logistic", (3,))),
    Method("plain", MetricLearner(metric="diagonal")),
    Method(
        "named",
        MetricLearner(
            metric="diagonal", features=Union(Lags((0,)), StateScores("logistic", lags=(0,)))
        ),
    ),
)


def search(**settings):
    usual = {"candidates": MENU, "lams": (0.1,), "split": "states", "random_state": 0}
    return MetricLearnerCV(**(usual | settings))


def hidden_in(training, states=frozenset(NAMES)):
    """The states that are named nowhere in what is learned from."""
    return states - {
        name for name in chain.from_iterable(y.tolist() for y in training.given) if name is not None
    }


def test_each_fold_hides_a_state_from_training_and_is_judged_on_it():
    """It is judged by folds with other recordings and other states."""
    Xs, ys = recordings()
    split = split_states(read(Xs, ys), 4, 0)
    assert len(split) == 8  # two draws of four folds
    hidden = [hidden_in(training) for training in split.training]
    assert all(len(states) == 1 for states in hidden)
    assert sorted(chain.from_iterable(hidden)) == sorted(NAMES * 2)
    names = [X.tobytes() for X in split.held_out.arrays]
    for k, (training, (state,)) in enumerate(zip(split.training, hidden, strict=True)):
        test = split.test_set(k)
        assert all(state in y for y in test.given)
        shown = {X.tobytes() for X in training.arrays}
        assert shown.isdisjoint(X.tobytes() for X in test.arrays)
        assert not training.complete.all()
        # Features see what is hidden, and metrics learn from the rest.
        assert all(X.shape == (40, 2) for X in training.arrays)
        named = sum(int((y != state).sum()) for y in ys[: len(training)])
        assert sum(truth.n_samples for truth in training.parts.truths) == named
        others = split.train(k)
        assert others.size
        assert {names[i] for i in split.test(k)}.isdisjoint(names[i] for i in others)
        assert all(hidden[j] != hidden[k] for j in np.unique(split.fold[others]))


def test_a_recording_held_out_twice_is_one_unit():
    Xs, ys = recordings()
    folds = split_states(read(Xs, ys), 4, 0)
    assert folds.units.size == 16
    assert folds.units.max() == 7
    people = ["a", "b", "c", "d"] * 2
    folds = split_states(read(Xs, ys, groups=people), 4, 0)
    assert len(folds.held_out.groups) == folds.units.size
    assert folds.units.max() == 3


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_the_verdict_with_hidden_states_says_its_question():
    Xs, ys = recordings(10)
    found = search(candidates=MENU[:2] + MENU[3:4]).fit(Xs, ys)
    assert "recordings with a state that the metric was not learned from" in str(found.verdict_)
    assert "(rest, sit, turn, walk in turn)" in found.verdict_.remarks.question
    question = found.verdict_.remarks.question
    assert json.loads(json.dumps(found.verdict_.to_dict()))["question"] == question
    assert not any(found.cv_results_["failure"])
    assert found.losses_.shape[0] == found.fold_.size
    # What is learned in the end has seen every state.
    best = found.best_estimator_
    frames = {found.best_candidate_: best, **best.baselines_}["frame-logistic"]
    assert frames.classes_.tolist() == sorted(NAMES)


@cases(
    ("breakpoints", "change points have none"),
    ("two", "2 states: split='states' needs at least 3"),
    ("numbered", "change points have none"),
)
def test_labels_without_enough_names_are_refused(labels, message):
    Xs, ys = recordings()
    found = {
        "breakpoints": [[10, 20, 30, 40]] * 8,
        "two": [np.where(y == "rest", "rest", "other") for y in ys],
        "numbered": [np.repeat(range(4), 10)] * 8,
    }
    with pytest.raises(DataError, match=message):
        search(candidates=("untrained", "diagonal")).fit(Xs, found[labels])


def test_states_without_which_nothing_changes_are_refused():
    y = np.repeat(["rest", "walk", "rest", "turn", "rest"], 8)
    rng = np.random.default_rng(0)
    Xs = [np.array([LEVELS[name] for name in y]) + rng.normal(size=(40, 2)) for _ in range(4)]
    split = split_states(read(Xs, [y] * 4), 2, 0)
    assert set(chain.from_iterable(hidden_in(training, set(y)) for training in split.training)) == {
        "walk",
        "turn",
    }
    ys = [np.full(40, "turn")] * 2 + [np.where(y == "turn", "walk", y)] * 2
    with pytest.raises(DataError, match="no two states can be hidden in turn"):
        split_states(read(Xs, ys), 4, 0)
