"""Rules that predicted partitions keep, and how sure each change is."""

import itertools
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from cases import cases
from recording_cases import changes
from sklearn.datasets import load_iris, make_blobs
from wrong_plugins import Segments

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    PartialLabels,
    margin_rates,
    weight_stability,
)
from structsvm.errors import DataError, OracleError, SettingsError
from structsvm.io import Recording, TimeAxis
from structsvm.oracles import SequentialOracle, all_segmentations
from structsvm.partitions import EquivalenceMatrix, Instance, MarginRates, Metric
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.margins import hits
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.plotting import plot_metric, plot_segmentation, report_page

T = 60


def steps(rng, n=6, jumps=(0.0, 3.0, 0.0, 3.0)):
    levels = np.repeat(jumps, T // len(jumps))
    noise = rng.normal(size=(n, T, 3))
    noise[:, :, 0] += levels
    return list(noise), [np.repeat(np.arange(len(jumps)), T // len(jumps))] * n


@pytest.fixture(scope="module")
def learned():
    Xs, ys = steps(np.random.default_rng(0))
    return MetricLearner(metric="diagonal").fit(Xs[:4], ys[:4]), Xs, ys


@pytest.fixture(scope="module")
def tables():
    X, y = load_iris(return_X_y=True)
    return MetricLearner(Clustering()).fit([X[::2]], [y[::2]]), X[1::2]


def enumerated(X, price, K=None, without=None, tolerance=0):
    """The best value over all segmentations, or those without a boundary near a place."""
    objective = TraceObjective(X - X.mean(axis=0), shift=0.0 if K else -price)
    rows = map(EquivalenceMatrix.from_labels, all_segmentations(len(X)))
    return max(
        objective.value(M)
        for M in rows
        if (K is None or M.n_clusters == K)
        and not any(without and abs(t - without) <= tolerance for t in M.breakpoints[:-1])
    )


class OnlyCounts(SequentialOracle):
    """Any segmentation; a number of segments is all that may be asked for."""

    takes = frozenset({"n_clusters"})


@dataclass(frozen=True)
class Counted(Segments):
    def decoder(self, instance):
        return OnlyCounts()


@dataclass(frozen=True)
class Halved(Segments):
    def calibrate(self, factor, data):
        return super().calibrate(factor, data)

    def partition(self, instance, metric, n_clusters=None, constraint=None):
        return EquivalenceMatrix.from_breakpoints([instance.n_samples // 2, instance.n_samples])


@pytest.mark.filterwarnings("ignore::structsvm.errors.OracleWarning")  # of the halved ones
@cases(
    (Counted(), "which Counted and OnlyCounts do not find"),
    (Halved(), "which Halved and SequentialOracle do not find"),
)
def test_margins_are_refused_where_other_segmentations_cannot_be_asked_for(problem, complaint):
    Xs, ys = steps(np.random.default_rng(1), n=3)
    learner = MetricLearner(problem, metric="diagonal").fit(Xs, ys)
    for ask in (learner.predict_segments, lambda Xs: margin_rates(learner, Xs, ys)):
        with pytest.raises(DataError, match=complaint):
            ask(Xs)


class TestMargins:
    @pytest.mark.parametrize("tolerance", [0, 2])
    @pytest.mark.parametrize("K", [None, 3])
    @pytest.mark.parametrize("seed", range(4))
    def test_margins_of_changes_are_those_of_enumeration(self, seed, K, tolerance):
        X = np.random.default_rng(seed).normal(size=(9, 2))
        metric = Metric(np.eye(2), price=1.5)
        found, margins = metric.margins(ChangePoint(), Instance(X), Constraint(K), tolerance)
        M = found.partition
        best = enumerated(X, 1.5, K)
        others = [enumerated(X, 1.5, K, t, tolerance) for t in M.breakpoints[:-1]]
        expected = [(best - other) / 1.5 for other in others]
        assert M == ChangePoint().partition(Instance(X), metric, K)
        np.testing.assert_allclose(margins, expected, atol=1e-9)

    def test_with_as_many_segments_as_samples_every_change_is_sure(self):
        metric = Metric(np.eye(1), 1.0)
        instance = Instance(np.arange(4.0)[:, None])
        found, margins = metric.margins(ChangePoint(), instance, Constraint(4), 0)
        assert found.partition.n_clusters == 4
        assert np.isinf(margins).all()

    def test_clusters_have_no_margins(self, tables):
        learner, X = tables
        with pytest.raises(SettingsError, match="Clustering gives clusters, not segments"):
            learner.predict_segments([X], 3)


class TestRates:
    def test_changes_within_the_tolerance_are_right(self):
        found = EquivalenceMatrix.from_breakpoints([3, 10, 20])
        truth = EquivalenceMatrix.from_breakpoints([5, 20])
        assert hits(found, truth, 2).tolist() == [True, False]
        assert hits(found, EquivalenceMatrix.from_breakpoints([20]), 20).tolist() == [False, False]

    def test_rates_rise_with_the_margin_and_are_never_certain(self, learned):
        learner, Xs, ys = learned
        rates = margin_rates(learner, Xs, ys, cv=3, tolerance=1)
        values = rates([0.0, 0.1, 1.0, 10.0, np.inf])
        assert (np.diff(values) >= 0).all()
        assert 0 < values[0] <= values[-1] < 1
        assert "held-out recordings were within 1 samples" in str(rates)

    def test_rates_are_refused_if_no_change_was_found(self):
        with pytest.raises(DataError, match="no change was found"):
            MarginRates.of(np.empty(0), np.empty(0, dtype=bool), 5, 2)

    def test_rates_are_refused_if_no_recording_is_labelled_in_full(self, learned):
        learner, Xs, ys = learned
        partial = [np.where(np.arange(len(y)) < len(y) - 9, y, -1) for y in ys]
        with pytest.raises(DataError, match="no recording is labelled in full"):
            margin_rates(learner, Xs, partial, cv=2)

    def test_rates_are_refused_for_tables(self, tables):
        learner, X = tables
        with pytest.raises(DataError, match="a table has none"):
            margin_rates(learner, [X, X], [np.arange(75) % 3] * 2)


class TestStability:
    def test_a_relevant_feature_has_weight_in_every_resample(self, learned):
        _, Xs, ys = learned
        found = weight_stability(MetricLearner(metric="diagonal"), Xs, ys, n_resamples=4)
        columns = found.to_dict()
        assert columns["feature"][0] == "x0"
        assert columns["used"][0] == 1
        assert found.shares.sum(axis=1) == pytest.approx(np.ones(4))
        assert (np.array(columns["low"]) <= columns["high"]).all()

    def test_resamples_draw_whole_groups(self, learned):
        _, Xs, ys = learned
        learner = MetricLearner(metric="diagonal")
        with pytest.raises(DataError, match="one group: there is nothing to resample"):
            weight_stability(learner, Xs, ys, groups=["a"] * 6)
        with pytest.raises(SettingsError, match="n_resamples must be an integer >= 1, got 0"):
            weight_stability(learner, Xs, ys, n_resamples=0)


class TestRules:
    def test_predictions_keep_regions_with_numbers_of_changes(self, learned):
        learner, Xs, _ = learned
        known = PartialLabels(regions=[(0, 40, 0), (40, 60, 2)])
        (ends,) = learner.predict_breakpoints(Xs[4:5], known=known)
        assert sum(40 <= t < 60 for t in ends) == 2
        assert min(ends) >= 40

    def test_predictions_keep_length_limits_without_changing_the_problem(self, learned):
        learner, Xs, _ = learned
        (ends,) = learner.predict_breakpoints(Xs[4:5], 3, min_length=18, max_length=22)
        assert ((np.diff([0, *ends]) >= 18) & (np.diff([0, *ends]) <= 22)).all()
        assert learner.problem_ == ChangePoint()

    def test_links_of_several_tables_are_given_one_by_one(self):
        X, y = make_blobs(40, centers=3, random_state=0)
        learner = MetricLearner(Clustering()).fit([X], [y])
        links = PartialLabels(cannot_link=[(0, 1)])
        one, two = learner.predict([X, X], 3, known=[links, None])
        assert one[0] != one[1]
        assert np.array_equal(two, learner.predict([X], 3)[0])

    @cases(
        ({"min_lenght": 3}, TypeError, "no keyword 'min_lenght'"),
        ({"min_length": 0}, SettingsError, "min_length must be an integer >= 1, got 0"),
        ({"known": [None, None]}, DataError, "recording 0: 2 labels for 60 samples"),
        (
            {"known": [PartialLabels(must_link=[(0, 1)])]},
            DataError,
            "recording 0: links and chunks are labels of",
        ),
        (
            {"min_length": 30, "n_clusters": 4},
            OracleError,
            r"recording 0: no segmentation into 4 segments of 60 samples has only "
            r"segments that min_length=30 allows: allow more",
        ),
        (
            {"max_length": 10, "known": PartialLabels(regions=[(0, 60, 0)])},
            OracleError,
            r"max_length=10 allows, with changes where they are known to be",
        ),
        (
            {"known": PartialLabels(n_clusters=3), "n_clusters": 4},
            DataError,
            "recording 0: it is known to have 3 segments, but n_clusters=4: leave out one of",
        ),
    )
    def test_rules_that_cannot_be_kept_are_refused_by_name(self, learned, rules, error, message):
        learner, Xs, _ = learned
        with pytest.raises(error, match=message):
            learner.predict(Xs[4:5], **rules)

    def test_lengths_are_no_rule_for_clusters(self, tables):
        learner, X = tables
        with pytest.raises(SettingsError, match="min_length is a rule for segments"):
            learner.predict([X], 3, min_length=3)


# ---- margins in the time of the user, in pictures and in the report


mpl.use("Agg")
XS, YS = changes(6, n_features=3, n_relevant=1)


@pytest.fixture(scope="module")
def learner():
    found = MetricLearner(metric="diagonal").fit(XS[:5], YS[:5])
    found.margin_rates_ = margin_rates(found, XS[:5], YS[:5], cv=2)
    return found


def test_changes_of_a_frame_with_dates_are_dated(learner):
    times = pd.date_range("2026-01-01", periods=200, freq="s")
    segments = learner.predict_segments(pd.DataFrame(XS[5], index=times))
    assert len(segments) > 1
    assert all(segment["time"] == times[segment["start"]] for segment in segments)
    assert list(segments[0]) == ["start", "end", "time", "margin", "rate"]


def test_changes_of_recordings_are_in_their_time(learner):
    seconds = np.arange(200) / 4.0
    timed = Recording("one", XS[5], None, ("a", "b", "c"), time=TimeAxis("s", seconds))
    named = MetricLearner(metric="diagonal")
    named.fit(XS[:5], YS[:5], feature_names=["a", "b", "c"])
    (segments,) = named.predict_segments([timed])
    assert [found["time"] for found in segments] == [found["start"] / 4.0 for found in segments]
    assert "time" not in named.predict_segments(XS[5])[0]


def test_rates_and_margins_are_drawn_below_the_segments(learner):
    ((_, *changes),) = learner.predict_segments(XS[5:])
    shown = plot_segmentation(learner, XS[5], YS[5], margins=True)
    written = [text.get_text() for text in shown.texts]
    assert shown.get_yticklabels()[-1].get_text() == "how often right"
    assert f"{100 * changes[0]['rate']:.0f} %" in written
    plain = MetricLearner(metric="diagonal").fit(XS[:5], YS[:5])
    shown = plot_segmentation(plain, XS[5], margins=True)
    assert shown.get_yticklabels()[-1].get_text() == "margin"
    assert f"{changes[0]['margin']:.2g}" in [text.get_text() for text in shown.texts]
    assert "margin" not in [
        label.get_text() for label in plot_segmentation(plain, XS[5]).get_yticklabels()
    ]


def test_the_report_holds_margins_and_rates(learner):
    page = report_page(learner, XS[4:], YS[4:])
    ((_, *changes),) = learner.predict_segments(XS[5:])
    assert f'"at":{changes[0]["start"]},"margin":' in page.replace(" ", "")
    assert f'"rate":{changes[0]["rate"]}' in page.replace(" ", "")


def test_names_beside_a_heat_map_do_not_overlap():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 0], 20)
    Xs = [rng.standard_normal((60, 40)) + 2.0 * y[:, None] for _ in range(3)]
    names = [f"a rather long name of a sensor, {j}: mean" for j in range(40)]
    found = MetricLearner(metric="full").fit(Xs, [y] * 3, feature_names=names)
    axes = plot_metric(found, n_features=40)
    axes.figure.draw_without_rendering()
    labels = [label for label in axes.get_yticklabels() if label.get_text()]
    assert len(labels) == 40
    assert len({label.get_text().partition("…")[2] for label in labels}) == 40
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    overlaps = [below.y1 - above.y0 for below, above in itertools.pairwise(boxes)]
    assert max(overlaps) < 2.0  # pixels
    assert axes.get_xlabel().endswith("columns in the order of rows")
