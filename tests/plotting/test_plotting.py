"""Pictures: what they show, on given or new axes."""

import sys
from copy import copy
from dataclasses import replace
from itertools import chain, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris

from structsvm import (
    ChangePoint,
    Clustering,
    MetricLearner,
    MetricLearnerCV,
    compare_solvers,
    margin_rates,
)
from structsvm.data.times import TimeAxis, time_axis
from structsvm.datasets import relevant_changes
from structsvm.errors import MissingExtraError, SettingsError
from structsvm.io import arrays_and_labels
from structsvm.learner.preparing import encode
from structsvm.learner.steps import decode_with
from structsvm.model_selection import WeightStability
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import matched_labels
from structsvm.partitions.metric import Metric
from structsvm.plotting import (
    plot_clusters,
    plot_gap,
    plot_history,
    plot_metric,
    plot_path,
    plot_segmentation,
    plot_weight_stability,
    plot_weights,
)
from structsvm.plotting.style import mark_colors
from structsvm.plotting.words import feature_weights, scaled_metric, spectrum_in_words
from structsvm.solvers import CuttingPlane, Stopping

RECORDINGS = relevant_changes(
    4, n_samples=200, n_features=6, n_relevant=2, jump=3.0, random_state=0
)
XS, YS = arrays_and_labels(RECORDINGS)
NAMES = list(RECORDINGS[0].features)


@pytest.fixture(scope="module", params=["diagonal", "full"])
def learner(request) -> MetricLearner:
    return MetricLearner(metric=request.param).fit(XS, YS, feature_names=NAMES)


@pytest.fixture
def ax():
    return Figure().subplots()


def luminance(color) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def rows(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def strip(ax, lane):
    """Return the ends of the segments drawn in a lane."""
    return [
        round(p.get_x() + p.get_width() + 0.5)
        for p in ax.patches
        if isinstance(p, Rectangle) and p.get_y() < lane < p.get_y() + p.get_height()
    ]


class TestSegmentation:
    def test_strips_of_a_picture_are_the_segmentations(self, learner, ax):
        n = 2 if learner.metric == "diagonal" else 4  # two directions below two columns
        assert plot_segmentation(learner, XS[0], YS[0], n_traces=2, ax=ax) is ax
        truth = encode(learner, XS[:1], YS[:1])[0]
        untrained = decode_with(learner, learner.baselines_["untrained"].metric_, XS[:1])[0]
        drawn = [truth.breakpoints, *learner.predict_breakpoints(XS[:1]), untrained.breakpoints]
        assert [strip(ax, n + row) for row in range(3)] == drawn
        names = ("true", "learned", "untrained")
        assert rows(ax)[n:] == [
            f"{name}\n{len(ends)} segments" for name, ends in zip(names, drawn, strict=True)
        ]
        dashed = [line.get_xdata()[0] + 0.5 for line in ax.lines[n:]]
        assert dashed == truth.breakpoints[:-1]

    def test_a_segmentation_is_drawn_without_a_truth(self, learner, ax):
        plot_segmentation(learner, XS[0], n_clusters=3, n_traces=1, ax=ax)
        assert rows(ax)[-2:] == ["learned\n3 segments", "untrained\n3 segments"]
        assert len(ax.lines) == len(rows(ax)) - 2

    def test_the_drawn_columns_have_the_largest_weights_and_measured_values(self, learner, ax):
        frame = pd.DataFrame(XS[0], columns=NAMES)
        plot_segmentation(learner, frame, n_traces=2, ax=ax)
        heaviest = np.argsort(-feature_weights(learner))[:2]
        assert rows(ax)[:2] == [NAMES[j] for j in heaviest]
        drawn = ax.lines[0].get_ydata()
        assert np.corrcoef(drawn, XS[0][:, heaviest[0]])[0, 1] == pytest.approx(-1.0)

    def test_labels_of_true_segments_stay_within_them(self, learner, ax):
        names = np.array(["standing_up", "a name that is far too long for its segment"])
        drawn = plot_segmentation(learner, XS[0], names[YS[0] % 2], n_traces=1, ax=ax)
        drawn.figure.canvas.draw()
        written = [text for text in ax.texts if text.get_text()]
        assert {text.get_text().replace("\n", "_") for text in written} == {"standing_up"}
        edges = np.array([0, *(np.flatnonzero(np.diff(YS[0])) + 1), len(YS[0])]) - 0.5
        for text in written:
            box = ax.transData.inverted().transform_bbox(text.get_window_extent())
            assert edges[0] <= box.x0
            assert box.x1 <= edges[np.searchsorted(edges, box.x0)]

    def test_drawn_directions_are_the_heaviest_of_the_metric(self, learner, ax):
        plot_segmentation(learner, XS[0], n_traces=1, ax=ax)
        heaviest = np.argmax((learner.metric_.factor.T**2).sum(axis=1))
        expected = learner.transform(XS[:1])[0][:, heaviest]
        assert np.corrcoef(ax.lines[-1].get_ydata(), expected)[0, 1] == pytest.approx(-1.0)
        if learner.metric == "diagonal":
            assert rows(ax)[0] in NAMES
        else:
            title, _, features = rows(ax)[1].partition("\n")
            assert title == "direction 1"
            named = features.replace("\n", " ").split(", ")
            weights = np.abs(learner.metric_.factor.T[heaviest])
            assert named == [NAMES[j] for j in np.argsort(-weights)[:2]]

    def test_times_are_those_of_the_recording_and_dates_do_not_overlap(self, learner, tmp_path):
        dates = pd.date_range("2024-03-30 20:00", periods=200, freq="h", tz="Europe/Berlin")
        recording = replace(RECORDINGS[0], time=time_axis(dates, 200))
        axes = plot_segmentation(learner, recording)
        assert axes.get_xlabel() == "time (UTC)"
        axes.figure.savefig(tmp_path / "dates.png")
        low, high = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        boxes = [label.get_window_extent() for at, label in ticks if low <= at <= high]
        assert len(boxes) > 3
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
        plt.close(axes.figure)

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("step", ["s", "min", "h", "D"])
    def test_time_axes_have_ticks_at_any_length_and_clocks_show_no_day(
        self, learner, tmp_path, step
    ):
        values = pd.date_range("2024-03-30 20:00", periods=240, freq=step).to_numpy()
        X = np.tile(RECORDINGS[0].X, (2, 1))[:240]
        for clock in (False, True):
            axes = plot_segmentation(learner, X, times=TimeAxis("time", values, clock=clock))
            axes.figure.savefig(tmp_path / "clock.png")
            assert 3 <= sum(text.get_text() != "" for text in axes.get_xticklabels()) <= 10
            offset = axes.xaxis.get_major_formatter().get_offset()
            assert ("2024" in offset) != clock
            plt.close(axes.figure)

    def test_long_names_that_differ_in_their_middle_are_told_apart(self):
        """Each was the same letters, and the features of a direction covered those of the next."""
        end = "in metres per second squared, filtered below 20 Hz as the sensor gives it"
        names = [f"acceleration of the left wrist, axis {k} of 6, {end}" for k in range(6)]
        learner = MetricLearner(metric="full").fit(XS, YS, feature_names=names)
        for draw in (
            lambda: plot_segmentation(learner, XS[0], n_traces=6),
            lambda: plot_weights(learner),
            lambda: plot_metric(learner),
        ):
            axes = draw()
            axes.figure.canvas.draw()
            assert len(set(rows(axes))) == len(rows(axes)) >= 6
            extents = [label.get_window_extent() for label in axes.get_yticklabels()]
            tops = sorted((extent.y1, extent.y0) for extent in extents)
            assert all(low < top[1] + 3 for (low, _), top in pairwise(tops))
            plt.close(axes.figure)


class TestWeights:
    def test_bars_of_a_picture_are_the_largest_weights(self, learner, ax):
        assert plot_weights(learner, n_features=4, ax=ax) is ax
        weights = feature_weights(learner)
        top = np.argsort(-weights)[:4]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(weights[top].tolist())
        assert rows(ax) == [NAMES[j] for j in top]
        assert "4 largest of 6" in ax.get_xlabel()
        assert not any(isinstance(c, LineCollection) for c in ax.collections)

    def test_weights_of_the_untrained_metric_are_one(self, learner):
        untrained = MetricLearner().set_params(**learner.get_params())
        untrained.__dict__.update(vars(learner))
        untrained.model_ = learner.baselines_["untrained"].metric_
        np.testing.assert_allclose(feature_weights(untrained), 1.0)


class TestMetric:
    def test_the_heat_map_shows_the_matrix_of_the_metric(self, learner, ax):
        assert plot_metric(learner, n_features=4, ax=ax) is ax
        top = np.argsort(-feature_weights(learner), kind="stable")[:4]
        if learner.metric == "diagonal":  # of which the weights say it all
            assert rows(ax) == [NAMES[j] for j in top]
            assert [bar.get_width() for bar in ax.patches] == pytest.approx(
                np.diag(scaled_metric(learner))[top].tolist()
            )
            return
        shown = ax.images[0].get_array()
        np.testing.assert_allclose(shown, scaled_metric(learner)[np.ix_(top, top)])
        assert rows(ax) == [NAMES[j] for j in top]
        assert "of 6" in ax.get_xlabel()


class TestLearning:
    def test_gaps_of_several_solvers_are_drawn_with_a_legend(self, ax):
        found = compare_solvers(
            ChangePoint(), XS, YS, ["cutting-plane", "one-slack"], metric="diagonal"
        )
        plot_gap(found.solutions, ax=ax)
        assert [text.get_text() for text in ax.get_legend().texts] == ["cutting-plane", "one-slack"]
        marks = {(line.get_marker(), line.get_linestyle()) for line in ax.lines}
        assert len(marks) == 2

    @pytest.mark.filterwarnings("ignore::structsvm.errors.VerdictWarning")
    def test_the_path_of_a_search_is_drawn(self, ax):
        search = MetricLearnerCV(
            candidates=("untrained", "pca", "diagonal"), lams=(0.1, 1.0), cv=2
        ).fit(XS, YS)
        search.best_candidate_, search.best_lam_ = "diagonal", 1.0  # what has no lam has no ring
        assert plot_path(search, ax=ax) is ax
        FigureCanvasAgg(ax.figure).draw()
        legend = ax.get_legend().get_window_extent()
        assert legend.x0 >= ax.get_window_extent().x1  # lines of baselines cross every place inside
        table = search.cv_results_
        losses = dict(zip(table["lam"], table["mean_loss"], strict=True))
        drawn = {
            tuple(line.get_xdata()): tuple(line.get_ydata())
            for line in ax.lines
            if line.get_marker() == "D"
        }
        assert drawn == {(1.0, 0.1): (losses[1.0], losses[0.1])}
        names = [text.get_text() for text in ax.get_legend().texts]
        assert sorted(names) == ["PCA", "diagonal", "untrained"]
        ring = ax.lines[-1]
        assert ring.get_xdata()[0] == search.best_lam_
        assert ring.get_ydata()[0] == losses[search.best_lam_]


@pytest.fixture(scope="module")
def iris() -> MetricLearner:
    data = load_iris()
    return MetricLearner(problem=Clustering(), standardize="training").fit(
        [data.data], [data.target], feature_names=data.feature_names
    )


class TestClusters:
    def test_predicted_clusters_are_drawn_with_rings_around_misplaced_rows(self, iris, ax):
        X, y = load_iris(return_X_y=True)
        assert plot_clusters(iris, X, y, n_clusters="true", ax=ax) is ax
        labels = iris.predict([X], 3)[0]
        *clusters, rings = ax.collections
        assert [len(c.get_offsets()) for c in clusters] == np.bincount(labels).tolist()
        truth, guess = encode(iris, [X, X], [y, labels])
        wrong = guess.labels != matched_labels(truth, guess)
        assert 0 < len(rings.get_offsets()) == wrong.sum() < 15
        assert f"ringed: {wrong.sum()} of 150 misplaced" in ax.get_title(loc="left")

    def test_a_legend_names_the_classes_that_clusters_go_with(self, iris, ax):
        X, y = load_iris(return_X_y=True)
        names = load_iris().target_names[y]
        plot_clusters(iris, X, names, n_clusters=3, ax=ax)
        assert [text.get_text() for text in ax.get_legend().texts] == sorted(set(names))
        assert ax.get_xlabel().startswith("direction 1: ")

    def test_numbered_classes_in_a_legend_are_in_order(self, rng, ax):
        y = np.repeat([10, 2, 1], 8)
        X = np.c_[y, y**2] + 0.1 * rng.normal(size=(24, 2))
        learner = MetricLearner(Clustering(), metric="diagonal").fit([X], [y])
        plot_clusters(learner, X, y, n_clusters=3, ax=ax)
        assert [text.get_text() for text in ax.get_legend().texts] == ["1", "2", "10"]

    @pytest.mark.parametrize("style", ["default", "dark_background"])
    def test_every_mark_is_seen_on_light_and_on_dark_paper(self, style):
        with plt.style.context(style):
            paper = luminance(to_rgb(plt.rcParams["axes.facecolor"]))
            for color in mark_colors():
                dark, light = sorted((paper, luminance(to_rgb(color))))
                assert (light + 0.05) / (dark + 0.05) > 2, color

    def test_misplaced_rows_do_not_depend_on_the_names_of_clusters(self):
        truth = EquivalenceMatrix.from_labels([0, 0, 1, 1, 2, 2])
        guess = EquivalenceMatrix.from_labels([5, 5, 5, 3, 1, 1])
        assert matched_labels(truth, guess).tolist() == [0, 0, 1, 1, 2, 2]
        one = EquivalenceMatrix.from_labels([0] * 6)
        matched = matched_labels(truth, one)
        assert (one.labels != matched).sum() == 4
        assert set(matched) == {0, 1, 2}


def test_names_in_pictures_are_not_read_as_formulas(ax):
    learner = MetricLearner(metric="diagonal").fit(XS, YS)
    plot_gap({"_a": learner.solution_, "$b$": learner.solution_}, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [" _a", r"\$b\$"]
    stability = WeightStability(("$a$", "_b"), np.array([[0.8, 0.2]]), np.array([0.8, 0.2]))
    assert rows(plot_weight_stability(stability, ax=Figure().subplots())) == [r"\$a\$", "_b"]


def test_impossible_numbers_of_drawn_features_are_refused(ax):
    learner = MetricLearner(metric="diagonal").fit(XS, YS)
    for draw in (plot_weights, plot_metric):
        with pytest.raises(SettingsError, match="n_features must be an integer >= 1"):
            draw(learner, n_features=0, ax=ax)
    with pytest.raises(SettingsError, match="n_traces must be an integer >= 1"):
        plot_segmentation(learner, XS[0], n_traces=0, ax=ax)


class TestWords:
    def test_the_spectrum_of_one_direction_is_described(self, learner):
        line = MetricLearner().set_params(**learner.get_params())
        line.__dict__.update(vars(learner))
        line.model_ = Metric(np.ones((6, 1)), learner.metric_.price)
        assert spectrum_in_words(line) == (
            "rank 1 of 6; half of the metric is in 1 direction, 90 % in 1"
        )


def test_a_missing_matplotlib_is_named_with_what_to_install(learner, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        MissingExtraError, match=r"plotting needs matplotlib: pip install '.*plot\]"
    ):
        plot_weights(learner)


@pytest.mark.parametrize(("most", "kept"), [(0, []), (3, [0, 4]), (200, list(range(8)))])
def test_a_run_is_drawn_with_the_weights_that_were_kept(most, kept):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0) + rng.normal(size=(40, 2))
    y = np.repeat([0, 1], 20)
    stopping = Stopping(tol=1e-9, max_iter=8, n_weights=most)
    learner = MetricLearner(metric="diagonal", solver=CuttingPlane(stopping))
    learner.fit([X, 2 * X], [y, y])
    weights = learner.solution_.history.weights
    places = [place for place, _ in weights]
    n = len(learner.solution_.history.entries)
    assert places == [place for place in kept if place < n]
    axes = plot_history(learner, top=2)
    assert [ax.get_ylabel() for ax in axes][2:] == ["weight"] * bool(kept)
    np.testing.assert_array_equal(
        axes[1].lines[0].get_ydata(), [e.n_cuts for e in learner.solution_.history.entries]
    )
    if places == list(range(n)):
        np.testing.assert_array_equal(weights[-1][1], learner.solution_.w)
        heaviest = np.abs(learner.solution_.w).argmax()
        drawn = axes[2].lines[0].get_ydata()
        np.testing.assert_array_equal(drawn, [w[heaviest] for _, w in weights])
    with pytest.raises(SettingsError, match="one run"):
        plot_history([learner, learner])
    plt.close("all")


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("step", [1.0, 0.04])
def test_ranges_of_changes_are_drawn_in_the_unit_of_the_axis(learner, ax, level, step):
    rated = copy(learner)
    rated.margin_rates_ = margin_rates(learner, XS, YS, cv=2)
    plot_segmentation(rated, XS[0], level=level, times=step * np.arange(200), ax=ax)
    (segments,) = rated.predict_segments(XS[:1], level=level)
    around = [(one["from"], one["to"]) for one in segments[1:]]
    missed = list(map(tuple, chain.from_iterable(one["possible"] for one in segments)))
    drawn = {
        kind: [
            tuple(np.rint(np.asarray(line.get_xdata()) / step + 0.5).astype(int).tolist())
            for line in ax.lines
            if line.get_linestyle() == kind[1] and line.get_linewidth() == kind[0]
        ]
        for kind in ((6, "-"), (2, ":"))
    }
    assert drawn[6, "-"] == around
    assert sorted(drawn[2, ":"]) == sorted(missed)
    assert rows(ax)[-1] == "how often right"
