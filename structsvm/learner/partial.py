"""Learning from partial labels: where completing starts, and what comes of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataError, DataWarning, LearningError, OracleError, SettingsError, warn
from structsvm.learner.fitting import (
    FitResult,
    calibrated_or_learned,
    is_zero,
    learn,
    usable_factor,
)
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.partial_labels.alternate import Alternated, alternate
from structsvm.partial_labels.complete import (
    Known,
    PartialRisk,
    calibrate_partial,
    calibrate_to_rate,
    gain_over_nothing,
)
from structsvm.partitions.metric import Calibration, Metric, metric_factor
from structsvm.partitions.objective import Objective
from structsvm.partitions.units import LearningUnits, within_whitening
from structsvm.status import Status
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below
from structsvm.support.interrupts import Interrupts
from structsvm.support.quiet import without_warnings

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class Alternation:
    """Settings of learning from partial labels.

    Labels are first completed by the metric of the labelled stretches, or by the untrained metric
    if no stretch has a change; then learning and completion alternate.

    Parameters
    ----------
    max_rounds : int
        Maximum number of completions; 0 learns from the labelled stretches alone.
    safeguard : bool
        Keep the metric of the labelled stretches alone if completion does not help: if this metric,
        learned from one half of the stretches, is worse on the other half than predicting no change
        by more than one standard error; if completion ends in a zero metric; or if the completed
        metric is worse on held-out labels.

    Examples
    --------
    >>> from structsvm import Alternation
    >>> Alternation(max_rounds=3)
    Alternation(max_rounds=3, safeguard=True)
    """

    max_rounds: int = 10
    safeguard: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        refuse_below(0, "max_rounds", self.max_rounds)
        if not isinstance(self.safeguard, bool):
            raise SettingsError(f"safeguard must be True or False, got {self.safeguard!r}")


def learn_partial(
    settings: Settings,
    data: TrainingSet,
    how: Alternation,
    held_out: TrainingSet | None = None,
) -> FitResult:
    """Learn from standardised samples and what is known of their partitions."""
    if how.max_rounds > 0:
        _refuse_untaken(data)
    alone = _from_parts(settings, data)
    if how.max_rounds == 0:
        if alone is None:
            raise DataError(
                "no labelled stretch has a change, so nothing can be learned from them alone: "
                "complete the labels (max_rounds > 0)"
            )
        return alone
    if alone is not None and (
        alone.solution.status is Status.INTERRUPTED or alone.calibration.missing
    ):
        return alone
    with Interrupts() as interrupts:
        try:
            with interrupts.released():
                return _learn_completing(settings, data, how, held_out, alone, interrupts)
        except KeyboardInterrupt:
            if alone is None:
                raise
            warn(
                "interrupted while labels were completed: the metric is that of the labelled "
                "stretches alone",
                ConvergenceWarning,
            )
            return alone


def _learn_completing(
    settings: Settings,
    data: TrainingSet,
    how: Alternation,
    held_out: TrainingSet | None,
    alone: FitResult | None,
    interrupts: Interrupts,
) -> FitResult:
    """Go on from what was learned from the stretches alone, if it was anything."""
    if alone is not None and how.safeguard and not _beats_no_change(settings, data):
        return _recalibrated_to_change_rate(alone, data)
    units = _units(settings, data) if alone is None else alone.units
    task = _task(settings, data, units, held_out)
    w = task.objective.start() if alone is None else alone.solution.w
    first = task.complete(w)
    found = alternate(
        task.in_units_of(first),
        settings.solver,
        first,
        w,
        max_rounds=how.max_rounds,
        callback=settings.callback,
        backend=settings.backend,
    )
    if alone is not None and how.safeguard:
        before, after = task.held_out_loss(alone.solution.w), found.rounds[found.kept].held_out
        if before is not None and after is not None and before < after:
            logger.info("held-out labels: %g from the stretches alone, %g completed", before, after)
            return alone
        if _is_zero(task.objective, found):
            _warn_not_completed("completing ends in a zero metric")
            return _recalibrated_to_change_rate(alone, data)
    return _finish(settings, data, units, found, task.objective, interrupts)


def _refuse_untaken(data: TrainingSet) -> None:
    """Refuse labels that a decoder would not keep when it completes them, naming the sample."""
    problem = data.problem
    if not problem.traits.convex:
        return  # partition itself keeps links, and labels of nodes are nothing else
    for i, (sample, known) in enumerate(zip(data.samples, data.labels, strict=True)):
        if known.truth is not None:
            continue
        try:
            problem.decoder(sample).refuse(known.constraint, known.n_samples)
        except OracleError as error:
            raise DataError(f"{problem.traits.words.whole} {i}: {error}") from error


def check_labels(data: TrainingSet) -> bool:
    if data.is_complete:
        data.problem.learning.check(data.truths)
        return False
    _check_partial(data.labels)
    return True


def informative(data: TrainingSet) -> TrainingSet:
    """The samples of which something is known; completing the others measured harmful."""
    return data.at([i for i, known in enumerate(data.labels) if known.says_something])


def _check_partial(labels: Sequence[Known]) -> None:
    """Refuse labels that never say that anything changes."""
    if any(known.n_changes or known.constraint.apart for known in labels):
        return
    if any(len(known.constraint.together) > 1 for known in labels):
        return
    raise DataError(
        "no label says that anything changes or differs: label a stretch with a change, or a "
        "region with at least one (-1 marks samples without a label: write classes -1 and 1 as 0 "
        "and 1)"
    )


def _task(
    settings: Settings, data: TrainingSet, units: LearningUnits, held_out: TrainingSet | None
) -> PartialRisk:
    """The labels to complete, in the units of learning."""
    objective = settings.objective(data.n_features)
    others = data.at([]) if held_out is None else held_out
    scaled, others = data.made_by(units), others.made_by(units)
    return PartialRisk(
        problem=data.problem,
        objective=objective,
        samples=scaled.samples,
        labels=data.labels,
        regularizer=settings.weighted(objective),
        constraints=settings.constraints,
        weights=data.weights,
        held_out=(others.samples, others.labels),
    )


def _from_parts(settings: Settings, data: TrainingSet) -> FitResult | None:
    parts = data.parts
    teaches = len(parts) > 0 and any(M.n_clusters > 1 for M in parts.truths)
    if not teaches or not all(known.names_clusters for known in data.labels):
        return None
    with without_warnings(ConvergenceWarning, DataWarning):  # it is only where to start
        try:
            return learn(settings.without_callback(), parts)
        except LearningError:  # too little is labelled: a zero metric
            return None


def _beats_no_change(settings: Settings, data: TrainingSet) -> bool:
    problem = data.problem
    labelled = [i for i, known in enumerate(data.labels) if known.part[0]]
    if len(labelled) < 2 or not problem.traits.contiguous:
        return True
    gains, weights = [], []
    for chosen, rest in ((labelled[::2], labelled[1::2]), (labelled[1::2], labelled[::2])):
        some, others = data.at(chosen), data.at(rest)
        result = _from_parts(settings, some)
        if result is None:
            continue
        if result.solution.status is Status.INTERRUPTED:
            return False
        factor = result.metric.factor
        calibration = calibrate_partial(problem, factor, some.samples, some.labels, some.weights)
        metric = calibration.metric(factor)
        gains.append(gain_over_nothing(problem, metric, others.samples, others.labels))
        weights.append(others.weights)
    if not gains or not _is_negative(np.concatenate(gains), np.concatenate(weights)):
        return True
    _warn_not_completed(
        "on held-out stretches, the metric of the others is worse than predicting no change"
    )
    return False


def _is_negative(gains: Floats, weights: Floats) -> bool:
    mean = float(np.average(gains, weights=weights))
    return mean < -float(np.linalg.norm(weights * (gains - mean)) / weights.sum())


def _warn_not_completed(why: str) -> None:
    warn(
        f"labels were not completed: {why}. The metric is that of the labelled stretches alone; "
        "label more, or longer ones",
        DataWarning,
    )


def _recalibrated_to_change_rate(alone: FitResult, data: TrainingSet) -> FitResult:
    factor = alone.metric.factor
    found = calibrate_to_rate(data.problem, factor, data.samples, data.labels, data.weights)
    return replace(alone, calibration=found, metric=found.metric(factor))


def _is_zero(objective: Objective, found: Alternated) -> bool:
    if found.solution.status is Status.INTERRUPTED:
        return False
    return is_zero(metric_factor(objective.split(found.solution.w)[0]))


def _units(settings: Settings, data: TrainingSet) -> LearningUnits:
    """The units of learning where no stretch teaches anything by itself."""
    problem, parts = data.problem, data.parts
    plain = problem.learning.untrained_factor(data.samples, data.weights)
    if not problem.traits.convex:
        return problem.learning.units(data.samples, [], Metric(plain, None), None, data.weights)
    whitening, unit, seen = None, None, data
    if settings.shrinkage is not None and len(parts):
        shrinkage = settings.shrinkage
        stretches = [sample.data for sample in parts.samples]
        whitening = within_whitening(stretches, parts.truths, shrinkage, parts.weights)
        seen = data.made_by(LearningUnits(whitening))
    if len(parts) and not problem.traits.contiguous:
        unit = problem.learning.unit(seen.parts.samples, parts.truths, parts.weights)
    if unit is None:
        known = seen.samples, data.labels, data.weights
        unit = calibrate_partial(problem, plain, *known).penalty
    return LearningUnits(whitening, unit)


def _finish(
    settings: Settings,
    data: TrainingSet,
    units: LearningUnits,
    found: Alternated,
    objective: Objective,
    interrupts: Interrupts,
) -> FitResult:
    """The metric of the round that is kept, its price calibrated on what is known."""
    problem = data.problem
    factor = units.restore(usable_factor(objective, found.solution, settings))
    known = data.samples, data.labels, data.weights
    price = objective.split(found.solution.w)[1]

    def calibrated(L: Floats, otherwise: float) -> Calibration:
        task = partial(calibrate_partial, problem, L, *known)
        return calibrated_or_learned(task, otherwise, units.unit, interrupts)

    calibration = calibrated(factor, price)
    plain = problem.learning.untrained_factor(data.samples, data.weights)
    if calibration.missing:
        untrained = Metric(plain, units.unit)
    else:
        untrained = calibrated(plain, 1.0).metric(plain)
    return FitResult(
        metric=calibration.metric(factor),
        calibration=calibration,
        solution=found.solution,
        units=units,
        untrained=untrained,
        truths=list(found.labels),
        alternated=found,
    )
