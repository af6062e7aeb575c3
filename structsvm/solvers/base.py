"""What a solver promises, and the loop, the bounds and the budgets that all of them share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike

from structsvm.errors import LearningError
from structsvm.parallel import Backend, Serial, single_threaded
from structsvm.problem import RegularizedRisk
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.checkpoint import Checkpoint, identity
from structsvm.solvers.evaluation import BudgetSpentError
from structsvm.solvers.memory import Memory
from structsvm.solvers.run import Run
from structsvm.solvers.separation import blocks_of
from structsvm.solvers.stopping import Step, Stopping
from structsvm.status import Status
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import tell

__all__ = ["Run", "Solver", "Step", "Stopping"]

Callback = Callable[[HistoryEntry], None]

logger = logging.getLogger("structsvm")


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
        memory: Memory | None = None,
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
        memory : Memory, optional
            Of runs on the same samples with other regularizers; this run begins with what they
            found, and adds what it finds.

        Raises
        ------
        SettingsError
            Before any work, when this solver does not suit ``risk``, or the memory is of others.
        CheckpointError
            When ``resume`` is of other data or settings, or damaged.
        MasterError, OracleError
            When the restricted problem or a sample has no answer.
        """
        self.check(risk)
        memory = (Memory() if memory is None else memory).of(risk, self)
        checkpoint = None if resume is None else Checkpoint(resume, identity(risk, self))
        blocks = blocks_of(risk)
        with Interrupts() as interrupts:  # what has been found is not lost on the way out
            with (backend or Serial()).open(blocks) as session:
                run = Run(risk, self.stopping, blocks, session, memory)
                status = self._status_so_far(run, run.resume_from(checkpoint))
                if status is None:
                    status = self._iterate(run, callback, checkpoint, interrupts)
            if run.certificate.best is None:
                raise LearningError(
                    f"{status.value}; no weight that satisfies the constraints was found before",
                    status,
                )
            return run.certificate.solution(status, run.oracle_calls)

    def _iterate(
        self,
        run: Run,
        callback: Callback | None,
        checkpoint: Checkpoint | None,
        interrupts: Interrupts,
    ) -> Status:
        """Iterate until there is reason to stop."""
        certificate = run.certificate
        keep = partial(run.keep, checkpoint)
        step: Step | None = None
        try:
            with interrupts.released():
                for step in self.iterations(run):
                    entry = certificate.record(run.oracle_calls, step.n_cuts, step.label)
                    logger.debug("%s", entry)
                    status = self._status_so_far(run, step.stalled)
                    keep(step, now=status is not None)
                    tell(_in_words(entry), self.stopping.part(entry))
                    if callback is not None:
                        callback(entry)
                    if status is not None:
                        run.memory.state = step.state()
                        return status
        except KeyboardInterrupt:  # anywhere, so what there is may be half of something
            if certificate.best is None:
                raise
            return Status.INTERRUPTED
        except BudgetSpentError as spent:
            keep(step, now=True)
            if step is not None:
                run.memory.state = step.state()
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
