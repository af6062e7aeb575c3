"""Large restricted problems: many slacks, many features, one slack with a trace.

    make bench-large

The recordings are those of benchmarks/solvers.py. Every run is a fresh interpreter, whose peak of
memory is its own; times are CPU seconds on one thread, without making the recordings. A run counts
as reaching its goal only if it also reaches its gap.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace

from _harness import Goal, printed_by, report
from solvers import LAM, make_risk

from structsvm.problem import SquaredNorm, Trace
from structsvm.solvers import CuttingPlane, Stopping

LIMIT = 600.0
"""Wall time, in seconds, that a run may take."""


def run(
    metric: str, N: int, T: int, P: int, tol: float, slack: str = "n", omega: str = "squared"
) -> None:
    """Print CPU seconds, the gap, oracle calls, and the GB of the process before and after."""
    CuttingPlane(Stopping(0.9)).solve(make_risk(3, 200, 12, metric))  # loads what is compiled
    risk = make_risk(N, T, P, metric)
    regularizer = Trace() if omega == "trace" else SquaredNorm()
    risk = replace(risk, regularizer=risk.problem.regularizer(regularizer, LAM))
    before = _peak()
    started = time.process_time()
    solution = CuttingPlane(Stopping(tol, 2000, LIMIT), slack).solve(risk)
    took = time.process_time() - started
    print(took, solution.gap, solution.oracle_calls, before, _peak())


def _peak() -> float:
    """Peak memory so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measured(name: str, arguments: str, tol: float, seconds: float | None) -> list[Goal]:
    """One run: its time against a limit, and what else there is to know."""
    code = f"import large; large.run({arguments})"
    took, gap, calls, before, after = printed_by(code)
    print(name, took, gap, calls, before, after, flush=True)
    name = f"{name}, gap {tol:g}"
    if seconds is None:
        timed = Goal(f"{name}: seconds", took)
    else:
        reached = took <= seconds and gap <= tol
        timed = Goal(f"{name}: seconds", took, seconds, took / seconds, 1.0, reached)
    return [
        timed,
        Goal.at_most(f"{name}: gap reached", gap, tol, 1.0),
        Goal(f"{name}: oracle calls", calls),
        Goal(f"{name}: GB of memory; before learning", after, before),
    ]


def main() -> None:
    goals = [
        *measured("full 600, N 10, T 600", "'full', 10, 600, 600, 1e-2", 1e-2, 25.0),
        *measured("full 1000, N 10, T 600", "'full', 10, 600, 1000, 1e-2", 1e-2, 120.0),
        *measured("diagonal 10, N 10000, T 200", "'diagonal', 10000, 200, 10, 1e-3", 1e-3, None),
        *measured(
            "1-slack, trace, full 60, N 10, T 400",
            "'full', 10, 400, 60, 1e-3, 'one', 'trace'",
            1e-3,
            None,
        ),
    ]
    report("large", goals)


if __name__ == "__main__":
    main()
