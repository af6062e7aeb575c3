"""Learning from full labels, once everything has been checked: what a learner's ``fit`` runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.sample import all_made_by
from structsvm.errors import DataError, LearningError, OracleWarning, warn
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.partial_labels.alternate import Alternated
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import LearningUnits
from structsvm.partitions.metric import Calibration, Metric, metric_factor
from structsvm.partitions.objective import Objective
from structsvm.problem import Risk
from structsvm.solution import Solution
from structsvm.status import Status
from structsvm.support.arrays import Floats
from structsvm.support.contract import asked
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import share

ZERO_METRIC = 1e-8
"""Tr B / P below which a metric is zero up to the accuracy of a solver; 1 is untrained."""

INEXACT = 1e-6
"""A share of the size of scores by which two may differ for rounding."""
CHECKED = 10
"""Training samples, at most, that are partitioned to check a problem."""

BEGUN, SOLVED = 0.15, 0.85
"""What part of the time has passed, about, when the untrained metric is known, and the learned."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True, eq=False)
class FitResult:
    """A metric of the standardised features, and what came of learning it."""

    metric: Metric
    calibration: Calibration
    solution: Solution
    units: LearningUnits
    untrained: Metric
    truths: Sequence[EquivalenceMatrix]
    """What was learned from: the labels, completed where they were partial."""
    alternated: Alternated | None = None


@dataclass(frozen=True, eq=False)
class FitState:
    """Standardised samples whose partitions are known, and what ``lam`` has no part in."""

    data: TrainingSet
    objective: Objective
    untrained: Metric
    units: LearningUnits
    risk: Risk

    @classmethod
    def of(cls, settings: Settings, data: TrainingSet, untrained: Metric | None = None) -> FitState:
        """The objective, in the units in which the untrained metric is the identity."""
        problem, samples, truths, weights = data.problem, data.samples, data.truths, data.weights
        gaps = [i for i, sample in enumerate(samples) if sample.has_gaps]
        if settings.metric == "full" and gaps:
            raise DataError(
                f"{problem.traits.words.whole} {gaps[0]} has missing values, and a full metric "
                "mixes features: masked values take metric='diagonal', a full metric interpolated "
                "ones"
            )
        if untrained is None:
            untrained = problem.learning.untrained(samples, truths, weights)
        units = problem.learning.units(samples, truths, untrained, settings.shrinkage, weights)
        objective = settings.objective(data.n_features)
        scaled = all_made_by(samples, units)
        omega = settings.weighted(objective)
        risk = objective.risk(scaled, truths, omega, settings.constraints, weights)
        return cls(data, objective, untrained, units, risk)

    def risk_of(self, settings: Settings) -> Risk:
        """The objective with another ``lam``."""
        return self.risk.regularized(settings.weighted(self.objective))

    def result(
        self,
        settings: Settings,
        solution: Solution,
        interrupts: Interrupts | None = None,
    ) -> FitResult:
        """The metric of a solution, its price calibrated."""
        data = self.data
        factor = self.units.restore(usable_factor(self.objective, solution, settings))
        task = partial(
            data.problem.learning.calibrate, factor, data.samples, data.truths, data.weights
        )
        if interrupts is None:
            found = task()
        else:
            price = self.objective.split(solution.w)[1]
            found = calibrated_or_learned(task, price, self.units.unit, interrupts)
        metric = found.metric(factor)
        return FitResult(metric, found, solution, self.units, self.untrained, data.truths)


def learn(
    settings: Settings, data: TrainingSet, resume: str | PathLike[str] | None = None
) -> FitResult:
    """Learn from standardised samples whose partitions are known."""
    with Interrupts() as interrupts:
        with interrupts.released(), share("the untrained metric", 0.0, BEGUN):
            state = FitState.of(settings, data)
        with share("the metric", BEGUN, SOLVED):
            solution = settings.solver.solve(
                state.risk, settings.callback, backend=settings.backend, resume=resume
            )
        with share("its price", SOLVED, 1.0):
            result = state.result(settings, solution, interrupts)
        if solution.status is Status.OPTIMAL and data.problem.traits.convex:
            _check_inference(data, result.metric)
        return result


def _check_inference(data: TrainingSet, metric: Metric) -> None:
    """Ask ``partition`` for some training samples, and compare with the true partitions."""
    problem = data.problem
    pairs = list(zip(data.samples, data.truths, strict=True))[:CHECKED]
    for i, (sample, truth) in enumerate(pairs):
        K = truth.n_clusters if metric.price is None else None
        with asked(problem, "partition", f"{problem.traits.words.whole} {i}"):
            guess = problem.partition(sample, metric, K)
        score = problem.decoding_objective(sample, metric, K)
        found, best, size = score.value(guess), score.value(truth), float(np.nansum(score.Z**2))
        if is_missed(f"{type(problem).__name__}.partition", i, best - found, size):
            return


def is_missed(name: str, i: int, missed: float, size: float) -> bool:
    """Whether a prediction, which maximises the score, has less than the truth; OracleWarning."""
    if missed <= INEXACT * size:
        return False
    warn(
        f"sample {i}: {name} found a labelling whose score is {missed:.3g} less than that of the "
        "true one: maximise the score over all labellings, without the loss",
        OracleWarning,
    )
    return True


def calibrated_or_learned(
    calibrated: Callable[[], Calibration], price: float, unit: float, interrupts: Interrupts
) -> Calibration:
    """The calibration of a learned metric, or, if Ctrl-C ends it, the price it was learned with."""
    try:
        with interrupts.released():
            return calibrated()
    except KeyboardInterrupt:
        warn(
            "interrupted while the price of a cluster was calibrated: it is the one that was "
            "learned with the metric",
            ConvergenceWarning,
        )
        return Calibration.none(unit * (price if price > 0 else 1.0))


def is_zero(L: Floats) -> bool:
    return bool(np.sum(L**2) <= ZERO_METRIC * L.shape[0])


def usable_factor(objective: Objective, solution: Solution, settings: Settings) -> Floats:
    """``L`` of the learned metric; warn or refuse when there is reason to."""
    logger.info("%s", solution.summary())
    L = metric_factor(objective.split(solution.w)[0])
    if is_zero(L) and solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt("before there was a metric to save")
    if not solution.status.converged:
        warn(solution.summary(), ConvergenceWarning)
    if is_zero(L):
        traits = settings.problem.traits
        where = "the features"
        if traits.contiguous:
            where = (
                "the means of the features; a change of spread shows in features=HermiteMoments()"
            )
        way_out = f"lower lam, or check that the labelled {traits.words.part}s differ in {where}"
        if solution.status in (Status.MAX_ITER, Status.MAX_SECONDS, Status.MAX_CALLS):
            way_out = "let it run longer"
        raise LearningError(
            f"the best metric found is zero, so it separates nothing (lam={settings.lam}, "
            f"{solution.status.value}): {way_out}",
            solution.status,
        )
    return L
