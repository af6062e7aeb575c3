"""Alternation: complete partial labels, learn from the completed ones, and complete them anew."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from structsvm.errors import DataError, PluginError, nth
from structsvm.learner.fitting import logger
from structsvm.learner.labellings import Instances
from structsvm.problem import (
    CompletableProblem,
    CompositeRisk,
    Problem,
    RegularizedRisk,
    Risk,
    Solution,
    Status,
)
from structsvm.solvers import Stopping
from structsvm.solvers.run import Run
from structsvm.support import Bools, Floats, asked, difference, raise_wrong, shown


@dataclass(frozen=True)
class Round:
    """One round: ``F(w, M)`` after learning from completed labels, and after completing them."""

    objective: float
    completed: float


@dataclass(frozen=True, eq=False)
class Alternated:
    """What the last round of an alternation learned, and the objectives of all rounds."""

    solution: Solution
    """The solution of the last round; its certificate holds for the completed labels."""
    labels: Sequence[Any]
    """The completed labels that the last round learned from."""
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
    """Alternate between learning from completed labels and completing them by what was learned.

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
            changed = np.array([not same(a, b) for a, b in zip(labels, guesses, strict=True)])
            if changed.any():
                before = _hinges(risk, start)
                after = _hinges(risk_of(guesses), start)
                changed &= after <= before
                gain = float(np.sum((before - after)[changed]))
                pairs = zip(labels, guesses, changed, strict=True)
                labels = [new if is_new else old for old, new, is_new in pairs]
            fixed = not (changed.any() or stopped)
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
    """The hinge loss of each instance, (N,)."""
    if isinstance(risk, CompositeRisk):
        return np.array([risk.part([i]).losses(w)[0] for i in range(risk.n_instances)])
    run = Run(risk, Stopping())
    return run.evaluate(w, run.groups("n")).values


def start_of(problem: Problem) -> Floats | None:
    """The weight of :meth:`Problem.start`, checked; None if the problem has none."""
    with asked(problem, "start"):
        w = problem.start()
    if w is None:
        return None
    space = problem.weight_space()
    fits = isinstance(w, np.ndarray) and w.dtype.kind in "fi" and w.shape == (space.dim,)
    if not (fits and np.isfinite(w).all() and np.allclose(space.project(w * 1.0), w)):
        raise_wrong(problem, "start", w, f"a finite weight ({space.dim},) in its cone, or None")
    return np.array(w, dtype=np.float64)


def start_of_open(problem: Problem, max_rounds: int) -> Floats:
    """The weight that first completes labellings if none is full; refuse a problem without one."""
    w = start_of(problem)
    if w is None or not max_rounds:
        way = f"define {type(problem).__name__}.start" if w is None else "allow some rounds"
        raise DataError(
            "every labelling is known in part only: label one instance in full, at least, for "
            f"learning to begin with, or {way}"
        )
    return w


def open_labellings(problem: Problem, ys: Sequence[Any]) -> Bools:
    """Whether the labelling of each instance is partial, (N,)."""
    is_open = np.zeros(len(ys), dtype=np.bool_)
    if isinstance(problem, CompletableProblem):
        for i, y in enumerate(ys):
            with asked(problem, "is_complete", nth("instance", i)):
                is_open[i] = not problem.is_complete(y)
    return is_open


def alternated(
    risk: RegularizedRisk,
    data: Instances,
    is_open: Bools,
    solve: Callable[[Risk], Solution],
    w: Floats,
    max_rounds: int,
) -> Alternated:
    """Alternate for a structured problem, from the labellings that are completed by ``w``."""

    def risk_of(ys: Sequence[Any]) -> RegularizedRisk:
        return replace(risk, xs=data.xs, ys=list(ys), sample_weight=data.weights)

    complete = partial(_completed, risk.problem, data, is_open)
    return alternate(
        complete, risk_of, solve, complete(w), w, max_rounds, lambda a, b: difference(a, b) is None
    )


def _completed(problem: Problem, data: Instances, is_open: Bools, w: Floats) -> list[Any]:
    assert isinstance(problem, CompletableProblem)
    labellings = list(data.ys)
    for i in np.flatnonzero(is_open).tolist():
        with asked(problem, "complete", nth("instance", i)):
            labellings[i] = problem.complete(w, data.xs[i], data.ys[i])
        if not problem.is_complete(labellings[i]):
            raise PluginError(
                nth("instance", i)
                + f": {type(problem).__name__}.complete returned {shown(labellings[i])}, "
                "which is_complete says is not complete"
            )
    return labellings
