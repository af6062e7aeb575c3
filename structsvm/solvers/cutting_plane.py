"""The cutting-plane method, n-slack and 1-slack."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from structsvm.cuts import Cut, WorkingSet
from structsvm.errors import SettingsError
from structsvm.masters.auto import AutoMaster
from structsvm.masters.base import Master, MasterSolution, Request, checked
from structsvm.masters.bounds import lower_bound
from structsvm.problem import RegularizedRisk
from structsvm.solution import Solution
from structsvm.solvers.base import (
    Callback,
    Certificate,
    Evaluation,
    Evaluator,
    Solver,
)
from structsvm.status import Status

__all__ = ["CuttingPlane"]

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class CuttingPlane(Solver):
    """Alternates between the oracles, which give cuts, and the master, which gives the weight.

    Joachims, Finley and Yu (2009). The n-slack and the 1-slack method are the same one for two
    groupings of the samples: a slack for each sample, or one for their sum.

    Parameters
    ----------
    slack : {"n", "one"}
        "n" needs fewer oracle calls, "one" keeps the master small when samples are many.
    tol : float
        Stop when the certified relative gap (see :func:`structsvm.solution.relative_gap`) is at
        most this.
    max_iter : int
        At most this many rounds of oracle calls.
    max_idle : int
        Cuts whose multiplier stays zero for this many rounds are dropped.
    master : Master
    """

    slack: str = "n"
    tol: float = 1e-2
    max_iter: int = 200
    max_idle: int = 10
    master: Master = field(default_factory=AutoMaster)

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.slack not in ("n", "one"):
            raise SettingsError(f"slack must be 'n' or 'one', got {self.slack!r}")
        if not self.tol > 0:
            raise SettingsError(f"tol must be > 0, got {self.tol}")
        if self.max_iter < 1:
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")

    def solve(self, risk: RegularizedRisk, callback: Callback | None = None) -> Solution:
        """Minimise ``risk`` to the tolerance."""
        evaluate = Evaluator(risk)
        groups = np.arange(risk.n_samples) if self.slack == "n" else np.zeros(risk.n_samples, int)
        cuts = WorkingSet(int(groups.max()) + 1, risk.space.dim)
        at_null = evaluate(risk.null)
        certificate = Certificate(null=at_null.upper)
        if risk.constraints is None:  # else the null weight may not be allowed
            certificate.see(at_null)
        cuts.add(_grouped(at_null, groups))
        status = Status.MAX_ITER
        try:
            for _ in range(self.max_iter):
                step = self._step(risk, cuts, groups, evaluate, certificate)
                entry = certificate.record(evaluate.oracle_calls, len(cuts), step.label)
                logger.debug("%s", entry)
                if callback is not None:
                    callback(entry)
                if certificate.gap <= self.tol:
                    status = certificate.status(self.tol)
                    break
                if step.stalled:
                    status = Status.STALLED
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if certificate.best is None:
                raise
        return certificate.solution(status, evaluate.oracle_calls)

    def _step(
        self,
        risk: RegularizedRisk,
        cuts: WorkingSet,
        groups: np.ndarray,
        evaluate: Evaluator,
        certificate: Certificate,
    ) -> _Step:
        """One master, one round of oracles; again, and precisely, if no cut was violated."""
        labels = []
        for tol in (min(1e-3, max(1e-7, 0.01 * certificate.gap)), 1e-10):
            request = Request(tol, start=certificate.best.w if certificate.best else None)
            answer = self.master.solve(risk, cuts, request)
            answer = checked(answer, risk, cuts)
            labels.append(answer.label)
            self._bound(risk, cuts, answer, certificate)
            evaluation = evaluate(answer.w)
            certificate.see(evaluation)
            cuts.retire(answer.multipliers, self.max_idle)
            if certificate.gap <= self.tol:
                break
            if cuts.add(_violated(evaluation, cuts, groups)):
                break
        else:
            return _Step("; ".join(labels), stalled=True)
        return _Step("; ".join(labels), stalled=False)

    def _bound(
        self,
        risk: RegularizedRisk,
        cuts: WorkingSet,
        answer: MasterSolution,
        certificate: Certificate,
    ) -> None:
        bound, basis = lower_bound(risk, cuts, answer.multipliers, certificate.upper)
        certificate.raise_lower(bound, basis)


@dataclass(frozen=True)
class _Step:
    label: str
    stalled: bool


def _grouped(evaluation: Evaluation, groups: np.ndarray) -> list[Cut]:
    """The cuts of an evaluation, summed over the samples of each group."""
    n_groups = int(groups.max()) + 1
    if n_groups == groups.size:
        slopes, intercepts = evaluation.slopes, evaluation.intercepts
    else:
        slopes, intercepts = evaluation.slopes.sum(0, keepdims=True), evaluation.intercepts.sum()
    return [Cut(g, float(np.atleast_1d(intercepts)[g]), slopes[g]) for g in range(n_groups)]


def _violated(evaluation: Evaluation, cuts: WorkingSet, groups: np.ndarray) -> list[Cut]:
    """The cuts that lie above the working set at the weight they were made at."""
    known = cuts.group_values(evaluation.w)
    floor = 1e-12 * max(1.0, float(known.sum()))
    return [
        cut
        for cut in _grouped(evaluation, groups)
        if cut.value(evaluation.w) > known[cut.group] + floor
    ]
