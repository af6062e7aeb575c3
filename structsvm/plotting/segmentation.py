"""Draw a recording above its segmentations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Counts, Instance, TimeAxis, read_names, rows_in_time, time_axis
from structsvm.errors import DataWarning, without_warnings
from structsvm.learner import Learner
from structsvm.learner.segments import names_in
from structsvm.learner.steps import partition_each
from structsvm.partitions import EquivalenceMatrix
from structsvm.plotting import style
from structsvm.plotting.drawable import drawable, traces
from structsvm.support import Floats, counted, refuse_below, require, two_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST, LINES = 26, 2  # letters in a line beside a lane, and the most lines
TRACE = 0.75  # opacity of a trace, which has the colour of text
SHADES = (0.8, 0.35)  # opacities of alternating segments of a strip
LANE = 0.8  # height of what is drawn in a lane of height 1
LETTER = 0.066  # width of a small letter in inches, about
LONGEST_STATE = 80  # letters of a state's name for which the legend is as wide as the axes
IN_LEGEND = 24  # the most states in the legend


@dataclass(frozen=True, eq=False)
class _Strip:
    """A row of coloured segments."""

    name: str
    ends: list[int]
    color: str
    names: Sequence[Any]
    """The text on each segment: its state, or else its label; None for no text."""
    has_states: bool


def plot_segmentation(
    learner: Learner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    n_traces: int = 3,
    times: Any = None,
    margins: bool = False,
    level: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a recording above its true, learned and untrained segmentations.

    The columns whose features have the most weight are drawn as they were measured, and below them
    the heaviest directions of the metric, unless these are columns. If the learner knows named
    states, a segment has the colour of its state, the same in every row and in every picture of
    that learner; a state that it has not learned is grey.

    Parameters
    ----------
    learner : MetricLearner or another fitted learner
    X : array or data frame of shape (T, P)
    y : labels (T,) or breakpoints, optional
        The truth; its changes are the dashed lines.
    n_clusters : int, "true" or None
        Decode with so many segments, with as many as the truth has, or as the price decides.
    n_traces : int
        The largest number of columns, and of directions.
    times : TimeAxis, or numbers or dates of shape (T,), optional
        When the samples were measured; by default as a recording or the dates in the index of a
        data frame say.
    margins : bool
        Whether to draw how certain each learned change is: its rate if the learner has
        ``margin_rates_``, and its margin otherwise (:meth:`MetricLearner.predict_segments`).
    level : float, optional
        Also draw ranges that hold about this share of the true changes: pale bars around learned
        changes, and dotted lines where a change may have been missed.

    Raises
    ------
    SettingsError
        For a learner whose partitions are not segmentations.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.plotting import plot_segmentation
    >>> X, y = np.repeat([[0.0, 1.0], [3.0, 1.5]], 20, axis=0), np.repeat([0, 1], 20)
    >>> learner = MetricLearner(metric="diagonal").fit([X, 2 * X], [y, y])
    >>> plot_segmentation(learner, X, y, n_traces=2).has_data()
    True
    """
    refuse_below(1, "n_traces", n_traces)
    measured, instance, truth, K = drawable(learner, X, y, n_clusters, in_order=True)
    names, values = traces(learner, measured, instance, n_traces)
    strips = _strips(learner, measured, instance, truth, y, K)
    marks = style.state_marks(learner)
    if times is None:
        times = rows_in_time(X, "the recording").axis
    axis = None if times is None else time_axis(times, instance.n_samples)
    edges = _drawn(axis.edges if axis else np.arange(instance.n_samples + 1) - 0.5)
    places = _drawn(axis.values if axis else np.arange(instance.n_samples))
    labels = _in_lines(names) + [f"{s.name}\n{counted(len(s.ends), 'segment')}" for s in strips]
    sure = margins or level is not None
    if sure:
        has_rates = getattr(learner, "margin_rates_", None) is not None
        labels.append("how often right" if has_rates else "margin")

    ax = style.new_axes(ax, height=0.55 * len(labels) + 0.8 + (0.4 if marks else 0.0))
    for lane, trace in enumerate(values):
        _draw_trace(ax, lane, places, trace)
    for lane, strip in enumerate(strips, start=len(names)):
        _draw_strip(ax, lane, strip, marks, edges)
    for change in () if truth is None else truth.breakpoints[:-1]:
        line: dict[str, Any] = {"linewidth": 0.8, "linestyle": (0, (3, 3)), "zorder": 0}
        ax.axvline(edges[change], color=style.text_color(), **line)
    if sure:
        with without_warnings(DataWarning):  # which were given when it was segmented
            (segments,) = learner.predict_segments([instance], K, level=level)
        _draw_ranges(ax, len(labels) - 1, segments, edges)
        _draw_sure(ax, len(labels) - 1, segments[1:], edges)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(edges[0], edges[-1])
    _write_times(ax, axis)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if marks:
        _draw_legend(ax, strips, marks)
    return ax


def _strips(
    learner: Learner,
    measured: Instance,
    instance: Instance,
    truth: EquivalenceMatrix | None,
    y: Any,
    K: Counts,
) -> list[_Strip]:
    """The true, the learned and the untrained segments, with their states if they have names."""
    strips = []
    classes = learner.classes_

    def add(name: str, M: EquivalenceMatrix, color: str, states: Any, labels: Any = None) -> None:
        of_items = labels if states is None else states[0]
        names = [None if of_items is None else of_items[end - 1] for end in M.breakpoints]
        strips.append(_Strip(name, M.breakpoints, color, names, states is not None))

    if truth is not None:
        whole = learner.problem_.traits.words.whole
        labels = np.asarray(y)
        named = None if classes is None else read_names([y], [truth.n_samples], whole)
        labels_of_samples = labels if labels.size == truth.n_samples else None
        add("true", truth, style.text_color(), named, labels_of_samples)
    partitions, _ = partition_each(learner, [instance], K, {})
    add(
        "learned",
        partitions[0].partition,
        style.LEARNED,
        names_in(partitions, [instance], classes),
    )
    untrained = learner.baselines_.get("untrained")
    if untrained is not None:
        same = untrained.inputs_ is learner.inputs_ or learner.sees is not None
        prepared = [instance] if same else untrained.inputs_([measured])
        partitions, _ = partition_each(untrained, prepared, K, {})
        named = names_in(partitions, [instance], classes) if learner.sees is not None else None
        add("untrained", partitions[0].partition, style.UNTRAINED, named)
    return strips


def _in_lines(names: Sequence[str]) -> list[str]:
    """Names of lanes in a few lines; below a direction are its features, and long names are cut."""
    pairs = [name.partition(": ") for name in names]
    whole = (last if colon else first for first, colon, last in pairs)
    features = style.shortened(whole, LINES * WIDEST - WIDEST // 3)
    titles = [f"{first}\n" if colon else "" for first, colon, _ in pairs]
    return [
        style.plain_text(title + fill(feature, WIDEST, max_lines=LINES, placeholder="…"))
        for title, feature in zip(titles, features, strict=True)
    ]


def _write_times(ax: "Axes", axis: TimeAxis | None) -> None:
    """Label the horizontal axis with numbers of samples, times, or dates."""
    ax.set_xlabel(style.plain_text(axis.title) if axis else "sample")
    if axis is None:
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    elif axis.holds_dates:
        dates = require("matplotlib.dates", "plot", "plotting")
        locator = dates.AutoDateLocator(minticks=3, maxticks=8)  # it has steps for all between
        ax.xaxis.set_major_locator(locator)
        formatter = dates.ConciseDateFormatter(locator, show_offset=not axis.clock)  # clock: no day
        ax.xaxis.set_major_formatter(formatter)


def _drawn(values: NDArray[Any]) -> Floats:
    """Times as positions on the axis."""
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=np.float64)
    dates = require("matplotlib.dates", "plot", "plotting")
    return np.asarray(dates.date2num(values))


def _draw_trace(ax: "Axes", lane: int, places: NDArray[Any], values: Floats) -> None:
    """Draw a line, and dots for values between two missing ones."""
    present = ~np.isnan(values)
    ink = style.text_color()
    low = float(values.min(initial=np.inf, where=present))
    high = float(values.max(initial=-np.inf, where=present))
    middle = (values - (low + high) / 2) / (high - low if high > low else 1.0)
    heights = lane - LANE * middle  # the axis points downwards
    ax.plot(places, heights, color=ink, alpha=TRACE, linewidth=0.9)
    padded = np.concatenate([[False], present, [False]])
    alone = present & ~padded[:-2] & ~padded[2:]
    if alone.any():
        ax.plot(places[alone], heights[alone], ".", color=ink, alpha=TRACE, markersize=2)


def _inches(ax: "Axes", edges: Floats) -> float:
    """About the width in inches of a unit of the axis."""
    width = ax.figure.bbox.width / ax.figure.dpi * ax.get_position().width
    return float(width / (edges[-1] - edges[0]))


def _draw_strip(
    ax: "Axes", lane: int, strip: _Strip, marks: Mapping[Any, style.StateMark], edges: Floats
) -> None:
    """Draw segments in the colours of their states, if any, with names where there is room."""
    paper = ax.get_facecolor()
    inch = _inches(ax, edges)
    start = 0
    for k, (end, name) in enumerate(zip(strip.ends, strip.names, strict=True)):
        left = edges[start]
        wide = edges[end] - edges[start]
        shade = SHADES[k % 2]
        look: dict[str, Any] = {"color": strip.color, "alpha": shade, "linewidth": 0}
        ink = paper if shade > 0.5 else style.text_color()
        box = None
        if strip.has_states:
            mark = marks.get(name, style.NO_STATE)
            look = {"color": mark.color, "hatch": mark.hatch, "linewidth": 0.8, "edgecolor": paper}
            ink = mark.ink
            box = {"facecolor": mark.color, "edgecolor": "none", "pad": 0.5}
        ax.barh(lane, wide, left=left, height=LANE / 1.6, **look)
        title = "" if name is None else style.plain_text(name)
        start = end
        if title and inch * wide >= LETTER * (len(title) + 2):
            place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "x-small"}
            ax.text(left + wide / 2, lane, title, color=ink, bbox=box, **place)


def _draw_sure(ax: "Axes", lane: int, changes: Sequence[Mapping[str, Any]], edges: Floats) -> None:
    """Draw a bar at each change whose height is its rate or margin; numbers if there is room."""
    foot = lane + LANE / 2
    ink = style.text_color()
    before = -np.inf
    inch = _inches(ax, edges)
    ax.plot(edges[[0, -1]], [foot, foot], color=ink, linewidth=0.6, alpha=TRACE)
    for change in changes:
        place = edges[change["start"]]
        margin = change["margin"]
        height = 1.0 - 1.0 / (1.0 + margin)
        number = two_digits(margin)
        if change.get("rate") is not None:
            height = change["rate"]
            number = f"{100 * change['rate']:.0f} %"
        ax.plot([place] * 2, [foot, foot - LANE * height], color=style.LEARNED, linewidth=3)
        if inch * (place - before) > LETTER * (len(number) + 3):
            text: dict[str, Any] = {"fontsize": "small", "va": "bottom", "color": ink}
            ax.annotate(number, (place, foot), (4, 1), textcoords="offset points", **text)
            before = place


def _draw_ranges(
    ax: "Axes", lane: int, segments: Sequence[Mapping[str, Any]], edges: Floats
) -> None:
    """Draw the ranges of changes, and those where a change may have been missed."""
    for segment in segments:
        if segment.get("from") is not None:
            ends = edges[[segment["from"], segment["to"]]]
            look: dict[str, Any] = {"color": style.LEARNED, "alpha": SHADES[1], "linewidth": 6}
            ax.plot(ends, [lane, lane], solid_capstyle="butt", **look)
        for first, last in segment.get("possible", ()):
            ax.plot(edges[[first, last]], [lane, lane], ":", color=style.text_color(), linewidth=2)


def _draw_legend(
    ax: "Axes", strips: Sequence[_Strip], marks: Mapping[Any, style.StateMark]
) -> None:
    """Name the states below the axes, in the order in which the learner has them."""
    patches = require("matplotlib.patches", "plot", "plotting")
    states = set(chain.from_iterable(strip.names for strip in strips if strip.has_states)) - {None}
    names = [*(name for name in marks if name in states), *sorted(states - marks.keys(), key=str)]
    if not names:
        return
    shown = names[:IN_LEGEND]
    handles = []
    for name, short in zip(shown, style.shortened(shown, LONGEST_STATE), strict=True):
        mark = marks.get(name, style.NO_STATE)
        text = style.legend_text(short) + ("" if name in marks else " (not learned)")
        look: dict[str, Any] = {"facecolor": mark.color, "edgecolor": ax.get_facecolor()}
        handles.append(patches.Patch(label=text, linewidth=0, hatch=mark.hatch, **look))
    ax.legend(
        handles=handles,
        title=f"{len(shown)} of {len(names)} states" if len(shown) < len(names) else None,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.16),
        ncols=max(1, min(6, 104 // (6 + max(len(h.get_label()) for h in handles)))),
        frameon=False,
        fontsize="small",
        handlelength=1.6,
    )
