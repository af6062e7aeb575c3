"""Restricted problems, in which variables above cuts replace atoms, and the base of solvers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality

from structsvm.errors import MasterError
from structsvm.masters import MasterSolution, WorkingSet, power_of_two
from structsvm.modeling.rewriting import Rewritten, Sizes, in_shape, replaced
from structsvm.support import Floats, hook


class Restriction:
    """A problem in which a variable, its height, replaces each atom, scaled to given units.

    Variables with attributes keep the unit of the user.
    """

    def __init__(
        self, rewritten: Rewritten, w_units: Floats, height_units: Floats, sizes: Sizes
    ) -> None:
        self.rewritten, self.height_units = rewritten, height_units
        self.objective_unit, *self.constraint_units = sizes
        units = zip(rewritten.variables, rewritten.split(w_units), strict=True)
        usual = [np.ones(v.size) if any(v.attributes.values()) else piece for v, piece in units]
        self.w_units = np.concatenate(usual)
        pieces = rewritten.split(np.append(self.w_units, height_units))
        standing: dict[int, Any] = {}
        own: list[cp.Variable] = []
        for leaf, piece in zip(rewritten.leaves, pieces, strict=True):
            mine = leaf
            if np.any(piece != 1.0):
                mine = cp.Variable(leaf.shape, nonneg=leaf.is_nonneg(), nonpos=leaf.is_nonpos())
                standing[id(leaf)] = cp.multiply(in_shape(piece, leaf), mine)
            own.append(mine)
        self.variables = own[: len(rewritten.variables)]
        self.heights = own[len(rewritten.variables) :]
        objective = replaced(rewritten.objective, standing) / self.objective_unit
        self.constraints = [
            _scaled(replaced(constraint, standing), constraint, unit)
            for constraint, unit in zip(rewritten.constraints, self.constraint_units, strict=True)
        ]
        present = {v.id for v in cp.Problem(cp.Minimize(objective), self.constraints).variables()}
        hidden = [v for v in own if v.id not in present or any(v.attributes.values())]
        beside = {v.id: cp.Variable(v.size) for v in hidden}
        self.plain = [beside.get(v.id, v) for v in own]
        """For each variable and height a variable that the canonical form of cvxpy preserves."""
        self.links: list[cp.Constraint] = [beside[v.id] == cp.vec(v, order="F") for v in hidden]
        self.problem = cp.Problem(cp.Minimize(objective), [*self.constraints, *self.links])

    @classmethod
    def as_given(cls, rewritten: Rewritten) -> "Restriction":
        """In the units of the user."""
        ones = [1.0] * (1 + len(rewritten.constraints))
        return cls(rewritten, np.ones(rewritten.dim), np.ones(rewritten.n_groups), ones)

    @classmethod
    def in_sizes(cls, rewritten: Rewritten, w_units: Floats, cuts: WorkingSet) -> "Restriction":
        """In units of the data, so that numbers are of the order of 1."""
        heights = levels(cuts, w_units)
        rewritten.put(np.append(w_units, heights))
        sizes = rewritten.sizes_at(w_units, heights, w_units)
        units = [power_of_two(np.asarray(size)) for size in (w_units, heights, *sizes)]
        return cls(rewritten, units[0], units[1], units[2:])

    def in_units(self, cuts: WorkingSet) -> tuple[Floats, Floats]:
        """Intercepts and slopes of cuts, converted to the units."""
        units = self.height_units[cuts.groups]
        return cuts.intercepts / units, cuts.slopes * (self.w_units / units[:, None])

    def rows(self, cuts: WorkingSet, outside: Any = 0.0) -> cp.Constraint:
        """The cuts as a constraint of cvxpy; those without a slack are at most ``outside``."""
        intercepts, slopes = self.in_units(cuts)
        w = cp.hstack([cp.vec(v, order="F") for v in self.variables])
        heights = cp.hstack([*self.heights, outside])
        constraint: cp.Constraint = intercepts + slopes @ w <= heights[cuts.groups]
        return constraint

    def multipliers(self, cuts: WorkingSet, of_rows: Floats) -> Floats:
        """The multipliers of cuts in the units of the user, from those of the rows."""
        return np.asarray(of_rows * (self.objective_unit / self.height_units[cuts.groups]))


def levels(cuts: WorkingSet, w_units: Floats) -> Floats:
    """The size of each group by its cuts: the largest intercept, or slope times units."""
    sizes = np.maximum(np.abs(cuts.intercepts), np.abs(cuts.slopes) @ w_units)
    largest = np.zeros(cuts.n_groups)
    np.maximum.at(largest, cuts.groups, sizes)
    return largest


def _scaled(constraint: Any, original: cp.Constraint, unit: Any) -> cp.Constraint:
    """A copy of a constraint, divided by its unit."""
    args = constraint.args
    scaled: cp.Constraint
    if np.all(unit == 1.0):
        scaled = original.copy(list(args))
    elif isinstance(original, Inequality | Equality):
        away = cp.multiply(1.0 / unit, args[0] - args[1])
        scaled = away <= 0 if isinstance(original, Inequality) else away == 0
    else:
        scaled = original.copy([arg / float(unit) for arg in args])
    return scaled


SCALES = (
    "its numbers differ too much; divide the objective, or measure the variables in other units, "
    "so that both are of the order of 1"
)

OUTGROWN = 2.0**20
"""Factor by which a size has to exceed its unit before units are measured again."""


TIGHTENINGS = (2.0**-8, 2.0**-16, 2.0**-24)
"""Room of constraints, in units of their rows, that is tried in turn to find a point inside."""

DEEP = (2.0**-2, 2.0**-4, 2.0**-6, *TIGHTENINGS)
"""Room that is tried in turn to find a point far inside."""


class InfeasibleError(MasterError):
    """The restricted problem, and therefore the problem, is infeasible."""

    def __init__(self, words: str, is_proved: bool = False) -> None:
        super().__init__(words)
        self.is_proved = is_proved


class UnboundedError(MasterError):
    """The restricted problem is unbounded; the problem may be bounded."""


class Restricted(ABC):
    """Base of solvers of the restricted problems of a program."""

    restriction: Restriction
    w_units: Floats
    """The size of the variables of the user by the data, (dim,)."""

    @abstractmethod
    def fit(self, cuts: WorkingSet, noise: Floats) -> None:
        """Set the units by constraints and planes; intercepts below ``noise`` are rounding."""

    @abstractmethod
    def solve(self, cuts: WorkingSet, tol: float) -> MasterSolution:
        """Solve with these cuts."""

    @hook
    def elsewhere(self, cuts: WorkingSet) -> list[Floats]:
        """Minimisers of the same problem in other units, in which rounding differs."""
        return []

    @hook
    def nearest(self, cuts: WorkingSet, center: Floats, level: float) -> Floats | None:
        """The point nearest to ``center`` with an objective of at most ``level``; None: unknown."""
        return None

    @hook
    def inside(self, cuts: WorkingSet, rooms: Sequence[float] = TIGHTENINGS) -> Floats | None:
        """A point that keeps inequalities with the first possible of these rooms; None: unknown."""
        return None

    @hook
    def duals(self) -> list[list[Any]]:
        """The dual values of the constraints of the rewritten problem in the last solution."""
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
