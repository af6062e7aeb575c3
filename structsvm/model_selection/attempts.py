"""How metrics, a path of metrics and other methods are tried in a fold."""

import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import (
    DataError,
    DataWarning,
    LearningError,
    MasterError,
    among,
    without_warnings,
)
from structsvm.learner import Method, TrainingSet
from structsvm.learner.closed_forms import tuned
from structsvm.learner.fitting import FitState, Settings, refuse_gaps
from structsvm.learner.stages import Inputs
from structsvm.learner.truths import check_truths
from structsvm.model_selection.folds import (
    FEWEST_INNER,
    Fold,
    InstancesAndStates,
    Trial,
    cross_fitted,
    in_folds,
)
from structsvm.partitions import Metric
from structsvm.problem import Status
from structsvm.solvers import Memory
from structsvm.support import Ints, share, stage

Whole = tuple[TrainingSet, Sequence[Ints]]
"""All instances, and which of them each fold holds out."""

Tried = tuple[list[list["Trial"]], Any]
"""Trials of the candidates of a task in each of some folds, and a learner of all instances or
None."""


def try_metrics(metrics: Mapping[Method, Settings], fold: Fold) -> list[Trial]:
    """Try metrics of the same features: all closed forms, or a learned one for each ``lam``."""
    start = time.perf_counter()
    settings = next(iter(metrics.values()))
    try:
        with without_warnings(DataWarning):
            fit = partial(Inputs.fit, settings.features, settings.standardize)
            inputs, train = cross_fitted(fit, fold.folded, fold.train)
            seen = inputs(fold.test.instances), inputs.states
            train = train.parts  # metrics do not use samples without labels, as features do
            _refuse_no_stretch(train)
    except (DataError, LearningError) as error:
        if any(c.name == "untrained" for c in metrics):  # which the others have to beat
            error.add_note(f"in fold {fold.number}")
            with among():  # numbers of recordings are those within the fold
                raise
        return [fold.failed(error, start) for _ in metrics]
    sees = id(settings.features), settings.standardize
    if sees not in fold.untrained:
        fold.untrained[sees] = tuned("untrained", train.problem, train.examples)[1]
    untrained = fold.untrained[sees]
    trials = []
    for c, own in metrics.items():
        start = time.perf_counter()
        try:
            for instances in (train.instances, seen[0]):
                refuse_gaps(own, instances, train.problem.traits.words)
        except DataError as error:
            trials.append(fold.failed(error, start))
            continue
        if c.has_path:
            return _try_path([*metrics.values()], train, untrained, seen, fold)
        name = str(own.closed_form)
        try:
            metric = untrained
            if name != "untrained":
                metric = tuned(name, train.problem, train.examples, own.shrinkage)[1]
        except LearningError as error:  # such as that no labelled stretch has a change
            trials.append(fold.failed(error, start))
            continue
        trials.append(fold.trial_of(metric, seen, time.perf_counter() - start))
    return trials


def _refuse_no_stretch(parts: TrainingSet) -> None:
    words = parts.problem.traits.words
    if not len(parts):
        raise DataError(
            f"methods are compared on {words.item}s next to each other that have labels, and there "
            f"are none to learn from: label some {words.whole}s without gaps, or fit a "
            "MetricLearner, which completes labels"
        )


def _try_path(
    path: Sequence[Settings],
    train: TrainingSet,
    untrained: Metric,
    seen: InstancesAndStates,
    fold: Fold,
) -> list[Trial]:
    """Try one kind of learned metric for each ``lam``, each from the cuts of those before."""
    trials = []
    start = time.perf_counter()
    # Warnings, such as of one recording alone, are about the fold and not about all data.
    with without_warnings(DataWarning, ConvergenceWarning):
        try:
            check_truths(train.problem.traits, train.truths)
            state = FitState.of(path[0], train, untrained)
        except (DataError, LearningError) as error:
            return [fold.failed(error, start) for _ in path]
        memory = Memory() if train.problem.traits.convex else None
        for settings in stage("lam", path):
            start = time.perf_counter()
            try:
                with share("the metric", 0.0, 0.5):
                    omega = state.objective.regularizer(settings.regularizer, settings.lam)
                    risk = replace(state.risk, regularizer=omega)  # type: ignore[type-var]
                    solution = settings.solver.solve(risk, memory=memory)
                if solution.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt("while choosing a metric")
                with share("its price", 0.5, 1.0):
                    metric = state.result(settings, solution).metric
            except (LearningError, MasterError) as error:
                trials.append(fold.failed(error, start, refused=False))
                continue
            trial = fold.trial_of(
                metric,
                seen,
                time.perf_counter() - start,
                converged=solution.status.converged,
                oracle_calls=solution.oracle_calls,
            )
            trials.append(trial)
    return trials


def try_method(method: Method, fold: Fold) -> list[Trial]:
    """Try a candidate that is no metric, which learns from the instances as measured."""
    start = time.perf_counter()
    try:
        with without_warnings(DataWarning):
            learner = cross_fitted(method.learned_from, fold.folded, fold.train)
        seconds = time.perf_counter() - start
        seen = learner.inputs_(fold.test.instances), learner.classes_
        return [fold.trial_of(learner.model_, seen, seconds)]
    except (DataError, LearningError) as error:
        return [fold.failed(error, start)]


def try_at_once(method: Method, whole: Whole, folds: Sequence[Fold]) -> Tried:
    """Try a learner that holds out the folds itself, so that it is fitted once for all of them."""
    start = time.perf_counter()
    (data, held_out) = whole
    fold_of = np.full(len(data), -1)
    for k, which in enumerate(held_out):
        fold_of[which] = k
    learner = copy(method.learner)
    if getattr(learner, "n_folds", None) is not None:
        data = in_folds(data, fold_of, FEWEST_INNER + 1)
    try:
        with without_warnings(DataWarning, ConvergenceWarning):
            instances, models = learner.learn_held_out(data)
    except (DataError, LearningError) as error:
        return [[fold.failed(error, start)] for fold in folds], None
    trials = []
    for fold, which in zip(folds, held_out, strict=True):
        seen = [instances[i] for i in which.tolist()], learner.classes_
        own = [models[i] for i in which.tolist()]
        seconds = (time.perf_counter() - start) / len(folds)
        trials.append([fold.trial_of(own, seen, seconds)])
    return trials, learner
