"""The best candidate of a search if it is no learned metric, as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

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

        def labels(partitions: list[EquivalenceMatrix], samples: list[Sample]) -> list[Any]:
            return list(labels_of(self.learner.problem_, partitions, samples))

        return self._answer(X, n_clusters, labels)

    def predict_partitions(self, X: Any, n_clusters: Counts = None) -> Any:
        """Partition samples: an :class:`~structsvm.EquivalenceMatrix` for each."""
        return self._answer(X, n_clusters, lambda partitions, _: partitions)

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

    def _answer(self, X: Any, n_clusters: Counts, answer: Callable[..., list[Any]]) -> Any:
        """Partition samples, and answer in the form in which they come."""
        form = Form.given_to(self.learner, X)
        samples = as_measured(self.learner, form.samples)
        return form.answer(answer(self._partitions(samples, n_clusters), samples))

    def _partitions(self, samples: Sequence[Sample], n_clusters: Counts) -> list[EquivalenceMatrix]:
        learner = self.learner
        if self.metric is not None:
            return decode_with(learner, self.metric, self.metric.inputs(samples), n_clusters)
        seen = samples if self.name in learner.baselines_ else learner.inputs_(samples)
        return partitions_with(learner, self.name, samples, seen, n_clusters)

    def _named(self, method: str, name: Callable[..., Any], X: Any, n_clusters: Counts) -> Any:
        def named(partitions: list[EquivalenceMatrix], samples: list[Sample]) -> list[Any]:
            own = self.learner.baselines_.get(self.name)
            if hasattr(own, method):
                counts = None if n_clusters is None else [M.n_clusters for M in partitions]
                return list(ask(own, method, samples, counts))
            seen: list[Sample] = self.learner.inputs_(samples)
            states: NDArray[Any] | None = self.learner.classes_
            if own is None:  # a consensus
                seen, states = samples_with_states(self.learner, samples, seen)
            if states is None:
                raise SettingsError(
                    f"{self.name} knows no names of states, nor does the learned metric: use "
                    "predict, or candidates that see StateScores"
                )
            return [name(M, sample, states) for M, sample in zip(partitions, seen, strict=True)]

        return self._answer(X, n_clusters, named)
