"""Restricted problems: what is left of a problem when cuts stand for its atoms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import MasterError, SettingsError
from structsvm.masters.base import MasterSolution
from structsvm.masters.bounds import CONIC
from structsvm.masters.cvxpy import solve_by
from structsvm.masters.working_set import WorkingSet
from structsvm.modeling.conic import (
    SCALES,
    ConicAnswer,
    ConicProgram,
    InfeasibleError,
    UnboundedError,
)
from structsvm.modeling.prepared import Restriction
from structsvm.support.arrays import Floats, Ints
from structsvm.support.quiet import without_warnings

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
        """Give the constraints of the rewritten problem the duals of the last solution."""
        if self._answer is not None:
            self._program.unpack(self._answer)

    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to another at which the objective is at most ``level``."""
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
        """Solve with these cuts."""
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
