"""Quasi-Newton descent on a factor of the metric: the fast path of risks that are not convex."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize as scipy_minimize

from structsvm.errors import SettingsError
from structsvm.parallel import single_threaded
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
from structsvm.weights import PSD, Nonnegative, WeightSpace

__all__ = ["QuasiNewton"]

Floats = NDArray[np.float64]

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class QuasiNewton:
    """Minimises a :class:`CompositeRisk` over ``L`` with ``B = L L^T`` by L-BFGS.

    The factor makes the cone go away, and costs nothing: the metrics of interest have full rank.
    What it needs is a smooth risk; where two eigenvalues meet, it does with a subgradient.

    Parameters
    ----------
    tol : float
        Stop when the gradient with respect to the factor is that small, or a step lowers the
        objective by less than ``tol**2`` of itself.
    max_iter : int
    """

    tol: float = 1e-4
    max_iter: int = 200

    def __post_init__(self) -> None:
        """Check the settings."""
        if not (is_number(self.tol) and self.tol > 0):
            raise SettingsError(f"tol must be > 0, got {self.tol}")
        if not (is_whole(self.max_iter) and self.max_iter >= 1):
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")

    @single_threaded()
    def minimize(
        self, risk: CompositeRisk, start: Floats, callback: Callback | None = None
    ) -> Descent:
        """Descend from ``start``; Ctrl-C ends the run and returns the best weight."""
        run = _Run(risk, start, callback)
        status = Status.TOO_FEW_STEPS
        try:
            found = scipy_minimize(
                run.value,
                run.factor(start),
                jac=True,
                method="L-BFGS-B",
                callback=run.accept,
                options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": self.tol**2},
            )
            if found.status != 1:  # 1 is the limit of iterations; 2, no further descent
                status = Status.STATIONARY
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return run.result(status)


class _Run:
    """One descent under way."""

    def __init__(self, risk: CompositeRisk, start: Floats, callback: Callback | None) -> None:
        if not isinstance(risk.space, PSD | Nonnegative):
            raise SettingsError(f"QuasiNewton needs a metric, full or diagonal, not {risk.space}")
        self.risk, self.callback = risk, callback
        self.space: WeightSpace = risk.space
        self.omega = quadratic(risk, "QuasiNewton")
        self.started = time.perf_counter()
        self.evaluations = 0
        self.history: list[DescentEntry] = []
        self.best = self._evaluate(start)
        self._record()

    def factor(self, w: Floats) -> Floats:
        """``L`` of a weight, as a vector: the symmetric square root."""
        if isinstance(self.space, Nonnegative):
            return np.sqrt(w)
        values, vectors = np.linalg.eigh(self.space.to_metric(w))
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.asarray(root.ravel())

    def weight(self, x: Floats) -> Floats:
        """The weight of a factor."""
        if isinstance(self.space, Nonnegative):
            return x**2
        L = x.reshape(self._order, self._order)
        return self.space.from_metric(L @ L.T)

    def value(self, x: Floats) -> tuple[float, Floats]:
        """The objective and its gradient with respect to the factor."""
        found = self._evaluate(self.weight(x))
        _, objective, gradient = found
        if objective < self.best[1]:
            self.best = found
        if isinstance(self.space, Nonnegative):
            return objective, 2.0 * gradient * x
        G = self.space.to_metric(gradient)
        return objective, np.asarray(2.0 * (G @ x.reshape(self._order, self._order))).ravel()

    def accept(self, _: Floats) -> None:
        """Note a step."""
        self._record()

    def result(self, status: Status) -> Descent:
        """What came of it."""
        w, objective, gradient = self.best
        if objective < self.history[-1].objective:
            self._record()
        return Descent(
            w=w,
            objective=objective,
            start=self.history[0].objective,
            status=status,
            stationarity=stationarity(self.risk, w, gradient),
            evaluations=self.evaluations,
            rejected=0,
            seconds=time.perf_counter() - self.started,
            solver="quasi-Newton",
            history=tuple(self.history),
        )

    @property
    def _order(self) -> int:
        assert isinstance(self.space, PSD)
        return self.space.order

    def _evaluate(self, w: Floats) -> tuple[Floats, float, Floats]:
        self.evaluations += 1
        value, gradient = self.risk.losses(w)
        omega = self.omega
        total = value + self.risk.regularizer.value(w, self.space)
        return w, total, gradient + omega.curvature * (w - omega.center) + omega.linear

    def _record(self) -> None:
        seconds = time.perf_counter() - self.started
        entry = DescentEntry(len(self.history), seconds, self.evaluations, self.best[1])
        self.history.append(entry)
        logger.debug("%s", entry)
        if self.callback is not None:
            self.callback(entry)
