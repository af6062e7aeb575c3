"""Features and classifiers that learn from recordings made on the fly, of which a part fits.

    make bench-gathered

Each run is a fresh interpreter; memory is the most that a process ever had at once. Whole fits are
on a Dask cluster of two worker processes with one thread each, and keep nothing between rounds.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from _harness import Goal, printed_by, report
from distributed import Client, LocalCluster
from numpy.typing import NDArray

from structsvm import MetricLearner
from structsvm.baselines import BoundaryClassifier, FrameClassifier
from structsvm.features import BoundaryScores, StateScores
from structsvm.learner.preparing import read_training
from structsvm.learner.stages import Inputs
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import Dask
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.support import limits

T, P, SEGMENTS, STATES = 1_000, 30, 20, 4
"""Samples and features of a recording, and its segments; 240 kB in double precision."""
MB = 1e6


@dataclass(frozen=True)
class Generated:
    """N recordings of named states, of which none is anywhere until it is asked for."""

    n: int

    def __len__(self) -> int:
        return self.n

    def names(self, i: int) -> NDArray[np.int64]:
        """The state of each sample."""
        drawn = np.random.default_rng([i, 1]).integers(0, STATES, SEGMENTS)
        return np.repeat(drawn, T // SEGMENTS)

    def __getitem__(self, i: int) -> NDArray[np.float64]:
        if not 0 <= i < self.n:
            raise IndexError(i)
        means = 0.3 * np.random.default_rng(0).normal(size=(STATES, P))
        return means[self.names(i)] + np.random.default_rng([i, 2]).normal(size=(T, P))


def read(n: int) -> TrainingSet:
    """The recordings, each looked at once."""
    data = Generated(n)
    return read_training(MetricLearner(), data, [data.names(i) for i in range(n)])


def learned(what: Any) -> None:
    """Print seconds of CPU of learning from a part, and how many times its bytes that takes."""
    warnings.simplefilter("ignore")
    if not hasattr(what, "transform"):  # loads what classifiers need
        FrameClassifier("logistic").fit([Generated(2)[0]] * 2, [Generated(2).names(0)] * 2)
    data = read(200)
    before = peak()
    started = time.process_time()
    if hasattr(what, "transform"):
        Inputs.fit(what, None, data)
    else:
        what.learn(data)
    print(time.process_time() - started, (peak() - before) * MB / limits.GATHERED)


def whole(n: int) -> None:
    """Print the MB of the client and of the larger worker of a fit, and its seconds."""
    warnings.simplefilter("ignore")
    limits.KEPT_BYTES = 1
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        learner = MetricLearner(
            metric="diagonal",
            features=StateScores("logistic"),
            solver=CuttingPlane(Stopping(1e-9, 3), slack="one"),
            backend=Dask(client),
        )
        data = read(n)
        started = time.perf_counter()
        learner.fit(data)
        took = time.perf_counter() - started
        print(peak(), max(client.run(peak).values()), took)


def peak() -> float:
    """The most memory that this process had so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


KINDS = {
    "StateScores('logistic')": StateScores("logistic"),
    "StateScores()": StateScores(),
    "BoundaryScores('logistic')": BoundaryScores("logistic"),
    "FrameClassifier('logistic')": FrameClassifier("logistic"),
    "BoundaryClassifier('logistic')": BoundaryClassifier("logistic"),
}


def main() -> None:
    goals = []
    for name in KINDS:
        seconds, times = printed_by(f"import gathered; gathered.learned(gathered.KINDS[{name!r}])")
        goals += [
            Goal(f"{name}: seconds of CPU", seconds),
            Goal(f"{name}: times the bytes of the part", times),
        ]
    few, many = (
        printed_by(f"import gathered\nif __name__ == '__main__': gathered.whole({n})")
        for n in (250, 1_000)
    )
    for k, owner in enumerate(("the client", "a worker")):
        goals.append(Goal.at_most(f"a fit of 1,000, of 250: MB of {owner}", many[k], few[k], 1.1))
    goals.append(Goal.against("a fit of 1,000, of 250", many[2], few[2]))
    report("gathered", goals)


if __name__ == "__main__":
    main()
