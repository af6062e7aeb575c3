"""The losses of all candidates on held-out recordings, the choice by them, and the verdict."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from structsvm.baselines.blind import OnePart, blind_methods
from structsvm.errors import LearningError
from structsvm.evaluation import (
    EQUAL_LOSSES,
    LEARNED,
    Evidence,
    Ranking,
    Remarks,
    Split,
    Verdict,
    chosen,
)
from structsvm.graphs.labelled_nodes import limit_of
from structsvm.learner import Method
from structsvm.learner.fitting import Settings
from structsvm.learner.training_summary import commonest_name
from structsvm.model_selection.attempts import try_method
from structsvm.model_selection.folds import FEWEST_INNER, Fold, Trial, in_folds
from structsvm.model_selection.trials import Clock, SavedTrials, tasks_of, trials_of
from structsvm.partitions.comparison import name_of_disagreement
from structsvm.support import Floats, Ints, standard_error


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of all candidates on all recordings, each held out once."""

    split: Split
    tried: Mapping[Method, Sequence[Trial]]
    """The trials of each candidate in the folds, in the order of preference."""
    losses: Floats
    """Losses that the verdict compares, (N, n_candidates); NaN where a candidate failed."""
    criterion: Floats
    """Losses that candidates are chosen by, (N, n_candidates)."""
    accuracy: Floats
    """The share of items that are named right, (N, n_candidates); NaN where none is named."""
    frequent: Floats
    """The share of items with the most frequent name in training, (N,); NaN without names."""
    blind: Mapping[str, Floats]
    """Losses of methods that do not look at instances, (N,) each: what pays has to be better."""
    untried: Mapping[Method, float]
    """Candidates for which there was no time, and the seconds that each would take."""

    @classmethod
    def of(
        cls,
        split: Split,
        candidates: Sequence[Method],
        settings: Mapping[Method, Settings],
        clock: Clock,
        saved: SavedTrials,
        asked: Collection[str] = (),
    ) -> "HeldOut":
        """Try every candidate on every fold, as long as there is time."""
        folds = []
        for k, data in enumerate(split.training):
            train = folded = data.counted()
            others = split.train(k)
            if split.shares is None and others.size == len(data):
                folded = in_folds(train, split.fold[others[data.weights > 0]], FEWEST_INNER)
            folds.append(Fold(k, train, split.test_set(k), folded))
        tasks = tasks_of(settings, candidates, split.whole)
        tried_here, untried = trials_of(tasks, folds, clock, saved, asked)
        tried = {c: tried_here[c] for c in candidates if c in tried_here}
        N = len(split.held_out)
        traits = split.held_out.problem.traits
        losses = np.empty((N, len(tried), 2))
        accuracy = np.empty((N, len(tried)))
        frequent = np.full(N, np.nan)
        judged = int(traits.given_k)
        blind = blind_methods(traits.contiguous)
        of_blind = {method.name: np.empty(N) for method in blind}
        for k, fold in enumerate(folds):
            test = split.test(k)
            for j, trials in enumerate(tried.values()):
                losses[test, j] = trials[k].losses
                accuracy[test, j] = trials[k].accuracy
            for method in blind:
                (trial,) = try_method(method, fold)
                of_blind[method.name][test] = trial.losses[:, judged]
            if not np.isnan(accuracy[test]).all():
                named = Method("most-frequent", OnePart(commonest_name(fold.train)))
                frequent[test] = try_method(named, fold)[0].accuracy
        criterion = losses[..., 1] if traits.given_k else losses.mean(axis=2)
        losses = losses[..., judged]
        return cls(split, tried, losses, criterion, accuracy, frequent, of_blind, untried)

    def _chosen(self, which: Ints) -> int:
        """The number of the candidate to choose by some of the recordings."""
        units = np.unique(self.split.units[which], return_inverse=True)[1]
        names = [c.name for c in self.tried]
        weights = self.split.held_out.weights[which]
        draws = self.split.draws_among(which)
        # If names are asked for, means decide between the first answer and the default. For changes
        # alone they do not: OLDA loses more on other sets, and means of few groups are chance.
        by_means = self._names_are_asked or not self.split.held_out.problem.traits.contiguous
        first = next((c.name for c in self.tried if c.is_first and by_means), "")
        return chosen(self._decisive[which], units, names, weights, draws, first)

    @cached_property
    def _names_are_asked(self) -> bool:
        """Whether only candidates that name states can be chosen, because the default names them.

        They need not if no candidate names more items right than the most frequent name does.
        """
        usable = np.flatnonzero(~np.isnan(self.criterion).any(axis=0))
        in_order = self.split.held_out.problem.traits.contiguous
        if not in_order or np.isnan(self.accuracy[:, usable[:1]]).all():
            return False
        has_names = ~np.isnan(self.accuracy).all(axis=1)
        named = np.column_stack([self.frequent, self.accuracy[:, usable]])[has_names]
        shares = np.nan_to_num(_means(named, self.split.held_out.weights[has_names]))
        return bool(shares.max() > shares[0])

    @cached_property
    def _decisive(self) -> Floats:
        """Values by which the choice is made, (N, n_candidates), smaller ones being better.

        They are the shares of items that are named wrongly if names are asked for, and else the
        criterion. They are NaN for candidates that failed, and for those that equal a method which
        does not look at the instances, unless all do.
        """
        values = self.criterion
        can_be = ~np.isnan(values).any(axis=0)
        if self._names_are_asked:
            can_be &= ~np.isnan(self.accuracy).all(axis=0)
            has_names = ~np.isnan(self.accuracy).all(axis=1, keepdims=True)
            values = np.where(has_names, np.nan_to_num(1.0 - self.accuracy, nan=1.0), 0.0)
        is_blind = np.zeros(can_be.size, dtype=bool)
        for losses in self.blind.values():
            is_blind |= (np.abs(self.losses - losses[:, None]) <= EQUAL_LOSSES).all(axis=0)
        is_blind &= (self.losses > EQUAL_LOSSES).any(axis=0)  # those that are always right are not
        seeing = can_be & ~is_blind
        return np.where(seeing if seeing.any() else can_be, values, np.nan)

    @property
    def best(self) -> Method:
        """The candidate that is chosen."""
        failed = [bool(np.isnan(column).any()) for column in self.criterion.T]
        if all(fails or c.name == "untrained" for c, fails in zip(self.tried, failed, strict=True)):
            failures = [t.failure for t in chain.from_iterable(self.tried.values()) if t.failure]
            raise LearningError(
                f"no candidate gave a model in each of the {len(self.split)} folds; the last one: "
                f"{failures[-1]}"
            )
        return [*self.tried][self._chosen(np.arange(len(self.losses)))]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the candidate that the other folds choose for each recording."""
        split = self.split
        data = self.split.held_out
        best = self.best
        losses = np.empty(len(self.losses))
        accuracy = np.empty(len(self.losses))
        for k in range(len(split)):
            held_out = split.test(k)
            j = self._chosen(split.train(k))
            if best.name == "untrained":  # it does not depend on what other folds choose
                j = [c.name for c in self.tried].index(best.name)
            losses[held_out] = self.losses[held_out, j]
            accuracy[held_out] = self.accuracy[held_out, j]
        others = [
            (j, c)
            for j, c in enumerate(self.tried)
            if c.name == "untrained" or not (c.learner.is_learned or c.name == best.name)
        ]
        truths: list[Any] = [known.scored for known in data.labels]
        in_order = data.problem.traits.contiguous
        verdict = Verdict.of(
            {LEARNED: losses, **self.blind, **{c.name: self.losses[:, j] for j, c in others}},
            split.units,
            split.numbers,
            weights=data.weights,
            draws=split.draws,
            inflation=self._inflation,
            accuracies=self._accuracies(accuracy, others) if in_order else None,
            evidence=Evidence(
                split.words,
                name_of_disagreement(data.problem, truths[0]),
                grouped=data.groups is not None,
                cross_validated=True,
                method=best.learner.called,
            ),
            remarks=Remarks(limit_of(truths), split.question),
            best=best.name,
        )
        # In hindsight the loss of the choice is too small: the ranking only changes the advice.
        return replace(verdict, ranking=self._ranking(best, in_order))

    def _ranking(self, best: Method, in_order: bool) -> Ranking:
        """All candidates by their losses in cross-validation, the choice in the first place."""
        columns = [*self.tried]
        means = np.array(_means(self.criterion, self.split.held_out.weights))
        by_name: dict[str, int] = {}
        for j in np.argsort(means).tolist():  # only the best strength of each metric is kept
            by_name.setdefault(columns[j].name, j)
        by_name.pop(best.name)
        own = columns.index(best)
        others = [(j, columns[j]) for j in by_name.values()]
        losses = {LEARNED: self.losses[:, own]} | {c.name: self.losses[:, j] for j, c in others}
        named = self._accuracies(self.accuracy[:, own], others) if in_order else {}
        weights = self.split.held_out.weights
        ranking = Ranking.of({**losses, **self.blind}, weights, named, True, None)
        return replace(ranking, is_chosen=True)

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
        return 1.0 + 1.0 / max(1.0 - p, 1.0 / n_units)  # copies of one instance are one unit

    def _accuracies(
        self, of_learned: Floats, others: Sequence[tuple[int, Method]]
    ) -> dict[str, float | None]:
        """The share of items that each method names right; None if it does not name all."""
        columns = {LEARNED: of_learned} | {c.name: self.accuracy[:, j] for j, c in others}
        columns["most-frequent"] = self.frequent
        has_names = ~np.isnan(self.accuracy).all(axis=1)
        weights = self.split.held_out.weights[has_names]
        shares = {name: _means(one[has_names, None], weights)[0] for name, one in columns.items()}
        return {name: None if np.isnan(share) else share for name, share in shares.items()}

    def table(self) -> dict[str, list[Any]]:
        """A row for each candidate, in columns; gains are over the untrained metric, paired."""
        losses = self.losses
        split = self.split
        weights = self.split.held_out.weights
        names = [c.name for c in self.tried]
        trials = self.tried.values()
        gains = losses[:, [names.index("untrained")]] - losses

        def spread(values: Floats) -> list[float]:
            columns = values.T
            return [standard_error(one, split.units, weights, split.draws)[0] for one in columns]

        table: dict[str, list[Any]] = {
            "candidate": names,
            "lam": [c.lam for c in self.tried],
            "mean_loss": _means(losses, weights),
            "se_loss": spread(losses),
            "mean_criterion": _means(self.criterion, weights),
            "mean_accuracy": _means(self.accuracy, weights),
            "mean_gain": _means(gains, weights),
            "se_gain": spread(gains),
            "mean_fit_seconds": [float(np.mean([t.seconds for t in row])) for row in trials],
            "mean_oracle_calls": [float(np.mean([t.oracle_calls for t in row])) for row in trials],
            "converged": [all(t.converged for t in row) for row in trials],
            "failure": [next((t.failure for t in row if t.failure), "") for row in trials],
        }
        for k in range(len(split)):
            held_out = split.test(k)
            table[f"split{k}_loss"] = _means(losses[held_out], weights[held_out])
        return table


def _means(losses: Floats, weights: Floats) -> list[float]:
    """Weighted mean of each column; NaN where nothing has any weight."""
    if not weights.any():
        return [np.nan] * losses.shape[1]
    means: list[float] = np.average(losses, axis=0, weights=weights).tolist()
    return means
