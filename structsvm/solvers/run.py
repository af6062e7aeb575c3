"""One minimisation under way: bounds, budgets and oracle calls, whatever the solver."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import MasterError, OracleWarning, SettingsError, warn
from structsvm.masters.base import Master, MasterSolution, Request, checked
from structsvm.masters.bounds import lower_bound, plane_bound
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.working_set import ActiveCut, Cut, WorkingSet
from structsvm.parallel import Session
from structsvm.parallel.base import SerialSession
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Quadratic
from structsvm.solution import Solution
from structsvm.solvers.certificate import Certificate
from structsvm.solvers.checkpoint import SAME, Checkpoint, Saved
from structsvm.solvers.memory import Memory
from structsvm.solvers.plane_cache import PlaneCache
from structsvm.solvers.planes import Planes
from structsvm.solvers.requirements import is_admissible
from structsvm.solvers.separation import (
    Block,
    blocks_of,
    separate_one,
    separate_share,
    truth_sizes,
)
from structsvm.solvers.stopping import BudgetSpentError, Step, Stopping
from structsvm.solvers.support import support_of
from structsvm.status import Quality, Status
from structsvm.support.arrays import Floats, Ints

__all__ = ["Run"]


logger = logging.getLogger("structsvm")

LOCAL = 0.9
"""Relative gap above which the best weight is too poor to stay near it."""
BACKTRACKS = (1.0, 0.5, 0.25)
"""Shares of the way from the null weight to the start, tried until one is better than null."""


class Run:
    """What the iterations of any solver work with."""

    def __init__(
        self,
        risk: RegularizedRisk,
        stopping: Stopping,
        blocks: Sequence[Block] | None = None,
        session: Session | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.risk, self.stopping = risk, stopping
        self.memory = Memory() if memory is None else memory
        self.certificate = Certificate(floor=risk.regularizer.floor(risk.space))
        self.certificate.qualities |= self.memory.qualities
        self.certificate.caught = self.memory.caught
        self.saved: Mapping[str, NDArray[Any]] | None = None
        """What an interrupted run goes on from; None to begin."""
        self.oracle_calls = 0
        self.is_started = False
        """Whether the null weight, which gaps refer to, has been evaluated."""
        self._active: tuple[tuple[ActiveCut, ...], int] | None = None
        self._duals: tuple[Any, ...] | None = None
        self._blocks = blocks_of(risk) if blocks is None else blocks
        self._session = SerialSession(self._blocks) if session is None else session
        self._home = [(block, j) for block in self._blocks for j in range(len(block.indices))]
        self._sizes: Floats | None = None

    @property
    def n_samples(self) -> int:
        """The number of samples, N."""
        return self.risk.n_samples

    @property
    def dim(self) -> int:
        """The number of weights, d."""
        return self.risk.space.dim

    @property
    def form(self) -> Quadratic | None:
        """Omega, where masters other than conic ones apply."""
        return None if self.risk.constraints is not None else self.risk.quadratic

    @property
    def stays_near(self) -> bool:
        """Whether there is a center, and not too poor a one."""
        return self.certificate.gap < LOCAL and self.center is not None

    def groups(self, slack: str) -> Ints:
        """The group of each sample, (N,): its own, or the only one."""
        N = self.n_samples
        return np.arange(N) if slack == "n" else np.zeros(N, dtype=np.int64)

    def working_set(self, groups: Ints) -> WorkingSet:
        """A working set without cuts."""
        return WorkingSet(int(groups.max()) + 1, self.dim)

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """The master's answer, checked; that of cvxpy when the master fails.

        Raises
        ------
        MasterError
            When cvxpy fails too.
        """
        try:
            return checked(master.solve(self.risk, cuts, request), self.risk, cuts)
        except (MasterError, ArithmeticError, ValueError) as error:
            if isinstance(error, SettingsError) or isinstance(master, CvxpyMaster):
                raise
            logger.warning("the master failed (%s): the conic solver takes over", error)
            answer = checked(CvxpyMaster().solve(self.risk, cuts, request), self.risk, cuts)
            return replace(answer, label=f"master failed: {error}, {answer.label}")

    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The share ``damping`` of the way from the master's weight to the center."""
        center = self.center
        return answer.w if center is None else answer.w + damping * (center - answer.w)

    def resume_from(self, checkpoint: Checkpoint | None) -> bool:
        """Restore what a file holds, if there is one; whether that run had stalled."""
        saved = None if checkpoint is None else checkpoint.restore(self.certificate)
        if saved is None:
            return False
        self.saved, self.oracle_calls = saved.arrays, saved.oracle_calls
        self.is_started = True
        assert checkpoint is not None
        self._refute(checkpoint, saved.arrays)
        return saved.stalled

    def _refute(self, checkpoint: Checkpoint, state: Mapping[str, NDArray[Any]]) -> None:
        """Ask the oracles at the weights of a file: they have to find the losses that it has.

        And none below its cuts.
        """
        certificate, whole = self.certificate, np.zeros(self.n_samples, dtype=np.int64)
        weights = [(self.risk.null, certificate.null)]
        if certificate.best is not None:
            losses = certificate.upper - self.risk.penalty(certificate.best)
            weights.append((certificate.best, losses))
        cuts = WorkingSet(self.n_samples, self.dim)
        if "groups" in state:
            cuts.restore(state)
        for w, before in weights:
            answers = self._session.map_shares(separate_share, (w, whole, np.inf))
            found = Planes.joined(answers).summed()
            loss = float((found.values + found.slacks).sum())
            rounding = SAME * (found.size + abs(before))
            least = max(before, float(cuts.group_values(w).sum()))
            if Quality.HEURISTIC in certificate.qualities:
                least = 0.0
            if loss > before + rounding or loss < least - rounding:
                checkpoint.refuse(loss, before)

    @property
    def state(self) -> Mapping[str, NDArray[Any]] | None:
        """Where a solver begins: the state of an interrupted run, or of one on the same samples."""
        return self.memory.state if self.saved is None else self.saved

    def keep(self, checkpoint: Checkpoint | None, step: Step | None, now: bool) -> None:
        """Write the state after a step into the checkpoint, if there is one."""
        if checkpoint is not None and step is not None:
            state = partial(self._saved, step)
            checkpoint.keep(self.certificate, state, now)

    def remember(self, step: Step) -> None:
        """Hand the state of the solver on to the next run on the same samples."""
        self.memory.state = step.state()
        self.memory.qualities = frozenset(self.certificate.qualities)
        self.memory.caught = self.certificate.caught

    def solution(self, status: Status) -> Solution:
        """Return the best weight with its certificate, and the labellings it follows from."""
        found = self.certificate.solution(status, self.oracle_calls)
        if self.certificate.caught is not None:
            warn(self._not_what_it_claims(), OracleWarning)
        if self._active is None:
            return found
        return replace(found, support=support_of(self.risk, *self._active), duals=self._duals)

    def _not_what_it_claims(self) -> str:
        """What the user is told of an oracle that was caught."""
        problem = getattr(self.risk.problem, "partition", self.risk.problem)
        oracle = type(getattr(self.risk.xs[0], "oracle", problem)).__name__
        return (
            f"{oracle} found, of {self.certificate.caught}, and claims that there is none better: "
            "what it says is not certified (certified_upper_ is infinite). Mend it, "
            "structsvm.testing shows where it fails, or return Quality.HEURISTIC and a slack of "
            "math.inf"
        )

    def _saved(self, step: Step) -> Saved:
        return Saved(dict(step.state()), self.oracle_calls, step.stalled)

    def start(self, groups: Ints, cache: PlaneCache | None = None) -> list[Cut]:
        """Evaluate the null weight, which every relative gap refers to, and the start of the risk.

        A start that is worse than the null weight is tried again half way back to it, twice. What
        is remembered, or known to be the best weight of a run before, needs no oracle.
        """
        self.is_started = True
        null = self._first(self.risk.null, groups, cache)
        is_answer = is_admissible(self.risk, self.risk.null)
        self.certificate.set_reference(null, is_answer)
        if is_answer:
            self.certificate.update_upper(null)
        cuts = null.cuts()
        for w in self._starts:
            evaluation = self._first(w, groups, cache)
            self.certificate.update_upper(evaluation, count=is_admissible(self.risk, w))
            cuts += evaluation.cuts()
            if evaluation.value <= null.value:
                break
        if self.memory.best is not None:
            best = self.memory.best._replace(penalty=self.risk.penalty(self.memory.best.w))
            self.certificate.update_upper(best, count=is_admissible(self.risk, best.w))
        return cuts

    def _first(self, w: Floats, groups: Ints, cache: PlaneCache | None) -> Planes:
        """The losses at a weight from which all runs start, called for once."""
        evaluation = self.memory.recall(w, self.risk.penalty(w))
        if evaluation is None:
            evaluation = self._called(w, groups, cache)
            self.memory.note(evaluation)
        return evaluation

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

    @cached_property
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
    ) -> Planes:
        """Call every oracle at ``w``; a new upper bound, if ``w`` keeps the constraints.

        ``known`` are lower bounds of the groups' losses at ``w``, from labellings found before; the
        planes of single samples in the ``cache`` may know more. Those found now go there.
        """
        if known is not None and cache is not None and cache.capacity > 0:
            known = np.maximum(known, cache.group_values(w, groups))
        evaluation = self._called(w, groups, cache)
        self._doubt_best(evaluation)
        if self.certificate.update_upper(evaluation, known, count=is_admissible(self.risk, w)):
            self.memory.note_best(evaluation, known)
        return evaluation

    def _doubt_best(self, found: Planes) -> None:
        """Compare new planes with what oracles said at the best weight."""
        best = self.memory.best
        if best is None:
            return
        heights, losses = found.intercepts + found.slopes @ best.w, best.values + best.slacks
        if (heights > losses).any():
            terms = np.abs(found.intercepts) + np.abs(found.slopes) @ np.abs(best.w)
            size = best.size + found.size + float(terms.sum())
            self.certificate.compare(losses, heights, size)

    def _called(self, w: Floats, groups: Ints, cache: PlaneCache | None = None) -> Planes:
        """One plane for each group at ``w``, and Omega(w); ``groups`` are those of the samples."""
        cached = cache is not None and cache.capacity > 0
        each = np.arange(self.risk.n_samples) if cached else groups
        deadline = time.time() + self._budget(self.risk.n_samples)
        answers = self._session.map_shares(separate_share, (w, each, deadline))
        found = [planes for planes in answers if planes is not None]
        calls = sum(planes.calls for planes in found)
        self.oracle_calls += calls
        if calls < self.risk.n_samples:
            raise BudgetSpentError(Status.MAX_SECONDS)
        evaluation = Planes.joined(found).summed()._replace(penalty=self.risk.penalty(w))
        if cache is None or not cached:
            return evaluation
        cache.add_all(each, evaluation.intercepts, evaluation.slopes, evaluation.labellings)
        return evaluation.summed(groups)

    def losses(self, w: Floats) -> Floats:
        """Return the weighted hinge loss of each sample, (N,)."""
        return self._called(w, np.arange(self.risk.n_samples)).values

    def plane(self, i: int, w: Floats) -> tuple[float, Floats]:
        """Call the oracle of one sample, here: intercept and slope of its plane."""
        self._budget(1)
        block, j = self._home[i]
        found = separate_one(block, (w, np.arange(self.risk.n_samples), np.inf), j)
        self.oracle_calls += found.calls
        self.certificate.note_answers(found)
        return float(found.intercepts[0]), found.slopes[0]

    def bound(self, cuts: WorkingSet, answer: MasterSolution) -> None:
        """Take note of a new lower bound, and of what it follows from if it is the best so far."""
        upper = self.certificate.certified_upper
        bound = lower_bound(self.risk, cuts, answer.multipliers, upper, self._truths)
        if self.certificate.update_lower(*bound):
            self._active, self._duals = (
                (cuts.active(answer.multipliers), cuts.n_groups),
                answer.duals,
            )

    def bound_by(self, offset: float, slope: Floats, size: Floats | None = None) -> None:
        """A new lower bound from ``offset + <slope, w>``, which is below the hinge losses.

        ``size`` (d,): the sum of the magnitudes of the terms of ``slope``, if there are several.
        """
        upper = self.certificate.certified_upper
        size = 2.0 * self._truths + np.abs(slope if size is None else size)
        self.certificate.update_lower(*plane_bound(self.risk, offset, slope, upper, size))

    @property
    def _truths(self) -> Floats:
        """``sum_i omega_i |phi(x_i, y_i)|``, (d,): what the slopes are differences to."""
        if self._sizes is None:
            sizes = self._session.map_shares(truth_sizes, self.risk.space.dim)
            self._sizes = np.asarray(np.add.reduce(sizes))
        return self._sizes

    def _budget(self, calls: int) -> float:
        """The seconds left for so many more oracle calls."""
        if self.oracle_calls < self.risk.n_samples:
            return np.inf
        return self.stopping.seconds_left(self.certificate.seconds, self.oracle_calls + calls)
