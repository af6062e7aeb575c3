"""A fold of recordings: learning from some of them, and trials on the others."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance, read_names
from structsvm.errors import DataError
from structsvm.evaluation import share_right
from structsvm.learner import TrainingSet
from structsvm.learner.frame_learner import StatePath
from structsvm.learner.segments import names_in
from structsvm.learner.training_set import STATES
from structsvm.partitions import UNCONSTRAINED, Constraint, Found, Metric, Model
from structsvm.partitions.comparison import disagreement
from structsvm.partitions.problem import count_of_truth
from structsvm.support import Floats, Ints, stage

FEWEST_INNER = 2
"""The least number of folds of the choice in which classifiers are cross-fitted again."""

Learned = TypeVar("Learned")
InstancesAndStates = tuple[Sequence[Instance], NDArray[Any] | None]
"""Held-out instances as a model sees them, and the names of the states that it knows."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Losses of a candidate in a fold, or why it failed."""

    losses: Floats
    """Of each held-out recording, (n, 2): segmented by the penalty, and with K given; NaN if the
    candidate failed. See :func:`structsvm.partitions.comparison.disagreement`."""
    seconds: float
    """Seconds to learn and to calibrate, from the cuts of larger ``lam`` where there are some."""
    converged: bool = True
    oracle_calls: int = 0
    failure: str = ""
    """Why the candidate failed; "" if it did not."""
    refused: bool = False
    """Whether its features or its classifier could not learn from the labels."""
    accuracy: Floats | float = np.nan
    """The share of items of each held-out recording named right, (n,); NaN without names."""

    def to_plain(self) -> dict[str, Any]:
        of_each = {k: np.asarray(getattr(self, k)).tolist() for k in ("losses", "accuracy")}
        return vars(self) | of_each

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Trial":
        of_each = {k: np.asarray(plain[k], dtype=np.float64) for k in ("losses", "accuracy")}
        return cls(**{**plain, **of_each})


@dataclass(frozen=True, eq=False)
class Fold:
    """Recordings to tune on, and others to try on, as they were measured."""

    number: int
    train: TrainingSet
    test: TrainingSet
    folded: TrainingSet
    """The training recordings with the groups of :func:`in_folds`."""
    untrained: dict[Any, Metric] = field(default_factory=dict)
    """The untrained metric by features and scaling, computed once a process."""

    @cached_property
    def counts(self) -> list[int | None] | None:
        """The true numbers of clusters, as far as they are known and the oracle takes a number."""
        counts: list[int | None] = []
        for instance, known in zip(self.test.instances, self.test.labels, strict=True):
            K = known.constraint.n_clusters
            if known.truth is not None:
                K = count_of_truth(self.test.problem, instance, known.truth)
            counts.append(K)
        return None if all(K is None for K in counts) else counts

    @cached_property
    def names(self) -> Sequence[NDArray[Any]] | None:
        """The true name of each item; None without names, or if one is hidden from learning."""
        test = self.test
        if test.question == STATES or test.asks is not None:  # rows of a cluster have no names
            return None
        sizes = [instance.n_samples for instance in test.instances]
        return read_names(test.item_labels, sizes, test.problem.traits.words.whole)

    def trial_of(
        self,
        models: Model | Sequence[Model],
        seen: InstancesAndStates,
        seconds: float,
        **about: Any,
    ) -> Trial:
        """The trial of a model, or of one for each, on the held-out instances as it sees them."""
        problem = self.test.problem
        (instances, states) = seen
        counts: Sequence[int | None] = self.counts or [None] * len(instances)
        each = [models] * len(instances) if isinstance(models, Model) else models
        decides = all(getattr(model, "price", 0.0) is not None for model in each)
        priced: Sequence[Found | None] = [None] * len(instances)
        if decides and not (isinstance(models, Metric) and problem.traits.given_k):
            pairs = list(zip(each, instances, strict=True))
            priced = [
                model.partition(problem, x, UNCONSTRAINED)
                for model, x in stage("partitioning", pairs)
            ]
        tasks = list(zip(each, instances, counts, priced, strict=True))
        counted = [with_count(problem, *task) for task in stage("partitioning into as many", tasks)]
        predictions = [one or other for one, other in zip(priced, counted, strict=True)]
        losses = np.column_stack([self._losses(predictions), self._losses(counted)])
        accuracy: Floats | float = np.nan
        named = names_in(predictions, instances, states)
        if named is not None and self.names is not None:
            truths: list[Any] = [known.scored for known in self.test.labels]
            accuracy = np.array(list(map(share_right, self.names, truths, named)))
        return Trial(losses, seconds, accuracy=accuracy, **about)

    def _losses(self, predictions: Sequence[Found]) -> list[float]:
        """The loss of what was found in each held-out instance, on its labelled items."""
        losses = []
        for known, prediction in zip(self.test.labels, predictions, strict=True):
            truth: Any = known.scored
            guess = known.of_scored(prediction.partition)
            losses.append(disagreement(self.test.problem, truth, guess))
        return losses

    def failed(self, why: object, start: float, refused: bool = True) -> Trial:
        """The trial of a candidate that failed; ``start`` is the time at which it was begun."""
        nothing = np.full((len(self.test), 2), np.nan)
        seconds = time.perf_counter() - start
        return Trial(nothing, seconds, failure=f"{why} (fold {self.number})", refused=refused)


def with_count(
    problem: Any, model: Model, instance: Instance, K: int | None, priced: Found | None
) -> Found:
    """The partition into K clusters; ``priced`` is the one whose number the price decided."""
    if isinstance(model, StatePath) and priced is not None and priced.partition.n_clusters == K:
        return priced  # it is the best one of any number, so also of its own
    return model.partition(problem, instance, Constraint(K))


def in_folds(data: TrainingSet, fold: Ints, fewest: int) -> TrainingSet:
    """Take the folds of the choice for groups, if all are in one and there are ``fewest``."""
    # Cross-fitting then learns from the same recordings in several folds, which is done once.
    if fold.size != len(data) or fold.min() < 0 or np.unique(fold).size < fewest:
        return data
    return replace(data, groups=fold.tolist())


def cross_fitted(
    fit: Callable[[TrainingSet], Learned], folded: TrainingSet, data: TrainingSet
) -> Learned:
    """Fit on ``folded``, whose groups are folds, or else on the same data with their own groups."""
    try:
        return fit(folded)
    except DataError:  # a label that is needed in two groups is in one fold only
        if folded is data:
            raise
    return fit(data)
