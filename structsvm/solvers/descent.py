"""One descent of a risk that is not convex: objective, gradient, and what has been evaluated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structsvm.problem import CompositeRisk
from structsvm.solution import Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.checkpoint import SAME, Checkpoint, Saved
from structsvm.solvers.run import AnyRun
from structsvm.solvers.stopping import Step, Stopping
from structsvm.status import Status
from structsvm.support.arrays import Floats

__all__ = ["Descent"]

NOT_CONVEX = "none: the objective is not convex"

LEAST_SECONDS = 1e-9


class Descent(AnyRun):
    """What the iterations of a solver of composite risks work with.

    Evaluations are kept, and written to a checkpoint: a run that goes on from one takes the same
    steps again without evaluating anything twice, so that it ends in the same weight.
    """

    def __init__(self, risk: CompositeRisk, stopping: Stopping) -> None:
        self.risk, self.stopping = risk, stopping
        self.parts = [risk.part([i]) for i in range(risk.n_samples)]
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.bound = NOT_CONVEX
        omega = risk.quadratic
        assert omega is not None  # solvers of such risks have checked it
        self.omega = omega
        self._counted: set[bytes] = set()
        self._seen: dict[bytes, tuple[float, Floats]] = {}

    @property
    def has_answer(self) -> bool:
        """Whether there is more than the start, which is no answer."""
        return len(self.certificate.entries) > 1

    def evaluate(self, w: Floats) -> tuple[float, Floats]:
        """The objective and its gradient; a new best weight if it is lower than all before."""
        key, omega = w.tobytes(), self.omega
        if key not in self._seen:
            if self._seen:
                self._seconds_left()
            self._seen[key] = self._losses(w)
        if key not in self._counted:  # at a weight losses count once
            self._counted.add(key)
            self.oracle_calls += self.risk.n_samples
        losses, gradient = self._seen[key]
        objective = losses + self.risk.penalty(w)
        if not np.isfinite(self.certificate.null):
            self.certificate.null = objective
        self.certificate.update_best(objective, w)
        return objective, gradient + omega.curvature * (w - omega.center) + omega.linear

    def _losses(self, w: Floats) -> tuple[float, Floats]:
        """Summed over the samples in their order, wherever they are evaluated."""
        answers = self.session.map(_loss, w)
        return sum(loss for loss, _ in answers), np.sum([slope for _, slope in answers], axis=0)

    def resume_from(self, checkpoint: Checkpoint) -> bool:
        """Restore the evaluations that a file holds, if there is one; never at its end."""
        saved = checkpoint.restore(Certificate(-np.inf))
        if saved is not None:
            ws, losses, gradients = (saved.arrays[key] for key in ("ws", "losses", "gradients"))
            for w, loss, gradient in zip(ws, losses, gradients, strict=True):
                self._seen[w.tobytes()] = float(loss), gradient
            now, before = self._losses(ws[-1])[0], float(losses[-1])
            if abs(now - before) > SAME * abs(before):
                checkpoint.refuse(now, before)
        return False

    def saved_after(self, step: Step) -> Saved:
        arrays = {
            "ws": np.array([np.frombuffer(key) for key in self._seen]),
            "losses": np.array([loss for loss, _ in self._seen.values()]),
            "gradients": np.array([slope for _, slope in self._seen.values()]),
        }
        return Saved(arrays, self.oracle_calls, step.stalled)

    def solution(self, status: Status) -> Solution:
        """The best weight, and how far one projected gradient step of length 1 moves there."""
        found = super().solution(status)
        _, gradient = self.evaluate(found.w)
        away = found.w - self.risk.space.project(found.w - gradient)
        return replace(found, stationarity=float(np.linalg.norm(away)))

    def within_budget(self, stopping: Stopping) -> Stopping:
        """The stopping rule of a model, with no more seconds and calls than are left of this run.

        BudgetSpentError when nothing is left for an evaluation.
        """
        seconds, most = self._seconds_left(), self.stopping.max_calls
        if most is None:
            return replace(stopping, max_seconds=min(stopping.max_seconds, seconds))
        calls = min(stopping.max_calls or most, most - self.oracle_calls)
        return replace(stopping, max_seconds=min(stopping.max_seconds, seconds), max_calls=calls)

    def _seconds_left(self) -> float:
        """The seconds left for another evaluation; BudgetSpentError if it is one too many."""
        calls = self.oracle_calls + self.risk.n_samples
        return max(self.stopping.seconds_left(self.certificate.seconds, calls), LEAST_SECONDS)


def _loss(part: CompositeRisk, w: Floats) -> tuple[float, Floats]:
    return part.losses(w)
