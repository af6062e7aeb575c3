"""The paper's figure of segmented horses, on pictures that anybody may redistribute.

The photographs of the Weizmann horses state no licence, so pictures are made: the silhouette of a
horse that scikit-image ships (Andreas Preuss, CC0) in brown fur, before grass, gravel or bricks
(photographs that scikit-image ships, CC0) in green light, half of them in the shade: brightness is
to be ignored, and hue tells the horse. Ten pictures learn, others test; the settings are those of
table3_horses.py with colour and position as features. Losses are those of the pixels.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from skimage import color, data, transform

from experiments._report import PAPER, Row, publish
from experiments.paper.table3_horses import Setting, fit, learners, scores
from structsvm.graphs import node_labels
from structsvm.learner.preparing import prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

HEIGHT, WIDTH = 96, 128
N_LEARN, N_TEST = 10, 40
SETTING = Setting("a", 150)
GROUNDS = ("grass", "gravel", "brick")
METRICS = {"learned": "learned, full", "grid": "grid"}


def made(rng: np.random.Generator) -> tuple[Pixels, NDArray[np.int64]]:
    """A picture and its mask, 1 where the horse is."""
    horse = _placed(rng)
    ground = _ground(rng)
    fur = rng.uniform(0.35, 0.85) * np.array([1.0, rng.uniform(0.6, 0.85), rng.uniform(0.4, 0.7)])
    light = 1 + 0.25 * _smooth(rng, 8) + 0.08 * _smooth(rng, 1)
    picture = np.where(horse[..., None] > 0.5, fur * light[..., None], ground)
    picture = picture + rng.normal(scale=0.02, size=picture.shape)
    return (255 * np.clip(picture, 0, 1)).astype(np.uint8), (horse > 0.5).astype(np.int64)


def _placed(rng: np.random.Generator) -> Floats:
    """The silhouette, somewhere, of some size, looking left or right."""
    shape = ~data.horse()
    shape = shape[:, ::-1] if rng.random() < 0.5 else shape
    height = int(rng.uniform(0.55, 0.8) * HEIGHT)
    width = min(int(height * shape.shape[1] / shape.shape[0] * rng.uniform(0.85, 1.1)), WIDTH - 4)
    small = transform.resize(shape.astype(np.float64), (height, width), anti_aliasing=True)
    top = HEIGHT - height - int(rng.uniform(0, 0.12) * HEIGHT)
    left = int(rng.integers(0, WIDTH - width + 1))
    horse = np.zeros((HEIGHT, WIDTH))
    horse[top : top + height, left : left + width] = small
    return horse


def _ground(rng: np.random.Generator) -> Floats:
    """A tinted photograph of a surface, the further part in the shade, (HEIGHT, WIDTH, 3)."""
    surface = getattr(data, GROUNDS[int(rng.integers(len(GROUNDS)))])() / 255.0
    y = rng.integers(0, 512 - 2 * HEIGHT)
    x = rng.integers(0, 512 - 2 * WIDTH)
    part = surface[y : y + 2 * HEIGHT, x : x + 2 * WIDTH]
    grey = transform.resize(part, (HEIGHT, WIDTH), anti_aliasing=True)
    tint = color.hsv2rgb(np.array([[[rng.uniform(0.2, 0.42), rng.uniform(0.15, 0.4), 1.0]]]))
    shade = np.where(np.arange(HEIGHT) < rng.uniform(0.2, 0.6) * HEIGHT, rng.uniform(0.3, 0.6), 1.2)
    ground = grey[..., None] * tint * shade[:, None, None]
    return np.asarray(ground)


def _smooth(rng: np.random.Generator, width: float) -> Floats:
    """Noise of variance 1."""
    found = gaussian_filter(rng.normal(size=(HEIGHT, WIDTH)), width, mode="wrap")
    return np.asarray(found / found.std())


def main(n_test: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pictures = [made(rng) for _ in range(N_LEARN + n_test)]
    start = time.perf_counter()
    search = learners(SETTING)["learned, full"]
    images, masks = ([pair[k] for pair in pictures] for k in (0, 1))
    learner = fit(search, images[:N_LEARN], masks[:N_LEARN]).best_estimator_
    seconds = time.perf_counter() - start
    instances = prepare(learner, images[N_LEARN:])
    graphs = [instance.side for instance in instances]
    truths = [node_labels(y, g) for y, g in zip(masks[N_LEARN:], graphs, strict=True)]
    metrics = {
        "learned, full": learner.metric_,
        "grid": learner.baselines_["grid"].metric_,
        "start of learning": learner.baselines_["untrained"].metric_,
    }
    cuts = {name: decode_with(learner, metric, instances) for name, metric in metrics.items()}
    rows: list[Row] = []
    for name, found in cuts.items():
        values = np.array(scores(truths, found))
        gain = np.array(scores(truths, cuts["grid"])) - values
        cells = {
            what: f"{values[:, j].mean():.3f} ± {_error(values[:, j]):.3f}"
            for j, what in enumerate(("loss", "Jaccard distance"))
        }
        less = f"{gain[:, 0].mean():.3f} ± {_error(gain[:, 0]):.3f}" if name != "grid" else None
        rows.append(
            {"metric": name, **cells, "loss less than that of the grid": less}
            | {"pictures": f"{N_LEARN} + {n_test}", "seed": str(seed)}
        )
    took = {"learned, full": seconds}
    rows = [row | {"seconds to learn": took.get(row["metric"])} for row in rows]
    publish("figure2_pictures", rows)
    draw(images[N_LEARN:], masks[N_LEARN:], graphs, truths, cuts)


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size))


def draw(images: Any, masks: Any, graphs: Any, truths: Any, cuts: Any) -> None:
    """Best, median and worst picture by learned loss: learned, grid, truth, grey."""
    from matplotlib.figure import Figure

    from structsvm.plotting import plot_cut

    losses = [partition_loss(t, M) for t, M in zip(truths, cuts["learned, full"], strict=True)]
    order = np.argsort(losses, kind="stable")
    shown = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    for axes, (name, k) in zip(figure.subplots(3, 4), shown.items(), strict=True):
        for ax, (title, method) in zip(axes[:2], METRICS.items(), strict=True):
            cut = cuts[method][k]
            plot_cut(images[k], graphs[k].label_map(np.array(cut.labels)), ax=ax)
            ax.set_title(f"{title}, loss {partition_loss(truths[k], cut):.2f}", fontsize="small")
        plot_cut(images[k], masks[k], ax=axes[2])
        axes[2].set_title(f"truth ({name})", fontsize="small")
        axes[3].imshow(color.rgb2gray(images[k]), cmap="gray", vmin=0, vmax=1)
        axes[3].set_axis_off()
        axes[3].set_title("picture in grey", fontsize="small")
    figure.savefig(PAPER / "figure2_pictures.png", dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", type=int, default=N_TEST, help="pictures to test on")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    main(arguments.test, arguments.seed)
