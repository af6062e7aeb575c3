"""Labellings that are known in part, completed by a weight and learned from in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from structsvm.errors import DataError, PluginError, nth
from structsvm.learner.alternation import Alternated, alternate
from structsvm.learner.labellings import Instances
from structsvm.problem import CompletableProblem, Problem, RegularizedRisk, Risk
from structsvm.status import Solution
from structsvm.support.codec import difference
from structsvm.support.contract import asked, raise_wrong
from structsvm.support.values import Bools, Floats, shown


def start_of(problem: Problem) -> Floats | None:
    """The weight that needs no learning, if the problem has one, in its cone."""
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
    """The weight that completes labellings of which none is known in full."""
    w = start_of(problem)
    if w is None or not max_rounds:
        way = f"define {type(problem).__name__}.start" if w is None else "allow some rounds"
        raise DataError(
            "every labelling is known in part only: label one instance in full, at least, for "
            f"learning to begin with, or {way}"
        )
    return w


def open_labellings(problem: Problem, ys: Sequence[Any]) -> Bools:
    """Of which instances the labelling is known in part only, (N,)."""
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
    """Learn from the completions that a weight prefers, and from those of what was learned."""

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
