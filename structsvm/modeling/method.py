"""``cvxpy.Problem.solve(method="cutting-plane")``."""

import sys
import time
from dataclasses import replace
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.problems.problem import SolverStats
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import SettingsError, warn
from structsvm.masters import PROVED
from structsvm.modeling.certified import Certified
from structsvm.modeling.restricted import InfeasibleError
from structsvm.modeling.rewriting import atoms_of
from structsvm.modeling.run import ProgramRun
from structsvm.parallel import Backend, backend_from
from structsvm.problem import History, HistoryEntry, Solution, Status
from structsvm.solvers import CuttingPlane, Stopping
from structsvm.solvers.base import Callback
from structsvm.solvers.certificate import of_relaxed
from structsvm.support import Interrupts

INFEASIBLE = "infeasible: no point keeps the constraints"
STALLED = "stalled: no new plane was found, and the restricted problem has no more digits"
OPTIMAL = "optimal within the tolerance: the bounds differ by at most tol of the size of the terms"
LIMITED_BY_ORACLES = (
    "as good as the oracles: no new plane was found, and their upper bounds leave this gap"
)
BY_ORACLES = ", and on the upper bounds that the oracles gave"
BY_MEMORY = (
    ", and on planes of earlier solutions, of oracles that say what they said at the last one"
)


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
    backend: str | Backend = "auto",
    n_jobs: int | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> float:
    """Solve a convex problem with atoms that oracles evaluate; returns its optimal value.

    Called as ``problem.solve(method="cutting-plane", ...)``. The variables get the best point that
    was found, ``problem.solver_stats.extra_stats`` holds its certificate
    (:class:`~structsvm.modeling.Certified`), and each atom its ``planes``, with multipliers. When a
    problem is solved again, it begins with the known planes of its atoms, which hold for all values
    of a ``cvxpy.Parameter`` that the oracle does not depend on. If an oracle answers differently at
    the last solution, its planes are dropped with an OracleWarning. Ctrl-C ends the run with the
    best point so far.

    Parameters
    ----------
    problem : cvxpy.Problem
    tol : float
        The gap between the certified bounds at which the run ends, relative to the size of the
        terms of the objective (``scale`` in the certificate).
    max_iter : int
        Most rounds.
    max_seconds : float
        Most wall time, checked between oracle calls.
    slack : {"n", "one"}
        Whether a sum of many maxima, such as :class:`~structsvm.modeling.StructuredHinge`, has cuts
        for each of them or for the sum.
    solver : str, optional
        The solver of the restricted problems: Clarabel, whose bounds are checked, or any other
        solver of cvxpy, whose bounds are trusted. With boolean or integer variables a mixed-integer
        solver.
    verbose : bool
        Whether to print a line for each round.
    warm_start : bool
        Whether to begin with the values of the variables and the known planes of atoms.
    backend : {"auto", "serial", "threads", "processes", "dask"} or Backend
    n_jobs : int, optional
        Where the oracles run, and on how many workers; the solution does not depend on it. Without
        a number they run in this process with "auto", and on all cores with other backends.
    callback : callable, optional
        It is called with the :class:`~structsvm.problem.HistoryEntry` of every round.
    **options
        Options of the solver of the restricted problems.

    Returns
    -------
    float
        The objective at the point that was found; infinite if the problem is infeasible.

    Raises
    ------
    SettingsError
        When a setting has a wrong value, or this method does not take the problem.
    OracleError, PluginError
        When an oracle fails, or its answers contradict each other.
    MasterError
        When a restricted problem cannot be solved, for example because it is unbounded, before any
        point has bounds.
    LearningError
        When the run ends before any point keeps the constraints.
    """
    started = time.perf_counter()
    _check(problem)
    damping = 0.0 if problem.is_mixed_integer() else 0.5
    method = CuttingPlane(
        Stopping(tol, max_iter, max_seconds), slack, damping=damping, cached_planes=0
    )
    is_chosen = n_jobs is None and backend in ("threads", "processes")
    workers = backend_from(backend, -1 if is_chosen else n_jobs)
    before = [(v, v.value) for v in problem.variables()]

    def show(entry: HistoryEntry) -> None:
        """Report a round."""
        entry = _signed(entry, run.rewritten.sign)
        if verbose:
            sys.stdout.write(
                f"round {entry.iteration + 1}: between {entry.lower:.8g} and {entry.upper:.8g}, "
                f"{entry.n_cuts} cuts, {entry.oracle_calls} oracle calls, {entry.seconds:.2f} s\n"
            )
        if callback is not None:
            callback(entry)

    with Interrupts() as interrupts:  # Ctrl-C is answered after the solution has been stored
        try:
            with interrupts.released():
                run = ProgramRun(problem, slack, solver, options, warm_start)
            try:
                status, value, certified = _solution_given(
                    problem, run, method.solve(run, show, backend=workers)
                )
            except InfeasibleError:
                with interrupts.released():
                    status, value, certified = _infeasible(problem, run)
        except BaseException:
            for variable, old in before:
                variable.save_value(old)
            raise
        # The attributes in which cvxpy.Problem stores its last solution.
        problem._status, problem._value = status, value  # type: ignore[assignment]
        seconds = time.perf_counter() - started
        problem._solver_stats = SolverStats(
            "structsvm cutting planes",
            solve_time=seconds,
            num_iters=certified.rounds,
            extra_stats=replace(certified, seconds=seconds),  # type: ignore[arg-type]
        )
    return value


def _solution_given(
    problem: cp.Problem, run: ProgramRun, solution: Solution
) -> tuple[str, float, Certified]:
    """Store a solution in the problem; its status for cvxpy, its value and its certificate."""
    run.give(solution.w, problem)
    status = solution.status
    bounds = (solution.lower, solution.upper)
    words = {Status.OPTIMAL: OPTIMAL, Status.STALLED: STALLED if run.exact else LIMITED_BY_ORACLES}
    bound = solution.bound + ("" if run.exact else BY_ORACLES)
    bound += BY_MEMORY if run.rests_on_memory else ""
    if run.best is not None:
        bound = of_relaxed(bound, run.best.broken)
    certified = _certified(run, bounds, words.get(status, status.value), bound)
    is_short = not status.converged and status is not Status.INTERRUPTED
    if is_short and (status is not Status.STALLED or run.exact):
        warn(certified.summary(), ConvergenceWarning)
    word = cp.OPTIMAL if status.converged else cp.USER_LIMIT
    if status in (Status.STALLED, Status.MASTER_FAILED, Status.HEURISTIC):
        word = cp.OPTIMAL_INACCURATE
    return word, run.rewritten.sign * solution.upper, certified


def _infeasible(problem: cp.Problem, run: ProgramRun) -> tuple[str, float, Certified]:
    """Clear the solution of an infeasible problem; status, value and certificate as above."""
    conflict = run.conflicts(problem.constraints)
    duals = chain.from_iterable(c.dual_variables for c in problem.constraints)
    for leaf in (*problem.variables(), *duals):
        leaf.save_value(None)
    certified = _certified(run, (np.inf, np.inf), INFEASIBLE, PROVED)
    return cp.INFEASIBLE, run.rewritten.sign * np.inf, replace(certified, conflict=conflict)


def _certified(run: ProgramRun, bounds: tuple[float, float], status: str, bound: str) -> Certified:
    """The certificate of a run, whose bounds are negated for a maximisation."""
    sign = run.rewritten.sign
    scale = run.certificate.scale
    scale = np.nan if scale is None else scale
    entries = tuple(_signed(entry, sign) for entry in run.certificate.entries)
    lower, upper = sorted(sign * bound for bound in bounds)
    return Certified(
        lower=lower,
        upper=upper,
        gap=(upper - lower) / scale if scale > 0 else 0.0,
        scale=scale,
        violation=np.nan if run.best is None else run.best.broken,
        status=status,
        bound=bound,
        rounds=len(entries),
        oracle_calls=run.oracle_calls,
        n_cuts=entries[-1].n_cuts if entries else 0,
        seconds=0.0,
        oracle_seconds=run.oracle_seconds,
        master_seconds=run.master_seconds,
        history=History(entries),
    )


def _signed(entry: HistoryEntry, sign: float) -> HistoryEntry:
    """A round, whose bounds are negated for a maximisation."""
    return entry if sign > 0 else replace(entry, lower=-entry.upper, upper=-entry.lower)


def _check(problem: cp.Problem) -> None:
    """Refuse a problem that this method does not take."""
    atoms = atoms_of(problem.objective, *problem.constraints)
    if not atoms:
        raise SettingsError(
            "the problem has no atom with an oracle: call problem.solve() without "
            "method='cutting-plane'"
        )
    for atom in atoms:
        for v in chain.from_iterable(arg.variables() for arg in atom.args):
            if v.is_complex():
                raise SettingsError(
                    f"{atom.called} depends on {v.name()}, which is complex: write its real and "
                    "its imaginary part as variables of their own"
                )
    theirs = chain.from_iterable(atom.parameters_of_oracle for atom in atoms)
    for parameter in (*problem.parameters(), *theirs):
        if parameter.value is None:
            raise SettingsError(f"parameter {parameter.name()} has no value: give it one")
    for part in (problem.objective, *problem.constraints):
        if not part.is_dcp():
            advice = "".join(
                f": {atom.called} is convex, so that it may be minimised and bounded from above, "
                "and stand in what is convex and increasing in it; declare its sign if that is "
                "what the rules lack"
                for atom in atoms_of(part)[:1]
            )
            raise SettingsError(f"{part} is not convex by the rules of cvxpy (DCP){advice}")
