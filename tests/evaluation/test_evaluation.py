"""Evaluation on held-out instances: scores, tables and sentences."""

import itertools
import json
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from cases import cases
from recording_cases import changes
from sklearn.base import clone
from sklearn.datasets import make_blobs

from structsvm import Clustering, MetricLearner, PartialLabels
from structsvm.baselines import FrameClassifier
from structsvm.errors import DataError, DataWarning, SettingsError
from structsvm.evaluation.evaluate import evaluate
from structsvm.io import TimeAxis
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import margin_f1, partition_loss, time_errors
from structsvm.plotting import feature_weights
from structsvm.support.tables import ShortTable

TRAIN, TEST = (changes(5, n_features=12, jump=2.0, random_state=s) for s in (0, 1))


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return MetricLearner(metric="diagonal").fit(*TRAIN, baselines="quick")


IN_PART = {
    "end": ([0] * 60 + [1] * 60 + [-1] * 80, [60, 120]),
    "begin": ([-1] * 50 + [0] * 70 + [1] * 40 + [2] * 40, [70, 110, 150]),
    "gap between two": ([0] * 60 + [-1] * 30 + [1] * 110, [60, 170]),
    "gap within one": ([0] * 60 + [-1] * 30 + [0] * 50 + [1] * 60, [110, 170]),
    "every fourth": ([k // 50 if k % 4 == 0 else -1 for k in range(200)], [13, 25, 38, 50]),
}
"""Labels of 200 samples, and where segments of the labelled ones end."""


@pytest.mark.parametrize("kind", list(IN_PART))
def test_recordings_labelled_in_part_are_scored_on_labelled_samples(learner, kind):
    """Several changes among samples without labels, between equal ones, are not wrong."""
    codes = np.array(IN_PART[kind][0])
    ends = IN_PART[kind][1]
    Xs = TEST[0][:2]
    ys = [codes, TEST[1][1]]
    result = evaluate(learner, Xs, ys)
    truth = EquivalenceMatrix.from_breakpoints(ends)
    assert result.instances[0].n_clusters == truth.n_clusters
    whole = evaluate(learner, Xs[1:], ys[1:]).instances[0].scores
    for name, found in result.guesses.items():
        labels = found[0].labels
        assert labels.size == 200
        cuts = [False]
        for a, b in itertools.pairwise(np.flatnonzero(codes >= 0)):
            n_changes = np.count_nonzero(np.diff(labels[a : b + 1]))
            cuts.append(n_changes == 1 if codes[a] == codes[b] else n_changes > 0)
        own = EquivalenceMatrix.from_labels(np.cumsum(cuts))
        scores = result.instances[0].scores[name]
        assert scores["loss"] == pytest.approx(partition_loss(truth, own))
        assert scores["f1"] == pytest.approx(margin_f1(truth, own, 5))
        assert result.instances[1].scores[name] == whole[name]
    with pytest.raises(DataError, match="n_clusters='true' is that of the labels"):
        evaluate(learner, Xs, ys, n_clusters="true")


def test_recordings_that_cannot_be_scored_are_refused_by_number(learner):
    ys = [*TEST[1][:1], PartialLabels(regions=[(10, 90, 1)])]
    with pytest.raises(DataError, match="recording 1: is labelled in part only"):
        evaluate(learner, TEST[0][:2], ys)


@pytest.mark.parametrize("n_changing", [0, 1])
def test_recordings_without_changes_have_no_scores(learner, n_changing):
    """Not a loss of 0, and not an F1 of 1, by which all methods looked perfect."""
    ys = [np.zeros(200, dtype=int)] * 5
    ys[:n_changing] = TEST[1][:n_changing]
    result = evaluate(learner, TEST[0], ys)
    assert (result.verdict.code == "nothing-to-find") == (n_changing == 0)
    assert "Nothing is left" not in str(result)
    for row in result.instances[n_changing:]:
        assert {scores["f1"] for scores in row.scores.values()} == {None}
    assert (result.learned["loss"] is None) == (n_changing == 0)
    assert (result.learned["f1"] is None) == (n_changing == 0)
    assert result.counts["f1"] == n_changing
    json.dumps(result.to_dict(), allow_nan=False)
    assert str(result).startswith("Mean scores of 5 recordings")


class TestScores:
    def test_mean_scores_and_contrasts_are_those_of_the_recordings(self, learner):
        result = evaluate(learner, *TEST)
        truths = encode(learner, *TEST)
        guesses = learner.predict_partitions(TEST[0])
        losses = [partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]
        assert [r.scores["learned"]["loss"] for r in result.instances] == losses
        assert result.learned["loss"] == pytest.approx(-learner.score(*TEST))
        baseline = decode_with(learner, learner.baselines_["untrained"].metric_, TEST[0])
        untrained = [partition_loss(t, g) for t, g in zip(truths, baseline, strict=True)]
        difference = np.subtract(untrained, losses)
        assert result.verdict.untrained.mean == pytest.approx(difference.mean())
        assert result.verdict.untrained.se == pytest.approx(difference.std(ddof=1) / math.sqrt(5))
        assert [r.n_clusters for r in result.instances] == [t.n_clusters for t in truths]

    def test_learning_pays_if_few_features_matter(self, learner):
        result = evaluate(learner, *TEST)
        assert result.learned["loss"] < 0.5 * result.untrained["loss"]
        assert result.learned["covering"] > result.untrained["covering"]
        assert result.learned["f1"] > result.untrained["f1"]
        assert str(result.verdict).startswith("Learning pays, but RCA may do as well. On 5 held")
        assert result.verdict.beats_baseline is False
        assert "that of RCA" in str(result.verdict)

    def test_evaluate_takes_numbers_of_segments_or_those_of_the_labels(self, learner):
        truths = encode(learner, *TEST)
        counts = [truth.n_clusters for truth in truths]
        expected = learner.predict_partitions(TEST[0], counts)
        result = evaluate(learner, *TEST, n_clusters="true")
        assert [r.scores["learned"]["loss"] for r in result.instances] == [
            partition_loss(t, g) for t, g in zip(truths, expected, strict=True)
        ]
        alone = evaluate(learner, *TEST, n_clusters=1)
        assert {r.scores["learned"] == r.scores["pca"] for r in alone.instances} == {True}
        contrast = alone.verdict.contrasts["pca"]
        assert str(contrast) == "the same as that of PCA on each of them"
        assert (contrast.mean, contrast.se, contrast.won, contrast.lost) == (0.0, 0.0, 0, 0)
        single = evaluate(learner, TEST[0][:1], TEST[1][:1], n_clusters=1).verdict
        assert str(single.contrasts["pca"]) == "the same as that of PCA"

    def test_time_errors_are_over_all_changes_in_the_users_unit(self, learner):
        Xs, ys = TEST
        T = [len(x) for x in Xs]
        plain = evaluate(learner, Xs, ys)
        found = learner.predict_partitions(Xs)
        truths = encode(learner, Xs, ys)
        clocks = [np.arange(n, dtype=float) for n in T]
        every = np.concatenate(list(map(time_errors, truths, found, clocks)))
        assert every.size
        expected = {"time_error": np.median(every), "time_error_90": np.quantile(every, 0.9)}
        assert {k: plain.learned[k] for k in expected} == expected
        assert "time error (samples)" in plain.summary()
        half = np.timedelta64(500, "ms")
        dates = [np.datetime64("2024-05-01T08:00", "ms") + half * np.arange(n) for n in T]
        timed = evaluate(learner, Xs, ys, times=dates)
        assert timed.unit == "s"
        assert timed.learned["time_error"] == expected["time_error"] / 2
        axes = [TimeAxis("t_ms", 500 * np.arange(n)) for n in T]
        assert "of errors (t_ms)" in evaluate(learner, Xs, ys, times=axes).summary()
        some = evaluate(learner, Xs, ys, times=[dates[0], *[None] * (len(Xs) - 1)])
        assert some.unit == "samples"
        with pytest.raises(DataError, match="5 recordings but 1 time"):
            evaluate(learner, Xs, ys, times=dates[:1])
        nothing = evaluate(learner, Xs, ys, n_clusters=1)
        assert nothing.learned["time_error"] is None

    @cases((1, "days", 1.0), (31, "months", 30.436875), (365, "years", 365.2425))
    def test_time_errors_of_rare_samples_are_in_days_months_or_years(
        self, learner, step, unit, days
    ):
        Xs, ys = TEST
        first = np.datetime64("1900-01-01", "D")
        each = np.timedelta64(step, "D")
        found = evaluate(learner, Xs, ys, times=[first + each * np.arange(len(x)) for x in Xs])
        expected = evaluate(learner, Xs, ys).learned["time_error"] * step / days
        assert found.unit == unit
        assert found.learned["time_error"] == pytest.approx(expected)
        assert f"time error ({unit})" in found.summary()


class TestTables:
    """Results print as short tables: as text, in notebooks, and as data frames."""

    def test_an_evaluation_is_printed_as_a_table(self, learner):
        found = evaluate(learner, *TEST)
        lines = str(found).splitlines()
        assert lines[0] == "Mean scores of 5 recordings"
        assert lines[1].split()[:2] == ["metric", "loss"]
        assert [line.split()[0] for line in lines[2:4]] == ["untrained", "PCA"]
        assert str(found.verdict) in lines
        assert repr(found) == found.summary() == str(found)

    def test_a_learner_is_printed_with_its_largest_weights(self, learner):
        lines = str(learner).splitlines()
        assert lines[0].startswith("diagonal metric of 12 features, learned from 5 recordings, pri")
        assert len(lines) == 1 + 1 + 10 + 2
        assert lines[-2] == "and 2 more features"
        frame = learner.to_frame()
        with pytest.raises(SettingsError, match="container must be one of"):
            learner.to_frame("numpy")
        np.testing.assert_allclose(frame["weight"], np.sort(feature_weights(learner))[::-1])
        assert repr(learner) == repr(clone(learner))

    def test_names_in_tables_are_escaped_in_html(self):
        table = ShortTable("<b>", ("feature", "weight"), (("<script>", 1.0),))
        assert "<script>" not in table.as_html
        assert "<b>" not in table.as_html


@pytest.fixture(scope="module")
def named():
    rng = np.random.default_rng(0)
    names = np.repeat(["rest", "walk", "rest"], [20, 25, 15])
    level = np.where(names == "walk", 1.5, 0.0)[:, None]
    Xs = [level + rng.normal(0, 0.7, (60, 2)) for _ in range(8)]
    ys = [names] * 8
    baseline = FrameClassifier("logistic").fit(Xs[:4], ys[:4])
    return MetricLearner(metric="diagonal").fit(Xs[:4], ys[:4]), baseline, Xs[4:], ys[4:]


class TestBaselines:
    def test_a_classifier_is_scored_and_judged_beside_the_metrics(self, named):
        learner, baseline, Xs, ys = named
        found = evaluate(learner, Xs, ys, baselines={"the classifier": baseline})
        assert list(found.scores)[-1] == "the classifier"
        truth = EquivalenceMatrix.from_labels([0] * 20 + [1] * 25 + [2] * 15)
        losses = [
            partition_loss(truth, EquivalenceMatrix.from_labels(y)) for y in baseline.predict(Xs)
        ]
        assert found.scores["the classifier"]["loss"] == pytest.approx(np.mean(losses))
        assert "the classifier" in found.verdict.contrasts

    @cases(
        ({"untrained": None}, "'untrained' is there already"),
        ({"it": SimpleNamespace(predict=lambda Xs: Xs[:1])}, "labels of other shapes"),
    )
    def test_baselines_that_cannot_be_scored_are_refused(self, named, baselines, message):
        learner, _, Xs, ys = named
        with pytest.raises(SettingsError, match=message):
            evaluate(learner, Xs, ys, baselines=baselines)

    def test_baselines_of_tables_are_told_the_number_of_clusters(self):
        X, y = make_blobs(60, centers=3, random_state=0)
        learner = MetricLearner(Clustering()).fit([X], [y])
        asked = []
        baseline = SimpleNamespace(predict=lambda Xs, counts: asked.append(counts) or [y])
        X, y = make_blobs(60, centers=3, random_state=1)
        found = evaluate(learner, [X], [y], baselines={"it": baseline})
        assert asked == [[3]]
        assert found.scores["it"]["loss"] == 0

    def test_evaluate_refuses_prepared_instances(self, named):
        learner, _, Xs, ys = named
        with pytest.raises(SettingsError, match="not prepared instances"):
            evaluate(learner, prepare(learner, Xs), ys)


# ---- judging a metric by what it was learned from is said, in Python as at the command line


XS, YS = changes(4, n_features=3)


def test_recordings_that_were_learned_from_are_told_in_the_verdict():
    learner = MetricLearner(metric="diagonal").fit(XS[:2], YS[:2])
    with pytest.warns(DataWarning, match="learned from 2 of these 4 recordings: the figures"):
        found = str(evaluate(learner, XS, YS).verdict)
    assert "On 4 recordings, the loss" in found
    with pytest.warns(DataWarning):
        found = str(evaluate(learner, XS[:2], YS[:2]).verdict)
    assert "On 2 recordings, the loss" in found
    with pytest.warns(DataWarning):
        found = str(evaluate(learner, XS[:1] * 2, YS[:1] * 2).verdict)
    assert "On 1 recording (copies not counted: 1)," in found
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = str(evaluate(learner, XS[2:], YS[2:]).verdict)
    assert "On 2 held-out recordings, the loss" in found
