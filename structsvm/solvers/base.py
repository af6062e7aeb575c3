"""The contract of solvers, and the loop that all of them share."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from structsvm.errors import LearningError, MasterError, PluginError, SettingsError, parameter
from structsvm.masters import Master
from structsvm.parallel import Backend, Serial, single_threaded
from structsvm.problem import (
    CompositeRisk,
    HistoryEntry,
    Outline,
    Quadratic,
    Risk,
    Solution,
    Status,
)
from structsvm.solvers.certificate import BudgetSpentError, Step, Stopping
from structsvm.solvers.checkpoint import Checkpoint, identity
from structsvm.solvers.descent_run import Descent
from structsvm.solvers.planes import Memory
from structsvm.solvers.run import AnyRun, CutRun, Run
from structsvm.support import Interrupts, is_watched, shown, tell

__all__ = ["AnyRun", "CutRun", "Run", "Solver", "Step", "Stopping"]
Callback = Callable[[HistoryEntry], None]
NONE = "no weight that satisfies the constraints was found before"
UNBOUNDED = (
    "the oracles bound the objective nowhere from above, because the slack of an answer is "
    "infinite: return a finite one, or Quality.HEURISTIC"
)
logger = logging.getLogger("structsvm")


class Solver(ABC):
    """Base of solvers, which minimise a risk; an instance holds settings only.

    A solver defines which risks it takes (:meth:`check`) and its iterations (:meth:`steps`); one
    loop runs them and keeps certificate, history, budgets and interruptions for all solvers.

    Examples
    --------
    >>> from structsvm.solvers import CuttingPlane, Solver
    >>> isinstance(CuttingPlane(), Solver)
    True
    """

    stopping: Stopping = Stopping()
    """When to stop; a field of every solver."""

    @abstractmethod
    def check(self, risk: Risk | Outline) -> None:
        """Raise SettingsError if this solver cannot minimise such a risk, saying which one can."""

    @abstractmethod
    def steps(self, run: AnyRun) -> Iterator[Step]:
        """Yield a step after each iteration, until there is nothing more to gain."""

    def solve(
        self,
        risk: Risk | CutRun,
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
        risk : RegularizedRisk or CompositeRisk
            Or the run of a program of cvxpy (:mod:`structsvm.modeling`).
        callback : callable, optional
            It is called with the history entry of every iteration.
        backend : Backend, optional
            Where the oracles run; in this process by default. The solution does not depend on it.
        resume : path, optional
            A file for the state of the run, which is written every few seconds, at the end, and
            when an oracle fails. If the file exists, the run goes on from it, perhaps with another
            stopping rule.
        memory : Memory, optional
            The memory of runs on the same instances with other regularizers, for convex risks.

        Raises
        ------
        SettingsError
            Before any work, when this solver does not take ``risk``, or the memory is that of other
            instances.
        CheckpointError
            When ``resume`` was written with other data or settings, is damaged, or is in use.
        MasterError, OracleError, PluginError
            When the first restricted problem or an oracle has no answer.
        """
        run: AnyRun
        checkpoint = None
        if isinstance(risk, CutRun):
            run = risk
            risk.stopping = self.stopping
        else:
            self.check(risk)
            if resume is not None:
                checkpoint = Checkpoint(resume, identity(risk, self))
            if isinstance(risk, CompositeRisk):
                run = Descent(risk, self.stopping)
            else:
                run = Run(risk, self.stopping, (memory or Memory()).of(risk, self))
        run.solver_name = type(self).__name__
        master = getattr(self, "master", None)
        if isinstance(master, Master):
            run.solver_name += f" with {type(master).__name__}"
        with (
            nullcontext() if checkpoint is None else checkpoint.held(),
            single_threaded(),
            Interrupts() as interrupts,  # Ctrl-C while the run ends must not lose the answer
            (backend or Serial()).open(run.parts) as run.session,
        ):
            has_stalled = checkpoint is not None and run.resume_from(checkpoint)
            loop = _Loop(run, checkpoint, callback)
            status = loop.status_after(Step("", stalled=has_stalled))
            if status is None:
                try:
                    with interrupts.released():
                        status = loop.follow(self.steps(run))
                except (BudgetSpentError, MasterError, KeyboardInterrupt) as end:
                    status = loop.cut_short(end)
                except Exception:
                    loop.keep(now=True)
                    raise
            if run.certificate.best is None:
                unbounded = run.certificate.null == float("inf")
                raise LearningError(f"{status.value}; {UNBOUNDED if unbounded else NONE}", status)
            return run.solution(status)


@dataclass
class _Loop:
    """Runs the steps of a solver, keeps history and checkpoint, and decides when to stop."""

    run: AnyRun
    checkpoint: Checkpoint | None
    callback: Callback | None
    last: Step | None = None

    def follow(self, steps: Any) -> Status:
        """Run the steps until there is a reason to stop; the status that names it."""
        step: Any = None
        for step in steps if isinstance(steps, Iterator) else [steps]:
            if not isinstance(step, Step):
                break
            status = self.note(step)
            if status is not None:
                self.run.remember(step)
                return status
        if not isinstance(step, Step):
            raise PluginError(
                f"{self.run.solver_name}: steps(run) gave {shown(step)}: yield Step(label) after "
                "every iteration, and return when there is nothing more to gain"
            )
        self.last = replace(step, stalled=True)
        self.keep(now=True)
        self.run.remember(step)
        return self.status_after(self.last) or Status.STALLED

    def note(self, step: Step) -> Status | None:
        """Record a step and report progress; the status if the run is over after it."""
        run = self.run
        self.last = step
        if isinstance(run, Run) and not run.is_started:
            run.start(run.groups("one"))  # gaps refer to the null weight, whoever iterates
        entry = run.certificate.record(run.oracle_calls, step.n_cuts, step.label)
        run.certificate.keep_weight(run.stopping.n_weights)
        logger.debug("%s", entry)
        status = self.status_after(step)
        self.keep(now=status is not None)
        if is_watched():
            gap = entry.gap
            state = f"gap {gap:.2g}" if gap < float("inf") else f"objective {entry.upper:.6g}"
            words = f"iteration {entry.iteration + 1}, {state}, {entry.oracle_calls} oracle calls"
            tell(words, run.stopping.part(entry))
        if self.callback is not None:
            self.callback(entry)
        return status

    def keep(self, now: bool) -> None:
        """Write the state after the last step to the checkpoint, if there is one and it is due."""
        run = self.run
        file = self.checkpoint
        step = self.last
        if file is not None and step is not None and (now or file.is_due):
            after = {"oracle_calls": run.oracle_calls, "stalled": step.stalled}
            file.write(run.certificate, run.arrays_after(step), **after)

    def status_after(self, step: Step) -> Status | None:
        """The status with which to stop after a step; None to go on."""
        certificate = self.run.certificate
        tol = self.run.stopping.tol
        if not certificate.entries:
            return None
        if step.stationary:
            return Status.STATIONARY
        if certificate.gap <= tol or (step.stalled and certificate.nothing_to_learn(tol)):
            return certificate.status(tol)
        if step.stalled:
            return Status.STALLED
        is_last = len(certificate.entries) >= self.run.stopping.max_iter
        return Status.MAX_ITER if is_last else None

    def cut_short(self, end: BudgetSpentError | MasterError | KeyboardInterrupt) -> Status:
        """The status of a run that ended within a step; raises ``end`` if there is no answer."""
        run = self.run
        certificate = self.run.certificate
        if isinstance(end, KeyboardInterrupt):  # the state may be inconsistent, and is not written
            if certificate.best is None:
                raise end
            return Status.INTERRUPTED
        self.keep(now=True)
        if isinstance(end, BudgetSpentError):
            status = end.status
            label = "cut short"
        elif certificate.best is not None and (
            certificate.lower > certificate.floor
            or (isinstance(run, Descent) and len(certificate.entries) > 1)
        ):
            status = Status.MASTER_FAILED
            label = f"failed: {end}"
            logger.warning("the master failed (%s): the best weight so far is returned", end)
        else:
            raise end
        if self.last is not None:
            run.remember(self.last)
        certificate.record(run.oracle_calls, 0, label)
        return status


def require_convex(risk: Risk | Outline, solver: str) -> None:
    """Refuse a risk that is not convex; the message names solvers that take it."""
    if not risk.is_convex:
        raise SettingsError(
            f"{solver} is for convex objectives, and this one is not: use "
            "QuasiNewton ("
            + parameter("solver", "quasi-newton")
            + ") or CCCP ("
            + parameter("solver", "cccp")
            + ")"
        )


def strongly_convex(risk: Risk | Outline, solver: str) -> Quadratic:
    """The regularizer as a strongly convex quadratic; SettingsError if it is none."""
    require_convex(risk, solver)
    omega = risk.quadratic
    if omega is None or not omega.curvature.min() > 0 or risk.constraints is not None:
        raise SettingsError(
            f"{solver} needs a strongly convex regularizer such as SquaredNorm() and no further "
            f"constraints, got {risk.regularizer}: use CuttingPlane, which takes every regularizer "
            "and constraint (" + parameter("solver", "cutting-plane") + ")"
        )
    return omega


def smooth_composite(risk: Risk | Outline, solver: str) -> Quadratic:
    """The regularizer, a quadratic, of a risk that is not convex; SettingsError for others."""
    if risk.is_convex:
        raise SettingsError(
            f"{solver} is for objectives that are not convex, and this one is: "
            "use CuttingPlane ("
            + parameter("solver", "cutting-plane")
            + "), which certifies its answer"
        )
    if risk.quadratic is None:
        raise SettingsError(
            f"{solver} needs the gradient of the regularizer: use SquaredNorm or Trace, "
            f"got {risk.regularizer}"
        )
    return risk.quadratic
