"""Risks that are not convex: what descent on them needs, and what it returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Quadratic, Regularizer
from structsvm.status import Status
from structsvm.support.contract import Contract
from structsvm.weights import WeightSpace

__all__ = ["Callback", "CompositeRisk", "Descent", "DescentEntry", "quadratic", "stationarity"]

Floats = NDArray[np.float64]


class CompositeRisk(Contract):
    """``F(w) = Omega(w) + sum_i h_i(c_i(w))``: each ``h_i`` convex, each ``c_i`` smooth.

    The hinge losses of a similarity that is not linear in the metric are of this kind: convex in
    the similarity matrix, but not in the metric.
    """

    space: WeightSpace
    """The cone of ``w``; a field of every such risk, as the next."""
    regularizer: Regularizer
    """Omega."""

    @abstractmethod
    def losses(self, w: Floats) -> tuple[float, Floats]:
        """``sum_i h_i(c_i(w))`` and its gradient (or a subgradient), (d,)."""

    @abstractmethod
    def model(self, w: Floats, regularizer: Regularizer) -> RegularizedRisk:
        """The convex risk in which every ``c_i`` is replaced by its tangent at ``w``."""


@dataclass(frozen=True)
class DescentEntry:
    """One accepted step, or the start."""

    iteration: int
    seconds: float
    """Wall time since the start."""
    evaluations: int
    """Of the losses of all samples since the start."""
    objective: float


Callback = Callable[[DescentEntry], None]


@dataclass(frozen=True)
class Descent:
    """A weight with the course of the objective: ``F`` never rises."""

    w: Floats
    objective: float
    start: float
    """F at the start."""
    status: Status
    stationarity: float
    """``|w - Pi(w - grad F(w))|``, 0 at a stationary point."""
    evaluations: int
    rejected: int
    """Steps that would not have lowered the objective, and were not taken."""
    seconds: float
    solver: str
    history: tuple[DescentEntry, ...] = field(repr=False, default=())

    @property
    def n_iter(self) -> int:
        """Number of steps."""
        return len(self.history) - 1

    def summary(self) -> str:
        """One paragraph for people."""
        return (
            f"{self.status.value}. Objective {self.objective:.6g} (at the start {self.start:.6g}), "
            f"projected gradient {self.stationarity:.2g}, {self.n_iter} steps of {self.solver}, "
            f"{self.evaluations} evaluations, {self.seconds:.1f} s."
        )


def quadratic(risk: CompositeRisk, solver: str) -> Quadratic:
    """Omega as a quadratic.

    Raises
    ------
    SettingsError
        When it is not one.
    """
    omega = risk.regularizer.as_quadratic(risk.space)
    if omega is None:
        raise SettingsError(
            f"{solver} needs the gradient of the regularizer: use SquaredNorm or Trace, "
            f"got {risk.regularizer}"
        )
    return omega


def stationarity(risk: CompositeRisk, w: Floats, gradient: Floats) -> float:
    """How far one projected gradient step of length 1 moves, in the norm of the weight space."""
    return float(np.linalg.norm(w - risk.space.project(w - gradient)))
