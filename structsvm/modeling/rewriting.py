"""A problem with atoms that oracles know, written as one with a variable in the place of each."""

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
"""A positive number for the objective, and for each (entry of a) constraint: what its terms are of
the size of.
"""


OF_VALUES = ("boolean", "integer", "bounds", "sparsity")
"""Attributes that rules of cvxpy for curvature do not ask for."""


@dataclass(eq=False)
class StandIn:
    """An atom, and what stands for it."""

    number: int
    atom: OracleAtom
    arguments: list[cp.Expression]
    """Affine."""
    heights: cp.Variable
    """Heights of the groups, above the planes."""
    groups: Ints
    """The group of each term, from 0."""
    first: int
    """The number in the problem of the first group."""
    matrix: Any = None
    offset: Any = None
    """The arguments are ``matrix @ w + offset``."""
    quality: Quality = Quality.EXACT
    """The weakest answer that planes are of, also those of runs before."""

    @property
    def rows(self) -> slice:
        """Its groups among those of the problem."""
        return slice(self.first, self.first + self.heights.size)

    def touch(self, answer: Planes) -> Touch:
        return Touch.of(answer, self.heights.size)

    def lifted(self, cut: Cut) -> Cut:
        """A plane of the atom as a cut in the user's variables, which has it for its labelling."""
        intercept = float(cut.intercept + cut.slope @ self.offset)
        slope = cut.slope @ self.matrix
        labellings = ((self.number, cut, 0.0, 1.0),)
        group = NO_SLACK if cut.group == NO_SLACK else self.first + cut.group
        return Cut(group, intercept, np.asarray(slope), labellings)

    def plane(self, cut: Cut, multiplier: float) -> Plane:
        """A cut of the atom as users see it."""
        terms = np.flatnonzero(self.groups == cut.group)
        term = -1 if terms.size > 1 else next(iter(terms.tolist()), None)
        pieces = zip(self.atom.split(cut.slope), self.atom.args, strict=True)
        slopes = tuple(in_shape(piece, arg) for piece, arg in pieces)
        return Plane(term, cut.intercept, slopes[0] if len(slopes) == 1 else slopes, multiplier)


class Rewritten:
    """The problem that is left, a minimisation over one vector ``w`` of all variables.

    A variable, above the planes of the atom, is in the place of every atom: ``f(h(x)) <= 0`` with
    ``f`` increasing is ``f(t) <= 0`` for some ``t >= h(x)``, and so for objectives.
    """

    def __init__(self, problem: cp.Problem, slack: str) -> None:
        self.slack = slack
        self.sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
        self.stand_ins: list[StandIn] = []
        self._complex: list[tuple[Any, Any, Any]] = []
        """Complex variables, and the real ones in the place of each."""
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
        """Constraints of the user first, in their order."""
        self.variables: list[cp.Variable] = [
            *(v for v in problem.variables() if not v.is_complex()),
            *chain.from_iterable(halves for _, *halves in self._complex),
            *self._inner,
        ]
        self.leaves = [*self.variables, *(stand_in.heights for stand_in in self.stand_ins)]
        """Variables and heights."""
        self._ends = np.cumsum([leaf.size for leaf in self.leaves])
        self.dim = sum(v.size for v in self.variables)
        self.size = int(self._ends[-1])
        self.n_groups = self.size - self.dim + 1
        """Those with a height, and the one of rows without."""
        self.is_mixed_integer = any(
            v.attributes["boolean"] or v.attributes["integer"] for v in self.variables
        )

    def _in_halves(self, z: cp.Variable) -> Any:
        """A complex variable as two real ones."""
        real = cp.Variable(z.shape, symmetric=z.attributes["hermitian"])
        imag = cp.Variable(z.shape)
        self._complex.append((z, real, imag))
        if z.attributes["hermitian"]:
            self._domain.append(imag + imag.T == 0)
        elif z.attributes["imag"]:
            self._domain.append(real == 0)
        return real + 1j * imag

    def _replace(self, atom: OracleAtom, standing: dict[int, cp.Expression]) -> None:
        """Let heights stand for an atom, and variables for arguments that are not affine."""
        arguments = []
        for i, original in enumerate(atom.args):
            arg = replaced(original, standing)
            if arg is not original or not arg.is_affine():
                inner = cp.Variable(arg.shape)
                self._inner.append(inner)
                # By the rules of cvxpy convex where the atom increases, else concave.
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
        """The values of the variables, zero where there is none, with their attributes."""
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
        """With the attributes of the variables, such as nonnegativity, kept exactly."""
        pieces = zip(self.variables, self.split(w), strict=True)
        return np.concatenate([column(v.project(in_shape(piece, v))) for v, piece in pieces])

    def split(self, values: Floats) -> list[Floats]:
        """The part of each variable, column by column, and of the heights if they are there."""
        values = values[: self.size]
        return np.split(values, self._ends[self._ends < len(values)])

    def put(self, values: Floats) -> None:
        """Give the variables their values, and the heights of the atoms, if they are there."""
        for leaf, piece in zip(self.leaves, self.split(values), strict=False):
            leaf.save_value(in_shape(piece, leaf))
        for z, real, imag in self._complex:
            z.save_value(z.project(real.value + 1j * imag.value))

    @property
    def value(self) -> float:
        """The objective at the values that were put."""
        with np.errstate(all="ignore"):  # infinite outside of its domain
            return float(np.asarray(self.objective.value).item())

    def mended(self, room: float = 0.0) -> Floats | None:
        """The point that was put, with the best values of variables in no argument of an atom.

        Of ``t`` in ``OracleMax(x, oracle) <= t``, for example, which the restricted problem puts
        below the value in every round but the last. With ``room``, of the units of its data, below
        inequalities. None where there are none.
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

        None where no constraint holds both an atom and such a variable.
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
            if leaf.id not in free:  # the rules of cvxpy take the parameter for the variable
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
        """The sizes of terms at a point that was put, from those of its entries and of the heights.

        By their units, no entry counts for much less than the largest one: solvers are not as
        exact.
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
            rows = []
            for arg in stand_in.arguments:
                of = {v.id: gradient for v, gradient in arg.grad.items()}
                gradients = [of.get(v.id, sp.csr_array((v.size, arg.size))) for v in self.variables]
                rows.append([sp.csr_array([[g]] if np.isscalar(g) else g).T for g in gradients])
            stand_in.matrix = sp.block_array(rows, format="csr")
            stand_in.offset = np.concatenate([column(arg.value) for arg in stand_in.arguments])


def atoms_of(*nodes: Any) -> list[OracleAtom]:
    """The atoms in trees that only oracles know, each once, those inside of others first."""
    atoms_by_id: dict[int, OracleAtom] = {}
    for node in nodes:
        atoms_by_id |= {id(atom): atom for atom in atoms_of(*getattr(node, "args", []))}
        if isinstance(node, OracleAtom):
            atoms_by_id[id(node)] = node
    return list(atoms_by_id.values())


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
    nonneg = atom.is_nonneg()
    return cp.Variable(n, nonneg=nonneg, nonpos=atom.is_nonpos() and not nonneg)


def column(value: Any) -> Floats:
    """The entries of an array, sparse or dense, column by column."""
    dense = value.toarray() if sp.issparse(value) else value
    return np.asarray(dense, dtype=np.float64).ravel(order="F")


def in_shape(entries: Floats, node: cp.Expression) -> Floats:
    """Entries column by column in the shape of an expression."""
    return entries.reshape(node.shape, order="F")
