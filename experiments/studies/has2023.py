"""HAS-2023: learn on the 125 public series of the challenge, segment the 125 private ones.

The file has to be downloaded by hand (``experiments.sets.read_has2023``) and given as ``--file``.
Without it, the published figures alone are shown, and that ours have not been run. Series are cut
into windows of two seconds, every half second, described by the means and spreads of nine sensors
and of their three magnitudes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments._report import Row, publish
from experiments.sets import read_has2023
from experiments.studies._state_scores import state_matching_score, weighted_adjusted_rand_index
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.errors import DataWarning
from structsvm.features import Windows, windows
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import covering, margin_f1, partition_loss

RATE, WINDOW, HOP = 50.0, 2.0, 0.5
TOLERANCE = 0.01
"""Of a change, as a share of the series."""

PUBLISHED: list[Row] = [
    {"method": "multivariate ClaSP, as published", "covering": 0.732, "F1": 0.60},
]
"""Covering from the README of ermshaua/multivariate-clasp; the split behind it is not stated."""

METHODS = {
    "untrained metric, best penalty": ("full", "untrained"),
    "learned, diagonal": ("diagonal", "learned"),
    "learned, full": ("full", "learned"),
}


def cut(series: Recording) -> Windows:
    """Windows of the sensors and of the magnitudes of acceleration, rotation and field."""
    X = series.X
    sizes = [np.linalg.norm(X[:, j : j + 3], axis=1) for j in (0, 3, 6)]
    columns = np.column_stack([X, *sizes])
    names = [*series.features, "|acc|", "|gyro|", "|mag|"]
    return windows(columns, RATE, min(WINDOW, len(X) / RATE), HOP, names=names)


def scored(name: str, test: Sequence[Recording], ends: Sequence[list[int]]) -> Row:
    """Means over the test series; scores of states take each segment for a state of its own."""
    rows = []
    for one, found in zip(test, ends, strict=True):
        assert one.y is not None
        truth = EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(one.y))
        states = EquivalenceMatrix.from_labels(one.y)
        guess = EquivalenceMatrix.from_breakpoints(found)
        rows.append(
            [
                covering(truth, guess),
                margin_f1(truth, guess, max(1, round(TOLERANCE * len(one.X))), count_start=True),
                partition_loss(truth, guess),
                weighted_adjusted_rand_index(states, guess),
                state_matching_score(states, guess),
            ]
        )
    values = np.mean(rows, axis=0).tolist()
    return dict(
        zip(("method", "covering", "F1", "loss", "WARI", "SMS"), (name, *values), strict=True)
    )


def measured(learn: Sequence[Recording], test: Sequence[Recording]) -> list[Row]:
    """A row for each method."""
    cuts = [cut(one) for one in learn]
    new = [cut(one) for one in test]
    ys = [found.labels(one.y) for found, one in zip(cuts, learn, strict=True)]
    several = [i for i, y in enumerate(ys) if len(np.unique(y)) > 1]
    rows = []
    for name, (metric, use) in METHODS.items():
        learner = MetricLearner(metric=metric, standardize="recording")
        learner.fit([cuts[i].X for i in several], [ys[i] for i in several])
        chosen = learner.metric_ if use == "learned" else learner.baselines_[use].metric_
        guesses = decode_with(learner, chosen, [found.X for found in new])
        ends = [w.breakpoints(g.breakpoints) for w, g in zip(new, guesses, strict=True)]
        rows.append(scored(name, test, ends))
    return rows


def table(rows: Sequence[Row]) -> list[Row]:
    """Ours beside what is published, with the same columns."""
    columns = ("method", "covering", "F1", "loss", "WARI", "SMS")
    return [{column: row.get(column) for column in columns} for row in [*PUBLISHED, *rows]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="has2023_master.csv.zip")
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    if args.file is None:
        publish("has2023", table([{"method": f"{name}: not run"} for name in METHODS]))
        return
    learn, test = (read_has2023(args.file, split) for split in ("public", "private"))
    publish("has2023", table(measured(learn, test)))


if __name__ == "__main__":
    main()
