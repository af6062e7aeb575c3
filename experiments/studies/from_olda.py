"""A full metric that is learned from OLDA and shrunk to it, and a diagonal one averaged with OLDA.

All see lags and moving statistics, and learn from change points alone. People of har_spsw.py are
segmented after learning from ten others, a third of them each time, and after learning from draws
of five recordings; of the other sets, folds of nested_rivals.py, and digits of other writers. The
mean loss with K unknown / K known.

    python -m experiments.studies.from_olda
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import SHARED, Row, publish
from experiments.studies.har_changes import parts
from experiments.studies.nested_rivals import CHANGES, Nested
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.datasets import digits_recordings
from structsvm.errors import DataWarning
from structsvm.features import Lags, MovingStatistics, Union
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.partitions.losses import partition_loss
from structsvm.problem import SquaredNorm

SETS = ("skab", "beedance", "mocap6")
FROM_OLDA: dict[str, Any] = {"whiten": "olda", "regularizer": SquaredNorm(center=1)}
METHODS: dict[str, dict[str, Any]] = {
    "OLDA": {"metric": "olda"},
    "learned, diagonal": {"metric": "diagonal", "lam": 1.0},
    "diagonal, with OLDA": {"metric": "diagonal", "lam": 1.0, "whiten": "olda"},
    "learned from OLDA, lam 10": {"lam": 10.0, **FROM_OLDA},
    "learned from OLDA, lam 1": {"lam": 1.0, **FROM_OLDA},
}
Divided = tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]
"""Arrays and segment ends to learn from, and those that are segmented."""


def tasks(folder: Path) -> Iterator[tuple[str, Divided]]:
    """What is learned from and what is segmented, with the name of the set."""
    for name, both in parts(folder / "har_spsw").items():
        called = "activities, 5 recordings" if "recordings" in name else "activities, 10 people"
        yield called, divided(*both)
    for name in SETS:
        nested = Nested(name, CHANGES, folder)
        for test in nested.folds:
            train = np.setdiff1d(np.arange(len(nested.Xs)), test)
            arrays = [[nested.Xs[i] for i in some] for some in (train, test)]
            labels = [[nested.ys[i] for i in some] for some in (train, test)]
            yield name, (arrays[0], labels[0], arrays[1], labels[1])
    for seed in range(3):
        learn = digits_recordings(9, random_state=seed)
        test = digits_recordings(6, split="test", random_state=seed)
        yield "digits", divided(learn, test)


def divided(learn: Sequence[Recording], test: Sequence[Recording]) -> Divided:
    arrays = [[one.X for one in some] for some in (learn, test)]
    ends = [[labels_to_breakpoints(one.y) for one in some] for some in (learn, test)]
    return arrays[0], ends[0], arrays[1], ends[1]


def losses(settings: dict[str, Any], task: Divided) -> list[tuple[float, float]]:
    """The loss of each recording with K unknown, and with K known."""
    Xs, ends, new, known = task
    learner = MetricLearner(features=Union(Lags(), MovingStatistics()), **settings)
    learner.fit(Xs, ends)
    truths = list(map(EquivalenceMatrix.from_breakpoints, known))
    counts = [M.n_clusters for M in truths]
    of_each = []
    for asked in (None, counts):
        pairs = zip(truths, learner.predict_partitions(new, asked), strict=True)
        of_each.append([partition_loss(t, g) for t, g in pairs])
    return list(zip(*of_each, strict=True))


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", DataWarning)
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for name, task in tasks(folder):
        of_set = found.setdefault(name, {method: [] for method in METHODS})
        for method, settings in METHODS.items():
            of_set[method] += losses(settings, task)
    rows: list[Row] = []
    for name, of_set in found.items():
        row: dict[str, Any] = {"set": name}
        for method, pairs in of_set.items():
            row[method] = " / ".join(f"{loss:.2f}" for loss in np.mean(pairs, axis=0))
        rows.append(row)
        print(row, flush=True)
    publish("from_olda", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    main(parser.parse_args().data)
