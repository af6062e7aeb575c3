"""What every minimisation under way has: budgets, oracle calls and a certificate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import PluginError
from structsvm.masters.base import Cut, Master, MasterSolution, Request, WorkingSet
from structsvm.parallel.base import Session
from structsvm.regularizers import Quadratic
from structsvm.solvers.certificate import BudgetSpentError, Certificate, Step, Stopping
from structsvm.solvers.checkpoint import Checkpoint
from structsvm.solvers.planes import PlaneCache, Planes
from structsvm.status import Solution, Status
from structsvm.support.contract import hook
from structsvm.support.values import Floats, Ints, shown
from structsvm.weights import WeightSpace

__all__ = ["AnyRun", "CutRun"]

INSIDE = 1e-8
"""By how much of its norm a weight may be outside of its cone, through rounding."""


class AnyRun:
    """Base of runs: members that the loop of all solvers uses, whatever is minimised."""

    certificate: Certificate
    stopping: Stopping
    n_instances: int
    """Number of functions that oracles know."""
    parts: Sequence[Any]
    """Parts of the data, which the workers of a backend hold."""
    session: Session
    oracle_calls: int = 0
    oracle_seconds: float = 0.0
    """Wall time in calls of oracles, on all workers at once."""
    master_seconds: float = 0.0
    """Wall time in restricted problems."""
    solver_name: str = "the solver"
    """What messages call it."""

    @hook
    def resume_from(self, checkpoint: Checkpoint) -> bool:
        """Restore what a file holds, if there is one; whether that run had stalled."""
        return False

    @hook
    def arrays_after(self, step: Step) -> Mapping[str, NDArray[Any]]:
        """The arrays from which a run goes on after a step."""
        return step.state()

    @hook
    def remember(self, step: Step) -> None:
        """Hand the state of the solver on to the next run, if it can use it."""

    @hook
    def solution(self, status: Status) -> Solution:
        """The best weight with its certificate."""
        solution = self.certificate.solution(status, self.oracle_calls)
        seconds = self.oracle_seconds, self.master_seconds
        return replace(solution, oracle_seconds=seconds[0], master_seconds=seconds[1])

    def seconds_left(self, calls: int) -> float:
        """The seconds left for so many more oracle calls, of which the first N are always made."""
        stopping = self.stopping
        seconds = self.certificate.seconds
        if self.oracle_calls < self.n_instances:
            return np.inf
        if seconds > stopping.max_seconds:
            raise BudgetSpentError(Status.MAX_SECONDS)
        if stopping.max_calls is not None and self.oracle_calls + calls > stopping.max_calls:
            raise BudgetSpentError(Status.MAX_CALLS)
        return stopping.max_seconds - seconds

    def refuse_outside(self, w: Any, space: WeightSpace) -> None:
        """Refuse a weight outside of the cone, where the objective may be below its minimum."""
        if np.shape(w) != (space.dim,):
            wrong = f"{shown(w)}: give an array of shape ({space.dim},)"
        elif not np.isfinite(w).all():
            wrong = "a weight that is not finite: look for a division by zero or a step too long"
        else:
            away = float(np.linalg.norm(w - space.project(w)))
            if away <= INSIDE * float(np.linalg.norm(w)):
                return
            wrong = f"a weight outside of its cone {space}, by {away:.3g}: project it, w = "
            wrong += "run.risk.space.project(w)"
        raise PluginError(f"{self.solver_name} asks run.evaluate about {wrong}")


class CutRun(AnyRun, ABC):
    """Base of runs for the cutting-plane method: of a risk, or of a program of cvxpy."""

    dim: int
    form: Quadratic | None = None
    """Omega, where masters other than conic ones apply."""
    floor: Floats | None = None
    """What the functions of each group are never below; 0 if it is not given."""
    saved: Mapping[str, NDArray[Any]] | None = None
    """State of an interrupted run, to go on from; None to begin."""
    cache: PlaneCache | None = None
    """Planes of single instances, where a solver keeps some: those found go there."""
    state: Mapping[str, NDArray[Any]] | None = None
    """Where a solver begins: what was saved, or the end of another run on the same instances."""

    @property
    @abstractmethod
    def center(self) -> Floats | None:
        """Weight to stay near; None where no weight is good enough."""

    @abstractmethod
    def groups(self, slack: str) -> Ints:
        """The group of each function: its own, or one for all of a sum."""

    def working_set(self, groups: Ints) -> WorkingSet:
        """A working set without cuts."""
        n_groups = int(groups.max()) + 1 if self.floor is None else self.floor.size
        return WorkingSet(n_groups, self.dim, self.floor)

    @abstractmethod
    def start(self, groups: Ints) -> list[Cut]:
        """The first cuts."""

    @abstractmethod
    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The minimum with the cuts in place of the functions; a lower bound follows from it."""

    @abstractmethod
    def evaluate(self, w: Floats, groups: Ints, known: Floats | None = None) -> Planes:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        ``known`` are lower bounds of the groups' losses at ``w``, from labellings found before.
        """

    @hook
    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The share ``damping`` of the way from the master's weight to the center."""
        center = self.center
        if center is None or damping == 0.0:
            return answer.w
        return answer.w + damping * (center - answer.w)
