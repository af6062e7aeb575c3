"""Points that break a constraint, mended by the variables that no oracle is asked about."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from structsvm.masters.cvxpy import solve_by
from structsvm.modeling.rewriting import Rewritten, replaced
from structsvm.support.quiet import without_warnings

OF_VALUES = ("boolean", "integer", "bounds", "sparsity")
"""Attributes that rules of cvxpy for curvature do not ask for."""


class Mender:
    """The best values of the variables in no argument of an atom, the others and ``h`` given.

    Of ``t`` in ``OracleMax(x, oracle) <= t``, for example, which the restricted problem puts below
    the value in every round but the last.
    """

    def __init__(self, rewritten: Rewritten, variables: list[cp.Variable]) -> None:
        given = rewritten.given
        self.free = [v for v in variables if v.id not in given]
        heights = [held.heights for held in rewritten.held]
        fixed = [*(v for v in variables if v.id in given), *heights]
        self._fixed = [(v, _parameter(v)) for v in fixed]
        standing: dict[int, Any] = {id(v): parameter for v, parameter in self._fixed}
        objective = replaced(rewritten.objective, standing)
        constraints = [replaced(constraint, standing) for constraint in rewritten.constraints]
        free = {v.id for v in self.free}
        kept = [c for c in constraints if any(v.id in free for v in c.variables())]
        self.problem = cp.Problem(cp.Minimize(objective), kept)

    @classmethod
    def of(cls, rewritten: Rewritten, variables: list[cp.Variable]) -> Mender | None:
        """None where no constraint holds both an atom and a variable that is in no argument."""
        heights = {held.heights.id for held in rewritten.held}
        free = {v.id for v in variables} - rewritten.given
        for constraint in rewritten.constraints:
            inside = {v.id for v in constraint.variables()}
            if inside & heights and inside & free:
                return cls(rewritten, variables)
        return None

    def mend(self) -> bool:
        """Give the free variables their best values; whether there are some."""
        for variable, parameter in self._fixed:
            parameter.save_value(variable.value)
        try:
            with without_warnings(Warning):
                solve_by(self.problem, None, {})
        except (cp.error.SolverError, cp.error.DCPError, ValueError):
            return False
        return self.problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def _parameter(variable: cp.Variable) -> cp.Parameter:
    """A parameter that the rules of cvxpy take for the variable."""
    signs: dict[str, Any] = {
        name: value
        for name, value in variable.attributes.items()
        if value is not None and value is not False and name not in OF_VALUES
    }
    return cp.Parameter(variable.shape, **signs)
