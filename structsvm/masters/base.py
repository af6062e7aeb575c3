"""What a master promises, and what it may be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.errors import MasterError
from structsvm.masters.working_set import WorkingSet
from structsvm.problem import Regularized
from structsvm.regularizers import Quadratic
from structsvm.support.arrays import Floats

__all__ = ["Master", "MasterSolution", "Proximal", "Request", "acceptable", "checked"]


@dataclass(frozen=True, eq=False)
class Proximal:
    """``weight / 2 * |w - center|^2``, added to the restricted problem to keep ``w`` near."""

    center: Floats
    weight: float

    def added_to(self, omega: Quadratic) -> Quadratic:
        """``omega`` with this term, up to a constant."""
        curvature = omega.curvature + self.weight
        center = (omega.curvature * omega.center + self.weight * self.center) / curvature
        return Quadratic(curvature, center, omega.linear)


@dataclass(frozen=True, eq=False)
class Request:
    """Accuracy, proximal term and start that a solver asks its master for."""

    tol: float = 1e-7
    """Duality gap of the restricted problem to aim at, relative to its value."""
    proximal: Proximal | None = None
    start: Floats | None = None
    """A weight in the cone near which the answer is expected."""


DEFAULT_REQUEST = Request()


@dataclass(frozen=True)
class MasterSolution:
    """An approximate minimiser of the restricted problem, and its multipliers."""

    w: Floats
    """In the cone, (d,)."""
    multipliers: Floats
    """One per cut, (C,): nonnegative, summing to at most 1 in each group."""
    label: str
    """Which solver answered, and which failed before it."""
    bound: tuple[float, str] | None = None
    """A lower bound of the minimum that the master itself has proved, and what it rests on."""
    is_minimum: bool = True
    """False where the restricted problem has no minimum yet, and this is one within a box."""
    duals: tuple[Any, ...] | None = None
    """Dual values of the further constraints, one for each, if there are any."""
    is_projected: bool = False
    """Whether ``w`` was made by projecting on the cone, which then need not be done again."""


class Master(ABC):
    """Solves ``min Omega(w) + sum_g max(0, max_{c in g} intercept_c + <slope_c, w>)`` over a cone.

    The answer may be inaccurate: bounds are computed from the multipliers by
    :func:`structsvm.masters.bounds.lower_bound`, which is valid whatever they are. Settings only: a
    warm start is found in the request and next to the cuts.
    """

    @abstractmethod
    def solve(
        self, risk: Regularized, cuts: WorkingSet, request: Request = DEFAULT_REQUEST
    ) -> MasterSolution:
        """Solve the restricted problem; MasterError when no solver gives an answer."""


def acceptable(tol: float) -> float:
    """The gap beyond which a master has stalled rather than met the limits of rounding."""
    return max(tol, min(1e3 * tol, 1e-6))


def clean_multipliers(multipliers: Floats, cuts: WorkingSet) -> Floats:
    """Clip to ``>= 0`` and scale every group down to a sum of at most 1."""
    alpha = np.maximum(np.where(np.isfinite(multipliers), multipliers, 0.0), 0.0)
    sums = np.bincount(cuts.groups, weights=alpha, minlength=cuts.n_groups)
    return np.asarray(alpha / np.maximum(sums, 1.0)[cuts.groups])


def checked(answer: MasterSolution, risk: Regularized, cuts: WorkingSet) -> MasterSolution:
    """Project and clip an answer, or raise MasterError if it has wrong shapes or is not finite."""
    w, alpha = np.asarray(answer.w), np.asarray(answer.multipliers)
    fits = w.shape == (risk.space.dim,) and alpha.shape == (len(cuts),)
    if not (fits and np.isfinite(w).all()):
        raise MasterError(
            f"the master ({answer.label}) returned shapes {w.shape} and {alpha.shape} for "
            f"{risk.space.dim} weights and {len(cuts)} cuts, or no finite weight"
        )
    w = w if answer.is_projected else risk.space.project(w)
    return replace(answer, w=w, multipliers=clean_multipliers(alpha, cuts))
