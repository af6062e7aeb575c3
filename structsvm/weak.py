"""Learning from partial labels: where the alternation starts, and what comes of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataError, DataWarning, LearningError, OracleError, SettingsError, warn
from structsvm.learner.fitting import (
    FitPlan,
    FitResult,
    calibrated_or_learned,
    is_zero,
    learn,
    usable_factor,
)
from structsvm.learner.training_set import TrainingSet
from structsvm.partial_labels.alternate import Alternated, alternate
from structsvm.partial_labels.complete import (
    Known,
    PartialRisk,
    calibrate_partial,
    calibrate_to_rate,
    gain_over_nothing,
)
from structsvm.partitions.metric import Metric, metric_factor
from structsvm.partitions.problem import certified_upper
from structsvm.partitions.units import LearningUnits, within_whitening
from structsvm.status import Status
from structsvm.support.checks import among, is_whole
from structsvm.support.interrupts import Interrupts
from structsvm.support.quiet import without_warnings

__all__ = ["Alternation", "informative", "is_partial", "learn_partial"]

Floats = NDArray[np.float64]

logger = logging.getLogger("structsvm")

STARTS = ("labelled", "pca")
FORMULATIONS = ("complete", "latent")


@dataclass(frozen=True)
class Alternation:
    """How to learn from partial labels; without any of them it does nothing.

    Parameters
    ----------
    start : {"labelled", "pca"}
        The metric that completes the labels first: the one learned from the labelled stretches
        alone, or the principal components (the paper's). Without a labelled stretch that holds a
        change the first is the untrained metric.
    formulation : {"complete", "latent"}
        Measure the loss against the completed labels, as the paper does, or against the first
        completions for good, which makes it the hinge against the best completion (docs/
        weak-labels.md).
    max_rounds : int
        Most times that labels are completed; 0 learns from the labelled stretches alone.
    unlabelled : bool
        Whether recordings of which nothing at all is known are completed too. They measured harmful
        (docs/results.md, "With few labels"), so that they are left out by default.
    safeguard : bool
        Return to the metric learned from the labelled stretches alone where labels speak against
        completing: where, learned from one half of them, it is worse on the other half than finding
        no change at all, by more than a standard error; where completing ends in a zero metric;
        where the labels that are held out say so.
    """

    start: str = "labelled"
    formulation: str = "complete"
    max_rounds: int = 10
    unlabelled: bool = False
    safeguard: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not among(self.start, STARTS):
            raise SettingsError(f"start must be one of {STARTS}, got {self.start!r}")
        if not among(self.formulation, FORMULATIONS):
            raise SettingsError(
                f"formulation must be one of {FORMULATIONS}, got {self.formulation!r}"
            )
        if not (is_whole(self.max_rounds) and self.max_rounds >= 0):
            raise SettingsError(f"max_rounds must be >= 0, got {self.max_rounds!r}")
        for name in ("unlabelled", "safeguard"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} must be True or False, got {getattr(self, name)!r}")


def learn_partial(
    learning: FitPlan,
    data: TrainingSet,
    settings: Alternation,
    held_out: TrainingSet | None = None,
) -> FitResult:
    """Learn from standardised recordings and what is known of their partitions."""
    alone = _from_parts(learning, data)
    if settings.max_rounds == 0:
        if alone is None:
            raise DataError(
                "no labelled stretch has a change, so nothing can be learned from them alone: "
                "let alternation complete the labels (max_rounds > 0)"
            )
        return alone
    if alone is not None and (
        alone.solution.status is Status.INTERRUPTED or alone.calibration.missing
    ):
        return alone
    with Interrupts() as interrupts:
        try:
            with interrupts.released():
                return _learn_completing(learning, data, settings, held_out, alone, interrupts)
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
    learning: FitPlan,
    data: TrainingSet,
    settings: Alternation,
    held_out: TrainingSet | None,
    alone: FitResult | None,
    interrupts: Interrupts,
) -> FitResult:
    """Go on from what was learned from the stretches alone, if it was anything."""
    if alone is not None and settings.safeguard and not _beats_no_change(learning, data):
        return _recalibrated_to_change_rate(alone, data)
    start = _start(learning, data) if alone is None else alone.start
    others = data.at([]) if held_out is None else held_out.mapped(start)
    problem, w = learning.problem, None if alone is None else alone.solution.w
    task = PartialRisk(
        problem=problem,
        samples=[start(X) for X in data.arrays],
        labels=data.labels,
        regularizer=learning.regularizer,
        constraints=learning.constraints,
        weights=data.weights,
        held_out=(others.arrays, others.labels),
    )
    if settings.formulation == "latent":
        task.refuse_latent()
    if settings.start == "pca":
        w, first = None, task.complete_with(_principal(task))
    else:
        w = problem.join(problem.identity(), 1.0) if w is None else w
        first = task.complete(w)
    task = task.in_units_of(first)
    found = alternate(
        task,
        learning.solver,
        first,
        w,
        latent=settings.formulation == "latent",
        max_rounds=settings.max_rounds,
        callback=learning.callback,
        backend=learning.backend,
    )
    if alone is not None and settings.safeguard:
        before, after = task.held_out_loss(alone.solution.w), found.rounds[found.kept].held_out
        if before is not None and after is not None and before < after:
            logger.info("held-out labels: %g from the stretches alone, %g completed", before, after)
            return alone
        if _is_zero(learning, found):
            _warn_not_completed("completing ends in a zero metric")
            return _recalibrated_to_change_rate(alone, data)
    return _finish(learning, data, start, found, interrupts)


def is_partial(data: TrainingSet) -> bool:
    """Whether anything is not known; DataError for labels that teach nothing."""
    if all(known.truth is not None for known in data.labels):
        data.partition.check_training(data.truths)
        return False
    _check_partial(data.labels)
    return True


def informative(data: TrainingSet, settings: Alternation) -> TrainingSet:
    """The recordings to learn from: those of which something is known, or all.

    Raises
    ------
    DataError
        Naming the recording whose labels the decoder does not take, where they are to be completed.
    """
    if settings.max_rounds > 0:
        for i, known in enumerate(data.labels):
            if known.truth is None:
                _refuse_untaken(data, i, known)
    if settings.unlabelled:
        return data
    return data.at([i for i, known in enumerate(data.labels) if known.says_something])


def _refuse_untaken(data: TrainingSet, i: int, known: Known) -> None:
    """Refuse labels that the decoder would not keep when it completes them."""
    try:
        data.partition.decoder.refuse(known.constraint, known.n_samples)
    except OracleError as error:
        raise DataError(f"{data.partition.words.whole} {i}: {error}") from error


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


def _from_parts(learning: FitPlan, data: TrainingSet) -> FitResult | None:
    """What is learned from everything whose partition is known; None where that is nothing."""
    parts = data.parts
    teaches = any(M.n_clusters > 1 for M in parts.truths)
    if not teaches or not all(known.names_clusters for known in data.labels):
        return None
    with without_warnings(ConvergenceWarning, DataWarning):  # it is only where to start
        try:
            return learn(learning.without_callback(), parts)
        except LearningError:  # too little is labelled: a zero metric
            return None


def _beats_no_change(learning: FitPlan, data: TrainingSet) -> bool:
    """Whether a metric learned from stretches is of use on others, so that it may complete.

    Learned from every other recording with a labelled stretch, tried on the rest, and the other
    way round: against it is a loss above that of no change at all by more than a standard error.
    Too few of them to tell are no reason against it.
    """
    partition = data.partition
    told = [i for i, known in enumerate(data.labels) if known.part[0]]
    if len(told) < 2 or not partition.contiguous:
        return True
    gains, weights = [], []
    for chosen, rest in ((told[::2], told[1::2]), (told[1::2], told[::2])):
        some, others = data.at(chosen), data.at(rest)
        learned = _from_parts(learning, some)
        if learned is None:
            continue
        if learned.solution.status is Status.INTERRUPTED:
            return False
        Zs = [X @ learned.factor for X in some.arrays]
        penalty = calibrate_partial(partition, Zs, some.labels, some.weights).penalty
        metric = Metric(learned.factor, penalty)
        gains.append(gain_over_nothing(partition, metric, others.arrays, others.labels))
        weights.append(others.weights)
    if not gains or not _is_negative(np.concatenate(gains), np.concatenate(weights)):
        return True
    _warn_not_completed(
        "on stretches held out, what was learned from the others is worse than no change"
    )
    return False


def _is_negative(gains: Floats, weights: Floats) -> bool:
    """Whether their mean is, by more than its standard error."""
    mean = float(np.average(gains, weights=weights))
    return mean < -float(np.linalg.norm(weights * (gains - mean)) / weights.sum())


def _warn_not_completed(why: str) -> None:
    warn(
        f"labels were not completed: {why}. The metric is that of the labelled stretches alone; "
        "label more, or longer ones",
        DataWarning,
    )


def _recalibrated_to_change_rate(alone: FitResult, data: TrainingSet) -> FitResult:
    """What was learned from the stretches, to find as many changes per second as they have."""
    Zs = [X @ alone.factor for X in data.arrays]
    found = calibrate_to_rate(data.partition, Zs, data.labels, data.weights)
    return replace(alone, calibration=found)


def _is_zero(learning: FitPlan, found: Alternated) -> bool:
    if found.solution.status is Status.INTERRUPTED:
        return False
    return is_zero(metric_factor(learning.problem.split(found.solution.w)[0]))


def _start(learning: FitPlan, data: TrainingSet) -> LearningUnits:
    """The untrained metric, or RCA where there are chunks, and its penalty."""
    partition, parts = data.partition, data.parts
    whitening = None
    if learning.shrinkage is not None and len(parts):
        whitening = within_whitening(parts.arrays, parts.truths, learning.shrinkage, parts.weights)
    whitened = data if whitening is None else data.mapped(lambda X: X @ whitening)
    unit = None
    if len(parts) and not partition.contiguous:
        unit = partition.unit(whitened.parts.arrays, parts.truths, parts.weights)
    if unit is None:
        unit = calibrate_partial(partition, whitened.arrays, data.labels, data.weights).penalty
    return LearningUnits(whitening, unit)


def _principal(task: PartialRisk) -> Metric:
    """As many principal components (1, 2, 4, ...) as agree best with what is known."""
    partition, samples = task.problem.partition, task.samples
    centred = [X - X.mean(axis=0) for X in samples]
    scatter = sum(w * (X.T @ X) for X, w in zip(centred, task.weights, strict=True))
    vectors = np.linalg.eigh(scatter)[1][:, ::-1]
    best, least = None, np.inf
    for rank in (2**k for k in range(vectors.shape[0].bit_length())):
        factor = vectors[:, :rank]
        Zs = [X @ factor for X in samples]
        calibration = calibrate_partial(partition, Zs, task.labels, task.weights)
        if calibration.merit < least:
            best, least = Metric(factor, calibration.penalty), calibration.merit
    assert best is not None
    return best


def _finish(
    learning: FitPlan,
    data: TrainingSet,
    start: LearningUnits,
    found: Alternated,
    interrupts: Interrupts,
) -> FitResult:
    """The metric of the round that is kept, its penalty calibrated on what is known."""
    factor = start.restore(usable_factor(learning.problem, found.solution, learning.lam))
    known = data.labels, data.weights
    Zs = [X @ factor for X in data.arrays]
    calibration = calibrated_or_learned(
        partial(calibrate_partial, data.partition, Zs, *known),
        learning.problem,
        found.solution,
        start.unit,
        interrupts,
    )
    plain = calibration
    if not calibration.missing:
        plain = calibrated_or_learned(
            partial(calibrate_partial, data.partition, data.arrays, *known),
            learning.problem,
            found.solution,
            start.unit,
            interrupts,
        )
    penalty = start.unit if plain.missing else plain.penalty
    untrained = Metric(np.eye(factor.shape[0]), penalty)
    return FitResult(
        factor=factor,
        calibration=calibration,
        solution=found.solution,
        upper=certified_upper(found.risk, found.solution),
        start=start,
        untrained=untrained,
        truths=list(found.labels),
        alternated=found,
    )
