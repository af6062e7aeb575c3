"""Candidates tuned on some recordings and tried on others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.sample import Sample
from structsvm.errors import DataError, DataWarning, LearningError, MasterError
from structsvm.features.frames import AloneError
from structsvm.learner.baselines import fit_baseline, labels_by, partitions_of, tuned_metric
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

    @property
    def counts(self) -> list[int]:
        return [truth.n_clusters for truth in self.test.truths]

    def trial(
        self, guesses: Sequence[Sequence[EquivalenceMatrix]], seconds: float, **about: Any
    ) -> Trial:
        """The trial of a candidate that gives these partitions, without and with K given."""
        truths, compared = self.test.truths, self.test.problem.comparison
        columns = [
            [compared.disagreement(truth, M) for truth, M in zip(truths, found, strict=True)]
            for found in guesses
        ]
        if self.joins:
            about["ends"] = [[np.array(M.breakpoints) for M in found] for found in guesses]
        return Trial(np.array(columns).T, seconds, **about)

    def cross_fitted(self, fit: Callable[[TrainingSet], Found]) -> Found:
        if self.aligned is None:
            return fit(self.train)
        try:
            return fit(self.aligned)
        except DataError:
            return fit(self.train)

    def failed(self, why: object, seconds: float = 0.0, refused: bool = True) -> Trial:
        """The trial of a candidate that gives nothing to try."""
        where = ""
        if isinstance(why, AloneError):  # of those that were labelled, for the fold holds some out
            what = self.test.problem.traits.words.wholes(len(self.test))
            if self.test.groups is not None:
                what = f"group {some_of(list(dict.fromkeys(map(repr, self.test.groups))))}"
            where = f"with {what} held out to choose, "
        nothing = np.full((len(self.test), 2), np.nan)
        failure = f"{where}{why} (fold {self.number})"
        return Trial(nothing, seconds, failure=failure, refused=refused)


@dataclass(frozen=True, eq=False)
class SeenFold:
    """A fold as the metrics of some candidates see it, which share their features."""

    fold: Fold
    train: TrainingSet
    test: Sequence[Sample]
    untrained: Metric

    def trial(self, metric: Metric, seconds: float, **about: Any) -> Trial:
        """The trial of a metric."""
        problem, pairs = self.fold.test.problem, list(zip(self.test, self.fold.counts, strict=True))
        counted = [problem.partition(x, metric, K) for x, K in pairs]
        priced = counted
        if metric.price is not None and not problem.traits.given_k:
            priced = [problem.partition(x, metric, None) for x in self.test]
        return self.fold.trial([priced, counted], seconds, **about)


Seen = SeenFold | DataError | LearningError
"""A fold as some metrics see it, or why they cannot see it."""
Sight = tuple[int, str | None]


def sight(settings: Settings) -> Sight:
    """The same for settings of metrics that see the same."""
    return id(settings.features), settings.standardize


def trials_of(
    asked: dict[Candidate, Settings],
    candidates: Sequence[Candidate],
    parts: Sequence[Fold],
    n_jobs: int | None,
) -> list[list[Trial]]:
    """A trial for each candidate in each fold; ``asked`` are the settings of all metrics.

    First the features are made, once for all candidates that share them, and what is not learned
    is tried, because learning starts from the untrained metric and its penalty; then there is a job
    for each fold and each kind of learned metric, which goes along all ``lam``.
    """
    sights = {sight(settings): settings for settings in asked.values()}
    kinds: dict[str, list[Candidate]] = {}
    for candidate in filter(lambda c: c.is_learned, asked):
        kinds.setdefault(candidate.name, []).append(candidate)
    found: dict[tuple[int, Candidate], Trial] = {}
    with Parallel(n_jobs=n_jobs) as parallel:

        def done(function: Callable[..., Any], jobs: list[tuple[Any, ...]], what: str) -> list[Any]:
            return list(parallel(delayed(function)(*job) for job in stage(what, jobs)))

        # Parts of their own, so that what is told of the progress never falls.
        with share("tuning what is not learned", 0.0, 0.2):
            jobs: list[tuple[Any, ...]] = [(s, part) for part in parts for s in sights.values()]
            folds = done(_see, jobs, "features")
        seen: dict[tuple[int, Sight], Seen] = {
            (part.number, sight(s)): fold for (s, part), fold in zip(jobs, folds, strict=True)
        }
        _refuse_unseen(seen, sight(next(iter(asked.values()))))
        with share("tuning what is not learned", 0.2, 0.3):
            tuned = [(part, c) for part in parts for c in asked if c.tuned is not None]
            jobs = [(c, seen[part.number, sight(asked[c])], part) for part, c in tuned]
            found |= _by_fold(tuned, done(_try_tuned, jobs, "metrics"))
        with share("tuning what is not learned", 0.3, 0.5):
            fitted = [(part, c) for part in parts for c in candidates if c.estimator is not None]
            jobs = [(c.estimator, part) for part, c in fitted]
            found |= _by_fold(fitted, done(try_baseline, jobs, "classifiers"))
        with share("learning", 0.5, 1.0):
            paths = [(part, kind) for part in parts for kind in kinds.values()]
            jobs = [
                ([asked[c] for c in kind], seen[part.number, sight(asked[kind[0]])], part)
                for part, kind in paths
            ]
            rows = done(_try_path, jobs, "folds")
    for (part, kind), row in zip(paths, rows, strict=True):
        found |= _by_fold([(part, c) for c in kind], row)
    return [[found[part.number, c] for c in candidates] for part in parts]


def _by_fold(
    pairs: Sequence[tuple[Fold, Candidate]], trials: Sequence[Trial]
) -> dict[tuple[int, Candidate], Trial]:
    return {(part.number, c): trial for (part, c), trial in zip(pairs, trials, strict=True)}


def _refuse_unseen(seen: dict[tuple[int, Sight], Seen], untrained: Sight) -> None:
    """Refuse features that the untrained metric, which the others have to beat, cannot see."""
    for (fold, its_sight), found in seen.items():
        if its_sight == untrained and not isinstance(found, SeenFold):
            found.add_note(f"in fold {fold}")
            raise found


def _see(settings: Settings, fold: Fold) -> Seen:
    """The fold as metrics with these features see it, or why they cannot see it."""
    try:
        with without_warnings(DataWarning):
            inputs, data = fold.cross_fitted(
                partial(Inputs.fit, settings.features, settings.standardize)
            )
            test = inputs(fold.test.samples)
            data = data.parts  # features see what has no labels, and metrics do not
    except (DataError, LearningError) as error:
        return error
    return SeenFold(fold, data, test, tuned_metric("untrained", data))


def candidate_metric(candidate: Candidate, data: TrainingSet) -> Metric:
    """A candidate that is tuned only, on samples as its metric sees them."""
    options = {k: v for k, v in candidate.settings.items() if k not in SEEING}
    return tuned_metric(str(candidate.tuned), data, **options)


def _try_tuned(candidate: Candidate, seen: Seen, fold: Fold) -> Trial:
    """A candidate that is tuned only."""
    if not isinstance(seen, SeenFold):
        return fold.failed(seen)
    start = time.perf_counter()
    metric = seen.untrained
    if candidate.tuned != "untrained":
        metric = candidate_metric(candidate, seen.train)
    return seen.trial(metric, time.perf_counter() - start)


def try_baseline(baseline: Baseline, fold: Fold) -> Trial:
    """A candidate that is no metric: fitted to the samples as they were measured."""
    start = time.perf_counter()
    problem, samples = fold.test.problem, fold.test.samples
    try:
        with without_warnings(DataWarning):
            model = fold.cross_fitted(partial(fit_baseline, baseline))
        seconds = time.perf_counter() - start
        found = [
            partitions_of(labels_by(model, baseline.name, problem, samples, asked), problem)
            for asked in (None, fold.counts)
        ]
    except (DataError, LearningError) as error:
        return fold.failed(error, time.perf_counter() - start)
    return fold.trial(found, seconds)


def _try_path(path: Sequence[Settings], seen: Seen, fold: Fold) -> list[Trial]:
    """One kind of learned metric along a path of ``lam``, the largest first."""
    if not isinstance(seen, SeenFold):
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
    return seen.trial(
        result.metric,
        time.perf_counter() - start,
        converged=solution.status.converged,
        oracle_calls=solution.oracle_calls,
    )
