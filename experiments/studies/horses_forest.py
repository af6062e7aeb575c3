"""Horses: forests as rivals of the learned cut, and the scores of one as features of it.

The photographs, superpixels, draws and measures of table3_horses.py, with all features and about
244 superpixels. Everything has its default settings, and nothing is chosen here. A forest names
each superpixel: as it is usually done, and with the deviations of each feature from its mean over
the image beside the features. Another one names pixels. The cut is learned from the features, and
from the features with the scores of the second forest, cross-fitted by image, beside them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, run_on
from experiments._report import SHARED, Row, publish
from experiments.paper.table3_horses import DRAWS, SEGMENTS, Scores, Setting, scores, split
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.baselines import RegionClassifier
from structsvm.errors import DataWarning
from structsvm.features import Columns, RegionScores, Union
from structsvm.graphs import FeatureGraph, GraphOfImage, NodeLabels, node_labels
from structsvm.io import read_images
from structsvm.learner.steps import decode_with

SETTING = Setting("b", SEGMENTS[1])
SCORED, CUT = "learned cut, features and scores", "learned cut, features"
FOREST, RELATIVE, PIXELS = "forest", "forest with deviations", "forest of pixels"
START = "start of learning, features and scores"

RIVALS: dict[str, Callable[[], Any]] = {
    FOREST: lambda: RegionClassifier(relative=False),
    RELATIVE: RegionClassifier,
    PIXELS: lambda: RegionClassifier(image=GraphOfImage(nodes="pixels")),
}
CUTS: dict[str, Callable[[], Any]] = {
    CUT: lambda: MetricLearner(SETTING.problem),
    SCORED: lambda: MetricLearner(SETTING.problem, features=Union(Columns(), RegionScores())),
}


def main(folder: Path, seconds: float) -> None:
    warnings.simplefilter("ignore", DataWarning)
    images = read_images(folder)
    pieces = Pieces("horses_forest", seconds)
    instances, _ = SETTING.problem.read([image.image for image in images])
    graphs = [instance.side for instance in instances]
    truths = [node_labels(x.labels, g) for x, g in zip(images, graphs, strict=True)]
    runs = [pieces.get(f"draw {i}", partial(draw, i, graphs, truths)) for i in range(DRAWS)]
    pieces.finish()
    publish("horses_forest", [row(name, runs) for name in (*RIVALS, CUT, START, SCORED)])
    tests = [split(i, len(images))[1] for i in range(DRAWS)]
    publish(
        "horses_forest_paired",
        [paired(name, SCORED, runs, tests) for name in (FOREST, RELATIVE, PIXELS, CUT, START)],
    )


def draw(number: int, graphs: Sequence[FeatureGraph], truths: Sequence[NodeLabels]) -> Scores:
    """Loss and Jaccard distance of every test image of a draw, by method."""
    learn, test = split(number, len(graphs))
    Xs = [graphs[i] for i in learn]
    ys = [truths[i] for i in learn]
    Xs_test = [graphs[i] for i in test]
    ys_test = [truths[i] for i in test]
    found: Scores = {}
    for name, make in (RIVALS | CUTS).items():
        start = time.process_time()
        model = make().fit(Xs, ys)
        seconds = time.process_time() - start
        if name in RIVALS:
            cuts = [EquivalenceMatrix.from_labels(y.ravel()) for y in model.predict(Xs_test)]
        else:
            cuts = model.predict_partitions(Xs_test)
        found[name] = scores(ys_test, cuts)
        print(f"draw {number} {name}: {np.mean(found[name], axis=0).round(3)}, {seconds:.1f} s")
        if name == SCORED:
            untrained = decode_with(model, model.baselines_["untrained"].metric_, Xs_test)
            found[START] = scores(ys_test, untrained)
    return found


def row(name: str, runs: Sequence[Mapping[str, Any]]) -> Row:
    """Mean and standard deviation over the draws."""
    means = np.array([np.mean(run[name], axis=0) for run in runs])
    loss, jaccard = (
        f"{m:.3f} ± {s:.3f}" for m, s in zip(means.mean(axis=0), means.std(axis=0), strict=True)
    )
    return {"method": name, "loss": loss, "Jaccard distance": jaccard}


def paired(
    rival: str, ours: str, runs: Sequence[Mapping[str, Any]], tests: Sequence[Sequence[int]]
) -> Row:
    """A rival minus ours on the same test images, with an interval over the images.

    An image is tested in most draws, and counts once: by its mean difference over them.
    """
    cells: dict[str, Any] = {"rival": rival}
    for j, what in enumerate(("loss", "Jaccard")):
        gains = [np.array(run[rival])[:, j] - np.array(run[ours])[:, j] for run in runs]
        images = np.concatenate([np.asarray(test) for test in tests])
        by_image = np.bincount(images, np.concatenate(gains)) / np.bincount(images)
        mean = by_image.mean()
        error = by_image.std(ddof=1) / np.sqrt(by_image.size)
        won = sum(gain.mean() > 0 for gain in gains)
        cells[f"{what} gained"] = (
            f"{mean:.3f} (95 % interval {mean - 1.96 * error:.3f} to {mean + 1.96 * error:.3f}, "
            f"won {won} of {len(gains)} draws)"
        )
    return cells


if __name__ == "__main__":
    run_on(main, SHARED / "weizmann_horse", __doc__)
