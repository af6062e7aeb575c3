"""The right end of the paper's Figure 1: 300-dimensional series of which 10 dimensions matter.

Every recording fully labelled; ten to learn, ten to test, five seeds. The paper prints no number in
the text and gives no parameters of its generator; ours are those of
:func:`structsvm.datasets.relevant_changes`.
"""

from __future__ import annotations

import argparse

import numpy as np

from experiments._report import publish
from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions import Metric
from structsvm.partitions.losses import partition_loss

SEEDS = 5
LEVELS = {"independent levels": None, "rank-3 levels": 3}


def losses(rank: int | None, seed: int) -> dict[str, float]:
    """Mean test loss of every method for one seed; only ours and "untrained" are not given K."""
    recordings = relevant_changes(20, rank=rank, random_state=seed)
    Xs = [r.X for r in recordings]
    ys = [r.y for r in recordings]
    learner = MetricLearner(metric="diagonal").fit(Xs[:10], ys[:10])
    learn = prepare(learner, Xs[:10])
    test = prepare(learner, Xs[10:])
    truths = encode(learner, test, ys[10:])
    counts = [truth.n_clusters for truth in truths]

    def loss(metric: Metric, given: list[int] | None) -> float:
        guesses = decode_with(learner, metric, test, given)
        return float(np.mean([partition_loss(t, g) for t, g in zip(truths, guesses, strict=True)]))

    def fitted(name: str) -> Metric:
        return tuned_metrics.fit(name, learner.problem_, learn, encode(learner, learn, ys[:10]))

    return {
        "learned, diagonal": loss(learner.metric_, None),
        "untrained": loss(learner.baselines_["untrained"].metric_, None),
        "untrained, true K": loss(learner.baselines_["untrained"].metric_, counts),
        "PCA, true K": loss(fitted("pca"), counts),
        "RCA half shrunk, true K": loss(fitted("rca"), counts),
    }


def main(seeds: int) -> None:
    columns = {n: [losses(rank, s) for s in range(seeds)] for n, rank in LEVELS.items()}
    rows = []
    for method in columns["independent levels"][0]:
        row: dict[str, str] = {"method": method}
        for name, runs in columns.items():
            values = np.array([run[method] for run in runs])
            error = f" +- {values.std(ddof=1) / np.sqrt(seeds):.2f}" if seeds > 1 else ""
            row[name] = f"{values.mean():.2f}{error}"
        rows.append(row)
    publish("figure1_full_labels", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    main(parser.parse_args().seeds)
