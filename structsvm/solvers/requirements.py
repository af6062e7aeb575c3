"""What a solver may need of a problem, and what to say when it is not there."""

from __future__ import annotations

from structsvm.errors import SettingsError
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Quadratic

__all__ = ["strongly_convex"]


def strongly_convex(risk: RegularizedRisk, solver: str) -> Quadratic:
    """Omega as a strongly convex quadratic, over a cone alone.

    Raises
    ------
    SettingsError
        When it is not one, or there are further constraints; the message says what would do.
    """
    remedy = (
        "use CuttingPlane, which takes every regularizer and constraint (solver='cutting-plane')"
    )
    if risk.constraints is not None:
        raise SettingsError(f"{solver} cannot keep further constraints on the metric: {remedy}")
    omega = risk.regularizer.as_quadratic(risk.space)
    if omega is None or not omega.curvature.min() > 0:
        raise SettingsError(
            f"{solver} needs a strongly convex regularizer such as SquaredNorm(), "
            f"got {risk.regularizer}: {remedy}"
        )
    return omega
