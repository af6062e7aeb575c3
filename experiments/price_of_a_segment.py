"""Learning the price of a segment next to the metric, or fixing it as in the paper.

Each kind of metric is learned both ways on the training recordings of the outer folds of
experiments/nested_cv.py, for four values of lam, and segments the others; nothing is chosen. Either
way the penalty is calibrated afterwards.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _cache import Pieces, seconds_option
from _report import SHARED, Row, publish
from nested_cv import Nested
from numpy.typing import NDArray

from structsvm import ChangePoint, MetricLearner
from structsvm.learner.steps import encode
from structsvm.partitions.equivalence import partition_loss

Floats = NDArray[np.float64]
Losses = dict[str, list[float]]

SETS = ("har_spsw", "skab", "beedance", "mocap6")
LAMS = (1.0, 0.2, 0.04, 0.008)
METRICS = {"full": "full", "diagonal": "diag"}
PRICES = {"learned": "", "fixed": "-fixed"}


def held_out_losses(name: str, folder: Path) -> Losses:
    """Of every recording, with the number of segments given ("k") and not ("u")."""
    nested = Nested(name, folder, jobs=1)
    found: Losses = {}
    ways = list(product(METRICS.items(), PRICES.items(), LAMS))
    for (k, test), way in product(enumerate(nested.folds), ways):
        (metric, short), (price, mark), lam = way
        train = nested.training(k)
        learner = MetricLearner(ChangePoint(penalty=price), metric, lam=lam, standardize=None)
        learner.fit([nested.pooled[i][0] for i in train], [nested.pooled[i][1] for i in train])
        Zs = [nested.Zs[i] for i in test]
        ends = [nested.ends[i] for i in test]
        truths = encode(learner, Zs, ends)
        for given, counts in (("k", [M.n_clusters for M in truths]), ("u", None)):
            key = f"{short}{mark} {lam:g} {given}"
            values = found.setdefault(key, [0.0] * len(nested.Zs))
            guesses = learner.predict_partitions(Zs, counts)
            for i, truth, guess in zip(test, truths, guesses, strict=True):
                values[i] = partition_loss(truth, guess)
    return found


def row(name: str, metric: str, found: Losses) -> Row:
    """Means over recordings at each lam, and the paired difference of their means over lam."""
    short = METRICS[metric]
    cells: dict[str, object] = {"set": name, "metric": metric}
    for price, mark in PRICES.items():
        pairs = [[np.mean(found[f"{short}{mark} {lam:g} {t}"]) for t in "ku"] for lam in LAMS]
        cells[f"price {price}"] = ", ".join(f"{k:.2f} / {u:.2f}" for k, u in pairs)
    for given, title in (("k", "known"), ("u", "unknown")):
        differences = np.mean(
            [
                np.subtract(
                    found[f"{short} {lam:g} {given}"], found[f"{short}-fixed {lam:g} {given}"]
                )
                for lam in LAMS
            ],
            axis=0,
        )
        error = differences.std(ddof=1) / np.sqrt(differences.size)
        cells[f"learned - fixed, K {title}"] = f"{differences.mean():.2f} +- {error:.2f}"
    return cells


def main(folder: Path, names: Sequence[str], seconds: float) -> None:
    pieces = Pieces("price_of_a_segment", seconds)
    found = {
        name: pieces.get(name, partial(held_out_losses, name, folder / name)) for name in names
    }
    pieces.finish()
    rows = [row(name, metric, found[name]) for name in names for metric in METRICS]
    publish("price_of_a_segment", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", default=SETS)
    seconds_option(parser)
    arguments = parser.parse_args()
    main(arguments.data, arguments.sets, arguments.seconds)
