"""OLDA, a metric in closed form, beside learned ones, on recordings of several kinds.

Sets, folds and rates are those of nested_rivals.py, and digits are recordings of other writers,
drawn three times. Prices are calibrated on the training recordings, K is unknown.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _report import SHARED, Row, publish
from nested_rivals import CHANGES, Nested, difference
from numpy.typing import NDArray

from structsvm import MetricLearner
from structsvm.datasets import digits_recordings
from structsvm.errors import DataWarning
from structsvm.features import Lags
from structsvm.interop import labels_to_breakpoints
from structsvm.learner.steps import decode_with, encode
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
    beside = {name: (full, full.baselines_[kind]) for name, kind in CLOSED.items()}
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    main(parser.parse_args().data)
