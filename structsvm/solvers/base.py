"""What a solver promises, and the bounds all of them share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import StructSVMError
from structsvm.problem import RegularizedRisk, Separation
from structsvm.solution import History, HistoryEntry, Solution, relative_gap
from structsvm.status import Quality, Status

__all__ = ["Certificate", "Evaluation", "Evaluator", "Solver"]

Floats = NDArray[np.float64]
NOTHING = 1e-6
"""Share of F(0) below which what learning could gain is called nothing."""

Callback = Callable[[HistoryEntry], None]


class Solver(ABC):
    """Minimises a :class:`RegularizedRisk`; settings only, what a run produces is returned."""

    @abstractmethod
    def solve(self, risk: RegularizedRisk, callback: Callback | None = None) -> Solution:
        """Minimise ``risk``; ``callback`` sees every iteration.

        Ctrl-C ends the run and returns the best certified iterate.
        """


@dataclass(frozen=True)
class Evaluation:
    """Every separation oracle called at one weight."""

    w: Floats
    slopes: Floats
    """``omega_i (phi(x_i, y) - phi(x_i, y_i))`` at the labellings found, (N, d)."""
    intercepts: Floats
    """``omega_i loss(y_i, y)``, (N,)."""
    value: float
    """``F(w)`` with the labellings found: a lower bound of the true value."""
    upper: float
    """``F(w)`` by the upper bounds of the oracles; the value itself where the oracle knows none."""
    quality: Quality
    """The weakest of the answers."""


class Evaluator:
    """Calls the oracle of every sample, counting the calls."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        self.oracle_calls = 0
        pairs = zip(risk.xs, risk.ys, strict=True)
        self._truth = [risk.problem.joint_feature(x, y) for x, y in pairs]

    def __call__(self, w: Floats) -> Evaluation:
        """Evaluate ``F`` and one cut for each sample at ``w``."""
        risk, N = self.risk, self.risk.n_samples
        slopes, intercepts, slack = np.empty((N, w.size)), np.empty(N), np.empty(N)
        qualities = set()
        for i, (x, y) in enumerate(zip(risk.xs, risk.ys, strict=True)):
            answer = self._separate(i, w, x, y)
            slopes[i] = risk.problem.joint_feature(x, answer.y) - self._truth[i]
            intercepts[i] = risk.problem.loss(y, answer.y)
            slack[i] = 0.0 if answer.quality is Quality.HEURISTIC else answer.slack
            qualities.add(answer.quality)
        # The true labelling is always a candidate, so that no hinge loss is negative.
        hinge = np.maximum(intercepts + slopes @ w, 0.0)
        omega, penalty = risk.sample_weight, risk.penalty(w)
        return Evaluation(
            w=w,
            slopes=slopes * omega[:, None],
            intercepts=intercepts * omega,
            value=penalty + float(omega @ hinge),
            upper=penalty + float(omega @ (hinge + slack)),
            quality=next(q for q in reversed(Quality) if q in qualities),
        )

    def _separate(self, i: int, w: Floats, x: object, y: object) -> Separation:
        self.oracle_calls += 1
        try:
            return self.risk.problem.separate(w, x, y)
        except StructSVMError as error:
            error.add_note(f"while separating sample {i}")
            raise


@dataclass
class Certificate:
    """The best bounds of a run so far, and its history."""

    null: float
    bound: str = "certified"
    lower: float = 0.0
    upper: float = np.inf
    best: Evaluation | None = None
    qualities: set[Quality] = field(default_factory=set)
    entries: list[HistoryEntry] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def see(self, evaluation: Evaluation) -> bool:
        """Take note of an evaluation; whether it is the best so far."""
        self.qualities.add(evaluation.quality)
        better = evaluation.upper < self.upper
        if better:
            self.upper, self.best = evaluation.upper, evaluation
        return better

    def raise_lower(self, bound: float, basis: str) -> None:
        """Take note of a lower bound."""
        self.lower, self.bound = max(self.lower, bound), basis

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.lower, self.upper, self.null)

    def record(self, oracle_calls: int, n_cuts: int, master: str) -> HistoryEntry:
        """Add an iteration to the history."""
        entry = HistoryEntry(
            iteration=len(self.entries),
            seconds=time.perf_counter() - self.started,
            oracle_calls=oracle_calls,
            lower=self.lower,
            upper=self.upper,
            n_cuts=n_cuts,
            master=master,
        )
        self.entries.append(entry)
        return entry

    def status(self, tol: float) -> Status:
        """The status of a run that ended by itself."""
        if self.null - self.lower <= NOTHING * abs(self.null):
            return Status.NOTHING_TO_LEARN
        if Quality.HEURISTIC in self.qualities:
            return Status.HEURISTIC
        return Status.RELAXED if Quality.RELAXATION in self.qualities else Status.OPTIMAL

    def solution(self, status: Status, oracle_calls: int) -> Solution:
        """The best weight with its certificate."""
        assert self.best is not None
        return Solution(
            w=self.best.w,
            lower=self.lower,
            upper=self.upper,
            null=self.null,
            status=status,
            n_iter=len(self.entries),
            oracle_calls=oracle_calls,
            seconds=time.perf_counter() - self.started,
            bound=self.bound,
            history=History(tuple(self.entries)),
        )
