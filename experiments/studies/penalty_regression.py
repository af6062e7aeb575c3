"""A penalty that depends on the recording: interval regression (Rigaill et al., 2013; Hocking).

The logarithm of the penalty is a linear function of the logarithms of the length of a recording and
of its noise, the mean square of its differences in the metric. It is learned from the interval of
penalties that segment each training recording best, with squared hinges at both ends of each
interval, and compared on held-out recordings with one penalty for all: the learner's own, and the
same regression with a constant alone.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from experiments._report import SHARED, Row, publish
from experiments.studies.nested_cv import outer_folds
from experiments.studies.tssb import cut
from structsvm import EquivalenceMatrix, MetricLearner
from structsvm.errors import DataWarning
from structsvm.evaluation.contrast import Contrast
from structsvm.interop import labels_to_breakpoints
from structsvm.io import Recording, arrays_and_labels, read_recordings
from structsvm.learner.preparing import encode, prepare
from structsvm.learner.steps import decode_with
from structsvm.partitions import Examples, Instance, Metric
from structsvm.partitions.losses import partition_loss

Floats = NDArray[np.float64]

SETS = ("har_spsw", "skab", "beedance", "mocap6", "tssb")
MARGIN = 1.0
"""How far, in logarithms, a penalty is to be inside its interval, where that is wide enough."""
RIDGE = 1e-3


@dataclass(frozen=True)
class Rule:
    """``log penalty = intercept + slopes . (features - centre) / scale``."""

    theta: Floats
    centre: Floats
    scale: Floats

    def __call__(self, features: Floats) -> float:
        """The penalty of a recording."""
        slopes = self.theta[1:] @ ((features - self.centre) / self.scale)
        return float(np.exp(self.theta[0] + slopes))


def regression(features: Floats, intervals: Floats, constant: bool) -> Rule:
    """Learn from intervals (N, 2) of logarithms of penalties, with infinite ends where open."""
    centre = features.mean(axis=0)
    scale = features.std(axis=0)
    scale = np.where(scale > 1e-9, scale, np.inf)  # what never varies says nothing
    design = np.column_stack([np.ones(len(features)), (features - centre) / scale])
    design = design[:, :1] if constant else design
    low, high = intervals.T

    def objective(theta: Floats) -> tuple[float, Floats]:
        f = design @ theta
        below = np.maximum(0, low + MARGIN - f)
        above = np.maximum(0, f - high + MARGIN)
        value = (below**2 + above**2).mean() + RIDGE * (theta[1:] ** 2).sum()
        slope = design.T @ (2 * (above - below)) / len(f)
        slope[1:] += 2 * RIDGE * theta[1:]
        return float(value), slope

    ends = intervals[np.isfinite(intervals)]
    start = np.concatenate([[ends.mean()], np.zeros(design.shape[1] - 1)])
    theta = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return Rule(np.concatenate([theta, np.zeros(3 - theta.size)]), centre, scale)


def describe(Z: Floats) -> Floats:
    """Logarithms of length and noise of a recording in a metric."""
    noise = float((np.diff(Z, axis=0) ** 2).sum(axis=1).mean() / 2)
    return np.log([len(Z), max(noise, 1e-12)])


def interval(learner: MetricLearner, Z: Floats, truth: EquivalenceMatrix) -> tuple[float, float]:
    """The longest run of penalties, in logarithms, that segment a recording best."""
    examples = Examples([Instance(Z)], [truth])
    found = learner.problem_.calibrate(np.eye(Z.shape[1]), examples)
    logs = np.log(found.penalties)
    best = np.flatnonzero(found.losses <= found.losses.min() + 1e-9)
    runs = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
    run = max(runs, key=len)
    low = -np.inf if run[0] == 0 else logs[run[0]]
    high = np.inf if run[-1] == logs.size - 1 else logs[run[-1]]
    return low, high


def held_out(
    Xs: Sequence[Floats], ends: Sequence[list[int]], train: Sequence[int], test: Sequence[int]
) -> dict[tuple[str, str], list[float]]:
    """Losses of the test recordings by metric and penalty."""
    learner = MetricLearner(metric="diagonal", standardize="recording")
    learner.fit([Xs[i] for i in train], [ends[i] for i in train])
    instances = prepare(learner, list(Xs))
    truths = encode(learner, list(Xs), list(ends))
    found: dict[tuple[str, str], list[float]] = {}
    metrics = {"untrained": learner.baselines_["untrained"].metric_, "learned": learner.metric_}
    for name, metric in metrics.items():
        Zs = [instance.X @ metric.factor for instance in instances]
        features = np.array([describe(Z) for Z in Zs])
        intervals = np.array([interval(learner, Zs[i], truths[i]) for i in train])
        known = np.isfinite(intervals).any(axis=1)
        rules = {
            kind: regression(features[train][known], intervals[known], kind == "constant")
            for kind in ("constant", "log-linear")
        }
        for kind in ("learner's own", *rules):
            prices = [metric.price if kind not in rules else rules[kind](features[i]) for i in test]
            guesses = [
                decode_with(learner, Metric(metric.factor, price), [instances[i]])[0]
                for i, price in zip(test, prices, strict=True)
            ]
            pairs = zip((truths[i] for i in test), guesses, strict=True)
            found[name, kind] = [partition_loss(t, g) for t, g in pairs]
    return found


def read(name: str, folder: Path) -> list[Recording]:
    """Recordings with a change; those of TSSB are windows of the series."""
    recordings = read_recordings(folder / name)
    if name == "tssb":
        cuts = [(r, cut(r)) for r in recordings]
        recordings = [Recording(r.name, c.X, c.labels(r.y), c.columns) for r, c in cuts]
    return [r for r in recordings if len(np.unique(r.y)) > 1]


def rows_of(name: str, folder: Path) -> list[Row]:
    """A row for each metric."""
    recordings = read(name, folder)
    Xs, ys = arrays_and_labels(recordings)
    ends = [labels_to_breakpoints(y) for y in ys]
    folds, groups = outer_folds(name, recordings)
    order = np.concatenate(folds)
    found: dict[tuple[str, str], list[float]] = {}
    for test in folds:
        train = np.setdiff1d(np.arange(len(Xs)), test)
        for key, losses in held_out(Xs, ends, train, test).items():
            found.setdefault(key, []).extend(losses)
    units = order if groups is None else groups[order]
    rows = []
    for metric in ("untrained", "learned"):
        losses = {kind: np.array(of) for (m, kind), of in found.items() if m == metric}
        difference = losses["learner's own"] - losses["log-linear"]
        gain = Contrast.of("", difference, units)
        interval_of_gain = f"{gain.mean:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})"
        rows.append(
            {
                "set": name,
                "metric": metric,
                "recordings": len(Xs),
                **{kind: float(of.mean()) for kind, of in losses.items()},
                "gained by length and noise": interval_of_gain if difference.any() else "nothing",
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    rows = list(chain.from_iterable(rows_of(name, args.data) for name in args.sets))
    publish("penalty_regression", rows)


if __name__ == "__main__":
    main()
