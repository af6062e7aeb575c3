"""A recording above its segmentations, a table or a graph in two directions, an image in parts."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.labels import label_values
from structsvm.data.per_sample import Counts, asked_counts
from structsvm.data.rows import rows_in_time
from structsvm.data.sample import Sample
from structsvm.data.times import TimeAxis, time_axis
from structsvm.data.words import IMAGES
from structsvm.errors import DataError, DataWarning, SettingsError, without_warnings
from structsvm.evaluation.evaluate import fitted_learner
from structsvm.features.frames import read_names
from structsvm.graphs.images import in_unit_range
from structsvm.graphs.label_maps import is_picture, label_map_of, pixels_of
from structsvm.learner.fitted import column_names, partition_of, words_of
from structsvm.learner.learner import Learner
from structsvm.learner.preparing import as_measured, encode
from structsvm.learner.segments import names_in
from structsvm.learner.steps import partition_all
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.in_metric import InMetric
from structsvm.partitions.losses import matched_labels
from structsvm.plotting import style
from structsvm.plotting.style import OKABE_ITO, new_axes
from structsvm.plotting.words import heaviest_columns, heaviest_directions
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted, refuse_below
from structsvm.support.lazy import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDEST, LINES = 26, 2
"""Letters in a line of the features that name a lane, and lines that it has room for."""
TRACE = 0.75  # opacity of a trace, which has the colour of text
SHADES = (0.8, 0.35)  # opacity of every other segment of a strip
LANE = 0.8  # height of what is drawn in a lane of height 1
LETTER = 0.066  # inches that a small letter takes, about
LONGEST_STATE = 80  # letters of a state in the legend, which is no wider than the axes then
IN_LEGEND = 24  # states that are listed at most


@dataclass(frozen=True, eq=False)
class _Strip:
    """A row of coloured segments."""

    name: str
    ends: list[int]
    color: str
    names: Sequence[Any]
    """What is written on each segment: its state, or else its label; None on one without."""
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
    ax: Axes | None = None,
) -> Axes:
    """Draw a recording above its true, learned and untrained segmentations.

    Of a recording the columns are drawn of which most weight is made, as they were measured, and
    below them the heaviest directions of the metric, unless these are columns.
    Where the learner knows named states, a segment has the colour of its state, the same in every
    row and in every picture of that learner; grey is a state that it has not learned.

    Parameters
    ----------
    learner : MetricLearner or another fitted learner
    X : array or data frame of shape (T, P)
    y : labels (T,) or breakpoints, optional
        The truth; its changes are the dashed lines.
    n_clusters : int, "true" or None
        Decode with so many segments, with as many as the truth has, or as the price decides.
    n_traces : int
        How many columns, and how many directions, at most.
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
    >>> plot_segmentation(learner, X, y, n_traces=2).has_data()
    True
    """
    refuse_below(1, "n_traces", n_traces)
    measured, sample, truth, K = _drawable(learner, X, y, n_clusters, in_order=True)
    names, values = traces(learner, measured, sample, n_traces)
    strips = _strips(learner, measured, sample, truth, y, K)
    marks = style.state_marks(learner)
    if times is None:
        times = rows_in_time(X, "the recording").axis
    axis = None if times is None else time_axis(times, sample.n_samples)
    edges = _drawn(axis.edges if axis else np.arange(sample.n_samples + 1) - 0.5)
    places = _drawn(axis.values if axis else np.arange(sample.n_samples))
    labels = _in_lines(names) + [f"{s.name}\n{counted(len(s.ends), 'segment')}" for s in strips]
    if margins:
        known = getattr(learner, "margin_rates_", None) is not None
        labels.append("how often right" if known else "margin")

    ax = style.new_axes(ax, height=0.55 * len(labels) + 0.8 + (0.4 if marks else 0.0))
    for lane, trace in enumerate(values):
        _draw_trace(ax, lane, places, trace)
    for lane, strip in enumerate(strips, start=len(names)):
        _draw_strip(ax, lane, strip, marks, edges)
    for change in () if truth is None else truth.breakpoints[:-1]:
        line: dict[str, Any] = {"linewidth": 0.8, "linestyle": (0, (3, 3)), "zorder": 0}
        ax.axvline(edges[change], color=style.text_color(), **line)
    if margins:
        with without_warnings(DataWarning):  # which were given when it was segmented
            ((_, *changes),) = learner.predict_segments([sample], K)
        _draw_sure(ax, len(labels) - 1, changes, edges)
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
    measured: Sample,
    sample: Sample,
    truth: EquivalenceMatrix | None,
    y: Any,
    K: Counts,
) -> list[_Strip]:
    """The true, the learned and the untrained segments, with their states if these are known."""
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
        own = labels if labels.size == truth.n_samples else None
        add("true", truth, style.text_color(), named, own)
    found, _ = partition_all(learner, [sample], K, {})
    add("learned", found[0].partition, style.LEARNED, names_in(found, [sample], classes))
    untrained = learner.baselines_.get("untrained")
    if untrained is not None:
        same = untrained.inputs_ is learner.inputs_ or learner.sees is not None
        seen = [sample] if same else untrained.inputs_([measured])
        found, _ = partition_all(untrained, seen, K, {})
        named = names_in(found, [sample], classes) if learner.sees is not None else None
        add("untrained", found[0].partition, style.UNTRAINED, named)
    return strips


def _in_lines(names: Sequence[str]) -> list[str]:
    """Directions, and below each the features that name it, or features; long names are cut."""
    pairs = [name.partition(": ") for name in names]
    whole = (last if colon else first for first, colon, last in pairs)
    features = style.shortened(whole, LINES * WIDEST - WIDEST // 3)
    titles = [f"{first}\n" if colon else "" for first, colon, _ in pairs]
    return [
        style.plain_text(title + fill(feature, WIDEST, max_lines=LINES, placeholder="…"))
        for title, feature in zip(titles, features, strict=True)
    ]


def _write_times(ax: Axes, axis: TimeAxis | None) -> None:
    """Whole numbers of samples, numbers, or dates, what these share at the end of the axis."""
    ax.set_xlabel(style.plain_text(axis.title) if axis else "sample")
    if axis is None:
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    elif axis.holds_dates:
        dates = require("matplotlib.dates", "plot", "plotting")
        locator = dates.AutoDateLocator(minticks=3, maxticks=8)  # it has steps for all between
        ax.xaxis.set_major_locator(locator)
        formatter = dates.ConciseDateFormatter(locator, show_offset=not axis.clock)  # of no day
        ax.xaxis.set_major_formatter(formatter)


def _drawn(values: NDArray[Any]) -> Floats:
    """Times as numbers of the axis."""
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=np.float64)
    dates = require("matplotlib.dates", "plot", "plotting")
    return np.asarray(dates.date2num(values))


def _draw_trace(ax: Axes, lane: int, places: NDArray[Any], values: Floats) -> None:
    """A line, and dots where a value is between two missing ones, through which no line goes."""
    there = ~np.isnan(values)
    ink = style.text_color()
    low = float(values.min(initial=np.inf, where=there))
    high = float(values.max(initial=-np.inf, where=there))
    middle = (values - (low + high) / 2) / (high - low if high > low else 1.0)
    heights = lane - LANE * middle  # the axis points downwards
    ax.plot(places, heights, color=ink, alpha=TRACE, linewidth=0.9)
    beside = np.concatenate([[False], there, [False]])
    alone = there & ~beside[:-2] & ~beside[2:]
    if alone.any():
        ax.plot(places[alone], heights[alone], ".", color=ink, alpha=TRACE, markersize=2)


def _inches(ax: Axes, edges: Floats) -> float:
    """The width on paper of a unit of the axis, about."""
    width = ax.figure.bbox.width / ax.figure.dpi * ax.get_position().width
    return float(width / (edges[-1] - edges[0]))


def _draw_strip(
    ax: Axes, lane: int, strip: _Strip, marks: Mapping[Any, style.StateMark], edges: Floats
) -> None:
    """Segments, in the colours of their states if they have some, with names if there is room."""
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


def _draw_sure(ax: Axes, lane: int, changes: Sequence[Mapping[str, Any]], edges: Floats) -> None:
    """A bar at each change, as high as it is sure, and the number where there is room.

    A rate is drawn as it is, and of margins 1 half as high as the highest.
    """
    foot = lane + LANE / 2
    ink = style.text_color()
    before = -np.inf
    inch = _inches(ax, edges)
    ax.plot(edges[[0, -1]], [foot, foot], color=ink, linewidth=0.6, alpha=TRACE)
    for change in changes:
        place = edges[change["start"]]
        margin = change["margin"]
        height = 1.0 - 1.0 / (1.0 + margin)
        number = f"{margin:.2g}"
        if change.get("rate") is not None:
            height = change["rate"]
            number = f"{100 * change['rate']:.0f} %"
        ax.plot([place] * 2, [foot, foot - LANE * height], color=style.LEARNED, linewidth=3)
        if inch * (place - before) > LETTER * (len(number) + 3):
            text: dict[str, Any] = {"fontsize": "small", "va": "bottom", "color": ink}
            ax.annotate(number, (place, foot), (4, 1), textcoords="offset points", **text)
            before = place


def _draw_legend(ax: Axes, strips: Sequence[_Strip], marks: Mapping[Any, style.StateMark]) -> None:
    """The states that are shown, in the order in which the learner has them, below the axes."""
    patches = require("matplotlib.patches", "plot", "plotting")
    seen = {name for strip in strips if strip.has_states for name in strip.names} - {None}
    names = [*(name for name in marks if name in seen), *sorted(seen - marks.keys(), key=str)]
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


# ---- a table, or a graph, in the two heaviest directions of the metric, with its clusters


LEGEND = 20  # clusters that a legend has room for
NAME_IN_LEGEND = 26  # letters of a name in it


def plot_clusters(
    learner: Learner,
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
    learner : MetricLearner or another fitted learner
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
    _, sample, truth, K = _drawable(learner, X, y, n_clusters, in_order=False)
    (found,) = learner.predict_partitions([sample], K)
    sides, points, matched, titles = clusters_in_directions(learner, sample, found, truth, y)

    ax = style.plain(style.new_axes(ax, width=6.4, height=4.8))
    colors = style.mark_colors()
    dots = []
    for k in range(found.n_clusters):
        color = colors[k % len(colors)]
        marker = style.MARKERS[(k + k // 8) % len(style.MARKERS)]
        look: dict[str, Any] = {"color": color, "marker": marker, "linewidths": 0, "alpha": 0.85}
        x, height = points[found.labels == k].T
        dots.append(ax.scatter(x, height, s=18, **look))
    title = counted(found.n_clusters, learner.problem_.traits.words.part)
    if truth is not None:
        wrong = np.asarray(found.labels != matched)
        rings: dict[str, Any] = {"edgecolors": style.text_color(), "linewidths": 0.8}
        x, height = points[wrong].T
        ax.scatter(x, height, s=60, facecolors="none", **rings)
        title += f", {truth.n_clusters} in truth; ringed: {wrong.sum()} of {wrong.size} misplaced"
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set(**dict(zip(("xlabel", "ylabel"), style.written(sides, style.LONGEST), strict=False)))
    listed = _listed(titles[: found.n_clusters], matched)
    ax.legend(
        [dots[k] for k in listed],
        list(map(style.legend_text, style.shortened((titles[k] for k in listed), NAME_IN_LEGEND))),
        title=f"{LEGEND} of {found.n_clusters}" if found.n_clusters > LEGEND else None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
    )
    return ax


def _listed(titles: Sequence[str], matched: Ints) -> list[int]:
    """The clusters that a legend names: those that true ones go with first, numbers by size."""
    words = [title.rstrip("0123456789") for title in titles]
    numbers = [int(title[len(word) :] or 0) for title, word in zip(titles, words, strict=True)]
    goes = set(matched.tolist())
    order = sorted(range(len(titles)), key=lambda k: (k not in goes, words[k], numbers[k]))
    return order[:LEGEND]


def clusters_in_directions(
    learner: Learner, sample: Sample, found: EquivalenceMatrix, truth: Any, y: Any
) -> tuple[list[str], Floats, Ints, list[str]]:
    """Directions, each item's place in two (T, 2) and true cluster's match (T,), and names."""
    sides, directions = heaviest_directions(learner, 2)
    places = np.column_stack([sample.X @ directions.T, np.zeros(found.n_samples)])[:, :2]
    matched = found.labels if truth is None else matched_labels(truth, found)
    names = [f"cluster {k}" for k in range(max(found.n_clusters, int(matched.max()) + 1))]
    labels = None if y is None else sample.item_labels(y)
    labels = np.asarray(labels, dtype=object)
    if truth is not None and labels.shape == matched.shape:
        for k, first in zip(*np.unique(matched, return_index=True), strict=True):
            names[k] = str(labels[first])
    return sides, places, matched, names


# ---- what is drawn of a sample


def traces(
    learner: Learner, measured: Sample, prepared: Sample, n: int
) -> tuple[list[str], list[Floats]]:
    """Names and values of columns as measured, and of directions, unless these are columns."""
    columns = column_names(learner)
    top = heaviest_columns(learner, n)
    names = [columns[j] for j in top]
    values = list(measured.X[:, top].T)
    titles, directions = heaviest_directions(learner, n)
    for title, seen in zip(titles, InMetric(directions.T)(prepared.X).T, strict=True):
        if title not in columns:
            names.append(title)
            values.append(seen)
    return names, values


def _drawable(
    learner: Learner, X: Any, y: Any, n_clusters: Any, *, in_order: bool
) -> tuple[Sample, Sample, EquivalenceMatrix | None, Counts]:
    """A sample as measured and as the metric sees it, its truth, and how many parts are found."""
    picture = "plot_segmentation" if in_order else "plot_clusters"
    fitted_learner(learner, picture)
    (sample,) = as_measured(learner, [X])
    traits = learner.problem_.traits
    other = ""
    if words_of(learner.problem_, [sample]) is IMAGES:
        other = "images: plot_cut draws an image with its parts"
    elif in_order and not traits.contiguous:
        one = traits.words.whole
        part = traits.words.part
        other = f"{one}s, whose {part}s are in no order: plot_clusters draws a {one}"
    if other:
        raise SettingsError(f"{picture} does not draw {other}")
    seen = learner.inputs_([sample])
    truths = None if y is None else encode(learner, seen, [y])
    truth = None if truths is None else partition_of(truths[0])
    return sample, seen[0], truth, asked_counts(n_clusters, truths)


TINT = 0.35  # share of the colour of a part in what is seen of it
STRIP = 256  # rows that are coloured at a time
MOST_PIXELS = 4_000_000
"""The largest number of pixels of a drawn image; a page has fewer."""


def overlay(image: Any, labels: Any, *, tint: float = TINT) -> NDArray[np.uint8]:
    """Return the image with its parts in colours and their borders in white on black.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), image of Pillow, or path of an image
        uint8 or uint16 over the range of its type, or floats in [0, 1].
    labels : array of int or bool of shape (H, W), image of Pillow, or path of one
        Part of each pixel, 0, 1, ...; -1 where none is known, which has no colour. The values of a
        mask, such as 0 and 255, are numbered if there are larger ones than there are colours.
    tint : float in [0, 1]
        0 draws the borders alone.

    Returns
    -------
    array of uint8 of shape (H, W, 3)

    Raises
    ------
    DataError
        If the labels do not have one integer for each pixel, or the image is none.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import overlay
    >>> overlay(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0)).shape
    (4, 6, 3)
    """
    from scipy.ndimage import binary_dilation

    pixels = _pixels(image)
    parts = _parts(labels, pixels)
    colours = np.array([list(bytes.fromhex(colour[1:])) for colour in OKABE_ITO])
    inner = np.zeros(parts.shape, dtype=np.bool_)  # whose right or lower neighbour differs
    inner[:, :-1] |= parts[:, :-1] != parts[:, 1:]
    inner[:-1] |= parts[:-1] != parts[1:]
    outer = binary_dilation(inner)
    seen = np.empty((*parts.shape, 3), dtype=np.uint8)
    for top in range(0, len(parts), STRIP):  # a photograph as floats takes eight times its size
        rows = slice(top, top + STRIP)
        bare = _as_rgb(pixels[rows])
        mine = parts[rows]
        mixed = (1 - tint) * bare + tint * colours[mine % len(colours)]
        seen[rows] = np.round(np.where(mine[..., None] < 0, bare, mixed))
    seen[outer] = 0
    seen[inner] = 255
    return seen


def plot_cut(image: Any, labels: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw an image with its parts.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), image of Pillow, or path of an image
    labels : array of int of shape (H, W), image of Pillow, or path of one, optional
        As :meth:`structsvm.MetricLearner.predict` returns them, or as :func:`overlay` takes them;
        the bare image without.

    Raises
    ------
    DataError
        If the labels do not have one integer for each pixel, or the image is none.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.plotting import plot_cut
    >>> axes = plot_cut(np.zeros((4, 6)), np.repeat([[0, 0, 0, 1, 1, 1]], 4, axis=0))
    >>> axes.has_data()
    True
    """
    pixels = _pixels(image)
    parts = None if labels is None else _parts(labels, pixels)
    H, W = pixels.shape[:2]
    step = int(np.ceil(np.sqrt(H * W / MOST_PIXELS))) or 1
    seen = pixels[::step, ::step]
    shown = _as_rgb(seen) if parts is None else overlay(seen, parts[::step, ::step])
    ax = new_axes(ax, width=6.0, height=6.0 * H / W)
    whole = (-0.5, W - 0.5, H - 0.5, -0.5)
    ax.imshow(np.round(shown).astype(np.uint8), interpolation="nearest", extent=whole)
    ax.set_axis_off()
    return ax


def as_file(pixels: NDArray[Any], kind: str, **settings: Any) -> bytes:
    """Pixels as a file of a kind that Pillow writes."""
    buffer = io.BytesIO()
    pillow = require("PIL.Image", "images", "writing images")
    pillow.fromarray(pixels).save(buffer, format=kind, **settings)
    return buffer.getvalue()


def _pixels(image: Any) -> NDArray[Any]:
    """An image as an array, (H, W) or (H, W, C)."""
    pixels = pixels_of(image) if is_picture(image) else np.asanyarray(image)
    if pixels.ndim not in (2, 3) or not pixels.size:
        raise DataError(f"an image must have shape (H, W) or (H, W, C), got {pixels.shape}")
    return pixels


def _parts(labels: Any, pixels: NDArray[Any]) -> NDArray[np.int64]:
    """The part of each pixel, (H, W); large values are numbered, which would share colours."""
    parts = label_map_of(labels) if is_picture(labels) else label_values(labels)
    if parts.dtype.kind not in "iub":
        raise DataError(f"labels of {parts.dtype} values: give integers 0, 1, ... for the parts")
    if parts.shape != pixels.shape[:2]:
        raise DataError(f"labels of shape {parts.shape} for an image of {pixels.shape[:2]} pixels")
    parts = parts.astype(np.int64)
    if parts.max(initial=0) < len(OKABE_ITO):
        return parts
    return np.where(parts < 0, -1, np.searchsorted(np.unique(parts[parts >= 0]), parts))


def _as_rgb(image: NDArray[Any]) -> NDArray[np.float64]:
    """(H, W, 3) in [0, 255]."""
    channels = in_unit_range(image)
    if channels.shape[2] < 3:
        channels = np.repeat(channels[:, :, :1], 3, axis=2)
    return np.asarray(255.0 * channels[:, :, :3], dtype=np.float64)
