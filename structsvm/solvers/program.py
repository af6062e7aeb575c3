"""Convex programs in which some functions are known by oracles only, and a run that solves one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structsvm.masters.base import Master, MasterSolution, Request
from structsvm.masters.working_set import Cut, WorkingSet
from structsvm.parallel import Session
from structsvm.problem import Outline
from structsvm.regularizers import Quadratic
from structsvm.solution import Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.checkpoint import Checkpoint
from structsvm.solvers.plane_cache import PlaneCache
from structsvm.solvers.planes import Planes
from structsvm.solvers.stopping import BudgetSpentError, Step, Stopping
from structsvm.status import Status
from structsvm.support.arrays import Floats, Ints

__all__ = ["Evaluated", "Program", "ProgramRun"]


class Evaluated(NamedTuple):
    """A point that keeps the constraints."""

    w: Floats
    value: float
    """What is minimised there."""
    scale: float
    """The size of the terms of which that is the sum."""


class Program(ABC):
    """``min f(w, h(w))`` over convex constraints on ``w`` and ``h(w)``, which oracles know.

    ``f`` and the constraints never improve as a value of ``h`` grows, so that planes below ``h``
    bound the minimum from below, and values above ``h`` bound it from above.
    """

    n_terms: int
    """How many convex functions of ``w`` the vector ``h`` is made of; a field of every program."""
    dim: int
    """The size of ``w``, d."""

    @property
    @abstractmethod
    def outline(self) -> Outline:
        """What solvers check before any work."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Any]:
        """What workers are given: the oracles."""

    @abstractmethod
    def groups(self, slack: str) -> Ints:
        """Which functions are known by their sum, (n_terms,)."""

    @abstractmethod
    def floors(self, groups: Ints) -> Floats:
        """What each group is never below, minus infinity where that is not known."""

    @abstractmethod
    def start(self) -> Floats:
        """Where the oracles are called first, (d,)."""

    @abstractmethod
    def known(self, groups: Ints) -> list[Cut]:
        """The cuts that earlier runs have left."""

    @abstractmethod
    def ask(self, session: Session, w: Floats, deadline: float) -> Planes | None:
        """One plane of each group at ``w``; None if the deadline came before the last."""

    @abstractmethod
    def check_values(self, planes: Planes, known: Floats) -> None:
        """Refuse values of groups that are below the cuts found before.

        Raises
        ------
        OracleError
        """

    @abstractmethod
    def evaluated(self, w: Floats, values: Floats) -> Evaluated | None:
        """The point with ``f`` there, or another with these values of the groups that breaks no
        constraint; None if there is none.
        """

    @abstractmethod
    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The minimum with the cuts in place of ``h``, with its lower bound."""

    @abstractmethod
    def between(
        self, answer: MasterSolution, cuts: WorkingSet, best: Floats, upper: float, damping: float
    ) -> Floats:
        """A point between the minimum of the restricted problem and the best point so far."""

    @abstractmethod
    def keep(self, cuts: WorkingSet) -> None:
        """Keep the cuts for runs to come."""


class ProgramRun:
    """What the iterations of the cutting-plane method work with, for a program."""

    def __init__(self, program: Program, stopping: Stopping, session: Session) -> None:
        self.program, self.stopping, self.session = program, stopping, session
        self.certificate = Certificate(floor=-np.inf)
        self.certificate.null = np.nan
        self.saved: Mapping[str, NDArray[Any]] | None = None
        self.oracle_calls = 0
        self._cuts: WorkingSet | None = None

    @property
    def n_samples(self) -> int:
        """The number of functions that oracles know."""
        return self.program.n_terms

    @property
    def dim(self) -> int:
        """The size of ``w``."""
        return self.program.dim

    @property
    def form(self) -> Quadratic | None:
        """None: what else there is may be anything."""
        return None

    @property
    def state(self) -> Mapping[str, NDArray[Any]] | None:
        """None: what earlier runs have left are cuts, which :meth:`start` gives."""
        return None

    @property
    def center(self) -> Floats | None:
        """The best point so far."""
        return self.certificate.best

    @property
    def stays_near(self) -> bool:
        """Whether there is a point that keeps the constraints, and a lower bound."""
        return self.center is not None and bool(np.isfinite(self.certificate.lower))

    def groups(self, slack: str) -> Ints:
        """The group of each function, (n_terms,)."""
        return self.program.groups(slack)

    def working_set(self, groups: Ints) -> WorkingSet:
        """A working set without cuts."""
        floors = self.program.floors(groups)
        self._cuts = WorkingSet(floors.size, self.dim, floors)
        return self._cuts

    def start(self, groups: Ints, cache: PlaneCache | None = None) -> list[Cut]:
        """The cuts that are known, and those of the first call of every oracle."""
        cuts = self.program.known(groups)
        known = WorkingSet(int(groups.max()) + 1, self.dim, self.program.floors(groups))
        known.add(cuts)
        w = self.program.start()
        evaluation = self.evaluate(w, groups, known.group_values(w))
        return cuts + evaluation.cuts()

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The program with the cuts in place of the functions, solved."""
        return self.program.restricted(master, cuts, request)

    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The master's point, or the program's choice of one nearer to the best so far."""
        best, upper = self.certificate.best, self.certificate.upper
        if best is None or damping == 0.0:
            return answer.w
        return self.program.between(answer, cuts, best, upper, damping)

    def bound(self, cuts: WorkingSet, answer: MasterSolution) -> None:
        """Take note of the lower bound that the master has proved."""
        if answer.bound is not None:
            self.certificate.update_lower(*answer.bound)

    def evaluate(
        self,
        w: Floats,
        groups: Ints,
        known: Floats | None = None,
        cache: PlaneCache | None = None,
    ) -> Planes:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        Raises
        ------
        BudgetSpentError
            When the time, or the calls, are over.
        """
        deadline = time.time() + self._budget()
        planes = self.program.ask(self.session, w, deadline)
        if planes is None:
            raise BudgetSpentError(Status.MAX_SECONDS)
        self.oracle_calls += planes.calls
        self.certificate.qualities.add(planes.quality)
        values = planes.values + planes.slacks
        if known is not None:
            self.program.check_values(planes, known)
            values = np.maximum(values, known)
        found = self.program.evaluated(w, values)
        if found is not None and self.certificate.update_best(found.value, found.w):
            self.certificate.scale = found.scale
        return planes

    def resume_from(self, checkpoint: Checkpoint | None) -> bool:
        """Begin: programs have no checkpoints."""
        assert checkpoint is None
        return False

    def keep(self, checkpoint: Checkpoint | None, step: Step | None, now: bool) -> None:
        """Nothing is written."""

    def remember(self, step: Step) -> None:
        """Nothing but the cuts, which :meth:`solution` leaves with the program."""

    def solution(self, status: Status) -> Solution:
        """The best point with its certificate; the cuts stay with the program."""
        self.leave_cuts()
        return self.certificate.solution(status, self.oracle_calls)

    def leave_cuts(self) -> None:
        """Leave the cuts with the program, for runs to come."""
        if self._cuts is not None:
            self.program.keep(self._cuts)

    def _budget(self) -> float:
        """The seconds left for another round."""
        if self.oracle_calls == 0:
            return np.inf
        return self.stopping.seconds_left(
            self.certificate.seconds, self.oracle_calls + self.n_samples
        )
