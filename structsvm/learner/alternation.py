"""Completing labels that are known in part, learning from them, and again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structsvm.learner.fitting import (
    logger,
)
from structsvm.problem import CompositeRisk, Risk
from structsvm.solvers.certificate import Stopping
from structsvm.solvers.run import Run
from structsvm.status import Solution, Status
from structsvm.support.values import Floats


@dataclass(frozen=True)
class Round:
    """Learning from completed labels, once: ``F(w, M)`` then, and once they are completed anew."""

    objective: float
    completed: float


@dataclass(frozen=True, eq=False)
class Alternated:
    solution: Solution
    """The solution of the last round; its certificate holds for the completed labels."""
    labels: Sequence[Any]
    """The completions it was learned from."""
    rounds: tuple[Round, ...]
    fixed_point: bool
    """Whether no completion changed any more."""

    @property
    def summary(self) -> str:
        n = len(self.rounds)
        how = "no label changed any more" if self.fixed_point else "cut short"
        return (
            f"labels completed in {n} round{'s' if n > 1 else ''} ({how}); joint objective "
            f"from {self.rounds[0].objective:.6g} to {self.rounds[-1].objective:.6g}"
        )


def alternate(
    complete: Callable[[Floats], list[Any]],
    risk_of: Callable[[Sequence[Any]], Risk],
    solve: Callable[[Risk], Solution],
    labels: list[Any],
    start: Floats,
    max_rounds: int,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> Alternated:
    """Learn from completed labels, complete them under what was learned, and again.

    With ``M_i`` a completion of the labels of sample i,

        F(w, M) = Omega(w) + sum_i omega_i max_M' { loss(M_i, M') + <w, phi(M') - phi(M_i)> }

    Lajugie et al., section "Partial labellings". A completion takes the place of another one only
    where the hinge loss of its sample does not rise, and the solver starts from the weight of the
    round before, so that the joint objective never rises.
    """
    rounds: list[Round] = []
    best: Alternated | None = None
    while len(rounds) < max_rounds:
        risk: Any = risk_of(labels)
        try:
            solution = solve(replace(risk, start=start))
        except KeyboardInterrupt:
            if best is None:
                raise
            return best
        start = solution.w
        begun = labels
        stopped = solution.status is Status.INTERRUPTED
        gain, fixed = 0.0, False
        try:
            guesses = complete(start)
            fresh = np.array([not same(a, b) for a, b in zip(labels, guesses, strict=True)])
            if fresh.any():
                now = _hinges(risk, start)
                then = _hinges(risk_of(guesses), start)
                fresh &= then <= now
                gain = float(np.sum((now - then)[fresh]))
                pairs = zip(labels, guesses, fresh, strict=True)
                labels = [b if is_new else a for a, b, is_new in pairs]
            fixed = not (fresh.any() or stopped)
        except KeyboardInterrupt:
            stopped = True
        rounds.append(Round(solution.upper, solution.upper - gain))
        logger.info("round %d of alternation: %s", len(rounds), rounds[-1])
        best = Alternated(solution, begun, tuple(rounds), fixed)
        if fixed or stopped:
            break
    assert best is not None
    return best


def _hinges(risk: Risk, w: Floats) -> Floats:
    if isinstance(risk, CompositeRisk):
        return np.array([risk.part([i]).losses(w)[0] for i in range(risk.n_instances)])
    run = Run(risk, Stopping())
    return run.evaluate(w, run.groups("n")).values
