"""What of a problem does not depend on its parameters, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.masters.cvxpy import solve_by
from structsvm.masters.working_set import WorkingSet
from structsvm.modeling.rewriting import Held, Rewritten, heights_of, replaced, rewritten
from structsvm.modeling.scale import Scale, scaled, size_of, size_of_constraint
from structsvm.support.arrays import Floats, Ints
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


Map = tuple[Any, Floats]

SMALLEST = 1e-3
"""Of the largest entry of a point, what others count for at least in the size of terms."""

_known: WeakKeyDictionary[cp.Problem, dict[str, Prepared]] = WeakKeyDictionary()


def prepared(problem: cp.Problem, slack: str) -> Prepared:
    of_slacks = _known.setdefault(problem, {})
    if slack not in of_slacks:
        of_slacks[slack] = Prepared(problem, slack)
    return of_slacks[slack]


class Prepared:
    """A problem rewritten, whose variables are one vector ``w``, column by column."""

    def __init__(self, problem: cp.Problem, slack: str) -> None:
        self.rewritten: Rewritten = rewritten(problem, slack)
        self.slack = slack
        self.held: list[Held] = self.rewritten.held
        self.complexes = self.rewritten.complexes
        self.variables: list[cp.Variable] = [
            *(v for v in problem.variables() if not v.is_complex()),
            *(v for split in self.complexes for v in split.parts),
            *self.rewritten.inner,
        ]
        self.sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        self.sizes = [h.heights.size for h in self.held]
        self.mender = Mender.of(self.rewritten, self.variables)
        self.is_checked = False
        """Whether cvxpy minimises the objective that it evaluates."""
        self._restriction: Restriction | None = None
        self._maps: list[Map] | None = None

    @property
    def dim(self) -> int:
        return sum(v.size for v in self.variables)

    @property
    def n_groups(self) -> int:
        return sum(self.sizes)

    @property
    def is_mixed_integer(self) -> bool:
        return any(v.attributes["boolean"] or v.attributes["integer"] for v in self.variables)

    def restriction(self, sizes: Scale) -> Restriction:
        """The restricted problem in units for terms of these sizes, made once while they fit."""
        held = self._restriction
        if held is None:
            units = Scale.full(1.0, self.dim, self.n_groups, len(self.rewritten.constraints))
        else:
            units = held.units
        fitted = units.fitted(sizes)
        if held is None or fitted is not units:
            with without_warnings(RuntimeWarning):  # cvxpy multiplies infinite bounds by 0
                self._restriction = held = Restriction(self, fitted)
        return held

    def start(self, values_count: bool) -> Floats:
        """The values of the variables, zero where there is none, with their attributes."""
        for split in self.complexes:
            split.split()
        pieces = []
        for v in self.variables:
            value = v.value if values_count and v.value is not None else np.zeros(v.shape)
            pieces.append(column(v.project(column(value).reshape(v.shape, order="F"))))
        return np.concatenate(pieces)

    def tidy(self, w: Floats) -> Floats:
        """With the attributes of the variables, such as nonnegativity, kept exactly."""
        pieces = []
        for v, piece in zip(self.variables, self.split(w), strict=True):
            if any(v.attributes.values()):
                piece = column(v.project(piece.reshape(v.shape, order="F")))
            pieces.append(piece)
        return np.concatenate(pieces)

    def values(self) -> Floats:
        return np.concatenate([column(v.value) for v in self.variables])

    def split(self, w: Floats) -> list[Floats]:
        return np.split(w, np.cumsum([v.size for v in self.variables])[:-1])

    def put(self, w: Floats, heights: Floats | None = None) -> None:
        """Give the variables their values, and the heights of the atoms theirs."""
        for v, piece in zip(self.variables, self.split(w), strict=True):
            v.save_value(piece.reshape(v.shape, order="F"))
        for split in self.complexes:
            split.join()
        if heights is not None:
            pieces = np.split(heights, np.cumsum(self.sizes)[:-1])
            for held, piece in zip(self.held, pieces, strict=True):
                held.heights.save_value(piece)

    def scale_at(self, w: Floats, heights: Floats) -> Scale:
        """The sizes at a point that was put, from those of its entries and of the heights.

        No entry counts for much less than the largest one: solvers are not as exact.
        """
        least = SMALLEST * float(np.abs(w).max(initial=0.0))
        sizes: dict[int, Any] = {}
        largest = []
        for v, piece in zip(self.variables, self.split(w), strict=True):
            size = np.maximum(np.abs(piece), least)
            sizes[id(v)] = size.reshape(v.shape, order="F")
            is_plain = not any(v.attributes.values())
            largest.append(np.full(v.size, size.max() if is_plain else 1.0))
        pieces = np.split(heights, np.cumsum(self.sizes)[:-1])
        sizes |= {id(held.heights): piece for held, piece in zip(self.held, pieces, strict=True)}
        return Scale(
            np.concatenate(largest),
            heights,
            float(np.max(size_of(self.rewritten.objective, sizes))),
            tuple(size_of_constraint(c, sizes) for c in self.rewritten.constraints),
        )

    def maps(self) -> list[Map]:
        """The arguments of each atom as ``matrix @ w + offset``."""
        if self._maps is None or any(a.parameters() for h in self.held for a in h.arguments):
            self.put(np.zeros(self.dim))
            self._maps = [self._map(held.arguments) for held in self.held]
        return self._maps

    def of_group(self, g: int) -> tuple[Held, str]:
        """The atom of a group, and which of its terms it is, in words."""
        a = int(np.searchsorted(np.cumsum(self.sizes), g, side="right"))
        held = self.held[a]
        own = g - sum(self.sizes[:a])
        return held, "" if held.heights.size == 1 else f", term {own}"

    def _map(self, arguments: Sequence[cp.Expression]) -> Map:
        places, at = {}, 0
        for v in self.variables:
            places[v.id], at = at, at + v.size
        rows, columns, entries, offsets, first = [], [], [], [], 0
        for arg in arguments:
            for v, gradient in arg.grad.items():
                part = sp.coo_array([[gradient]] if np.isscalar(gradient) else gradient)
                rows.append(first + part.col)
                columns.append(places[v.id] + part.row)
                entries.append(part.data)
            offsets.append(column(arg.value))
            first += arg.size
        if not rows:
            return sp.csr_array((first, self.dim)), np.concatenate(offsets)
        where = np.concatenate(rows), np.concatenate(columns)
        matrix = sp.csr_array((np.concatenate(entries), where), shape=(first, self.dim))
        return matrix, np.concatenate(offsets)


class Restriction:
    """A problem with a variable in the place of each atom, above its cuts, whose numbers are of the
    order of 1: objective, heights and constraints are in units of their own.
    """

    def __init__(self, prepared: Prepared, units: Scale) -> None:
        self.prepared, self.units = prepared, units
        self.variables = [_plain_copy(v) for v in prepared.variables]
        self.heights = [heights_of(held.atom, held.heights.size) for held in prepared.held]
        theirs = [*prepared.variables, *(held.heights for held in prepared.held)]
        own = [*self.variables, *self.heights]
        sizes = [v.size for v in theirs]
        pieces = np.split(np.concatenate([units.w, units.heights]), np.cumsum(sizes)[:-1])
        standing: dict[int, Any] = {
            id(v): cp.multiply(piece.reshape(v.shape, order="F"), mine)
            for v, mine, piece in zip(theirs, own, pieces, strict=True)
            if mine is not v
        }
        written = prepared.rewritten
        objective = replaced(written.objective, standing) / units.objective
        self.constraints = [
            scaled(constraint, unit, standing)
            for constraint, unit in zip(written.constraints, units.constraints, strict=True)
        ]
        self.problem, self._links = self._linked(objective)

    def plain(self, variable: cp.Variable) -> tuple[cp.Variable, Ints]:
        """A variable without attributes, and where in it the entries of the variable are."""
        return self._links.get(variable.id, (variable, np.arange(variable.size)))

    def put(self, w: Floats, heights: Floats) -> None:
        """Give all variables their values, from those in the units of the user."""
        self.prepared.put(w, heights)
        for v, piece in zip(self.variables, self.prepared.split(w / self.units.w), strict=True):
            v.save_value(piece.reshape(v.shape, order="F"))
        pieces = np.split(heights / self.units.heights, np.cumsum(self.prepared.sizes)[:-1])
        for v, piece in zip(self.heights, pieces, strict=True):
            v.save_value(piece)

    def values(self) -> Floats:
        """The values of the variables, in the units of the user."""
        found = np.concatenate([column(v.value) for v in self.variables])
        return np.asarray(self.units.w * found)

    def in_units(self, cuts: WorkingSet) -> tuple[Floats, Floats]:
        """Intercepts and slopes of cuts below the heights."""
        units = self.units.heights[cuts.groups]
        return cuts.intercepts / units, cuts.slopes * (self.units.w / units[:, None])

    def rows(self, cuts: WorkingSet) -> cp.Constraint:
        intercepts, slopes = self.in_units(cuts)
        w = cp.hstack([cp.vec(v, order="F") for v in self.variables])
        found: cp.Constraint = intercepts + slopes @ w <= cp.hstack(self.heights)[cuts.groups]
        return found

    def multipliers(self, cuts: WorkingSet, found: Floats) -> Floats:
        """Those of the cuts, in the units of the user, from those of the rows."""
        return np.asarray(found * (self.units.objective / self.units.heights[cuts.groups]))

    def give_duals(self, constraints: Sequence[cp.Constraint]) -> None:
        """Give the user's constraints the dual values of these."""
        mine = zip(self.constraints, self.units.constraints, strict=True)
        for theirs, (own, unit) in zip(constraints, mine, strict=False):
            factor = self.units.objective / unit
            for dual, found in zip(theirs.dual_variables, own.dual_variables, strict=True):
                value = found.value
                dual.save_value(None if value is None else value * factor)

    def _linked(
        self, objective: cp.Expression
    ) -> tuple[cp.Problem, dict[int, tuple[cp.Variable, Ints]]]:
        bare = cp.Problem(cp.Minimize(objective), self.constraints)
        present = {v.id for v in bare.variables()}
        links: dict[int, tuple[cp.Variable, Ints]] = {}
        constraints = list(self.constraints)
        for v in [*self.variables, *self.heights]:
            if v.id not in present or any(v.attributes.values()):
                own, places = _own_entries(v)
                links[v.id] = cp.Variable(own.size), places
                constraints.append(links[v.id][0] == cp.vec(v, order="F")[own])
        return cp.Problem(bare.objective, constraints), links


def _plain_copy(variable: cp.Variable) -> cp.Variable:
    """A variable of that shape; those with attributes stay, in the unit of the user."""
    return variable if any(variable.attributes.values()) else cp.Variable(variable.shape)


def _own_entries(variable: cp.Variable) -> tuple[Ints, Ints]:
    """Which entries are there once, column by column, and which of these each entry is."""
    entries = np.arange(variable.size)
    if variable.ndim == 2 and variable.is_symmetric() and not variable.is_scalar():
        P = variable.shape[0]
        rows, columns = entries % P, entries // P
        own = entries[rows <= columns]
        first = np.minimum(rows, columns) + P * np.maximum(rows, columns)
        return own, np.searchsorted(own, first)
    return entries, entries


def column(value: Any) -> Floats:
    """The entries of an array, sparse or dense, column by column."""
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")
