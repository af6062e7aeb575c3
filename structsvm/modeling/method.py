"""``cvxpy.Problem.solve(method="cutting-plane")``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.problems.problem import SolverStats

from structsvm.errors import SettingsError
from structsvm.modeling.conic import InfeasibleError
from structsvm.modeling.outcome import Certified
from structsvm.modeling.program import CvxpyProgram
from structsvm.modeling.rewriting import atoms_of, rewritten
from structsvm.parallel import Backend, backend_from
from structsvm.solution import HistoryEntry
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.stopping import Stopping
from structsvm.status import Status
from structsvm.support.checks import among

__all__ = ["solve"]

Callback = Callable[[HistoryEntry], None]


def solve(
    problem: cp.Problem,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    max_seconds: float = np.inf,
    slack: str = "n",
    solver: str | None = None,
    verbose: bool = False,
    warm_start: bool = True,
    backend: str | Backend = "serial",
    n_jobs: int | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> float:
    """Solve a convex problem with atoms that oracles know; its optimal value.

    Called as ``problem.solve(method="cutting-plane", ...)`` once :mod:`structsvm.modeling` is
    imported.

    Raises
    ------
    SettingsError
        When a setting is not what it can be, or the problem is of no use to this method.
    """
    started = time.perf_counter()
    atoms = atoms_of(problem)
    if not atoms:
        raise SettingsError(
            "the problem holds no OracleMax: call problem.solve() without method='cutting-plane'"
        )
    if not among(solver, (None, "CLARABEL")):
        raise SettingsError(f"solver must be 'CLARABEL' or None, got {solver!r}")
    if not among(slack, ("n", "one")):
        raise SettingsError(f"slack must be 'n' or 'one', got {slack!r}")
    method = CuttingPlane(Stopping(tol, max_iter, max_seconds), slack, cached_planes=0)
    workers = backend_from(backend, n_jobs)
    program = CvxpyProgram(
        rewritten(problem, slack), problem.variables(), slack, options, warm_start
    )
    sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
    watched = _Watched(callback, verbose, sign)
    try:
        solution = method.solve(program, watched, backend=workers)
    except InfeasibleError:
        _finish(problem, cp.INFEASIBLE, sign * np.inf)
        return sign * np.inf
    value = sign * program.objective_at(solution.w)
    program.give(solution.w, problem)
    lower, upper = sorted((sign * solution.lower, sign * solution.upper))
    seconds = time.perf_counter() - started
    certified = Certified(
        lower=lower,
        upper=upper,
        gap=solution.gap,
        status=solution.status,
        bound=solution.bound,
        rounds=solution.n_iter,
        oracle_calls=solution.oracle_calls,
        n_cuts=solution.history[-1].n_cuts if len(solution.history) else 0,
        seconds=seconds,
        oracle_seconds=program.oracle_seconds,
        master_seconds=program.master_seconds,
        history=solution.history,
    )
    _finish(problem, _word(solution.status), value, certified)
    return value


def _finish(problem: Any, status: str, value: float, certified: Certified | None = None) -> None:
    """Write what ``cvxpy.Problem`` shows of its last solution."""
    problem._status, problem._value = status, value
    if certified is not None:
        problem._solver_stats = SolverStats(
            "structsvm cutting planes",
            solve_time=certified.seconds,
            num_iters=certified.rounds,
            extra_stats=certified,  # type: ignore[arg-type]
        )


def _word(status: Status) -> str:
    """The status as cvxpy names it."""
    if status.converged:
        return cp.OPTIMAL
    return cp.OPTIMAL_INACCURATE if status is Status.STALLED else cp.USER_LIMIT


@dataclass(frozen=True)
class _Watched:
    """Shows the rounds to whoever wants to see them."""

    callback: Callback | None
    verbose: bool
    sign: float

    def __call__(self, entry: HistoryEntry) -> None:
        if self.verbose:
            sys.stdout.write(
                f"round {entry.iteration + 1}: between {entry.lower:.8g} and {entry.upper:.8g}, "
                f"{entry.n_cuts} cuts, {entry.oracle_calls} oracle calls, {entry.seconds:.2f} s\n"
            )
        if self.callback is not None:
            self.callback(entry)
