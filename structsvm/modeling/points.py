"""Points of a program, how much they break its constraints, and points near by that keep them."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Zero

from structsvm.masters import violation
from structsvm.modeling.rewriting import Rewritten, Sizes, column
from structsvm.solvers.certificate import KEPT_EXACTLY
from structsvm.support import Floats, Ints

LEAST = 1e-4
"""Of the size by the data, what terms count for at least: all may vanish at a point."""

FIRST_STEP, LEAST_STEP = 64.0, 1e-6
"""Times the violation, the first share of the way to a point inside that is tried; at most this."""

LONGER = 8.0
"""By how much the next share is larger."""

CORRECTED_ABOVE = 1e-15
"""Of its terms, what an equality may be broken by without being corrected."""

SETTLED = 1e-3
"""Of what equalities were broken by, what is left where a correction has worked."""

MOST_SHARE = 0.5
"""Of themselves, by how much entries are changed to keep equalities."""

MOST_ENTRIES = 10**6
"""Of the matrix of equalities that points are projected on."""


class Point(NamedTuple):
    """Values of the variables, and of the groups there or above them."""

    w: Floats
    values: Floats
    objective: float
    broken: float
    """The largest violation of a constraint, relative to its terms."""
    scale: float
    """The size of the terms of the objective."""

    @property
    def is_kept(self) -> bool:
        """Whether all constraints hold but for rounding, and the objective is a number."""
        return self.broken <= KEPT_EXACTLY and bool(np.isfinite(self.objective))


class Points:
    """The feasible set of a program, in the variables of the user and the heights of the groups.

    It is convex, and ``(w, h)`` is in it only if some ``h' <= h`` is that keeps the planes of all
    atoms at ``w``. So on the way from a point that breaks inequalities to one that keeps them with
    room there are points that keep them, whose values are at most those between.
    """

    def __init__(self, rewritten: Rewritten) -> None:
        self.rewritten = rewritten
        self.units: Floats = np.zeros(rewritten.dim)
        self.least: Sizes = [0.0] * (1 + len(rewritten.constraints))
        """What the terms of the objective and of the constraints count for at least."""

    def measure(self, units: Floats, levels: Floats) -> None:
        """Take the sizes of variables and groups by the data."""
        self.units = units
        self.rewritten.put(np.append(units, levels))
        sizes = self.rewritten.sizes_at(units, levels, units)
        self.least = [LEAST * np.asarray(size) for size in sizes]
        self.least[0] = float(self.least[0]) or 1.0

    @np.errstate(all="ignore")  # outside of the domain of a function, as of a logarithm
    def at(self, w: Floats, values: Floats, heights: Floats) -> Point:
        """The point of these values of variables and groups; ``heights`` are sizes of groups."""
        rewritten = self.rewritten
        rewritten.put(np.append(w, values))
        sizes = rewritten.sizes_at(w, np.maximum(np.abs(values), heights), self.units)
        scale, *sizes = map(np.maximum, sizes, self.least)
        amounts = [np.abs(np.asarray(c.violation())) for c in rewritten.constraints]
        broken = max(map(violation, amounts, sizes), default=0.0)
        return Point(w, values, rewritten.value, broken, float(scale))

    def towards(self, inside: Point, point: Point, heights: Floats) -> Point:
        """The first point that keeps the constraints, on the way to one that does."""
        share = min(FIRST_STEP * point.broken, LEAST_STEP)
        while share < 1.0:
            w = point.w + share * (inside.w - point.w)
            values = point.values + share * (inside.values - point.values)
            between = self.at(w, values, heights)
            if between.is_kept:
                return between
            share *= LONGER
        return inside

    def on_equalities(self, w: Floats) -> Floats:
        """A point near by that keeps the equalities, and the attributes of the variables."""
        if self._equalities is None:
            return w
        matrix, offset = self._equalities
        away = matrix @ w + offset
        terms = np.abs(matrix) @ np.abs(w) + np.abs(offset)
        if (np.abs(away) <= CORRECTED_ABOVE * terms).all():
            return w
        moved = self._by_shares(w, matrix, away)
        if np.abs(matrix @ moved + offset).max() <= SETTLED * np.abs(away).max():
            return moved
        units = np.where(self.units > 0, self.units, 1.0)
        step = np.linalg.lstsq(matrix * units, away)[0]
        return self.rewritten.tidy(w - units * step)

    def _by_shares(self, w: Floats, matrix: Floats, away: Floats) -> Floats:
        """Each entry, or each matrix in a cone, is changed by a share of itself: it stays there."""
        columns = matrix * w
        starts = self._starts
        shares = np.linalg.lstsq(np.add.reduceat(columns, starts, axis=1), away)[0]
        if not np.abs(shares).max() <= MOST_SHARE:
            return w
        return w - w * np.repeat(shares, np.diff(np.append(starts, w.size)))

    @cached_property
    def _starts(self) -> Ints:
        """Where each entry begins, and each semi-definite matrix as a whole."""
        starts = []
        places = np.arange(self.rewritten.dim, dtype=np.float64)
        for v, part in zip(self.rewritten.variables, self.rewritten.split(places), strict=True):
            is_of_cone = v.attributes["PSD"] or v.attributes["NSD"]
            starts.append(part[:1] if is_of_cone else part)
        return np.concatenate(starts).astype(np.int64)

    @cached_property
    def _equalities(self) -> tuple[Floats, Floats] | None:
        """``(E, e)`` with ``E w + e = 0``; None where there are none, too many, or integers."""
        rewritten = self.rewritten
        equal = [c for c in rewritten.constraints if isinstance(c, Equality | Zero)]
        n = sum(c.size for c in equal)
        if not 0 < n * rewritten.dim <= MOST_ENTRIES or rewritten.is_mixed_integer:
            return None
        rewritten.put(np.zeros(rewritten.size))
        offset = np.concatenate([_entries(c.expr) for c in equal])
        if any(
            _holds_complex(c.expr) for c in equal
        ):  # cvxpy has no gradient of real and imaginary parts
            return _by_probes(rewritten, equal) - offset[:, None], offset
        return np.vstack([_gradient(rewritten, c.expr) for c in equal]), offset


def _holds_complex(expression: Any) -> bool:
    """Whether an expression, or anything that it is made of, is complex."""
    return expression.is_complex() or any(map(_holds_complex, expression.args))


def _entries(expression: Any) -> Floats:
    """Of the value of an expression; of a complex one the real and the imaginary parts."""
    value = expression.value
    if not expression.is_complex():
        return column(value)
    return np.concatenate([column(np.real(value)), column(np.imag(value))])


def _by_probes(rewritten: Rewritten, equal: list[Any]) -> Floats:
    """The entries of affine expressions at each unit vector, one after another, (size, dim)."""
    columns = []
    for unit in np.eye(rewritten.dim):
        rewritten.put(unit)
        columns.append(np.concatenate([_entries(c.expr) for c in equal]))
    return np.stack(columns, axis=1)


def _gradient(rewritten: Rewritten, expression: Any) -> Floats:
    """Of an affine expression by the variables of the user, (size, dim), within symmetry."""
    of = {v.id: gradient for v, gradient in expression.grad.items()}
    rows = []
    for v in rewritten.variables:
        gradient = of.get(v.id, np.zeros((v.size, expression.size)))
        dense = gradient.toarray() if sp.issparse(gradient) else np.asarray(gradient)
        dense = dense.reshape(v.size, expression.size)
        if v.ndim == 2 and v.is_symmetric():
            swapped = np.arange(v.size).reshape(v.shape).ravel(order="F")
            dense = 0.5 * (dense + dense[swapped])
        rows.append(dense.T)
    return np.hstack(rows)
