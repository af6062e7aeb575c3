"""The projected subgradient method of the paper, with averaging."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from structsvm.problem import Outline, Risk
from structsvm.solvers.base import AnyRun, Run, Solver, Step, StepDone, Stopping, strongly_convex

EVERY = 10
"""Iterations between two evaluations of the averaged weight."""


@dataclass(frozen=True)
class ProjectedSubgradient(Solver):
    """The averaged subgradient method, with steps of length ``1 / (lambda t)``.

    Lajugie et al., section "Optimization"; the weights are those of Lacoste-Julien, Schmidt and
    Bach (2012). The average of the planes with the same weights is a dual point, so that this
    method has a certificate too. For comparison: cutting planes are faster on every problem
    measured.

    Parameters
    ----------
    stopping : Stopping
        An iteration is N oracle calls; every tenth makes N more at the averaged weight.

    Examples
    --------
    >>> from structsvm.solvers import ProjectedSubgradient, Stopping
    >>> ProjectedSubgradient(Stopping(tol=0.1, max_iter=500)).stopping.tol
    0.1
    """

    stopping: Stopping = field(default_factory=Stopping)

    def check(self, risk: Risk | Outline) -> None:
        """Check that the regularizer is strongly convex and that there are no constraints."""
        strongly_convex(risk, "ProjectedSubgradient")

    def iterate(self, run: AnyRun, done: StepDone) -> None:
        """Make one subgradient step in each iteration."""
        assert isinstance(run, Run)
        risk = run.risk
        omega = strongly_convex(risk, "ProjectedSubgradient")
        target = omega.center - omega.linear / omega.curvature
        whole = np.zeros(risk.n_samples, dtype=np.int64)
        w = risk.space.project(target)
        average, offset, slope = w, 0.0, np.zeros(risk.space.dim)
        t, first = 0, run.working_set(whole)
        if run.state is not None and "groups" in run.state:  # older files do without
            first.restore(run.state)
        if run.saved is None:
            first.add(run.start(whole))
        else:
            w, average, slope = (run.saved[name] for name in ("w", "average", "slope"))
            offset, t = float(run.saved["offset"]), int(run.saved["t"])
        while True:
            t += 1
            at = run.evaluate(w, whole, np.maximum(first.group_values(w), offset + slope @ w))
            share = 2.0 / (t + 1)
            offset += share * (float(at.intercepts[0]) - offset)
            slope = slope + share * (at.slopes[0] - slope)
            run.bound_by(offset, slope)
            w = risk.space.project(w - (w - target + at.slopes[0] / omega.curvature) / t)
            average = average + share * (w - average)
            if t % EVERY == 0:
                known = np.maximum(first.group_values(average), offset + slope @ average)
                run.evaluate(average, whole, known)
            state = {"w": w, "average": average, "slope": slope}
            state |= {"offset": np.array(offset), "t": np.array(t)}
            done(Step("projected subgradient", 1, state=(first.state() | state).copy))
