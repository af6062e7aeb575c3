"""Linearise, solve, repeat: the concave-convex procedure and its prox-linear relative."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import LearningError, SettingsError
from structsvm.parallel import single_threaded
from structsvm.regularizers import Quadratic, SquaredNorm
from structsvm.solvers.base import Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent import (
    Callback,
    CompositeRisk,
    Descent,
    DescentEntry,
    quadratic,
    stationarity,
)
from structsvm.status import Status
from structsvm.support.checks import is_number, is_whole
from structsvm.weights import WeightSpace

__all__ = ["CCCP"]

Floats = NDArray[np.float64]

logger = logging.getLogger("structsvm")

SUFFICIENT = 1e-2
"""Share of the fall that the model predicts that a step must bring about."""

STRONGEST = 1e12
"""Proximal weight, relative to the first one, at which there is no step left to take."""

ROUNDING = 1e-13
"""Share of F(start) that is no fall."""

FINEST = 1e-9
"""Relative gap of the convex problems below which more accuracy is not asked for."""


@dataclass(frozen=True)
class CCCP:
    """Minimises a :class:`CompositeRisk` through convex models of it.

    Each round replaces what is not convex by its tangent at the current weight, solves the convex
    structured SVM that this leaves, kept near the weight by a proximal term, and takes the step if
    the *true* objective falls by a share of what the model predicts; otherwise the proximal term
    grows. So the objective never rises, whatever the model is worth (Yuille and Rangarajan, 2003,
    where the tangent is that of a concave part; Drusvyatskiy and Lewis, 2018, where it is that of a
    smooth map inside a convex function, which is what spectral relaxations need).

    Parameters
    ----------
    tol : float
        Stop when no weight promises a fall of more than ``tol`` times F(start), within the proximal
        term: ``F(w)`` less the certified lower bound of the model.
    max_iter : int
        Most rounds, rejected ones included.
    proximal : float
        First weight of ``|w - w_t|^2 / 2``.
    inner : CuttingPlane
        Of the convex problem in each round; its ``tol`` is the first one, and is lowered as soon as
        the answers are too rough to tell whether there is anything left to gain.
    """

    tol: float = 1e-6
    max_iter: int = 100
    proximal: float = 0.1
    inner: CuttingPlane = field(
        default_factory=lambda: CuttingPlane(Stopping(tol=1e-3, max_iter=100))
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        if not (is_number(self.tol) and self.tol > 0):
            raise SettingsError(f"tol must be > 0, got {self.tol}")
        if not (is_whole(self.max_iter) and self.max_iter >= 1):
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")
        if not (is_number(self.proximal) and self.proximal > 0):
            raise SettingsError(f"proximal must be > 0, got {self.proximal}")
        if not isinstance(self.inner, CuttingPlane):
            raise SettingsError(f"inner must be a CuttingPlane, got {self.inner!r}")

    @single_threaded()
    def minimize(
        self, risk: CompositeRisk, start: Floats, callback: Callback | None = None
    ) -> Descent:
        """Descend from ``start``; Ctrl-C ends the run and returns the best weight."""
        state = _Run(self, risk, start, callback)
        status = Status.TOO_FEW_STEPS
        try:
            for _ in range(self.max_iter):
                if state.step():
                    status = Status.STATIONARY
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return state.result(status)


class _Run:
    """One descent under way."""

    def __init__(
        self, settings: CCCP, risk: CompositeRisk, start: Floats, callback: Callback | None
    ) -> None:
        self.settings, self.risk, self.callback = settings, risk, callback
        self.omega = quadratic(risk, "CCCP")
        self.started = time.perf_counter()
        self.evaluations, self.rejected = 0, 0
        self.mu, self.precision = settings.proximal, settings.inner.stopping.tol
        self.history: list[DescentEntry] = []
        self._move(start, *self._objective(start))

    def step(self) -> bool:
        """One round; whether there is nothing left to gain."""
        try:
            w, lower, upper = self._solve_model()
        except LearningError as error:
            logger.info("the model has no answer: %s", error)
            return self._reject()
        promised, at_most = self.objective - upper, self.objective - lower
        scale = max(abs(self.history[0].objective), 1e-300)
        if promised <= ROUNDING * scale:
            promised = 0.0
        if at_most <= self.settings.tol * scale:
            return True
        if promised < 0.5 * at_most:  # too rough to judge, or a step that leaves much behind
            if self.precision > FINEST:
                self.precision = max(self.precision / 10, FINEST)
            elif not promised:
                return True
        if not promised:
            return False
        objective, gradient = self._objective(w)
        if objective > self.objective - SUFFICIENT * promised:
            return self._reject()
        if objective <= self.objective - 0.5 * promised:
            self.mu = max(self.mu / 2, 1e-6 * self.settings.proximal)
        self._move(w, objective, gradient)
        return False

    def _solve_model(self) -> tuple[Floats, float, float]:
        """The weight that minimises the model, and bounds of its value there, Omega included."""
        space, inner = self.risk.space, self.settings.inner
        near = _proximal(self.omega, self.mu, self.w, space)
        # What the completed square leaves out of Omega and the proximal term.
        shift = self.risk.regularizer.value(self.w, space) - near.value(self.w, space)
        model = self.risk.model(self.w, near)
        stopping = replace(inner.stopping, tol=self.precision)
        answer = replace(inner, stopping=stopping).solve(model)
        self.evaluations += answer.oracle_calls // max(model.n_samples, 1)
        if answer.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return answer.w, answer.lower + shift, answer.upper + shift

    def result(self, status: Status) -> Descent:
        """What came of it."""
        return Descent(
            w=self.w,
            objective=self.objective,
            start=self.history[0].objective,
            status=status,
            stationarity=stationarity(self.risk, self.w, self.gradient),
            evaluations=self.evaluations,
            rejected=self.rejected,
            seconds=time.perf_counter() - self.started,
            solver="CCCP",
            history=tuple(self.history),
        )

    def _reject(self) -> bool:
        """Stay, and stay nearer the next time; whether no step is short enough."""
        self.rejected += 1
        self.mu *= 4
        return self.mu > STRONGEST * self.settings.proximal

    def _objective(self, w: Floats) -> tuple[float, Floats]:
        self.evaluations += 1
        value, gradient = self.risk.losses(w)
        omega = self.omega
        total = value + self.risk.regularizer.value(w, self.risk.space)
        return total, gradient + omega.curvature * (w - omega.center) + omega.linear

    def _move(self, w: Floats, objective: float, gradient: Floats) -> None:
        self.w, self.objective, self.gradient = w, objective, gradient
        seconds = time.perf_counter() - self.started
        entry = DescentEntry(len(self.history), seconds, self.evaluations, objective)
        self.history.append(entry)
        logger.debug("%s", entry)
        if self.callback is not None:
            self.callback(entry)


def _proximal(omega: Quadratic, mu: float, w: Floats, space: WeightSpace) -> SquaredNorm:
    """``Omega + mu / 2 |. - w|^2`` up to a constant, the square completed."""
    curvature = float(omega.curvature[0])
    if not np.all(omega.curvature == curvature):
        raise SettingsError("CCCP needs a regularizer of the same curvature everywhere")
    weight = curvature + mu
    center = (curvature * omega.center + mu * w - omega.linear) / weight
    return SquaredNorm(weight, space.to_metric(center))
