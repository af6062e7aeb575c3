"""How to learn: what the parameters stand for, and learning from full labels."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import all_made_by
from structsvm.data.samples import STANDARDIZE
from structsvm.errors import DataError, LearningError, OracleWarning, SettingsError, refuse, warn
from structsvm.features import RecordingTransformer
from structsvm.learner.training_set import TrainingSet
from structsvm.messages import nth, parameter, wording
from structsvm.parallel import Backend, backend_from
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import LearningUnits, Objective, Traits
from structsvm.partitions.metric import Calibration, Metric, metric_factor
from structsvm.partitions.plugins import problem_class, problem_names
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import Outline, Risk
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import Regularizer, SquaredNorm, Trace, check_lam
from structsvm.solvers.auto import solver_from
from structsvm.solvers.base import Solver
from structsvm.status import HistoryEntry, Solution, Status
from structsvm.support.arrays import Floats
from structsvm.support.checks import (
    among,
    is_number,
    meant,
    refuse_bad_seed,
    refuse_unless,
    refuse_unlisted,
)
from structsvm.support.codec import refuse_unstored
from structsvm.support.contract import asked, raise_wrong, settings_in
from structsvm.support.interrupts import Interrupts
from structsvm.support.progress import share
from structsvm.weights import PSD

CLOSED_FORM, CLOSED_FORMS = "closed-form", ("olda", "rca")
USUAL = {"regularizer": "squared", "lam": None, "whiten": None, "solver": None, "constraints": None}
"""Values, beside "auto", of the parameters that say nothing about a metric in closed form."""

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}


@dataclass(frozen=True, eq=False)
class Settings:
    """How to learn, whatever the data."""

    problem: PartitionProblem
    metric: str
    """The cone of the metric: "full" or "diagonal"."""
    closed_form: str | None
    """The name of the metric in :mod:`structsvm.baselines.metrics`, if nothing is learned."""
    regularizer: Regularizer
    """The regularizer before it is weighted by ``lam``."""
    lam: float
    features: RecordingTransformer | None
    standardize: str | None
    shrinkage: float | None
    """Shrinkage of the whitening; None for no whitening."""
    solver: Solver
    constraints: Callable[[Any], list[Any]] | None
    backend: Backend

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        refuse_unstored(parameters)
        problem = problem_from(parameters["problem"], parameters["random_state"])
        traits, metric, features = problem.traits, parameters["metric"], parameters["features"]
        refuse_unlisted("metric", metric, ("full", "diagonal", CLOSED_FORM))
        closed_form = None
        if metric == CLOSED_FORM:
            closed_form, metric = closed_form_of(problem, parameters), "full"
        standardize = parameters["standardize"]
        wanted = (
            "a transformer of structsvm.features or None (Rows(...) takes those of scikit-learn)"
        )
        fits = features is None or isinstance(features, RecordingTransformer)
        refuse_unless(fits, "features", wanted, features)
        if standardize == "auto":
            standardize = None if features is not None and features.scaled else traits.standardize
        refuse_unlisted("standardize", standardize, ("auto", *STANDARDIZE))
        whiten = parameters["whiten"]
        if whiten == "auto":
            whiten = traits.shrinkage if metric == "full" and closed_form is None else None
        fits = whiten is None or (is_number(whiten) and 0 <= whiten <= 1)
        refuse_unless(fits, "whiten", "'auto', None or a shrinkage in [0, 1]", whiten)
        if whiten is not None and metric == "diagonal":
            raise SettingsError(
                "whitening mixes the features, and a diagonal metric weights each one alone: use "
                + parameter("metric", "full")
                + " or "
                + parameter("whiten", None)
            )
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
            shrinkage=None if whiten is None else float(whiten),
            solver=solver_from(parameters["solver"], convex=traits.convex),
            constraints=parameters["constraints"],
            backend=backend_from(parameters["backend"], parameters["n_jobs"]),
        )
        # What does not suit any data is refused before they are read.
        center = np.asarray(getattr(regularizer, "center", 0.0))
        objective = problem.learning.objective(metric, len(np.atleast_1d(center)))
        omega = objective.regularizer(regularizer, settings.lam)
        of_any = (settings.constraints, 1, traits.convex)
        settings.solver.check(Outline(objective.weight_space(), omega, *of_any))
        return settings


def closed_form_of(problem: PartitionProblem, parameters: Mapping[str, Any]) -> str:
    """The name of the closed form for a problem: OLDA for segments, RCA for clusters."""
    known = [name for name in CLOSED_FORMS if name in problem.traits.baselines]
    idle = [k for k, usual in USUAL.items() if parameters[k] not in ("auto", usual)]
    refuse(
        SettingsError,
        (
            not known,
            parameter("metric", CLOSED_FORM)
            + f" is for complete recordings and tables: learn a metric of {problem!r}",
        ),
        (
            idle,
            parameter("metric", CLOSED_FORM)
            + f" minimises no objective, so that {', '.join(idle)} does nothing: leave it out",
        ),
    )
    return known[0]


def problem_from(problem: Any, random_state: int | None) -> PartitionProblem:
    problem = named_problem(problem)
    if not isinstance(problem, PartitionProblem):
        raise SettingsError(
            f"problem must be a PartitionProblem such as ChangePoint(), got {problem!r}"
            + (f": make an instance, {problem.__name__}()" if isinstance(problem, type) else "")
        )
    traits: object = problem.traits
    if not isinstance(traits, Traits):
        raise_wrong(problem, "traits", traits, "an instance of Traits")
    if random_state is not None:
        refuse_bad_seed(random_state)
    if random_state is None or "random_state" not in settings_in(problem):
        return problem
    return replace(problem, random_state=int(random_state))  # type: ignore[type-var]


def regularizer_from(name: str | Regularizer) -> Regularizer:
    if isinstance(name, Regularizer):
        return name
    wanted = f"one of {sorted(REGULARIZERS)} or a Regularizer"
    refuse_unless(among(name, REGULARIZERS), "regularizer", wanted, name)
    return REGULARIZERS[name]


class ProblemParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator with a parameter ``problem``, a frozen dataclass whose settings are searched."""

    problem: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = super().get_params(deep=deep)
        with suppress(SettingsError):  # of a name that stands for nothing, which fit refuses
            found |= _settings(named_problem(self.problem), "problem") if deep else {}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, settings of the problem among them, as in scikit-learn.

        Raises
        ------
        SettingsError
            When the problem has no such setting, or does not take the value.
        """
        mark = "problem__"
        own = {name.removeprefix(mark): v for name, v in params.items() if name.startswith(mark)}
        super().set_params(**{name: v for name, v in params.items() if not name.startswith(mark)})
        if own:
            self.problem = _with(named_problem(self.problem), own)
        return self


def named_problem(problem: Any) -> Any:
    """The problem of a name, with its usual settings; that of change points by default."""
    if not isinstance(problem, str):
        return ChangePoint() if problem is None else problem
    names = problem_names()
    if problem not in names:
        raise SettingsError(
            f"problem must be a PartitionProblem such as ChangePoint(), or one of "
            f"{', '.join(names)}, got {problem!r}{meant(problem, names)}"
        )
    try:
        return problem_class(problem)()
    except TypeError as error:
        raise SettingsError(
            f"problem {problem!r} needs settings, make an instance: {error}"
        ) from error


def _settings(value: Any, name: str) -> dict[str, Any]:
    """The settings of a dataclass by name, those of dataclasses inside of it as well."""
    found: dict[str, Any] = {}
    for setting, inner in settings_in(value).items():
        path = f"{name}__{setting}"
        found |= {path: inner, **_settings(inner, path)}
    return found


def _with(value: Any, given: Mapping[str, Any]) -> Any:
    """A dataclass with other settings, by name; ``a__b`` is the setting b of its setting a."""
    known, inside = settings_in(value), dict[str, dict[str, Any]]()
    changed: dict[str, Any] = {}
    for path, setting in given.items():
        name, _, rest = path.partition("__")
        if name not in known:
            has = ", ".join(known) or "none"
            raise SettingsError(
                f"problem: {type(value).__name__} has no setting {name!r}, it has {has}"
            )
        if rest:
            inside.setdefault(name, {})[rest] = setting
        else:
            changed[name] = setting
    for name, settings in inside.items():
        changed[name] = _with(changed.get(name, known[name]), settings)
    return replace(value, **changed)


# ---- learning from full labels


ZERO_METRIC = 1e-8
"""Tr B / P below which a metric is zero up to the accuracy of a solver; 1 is untrained."""

NOT_RESUMED = (
    parameter("resume")
    + " keeps one convex problem: it is not for partial labels, nor for a closed form"
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
    alternated: Any = None
    """Of partial labels, how they were completed."""

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
        problem, given = data.problem, data.examples
        if settings.closed_form is not None:
            raise SettingsError("a metric in closed form minimises no objective: learn another one")
        gaps = [i for i, sample in enumerate(data.samples) if sample.has_gaps]
        if settings.metric == "full" and gaps:
            raise DataError(
                problem.traits.words.numbered(gaps[0])
                + " has missing values, and a full metric mixes features: masked values take "
                + parameter("metric", "diagonal")
                + ", a full metric interpolated ones"
            )
        if untrained is None:
            untrained = problem.learning.untrained(given)
        units = problem.learning.units(given, untrained, settings.shrinkage)
        objective = problem.learning.objective(settings.metric, data.n_features)
        omega = objective.regularizer(settings.regularizer, settings.lam)
        scaled = replace(given, samples=all_made_by(data.samples, units))
        risk = objective.risk(scaled, omega, settings.constraints)
        return cls(data, objective, untrained, units, risk)

    def result(
        self, settings: Settings, solution: Solution, interrupts: Interrupts | None = None
    ) -> FitResult:
        data, units = self.data, self.units
        factor = units.restore(usable_factor(self.objective, solution, settings))
        task = partial(data.problem.learning.calibrate, factor, data.examples)
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
    begun, problem = time.perf_counter(), data.problem
    factor = tuned_metrics.closed_form(name, problem, data.examples)
    if not factor.any():
        words = problem.traits.words
        raise LearningError(
            f"the labelled {words.part}s have the same means, so that the metric is zero: check "
            f"the labels, or use features in which the {words.part}s differ",
            Status.CLOSED_FORM,
        )
    calibration = problem.learning.calibrate(factor, data.examples)
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
    untrained = problem.learning.untrained(data.examples)
    metric, units = calibration.metric(factor), LearningUnits(None)
    return FitResult(metric, calibration, solution, units, untrained, data.truths)


def _check_inference(data: TrainingSet, metric: Metric) -> None:
    problem = data.problem
    pairs = list(zip(data.samples, data.truths, strict=True))[:CHECKED]
    for i, (sample, truth) in enumerate(pairs):
        K = truth.n_clusters if metric.price is None else None
        with asked(problem, "partition", problem.traits.words.numbered(i)):
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
        nth("sample", i)
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
