"""Runs of solvers: budgets, oracle calls and a certificate; and the run on a convex risk."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleWarning, PluginError, warn
from structsvm.masters import (
    Cut,
    Master,
    MasterSolution,
    Planes,
    Request,
    WorkingSet,
    broken_by,
    lower_bound,
    plane_bound,
    solve_with,
    solved,
    worth_by_duals,
)
from structsvm.parallel import Session
from structsvm.parallel.base import SerialSession
from structsvm.problem import Quadratic, Quality, RegularizedRisk, Solution, Status, WeightSpace
from structsvm.solvers.certificate import (
    ADMISSIBLE,
    BudgetSpentError,
    Certificate,
    Step,
    Stopping,
    of_relaxed,
)
from structsvm.solvers.checkpoint import SAME_LOSS, Checkpoint
from structsvm.solvers.planes import Memory, PlaneCache
from structsvm.solvers.separation import blocks_of, planes_of, separate_share, truth_size
from structsvm.solvers.support import support_of
from structsvm.support import Floats, Ints, hook, read_only, shown

__all__ = ["AnyRun", "CutRun", "Run"]
INSIDE = 1e-8  # part of its norm by which rounding may put a weight outside of its cone


class AnyRun:
    """Base of runs: the members that the loop of all solvers uses."""

    certificate: Certificate
    stopping: Stopping
    n_instances: int
    """The number of instances, or of other functions that an oracle evaluates."""
    parts: Sequence[Any]
    """Parts of the data, which are distributed to the workers of a backend."""
    session: Session
    oracle_calls: int = 0
    oracle_seconds: float = 0.0
    """Wall time in calls of oracles, on all workers at once."""
    master_seconds: float = 0.0
    """Wall time in restricted problems."""
    solver_name: str = "the solver"
    """The name of the solver in messages."""

    @hook
    def resume_from(self, checkpoint: Checkpoint) -> bool:
        """Restore the state of a checkpoint, if its file exists; whether that run had stalled."""
        return False

    @hook
    def arrays_after(self, step: Step) -> Mapping[str, NDArray[Any]]:
        """The arrays from which a resumed run goes on after a step."""
        return step.state()

    @hook
    def remember(self, step: Step) -> None:
        """Store the state of the solver for the next run with the same memory."""

    @hook
    def solution(self, status: Status) -> Solution:
        """The best weight with its certificate."""
        solution = self.certificate.solution(status, self.oracle_calls)
        seconds = self.oracle_seconds, self.master_seconds
        return replace(solution, oracle_seconds=seconds[0], master_seconds=seconds[1])

    def seconds_left(self, calls: int) -> float:
        """The seconds that are left; BudgetSpentError if the budget allows no further ``calls``."""
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
    """The regularizer, if masters other than conic ones apply."""
    floor: Floats | None = None
    """A lower bound of the functions of each group; 0 if it is not given."""
    saved: Mapping[str, NDArray[Any]] | None = None
    """The state of an interrupted run that is resumed; None for a new run."""
    cache: PlaneCache | None = None
    """A cache for the planes of single instances that oracles return, if the solver has one."""
    state: Mapping[str, NDArray[Any]] | None = None
    """The state in which a solver begins: ``saved``, or the last one of a run before."""

    @property
    @abstractmethod
    def center(self) -> Floats | None:
        """The weight to stay near; None if no weight is good enough."""

    @abstractmethod
    def groups(self, slack: str) -> Ints:
        """The group of each instance: its own for the slack "n", the same for "one", (N,)."""

    def working_set(self, groups: Ints) -> WorkingSet:
        """A working set without cuts."""
        n_groups = int(groups.max()) + 1 if self.floor is None else self.floor.size
        return WorkingSet(n_groups, self.dim, self.floor)

    @abstractmethod
    def start(self, groups: Ints) -> list[Cut]:
        """The first cuts."""

    @abstractmethod
    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        """Solve the restricted problem, and update the lower bound."""

    @abstractmethod
    def evaluate(self, w: Floats, groups: Ints, lower_values: Floats | None = None) -> Planes:
        """Call every oracle at ``w``, and update the upper bound if ``w`` keeps the constraints.

        ``lower_values`` are lower bounds of the losses of groups at ``w``, from earlier labellings.
        """

    @hook
    def between(self, answer: MasterSolution, cuts: WorkingSet, damping: float) -> Floats:
        """The share ``damping`` of the way from the master's weight to the center."""
        center = self.center
        if center is None or damping == 0.0:
            return answer.w
        return answer.w + damping * (center - answer.w)


TOO_POOR = 0.9  # relative gap above which the best weight is too far from the optimum to stay near
BACKTRACKS = (1.0, 0.5, 0.25)
"""Shares of the way from the null weight to the start, tried until one is better than null."""


class Run(CutRun):
    """The run on a convex risk."""

    def __init__(
        self, risk: RegularizedRisk, stopping: Stopping, memory: Memory | None = None
    ) -> None:
        self.risk, self.stopping = risk, stopping
        self.n_instances = risk.n_instances
        self.dim = risk.space.dim
        omega = risk.quadratic  # raises SettingsError for a trace that may be negative
        self.form = omega if risk.constraints is None else None
        self.memory = memory or Memory()
        self.state = self.memory.state
        self.certificate = Certificate(floor=risk.regularizer.floor(risk.space))
        self.certificate.quality = self.memory.quality
        self.certificate.caught = self.memory.caught
        self.is_started = False
        """Whether the null weight, which gaps refer to, has been evaluated."""
        self.parts = blocks_of(risk)
        self.session = SerialSession(self.parts)
        self._best_cuts: tuple[list[tuple[float, Cut]], int, tuple[Any, ...] | None] | None = None
        """The cuts that prove the lower bound, the number of groups, and duals of constraints."""
        self._duals: tuple[Any, ...] | None = None
        """Dual values of further constraints in the last restricted problem."""
        self._broken: list[Any] = []
        """The violation of each further constraint by the best weight."""
        self._most_broken = 0.0
        """The largest of these violations, relative to the terms of its constraint."""
        self._starts: list[Floats] = []
        """The start of the risk, and two weights between it and the null weight."""
        if risk.start is not None:
            self._starts = [risk.null + part * (risk.start - risk.null) for part in BACKTRACKS]

    def groups(self, slack: str) -> Ints:
        each = np.arange(self.n_instances)
        return each if slack == "n" else np.zeros_like(each)

    def restricted(self, master: Master, cuts: WorkingSet, request: Request) -> MasterSolution:
        risk = self.risk
        certificate = self.certificate
        started = time.perf_counter()
        answer = solved(master, risk, cuts, request)
        self.master_seconds += time.perf_counter() - started
        if answer.duals is not None:
            self._duals = answer.duals
            certificate.pay(self._worth(self._broken))
        upper = certificate.certified_upper
        bound = lower_bound(risk, cuts, answer.multipliers, upper, self._truths)
        if certificate.update_lower(*bound):
            self._best_cuts = cuts.active(answer.multipliers), cuts.n_groups, answer.duals
        return answer

    def resume_from(self, checkpoint: Checkpoint) -> bool:
        saved = checkpoint.restore(self.certificate)
        if saved is None:
            return False
        self.saved, self.oracle_calls, stalled = saved
        self.state = self.saved
        self.is_started = True
        # The oracles must find the losses in the file again, or it is of another problem.
        certificate = self.certificate
        weights = [(self.risk.null, certificate.null)]
        if certificate.best is not None:
            losses = certificate.upper - certificate.paid - self.risk.penalty(certificate.best)
            weights.append((certificate.best, losses))
        may_find_less = certificate.quality is Quality.HEURISTIC
        for w, before in weights:
            question = w, self.groups("one"), np.inf
            planes = Planes.joined(self.session.map_shares(separate_share, question)).summed()
            loss = float((planes.values + planes.slacks).sum())
            rounding = SAME_LOSS * (planes.size + abs(before))
            if loss > before + rounding or (loss < before - rounding and not may_find_less):
                checkpoint.refuse(loss, before)
        return stalled

    def remember(self, step: Step) -> None:
        self.memory.state = step.state()
        self.memory.quality = self.certificate.quality
        self.memory.caught = self.certificate.caught

    def solution(self, status: Status) -> Solution:
        """The best weight with its certificate, support labellings and dual values."""
        solution = super().solution(status)
        solution = replace(solution, bound=of_relaxed(solution.bound, self._most_broken))
        caught = self.certificate.caught
        if caught is not None:
            problem = getattr(self.risk.problem, "partition", self.risk.problem)
            oracle = type(getattr(self.risk.xs[0], "oracle", problem)).__name__
            warn(
                f"{oracle} found, of {caught}, and claims that there is none better: what it says "
                "is not certified (certified_upper is infinite). Mend it, structsvm.testing shows "
                "where it fails, or return Quality.HEURISTIC and a slack of math.inf",
                OracleWarning,
            )
        if self._best_cuts is None:
            return solution
        active, n_groups, duals = self._best_cuts
        return replace(solution, support=support_of(self.risk, active, n_groups), duals=duals)

    def start(self, groups: Ints) -> list[Cut]:
        """Evaluate the null weight, which every relative gap refers to, and the start of the risk.

        A start that is worse than the null weight is tried again half way back to it, twice.
        Weights that a run before has evaluated need no oracle.
        """
        self.is_started = True
        memory = self.memory
        cuts = []
        of_null = np.inf
        for w in (self.risk.null, *self._starts):
            seen = memory.seen.get(w.tobytes())
            planes = self._noted(self._called(w, groups) if seen is None else seen)
            memory.seen[w.tobytes()] = planes.without_cuts()
            cuts += planes.cuts()
            objective = planes.penalty + planes.values.sum()
            if w is self.risk.null:
                of_null = objective
                is_answer = self.certificate.best is not None
                self.certificate.set_reference(planes, is_answer)
            elif objective <= of_null:
                break
        if memory.best is not None:
            self._noted(memory.best)
        return cuts

    def _noted(self, planes: Planes, lower_values: Floats | None = None) -> Planes:
        """Update the upper bound by an evaluation; the evaluation with its penalty."""
        planes = planes._replace(penalty=self.risk.penalty(planes.w))
        broken, amounts = violations(self.risk, planes.w)
        paid = self._worth(amounts)
        self.certificate.update_upper(planes, lower_values, broken <= ADMISSIBLE, paid)
        if self.certificate.best is planes.w:
            self._broken = amounts
            self._most_broken = broken
        return planes

    def _worth(self, amounts: Sequence[Any]) -> float:
        """An upper bound of what violations of constraints gain, by the last dual values."""
        if self._duals is None:
            return 0.0
        each = (d if isinstance(d, list | tuple) else [d] for d in self._duals)
        return sum(map(worth_by_duals, amounts, each))

    @property
    def center(self) -> Floats | None:
        """The best weight that iterations have found, else the null weight, else None."""
        best = self.certificate.best
        null = self.risk.null
        if best is None or self.certificate.gap >= TOO_POOR:
            return None
        # A start uses all features alike; near it, useless features would only fade slowly.
        if not any(np.array_equal(best, w) for w in (null, *self._starts)):
            return best
        return null if violations(self.risk, null)[0] <= ADMISSIBLE else None

    def evaluate(self, w: Floats, groups: Ints, lower_values: Floats | None = None) -> Planes:
        self.refuse_outside(w, self.risk.space)
        if lower_values is not None and self.cache is not None:
            lower_values = np.maximum(lower_values, np.bincount(groups, self.cache.values(w)))
        planes = self._called(w, groups)
        best = self.memory.best
        if best is not None:  # no plane may exceed the losses that oracles found at the best weight
            heights = planes.heights(best.w)
            losses = best.values + best.slacks
            if (heights > losses).any():
                size = best.size + planes.size + float(planes.terms(best.w).sum())
                self.certificate.compare(losses, heights, size)
        planes = self._noted(planes, lower_values)
        if self.certificate.best is planes.w:
            values = (
                planes.values if lower_values is None else np.maximum(planes.values, lower_values)
            )
            self.memory.best = planes.without_cuts()._replace(values=values)
        return planes

    def _called(self, w: Floats, groups: Ints) -> Planes:
        """Call every oracle at ``w``: one plane of each group; ``groups`` of instances, (N,)."""
        each = groups if self.cache is None else self.groups("n")
        deadline = time.time() + self.seconds_left(self.n_instances)
        started = time.perf_counter()
        answers = self.session.map_shares(separate_share, (w, each, deadline))
        self.oracle_seconds += time.perf_counter() - started
        of_blocks = [planes for planes in answers if planes is not None]
        calls = sum(planes.calls for planes in of_blocks)
        self.oracle_calls += calls
        if calls < self.n_instances:
            raise BudgetSpentError(Status.MAX_SECONDS)
        evaluation = Planes.joined(of_blocks).summed()
        if self.cache is None:
            return evaluation
        self.cache.add(each, evaluation.intercepts, evaluation.slopes, evaluation.labellings)
        return evaluation.summed(groups)

    def plane(self, i: int, w: Floats) -> tuple[float, Floats]:
        """Call the oracle of one instance in this process: intercept and slope of its plane."""
        self.seconds_left(1)
        block = next(block for block in self.parts if i <= block.instances[-1])
        j = i - block.instances[0]
        started = time.perf_counter()
        answer = block.call("separate", i, read_only(w), block.xs[j], block.ys[j])
        self.oracle_seconds += time.perf_counter() - started
        (plane,) = planes_of([[block.row(j, answer, w.size)]], w, np.arange(self.n_instances))
        self.oracle_calls += 1
        self.certificate.note_answers(plane)
        return float(plane.intercepts[0]), plane.slopes[0]

    def bound_by(self, offset: float, slope: Floats, size: Floats | None = None) -> None:
        """Update the lower bound by a plane ``offset + <slope, w>`` below the hinge losses.

        ``size``, (d,), is the sum of the magnitudes of the terms of ``slope``, if it is a sum.
        """
        upper = self.certificate.certified_upper
        size = 2.0 * self._truths + np.abs(slope if size is None else size)
        self.certificate.update_lower(*plane_bound(self.risk, offset, slope, upper, size))

    @cached_property
    def _truths(self) -> Floats:
        """``sum_i omega_i |phi(x_i, y_i)|``, (d,), the size of the true terms of slopes."""
        return np.asarray(np.add.reduce(self.session.map(truth_size, self.dim)))


def violations(risk: RegularizedRisk, w: Floats) -> tuple[float, list[Any]]:
    """The largest relative violation of further constraints, and the absolute one of each."""
    if risk.constraints is None:
        return 0.0, []
    import cvxpy as cp

    metric = risk.space.to_metric(w)
    B = cp.Variable(metric.shape, symmetric=metric.ndim == 2)
    further = risk.further_constraints(B)
    variables = chain.from_iterable(constraint.variables() for constraint in further)
    if any(variable is not B for variable in variables):
        nearest = cp.Problem(cp.Minimize(cp.sum_squares(B - metric)), further)
        solve_with(nearest, ["CLARABEL", "SCS"], precise=True)
    B.value = metric
    return broken_by(further)
