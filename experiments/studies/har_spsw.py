"""Activity recordings: learn on ten people, segment the recordings of five others.

Not in the paper, whose videos are not public. Data: Matey-Sanz, Casteleyn and Granell (2023), 145
recordings of a smartphone and a smartwatch at 10 Hz with 32 features; the first ten subjects learn,
the others test, so that no person is in both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments._report import PAPER, SHARED, Row, publish
from structsvm import MetricLearner
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions import EquivalenceMatrix, Metric
from structsvm.partitions.losses import covering, margin_f1, partition_loss


def split(folder: Path) -> tuple[list[Recording], list[Recording]]:
    """Recordings of the subjects s01-s10 and of all later ones."""
    recordings = read_recordings(folder)
    learn = [r for r in recordings if r.name <= "s10_99"]
    return learn, [r for r in recordings if r.name > "s10_99"]


def scores(truths: Sequence[EquivalenceMatrix], guesses: Sequence[EquivalenceMatrix]) -> Row:
    """Mean loss, covering and F1 (tolerance 5 samples: half a second), as `evaluate` has them."""
    pairs = list(zip(truths, guesses, strict=True))
    return {
        "loss": float(np.mean([partition_loss(t, g) for t, g in pairs])),
        "covering": float(np.mean([covering(t, g) for t, g in pairs])),
        "F1": float(np.mean([margin_f1(t, g) for t, g in pairs])),
    }


def row(
    name: str, learner: MetricLearner, metric: Metric, test: list[Recording], seconds: float
) -> Row:
    """Held-out scores of one metric, given the true number of segments and not."""
    Xs, ys = arrays_and_labels(test)
    instances = prepare(learner, Xs)
    truths = encode(learner, Xs, ys)
    known = decode_with(learner, metric, instances, [truth.n_clusters for truth in truths])
    unknown = scores(truths, decode_with(learner, metric, instances))
    return {
        "metric": name,
        "loss, K known": scores(truths, known)["loss"],
        "loss, K unknown": unknown["loss"],
        "covering": unknown["covering"],
        "F1": unknown["F1"],
        "CPU seconds to learn": seconds,
    }


def main(folder: Path) -> None:
    learn, test = split(folder)
    Xs, ys = arrays_and_labels(learn)
    rows: list[Row] = []
    for kind in ("diagonal", "full"):
        start = time.process_time()
        learner = MetricLearner(metric=kind).fit(Xs, ys, feature_names=learn[0].features)
        seconds = time.process_time() - start
        rows.append(row(f"learned, {kind}", learner, learner.metric_, test, seconds))
    rivals = {"untrained": "untrained", "PCA": "pca", "RCA, half shrunk": "rca", "OLDA": "olda"}
    instances = prepare(learner, Xs)
    truths = encode(learner, Xs, ys)
    for shown, name in rivals.items():
        start = time.process_time()
        metric = tuned_metrics.fit(name, learner.problem_, instances, truths)
        rows.append(row(shown, learner, metric, test, time.process_time() - start))
    publish("har_spsw", rows)
    draw(learner, test)


def draw(learner: MetricLearner, test: list[Recording]) -> None:
    """What the metric looks at, and the first test recording."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from structsvm.plotting import plot_segmentation, plot_weights

    plot_weights(learner).figure.savefig(PAPER / "har_spsw_weights.png", dpi=110)
    states = np.load(str(test[0].source))["labels"]
    names = np.array([name.replace("_", " ").lower() for name in states.tolist()])
    axes = plot_segmentation(learner, test[0].X, names[test[0].y])
    axes.figure.savefig(PAPER / "har_spsw_recording.png", dpi=110)
    plt.close("all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
