"""Solvers and masters against the same loop with cvxpy, to a certified relative gap.

    make bench-solvers

Synthetic recordings in which 10 features of P matter. Times are CPU seconds on one thread, so that
other work on the machine matters less. A run that does not reach its gap within its time limit
counts with what it took, so that the ratio is a lower bound.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _harness import Goal, report
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from structsvm import ChangePoint, Solution
from structsvm.datasets import relevant_changes
from structsvm.masters.base import Request, WorkingSet
from structsvm.masters.bounds import lower_bound
from structsvm.partitions import Examples, Instance
from structsvm.problem import RegularizedRisk, Regularizer, SquaredNorm
from structsvm.solvers import CuttingPlane, CvxpyMaster, NewtonMaster, Solver, Stopping
from structsvm.solvers.auto import solver_from
from structsvm.solvers.run import Run

Floats = NDArray[np.float64]

LIMIT = 120.0
"""Wall time, in seconds, that a run may take."""
LAM = 0.1
SQUARED = SquaredNorm()
SUITE = {"auto": LIMIT, "one-slack": LIMIT, "frank-wolfe": 30.0, "subgradient": 15.0}
"""Solvers by name, and their wall time: those that would take minutes are stopped before."""


def make_risk(
    N: int, T: int, P: int, metric: str, regularizer: Regularizer = SQUARED
) -> RegularizedRisk:
    """N recordings of T samples and P features, each z-scored."""
    problem = ChangePoint()
    recordings = relevant_changes(N, n_samples=T, n_features=P, random_state=0)
    objective = problem.objective(metric, P)
    instances = [Instance((r.X - r.X.mean(0)) / r.X.std(0) / np.sqrt(P)) for r in recordings]
    truths = [problem.encode(r.y, x) for r, x in zip(recordings, instances, strict=True)]
    return objective.risk(Examples(instances, truths), objective.regularizer(regularizer, LAM))


def cpu_seconds(run: Callable[[], Any], repeats: int = 3) -> float:
    """Median CPU time, which on one thread is what a machine of one's own would take."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return statistics.median(times)


class Runs:
    """The runs so far, one row each."""

    def __init__(self) -> None:
        self.reached = False
        """Whether the last one came to its tolerance."""
        self.table = Table(title="runs")
        for heading in ("problem", "solver", "CPU s", "calls", "iterations", "gap", "status"):
            self.table.add_column(heading)

    def run(self, problem: str, name: str, solver: Solver, risk: RegularizedRisk) -> float:
        """CPU seconds to the solver's tolerance, or to its time limit."""
        started = time.process_time()
        solution: Solution = solver.solve(risk)
        took = time.process_time() - started
        self.reached = solution.status.converged
        row = (f"{took:.2f}", solution.oracle_calls, solution.n_iter)
        gap = f"{solution.gap:.1e}"
        self.table.add_row(problem, name, *map(str, row), gap, solution.status.name)
        print(problem, name, *row, gap, solution.status.name, flush=True)
        return took


def main() -> None:
    runs = Runs()
    goals = [
        full_metric(runs),
        full_master(),
        *diagonal_metric(runs),
        *suite(runs),
        *scale(runs),
    ]
    Console(width=130).print(runs.table)
    report("solvers", goals)


def full_metric(runs: Runs) -> Goal:
    """P = 60, N = 10, gap 1e-2: against the same loop with the faster of two conic solvers."""
    risk = make_risk(10, 400, 60, "full")
    name = "full 60, N 10, 0.01"
    stop = Stopping(1e-2, 1000, LIMIT)
    runs.run(name, "warm-up", CuttingPlane(Stopping(0.9)), risk)
    ours = runs.run(name, "default", CuttingPlane(stop), risk)
    peers = [
        runs.run(name, f"cvxpy {solver}", CuttingPlane(stop, master=CvxpyMaster(solver)), risk)
        for solver in ("scs", "clarabel")
    ]
    return Goal.at_least(f"{name}: times faster than cvxpy masters", ours, min(peers), 25)


def full_master() -> Goal:
    """P = 100, one slack, 100 cuts, to 1e-5: against Clarabel through cvxpy."""
    risk = make_risk(10, 400, 100, "full")
    cuts = one_slack_cuts(risk, 100)
    request = Request(1e-5)

    def gap(w: Floats, multipliers: Floats) -> float:
        upper = risk.penalty(w) + float(cuts.group_values(w).sum())
        return (upper - lower_bound(risk, cuts, multipliers, upper)[0]) / upper

    answer = NewtonMaster().solve(risk, cuts, request)
    assert gap(answer.w, answer.multipliers) <= 1e-5
    ours = cpu_seconds(lambda: NewtonMaster().solve(risk, cuts, request))
    peer = cpu_seconds(lambda: CvxpyMaster("clarabel").solve(risk, cuts, request), repeats=1)
    return Goal.at_least("full 100, 100 cuts, 1e-5: times faster than Clarabel", ours, peer, 100)


def one_slack_cuts(risk: RegularizedRisk, n_cuts: int) -> WorkingSet:
    """The cuts of that many rounds of the plain 1-slack method."""
    run = Run(risk, Stopping())
    groups = np.zeros(risk.n_instances, dtype=np.int64)
    cuts = WorkingSet(1, risk.space.dim)
    cuts.add(run.start(groups))
    while len(cuts) < n_cuts:
        cuts.add(run.evaluate(NewtonMaster().solve(risk, cuts, Request()).w, groups).cuts())
    return cuts


def diagonal_metric(runs: Runs) -> list[Goal]:
    """P = 300, N = 10, gap 1e-3: against one slack with cvxpy and SCS."""
    risk = make_risk(10, 600, 300, "diagonal")
    name = "diagonal 300, N 10, 0.001"
    stop = Stopping(1e-3, 2000, LIMIT)
    runs.run(name, "warm-up", CuttingPlane(Stopping(0.9)), risk)
    ours = runs.run(name, "default", CuttingPlane(stop), risk)
    plain = CuttingPlane(stop, "one", CvxpyMaster("scs"), damping=0.0, cached_planes=0)
    peer = runs.run(name, "1-slack, cvxpy scs", plain, risk)
    fastest = runs.run(name, "cvxpy clarabel", CuttingPlane(stop, master=CvxpyMaster()), risk)
    return [
        Goal.at_least(f"{name}: times faster than 1-slack with cvxpy and SCS", ours, peer, 3),
        Goal.at_least(f"{name}: times faster than n-slack with Clarabel", ours, fastest, 1),
    ]


def suite(runs: Runs) -> list[Goal]:
    """Every instance, to its gap: ``solver="auto"`` against the best of the suite."""
    goals = []
    for metric, N, T, P, tol in (
        ("diagonal", 10, 600, 300, 1e-3),
        ("full", 10, 400, 60, 1e-2),
        ("diagonal", 200, 200, 10, 1e-3),
        ("diagonal", 200, 200, 300, 1e-3),
        ("full", 200, 200, 30, 1e-3),
    ):
        risk = make_risk(N, T, P, metric)
        name = f"{metric} {P}, N {N}, {tol:g}"
        times = {}
        for solver, most in SUITE.items():
            took = runs.run(name, solver, solver_from(solver, Stopping(tol, 1000, most)), risk)
            times[solver] = took if runs.reached or solver == "auto" else np.inf
        best = min(times.values())
        goals.append(Goal.at_most(f"{name}: times the best of the suite", times["auto"], best, 2))
    return goals


def scale(runs: Runs) -> list[Goal]:
    """P = 300 full, and 1,000 recordings: in less than 2 GB."""
    large = CuttingPlane(Stopping(1e-2, 1000, 300.0))
    risk = make_risk(10, 600, 300, "full")
    name = "full 300, N 10, 0.01"
    took = runs.run(name, "default", large, risk)
    risk = make_risk(1000, 200, 30, "full")
    many = runs.run("full 30, N 1000, 0.01", "default", large, risk)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        Goal.at_most(f"{name}: seconds of 300", took, 300.0, 1),
        Goal.at_most("full 30, N 1000, 0.01: seconds of 300", many, 300.0, 1),
        Goal.at_most("all of this: GB of memory of 2", memory, 2.0, 1),
    ]


if __name__ == "__main__":
    main()
