"""Names of predicted states, and their comparison with the labels."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import cases
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from structsvm import Clustering, DataError, MetricLearner, SettingsError, evaluate, load, save
from structsvm.baselines import FrameClassifier
from structsvm.evaluation.confusion import Confusion
from structsvm.features import Chain, Lags, Rows, StateScores, Union
from structsvm.interop import without

NAMES = np.repeat(["rest", "walk", "turn", "rest"], [12, 15, 10, 8])
LEVELS = {"rest": (0.0, 0.0), "walk": (1.5, 0.0), "turn": (0.0, 1.5), "sit": (-1.5, -1.5)}


def recordings(names, n, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    levels = np.array([LEVELS[name] for name in names])
    return [levels + rng.normal(scale=noise, size=levels.shape) for _ in range(n)]


def scored(**settings):
    return Union(Lags((-1, 0, 1)), StateScores("logistic", lags=(-1, 0, 1), **settings))


@pytest.fixture(scope="module")
def learner():
    Xs = recordings(NAMES, 6)
    return MetricLearner(metric="diagonal", features=scored()).fit(Xs, [NAMES] * 6)


@pytest.fixture(scope="module")
def held_out():
    return recordings(NAMES, 5, seed=1), [NAMES] * 5


class TestPrediction:
    def test_a_segment_has_the_state_of_largest_mean_probability(self, learner, held_out):
        (X,) = held_out[0][:1]
        (table,) = learner.predict_segments([X])
        (names,) = learner.predict_states([X])
        (ends,) = learner.predict_breakpoints([X])
        p = dict(learner.inputs_.features.named_stages)["statescores"]
        p = p.fit(recordings(NAMES, 6), [NAMES] * 6).predict_proba([X])[0]
        assert [row["end"] for row in table] == ends
        for row in table:
            mean = p[row["start"] : row["end"]].mean(axis=0)
            assert row["state"] == learner.classes_[mean.argmax()]
            assert row["probability"] == pytest.approx(mean.max())
            assert set(names[row["start"] : row["end"]]) == {row["state"]}
        assert json.loads(json.dumps(table)) == table

    @cases(
        Union(StateScores("logistic"), Lags()),
        Union(("a", StateScores("logistic")), ("b", StateScores("logistic", lags=(0,)))),
        Chain(Lags((-1, 0)), StateScores("logistic")),
        Chain(Union(Lags(), StateScores("logistic")), Rows(PCA(3))),
        Chain(StateScores("logistic"), Lags((-2, 0, 2))),
        ids=["union", "two of them", "after lags", "before PCA", "before lags"],
    )
    def test_learners_with_state_scores_anywhere_in_their_features_name_states(self, features):
        Xs = recordings(NAMES, 8)
        learner = MetricLearner(metric="diagonal", features=features).fit(Xs[:6], [NAMES] * 6)
        assert learner.classes_.tolist() == ["rest", "turn", "walk"]
        assert evaluate(learner, Xs[6:], [NAMES] * 2).learned["accuracy"] > 0.85

    def test_a_learner_of_change_points_knows_no_states(self, held_out):
        learner = MetricLearner(metric="diagonal").fit(recordings(NAMES, 3), [NAMES] * 3)
        assert learner.classes_ is None
        with pytest.raises(
            SettingsError, match="has not learned names of states: learn a StateSegmenter"
        ):
            learner.predict_states(held_out[0])
        (table,) = learner.predict_segments(held_out[0][:1], margins=False)
        assert table[0].keys() == {"start", "end"}
        assert [row["end"] for row in table] == learner.predict_breakpoints(held_out[0][:1])[0]

    def test_a_baseline_names_the_segments_of_a_metric_that_sees_no_scores(
        self, held_out, tmp_path
    ):
        Xs = recordings(NAMES, 4)
        learner = MetricLearner(metric="diagonal").fit(Xs, [NAMES] * 4, baselines=["frame-lda"])
        probabilities = learner.baselines_["frame-lda"].predict_proba(held_out[0])
        found = learner.predict_states(held_out[0])
        for p, ends, names in zip(
            probabilities, learner.predict_breakpoints(held_out[0]), found, strict=True
        ):
            for part, its_names in zip(np.split(p, ends[:-1]), np.split(names, ends), strict=False):
                assert set(its_names) == {learner.classes_[part.mean(axis=0).argmax()]}
        accuracy = np.mean(np.array(found) == NAMES)
        assert evaluate(learner, *held_out).learned["accuracy"] == pytest.approx(accuracy)
        save(learner, tmp_path / "model.structsvm")
        again = load(tmp_path / "model.structsvm").predict_states(held_out[0])
        np.testing.assert_array_equal(again, found)
        assert without(learner, "x1").classes_ is None

    def test_clusters_of_a_table_are_named_and_are_no_segments(self):
        rng = np.random.default_rng(0)
        ys = [rng.permutation(np.repeat(["a", "b"], 30)) for _ in range(5)]
        Xs = [3.0 * (y == "b")[:, None] + rng.normal(size=(60, 2)) for y in ys]
        learner = MetricLearner(Clustering(), features=StateScores("logistic", lags=(0,)))
        learner.fit(Xs[:4], ys[:4])
        (names,) = learner.predict_states(Xs[4:], 2)
        assert (names == ys[4]).mean() > 0.8
        assert evaluate(learner, Xs[4:], ys[4:]).learned["accuracy"] == (names == ys[4]).mean()
        with pytest.raises(SettingsError, match="Clustering gives clusters, not segments: predict"):
            learner.predict_segments(Xs[4:], 2)


class TestEvaluation:
    def test_scores_are_those_of_scikit_learn_over_all_samples(self, learner, held_out):
        Xs, ys = held_out
        baseline = FrameClassifier("logistic", Lags((-1, 0, 1))).fit(
            recordings(NAMES, 6), [NAMES] * 6
        )
        result = evaluate(learner, Xs, ys, baselines={"frames": baseline})
        found = {
            "learned": learner.predict_states(Xs),
            "frames": baseline.predict_states(Xs),
            "untrained": None,
        }
        truth = np.concatenate(ys)
        for metric in ("learned", "frames"):
            names = np.concatenate(found[metric])
            assert result.scores[metric]["accuracy"] == accuracy_score(truth, names)
            expected = f1_score(truth, names, average="macro")
            assert result.scores[metric]["macro F1"] == pytest.approx(expected)
            table = result.confusion[metric]
            assert table.states == ("rest", "turn", "walk")
            np.testing.assert_array_equal(table.counts, confusion_matrix(truth, names))
        assert set(result.confusion) >= {"learned", "untrained", "frames", "most-frequent"}
        each = [row.scores["learned"]["accuracy"] for row in result.instances]
        assert each == [accuracy_score(y, z) for y, z in zip(ys, found["learned"], strict=True)]
        assert result.counts["accuracy"] == result.counts["macro F1"] == 5

    def test_a_baseline_may_name_what_the_learner_does_not(self, held_out):
        Xs = recordings(NAMES, 3)
        learner = MetricLearner(metric="diagonal").fit(Xs, [NAMES] * 3)
        baselines = {
            "frames": FrameClassifier("logistic").fit(Xs, [NAMES] * 3),
            "lags": MetricLearner(metric="diagonal", features=Lags()).fit(Xs, [NAMES] * 3),
        }
        result = evaluate(learner, *held_out, baselines=baselines)
        assert list(result.confusion) == ["frames"]
        assert result.scores["frames"]["accuracy"] > 0.8
        assert result.scores["learned"]["accuracy"] is None
        assert result.scores["lags"]["macro F1"] is None
        assert result.counts["accuracy"] == 5

    def test_a_recording_with_breakpoints_among_names_is_named(self, learner, held_out):
        ys = [NAMES, NAMES, [12, 27, 37, 45], NAMES, NAMES]
        message = "recording 2 has breakpoints and recording 0 has names .* each of the 45 samples"
        with pytest.raises(DataError, match=message):
            evaluate(learner, held_out[0], ys)


class TestUnseenStates:
    @pytest.fixture
    def hidden(self):
        y = np.repeat(["rest", "sit", "walk"], [15, 12, 15])
        return recordings(y, 5, seed=3), [y] * 5

    def test_unseen_states_are_refused_by_name(self, learner, hidden):
        message = (
            r"name states that training did not: 'sit' \(recording 0\); known are "
            r"'rest', 'turn', 'walk'.*unseen_states='count'"
        )
        with pytest.raises(DataError, match=message):
            evaluate(learner, *hidden)

    def test_unseen_states_may_count_as_named_wrongly(self, learner, hidden):
        Xs, ys = hidden
        result = evaluate(learner, Xs, ys, unseen_states="count")
        names = np.concatenate(learner.predict_states(Xs))
        truth = np.concatenate(ys)
        assert result.learned["accuracy"] == (names == truth).mean()
        assert result.learned["accuracy"] <= 1 - 12 / 42
        table = result.confusion["learned"]
        assert table.states == ("rest", "turn", "walk", "sit")
        assert table.counts[3].sum() == 60
        assert not table.counts[:, 3].any()


CODES = {"rest": 3, "walk": 7, "turn": 11}


class TestForms:
    @cases(
        lambda y: y,
        lambda y: list(y),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        lambda y: np.array([CODES[name] for name in y], dtype=np.uint8),
        lambda y: [float(CODES[n]) if t % 2 else CODES[n] for t, n in enumerate(y)],
        ids=[
            *("text", "list", "categorical series", "string series"),
            *("bytes", "integers and floats"),
        ],
    )
    def test_names_of_states_may_have_any_type(self, held_out, rename):
        Xs = recordings(NAMES, 4)
        ys = [rename(NAMES)] * 4
        learner = MetricLearner(metric="diagonal", features=scored()).fit(Xs, ys)
        (found,) = learner.predict_states(held_out[0][:1])
        expected = MetricLearner(metric="diagonal", features=scored()).fit(Xs, [NAMES] * 4)
        by_name = dict(zip(np.asarray(ys[0]).tolist(), NAMES.tolist(), strict=True))
        names = [by_name[name] for name in found.tolist()]
        # Names are in another order, so that the classifier differs by rounding.
        assert np.mean(names == expected.predict_states(held_out[0][:1])[0]) > 0.95
        result = evaluate(learner, held_out[0], [rename(NAMES)] * 5)
        assert result.learned["accuracy"] > 0.85


def test_a_state_that_is_named_and_never_true_counts_in_the_macro_f1():
    found = Confusion(("a", "b"), np.array([[3, 1], [0, 0]]))
    assert found.macro_f1 == pytest.approx(f1_score(list("aaaa"), list("aaab"), average="macro"))
