"""Learning a metric and its price from partial labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.data import Instance, map_arrays
from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    OracleError,
    said_by,
    warn,
    without_warnings,
)
from structsvm.learner.alternation import Alternated, alternate
from structsvm.learner.fitting import (
    ZERO_METRIC,
    Callback,
    FitResult,
    Settings,
    calibrated,
    closed_form_result,
    learn,
    usable_factor,
)
from structsvm.learner.training_set import NOTHING_SAID, TrainingSet
from structsvm.learner.truths import check_truths
from structsvm.parallel.by_name import spread
from structsvm.partitions import Constraint, EquivalenceMatrix, Examples, Metric, PartitionProblem
from structsvm.partitions.learning import LearningUnits, learning_units
from structsvm.partitions.metric import (
    Calibration,
    calibrate_by,
    in_metric,
    penalty_grid,
    total_scatter,
)
from structsvm.partitions.objective import Objective
from structsvm.problem import RegularizedRisk, Risk, Status, metric_factor
from structsvm.support import Floats, Interrupts, refuse_below
from structsvm.training_labels import Known

TIE_BREAK = 1e-4
"""What is added to losses, at most, to choose among equal ones: less than losses differ by."""


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
        refuse_below(0, "max_rounds", self.max_rounds)


def check_labels(data: TrainingSet) -> bool:
    """Return whether labels are partial; refuse partial labels in which nothing changes."""
    if data.complete.all():
        check_truths(data.problem.traits, data.truths)
        return False
    for known in data.labels:
        constraint = known.constraint
        if known.n_changes or constraint.apart or len(constraint.together) > 1:
            return True
    raise DataError(NOTHING_SAID)


def learn_partial(
    settings: Settings, data: TrainingSet, how: Alternation, callback: Callback | None
) -> FitResult:
    if settings.closed_form == "untrained":
        calibration, metric = untrained_known(data)
        return closed_form_result(calibration, metric, data.parts, 0.0)
    is_learned_alone = settings.closed_form is not None or settings.is_mean
    completes = how.max_rounds > 0 and not is_learned_alone
    if completes:
        _refuse_constraints(data)
    alone = _learn_from_parts(settings, data)
    if alone is None and not completes:
        raise DataError(
            "no labelled stretch has a change, so nothing can be learned from them alone: "
            "complete the labels (max_rounds > 0) of a metric that is not in closed form, nor a "
            "mean"
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
            warn_of_incomplete()
            return alone


def untrained_known(data: TrainingSet) -> tuple[Calibration, Metric]:
    """The untrained metric, with the price that agrees best with partial labels."""

    def make() -> tuple[Calibration, Metric]:
        unlabelled = Examples(data.instances, (), data.weights)
        factor = data.problem.closed_form("untrained", unlabelled)
        assert factor is not None
        calibration = calibrate_known(factor, data)
        return calibration, calibration.metric(factor)

    return data.once("untrained", make)


def warn_of_incomplete() -> None:
    """Warn that Ctrl-C ended the completion of labels, so that only full labels were used."""
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
    """Complete labels and learn, beginning with what labelled stretches ``alone`` taught."""
    safeguarded = alone if how.safeguard else None
    if safeguarded is not None and not _beats_no_change(settings, data):
        why = "on held-out stretches, the metric of the others is worse than predicting no change"
        return _without_completing(safeguarded, data, why)
    untrained = untrained_known(data)[1]
    units = _units(settings, data, untrained) if alone is None else alone.units
    objective = data.problem.objective(settings.metric, units.width(data.n_features))
    w = objective.weight_space().identity() if alone is None else alone.solution.w
    in_units = data.made_by(units)
    completed = complete_in_rounds(settings, objective, in_units, w, how.max_rounds, callback)
    solution = completed.solution
    B, price = objective.split(solution.w)
    is_whole = solution.status is not Status.INTERRUPTED
    is_zero = np.sum(metric_factor(B) ** 2) <= ZERO_METRIC * data.n_features
    if safeguarded is not None and is_whole and is_zero:
        return _without_completing(safeguarded, data, "completing ends in a zero metric")
    factor = units.restore(usable_factor(objective, solution, settings))
    known = partial(calibrate_known, factor, data)
    calibration = calibrated(known, price, units.unit, interrupts)
    metric = calibration.metric(factor)
    return FitResult(metric, calibration, solution, units, completed.labels, completed)


def complete_in_rounds(
    settings: Settings,
    objective: Objective,
    data: TrainingSet,
    w: Floats,
    max_rounds: int,
    callback: Callback | None = None,
    first: list[EquivalenceMatrix] | None = None,
) -> Alternated:
    """Alternate, in the units of learning, from labels completed by ``w``, or from ``first``."""
    problem = data.problem
    weights = data.weights
    omega = objective.regularizer(settings.regularizer, settings.lam)

    def complete(w: Floats) -> list[EquivalenceMatrix]:
        B, beta = objective.split(w)
        factor = metric_factor(B)
        convex = problem.traits.convex
        metric = Metric(factor, beta) if convex else calibrate_known(factor, data).metric(factor)
        return complete_labels(metric, data)

    labels = complete(w) if first is None else first
    changes = float(weights @ [max(1, y.n_clusters - 1) / y.n_samples for y in labels])

    def risk_of(labels: Sequence[Any]) -> Risk:
        """The risk, always divided by the changes of the first completions, to keep its scale."""
        examples = Examples(data.instances, labels, weights)
        risk = objective.risk(examples, omega, settings.constraints)
        if isinstance(risk, RegularizedRisk):
            return replace(risk, sample_weight=weights / changes)
        return risk

    solve = partial(settings.solver.solve, callback=callback, backend=settings.backend)
    return alternate(complete, risk_of, solve, labels, w, max_rounds)


def _refuse_constraints(data: TrainingSet) -> None:
    """Refuse partial labels that the decoder of the problem cannot satisfy."""
    problem = data.problem
    if not problem.traits.convex:
        return  # normalized cuts satisfy links, and all labels of their nodes are links
    for i, (instance, known) in enumerate(zip(data.instances, data.labels, strict=True)):
        if known.truth is not None:
            continue
        try:
            problem.decoder(instance).refuse(known.constraint, known.n_samples)
        except OracleError as error:
            raise DataError(problem.traits.words.numbered(i) + ": " + said_by(error)) from error


def _learn_from_parts(settings: Settings, data: TrainingSet) -> FitResult | None:
    """Learn from the labelled stretches alone; None if they teach nothing."""
    parts = data.parts
    teaches = len(parts) > 0 and any(M.n_clusters > 1 for M in parts.truths)
    if not teaches or not all(known.names_clusters for known in data.labels):
        return None
    with without_warnings(ConvergenceWarning, DataWarning):  # completing only starts from it
        try:
            return learn(settings, parts)
        except LearningError:  # too little is labelled: a zero metric
            return None


def _beats_no_change(settings: Settings, data: TrainingSet) -> bool:
    """Whether the metric of half the stretches is no worse on the others than no changes at all."""
    problem = data.problem
    labelled = [i for i, known in enumerate(data.labels) if known.part[0]]
    if len(labelled) < 2 or not problem.traits.contiguous:
        return True
    gains_of_halves = []
    weights_of_halves = []
    halves = labelled[::2], labelled[1::2]
    for learned, held_out in (halves, halves[::-1]):
        train = data.at(learned)
        test = data.at(held_out)
        result = _learn_from_parts(settings, train)
        if result is None:
            continue
        if result.solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        factor = result.metric.factor
        metric = calibrate_known(factor, train).metric(factor)
        gains_of_halves.append(_gains_over_no_change(metric, test))
        weights_of_halves.append(test.weights)
    if not gains_of_halves:
        return True
    gains = np.concatenate(gains_of_halves)
    weights = np.concatenate(weights_of_halves)
    mean = float(np.average(gains, weights=weights))
    return not mean < -float(np.linalg.norm(weights * (gains - mean)) / weights.sum())


def _without_completing(alone: FitResult, data: TrainingSet, why: str) -> FitResult:
    """The result of the labelled stretches, with a price that finds changes as often as in them."""
    warn(
        f"labels were not completed: {why}. The metric is that of the labelled stretches alone; "
        "label more, or longer ones"
    )
    factor = alone.metric.factor
    parts = data.parts
    changes = parts.weights @ [M.n_clusters - 1.0 for M in parts.truths]
    rate = changes / (parts.weights @ [M.n_samples - 1.0 for M in parts.truths])
    sizes = [known.n_samples - 1.0 for known in data.labels]
    expected = rate * np.average(sizes, weights=data.weights)
    by_loss = calibrate_known(factor, data)
    Zs = in_metric(data.instances, factor)
    oracles = [data.problem.decoder(x) for x in data.instances]
    changes_of = [lambda M: M.n_clusters - 1.0] * len(Zs)
    found = calibrate_by(oracles, Zs, changes_of, by_loss.penalties, data.weights).losses
    calibration = replace(by_loss, criterion=np.abs(np.log((found + 1.0) / (expected + 1.0))))
    return replace(alone, calibration=calibration, metric=calibration.metric(factor))


def _units(settings: Settings, data: TrainingSet, untrained: Metric) -> LearningUnits:
    """The units of learning if the labelled stretches alone teach nothing."""
    problem = data.problem
    parts = data.parts
    if not problem.traits.convex:
        return learning_units(problem, Examples(data.instances, (), data.weights), untrained, None)
    whitening = None
    unit = None
    whitened = data
    factor = untrained.factor
    if settings.whiten is not None and len(parts):
        whitening = settings.whiten(parts.examples)
        whitened = data.made_by(LearningUnits(whitening))
        factor = np.eye(whitening.shape[1])
    if len(parts) and not problem.traits.contiguous:
        unit = problem.unit(whitened.parts.examples)
    if unit is None:
        unit = calibrate_known(factor, whitened).penalty
    return LearningUnits(whitening, unit)


def calibrate_known(factor: Floats, data: TrainingSet) -> Calibration:
    """The price that agrees best with partial labels, in the metric ``L L^T``."""
    problem = data.problem
    instances = data.instances
    labels = data.labels
    traits = problem.traits
    weights = data.weights
    if not traits.convex and traits.given_k:
        return Calibration.of_counts(_count(problem, known) for known in labels)
    if not traits.convex or (not traits.contiguous and any(known.part[0] for known in labels)):
        return problem.calibrate(factor, data.known_parts(Instance.part))
    Zs = in_metric(instances, factor)
    scatter = np.average(map_arrays("measuring the samples", total_scatter, Zs), weights=weights)
    changes = np.average([max(1, known.n_changes) for known in labels], weights=weights)
    if not scatter > 0:
        return Calibration.of_one_cluster([known.n_changes for known in labels], weights)
    penalties = penalty_grid(float(scatter / changes))
    oracles = [problem.decoder(x) for x in instances]
    losses = [known.loss for known in labels]
    return _with_fewest_changes(calibrate_by(oracles, Zs, losses, penalties, weights))


def _with_fewest_changes(calibration: Calibration) -> Calibration:
    """Prefer the largest of the best prices if the smallest price is one of them.

    It is if labels ask for changes and forbid none, as those of a few scattered samples do.
    """
    tied = calibration.tied
    n = calibration.penalties.size
    if tied[0] > 0 or tied[-1] == n - 1:
        return calibration
    distance = np.abs(np.arange(n) - tied[-1]) / n
    return replace(calibration, criterion=calibration.losses + TIE_BREAK * distance)


def _gains_over_no_change(metric: Metric, data: TrainingSet) -> Floats:
    """By how much the loss of each instance is less than that of no change at all, (N,)."""
    counts = [_count(data.problem, known) for known in data.labels]
    tasks = [(x, K, Constraint()) for x, K in zip(data.instances, counts, strict=True)]
    guesses = spread("judging", _partition, tasks, (data.problem, metric))
    unchanged = [EquivalenceMatrix.from_labels(np.zeros(known.n_samples)) for known in data.labels]
    triples = zip(data.labels, unchanged, guesses, strict=True)
    return np.array([known.loss(whole) - known.loss(M) for known, whole, M in triples])


def complete_labels(metric: Metric, data: TrainingSet) -> list[EquivalenceMatrix]:
    pairs = list(zip(data.instances, data.labels, strict=True))
    tasks = [(x, k.constraint.n_clusters, k.constraint) for x, k in pairs if k.truth is None]
    completed = iter(spread("completing the labels", _partition, tasks, (data.problem, metric)))
    return [next(completed) if known.truth is None else known.truth for known in data.labels]


def _partition(
    task: tuple[Instance, int | None, Constraint], how: tuple[PartitionProblem, Metric]
) -> EquivalenceMatrix:
    (x, K, constraint), (problem, metric) = task, how
    return problem.partition(x, metric, K, constraint)


def _count(problem: PartitionProblem, known: Known) -> int | None:
    """The number of clusters to decode into; None if the price decides it."""
    if known.truth is None:
        return known.constraint.n_clusters
    traits = problem.traits
    return known.truth.n_clusters if traits.given_k and not traits.convex else None
