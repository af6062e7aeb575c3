"""What of a problem does not depend on its parameters, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.masters.working_set import WorkingSet
from structsvm.modeling.mending import Mender
from structsvm.modeling.rewriting import Held, Rewritten, rewritten
from structsvm.support.arrays import Floats, Ints

Map = tuple[Any, Floats]

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
        self.variables: list[cp.Variable] = [*problem.variables(), *self.rewritten.inner]
        self.sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        self.sizes = [h.heights.size for h in self.held]
        self.mender = Mender.of(self.rewritten, self.variables)
        self.master, self._links = self._linked()
        self._maps: list[Map] | None = None

    @property
    def dim(self) -> int:
        """The size of ``w``."""
        return sum(v.size for v in self.variables)

    @property
    def n_groups(self) -> int:
        """The number of heights of all atoms."""
        return sum(self.sizes)

    @property
    def is_mixed_integer(self) -> bool:
        return any(v.attributes["boolean"] or v.attributes["integer"] for v in self.variables)

    def plain(self, variable: cp.Variable) -> tuple[cp.Variable, Ints]:
        """A variable without attributes, and where in it the entries of the variable are."""
        return self._links.get(variable.id, (variable, np.arange(variable.size)))

    def start(self, values_count: bool) -> Floats:
        """The values of the variables, zero where there is none, with their attributes."""
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
        """The values of the variables as they are."""
        return np.concatenate([column(v.value) for v in self.variables])

    def split(self, w: Floats) -> list[Floats]:
        """The entries of each variable."""
        return np.split(w, np.cumsum([v.size for v in self.variables])[:-1])

    def put(self, w: Floats, heights: Floats | None = None) -> None:
        """Give the variables their values, and the heights of the atoms theirs."""
        for v, piece in zip(self.variables, self.split(w), strict=True):
            v.save_value(piece.reshape(v.shape, order="F"))
        if heights is not None:
            pieces = np.split(heights, np.cumsum(self.sizes)[:-1])
            for held, piece in zip(self.held, pieces, strict=True):
                held.heights.save_value(piece)

    def maps(self) -> list[Map]:
        """The arguments of each atom as ``matrix @ w + offset``."""
        if self._maps is None or any(a.parameters() for h in self.held for a in h.arguments):
            self.put(np.zeros(self.dim))
            self._maps = [self._map(held.arguments) for held in self.held]
        return self._maps

    def rows(self, cuts: WorkingSet) -> cp.Constraint:
        """The cuts as a constraint of cvxpy."""
        heights = cp.hstack([h.heights for h in self.held])
        w = cp.hstack([cp.vec(v, order="F") for v in self.variables])
        found: cp.Constraint = cuts.intercepts + cuts.slopes @ w <= heights[cuts.groups]
        return found

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

    def _linked(self) -> tuple[cp.Problem, dict[int, tuple[cp.Variable, Ints]]]:
        present = {v.id for v in self.rewritten.problem.variables()}
        links: dict[int, tuple[cp.Variable, Ints]] = {}
        constraints = list(self.rewritten.constraints)
        for v in [*self.variables, *(h.heights for h in self.held)]:
            if v.id not in present or any(v.attributes.values()):
                own, places = _own_entries(v)
                links[v.id] = cp.Variable(own.size), places
                constraints.append(links[v.id][0] == cp.vec(v, order="F")[own])
        return cp.Problem(cp.Minimize(self.rewritten.objective), constraints), links


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
