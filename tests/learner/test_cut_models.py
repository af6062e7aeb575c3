"""Models of cuts: saved, loaded, evaluated and drawn."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import refused
from cut_cases import planted
from PIL import Image

from structsvm import MetricLearner, NormalizedCut
from structsvm.data.instance import Instance
from structsvm.errors import DataError, SettingsError
from structsvm.graphs import FeatureGraph, GraphOfImage, node_labels
from structsvm.graphs.labelled_nodes import region_rand
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.partitions import Examples
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Metric
from structsvm.plotting import (
    feature_weights,
    overlay,
    plot_clusters,
    plot_cut,
    plot_gap,
    plot_metric,
    plot_segmentation,
    plot_spectrum,
    plot_weights,
)
from structsvm.plotting.words import eigenvalues, scaled_metric


@pytest.fixture(scope="module")
def graphs():
    return planted(np.random.default_rng(5), n=12)


@pytest.fixture(scope="module")
def learner(graphs):
    Xs, ys = graphs
    image = GraphOfImage(features="colour+position")
    problem = NormalizedCut(cluster_count="unknown", image=image)
    return MetricLearner(problem).fit(Xs[:6], ys[:6], baselines="quick")


def marked(graphs):
    """The same graphs, the last feature being a place."""
    return [FeatureGraph(g.X, spatial=np.array([False, False, True])) for g in graphs]


def test_the_grid_of_cuts_is_the_best_of_all_its_points(graphs):
    Xs = marked(graphs[0][:3])
    ys = graphs[1][:3]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    problem = NormalizedCut()
    instances = [Instance(g.X, g) for g in Xs]
    best = tuned_metrics.fit("grid", problem, instances, truths)

    def loss(metric):
        cuts = [problem.partition(x, metric, 2) for x in instances]
        return np.mean([partition_loss(t, M) for t, M in zip(truths, cuts, strict=True)])

    scales = 2.0 ** np.arange(-5, 5)
    everything = [
        loss(Metric(np.diag(np.sqrt([a, a, b])), None))
        for a, b in product(scales, np.append(0, scales))
    ]
    assert len(everything) == 110
    assert loss(best) == min(everything)
    known = r"\('untrained', 'grid'\), got 'spam'"
    with pytest.raises(SettingsError, match=f"metric must be one of {known}"):
        tuned_metrics.fit("spam", problem, instances, truths)


def test_the_threshold_of_unknown_cluster_counts_has_the_least_loss(graphs):
    Xs = graphs[0][:4]
    ys = graphs[1][:4]
    truths = [node_labels(y, g) for g, y in zip(Xs, ys, strict=True)]
    problem = NormalizedCut(cluster_count="unknown")
    instances = [Instance(g.X, g) for g in Xs]
    factor = np.diag([0.6, 0.05, 0.05])

    def agreement(threshold):
        cuts = [problem.partition(x, Metric(factor, threshold)) for x in instances]
        return np.mean([region_rand(t, M) for t, M in zip(truths, cuts, strict=True)])

    calibration = problem.calibrate(factor, Examples(instances, truths))
    found = calibration.metric(factor).price
    assert agreement(found) >= max(agreement(t) for t in np.linspace(0.3, 1.0, 60)) - 1e-9


# ---- what is drawn and told


@pytest.fixture(scope="module")
def small() -> MetricLearner:
    return MetricLearner(NormalizedCut()).fit(*planted(np.random.default_rng(0), n=4, T=24))


def painted(rng: np.random.Generator, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an image of stripes of different hues, and its label map."""
    labels = np.repeat(np.arange(24) * n_parts // 24, 24).reshape(24, 24)
    hues = np.array([[1.0, 0.7, 0.4], [0.4, 0.7, 1.0], [0.5, 1.0, 0.5]])
    light = 0.4 + 0.6 * np.kron(rng.random((4, 4)), np.ones((6, 6)))
    return np.round(255 * light[..., None] * hues[labels]).astype(np.uint8), labels


def test_the_metric_is_in_units_of_the_untrained_one(small: MetricLearner) -> None:
    start = small.baselines_["untrained"].metric_.factor
    np.testing.assert_allclose(start @ scaled_metric(small) @ start, small.get_mahalanobis_matrix())
    np.testing.assert_allclose(feature_weights(small), np.diag(scaled_metric(small)))
    drawn = plot_metric(small).images[0].get_array()
    order = np.argsort(-np.diag(scaled_metric(small)), kind="stable")
    np.testing.assert_array_equal(drawn, scaled_metric(small)[np.ix_(order, order)])
    np.testing.assert_allclose(
        plot_spectrum(small).lines[0].get_ydata(),
        np.linalg.eigvalsh(scaled_metric(small))[::-1],
        atol=1e-9,
    )
    assert plot_weights(small).get_xlabel() == "weight against the untrained metric"
    assert eigenvalues(small).size == 3


def test_the_gap_of_what_is_not_convex_is_its_objective(small: MetricLearner) -> None:
    ax = plot_gap(small)
    entries = small.solution_.history.entries
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [entry.upper for entry in entries])
    assert ax.get_ylabel() == "objective (not convex: no gap is known)"
    for against in ("seconds", "oracle_calls"):
        drawn = plot_gap({"cuts": small.solution_}, against=against).lines[0].get_xdata()
        np.testing.assert_array_equal(drawn, [getattr(entry, against) for entry in entries])
    convex = replace(small.solution_, stationarity=None)
    with pytest.raises(SettingsError, match="run 'cuts' is of an objective that is not convex"):
        plot_gap({"a": convex, "cuts": small.solution_})


def test_the_nodes_of_a_graph_are_drawn_in_the_metric(small: MetricLearner) -> None:
    (graph,), (y,) = planted(np.random.default_rng(5), n=1, T=24)
    ax = plot_clusters(small, graph, y, n_clusters="true")
    *clusters, rings = ax.collections
    assert sum(len(c.get_offsets()) for c in clusters) == 24
    wrong = len(rings.get_offsets())
    assert ax.get_title(loc="left") == f"2 clusters, 2 in truth; ringed: {wrong} of 24 misplaced"
    with pytest.raises(SettingsError, match="plot_clusters draws a graph"):
        plot_segmentation(small, graph)


@pytest.mark.parametrize("draw", [plot_clusters, plot_segmentation])
def test_an_image_is_drawn_by_plot_cut_alone(draw: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    Xs, ys = zip(*[painted(rng, n) for n in (2, 2, 3)], strict=True)
    learner = MetricLearner(NormalizedCut(image=GraphOfImage(n_superpixels=20)))
    learner.fit(list(Xs), list(ys))
    with pytest.raises(SettingsError, match="plot_cut draws an image with its parts"):
        draw(learner, Xs[0])


# ---- borders and tints over an image


def test_overlays_are_drawn_on_images_of_all_kinds():
    labels = np.zeros((6, 8), dtype=int)
    labels[:, 4:] = 1
    for image in (
        np.full((6, 8), 100, dtype=np.uint8),
        np.full((6, 8, 3), 100, dtype=np.uint8),
        np.full((6, 8, 4), 0.4),
    ):
        marked = overlay(image, labels)
        assert marked.shape == (6, 8, 3)
        assert marked.dtype == np.uint8
        assert (marked[:, 3] == 255).all()  # the border
        assert (marked[:, 0] != marked[:, 7]).any(axis=1).all()  # two tints
    bare = overlay(np.full((6, 8), 100, dtype=np.uint8), labels, tint=0)
    assert (bare[:, 0] == 100).all()
    with pytest.raises(DataError, match="labels of shape"):
        overlay(np.zeros((4, 4)), labels)


@pytest.mark.usefixtures("closed_figures")
def test_images_are_drawn_with_and_without_their_cuts():
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    assert plot_cut(image).images[0].get_array().shape == (6, 8, 3)
    assert plot_cut(image, np.arange(48).reshape(6, 8) // 24).images


@pytest.mark.usefixtures("closed_figures")
def test_masks_and_pictures_are_label_maps_and_images(tmp_path):
    image = np.zeros((6, 8, 3), dtype=np.uint8)
    mask = np.arange(8) >= np.full((6, 1), 4)
    image[..., 0] = 40
    Image.fromarray(image).save(tmp_path / "image.png")
    Image.fromarray(np.uint8(128 * mask)).save(tmp_path / "mask.png")
    expected = overlay(image, mask.astype(int))
    for labels in (mask, np.where(mask, 0xFF0000, 0)):
        np.testing.assert_array_equal(overlay(image, labels), expected)
    picture = Image.open(tmp_path / "image.png")
    drawn = tmp_path / "mask.png"
    np.testing.assert_array_equal(overlay(picture, drawn), expected)
    shown = plot_cut(str(tmp_path / "image.png"), Image.open(drawn)).images[0].get_array()
    np.testing.assert_array_equal(shown, expected)


test_images_and_labels_that_cannot_be_drawn_are_refused = refused(
    DataError,
    lambda image, labels: plot_cut(image, labels),
    (np.full((4, 4), 200), None, "give uint8 .white is 255"),
    (np.full((4, 4), np.nan), None, "fill NaN"),
    (np.zeros(4), None, "must have shape"),
    (np.zeros((4, 4)), np.full((4, 4), "sky"), "give integers"),
    (np.zeros((4, 4)), np.zeros((4, 5), dtype=int), "labels of shape"),
)
