"""The size of the terms of objectives and constraints: what accuracy is relative to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality

from structsvm.support.arrays import Floats

LEAST = 1e-4
"""What the first size that is not zero counts for: all terms may vanish at the solution."""

ROOM = 2.0**7
"""A unit is kept while the sizes that it is for are within this factor of it."""


class Scale(NamedTuple):
    """A positive number for each variable and height, the objective, and each (entry of a)
    constraint: sizes of their terms, or units in which they are of the order of 1.
    """

    w: Floats
    """The same for all entries of a variable, (dim,)."""
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
    """Of each entry of an inequality or an equality; the largest of a cone."""
    found = [size_of(arg, sizes) for arg in constraint.args]
    if isinstance(constraint, Inequality | Equality):
        return np.maximum(found[0], found[1])
    return max(float(np.max(one, initial=0.0)) for one in found)


def violation(constraint: cp.Constraint, size: Any) -> float:
    """By how much the values of its variables break a constraint, relative to its size."""
    amount = np.abs(np.asarray(constraint.violation()))
    if np.shape(size) != amount.shape:
        size, amount = np.max(size, initial=0.0), np.max(amount, initial=0.0)
    with np.errstate(divide="ignore"):
        shares = np.divide(amount, size, out=np.zeros_like(amount), where=amount > 0)
    return float(np.max(shares, initial=0.0))
