"""States in pictures: the same colour for the same name everywhere, and names as they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from structsvm import MetricLearner
from structsvm.features import StateScores
from structsvm.plotting import plot_segmentation
from structsvm.plotting.style import COLORS, HATCHES, NO_STATE, state_marks

NAMES = np.repeat(["rest", "$walk$", "turn", "rest"], [20, 22, 14, 10])
LEVELS = {"rest": (0.0, 0.0), "$walk$": (2.0, 0.0), "turn": (0.0, 2.0)}


def recordings(names, n, seed=0):
    rng = np.random.default_rng(seed)
    levels = np.array([LEVELS[name] for name in names])
    return [levels + rng.normal(scale=0.5, size=levels.shape) for _ in range(n)]


@pytest.fixture(scope="module")
def learner():
    scores = StateScores("logistic", lags=(-1, 0, 1))
    return MetricLearner(metric="diagonal", features=scores).fit(
        recordings(NAMES, 4), [NAMES] * 4, feature_names=["a$b$", "c"]
    )


@pytest.fixture
def drawn(learner):
    """Return a function that draws a recording: its axes."""
    figures = []

    def draw(X, y=None, **settings):
        axes = plot_segmentation(learner, X, y, **settings)
        figures.append(axes.figure)
        axes.figure.canvas.draw()
        return axes

    yield draw
    for figure in figures:
        plt.close(figure)


def bars(axes):
    """Row, start, colour and hatch of each segment."""
    found = [(p.get_y(), p.get_x(), to_hex(p.get_facecolor()), p.get_hatch()) for p in axes.patches]
    return [(round(y), round(x + 0.5), color.upper(), hatch) for y, x, color, hatch in found]


def test_a_state_has_one_colour_in_all_rows_and_figures(learner, drawn):
    marks = state_marks(learner)
    assert list(marks) == ["$walk$", "rest", "turn"]
    X, other = recordings(NAMES, 2, seed=1)
    axes = drawn(X, NAMES)
    (table,) = learner.predict_segments([X])
    lanes = sorted({row for row, *_ in bars(axes)})
    true, learned, _ = ([bar[1:3] for bar in bars(axes) if bar[0] == lane] for lane in lanes)
    starts = [0, 20, 42, 56]
    assert true == [(start, marks[NAMES[start]].color) for start in starts]
    assert learned == [(row["start"], marks[row["state"]].color) for row in table]
    later = drawn(other[20:])
    assert {color for *_, color, _ in bars(later)} <= {mark.color for mark in marks.values()}


def test_the_legend_names_the_states_that_are_shown(drawn):
    X = recordings(NAMES, 1, seed=1)[0]
    part = NAMES[NAMES == "rest"]
    legend = drawn(X, NAMES).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [r"\$walk\$", "rest", "turn"]
    alone = drawn(np.zeros((30, 2)), part, n_clusters=1).get_legend()
    assert len(alone.get_texts()) <= 2


def test_states_that_were_not_learned_are_grey(drawn):
    y = np.where(NAMES == "turn", "sit", NAMES)
    axes = drawn(recordings(NAMES, 1, seed=1)[0], y)
    assert NO_STATE.color in {color for *_, color, _ in bars(axes)}
    assert axes.get_legend().get_texts()[-1].get_text() == "sit (not learned)"


def test_segments_without_names_keep_the_plain_look(drawn):
    axes = drawn(recordings(NAMES, 1, seed=1)[0], [20, 42, 56, 66])
    assert "#000000" in {color for *_, color, _ in bars(axes)}


def test_names_with_dollars_are_no_formulas(drawn):
    axes = drawn(recordings(NAMES, 1, seed=1)[0], NAMES)
    written = [text.get_text() for text in axes.texts]
    assert r"\$walk\$" in written
    assert r"score \$walk\$" in [label.get_text() for label in axes.get_yticklabels()]


def test_pictures_of_states_are_visible_on_black(learner):
    with plt.style.context("dark_background"):
        axes = plot_segmentation(learner, recordings(NAMES, 1)[0], [20, 42, 56, 66])
    colors = {to_hex(line.get_color()) for line in axes.lines}
    assert colors == {"#ffffff"}
    plt.close(axes.figure)


@pytest.mark.parametrize("n", [2, 7, 8, 40])
def test_many_states_are_told_apart_by_colour_and_hatch(n):
    rng = np.random.default_rng(0)
    ys = [np.repeat(rng.permutation(n), 4) for _ in range(2)]
    Xs = [np.stack([y, (y * 7) % 11, y % 3], axis=1) + rng.normal(0, 0.1, (4 * n, 3)) for y in ys]
    scores = StateScores("logistic", lags=(0,))
    learner = MetricLearner(metric="diagonal", features=scores).fit(Xs, ys)
    marks = state_marks(learner)
    assert len({(mark.color, mark.hatch) for mark in marks.values()}) == n
    assert n <= len(COLORS) * len(HATCHES)
    axes = plot_segmentation(learner, Xs[0], ys[0])
    assert len(axes.get_legend().get_texts()) <= 24
    plt.close(axes.figure)


def test_long_names_of_states_leave_room_for_the_recording():
    long = {name: f"the state in which {name} is " + 40 * "on and " + name for name in LEVELS}
    X = recordings(NAMES, 1)[0]
    names = np.array([long[name] for name in NAMES])
    learner = MetricLearner(metric="diagonal", features=StateScores("logistic", lags=(0,)))
    learner.fit(recordings(NAMES, 4), [names] * 4)
    axes = plot_segmentation(learner, X, names)
    axes.figure.canvas.draw()
    whole = axes.figure.get_window_extent()
    legend = axes.get_legend()
    assert axes.get_position().width > 0.5
    assert whole.x0 <= legend.get_window_extent().x0
    assert legend.get_window_extent().x1 <= whole.x1
    assert len({text.get_text() for text in legend.get_texts()}) == 3
    plt.close(axes.figure)
