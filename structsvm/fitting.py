"""Learning from full labels, once everything has been checked: what a learner's ``fit`` runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm import baselines
from structsvm.errors import LearningError, warn
from structsvm.interrupts import Interrupts
from structsvm.parallel import Backend
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Calibration, DecodingMetric, calibrate, metric_factor
from structsvm.partitions.problem import MetricProblem, certified_upper
from structsvm.partitions.start import Start
from structsvm.partitions.training_set import TrainingSet
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Regularizer
from structsvm.solution import HistoryEntry, Solution
from structsvm.solvers.alternating import Alternated
from structsvm.solvers.base import Solver
from structsvm.status import Status

__all__ = [
    "Learned",
    "Learning",
    "Prepared",
    "calibrated_or_learned",
    "is_zero",
    "learn",
    "usable_factor",
]

Floats = NDArray[np.float64]

ZERO_METRIC = 1e-8
"""Tr B / P below which a metric is zero up to the accuracy of a solver; 1 is untrained."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True, eq=False)
class Learning:
    """What to learn, and with what."""

    problem: MetricProblem
    regularizer: Regularizer
    """Weighted."""
    lam: float
    constraints: Callable[[Any], list[Any]] | None
    shrinkage: float | None
    """Of the whitening; None for none."""
    solver: Solver
    backend: Backend
    callback: Callable[[HistoryEntry], None] | None

    def check(self, samples: Sequence[Floats]) -> None:
        """Raise SettingsError if the solver does not suit, before any work."""
        nothing = [EquivalenceMatrix.from_labels(np.zeros(X.shape[0])) for X in samples]
        null, ones = self.problem.null_weight(), np.ones(len(nothing))
        self.solver.check(
            RegularizedRisk(
                self.problem, samples, nothing, self.regularizer, ones, null, self.constraints
            )
        )

    def without_callback(self) -> Learning:
        """The same for a preparation nobody has to watch."""
        return replace(self, callback=None)


@dataclass(frozen=True, eq=False)
class Learned:
    """A metric of the standardised features, and what came of learning it."""

    factor: Floats
    """``L``, (P, r)."""
    calibration: Calibration
    solution: Solution
    upper: float
    start: Start
    untrained: DecodingMetric
    truths: Sequence[EquivalenceMatrix]
    """What was learned from: the labels, completed where they were partial."""
    alternated: Alternated | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Standardised recordings whose partitions are known, and what ``lam`` has no part in."""

    data: TrainingSet
    untrained: DecodingMetric
    start: Start
    risk: RegularizedRisk

    @classmethod
    def of(
        cls, learning: Learning, data: TrainingSet, untrained: DecodingMetric | None = None
    ) -> Prepared:
        """The objective, from the units in which the untrained metric is the identity.

        Parameters
        ----------
        untrained : DecodingMetric, optional
            The identity with its calibrated penalty, if that is known already.
        """
        problem, truths, weights = learning.problem, data.truths, data.weights
        partition = problem.partition
        if untrained is None:
            untrained = baselines.untrained(partition.decoder, data.arrays, truths, weights)
        start = Start.of(
            partition, data.arrays, truths, untrained.penalty, learning.shrinkage, weights
        )
        units = [start(X) for X in data.arrays]
        risk = problem.risk(units, truths, learning.regularizer, learning.constraints, weights)
        return cls(data, untrained, start, risk)

    def risk_of(self, learning: Learning) -> RegularizedRisk:
        """The objective with another ``lam``."""
        return replace(self.risk, regularizer=learning.regularizer)

    def learned(
        self,
        learning: Learning,
        risk: RegularizedRisk,
        solution: Solution,
        interrupts: Interrupts | None = None,
    ) -> Learned:
        """The metric of a solution, its penalty calibrated.

        Where ``interrupts`` are given, Ctrl-C ends the calibration alone.
        """
        data, problem = self.data, learning.problem
        factor = self.start.restore(usable_factor(problem, solution, learning.lam))
        Zs = [X @ factor for X in data.arrays]
        calibrated = partial(calibrate, problem.partition.decoder, Zs, data.truths, data.weights)
        calibration = (
            calibrated()
            if interrupts is None
            else calibrated_or_learned(calibrated, problem, solution, self.start.unit, interrupts)
        )
        upper = certified_upper(risk, solution)
        return Learned(
            factor, calibration, solution, upper, self.start, self.untrained, data.truths
        )


def learn(
    learning: Learning, data: TrainingSet, resume: str | PathLike[str] | None = None
) -> Learned:
    """Learn from standardised recordings whose partitions are known."""
    with Interrupts() as interrupts:
        with interrupts.released():
            prepared = Prepared.of(learning, data)
        solution = learning.solver.solve(
            prepared.risk, learning.callback, backend=learning.backend, resume=resume
        )
        return prepared.learned(learning, prepared.risk, solution, interrupts)


def calibrated_or_learned(
    calibrated: Callable[[], Calibration],
    problem: MetricProblem,
    solution: Solution,
    unit: float,
    interrupts: Interrupts,
) -> Calibration:
    """The calibration of a learned metric, or, if Ctrl-C ends it, the penalty it was learned with.

    Parameters
    ----------
    unit : float
        The penalty in units of which that one is learned.
    """
    try:
        with interrupts.released():
            return calibrated()
    except KeyboardInterrupt:
        warn(
            "interrupted while the penalty of a segment was calibrated: it is the one that was "
            "learned with the metric",
            ConvergenceWarning,
        )
        price = problem.split(solution.w)[1]
        return Calibration.none(unit * (price if price > 0 else 1.0))


def is_zero(L: Floats) -> bool:
    """Whether a metric is zero up to the accuracy of a solver."""
    return bool(np.sum(L**2) <= ZERO_METRIC * L.shape[0])


def usable_factor(problem: MetricProblem, solution: Solution, lam: float) -> Floats:
    """``L`` of the learned metric; warn or refuse when there is reason to."""
    logger.info("%s", solution.summary())
    L = metric_factor(problem.split(solution.w)[0])
    if is_zero(L) and solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt("before there was a metric to save")
    if not solution.status.converged:
        warn(solution.summary(), ConvergenceWarning)
    if is_zero(L):
        part = problem.partition.words.part
        way_out = f"lower lam, or check that the labelled {part}s differ in the features"
        if not solution.status.converged:
            way_out = "let it run longer"
        raise LearningError(
            f"the best metric found is zero, so it separates nothing (lam={lam}, "
            f"{solution.status.value}): {way_out}",
            solution.status,
        )
    return L
