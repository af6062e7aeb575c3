"""What is drawn and told of a model of normalized cuts is what its name says."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cut_cases import planted
from PIL import Image

from structsvm import MetricLearner, NormalizedCut, evaluate, load, save
from structsvm.errors import SettingsError
from structsvm.evaluation.evaluate import score_titles
from structsvm.graphs import GraphOfImage
from structsvm.plotting import (
    feature_weights,
    plot_clusters,
    plot_gap,
    plot_metric,
    plot_segmentation,
    plot_spectrum,
    plot_weights,
    report_page,
)
from structsvm.plotting.words import certificate_in_words, eigenvalues, scaled_metric


@pytest.fixture(scope="module")
def learner() -> MetricLearner:
    return MetricLearner(NormalizedCut()).fit(*planted(np.random.default_rng(0), n=4, T=24))


def painted(rng: np.random.Generator, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an image of stripes of different hues, and its label map."""
    labels = np.repeat(np.arange(24) * n_parts // 24, 24).reshape(24, 24)
    hues = np.array([[1.0, 0.7, 0.4], [0.4, 0.7, 1.0], [0.5, 1.0, 0.5]])
    light = 0.4 + 0.6 * np.kron(rng.random((4, 4)), np.ones((6, 6)))
    return np.round(255 * light[..., None] * hues[labels]).astype(np.uint8), labels


def test_the_metric_is_in_units_of_the_untrained_one(learner: MetricLearner) -> None:
    start = learner.baselines_["untrained"].factor
    np.testing.assert_allclose(
        start @ scaled_metric(learner) @ start, learner.get_mahalanobis_matrix()
    )
    np.testing.assert_allclose(feature_weights(learner), np.diag(scaled_metric(learner)))
    drawn = plot_metric(learner).images[0].get_array()
    order = np.argsort(-np.diag(scaled_metric(learner)), kind="stable")
    np.testing.assert_array_equal(drawn, scaled_metric(learner)[np.ix_(order, order)])
    np.testing.assert_allclose(
        plot_spectrum(learner).lines[0].get_ydata(),
        np.linalg.eigvalsh(scaled_metric(learner))[::-1],
        atol=1e-9,
    )
    assert plot_weights(learner).get_xlabel() == "weight against the untrained metric"
    assert eigenvalues(learner).size == 3


def test_a_price_that_is_no_price_of_the_metric_is_not_in_its_units() -> None:
    data = planted(np.random.default_rng(0), n=4, T=24)
    learner = MetricLearner(NormalizedCut(cluster_count="unknown")).fit(*data)
    assert learner.metric_.price is not None
    start = learner.baselines_["untrained"].factor
    np.testing.assert_allclose(
        start @ scaled_metric(learner) @ start, learner.get_mahalanobis_matrix()
    )


def test_the_gap_of_what_is_not_convex_is_its_objective(learner: MetricLearner) -> None:
    ax, entries = plot_gap(learner), learner.solution_.history.entries
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [entry.upper for entry in entries])
    assert ax.get_ylabel() == "objective (not convex: no gap is known)"
    for against in ("seconds", "oracle_calls"):
        drawn = plot_gap({"cuts": learner.solution_}, against=against).lines[0].get_xdata()
        np.testing.assert_array_equal(drawn, [getattr(entry, against) for entry in entries])
    convex = replace(learner.solution_, stationarity=None)
    with pytest.raises(SettingsError, match="run 'cuts' is of an objective that is not convex"):
        plot_gap({"a": convex, "cuts": learner.solution_})


def test_what_was_found_is_told_without_a_bound(learner: MetricLearner) -> None:
    found = learner.solution_
    assert certificate_in_words(found) == (
        f"a local minimum of a nonconvex objective: objective {found.upper:.6g}, at the "
        f"start {found.null:.6g}, projected gradient {found.stationarity:.2g}"
    )


def test_the_nodes_of_a_graph_are_drawn_in_the_metric(learner: MetricLearner) -> None:
    (graph,), (y,) = planted(np.random.default_rng(5), n=1, T=24)
    ax = plot_clusters(learner, graph, y, n_clusters="true")
    *clusters, rings = ax.collections
    assert sum(len(c.get_offsets()) for c in clusters) == 24
    wrong = len(rings.get_offsets())
    assert ax.get_title(loc="left") == f"2 clusters, 2 in truth; ringed: {wrong} of 24 misplaced"
    with pytest.raises(SettingsError, match="plot_clusters draws a graph"):
        plot_segmentation(learner, graph)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model, and images of which two have two parts and one has three."""
    folder, rng = tmp_path_factory.mktemp("stripes"), np.random.default_rng(0)
    images = [painted(rng, n) for n in (2, 2, 3, 2, 2, 3)]
    Xs, ys = zip(*images[:3], strict=True)
    learner = MetricLearner(NormalizedCut(image=GraphOfImage(n_superpixels=20)))
    learner.fit(list(Xs), list(ys))
    save(learner, folder / "m.structsvm")
    for kind in ("img", "mask"):
        (folder / "test" / kind).mkdir(parents=True)
    for i, (image, labels) in enumerate(images[3:]):
        Image.fromarray(image).save(folder / "test" / "img" / f"{i}.png")
        Image.fromarray((100 * labels).astype(np.uint8)).save(folder / "test" / "mask" / f"{i}.png")
    return folder


def test_a_jaccard_distance_says_of_how_many_images_it_is(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from structsvm.cli import main

    monkeypatch.chdir(model)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["evaluate", "m.structsvm", "test"]) == 0
    printed = capsys.readouterr().out
    assert "mean of 3 images" in printed
    assert "Jaccard distance, of 2 images" in printed
    assert main(["evaluate", "m.structsvm", "test", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["jaccard"] == 2
    each = [image["learned"]["jaccard"] for image in told["images"]]
    assert each[2] is None
    assert told["learned"]["jaccard"] == pytest.approx(np.mean(each[:2]))
    assert main(["evaluate", "m.structsvm", "test/img/0.png", "--labels", "test/mask"]) == 0
    assert re.search("  Jaccard distance  ", capsys.readouterr().out)


def test_a_page_says_of_how_many_images_the_jaccard_distance_is(model: Path) -> None:
    rng, learner = np.random.default_rng(1), load(model / "m.structsvm")
    Xs, ys = zip(*(painted(rng, n) for n in (2, 3)), strict=True)
    page = report_page(learner, list(Xs), list(ys), n_clusters="true")
    assert "Jaccard distance, of 1 image" in page
    few = evaluate(learner, list(Xs[1:]), list(ys[1:]), "true")
    assert few.counts["jaccard"] == 0
    assert list(score_titles(few)) == ["loss", "adjusted_rand"]


@pytest.mark.parametrize("draw", [plot_clusters, plot_segmentation])
def test_an_image_is_drawn_by_plot_cut_alone(draw: Callable[..., Any], model: Path) -> None:
    image, _ = painted(np.random.default_rng(1), 2)
    with pytest.raises(SettingsError, match="plot_cut draws an image with its parts"):
        draw(load(model / "m.structsvm"), image)


@pytest.mark.parametrize("show", ["components", "features"])
def test_an_image_has_no_directions_to_show(
    show: str, model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from structsvm.cli import main

    monkeypatch.chdir(model)
    assert main(["plot", "m.structsvm", "test/img/0.png", "--show", show, "-o", "x.png"]) == 1
    assert f"an image has no {show} to show" in capsys.readouterr().err
    assert not (model / "x.png").exists()
