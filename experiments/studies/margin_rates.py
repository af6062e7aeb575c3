"""Whether the rates of margins are true: changes of people nobody here has seen, by their rate.

The split of har_spsw.py. Metric and rates are learned from the training people, the rates by folds
of people; the changes found in the recordings of the others are sorted into bins of their rate.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

from experiments._report import SHARED, Row, publish
from experiments.studies.har_spsw import split
from structsvm import MetricLearner, margin_rates
from structsvm.features import Lags
from structsvm.io import arrays_and_labels

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TOLERANCE = 2


def main(folder: Path) -> None:
    learn, test = split(folder)
    Xs, ys = arrays_and_labels(learn)
    people = [recording.name[:3] for recording in learn]
    rows: list[Row] = []
    for name, features in {"plain": None, "lags": Lags()}.items():
        learner = MetricLearner(features=features, random_state=0).fit(Xs, ys)
        learner.margin_rates_ = margin_rates(learner, Xs, ys, groups=people, tolerance=TOLERANCE)
        rates = []
        right = []
        tables = learner.predict_segments([recording.X for recording in test])
        found = [table[1:] for table in tables]
        for recording, changes in zip(test, found, strict=True):
            y = np.asarray(recording.y)
            true = np.flatnonzero(y[1:] != y[:-1]) + 1
            for change in changes:
                rates.append(change["rate"])
                right.append(np.abs(true - change["start"]).min() <= TOLERANCE)
        rows += table(name, np.array(rates), np.array(right))
    publish("margin_rates", rows)


def table(name: str, rates: np.ndarray, right: np.ndarray) -> list[Row]:
    """A row for each bin of rates, and one for all changes."""
    where = np.digitize(rates, BINS[1:-1])
    chosen = [
        (f"{low:.0%} to {high:.0%}", where == k) for k, (low, high) in enumerate(pairwise(BINS))
    ]
    chosen.append(("all", np.ones(rates.size, dtype=bool)))
    return [
        {
            "features": name,
            "rate": text,
            "changes found": int(these.sum()),
            "mean rate": float(rates[these].mean()),
            "share that is right": float(right[these].mean()),
        }
        for text, these in chosen
        if these.any()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "har_spsw")
    main(parser.parse_args().data)
