"""Restricted problems, in which cuts stand for the atoms of a problem, and what solves them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import MasterError, SettingsError
from structsvm.masters.base import MasterSolution
from structsvm.masters.bounds import CONIC, proved_bound
from structsvm.masters.cvxpy import PRECISE, PRECISE_OPTIONS, solve_by
from structsvm.masters.working_set import WorkingSet
from structsvm.modeling.prepared import Restriction
from structsvm.support.arrays import Floats, Ints
from structsvm.support.quiet import without_warnings

SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
DECIDED = (*SOLVED, "PrimalInfeasible", "DualInfeasible")
USABLE = (*SOLVED, "MaxIterations", "MaxTime", "NumericalError")
"""Where Clarabel ends at a point: as good as any to ask oracles at, and the bound is checked."""

SCALES = (
    "its numbers differ too much; divide the objective, or measure the variables in other units, "
    "so that both are of the order of 1"
)


class InfeasibleError(MasterError):
    """The restricted problem has no point, and so neither has the problem."""


class UnboundedError(MasterError):
    """The restricted problem has no minimum; the problem may have one."""


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """A solution of a conic program with rows appended."""

    x: Floats
    """In the variables of the standard form."""
    multipliers: Floats
    """Of the rows appended."""
    bound: float
    """A lower bound of the minimum, from a dual point that was checked."""
    status: str
    raw: Any
    """Of the solver, without the rows appended, as cvxpy takes it to be its own."""


class ConicProgram:
    """``min f(x)`` over cones as Clarabel takes it, with rows ``R x <= r`` that change."""

    def __init__(self, problem: cp.Problem) -> None:
        with without_warnings(Warning):
            self.data, self.chain, self.inverse = problem.get_problem_data(
                "CLARABEL", solver_opts={}
            )
        self.problem = problem
        self.offset = float(self.inverse[-1][cp.settings.OFFSET])
        dims = self.data["dims"]
        A = sp.csr_array(self.data["A"])
        self._at = int(dims.zero + dims.nonneg)
        self._above, self._below = A[: self._at], A[self._at :]
        self._columns: Mapping[int, int] = self.data[cp.settings.PARAM_PROB].var_id_to_col

    @property
    def size(self) -> int:
        return int(self.data["c"].size)

    def columns(self, variable: cp.Variable) -> Ints:
        """Where the entries of a variable without attributes are, column by column."""
        first = self._columns[variable.id]
        return np.arange(first, first + variable.size)

    def solve(
        self, rows: Any, right: Floats, tol: float, options: Mapping[str, Any]
    ) -> ConicAnswer:
        """Solve with ``rows @ x <= right`` besides."""
        extended = self._extended(rows, right)
        raw = self._solved(extended, tol < PRECISE, options)
        status = str(raw.status)
        if status == "PrimalInfeasible":
            if self._has_a_point(rows, right):
                raise MasterError(f"Clarabel finds no point of the restricted problem: {SCALES}")
            raise InfeasibleError("the restricted problem is infeasible")
        if status in ("DualInfeasible", "AlmostDualInfeasible"):  # a box will tell
            raise UnboundedError("the restricted problem is unbounded")
        x, z = np.asarray(raw.x, dtype=np.float64), np.asarray(raw.z, dtype=np.float64)
        if status not in USABLE or not (np.isfinite(x).all() and np.isfinite(z).all()):
            raise MasterError(
                f"Clarabel could not solve the restricted problem ({status}): {SCALES}"
            )
        bound = proved_bound(extended, self.offset, x, z)
        end = self._at + right.size
        own = np.concatenate([z[: self._at], z[end:]])
        bare = SimpleNamespace(
            x=x,
            z=own,
            status="Solved",
            obj_val=raw.obj_val,
            solve_time=raw.solve_time,
            iterations=raw.iterations,
        )
        return ConicAnswer(x, np.maximum(z[self._at : end], 0.0), bound, status, bare)

    def _has_a_point(self, rows: Any, right: Floats) -> bool:
        """Whether there is one after all, where an objective of large numbers hid it.

        Without the objective, and without the rows that some variable satisfies by growing, because
        it is nowhere else: the heights of atoms that no constraint has.
        """
        rows, own = sp.csc_array(rows), sp.csc_array(self.data["A"])
        grows = (rows.max(axis=0).toarray().ravel() <= 0) & (np.diff(own.indptr) == 0)
        kept = np.flatnonzero(rows @ grows >= 0)
        rows = sp.csr_array(rows)
        data = self._extended(rows[kept], right[kept])
        if not data["b"].size:
            return True
        data["P"], data["c"] = sp.csc_array((self.size, self.size)), np.zeros(self.size)
        raw = self.chain.solver.solve_via_data(data, False, False, {})
        return str(raw.status) in SOLVED

    def _solved(self, data: dict[str, Any], precise: bool, options: Mapping[str, Any]) -> Any:
        """The answer of Clarabel; with its usual settings where precise ones led nowhere."""
        attempts = [PRECISE_OPTIONS["CLARABEL"], {}] if precise else [{}]
        for attempt in attempts:
            try:
                raw = self.chain.solver.solve_via_data(data, False, False, {**attempt, **options})
            except TypeError as error:  # a setting that there is none of, or of another type
                raise SettingsError(f"Clarabel does not take {sorted(options)}: {error}") from error
            if str(raw.status) in DECIDED:
                break
        return raw

    def value(self, x: Floats) -> float:
        """The objective at a point of the standard form."""
        P = self.data.get("P")
        bent = 0.0 if P is None else 0.5 * float(x @ (P @ x))
        return bent + float(self.data["c"] @ x) + self.offset

    @property
    def is_curved(self) -> bool:
        P = self.data.get("P")
        return P is not None and P.nnz > 0

    def nearest(
        self,
        rows: Any,
        right: Floats,
        columns: Ints,
        center: Floats,
        level: float,
        options: Mapping[str, Any],
    ) -> Floats:
        """The ``x`` whose ``columns`` are nearest to ``center``, with an objective up to
        ``level``.
        """
        c = self.data["c"]
        size = max(float(np.abs(c).max(initial=0.0)), 1e-300)
        low = sp.csr_array(c.reshape(1, -1) / size)
        extended = self._extended(
            sp.vstack([rows, low]), np.append(right, (level - self.offset) / size)
        )
        ones, target = np.zeros(c.size), np.zeros(c.size)
        ones[columns], target[columns] = 1.0, -center
        extended["P"], extended["c"] = sp.csc_array(sp.diags_array(ones)), target
        raw = self.chain.solver.solve_via_data(extended, False, False, dict(options))
        x = np.asarray(raw.x, dtype=np.float64)
        if str(raw.status) not in SOLVED or not np.isfinite(x).all():
            raise MasterError(f"no nearest point was found: {raw.status}")
        return x

    def unpack(self, answer: ConicAnswer) -> None:
        """Give the variables and the constraints of the problem their values and duals."""
        with without_warnings(Warning):
            self.problem.unpack_results(answer.raw, self.chain, self.inverse)

    def _extended(self, rows: Any, right: Floats) -> dict[str, Any]:
        """The program with the rows after the other inequalities."""
        data = dict(self.data)
        A = sp.vstack([self._above, sp.csr_array(rows), self._below], format="csc")
        b = self.data["b"]
        dims = copy.copy(self.data["dims"])
        dims.nonneg = int(dims.nonneg) + right.size
        data["A"], data["dims"] = A, dims
        data["b"] = np.concatenate([b[: self._at], right, b[self._at :]])
        return data


FIRST_BOX, LARGEST_BOX = 1e1, 1e9
"""Where a restricted problem without a minimum is solved: the first box, in units of the start."""
PATIENCE = 10
"""Rounds after which a box grows, whatever was found in it."""

SAME = 1e-3
"""By how much of its size an objective may differ from its canonical form at a rough solution."""

MIP_GAP = 1e-6
"""What mixed-integer solvers are told to prove, relative to the optimal value."""


class Restricted(ABC):
    """Solves restricted problems."""

    restriction: Restriction

    @abstractmethod
    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""

    @abstractmethod
    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to another at which the objective is at most ``level``, if it is
        known.
        """

    @abstractmethod
    def unpack(self) -> None:
        """Give the constraints of the rewritten problem the duals of the last solution."""


class Box:
    """Around the start, larger when nothing was found in the last one, or after many rounds."""

    def __init__(self, start: Floats) -> None:
        self.start, self.width, self.rounds, self.n_cuts = start, 0.0, 0, -1

    def grown(self, n_cuts: int) -> tuple[Floats, Floats]:
        """Its corners for another round."""
        if self.width == 0.0:
            self.width = FIRST_BOX * max(1.0, float(np.abs(self.start).max(initial=0.0)))
        elif n_cuts == self.n_cuts or self.rounds == PATIENCE:
            self.width, self.rounds = 10.0 * self.width, 0
        self.rounds, self.n_cuts = self.rounds + 1, n_cuts
        if self.width > LARGEST_BOX:
            raise UnboundedError(
                "the problem is unbounded by the planes found so far: add bounds of its "
                "variables, such as cp.norm_inf(x) <= 1000"
            )
        return self.start - self.width, self.start + self.width


class Conic(Restricted):
    """By Clarabel: canonicalised once, the cuts appended as rows, the bound checked."""

    def __init__(self, restriction: Restriction, box: Box, options: Mapping[str, Any]) -> None:
        self.restriction, self.prepared, self.options = restriction, restriction.prepared, options
        self._box = box
        self._program = ConicProgram(restriction.problem)
        self._columns = np.concatenate([self._places(v) for v in restriction.variables])
        self._heights = np.concatenate([self._places(v) for v in restriction.heights])
        self._answer: ConicAnswer | None = None

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts, within a box if there is no minimum."""
        rows, right = self._rows(cuts)
        try:
            answer = self._program.solve(rows, right, tol, self.options)
        except UnboundedError:
            return self._within_a_box(cuts, rows, right)
        if not self.prepared.is_checked:
            self._check_objective(answer)
        self._answer = answer
        w = self._w(answer.x)
        multipliers = self.restriction.multipliers(cuts, answer.multipliers)
        bound = self.restriction.units.objective * answer.bound
        return MasterSolution(w, multipliers, "clarabel", (bound, CONIC))

    def unpack(self) -> None:
        if self._answer is not None:
            self._program.unpack(self._answer)

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        if self._program.is_curved:
            return None
        rows, right = self._rows(cuts)
        try:
            units = self.restriction.units
            center, level = center / units.w, level / units.objective
            x = self._program.nearest(rows, right, self._columns, center, level, self.options)
        except MasterError:
            return None
        return self._w(x)

    def _w(self, x: Floats) -> Floats:
        """The user's variables from those of the standard form."""
        return self.prepared.tidy(x[self._columns] * self.restriction.units.w)

    def _places(self, variable: cp.Variable) -> Ints:
        """Where in the standard form the entries of a variable are, column by column."""
        plain, places = self.restriction.plain(variable)
        return self._program.columns(plain)[places]

    def _check_objective(self, answer: ConicAnswer) -> None:
        """Refuse a canonical form that is below the objective that it stands for."""
        units = self.restriction.units
        heights = answer.x[self._heights] * units.heights
        self.prepared.put(answer.x[self._columns] * units.w, heights)
        value = float(np.asarray(self.prepared.rewritten.objective.value).item())
        meant = value / units.objective
        minimised = self._program.value(answer.x)
        self.prepared.is_checked = True
        if minimised < meant - SAME * max(1.0, abs(meant)):
            raise MasterError(
                f"cvxpy {cp.__version__} hands another objective to the solver than it evaluates "
                f"({minimised:.6g} in place of {meant:.6g}): install a newer cvxpy, or write "
                "cp.sum_squares(cp.vec(X, order='F')) where X is a symmetric matrix"
            )

    def _within_a_box(self, cuts: WorkingSet, rows: Any, right: Floats) -> MasterSolution:
        lower, upper = (end / self.restriction.units.w for end in self._box.grown(len(cuts)))
        d, n = self._columns.size, self._program.size
        sides = sp.csr_array((np.ones(d), (np.arange(d), self._columns)), shape=(d, n))
        boxed, ends = sp.vstack([rows, sides, -sides]), np.concatenate([right, upper, -lower])
        try:
            answer = self._program.solve(boxed, ends, 1e-7, self.options)
        except UnboundedError:
            raise MasterError(
                f"Clarabel calls the restricted problem unbounded, even in a box: {SCALES}"
            ) from None
        w = self._w(answer.x)
        multipliers = self.restriction.multipliers(cuts, answer.multipliers[: len(cuts)])
        return MasterSolution(w, multipliers, "clarabel in a box", is_minimum=False)

    def _rows(self, cuts: WorkingSet) -> tuple[Any, Floats]:
        """``intercept + <slope, w> - t <= 0``."""
        n = len(cuts)
        intercepts, all_slopes = self.restriction.in_units(cuts)
        slopes = sp.coo_array(all_slopes)
        rows = np.concatenate([slopes.row, np.arange(n)])
        columns = np.concatenate([self._columns[slopes.col], self._heights[cuts.groups]])
        entries = np.concatenate([slopes.data, np.full(n, -1.0)])
        matrix = sp.csr_array((entries, (rows, columns)), shape=(n, self._program.size))
        return matrix, -intercepts


class ByName(Restricted):
    """By any solver that cvxpy has, which is believed: its bound is a claim."""

    def __init__(
        self, restriction: Restriction, solver: str | None, options: Mapping[str, Any]
    ) -> None:
        self.restriction, self.prepared = restriction, restriction.prepared
        self.solver, self.options = solver, dict(options)
        if self.prepared.is_mixed_integer:
            self.options = {**_precise(solver), **self.options}

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        master, stack = self.restriction.problem, self.restriction.rows(cuts)
        problem = cp.Problem(master.objective, [*master.constraints, stack])
        try:
            with without_warnings(Warning):
                solve_by(problem, self.solver, self.options)
        except cp.error.SolverError as error:
            if "failed" not in str(error):  # it was not even tried
                raise SettingsError(f"solver={self.solver!r}: {error}{self._way_out()}") from error
            raise MasterError(f"{self.solver} failed: {error}") from error
        name = problem.solver_stats.solver_name
        if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
            raise InfeasibleError("the restricted problem is infeasible")
        if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE, "infeasible_or_unbounded"):
            raise UnboundedError(
                f"the restricted problem is unbounded, says {name}: state bounds of its variables, "
                "such as cp.norm_inf(x) <= 1000"
            )
        if problem.value is None or not np.isfinite(problem.value):
            raise MasterError(f"{name} could not solve the restricted problem: {problem.status}")
        dual = stack.dual_value
        multipliers = np.zeros(len(cuts)) if dual is None else np.maximum(np.atleast_1d(dual), 0.0)
        gap = MIP_GAP if self.prepared.is_mixed_integer else 0.0
        value = float(problem.value)
        least = self.restriction.units.objective * (value - gap * max(1.0, abs(value)))
        multipliers = self.restriction.multipliers(cuts, multipliers)
        w = self.prepared.tidy(self.restriction.values())
        return MasterSolution(w, multipliers, name.lower(), (least, f"as claimed by {name}"))

    def _way_out(self) -> str:
        if not self.prepared.is_mixed_integer:
            return ""
        return (
            "; with boolean or integer variables write cp.norm1 or cp.norm_inf in place of squares "
            "and norms, or name a solver that takes both"
        )

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """None: not every solver takes squares."""
        return None

    def unpack(self) -> None:
        """Nothing: cvxpy has done so."""


def mixed_integer_solvers() -> list[str]:
    from cvxpy.reductions.solvers.defines import INSTALLED_MI_SOLVERS

    return sorted(INSTALLED_MI_SOLVERS)


def _precise(solver: str | None) -> dict[str, Any]:
    """The gap to prove, where it is known how a solver is told."""
    options: dict[str, dict[str, Any]] = {
        "HIGHS": {"mip_rel_gap": 0.1 * MIP_GAP},
        "SCIPY": {"scipy_options": {"mip_rel_gap": 0.1 * MIP_GAP}},
    }
    return options.get(solver or "", {})
