"""Quasi-Newton descent on a factor of the metric: the fast path of risks that are not convex."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from structsvm.problem import Outline, Risk
from structsvm.solvers.base import AnyRun, Solver, Step, StepDone, Stopping, smooth_composite
from structsvm.solvers.run import Descent
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_unless
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
    >>> from structsvm.solvers import QuasiNewton, Stopping
    >>> QuasiNewton(Stopping(tol=1e-2)).stopping.tol
    0.01
    """

    stopping: Stopping = field(default_factory=lambda: Stopping(tol=1e-3))

    def check(self, risk: Risk | Outline) -> None:
        """Check that the weight is a metric, full or diagonal, and the regularizer quadratic."""
        smooth_composite(risk, "QuasiNewton")
        fits = isinstance(risk.space, PSD | Nonnegative)
        refuse_unless(fits, "the weight", "a metric for QuasiNewton", risk.space)

    def iterate(self, run: AnyRun, done: StepDone) -> None:
        """L-BFGS from the start of the risk; one accepted step in each iteration."""
        assert isinstance(run, Descent)
        space, start, tol = run.risk.space, run.risk.start, self.stopping.tol

        def value(x: Floats) -> tuple[float, Floats]:
            w, pulled = _of_factor(x, space)
            objective, gradient = run.evaluate(w)
            return objective, pulled(gradient)

        if isinstance(space, Nonnegative):
            root = np.sqrt(start)
        else:
            values, vectors = np.linalg.eigh(space.to_metric(start))
            root = ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T).ravel()
        run.evaluate(start)
        done(Step("start"))
        found = scipy_minimize(
            value,
            root,
            jac=True,
            method="L-BFGS-B",
            callback=lambda _: done(Step("L-BFGS")),
            options={"maxiter": self.stopping.max_iter + 1, "gtol": tol, "ftol": tol**2},
        )
        done(Step("L-BFGS", stationary=found.success, stalled=not found.success))


Pull = Callable[[Floats], Floats]
"""A gradient with respect to a weight to that with respect to its factor."""


def _of_factor(x: Floats, space: WeightSpace) -> tuple[Floats, Pull]:
    """The weight of ``L L^T``, for the entries of ``L`` as a vector, the diagonal or all."""
    if isinstance(space, Nonnegative):
        return x**2, lambda gradient: 2.0 * gradient * x
    assert isinstance(space, PSD)
    L = x.reshape(space.order, space.order)

    def pulled(gradient: Floats) -> Floats:
        return np.asarray(2.0 * (space.to_metric(gradient) @ L)).ravel()

    return space.from_metric(L @ L.T), pulled
