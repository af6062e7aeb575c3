"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines.consensus import nearest_segmentations
from structsvm.data.sample import Sample
from structsvm.errors import DataError, DataWarning, LearningError, MasterError
from structsvm.evaluation.contrast import LEARNED, chosen, standard_error
from structsvm.evaluation.splits import Folds, Split
from structsvm.evaluation.verdict import Verdict
from structsvm.features.frames import AloneError
from structsvm.learner.baselines import fit_baseline, labels_by, partitions_of, tuned_metric
from structsvm.learner.fitting import FitState
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import Inputs, TrainingSet
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import Baseline, Candidate
from structsvm.solvers.planes import Memory
from structsvm.status import Status
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import some_of
from structsvm.support.progress import share, stage
from structsvm.support.quiet import without_warnings

FEWEST_INNER = 2
"""Folds within folds that a classifier is cross-fitted in, at least."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    split: Split
    candidates: Sequence[Candidate]
    """The simplest first."""
    trials: Sequence[Sequence[Trial]]
    """One for each candidate, in each fold."""
    judge_with_k: bool
    choose_with_k: bool
    rule: str
    """How to choose, see :func:`structsvm.evaluation.contrast.chosen`."""
    blind: Mapping[str, Floats] = field(default_factory=dict)
    """Losses of what is blind to the samples and no candidate, (N,) each."""

    @classmethod
    def run(
        cls,
        settings: Callable[[Candidate], Settings],
        candidates: Sequence[Candidate],
        split: Split,
        *,
        blind: Sequence[Baseline] = (),
        judge_with_k: bool,
        choose_with_k: bool,
        rule: str,
        n_jobs: int | None,
    ) -> HeldOut:
        """Try every candidate on every fold."""
        single = [candidate for candidate in candidates if not candidate.joins]
        joint = [candidate for candidate in candidates if candidate.joins]
        parts = [
            Fold(k, data.counted(), split.test(k), _aligned(data, split.folds, k), bool(joint))
            for k, data in enumerate(split.training)
        ]
        asked = {c: settings(c) for c in single if c.estimator is None}
        trials = trials_of(asked, single, parts, n_jobs)
        found = cls(split, single, trials, judge_with_k, choose_with_k, rule)
        more = [
            [*row, *(found._tried_together(c, part) for c in joint)]
            for row, part in zip(trials, parts, strict=True)
        ]
        losses = {one.name: np.empty(len(split.held_out)) for one in blind}
        for part in parts:
            for one in blind:
                of_part = try_baseline(one, part).losses[:, int(judge_with_k)]
                losses[one.name][split.folds.test(part.number)] = of_part
        return replace(found, candidates=[*single, *joint], trials=more, blind=losses)

    @cached_property
    def _losses(self) -> Floats:
        """Without and with K given, (N, n_candidates, 2); NaN where a candidate failed."""
        losses = np.empty((len(self.split.held_out), len(self.candidates), 2))
        for k, row in enumerate(self.trials):
            losses[self.split.folds.test(k)] = np.stack([t.losses for t in row], axis=1)
        return losses

    @property
    def losses(self) -> Floats:
        """What is judged, (N, n_candidates)."""
        return np.asarray(self._losses[..., int(self.judge_with_k)])

    @property
    def criterion(self) -> Floats:
        """What is chosen by, of the same shape."""
        return np.asarray(self._losses[..., 1] if self.choose_with_k else self._losses.mean(axis=2))

    @property
    def weights(self) -> Floats:
        """Weights of the recordings in every mean, (N,)."""
        return self.split.held_out.weights

    @property
    def _usable(self) -> NDArray[np.bool_]:
        """Which candidates failed in no fold."""
        return np.asarray(~np.isnan(self.criterion).any(axis=0))

    @property
    def _learned_criterion(self) -> Floats:
        """With NaN for those that are not learned, and for those that failed anywhere."""
        learned = np.array([c.is_learned for c in self.candidates])
        return np.where(learned & self._usable, self.criterion, np.nan)

    def _chosen(self, losses: Floats, recordings: Ints | None = None) -> int:
        """The candidate to take, by the losses of these recordings or of all."""
        which = np.arange(len(losses)) if recordings is None else recordings
        units = np.unique(self.split.folds.units[which], return_inverse=True)[1]
        kinds = [c.kind for c in self.candidates]
        return chosen(losses[which], units, self.rule, self.weights[which], kinds)

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen from all."""
        joint = np.array([bool(c.joins) for c in self.candidates])
        best = self._chosen(np.where(joint, np.nan, self.criterion))
        single = self.candidates[best]
        for j in np.flatnonzero(joint & self._usable).tolist():
            consensus = self.candidates[j]
            is_member = single.is_learned or any(single.name in group for group in consensus.joins)
            pair = self.criterion[:, [j, best]]
            if is_member and not chosen(pair, self.split.folds.units, self.rule, self.weights):
                return consensus
        return single

    @property
    def best_learned(self) -> Candidate:
        """The candidate that is chosen from the learned ones."""
        eligible = self._learned_criterion
        if np.isnan(eligible).any(axis=0).all():
            failures = [trial.failure for row in self.trials for trial in row if trial.failure]
            raise LearningError(
                f"no learned candidate gave a metric in each of the {len(self.trials)} folds; the "
                f"last one: {failures[-1]}"
            )
        return self.candidates[self._chosen(eligible)]

    @property
    def joined(self) -> list[Candidate]:
        """What the best candidate joins beside the best metric, if it is a consensus."""
        best = self.best
        return [self.candidates[j] for j in self._members(best)[1:]] if best.joins else []

    def _members(self, consensus: Candidate, recordings: Ints | None = None) -> list[int]:
        """The candidates that a consensus is of, by the losses of these recordings or of all."""
        which = np.arange(len(self.criterion)) if recordings is None else recordings
        learned = self._learned_criterion
        means = np.average(self.criterion[which], axis=0, weights=self.weights[which])

        def named(names: Sequence[str]) -> list[int]:
            usable = np.flatnonzero(self._usable).tolist()
            return [j for j in usable if self.candidates[j].name in names]

        def best_metric(group: Sequence[int]) -> int:
            losses = np.full_like(learned, np.nan)
            losses[:, group] = learned[:, group]
            return self._chosen(losses, which)

        metrics = np.flatnonzero(~np.isnan(learned[which]).any(axis=0)).tolist()
        baselines = [named(group) for group in consensus.joins]
        if not all(baselines) or not metrics:
            return []
        best = best_metric(metrics)
        kinds = [[j for j in named(group) if j in metrics] for group in consensus.joins_metrics]
        others = [best_metric(kind) for kind in kinds if kind and best not in kind]
        return [best, *others, *(min(group, key=lambda j: float(means[j])) for group in baselines)]

    def _tried_together(self, consensus: Candidate, part: Fold) -> Trial:
        """The trial of a consensus in a fold, of what the other folds choose."""
        start = time.perf_counter()
        members = self._members(consensus, self.split.folds.train(part.number))
        trials = [self.trials[part.number][j] for j in members]
        if not members:
            return part.failed("what it joins could not learn", refused=False)
        guesses = []
        for which, asked in ((0, [None] * len(part.counts)), (1, part.counts)):
            found = [[ends.tolist() for ends in trial.ends[which]] for trial in trials]
            nearest = nearest_segmentations(found, np.ones(len(trials)), asked)
            guesses.append([EquivalenceMatrix.from_breakpoints(ends) for ends in nearest])
        seconds = sum(trial.seconds for trial in trials) + time.perf_counter() - start
        return part.trial(guesses, seconds, converged=all(trial.converged for trial in trials))

    @property
    def verdict(self) -> Verdict:
        """By what the other folds choose for each recording: an honest choice has not seen it."""
        eligible, folds, data = self._learned_criterion, self.split.folds, self.split.held_out
        honest = np.empty(len(eligible))
        for k in range(len(folds)):
            held_out = folds.test(k)
            honest[held_out] = self.losses[held_out, self._chosen(eligible, folds.train(k))]
        others = [(j, c) for j, c in enumerate(self.candidates) if not c.is_learned]
        classifiers = [c.name for _, c in others if c.estimator is not None]
        return Verdict.of(
            {LEARNED: honest, **{c.name: self.losses[:, j] for j, c in others}, **self.blind},
            folds.units,
            self.split.numbers,
            grouped=folds.grouped,
            weights=self.weights,
            draws=folds.draws,
            inflation=self._inflation,
            classifiers=[*classifiers, *self.blind],
            cross_validated=True,
            best=self.best.name,
            words=self.split.words,
            measure=data.problem.comparison.measure(data.truths[0]),
            question=self.split.question,
        )

    @property
    def _inflation(self) -> float:
        """How much larger the variance of a mean is than that of independent differences.

        Folds share what is learned from (Nadeau and Bengio, 2003): ``1/J + n_test / n_train`` in
        place of ``1/J`` for J folds, which is ``1 + 1 / (1 - p)`` times as much where each holds a
        share p of the units out.
        """
        folds = self.split.folds
        held_out = [np.unique(folds.units[folds.test(k)]).size for k in range(len(folds))]
        n_units = np.unique(folds.units).size
        p = folds.draws * float(np.mean(held_out)) / n_units
        return 1.0 + 1.0 / max(1.0 - p, 1.0 / n_units)  # copies of one sample are one unit

    @property
    def refused(self) -> dict[str, str]:
        """Why the features or the classifier of some candidates, by name, could not learn."""
        found: dict[str, str] = {}
        for row in self.trials:
            for candidate, trial in zip(self.candidates, row, strict=True):
                if trial.refused:
                    found.setdefault(candidate.name, trial.failure)
        return found

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses, weights, folds = self.losses, self.weights, self.split.folds
        spread = partial(standard_error, units=folds.units, weights=weights, draws=folds.draws)
        names = [c.name for c in self.candidates]
        gains = losses[:, [names.index("untrained")]] - losses
        tried = list(zip(*self.trials, strict=True))
        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.candidates],
            "mean_loss": _means(losses, weights),
            "se_loss": [spread(column) for column in losses.T],
            "mean_criterion": _means(self.criterion, weights),
            "mean_gain": _means(gains, weights),
            "se_gain": [spread(column) for column in gains.T],
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in tried],
            "mean_oracle_calls": [float(np.mean([t.oracle_calls for t in row])) for row in tried],
            "converged": [all(t.converged for t in row) for row in tried],
            "failure": [next((t.failure for t in row if t.failure), "") for row in tried],
        }
        for k in range(len(folds)):
            here = folds.test(k)
            table[f"split{k}_loss"] = _means(losses[here], weights[here])
        return table


def _aligned(training: TrainingSet, folds: Folds, k: int) -> TrainingSet | None:
    """What is learned from in a fold with the other folds for groups, if there are enough."""
    others = folds.train(k)
    if folds.shares is not None or len(folds) <= FEWEST_INNER or len(others) != len(training):
        return None
    return replace(training, groups=folds.held_out[others].tolist()).counted()


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Of every column, weighted; NaN where nothing has any weight."""
    if not weights.any():
        return [float("nan")] * losses.shape[1]
    return [float(mean) for mean in np.average(losses, axis=0, weights=weights)]


# ---- candidates tuned on some recordings and tried on others


Learned = TypeVar("Learned")

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

    def cross_fitted(self, fit: Callable[[TrainingSet], Learned]) -> Learned:
        if self.aligned is not None:
            try:
                return fit(self.aligned)
            except DataError:  # what is needed in two groups is in one fold only
                pass
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
    for candidate in asked:
        if candidate.is_learned:
            kinds.setdefault(candidate.name, []).append(candidate)
    found: dict[tuple[int, Candidate], Trial] = {}
    with Parallel(n_jobs=n_jobs) as parallel:

        def done(
            function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], what: str
        ) -> list[Any]:
            return list(parallel(delayed(function)(*job) for job in stage(what, jobs)))

        # Parts of their own, so that what is told of the progress never falls.
        with share("tuning what is not learned", 0.0, 0.2):
            folds = done(_see, [(s, part) for part in parts for s in sights.values()], "features")
        keys = [(part.number, s) for part in parts for s in sights]
        seen: dict[tuple[int, Sight], Seen] = dict(zip(keys, folds, strict=True))
        _refuse_unseen(seen, sight(next(iter(asked.values()))))
        with share("tuning what is not learned", 0.2, 0.3):
            tuned = [(part, c) for part in parts for c in asked if c.tuned is not None]
            seen_by = [(c, seen[part.number, sight(asked[c])], part) for part, c in tuned]
            trials = done(_try_tuned, seen_by, "metrics")
        with share("tuning what is not learned", 0.3, 0.5):
            fitted = [(part, c) for part in parts for c in candidates if c.estimator is not None]
            trials += done(try_baseline, [(c.estimator, part) for part, c in fitted], "classifiers")
        with share("learning", 0.5, 1.0):
            paths = [(part, kind) for part in parts for kind in kinds.values()]
            jobs = [
                ([asked[c] for c in kind], seen[part.number, sight(asked[kind[0]])], part)
                for part, kind in paths
            ]
            trials += [trial for row in done(_try_path, jobs, "folds") for trial in row]
    learned = [(part, c) for part, kind in paths for c in kind]
    for (part, c), trial in zip([*tuned, *fitted, *learned], trials, strict=True):
        found[part.number, c] = trial
    return [[found[part.number, c] for c in candidates] for part in parts]


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
