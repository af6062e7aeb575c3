"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.baselines.consensus import nearest_segmentations
from structsvm.errors import LearningError
from structsvm.evaluation.contrast import Contrast, chosen, once_each, standard_error
from structsvm.evaluation.splits import Folds, Split
from structsvm.evaluation.verdict import Verdict
from structsvm.learner.settings import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection.trials import Fold, Trial, trials_of, try_baseline
from structsvm.partitions.comparison import Baseline, Candidate
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats, Ints

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
        folds = split.folds
        single = [candidate for candidate in candidates if not candidate.joins]
        joint = [candidate for candidate in candidates if candidate.joins]
        parts = [
            Fold(k, training.counted(), split.test(k), _aligned(training, folds, k), bool(joint))
            for k, training in enumerate(split.training)
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
    def _failed(self) -> NDArray[np.bool_]:
        """Which candidates failed in some fold."""
        return np.asarray(np.isnan(self.criterion).any(axis=0))

    @property
    def _learned_criterion(self) -> Floats:
        """With NaN for those that are not learned, and for those that failed anywhere."""
        learned = np.array([c.is_learned for c in self.candidates])
        return np.where(learned & ~self._failed, self.criterion, np.nan)

    def _chosen(self, losses: Floats, recordings: Ints | None = None) -> int:
        """The candidate to take, by the losses of these recordings or of all."""
        which = np.arange(len(losses)) if recordings is None else recordings
        units = np.unique(self.folds.units[which], return_inverse=True)[1]
        kinds = [c.kind for c in self.candidates]
        return chosen(losses[which], units, self.rule, self.weights[which], kinds)

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen from all."""
        joint = np.array([bool(c.joins) for c in self.candidates])
        best = self._chosen(np.where(joint, np.nan, self.criterion))
        single = self.candidates[best]
        for j in np.flatnonzero(joint & ~self._failed).tolist():
            consensus = self.candidates[j]
            is_member = single.is_learned or any(single.name in group for group in consensus.joins)
            pair = self.criterion[:, [j, best]]
            if is_member and chosen(pair, self.folds.units, self.rule, self.weights) == 0:
                return consensus
        return single

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
            usable = np.flatnonzero(~self._failed).tolist()
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
        members = self._members(consensus, self.folds.train(part.number))
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
        eligible, folds, data = self._learned_criterion, self.folds, self.split.held_out
        honest = np.empty(len(eligible))
        for k in range(len(folds)):
            held_out = folds.test(k)
            honest[held_out] = self.losses[held_out, self._chosen(eligible, folds.train(k))]
        losses = {
            c.name: self.losses[:, j] for j, c in enumerate(self.candidates) if not c.is_learned
        } | dict(self.blind)
        differences = {name: each - honest for name, each in losses.items()}
        units, weights = folds.units, self.weights
        counted = weights > 0
        copies = int(counted.sum()) - int(np.unique(self.split.numbers[counted]).size)
        if copies and not folds.grouped:  # groups say themselves what counts how often
            differences = {n: once_each(d, units, weights) for n, d in differences.items()}
            honest = once_each(honest, units, weights)
            weights = once_each(weights, units, weights)
            units = np.arange(honest.size)
        about = (units, weights, folds.draws, self._inflation)
        return Verdict.against(
            {name: Contrast.of(name, d, *about) for name, d in differences.items()},
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


def _aligned(training: TrainingSet, folds: Folds, k: int) -> TrainingSet | None:
    others = folds.train(k)
    if folds.shares is not None or len(folds) <= FEWEST_INNER or len(others) != len(training):
        return None
    return replace(training, groups=folds.held_out[others].tolist()).counted()


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Of every column, weighted; NaN where nothing has any weight."""
    if not weights.any():
        return [float("nan")] * losses.shape[1]
    return [float(mean) for mean in np.average(losses, axis=0, weights=weights)]
