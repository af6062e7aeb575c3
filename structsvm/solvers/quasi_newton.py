"""Quasi-Newton descent on a factor of the metric: the fast path of risks that are not convex."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from structsvm.errors import SettingsError
from structsvm.problem import Outline, Risk
from structsvm.solvers.base import AnyRun, Solver, Step, StepDone, Stopping, smooth_composite
from structsvm.solvers.run import Descent
from structsvm.support.arrays import Floats
from structsvm.weights import PSD, Nonnegative, WeightSpace


@dataclass(frozen=True)
class QuasiNewton(Solver):
    """L-BFGS over a factor ``L`` of ``B = L L^T``, for a :class:`~structsvm.problem.CompositeRisk`.

    The factor makes the cone go away, and costs nothing: the metrics of interest have full rank.
    What it needs is a smooth risk; where two eigenvalues meet, it does with a subgradient.

    Parameters
    ----------
    stopping : Stopping
        Its ``tol`` is a gradient with respect to the factor; a step that lowers the objective by
        less than ``tol**2`` of itself ends the run, too.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.problems import NormalizedCut
    >>> from structsvm.solvers import QuasiNewton, Stopping
    >>> learner = MetricLearner(NormalizedCut(), solver=QuasiNewton(Stopping(tol=1e-2)))
    >>> learner.solver.stopping.tol
    0.01
    """

    stopping: Stopping = field(default_factory=lambda: Stopping(tol=1e-3))

    def check(self, risk: Risk | Outline) -> None:
        """Check that the weight is a metric, full or diagonal, and the regularizer quadratic.

        Raises
        ------
        SettingsError
            If they are not.
        """
        smooth_composite(risk, "QuasiNewton")
        if not isinstance(risk.space, PSD | Nonnegative):
            raise SettingsError(f"QuasiNewton needs a metric, full or diagonal, not {risk.space}")

    def iterate(self, run: AnyRun, done: StepDone) -> None:
        """L-BFGS from the start of the risk; one accepted step in each iteration."""
        assert isinstance(run, Descent)
        factor = _Factor(run.risk.space)

        def value(x: Floats) -> tuple[float, Floats]:
            objective, gradient = run.evaluate(factor.weight(x))
            return objective, factor.gradient(x, gradient)

        tol = self.stopping.tol
        run.evaluate(run.risk.start)
        done(Step("start"))
        found = scipy_minimize(
            value,
            factor.of(run.risk.start),
            jac=True,
            method="L-BFGS-B",
            callback=lambda _: done(Step("L-BFGS")),
            options={"maxiter": self.stopping.max_iter + 1, "gtol": tol, "ftol": tol**2},
        )
        done(Step("L-BFGS", stationary=found.success, stalled=not found.success))


@dataclass(frozen=True)
class _Factor:
    """Weights of a cone as vectors without constraints."""

    space: WeightSpace

    def of(self, w: Floats) -> Floats:
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
        L = self._matrix(x)
        return self.space.from_metric(L @ L.T)

    def gradient(self, x: Floats, gradient: Floats) -> Floats:
        """With respect to the factor, from that with respect to the weight."""
        if isinstance(self.space, Nonnegative):
            return 2.0 * gradient * x
        G = self.space.to_metric(gradient)
        return np.asarray(2.0 * (G @ self._matrix(x))).ravel()

    def _matrix(self, x: Floats) -> Floats:
        assert isinstance(self.space, PSD)
        return x.reshape(self.space.order, self.space.order)
