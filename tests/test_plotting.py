"""Pictures: what they show, on axes of the caller's or of their own."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from structsvm import MetricLearner
from structsvm.datasets import arrays_and_labels, relevant_changes
from structsvm.errors import MissingExtraError, SettingsError
from structsvm.plotting import plot_segmentation, plot_weights
from structsvm.report import (
    certificate_in_words,
    feature_names,
    feature_weights,
    spectrum_in_words,
    training_in_words,
)

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
    def test_strips_are_the_segmentations(self, learner, ax):
        assert plot_segmentation(learner, XS[0], YS[0], n_traces=2, ax=ax) is ax
        truth = learner.encode(XS[:1], YS[:1])[0]
        untrained = learner.decode_with(learner.baselines_["untrained"], XS[:1])[0]
        drawn = [truth.breakpoints, *learner.predict_breakpoints(XS[:1]), untrained.breakpoints]
        assert [strip(ax, lane) for lane in (2, 3, 4)] == drawn
        names = ("true", "learned", "untrained")
        assert rows(ax)[2:] == [
            f"{name}\n{len(ends)} segments" for name, ends in zip(names, drawn, strict=True)
        ]
        dashed = [line.get_xdata()[0] + 0.5 for line in ax.lines[2:]]
        assert dashed == truth.breakpoints[:-1]

    def test_labels_are_written_where_there_is_room(self, learner, ax):
        words = np.array(["abcdefghij"[label] for label in YS[0]])
        plot_segmentation(learner, XS[0], words, ax=ax)
        written = [text.get_text() for text in ax.texts]
        assert written
        assert written == [w for w in dict.fromkeys(words) if (words == w).sum() >= 7]

    def test_breakpoints_have_no_labels_to_write(self, learner, ax):
        plot_segmentation(learner, XS[0], [50, 200], ax=ax)
        assert not ax.texts
        assert strip(ax, 3) == [50, 200]

    def test_without_truth(self, learner, ax):
        plot_segmentation(learner, XS[0], n_segments=3, n_traces=1, ax=ax)
        assert rows(ax)[1:] == ["learned\n3 segments", "untrained\n3 segments"]
        assert len(ax.lines) == 1

    def test_number_of_segments_of_the_truth(self, learner, ax):
        plot_segmentation(learner, XS[0], YS[0], n_segments="true", ax=ax)
        assert {row.partition("\n")[2] for row in rows(ax)[-3:]} == {f"{YS[0][-1] + 1} segments"}

    def test_features_of_largest_weight_as_measured(self, learner, ax):
        frame = pd.DataFrame(XS[0], columns=NAMES)
        plot_segmentation(learner, frame, show="features", n_traces=2, ax=ax)
        heaviest = np.argsort(-feature_weights(learner))[:2]
        assert rows(ax)[:2] == [NAMES[j] for j in heaviest]
        drawn = ax.lines[0].get_ydata()
        assert np.corrcoef(drawn, XS[0][:, heaviest[0]])[0, 1] == pytest.approx(-1.0)

    def test_components_are_the_heaviest_directions(self, learner, ax):
        plot_segmentation(learner, XS[0], n_traces=1, ax=ax)
        heaviest = np.argmax((learner.components_**2).sum(axis=1))
        expected = learner.transform(XS[:1])[0][:, heaviest]
        assert np.corrcoef(ax.lines[0].get_ydata(), expected)[0, 1] == pytest.approx(-1.0)
        if learner.metric == "diagonal":
            assert rows(ax)[0] in NAMES
        else:
            assert rows(ax)[0] == "direction 1"

    def test_on_a_figure_of_its_own(self, learner, tmp_path):
        from matplotlib import pyplot

        drawn = plot_segmentation(learner, XS[0], YS[0])
        drawn.figure.savefig(tmp_path / "figure.png")
        pyplot.close(drawn.figure)
        assert (tmp_path / "figure.png").stat().st_size > 10_000

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"show": "all"}, "show must be 'components' or 'features', got 'all'"),
            ({"n_segments": "true"}, "n_segments='true' needs the true labels"),
            ({"n_segments": "some"}, "must be an integer, 'true' or None, got 'some'"),
        ],
    )
    def test_settings_that_cannot_be(self, learner, ax, options, message):
        with pytest.raises(SettingsError, match=message):
            plot_segmentation(learner, XS[0], ax=ax, **options)


class TestWeights:
    def test_bars_are_the_largest_weights(self, learner, ax):
        assert plot_weights(learner, n_features=4, ax=ax) is ax
        weights = feature_weights(learner)
        top = np.argsort(-weights)[:4]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(weights[top].tolist())
        assert rows(ax) == [NAMES[j] for j in top]
        assert "4 largest of 6" in ax.get_xlabel()
        assert not any(isinstance(c, LineCollection) for c in ax.collections)

    def test_relevant_features_count_more_than_untrained(self, learner):
        weights = feature_weights(learner)
        assert set(np.argsort(weights)[-2:]) == {0, 1}
        assert weights[:2].min() > 1 > weights[2:].mean()

    def test_the_untrained_metric_weighs_one(self, learner):
        untrained = MetricLearner().set_params(**learner.get_params())
        untrained.__dict__.update(vars(learner))
        rival = learner.baselines_["untrained"]
        untrained.components_, untrained.penalty_ = rival.factor.T, rival.penalty
        np.testing.assert_allclose(feature_weights(untrained), 1.0)


class TestWords:
    def test_spectrum(self, learner):
        words = spectrum_in_words(learner)
        rank = learner.components_.shape[0]
        assert words.startswith(f"rank {rank} of 6; ")
        assert words.endswith("90 %")

    def test_spectrum_of_one_direction(self, learner):
        line = MetricLearner().set_params(**learner.get_params())
        line.__dict__.update(vars(learner))
        line.components_ = np.ones((1, 6))
        assert spectrum_in_words(line) == (
            "rank 1 of 6; 1 direction carries half of the metric, 1 carries 90 %"
        )

    def test_certificate_and_training(self, learner):
        assert certificate_in_words(learner.solution_).startswith("at most ")
        words = training_in_words(learner.training_data_)
        assert words.startswith("4 recordings of 200 samples and ")
        assert ", 800 samples and " in words

    def test_unnamed_features(self):
        learner = MetricLearner(metric="diagonal").fit(XS[:2], YS[:2])
        assert feature_names(learner) == [f"x{j}" for j in range(6)]


def test_without_matplotlib_it_says_what_to_install(learner, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        MissingExtraError, match=r"plotting needs matplotlib: pip install '.*plot\]"
    ):
        plot_weights(learner)
