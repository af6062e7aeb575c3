"""OLDA, a metric in closed form, beside learned ones, on recordings of several kinds.

Sets, folds and rates are those of nested_rivals.py, and digits are recordings of other writers,
drawn three times. The shrinkage of OLDA is compared on lags of activities. Prices are calibrated on
the training recordings, K is unknown.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments._report import SHARED, Row, publish
from experiments.studies._har import mean_and_error
from experiments.studies.har_closed_set import draws
from experiments.studies.har_spsw import split
from experiments.studies.nested_rivals import CHANGES, Nested, difference
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.data.instance import Instance
from structsvm.datasets import digits_recordings
from structsvm.errors import DataWarning
from structsvm.features import Lags
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording, arrays_and_labels
from structsvm.learner import closed_forms as tuned_metrics
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions import Metric
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]
SETS = ("skab", "beedance", "mocap6")
CLOSED = {"untrained": "untrained", "RCA": "rca", "OLDA": "olda"}
LEARNED = {"learned, diagonal": "diagonal", "learned, full": "full"}


def metrics_of(
    Xs: Sequence[Floats], ys: Sequence[Any], context: bool
) -> dict[str, tuple[Any, Any]]:
    """The metrics that are learned from recordings, each with the learner that knows it."""
    features = Lags() if context else None
    learners = {
        name: MetricLearner(metric=kind, features=features).fit(Xs, ys, baselines=["rca", "olda"])
        for name, kind in LEARNED.items()
    }
    full = learners["learned, full"]
    beside = {name: (full, full.baselines_[kind].metric_) for name, kind in CLOSED.items()}
    return beside | {name: (learner, learner.metric_) for name, learner in learners.items()}


def of_digits(context: bool) -> Iterator[dict[str, list[float]]]:
    """Three draws of nine recordings to learn from, and of six of other writers."""
    for seed in range(3):
        learn = digits_recordings(9, random_state=seed)
        test = digits_recordings(6, split="test", random_state=seed)
        ends = [labels_to_breakpoints(r.y) for r in test]
        metrics = metrics_of([r.X for r in learn], [r.y for r in learn], context)
        found = {}
        for name, (learner, metric) in metrics.items():
            guesses = decode_with(learner, metric, [r.X for r in test])
            pairs = zip(encode(learner, [r.X for r in test], ends), guesses, strict=True)
            found[name] = [partition_loss(t, g) for t, g in pairs]
        yield found


def of_set(nested: Nested, context: bool) -> Iterator[dict[str, list[float]]]:
    """Each fold."""
    for test in nested.folds:
        train = np.setdiff1d(np.arange(len(nested.Xs)), test)
        metrics = metrics_of([nested.Xs[i] for i in train], [nested.ys[i] for i in train], context)
        new = [nested.Xs[i] for i in test]
        yield {
            name: nested.losses(test, decode_with(learner, metric, new))
            for name, (learner, metric) in metrics.items()
        }


# ---- how much to shrink


SHRINKAGES = (0.95, 0.8, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4)
CHOSEN = "that of least training loss, of 0.5 to 0.0001"


def shrinkages(learn: Sequence[Recording], test: Sequence[Recording]) -> dict[str, float]:
    """The mean test loss of OLDA on lags for each, and for the best on the training recordings."""
    learner = MetricLearner(metric="olda", features=Lags()).fit(*arrays_and_labels(learn))
    both = [arrays_and_labels(some) for some in (learn, test)]
    (instances, truths), (new, unseen) = (
        (prepare(learner, Xs), encode(learner, Xs, ys)) for Xs, ys in both
    )

    def loss(metric: Metric, xs: Sequence[Instance], known: Sequence[EquivalenceMatrix]) -> float:
        pairs = zip(known, decode_with(learner, metric, xs), strict=True)
        return float(np.mean([partition_loss(t, g) for t, g in pairs]))

    found = {}
    trained = {}
    for shrinkage in SHRINKAGES:
        metric = tuned_metrics.fit("olda", learner.problem_, instances, truths, shrinkage=shrinkage)
        found[f"{shrinkage:g}"] = loss(metric, new, unseen)
        trained[f"{shrinkage:g}"] = loss(metric, instances, truths)
    least = min((f"{s:g}" for s in SHRINKAGES[2:]), key=lambda name: trained[name])
    return {**found, CHOSEN: found[least]}


def rows_of_shrinkages(folder: Path) -> list[Row]:
    """A row for each, from draws of the activities of har_closed_set.py."""
    learn, test = split(folder / "har_spsw")
    found = {
        size: [shrinkages([learn[i] for i in draw], test) for draw in draws(len(learn), size)]
        for size in (5, 10, 40, 95)
    }
    return [
        {"shrinkage": name}
        | {str(size): mean_and_error([run[name] for run in runs]) for size, runs in found.items()}
        for name in found[95][0]
    ]


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    rows: list[Row] = []
    for name in ("digits", *SETS):
        nested = None if name == "digits" else Nested(name, CHANGES, folder)
        for context in (False, True):
            folds = list(of_digits(context) if nested is None else of_set(nested, context))
            values = {m: np.concatenate([fold[m] for fold in folds]) for m in (*CLOSED, *LEARNED)}
            gap = values["learned, full"] - values["OLDA"]
            row: dict[str, Any] = {"set": name, "features": "lags" if context else "columns"}
            row |= {m: float(found.mean()) for m, found in values.items()}
            row["full less OLDA"] = difference(gap, np.arange(gap.size), 1)
            rows.append(row)
            print(row, flush=True)
    publish("olda", rows)
    publish("olda_shrinkage", rows_of_shrinkages(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    main(parser.parse_args().data)
