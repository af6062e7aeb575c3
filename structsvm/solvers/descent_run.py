"""The run of a solver that minimises a composite risk."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.problem import CompositeRisk, Solution, Status
from structsvm.solvers.certificate import Certificate, Step, Stopping
from structsvm.solvers.checkpoint import SAME_LOSS, Checkpoint
from structsvm.solvers.run import AnyRun
from structsvm.support import Floats

__all__ = ["Descent"]
LEAST_SECONDS = 1e-9


class Descent(AnyRun):
    """The run on a composite risk; no weight is evaluated twice, even in a resumed run."""

    def __init__(self, risk: CompositeRisk, stopping: Stopping) -> None:
        self.risk = risk
        self.stopping = stopping
        self.n_instances = risk.n_instances
        self.parts = [risk.part([i]) for i in range(risk.n_instances)]
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.bound = "none: the objective is not convex"
        omega = risk.quadratic
        assert omega is not None  # solvers of such risks have checked it
        self.omega = omega
        self._counted: set[bytes] = set()
        self._seen: dict[bytes, tuple[float, Floats]] = {}

    def evaluate(self, w: Floats) -> tuple[float, Floats]:
        """The objective and its gradient; a new best weight if it is lower than all before."""
        key = np.asarray(w).tobytes()
        omega = self.omega
        if key not in self._seen:
            self.refuse_outside(w, self.risk.space)
            self.seconds_left(self.n_instances)
            self._seen[key] = self._losses(w)
        if key not in self._counted:  # losses at a weight count once, even if a file holds them
            self._counted.add(key)
            self.oracle_calls += self.n_instances
        losses, gradient = self._seen[key]
        objective = losses + self.risk.penalty(w)
        if not np.isfinite(self.certificate.null):
            self.certificate.null = objective
        self.certificate.update_best(objective, w)
        return objective, gradient + omega.curvature * (w - omega.center) + omega.linear

    def _losses(self, w: Floats) -> tuple[float, Floats]:
        """Loss and gradient, summed over the instances in their order, on any backend."""
        started = time.perf_counter()
        answers = self.session.map(_loss, w)
        self.oracle_seconds += time.perf_counter() - started
        return sum(loss for loss, _ in answers), np.sum([slope for _, slope in answers], axis=0)

    def resume_from(self, checkpoint: Checkpoint) -> bool:
        """Restore the evaluations of a file, if it exists; False, as such runs go on."""
        saved = checkpoint.restore(Certificate(-np.inf))
        if saved is not None:
            ws, losses, gradients = (saved[0][key] for key in ("ws", "losses", "gradients"))
            for w, loss, gradient in zip(ws, losses, gradients, strict=True):
                self._seen[w.tobytes()] = float(loss), gradient
            now = self._losses(ws[-1])[0]
            before = float(losses[-1])
            if abs(now - before) > SAME_LOSS * abs(before):
                checkpoint.refuse(now, before)
        return False

    def arrays_after(self, step: Step) -> Mapping[str, NDArray[Any]]:
        losses, gradients = zip(*self._seen.values(), strict=True)
        ws = [np.frombuffer(key) for key in self._seen]
        return {"ws": np.array(ws), "losses": np.array(losses), "gradients": np.array(gradients)}

    def solution(self, status: Status) -> Solution:
        """The best weight, with the length of a projected gradient step there (stationarity)."""
        solution = super().solution(status)
        _, gradient = self.evaluate(solution.w)
        away = solution.w - self.risk.space.project(solution.w - gradient)
        return replace(solution, stationarity=float(np.linalg.norm(away)))

    def within_budget(self, stopping: Stopping) -> Stopping:
        """The stopping rule of a model, with no more seconds and calls than this run has left."""
        seconds = max(self.seconds_left(self.n_instances), LEAST_SECONDS)
        most = self.stopping.max_calls
        calls = stopping.max_calls
        if most is not None:
            calls = min(calls or most, most - self.oracle_calls)
        return replace(stopping, max_seconds=min(stopping.max_seconds, seconds), max_calls=calls)


def _loss(part: CompositeRisk, w: Floats) -> tuple[float, Floats]:
    """Loss and gradient of a part of a risk, for workers."""
    return part.losses(w)
