"""Samples and labels are checked once: what fit and its relatives take in place of both."""

import numpy as np
import pytest
from cut_cases import planted
from recording_cases import recordings

from structsvm import ChangePoint, Clustering, MetricLearner, MetricLearnerCV, NormalizedCut
from structsvm import evaluate as evaluated
from structsvm.data import samples as doors
from structsvm.data.sample import Sample
from structsvm.data.samples import Standardizer
from structsvm.errors import DataError
from structsvm.learner import TrainingSet
from structsvm.learner.baselines import metrics_in
from structsvm.learner.steps import prepare, read_training
from structsvm.partitions.comparison import BLIND


@pytest.fixture(scope="module")
def data():
    return recordings()


def same(a: MetricLearner, b: MetricLearner) -> None:
    np.testing.assert_array_equal(a.metric_.factor.T, b.metric_.factor.T)
    assert a.metric_.price == b.metric_.price
    assert a.training_data_ == b.training_data_
    assert a.baselines_.keys() == b.baselines_.keys()
    for name, metric in metrics_in(a.baselines_).items():
        np.testing.assert_array_equal(metric.factor, b.baselines_[name].factor)


def test_fit_takes_what_read_makes(data):
    Xs, ys = data
    learner = MetricLearner(metric="diagonal")
    weights, names = np.arange(1.0, 9.0), list("abcd")
    read = read_training(learner, Xs, ys, sample_weight=weights, feature_names=names)
    assert isinstance(read, TrainingSet)
    assert (len(read), read.n_features, read.names) == (8, 4, names)
    expected = MetricLearner(metric="diagonal").fit(
        Xs, ys, sample_weight=weights, feature_names=names, baselines="quick"
    )
    same(learner.fit(read, baselines="quick"), expected)
    assert learner.feature_names_in_.tolist() == names
    risk = MetricLearner(metric="diagonal").risk(read)
    assert risk.n_samples == 8
    np.testing.assert_array_equal(
        risk.sample_weight,
        MetricLearner(metric="diagonal").risk(Xs, ys, sample_weight=weights).sample_weight,
    )


def test_what_is_read_is_not_given_twice_nor_to_another_problem(data):
    Xs, ys = data
    read = read_training(MetricLearner(), Xs, ys)
    given = ({"y": ys}, {"sample_weight": np.ones(8)}, {"feature_names": list("abcd")})
    for more in (*given, {"groups": list(range(8))}):
        for estimator in (MetricLearner(), MetricLearnerCV()):
            with pytest.raises(DataError, match=f"a TrainingSet holds {next(iter(more))} already"):
                estimator.fit(read, **more)
    with pytest.raises(DataError, match="read for ChangePoint, and this learner is for Clustering"):
        MetricLearner(Clustering()).fit(read)


def test_search_takes_it_too(data):
    Xs, ys = data
    search = MetricLearnerCV(
        candidates=("untrained", "diagonal"), lams=(0.2,), cv=2, random_state=0
    )
    first = search.fit(Xs, ys)
    losses, verdict = first.losses_, first.verdict_
    again = search.fit(read_training(MetricLearner(), Xs, ys))
    np.testing.assert_array_equal(again.losses_, losses)
    assert again.verdict_ == verdict


def test_partial_labels_are_read_once(data):
    Xs, ys = data
    some = [np.where(np.arange(60) < 40, y, -1) for y in ys]
    learner = MetricLearner(metric="diagonal")
    read = read_training(learner, Xs, some)
    assert not read.is_complete
    with pytest.raises(DataError, match="recording 0: is labelled in part only"):
        _ = read.truths
    same(learner.fit(read), MetricLearner(metric="diagonal").fit(Xs, some))


def test_what_cannot_be_read_is_named(data):
    Xs, ys = data
    learner = MetricLearner()
    with pytest.raises(DataError, match="recording 3 has nan in row 2, column 1"):
        read_training(
            learner, [*Xs[:3], np.where(np.arange(240).reshape(60, 4) == 9, np.nan, Xs[3])], ys[:4]
        )
    with pytest.raises(DataError, match="8 recordings but 7 labellings"):
        read_training(learner, Xs, ys[:7])
    with pytest.raises(DataError, match=r"8 recordings but groups of shape \(2,\): give"):
        read_training(learner, Xs, ys, groups=[1, 2])


def counted(monkeypatch, owner, name):
    """How often a function or method is called from now on."""
    calls = []
    original = getattr(owner, name)

    def counting(*arguments, **named):
        calls.append(arguments)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, counting)
    return calls


def standardised(monkeypatch) -> list:
    """A list that gets an entry for each array, alone or together with others."""
    calls = counted(monkeypatch, Standardizer, "__call__")
    together = Standardizer.of_stack

    def counting(self, Xs):
        before, found = len(calls), together(self, Xs)
        calls[before:] = [None] * len(Xs)
        return found

    monkeypatch.setattr(Standardizer, "of_stack", counting)
    return calls


@pytest.mark.parametrize("problem", [ChangePoint(), Clustering()], ids=["changes", "clusters"])
def test_each_array_is_checked_and_standardised_once(problem, data, monkeypatch):
    """In learning with all metrics; and in an evaluation, of all metrics together."""
    Xs, ys = data
    if isinstance(problem, Clustering):
        Xs, ys = Xs[:3], [y % 3 for y in ys[:3]]
    checked = counted(monkeypatch, doors, "as_floats")
    scaled = standardised(monkeypatch)
    learner = MetricLearner(problem, metric="diagonal").fit(Xs, ys, baselines=["pca", "rca"])
    assert set(learner.baselines_) == {"untrained", "pca", "rca"}
    assert (len(checked), len(scaled)) == (len(Xs), len(Xs))
    checked.clear()
    scaled.clear()
    others = [X + 1e-3 for X in Xs]
    samples = prepare(learner, others)
    assert (len(checked), len(scaled)) == (len(Xs), len(Xs))
    found = evaluated(learner, samples, ys)
    assert found.scores.keys() - BLIND == {"learned", *learner.baselines_}
    assert learner.predict(samples)[0].shape == (60,)
    assert learner.score(samples, ys) == pytest.approx(learner.score(samples, ys))
    assert (len(checked), len(scaled)) == (len(Xs), len(Xs))
    scores = evaluated(learner, others, ys).scores
    assert {name: scores[name] for name in found.scores} == found.scores


def test_graphs_are_made_once(monkeypatch):
    from structsvm.problems import normalized_cut

    graphs, labels = planted(np.random.default_rng(1), n=4)
    pairs = [(1.0 - np.eye(g.n_samples), g.X) for g in graphs]
    made = counted(monkeypatch, normalized_cut, "as_graph")
    learner = MetricLearner(NormalizedCut()).fit(pairs, labels, baselines="quick")
    assert len(made) == 4
    samples = prepare(learner, pairs)
    assert all(isinstance(sample, Sample) for sample in samples)
    evaluated(learner, samples, labels)
    learner.predict(samples)
    assert len(made) == 8
