"""A problem with atoms that oracles know, written as one with a variable in the place of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality

from structsvm.masters.cvxpy import solve_by
from structsvm.modeling.atoms import OracleAtom
from structsvm.support.arrays import Floats
from structsvm.support.quiet import without_warnings

# ---- the size of the terms of objectives and constraints: what accuracy is relative to


LEAST = 1e-4
"""What the first size that is not zero counts for: all terms may vanish at the solution."""

ROOM = 2.0**7
"""A unit is kept while the sizes that it is for are within this factor of it."""


class Scale(NamedTuple):
    """A positive number for each variable and height, the objective, and each (entry of a)
    constraint: sizes of their terms, or units in which they are of the order of 1.
    """

    w: Floats
    """One number for all entries of a variable, (dim,)."""
    heights: Floats
    """(n_groups,)."""
    objective: Any
    constraints: tuple[Any, ...]

    def combined(self, other: Scale, by: Callable[[Any, Any], Any]) -> Scale:
        pairs = zip(self.constraints, other.constraints, strict=True)
        return Scale(
            by(self.w, other.w),
            by(self.heights, other.heights),
            by(self.objective, other.objective),
            tuple(by(*pair) for pair in pairs),
        )

    def fitted(self, sizes: Scale) -> Scale:
        """Units for these sizes: these units themselves where they are near enough."""
        found = self.combined(sizes, _fitted)
        pairs = zip((*found[:3], *found[3]), (*self[:3], *self[3]), strict=True)
        return self if all(new is old for new, old in pairs) else found


def first(seen: Any, now: Any) -> Any:
    """The first size that is not zero."""
    return np.where(np.asarray(seen) > 0, seen, now)


def lasting(now: Any, seen: Any) -> Any:
    """The size to measure by."""
    return np.maximum(now, LEAST * seen)


def _fitted(unit: Any, size: Any) -> Any:
    share = np.where((size > 0) & np.isfinite(size), size, unit) / unit
    if np.all((share < ROOM) & (share > 1.0 / ROOM)):
        return unit
    return unit * 2.0 ** np.round(np.log2(share))


def size_of(node: Any, sizes: Mapping[int, Any]) -> Any:
    """The sum of the magnitudes of the terms of each entry, which may cancel."""
    if id(node) in sizes:
        return sizes[id(node)]
    if node.args and (node.is_atom_affine() or node.is_pwl()):
        return np.abs(node.numeric([size_of(arg, sizes) for arg in node.args]))
    value = node.value
    return np.abs(value.toarray() if sp.issparse(value) else np.asarray(value))


def size_of_constraint(constraint: cp.Constraint, sizes: Mapping[int, Any]) -> Any:
    """Size of each entry of an inequality or an equality; the largest one of a cone."""
    found = [size_of(arg, sizes) for arg in constraint.args]
    if isinstance(constraint, Inequality | Equality):
        return np.maximum(found[0], found[1])
    return max(float(np.max(one, initial=0.0)) for one in found)


def violation(constraint: cp.Constraint, size: Any) -> float:
    """Violation of a constraint at the values of its variables, relative to its size."""
    amount = np.abs(np.asarray(constraint.violation()))
    if np.shape(size) != amount.shape:
        size, amount = np.max(size, initial=0.0), np.max(amount, initial=0.0)
    with np.errstate(divide="ignore"):
        shares = np.divide(amount, size, out=np.zeros_like(amount), where=amount > 0)
    return float(np.max(shares, initial=0.0))


# ---- a problem with atoms that oracles know, written as one with a variable in the place of each


OF_VALUES = ("boolean", "integer", "bounds", "sparsity")
"""Attributes that rules of cvxpy for curvature do not ask for."""

SMALLEST = 1e-3
"""Of the largest entry of a point, what others count for at least in the size of terms."""

Map = tuple[Any, Floats]


@dataclass(eq=False)
class Held:
    """An atom, and what stands for it."""

    atom: OracleAtom
    arguments: list[cp.Expression]
    """Affine."""
    heights: cp.Variable
    """Heights of the groups, above the planes."""
    groups: list[int]
    """The group of each term, from 0."""


class Complex:
    """A complex variable, and real variables in its place."""

    def __init__(self, variable: cp.Variable) -> None:
        self.variable, shape = variable, variable.shape
        self.real: cp.Expression = cp.Variable(shape)
        self.imag: cp.Expression = cp.Variable(shape)
        if variable.attributes["hermitian"]:
            n = shape[0]
            upper = cp.vec_to_upper_tri(cp.Variable(max(1, n * (n - 1) // 2)), strict=True)
            self.real = cp.Variable(shape, symmetric=True)
            self.imag = upper - upper.T if n > 1 else cp.Constant(np.zeros(shape))
        elif variable.attributes["imag"]:
            self.real = cp.Constant(np.zeros(shape))
        self.parts: list[cp.Variable] = [*self.real.variables(), *self.imag.variables()]

    def split(self) -> None:
        """Give the real variables the value of the complex one, if it has one."""
        value = self.variable.value
        for v in self.parts:
            v.save_value(None)
        if value is not None:
            upper = np.imag(value)[np.triu_indices(len(value), 1)] if np.ndim(value) == 2 else None
            for part, of in ((self.real, np.real(value)), (self.imag, np.imag(value))):
                for v in part.variables():
                    v.save_value(of if v.shape == part.shape else upper)

    def join(self) -> None:
        value: Any = self.real + 1j * self.imag
        self.variable.save_value(value.value)


_known: WeakKeyDictionary[cp.Problem, dict[str, Rewritten]] = WeakKeyDictionary()


class Rewritten:
    """The problem that is left, a minimisation over one vector ``w`` of all variables.

    A variable, above the planes of the atom, is in the place of every atom: ``f(h(x)) <= 0`` with
    ``f`` increasing is ``f(t) <= 0`` for some ``t >= h(x)``, and so for objectives. Nothing of it
    depends on the values of parameters.
    """

    @classmethod
    def of(cls, problem: cp.Problem, slack: str) -> Rewritten:
        """That of a problem, made once."""
        of_slacks = _known.setdefault(problem, {})
        if slack not in of_slacks:
            of_slacks[slack] = cls(problem, slack)
        return of_slacks[slack]

    def __init__(self, problem: cp.Problem, slack: str) -> None:
        self.slack = slack
        self.sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        self.complexes = [Complex(v) for v in problem.variables() if v.is_complex()]
        self.held: list[Held] = []
        self._inner: list[cp.Variable] = []
        self._domain: list[cp.Constraint] = []
        standing: dict[int, cp.Expression] = {
            id(split.variable): split.real + 1j * split.imag for split in self.complexes
        }
        for atom in atoms_of(problem):
            arguments = [
                self._affine(arg, replaced(arg, standing), atom, i)
                for i, arg in enumerate(atom.args)
            ]
            self._domain += atom.domain_of_arguments(arguments)
            groups = atom.groups(slack)
            heights = heights_of(atom, max(groups) + 1)
            self.held.append(Held(atom, arguments, heights, groups))
            whole = cp.sum(heights) if atom.sums_terms else cp.reshape(heights, atom.shape, "F")
            standing[id(atom)] = whole
        inside = replaced(problem.objective.args[0], standing)
        self.objective: cp.Expression = inside if self.sign > 0 else -inside
        self.constraints: list[cp.Constraint] = [
            *(replaced(constraint, standing) for constraint in problem.constraints),
            *self._domain,
        ]
        """Constraints of the user first, in their order."""
        self.variables: list[cp.Variable] = [
            *(v for v in problem.variables() if not v.is_complex()),
            *(v for split in self.complexes for v in split.parts),
            *self._inner,
        ]
        self.dim = sum(v.size for v in self.variables)
        self.sizes = [held.heights.size for held in self.held]
        self.n_groups = sum(self.sizes)
        self.is_mixed_integer = any(
            v.attributes["boolean"] or v.attributes["integer"] for v in self.variables
        )
        self.is_checked = False
        """Whether cvxpy minimises the objective that it evaluates."""
        self.restriction: Any = None
        """The last restricted problem, which is kept while its units fit."""
        self._mender = _mender(self)
        self._maps: list[Map] | None = None

    def _affine(
        self, original: cp.Expression, arg: cp.Expression, atom: OracleAtom, i: int
    ) -> cp.Expression:
        """The argument if it is affine in the user's variables, else a variable beside it."""
        known = {v.id for v in original.variables()}
        if arg.is_affine() and all(v.id in known for v in arg.variables()):
            return arg  # it does not hold another atom
        inner = cp.Variable(arg.shape)
        self._inner.append(inner)
        # By the rules of cvxpy it is convex where the atom increases, concave where it decreases.
        is_below = atom.is_incr(i) and arg.is_convex()
        self._domain.append(inner >= arg if is_below else inner <= arg)
        return inner

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

    def split(self, w: Floats) -> list[Floats]:
        """The part of each variable, column by column."""
        return np.split(w, np.cumsum([v.size for v in self.variables])[:-1])

    def split_heights(self, heights: Floats) -> list[Floats]:
        """The part of each atom."""
        return np.split(heights, np.cumsum(self.sizes)[:-1])

    def put(self, w: Floats, heights: Floats | None = None) -> None:
        """Give the variables their values, and the heights of the atoms theirs."""
        for v, piece in zip(self.variables, self.split(w), strict=True):
            v.save_value(piece.reshape(v.shape, order="F"))
        for split in self.complexes:
            split.join()
        if heights is not None:
            for held, piece in zip(self.held, self.split_heights(heights), strict=True):
                held.heights.save_value(piece)

    @property
    def value(self) -> float:
        """The objective at the values that were put."""
        return float(np.asarray(self.objective.value).item())

    def mended(self) -> Floats | None:
        """The point that was put, with the best values of variables in no argument of an atom.

        Of ``t`` in ``OracleMax(x, oracle) <= t``, for example, which the restricted problem puts
        below the value in every round but the last. None where there are none.
        """
        if self._mender is None:
            return None
        problem, fixed = self._mender
        for variable, parameter in fixed:
            parameter.save_value(variable.value)
        try:
            with without_warnings(Warning):
                solve_by(problem, None, {})
        except (cp.error.SolverError, cp.error.DCPError, ValueError):
            return None
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return None
        return self.tidy(np.concatenate([column(v.value) for v in self.variables]))

    def full_scale(self, value: float) -> Scale:
        """Scale with one size for everything."""
        n, m = self.n_groups, len(self.constraints)
        return Scale(np.full(self.dim, value), np.full(n, value), value, (value,) * m)

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
        for held, piece in zip(self.held, self.split_heights(heights), strict=True):
            sizes[id(held.heights)] = piece
        return Scale(
            np.concatenate(largest),
            heights,
            float(np.max(size_of(self.objective, sizes))),
            tuple(size_of_constraint(c, sizes) for c in self.constraints),
        )

    def maps(self) -> list[Map]:
        """The arguments of each atom as ``matrix @ w + offset``."""
        if self._maps is None or any(a.parameters() for h in self.held for a in h.arguments):
            self.put(np.zeros(self.dim))
            ends = np.cumsum([v.size for v in self.variables])
            places = {v.id: end - v.size for v, end in zip(self.variables, ends, strict=True)}
            self._maps = [self._map(held.arguments, places) for held in self.held]
        return self._maps

    def _map(self, arguments: Sequence[cp.Expression], places: Mapping[int, int]) -> Map:
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


def _mender(
    rewritten: Rewritten,
) -> tuple[cp.Problem, list[tuple[cp.Variable, cp.Parameter]]] | None:
    """The problem over the variables in no argument of an atom, and parameters for the others.

    None where no constraint holds both an atom and such a variable.
    """
    heights = [held.heights for held in rewritten.held]
    inside = {v.id for h in rewritten.held for arg in h.arguments for v in arg.variables()}
    free = {v.id for v in rewritten.variables} - inside
    of_constraints = [{v.id for v in c.variables()} for c in rewritten.constraints]
    if not any(ids & {h.id for h in heights} and ids & free for ids in of_constraints):
        return None
    fixed = []
    for v in (*rewritten.variables, *heights):
        if v.id not in free:  # the rules of cvxpy take the parameter for the variable
            attributes = v.attributes.items()
            signs: dict[str, Any] = {k: a for k, a in attributes if k not in OF_VALUES and a}
            fixed.append((v, cp.Parameter(v.shape, **signs)))
    standing: dict[int, Any] = {id(v): parameter for v, parameter in fixed}
    kept = [
        replaced(constraint, standing)
        for constraint, ids in zip(rewritten.constraints, of_constraints, strict=True)
        if ids & free
    ]
    return cp.Problem(cp.Minimize(replaced(rewritten.objective, standing)), kept), fixed


def atoms_of(problem: cp.Problem) -> list[OracleAtom]:
    """The atoms that only oracles know, each once, those inside of others first."""
    roots = (problem.objective, *problem.constraints)
    found = {id(atom): atom for root in roots for atom in oracle_atoms(root)}
    return list(found.values())


def oracle_atoms(node: Any) -> Iterator[OracleAtom]:
    """Oracle atoms in a tree, those inside of others first."""
    for arg in getattr(node, "args", []):
        yield from oracle_atoms(arg)
    if isinstance(node, OracleAtom):
        yield node


def replaced(node: Any, standing: dict[int, cp.Expression]) -> Any:
    """A tree with other expressions in the place of some."""
    if id(node) in standing:
        return standing[id(node)]
    args = getattr(node, "args", [])
    new = [replaced(arg, standing) for arg in args]
    if all(one is other for one, other in zip(new, args, strict=True)):
        return node
    return node.copy(new)


def heights_of(atom: OracleAtom, n: int) -> cp.Variable:
    """A variable with the sign of the atom, on which the rules of cvxpy may rest."""
    if atom.is_nonneg():
        return cp.Variable(n, nonneg=True)
    return cp.Variable(n, nonpos=True) if atom.is_nonpos() else cp.Variable(n)


def column(value: Any) -> Floats:
    """The entries of an array, sparse or dense, column by column."""
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")
