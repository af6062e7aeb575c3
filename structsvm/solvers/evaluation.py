"""Calls of the separation oracles, and the cuts and values that they give."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structsvm.masters.working_set import Cut
from structsvm.parallel.base import SerialSession, Session
from structsvm.problem import RegularizedRisk
from structsvm.solvers.separation import Block, Plane, Query, blocks_of, separate_block
from structsvm.status import Quality, Status

__all__ = ["BudgetSpentError", "Evaluation", "Evaluator"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BudgetSpentError(Exception):
    """Ends the iterations of a run; never leaves :meth:`Solver.solve`."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every separation oracle called at one weight, summed over the samples of each group."""

    w: Floats
    penalty: float
    """Omega(w)."""
    slopes: Floats
    """(n_groups, d)."""
    intercepts: Floats
    values: Floats
    """Weighted hinge losses of the labellings found, (n_groups,)."""
    slacks: Floats
    quality: Quality
    """The weakest of the answers."""
    size: float = 0.0
    """The sum of the magnitudes of what the values are sums of."""

    @property
    def value(self) -> float:
        """``F(w)`` with the labellings found."""
        return self.penalty + float(self.values.sum())

    def cuts(self) -> list[Cut]:
        """One for each group."""
        triples = zip(self.intercepts, self.slopes, strict=True)
        return [Cut(g, float(intercept), slope) for g, (intercept, slope) in enumerate(triples)]

    def summed(self, groups: Ints) -> Evaluation:
        """The same with its groups, such as single samples, summed to larger ones."""
        n_groups = int(groups.max()) + 1
        slopes = np.zeros((n_groups, self.w.size))
        intercepts, values, slacks = np.zeros((3, n_groups))
        np.add.at(slopes, groups, self.slopes)
        np.add.at(intercepts, groups, self.intercepts)
        np.add.at(values, groups, self.values)
        np.add.at(slacks, groups, self.slacks)
        return replace(self, slopes=slopes, intercepts=intercepts, values=values, slacks=slacks)


class Evaluator:
    """Calls the oracles of the samples, counting the calls.

    Parameters
    ----------
    risk : RegularizedRisk
    budget : callable
        Takes the number of calls wanted and returns the seconds left for them, or raises
        BudgetSpentError.
    blocks, session
        The samples, and where their oracles run; here by default.
    """

    def __init__(
        self,
        risk: RegularizedRisk,
        budget: Callable[[int], float],
        blocks: list[Block] | None = None,
        session: Session | None = None,
    ) -> None:
        self.risk = risk
        self.oracle_calls = 0
        self._budget = budget
        self._blocks = blocks_of(risk) if blocks is None else blocks
        self._session = SerialSession(self._blocks) if session is None else session
        self._home = [(block, j) for block in self._blocks for j in range(len(block.indices))]

    def __call__(self, w: Floats, groups: Ints) -> Evaluation:
        """``F`` and one cut for each group at ``w``; ``groups`` holds the group of each sample.

        Samples of a group are summed by blocks, and blocks in their order: the sums are the same
        to the last bit wherever the oracles run.
        """
        deadline = time.time() + self._budget(self.risk.n_samples)
        answers = self._session.map(separate_block, Query(w, groups, deadline))
        self.oracle_calls += sum(answer.calls for answer in answers)
        if any(answer.late for answer in answers):
            raise BudgetSpentError(Status.MAX_SECONDS)
        n_groups = int(groups.max()) + 1
        slopes = np.zeros((n_groups, w.size))
        intercepts, values, slacks = np.zeros((3, n_groups))
        for answer in answers:
            slopes[answer.groups] += answer.slopes
            intercepts[answer.groups] += answer.intercepts
            values[answer.groups] += answer.values
            slacks[answer.groups] += answer.slacks
        found = {answer.quality for answer in answers}
        weakest = next(q for q in reversed(Quality) if q in found)
        penalty = self.risk.penalty(w)
        size = sum(answer.size for answer in answers)
        return Evaluation(w, penalty, slopes, intercepts, values, slacks, weakest, size)

    def plane(self, i: int, w: Floats) -> Plane:
        """Call the oracle of sample ``i``, here."""
        self._budget(1)
        self.oracle_calls += 1
        block, j = self._home[i]
        return block.plane(j, w)
