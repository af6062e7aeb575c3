"""How every candidate did on the recordings it was not tuned on, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from structsvm.errors import LearningError
from structsvm.learner import MetricLearner
from structsvm.model_selection.candidates import Candidate, Labelled, Trial, try_on
from structsvm.model_selection.folds import Folds
from structsvm.model_selection.verdict import Contrast, Verdict, chosen, standard_error
from structsvm.partitions.problem import measure
from structsvm.partitions.words import Words

__all__ = ["HeldOut"]

Floats = NDArray[np.float64]
Template = Callable[[Candidate], MetricLearner]


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
    rule: str
    """How to choose, see :func:`structsvm.model_selection.verdict.chosen`."""
    words: Words
    measure: str

    @classmethod
    def run(
        cls,
        template: Template,
        candidates: Sequence[Candidate],
        data: Labelled,
        folds: Folds,
        *,
        told: bool,
        known: bool,
        rule: str,
        n_jobs: int | None,
    ) -> HeldOut:
        """Try every candidate on every fold.

        Parameters
        ----------
        template : callable
            Gives the unfitted learner of a candidate.
        told : bool
            Judge the segmentations that are given the number of segments, not the others.
        known : bool
            Choose by those alone; otherwise by the mean loss of both, which is less noisy.
        n_jobs : int or None
            Processes, as in joblib.
        """
        parts = [(data.at(folds.train(k)), data.at(folds.test(k))) for k in range(len(folds))]
        found = Parallel(n_jobs=n_jobs)(
            delayed(try_on)(template(candidate), candidate, train, test)
            for train, test in parts
            for candidate in candidates
        )
        width = len(candidates)
        trials = [found[k * width : (k + 1) * width] for k in range(len(folds))]
        both = np.empty((len(data), width, 2))
        for k, row in enumerate(trials):
            both[folds.test(k)] = np.stack([trial.losses for trial in row], axis=1)
        criterion = both[..., 1] if known else both.mean(axis=2)
        return cls(
            candidates,
            folds,
            trials,
            both[..., int(told)],
            criterion,
            rule,
            data.problem.words,
            measure(data.problem, data.truths[0]),
        )

    @property
    def best(self) -> Candidate:
        """The best of all."""
        return self.candidates[chosen(self.criterion, self.folds.units, self.rule)]

    @property
    def best_learned(self) -> Candidate:
        """The best of those that are learned.

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
        return self.candidates[chosen(eligible, self.folds.units, self.rule)]

    @property
    def verdict(self) -> Verdict:
        """What learning is worth when each fold leaves the choice to the other folds."""
        eligible, folds = self._learned_criterion, self.folds
        honest = np.empty(len(eligible))
        for k in range(len(folds)):
            others, held_out = folds.train(k), folds.test(k)
            _, units = np.unique(folds.units[others], return_inverse=True)
            choice = chosen(eligible[others], units, self.rule)
            honest[held_out] = self.losses[held_out, choice]
        contrasts = {
            c.name: Contrast.of(c.name, self.losses[:, j] - honest, folds.units)
            for j, c in enumerate(self.candidates)
            if not c.is_learned
        }
        return Verdict(
            untrained=contrasts["untrained"],
            rival=contrasts.get("rca"),
            loss=float(honest.mean()),
            best=self.best.name,
            grouped=folds.grouped,
            words=self.words,
            measure=self.measure,
        )

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses, units = self.losses, self.folds.units
        names = [c.name for c in self.candidates]
        gains = losses[:, [names.index("untrained")]] - losses
        tried = list(zip(*self.trials, strict=True))
        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.candidates],
            "mean_loss": losses.mean(axis=0).tolist(),
            "se_loss": [standard_error(column, units) for column in losses.T],
            "mean_criterion": self.criterion.mean(axis=0).tolist(),
            "mean_gain": gains.mean(axis=0).tolist(),
            "se_gain": [standard_error(column, units) for column in gains.T],
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in tried],
            "converged": [all(t.converged for t in row) for row in tried],
            "failure": [next((t.failure for t in row if t.failure), "") for row in tried],
        }
        for k in range(len(self.folds)):
            table[f"split{k}_loss"] = losses[self.folds.test(k)].mean(axis=0).tolist()
        return table

    @property
    def _learned_criterion(self) -> Floats:
        """With NaN for those that are not learned, and for those that failed anywhere."""
        learned = np.array([c.is_learned for c in self.candidates])
        failed = np.isnan(self.criterion).any(axis=0)
        return np.where(learned & ~failed, self.criterion, np.nan)
