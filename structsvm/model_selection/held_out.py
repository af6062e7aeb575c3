"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from structsvm.baselines.consensus import nearest_segmentations
from structsvm.errors import LearningError
from structsvm.evaluation.contrast import Contrast, chosen, once_each, standard_error
from structsvm.evaluation.splits import Folds, Split
from structsvm.evaluation.verdict import Verdict
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection.trials import (
    Fold,
    SeenFold,
    Trial,
    Unseen,
    see,
    try_baseline,
    try_path,
    try_tuned,
)
from structsvm.partitions.comparison import Baseline, Candidate
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints
from structsvm.support.progress import share, stage

FEWEST_INNER = 2
"""Folds within folds that a classifier is cross-fitted in, at least."""

Make = Callable[[Candidate], Settings]
Sight = tuple[int, str | None]


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
        settings: Make,
        candidates: Sequence[Candidate],
        split: Split,
        *,
        blind: Sequence[Baseline] = (),
        judge_with_k: bool,
        choose_with_k: bool,
        rule: str,
        n_jobs: int | None,
    ) -> HeldOut:
        """Try every candidate on every fold.

        First the features are made, once for all candidates that share them, and what is not
        learned is tried, because learning starts from the untrained metric and its penalty; then
        there is a job for each fold and each kind of learned metric, which goes along all ``lam``.
        """
        folds = split.folds
        single = [candidate for candidate in candidates if not candidate.joins]
        joint = [candidate for candidate in candidates if candidate.joins]
        parts = [
            Fold(k, training.counted(), split.test(k), _aligned(training, folds, k), bool(joint))
            for k, training in enumerate(split.training)
        ]
        trials = _tried(settings, single, parts, n_jobs)
        found = cls(split, single, trials, judge_with_k, choose_with_k, rule)
        rows = [[found._tried_together(c, part) for c in joint] for part in parts]
        more = [[*row, *together] for row, together in zip(trials, rows, strict=True)]
        losses = {one.name: np.empty(len(split.held_out)) for one in blind}
        for part, one in product(parts, blind):
            of_part = try_baseline(one, part).losses[:, int(judge_with_k)]
            losses[one.name][folds.test(part.number)] = of_part
        return replace(found, candidates=[*single, *joint], trials=more, blind=losses)

    @cached_property
    def _losses(self) -> Floats:
        """Without and with K given, (N, n_candidates, 2); NaN where a candidate failed."""
        losses = np.empty((len(self.split.held_out), len(self.candidates), 2))
        for k, row in enumerate(self.trials):
            losses[self.folds.test(k)] = np.stack([trial.losses for trial in row], axis=1)
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
    def folds(self) -> Folds:
        return self.split.folds

    @property
    def weights(self) -> Floats:
        """Weights of the recordings in every mean, (N,)."""
        return self.split.held_out.weights

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen from all."""
        joint = np.array([bool(c.joins) for c in self.candidates])
        single = self._chosen(np.where(joint, np.nan, self.criterion))
        for j in np.flatnonzero(joint).tolist():
            if _may_join(self.candidates[single], self.candidates[j]) and self._as_good(j, single):
                return self.candidates[j]
        return self.candidates[single]

    def _as_good(self, j: int, best: int) -> bool:
        pair = self.criterion[:, [j, best]]
        if np.isnan(pair).any():
            return False
        return chosen(pair, self.folds.units, self.rule, self.weights) == 0

    @property
    def joined(self) -> list[Candidate]:
        best = self.best
        return [self.candidates[j] for j in self._members(best)[1:]] if best.joins else []

    @property
    def _failed(self) -> NDArray[np.bool_]:
        """Which candidates failed in some fold."""
        return np.asarray(np.isnan(self.criterion).any(axis=0))

    def _members(self, candidate: Candidate, recordings: Ints | None = None) -> list[int]:
        """The candidates that a consensus is of, by the losses of these recordings or of all."""
        which = np.arange(len(self.criterion)) if recordings is None else recordings
        _, units = np.unique(self.folds.units[which], return_inverse=True)
        learned, weights = self._learned_criterion[which], self.weights[which]
        means = np.average(self.criterion[which], axis=0, weights=weights)

        def best_metric(group: Sequence[int]) -> int:
            losses = np.full_like(learned, np.nan)
            losses[:, group] = learned[:, group]
            return chosen(losses, units, self.rule, weights, self._kinds)

        metrics = np.flatnonzero(~np.isnan(learned).any(axis=0)).tolist()
        baselines = [self._named(group) for group in candidate.joins]
        if not all(baselines) or not metrics:
            return []
        best = best_metric(metrics)
        kinds = [[j for j in self._named(g) if j in metrics] for g in candidate.joins_metrics]
        others = [best_metric(kind) for kind in kinds if kind and best not in kind]
        return [best, *others, *(min(group, key=lambda j: float(means[j])) for group in baselines)]

    def _named(self, names: Sequence[str]) -> list[int]:
        """The candidates of these names that could learn in every fold."""
        which = np.flatnonzero(~self._failed).tolist()
        return [j for j in which if self.candidates[j].name in names]

    def _tried_together(self, candidate: Candidate, part: Fold) -> Trial:
        """The trial of a consensus in a fold, of what the other folds choose."""
        start = time.perf_counter()
        members = self._members(candidate, self.folds.train(part.number))
        trials = [self.trials[part.number][j] for j in members]
        if not members:
            return part.failed("what it joins could not learn", refused=False)
        weights, counts = np.ones(len(trials)), [truth.n_clusters for truth in part.test.truths]
        guesses = []
        for which, asked in ((0, [None] * len(counts)), (1, counts)):
            found = [[ends.tolist() for ends in trial.ends[which]] for trial in trials]
            nearest = nearest_segmentations(found, weights, asked)
            guesses.append([EquivalenceMatrix.from_breakpoints(ends) for ends in nearest])
        seconds = sum(trial.seconds for trial in trials) + time.perf_counter() - start
        return part.trial(guesses, seconds, converged=all(trial.converged for trial in trials))

    @property
    def best_learned(self) -> Candidate:
        """The candidate that is chosen from the learned ones."""
        eligible = self._learned_criterion
        if np.isnan(eligible).any(axis=0).all():
            failures = [trial.failure for row in self.trials for trial in row if trial.failure]
            raise LearningError(
                f"no learned candidate gave a metric in each of the {len(self.folds)} folds; the "
                f"last one: {failures[-1]}"
            )
        return self.candidates[self._chosen(eligible)]

    @property
    def verdict(self) -> Verdict:
        eligible, folds, data = self._learned_criterion, self.folds, self.split.held_out
        honest = np.empty(len(eligible))
        for k in range(len(folds)):
            others, held_out = folds.train(k), folds.test(k)
            _, units = np.unique(folds.units[others], return_inverse=True)
            choice = chosen(eligible[others], units, self.rule, self.weights[others], self._kinds)
            honest[held_out] = self.losses[held_out, choice]
        differences = {
            c.name: self.losses[:, j] - honest
            for j, c in enumerate(self.candidates)
            if not c.is_learned
        } | {name: losses - honest for name, losses in self.blind.items()}
        units, weights = folds.units, self.weights
        counted = weights > 0
        copies = int(counted.sum()) - int(np.unique(self.split.numbers[counted]).size)
        if copies and not folds.grouped:  # groups say themselves what counts how often
            differences = {n: once_each(d, units, weights) for n, d in differences.items()}
            honest = once_each(honest, units, weights)
            weights = once_each(weights, units, weights)
            units = np.arange(honest.size)
        draws = folds.draws
        about = (units, weights, draws, self._inflation)
        contrasts = {n: Contrast.of(n, d, *about) for n, d in differences.items()}
        return Verdict.against(
            contrasts,
            [c.name for c in self.candidates if c.estimator is not None] + [*self.blind],
            cross_validated=True,
            loss=float(np.average(honest, weights=weights)),
            best=self.best.name,
            grouped=folds.grouped,
            words=self.split.words,
            measure=data.problem.comparison.measure(data.truths[0]),
            copies=copies,
            question=self.split.question,
        )

    @property
    def _inflation(self) -> float:
        """How much larger the variance of a mean is than that of independent differences.

        Folds share what is learned from (Nadeau and Bengio, 2003): ``1/J + n_test / n_train`` in
        place of ``1/J`` for J folds, which is ``1 + 1 / (1 - p)`` times as much where each holds a
        share p of the units out.
        """
        folds = self.folds
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
        losses, weights = self.losses, self.weights
        spread = partial(
            standard_error, units=self.folds.units, weights=weights, draws=self.folds.draws
        )
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
        for k in range(len(self.folds)):
            here = self.folds.test(k)
            table[f"split{k}_loss"] = _means(losses[here], weights[here])
        return table

    def _chosen(self, losses: Floats) -> int:
        return chosen(losses, self.folds.units, self.rule, self.weights, self._kinds)

    @property
    def _kinds(self) -> list[str]:
        return [c.kind for c in self.candidates]

    @property
    def _learned_criterion(self) -> Floats:
        """With NaN for those that are not learned, and for those that failed anywhere."""
        learned = np.array([c.is_learned for c in self.candidates])
        return np.where(learned & ~self._failed, self.criterion, np.nan)


def _may_join(candidate: Candidate, consensus: Candidate) -> bool:
    return candidate.is_learned or any(candidate.name in group for group in consensus.joins)


def _aligned(training: TrainingSet, folds: Folds, k: int) -> TrainingSet | None:
    others = folds.train(k)
    if folds.shares is not None or len(folds) <= FEWEST_INNER or len(others) != len(training):
        return None
    return replace(training, groups=folds.held_out[others].tolist()).counted()


def _tried(
    settings: Make, candidates: Sequence[Candidate], parts: Sequence[Fold], n_jobs: int | None
) -> list[list[Trial]]:
    """A trial for each candidate in each fold."""
    baselines = [c for c in candidates if c.estimator is not None]
    others = [c for c in candidates if c.estimator is None]
    asked = {c: settings(c) for c in others}
    sights = {_sight(s): s for s in asked.values()}
    kinds: dict[str, list[Candidate]] = {}
    for candidate in others:
        if candidate.is_learned:
            kinds.setdefault(candidate.name, []).append(candidate)
    found: dict[tuple[int, Candidate], Trial] = {}
    with Parallel(n_jobs=n_jobs) as parallel:
        # Parts of their own, so that what is told of the progress never falls.
        with share("tuning what is not learned", 0.0, 0.2):
            seen = _seen(parallel, list(sights.values()), parts)
            _refuse_unseen(seen, asked[others[0]])
        with share("tuning what is not learned", 0.2, 0.3):
            tuned = [(c, part) for part in parts for c in others if c.tuned is not None]
            jobs = [(c, seen[part.number, _sight(asked[c])], part) for c, part in tuned]
            trials = parallel(delayed(try_tuned)(*job) for job in stage("metrics", jobs))
        with share("tuning what is not learned", 0.3, 0.5):
            fitted = [(c, part) for part in parts for c in baselines]
            trials += parallel(
                delayed(try_baseline)(c.estimator, part) for c, part in stage("classifiers", fitted)
            )
        for (c, part), trial in zip([*tuned, *fitted], trials, strict=True):
            found[part.number, c] = trial
        with share("learning", 0.5, 1.0):
            paths = [(part, kind) for part in parts for kind in kinds.values()]
            jobs_of_paths = [
                ([asked[c] for c in kind], seen[part.number, _sight(asked[kind[0]])], part)
                for part, kind in paths
            ]
            rows = parallel(delayed(try_path)(*job) for job in stage("folds", jobs_of_paths))
    for (part, kind), row in zip(paths, rows, strict=True):
        for c, trial in zip(kind, row, strict=True):
            found[part.number, c] = trial
    return [[found[part.number, c] for c in candidates] for part in parts]


def _seen(
    parallel: Parallel, sights: Sequence[Settings], parts: Sequence[Fold]
) -> dict[tuple[int, Sight], SeenFold | Unseen]:
    """Every fold as the metrics see it, for each choice of features."""
    jobs = [(settings, part) for part in parts for settings in sights]
    found = parallel(delayed(see)(*job) for job in stage("features", jobs))
    return {
        (part.number, _sight(settings)): seen
        for (settings, part), seen in zip(jobs, found, strict=True)
    }


def _refuse_unseen(
    seen: Mapping[tuple[int, Sight], SeenFold | Unseen], untrained: Settings
) -> None:
    """Refuse features that the untrained metric, which the others have to beat, cannot see."""
    for (fold, sight), found in seen.items():
        if sight == _sight(untrained) and isinstance(found, Unseen):
            found.add_note(f"in fold {fold}")
            raise found


def _sight(settings: Settings) -> Sight:
    return id(settings.features), settings.standardize


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Of every column, weighted; NaN where nothing has any weight."""
    if not weights.any():
        return [float("nan")] * losses.shape[1]
    return [float(mean) for mean in np.average(losses, axis=0, weights=weights)]
