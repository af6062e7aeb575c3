"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from structsvm.errors import LearningError
from structsvm.learner.settings import Settings
from structsvm.model_selection.candidates import LEARNED, Candidate
from structsvm.model_selection.folds import Folds
from structsvm.model_selection.splits import Split
from structsvm.model_selection.trials import Fold, Trial, try_fixed, try_path
from structsvm.partitions.problem import measure
from structsvm.partitions.traits import Words
from structsvm.support.progress import share, stage
from structsvm.verdict import (
    Contrast,
    Verdict,
    chosen,
    once_each,
    standard_error,
    strongest_first,
)

__all__ = ["HeldOut"]

FIXED = 0.05
"""What part of the time goes into the candidates that are not learned, about."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Make = Callable[[Candidate], Settings]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    candidates: Sequence[Candidate]
    """The simplest first."""
    folds: Folds
    trials: Sequence[Sequence[Trial]]
    """One for each candidate, in each fold."""
    losses: Floats
    """What is judged, (N, n_candidates); NaN where a candidate failed."""
    criterion: Floats
    """What is chosen by, of the same shape."""
    weights: Floats
    """Weights of the recordings in every mean, (N,)."""
    rule: str
    """How to choose, see :func:`structsvm.verdict.chosen`."""
    words: Words
    measure: str
    numbers: Ints
    """A number for each recording, the same for copies, (N,)."""
    question: str
    """What holding these out answers, in a sentence; "" where that goes without saying."""

    @classmethod
    def run(
        cls,
        settings: Make,
        candidates: Sequence[Candidate],
        split: Split,
        *,
        judge_with_k: bool,
        choose_with_k: bool,
        rule: str,
        n_jobs: int | None,
    ) -> HeldOut:
        """Try every candidate on every fold.

        Those that are not learned first, because learning starts from the untrained metric and its
        penalty; then a job for each fold and each kind of metric, which goes along all ``lam``.

        Parameters
        ----------
        settings : callable
            Gives the settings of the learner of a candidate.
        judge_with_k : bool
            Judge the segmentations that are given the number of segments, not the others.
        choose_with_k : bool
            Choose by those alone; otherwise by the mean loss of both, which is less noisy.
        n_jobs : int or None
            Processes, as in joblib.
        """
        folds, data = split.folds, split.held_out
        parts = [
            Fold(training.counted(), split.test(k)) for k, training in enumerate(split.training)
        ]
        fixed = [c.name for c in candidates if not c.is_learned]
        learned = [[settings(c) for c in candidates if c.name == kind] for kind in LEARNED]
        paths = [path for path in learned if path]
        with Parallel(n_jobs=n_jobs) as parallel:
            with share("tuning what is not learned", 0.0, FIXED):
                tasks = stage("folds", parts)
                first = parallel(delayed(try_fixed)(fixed, paths[0][0], part) for part in tasks)
            with share("learning", FIXED, 1.0):
                jobs = [
                    (path, part, tried["untrained"][0])
                    for part, tried in zip(parts, first, strict=True)
                    for path in paths
                ]
                then = parallel(delayed(try_path)(*job) for job in stage("folds", jobs))
        trials = []
        for k, tried in enumerate(first):
            trials.append([tried[name][1] for name in fixed])
            trials[k] += [t for path in then[k * len(paths) : (k + 1) * len(paths)] for t in path]
        both = np.empty((len(data), len(candidates), 2))
        for k, row in enumerate(trials):
            both[folds.test(k)] = np.stack([trial.losses for trial in row], axis=1)
        criterion = both[..., 1] if choose_with_k else both.mean(axis=2)
        return cls(
            candidates,
            folds,
            trials,
            both[..., int(judge_with_k)],
            criterion,
            data.weights,
            rule,
            split.words,
            measure(data.problem, data.truths[0]),
            split.numbers,
            split.question,
        )

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen from all."""
        return self.candidates[self._chosen(self.criterion)]

    @property
    def best_learned(self) -> Candidate:
        """The candidate that is chosen from the learned ones.

        Raises
        ------
        LearningError
            When each of them failed in some fold.
        """
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
        """What learning is worth when each fold leaves the choice to the other folds."""
        eligible, folds = self._learned_criterion, self.folds
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
        }
        units, weights = folds.units, self.weights
        counted = weights > 0
        copies = int(counted.sum()) - int(np.unique(self.numbers[counted]).size)
        if copies and not folds.grouped:  # groups say themselves what counts how often
            differences = {n: once_each(d, units, weights) for n, d in differences.items()}
            honest = once_each(honest, units, weights)
            weights = once_each(weights, units, weights)
            units = np.arange(honest.size)
        draws = folds.draws
        contrasts = {n: Contrast.of(n, d, units, weights, draws) for n, d in differences.items()}
        rivals = strongest_first(contrasts)
        return Verdict(
            untrained=contrasts["untrained"],
            rival=rivals[0] if rivals else None,
            loss=float(np.average(honest, weights=weights)),
            best=self.best.name,
            grouped=folds.grouped,
            words=self.words,
            measure=self.measure,
            others=tuple(rivals[1:]),
            copies=copies,
            question=self.question,
        )

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
        return [c.name if c.is_learned else "" for c in self.candidates]

    @property
    def _learned_criterion(self) -> Floats:
        """With NaN for those that are not learned, and for those that failed anywhere."""
        learned = np.array([c.is_learned for c in self.candidates])
        failed = np.isnan(self.criterion).any(axis=0)
        return np.where(learned & ~failed, self.criterion, np.nan)


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Of every column, weighted; NaN where nothing has any weight."""
    if not weights.any():
        return [float("nan")] * losses.shape[1]
    return [float(mean) for mean in np.average(losses, axis=0, weights=weights)]
