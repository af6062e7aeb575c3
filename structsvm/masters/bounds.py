"""Lower bounds of the objective from the multipliers of a master of any accuracy."""

from __future__ import annotations

import math

import numpy as np

from structsvm.masters.conic import conic_minimum
from structsvm.masters.working_set import WorkingSet
from structsvm.problem import Regularized
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace, smat, svec

CERTIFIED = "certified"
CONIC = "to the accuracy of the conic solver"

CHUNK = 2**26
"""Bytes of slopes whose magnitudes are in memory at a time."""

SHRINKAGES = (0.0, 1e-7, 1e-6, 1e-5, 1e-4)
"""Parts of a plane that are given up, one after the other, until a conic program proves a bound."""

ROUNDING = 2.0**-45
"""What a sum may be wrong by, for each unit of the sum of the magnitudes of its terms.

A sum of n terms is wrong by n 2^-53 of that at worst and by about sqrt(n) 2^-53 in fact (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). This is 256 times 2^-53, enough
for 65,536 terms; an oracle whose sums are longer or larger says so by the slack of its answer.
"""


def lower_bound(
    risk: Regularized,
    cuts: WorkingSet,
    multipliers: Floats,
    upper: float,
    truths: Floats | None = None,
) -> tuple[float, str]:
    """``(bound, basis)``: a lower bound of ``min F`` from multipliers of any accuracy.

    ``sum_c alpha_c (o_c + <psi_c, w>)`` is below the sum of the hinge losses when ``alpha >= 0``
    sums to at most 1 in each group, the rest being on the null cut; the same is true of ``s alpha``
    for ``s`` in [0, 1]. What is left is a minimum of ``Omega(w) + <v, w>`` over the cone: a formula
    for the usual regularizers, which ignores further constraints and so stays valid with them, else
    a conic program.
    """
    offset, slope = float(multipliers @ cuts.intercepts), multipliers @ cuts.slopes
    size = None if truths is None else _magnitudes(multipliers, cuts.slopes) + 2.0 * truths
    return plane_bound(risk, offset, slope, upper, size)


def _magnitudes(multipliers: Floats, slopes: Floats) -> Floats:
    """``multipliers @ |slopes|``, (d,), some columns at a time: slopes may take gigabytes."""
    step = max(1, CHUNK // (8 * max(1, len(slopes))))
    columns = (slopes[:, k : k + step] for k in range(0, slopes.shape[1], step))
    return np.concatenate([multipliers @ np.abs(some) for some in columns])


def plane_bound(
    risk: Regularized,
    offset: float,
    slope: Floats,
    upper: float,
    size: Floats | None = None,
) -> tuple[float, str]:
    """The same from ``offset + <slope, w>``, any average of lower bounds of the hinge losses."""
    if size is not None:
        slope = slope - _most(ROUNDING * size, slope, risk.space, risk.quadratic)
        offset -= ROUNDING * (abs(offset) + (upper if math.isfinite(upper) else 0.0))
    bounds = [(risk.regularizer.floor(risk.space), CERTIFIED)]
    if risk.regularizer.has_closed_form:
        for s in {1.0, risk.regularizer.max_scale(slope, risk.space)}:
            least = risk.regularizer.minimum(s * slope, risk.space, upper)
            least -= 0.0 if size is None else ROUNDING * abs(least)
            bounds.append((s * offset + least, CERTIFIED))
    if risk.constraints is not None or not risk.regularizer.has_closed_form:
        bounds.append((_conic_bound(risk, offset, slope), CONIC))
    finite = [bound for bound in bounds if math.isfinite(bound[0])]
    return max(finite, key=lambda bound: bound[0], default=(-np.inf, CERTIFIED))


def _conic_bound(risk: Regularized, offset: float, slope: Floats) -> float:
    for shrinkage in SHRINKAGES:
        s = 1.0 - shrinkage
        bound = conic_minimum(risk, s * offset, s * slope)
        if math.isfinite(bound):
            return bound
    return -np.inf


def _most(
    error: Floats, slope: Floats, space: WeightSpace, omega: Quadratic | None, at: int = 0
) -> Floats:
    """``m`` with ``min Omega + <slope - m, w>`` below that of every slope within ``error`` of this.

    ``m - e`` is in the dual cone for every ``|e| <= error``: the errors themselves in the
    orthant, what makes a matrix diagonally dominant for the semi-definite ones. The entries of
    Gram matrices err by as much as their diagonals, which are added therefore. On a free space the
    minimum of a quadratic is least if every error lowers the coordinate of ``slope`` where ``w`` is
    positive and raises it where it is negative; of anything else nothing is known there.
    """
    if isinstance(space, Product):
        found = []
        blocks = zip(space.factors, space.split(error), space.split(slope), strict=True)
        for factor, wrong, part in blocks:
            found.append(_most(wrong, part, factor, omega, at))
            at += part.size
        return np.concatenate(found)
    if isinstance(space, Nonnegative):
        return error
    if isinstance(space, PSD):
        entries = smat(error)
        return svec(np.diag(np.diag(entries) + entries.sum(axis=1)))
    if omega is None:
        return np.zeros_like(error)
    here = slice(at, at + error.size)
    w = omega.curvature[here] * omega.center[here] - omega.linear[here] - slope
    return np.where(w < 0, -error, error)
