"""Candidates tuned on some recordings and tried on others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.errors import DataError, DataWarning, LearningError, MasterError
from structsvm.features.frames import AloneError
from structsvm.learner.baselines import fit_baseline, labels_by, partitions_of
from structsvm.learner.fitting import FitState
from structsvm.learner.inputs import Inputs
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.partitions.comparison import Baseline, Candidate
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.solvers.planes import Memory
from structsvm.status import Status
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import some_of
from structsvm.support.progress import share, stage
from structsvm.support.quiet import without_warnings

Found = TypeVar("Found")

Unseen = DataError | LearningError
"""Why the metrics of a fold cannot see it."""

SEEING = ("features", "standardize")
"""Settings of a candidate that say what its metric sees."""


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
    refused: bool = False
    """Whether its features or its classifier could not learn from the labels."""
    ends: Sequence[Sequence[Ints]] = ()
    """Segment ends of each held-out recording, without and with K given, the last being T; none
    where no consensus is tried, and none if the candidate failed."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on, as they were measured."""

    number: int
    train: TrainingSet
    test: TrainingSet
    aligned: TrainingSet | None = None
    """What is tuned on with the other folds for groups, if there are enough of them: what is
    cross-fitted on it again then learns from the same recordings as in other folds."""
    joins: bool = False
    """Whether a consensus of what is tried here is tried as well."""

    def trial(
        self, guesses: Sequence[Sequence[EquivalenceMatrix]], seconds: float, **told: Any
    ) -> Trial:
        """The trial of a candidate that gives these partitions, without and with K given."""
        truths, compared = self.test.truths, self.test.problem.comparison
        columns = [
            [compared.disagreement(truth, M) for truth, M in zip(truths, found, strict=True)]
            for found in guesses
        ]
        ends: Sequence[Sequence[Ints]] = ()
        if self.joins:
            ends = [[np.array(M.breakpoints) for M in found] for found in guesses]
        return Trial(np.array(columns).T, seconds, ends=ends, **told)

    def cross_fitted(self, fit: Callable[[TrainingSet], Found]) -> Found:
        if self.aligned is None:
            return fit(self.train)
        try:
            return fit(self.aligned)
        except DataError:
            return fit(self.train)

    def failed(self, why: object, seconds: float = 0.0, refused: bool = True) -> Trial:
        """The trial of a candidate that gives nothing to try."""
        nothing = np.full((len(self.test), 2), np.nan)
        alone = self._held_out if isinstance(why, AloneError) else ""
        failure = f"{alone}{why} (fold {self.number})"
        return Trial(nothing, seconds, failure=failure, refused=refused)

    @property
    def _held_out(self) -> str:
        """Why a single recording or group is left, of those that were labelled."""
        n, what = len(self.test), self.test.problem.traits.words.wholes(len(self.test))
        if self.test.groups is not None:
            groups = list(dict.fromkeys(map(repr, self.test.groups)))
            n, what = len(groups), f"group{'' if len(groups) == 1 else 's'} {some_of(groups)}"
        return f"while {what} {'is' if n == 1 else 'are'} held out to choose, "


@dataclass(frozen=True, eq=False)
class SeenFold:
    """A fold as the metrics of some candidates see it, which share their features."""

    fold: Fold
    train: TrainingSet
    test: Sequence[Sample]
    untrained: Metric
    seconds: float
    """To make the features of both."""

    def partitions(self, metric: Metric) -> list[list[EquivalenceMatrix]]:
        problem, counts = self.fold.test.problem, [t.n_clusters for t in self.fold.test.truths]
        pairs = list(zip(self.test, counts, strict=True))
        told = [problem.partition(x, metric, K) for x, K in pairs]
        if metric.price is None or problem.traits.given_k:
            return [told, told]
        return [[problem.partition(x, metric, None) for x, _ in pairs], told]


def see(settings: Settings, fold: Fold) -> SeenFold | Unseen:
    """The fold as metrics with these features see it, or why they cannot see it."""
    start = time.perf_counter()
    try:
        with without_warnings(DataWarning):
            inputs, data = fold.cross_fitted(
                partial(Inputs.fit, settings.features, settings.standardize)
            )
            test = inputs(fold.test.samples)
            data = data.parts  # features see what has no labels, and metrics do not
    except (DataError, LearningError) as error:
        return error
    untrained = tuned_metrics.fit(
        "untrained", data.problem, data.samples, data.truths, weights=data.weights
    )
    return SeenFold(fold, data, test, untrained, time.perf_counter() - start)


def tuned_metric(candidate: Candidate, data: TrainingSet) -> Metric:
    """A candidate that is tuned only, on samples as its metric sees them."""
    assert candidate.tuned is not None
    options = {k: v for k, v in candidate.settings.items() if k not in SEEING}
    samples, truths = data.samples, data.truths
    return tuned_metrics.fit(
        candidate.tuned, data.problem, samples, truths, weights=data.weights, **options
    )


def try_tuned(candidate: Candidate, seen: SeenFold | Unseen, fold: Fold) -> Trial:
    """A candidate that is tuned only."""
    if isinstance(seen, Unseen):
        return fold.failed(seen)
    start = time.perf_counter()
    metric = seen.untrained
    if candidate.tuned != "untrained":
        metric = tuned_metric(candidate, seen.train)
    return fold.trial(seen.partitions(metric), time.perf_counter() - start)


def try_baseline(baseline: Baseline, fold: Fold) -> Trial:
    """A candidate that is no metric: fitted to the samples as they were measured."""
    start = time.perf_counter()
    problem, samples = fold.test.problem, fold.test.samples
    try:
        with without_warnings(DataWarning):
            model = fold.cross_fitted(partial(fit_baseline, baseline))
        seconds = time.perf_counter() - start
        counts = [truth.n_clusters for truth in fold.test.truths]
        found = [
            partitions_of(labels_by(model, baseline.name, problem, samples, asked), problem)
            for asked in (None, counts)
        ]
    except (DataError, LearningError) as error:
        return fold.failed(error, time.perf_counter() - start)
    return fold.trial(found, seconds)


def try_path(path: Sequence[Settings], seen: SeenFold | Unseen, fold: Fold) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, the largest first."""
    if isinstance(seen, Unseen):
        return [fold.failed(seen) for _ in path]
    # One recording in a fold, or a feature that is constant there, is told once for all.
    with without_warnings(DataWarning, ConvergenceWarning):
        data = seen.train
        data.problem.learning.check(data.truths)
        path[0].check(data.n_features, len(data))
        state = FitState.of(path[0], data, seen.untrained)
        memory = Memory() if data.problem.traits.convex else None
        return [_tried(settings, state, memory, seen) for settings in stage("lam", path)]


def _tried(settings: Settings, state: FitState, memory: Memory | None, seen: SeenFold) -> Trial:
    """One step of a path."""
    start = time.perf_counter()
    risk = state.risk_of(settings)
    try:
        with share("the metric", 0.0, 0.5):
            solution = settings.solver.solve(risk, memory=memory)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt("while choosing a metric")
        with share("its price", 0.5, 1.0):
            result = state.result(settings, solution)
    except (LearningError, MasterError) as error:
        return seen.fold.failed(error, time.perf_counter() - start, refused=False)
    seconds = time.perf_counter() - start
    return seen.fold.trial(
        seen.partitions(result.metric),
        seconds,
        converged=solution.status.converged,
        oracle_calls=solution.oracle_calls,
    )
