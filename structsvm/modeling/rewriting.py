"""A problem with atoms that oracles know, written as one with a variable in the place of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np

from structsvm.errors import SettingsError
from structsvm.modeling.atoms import OracleAtom


@dataclass(eq=False)
class Held:
    """An atom, and what stands for it."""

    atom: OracleAtom
    arguments: list[cp.Expression]
    """Affine."""
    heights: cp.Variable
    """Of its groups, above the planes."""
    groups: list[int]
    """The group of each term, from 0."""


@dataclass(eq=False)
class Complex:
    """A complex variable, and real variables in its place."""

    variable: cp.Variable
    real: cp.Expression
    imag: cp.Expression

    @classmethod
    def of(cls, variable: cp.Variable) -> Complex:
        shape = variable.shape
        if variable.attributes["hermitian"]:
            n = shape[0]
            upper = cp.vec_to_upper_tri(cp.Variable(max(1, n * (n - 1) // 2)), strict=True)
            imag = upper - upper.T if n > 1 else cp.Constant(np.zeros(shape))
            return cls(variable, cp.Variable(shape, symmetric=True), imag)
        if variable.attributes["imag"]:
            return cls(variable, cp.Constant(np.zeros(shape)), cp.Variable(shape))
        return cls(variable, cp.Variable(shape), cp.Variable(shape))

    @property
    def parts(self) -> list[cp.Variable]:
        return [*self.real.variables(), *self.imag.variables()]

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


@dataclass(eq=False)
class Rewritten:
    """The problem that is left: a minimisation without atoms that only oracles know."""

    objective: cp.Expression
    """What is minimised."""
    constraints: list[cp.Constraint]
    """Those of the user first, in their order."""
    held: list[Held] = field(default_factory=list)
    inner: list[cp.Variable] = field(default_factory=list)
    """Variables that stand for arguments that are not affine."""
    complexes: list[Complex] = field(default_factory=list)

    @property
    def given(self) -> set[int]:
        """The numbers of the variables in arguments of atoms."""
        return {v.id for held in self.held for arg in held.arguments for v in arg.variables()}


def atoms_of(problem: cp.Problem) -> list[OracleAtom]:
    """The atoms that only oracles know, each once, those inside of others first."""
    found: dict[int, OracleAtom] = {}
    for root in (problem.objective, *problem.constraints):
        for atom in _walk(root):
            found.setdefault(id(atom), atom)
    return list(found.values())


def _walk(node: Any) -> Iterator[OracleAtom]:
    for arg in getattr(node, "args", []):
        yield from _walk(arg)
    if isinstance(node, OracleAtom):
        yield node


def rewritten(problem: cp.Problem, slack: str) -> Rewritten:
    """Put a variable, above the planes of the atom, in the place of every atom.

    ``f(h(x)) <= 0`` with ``f`` increasing is ``f(t) <= 0`` for some ``t >= h(x)``, and so for
    objectives.
    """
    result = Rewritten(cp.Constant(0.0), [])
    standing: dict[int, cp.Expression] = {}
    domain: list[cp.Constraint] = []
    for variable in problem.variables():
        if variable.is_complex():
            split = Complex.of(variable)
            result.complexes.append(split)
            standing[id(variable)] = split.real + 1j * split.imag
    for atom in atoms_of(problem):
        arguments = [
            _affine(arg, replaced(arg, standing), atom, i, result, domain)
            for i, arg in enumerate(atom.args)
        ]
        domain += atom.domain_of_arguments(arguments)
        groups = atom.groups(slack)
        heights = heights_of(atom, max(groups) + 1)
        result.held.append(Held(atom, arguments, heights, groups))
        standing[id(atom)] = _expression(atom, heights)
    sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
    inside = replaced(problem.objective.args[0], standing)
    result.objective = inside if sign > 0 else -inside
    result.constraints = [replaced(c, standing) for c in problem.constraints] + domain
    return result


def replaced(node: Any, standing: dict[int, cp.Expression]) -> Any:
    if id(node) in standing:
        return standing[id(node)]
    args = getattr(node, "args", [])
    new = [replaced(arg, standing) for arg in args]
    if all(one is other for one, other in zip(new, args, strict=True)):
        return node
    return node.copy(new)


def _affine(
    original: cp.Expression,
    arg: cp.Expression,
    atom: OracleAtom,
    i: int,
    result: Rewritten,
    domain: list[cp.Constraint],
) -> cp.Expression:
    """The argument if it is affine in the user's variables; else a variable on its right side."""
    known = {v.id for v in original.variables()}
    if arg.is_affine() and all(v.id in known for v in arg.variables()):
        return arg  # it does not hold another atom
    inner = cp.Variable(arg.shape)
    result.inner.append(inner)
    if atom.is_incr(i) and arg.is_convex():
        domain.append(inner >= arg)
    elif atom.is_decr(i) and arg.is_concave():
        domain.append(inner <= arg)
    else:
        raise SettingsError(
            f"{atom.called} of {arg} is not convex by the rules of cvxpy: the argument has to be "
            "affine, or convex (concave) where monotonicity='increasing' ('decreasing') is declared"
        )
    return inner


def heights_of(atom: OracleAtom, n: int) -> cp.Variable:
    """A variable with the sign of the atom, on which the rules of cvxpy may rest."""
    if atom.is_nonneg():
        return cp.Variable(n, nonneg=True)
    return cp.Variable(n, nonpos=True) if atom.is_nonpos() else cp.Variable(n)


def _expression(atom: OracleAtom, heights: cp.Variable) -> cp.Expression:
    found: cp.Expression
    if atom.sums_terms:
        found = cp.sum(heights)
    elif atom.shape == ():
        found = heights[0]
    else:
        found = cp.reshape(heights, atom.shape, order="F")
    return found
