"""How often the interval of ``MetricLearnerCV`` holds the gain that it is about.

Not in the paper. Recordings are drawn from two processes: one whose changes are of very different
sizes in one column, among noise that changes as well, and one of three states, of recordings that
are noisy to different degrees. The gain of the metric that is chosen over the untrained one is
estimated on 200 further recordings, and its mean over the runs is what the interval should hold.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments._report import publish
from structsvm import MetricLearnerCV, evaluate

SIZES = (5, 8, 15, 30)
FURTHER = 200
FOLDS = 5
Drawn = tuple[NDArray[np.float64], NDArray[np.int64]]


def labels(rng: np.random.Generator, T: int, K: int, least: int) -> NDArray[np.int64]:
    """The number of its segment for each of T samples."""
    y = np.zeros(T, dtype=np.int64)
    y[rng.choice(np.arange(least, T - least), K - 1, replace=False)] = 1
    return y.cumsum()


def of_many_sizes(rng: np.random.Generator) -> Drawn:
    T = 60
    K = int(rng.integers(2, 6))
    y = labels(rng, T, K, 4)
    X = rng.normal(size=(T, 4))
    X[:, 0] += (rng.exponential(1.5, size=K) * rng.choice([-1, 1], K))[y]
    X[:, 1] += np.repeat(rng.normal(size=T // 6 + 1) * 1.2, 6)[:T]
    return X, y


def of_three_states(rng: np.random.Generator) -> Drawn:
    T = 80
    K = int(rng.integers(3, 7))
    y = labels(rng, T, K, 5)
    means = np.array([[0.0, 0.0], [1.6, 0.4], [0.4, 1.6]])[rng.integers(0, 3, K)]
    X = rng.normal(size=(T, 6)) * rng.lognormal(0, 0.35)
    X[:, :2] += means[y]
    X[:, 2] += np.cumsum(rng.normal(size=T)) * 0.15
    X[:, 1] += 0.5 * X[:, 2]
    return X, y


PROCESSES = ((of_many_sizes, 800_000), (of_three_states, 10_800_000))
"""With the seed of the first run."""


def one_run(draw: Any, n: int, seed: int) -> tuple[float, ...]:
    """Mean gain, half the interval, half of it without allowing for shared samples, true gain."""
    rng = np.random.default_rng(seed + 10_000 * n)
    Xs, ys = map(list, zip(*(draw(rng) for _ in range(n)), strict=True))
    new_Xs, new_ys = map(list, zip(*(draw(rng) for _ in range(FURTHER)), strict=True))
    candidates = ("untrained", "diagonal", "full")
    search = MetricLearnerCV(candidates=candidates, lams=(1.0, 0.1), cv=FOLDS, random_state=0)
    found = search.fit(Xs, ys).verdict_.untrained
    true = evaluate(search.best_estimator_, new_Xs, new_ys).verdict.untrained.mean
    half = found.high - found.mean
    inflation = 1.0 + 1.0 / (1.0 - 1.0 / FOLDS)
    narrow = stats.t.ppf(0.975, found.freedom) * found.se / np.sqrt(inflation)
    return found.mean, half, narrow if np.isfinite(half) else np.inf, true


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="of each process and size")
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    rows = []
    for n in SIZES:
        held = []
        narrowly = []
        for draw, first in PROCESSES:
            found = [one_run(draw, n, first + k) for k in range(runs)]
            mean, half, narrow, true = np.array(found).T
            held.append(np.abs(mean - true.mean()) <= half)
            narrowly.append(np.abs(mean - true.mean()) <= narrow)
        share = float(np.mean(held))
        rows.append(
            {
                "recordings": n,
                "runs": 2 * runs,
                "intervals that hold the gain": share,
                "standard error": float(np.sqrt(share * (1 - share) / (2 * runs))),
                "without allowing for shared samples": float(np.mean(narrowly)),
            }
        )
    publish("interval_coverage", rows)


if __name__ == "__main__":
    main()
