"""Restricted problems solved by any solver that cvxpy has."""

from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import MasterError, SettingsError, without_warnings
from structsvm.masters import PRECISE, MasterSolution, WorkingSet, solve_by
from structsvm.modeling.by_clarabel import SHIFTS, Box, Conic
from structsvm.modeling.restricted import (
    OUTGROWN,
    TIGHTENINGS,
    InfeasibleError,
    Restricted,
    Restriction,
    UnboundedError,
    levels,
)
from structsvm.modeling.rewriting import Rewritten, column
from structsvm.support import Floats

MIP_GAP = 1e-6
"""Relative gap that mixed-integer solvers are asked to prove."""


class ByName(Restricted):
    """Restricted problems by any solver of cvxpy, whose bound is trusted."""

    def __init__(
        self, rewritten: Rewritten, solver: str | None, options: Mapping[str, Any]
    ) -> None:
        self.rewritten = rewritten
        self.solver = solver
        self.options = dict(options)
        self._measure = (
            None
            if rewritten.is_mixed_integer
            else Conic(rewritten, Box(np.zeros(rewritten.dim)), {})
        )
        self.w_units = np.ones(rewritten.dim)
        self._levels = np.zeros(rewritten.n_groups)
        if self.rewritten.is_mixed_integer:  # set the gap of solvers whose option is known
            gap: dict[str, Any] = {"mip_rel_gap": 0.1 * MIP_GAP}
            asked = {"HIGHS": gap, "SCIPY": {"scipy_options": gap}}
            self.options = {**asked.get(solver or "", {}), **options}

    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure the variables as for Clarabel; the unit of integers is 1."""
        if self._measure is not None:
            self._measure.fit(cuts, noise)
            self.w_units = self._measure.w_units
        sizes = levels(cuts, self.w_units)
        if (sizes > OUTGROWN * self._levels).any():
            self._levels = np.maximum(sizes, self._levels)
            self.restriction = Restriction.in_sizes(self.rewritten, self.w_units, cuts)

    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers in units of 2^20 and 2^-20 of those of the data; none with integers."""
        if self.rewritten.is_mixed_integer:
            return []
        minimisers = []
        usual = self.restriction
        for shift in SHIFTS:
            units = self.w_units * 2.0**shift
            self.restriction = Restriction.in_sizes(self.rewritten, units, cuts)
            try:
                minimisers.append(self.solve(cuts, PRECISE).w)
            except MasterError:
                continue
            finally:
                self.restriction = usual
        return minimisers

    def inside(self, cuts: WorkingSet, rooms: Sequence[float] = TIGHTENINGS) -> Floats | None:
        """The point that Clarabel finds; None with integers."""
        return None if self._measure is None else self._measure.inside(cuts, rooms)

    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""
        master = self.restriction.problem
        stack = self.restriction.rows(cuts)
        problem = cp.Problem(master.objective, [*master.constraints, stack])
        is_mixed = self.rewritten.is_mixed_integer
        try:
            with without_warnings(Warning):
                solve_by(problem, self.solver, self.options)
        except cp.error.SolverError as error:
            way_out = (
                "; with boolean or integer variables write cp.norm1 or cp.norm_inf in place of "
                "squares and norms, or name a solver that takes both"
            )
            kind = MasterError if "failed" in str(error) else SettingsError
            raise kind(f"solver={self.solver!r}: {error}{way_out if is_mixed else ''}") from error
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
        value = float(problem.value)
        alpha = np.zeros(len(cuts)) if dual is None else np.maximum(np.atleast_1d(dual), 0.0)
        gap = MIP_GAP if is_mixed else 0.0
        least = float(self.restriction.objective_unit) * (value - gap * max(1.0, abs(value)))
        w = np.concatenate([column(v.value) for v in self.restriction.variables])
        return MasterSolution(
            self.rewritten.tidy(self.restriction.w_units * w),
            self.restriction.multipliers(cuts, alpha),
            name.lower(),
            (least, f"as claimed by {name}"),
        )
