"""What a solver may need of a problem, and what to say when it is not there."""

from __future__ import annotations

import numpy as np

from structsvm.errors import SettingsError
from structsvm.masters.cvxpy import solve_with
from structsvm.problem import Outline, RegularizedRisk
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats

ADMISSIBLE = 1e-6
"""By how much of its size a weight may break further constraints, which conic solvers keep to their
accuracy only."""


def require_convex(risk: Outline, solver: str) -> None:
    """Refuse what is not convex, naming solvers that take it."""
    if not risk.is_convex:
        raise SettingsError(
            f"{solver} is for convex objectives, and this one is not: use "
            "QuasiNewton (solver='quasi-newton') or CCCP (solver='cccp')"
        )


def require_composite(risk: Outline, solver: str) -> None:
    """Refuse what is convex, naming the solver that certifies its answer."""
    if risk.is_convex:
        raise SettingsError(
            f"{solver} is for objectives that are not convex, and this one is: "
            "use CuttingPlane (solver='cutting-plane'), which certifies its answer"
        )


def strongly_convex(risk: Outline, solver: str) -> Quadratic:
    """Omega as a strongly convex quadratic, over a cone alone."""
    require_convex(risk, solver)
    remedy = (
        "use CuttingPlane, which takes every regularizer and constraint (solver='cutting-plane')"
    )
    if risk.constraints is not None:
        raise SettingsError(f"{solver} cannot keep further constraints on the metric: {remedy}")
    omega = risk.quadratic
    if omega is None or not omega.curvature.min() > 0:
        raise SettingsError(
            f"{solver} needs a strongly convex regularizer such as SquaredNorm(), "
            f"got {risk.regularizer}: {remedy}"
        )
    return omega


def is_admissible(risk: RegularizedRisk, w: Floats) -> bool:
    if risk.constraints is None:
        return True
    import cvxpy as cp

    metric = risk.space.to_metric(w)
    B = cp.Variable(metric.shape, symmetric=metric.ndim == 2)
    further = risk.further_constraints(B)
    if any(variable is not B for c in further for variable in c.variables()):
        nearest = cp.Problem(cp.Minimize(cp.sum_squares(B - metric)), further)
        solve_with(nearest, ["CLARABEL", "SCS"], precise=True)
    B.value = metric
    size = max(1.0, float(np.abs(metric).max()))
    return all(np.max(c.violation()) <= ADMISSIBLE * size for c in further)
