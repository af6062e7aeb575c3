"""Samples as they come, in blocks of 1 to 1,000: microseconds of CPU a sample.

Of each block the least of several rounds counts, so that other work on the machine is left out.

    make bench-streams

The decoder of five states from given scores, a metric of 30 features, and a segmenter of states
with linear discriminants of scikit-learn, after 200 samples, with a change every 50. Beside the
metric, if installed, a Bayesian online detector of the same 30 features (package changepoint,
normal samples of unknown mean and covariance), which takes them one by one, and longer the more it
has seen: here 500.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from _harness import Goal, report
from numpy.typing import NDArray

from structsvm import MetricLearner, ScoreDecoder, StateSegmenter
from structsvm.features import Columns

Floats = NDArray[np.float64]

C, P = 5, 30
BLOCKS = (1, 10, 100, 1000)
BEFORE, PUSHED = 200, 500
ROUNDS = 9
MOST = 20.0
"""Microseconds of the compiled search that a sample takes at most."""


def recording(rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """A recording of five states of about 50 samples, and their numbers."""
    codes = np.cumsum(rng.integers(1, C, 60)) % C
    y = np.repeat(codes, rng.integers(20, 80, codes.size))
    X = rng.normal(size=(y.size, P))
    X[:, :C] += 2.0 * np.eye(C)[y]
    return X, y


def learners() -> Iterator[tuple[str, Any, Floats]]:
    """Name, learner and samples to push."""
    pairs = [recording(np.random.default_rng(seed)) for seed in range(7)]
    Xs, ys = (list(part) for part in zip(*pairs, strict=True))
    scores = [np.exp(X[:, :C]) for X in Xs]
    scores = [p / p.sum(axis=1, keepdims=True) for p in scores]
    decoder = ScoreDecoder(classes=range(C)).fit(scores[:6], ys[:6])
    yield "decoder, 5 states", decoder, scores[6]
    metric = MetricLearner(standardize="training", metric="olda").fit(Xs[:6], ys[:6])
    yield "metric, 30 features", metric, Xs[6]
    linear = StateSegmenter(["lda"], Columns(), standardize="training").fit(Xs[:6], ys[:6])
    yield "states, discriminants", linear, Xs[6]


def microseconds(learner: Any, X: Floats, block: int) -> float:
    """CPU time a sample of ``push`` in blocks of so many."""
    n = max(PUSHED, block)
    least = np.full(n // block, np.inf)
    for _ in range(ROUNDS):
        stream = learner.stream()
        stream.push(X[:BEFORE])
        for i in range(least.size):
            rows = X[BEFORE + i * block : BEFORE + (i + 1) * block]
            started = time.thread_time()
            stream.push(rows)
            least[i] = min(least[i], time.thread_time() - started)
    return float(1e6 * least.sum() / n)


def bayesian(X: Floats) -> float:
    """CPU time a sample of the Bayesian detector."""
    import changepoint

    prior = changepoint.NormalInvWishart(np.zeros(P), 0.2, P + 2, np.eye(P))
    least = np.full(PUSHED, np.inf)
    for _ in range(ROUNDS):
        detector = changepoint.Bocpd(prior, 50.0)
        for x in X[:BEFORE]:
            detector.step(x)
        for i, x in enumerate(X[BEFORE : BEFORE + PUSHED]):
            started = time.thread_time()
            detector.step(x)
            least[i] = min(least[i], time.thread_time() - started)
    return float(1e6 * least.sum() / PUSHED)


def main() -> None:
    goals = []
    for name, learner, X in learners():
        microseconds(learner, X, 100)  # what is compiled first
        for block in BLOCKS:
            ours = microseconds(learner, X, block)
            title = f"{name}, blocks of {block}, us a sample"
            if block == 1 and name.startswith("metric") and find_spec("changepoint"):
                goals.append(Goal.at_least(title + "; changepoint", ours, bayesian(X), 1.0))
            if not name.startswith("states"):
                goals.append(Goal.at_most(title + f"; {MOST:g}", ours, MOST, 1.0))
            else:
                goals.append(Goal(title, ours))
    report("streams", goals)


if __name__ == "__main__":
    main()
