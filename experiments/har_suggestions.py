"""Activity recordings: does asking for the least certain stretch beat asking at random.

The split of har_spsw.py. Twenty stretches of 2 seconds in twenty learning recordings are labelled
at random; then, five times, ten more: where ``suggest_labels`` says, or at random. Five draws.

    python experiments/har_suggestions.py --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _cache import Pieces, seconds_option
from _report import SHARED, publish
from har_label_fraction import Data, mean_and_error

from structsvm import MetricLearner, PartialLabels, suggest_labels

SEEDS = range(5)
LENGTH = 20
FIRST, BATCH, ROUNDS = 20, 10, 5
WAYS = ("suggested", "random")


def reveal(labels: list[Any], ys: list[Any], i: int, start: int) -> None:
    """Label a stretch."""
    if isinstance(labels[i], PartialLabels):
        labels[i] = np.full(ys[i].size, -1)
    numbers = np.unique(ys[i], return_inverse=True)[1]
    labels[i][start : start + LENGTH] = numbers[start : start + LENGTH]


def at_random(labels: list[Any], ys: list[Any], n: int, rng: np.random.Generator) -> None:
    """Label stretches of which most is unlabelled, each of another recording."""
    for i in rng.permutation(len(ys)):
        known = np.zeros(ys[i].size, bool)
        if not isinstance(labels[i], PartialLabels):
            known = labels[i] != -1
        starts = [s for s in range(ys[i].size - LENGTH + 1) if known[s : s + LENGTH].mean() <= 0.5]
        if starts:
            reveal(labels, ys, int(i), int(rng.choice(starts)))
            n -= 1
        if n == 0:
            return


def curve(data: Data, way: str, seed: int) -> list[float]:
    """Test loss after each round."""
    rng = np.random.default_rng(seed)
    labels: list[Any] = [PartialLabels() for _ in data.ys]
    at_random(labels, data.ys, FIRST, rng)
    losses = []
    for number in range(ROUNDS + 1):
        learner = MetricLearner().fit(data.Xs, labels)
        losses.append(data.loss(learner))
        if number == ROUNDS:
            break
        if way == "random":
            at_random(labels, data.ys, BATCH, rng)
            continue
        for asked in suggest_labels(learner, data.Xs, labels, length=LENGTH, n=BATCH):
            reveal(labels, data.ys, asked.recording, asked.start)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    seconds_option(parser)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="publish so many")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data, pieces = Data(args.data), Pieces("har_suggestions", args.seconds)
    runs: dict[str, list[Any]] = {way: [] for way in WAYS}
    for seed in range(args.seeds):
        for way, curves in runs.items():
            curves.append(pieces.get(f"{way} {seed}", partial(curve, data, way, seed)))
    pieces.finish()
    rows = []
    seconds = [(FIRST + BATCH * k) * LENGTH / 10 for k in range(ROUNDS + 1)]
    differences = np.array(runs["suggested"]) - np.array(runs["random"])
    for name, values in {**runs, "suggested - random": differences}.items():
        cells = ["{:.2f} +- {:.2f}".format(*mean_and_error(c)) for c in np.array(values).T]
        heads = [f"{s:.0f} s" for s in seconds]
        row = {"labelled": name, **dict(zip(heads, cells, strict=True))}
        rows.append({**row, "draws": str(args.seeds)})
    publish("har_suggestions", rows)


if __name__ == "__main__":
    main()
