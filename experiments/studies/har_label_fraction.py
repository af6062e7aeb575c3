"""Activity recordings labelled in part: how few labels are enough.

The split of har_spsw.py: subjects s01-s10 learn, s11-s15 test (50 recordings). Labelled are

- one stretch of each learning recording, from a tenth of its time to all of it;
- 1, 2, 5, 10 or 50 whole recordings;
- regions of 4 seconds: their number of changes, or only whether there is one. No time of a change.

Where what is labelled is drawn at random, it is drawn three times.

    python -m experiments.studies.har_label_fraction --seconds 400      # as often as it asks for
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from experiments._cache import Pieces, seconds_option
from experiments._report import PAPER, SHARED, publish, stored
from experiments.studies.har_spsw import split
from structsvm import Alternation, ChangePoint, MetricLearner, PartialLabels
from structsvm.data.standardize import Standardizer
from structsvm.errors import DataError, LearningError
from structsvm.io import arrays_and_labels
from structsvm.learner import TrainingSet
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.completing import calibrate_known
from structsvm.partitions import Instance, Metric
from structsvm.partitions.losses import partition_loss
from structsvm.training_labels import read_labels

PROBLEM = ChangePoint()

SEEDS = range(3)
FRACTIONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
COUNTS = (1, 2, 5, 10, 50)
REGION = 40
"""Samples: 4 seconds."""


class Data:
    """The recordings, and what metrics are worth on those of other people."""

    def __init__(self, folder: Path) -> None:
        learn, test = split(folder)
        self.Xs, self.ys = arrays_and_labels(learn)
        self.test, self.truths = arrays_and_labels(test)

    def loss_of(self, metric: Metric) -> float:
        """Mean test loss of a metric; the number of segments is left open."""
        losses = []
        for instance, y in zip(standardized(self.test), self.truths, strict=True):
            guess = PROBLEM.partition(instance, metric)
            losses.append(partition_loss(PROBLEM.encode(y, instance), guess))
        return float(np.mean(losses))

    def loss(self, learner: MetricLearner) -> float:
        """That of a learned one."""
        return self.loss_of(learner.metric_)

    def stretches(self, fraction: float, seed: int) -> list[Any]:
        """A stretch of each recording, somewhere."""
        rng = np.random.default_rng(seed)
        labels = []
        for y in self.ys:
            n = max(2, round(fraction * y.size))
            start = int(rng.integers(0, y.size - n + 1))
            numbers = np.unique(y, return_inverse=True)[1]
            inside = (np.arange(y.size) >= start) & (np.arange(y.size) < start + n)
            labels.append(np.where(inside, numbers, -1))
        return labels

    def regions(self, exact: bool) -> list[PartialLabels]:
        """How many changes regions have."""
        return [PartialLabels(regions=_regions(y, exact)) for y in self.ys]


def standardized(Xs: Sequence[Any]) -> list[Instance]:
    """Recordings as metrics of this problem see them."""
    return [Instance(Standardizer("recording")(X)) for X in Xs]


def _regions(y: Any, exact: bool) -> list[tuple[int, int, Any]]:
    found: list[tuple[int, int, Any]] = []
    for start in range(0, y.size - 1, REGION):
        part = y[start : start + REGION]
        n = int(np.count_nonzero(part[1:] != part[:-1]))
        found.append((start, start + part.size, n if exact or n == 0 else "1+"))
    return found


def by_stretch(data: Data, fraction: float, seed: int) -> dict[str, float]:
    """With a stretch of each recording.

    With too few labels the best metric is zero, which is refused: that counts as no learning.
    """
    labels = data.stretches(fraction, seed)
    instances = standardized(data.Xs)
    known = read_labels(PROBLEM, instances, labels)
    whole = TrainingSet(PROBLEM, instances, known, np.ones(len(instances)), labels)
    parts = whole.parts.instances
    truths = whole.parts.truths
    identity = np.eye(instances[0].n_features)
    calibration = calibrate_known(identity, whole)
    untrained = data.loss_of(calibration.metric(identity))
    rca = tuned_metrics.fit("rca", PROBLEM, parts, truths)
    losses = {"untrained": untrained, "RCA": data.loss_of(rca)}
    ways = {"ours": Alternation()}
    if fraction < 1:
        ways["labelled stretches alone"] = Alternation(max_rounds=0)
    completed = True
    for name, how in ways.items():
        losses[name], found = loss_with(data, labels, how, untrained)
        completed = found if name == "ours" else completed
    if fraction < 1 and not completed:
        how = Alternation(safeguard=False)
        losses["ours, no safeguard"] = loss_with(data, labels, how, untrained)[0]
    return losses


def loss_with(
    data: Data, labels: list[Any], how: Alternation, untrained: float
) -> tuple[float, bool]:
    """The test loss, that of no learning where there is nothing learned; and if it completed."""
    try:
        learner = MetricLearner().fit(data.Xs, labels, alternation=how)
    except (LearningError, DataError):
        return untrained, False
    return data.loss(learner), learner.alternated_ is not None


def by_count(data: Data, n: int, seed: int) -> dict[str, float]:
    """With n recordings in full."""
    chosen = np.random.default_rng(seed).choice(len(data.ys), n, replace=False)
    alone = MetricLearner().fit([data.Xs[i] for i in chosen], [data.ys[i] for i in chosen])
    return {
        "labelled recordings alone": data.loss(alone),
        "untrained": data.loss_of(alone.baselines_["untrained"].metric_),
    }


def by_regions(data: Data, exact: bool) -> dict[str, float]:
    """With regions only."""
    learner = MetricLearner().fit(data.Xs, data.regions(exact))
    untrained = data.loss_of(learner.baselines_["untrained"].metric_)
    return {"ours": data.loss(learner), "untrained": untrained}


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error over the draws; NaN for one."""
    if len(values) < 2:
        return float(values[0]), float("nan")
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def text(values: Sequence[float]) -> str:
    """For the tables."""
    mean, error = mean_and_error(values)
    return f"{mean:.2f}" if np.isnan(error) else f"{mean:.2f} +- {error:.2f}"


def rows_of(columns: dict[str, list[dict[str, float]]], head: str) -> list[dict[str, Any]]:
    """A row per method, a column per amount of labels."""
    draws_of_all = chain.from_iterable(columns.values())
    methods = dict.fromkeys(chain.from_iterable(draws_of_all))
    rows = []
    for method in methods:
        row: dict[str, Any] = {head: method}
        for name, draws in columns.items():
            values = [draw[method] for draw in draws if method in draw]
            row[name] = text(values) if values else "-"
        rows.append(row)
    return rows


def draw(table: list[dict[str, Any]], reference: float) -> None:
    """Loss against the fraction of labelled time, from the table."""
    import matplotlib

    matplotlib.use("Agg")
    from experiments.paper._fractions import plot_label_fraction

    rows = [{"method": "ours, 4 s regions only", "fraction": 1.0, "mean": reference, "se": None}]
    for line in table:
        cells = {n: c for n, c in line.items() if n != "labelled time" and c != "-"}
        if len(cells) < 2:
            continue  # one point is no curve
        for name, cell in cells.items():
            mean, _, se = cell.partition(" +- ")
            point = {"mean": float(mean), "se": float(se or "nan")}
            fraction = float(name.removesuffix("%")) / 100
            rows.append({"method": line["labelled time"], "fraction": fraction, **point})
    ax = plot_label_fraction(rows, ylabel="loss on other people's recordings")
    ax.figure.savefig(PAPER / "har_label_fraction.png", dpi=110)


def measured(pieces: Pieces, data: Data, only: Sequence[str]) -> dict[str, list[Any]]:
    """By the fraction of labelled time."""
    found: dict[str, list[Any]] = {}
    for seed in SEEDS:
        for f in FRACTIONS:
            if (f < 1 or seed == 0) and (not only or f"{f:.0%}" in only):
                piece = pieces.get(f"stretch {f} {seed}", partial(by_stretch, data, f, seed))
                found.setdefault(f"{f:.0%}", []).append(piece)
    return found


def beside_published(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Columns measured anew, and those published before."""
    before = stored("har_label_fraction")[1]
    anew = {row["labelled time"]: row for row in rows}
    known = {row["labelled time"]: row for row in before}
    columns = dict.fromkeys(chain.from_iterable((*before, *rows)))
    merged = []
    for name in dict.fromkeys([*known, *anew]):
        cells = known.get(name, {}) | anew.get(name, {})
        merged.append({c: cells.get(c, "-") for c in columns})
    return merged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    seconds_option(parser)
    parser.add_argument("--only", nargs="+", default=[], help="fractions to measure anew, as 10%%")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # one labelled recording, and the like
    data = Data(args.data)
    pieces = Pieces("har_label_fraction", args.seconds)
    fractions = measured(pieces, data, args.only)
    if args.only:
        pieces.finish()
        rows = beside_published(rows_of(fractions, "labelled time"))
        publish("har_label_fraction", rows, stored("har_label_fraction")[0]["commits"])
        regions = stored("har_regions")[1]
        draw(rows, next(float(r["number of changes"]) for r in regions if "ours" in r.values()))
        return
    exact = pieces.get("regions", partial(by_regions, data, True))
    some = pieces.get("some", partial(by_regions, data, False))
    counts: dict[str, list[Any]] = {str(n): [] for n in COUNTS}
    for seed in SEEDS:
        for n in COUNTS:
            counts[str(n)].append(pieces.get(f"count {n} {seed}", partial(by_count, data, n, seed)))
    pieces.finish()
    table = rows_of(fractions, "labelled time")
    publish("har_label_fraction", table)
    draw(table, exact["ours"])
    publish("har_label_count", rows_of(counts, "labelled recordings"))
    kinds = {"number of changes": [exact], "whether there is one": [some]}
    publish("har_regions", rows_of(kinds, "regions of 4 s"))


if __name__ == "__main__":
    main()
