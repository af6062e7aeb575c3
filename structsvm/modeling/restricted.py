"""What solves restricted problems, in which cuts stand for the atoms of a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import cvxpy as cp

from structsvm.errors import MasterError
from structsvm.masters.base import MasterSolution, WorkingSet
from structsvm.modeling.restriction import Restriction
from structsvm.support.contract import hook
from structsvm.support.values import Floats

SCALES = (
    "its numbers differ too much; divide the objective, or measure the variables in other units, "
    "so that both are of the order of 1"
)

OUTGROWN = 2.0**20
"""By how much a size has to exceed its unit for units to be measured again."""


TIGHTENINGS = (2.0**-8, 2.0**-16, 2.0**-24)
"""Of the units of rows, by how much constraints are tightened to find a point inside."""

DEEP = (2.0**-2, 2.0**-4, 2.0**-6, *TIGHTENINGS)
"""The same, to find one far inside."""


class InfeasibleError(MasterError):
    """The restricted problem has no point, and so neither has the problem."""

    def __init__(self, words: str, is_proved: bool = False) -> None:
        super().__init__(words)
        self.is_proved = is_proved


class UnboundedError(MasterError):
    """The restricted problem has no minimum; the problem may have one."""


class Restricted(ABC):
    """Solves restricted problems."""

    restriction: Restriction
    w_units: Floats
    """The size of the variables of the user by the data, (dim,)."""

    @abstractmethod
    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Measure the variables by the constraints and by planes, of which an intercept below the
        ``noise`` of its group is rounding.
        """

    @abstractmethod
    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""

    @hook
    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers that are found in other units."""
        return []

    @hook
    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to another at which the objective is at most ``level``, if known."""
        return None

    @hook
    def inside(self, cuts: WorkingSet, rooms: Sequence[float] = TIGHTENINGS) -> Floats | None:
        """A point that keeps all inequalities with the first room for which there is one."""
        return None

    @hook
    def duals(self) -> list[list[Any]]:
        """Dual values of the last solution of the constraints of the rewritten problem."""
        own = self.restriction
        duals = []
        for constraint, unit in zip(own.constraints, own.constraint_units, strict=True):
            values = [dual.value for dual in constraint.dual_variables]
            factor = own.objective_unit / unit
            duals.append([None if value is None else value * factor for value in values])
        return duals

    def give_duals(self, constraints: Sequence[cp.Constraint]) -> None:
        """Give the user's constraints the dual values of the last solution."""
        for theirs, values in zip(constraints, self.duals(), strict=False):
            for dual, value in zip(theirs.dual_variables, values, strict=True):
                dual.save_value(value)
