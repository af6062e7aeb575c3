"""Points of a program, their violations of constraints, and nearby points that keep them."""

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
"""Part of their size by the data that terms count for at least: all may vanish at a point."""

FIRST_STEP, LEAST_STEP = 64.0, 1e-6
"""The first step towards a point inside: FIRST_STEP times the violation, and at most LEAST_STEP."""

LONGER = 8.0
"""Factor from one step to the next."""

CORRECTED_ABOVE = 1e-15
"""Violation of an equality, relative to its terms, above which it is corrected."""

SETTLED = 1e-3
"""Part of a violation of equalities that may be left after a successful correction."""

MOST_SHARE = 0.5
"""Largest relative change of entries by which equalities are corrected."""

MOST_ENTRIES = 10**6
"""Most entries of a matrix of equalities for which points are corrected."""


class Point(NamedTuple):
    """Values of the variables, and upper bounds of the groups there."""

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

    It is convex, so that the way from a point that breaks inequalities to one that keeps them with
    room leads through points that keep them, at which the groups are at most as high as the
    interpolated values.
    """

    def __init__(self, rewritten: Rewritten) -> None:
        self.rewritten = rewritten
        self.units: Floats = np.zeros(rewritten.dim)
        self.least: Sizes = [0.0] * (1 + len(rewritten.constraints))
        """The least sizes that terms of the objective and of each constraint count for."""

    def measure(self, units: Floats, levels: Floats) -> None:
        """Set the sizes of variables and groups by the data."""
        self.units = units
        self.rewritten.put(np.append(units, levels))
        sizes = self.rewritten.sizes_at(units, levels, units)
        self.least = [LEAST * np.asarray(size) for size in sizes]
        self.least[0] = float(self.least[0]) or 1.0

    @np.errstate(all="ignore")  # points may be outside of the domain of a function
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
        """The first point that keeps the constraints on the way from ``point`` to ``inside``."""
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
        """A nearby point that keeps the equalities and the attributes of the variables."""
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
        """A correction of equalities that scales entries, and whole matrices that are in a cone."""
        columns = matrix * w
        starts = self._starts
        shares = np.linalg.lstsq(np.add.reduceat(columns, starts, axis=1), away)[0]
        if not np.abs(shares).max() <= MOST_SHARE:
            return w
        return w - w * np.repeat(shares, np.diff(np.append(starts, w.size)))

    @cached_property
    def _starts(self) -> Ints:
        """The first place of each part that is scaled: an entry, or a semi-definite matrix."""
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
        matrix = sp.vstack([rewritten.gradient(c.expr) for c in equal]).toarray()
        return _within_symmetry(rewritten, matrix), offset


def _holds_complex(expression: Any) -> bool:
    """Whether an expression or a part of it is complex."""
    return expression.is_complex() or any(map(_holds_complex, expression.args))


def _entries(expression: Any) -> Floats:
    """The entries of the value of an expression: real parts, and then imaginary ones if complex."""
    value = expression.value
    if not expression.is_complex():
        return column(value)
    return np.concatenate([column(np.real(value)), column(np.imag(value))])


def _by_probes(rewritten: Rewritten, equal: list[Any]) -> Floats:
    """The entries of affine expressions at each unit vector, (size, dim)."""
    columns = []
    for unit in np.eye(rewritten.dim):
        rewritten.put(unit)
        columns.append(np.concatenate([_entries(c.expr) for c in equal]))
    return np.stack(columns, axis=1)


def _within_symmetry(rewritten: Rewritten, matrix: Floats) -> Floats:
    """A gradient, (m, dim), averaged over the two halves of symmetric variables."""
    swapped = []
    places = np.arange(rewritten.dim, dtype=np.float64)
    for v, at in zip(rewritten.variables, rewritten.split(places), strict=True):
        is_square = v.ndim == 2 and v.is_symmetric()
        swapped.append(at.reshape(v.shape).ravel(order="F") if is_square else at)
    return 0.5 * (matrix + matrix[:, np.concatenate(swapped).astype(np.int64)])
