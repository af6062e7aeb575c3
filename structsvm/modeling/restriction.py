"""A problem with variables in the place of atoms, in units of its own."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality

from structsvm.masters.base import WorkingSet
from structsvm.masters.conic_units import power_of_two
from structsvm.modeling.rewriting import Rewritten, Sizes, in_shape, replaced
from structsvm.support.values import Floats


class Restriction:
    """A problem with a variable in the place of each atom, above its cuts, in units of its own.

    Variables with attributes stay in the unit of the user.
    """

    def __init__(
        self, rewritten: Rewritten, w_units: Floats, height_units: Floats, sizes: Sizes
    ) -> None:
        self.rewritten, self.height_units = rewritten, height_units
        self.objective_unit, *self.constraint_units = sizes
        units = zip(rewritten.variables, rewritten.split(w_units), strict=True)
        kept = [np.ones(v.size) if any(v.attributes.values()) else piece for v, piece in units]
        self.w_units = np.concatenate(kept)
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
        """For each variable and height one that stays as it is where cvxpy writes cones."""
        self.links: list[cp.Constraint] = [beside[v.id] == cp.vec(v, order="F") for v in hidden]
        self.problem = cp.Problem(cp.Minimize(objective), [*self.constraints, *self.links])

    @classmethod
    def as_given(cls, rewritten: Rewritten) -> Restriction:
        """In the units of the user."""
        ones = [1.0] * (1 + len(rewritten.constraints))
        return cls(rewritten, np.ones(rewritten.dim), np.ones(rewritten.n_groups), ones)

    @classmethod
    def in_sizes(cls, rewritten: Rewritten, w_units: Floats, cuts: WorkingSet) -> Restriction:
        """In units of the data, so that its numbers are of the order of 1."""
        heights = levels(cuts, w_units)
        rewritten.put(np.append(w_units, heights))
        sizes = rewritten.sizes_at(w_units, heights, w_units)
        units = [power_of_two(np.asarray(size)) for size in (w_units, heights, *sizes)]
        return cls(rewritten, units[0], units[1], units[2:])

    def in_units(self, cuts: WorkingSet) -> tuple[Floats, Floats]:
        """Intercepts and slopes of cuts below the heights."""
        units = self.height_units[cuts.groups]
        return cuts.intercepts / units, cuts.slopes * (self.w_units / units[:, None])

    def rows(self, cuts: WorkingSet, outside: Any = 0.0) -> cp.Constraint:
        """The cuts as a constraint of cvxpy; those without a slack are ``outside`` at most."""
        intercepts, slopes = self.in_units(cuts)
        w = cp.hstack([cp.vec(v, order="F") for v in self.variables])
        heights = cp.hstack([*self.heights, outside])
        constraint: cp.Constraint = intercepts + slopes @ w <= heights[cuts.groups]
        return constraint

    def multipliers(self, cuts: WorkingSet, of_rows: Floats) -> Floats:
        """Multipliers of the cuts, in the units of the user, from those of the rows."""
        return np.asarray(of_rows * (self.objective_unit / self.height_units[cuts.groups]))


def levels(cuts: WorkingSet, w_units: Floats) -> Floats:
    """The size of each group: of its largest intercept, and of its slopes at the units."""
    sizes = np.maximum(np.abs(cuts.intercepts), np.abs(cuts.slopes) @ w_units)
    largest = np.zeros(cuts.n_groups)
    np.maximum.at(largest, cuts.groups, sizes)
    return largest


def _scaled(constraint: Any, original: cp.Constraint, unit: Any) -> cp.Constraint:
    """A constraint in its unit, and another than the original one."""
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
