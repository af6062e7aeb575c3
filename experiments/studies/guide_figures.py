"""The figures of the guide pages, from data that need no download. Seconds.

    .venv/bin/python -m experiments.studies.guide_figures

writes docs/paper/guide_*.png.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from structsvm import Clustering, MetricLearner, NormalizedCut, PartialLabels, margin_rates
from structsvm.datasets import digits_recordings
from structsvm.graphs import GraphOfImage
from structsvm.io import arrays_and_labels
from structsvm.plotting import plot_clusters, plot_cut, plot_segmentation

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "paper"
KNOWN = 40
"""Samples at the beginning of each recording that are labelled."""


def change_points() -> plt.Figure:
    """A recording of other writers, its changes, and how sure they are."""
    recordings = digits_recordings(9, split="train", random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    X, y = arrays_and_labels(digits_recordings(6, split="test", random_state=1))
    learner = MetricLearner(metric="diagonal")
    learner.fit(Xs, ys, feature_names=recordings[0].features)
    learner.margin_rates_ = margin_rates(learner, Xs, ys, cv=3)
    return plot_segmentation(learner, X[0], y[0], margins=True).figure


def few_labels() -> plt.Figure:
    """The same recording, of whose like only the beginning was labelled."""
    recordings = digits_recordings(9, split="train", random_state=0)
    Xs, ys = arrays_and_labels(recordings)
    X, y = arrays_and_labels(digits_recordings(6, split="test", random_state=1))
    known = [
        PartialLabels(labels=[v if t < KNOWN else None for t, v in enumerate(labels.tolist())])
        for labels in ys
    ]
    learner = MetricLearner(metric="diagonal")
    learner.fit(Xs, known, feature_names=recordings[0].features)
    return plot_segmentation(learner, X[0], y[0]).figure


def clusters() -> plt.Figure:
    """Wines in the metric without learning, and in the learned one."""
    wine = load_wine()
    rows = np.random.default_rng(0).permutation(len(wine.data))
    learned = rows[:90]
    others = rows[90:]
    names = wine.target_names[wine.target]
    learner = MetricLearner(Clustering())
    learner.fit(wine.data[learned], names[learned], feature_names=wine.feature_names)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    plot_clusters(learner, wine.data[others], names[others], n_clusters=3, ax=axes[1])
    learner.model_ = learner.baselines_["untrained"].metric_
    plot_clusters(learner, wine.data[others], names[others], n_clusters=3, ax=axes[0])
    for ax, title in zip(axes, ("untrained", "learned"), strict=True):
        ax.set_title(title, loc="left")
    axes[0].get_legend().remove()
    return figure


def cuts() -> plt.Figure:
    """An image that was not learned from, its true parts, and those that are found."""
    rng = np.random.default_rng(0)

    def photograph() -> tuple[np.ndarray, np.ndarray]:
        y, x = np.mgrid[:48, :64]
        disc = (y - rng.integers(12, 36)) ** 2 + (x - rng.integers(12, 52)) ** 2 < 140
        light = 0.25 + 0.75 * np.kron(rng.random((6, 8)), np.ones((8, 8)))
        hue = np.where(disc[..., None], [1.0, 0.85, 0.7], [0.7, 0.85, 1.0])
        return np.uint8(255 * light[..., None] * hue), disc

    images, masks = zip(*[photograph() for _ in range(9)], strict=True)
    problem = NormalizedCut(image=GraphOfImage(n_superpixels=120))
    learner = MetricLearner(problem).fit(list(images[:8]), list(masks[:8]))
    panels = {"image": None, "truth": masks[8].astype(int), "learned": learner.predict(images[8])}
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
    for ax, (title, parts) in zip(axes, panels.items(), strict=True):
        plot_cut(images[8], parts, ax=ax)
        ax.set_title(title, loc="left")
    return figure


if __name__ == "__main__":
    mpl.use("Agg")
    for draw in (change_points, few_labels, clusters, cuts):
        path = FOLDER / f"guide_{draw.__name__}.png"
        draw().savefig(path, dpi=100, bbox_inches="tight")
        print(path.relative_to(FOLDER.parents[1]))
