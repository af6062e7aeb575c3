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
from _report import PAPER, SHARED, Row, publish

from structsvm import MetricLearner, baselines
from structsvm.datasets import Recording, arrays_and_labels, read_recordings
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import covering, margin_f1, partition_loss
from structsvm.partitions.metric import Metric


def split(folder: Path) -> tuple[list[Recording], list[Recording]]:
    """Recordings of the subjects s01-s10 and of all later ones."""
    recordings = read_recordings(folder)
    learn = [r for r in recordings if r.name <= "s10_99"]
    return learn, [r for r in recordings if r.name > "s10_99"]


def scores(truths: Sequence[EquivalenceMatrix], guesses: Sequence[EquivalenceMatrix]) -> Row:
    """Mean loss, covering and F1 (margin 5 samples: half a second)."""
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
    truths = learner.encode(Xs, ys)
    known = learner.decode_with(metric, Xs, [truth.n_clusters for truth in truths])
    unknown = scores(truths, learner.decode_with(metric, Xs))
    return {
        "metric": name,
        "loss, K known": scores(truths, known)["loss"],
        "loss, K unknown": unknown["loss"],
        "covering": unknown["covering"],
        "F1": unknown["F1"],
        "seconds to learn": seconds,
    }


def main(folder: Path) -> None:
    learn, test = split(folder)
    Xs, ys = arrays_and_labels(learn)
    rows: list[Row] = []
    for kind in ("diagonal", "full"):
        start = time.perf_counter()
        learner = MetricLearner(metric=kind).fit(Xs, ys, feature_names=learn[0].features)
        seconds = time.perf_counter() - start
        metric = Metric(learner.components_.T, learner.penalty_)
        rows.append(row(f"learned, {kind}", learner, metric, test, seconds))
    rivals = {
        "untrained": baselines.untrained,
        "PCA": baselines.pca,
        "RCA, half shrunk": baselines.rca,
    }
    samples = [learner.standardizer_(X) for X in Xs]
    truths = learner.encode(Xs, ys)
    for name, fit in rivals.items():
        start = time.perf_counter()
        metric = fit(learner.problem_.decoder, samples, truths)
        rows.append(row(name, learner, metric, test, time.perf_counter() - start))
    publish("har_spsw", rows)
    draw(learner, test)


def draw(learner: MetricLearner, test: list[Recording]) -> None:
    """What the metric looks at, and the first test recording."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from structsvm.plotting import plot_segmentation, plot_weights

    plot_weights(learner).figure.savefig(PAPER / "har_spsw_weights.png", dpi=110)
    axes = plot_segmentation(learner, test[0].X, test[0].y)
    axes.figure.savefig(PAPER / "har_spsw_recording.png", dpi=110)
    plt.close("all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
