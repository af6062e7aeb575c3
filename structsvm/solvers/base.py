"""What a solver promises, and the loop, the bounds and the budgets that all of them share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from typing import Any

from structsvm.errors import LearningError, MasterError, PluginError, SettingsError
from structsvm.parallel import Backend, Serial, Session, single_threaded
from structsvm.problem import CompositeRisk, Outline, RegularizedRisk, Risk
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.checkpoint import Checkpoint, identity
from structsvm.solvers.descent import Descent
from structsvm.solvers.memory import Memory
from structsvm.solvers.program import Program, ProgramRun
from structsvm.solvers.run import Run
from structsvm.solvers.separation import blocks_of
from structsvm.solvers.stopping import BudgetSpentError, Step, Stopping
from structsvm.status import Status
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import is_watched, tell

__all__ = ["AnyRun", "Run", "Solver", "Step", "Stopping"]

Callback = Callable[[HistoryEntry], None]
AnyRun = Run | Descent | ProgramRun
StepDone = Callable[[Step], None]
"""Called after each step; it raises when the run is over."""

logger = logging.getLogger("structsvm")


class Solver(ABC):
    """Base of solvers, which minimise a risk; an instance holds settings only.

    A solver declares what it needs (:meth:`check`) and how it iterates; one loop keeps certificate,
    history, budgets and interruptions for all of them.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.solvers import CuttingPlane, Solver
    >>> isinstance(CuttingPlane(), Solver)
    True
    >>> MetricLearner(solver=CuttingPlane(slack="one")).solver.slack
    'one'
    """

    stopping: Stopping = Stopping()
    """When to stop; a field of every solver."""

    @abstractmethod
    def check(self, risk: Outline) -> None:
        """Raise SettingsError if this solver cannot minimise such a risk, saying which one can."""

    @abstractmethod
    def iterate(self, run: AnyRun, done: StepDone) -> None:
        """Iterate, and call ``done`` after each step; it ends the run by raising."""

    def solve(
        self,
        risk: Risk | Program,
        callback: Callback | None = None,
        *,
        backend: Backend | None = None,
        resume: str | PathLike[str] | None = None,
        memory: Memory | None = None,
    ) -> Solution:
        """Minimise ``risk``; every call of an oracle or a master has one thread.

        Ctrl-C ends the run and returns the best certified iterate.

        Parameters
        ----------
        risk : RegularizedRisk, CompositeRisk or Program
        callback : callable, optional
            Sees every iteration.
        backend : Backend, optional
            Where the oracles run, whole rounds at a time; here if it is not given. The solution
            does not depend on it.
        resume : path, optional
            A file for the state of the run: written now and then, at the end, and when an oracle
            fails; if it is there, the run goes on from it. The stopping rule may be another then.
        memory : Memory, optional
            Of runs on the same samples with other regularizers; this run begins with what they
            found, and adds what it finds. For convex risks; programs keep their cuts themselves.

        Raises
        ------
        SettingsError
            Before any work, when this solver does not suit ``risk``, or the memory is of others.
        CheckpointError
            When ``resume`` is of other data or settings, or damaged, or another run is on it.
        MasterError, OracleError
            When the first restricted problem or a sample has no answer.
        """
        self.check(risk.outline)
        checkpoint = None if resume is None else self._checkpoint(risk, resume)
        if isinstance(risk, RegularizedRisk):
            memory = (memory or Memory()).of(risk, self)
        parts = parts_of(risk)
        with (
            nullcontext() if checkpoint is None else checkpoint.held(),
            single_threaded(),
            Interrupts() as interrupts,  # what has been found is not lost on the way out
            (backend or Serial()).open(parts) as session,
        ):
            run = self._begin(risk, parts, session, memory)
            status = self._status_so_far(run, Step("", stalled=run.resume_from(checkpoint)))
            if status is None:
                status = self._iterate(run, callback, checkpoint, interrupts)
            if run.certificate.best is None:
                raise LearningError(f"{status.value}; {_without_a_weight(run)}", status)
            return run.solution(status)

    def _checkpoint(self, risk: Risk | Program, path: str | PathLike[str]) -> Checkpoint:
        """The file that follows the run."""
        if isinstance(risk, Program):
            raise SettingsError("a program has no checkpoints: leave resume out")
        return Checkpoint(path, identity(risk, self))

    def _begin(
        self,
        risk: Risk | Program,
        parts: Sequence[Any],
        session: Session,
        memory: Memory | None,
    ) -> AnyRun:
        if isinstance(risk, Program):
            return ProgramRun(risk, self.stopping, session)
        if isinstance(risk, CompositeRisk):
            return Descent(risk, self.stopping, session)
        return Run(risk, self.stopping, parts, session, memory)

    def _iterate(
        self,
        run: AnyRun,
        callback: Callback | None,
        checkpoint: Checkpoint | None,
        interrupts: Interrupts,
    ) -> Status:
        """Iterate until there is reason to stop."""
        certificate = run.certificate
        keep = partial(run.keep, checkpoint)
        last: Step | None = None

        def done(step: Step) -> None:
            nonlocal last
            last = step
            if isinstance(run, Run) and not run.is_started:
                run.start(run.groups("one"))  # gaps refer to the null weight, whoever iterates
            entry = certificate.record(run.oracle_calls, step.n_cuts, step.label)
            logger.debug("%s", entry)
            status = self._status_so_far(run, step)
            keep(step, now=status is not None)
            if is_watched():
                tell(_in_words(entry), self.stopping.part(entry))
            if callback is not None:
                callback(entry)
            if status is not None:
                run.remember(step)
                raise RunOverError(status)

        try:
            with interrupts.released():
                self.iterate(run, done)
        except RunOverError as over:
            return over.status
        except KeyboardInterrupt:  # anywhere, so what there is may be half of something
            if certificate.best is None:
                raise
            return Status.INTERRUPTED
        except (BudgetSpentError, MasterError) as end:
            keep(last, now=True)
            status, label = _cut_short(run, end)
            if last is not None:
                run.remember(last)
            certificate.record(run.oracle_calls, 0, label)
            return status
        except Exception:
            keep(last, now=True)
            raise
        raise PluginError(
            f"{type(self).__name__}.iterate has returned: call done(Step(label)) after every step, "
            "for ever, as in 'while True:'; it raises when the run is over"
        )

    def _status_so_far(self, run: AnyRun, step: Step) -> Status | None:
        """Why to stop after the iterations so far, if there is a reason."""
        certificate, tol = run.certificate, self.stopping.tol
        if not certificate.entries:
            return None
        if step.stationary:
            return Status.STATIONARY
        if certificate.gap <= tol:
            return certificate.status(tol)
        if step.stalled:
            return certificate.stalled(tol)
        if len(certificate.entries) >= self.stopping.max_iter:
            return Status.MAX_ITER
        return None


def parts_of(risk: Risk | Program) -> Sequence[Any]:
    if isinstance(risk, Program):
        return risk.parts
    if isinstance(risk, CompositeRisk):
        return [risk.part([i]) for i in range(risk.n_samples)]
    return blocks_of(risk)


class RunOverError(Exception):
    """Ends the iterations of a run; never leaves :meth:`Solver.solve`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


def _cut_short(run: AnyRun, end: BudgetSpentError | MasterError) -> tuple[Status, str]:
    """The status of a run that ended within an iteration, and what its history says."""
    if isinstance(end, BudgetSpentError):
        return end.status, "cut short"
    certificate = run.certificate
    # A descent has its start, which is no answer, and then a weight that is none the worse.
    found = len(certificate.entries) > 1 if isinstance(run, Descent) else certificate.is_answer
    if not found:
        raise end
    logger.warning("the master failed (%s): the best weight so far is returned", end)
    return Status.MASTER_FAILED, f"failed: {end}"


def _without_a_weight(run: AnyRun) -> str:
    """Why there is no best weight."""
    if run.certificate.null == float("inf"):
        return (
            "the oracles bound the objective nowhere from above, because the slack of an answer is "
            "infinite: return a finite one, or Quality.HEURISTIC"
        )
    return "no weight that satisfies the constraints was found before"


def _in_words(entry: HistoryEntry) -> str:
    """An iteration, for who watches."""
    calls = f"{entry.oracle_calls} oracle calls"
    state = f"gap {entry.gap:.2g}" if entry.gap < float("inf") else f"objective {entry.upper:.6g}"
    return f"iteration {entry.iteration + 1}, {state}, {calls}"
