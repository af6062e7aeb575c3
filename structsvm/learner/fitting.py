"""The settings that parameters stand for, and learning a metric from full labels."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.data import STANDARDIZE, Instance, Words, apply_to_instances
from structsvm.errors import (
    DataError,
    LearningError,
    OracleWarning,
    SettingsError,
    nth,
    parameter,
    warn,
    wording,
)
from structsvm.features import RecordingTransformer
from structsvm.learner.closed_forms import SHRUNK, refuse_metric, tuned, whitening_of
from structsvm.learner.parameters import problem_from
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import Backend, backend_from
from structsvm.partitions import EquivalenceMatrix, Metric, PartitionProblem, Traits
from structsvm.partitions.learning import LearningUnits, Whitening, learning_units
from structsvm.partitions.metric import Calibration
from structsvm.partitions.objective import Objective
from structsvm.problem import (
    PSD,
    HistoryEntry,
    Outline,
    Regularizer,
    Risk,
    Solution,
    SquaredNorm,
    Status,
    Trace,
    check_lam,
    metric_factor,
)
from structsvm.solvers import Solver, solver_from
from structsvm.support import (
    Floats,
    Interrupts,
    among,
    asked,
    is_number,
    refuse_unless,
    refuse_unlisted,
    refuse_unstored,
    share,
)

LEARNED_KINDS = ("full", "diagonal")  # kinds of metrics that a structured SVM learns
IDLE = {"regularizer": "squared", "lam": None, "solver": "auto", "constraints": None}
"""Parameters that a metric in closed form has no use for, with their defaults."""
PART_OF_OLDA, SHRINKAGE_BESIDE = 0.3, 0.8
"""The weight of OLDA in the mean with a diagonal metric, and the shrinkage of its covariance there.
They were chosen on draws of five recordings of activities, of people on whom nothing is judged: the
loss was less by 0.14 +- 0.04, and on four other sets it differed by no more than chance."""
REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a metric, checked, whatever the data."""

    problem: PartitionProblem
    metric: str  # the cone of the metric: "full" or "diagonal"
    closed_form: str | None
    """The name of the metric in :mod:`structsvm.learner.closed_forms`, if nothing is learned."""
    regularizer: Regularizer  # the regularizer before it is weighted by ``lam``
    lam: float
    features: RecordingTransformer | None
    standardize: str | None
    shrinkage: float | None  # of the covariance in a closed form; None for the form's default
    whiten: Whitening | None
    """Computes the matrix by which features are multiplied before learning; None for none."""
    is_mean: bool
    """Whether the metric is the mean of the learned one and of OLDA."""
    solver: Solver
    constraints: Callable[[Any], list[Any]] | None
    backend: Backend

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> "Settings":
        refuse_unstored(parameters)
        problem = problem_from(parameters["problem"], parameters["random_state"])
        traits = problem.traits
        metric = parameters["metric"]
        refuse_metric(metric, traits, LEARNED_KINDS)
        closed_form = None
        if metric not in LEARNED_KINDS:
            refuse_idle(metric, parameters)
            closed_form, metric = metric, "full"
        features = features_from(parameters["features"])
        standardize = parameters["standardize"]
        if standardize == "auto":
            standardize = None if features is not None and features.scaled else traits.standardize
        refuse_unlisted("standardize", standardize, ("auto", *STANDARDIZE))
        whiten = whiten_for(parameters["whiten"], metric, closed_form is None, traits)
        is_mean = whiten == "olda" and metric == "diagonal"
        lam = traits.lam if parameters["lam"] is None else parameters["lam"]
        check_lam(lam)
        regularizer = regularizer_from(parameters["regularizer"])
        settings = cls(
            problem=problem,
            metric=metric,
            closed_form=closed_form,
            regularizer=regularizer,
            lam=float(lam),
            features=features,
            standardize=standardize,
            shrinkage=None if whiten is None or closed_form is None else float(whiten),
            whiten=whitening_of(None if closed_form or is_mean else whiten),
            is_mean=is_mean,
            solver=solver_from(parameters["solver"], convex=traits.convex),
            constraints=parameters["constraints"],
            backend=backend_from(parameters["backend"], parameters["n_jobs"]),
        )
        # Settings that the solver cannot minimise for any data are refused before these are read.
        center = np.asarray(getattr(regularizer, "center", 0.0))
        objective = problem.objective(metric, len(np.atleast_1d(center)))
        omega = objective.regularizer(regularizer, settings.lam)
        space = objective.weight_space()
        outline = Outline(space, omega, settings.constraints, 1, traits.convex)
        settings.solver.check(outline)
        return settings


def features_from(features: Any) -> RecordingTransformer | None:
    """The features of a metric, checked."""
    wanted = "a transformer of structsvm.features or None (Rows(...) takes those of scikit-learn)"
    fits = features is None or isinstance(features, RecordingTransformer)
    refuse_unless(fits, "features", wanted, features)
    return features if isinstance(features, RecordingTransformer) else None


def whiten_for(whiten: Any, metric: str, is_learned: bool, traits: Traits) -> Any:
    """How features of a metric are whitened: "olda", a shrinkage or None; or refuse it."""
    if whiten == "auto":
        whiten = traits.shrinkage if metric == "full" and is_learned else None
    is_olda = isinstance(whiten, str) and whiten == "olda" and is_learned
    fits = whiten is None or (is_number(whiten) and 0 <= whiten <= 1)
    wanted = "'auto', 'olda' for a learned metric, None or a shrinkage in [0, 1]"
    refuse_unless(fits or is_olda, "whiten", wanted, whiten)
    if is_olda:
        refuse_metric("olda", traits)
    elif whiten is not None and metric == "diagonal":
        raise SettingsError(
            "whitening mixes the features, and a diagonal metric weights each one alone: use "
            + parameter("metric", "full")
            + " or "
            + parameter("whiten", None)
        )
    return whiten


def refuse_idle(metric: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of learning for a metric in closed form."""
    idle = [name for name, usual in IDLE.items() if parameters[name] != usual]
    if metric not in SHRUNK and parameters["whiten"] not in ("auto", None):
        idle.append("whiten")
    if idle:
        raise SettingsError(
            parameter("metric", metric)
            + f" minimises no objective, so that {', '.join(idle)} does nothing: leave it out"
        )


def regularizer_from(name: str | Regularizer) -> Regularizer:
    if isinstance(name, Regularizer):
        return name
    wanted = f"one of {sorted(REGULARIZERS)} or a Regularizer"
    refuse_unless(among(name, REGULARIZERS), "regularizer", wanted, name)
    return REGULARIZERS[name]


# ---- learning from full labels


ZERO_METRIC = 1e-8
"""Tr B / P below which a metric is zero up to the accuracy of a solver; 1 is untrained."""
NOT_RESUMED = (
    parameter("resume")
    + " keeps one convex problem: it is not for partial labels, nor for a closed form"
)
INEXACT = 1e-6  # relative difference of two scores that is still rounding
CHECKED = 10  # training instances, at most, that are partitioned to check a problem
BEGUN_BY, SOLVED_BY = 0.15, 0.85
"""The share of the time, about, after which the untrained metric is known, and the learned one."""
logger = logging.getLogger("structsvm")
Callback = Callable[[HistoryEntry], None]


@dataclass(frozen=True, eq=False)
class FitResult:
    """A metric of the standardised features, with its price, solution, units and labels."""

    metric: Metric
    calibration: Calibration
    solution: Solution
    units: LearningUnits
    truths: Sequence[EquivalenceMatrix]
    """The labels that were learned from, completed where they were partial."""
    alternated: Any = None  # of partial labels, how they were completed

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended learning, or the calibration of the price."""
        return self.solution.status is Status.INTERRUPTED or self.calibration.missing


@dataclass(frozen=True, eq=False)
class FitState:
    """The objective of standardised instances with full labels; ``lam`` is in its regularizer."""

    data: TrainingSet
    objective: Objective
    units: LearningUnits
    risk: Risk

    @classmethod
    def of(
        cls, settings: Settings, data: TrainingSet, untrained: Metric | None = None
    ) -> "FitState":
        """The objective, in the units in which the untrained metric is the identity."""
        problem = data.problem
        examples = data.examples
        if settings.closed_form is not None:
            raise SettingsError("a metric in closed form minimises no objective: learn another one")
        refuse_gaps(settings, data.instances, data.problem.traits.words)
        if untrained is None:
            untrained = untrained_of(data)[1]
        units = learning_units(problem, examples, untrained, settings.whiten)
        objective = problem.objective(settings.metric, units.width(data.n_features))
        omega = objective.regularizer(settings.regularizer, settings.lam)
        scaled = replace(examples, instances=apply_to_instances(data.instances, units))
        risk = objective.risk(scaled, omega, settings.constraints)
        return cls(data, objective, units, risk)

    def result(
        self, settings: Settings, solution: Solution, interrupts: Interrupts | None = None
    ) -> FitResult:
        data = self.data
        units = self.units
        factor = units.restore(usable_factor(self.objective, solution, settings))
        price = self.objective.split(solution.w)[1]
        unit = units.unit
        if settings.is_mean:
            factor = mean_with_olda(factor, data)
            price = unit = 1.0
        task = partial(data.problem.calibrate, factor, data.examples)
        calibration = calibrated(task, price, unit, interrupts)
        return FitResult(calibration.metric(factor), calibration, solution, units, data.truths)


def mean_with_olda(factor: Floats, data: TrainingSet) -> Floats:
    """The mean of a metric and of OLDA, each divided by its price."""
    own = data.problem.calibrate(factor, data.examples).penalty
    calibration, olda = tuned("olda", data.problem, data.examples, SHRINKAGE_BESIDE)
    parts = [(factor, (1 - PART_OF_OLDA) / own), (olda.factor, PART_OF_OLDA / calibration.penalty)]
    return np.hstack([math.sqrt(weight) * part for part, weight in parts])


def learn(
    settings: Settings,
    data: TrainingSet,
    resume: str | PathLike[str] | None = None,
    callback: Callback | None = None,
) -> FitResult:
    if settings.closed_form is not None:
        return in_closed_form(settings, data)
    with Interrupts() as interrupts:
        with interrupts.released(), share("the untrained metric", 0.0, BEGUN_BY):
            state = FitState.of(settings, data)
        with share("the metric", BEGUN_BY, SOLVED_BY):
            solution = settings.solver.solve(
                state.risk, callback, backend=settings.backend, resume=resume
            )
        with share("its price", SOLVED_BY, 1.0):
            result = state.result(settings, solution, interrupts)
        if solution.status is Status.OPTIMAL and data.problem.traits.convex:
            _check_inference(data, result.metric)
        return result


def refuse_gaps(settings: Settings, instances: Sequence[Instance], words: Words) -> None:
    """Refuse missing values for a metric that mixes features."""
    gaps = [i for i, instance in enumerate(instances) if instance.has_gaps]
    mixes = settings.metric == "full" or settings.is_mean
    if gaps and mixes and settings.closed_form != "untrained":
        raise DataError(
            words.numbered(gaps[0])
            + " has missing values, and a full metric mixes features: masked values take "
            + (parameter("whiten", None) if settings.is_mean else parameter("metric", "diagonal"))
            + ", a full metric interpolated ones"
        )


def in_closed_form(settings: Settings, data: TrainingSet) -> FitResult:
    refuse_gaps(settings, data.instances, data.problem.traits.words)
    begun = time.perf_counter()
    name = str(settings.closed_form)
    if name == "untrained":
        calibration, metric = untrained_of(data)
    else:
        calibration, metric = tuned(name, data.problem, data.examples, settings.shrinkage)
    return closed_form_result(calibration, metric, data, time.perf_counter() - begun)


def closed_form_result(
    calibration: Calibration, metric: Metric, data: TrainingSet, seconds: float
) -> FitResult:
    solution = Solution(
        w=PSD(metric.factor.shape[0]).from_metric(metric.matrix),
        lower=-math.inf,
        upper=math.inf,
        certified_upper=math.inf,
        null=math.inf,
        status=Status.CLOSED_FORM,
        n_iter=0,
        oracle_calls=0,
        seconds=seconds,
        bound="nothing",
    )
    return FitResult(metric, calibration, solution, LearningUnits(None), data.truths)


def untrained_of(data: TrainingSet) -> tuple[Calibration, Metric]:
    """The untrained metric of standardised instances, with the price that suits their labels."""
    return data.once("untrained", lambda: tuned("untrained", data.problem, data.examples))


def _check_inference(data: TrainingSet, metric: Metric) -> None:
    problem = data.problem
    pairs = list(zip(data.instances, data.truths, strict=True))[:CHECKED]
    for i, (instance, truth) in enumerate(pairs):
        K = truth.n_clusters if metric.price is None else None
        with asked(problem, "partition", problem.traits.words.numbered(i)):
            guess = problem.partition(instance, metric, K)
        score = metric.objective(instance, K)
        missed = score.value(truth) - score.value(guess)
        size = float(np.nansum(score.Z**2))
        if is_missed(f"{type(problem).__name__}.partition", i, missed, size):
            return


def is_missed(name: str, i: int, missed: float, size: float) -> bool:
    """Warn, and return True, if the score of a prediction is below that of the truth."""
    if missed <= INEXACT * size:
        return False
    warn(
        nth("instance", i)
        + f": {name} found a labelling whose score is {missed:.3g} less than that of the "
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
    """``L`` of the learned metric; warn if learning did not converge, refuse a zero metric."""
    logger.info("%s", solution.summary())
    L = metric_factor(objective.split(solution.w)[0])
    status = solution.status
    is_zero = np.sum(L**2) <= ZERO_METRIC * len(L)
    if is_zero and status is Status.INTERRUPTED:
        raise KeyboardInterrupt("before there was a metric to save")
    if not status.converged:
        warn(solution.summary(), ConvergenceWarning)
    if not is_zero:
        return L
    traits = settings.problem.traits
    way_out = f"lower lam, or check that the labelled {traits.words.part}s differ in "
    if traits.contiguous:
        way_out += "the means of the features; a change of spread shows in " + wording(
            "features=HermiteMoments()", of_files=parameter("context", "moments")
        )
    else:
        way_out += "the features"
    if status in (Status.MAX_ITER, Status.MAX_SECONDS, Status.MAX_CALLS):
        way_out = "let it run longer"
    raise LearningError(
        "the best metric found is zero, so it separates nothing ("
        + parameter("lam", settings.lam)
        + f", {status.value}): "
        + way_out,
        status,
    )
