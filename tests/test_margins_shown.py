"""How sure changes are, in the time of the user, in pictures and in the report."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from structsvm import MetricLearner, margin_rates
from structsvm.datasets import relevant_changes
from structsvm.io import Recording, TimeAxis, arrays_and_labels
from structsvm.plotting import plot_metric, plot_segmentation, report_page

mpl.use("Agg")
RECORDINGS = relevant_changes(6, n_samples=200, n_features=3, n_relevant=1, random_state=0)
XS, YS = arrays_and_labels(RECORDINGS)


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


def test_the_report_holds_them(learner):
    page = report_page(learner, XS[4:], YS[4:])
    ((_, *changes),) = learner.predict_segments(XS[5:])
    assert f'"at":{changes[0]["start"]},"margin":' in page.replace(" ", "")
    assert f'"rate":{changes[0]["rate"]}' in page.replace(" ", "")


def test_names_beside_a_heat_map_do_not_meet_each_other():
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 0], 20)
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
