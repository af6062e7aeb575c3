"""The best candidate of a search if it is no learned metric, as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structsvm.data.sample import Sample
from structsvm.data.samples import Counts
from structsvm.errors import SettingsError
from structsvm.learner.baselines import (
    MetricBaseline,
    ask,
    partitions_with,
    samples_with_states,
)
from structsvm.learner.form import Form
from structsvm.learner.learner import MetricLearner
from structsvm.learner.states import names_of_items, segment_table
from structsvm.learner.steps import as_measured, decode_with, labels_of
from structsvm.partitions.equivalence import EquivalenceMatrix

Partitions = list[EquivalenceMatrix]


@dataclass(frozen=True, eq=False)
class ChosenBaseline:
    """The untrained metric, a classifier or a consensus that partitions as a learner does."""

    learner: MetricLearner
    """The best learned metric, with its baselines."""
    name: str
    metric: MetricBaseline | None = None
    """None for what is no metric."""

    def predict(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples: a label vector (T_i,) for each."""
        problem = self.learner.problem_
        return self._answer(X, n_clusters, lambda found, xs: list(labels_of(problem, found, xs)))

    def predict_partitions(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples: an :class:`~structsvm.EquivalenceMatrix` for each."""
        return self._answer(X, n_clusters, lambda found, _: found)

    def predict_breakpoints(self, X: Any, n_clusters: Counts = None) -> Any:
        """Segment recordings: sorted segment ends for each, the last being T_i."""
        return self._answer(X, n_clusters, lambda found, _: [M.breakpoints for M in found])

    def predict_states(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples and name the parts: the name of a state for each item, (T_i,).

        A classifier that names states gives its own names. Otherwise they follow from the state
        scores of the learned metric or, for a consensus without such scores, from one of its
        classifiers.
        """
        return self._named("predict_states", names_of_items, X, n_clusters)

    def predict_segments(self, X: Any, n_clusters: Counts = None) -> Any:
        """Segment recordings and name the segments: a table for each."""
        return self._named("predict_segments", segment_table, X, n_clusters)

    def _answer(
        self, X: Any, n_clusters: Counts, answer: Callable[[Partitions, list[Sample]], list[Any]]
    ) -> Any:
        """Partition samples, and answer in the form in which they come."""
        learner, form = self.learner, Form.given_to(self.learner, X)
        samples = as_measured(learner, form.samples)
        if self.metric is not None:
            seen = self.metric.inputs(samples)
            found = decode_with(learner, self.metric, seen, n_clusters)
        else:
            seen = samples if self.name in learner.baselines_ else learner.inputs_(samples)
            found = partitions_with(learner, self.name, samples, seen, n_clusters)
        return form.answer(answer(found, samples))

    def _named(self, method: str, name: Callable[..., Any], X: Any, n_clusters: Counts) -> Any:
        learner, own = self.learner, self.learner.baselines_.get(self.name)

        def named(partitions: Partitions, samples: list[Sample]) -> list[Any]:
            if hasattr(own, method):
                counts = None if n_clusters is None else [M.n_clusters for M in partitions]
                return list(ask(own, method, samples, counts))
            seen, states = learner.inputs_(samples), learner.classes_
            if own is None:  # a consensus
                seen, states = samples_with_states(learner, samples, seen)
            if states is None:
                raise SettingsError(
                    f"{self.name} knows no names of states, nor does the learned metric: use "
                    "predict, or candidates that see StateScores"
                )
            return [name(M, sample, states) for M, sample in zip(partitions, seen, strict=True)]

        return self._answer(X, n_clusters, named)
