"""The paper's table of horses: normalized cuts with a learned metric against the grid.

80 photographs of the Weizmann horses, longest side 160 pixels. 10 random draws of 10 training
images, the other 70 to test; SLIC superpixels, about 115 or 240 to an image; the loss and the
Jaccard distance of the foreground are those of the pixels. Two feature sets: (a) L, a, b, x, y as
in the paper, (b) with gradient, texture and distances from axes and border. ``lam`` is chosen on
the training images, and so is the point of the grid, a scale of colour and one of position.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments._cache import CACHE, Pieces, seconds_option
from experiments._report import SHARED, Row, publish
from structsvm import EquivalenceMatrix, MetricLearnerCV, NormalizedCut
from structsvm.errors import VerdictWarning
from structsvm.graphs import FeatureGraph, GraphOfImage, NodeLabels, node_labels
from structsvm.graphs.labelled_nodes import jaccard_distance
from structsvm.io import LabelledImage, read_images
from structsvm.learner.preparing import prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

DRAWS, N_TRAIN = 10, 10
FEW = 24
"""Images of a quick run, which draws once, in the first setting."""
SETS = {"a": "colour+position", "b": "all"}
SEGMENTS = (150, 300)
"""Asked of SLIC; it makes about 115 and 240."""

Scores = dict[str, list[list[float]]]
"""Loss and Jaccard distance of every test image, by method."""


@dataclass(frozen=True)
class Setting:
    """A feature set and a size of superpixels."""

    features: str
    n_superpixels: int

    @property
    def problem(self) -> NormalizedCut:
        """How images become graphs here."""
        image = GraphOfImage(features=SETS[self.features], n_superpixels=self.n_superpixels)
        return NormalizedCut(image=image)

    @property
    def name(self) -> str:
        """For people and files."""
        return f"{self.features}, {self.n_superpixels}"


def main(folder: Path, seconds: float, quick: bool) -> None:
    images = read_images(folder)[: FEW if quick else None]
    pieces = Pieces("table3_horses", seconds)
    settings = [Setting(features, n) for n, features in product(SEGMENTS, SETS)]
    some = f" of {FEW}" if quick else ""
    found: dict[Setting, list[Scores]] = {}
    sizes: dict[Setting, float] = {}
    for setting in settings[:1] if quick else settings:
        instances, _ = setting.problem.read([image.image for image in images])
        graphs = [instance.side for instance in instances]
        truths = [node_labels(x.labels, g) for x, g in zip(images, graphs, strict=True)]
        sizes[setting] = float(np.median([graph.n_samples for graph in graphs]))
        found[setting] = [
            pieces.get(f"{setting.name} {i}{some}", partial(draw, setting, i, graphs, truths))
            for i in range(1 if quick else DRAWS)
        ]
    pieces.finish()
    rows = list(chain.from_iterable(table(s, sizes[s], runs) for s, runs in found.items()))
    publish("table3_horses", [*floors(images), *rows])
    publish("table3_paired", [paired(s, sizes[s], runs, found) for s, runs in found.items()])
    if not quick:
        pictures(images, found)


def draw(
    setting: Setting,
    number: int,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
) -> Scores:
    """All methods on one draw."""
    learn, test = split(number, len(graphs))
    Xs = [graphs[i] for i in learn]
    ys = [truths[i] for i in learn]
    Xs_test = [graphs[i] for i in test]
    ys_test = [truths[i] for i in test]
    found: Scores = {}
    for name, learner in learners(setting).items():
        start = time.perf_counter()
        fit(learner, Xs, ys)
        seconds = time.perf_counter() - start
        found[name] = scores(ys_test, learner.predict_partitions(Xs_test))
        print(
            f"{setting.name} draw {number} {name}: {np.mean(found[name], axis=0).round(3)}, "
            f"{learner.best_candidate_}, lam {learner.best_lam_}, {seconds:.1f} s",
            flush=True,
        )
    best = learner.best_estimator_
    for name, method in best.baselines_.items():
        found[name] = scores(ys_test, method.predict_partitions(Xs_test))
    return found


def fit(learner: MetricLearnerCV, Xs: Sequence[Any], ys: Sequence[Any]) -> MetricLearnerCV:
    """Learn, whether or not cross-validation says that it pays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VerdictWarning)
        return learner.fit(Xs, ys, baselines=["grid"])


def learners(setting: Setting) -> dict[str, MetricLearnerCV]:
    """What is learned, with the ``lam`` of least held-out loss; the full metric last."""
    problem = setting.problem
    plain = replace(problem, objective_kind="plain")

    def chosen(problem: NormalizedCut, metric: str) -> MetricLearnerCV:
        return MetricLearnerCV(problem, (metric, "untrained"), random_state=0)

    return {
        "learned, the paper's objective": chosen(plain, "full"),
        "learned, diagonal": chosen(problem, "diagonal"),
        "learned, full": chosen(problem, "full"),
    }


NAMES = {
    "grid": "grid",
    "untrained": "start of learning",
    "learned, the paper's objective": "learned, the paper's objective",
    "learned, diagonal": "learned, diagonal",
    "learned, full": "learned, full",
}


def split(number: int, n: int) -> tuple[list[int], list[int]]:
    """Training and test images of a draw."""
    order = np.random.default_rng(number).permutation(n).tolist()
    return order[:N_TRAIN], order[N_TRAIN:]


def scores(truths: Sequence[NodeLabels], cuts: Sequence[EquivalenceMatrix]) -> list[list[float]]:
    """Loss and Jaccard distance of each image, over pixels."""
    return [
        [partition_loss(t, M), float(jaccard_distance(t, M) or 0.0)]
        for t, M in zip(truths, cuts, strict=True)
    ]


def means(run: Scores, name: str) -> np.ndarray:
    """Mean loss and Jaccard distance of a draw."""
    return np.asarray(np.mean(run[name], axis=0))


def floors(images: Sequence[LabelledImage]) -> list[Row]:
    """What needs no metric: random labels, and an ellipse in the middle; over all images."""
    rng = np.random.default_rng(0)
    guesses: dict[str, list[list[float]]] = {"random labels": [], "centred ellipse": []}
    for image in images:
        assert image.labels is not None
        H, W = image.labels.shape
        pixels = FeatureGraph(np.zeros((H * W, 1)), regions=np.arange(H * W).reshape(H, W))
        truth = node_labels(image.labels, pixels)
        y, x = (np.mgrid[:H, :W] + 0.5) / np.array([H, W]).reshape(2, 1, 1) - 0.5
        ellipse = EquivalenceMatrix.from_labels((x**2 + y**2 < 0.3**2).ravel())
        noise = EquivalenceMatrix.from_labels(rng.integers(0, 2, H * W))
        for name, guess in (("random labels", noise), ("centred ellipse", ellipse)):
            guesses[name] += scores([truth], [guess])
    return [
        dict(zip(COLUMNS, ("-", "-", name, *_mean_and_sd([np.mean(found, axis=0)])), strict=True))
        for name, found in guesses.items()
    ]


COLUMNS = ("features", "superpixels", "metric", "loss", "Jaccard distance")


def table(setting: Setting, size: float, runs: Sequence[Scores]) -> list[Row]:
    """Mean and standard deviation over the draws."""
    return [
        dict(
            zip(
                COLUMNS,
                (
                    SETS[setting.features],
                    f"{size:.0f}",
                    shown,
                    *_mean_and_sd([means(run, name) for run in runs]),
                ),
                strict=True,
            )
        )
        for name, shown in NAMES.items()
    ]


def _mean_and_sd(values: Sequence[np.ndarray]) -> tuple[str, str]:
    mean = np.mean(values, axis=0)
    sd = np.std(values, axis=0)
    several = len(values) > 1
    loss, jaccard = (
        f"{m:.3f} ± {s:.3f}" if several else f"{m:.3f}" for m, s in zip(mean, sd, strict=True)
    )
    return loss, jaccard


def paired(
    setting: Setting,
    size: float,
    runs: Sequence[Scores],
    found: Mapping[Setting, Sequence[Scores]],
) -> Row:
    """The grid minus the full learned metric on the same test images, draw by draw.

    The standard error is that within a draw, the median over draws: test images of different draws
    overlap, so that draws are not independent.
    """
    cells: dict[str, Any] = {"features": SETS[setting.features], "superpixels": f"{size:.0f}"}
    rivals = {"grid": runs, "grid on (a)": found[Setting("a", setting.n_superpixels)]}
    for name, rival_runs in rivals.items():
        for j, what in enumerate(("loss", "Jaccard")):
            gains = [
                np.array(rival["grid"])[:, j] - np.array(run["learned, full"])[:, j]
                for rival, run in zip(rival_runs, runs, strict=True)
            ]
            cells[f"{name}: {what} gained"] = _gain(gains)
    return cells


def _gain(gains: Sequence[np.ndarray]) -> str:
    mean = np.array([gain.mean() for gain in gains])
    error = np.median([gain.std(ddof=1) / np.sqrt(gain.size) for gain in gains])
    p = np.median([stats.ttest_1samp(gain, 0.0).pvalue for gain in gains])
    won = int((mean > 0).sum())
    return (
        f"{mean.mean():.3f} (sd {mean.std():.3f}, SE {error:.3f}, p {p:.0e}, "
        f"won {won} of {len(gains)})"
    )


def pictures(images: Sequence[LabelledImage], found: Mapping[Setting, Sequence[Scores]]) -> None:
    """Best, median and worst test image of the first draw by learned loss: what was found."""
    from matplotlib.figure import Figure

    from structsvm.plotting import plot_cut

    setting = Setting("b", SEGMENTS[1])
    learn, test = split(0, len(images))
    losses = np.array(found[setting][0]["learned, full"])[:, 0]
    order = np.argsort(losses)
    shown = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    Xs = [images[i].image for i in learn]
    ys = [images[i].labels for i in learn]
    learner = fit(learners(setting)["learned, full"], Xs, ys).best_estimator_
    figure = Figure(figsize=(9.0, 6.6), layout="constrained")
    rows = figure.subplots(3, 4)
    for axes, (name, k) in zip(rows, shown.items(), strict=True):
        image = images[test[k]]
        metrics = {"grid": learner.baselines_["grid"].metric_, "learned": learner.metric_}
        instances = prepare(learner, image.image)
        graph = instances[0].side
        truth = node_labels(image.labels, graph)
        panels: dict[str, Any] = {f"{name}: {image.name}": None, "truth": image.labels}
        for metric_name, metric in metrics.items():
            cut = decode_with(learner, metric, instances)[0]
            loss = partition_loss(truth, cut)
            panels[f"{metric_name}, loss {loss:.2f}"] = graph.label_map(np.array(cut.labels))
        for ax, (title, labels) in zip(axes, panels.items(), strict=True):
            plot_cut(image.image, labels, ax=ax)
            ax.set_title(title, fontsize="small", loc="left")
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / "table3_horses.png"  # no licence is stated for the photographs
    figure.savefig(path, dpi=130)
    print(f"test images that were cut best, in the middle and worst are in {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "weizmann_horse")
    seconds_option(parser)
    parser.add_argument("--quick", action="store_true", help=f"one draw of {FEW} images")
    arguments = parser.parse_args()
    main(arguments.data, arguments.seconds, arguments.quick)
