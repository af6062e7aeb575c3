"""Cuts: eigenvectors by Lanczos, learning from ten images, cutting images of growing size."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import scipy.linalg as sl
from _harness import RESULTS, Goal, report, seconds

from structsvm import MetricLearner, MetricLearnerCV, NormalizedCut
from structsvm.graphs import FeatureGraph, GraphOfImage
from structsvm.graphs.images import from_image
from structsvm.graphs.similarity import Similarity
from structsvm.io import read_images
from structsvm.oracles.cut_hinge import NormalizedHinge
from structsvm.partitions import Metric

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
HORSES = Path(os.environ.get("STRUCTSVM_DATA") or BESIDE) / "weizmann_horse"
SIZES = ((60, 80), (120, 160), (240, 320), (480, 640))
LARGEST_GRID = 240 * 320
"""Pixels beyond which a grid of pixels is not tried."""


def main() -> None:
    learner, learning = learn()
    cutting, curves = cut(learner)
    draw(curves)
    report("cuts", [*oracles(), *learning, *cutting])


def oracles() -> list[Goal]:
    """The most violated cut of 4000 nodes: the same operator, decomposed and iterated on."""
    rng = np.random.default_rng(0)
    T = 4000
    y = rng.integers(0, 2, T)
    cloud = FeatureGraph(rng.normal(size=(T, 5)) + 2.0 * y[:, None])
    goals = []
    for name, graph, truth in (("all pairs", cloud, y), ("50 x 80 pixels, radius 5", *pixels())):
        hinge = NormalizedHinge(Similarity.of(graph), np.eye(2)[truth], 1.0)
        operator = hinge.at(0.3 * np.eye(5)).operator
        dense = operator.dense()
        whole = partial(sl.eigh, dense, subset_by_index=[T - 1, T - 1], check_finite=False)
        lanczos = seconds(partial(operator.top, 1), repeats=5)
        peer = seconds(whole, repeats=1)
        goals.append(Goal.at_least(f"oracle, T=4000, {name}: Lanczos / eigh", lanczos, peer, 15))
    return goals


def pixels() -> tuple[FeatureGraph, np.ndarray]:
    """A photograph of 4000 pixels as a grid, and its foreground."""
    from PIL import Image

    horse = read_images(HORSES)[20]
    small = Image.fromarray(horse.image).resize((80, 50), Image.Resampling.BOX)
    mask = Image.fromarray(np.uint8(255) * (horse.labels > 0)).resize((80, 50))
    settings = GraphOfImage(nodes="pixels", features="colour+position")
    truth = (np.asarray(mask) > 127).ravel().astype(int)
    return from_image(np.asarray(small), settings), truth


def learn() -> tuple[MetricLearner, list[Goal]]:
    """Ten images, longest side 160 pixels, about 115 superpixels each; the graphs are made once."""
    horses = read_images(HORSES)[:10]
    images = [one.image for one in horses]
    labels = [one.labels for one in horses]
    goals = []
    for features in ("colour+position", "all"):
        problem = NormalizedCut(image=GraphOfImage(features=features))
        graphs = [from_image(image, problem.image) for image in images]
        learner = MetricLearner(problem)
        once = seconds(partial(learner.fit, graphs, labels), repeats=3)
        name = f"learning, 10 images, {features}"
        goals.append(Goal.at_most(f"{name}: against 2 s", once, 2.0, 1.0))
        chooser = MetricLearnerCV(problem, ("untrained", "full"))
        chosen = seconds(partial(chooser.fit, graphs, labels), repeats=1)
        goals.append(Goal.against(f"{name}, lam by cross-validation", chosen, once))
    return learner, goals


def cut(learner: MetricLearner) -> tuple[list[Goal], dict[str, list[tuple[int, float]]]]:
    """A photograph at growing sizes with a learned metric, from the array to the label map."""
    from PIL import Image

    photograph = Image.fromarray(read_images(HORSES)[20].image)
    settings = {
        "300 superpixels": GraphOfImage(n_superpixels=300),
        "superpixels of 64 pixels": GraphOfImage(n_superpixels=300),
        "pixels, radius 5": GraphOfImage(nodes="pixels"),
    }
    goals: list[Goal] = []
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in settings}
    for H, W in SIZES:
        image = np.asarray(photograph.resize((W, H), Image.Resampling.BICUBIC))
        for name, graph in settings.items():
            if "radius" in name and H * W > LARGEST_GRID:
                continue
            if "64" in name:
                graph = GraphOfImage(n_superpixels=H * W // 64)
            run = partial(_segmented, NormalizedCut(image=graph), learner.metric_, image)
            taken = seconds(run, repeats=1 if "radius" in name else 3)
            curves[name].append((H * W, taken))
            if (H, W) == (240, 320):
                goals.append(Goal.at_most(f"320 x 240, {name}: against 10 s", taken, 10.0, 1.0))
    return goals, curves


def _segmented(problem: NormalizedCut, metric: Metric, image: np.ndarray) -> np.ndarray:
    (instance,), _ = problem.read(image)
    return problem.decode(problem.partition(instance, metric, 2), instance)


def draw(curves: dict[str, list[tuple[int, float]]]) -> None:
    """Seconds against pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.subplots()
    for (name, points), marker in zip(curves.items(), "os^", strict=True):
        pixels, taken = zip(*points, strict=True)
        ax.loglog(pixels, taken, marker=marker, label=name)
    ax.set_xlabel("pixels")
    ax.set_ylabel("seconds from image to label map")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left")
    figure.savefig(RESULTS / "cuts.png", dpi=130)


if __name__ == "__main__":
    main()
