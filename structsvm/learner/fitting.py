"""Learning from full labels, once everything has been checked: what a learner's ``fit`` runs."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import all_made_by
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    OracleError,
    OracleWarning,
    SettingsError,
    warn,
    without_warnings,
)
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.partial_labels.alternate import Alternated, Completions, alternate
from structsvm.partial_labels.complete import (
    calibrate_partial,
    calibrate_to_rate,
    complete_labels,
    gain_over_nothing,
)
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import LearningUnits, Objective, within_whitening
from structsvm.partitions.metric import Calibration, Metric, metric_factor
from structsvm.problem import RegularizedRisk, Risk
from structsvm.solution import HistoryEntry, Solution
from structsvm.status import Status
from structsvm.support.arrays import Floats
from structsvm.support.checks import refuse_below
from structsvm.support.contract import asked
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import share
from structsvm.weights import PSD

ZERO_METRIC = 1e-8
"""Tr B / P below which a metric is zero up to the accuracy of a solver; 1 is untrained."""

NOT_RESUMED = (
    "resume= keeps one convex problem: it is not for partial labels, nor for a closed form"
)
INEXACT = 1e-6
"""A share of the size of scores by which two may differ for rounding."""
CHECKED = 10
"""Training samples, at most, that are partitioned to check a problem."""

BEGUN, SOLVED = 0.15, 0.85
"""What part of the time has passed, about, when the untrained metric is known, and the learned."""

logger = logging.getLogger("structsvm")

Callback = Callable[[HistoryEntry], None]


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

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended learning, or the calibration of the price."""
        return self.solution.status is Status.INTERRUPTED or self.calibration.missing


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
        if settings.closed_form is not None:
            raise SettingsError("a metric in closed form minimises no objective: learn another one")
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
        objective = problem.learning.objective(settings.metric, data.n_features)
        omega = objective.regularizer(settings.regularizer, settings.lam)
        scaled = all_made_by(samples, units)
        risk = objective.risk(scaled, truths, omega, settings.constraints, weights)
        return cls(data, objective, untrained, units, risk)

    def result(
        self, settings: Settings, solution: Solution, interrupts: Interrupts | None = None
    ) -> FitResult:
        """The metric of a solution, its price calibrated."""
        data, units = self.data, self.units
        factor = units.restore(usable_factor(self.objective, solution, settings))
        given = factor, data.samples, data.truths, data.weights
        task = partial(data.problem.learning.calibrate, *given)
        price = self.objective.split(solution.w)[1]
        found = calibrated(task, price, units.unit, interrupts)
        return FitResult(found.metric(factor), found, solution, units, self.untrained, data.truths)


def learn(
    settings: Settings,
    data: TrainingSet,
    resume: str | PathLike[str] | None = None,
    callback: Callback | None = None,
) -> FitResult:
    if settings.closed_form is not None:
        return in_closed_form(settings.closed_form, data)
    with Interrupts() as interrupts:
        with interrupts.released(), share("the untrained metric", 0.0, BEGUN):
            state = FitState.of(settings, data)
        with share("the metric", BEGUN, SOLVED):
            solution = settings.solver.solve(
                state.risk, callback, backend=settings.backend, resume=resume
            )
        with share("its price", SOLVED, 1.0):
            result = state.result(settings, solution, interrupts)
        if solution.status is Status.OPTIMAL and data.problem.traits.convex:
            _check_inference(data, result.metric)
        return result


def in_closed_form(name: str, data: TrainingSet) -> FitResult:
    """A metric of the baselines, of which nothing is certified."""
    begun, problem = time.perf_counter(), data.problem
    given = (data.samples, data.truths, data.weights)
    factor = tuned_metrics.closed_form(name, problem, *given)
    if not factor.any():
        words = problem.traits.words
        raise LearningError(
            f"the labelled {words.part}s have the same means, so that the metric is zero: check "
            f"the labels, or use features in which the {words.part}s differ",
            Status.CLOSED_FORM,
        )
    calibration = problem.learning.calibrate(factor, *given)
    solution = Solution(
        w=PSD(factor.shape[0]).from_metric(factor @ factor.T),
        lower=-math.inf,
        upper=math.inf,
        certified_upper=math.inf,
        null=math.inf,
        status=Status.CLOSED_FORM,
        n_iter=0,
        oracle_calls=0,
        seconds=time.perf_counter() - begun,
        bound="nothing",
    )
    untrained = problem.learning.untrained(*given)
    metric, units = calibration.metric(factor), LearningUnits(None)
    return FitResult(metric, calibration, solution, units, untrained, data.truths)


def _check_inference(data: TrainingSet, metric: Metric) -> None:
    problem = data.problem
    pairs = list(zip(data.samples, data.truths, strict=True))[:CHECKED]
    for i, (sample, truth) in enumerate(pairs):
        K = truth.n_clusters if metric.price is None else None
        with asked(problem, "partition", f"{problem.traits.words.whole} {i}"):
            guess = problem.partition(sample, metric, K)
        score = problem.decoding_objective(sample, metric, K)
        missed, size = score.value(truth) - score.value(guess), float(np.nansum(score.Z**2))
        if is_missed(f"{type(problem).__name__}.partition", i, missed, size):
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


def calibrated(
    task: Callable[[], Calibration], price: float, unit: float, interrupts: Interrupts | None
) -> Calibration:
    """The calibration of a learned metric, or, if Ctrl-C ends it, the price it was learned with."""
    if interrupts is None:
        return task()
    try:
        with interrupts.released():
            return task()
    except KeyboardInterrupt:
        warn(
            "interrupted while the price of a cluster was calibrated: it is the one that was "
            "learned with the metric",
            ConvergenceWarning,
        )
        penalty = unit * (price if price > 0 else 1.0)
        return Calibration(np.array([penalty]), np.array([np.nan]))


def usable_factor(objective: Objective, solution: Solution, settings: Settings) -> Floats:
    """``L`` of the learned metric; warn or refuse when there is reason to."""
    logger.info("%s", solution.summary())
    L, status = metric_factor(objective.split(solution.w)[0]), solution.status
    is_zero = np.sum(L**2) <= ZERO_METRIC * len(L)
    if is_zero and status is Status.INTERRUPTED:
        raise KeyboardInterrupt("before there was a metric to save")
    if not status.converged:
        warn(solution.summary(), ConvergenceWarning)
    if not is_zero:
        return L
    traits = settings.problem.traits
    where = "the features"
    if traits.contiguous:
        where = "the means of the features; a change of spread shows in features=HermiteMoments()"
    way_out = f"lower lam, or check that the labelled {traits.words.part}s differ in {where}"
    if status in (Status.MAX_ITER, Status.MAX_SECONDS, Status.MAX_CALLS):
        way_out = "let it run longer"
    raise LearningError(
        f"the best metric found is zero, so it separates nothing (lam={settings.lam}, "
        f"{status.value}): {way_out}",
        status,
    )


# ---- learning from partial labels: where completing starts, and what comes of it


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
        by more than one standard error; or if completion ends in a zero metric.

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


@dataclass(frozen=True, eq=False)
class PartialRisk(Completions):
    """Learning a metric from partial labels: the labels to complete, the risk once they are."""

    settings: Settings
    objective: Objective
    data: TrainingSet
    """In the units of learning."""
    changes: float | None = None
    """What the weighted sum of losses is divided by: the changes of the first completions, so that
    completing does not change the scale."""

    def complete(self, w: Floats) -> list[EquivalenceMatrix]:
        B, beta = self.objective.split(w)
        data, factor = self.data, metric_factor(B)
        convex = data.problem.traits.convex
        metric = Metric(factor, beta) if convex else calibrate_known(factor, data).metric(factor)
        return complete_labels(data.problem, metric, data.samples, data.labels)

    def scaled_to(self, labels: Sequence[EquivalenceMatrix]) -> PartialRisk:
        """The same task in the units that these completions suggest."""
        sizes = [max(1, y.n_clusters - 1) / y.n_samples for y in labels]
        return replace(self, changes=float(self.data.weights @ sizes))

    def risk(self, labels: Sequence[EquivalenceMatrix]) -> Risk:
        samples, weights = self.data.samples, self.data.weights
        omega = self.objective.regularizer(self.settings.regularizer, self.settings.lam)
        risk = self.objective.risk(samples, labels, omega, self.settings.constraints, weights)
        if self.changes is None or not isinstance(risk, RegularizedRisk):
            return risk
        return replace(risk, sample_weight=weights / self.changes)


def calibrate_known(factor: Floats, data: TrainingSet) -> Calibration:
    return calibrate_partial(data.problem, factor, data.samples, data.labels, data.weights)


def check_labels(data: TrainingSet) -> bool:
    """Whether labels are partial; those that never say that anything changes are refused."""
    if data.complete.all():
        data.problem.learning.check(data.truths)
        return False
    for known in data.labels:
        constraint = known.constraint
        if known.n_changes or constraint.apart or len(constraint.together) > 1:
            return True
    raise DataError(
        "no label says that anything changes or differs: label a stretch with a change, or a "
        "region with at least one (-1 marks samples without a label: write classes -1 and 1 as 0 "
        "and 1)"
    )


def learn_partial(
    settings: Settings, data: TrainingSet, how: Alternation, callback: Callback | None
) -> FitResult:
    completes = how.max_rounds > 0 and settings.closed_form is None
    if completes:
        _refuse_untaken(data)
    alone = _learn_from_parts(settings, data)
    if alone is None and not completes:
        raise DataError(
            "no labelled stretch has a change, so nothing can be learned from them alone: "
            "complete the labels (max_rounds > 0) of a metric that is not in closed form"
        )
    if alone is not None and (not completes or alone.is_interrupted):
        return alone
    with Interrupts() as interrupts:
        try:
            with interrupts.released():
                return _learn_completing(settings, data, how, alone, interrupts, callback)
        except KeyboardInterrupt:
            if alone is None:
                raise
            warn_of_full_alone()
            return alone


def warn_of_full_alone() -> None:
    warn(
        "interrupted while labels were completed: what is learned is that of the full labels alone",
        ConvergenceWarning,
    )


def _learn_completing(
    settings: Settings,
    data: TrainingSet,
    how: Alternation,
    alone: FitResult | None,
    interrupts: Interrupts,
    callback: Callback | None,
) -> FitResult:
    """Go on from what was learned from the stretches alone, if it was anything."""
    safeguarded = alone is not None and how.safeguard
    if alone is not None and safeguarded and not _beats_no_change(settings, data):
        why = "on held-out stretches, the metric of the others is worse than predicting no change"
        return _without_completing(alone, data, why)
    plain = data.problem.learning.untrained_factor(data.samples, data.weights)
    units = _units(settings, data, plain) if alone is None else alone.units
    objective = data.problem.learning.objective(settings.metric, data.n_features)
    seen = replace(data, samples=all_made_by(data.samples, units))
    task = PartialRisk(settings, objective, seen)
    w = objective.weight_space().identity() if alone is None else alone.solution.w
    first = task.complete(w)
    found = alternate(
        task.scaled_to(first),
        settings.solver,
        first,
        w,
        max_rounds=how.max_rounds,
        callback=callback,
        backend=settings.backend,
    )
    solution, (B, price) = found.solution, objective.split(found.solution.w)
    is_whole = solution.status is not Status.INTERRUPTED
    is_zero = np.sum(metric_factor(B) ** 2) <= ZERO_METRIC * data.n_features
    if alone is not None and safeguarded and is_whole and is_zero:
        return _without_completing(alone, data, "completing ends in a zero metric")
    factor = units.restore(usable_factor(objective, solution, settings))
    known = partial(calibrate_known, data=data)
    calibration = calibrated(partial(known, factor), price, units.unit, interrupts)
    untrained = Metric(plain, units.unit)
    if not calibration.missing:
        untrained = calibrated(partial(known, plain), 1.0, units.unit, interrupts).metric(plain)
    metric, truths = calibration.metric(factor), list(found.labels)
    return FitResult(metric, calibration, solution, units, untrained, truths, found)


def _refuse_untaken(data: TrainingSet) -> None:
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


def _learn_from_parts(settings: Settings, data: TrainingSet) -> FitResult | None:
    """What the labelled stretches teach by themselves; None if nothing."""
    parts = data.parts
    teaches = len(parts) > 0 and any(M.n_clusters > 1 for M in parts.truths)
    if not teaches or not all(known.names_clusters for known in data.labels):
        return None
    with without_warnings(ConvergenceWarning, DataWarning):  # it is only where to start
        try:
            return learn(settings, parts)
        except LearningError:  # too little is labelled: a zero metric
            return None


def _beats_no_change(settings: Settings, data: TrainingSet) -> bool:
    """Whether the metric of half the stretches is no worse on the others than no change at all."""
    problem = data.problem
    labelled = [i for i, known in enumerate(data.labels) if known.part[0]]
    if len(labelled) < 2 or not problem.traits.contiguous:
        return True
    found, shares = [], []
    for chosen, rest in ((labelled[::2], labelled[1::2]), (labelled[1::2], labelled[::2])):
        some, others = data.at(chosen), data.at(rest)
        result = _learn_from_parts(settings, some)
        if result is None:
            continue
        if result.solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        factor = result.metric.factor
        metric = calibrate_known(factor, some).metric(factor)
        found.append(gain_over_nothing(problem, metric, others.samples, others.labels))
        shares.append(others.weights)
    if not found:
        return True
    gains, weights = np.concatenate(found), np.concatenate(shares)
    mean = float(np.average(gains, weights=weights))
    return not mean < -float(np.linalg.norm(weights * (gains - mean)) / weights.sum())


def _without_completing(alone: FitResult, data: TrainingSet, why: str) -> FitResult:
    """The metric of the stretches alone, with the price that finds changes as often as these."""
    warn(
        f"labels were not completed: {why}. The metric is that of the labelled stretches alone; "
        "label more, or longer ones",
        DataWarning,
    )
    factor = alone.metric.factor
    found = calibrate_to_rate(data.problem, factor, data.samples, data.labels, data.weights)
    return replace(alone, calibration=found, metric=found.metric(factor))


def _units(settings: Settings, data: TrainingSet, plain: Floats) -> LearningUnits:
    """The units of learning where no stretch teaches anything by itself."""
    problem, parts = data.problem, data.parts
    if not problem.traits.convex:
        return problem.learning.units(data.samples, [], Metric(plain, None), None, data.weights)
    whitening, unit, seen = None, None, data
    if settings.shrinkage is not None and len(parts):
        stretches = [sample.data for sample in parts.samples]
        whitening = within_whitening(stretches, parts.truths, settings.shrinkage, parts.weights)
        seen = replace(data, samples=all_made_by(data.samples, LearningUnits(whitening)))
    if len(parts) and not problem.traits.contiguous:
        unit = problem.learning.unit(seen.parts.samples, parts.truths, parts.weights)
    if unit is None:
        unit = calibrate_known(plain, seen).penalty
    return LearningUnits(whitening, unit)
