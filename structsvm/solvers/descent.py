"""Solvers of objectives that are not convex: the concave-convex procedure, and quasi-Newton."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from structsvm.errors import LearningError
from structsvm.problem import PSD, Nonnegative, Outline, Risk, Solution, SquaredNorm, Status
from structsvm.solvers.base import Solver, smooth_composite
from structsvm.solvers.certificate import Step, Stopping
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.descent_run import Descent
from structsvm.solvers.lbfgs import descend
from structsvm.solvers.run import AnyRun
from structsvm.support import Floats, refuse_unless

logger = logging.getLogger("structsvm")
SUFFICIENT = 1e-2  # part of the fall predicted by the model that an accepted step must reach
STRONGEST_PROXIMAL = 1e12
"""Proximal weight, relative to the first one, above which steps are too short to go on."""
NO_FALL = 1e-13  # part of F(start) below which a predicted fall is rounding
FINEST = 1e-9  # smallest relative gap that is asked of the convex problems


@dataclass(frozen=True)
class CCCP(Solver):
    """The concave-convex procedure for a :class:`~structsvm.problem.CompositeRisk`.

    Each round replaces what is not convex by its tangent at the current weight, solves the convex
    structured SVM that this leaves, kept near the weight by a proximal term, and takes the step if
    the *true* objective falls by a share of what the model predicts; otherwise the proximal term
    grows. So the objective never rises, whatever the model is worth (Yuille and Rangarajan, 2003,
    where the tangent is that of a concave part; Drusvyatskiy and Lewis, 2018, where it is that of a
    smooth map inside a convex function, which is what spectral relaxations need).

    Parameters
    ----------
    stopping : Stopping
        With its ``tol`` the run stops when the model proves that no weight near ``w`` lowers it by
        more than ``tol`` times F(start). Its ``max_iter`` counts rejected rounds, too.
    proximal : float
        First weight of ``|w - w_t|^2 / 2``.
    inner : CuttingPlane
        The solver of the convex problem in each round; its ``tol`` is lowered when answers are too
        inaccurate to tell whether anything is left to gain.

    Examples
    --------
    >>> from structsvm.solvers import CCCP, Stopping
    >>> CCCP(Stopping(tol=1e-4, max_iter=50)).proximal
    0.1
    """

    stopping: Stopping = field(default_factory=lambda: Stopping(tol=1e-6, max_iter=100))
    proximal: float = 0.1
    inner: CuttingPlane = field(
        default_factory=lambda: CuttingPlane(Stopping(tol=1e-3, max_iter=100))
    )

    def __post_init__(self) -> None:
        refuse_unless(self.proximal > 0, "proximal", "> 0", self.proximal)

    def check(self, risk: Risk | Outline) -> None:
        """Check that the regularizer is quadratic, with the same curvature everywhere."""
        omega = smooth_composite(risk, "CCCP")
        fits = bool(np.all(omega.curvature == omega.curvature[0]))
        refuse_unless(fits, "the regularizer", "of one curvature for CCCP", risk.regularizer)

    def steps(self, run: AnyRun) -> Iterator[Step]:
        """Solve one convex model in each iteration."""
        assert isinstance(run, Descent)
        w = run.risk.start
        mu = self.proximal
        precision = self.inner.stopping.tol
        objective, _ = run.evaluate(w)
        scale = max(abs(objective), 1e-300)
        yield Step("start")
        while True:
            promised = 0.0
            new_objective = np.inf
            try:
                model, shift = self._model(run, w, mu, precision)
            except LearningError as error:
                logger.info("the model has no answer: %s", error)
            else:
                promised = objective - (model.upper + shift)
                at_most = objective - (model.lower + shift)
                if promised <= NO_FALL * scale:
                    promised = 0.0
                if at_most <= self.stopping.tol * scale:
                    yield Step("nothing left to gain", stationary=True)
                if promised < 0.5 * at_most:  # the bounds of the model are too far apart
                    if precision > FINEST:
                        precision = max(precision / 10, FINEST)
                    elif not promised:
                        is_solved = model.status.converged
                        label = "as precise as can be"
                        yield Step(label, stationary=is_solved, stalled=not is_solved)
                if not promised:
                    yield Step("a more precise model")
                    continue
                new_objective, _ = run.evaluate(model.w)
            if new_objective > objective - SUFFICIENT * promised:  # stay nearer the next time
                mu *= 4
                yield Step("step rejected", stationary=mu > STRONGEST_PROXIMAL * self.proximal)
                continue
            if new_objective <= objective - 0.5 * promised:
                mu = max(mu / 2, 1e-6 * self.proximal)
            w = model.w
            objective = new_objective
            yield Step("step taken")

    def _model(
        self, run: Descent, w: Floats, mu: float, precision: float
    ) -> tuple[Solution, float]:
        """The solution of the model at w, and the constant to add to its bounds, of Omega."""
        risk = run.risk
        # Omega + mu / 2 |. - w|^2 up to a constant, the square completed.
        curvature = float(run.omega.curvature[0])
        pull = curvature * run.omega.center + mu * w - run.omega.linear
        weight = curvature + mu
        near = SquaredNorm(weight, risk.space.to_metric(pull / weight))
        shift = risk.penalty(w) - near.value(w, risk.space)
        stopping = replace(run.within_budget(self.inner.stopping), tol=precision)
        answer = replace(self.inner, stopping=stopping).solve(risk.model(w, near))
        run.oracle_calls += answer.oracle_calls // risk.n_instances * risk.n_instances
        if answer.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return answer, shift


@dataclass(frozen=True)
class QuasiNewton(Solver):
    """L-BFGS over a factor ``L`` of ``B = L L^T``, for a :class:`~structsvm.problem.CompositeRisk`.

    The factor makes the cone go away, and costs nothing: the metrics of interest have full rank.
    It needs a smooth risk; where two eigenvalues meet, a subgradient serves as its gradient.

    Parameters
    ----------
    stopping : Stopping
        Its ``tol`` is a gradient with respect to the factor; a step that lowers the objective by
        less than ``tol**2`` times itself, or 1 where it is smaller, ends the run, too.

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

    def steps(self, run: AnyRun) -> Iterator[Step]:
        """L-BFGS from the start of the risk; one accepted step in each iteration."""
        assert isinstance(run, Descent)
        space = run.risk.space
        start = run.risk.start
        tol = self.stopping.tol

        def evaluate(x: Floats) -> tuple[float, Floats]:
            """The objective and its gradient with respect to the entries of ``L``."""
            if not isinstance(space, PSD):
                objective, gradient = run.evaluate(x**2)
                return objective, 2.0 * gradient * x
            L = x.reshape(space.order, space.order)
            objective, gradient = run.evaluate(space.from_metric(L @ L.T))
            return objective, np.asarray(2.0 * (space.to_metric(gradient) @ L)).ravel()

        if isinstance(space, PSD):
            values, vectors = np.linalg.eigh(space.to_metric(start))
            root = ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T).ravel()
        else:
            root = np.sqrt(start)
        run.evaluate(start)
        label = "start"
        before = np.inf
        for point in descend(evaluate, root):
            is_flat = float(np.abs(point.gradient).max()) <= tol
            is_level = before - point.value <= tol**2 * max(abs(point.value), 1.0)
            yield Step(label, stationary=is_flat or is_level)
            label = "L-BFGS"
            before = point.value
