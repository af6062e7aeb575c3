"""Learning when labels are known in part: complete them, learn, and again.

With ``M_i`` a completion of the labels of sample i,

    F(w, M) = Omega(w) + sum_i omega_i max_M' { loss(M_i, M') + <w, phi(M') - phi(M_i)> }

Lajugie et al., section "Partial labellings". A completion takes the place of another one only where
the hinge loss of its sample does not rise, and the solver starts from the weight it is given, so
that the joint objective never rises.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.parallel import Backend
from structsvm.problem import CompositeRisk, Risk
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.base import Solver
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.run import Run
from structsvm.status import Status
from structsvm.support.arrays import Floats
from structsvm.support.contract import hook

logger = logging.getLogger("structsvm")


class Completions(ABC):
    """Samples whose labels are known in part."""

    @abstractmethod
    def complete(self, w: Floats) -> list[Any]:
        """For every sample the best labelling at ``w`` that agrees with what is known of it."""

    @abstractmethod
    def risk(self, labels: Sequence[Any]) -> Risk:
        """The risk once the labels are these; weights and units do not depend on them."""

    @hook
    def same(self, a: Any, b: Any) -> bool:
        """Whether two labellings of a sample are equal."""
        return bool(a == b)


@dataclass(frozen=True)
class Round:
    """Learning from completed labels, once."""

    objective: float
    """``F(w, M)`` after learning."""
    completed: float
    """``F(w, M)`` after the labels have been completed anew."""
    n_changed: int
    """Samples that got another completion."""
    oracle_calls: int


@dataclass(frozen=True, eq=False)
class Alternated:
    """Result of an alternation."""

    solution: Solution
    """The solution of the last round; its certificate holds for the completed labels."""
    risk: Risk
    labels: Sequence[Any]
    """The completions it was learned from."""
    rounds: tuple[Round, ...]
    fixed_point: bool
    """Whether no completion changed any more."""

    @property
    def summary(self) -> str:
        """One sentence for people."""
        n = len(self.rounds)
        how = "no label changed any more" if self.fixed_point else "cut short"
        return (
            f"labels completed in {n} round{'s' if n > 1 else ''} ({how}); joint objective "
            f"from {self.rounds[0].objective:.6g} to {self.rounds[-1].objective:.6g}"
        )


def alternate(
    task: Completions,
    solver: Solver,
    labels: Sequence[Any],
    start: Floats | None = None,
    *,
    max_rounds: int = 10,
    callback: Callable[[HistoryEntry], None] | None = None,
    backend: Backend | None = None,
) -> Alternated:
    """Learn from completed labels, complete them under what was learned, and again."""
    labels = list(labels)
    rounds: list[Round] = []
    last: tuple[Solution, Risk, Sequence[Any]] | None = None
    fixed = False
    for number in range(max_rounds):
        risk = task.risk(labels)
        if start is not None:
            risk = replace(risk, start=start)  # type: ignore[type-var]
        try:
            solution = solver.solve(risk, callback, backend=backend)
        except KeyboardInterrupt:
            if last is None:
                raise
            break
        start, interrupted = solution.w, solution.status is Status.INTERRUPTED
        try:
            guesses, completed, changed = _complete(task, labels, solution)
        except KeyboardInterrupt:
            guesses, completed, changed = labels, solution.upper, 0
            interrupted = True
        rounds.append(Round(solution.upper, completed, changed, solution.oracle_calls))
        logger.info("round %d of alternation: %s", number + 1, rounds[-1])
        last = solution, risk, labels
        labels, fixed = guesses, changed == 0 and not interrupted
        if fixed or interrupted:
            break
    assert last is not None
    return Alternated(*last, rounds=tuple(rounds), fixed_point=fixed)


def _complete(
    task: Completions, labels: list[Any], solution: Solution
) -> tuple[list[Any], float, int]:
    """New completions where they do not raise the objective, its value, how many are new."""
    w = solution.w
    guesses = task.complete(w)
    fresh = [not task.same(a, b) for a, b in zip(labels, guesses, strict=True)]
    if not any(fresh):
        return labels, solution.upper, 0
    now, then = _hinges(task.risk(labels), w), _hinges(task.risk(guesses), w)
    taken = np.array(fresh) & (then <= now)
    chosen = [b if take else a for a, b, take in zip(labels, guesses, taken, strict=True)]
    gain = float(np.sum((now - then)[taken]))
    return chosen, solution.upper - gain, int(taken.sum())


def _hinges(risk: Risk, w: Floats) -> Floats:
    """The weighted hinge loss of each sample, (N,)."""
    if isinstance(risk, CompositeRisk):
        return np.array([risk.part([i]).losses(w)[0] for i in range(risk.n_samples)])
    run = Run(risk, Stopping())
    return run.evaluate(w, run.groups("n")).values
