"""Choosing a metric on held-out recordings, and the verdict on what it is worth."""

import numpy as np
import pandas as pd
import pytest
from cases import refused
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
)

from structsvm import ChangePoint, MetricLearner, PartialLabels, evaluate, load, save
from structsvm.errors import DataError, DataWarning, LearningError, SettingsError, VerdictWarning
from structsvm.evaluation.contrast import chosen
from structsvm.evaluation.splits import split_instances
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.methods import BLIND
from structsvm.learner.preparing import encode, prepare, read_training
from structsvm.learner.steps import decode_with
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection import MetricLearnerCV
from structsvm.partitions.losses import partition_loss

P = 3


def recordings(n, seed=0, T=50):
    """Feature 0 follows the labels, feature 1 has changes of its own, the third is noise."""
    rng = np.random.default_rng(seed)
    Xs = []
    ys = []
    for _ in range(n):
        X = 0.5 * rng.normal(size=(T, P))
        levels = np.array([0, 3, -2])
        own, ends = (np.sort(rng.choice(np.arange(6, T - 5, 7), 2, replace=False)) for _ in "ab")
        X[:, 1] += levels[np.searchsorted(own, np.arange(T), side="right")] * rng.choice([-1, 1])
        y = np.searchsorted(ends, np.arange(T), side="right")
        X[:, 0] += levels[y]
        Xs.append(X)
        ys.append(y)
    return Xs, ys


def alike(n, seed=0, T=50):
    """Features that are all alike: the untrained metric is the best one."""
    rng = np.random.default_rng(seed)
    ys = [np.repeat([0, 1, 2], [15, 20, T - 35]) for _ in range(n)]
    jumps = [rng.normal(size=(3, P)) for _ in ys]
    return [jump[y] + 0.8 * rng.normal(size=(T, P)) for y, jump in zip(ys, jumps, strict=True)], ys


def small(**settings):
    """A small path."""
    usual = {"lams": (0.2, 0.02), "candidates": ("untrained", "rca", "diagonal")}
    return MetricLearnerCV(**{**usual, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def data():
    return recordings(8)


@pytest.fixture(scope="module")
def fitted(data):
    return small(cv=4).fit(*data)


# ---- the estimator


def test_learning_pays_where_one_feature_follows_the_labels(fitted):
    assert fitted.best_candidate_ == "diagonal"
    assert fitted.verdict_.pays
    assert fitted.verdict_.untrained.won > 6
    assert str(fitted.verdict_).startswith("Learning pays")
    B = fitted.best_estimator_.get_mahalanobis_matrix()
    assert B[0, 0] > 5 * B[1, 1]


def test_a_search_behaves_like_the_learner_it_chose(data, fitted, tmp_path):
    """The refit is what a plain MetricLearner with these settings learns."""
    Xs, _ = data
    plain = MetricLearner(metric="diagonal", lam=fitted.best_lam_).fit(*data)
    np.testing.assert_allclose(fitted.best_estimator_.metric_.factor.T, plain.metric_.factor.T)
    assert fitted.best_estimator_.metric_.price == plain.metric_.price
    assert fitted.predict_breakpoints(Xs) == plain.predict_breakpoints(Xs)
    assert [b[-1] for b in fitted.predict_breakpoints(Xs, 3)] == [50] * 8
    np.testing.assert_array_equal(fitted.transform(Xs[0]), plain.transform(Xs[0]))
    assert fitted.score(*data) == plain.score(*data)
    with pytest.warns(DataWarning, match="learned from 8 of these 8 recordings"):
        found = [evaluate(learner, *data).learned for learner in (fitted, plain)]
    assert found[0] == found[1]
    assert type(fitted.best_estimator_) is MetricLearner
    save(fitted.best_estimator_, tmp_path / "chosen.structsvm")
    again = load(tmp_path / "chosen.structsvm")
    assert again.predict_breakpoints(Xs) == fitted.predict_breakpoints(Xs)
    assert set(again.baselines_) == {"untrained", "rca"}
    with pytest.raises(SettingsError, match="best_estimator_"):
        save(fitted, tmp_path / "refused.structsvm")


def test_a_search_chooses_the_learned_metric_if_it_is_best(data, fitted):
    again = clone(fitted).fit(*data)
    assert again.predict_breakpoints(data[0]) == fitted.predict_breakpoints(data[0])
    assert type(again.best_estimator_) is MetricLearner


def test_a_search_chooses_the_untrained_metric_if_there_is_nothing_to_learn():
    data = alike(10)
    learner = small(candidates=("untrained", "full"), cv=2)
    with pytest.warns(VerdictWarning, match="the loss of the untrained metric is"):
        learner.fit(*data)
    assert learner.best_candidate_ == "untrained"
    assert not learner.verdict_.pays
    assert set(learner.verdict_.contrasts) == {"untrained", *BLIND} - {"most-frequent"}
    full = MetricLearner(lam=0.2).fit(*data)
    expected = full.baselines_["untrained"].predict_partitions(data[0])
    assert learner.predict_partitions(data[0]) == expected
    assert full.predict_partitions(data[0]) != expected
    with pytest.warns(DataWarning, match="learned from"):
        scores = evaluate(learner, *data).scores
    assert scores["learned"] == scores["untrained"]


def test_losses_are_of_recordings_that_nothing_was_tuned_on(data, fitted):
    """Each column again from its definition: standardise, tune, calibrate on the other folds."""
    Xs, ys = data
    for k in range(4):
        train = np.flatnonzero(fitted.fold_ != k)
        test = np.flatnonzero(fitted.fold_ == k)
        learner = MetricLearner(metric="diagonal", lam=0.02)
        learner.fit([Xs[i] for i in train], [ys[i] for i in train])
        instances = prepare(learner, [Xs[i] for i in train])
        truths = encode(learner, Xs, ys)
        rca = tuned_metrics.fit("rca", learner.problem_, instances, [truths[i] for i in train])
        names = [(c.name, c.lam) for c in fitted.candidates_]
        for i in test:
            metrics = {
                ("diagonal", 0.02): learner.metric_,
                ("untrained", None): learner.baselines_["untrained"].metric_,
                ("rca", None): rca,
            }
            guesses = {n: decode_with(learner, B, [Xs[i]])[0] for n, B in metrics.items()}
            for name, guess in guesses.items():
                found = fitted.losses_[i, names.index(name)]
                assert found == pytest.approx(partition_loss(truths[i], guess), abs=1e-9)
            told = learner.predict_partitions([Xs[i]], n_clusters=truths[i].n_clusters)[0]
            losses = [partition_loss(truths[i], g) for g in (guesses["diagonal", 0.02], told)]
            found = fitted.criterion_[i, names.index(("diagonal", 0.02))]
            assert found == pytest.approx(np.mean(losses), abs=1e-9)


def test_the_verdict_leaves_the_choice_to_the_other_folds(fitted):
    honest = np.empty(8)
    for k in range(4):
        here = fitted.fold_ == k
        names = [candidate.name for candidate in fitted.candidates_]
        column = chosen(fitted.criterion_[~here], np.arange((~here).sum()), names)
        honest[here] = fitted.losses_[here, column]
    gains = fitted.losses_[:, 0] - honest
    contrast = fitted.verdict_.untrained
    assert contrast.mean == pytest.approx(gains.mean())
    inflation = np.sqrt(1 + 4 * (2 / 6))  # of four folds that share what is learned from
    assert contrast.se == pytest.approx(inflation * gains.std(ddof=1) / np.sqrt(8))
    low, high = stats.t.interval(0.95, 7, contrast.mean, contrast.se)
    assert (contrast.low, contrast.high) == pytest.approx((low, high))
    assert (contrast.won, contrast.lost) == ((gains > 0).sum(), (gains < 0).sum())
    assert fitted.verdict_.loss == pytest.approx(honest.mean())


def test_results_of_a_search_are_a_table(fitted):
    table = pd.DataFrame(fitted.cv_results_)
    assert table["candidate"].tolist() == ["untrained", "rca", "diagonal", "diagonal"]
    assert table["lam"].tolist()[2:] == [0.2, 0.02]
    np.testing.assert_allclose(table["mean_loss"], fitted.losses_.mean(axis=0))
    np.testing.assert_allclose(
        table["mean_gain"], table["mean_loss"][0] - table["mean_loss"], atol=1e-12
    )
    sizes = np.bincount(fitted.fold_)
    folds = table[[f"split{k}_loss" for k in range(4)]].to_numpy()
    np.testing.assert_allclose(folds @ sizes / 8, table["mean_loss"])
    assert table["converged"].all()


def test_a_search_on_processes_gives_the_same_bits(data, fitted):
    again = clone(fitted).set_params(n_jobs=2).fit(*data)
    np.testing.assert_array_equal(again.losses_, fitted.losses_)
    assert again.verdict_ == fitted.verdict_


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_a_search_takes_the_number_of_segments(data, fitted):
    found = small(problem=ChangePoint("known"), cv=2).fit(*data)
    np.testing.assert_array_equal(found.criterion_, found.losses_)
    assert (fitted.criterion_ != fitted.losses_).any()
    guesses = found.predict_partitions(data[0], 3)
    assert {g.n_clusters for g in guesses} == {3}


test_impossible_settings_of_a_search_are_refused = refused(
    SettingsError,
    lambda data, settings: small(**settings).fit(*data),
    ({"candidates": ("diagonal",)}, "must name 'untrained'"),
    ({"candidates": ("untrained",)}, "and another one"),
    ({"candidates": ("untrained", "lfda", "full")}, "no candidate 'lfda' for these data"),
    ({"lams": (0.1, -1.0)}, "> 0"),
    ({"cv": 1}, "at least 2 folds"),
    ({"cv": ShuffleSplit(3, random_state=0)}, "exactly once"),
    ({"cv": PredefinedSplit([0, 0, 1, 1, -1, 1, 1, 1])}, "recording 4"),
    ({"cv": "five"}, "cv cannot divide .* recordings: give a number of folds, or a splitter"),
    ({"cv": StratifiedKFold(2)}, "that needs no labels, got StratifiedKFold"),
)


# ---- few recordings, bad recordings, failures


@pytest.mark.parametrize("n", [2, 3])
def test_a_search_of_too_few_recordings_gives_no_verdict(n):
    learner = small()
    with pytest.warns(VerdictWarning, match=rf"Too few to tell: {n} independent recordings"):
        learner.fit(*recordings(n))
    assert not learner.verdict_.is_supported
    assert not learner.verdict_.pays
    assert sorted(learner.fold_.tolist()) == list(range(n))
    assert len(learner.predict(recordings(1, seed=5)[0])) == 1


def test_groups_stay_together_and_are_the_units_of_the_verdict():
    data = recordings(9)
    groups = np.array(list("aaabbbccc"))
    learner = small()
    with pytest.warns(VerdictWarning, match="3 independent groups of recordings cannot support"):
        learner.fit(*data, groups=groups)
    assert len(set(zip(groups, learner.fold_.tolist(), strict=True))) == 3
    assert learner.verdict_.untrained.n == 9
    assert learner.verdict_.untrained.units == 3


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_recordings_labelled_in_part_are_held_out_if_they_can_be_scored(cv):
    Xs, ys = recordings(9)
    in_part = [2, 7]
    groups = np.array(list("aabbccdde"))
    ys = [np.append(y[:-9], [-1] * 9) if i in in_part else y for i, y in enumerate(ys)]
    split = split_instances(None, TrainingSet.of(ChangePoint(), Xs, ys, groups=groups), cv, 0)
    assert split.held_out.complete.tolist() == [i not in in_part for i in range(9)]
    ys = [PartialLabels(regions=[(5, 45, 2)]) if i in in_part else y for i, y in enumerate(ys)]
    split = split_instances(None, TrainingSet.of(ChangePoint(), Xs, ys, groups=groups), cv, 0)
    full = np.setdiff1d(np.arange(9), in_part)
    assert split.held_out.complete.all()
    assert len(split.held_out) == 7
    for k, training in enumerate(split.training):
        away = groups[full[split.test(k)]]
        expected = [i for i in range(9) if groups[i] not in away]
        assert [
            instance.X is Xs[i] for instance, i in zip(training.instances, expected, strict=True)
        ]
        assert list(training.groups) == groups[expected].tolist()


@pytest.mark.filterwarnings("ignore")
def test_a_search_learns_from_partial_labels(data):
    """It is judged on those whose samples have labels, and learned from all of them."""
    Xs, ys = data
    ys = [np.append(y[:-9], [-1] * 9) if i in (0, 4) else y for i, y in enumerate(ys)]
    ys[2] = PartialLabels(regions=[(5, 45, 2)])
    search = small().fit(Xs, ys)
    assert len(search.losses_) == len(search.fold_) == len(Xs) - 1
    assert np.isfinite(search.losses_).all()
    assert len(search.best_estimator_.training_data_) == len(Xs)


def test_every_fold_needs_a_change_to_learn_from():
    Xs, ys = recordings(4)
    ys = [ys[0], *(np.zeros(50, dtype=int) for _ in range(3))]
    with pytest.raises(DataError, match="only 1 of 4 recordings have two segments"):
        small().fit(Xs, ys)


@pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
def test_a_metric_that_collapses_is_a_candidate_that_failed(data):
    """A trace penalty this strong leaves nothing of any metric."""
    learner = small(regularizer="trace", lams=(1000.0, 0.01), cv=2).fit(*data)
    failed = learner.cv_results_["failure"]
    assert "the best metric found is zero" in failed[2]
    assert failed[3] == ""
    assert np.isnan(learner.losses_[:, 2]).all()
    assert learner.best_lam_ == 0.01
    gone = small(regularizer="trace", lams=(1000.0,), cv=2)
    with pytest.warns(DataWarning, match="diagonal is not compared: the best metric found is zero"):
        assert gone.fit(*data).best_candidate_ != "diagonal"
    with pytest.raises(LearningError, match=r"no candidate gave .* metric found is zero"):
        gone.set_params(candidates=("untrained", "diagonal")).fit(*data)


# ---- the parts


def test_folds_hold_samples_and_groups_out_as_asked():
    def folds(cv, n=6, groups=None, random_state=None):
        data = read_training(MetricLearner(), *recordings(n), groups=groups)
        return split_instances(None, data, cv, random_state)

    assert len(folds(5, 3)) == 3
    assert len(folds(LeaveOneOut())) == 6
    groups = ["x", "y", "y", "x", "z", "z"]
    found = folds(2, groups=groups, random_state=1)
    assert all(len({found.fold[i] for i in (a, b)}) == 1 for a, b in ((0, 3), (1, 2), (4, 5)))
    assert len(folds(GroupKFold(3), groups=groups)) == 3
    with pytest.raises(SettingsError, match="divides the group"):
        folds(LeaveOneOut(), groups=groups)
    assert sorted(np.concatenate([found.test(0), found.train(0)])) == list(range(6))
