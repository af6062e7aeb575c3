"""One descent of a risk that is not convex: objective, gradient, and what has been evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.parallel import Session
from structsvm.problem import CompositeRisk, Outline
from structsvm.regularizers import Quadratic
from structsvm.solution import Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.checkpoint import SAME, Checkpoint, Saved
from structsvm.solvers.stopping import Step, Stopping
from structsvm.status import Status
from structsvm.support.arrays import Floats

__all__ = ["Descent", "quadratic"]

NOT_CONVEX = "none: the objective is not convex"

LEAST_SECONDS = 1e-9


class Descent:
    """What the iterations of a solver of composite risks work with.

    Evaluations are kept, and written to a checkpoint: a run that goes on from one takes the same
    steps again without evaluating anything twice, so that it ends in the same weight.
    """

    def __init__(self, risk: CompositeRisk, stopping: Stopping, session: Session) -> None:
        self.risk, self.stopping, self.session = risk, stopping, session
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.bound = NOT_CONVEX
        self.omega = quadratic(risk.outline, "descent")
        self.evaluations = 0
        """Of the losses of all samples, those of models included; at a weight they count once."""
        self._counted: set[bytes] = set()
        self._seen: dict[bytes, tuple[float, Floats]] = {}

    @property
    def oracle_calls(self) -> int:
        """The number of evaluations of the loss of one sample so far."""
        return self.evaluations * self.risk.n_samples

    def evaluate(self, w: Floats) -> tuple[float, Floats]:
        """The objective and its gradient; a new best weight if it is lower than all before."""
        losses, gradient = self._losses(w)
        objective = losses + self.risk.penalty(w)
        if not np.isfinite(self.certificate.null):
            self.certificate.null = objective
        self.certificate.update_best(objective, w)
        omega = self.omega
        return objective, gradient + omega.curvature * (w - omega.center) + omega.linear

    def stationarity(self, w: Floats, gradient: Floats) -> float:
        """How far one projected gradient step of length 1 moves, in the norm of the weight."""
        return float(np.linalg.norm(w - self.risk.space.project(w - gradient)))

    def resume_from(self, checkpoint: Checkpoint | None) -> bool:
        """Restore the evaluations that a file holds, if there is one; never at its end."""
        saved = None if checkpoint is None else checkpoint.restore(Certificate(-np.inf))
        if saved is not None:
            points = zip(
                *(saved.arrays[name] for name in ("ws", "losses", "gradients")), strict=True
            )
            self._seen = {w.tobytes(): (float(loss), slope) for w, loss, slope in points}
            w, before = saved.arrays["ws"][-1], float(saved.arrays["losses"][-1])
            loss, _ = self._asked(w)
            if abs(loss - before) > SAME * abs(before):
                assert checkpoint is not None
                checkpoint.refuse(loss, before)
        return False

    def keep(self, checkpoint: Checkpoint | None, step: Step | None, now: bool) -> None:
        """Write what has been evaluated into the checkpoint, if there is one."""
        if checkpoint is not None and step is not None:
            checkpoint.keep(self.certificate, partial(self._saved, step), now)

    def remember(self, step: Step) -> None:
        """Nothing is handed on: runs with another regularizer descend elsewhere."""

    def solution(self, status: Status) -> Solution:
        """Return the best weight, and how near to a local minimum it is."""
        found = self.certificate.solution(status, self.oracle_calls)
        _, gradient = self.evaluate(found.w)
        return replace(found, stationarity=self.stationarity(found.w, gradient))

    def _losses(self, w: Floats) -> tuple[float, Floats]:
        """Summed over the samples in their order, wherever they are evaluated."""
        key = w.tobytes()
        if key not in self._seen:
            if self._seen:
                self._seconds_left()
            self._seen[key] = self._asked(w)
        if key not in self._counted:
            self._counted.add(key)
            self.evaluations += 1
        return self._seen[key]

    def _asked(self, w: Floats) -> tuple[float, Floats]:
        answers = self.session.map(_loss, w)
        return sum(loss for loss, _ in answers), np.sum([slope for _, slope in answers], axis=0)

    def within_budget(self, stopping: Stopping) -> Stopping:
        """The stopping rule of a model, with no more seconds and calls than are left of this run.

        Raises
        ------
        BudgetSpentError
            When nothing is left for an evaluation.
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

    def _saved(self, step: Step) -> Saved:
        points = list(self._seen.items())
        arrays: Mapping[str, NDArray[Any]] = {
            "ws": np.array([np.frombuffer(key) for key, _ in points]),
            "losses": np.array([loss for _, (loss, _) in points]),
            "gradients": np.array([slope for _, (_, slope) in points]),
        }
        return Saved(dict(arrays), self.oracle_calls, step.stalled)


def _loss(part: CompositeRisk, w: Floats) -> tuple[float, Floats]:
    return part.losses(w)


def quadratic(risk: Outline, solver: str) -> Quadratic:
    """Omega as a quadratic, whose gradient is known.

    Raises
    ------
    SettingsError
        When it is not one.
    """
    omega = risk.quadratic
    if omega is None:
        raise SettingsError(
            f"{solver} needs the gradient of the regularizer: use SquaredNorm or Trace, "
            f"got {risk.regularizer}"
        )
    return omega
