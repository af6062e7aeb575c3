"""Splits of a table by rows of known clusters, and by whole clusters."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tables import table

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    MetricLearnerCV,
    NormalizedCut,
    evaluate,
    load,
    save,
)
from structsvm.data.standardize import Standardizer
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.evaluation.split_tables import fewest_rows, split_clusters, split_rows
from structsvm.learner.preparing import read_training
from structsvm.partitions.comparison import disagreement
from structsvm.support.values import Stack

pytestmark = pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
NAMES = np.array(["ash", "elm", "fir", "oak", "yew", "bay"])


def read(*tables):
    Xs, ys = zip(*tables, strict=True)
    return read_training(MetricLearner(Clustering()), list(Xs), list(ys))


def search(**settings):
    usual = {"candidates": ("untrained", "diagonal"), "lams": (0.1,), "random_state": 0}
    return MetricLearnerCV(Clustering(), **(usual | settings))


def rows_of(split):
    return [{tuple(row) for row in X.tolist()} for X in split.held_out.arrays]


@pytest.mark.parametrize(("cv", "T", "parts"), [(5, 60, 10), (3, 60, 10), (3, 24, 4), (5, 12, 2)])
def test_groups_of_rows_are_disjoint_and_learned_from_the_rest(cv, T, parts):
    """As many groups as there are rows for, though fewer folds."""
    X, y = table(3, T)
    split = split_rows(read((X, NAMES[y])), cv, 0)
    assert len(split) == min(cv, parts)
    assert len(split.held_out) == parts
    assert sorted(np.concatenate([rows for _, rows in split.pieces])) == list(range(T))
    for k, training in enumerate(split.training):
        held = set().union(*(rows_of(split)[i] for i in split.test(k)))
        (rest,) = training.arrays
        assert held.isdisjoint(map(tuple, rest.tolist()))
        assert len(rest) + len(held) == T
        assert set(training.given[0]) == {"ash", "elm", "fir"}
    assert all(truth.n_clusters == 3 for truth in split.held_out.truths)


def test_the_rows_of_several_tables_are_split_alike():
    (X, y) = table(3, 60)
    (Z, z) = table(2, 40, seed=1)
    Z[:5] = X[:5]  # the same rows in both tables are held out together
    split = split_rows(read((X, y), (Z, z)), 5, 0)
    assert [table for table, _ in split.pieces] == [0, 1] * 10
    assert split.fold.tolist() == sorted(4 * list(range(5)))
    assert split.units.tolist() == list(range(20))
    for k, training in enumerate(split.training):
        held = set().union(*(rows_of(split)[i] for i in split.test(k)))
        for rest in training.arrays:
            assert held.isdisjoint(map(tuple, rest.tolist()))


def test_whole_clusters_are_held_out_two_or_more_at_a_time():
    X, y = table(5, 100)
    split = split_clusters(read((X, NAMES[y])), 5, 0)
    assert len(split) == 10
    assert split.draws == 5
    for k, training in enumerate(split.training):
        (held,) = split.test_set(k).given
        assert set(held).isdisjoint(training.given[0])
        assert set(held) | set(training.given[0]) == set(NAMES[:5])
        assert len(set(held)) >= 2
        assert len(set(training.given[0])) >= 2
    drawn = [frozenset(y) for y in split.held_out.given]
    assert len({frozenset(drawn[i : i + 2]) for i in range(0, 10, 2)}) == 5


@pytest.mark.parametrize("split", ["rows", "clusters"])
def test_model_selection_splits_a_single_table(split):
    X, y = table(4, {"rows": 52, "clusters": 80}[split], spread=3.0)
    found = search(split=split, cv=2).fit(X, NAMES[y])
    assert found.verdict_.is_supported or split == "clusters"
    assert found.losses_.shape[0] == 6
    assert found.best_estimator_.question_ == split
    evaluate(found, [X + 1], [NAMES[y]])
    words = {
        "rows": "further rows of the same clusters",
        "clusters": "clusters that the metric was not",
    }
    assert words[split] in str(found.verdict_)
    question = found.verdict_.remarks.question
    assert json.loads(json.dumps(found.verdict_.to_dict()))["question"] == question


def test_held_out_clusters_are_judged_by_metrics_that_never_saw_them():
    X, y = table(5, 100, spread=2.0)
    found = search(split="clusters", candidates=("untrained", "full")).fit(X, y)
    split = split_clusters(read((X, y)), 5, 0)
    k = 3
    learner = MetricLearner(Clustering(), lam=0.1, standardize="wider", random_state=0)
    learner.fit(split.training[k])
    test = split.test_set(k)
    (guess,) = learner.predict_partitions(test.arrays, test.truths[0].n_clusters)
    expected = disagreement(Clustering(), test.truths[0], guess)
    assert found.losses_[k, -1] == pytest.approx(expected)


def test_a_table_is_judged_by_the_question_its_model_was_made_for():
    X, y = table(5, 100, spread=3.0)
    found = search(split="clusters").fit(X, y)
    learner = found.best_estimator_
    rows = evaluate(learner, X, y, split="auto")
    assert "clusters that the metric was not learned from" in rows.verdict.remarks.question
    assert rows.verdict.untrained.units == 2
    assert {row.n_clusters for row in rows.instances} == {2}
    assert "further rows of the same clusters" in str(evaluate(learner, X, y, split="rows").verdict)
    other, labels = table(5, 100, seed=1, spread=3.0)
    found = evaluate(learner, other, labels, split="clusters")
    assert not found.learned_again
    assert "one-part" in found.scores  # what is blind to the rows is always compared with


def test_tables_with_too_little_in_common_are_refused():
    X, y = table(4, 80)
    alone = [(X[y == k], NAMES[y[y == k]]) for k in (2, 3)]
    with pytest.raises(DataError, match="the 3 tables have too few clusters in common"):
        split_clusters(read((X[y < 2], NAMES[y[y < 2]]), *alone), 2, 0)


def test_impossible_splits_are_refused_by_name():
    X, y = table(3, 60)
    with pytest.raises(DataError, match="3 clusters: split='clusters' needs at least 4, two to"):
        search(split="clusters").fit(X, y)
    with pytest.raises(DataError, match="every table is one single cluster"):
        search(split="rows").fit(X, np.zeros(60, dtype=int))
    with pytest.raises(DataError, match="table 0 has 8 rows in 3 clusters, of which none can be"):
        search(split="rows").fit(X[:8], np.arange(8) % 3)
    with pytest.raises(DataError, match="table 1 has 8 rows in 3 clusters"):
        search(split="rows").fit([X, X[:8]], [y, np.arange(8) % 3])
    with pytest.raises(SettingsError, match="split must be one of"):
        search(split="row").fit(X, y)
    with pytest.raises(SettingsError, match="cv must be at least 2 folds, got 1"):
        search(split="rows", cv=1).fit(X, y)
    with pytest.raises(SettingsError, match="groups are of whole tables, which split='rows'"):
        search(split="rows").fit([X, X + 1], [y, y], groups=["a", "b"])
    y[3] = -1
    with pytest.raises(DataError, match="labelled in part only"):
        search(split="rows").fit(X, y)


def test_recordings_and_graphs_are_not_split():
    X, y = table(3, 60)
    with pytest.raises(DataError, match="split='rows' is for tables: the samples of a recording"):
        MetricLearnerCV(ChangePoint(), split="rows").fit([X, X], [np.sort(y), np.sort(y)])
    graphs = [(np.ones((60, 60)) - np.eye(60), X)] * 2
    with pytest.raises(DataError, match="split='clusters' is for tables: the nodes of a graph"):
        MetricLearnerCV(NormalizedCut(), split="clusters").fit(graphs, [y, y])


def test_a_model_made_for_known_clusters_says_so_of_new_ones():
    X, y = table(4, 80, spread=3.0)
    learner = MetricLearner(Clustering(), "diagonal").fit(X, NAMES[y])
    assert learner.question_ == "rows"
    other, labels = table(4, 60, seed=1, spread=3.0)
    evaluate(learner, other, NAMES[labels])
    with pytest.warns(DataWarning, match="of these 1 is new: bay"):
        evaluate(learner, other, np.where(labels == 3, "bay", NAMES[labels]))
    with pytest.warns(DataWarning, match="of these 4 are new: 10, 11, 12, 13"):
        evaluate(learner, other, labels + 10)
    asked = search(split="clusters").fit(X, NAMES[y]).best_estimator_
    evaluate(asked, other, labels + 10)


# ---- what learning is worth on the rows of one table


X, Y = load_iris(return_X_y=True)


def groups_of(X, y):
    """The rows of each group."""
    split = split_rows(read_training(MetricLearner(Clustering(), metric="diagonal"), X, y), 10, 0)
    return [rows for _, rows in split.pieces]


@pytest.fixture(scope="module")
def learner():
    return MetricLearner(Clustering(), metric="diagonal").fit(X, Y)


@pytest.fixture(scope="module")
def found(learner):
    return evaluate(learner, X, Y, split="auto")


def test_a_training_table_is_evaluated_by_cross_validation(found):
    assert found.learned_again
    assert len(found.instances) == 10
    assert {r.n_clusters for r in found.instances} == {3}
    assert found.verdict.is_supported
    assert found.verdict.evidence.words.whole == "row group"
    assert "10 held-out row groups" in str(found.verdict)
    assert "by a metric learned from the others" in found.verdict.remarks.question


def test_a_held_out_group_of_rows_is_not_learned_from(learner, monkeypatch):
    learned = []
    groups = groups_of(X, Y)
    inner = MetricLearner.fit
    monkeypatch.setattr(
        MetricLearner,
        "fit",
        lambda own, data, **given: learned.append(data) or inner(own, data, **given),
    )
    evaluate(learner, X, Y, split="auto")
    for data, group in zip(learned, groups, strict=True):
        (Z,) = data.arrays
        (y,) = data.given
        assert len(Z) == len(y) == len(X) - group.size
        seen = {tuple(row) for row in Z.tolist()}
        assert not any(tuple(row) in seen for row in X[group].tolist())


def test_a_new_table_is_clustered_by_the_model_in_groups():
    learner = MetricLearner(Clustering(), metric="diagonal").fit(X[::2], Y[::2])
    found = evaluate(learner, X[1::2], Y[1::2], split="auto")
    assert not found.learned_again
    assert len(found.instances) == 10
    assert "was clustered separately" in found.verdict.remarks.question
    assert found.learned["loss"] < found.untrained["loss"]
    assert json.loads(json.dumps(found.to_dict()))["learned_again"] is False


def test_equal_rows_are_held_out_together():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    labels = rng.integers(0, 2, 40)
    twice = np.repeat(values, 2, axis=0)
    both = np.repeat(labels, 2)
    groups = groups_of(twice, both)
    assert sorted(np.concatenate(groups).tolist()) == list(range(80))
    for group in groups:
        assert set(group.tolist()) == {2 * (i // 2) for i in group} | {
            2 * (i // 2) + 1 for i in group
        }


def test_tables_that_cannot_be_split_are_refused(learner):
    n = fewest_rows(Y)
    few = np.arange(0, 150, 15)[: n - 4]
    with pytest.raises(DataError, match="of which none can be held out: 12 different rows are the"):
        evaluate(learner, X[few], Y[few], split="auto")
    both = MetricLearner(Clustering(), metric="diagonal").fit([X[::2], X[1::2]], [Y[::2], Y[1::2]])
    with pytest.raises(DataError, match="learned from this table and 1 more"):
        evaluate(both, X[::2], Y[::2], split="auto")
    with pytest.warns(DataWarning, match="one labelled recording"):
        recordings = MetricLearner(ChangePoint()).fit(X, Y)
    with pytest.raises(DataError, match="have an order"):
        evaluate(recordings, X, Y, split="auto")


@pytest.fixture(scope="module")
def noisy():
    """A table without equal rows, and a metric of some of them."""
    values = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    rows = np.random.default_rng(1).permutation(len(values))
    learned = MetricLearner(Clustering(), metric="diagonal").fit(values[rows[:100]], Y[rows[:100]])
    return values, rows, learned


def test_a_table_with_rows_that_were_learned_from_supports_no_verdict(noisy, tmp_path):
    """As after ``try``, which learns from seven tenths of the rows of a table."""
    values, _, learned = noisy
    save(learned, tmp_path / "m.structsvm")
    for model in (learned, load(tmp_path / "m.structsvm")):
        assert str(evaluate(model, values, Y, split="auto").verdict).startswith("No verdict")
        with pytest.warns(DataWarning, match="learned from 67% of the rows of this table"):
            assert "No verdict" in str(evaluate(model, [values], [Y]).verdict)


# ---- the scale of other clusters than those that were labelled


def hardly_varying(where, rng):
    """Six clusters, three to learn from, and columns that hardly vary in some of them."""
    (n_telling, n_idle) = {"labelled": (4, 1), "new": (1, 30)}[where]
    y = np.repeat(np.arange(6), 20)
    centres = 6.0 * np.column_stack([rng.permutation(6) for _ in range(n_telling)])
    telling = centres[y] + rng.normal(size=(y.size, n_telling))
    idle = rng.normal(size=(y.size, n_idle))
    idle[(y < 3) == (where == "labelled")] *= 1e-3
    X = np.hstack([telling, idle])
    return (X[y < 3], y[y < 3]), (X[y >= 3], y[y >= 3])


@pytest.mark.parametrize("where", ["labelled", "new"])
@pytest.mark.parametrize("metric", ["untrained", "rca"])
def test_a_column_that_hardly_varies_in_training_or_in_the_table_counts_little(where, metric, rng):
    (learn, test) = hardly_varying(where, rng)
    losses = {
        kind: -MetricLearner(Clustering(), metric=metric, standardize=kind).fit(*learn).score(*test)
        for kind in ("recording", "training", "wider")
    }
    assert losses["wider"] <= 0.2
    assert losses["training" if where == "labelled" else "recording"] > losses["wider"] + 0.2


def test_the_wider_scale_is_that_of_training_or_of_the_table(rng):
    learn = rng.normal(size=(40, 4)) * [1.0, 10.0, 0.0, 3.0]
    new = rng.normal(size=(30, 4)) * [5.0, 2.0, 7.0, 0.0] + 100.0
    scaler = Standardizer.fit("wider", [learn])
    np.testing.assert_allclose(scaler(learn), Standardizer("recording")(learn))
    widest = np.maximum(learn.std(axis=0), new.std(axis=0))
    np.testing.assert_allclose(scaler(new), (new - new.mean(axis=0)) / widest)
    (alone, again) = scaler.of_stack(Stack.of([new, learn])).arrays()
    np.testing.assert_array_equal(alone, scaler(new))
    np.testing.assert_array_equal(again, scaler(learn))
    assert not scaler(np.ones((3, 4))).any()


@pytest.mark.parametrize(("asked", "found"), [("auto", "wider"), ("recording", "recording")])
def test_choosing_for_new_clusters_scales_by_the_wider(asked, found, tmp_path):
    X, y = table(4, 80, spread=3.0)
    chosen = search(split="clusters", candidates=("rca", "untrained"), cv=2, standardize=asked).fit(
        X, y
    )
    assert chosen.best_estimator_.inputs_.standardizer.kind == found
    save(chosen.best_estimator_, tmp_path / "chosen.structsvm")
    (before,) = chosen.predict([X], n_clusters=4)
    (after,) = load(tmp_path / "chosen.structsvm").predict([X], n_clusters=4)
    np.testing.assert_array_equal(before, after)


def test_a_single_row_is_not_centred_by_itself_without_a_word():
    X, y = table(4, 80, spread=3.0)
    learner = MetricLearner(Clustering(), standardize="wider").fit(X, y)
    with pytest.raises(DataError, match="too few to standardise"):
        learner.transform(X[:1])
