"""Data that do not fit: 20 GB of recordings made on the fly, on two Dask worker processes.

    make bench-lazy

Each recording is made when it is asked for, by the worker that works on it. Memory is the most that
a process ever had at once. BENCH_LAZY_GB=1 is a quick look.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import cloudpickle
import numpy as np
from _harness import Goal, cpu_seconds_in_turns, report, seconds_in_turns
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm import MetricLearner
from structsvm.features import Columns
from structsvm.interop import risk_of
from structsvm.learner.preparing import read_training
from structsvm.parallel import Backend, Dask, Session
from structsvm.parallel.base import ShareTask
from structsvm.solvers import CuttingPlane, Stopping

Floats = NDArray[np.float64]

GB, NS = 1e9, 1e-9
SIZE = float(os.environ.get("BENCH_LAZY_GB", "20"))
T, P = 1_000, 2_500
"""Samples and features of a recording: 20 MB in double precision."""
SEGMENTS, ROUNDS, NOISE = 20, 3, 0.05
EVERY = 100
"""Learning sees so many times fewer columns, which the workers choose when they read."""
TILE = 1024
"""Rows of noise that all recordings are cut from."""


@dataclass(frozen=True)
class Generated:
    """N recordings, of which none is anywhere until it is asked for."""

    n: int
    n_samples: int = T
    n_features: int = P

    def __len__(self) -> int:
        return self.n

    def ends(self, i: int) -> list[int]:
        """Where the segments of a recording end."""
        shares = 1.0 + 0.2 * np.random.default_rng([i, 1]).random(SEGMENTS)
        return np.rint(self.n_samples * np.cumsum(shares) / shares.sum()).astype(int).tolist()

    def __getitem__(self, i: int) -> Floats:
        if not 0 <= i < self.n:
            raise IndexError(i)
        noise = _noise(self.n_features)
        begin = int(np.random.default_rng([i, 2]).integers(TILE))
        X = noise[(begin + np.arange(self.n_samples)) % TILE]
        state = np.random.default_rng([i, 3]).normal(size=self.n_features)
        for start, end in zip(self.ends(i)[:-1:2], self.ends(i)[1::2], strict=True):
            X[start:end] += state
        return X


@cache
def _noise(n_features: int) -> Floats:
    return NOISE * np.random.default_rng(0).normal(size=(TILE, n_features))


def peak() -> float:
    """The most memory that this process had so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / GB


@dataclass(frozen=True)
class Counted(Backend):
    """Counts the bytes of what goes to the workers of another backend, and comes back."""

    backend: Backend
    rounds: list[int]
    """Bytes of each round, of the last session."""

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Place the parts where the other backend does."""
        self.rounds.clear()
        with self.backend.open(parts) as session:
            yield _Counted(session, self.rounds)


class _Counted(Session):
    def __init__(self, session: Session, rounds: list[int]) -> None:
        self._session, self._rounds = session, rounds

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        found = self._session.map_shares(task, argument)
        asked = 2 * len(cloudpickle.dumps((task, argument)))
        self._rounds.append(asked + len(cloudpickle.dumps(found)))
        return found


def learned(client: Any, data: Generated, rounds: int = ROUNDS) -> dict[str, float]:
    """What a fit of so many rounds takes, and a round of it."""
    times = []
    travelled = []
    counts = list[int]()
    learner = MetricLearner(
        metric="diagonal",
        features=Columns(which=range(0, data.n_features, EVERY)),
        solver=CuttingPlane(Stopping(1e-9, rounds), slack="one"),
        backend=Counted(Dask(client), counts),
    )

    def note(_: Any) -> None:
        times.append(time.perf_counter())
        travelled.append(counts[-1])

    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(data, [data.ends(i) for i in range(len(data))], callback=note)
    return {
        "seconds": time.perf_counter() - started,
        "round": float(np.median(np.diff(times))),
        "kB": float(np.median(travelled)) / 1e3,
    }


def constants(client: Any) -> list[Goal]:
    """What one value costs on one thread, in nanoseconds of CPU time, and a round by itself."""
    data = Generated(2)
    every = MetricLearner(metric="diagonal", features=Columns(which=range(0, P, EVERY)))
    read = read_training(every, data, [data.ends(i) for i in range(2)])
    risk = risk_of(every, read)
    x = risk.xs[0]
    y = risk.ys[0]
    held = [(x.read(), y)]
    made, checked, prepared, searched = cpu_seconds_in_turns(
        lambda: data[0],
        read.instances[0].data.origin.read,
        x.data.then(np.asarray).make,
        lambda: list(risk.problem.separate_each(risk.start, held)),
    )
    seen = T * P / EVERY
    with Dask(client).open([0, 1]) as session:
        (alone,) = seconds_in_turns(lambda: session.map(_nothing, None))
    return [
        Goal("make one value (ns)", made / (T * P) / NS),
        Goal("convert and check one value that was read (ns)", (checked - made) / (T * P) / NS),
        Goal("standardise one value that learning sees (ns)", (prepared - checked) / seen / NS),
        Goal("search one value that learning sees (ns)", searched / seen / NS),
        Goal("a round without any work, two workers (ms)", 1e3 * alone),
    ]


def _nothing(part: Any, _: Any) -> Any:
    return part


def main() -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        learned(client, Generated(4, 1000, 200))  # compiles
        short = learned(client, Generated(2, 20_000, 200))
        long = learned(client, Generated(2, 80_000, 200))
        n = round(SIZE * GB / (8 * T * P))
        whole = learned(client, Generated(n))
        workers = sorted(client.run(peak).values())
        alone = peak()
        parts = constants(client)
    size = f"{n * 8 * T * P / GB:.3g} GB"
    report(
        "lazy",
        [
            Goal.at_most(f"{size}: memory of the client (GB)", alone, 1.0, 1.0),
            *[
                Goal.at_most(f"{size}: memory of worker {k} (GB)", found, 2.0, 1.0)
                for k, found in enumerate(workers, start=1)
            ],
            Goal(f"{size}: a fit of {ROUNDS} rounds", whole["seconds"]),
            Goal(f"{size}: a round", whole["round"]),
            Goal(f"{size}: kB that travel in a round", whole["kB"]),
            Goal.at_most(
                "2 recordings: kB in a round, T = 80,000; T = 20,000", long["kB"], short["kB"], 1.1
            ),
            *parts,
        ],
    )


if __name__ == "__main__":
    main()
