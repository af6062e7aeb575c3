"""``cvxpy.Problem.solve(method="cutting-plane")``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.problems.problem import SolverStats
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import LearningError, SettingsError, warn
from structsvm.masters.bounds import CONIC
from structsvm.modeling.atoms import OracleAtom
from structsvm.modeling.conflict import conflicting
from structsvm.modeling.outcome import Certified
from structsvm.modeling.prepared import Prepared, Restriction, prepared
from structsvm.modeling.program import CvxpyProgram
from structsvm.modeling.restricted import (
    Box,
    ByName,
    Conic,
    InfeasibleError,
    Restricted,
    UnboundedError,
    mixed_integer_solvers,
)
from structsvm.modeling.rewriting import atoms_of
from structsvm.modeling.separable import FastMaster
from structsvm.parallel import Backend, backend_from
from structsvm.solution import History, HistoryEntry
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.stopping import Stopping
from structsvm.status import Status
from structsvm.support.interrupts import Interrupts
from structsvm.support.quiet import without_warnings

Callback = Callable[[HistoryEntry], None]

INFEASIBLE = "infeasible: no point keeps the constraints"
UNBOUNDED = "unbounded: there is no minimum"
STALLED = "stalled: no new plane was found, and the restricted problem has no more digits"
OPTIMAL = "optimal within the tolerance: the bounds differ by at most tol of the size of the terms"
INEXACT = "as good as the oracles: no new plane was found, and their upper bounds leave this gap"
BY_ORACLES = ", and on the upper bounds that the oracles gave"

METHOD = "cutting-plane"


def register() -> None:
    """Let ``cvxpy.Problem.solve`` know of the method."""
    cp.Problem.register_solve(METHOD, solve)


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
    """Solve a convex problem with atoms that only oracles know; its optimal value.

    Called as ``problem.solve(method="cutting-plane", ...)``. The variables get the best point that
    was found, ``problem.solver_stats.extra_stats`` holds its certificate
    (:class:`~structsvm.modeling.Certified`), and each atom its ``planes``, with multipliers. Solved
    again, a problem begins with the planes that are known of its atoms: they hold whatever the
    value of a ``cvxpy.Parameter``, unless the oracle depends on it. Ctrl-C ends the run with the
    best point so far.

    Parameters
    ----------
    problem : cvxpy.Problem
    tol : float
        The gap between the certified bounds at which the run ends, relative to the size of the
        terms of the objective (``scale`` in the certificate).
    max_iter : int
        Rounds at most.
    max_seconds : float
        Wall time at most, looked at between oracle calls.
    slack : {"n", "one"}
        Whether a sum of many maxima, as :class:`~structsvm.modeling.StructuredHinge` is one, has
        cuts for each of them or for the sum.
    solver : str, optional
        What solves the restricted problems: Clarabel, whose bounds are checked, or any other solver
        that cvxpy has, whose bounds are believed. With boolean or integer variables a
        mixed-integer solver.
    verbose : bool
        Whether to print a line for each round.
    warm_start : bool
        Whether to begin with the values that the variables have and the planes that are known.
    backend : {"auto", "serial", "threads", "processes", "dask"} or Backend
    n_jobs : int, optional
        Where the oracles run, and on how many workers; the solution does not depend on it. Without
        a number they run here with "auto", and on as many workers as there are cores with others.
    callback : callable, optional
        Sees the :class:`~structsvm.solution.HistoryEntry` of every round.
    **options
        For the solver of the restricted problems.

    Returns
    -------
    float
        The objective at the point that was found; infinite for a problem without a point, or
        without a minimum.

    Raises
    ------
    SettingsError
        When a setting is not what it can be, or the problem is not one for this method.
    OracleError, PluginError
        When an oracle fails, or its answer cannot be that of a maximum of planes.
    MasterError
        When a restricted problem has no answer before there is a point with bounds; an
        UnboundedError when it has no minimum.
    """
    started = time.perf_counter()
    check_problem(problem)
    check_solver(problem, solver)
    check_options(options)
    damping = 0.0 if problem.is_mixed_integer() else 0.5
    method = CuttingPlane(
        Stopping(tol, max_iter, max_seconds), slack, damping=damping, cached_planes=0
    )
    is_chosen = n_jobs is None and backend in ("threads", "processes")
    workers = backend_from(backend, -1 if is_chosen else n_jobs)
    before = [(v, v.value) for v in problem.variables()]
    with Interrupts() as interrupts:  # what was found is kept before Ctrl-C is answered
        try:
            with interrupts.released():
                run = _Run(problem, slack, solver, options, warm_start)
            watched = _Watched(callback, verbose, run.prepared.sign)
            status, value, certified = run.solved(method, watched, workers, interrupts)
        except BaseException:
            for variable, old in before:
                variable.save_value(old)
            raise
        seconds = time.perf_counter() - started
        _finish(problem, status, value, replace(certified, seconds=seconds))
    return value


class _Run:
    """One solution of a problem."""

    def __init__(
        self,
        problem: cp.Problem,
        slack: str,
        solver: str | None,
        options: Mapping[str, Any],
        warm_start: bool,
    ) -> None:
        self.problem = problem
        self.prepared: Prepared = prepared(problem, slack)
        if not warm_start:
            for held in self.prepared.held:
                held.atom.pool.keep((), [])
        start = self.prepared.start(warm_start)
        solver_of = partial(_restricted, solver=solver, options=options, box=Box(start))
        self.program = CvxpyProgram(self.prepared, solver_of, start)

    def solved(
        self, method: CuttingPlane, watched: _Watched, backend: Backend, interrupts: Interrupts
    ) -> tuple[str, float, Certified]:
        """The status as cvxpy names it, the value, and the certificate."""
        sign = self.prepared.sign
        try:
            solution = method.solve(self.program, watched, backend=backend)
        except InfeasibleError:
            with interrupts.released():
                conflict = conflicting(self.problem, self.program)
            self._give_nothing()
            found = self._certified(watched, np.inf, np.inf, INFEASIBLE)
            return cp.INFEASIBLE, sign * np.inf, replace(found, gap=0.0, conflict=conflict)
        except UnboundedError:
            with interrupts.released():
                has_none = is_unbounded(self.program)
            if not has_none:
                raise
            self._give_nothing()
            found = self._certified(watched, -np.inf, -np.inf, UNBOUNDED)
            return cp.UNBOUNDED, -sign * np.inf, replace(found, gap=0.0)
        except LearningError as error:
            if error.status is None or self.program.w is None:
                raise
            return cp.USER_LIMIT, sign * np.inf, self._without_a_point(watched, error.status)
        self.program.give(solution.w, self.problem)
        lower, upper, scale = solution.lower, solution.upper, self.program.scale_at(solution.w)
        certified = replace(
            self._certified(watched, lower, upper, self._words(solution.status)),
            gap=(upper - lower) / scale if scale > 0 else 0.0,
            scale=scale,
            violation=self.program.violation_at(solution.w),
            bound=solution.bound + ("" if self.program.exact else BY_ORACLES),
        )
        if self._is_short(solution.status):
            warn(certified.summary(), ConvergenceWarning)
        return _word(solution.status), sign * self.program.value_at(solution.w), certified

    def _is_short(self, status: Status) -> bool:
        if status.converged or status is Status.INTERRUPTED:
            return False
        return status is not Status.STALLED or self.program.exact

    def _words(self, status: Status) -> str:
        if status is Status.OPTIMAL:
            return OPTIMAL
        if status is Status.STALLED:
            return STALLED if self.program.exact else INEXACT
        return str(status.value)

    def _without_a_point(self, watched: _Watched, status: Status) -> Certified:
        assert self.program.w is not None
        self.prepared.put(self.program.w)
        lower = watched.lower
        found = self._certified(watched, lower, np.inf, status.value)
        warn(
            f"{status.value}, and no point that keeps the constraints was found: the variables "
            "have the values of the last restricted problem, which break some",
            ConvergenceWarning,
        )
        return found

    def _certified(self, watched: _Watched, lower: float, upper: float, status: str) -> Certified:
        """The certificate, for the direction of the user's objective."""
        sign, entries = self.prepared.sign, watched.entries
        low, high = sorted((sign * lower, sign * upper))
        return Certified(
            lower=low,
            upper=high,
            gap=np.inf,
            scale=np.nan,
            violation=np.nan,
            status=status,
            bound=CONIC,
            rounds=len(entries),
            oracle_calls=entries[-1].oracle_calls if entries else self.program.calls,
            n_cuts=entries[-1].n_cuts if entries else 0,
            seconds=0.0,
            oracle_seconds=self.program.oracle_seconds,
            master_seconds=self.program.master_seconds,
            history=History(tuple(entries)),
        )

    def _give_nothing(self) -> None:
        """Without a solution variables have no values, nor constraints duals."""
        for variable in self.problem.variables():
            variable.save_value(None)
        for constraint in self.problem.constraints:
            for dual in constraint.dual_variables:
                dual.save_value(None)


def is_unbounded(program: CvxpyProgram) -> bool:
    """Whether the objective falls for ever where oracles were asked first, by what they said."""
    assert program.first is not None
    assert program.solver is not None
    restriction = program.solver.restriction
    restriction.put(*program.first)
    fixed = [heights == heights.value for heights in restriction.heights]
    for held in program.held:
        fixed += [arg == arg.value for arg in held.arguments if not arg.is_constant()]
    bare = restriction.problem
    problem = cp.Problem(bare.objective, [*bare.constraints, *fixed])
    try:
        with without_warnings(Warning):
            problem.solve(solver=None if problem.is_mixed_integer() else "CLARABEL")
    except cp.error.SolverError:
        return False
    return bool(problem.status == cp.UNBOUNDED)


def _restricted(
    restriction: Restriction, solver: str | None, options: Mapping[str, Any], box: Box
) -> Restricted:
    name = None if solver is None else solver.upper()
    if restriction.prepared.is_mixed_integer:
        usual = "HIGHS" if "HIGHS" in mixed_integer_solvers() else None
        return ByName(restriction, name or usual, options)
    if name is None and (fast := FastMaster.of(restriction, box, options)) is not None:
        return fast
    if name in (None, "CLARABEL"):
        return Conic(restriction, box, options)
    return ByName(restriction, name, options)


def _finish(problem: Any, status: str, value: float, certified: Certified) -> None:
    """Write what ``cvxpy.Problem`` shows of its last solution."""
    problem._status, problem._value = status, value
    problem._solver_stats = SolverStats(
        "structsvm cutting planes",
        solve_time=certified.seconds,
        num_iters=certified.rounds,
        extra_stats=certified,  # type: ignore[arg-type]
    )


def _word(status: Status) -> str:
    if status in (Status.STALLED, Status.MASTER_FAILED, Status.HEURISTIC):
        return cp.OPTIMAL_INACCURATE
    return cp.OPTIMAL if status.converged else cp.USER_LIMIT


class _Watched:
    """Keeps the rounds, in the direction of the user's objective, and shows them to who asks."""

    def __init__(self, callback: Callback | None, verbose: bool, sign: float) -> None:
        self.callback, self.verbose, self.sign = callback, verbose, sign
        self.entries: list[HistoryEntry] = []
        self.lower = -np.inf
        """The last lower bound of what is minimised."""

    def __call__(self, entry: HistoryEntry) -> None:
        self.lower = entry.lower
        if self.sign < 0:
            entry = replace(entry, lower=-entry.upper, upper=-entry.lower)
        self.entries.append(entry)
        if self.verbose:
            sys.stdout.write(
                f"round {entry.iteration + 1}: between {entry.lower:.8g} and {entry.upper:.8g}, "
                f"{entry.n_cuts} cuts, {entry.oracle_calls} oracle calls, {entry.seconds:.2f} s\n"
            )
        if self.callback is not None:
            self.callback(entry)


REWRITINGS = ("gp", "qcp", "requires_grad", "enforce_dpp", "ignore_dpp")


def check_problem(problem: cp.Problem) -> None:
    if not atoms_of(problem):
        raise SettingsError(
            "the problem has no atom with an oracle: call problem.solve() without "
            "method='cutting-plane'"
        )
    if not problem.variables():
        raise SettingsError(
            "the problem has no variables: the value of an expression is expression.value"
        )
    for atom in atoms_of(problem):
        inside = [v for arg in atom.args for v in arg.variables()]
        touched = [v.name() for v in inside if v.is_complex()]
        if touched:
            raise SettingsError(
                f"{atom.called} depends on {touched[0]}, which is complex: write its real and its "
                "imaginary part as variables of their own"
            )
    theirs = [p for atom in atoms_of(problem) for p in atom.parameters_of_oracle]
    for parameter in (*problem.parameters(), *theirs):
        if parameter.value is None:
            raise SettingsError(f"parameter {parameter.name()} has no value: give it one")
    if not problem.is_dcp():
        raise SettingsError(_not_convex(problem))


def check_options(options: Mapping[str, Any]) -> None:
    for name in REWRITINGS:
        if options.get(name):
            raise SettingsError(
                f"{name}=True is not for cutting planes, which solve convex problems (DCP) without "
                "derivatives of the solution: leave it out"
            )


def check_solver(problem: cp.Problem, solver: str | None) -> None:
    """Check that a solver is installed, and takes integers where there are some."""
    if solver is not None:
        installed = cp.installed_solvers()
        if solver.upper() not in installed:
            raise SettingsError(
                f"solver {solver!r} is not installed; these are: {', '.join(sorted(installed))}"
            )
    if not problem.is_mixed_integer():
        return
    fit = mixed_integer_solvers()
    if not fit:
        raise SettingsError(
            "some variables are boolean or integer, and no mixed-integer solver is installed: "
            "install one, such as HiGHS (pip install highspy)"
        )
    if solver is not None and solver.upper() not in fit:
        raise SettingsError(
            f"some variables are boolean or integer, which solver={solver!r} does not take; these "
            f"do: {', '.join(fit)}"
        )


def _not_convex(problem: cp.Problem) -> str:
    """Which part of a problem is not convex by the rules of cvxpy."""
    parts: list[tuple[str, Any]] = [("the objective", problem.objective)]
    parts += [(f"constraint {k}", part) for k, part in enumerate(problem.constraints)]
    where, part = next((where, part) for where, part in parts if not part.is_dcp())
    atom = _held(part)
    if atom is None:
        return f"{where}, {part}, is not convex by the rules of cvxpy (DCP)"
    return (
        f"{where}, {part}, is not convex by the rules of cvxpy (DCP): {atom.called} is convex, so "
        "that it may be minimised and bounded from above, and stand in what is convex and "
        "increasing in it; declare its sign if that is what the rules lack"
    )


def _held(node: Any) -> OracleAtom | None:
    if isinstance(node, OracleAtom):
        return node
    found = (_held(arg) for arg in getattr(node, "args", []))
    return next((atom for atom in found if atom is not None), None)
