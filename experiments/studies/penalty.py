"""The penalty from five labelled series, beside the rules that people use in its place.

Series of one channel are generated as they come up in five fields, twenty of each kind to test.
The first rows segment by the mean with the exact search of ruptures (KernelCPD) and differ in their
``pen`` only; then come the other costs of ruptures that fit such series, and a learned measure.
What is tuned or learned sees the same five labelled series.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import ruptures as rpt
from numpy.typing import NDArray

from experiments._report import Row, publish
from structsvm import MetricLearner
from structsvm.features import Lags, MovingStatistics, Union
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import margin_f1, partition_loss

Floats = NDArray[np.float64]
Series = tuple[Floats, list[int]]
Search = Callable[..., list[int]]
N_LABELLED = 5
N_TEST = 20
TOLERANCE = 5
"""A change is found if one is predicted within so many samples."""
MOST = 15
"""Changes that the elbow is looked for among."""
PENALTIES = np.geomspace(1e-2, 1e4, 31)


def segments(rng: np.random.Generator, shortest: int, longest: int, n: int) -> NDArray[np.int64]:
    """The number of the segment of every sample, for n segments, (T,)."""
    return np.repeat(np.arange(n), rng.integers(shortest, longest, n))


def performance_tests(rng: np.random.Generator) -> Series:
    """Run times of commits: steps of a few per cent, and single runs on a busy machine."""
    part = segments(rng, 20, 80, rng.integers(2, 7))
    steps = rng.choice([-1.0, 1.0], part[-1] + 1) * rng.uniform(2.0, 6.0, part[-1] + 1)
    noise = rng.normal(size=part.size)
    spikes = rng.exponential(12.0, part.size) * (rng.random(part.size) < 0.05)
    return (100.0 + np.cumsum(steps)[part] + noise + spikes)[:, None], ends(part)


def copy_numbers(rng: np.random.Generator) -> Series:
    """Log ratios along a chromosome: whole numbers of copies, arrays of different quality."""
    part = segments(rng, 15, 80, rng.integers(1, 6))
    copies = 2 + np.cumsum(rng.choice([-1, 1], part[-1] + 1)) % 3
    noise = rng.uniform(0.1, 0.4) * rng.normal(size=part.size)
    return (np.log2(copies / 2 + 0.5)[part] + noise)[:, None], ends(part)


def machine(rng: np.random.Generator) -> Series:
    """Vibration of a machine: the level stays, its spread changes with the load."""
    part = segments(rng, 40, 120, rng.integers(2, 6))
    spread = np.where(np.arange(part[-1] + 1) % 2, 3.0, 1.0)
    return (spread[part] * rng.normal(size=part.size))[:, None], ends(part)


def battery(rng: np.random.Generator) -> Series:
    """Voltage of a battery: charge, rest and discharge, and a slow drift that is no change."""
    part = segments(rng, 30, 90, rng.integers(3, 8))
    levels = np.array([4.1, 3.9, 3.6])[np.arange(part[-1] + 1) % 3]
    drift = 0.2 * np.sin(np.arange(part.size) / rng.uniform(40.0, 80.0))
    return (levels[part] + drift + 0.03 * rng.normal(size=part.size))[:, None], ends(part)


def sleep(rng: np.random.Generator) -> Series:
    """Activity at the wrist by the minute: bursts while awake, next to nothing asleep."""
    part = segments(rng, 30, 120, rng.integers(2, 7))
    awake = (np.arange(part[-1] + 1) % 2 == 0)[part]
    bursts = rng.gamma(0.6, 40.0, part.size)
    return np.where(awake, bursts, bursts * (rng.random(part.size) < 0.05))[:, None], ends(part)


KINDS: Mapping[str, Callable[[np.random.Generator], Series]] = {
    "performance tests": performance_tests,
    "copy numbers": copy_numbers,
    "machine": machine,
    "battery": battery,
    "sleep": sleep,
}


def ends(part: NDArray[np.int64]) -> list[int]:
    """Breakpoints as ruptures writes them."""
    return [*(np.flatnonzero(np.diff(part)) + 1).tolist(), part.size]


def by_mean(X: Floats, pen: float) -> list[int]:
    """The exact segmentation by the mean at a penalty."""
    return rpt.KernelCPD(kernel="linear", min_size=1).fit(X).predict(pen=pen)


def by_distribution(X: Floats, pen: float) -> list[int]:
    """By all of the distribution: the Gaussian kernel of the width that ruptures takes."""
    return rpt.KernelCPD(kernel="rbf", min_size=1).fit(X).predict(pen=pen)


def by_mean_and_variance(X: Floats, pen: float) -> list[int]:
    """By the likelihood of a Gaussian of its own in each segment."""
    return rpt.Pelt(model="normal", min_size=10, jump=5).fit(X).predict(pen=pen)


def bic(X: Floats) -> float:
    """2 sigma^2 log T, the variance of the noise being that of the differences of neighbours."""
    variance = np.mean(np.diff(X[:, 0]) ** 2) / 2.0
    return float(2.0 * variance * np.log(len(X)))


def elbow(X: Floats) -> float:
    """What the change at the knee saves, the point farthest below the chord of the costs."""
    search = rpt.KernelCPD(kernel="linear", min_size=1).fit(X)
    cost = rpt.costs.CostL2().fit(X)
    costs = np.array([cost.sum_of_costs(search.predict(n_bkps=k)) for k in range(1, MOST + 1)])
    chord = np.linspace(costs[0], costs[-1], MOST)
    knee = int(np.argmax(chord - costs))
    return float(costs[max(knee - 1, 0)] - costs[knee]) or float(costs[0])


def tuned(search: Search, labelled: list[Series]) -> Callable[[Floats], list[int]]:
    """The search at the constant penalty of least mean loss on the labelled series."""
    losses = [np.mean([loss(search(X, pen), y) for X, y in labelled]) for pen in PENALTIES]
    return partial(search, pen=float(PENALTIES[int(np.argmin(losses))]))


def loss(found: list[int], true: list[int]) -> float:
    """The loss of the paper, between the two equivalence matrices."""
    there = EquivalenceMatrix.from_breakpoints(true)
    return float(partition_loss(there, EquivalenceMatrix.from_breakpoints(found)))


def f1(found: list[int], true: list[int]) -> float:
    """The F1 of inner changes."""
    there = EquivalenceMatrix.from_breakpoints(true)
    return float(margin_f1(there, EquivalenceMatrix.from_breakpoints(found), TOLERANCE))


def learned(metric: str, features: object, labelled: list[Series]) -> MetricLearner:
    """The penalty, and perhaps what to measure, of the labelled series."""
    learner = MetricLearner(metric=metric, features=features)
    return learner.fit([X for X, _ in labelled], [y for _, y in labelled])


def answers(labelled: list[Series], test: list[Series]) -> dict[str, list[list[int]]]:
    """The breakpoints of every test series, by method."""
    Xs = [X for X, _ in test]
    surroundings = Union(MovingStatistics(windows=(15,)), Lags((-5, 0, 5)))
    penalty = learned("untrained", None, labelled)
    measure = learned("full", surroundings, labelled)
    return {
        "no change": [[len(X)] for X in Xs],
        "mean, BIC": [by_mean(X, bic(X)) for X in Xs],
        "mean, elbow": [by_mean(X, elbow(X)) for X in Xs],
        "mean, tuned constant": [*map(tuned(by_mean, labelled), Xs)],
        "mean of standardised series, learned penalty": penalty.predict_breakpoints(Xs),
        "mean and variance, tuned constant": [*map(tuned(by_mean_and_variance, labelled), Xs)],
        "Gaussian kernel, tuned constant": [*map(tuned(by_distribution, labelled), Xs)],
        "learned measure and penalty": measure.predict_breakpoints(Xs),
    }


def main() -> None:
    """Measure every method on every kind of series."""
    warnings.simplefilter("ignore")
    measured: dict[str, Row] = {}
    for seed, (kind, draw) in enumerate(KINDS.items()):
        rng = np.random.default_rng(seed)
        labelled = [draw(rng) for _ in range(N_LABELLED)]
        test = [draw(rng) for _ in range(N_TEST)]
        for method, found in answers(labelled, test).items():
            both = [(ends, y) for ends, (_, y) in zip(found, test, strict=True)]
            losses = [loss(*one) for one in both]
            scores = [f1(*one) for one in both]
            row = measured.setdefault(method, {"method": method})
            row[kind] = f"{np.mean(losses):.2f} / {np.mean(scores):.2f}"
    publish("penalty", list(measured.values()))


if __name__ == "__main__":
    main()
