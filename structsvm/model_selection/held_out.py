"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from structsvm.baselines.blind import blind_baselines
from structsvm.errors import LearningError
from structsvm.evaluation.splits import Split
from structsvm.evaluation.verdict import (
    LEARNED,
    NOTES,
    Verdict,
    baseline_in_words,
    chosen,
    standard_error,
)
from structsvm.learner.fitting import Settings
from structsvm.learner.training_set import TrainingSet
from structsvm.model_selection.trials import (
    FEWEST_INNER,
    Clock,
    Fold,
    SavedTrials,
    Trial,
    tasks_of,
    trials_of,
    try_baseline,
)
from structsvm.partitions.problem import Baseline, Candidate
from structsvm.support.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    split: Split
    tried: Mapping[Candidate, Sequence[Trial]]
    """A trial in each fold of each candidate, in the order of preference."""
    losses: Floats
    """Losses that the verdict compares, (N, n_candidates); NaN where a candidate failed."""
    criterion: Floats
    """Losses that candidates are chosen by, (N, n_candidates)."""
    accuracy: Floats
    """The share of items that are named right, (N, n_candidates); NaN where none is named."""
    blind: Mapping[str, Floats]
    """Losses of what is blind to the samples, (N,) each: nothing pays that is not better."""
    untried: Mapping[Candidate, float]
    """Candidates for which there was no time, and the seconds that each would take."""
    models: Mapping[str, Any]
    """Estimators that were learned from all samples meanwhile, by the name of the candidate."""

    @classmethod
    def run(
        cls,
        settings: Callable[[Candidate], Settings],
        candidates: Sequence[Candidate],
        split: Split,
        *,
        with_counts: bool,
        clock: Clock,
        saved: SavedTrials | None,
    ) -> HeldOut:
        """Try every candidate on every fold, as long as there is time."""
        folds = [
            Fold(k, data.counted(), split.test_set(k), _aligned(data, split, k))
            for k, data in enumerate(split.training)
        ]
        asked = {c: settings(c) for c in candidates if c.estimator is None}
        whole = None
        if split.whole is not None:
            data, which = split.whole
            whole = data, [which[split.test(k)] for k in range(len(split))]
        tasks = tasks_of(asked, candidates, whole)
        found, untried, models = trials_of(tasks, folds, clock, saved)
        tried = {c: found[c] for c in candidates if c in found}
        N, traits = len(split.held_out), split.held_out.problem.traits
        both, accuracy = np.empty((N, len(tried), 2)), np.empty((N, len(tried)))
        judged = int(with_counts or traits.given_k)
        blind = blind_baselines(traits.contiguous)
        of_blind = {name: np.empty(N) for name in blind}
        for k, fold in enumerate(folds):
            test = split.test(k)
            for j, trials in enumerate(tried.values()):
                both[test, j], accuracy[test, j] = trials[k].losses, trials[k].accuracy
            for name, one in blind.items():
                (trial,) = try_baseline(Baseline(name, one), fold)
                of_blind[name][test] = trial.losses[:, judged]
        criterion = both[..., 1] if traits.given_k else both.mean(axis=2)
        return cls(split, tried, both[..., judged], criterion, accuracy, of_blind, untried, models)

    @cached_property
    def candidates(self) -> list[Candidate]:
        return list(self.tried)

    @property
    def _learned_criterion(self) -> Floats:
        """The criterion, NaN for candidates that are not learned or failed in a fold."""
        learned = np.array([c.is_learned for c in self.candidates])
        usable = ~np.isnan(self.criterion).any(axis=0)
        return np.where(learned & usable, self.criterion, np.nan)

    def _chosen(self, losses: Floats, which: Ints | None = None) -> int:
        """The candidate to take, by the losses of some recordings or of all."""
        which = np.arange(len(losses)) if which is None else which
        units = np.unique(self.split.units[which], return_inverse=True)[1]
        names = [c.name for c in self.candidates]
        return chosen(losses[which], units, names, self.split.held_out.weights[which])

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen."""
        return self.candidates[self._chosen(self.criterion)]

    @property
    def naming(self) -> str:
        """A sentence that says which candidate names best; "" if none names states."""
        shares = np.average(self.accuracy, axis=0, weights=self.split.held_out.weights)
        if np.isnan(shares).all():
            return ""
        best = int(np.nanargmax(shares))
        method, item = baseline_in_words(self.candidates[best].name), self.split.words.item
        return NOTES["names"].format(method=method, share=shares[best], item=item)

    @property
    def best_learned(self) -> Candidate:
        """The candidate that is chosen from the learned ones."""
        eligible = self._learned_criterion
        if np.isnan(eligible).any(axis=0).all():
            failures = [t.failure for trials in self.tried.values() for t in trials if t.failure]
            raise LearningError(
                f"no learned candidate gave a metric in each of the {len(self.split)} folds; the "
                f"last one: {failures[-1]}"
            )
        return self.candidates[self._chosen(eligible)]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the candidate that the other folds choose for each recording."""
        eligible, split, data = self._learned_criterion, self.split, self.split.held_out
        honest = np.empty(len(eligible))
        for k in range(len(split)):
            held_out = split.test(k)
            honest[held_out] = self.losses[held_out, self._chosen(eligible, split.train(k))]
        others = [(j, c) for j, c in enumerate(self.candidates) if not c.is_learned]
        classifiers = [*(c.name for _, c in others if c.estimator is not None), *self.blind]
        return Verdict.of(
            {LEARNED: honest, **self.blind, **{c.name: self.losses[:, j] for j, c in others}},
            split.units,
            split.numbers,
            classifiers,
            grouped=data.groups is not None,
            weights=data.weights,
            draws=split.draws,
            inflation=self._inflation,
            cross_validated=True,
            best=self.best.name,
            words=split.words,
            measure=data.problem.comparison.measure(data.truths[0]),
            limit=data.problem.comparison.limit(data.truths),
            question=split.question,
            naming=self.naming,
        )

    @property
    def _inflation(self) -> float:
        """Variance of the mean over folds, in units of that of independent differences.

        Folds share what is learned from (Nadeau and Bengio, 2003): ``1/J + n_test / n_train`` in
        place of ``1/J`` for J folds, of which each holds a share p of the units out.
        """
        split = self.split
        held_out = [np.unique(split.units[split.test(k)]).size for k in range(len(split))]
        n_units = np.unique(split.units).size
        p = split.draws * float(np.mean(held_out)) / n_units
        return 1.0 + 1.0 / max(1.0 - p, 1.0 / n_units)  # copies of one sample are one unit

    @property
    def refused(self) -> dict[str, str]:
        """Reasons why features or classifiers could not learn, by the name of the candidate."""
        found: dict[str, str] = {}
        for candidate, trials in self.tried.items():
            for trial in trials:
                if trial.refused:
                    found.setdefault(candidate.name, trial.failure)
        return found

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses, split, weights = self.losses, self.split, self.split.held_out.weights
        spread = partial(standard_error, units=split.units, weights=weights, draws=split.draws)
        names, tried = [c.name for c in self.candidates], self.tried.values()
        gains = losses[:, [names.index("untrained")]] - losses
        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.candidates],
            "mean_loss": _means(losses, weights),
            "se_loss": [spread(column) for column in losses.T],
            "mean_criterion": _means(self.criterion, weights),
            "mean_accuracy": _means(self.accuracy, weights),
            "mean_gain": _means(gains, weights),
            "se_gain": [spread(column) for column in gains.T],
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in tried],
            "mean_oracle_calls": [float(np.mean([t.oracle_calls for t in row])) for row in tried],
            "converged": [all(t.converged for t in row) for row in tried],
            "failure": [next((t.failure for t in row if t.failure), "") for row in tried],
        }
        for k in range(len(split)):
            here = split.test(k)
            table[f"split{k}_loss"] = _means(losses[here], weights[here])
        return table


def _aligned(training: TrainingSet, split: Split, k: int) -> TrainingSet | None:
    """The training set of a fold with the other folds for groups, if there are enough."""
    others = split.train(k)
    if split.shares is not None or len(split) <= FEWEST_INNER or len(others) != len(training):
        return None
    return replace(training, groups=split.fold[others].tolist()).counted()


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Weighted mean of each column; NaN where nothing has any weight."""
    if not weights.any():
        return [np.nan] * losses.shape[1]
    means: list[float] = np.average(losses, axis=0, weights=weights).tolist()
    return means
