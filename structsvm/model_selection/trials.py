"""Candidates tuned on some recordings and tried on others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataWarning, LearningError, MasterError
from structsvm.learner.fitting import FitPlan, FitState
from structsvm.learner.settings import learning_from
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection.candidates import BASELINES
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import disagreement
from structsvm.partitions.samples import Standardizer, warn_about_constant_features
from structsvm.solvers.memory import Memory
from structsvm.status import Status
from structsvm.support.quiet import without_warnings

__all__ = ["Fold", "Trial", "try_fixed", "try_path"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on."""

    train: TrainingSet
    test: TrainingSet

    def losses(self, standardizer: Standardizer, metric: Metric) -> Floats:
        """What :attr:`Trial.losses` says, of a metric of the standardised features."""
        partition = self.test.partition
        found = np.empty((len(self.test), 2))
        for i, (X, truth) in enumerate(zip(self.test.arrays, self.test.truths, strict=True)):
            Z = standardizer(X)
            for column, K in enumerate((None, truth.n_clusters)):
                guess = metric.decode(partition.decoder, Z, K)
                found[i, column] = disagreement(partition, truth, guess)
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
    names: Sequence[str], standardize: str | None, fold: Fold
) -> dict[str, tuple[Metric, Trial]]:
    """The candidates that are not learned, once for a fold."""
    standardizer = fold.train.standardizer(standardize)
    data = fold.train.standardized(standardizer)
    found = {}
    for name in names:
        start = time.perf_counter()
        decoder = data.partition.decoder
        metric = BASELINES[name](decoder, data.arrays, data.truths, weights=data.weights)
        seconds = time.perf_counter() - start
        found[name] = metric, Trial(fold.losses(standardizer, metric), seconds)
    return found


def try_path(path: Sequence[Mapping[str, Any]], fold: Fold, untrained: Metric) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, the largest first.

    Each ``lam`` begins with the cuts of the one before; its certificate is its own.

    Parameters
    ----------
    path : sequence of mappings
        Parameters of :class:`structsvm.MetricLearner`, the same but for ``lam``.
    untrained : DecodingMetric
        As :func:`try_fixed` found it.
    """
    train = fold.train
    # One recording in a fold, or a feature that is constant there, is told once for all.
    with without_warnings(DataWarning, ConvergenceWarning):
        train.partition.check_training(train.truths)
        warn_about_constant_features(train.arrays, train.names, train.partition.words)
        standardizer = train.standardizer(path[0]["standardize"])
        data = train.standardized(standardizer)
        learnings = [learning_from(settings, data.arrays[0].shape[1]) for settings in path]
        learnings[0].check(data.arrays)
        prepared = FitState.of(learnings[0], data, untrained)
        memory = Memory()
        return [_tried(learning, prepared, memory, standardizer, fold) for learning in learnings]


def _tried(
    learning: FitPlan,
    prepared: FitState,
    memory: Memory,
    standardizer: Standardizer,
    fold: Fold,
) -> Trial:
    """One step of a path."""
    start = time.perf_counter()
    risk = prepared.risk_of(learning)
    try:
        solution = learning.solver.solve(risk, memory=memory)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt("while choosing a metric")
        learned = prepared.learned(learning, risk, solution)
    except (LearningError, MasterError) as error:
        nothing = np.full((len(fold.test), 2), np.nan)
        return Trial(nothing, time.perf_counter() - start, failure=str(error))
    seconds = time.perf_counter() - start
    metric = Metric(learned.factor, learned.calibration.penalty)
    losses = fold.losses(standardizer, metric)
    return Trial(losses, seconds, solution.status.converged, solution.oracle_calls)
