"""``cvxpy.Problem.solve(method="cutting-plane")``."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, Equality, Inequality
from cvxpy.problems.problem import SolverStats
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import (
    MasterError,
    OracleError,
    OracleWarning,
    SettingsError,
    warn,
    without_warnings,
)
from structsvm.masters.base import Cut, Master, MasterSolution, Request, WorkingSet
from structsvm.masters.conic import PROVED
from structsvm.masters.cvxpy import PRECISE_OPTIONS, price, violation
from structsvm.modeling.atoms import SLIPS, Plane, Touch, ask
from structsvm.modeling.restricted import (
    LEAST,
    SCALES,
    Box,
    InfeasibleError,
    Restricted,
    Restriction,
    levels,
    solver_of,
)
from structsvm.modeling.rewriting import Held, Rewritten, Sizes, atoms_of
from structsvm.parallel import Backend, SerialSession, backend_from
from structsvm.solvers.base import Callback
from structsvm.solvers.certificate import (
    ADMISSIBLE,
    BudgetSpentError,
    Certificate,
    Stopping,
)
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.planes import Planes, weakest
from structsvm.solvers.run import CutRun
from structsvm.status import History, HistoryEntry, Quality, Solution, Status
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted
from structsvm.support.interrupts import Interrupts

INFEASIBLE = "infeasible: no point keeps the constraints"
STALLED = "stalled: no new plane was found, and the restricted problem has no more digits"
OPTIMAL = "optimal within the tolerance: the bounds differ by at most tol of the size of the terms"
INEXACT = "as good as the oracles: no new plane was found, and their upper bounds leave this gap"
BY_ORACLES = ", and on the upper bounds that the oracles gave"
BY_MEMORY = (
    ", and on planes of earlier solutions, of oracles that say what they said at the last one"
)


@dataclass(frozen=True)
class Certified:
    """Bounds of the optimal value of a problem, and the cost of the run.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import numpy as np
    >>> from structsvm.modeling import OracleMax
    >>> x = cp.Variable(2)
    >>> largest = OracleMax(x, lambda at: (at.max(), np.eye(2)[at.argmax()]))
    >>> problem = cp.Problem(cp.Minimize(largest + cp.sum_squares(x)))
    >>> value = problem.solve(method="cutting-plane", tol=1e-6)
    >>> stats = problem.solver_stats.extra_stats
    >>> type(stats).__name__, stats.lower <= value <= stats.upper, bool(stats.gap < 1e-6)
    ('Certified', True, True)
    """

    lower: float
    """No feasible point has a lower objective; minus infinity where nothing is known."""
    upper: float
    """No feasible point has a higher optimum; infinity where nothing is known."""
    gap: float
    """``(upper - lower) / scale``."""
    scale: float
    """The size of the terms of the objective at the point: the sum of their magnitudes, and with
    that of an atom those of the intercept and the products of which its plane is the sum."""
    violation: float
    """By how much the point breaks a constraint at most, relative to the size of its terms."""
    status: str
    """How the run ended, in a sentence."""
    bound: str
    """What the bounds rest on."""
    rounds: int
    oracle_calls: int
    n_cuts: int
    """Cuts in the last restricted problem."""
    seconds: float
    """Wall time of all."""
    oracle_seconds: float
    """In calls of oracles, on all workers at once."""
    master_seconds: float
    """In restricted problems."""
    conflict: tuple[str, ...] = ()
    """Of an infeasible problem: constraints that contradict each other."""
    history: History = field(repr=False, default_factory=History)

    def summary(self) -> str:
        """Return one paragraph that says how the run ended and how good the answer is."""
        return (
            f"{self.status}. Optimal value between {self.lower:.6g} and {self.upper:.6g}, gap "
            f"{self.gap:.2g} of the size of its terms, {self.scale:.2g} ({self.bound}); "
            f"constraints kept to {self.violation:.1g} of the size of theirs; "
            f"{counted(self.rounds, 'round')}, {counted(self.oracle_calls, 'oracle call')}, "
            f"{self.seconds:.1f} s."
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
    """Solve a convex problem with atoms that only oracles know; its optimal value.

    Called as ``problem.solve(method="cutting-plane", ...)``. The variables get the best point that
    was found, ``problem.solver_stats.extra_stats`` holds its certificate
    (:class:`~structsvm.modeling.Certified`), and each atom its ``planes``, with multipliers. Solved
    again, a problem begins with the planes that are known of its atoms: they hold whatever the
    value of a ``cvxpy.Parameter``, unless the oracle depends on it. Planes of an oracle that no
    longer says at the last solution what it said there are forgotten, with an OracleWarning. Ctrl-C
    ends the run with the best point so far.

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
        Sees the :class:`~structsvm.status.HistoryEntry` of every round.
    **options
        For the solver of the restricted problems.

    Returns
    -------
    float
        The objective at the point that was found; infinite for a problem without a point.

    Raises
    ------
    SettingsError
        When a setting is not what it can be, or the problem is not one for this method.
    OracleError, PluginError
        When an oracle fails, or its answer cannot be that of a maximum of planes.
    MasterError
        When a restricted problem has no answer before there is a point with bounds, as where it
        has no minimum.
    LearningError
        When the run ends before there is a point that keeps the constraints.
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
        entry = _signed(entry, run.rewritten.sign)
        if verbose:
            sys.stdout.write(
                f"round {entry.iteration + 1}: between {entry.lower:.8g} and {entry.upper:.8g}, "
                f"{entry.n_cuts} cuts, {entry.oracle_calls} oracle calls, {entry.seconds:.2f} s\n"
            )
        if callback is not None:
            callback(entry)

    with Interrupts() as interrupts:  # what was found is kept before Ctrl-C is answered
        try:
            with interrupts.released():
                run = ProgramRun(problem, slack, solver, options, warm_start)
            try:
                status, value, found = _given(
                    problem, run, method.solve(run, show, backend=workers)
                )
            except InfeasibleError:
                with interrupts.released():
                    status, value, found = _infeasible(problem, run)
        except BaseException:
            for variable, old in before:
                variable.save_value(old)
            raise
        # What cvxpy.Problem shows of its last solution.
        problem._status, problem._value = status, value  # type: ignore[assignment]
        seconds = time.perf_counter() - started
        problem._solver_stats = SolverStats(
            "structsvm cutting planes",
            solve_time=seconds,
            num_iters=found.rounds,
            extra_stats=replace(found, seconds=seconds),  # type: ignore[arg-type]
        )
    return value


def _given(
    problem: cp.Problem, run: ProgramRun, solution: Solution
) -> tuple[str, float, Certified]:
    """Give the problem its solution: the status as cvxpy names it, the value, the certificate."""
    run.give(solution.w, problem)
    status = solution.status
    bounds = (solution.lower, solution.upper)
    words = {Status.OPTIMAL: OPTIMAL, Status.STALLED: STALLED if run.exact else INEXACT}
    bound = solution.bound + ("" if run.exact else BY_ORACLES)
    bound += BY_MEMORY if run.rests_on_memory else ""
    certified = _certified(run, bounds, words.get(status, status.value), bound)
    is_short = not status.converged and status is not Status.INTERRUPTED
    if is_short and (status is not Status.STALLED or run.exact):
        warn(certified.summary(), ConvergenceWarning)
    word = cp.OPTIMAL if status.converged else cp.USER_LIMIT
    if status in (Status.STALLED, Status.MASTER_FAILED, Status.HEURISTIC):
        word = cp.OPTIMAL_INACCURATE
    return word, run.rewritten.sign * solution.upper, certified


def _infeasible(problem: cp.Problem, run: ProgramRun) -> tuple[str, float, Certified]:
    """The same of a problem without a point."""
    conflict = run.conflicts(problem)
    duals = [dual for c in problem.constraints for dual in c.dual_variables]
    for leaf in (*problem.variables(), *duals):
        leaf.save_value(None)
    found = _certified(run, (np.inf, np.inf), INFEASIBLE, PROVED)
    return cp.INFEASIBLE, run.rewritten.sign * np.inf, replace(found, conflict=conflict)


def _certified(run: ProgramRun, bounds: tuple[float, float], status: str, bound: str) -> Certified:
    """The certificate, for the direction of the user's objective."""
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
        violation=run.best_violation,
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
    """A round, in the direction of the user's objective."""
    return entry if sign > 0 else replace(entry, lower=-entry.upper, upper=-entry.lower)


def _check(problem: cp.Problem) -> None:
    """Check that a problem is one for this method."""
    atoms = atoms_of(problem.objective, *problem.constraints)
    if not atoms:
        raise SettingsError(
            "the problem has no atom with an oracle: call problem.solve() without "
            "method='cutting-plane'"
        )
    for atom in atoms:
        for v in (v for arg in atom.args for v in arg.variables() if v.is_complex()):
            raise SettingsError(
                f"{atom.called} depends on {v.name()}, which is complex: write its real and its "
                "imaginary part as variables of their own"
            )
    theirs = [p for atom in atoms for p in atom.parameters_of_oracle]
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


# ---- the run of the cutting-plane method over such a problem

ROOM = 2**26
"""Bytes of the planes that are kept of an atom, at most: the latest."""

ACTIVE = 1e-7
"""A multiplier below which a plane has no part in a solution."""

ROUNDING = 1e-12
"""Of the size of the terms that an intercept was computed from."""

EXACT = 1e-9
"""Relative distance of an upper bound to its value that is only rounding."""

WITNESSES = 20
"""Points at which later planes are compared with what the oracles said before."""

SEEN = 1e-9
"""A slack below which a constraint is kept, in units that may be far larger than its terms."""


class ProgramRun(CutRun):
    """``min f(w, h(w))`` over convex constraints on ``w`` and ``h(w)``, which oracles know.

    ``f`` and the constraints never improve as a value of ``h`` grows, so that planes below ``h``
    bound the minimum from below, and values above ``h`` bound it from above. ``w`` is the vector
    of all variables of the user, column by column.
    """

    def __init__(
        self,
        problem: cp.Problem,
        slack: str,
        solver: str | None,
        options: Mapping[str, Any],
        warm_start: bool,
    ) -> None:
        self.rewritten = rewritten = Rewritten(problem, slack)
        self.held = rewritten.held
        self.dim = rewritten.dim
        if not warm_start:
            for held in self.held:
                held.atom.pool.clear()
        self._start = rewritten.start(warm_start)
        name = None if solver is None else solver.upper()
        self._solver_of = partial(solver_of, box=Box(self._start), solver=name, options=options)
        self.n_samples = sum(h.atom.n_terms for h in self.held)
        self.parts = [part for a, held in enumerate(self.held) for part in held.atom.parts(a)]
        self.session = SerialSession(self.parts)
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.null = np.nan
        self.solver: Restricted | None = None
        """Solver of the last restricted problem."""
        self.master_seconds = self.oracle_seconds = 0.0
        self.exact = True
        """Whether no oracle has given an upper bound above its value."""
        self.best_violation = np.nan
        """Largest violation at the best point."""
        rewritten.map_arguments()
        floors = [0.0 if held.atom.is_nonneg() else -np.inf for held in self.held]
        self.floor = np.repeat(floors, [held.heights.size for held in self.held])
        self._cuts = self.working_set(self.groups(rewritten.slack))
        """Those of the last restricted problem."""
        self._active: list[tuple[float, Cut]] = []
        """The cuts of the last restricted problem with their multipliers."""
        self._guessed = np.zeros(rewritten.n_groups, dtype=bool)
        """Whether the last answers about each group are those of heuristics."""
        self._w_units = np.zeros(self.dim)
        self._levels = np.zeros(rewritten.n_groups)
        """The sizes of variables and of groups by the data."""
        self._least: Sizes = [0.0] * (1 + len(rewritten.constraints))
        """What the terms of the objective and of the constraints count for at least."""
        self._scale = self._value = 0.0
        """The size of the terms of the objective at the best point, and its value."""
        self._broken: list[Any] = []
        """By how much the best point breaks each constraint, if it does."""
        self._duals: list[list[Any]] | None = None
        """Multipliers of the constraints, of the last restricted problem that had a minimum."""
        self._is_doubted = False
        """Whether a bound was above a minimum that was found in other units."""
        self._remembered: set[int] = set()
        """Planes of earlier runs, which the pools hold."""
        self._touches: list[Touch] = []
        """The answers of each atom at the best point."""
        self._witnesses: list[tuple[Floats, Floats]] = []
        """Points, and upper bounds of the groups there."""
        self._heights = np.zeros(rewritten.n_groups)
        self._largest = np.zeros(rewritten.n_groups)
        """The size of the terms of each group where the oracles were asked last, and the largest
        so far."""

    @property
    def center(self) -> Floats | None:
        """The best point that keeps the constraints, once there is a lower bound."""
        return self.certificate.best if np.isfinite(self.certificate.lower) else None

    def groups(self, slack: str) -> Ints:
        """The group of each function, (n_samples,), for the slack of the rewritten problem."""
        return np.concatenate([held.first + held.groups for held in self.held])

    def start(self, groups: Ints) -> list[Cut]:
        """The cuts of earlier runs that still hold, and those of the first call of every oracle."""
        answers = self._answers(self._arguments(self._start))
        known = self.working_set(groups)
        cuts: list[Cut] = []
        for held in self._unchanged(answers):
            pool = held.atom.pool
            cuts += map(held.lifted, pool.cuts)
            self._remembered |= set(map(id, pool.cuts))
            self._largest[held.first : held.first + held.heights.size] = pool.largest
            held.quality = weakest((held.quality, pool.quality))
        known.add(cuts)
        found = self._noted(self._start, answers, known.group_values(self._start))
        return cuts + found.cuts()

    def _unchanged(self, answers: Sequence[Planes]) -> list[Held]:
        """Atoms of which planes are known that still hold, by one question to each oracle.

        ``answers`` are those at the start, which often is the last solution. An oracle may read a
        cvxpy.Parameter or data that have changed since, and nothing else tells.
        """
        known = [h for h in self.held if h.atom.pool.cuts and h.atom.pool.marks == self._marks(h)]
        arguments = [planes.w for planes in answers]
        for held in known:
            touch = held.atom.pool.touch
            assert touch is not None
            arguments[held.number] = touch.argument
        pairs = zip(arguments, answers, strict=True)
        if not all(np.array_equal(at, planes.w) for at, planes in pairs):
            answers = self._answers(arguments)
        return [held for held in known if self._is_unchanged(held, Touch.of(answers[held.number]))]

    def _is_unchanged(self, held: Held, now: Touch) -> bool:
        """Whether the oracle of an atom says what it said at the last solution; if not, forget."""
        atom = held.atom
        then = atom.pool.touch
        assert then is not None
        term = then.differs(now)
        if term is not None:
            warn(
                f"{atom.called}: at the last solution the oracle returned {then.uppers[term]:.9g}, "
                f"and at the same point it now returns {now.uppers[term]:.9g}: it has changed, and "
                "what was known of it is forgotten. Name the cvxpy.Parameter that it depends on in "
                "parameters=, or call solve with warm_start=False after other changes",
                OracleWarning,
            )
        if term is None and not then.has_other_slopes(now):
            return True
        atom.pool.clear()
        return False

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The problem with the cuts as constraints, solved."""
        started = time.perf_counter()
        self._cuts = cuts
        if self.solver is None:
            with without_warnings(RuntimeWarning):  # cvxpy multiplies infinite bounds by 0
                self.solver = self._solver_of(self.rewritten)
        self._measure(cuts)
        try:
            answer = self.solver.solve(cuts, request.tol)
        finally:
            self.master_seconds += time.perf_counter() - started
        self._active = cuts.active(answer.multipliers)
        if answer.is_minimum:
            self._duals = None
            self._pay_again()
        if answer.bound is not None and not self._is_doubted:
            self.certificate.update_lower(*answer.bound)
            self._confirm()
        return answer

    def _confirm(self) -> None:
        """Look for a lower minimum in other units before the bounds are said to have met."""
        certificate = self.certificate
        stopping = self.stopping
        if self.solver is None or not certificate.gap <= stopping.tol:
            return
        started = time.perf_counter()
        room = stopping.tol * float(certificate.scale or 1.0)
        for w in self.solver.elsewhere(self._cuts):
            broken, _ = self._look(w, self._cuts.group_values(w))
            value = self.rewritten.value + self._worth(self._amounts())
            if broken <= ADMISSIBLE and value < certificate.lower - room:
                certificate.lower, self._is_doubted = value, True
        self.master_seconds += time.perf_counter() - started

    def _amounts(self) -> list[Any]:
        """By how much the values that were put break each constraint."""
        return [np.abs(np.asarray(c.violation())) for c in self.rewritten.constraints]

    def _worth(self, amounts: Sequence[Any], broken: float = 0.0) -> float:
        """What violations have gained at most, by the multipliers of the last restricted problem.

        The minimum of the Lagrangian, at the multipliers of an optimum, is the optimal value.
        """
        if not any(np.any(amount > 0) for amount in amounts):
            return 0.0
        if self.solver is None:  # no price is known yet, but for rounding
            return np.inf if broken > ROUNDING else 0.0
        if self._duals is None:
            self._duals = self.solver.duals()
        gap = self.certificate.gap
        share = 1.0 + (min(gap, 1.0) if gap >= 0 else 1.0)
        return share * sum(map(price, amounts, self._duals))

    def _pay_again(self) -> None:
        """The upper bound of the best point, by the multipliers that are known now."""
        certificate = self.certificate
        if certificate.best is not None and self._broken:
            certificate.upper = certificate.certified_upper = np.inf
            value = self._value
            best = certificate.best
            certificate.update_best(value + self._worth(self._broken), best)

    def _measure(self, cuts: WorkingSet) -> None:
        """Find the size of variables and terms by the data: the constraints and the planes."""
        assert self.solver is not None
        self.solver.fit(cuts, ROUNDING * self._largest)
        found = levels(cuts, self.solver.w_units)
        rewritten = self.rewritten
        if (found > 2.0 * self._levels).any():
            self._levels = np.maximum(found, self._levels)
            units = self._w_units = self.solver.w_units
            rewritten.put(np.append(units, self._levels))
            sizes = rewritten.sizes_at(units, self._levels, units)
            self._least = [LEAST * np.asarray(size) for size in sizes]
            self._least[0] = float(self._least[0]) or 1.0
            self.certificate.scale = max(self._scale, self._least[0])

    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The point nearest to the best one at which the restricted objective is low enough."""
        best = self.center
        if best is None or damping == 0.0:
            return answer.w
        assert self.solver is not None
        started = time.perf_counter()
        least = -np.inf if answer.bound is None else answer.bound[0]
        found = None
        if np.isfinite(least) and np.isfinite(self.certificate.upper):
            level = least + damping * (self.certificate.upper - least)
            found = self.solver.nearest(cuts, best, level)
        self.master_seconds += time.perf_counter() - started
        return super().between(answer, cuts, damping) if found is None else found

    def evaluate(self, w: Floats, groups: Ints, known: Floats | None = None) -> Planes:
        return self._noted(w, self._answers(self._arguments(w)), known)

    def _noted(self, w: Floats, answers: Sequence[Planes], known: Floats | None) -> Planes:
        """The planes of all atoms at a point, after taking note of it as an upper bound."""
        planes = self._lifted(w, answers)
        values = planes.values + planes.slacks
        if known is not None:
            self._check_values(planes, known)
            values = np.maximum(values, known)
        broken, scale = self._look(w, values)
        if broken > ADMISSIBLE:
            mended = self.rewritten.mended()
            if mended is None:
                return planes
            w = mended
            broken, scale = self._look(w, values)
        value = self.rewritten.value
        amounts = self._amounts()
        is_point = broken <= ADMISSIBLE and np.isfinite(value)
        if is_point and self.certificate.update_best(value + self._worth(amounts, broken), w):
            self._value, self._broken = value, amounts
            self._scale, self.best_violation = scale, broken
            self.certificate.scale = scale
            self._touches = list(map(Touch.of, answers))
            self._confirm()
        return planes

    def _arguments(self, w: Floats) -> list[Floats]:
        return [held.matrix @ w + held.offset for held in self.held]

    def _answers(self, arguments: Sequence[Floats]) -> list[Planes]:
        """What the oracles of each atom say at its argument: a plane for each group, in its space.

        BudgetSpentError where there is no time.
        """
        deadline = time.time() + self.seconds_left(self.n_samples)
        pairs = zip(self.held, arguments, strict=True)
        questions = [held.atom.question(at, deadline) for held, at in pairs]
        started = time.perf_counter()
        answers = self.session.map_shares(ask, questions)
        self.oracle_seconds += time.perf_counter() - started
        if None in answers:
            raise BudgetSpentError(Status.MAX_SECONDS)
        of_atoms: list[list[Planes]] = [[] for _ in self.held]
        for part, planes in zip(self.parts, answers, strict=True):
            of_atoms[part.atom].append(planes)
        return list(map(self._of_atom, self.held, of_atoms))

    def _lifted(self, w: Floats, answers: Sequence[Planes]) -> Planes:
        """One plane for each group of all atoms, in the user's variables."""
        found = Planes.joined(list(map(partial(self._lifted_of, w), self.held, answers)))
        found = found._replace(quality=weakest(held.quality for held in self.held))
        self._heights = np.maximum(np.abs(found.intercepts), np.abs(found.slopes) @ np.abs(w))
        self._largest = np.maximum(self._largest, self._heights)
        self.exact = self.exact and bool((found.slacks <= EXACT * self._heights).all())
        self.certificate.quality = weakest((self.certificate.quality, found.quality))
        return found

    def _of_atom(self, held: Held, parts: Sequence[Planes]) -> Planes:
        """The planes of an atom, one for each group."""
        self._guessed[held.first + held.groups] = False
        for part in parts:
            if part.quality is Quality.HEURISTIC:
                self._guessed[held.first + held.groups[part.groups]] = True
        joined = Planes.joined(parts)
        planes = joined.summed(held.groups[joined.groups])
        held.quality = weakest([held.quality, planes.quality])
        self.oracle_calls += planes.calls
        return planes

    def _lifted_of(self, w: Floats, held: Held, planes: Planes) -> Planes:
        """The planes of an atom, in the user's variables."""
        cuts = list(map(held.lifted, planes.cuts()))
        return planes._replace(
            w=w,
            groups=held.first + planes.groups,
            slopes=np.stack([cut.slope for cut in cuts]),
            intercepts=np.array([cut.intercept for cut in cuts]),
            labellings=[cut.labellings for cut in cuts],
        )

    @np.errstate(all="ignore")  # outside of the domain of a function, as of a logarithm
    def _look(self, w: Floats, values: Floats) -> tuple[float, float]:
        """The largest violation at a point, by the size of its terms, and that of the objective."""
        self.rewritten.put(np.append(w, values))
        heights = np.maximum(np.abs(values), self._heights)
        sizes = self.rewritten.sizes_at(w, heights, self._w_units)
        scale, *sizes = map(np.maximum, sizes, self._least)
        broken = map(violation, self._amounts(), sizes)
        return max(broken, default=0.0), float(scale)

    def _check_values(self, planes: Planes, known: Floats) -> None:
        """Refuse answers that cannot be those of a maximum of planes."""
        uppers = np.where(self._guessed, np.inf, planes.values + planes.slacks)
        self._compare(known, uppers, self._heights, "the oracle returned", "an earlier")
        for w, before in self._witnesses:
            heights = planes.intercepts + planes.slopes @ w
            sizes = np.abs(planes.intercepts) + np.abs(planes.slopes) @ np.abs(w)
            self._compare(heights, before, sizes, "at an earlier point it returned", "its new")
        self._witnesses = [*self._witnesses[1 - WITNESSES :], (planes.w, uppers)]

    def _compare(
        self, lowers: Floats, uppers: Floats, sizes: Floats, returned: str, which: str
    ) -> None:
        """Refuse a lower bound of a group above an upper one at the same point."""
        room = SLIPS * np.maximum(sizes, np.abs(lowers)) + ROUNDING * self._largest
        wrong = np.flatnonzero(lowers > uppers + room)
        if not wrong.size:
            return
        g = int(wrong[0])
        held = max((held for held in self.held if held.first <= g), key=lambda held: held.first)
        term = "" if held.heights.size == 1 else f", term {g - held.first}"
        raise OracleError(
            f"{held.atom.called}{term}: {returned} {uppers[g]:.9g} where {which} plane says that "
            f"it is {lowers[g]:.9g} at least: it does not find a maximum of planes, or has changed "
            "since; give upper bounds if it is inexact, and name the cvxpy.Parameter it depends on "
            "in parameters="
        )

    def _marks(self, held: Held) -> bytes:
        """What the planes of an atom depend on."""
        sizes = [arg.size for arg in held.arguments]
        values = [parameter.value for parameter in held.atom.parameters_of_oracle]
        return pickle.dumps((self.rewritten.slack, sizes, values))

    def solution(self, status: Status) -> Solution:
        """The best point with its certificate; the planes stay with their atoms."""
        kept: list[list[Cut]] = [[] for _ in self.held]
        for labellings in self._cuts.state()["labellings"]:
            for a, cut, _, _ in labellings:
                kept[a].append(cut)
        for held, cuts in zip(self.held, kept, strict=True):
            most = max(1, ROOM // cuts[0].slope.nbytes) if cuts else 0
            pool = held.atom.pool
            pool.marks = self._marks(held)
            pool.cuts = cuts[-most:]
            pool.quality = held.quality
            pool.touch = self._touches[held.number]
            of_atom = slice(held.first, held.first + held.heights.size)
            pool.largest = float(self._largest[of_atom].max())
        return super().solution(status)

    @property
    def rests_on_memory(self) -> bool:
        """Whether planes of earlier runs have a part in the last restricted minimum."""
        return any(
            multiplier > ACTIVE and id(cut) in self._remembered
            for multiplier, active in self._active
            for _, cut, _, _ in active.labellings or ()
        )

    def give(self, w: Floats, problem: cp.Problem) -> None:
        """Give the user's variables, constraints and atoms their values, duals and planes."""
        if self.solver is not None:
            self.solver.give_duals(problem.constraints)
        self.rewritten.put(w)
        found: list[list[Plane]] = [[] for _ in self.held]
        for multiplier, active in self._active:
            for a, cut, _, share in active.labellings or ():
                if share * multiplier > ACTIVE:
                    found[a].append(self.held[a].plane(cut, share * multiplier))
        for held, planes in zip(self.held, found, strict=True):
            held.atom.planes = tuple(sorted(planes, key=lambda p: -p.multiplier))

    def conflicts(self, problem: cp.Problem) -> tuple[str, ...]:
        """The constraints of the user that have to give way, in words, by an elastic program.

        MasterError where none has to: a solver was wrong.
        """
        assert self.solver is not None
        restriction = Restriction.in_sizes(self.rewritten, self.solver.w_units, self._cuts)
        slacks: dict[int, cp.Variable] = {}
        kept: list[cp.Constraint] = list(restriction.links)
        for k, constraint in enumerate(restriction.constraints):
            args = constraint.args
            if k < len(problem.constraints) and isinstance(constraint, Inequality | Equality | PSD):
                slacks[k] = slack = cp.Variable(nonneg=True)
                if isinstance(constraint, PSD):
                    constraint = args[0] + slack * np.eye(args[0].shape[0]) >> 0
                elif isinstance(constraint, Inequality):
                    constraint = args[0] <= args[1] + slack
                else:
                    constraint = cp.abs(args[0] - args[1]) <= slack
            kept.append(constraint)
        if self._cuts:
            kept.append(restriction.rows(self._cuts))
        relaxed = cp.Problem(cp.Minimize(sum(slacks.values())), kept)
        try:
            with without_warnings(Warning):
                if relaxed.is_mixed_integer():
                    relaxed.solve()
                else:
                    relaxed.solve(solver="CLARABEL", **PRECISE_OPTIONS["CLARABEL"])
        except cp.error.SolverError:
            return ()
        found = {k: float(s.value) for k, s in slacks.items() if s.value is not None}
        if relaxed.status == cp.OPTIMAL and all(value <= SEEN for value in found.values()):
            raise MasterError(f"no point of the restricted problem was found: {SCALES}")
        units = [float(np.max(unit)) for unit in restriction.constraint_units]
        return tuple(
            f"constraint {k}, {problem.constraints[k]} (by {value * units[k]:.3g})"
            for k, value in found.items()
            if value > SEEN
        )
