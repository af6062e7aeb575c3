"""Problems rewritten with a variable in the place of each atom that oracles evaluate."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from structsvm.errors import without_warnings
from structsvm.masters import (
    LEAST_SHARE,
    NO_SLACK,
    Cut,
    Planes,
    size_of,
    size_of_constraint,
    solve_by,
    solve_in_units,
)
from structsvm.modeling.atoms import OracleAtom
from structsvm.modeling.pool import Plane, Touch
from structsvm.problem import Quality
from structsvm.support import Floats, Ints

Sizes = list[Any]
"""The sum of the magnitudes of the terms of the objective, and of each (entry of a) constraint."""


OF_VALUES = ("boolean", "integer", "bounds", "sparsity")
"""Attributes of variables that the rules of cvxpy for curvature do not use."""


@dataclass(eq=False)
class StandIn:
    """An atom, and the variables that replace it."""

    number: int
    atom: OracleAtom
    arguments: list[cp.Expression]
    """The arguments, which are affine."""
    heights: cp.Variable
    """The height of each group, which is above its planes."""
    groups: Ints
    """The group of each term, from 0."""
    first: int
    """The number of its first group in the problem."""
    matrix: Any = None
    offset: Any = None
    """The arguments are ``matrix @ w + offset``."""
    quality: Quality = Quality.EXACT
    """The weakest quality of all answers, also in earlier runs."""

    @property
    def rows(self) -> slice:
        """The slice of its groups among those of the problem."""
        return slice(self.first, self.first + self.heights.size)

    def touch(self, answer: Planes) -> Touch:
        """An answer of its oracles, to compare later ones with."""
        return Touch.of(answer, self.heights.size)

    def lifted(self, cut: Cut) -> Cut:
        """A plane of the atom as a cut in the user's variables, with the plane as its labelling."""
        intercept = float(cut.intercept + cut.slope @ self.offset)
        slope = cut.slope @ self.matrix
        labellings = ((self.number, cut, 0.0, 1.0),)
        group = NO_SLACK if cut.group == NO_SLACK else self.first + cut.group
        return Cut(group, intercept, np.asarray(slope), labellings)

    def plane(self, cut: Cut, multiplier: float) -> Plane:
        """A plane of the atom as users see it."""
        terms = np.flatnonzero(self.groups == cut.group)
        term = -1 if terms.size > 1 else next(iter(terms.tolist()), None)
        pieces = zip(self.atom.split(cut.slope), self.atom.args, strict=True)
        slopes = tuple(in_shape(piece, arg) for piece, arg in pieces)
        return Plane(term, cut.intercept, slopes[0] if len(slopes) == 1 else slopes, multiplier)


class Rewritten:
    """The rewritten problem, a minimisation over one vector ``w`` of all variables and the heights.

    A height above the planes of an atom replaces the atom: ``f(h(x)) <= 0`` with ``f`` increasing
    means ``f(t) <= 0`` for some ``t >= h(x)``, and the same holds for objectives.
    """

    def __init__(self, problem: cp.Problem, slack: str) -> None:
        self.slack = slack
        self.sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        self.stand_ins: list[StandIn] = []
        self._complex: list[tuple[Any, Any, Any]] = []
        """Complex variables, and the two real variables that replace each."""
        self._inner: list[cp.Variable] = []
        self._domain: list[cp.Constraint] = []
        standing: dict[int, cp.Expression] = {
            id(v): self._in_halves(v) for v in problem.variables() if v.is_complex()
        }
        for atom in atoms_of(problem.objective, *problem.constraints):
            self._replace(atom, standing)
        inside = replaced(problem.objective.args[0], standing)
        self.objective: cp.Expression = inside if self.sign > 0 else -inside
        self.constraints: list[cp.Constraint] = [
            *(replaced(constraint, standing) for constraint in problem.constraints),
            *self._domain,
        ]
        """The constraints of the user, in their order, and then others."""
        self.variables: list[cp.Variable] = [
            *(v for v in problem.variables() if not v.is_complex()),
            *chain.from_iterable(halves for _, *halves in self._complex),
            *self._inner,
        ]
        self.leaves = [*self.variables, *(stand_in.heights for stand_in in self.stand_ins)]
        """The variables and the heights."""
        self._ends = np.cumsum([leaf.size for leaf in self.leaves])
        self.dim = sum(v.size for v in self.variables)
        self.size = int(self._ends[-1])
        self.n_groups = self.size - self.dim + 1
        """The number of groups with a height, and the group NO_SLACK."""
        self.is_mixed_integer = any(
            v.attributes["boolean"] or v.attributes["integer"] for v in self.variables
        )

    def _in_halves(self, z: cp.Variable) -> Any:
        """The expression of two real variables that replaces a complex one."""
        real = cp.Variable(z.shape, symmetric=z.attributes["hermitian"])
        imag = cp.Variable(z.shape)
        self._complex.append((z, real, imag))
        if z.attributes["hermitian"]:
            self._domain.append(imag + imag.T == 0)
        elif z.attributes["imag"]:
            self._domain.append(real == 0)
        return real + 1j * imag

    def _replace(self, atom: OracleAtom, standing: dict[int, cp.Expression]) -> None:
        """Replace an atom by heights, and its arguments that are not affine by variables."""
        arguments = []
        for i, original in enumerate(atom.args):
            arg = replaced(original, standing)
            if arg is not original or not arg.is_affine():
                inner = cp.Variable(arg.shape)
                self._inner.append(inner)
                # The rules of cvxpy allow convex arguments of increasing atoms, else concave ones.
                is_below = atom.is_incr(i) and arg.is_convex()
                self._domain.append(inner >= arg if is_below else inner <= arg)
                arg = inner
            arguments.append(arg)
        self._domain += atom.copy(arguments)._domain()
        groups = np.arange(atom.n_terms)
        if atom.sums_terms and self.slack == "one":
            groups = np.zeros_like(groups)
        heights = heights_of(atom, int(groups.max()) + 1)
        first = sum(stand_in.heights.size for stand_in in self.stand_ins)
        self.stand_ins.append(StandIn(len(self.stand_ins), atom, arguments, heights, groups, first))
        whole = cp.sum(heights) if atom.sums_terms else cp.reshape(heights, atom.shape, "F")
        standing[id(atom)] = whole

    def start(self, values_count: bool) -> Floats:
        """The values of the variables if they count, else zeros, projected on their attributes."""
        for z, real, imag in self._complex:
            real.save_value(None if z.value is None else np.real(z.value))
            imag.save_value(None if z.value is None else np.imag(z.value))
        values = [v.value if values_count else None for v in self.variables]
        pieces = [
            np.zeros(v.size) if value is None else column(value)
            for v, value in zip(self.variables, values, strict=True)
        ]
        return self.tidy(np.concatenate(pieces))

    def tidy(self, w: Floats) -> Floats:
        """A point projected on the attributes of the variables, such as nonnegativity."""
        pieces = zip(self.variables, self.split(w), strict=True)
        return np.concatenate([column(v.project(in_shape(piece, v))) for v, piece in pieces])

    def split(self, values: Floats) -> list[Floats]:
        """A vector split by variables, and by heights if it is long enough."""
        values = values[: self.size]
        return np.split(values, self._ends[self._ends < len(values)])

    def put(self, values: Floats) -> None:
        """Set the values of the variables, and of the heights if ``values`` has them."""
        for leaf, piece in zip(self.leaves, self.split(values), strict=False):
            leaf.save_value(in_shape(piece, leaf))
        for z, real, imag in self._complex:
            z.save_value(z.project(real.value + 1j * imag.value))

    @property
    def value(self) -> float:
        """The objective at the present values of variables and heights."""
        with np.errstate(all="ignore"):  # infinite outside of its domain
            return float(np.asarray(self.objective.value).item())

    def mended(self, room: float = 0.0) -> Floats | None:
        """The present point with the best values of variables that are in no argument of an atom.

        An example is ``t`` in ``OracleMax(x, oracle) <= t``, which restricted problems put below
        the value of the atom. With ``room``, in units of the data, inequalities are kept with it.
        None if there is no such variable, or no solution.
        """
        if self._over_free is None:
            return None
        problem, fixed = self._over_free
        for variable, parameter in fixed:
            parameter.save_value(variable.value)
        try:
            with without_warnings(Warning):
                if room == 0.0:
                    solve_by(problem, None, {})
                elif not solve_in_units(problem, room):
                    return None
        except (cp.error.SolverError, cp.error.DCPError, ValueError):
            return None
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return None
        return self.tidy(np.concatenate([column(v.value) for v in self.variables]))

    @cached_property
    def _over_free(self) -> tuple[cp.Problem, list[tuple[cp.Variable, cp.Parameter]]] | None:
        """The problem over the variables in no argument of an atom, with parameters for the others.

        None if no constraint contains both an atom and such a variable.
        """
        heights = {stand_in.heights.id for stand_in in self.stand_ins}
        arguments = chain.from_iterable(stand_in.arguments for stand_in in self.stand_ins)
        inside = {v.id for v in chain.from_iterable(arg.variables() for arg in arguments)}
        free = {v.id for v in self.variables} - inside
        of_constraints = [{v.id for v in c.variables()} for c in self.constraints]
        if not any(ids & heights and ids & free for ids in of_constraints):
            return None
        fixed = []
        for leaf in self.leaves:
            if leaf.id not in free:  # the parameter has the sign of the variable, for DCP rules
                attributes = leaf.attributes.items()
                signs: dict[str, Any] = {k: a for k, a in attributes if k not in OF_VALUES and a}
                fixed.append((leaf, cp.Parameter(leaf.shape, **signs)))
        standing: dict[int, Any] = {id(leaf): parameter for leaf, parameter in fixed}
        kept = [
            replaced(constraint, standing)
            for constraint, ids in zip(self.constraints, of_constraints, strict=True)
            if ids & free
        ]
        return cp.Problem(cp.Minimize(replaced(self.objective, standing)), kept), fixed

    def sizes_at(self, w: Floats, heights: Floats, units: Floats) -> Sizes:
        """The sizes of terms at the present point, from the sizes of its entries and heights.

        In their units, entries count for at least LEAST_SHARE of the largest one, because solvers
        are no more exact.
        """
        shares = np.divide(np.abs(w), units, out=np.zeros_like(w), where=units > 0)
        least = LEAST_SHARE * float(shares.max(initial=0.0)) * units
        values = np.append(np.maximum(np.abs(w), least), heights)
        pieces = zip(self.leaves, self.split(values), strict=True)
        sizes_of_leaves = {id(leaf): in_shape(piece, leaf) for leaf, piece in pieces}
        return [
            float(np.max(size_of(self.objective, sizes_of_leaves))),
            *(size_of_constraint(constraint, sizes_of_leaves) for constraint in self.constraints),
        ]

    def map_arguments(self) -> None:
        """Write the arguments of each atom as ``matrix @ w + offset``."""
        self.put(np.zeros(self.dim))
        for stand_in in self.stand_ins:
            arguments = stand_in.arguments
            stand_in.matrix = sp.vstack(list(map(self.gradient, arguments)), format="csr")
            stand_in.offset = np.concatenate([column(arg.value) for arg in arguments])

    def gradient(self, expression: cp.Expression) -> Any:
        """The matrix of an affine expression of the variables, sparse, (size, dim)."""
        gradients = {v.id: gradient for v, gradient in expression.grad.items()}
        blocks = []
        for v in self.variables:
            shape = v.size, expression.size
            block = gradients.get(v.id, sp.csr_array(shape))
            blocks.append(sp.csr_array(block if sp.issparse(block) else np.reshape(block, shape)).T)
        return sp.hstack(blocks, format="csr")


def atoms_of(*nodes: Any) -> list[OracleAtom]:
    """The oracle atoms in expression trees, each once, inner ones before outer ones."""
    atoms_by_id: dict[int, OracleAtom] = {}
    for node in nodes:
        atoms_by_id |= {id(atom): atom for atom in atoms_of(*getattr(node, "args", []))}
        if isinstance(node, OracleAtom):
            atoms_by_id[id(node)] = node
    return list(atoms_by_id.values())


def replaced(node: Any, standing: dict[int, cp.Expression]) -> Any:
    """An expression tree in which expressions are replaced by others, given by id."""
    if id(node) in standing:
        return standing[id(node)]
    args = getattr(node, "args", [])
    new = [replaced(arg, standing) for arg in args]
    if all(one is other for one, other in zip(new, args, strict=True)):
        return node
    return node.copy(new)


def heights_of(atom: OracleAtom, n: int) -> cp.Variable:
    """A variable for n groups with the sign of the atom, which the rules of cvxpy may need."""
    nonneg = atom.is_nonneg()
    return cp.Variable(n, nonneg=nonneg, nonpos=atom.is_nonpos() and not nonneg)


def column(value: Any) -> Floats:
    """The entries of an array, sparse or dense, column by column."""
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")


def in_shape(entries: Floats, node: cp.Expression) -> Floats:
    """Entries column by column in the shape of an expression."""
    return entries.reshape(node.shape, order="F")
