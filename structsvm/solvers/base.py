"""What a solver promises, and the loop, the bounds and the budgets that all of them share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.cuts import Cut, WorkingSet
from structsvm.errors import LearningError, SettingsError
from structsvm.masters.bounds import lower_bound, plane_bound
from structsvm.parallel import Backend, Serial, Session, single_threaded
from structsvm.problem import RegularizedRisk
from structsvm.progress import tell
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.checkpoint import Checkpoint, Saved, identity
from structsvm.solvers.evaluation import BudgetSpentError, Evaluation, Evaluator
from structsvm.solvers.plane_cache import PlaneCache
from structsvm.solvers.requirements import is_admissible
from structsvm.solvers.separation import Block, Plane, blocks_of
from structsvm.status import Status

__all__ = ["Run", "Solver", "Step", "Stopping"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Callback = Callable[[HistoryEntry], None]

logger = logging.getLogger("structsvm")

BACKTRACKS = (1.0, 0.5, 0.25)
"""Shares of the way from the null weight to the start, tried until one is better than null."""


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
        Wall time. Looked at between oracle calls, after the first N of them; a call that never
        returns is not ended.
    max_calls : int or None
        Oracle calls. The first N are always made, and no round of N is begun that exceeds it.
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

    def part(self, entry: HistoryEntry) -> float:
        """How much of a run is done, from 0 to 1: a guess.

        That the gap goes on closing geometrically, unless a budget ends the run before.
        """
        spent = [(entry.iteration + 1) / self.max_iter, entry.seconds / self.max_seconds]
        if self.max_calls is not None:
            spent.append(entry.oracle_calls / self.max_calls)
        if entry.gap <= self.tol:
            return 1.0
        if entry.gap < 1.0:
            spent.append(float(np.log(entry.gap) / np.log(self.tol)))
        return max(spent)


@dataclass(frozen=True)
class Step:
    """What an iteration has to say of itself."""

    label: str
    """Who did the work, for the history."""
    n_cuts: int = 0
    stalled: bool = False
    """Nothing more can be gained."""
    state: Callable[[], Mapping[str, NDArray[Any]]] = field(kw_only=True, default=dict)
    """The arrays with which ``Run.saved`` would make :meth:`Solver.iterations` go on from here."""


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
    def solve(
        self,
        risk: RegularizedRisk,
        callback: Callback | None = None,
        *,
        backend: Backend | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Solution:
        """Minimise ``risk``; every call of an oracle or a master has one thread.

        Ctrl-C ends the run and returns the best certified iterate.

        Parameters
        ----------
        risk : RegularizedRisk
        callback : callable, optional
            Sees every iteration.
        backend : Backend, optional
            Where the oracles run, whole rounds at a time; here if it is not given. The solution
            does not depend on it.
        resume : path, optional
            A file for the state of the run: written now and then, at the end, and when an oracle
            fails; if it is there, the run goes on from it. The stopping rule may be another then.

        Raises
        ------
        SettingsError
            Before any work, when this solver does not suit ``risk``.
        CheckpointError
            When ``resume`` is of other data or settings, or damaged.
        MasterError, OracleError
            When the restricted problem or a sample has no answer.
        """
        self.check(risk)
        checkpoint = None if resume is None else Checkpoint(resume, identity(risk, self))
        blocks = blocks_of(risk)
        with (backend or Serial()).open(blocks) as session:
            run = Run(risk, self.stopping, blocks, session)
            status = self._status_so_far(run, run.go_on_from(checkpoint))
            if status is None:
                status = self._iterate(run, callback, checkpoint)
        if run.certificate.best is None:
            raise LearningError(
                f"{status.value}; no weight that satisfies the constraints was found before",
                status,
            )
        return run.certificate.solution(status, run.oracle_calls)

    def _iterate(
        self, run: Run, callback: Callback | None, checkpoint: Checkpoint | None
    ) -> Status:
        """Iterate until there is reason to stop."""
        certificate = run.certificate
        keep = partial(run.keep, checkpoint)
        step: Step | None = None
        try:
            for step in self.iterations(run):
                entry = certificate.record(run.oracle_calls, step.n_cuts, step.label)
                logger.debug("%s", entry)
                status = self._status_so_far(run, step.stalled)
                keep(step, now=status is not None)
                tell(_in_words(entry), self.stopping.part(entry))
                if callback is not None:
                    callback(entry)
                if status is not None:
                    return status
        except KeyboardInterrupt:  # anywhere, so what there is may be half of something
            if certificate.best is None:
                raise
            return Status.INTERRUPTED
        except BudgetSpentError as spent:
            keep(step, now=True)
            certificate.record(run.oracle_calls, 0, "cut short")
            return spent.status
        except Exception:
            keep(step, now=True)
            raise
        raise AssertionError

    def _status_so_far(self, run: Run, stalled: bool) -> Status | None:
        """Why to stop after the iterations so far, if there is a reason."""
        certificate, tol = run.certificate, self.stopping.tol
        if not certificate.entries:
            return None
        if certificate.gap <= tol:
            return certificate.status(tol)
        if stalled:
            return certificate.stalled(tol)
        if len(certificate.entries) >= self.stopping.max_iter:
            return Status.MAX_ITER
        return None


def _in_words(entry: HistoryEntry) -> str:
    """An iteration, for who watches."""
    calls = f"{entry.oracle_calls} oracle calls"
    return f"iteration {entry.iteration + 1}, gap {entry.gap:.2g}, {calls}"


class Run:
    """One minimisation under way: what the iterations of any solver work with."""

    def __init__(
        self,
        risk: RegularizedRisk,
        stopping: Stopping,
        blocks: list[Block] | None = None,
        session: Session | None = None,
    ) -> None:
        self.risk, self.stopping = risk, stopping
        self.certificate = Certificate(floor=risk.regularizer.floor(risk.space))
        self.saved: Mapping[str, NDArray[Any]] | None = None
        """What a solver goes on from; None to begin."""
        self._evaluator = Evaluator(risk, self._budget, blocks, session)

    def go_on_from(self, checkpoint: Checkpoint | None) -> bool:
        """Restore what a file holds, if there is one; whether that run had stalled."""
        saved = None if checkpoint is None else checkpoint.restore(self.certificate)
        if saved is None:
            return False
        self.saved, self._evaluator.oracle_calls = saved.arrays, saved.oracle_calls
        return saved.stalled

    def keep(self, checkpoint: Checkpoint | None, step: Step | None, now: bool) -> None:
        """Put the state after a step into a file."""
        if checkpoint is not None and step is not None:
            state = partial(self._saved, step)
            checkpoint.keep(self.certificate, state, now)

    def _saved(self, step: Step) -> Saved:
        return Saved(dict(step.state()), self.oracle_calls, step.stalled)

    @property
    def oracle_calls(self) -> int:
        """Oracle calls so far."""
        return self._evaluator.oracle_calls

    def start(self, groups: Ints, cache: PlaneCache | None = None) -> list[Cut]:
        """Evaluate the null weight, which every relative gap refers to, and the start of the risk.

        A start that is worse than the null weight is tried again half way back to it, twice.
        """
        null = self._called(self.risk.null, groups, cache)
        self.certificate.refer_to(null)
        if is_admissible(self.risk, self.risk.null):
            self.certificate.see(null)
        cuts = null.cuts()
        for w in self._starts:
            evaluation = self.evaluate(w, groups, cache=cache)
            cuts += evaluation.cuts()
            if evaluation.value <= null.value:
                break
        return cuts

    @property
    def center(self) -> Floats | None:
        """What iterations may stay near: the best weight they have found, else the null weight.

        Not a start, in which every feature is in use: those that are of none would only fade away.
        """
        best = self.certificate.best
        if best is None or not any(
            np.array_equal(best, w) for w in (self.risk.null, *self._starts)
        ):
            return best
        return self.risk.null if is_admissible(self.risk, self.risk.null) else None

    @property
    def _starts(self) -> list[Floats]:
        """The start of the risk, and two weights on the way back from it to the null weight."""
        if self.risk.start is None:
            return []
        null, start = self.risk.null, self.risk.start
        return [null + share * (start - null) for share in BACKTRACKS]

    def evaluate(
        self,
        w: Floats,
        groups: Ints,
        known: Floats | None = None,
        cache: PlaneCache | None = None,
    ) -> Evaluation:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        ``known`` are lower bounds of the groups' losses at ``w``, from labellings found before. The
        planes of the samples go into the ``cache``.
        """
        evaluation = self._called(w, groups, cache)
        self.certificate.see(evaluation, known, count=is_admissible(self.risk, w))
        return evaluation

    def _called(self, w: Floats, groups: Ints, cache: PlaneCache | None) -> Evaluation:
        if cache is None or cache.capacity == 0:
            return self._evaluator(w, groups)
        samples = np.arange(self.risk.n_samples)
        evaluation = self._evaluator(w, samples)
        for i in range(self.risk.n_samples):
            cache.add(i, float(evaluation.intercepts[i]), evaluation.slopes[i])
        return evaluation if np.array_equal(groups, samples) else evaluation.summed(groups)

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

    def _budget(self, calls: int) -> float:
        """The seconds left for so many more oracle calls."""
        if self.oracle_calls < self.risk.n_samples:
            return np.inf
        left = self.stopping.max_seconds - self.certificate.seconds
        if left < 0:
            raise BudgetSpentError(Status.MAX_SECONDS)
        most = self.stopping.max_calls
        if most is not None and self.oracle_calls + calls > most:
            raise BudgetSpentError(Status.MAX_CALLS)
        return left
