"""Lower bounds of the objective from the multipliers of a master, however inaccurate they are.

Where no formula is known, the bound is proved by a dual point of a conic program.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from structsvm.masters.base import CHUNK, WorkingSet
from structsvm.masters.conic import ConicProgram, box_of, units_in
from structsvm.masters.conic_proof import NOTHING_PROVED, PROVED, Proof, proof
from structsvm.masters.cvxpy import PRECISE_OPTIONS
from structsvm.problem import (
    PSD,
    Nonnegative,
    Product,
    Quadratic,
    Regularized,
    WeightSpace,
    smat,
    svec,
)
from structsvm.support import Floats

if TYPE_CHECKING:
    import cvxpy as cp

CERTIFIED = "certified"
SHARES = (1.0, 1.0 - 1e-7, 1.0 - 1e-6, 1.0 - 1e-5, 1.0 - 1e-4)
"""Factors of a plane, tried one after the other until a conic program proves a bound."""
ROUNDING_OF_SUMS = 2.0**-45
"""Rounding error that is allowed to a sum, per unit of the sum of the magnitudes of its terms.

The error of a sum of n terms is at most n 2^-53 of that, and about sqrt(n) 2^-53 in practice
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). This is 256 times
2^-53, enough for 65,536 terms; an oracle with longer or larger sums adds to the slack of its
answer.
"""


KEPT_WITHIN = 1e-7
"""Part of their right sides by which weights may break constraints, as conic solvers let them: such
a weight may be a little better than the best admissible one, and bounds are lowered for that."""


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
    offset = float(multipliers @ cuts.intercepts)
    slope = multipliers @ cuts.slopes
    if truths is None:
        return plane_bound(risk, offset, slope, upper)
    step = max(1, CHUNK // (8 * max(1, len(cuts))))  # slopes may take gigabytes
    columns = (cuts.slopes[:, k : k + step] for k in range(0, slope.size, step))
    size = np.concatenate([multipliers @ np.abs(some) for some in columns])
    return plane_bound(risk, offset, slope, upper, size + 2.0 * truths)


def plane_bound(
    risk: Regularized, offset: float, slope: Floats, upper: float, size: Floats | None = None
) -> tuple[float, str]:
    """Lower bound of ``min F`` from a lower bound ``offset + <slope, w>`` of the hinge losses."""
    if size is not None:
        slope = slope - _most_error(ROUNDING_OF_SUMS * size, slope, risk.space, risk.quadratic)
        offset -= ROUNDING_OF_SUMS * (abs(offset) + (upper if math.isfinite(upper) else 0.0))
    bounds = [(risk.regularizer.floor(risk.space), CERTIFIED)]
    for s in {1.0, risk.regularizer.max_scale(slope, risk.space)}:
        least = risk.regularizer.minimum(s * slope, risk.space, upper)
        least -= 0.0 if size is None else ROUNDING_OF_SUMS * abs(least)
        bounds.append((s * offset + least, CERTIFIED))
    if risk.constraints is not None or risk.quadratic is None:
        conic = (conic_minimum(risk, s * offset, s * slope) for s in SHARES)
        bounds.append((next((bound for bound in conic if math.isfinite(bound)), -np.inf), PROVED))
    finite = [bound for bound in bounds if math.isfinite(bound[0])]
    return max(finite, key=lambda bound: bound[0], default=(-np.inf, CERTIFIED))


def _most_error(
    error: Floats, slope: Floats, space: WeightSpace, omega: Quadratic | None, at: int = 0
) -> Floats:
    """``m`` with ``min Omega + <slope - m, w>`` below that of every slope within ``error`` of this.

    ``m - e`` is in the dual cone for every ``|e| <= error``: in the orthant ``m`` is the error
    itself, for semi-definite matrices a diagonal that dominates the rows. The entries of Gram
    matrices err by as much as their diagonals, which are added therefore. On a free space the
    minimum of a quadratic is least if every error lowers the coordinate of ``slope`` where ``w`` is
    positive and raises it where ``w`` is negative; for other regularizers nothing is known there.
    """
    if isinstance(space, Product):
        errors = []
        blocks = zip(space.factors, space.split(error), space.split(slope), strict=True)
        for factor, wrong, part in blocks:
            errors.append(_most_error(wrong, part, factor, omega, at))
            at += part.size
        return np.concatenate(errors)
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


def conic_minimum(risk: Regularized, offset: float, slope: Floats) -> float:
    """A lower bound of ``offset + min Omega(w) + <slope, w>`` over the cone and the constraints."""
    import cvxpy as cp

    B, w, constraints = risk.space.variable()
    constraints = [*constraints, *risk.further_constraints(B)]
    objective = risk.regularizer.as_cvxpy(B, w, risk.space) + slope @ w
    proved = proof_of(cp.Problem(cp.Minimize(objective), constraints))
    size = abs(offset) + abs(proved.bound)
    if risk.constraints is None:
        return offset + proved.bound - ROUNDING_OF_SUMS * size
    return offset + proved.bound - KEPT_WITHIN * (size + proved.weight)


def proof_of(problem: "cp.Problem") -> Proof:
    """The lower bound of a problem of cvxpy that is proved by a dual point of Clarabel."""
    import clarabel
    import cvxpy as cp

    try:
        data, chain, inverse = problem.get_problem_data("CLARABEL")
        program = ConicProgram.of(data, float(inverse[-1][cp.settings.OFFSET]))
        units = units_in(program)
        scaled = units.scaled(program)
        options = dict(PRECISE_OPTIONS["CLARABEL"])
        answer = chain.solver.solve_via_data(scaled.data, False, False, options)
    except (cp.error.SolverError, cp.error.DCPError, ValueError, ArithmeticError, KeyError):
        return NOTHING_PROVED
    if not isinstance(answer, clarabel.DefaultSolution):
        return NOTHING_PROVED
    x = np.asarray(answer.x)
    z = np.asarray(answer.z)
    return proof(scaled, x, z, units.box(box_of(program))).times(units.objective)
