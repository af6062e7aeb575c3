"""Candidates tuned on some recordings and tried on others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm import baselines
from structsvm.errors import DataWarning, LearningError, MasterError
from structsvm.learner.fitting import FitState
from structsvm.learner.inputs import Inputs
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import disagreement
from structsvm.solvers.memory import Memory
from structsvm.status import Status
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings

__all__ = ["Fold", "Trial", "try_fixed", "try_path"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on."""

    train: TrainingSet
    test: TrainingSet

    def losses(self, inputs: Inputs, metric: Metric) -> Floats:
        """What :attr:`Trial.losses` says, of a metric of what ``inputs`` make of the samples."""
        problem, truths = self.test.problem, self.test.truths
        found = np.empty((len(self.test), 2))
        for i, (sample, truth) in enumerate(zip(inputs(self.test.samples), truths, strict=True)):
            for column, K in enumerate((None, truth.n_clusters)):
                given = truth.n_clusters if metric.price is None else K
                guess = metric.decode(problem, sample, given)
                found[i, column] = disagreement(problem, truth, guess)
        return found


@dataclass(frozen=True, eq=False)
class Trial:
    """What became of a candidate that was tuned on some recordings and tried on others."""

    losses: Floats
    """Of each held-out recording, (n, 2): segmented by the penalty, and with K given; NaN if the
    candidate failed. See :func:`structsvm.partitions.problem.disagreement`."""
    seconds: float
    """To learn and to calibrate, beginning with what the larger ``lam`` of a path found."""
    converged: bool = True
    oracle_calls: int = 0
    failure: str = ""
    """Why there is no metric."""


def try_fixed(
    names: Sequence[str], settings: Settings, fold: Fold
) -> dict[str, tuple[Metric, Trial]]:
    """The candidates that are not learned, once for a fold."""
    inputs, data = _inputs(settings, fold)
    found = {}
    for name in names:
        start = time.perf_counter()
        metric = baselines.fit(name, data.problem, data.samples, data.truths, weights=data.weights)
        seconds = time.perf_counter() - start
        found[name] = metric, Trial(fold.losses(inputs, metric), seconds)
    return found


def try_path(path: Sequence[Settings], fold: Fold, untrained: Metric) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, the largest first.

    Each ``lam`` begins with the cuts of the one before; its certificate is its own.

    Parameters
    ----------
    path : sequence of Settings
        The same but for ``lam``.
    untrained : Metric
        As :func:`try_fixed` found it.
    """
    # One recording in a fold, or a feature that is constant there, is told once for all.
    with without_warnings(DataWarning, ConvergenceWarning):
        fold.train.problem.check_training(fold.train.truths)
        inputs, data = _inputs(path[0], fold)
        path[0].check(data.n_features, len(data))
        state = FitState.of(path[0], data, untrained)
        memory = Memory() if data.problem.traits.convex else None
        return [_tried(settings, state, memory, inputs, fold) for settings in stage("lam", path)]


def _inputs(settings: Settings, fold: Fold) -> tuple[Inputs, TrainingSet]:
    with without_warnings(DataWarning):
        return Inputs.fit(settings.features, settings.standardize, fold.train)


def _tried(
    settings: Settings, state: FitState, memory: Memory | None, inputs: Inputs, fold: Fold
) -> Trial:
    """One step of a path."""
    start = time.perf_counter()
    risk = state.risk_of(settings)
    try:
        solution = settings.solver.solve(risk, memory=memory)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt("while choosing a metric")
        result = state.result(settings, risk, solution)
    except (LearningError, MasterError) as error:
        nothing = np.full((len(fold.test), 2), np.nan)
        return Trial(nothing, time.perf_counter() - start, failure=str(error))
    seconds = time.perf_counter() - start
    losses = fold.losses(inputs, result.metric)
    return Trial(losses, seconds, solution.status.converged, solution.oracle_calls)
