"""Where oracle calls run: the same 10 rounds serially, in threads, in processes and on Dask.

    make bench-scaling

Wall time with two workers, their start included. The answers are the same to the last bit.
"""

from __future__ import annotations

import time
from itertools import chain

import numpy as np
from _harness import Goal, report
from distributed import Client, LocalCluster

from structsvm import ChangePoint, Solution
from structsvm.datasets import relevant_changes
from structsvm.parallel import Auto, Backend, Dask, Processes, Serial, Threads
from structsvm.partitions import Examples, Instance
from structsvm.problem import RegularizedRisk, SquaredNorm
from structsvm.solvers import CuttingPlane, Stopping

SHAPES = ((10, 400, 30), (100, 600, 30), (60, 1500, 100))
"""N, T, P."""


def make_risk(N: int, T: int, P: int) -> RegularizedRisk:
    """N recordings of T samples and P features, for a full metric."""
    problem = ChangePoint()
    recordings = relevant_changes(N, n_samples=T, n_features=P, random_state=0)
    objective = problem.objective("full", P)
    instances = [Instance((r.X - r.X.mean(0)) / r.X.std(0) / np.sqrt(P)) for r in recordings]
    truths = [problem.encode(r.y, x) for r, x in zip(recordings, instances, strict=True)]
    return objective.risk(Examples(instances, truths), objective.regularizer(SquaredNorm(), 0.1))


def timed(risk: RegularizedRisk, backend: Backend) -> tuple[float, Solution]:
    """Wall time of 10 rounds."""
    started = time.perf_counter()
    solution = CuttingPlane(Stopping(1e-9, 10)).solve(risk, backend=backend)
    return time.perf_counter() - started, solution


def compare(shape: tuple[int, int, int], client: Client) -> list[Goal]:
    """Every backend against the serial one."""
    risk = make_risk(*shape)
    timed(risk, Serial())  # compiles
    serial, expected = timed(risk, Serial())
    backends = {
        "threads": Threads(2),
        "processes": Processes(2),
        "processes, the second time": Processes(2),
        "auto": Auto(2),
        "Dask": Dask(client),
    }
    goals = []
    for name, backend in backends.items():
        seconds, solution = timed(risk, backend)
        assert np.array_equal(solution.w, expected.w)
        title = "N={} T={} P={}".format(*shape)
        goals.append(Goal.against(f"{title}: 10 rounds, {name}; serial", seconds, serial))
    return goals


def main() -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        report("scaling", list(chain.from_iterable(compare(shape, client) for shape in SHAPES)))


if __name__ == "__main__":
    main()
