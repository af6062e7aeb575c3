"""The baselines: a classifier of samples with Viterbi smoothing, and a classifier of boundaries."""

import itertools

import numpy as np
import pytest
from cases import refused
from recording_cases import ENDS, NAMES
from recording_cases import recordings_of_states as recordings
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from spy import Spy

from structsvm import PartialLabels
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.baselines.frame_classifier import best_path
from structsvm.errors import DataError, SettingsError
from structsvm.features import Columns, Lags
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss


def value(scores, path, price=0.0):
    path = np.asarray(path)
    return scores[np.arange(len(path)), path].sum() - price * (path[1:] != path[:-1]).sum()


@pytest.mark.parametrize("seed", range(20))
def test_the_best_path_of_states_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 8))
    C = int(rng.integers(1, 4))
    scores = rng.normal(size=(T, C))
    for price in (0.0, 0.3, 1.0, 5.0, 1e9):
        paths = itertools.product(range(C), repeat=T)
        best = max(value(scores, path, price) for path in paths)
        assert value(scores, best_path(scores, price), price) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_path_with_a_number_of_segments_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 8))
    C = int(rng.integers(2, 4))
    scores = rng.normal(size=(T, C))
    paths = np.array(list(itertools.product(range(C), repeat=T)))
    counts = 1 + (paths[:, 1:] != paths[:, :-1]).sum(axis=1)
    for K in range(1, T + 1):
        best = max(value(scores, path) for path in paths[counts == K])
        found = best_path(scores, 0.0, K)
        assert 1 + (found[1:] != found[:-1]).sum() == K
        assert value(scores, found) == pytest.approx(best)


@pytest.mark.usefixtures("all_trees")
@pytest.mark.parametrize("estimator", ["logistic", LogisticRegression(), "boosting"])
def test_states_are_found_smoothed_and_in_every_form(estimator, rng):
    baseline = FrameClassifier(estimator, Lags((-2, 0, 2)), n_folds=2)
    baseline.fit(recordings(8, rng), [NAMES] * 8)
    new = recordings(3, rng)
    states = baseline.predict_states(new)
    labels = baseline.predict(new)
    p = baseline.predict_proba(new)
    for i, table in enumerate(baseline.predict_segments(new)):
        assert [row["end"] for row in table] == baseline.predict_breakpoints(new)[i]
        for row in table:
            at = slice(row["start"], row["end"])
            assert set(states[i][at]) == {row["state"]}
            column = baseline.classes_.tolist().index(row["state"])
            assert row["probability"] == pytest.approx(p[i][at, column].mean())
    ends = baseline.predict_breakpoints(new)
    for name, label, end in zip(states, labels, ends, strict=True):
        assert (name == NAMES).mean() > 0.85
        assert EquivalenceMatrix.from_labels(label).breakpoints == end
        assert end == [*(np.flatnonzero(name[1:] != name[:-1]) + 1), 30]
    assert [p.shape for p in baseline.predict_proba(new)] == [(30, 3)] * 3
    assert baseline.classes_.tolist() == ["rest", "turn", "walk"]


def test_the_price_of_a_change_has_the_least_held_out_loss(rng):
    Xs = recordings(6, rng, 1.2)
    baseline = FrameClassifier("logistic", Lags((0,)), n_folds=6, standardize=None)
    baseline.fit(Xs, [NAMES] * 6)
    truth = EquivalenceMatrix.from_breakpoints(ENDS)
    each = np.empty((6, baseline.prices_.size))
    for i, X in enumerate(Xs):
        others = [other for j, other in enumerate(Xs) if j != i]
        model = LogisticRegression(C=0.05, max_iter=1000)
        model.fit(np.vstack(others), np.tile(NAMES, 5))
        scores = np.log(model.predict_proba(X) + 0.02)
        for k, price in enumerate(baseline.prices_):
            path = best_path(scores, price)
            ends = [*(np.flatnonzero(path[1:] != path[:-1]) + 1), 30]
            each[i, k] = partition_loss(truth, EquivalenceMatrix.from_breakpoints(ends))
    losses = each.mean(axis=0)
    np.testing.assert_allclose(baseline.losses_, losses, atol=1e-9)
    assert baseline.price_ == baseline.prices_[np.isclose(losses, min(losses))].max()
    assert 0 < baseline.price_ < baseline.prices_.max()


class Parrot(Spy):
    """Knows what it has seen by heart, and says the first state of anything else."""

    def predict_proba(self, X):
        labels = [self.seen_.get(row.tobytes(), self.classes_[0]) for row in X]
        return (np.array(labels)[:, None] == self.classes_).astype(float)


def test_the_price_of_a_change_is_tuned_on_groups_not_seen(rng):
    """Recordings of one person have the same samples, which the parrot knows without groups."""
    people = recordings(3, rng)
    Xs = [*people, *(X[:-1] for X in people)]
    ys = [NAMES] * 3 + [NAMES[:-1]] * 3
    groups = [0, 1, 2] * 2
    baseline = FrameClassifier(Parrot(), Columns(), n_folds=6, standardize=None)
    assert baseline.fit(Xs, ys).losses_.min() == 0
    assert baseline.fit(Xs, ys, groups=groups).losses_.min() > 1


def test_labels_without_labelled_neighbours_cannot_be_tuned_on(rng):
    Xs = recordings(4, rng)
    some = NAMES.astype(object)
    some[::2] = None
    ys = [PartialLabels(labels=some)] * 4
    with pytest.raises(DataError, match="tuned on samples next to each other that have labels"):
        FrameClassifier("logistic").fit(Xs, ys)
    with pytest.raises(DataError, match="no recording has a change"):
        BoundaryClassifier("logistic").fit(Xs, ys)


test_impossible_settings_of_frame_and_boundary_classifiers_are_refused = refused(
    SettingsError,
    lambda rng, baseline: baseline.fit(recordings(3, rng), [NAMES] * 3),
    (FrameClassifier(RidgeClassifier()), "with predict_proba, got Ridge"),
    (FrameClassifier(prices=(-1,)), "prices must be numbers of 0 or more"),
    (FrameClassifier(smoothing=1.5), "smoothing must be between 0 and 1"),
    (FrameClassifier(n_folds=0), "n_folds of FrameClassifier must be an integer >= 2"),
    (BoundaryClassifier(widths=(0,)), "widths must be different whole numbers of 1 or more"),
    (BoundaryClassifier(tolerance=-1), "tolerance must be an integer >= 0"),
)


@pytest.mark.parametrize("ys", [[ENDS] * 8, [NAMES] * 8])
@pytest.mark.parametrize("estimator", ["logistic", "boosting"])
def test_the_boundary_classifier_learns_from_breakpoints_alone(ys, estimator, rng):
    Xs = recordings(8, rng, 0.3)
    baseline = BoundaryClassifier(estimator, widths=(2, 4), n_folds=2)
    new = recordings(3, rng, 0.3)
    baseline.fit(Xs, ys)
    truth = EquivalenceMatrix.from_breakpoints(ENDS)
    found = baseline.predict_breakpoints(new)
    losses = [partition_loss(truth, EquivalenceMatrix.from_breakpoints(ends)) for ends in found]
    assert np.mean(losses) < 0.6
    for label, ends in zip(baseline.predict(new), found, strict=True):
        assert EquivalenceMatrix.from_labels(label).breakpoints == ends
    assert [p.shape for p in baseline.predict_proba(new)] == [(30,)] * 3


test_the_boundary_classifier_refuses_labels_without_boundaries = refused(
    DataError,
    lambda rng, ys: BoundaryClassifier("logistic").fit(recordings(3, rng), ys),
    (None, "there are no labels"),
    (
        [[8, 18, 31], ENDS, ENDS],
        "recording 0: 3 labels for 30 samples: give one label per sample, or breakpoints",
    ),
    ([ENDS, [18, 8, 30], ENDS], "recording 1: breakpoints must be positive and strictly"),
    ([[30], [30], [30]], "no recording has a change"),
)


def test_a_recording_of_one_sample_has_one_segment(rng):
    Xs = recordings(4, rng)
    short = [np.array([[1.0, 2.0]])]
    assert FrameClassifier("logistic").fit(Xs, [NAMES] * 4).predict_breakpoints(short) == [[1]]
    assert BoundaryClassifier("logistic").fit(Xs, [NAMES] * 4).predict_breakpoints(short) == [[1]]


@pytest.mark.parametrize(("n", "groups"), [(1, None), (3, ["ann"] * 3)])
def test_without_held_out_recordings_classifiers_use_default_settings(n, groups, rng):
    Xs = recordings(n, rng, 0.3)
    new = recordings(2, rng, 0.3)
    baseline = FrameClassifier("logistic").fit(Xs, [NAMES] * n, groups=groups)
    assert baseline.price_ == 3
    assert np.isnan(baseline.losses_).all()
    assert [len(ends) for ends in baseline.predict_breakpoints(new)] == [4, 4]
    boundary = BoundaryClassifier("logistic", widths=(3,)).fit(Xs, [NAMES] * n, groups=groups)
    assert (boundary.spread_, boundary.threshold_, boundary.distance_) == (3, 0.5, 5)
    assert np.isnan(boundary.loss_)
    assert boundary.predict_breakpoints(new)[0][-1] == 30
