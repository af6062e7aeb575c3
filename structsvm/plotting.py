"""Pictures of segmentations and of metrics; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.extras import require
from structsvm.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.report import feature_names, feature_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_clusters", "plot_segmentation", "plot_weights"]

Floats = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind readers tell apart.
TRUE, LEARNED, UNTRAINED, TRACE = "#000000", "#0072B2", "#D55E00", "#444444"
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
    n_segments: int | str | None = None,
    show: str = "components",
    n_traces: int = 3,
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
    n_segments : int, "true" or None
        Decode with so many segments, with as many as the truth has, or as the penalty decides.
    show : {"components", "features"}
        Draw the recording in the metric, heaviest directions first, or the features of largest
        weight as they were measured.
    n_traces : int
        How many of them.
    ax : matplotlib axes, optional
        New ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
    """
    truth = None if y is None else learner.encode([X], [y])[0]
    K = _count(n_segments, truth)
    names, traces = _traces(learner, X, show, n_traces)
    learned = learner.predict_breakpoints([X], K)[0]
    untrained = learner.decode_with(learner.baselines_["untrained"], [X], K)[0].breakpoints
    strips = [
        _Strip("learned", learned, LEARNED),
        _Strip("untrained", untrained, UNTRAINED),
    ]
    if truth is not None:
        strips.insert(0, _Strip("true", truth.breakpoints, TRUE))

    ax = _axes(ax, height=0.55 * (len(names) + len(strips)) + 0.8)
    for lane, trace in enumerate(traces):
        ax.plot(_in_lane(lane, trace), color=TRACE, linewidth=0.9)
    for lane, strip in enumerate(strips, start=len(names)):
        _draw_strip(ax, lane, strip)
    if truth is not None:
        for change in truth.breakpoints[:-1]:
            ax.axvline(change - 0.5, color=TRUE, linewidth=0.8, linestyle=(0, (3, 3)), zorder=0)
        _write_labels(ax, len(names), truth, y)
    labels = names + [f"{s.name}\n{len(s.breakpoints)} segments" for s in strips]
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlim(-0.5, traces.shape[1] - 0.5)
    ax.set_xlabel("sample")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def plot_clusters(
    learner: MetricLearner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    axes: Sequence[Axes],
) -> None:
    """Draw a table in the two heaviest directions of the metric, coloured by predicted cluster.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    X : array or data frame of shape (T, P)
    y : labels (T,), optional
        The truth; coloured on the second axes.
    n_clusters : int, "true" or None
        Cluster into so many, into as many as the truth has, or as the penalty decides.
    axes : sequence of matplotlib axes
        One, or two with ``y``.
    """
    truth = None if y is None else learner.encode([X], [y])[0]
    K = _count(n_clusters, truth)
    panels = {"predicted": learner.predict_partitions([X], K)[0]}
    if truth is not None:
        panels["true"] = truth
    names, traces = _traces(learner, X, "components", 2)
    x, height = traces[0], traces[1] if len(traces) > 1 else np.zeros(traces.shape[1])
    for ax, (name, M) in zip(axes, panels.items(), strict=True):
        ax.scatter(x, height, c=M.labels, cmap="tab20" if M.n_clusters > 10 else "tab10", s=9)
        ax.set_title(f"{name}, {M.n_clusters} clusters")
        ax.set_xlabel(names[0])
        ax.set_ylabel(names[1] if len(names) > 1 else "")
        ax.spines[["top", "right"]].set_visible(False)


def plot_weights(learner: MetricLearner, *, n_features: int = 15, ax: Axes | None = None) -> Axes:
    """Draw the features of largest weight, as :func:`structsvm.report.feature_weights` has them.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    n_features : int
        How many at most.
    ax : matplotlib axes, optional
        New ones if not given.

    Returns
    -------
    matplotlib.axes.Axes
    """
    weights, names = feature_weights(learner), feature_names(learner)
    top = np.argsort(-weights, kind="stable")[:n_features]
    ax = _axes(ax, height=0.28 * top.size + 1.1)
    ax.barh(range(top.size), weights[top], height=0.7, color=LEARNED)
    ax.axvline(1.0, color=UNTRAINED, linewidth=1.5, linestyle=(0, (3, 2)))
    ax.text(
        1.0, top.size - 0.4, " untrained", color=UNTRAINED, ha="left", va="top", fontsize="small"
    )
    ax.set_yticks(range(top.size), [names[j] for j in top])
    ax.set_ylim(top.size + 0.3, -0.6)
    ax.set_xlim(0.0, max(1.3, 1.05 * float(weights[top].max(initial=0.0))))
    more = "" if top.size == weights.size else f", {top.size} largest of {weights.size}"
    ax.set_xlabel(f"weight against the price of a segment{more}")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _axes(ax: Axes | None, height: float) -> Axes:
    """The axes given, or new ones on a figure of their own."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", "plotting")
    _, created = pyplot.subplots(figsize=(9.0, height), layout="constrained")
    new: Axes = created
    return new


def _count(asked: int | str | None, truth: EquivalenceMatrix | None) -> int | None:
    """A number of segments or clusters, "true" being that of the truth."""
    if not isinstance(asked, str):
        return asked
    if asked != "true":
        raise SettingsError(f"n_segments must be an integer, 'true' or None, got {asked!r}")
    if truth is None:
        raise SettingsError("n_segments='true' needs the true labels")
    return truth.n_clusters


def _traces(learner: MetricLearner, X: Any, show: str, n: int) -> tuple[list[str], Floats]:
    """Names and values, (n, T), of what is drawn of a recording."""
    names = feature_names(learner)
    if show == "features":
        top = np.argsort(-feature_weights(learner), kind="stable")[:n]
        return [names[j] for j in top], np.asarray(X, dtype=np.float64).T[top]
    if show != "components":
        raise SettingsError(f"show must be 'components' or 'features', got {show!r}")
    directions = learner.components_
    top = np.argsort(-np.einsum("rp,rp->r", directions, directions), kind="stable")[:n]
    values = np.asarray(learner.transform([X])[0]).T[top]
    return [_direction_name(directions[r], i, names) for i, r in enumerate(top, 1)], values


def _direction_name(direction: Floats, number: int, names: list[str]) -> str:
    """The feature's name if there is only one in a direction."""
    inside = np.flatnonzero(direction)
    return names[inside[0]] if inside.size == 1 else f"direction {number}"


def _in_lane(lane: int, values: Floats) -> Floats:
    """Values scaled to the height of a lane; the axis points downwards."""
    low, high = float(values.min()), float(values.max())
    middle = (values - (low + high) / 2) / (high - low if high > low else 1.0)
    return np.asarray(lane - LANE * middle)


def _draw_strip(ax: Axes, lane: int, strip: _Strip) -> None:
    starts = [0, *strip.breakpoints[:-1]]
    for k, (start, end) in enumerate(zip(starts, strip.breakpoints, strict=True)):
        ax.barh(
            lane,
            end - start,
            left=start - 0.5,
            height=LANE / 1.6,
            color=strip.color,
            alpha=SHADES[k % 2],
            linewidth=0,
        )


def _write_labels(ax: Axes, lane: int, truth: EquivalenceMatrix, y: Any) -> None:
    """The label of each true segment that has room for it, when there are labels."""
    labels = np.asarray(y)
    if labels.size != truth.n_samples:
        return
    starts = [0, *truth.breakpoints[:-1]]
    for k, (start, end) in enumerate(zip(starts, truth.breakpoints, strict=True)):
        if end - start >= LEGIBLE * truth.n_samples:
            color = "white" if SHADES[k % 2] > 0.5 else "black"
            middle = (start + end - 1) / 2
            ax.text(middle, lane, str(labels[start]), color=color, ha="center", va="center")
