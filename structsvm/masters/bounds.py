"""Lower bounds of the objective from the multipliers of a master of any accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structsvm.cuts import WorkingSet
from structsvm.errors import StructSVMError
from structsvm.masters.cvxpy import solve_with
from structsvm.problem import RegularizedRisk

__all__ = ["CERTIFIED", "lower_bound", "plane_bound"]

Floats = NDArray[np.float64]

CERTIFIED = "certified"
CONIC = "to the accuracy of the conic solver"


def lower_bound(
    risk: RegularizedRisk, cuts: WorkingSet, multipliers: Floats, upper: float
) -> tuple[float, str]:
    """``(bound, basis)``: a lower bound of ``min F`` from multipliers of any accuracy.

    ``sum_c alpha_c (o_c + <psi_c, w>)`` is below the sum of the hinge losses when ``alpha >= 0``
    sums to at most 1 in each group, the rest being on the null cut; the same is true of ``s alpha``
    for ``s`` in [0, 1]. What is left is a minimum of ``Omega(w) + <v, w>`` over the cone: a formula
    for the usual regularizers, which ignores further constraints and so stays valid with them, else
    a conic program.

    Parameters
    ----------
    upper : float
        A certified upper bound of ``min F``, infinity if there is none.
    """
    return plane_bound(risk, float(multipliers @ cuts.intercepts), multipliers @ cuts.slopes, upper)


def plane_bound(
    risk: RegularizedRisk, offset: float, slope: Floats, upper: float
) -> tuple[float, str]:
    """The same from ``offset + <slope, w>``, any average of lower bounds of the hinge losses."""
    bounds = [(risk.regularizer.floor(risk.space), CERTIFIED)]
    if risk.regularizer.has_closed_form:
        for s in {1.0, risk.regularizer.max_scale(slope, risk.space)}:
            least = risk.regularizer.minimum(s * slope, risk.space, upper)
            bounds.append((s * offset + least, CERTIFIED))
    if risk.constraints is not None or not risk.regularizer.has_closed_form:
        bounds.append((_conic_minimum(risk, offset, slope), CONIC))
    return max(bounds, key=lambda bound: bound[0])


def _conic_minimum(risk: RegularizedRisk, offset: float, slope: Floats) -> float:
    """``offset + min Omega(w) + <slope, w>`` over the cone and the constraints, less a safety.

    Minus infinity when no solver calls its answer accurate.
    """
    import cvxpy as cp

    B, w, constraints = risk.space.variable()
    constraints = [*constraints, *risk.further_constraints(B)]
    objective = risk.regularizer.as_cvxpy(B, w, risk.space) + slope @ w
    problem = cp.Problem(cp.Minimize(objective), constraints)
    try:
        solve_with(problem, ["CLARABEL", "SCS"], precise=True)
    except StructSVMError:
        return -np.inf
    if problem.status != cp.OPTIMAL:
        return -np.inf
    value = float(problem.value)
    return offset + value - 1e-7 * (abs(offset) + abs(value))
