"""What a solver promises, and the loop, the bounds and the budgets that all of them share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.cuts import WorkingSet
from structsvm.errors import LearningError, SettingsError
from structsvm.masters.bounds import lower_bound, plane_bound
from structsvm.parallel import single_threaded
from structsvm.problem import RegularizedRisk
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.evaluation import Evaluation, Evaluator, Plane
from structsvm.status import Status

__all__ = ["Run", "Solver", "Step", "Stopping"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Callback = Callable[[HistoryEntry], None]

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Stopping:
    """When to stop; whatever ends a run, the best certified iterate is returned.

    Parameters
    ----------
    tol : float
        Certified relative gap (see :func:`structsvm.solution.relative_gap`).
    max_iter : int
        Iterations; what one is depends on the solver, about N oracle calls in each of them.
    max_seconds : float
        Wall time. Looked at between oracle calls, after the first N of them.
    max_calls : int or None
        Oracle calls. The first N are always made.
    """

    tol: float = 1e-2
    max_iter: int = 200
    max_seconds: float = np.inf
    max_calls: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.tol > 0:
            raise SettingsError(f"tol must be > 0, got {self.tol}")
        if self.max_iter < 1:
            raise SettingsError(f"max_iter must be at least 1, got {self.max_iter}")
        if not self.max_seconds > 0:
            raise SettingsError(f"max_seconds must be > 0, got {self.max_seconds}")
        if self.max_calls is not None and self.max_calls < 1:
            raise SettingsError(f"max_calls must be at least 1 or None, got {self.max_calls}")


@dataclass(frozen=True)
class Step:
    """What an iteration has to say of itself."""

    label: str
    """Who did the work, for the history."""
    n_cuts: int = 0
    stalled: bool = False
    """Nothing more can be gained."""


class Solver(ABC):
    """Minimises a :class:`RegularizedRisk`; settings only, what a run produces is returned.

    A solver declares what it needs (:meth:`check`) and how it iterates (:meth:`iterations`); one
    loop keeps certificate, history, budgets and interruptions for all of them.
    """

    stopping: Stopping
    """When to stop; a field of every solver."""

    @abstractmethod
    def check(self, risk: RegularizedRisk) -> None:
        """Raise SettingsError if this solver cannot minimise ``risk``, saying which one can."""

    @abstractmethod
    def iterations(self, run: Run) -> Iterator[Step]:
        """The iterations of a run, without end; what they learn goes to ``run``."""

    @single_threaded()
    def solve(self, risk: RegularizedRisk, callback: Callback | None = None) -> Solution:
        """Minimise ``risk`` on one thread; ``callback`` sees every iteration.

        Ctrl-C ends the run and returns the best certified iterate.

        Raises
        ------
        SettingsError
            Before any work, when this solver does not suit ``risk``.
        MasterError, OracleError
            When the restricted problem or a sample has no answer.
        """
        self.check(risk)
        run = Run(risk, self.stopping)
        certificate, tol = run.certificate, self.stopping.tol
        status = Status.MAX_ITER
        try:
            for step in self.iterations(run):
                entry = certificate.record(run.oracle_calls, step.n_cuts, step.label)
                logger.debug("%s", entry)
                if callback is not None:
                    callback(entry)
                if certificate.gap <= tol:
                    status = certificate.status(tol)
                    break
                if step.stalled:
                    status = certificate.stalled(tol)
                    break
                if len(certificate.entries) >= self.stopping.max_iter:
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if certificate.best is None:
                raise
        except BudgetSpentError as spent:
            status = spent.status
            certificate.record(run.oracle_calls, 0, "cut short")
        if certificate.best is None:
            raise LearningError(
                f"{status.value}; no weight that satisfies the constraints was found before",
                status,
            )
        return certificate.solution(status, run.oracle_calls)


class BudgetSpentError(Exception):
    """Ends the iterations of a run; never leaves :meth:`Solver.solve`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class Run:
    """One minimisation under way: what the iterations of any solver work with."""

    def __init__(self, risk: RegularizedRisk, stopping: Stopping) -> None:
        self.risk, self.stopping = risk, stopping
        self.certificate = Certificate(floor=risk.regularizer.floor(risk.space))
        self._evaluator = Evaluator(risk, self._check_budget)

    @property
    def oracle_calls(self) -> int:
        """Oracle calls so far."""
        return self._evaluator.oracle_calls

    def start(self, groups: Ints) -> Evaluation:
        """Evaluate the null weight, which every relative gap refers to."""
        evaluation = self._evaluator(self.risk.null, groups)
        self.certificate.refer_to(evaluation)
        if is_admissible(self.risk, self.risk.null):
            self.certificate.see(evaluation)
        return evaluation

    def evaluate(self, w: Floats, groups: Ints, known: Floats | None = None) -> Evaluation:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        ``known`` are lower bounds of the groups' losses at ``w``, from labellings found before.
        """
        evaluation = self._evaluator(w, groups)
        self.certificate.see(evaluation, known, count=is_admissible(self.risk, w))
        return evaluation

    def plane(self, i: int, w: Floats) -> Plane:
        """Call the oracle of one sample."""
        plane = self._evaluator.plane(i, w)
        self.certificate.qualities.add(plane.quality)
        return plane

    def bound(self, cuts: WorkingSet, multipliers: Floats) -> None:
        """A new lower bound."""
        upper = self.certificate.certified_upper
        self.certificate.raise_lower(*lower_bound(self.risk, cuts, multipliers, upper))

    def bound_by(self, offset: float, slope: Floats) -> None:
        """A new lower bound from ``offset + <slope, w>``, which is below the hinge losses."""
        upper = self.certificate.certified_upper
        self.certificate.raise_lower(*plane_bound(self.risk, offset, slope, upper))

    def _check_budget(self) -> None:
        if self.oracle_calls < self.risk.n_samples:
            return
        if self.certificate.seconds > self.stopping.max_seconds:
            raise BudgetSpentError(Status.MAX_SECONDS)
        if self.stopping.max_calls is not None and self.oracle_calls >= self.stopping.max_calls:
            raise BudgetSpentError(Status.MAX_CALLS)


def is_admissible(risk: RegularizedRisk, w: Floats) -> bool:
    """Whether ``w`` keeps the further constraints up to 1e-6 of its size."""
    if risk.constraints is None:
        return True
    B, _, _ = risk.space.variable()
    metric = risk.space.to_metric(w)
    B.value = metric
    size = max(1.0, float(np.abs(metric).max()))
    return all(np.max(c.violation()) <= 1e-6 * size for c in risk.constraints(B))
