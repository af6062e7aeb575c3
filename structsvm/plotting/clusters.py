"""A table, or a graph, in the two heaviest directions of the metric, with its clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.data.samples import asked_counts
from structsvm.learner.columns import partition_of
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import encode
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.states import matched_labels, misplaced
from structsvm.plotting.style import (
    LONGEST,
    MARKERS,
    legend_text,
    mark_colors,
    new_axes,
    plain,
    plain_text,
    shortened,
    text_color,
)
from structsvm.plotting.traces import check_drawable, traces
from structsvm.support.plain import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
