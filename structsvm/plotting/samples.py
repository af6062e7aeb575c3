"""A recording above its segmentations; a table or a graph in the two heaviest directions."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.gaps import InMetric
from structsvm.data.reading import rows_in_time
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts, asked_counts
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataWarning, SettingsError
from structsvm.features.names import read_names
from structsvm.learner.columns import is_image, partition_of, unscaled
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import as_measured, decode_with, encode, names_by_metric
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import matched_labels, misplaced
from structsvm.plotting.style import (
    LEARNED,
    LONGEST,
    MARKERS,
    NO_STATE,
    TRACE,
    UNTRAINED,
    StateMark,
    legend_text,
    mark_colors,
    new_axes,
    plain,
    plain_text,
    shortened,
    state_marks,
    text_color,
)
from structsvm.plotting.words import feature_weights, heaviest_directions
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below
from structsvm.support.lazy import require
from structsvm.support.plain import counted
from structsvm.support.quiet import without_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDEST = 26
"""Letters in a line of the features that name a direction."""
LINES = 3
"""That a lane has room for."""
SHADES = (0.8, 0.35)
"""Opacity of every other segment of a strip."""
LANE = 0.8
"""Height of what is drawn in a lane of height 1."""
LEGIBLE = 0.035
"""Part of the width that a segment must have to carry its label."""
LETTER = 0.0095
"""Part of the width that a letter of a label takes, about."""
USUAL = 9.0
"""Inches of a figure in which it does."""
SIZES = {"medium": 1.4, "x-small": 1.0}
"""Sizes of labels, and how wide their capitals are then."""
LONGEST_STATE = 80
"""Letters of a state in the legend, which is no wider than the axes then."""
IN_LEGEND = 24
"""States that are listed at most; those that take the most time."""


@dataclass(frozen=True, eq=False)
class _Strip:
    """A row of coloured segments."""

    name: str
    breakpoints: list[int]
    color: str
    states: Sequence[Any] | None = None
    """The name of the state of each segment, None for one without; None where there are none."""

    @property
    def segments(self) -> list[tuple[int, int]]:
        """Start and end of each."""
        return list(itertools.pairwise([0, *self.breakpoints]))


@dataclass(frozen=True, eq=False)
class _Sure:
    """How sure each change of the learned segmentation is."""

    at: list[int]
    heights: list[float]
    """From 0 to 1."""
    written: list[str]
    title: str

    @classmethod
    def of(cls, learner: MetricLearner, sample: Sample, K: Counts) -> _Sure:
        """By their rates, or by their margins, of which 1 is drawn half as high as the highest."""
        with without_warnings(DataWarning):  # which were given when it was segmented
            ((_, *changes),) = learner.predict_segments([sample], K)
        at = [change["start"] for change in changes]
        if getattr(learner, "margin_rates_", None) is not None:
            rates = [change["rate"] for change in changes]
            return cls(at, rates, [f"{100 * rate:.0f} %" for rate in rates], "how often right")
        margins = [change["margin"] for change in changes]
        heights = [1.0 if np.isinf(margin) else margin / (1.0 + margin) for margin in margins]
        return cls(at, heights, [f"{margin:.2g}" for margin in margins], "margin")


def plot_segmentation(
    learner: MetricLearner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    show: str = "components",
    n_traces: int = 3,
    times: Any = None,
    margins: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw a recording above its true, learned and untrained segmentations.

    Where the learner knows named states, a segment has the colour of its state, the same in every
    row and in every picture of that learner; grey is a state that it has not learned.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    X : array or data frame of shape (T, P)
    y : labels (T,) or breakpoints, optional
        The truth; its changes are the dashed lines.
    n_clusters : int, "true" or None
        Decode with so many segments, with as many as the truth has, or as the price decides.
    show : {"components", "features"}
        Draw the recording in the metric, heaviest directions first, or the features of largest
        weight as they were measured.
    n_traces : int
        How many of them.
    times : TimeAxis, or numbers or dates of shape (T,), optional
        When the samples were measured; by default as a recording or the dates in the index of a
        data frame say.
    margins : bool
        Whether to draw how sure each learned change is: its rate where the learner has
        ``margin_rates_``, and its margin otherwise (:meth:`MetricLearner.predict_segments`).

    Raises
    ------
    SettingsError
        For a learner whose partitions are no segments.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_segmentation
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_segmentation(learner, X, y, show="features", n_traces=2).has_data()
    True
    """
    measured, sample = check_drawable(learner, X, "plot_segmentation", in_order=True)
    truths = None if y is None else encode(learner, [sample], [y])
    truth = None if truths is None else truths[0]
    K = asked_counts(n_clusters, truths)
    names, values = traces(learner, measured, sample, show, n_traces)
    (learned,) = learner.predict_partitions([sample], K)
    (untrained,) = decode_with(learner, learner.baselines_["untrained"], [sample], K)
    states = names_by_metric(
        {"learned": [learned], "untrained": [untrained]}, [sample], learner.classes_
    )
    strips = [
        _strip("learned", learned, LEARNED, states),
        _strip("untrained", untrained, UNTRAINED, states),
    ]
    ink = text_color()
    if truth is not None:
        strips.insert(0, _Strip("true", truth.breakpoints, ink, _true_states(learner, truth, y)))
    marks = state_marks(learner)

    sure = _Sure.of(learner, sample, K) if margins else None
    axis = _time_axis(times, X, values.shape[1])
    edges = _drawn(axis.edges) if axis else np.arange(values.shape[1] + 1) - 0.5
    places = _drawn(axis.values) if axis else np.arange(values.shape[1])
    lanes = len(names) + len(strips) + (sure is not None)
    ax = new_axes(ax, height=0.55 * lanes + 0.8 + (0.4 if marks else 0.0))
    for lane, trace in enumerate(values):
        _draw_trace(ax, places, _in_lane(lane, trace))
    for lane, strip in enumerate(strips, start=len(names)):
        _draw_strip(ax, lane, strip, marks, edges)
    if truth is not None:
        for change in truth.breakpoints[:-1]:
            at = edges[change]
            ax.axvline(at, color=ink, linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
        if strips[0].states is None:
            _write_labels(ax, len(names), truth, y, edges)
    labels = _wrapped(names) + [
        f"{s.name}\n{counted(len(s.breakpoints), 'segment')}" for s in strips
    ]
    if sure is not None:
        labels.append(sure.title)
        _draw_sure(ax, len(labels) - 1, sure, edges)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(edges[0], edges[-1])
    _write_times(ax, axis)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if marks:
        _draw_legend(ax, strips, marks)
    return ax


def _wrapped(names: Sequence[str]) -> list[str]:
    """Directions, and below each the features that name it, or features; long names are cut."""
    pairs = [name.partition(": ") for name in names]
    features = [last if colon else first for first, colon, last in pairs]
    titles = [f"{first}\n" if colon else "" for first, colon, _ in pairs]
    n_lines = LINES - 1 if any(titles) else LINES
    return [plain_text(t + f) for t, f in zip(titles, _in_lines(features, n_lines), strict=True)]


def _in_lines(names: Sequence[str], n_lines: int) -> list[str]:
    """Names in lines of which a lane holds so many; words break them where they may."""
    for most in range(n_lines * WIDEST, WIDEST, -1):
        found = [wrap(name, WIDEST) for name in shortened(names, most)]
        if all(len(lines) <= n_lines for lines in found):
            return ["\n".join(lines) for lines in found]
    return shortened(names, WIDEST)


def _time_axis(times: Any, X: Any, n_samples: int) -> TimeAxis | None:
    """The times that were given, or those that a recording or a data frame has."""
    if times is None:
        times = rows_in_time(X, "the recording").axis
    return None if times is None else time_axis(times, n_samples)


def _write_times(ax: Axes, axis: TimeAxis | None) -> None:
    """Whole numbers of samples, numbers, or dates, what these share at the end of the axis."""
    ax.set_xlabel(plain_text(axis.title) if axis else "sample")
    if axis is None:
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
        return
    if axis.values.dtype.kind != "M":
        return
    dates = require("matplotlib.dates", "plot", "plotting")
    locator = dates.AutoDateLocator(minticks=3, maxticks=8)  # between which it has steps for all
    ax.xaxis.set_major_locator(locator)
    formatter = dates.ConciseDateFormatter(locator, show_offset=not axis.clock)  # of no day
    ax.xaxis.set_major_formatter(formatter)


def _draw_trace(ax: Axes, places: NDArray[Any], values: Floats) -> None:
    """A line, and dots where a value is between two missing ones, through which no line goes."""
    ink = text_color()
    ax.plot(places, values, color=ink, alpha=TRACE, linewidth=0.9)
    missing = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    alone = ~missing[1:-1] & missing[:-2] & missing[2:]
    if alone.any():
        ax.plot(places[alone], values[alone], ".", color=ink, alpha=TRACE, markersize=2)


def _drawn(values: NDArray[Any]) -> Floats:
    """Times as numbers of the axis."""
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=np.float64)
    dates = require("matplotlib.dates", "plot", "plotting")
    return np.asarray(dates.date2num(values))


def _strip(
    name: str, M: EquivalenceMatrix, color: str, states: Mapping[str, Sequence[NDArray[Any]]]
) -> _Strip:
    if name not in states:
        return _Strip(name, M.breakpoints, color)
    (items,) = states[name]
    return _Strip(name, M.breakpoints, color, [items[end - 1] for end in M.breakpoints])


def _true_states(learner: MetricLearner, truth: EquivalenceMatrix, y: Any) -> list[Any] | None:
    """The name of each true segment, where the learner knows states and the labels are names."""
    if learner.classes_ is None:
        return None
    named = read_names([y], [truth.n_samples], learner.problem_.traits.words.whole)
    return None if named is None else [named[0][end - 1] for end in truth.breakpoints]


def _in_lane(lane: int, values: Floats) -> Floats:
    """Values scaled to the height of a lane; the axis points downwards."""
    there = values[~np.isnan(values)]
    low, high = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
    middle = (values - (low + high) / 2) / (high - low if high > low else 1.0)
    return np.asarray(lane - LANE * middle)


def _draw_strip(
    ax: Axes, lane: int, strip: _Strip, marks: Mapping[Any, StateMark], edges: Floats
) -> None:
    """Segments, in the colours of their states if they have some, with names if there is room."""
    whole = edges[-1] - edges[0]
    for k, (start, end) in enumerate(strip.segments):
        name = None if strip.states is None else strip.states[k]
        mark, wide = marks.get(name, NO_STATE), edges[end] - edges[start]
        look: dict[str, Any] = {"color": strip.color, "alpha": SHADES[k % 2], "linewidth": 0}
        if strip.states is not None:
            look = {"color": mark.color, "hatch": mark.hatch, "linewidth": 0.8}
            look["edgecolor"] = ax.get_facecolor()
        ax.barh(lane, wide, left=edges[start], height=LANE / 1.6, **look)
        written = "" if name is None else plain_text(name)
        if written and wide >= whole * max(LEGIBLE, LETTER * len(written)):
            ax.text(
                (edges[start] + edges[end]) / 2,
                lane,
                written,
                color=mark.ink,
                ha="center",
                va="center",
                fontsize="small",
                bbox={"facecolor": mark.color, "edgecolor": "none", "pad": 0.5},
            )


def _draw_sure(ax: Axes, lane: int, sure: _Sure, edges: Floats) -> None:
    """A bar at each change, as high as it is sure, and the number where there is room."""
    whole, before = edges[-1] - edges[0], -np.inf
    foot, ink = lane + LANE / 2, text_color()
    ax.plot(edges[[0, -1]], [foot, foot], color=ink, linewidth=0.6, alpha=TRACE)
    for at, height, written in zip(sure.at, sure.heights, sure.written, strict=True):
        place = edges[at]
        ax.plot([place] * 2, [foot, foot - LANE * height], color=LEARNED, linewidth=3)
        if place - before > whole * LETTER * (len(written) + 3):
            ax.annotate(
                written,
                (place, foot),
                (4, 1),
                textcoords="offset points",
                color=ink,
                fontsize="small",
                va="bottom",
            )
            before = place


def _draw_legend(ax: Axes, strips: Sequence[_Strip], marks: Mapping[Any, StateMark]) -> None:
    """The states that are shown, in the order in which the learner has them, below the axes."""
    patches = require("matplotlib.patches", "plot", "plotting")
    time: Counter[Any] = Counter()
    for strip in strips:
        for (start, end), name in zip(strip.segments, strip.states or (), strict=False):
            time[name] += end - start
    most = {name for name, _ in time.most_common(IN_LEGEND)}
    entries = [(name, mark) for name, mark in marks.items() if name in most]
    others = sorted(most - marks.keys() - {None}, key=str)
    entries += [(name, NO_STATE) for name in others]
    if not entries:
        return
    paper = ax.get_facecolor()
    written = shortened((name for name, _ in entries), LONGEST_STATE)
    handles = [
        patches.Patch(
            facecolor=mark.color,
            hatch=mark.hatch,
            edgecolor=paper,
            linewidth=0,
            label=legend_text(short) + ("" if name in marks else " (not learned)"),
        )
        for short, (name, mark) in zip(written, entries, strict=True)
    ]
    n_states = len(time.keys() - {None})
    ax.legend(
        handles=handles,
        title=None
        if n_states == len(entries)
        else f"the {len(entries)} most frequent of {n_states} states",
        loc="upper left",
        bbox_to_anchor=(0.0, -0.16),
        ncols=max(1, min(6, 104 // (6 + max(len(h.get_label()) for h in handles)))),
        frameon=False,
        fontsize="small",
        handlelength=1.6,
    )


def _write_labels(ax: Axes, lane: int, truth: EquivalenceMatrix, y: Any, edges: Floats) -> None:
    """The label of each true segment that has room for it, when there are labels."""
    labels = np.asarray(y)
    if labels.size != truth.n_samples:
        return
    starts = [0, *truth.breakpoints[:-1]]
    widths = ax.figure.bbox.width / ax.figure.dpi * ax.get_position().width / (0.775 * USUAL)
    for k, (start, end) in enumerate(zip(starts, truth.breakpoints, strict=True)):
        share = widths * (edges[end] - edges[start]) / (edges[-1] - edges[0])
        written, size = _fitting(plain_text(labels[start]), share)
        color = ax.get_facecolor() if SHADES[k % 2] > 0.5 else text_color()
        middle = (edges[start] + edges[end]) / 2
        ax.text(middle, lane, written, color=color, ha="center", va="center", fontsize=size)


def _fitting(label: str, share: float) -> tuple[str, str]:
    """A label as it fits into a share of the width, in two lines if it must be; else none."""
    ways = [*((label, size) for size in SIZES), (re.sub("[ _-]", "\n", label, count=1), "x-small")]
    for written, size in ways:
        if share >= max(LEGIBLE, LETTER * SIZES[size] * max(map(len, written.split("\n")))):
            return written, size
    return "", "x-small"


# ---- a table, or a graph, in the two heaviest directions of the metric, with its clusters


LEGEND = 20
"""Clusters that a legend has room for."""
NAME_IN_LEGEND = 26
"""Letters of a name in it."""


def plot_clusters(
    learner: MetricLearner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a sample in the two heaviest directions of the metric; colours are predicted clusters.

    A legend names the clusters: by the label of the true cluster that each goes with, where there
    are labels, else by its number.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    X : array or data frame of shape (T, P), or whatever the problem reads, such as a graph
    y : labels (T,), optional
        The truth: items that are in another cluster there are ringed, clusters being matched so
        that there are as few as possible.
    n_clusters : int, "true" or None
        Cluster into so many, into as many as the truth has, or as the price decides.

    Raises
    ------
    SettingsError
        For an image, of which :func:`plot_cut` draws the parts.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_clusters
    >>> from structsvm.problems import Clustering
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 10)
    >>> tables = [np.c_[3.0 * y + rng.normal(size=20), rng.normal(size=20)] for _ in range(2)]
    >>> learner = MetricLearner(Clustering(), metric="diagonal").fit(tables, [y, y])
    >>> axes = plot_clusters(learner, tables[0], y, n_clusters=2)
    >>> axes.has_data()
    True
    """
    measured, sample = check_drawable(learner, X, "plot_clusters", in_order=False)
    truths = None if y is None else encode(learner, [sample], [y])
    truth = None if truths is None else partition_of(truths[0])
    found = learner.predict_partitions([sample], asked_counts(n_clusters, truths))[0]
    assert found.labels is not None
    names, values = traces(learner, measured, sample, "components", 2)
    points = values if len(values) > 1 else np.vstack([values, np.zeros(values.shape[1])])

    ax = plain(new_axes(ax, width=6.4, height=4.8))
    labels = None if y is None else learner.problem_.learning.item_labels(y, sample)
    titles = cluster_names(found, truth, labels)
    colors, dots = mark_colors(), []
    for k in range(found.n_clusters):
        x, height = points[:, found.labels == k]
        color, marker = colors[k % len(colors)], MARKERS[(k + k // 8) % len(MARKERS)]
        dots.append(
            ax.scatter(x, height, s=18, color=color, marker=marker, linewidths=0, alpha=0.85)
        )
    title = counted(found.n_clusters, learner.problem_.traits.words.part)
    if truth is not None:
        wrong = misplaced(truth, found)
        x, height = points[:, wrong]
        ax.scatter(x, height, s=60, facecolors="none", edgecolors=text_color(), linewidths=0.8)
        title += f", {truth.n_clusters} in truth; ringed: {wrong.sum()} of {wrong.size} misplaced"
    ax.set_title(title, loc="left", fontsize="medium")
    sides = list(map(plain_text, shortened(names[:2], LONGEST)))
    ax.set_xlabel(sides[0])
    ax.set_ylabel(sides[1] if len(sides) > 1 else "")
    listed = _listed(titles[: found.n_clusters], found, truth)
    ax.legend(
        [dots[k] for k in listed],
        list(map(legend_text, shortened((titles[k] for k in listed), NAME_IN_LEGEND))),
        title=f"{LEGEND} of {found.n_clusters}" if found.n_clusters > LEGEND else None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
    )
    return ax


def _listed(
    titles: Sequence[str], found: EquivalenceMatrix, truth: EquivalenceMatrix | None
) -> list[int]:
    """The clusters that a legend names, in its order: those that true ones go with first."""
    goes = set() if truth is None else set(matched_labels(truth, found).tolist())
    order = sorted(range(len(titles)), key=lambda k: (k not in goes, _place(titles[k])))
    return order[:LEGEND]


def _place(title: str) -> tuple[str, int]:
    """Where the name of a cluster is among others: in alphabetical order, numbers by their size."""
    name = title.rstrip("0123456789")
    return name, int(title[len(name) :] or 0)


def cluster_names(found: EquivalenceMatrix, truth: EquivalenceMatrix | None, y: Any) -> list[str]:
    assert found.labels is not None
    matched = found.labels if truth is None else matched_labels(truth, found)
    names = [f"cluster {k}" for k in range(max(found.n_clusters, int(matched.max()) + 1))]
    labels = np.asarray(y, dtype=object)
    if truth is not None and labels.shape == matched.shape:
        for k, first in zip(*np.unique(matched, return_index=True), strict=True):
            names[k] = str(labels[first])
    return names


# ---- what is drawn of a sample: its values in the metric, or as they were measured


def traces(
    learner: MetricLearner, measured: Sample, prepared: Sample, show: str, n: int
) -> tuple[list[str], Floats]:
    """Names and values, (n, T), of what is drawn of a sample, see :func:`check_drawable`."""
    refuse_below(1, "n_traces", n)
    if show == "features":
        names = learner.metric_feature_names_
        top = np.argsort(-feature_weights(learner), kind="stable")[:n]
        return [names[j] for j in top], unscaled(learner, [measured])[0].T[top]
    if show != "components":
        raise SettingsError(f"show must be 'components' or 'features', got {show!r}")
    titles, directions = heaviest_directions(learner, n)
    return titles, InMetric(directions.T)(prepared.X).T


def check_drawable(
    learner: MetricLearner, X: Any, picture: str, *, in_order: bool
) -> tuple[Sample, Sample]:
    """The sample as it was measured and as the metric sees it, if the picture can be drawn of
    it.
    """
    (sample,) = as_measured(learner, [X])
    if is_image(sample):
        raise SettingsError(
            f"{picture} draws recordings, tables and graphs: plot_cut draws an image with its parts"
        )
    traits = learner.problem_.traits
    if in_order and not traits.contiguous:
        raise SettingsError(
            f"{picture} draws one segment after the other, and {type(learner.problem_).__name__} "
            f"gives {traits.words.part}s without such an order: plot_clusters draws a "
            f"{traits.words.whole}"
        )
    (prepared,) = learner.inputs_([sample])
    return sample, prepared
