"""Draw the clusters of a table or a graph in the two heaviest directions of the metric."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.data import Instance
from structsvm.learner import Learner
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.losses import matched_labels
from structsvm.plotting import style
from structsvm.plotting.drawable import drawable
from structsvm.plotting.words import heaviest_directions
from structsvm.support import Floats, Ints, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEGEND = 20  # clusters that a legend has room for
NAME_IN_LEGEND = 26  # letters of a name in a legend


def plot_clusters(
    learner: Learner,
    X: Any,
    y: Any = None,
    *,
    n_clusters: int | str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a sample in the two heaviest directions of the metric; colours are predicted clusters.

    A legend names the clusters: with labels, by that of the true cluster that each is matched with;
    otherwise by their numbers.

    Parameters
    ----------
    learner : MetricLearner or another fitted learner
    X : array or data frame of shape (T, P), or whatever the problem reads, such as a graph
    y : labels (T,), optional
        The truth: misplaced items are ringed, after predicted and true clusters are matched such
        that there are as few as possible.
    n_clusters : int, "true" or None
        Cluster into so many, into as many as the truth has, or as the price decides.

    Raises
    ------
    SettingsError
        For an image: use :func:`plot_cut`.

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
    _, instance, truth, K = drawable(learner, X, y, n_clusters, in_order=False)
    (partition,) = learner.predict_partitions([instance], K)
    sides, points, matched, titles = clusters_in_directions(learner, instance, partition, truth, y)

    ax = style.plain(style.new_axes(ax, width=6.4, height=4.8))
    colors = style.mark_colors()
    dots = []
    for k in range(partition.n_clusters):
        color = colors[k % len(colors)]
        marker = style.MARKERS[(k + k // 8) % len(style.MARKERS)]
        look: dict[str, Any] = {"color": color, "marker": marker, "linewidths": 0, "alpha": 0.85}
        x, height = points[partition.labels == k].T
        dots.append(ax.scatter(x, height, s=18, **look))
    title = counted(partition.n_clusters, learner.problem_.traits.words.part)
    if truth is not None:
        wrong = np.asarray(partition.labels != matched)
        rings: dict[str, Any] = {"edgecolors": style.text_color(), "linewidths": 0.8}
        x, height = points[wrong].T
        ax.scatter(x, height, s=60, facecolors="none", **rings)
        title += f", {truth.n_clusters} in truth; ringed: {wrong.sum()} of {wrong.size} misplaced"
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set(
        **dict(zip(("xlabel", "ylabel"), style.written(sides, style.LONGEST_NAME), strict=False))
    )
    listed = _listed(titles[: partition.n_clusters], matched)
    ax.legend(
        [dots[k] for k in listed],
        list(map(style.legend_text, style.shortened((titles[k] for k in listed), NAME_IN_LEGEND))),
        title=f"{LEGEND} of {partition.n_clusters}" if partition.n_clusters > LEGEND else None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
    )
    return ax


def _listed(titles: Sequence[str], matched: Ints) -> list[int]:
    """The clusters that a legend names, at most LEGEND: those with a match first, then by name."""
    words = [title.rstrip("0123456789") for title in titles]
    numbers = [int(title[len(word) :] or 0) for title, word in zip(titles, words, strict=True)]
    has_match = set(matched.tolist())
    order = sorted(range(len(titles)), key=lambda k: (k not in has_match, words[k], numbers[k]))
    return order[:LEGEND]


def clusters_in_directions(
    learner: Learner, instance: Instance, partition: EquivalenceMatrix, truth: Any, y: Any
) -> tuple[list[str], Floats, Ints, list[str]]:
    """Names of two directions, places (T, 2), clusters matched with the truth (T,), their names."""
    sides, directions = heaviest_directions(learner, 2)
    places = np.column_stack([instance.X @ directions.T, np.zeros(partition.n_samples)])[:, :2]
    matched = partition.labels if truth is None else matched_labels(truth, partition)
    names = [f"cluster {k}" for k in range(max(partition.n_clusters, int(matched.max()) + 1))]
    labels = None if y is None else instance.item_labels(y)
    labels = np.asarray(labels, dtype=object)
    if truth is not None and labels.shape == matched.shape:
        for k, first in zip(*np.unique(matched, return_index=True), strict=True):
            names[k] = str(labels[first])
    return sides, places, matched, names
