"""A recording above its segmentations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.datasets.times import TimeAxis, time_axis
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.samples import asked_counts
from structsvm.plotting.style import LEARNED, TRACE, TRUE, UNTRAINED, new_axes
from structsvm.plotting.traces import check_drawable, traces
from structsvm.support.extras import require
from structsvm.support.plain import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_segmentation"]

Floats = NDArray[np.float64]

SHADES = (0.8, 0.35)
"""Opacity of every other segment of a strip."""
LANE = 0.8
"""Height of what is drawn in a lane of height 1."""
LEGIBLE = 0.035
"""Part of the width that a segment must have to carry its label."""


@dataclass(frozen=True, eq=False)
class _Strip:
    """A row of coloured segments."""

    name: str
    breakpoints: list[int]
    color: str


def plot_segmentation(
    learner: MetricLearner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    show: str = "components",
    n_traces: int = 3,
    times: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a recording above its segmentations: the true one, the learned one, the untrained one.

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
        When the samples were measured; those of a data frame whose index has dates are its own.
    ax : matplotlib axes, optional
        New ones if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    SettingsError
        For a learner whose partitions are no segments.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import arrays_and_labels, relevant_changes
    >>> from structsvm.plotting import plot_segmentation
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> axes = plot_segmentation(learner, Xs[0], ys[0], show="features", n_traces=2)
    >>> axes.has_data()
    True
    """
    measured, sample = check_drawable(learner, X, "plot_segmentation", in_order=True)
    truths = None if y is None else learner.encode([sample], [y])
    truth = None if truths is None else truths[0]
    K = asked_counts(n_clusters, truths)
    names, values = traces(learner, measured, sample, show, n_traces)
    learned = learner.predict_breakpoints([sample], K)[0]
    untrained = learner.decode_with(learner.baselines_["untrained"], [sample], K)[0].breakpoints
    strips = [
        _Strip("learned", learned, LEARNED),
        _Strip("untrained", untrained, UNTRAINED),
    ]
    if truth is not None:
        strips.insert(0, _Strip("true", truth.breakpoints, TRUE))

    axis = _time_axis(times, X, values.shape[1])
    edges = _drawn(axis.edges) if axis else np.arange(values.shape[1] + 1) - 0.5
    ax = new_axes(ax, height=0.55 * (len(names) + len(strips)) + 0.8)
    places = _drawn(axis.values) if axis else np.arange(values.shape[1])
    for lane, trace in enumerate(values):
        ax.plot(places, _in_lane(lane, trace), color=TRACE, linewidth=0.9)
    for lane, strip in enumerate(strips, start=len(names)):
        _draw_strip(ax, lane, strip, edges)
    if truth is not None:
        for change in truth.breakpoints[:-1]:
            at = edges[change]
            ax.axvline(at, color=TRUE, linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
        _write_labels(ax, len(names), truth, y, edges)
    labels = names + [f"{s.name}\n{counted(len(s.breakpoints), 'segment')}" for s in strips]
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xlabel(axis.name if axis else "sample")
    if axis and axis.values.dtype.kind == "M":
        ax.xaxis_date()
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _time_axis(times: Any, X: Any, n_samples: int) -> TimeAxis | None:
    """The times that were given, or those that a data frame has."""
    if times is None:
        times = getattr(X, "index", None)
        if getattr(getattr(times, "dtype", None), "kind", "") != "M":
            return None
    return time_axis(times, n_samples)


def _drawn(values: NDArray[Any]) -> Floats:
    """Times as numbers of the axis."""
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=np.float64)
    dates = require("matplotlib.dates", "plot", "plotting")
    return np.asarray(dates.date2num(values))


def _in_lane(lane: int, values: Floats) -> Floats:
    """Values scaled to the height of a lane; the axis points downwards."""
    low, high = float(values.min()), float(values.max())
    middle = (values - (low + high) / 2) / (high - low if high > low else 1.0)
    return np.asarray(lane - LANE * middle)


def _draw_strip(ax: Axes, lane: int, strip: _Strip, edges: Floats) -> None:
    starts = [0, *strip.breakpoints[:-1]]
    for k, (start, end) in enumerate(zip(starts, strip.breakpoints, strict=True)):
        ax.barh(
            lane,
            edges[end] - edges[start],
            left=edges[start],
            height=LANE / 1.6,
            color=strip.color,
            alpha=SHADES[k % 2],
            linewidth=0,
        )


def _write_labels(ax: Axes, lane: int, truth: EquivalenceMatrix, y: Any, edges: Floats) -> None:
    """The label of each true segment that has room for it, when there are labels."""
    labels = np.asarray(y)
    if labels.size != truth.n_samples:
        return
    starts = [0, *truth.breakpoints[:-1]]
    for k, (start, end) in enumerate(zip(starts, truth.breakpoints, strict=True)):
        if edges[end] - edges[start] >= LEGIBLE * (edges[-1] - edges[0]):
            color = "white" if SHADES[k % 2] > 0.5 else "black"
            middle = (edges[start] + edges[end]) / 2
            ax.text(middle, lane, str(labels[start]), color=color, ha="center", va="center")
