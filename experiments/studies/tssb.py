"""TSSB: each series is another process, so that nothing is learned across series.

75 univariate series of 1 to 9 segments. Each is z-scored, together with its differences, and cut
into windows of a fortieth of its length that are described by their means, spreads, minima and
maxima. In each of five folds the metrics and the penalty are learned on four fifths of the series
and segment the others; the number of segments is not given. ClaSP (claspy, ``make clasp``) gets no
label and learns nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from experiments._report import PAPER, SHARED, Row, publish
from experiments.sets import fetch_tssb
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.evaluation.contrast import Contrast
from structsvm.features import Windows, windows
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording
from structsvm.learner.steps import decode_with
from structsvm.partitions.losses import covering, partition_loss

WINDOWS, HOPS = 40, 400
"""A window is one fortieth of a series, and begins every four hundredth of it."""

METHODS = {
    "untrained metric, best penalty": ("full", "untrained"),
    "learned, diagonal": ("diagonal", "learned"),
    "learned, full": ("full", "learned"),
}
CLASP = "ClaSP, without labels"


def cut(series: Recording) -> Windows:
    """Windows of a series and of its differences."""
    x = series.X[:, 0]
    dx = np.diff(x, prepend=x[0])
    columns = np.column_stack([(v - v.mean()) / (v.std() or 1.0) for v in (x, dx)])
    T = len(x)
    statistics = ("mean", "spread", "min", "max")
    return windows(columns, 1.0, max(4, T // WINDOWS), max(1, T // HOPS), statistics=statistics)


def segmented(series: Sequence[Recording]) -> dict[str, list[list[int]]]:
    """Segment ends of every series by every method, each held out once."""
    cuts = [cut(one) for one in series]
    ys = [found.labels(one.y) for found, one in zip(cuts, series, strict=True)]
    found: dict[str, list[list[int]]] = {name: [[] for _ in series] for name in METHODS}
    for train, test in KFold(5, shuffle=True, random_state=0).split(series):
        learn = [i for i in train if len(np.unique(ys[i])) > 1]
        learners = {
            metric: MetricLearner(metric=metric, standardize="recording").fit(
                [cuts[i].X for i in learn], [ys[i] for i in learn]
            )
            for metric in ("diagonal", "full")
        }
        for name, (kind, use) in METHODS.items():
            learner = learners[kind]
            metric = learner.metric_ if use == "learned" else learner.baselines_[use].metric_
            guesses = decode_with(learner, metric, [cuts[i].X for i in test])
            for i, guess in zip(test, guesses, strict=True):
                found[name][i] = cuts[i].breakpoints(guess.breakpoints)
    return found


def scores(
    series: Sequence[Recording], ends: Sequence[list[int]]
) -> dict[str, NDArray[np.float64]]:
    """Loss and covering of each series, in samples."""
    truths = [EquivalenceMatrix.from_breakpoints(labels_to_breakpoints(one.y)) for one in series]
    pairs = list(zip(truths, map(EquivalenceMatrix.from_breakpoints, ends), strict=True))
    return {
        "loss": np.array([partition_loss(t, g) for t, g in pairs]),
        "covering": np.array([covering(t, g) for t, g in pairs]),
    }


def row(name: str, of: Mapping[str, NDArray[np.float64]], untrained: NDArray[np.float64]) -> Row:
    """Means and the gain over the untrained metric."""
    gain = "-"
    difference = untrained - of["loss"]
    if difference.any():
        found = Contrast.of(name, difference, np.arange(difference.size))
        gain = f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
    return {
        "method": name,
        "loss": float(of["loss"].mean()),
        "loss gained over untrained": gain,
        "covering": float(of["covering"].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=SHARED)
    series = fetch_tssb(data_home=parser.parse_args().data)
    ends = segmented(series)
    earlier: list[str] = []
    place = PAPER / "tssb_clasp.json"
    if place.exists():
        content = json.loads(place.read_text())
        earlier = content["origin"]["commits"]
        runs = content["runs"]
        ends[CLASP] = [[*sorted(runs[one.name]["changes"]), len(one.X)] for one in series]
    ends["no change anywhere"] = [[len(one.X)] for one in series]
    found = {name: scores(series, of) for name, of in ends.items()}
    untrained = found[next(iter(METHODS))]["loss"]
    publish("tssb", [row(name, of, untrained) for name, of in found.items()], earlier)


if __name__ == "__main__":
    main()
