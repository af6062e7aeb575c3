"""Whole fits and predictions against ruptures' C code, which tunes a penalty and nothing else.

Prints a table and writes benchmarks/results/fit.json:

    make bench-fit

CPU time on one thread, medians of rounds in which each job runs once. The peer decodes every
standardised training recording with ``ruptures.KernelCPD`` at 76 penalties and takes the one of
smallest loss; a fit does that twice, on the way to a metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import chain
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import ruptures
from _harness import Goal, cpu_seconds_in_turns, printed_by, report
from numpy.typing import NDArray

from structsvm import EquivalenceMatrix, MetricLearner, MetricLearnerCV
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels, read_recordings
from structsvm.learner.preparing import encode, prepare
from structsvm.oracles._segments.one_call import segment
from structsvm.oracles._segments.table import NO_TRUTH
from structsvm.partitions import Examples
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import penalty_grid
from structsvm.support.values import read_only

ROUNDS = 25
"""Of predictions, which take a tenth of a second each: fewer differ by a fifth between runs."""

FIRST_FIT = """
import time
from structsvm import MetricLearner
from structsvm.datasets import relevant_changes
from structsvm.io import arrays_and_labels
Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=2))
start = time.process_time()
MetricLearner().fit(Xs, ys)
print(time.process_time() - start)
"""

Floats = NDArray[np.float64]
Data = tuple[list[Floats], list[NDArray[np.int64]]]

DATA = Path(environ.get("STRUCTSVM_DATA") or Path(__file__).parents[2] / "shared" / "data")


def recordings(N: int, T: int, P: int) -> Data:
    """Recordings a third of whose features change together."""
    made = relevant_changes(N, n_samples=T, n_features=P, n_relevant=P // 3, random_state=0)
    Xs, ys = arrays_and_labels(made)
    return Xs, ys


def tuned_by_ruptures(Xs: list[Floats], ys: list[NDArray[np.int64]]) -> float:
    """The penalty, of 76, at which ruptures decodes the recordings best."""
    truths = [EquivalenceMatrix.from_labels(np.cumsum(np.diff(y, prepend=y[0]) != 0)) for y in ys]
    Zs = [(X - X.mean(axis=0)) / X.std(axis=0) for X in Xs]
    scatter = [
        float((Z**2).sum()) / max(1, M.n_clusters - 1) for Z, M in zip(Zs, truths, strict=True)
    ]
    penalties = penalty_grid(float(np.mean(scatter)))
    losses = np.zeros(penalties.size)
    for Z, truth in zip(Zs, truths, strict=True):
        search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(Z)
        for k, penalty in enumerate(penalties.tolist()):
            found = EquivalenceMatrix.from_breakpoints(search.predict(pen=penalty))
            losses[k] += partition_loss(truth, found)
    return float(penalties[losses.argmin()])


def predicted_by_ruptures(Zs: list[Floats], penalty: float) -> list[list[int]]:
    """Segment ends of recordings that are in the metric already."""
    return [ruptures.KernelCPD(kernel="linear", min_size=1).fit(Z).predict(pen=penalty) for Z in Zs]


def fitted(metric: str, data: Data) -> MetricLearner:
    """A fit as users make it."""
    return MetricLearner(metric=metric).fit(*data)


def fits() -> list[Goal]:
    goals = []
    for metric, P, goal in (("diagonal", 10, 3), ("full", 30, 2)):
        data = recordings(100, 200, P)
        ours, theirs = cpu_seconds_in_turns(
            partial(fitted, metric, data), partial(tuned_by_ruptures, *data), repeats=3
        )
        name = f"fit, N = 100, T = 200, P = {P} {metric} | ruptures (C), 76 penalties"
        goals.append(Goal.at_least(name, ours, theirs, goal))
    large, small = (recordings(N, 200, 10) for N in (1_000, 100))
    jobs = [partial(fitted, "diagonal", data) for data in (large, small)]
    name = "fit, N = 1,000, T = 200, P = 10 diagonal | N = 100"
    goals.append(Goal.at_most(name, *cpu_seconds_in_turns(*jobs, repeats=3), goal=12))
    return goals


def calibration() -> list[Goal]:
    """The part of a fit in which penalties are calibrated."""
    data = recordings(400, 200, 10)
    learner = fitted("diagonal", data)
    instances = prepare(learner, data[0])
    truths = encode(learner, *data)

    def twice() -> None:
        for factor in (np.eye(10), learner.metric_.factor):
            learner.problem_.calibrate(factor, Examples(instances, truths))

    calibrated, whole = cpu_seconds_in_turns(twice, partial(fitted, "diagonal", data), repeats=3)
    name = "calibration, N = 400, T = 200, P = 10 diagonal | the fit"
    return [Goal.at_most(name, calibrated, whole, goal=0.3)]


def predictions() -> list[Goal]:
    Xs, ys = recordings(1_000, 200, 10)
    learner = fitted("diagonal", (Xs[:50], ys[:50]))
    Zs = learner.transform(Xs)
    assert learner.metric_.price is not None
    theirs = partial(predicted_by_ruptures, Zs, learner.metric_.price)
    assert theirs() == learner.predict_breakpoints(Xs)
    weights = np.diag(learner.metric_.factor)
    same_job = partial(standardised_for_ruptures, Xs, weights, learner.metric_.price)
    assert same_job() == theirs()
    times = cpu_seconds_in_turns(partial(learner.predict, Xs), theirs, repeats=ROUNDS)
    of_same_job = cpu_seconds_in_turns(partial(learner.predict, Xs), same_job, repeats=ROUNDS)
    size = "N = 1,000, T = 200, P = 10"
    return [
        Goal.at_least(f"predict, {size} | ruptures (C)", *times, goal=1),
        Goal.at_least(f"predict, {size} | NumPy and ruptures (C)", *of_same_job, goal=1),
        _searches_alone(Zs, learner.metric_.price),
    ]


def standardised_for_ruptures(Xs: list[Floats], weights: Floats, price: float) -> list[list[int]]:
    """What a user of ruptures writes for the same recordings and the same metric."""
    Zs = [(X - X.mean(axis=0)) / X.std(axis=0) * weights for X in Xs]
    return predicted_by_ruptures(Zs, price)


def _searches_alone(Zs: list[Floats], penalty: float) -> Goal:
    """The compiled searches without what surrounds them: reading, checks, metric, labels."""
    compiled = [read_only(Z) for Z in Zs]
    searches = [ruptures.KernelCPD(kernel="linear", min_size=1).fit(Z) for Z in Zs]
    ours, theirs = cpu_seconds_in_turns(
        lambda: [segment(Z, NO_TRUTH, 0.0, -penalty) for Z in compiled],
        lambda: [search.predict(pen=penalty) for search in searches],
    )
    return Goal.against("its search alone | ruptures (C), its search alone", ours, theirs)


def cross_validation() -> list[Goal]:
    folder = DATA / "har_spsw"
    if not folder.is_dir():
        return []
    Xs, ys = arrays_and_labels(read_recordings(folder)[:40])
    lams = [0.01, 0.04, 0.16, 0.64]
    search = MetricLearnerCV(candidates=["untrained", "diagonal"], lams=lams, cv=5)
    one = partial(fitted, "diagonal", (Xs, ys))
    times = cpu_seconds_in_turns(lambda: search.fit(Xs, ys), one, repeats=3)
    return [Goal.at_most("5 folds, 4 lam, 40 recordings of har_spsw | one fit", *times, goal=12)]


def first_times() -> list[Goal]:
    """Importing, with warm caches; and a first fit that compiles."""
    clock = "import time; start = time.process_time();"
    (package,) = printed_by(f"{clock} import structsvm; print(time.process_time() - start)")
    learner = f"{clock} from structsvm import MetricLearner; print(time.process_time() - start)"
    (loaded,) = printed_by(learner)
    theirs = f"{clock} import sklearn.base; print(time.process_time() - start)"
    (base,) = printed_by(theirs)
    with TemporaryDirectory() as empty:
        (compiled,) = printed_by(FIRST_FIT, NUMBA_CACHE_DIR=empty)
    return [
        Goal.at_most("import structsvm | 0.1 s", package, 0.1, 1),
        Goal.at_most("from structsvm import MetricLearner | 1 s", loaded, 1.0, 1),
        Goal.against("from structsvm import MetricLearner | import sklearn.base", loaded, base),
        Goal.at_most("first fit on a machine, which compiles | 10 s", compiled, 10.0, 1),
    ]


def main() -> None:
    parts: list[Callable[[], list[Goal]]]
    parts = [fits, calibration, predictions, cross_validation, first_times]
    report("fit", list(chain.from_iterable(part() for part in parts)))


if __name__ == "__main__":
    started = time.process_time()
    main()
    print(f"{time.process_time() - started:.0f} seconds of CPU")
