"""The consensus of learned metrics and of classifiers that were tuned beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample
from structsvm.data.samples import Counts, cluster_counts
from structsvm.learner.inputs import Inputs
from structsvm.learner.rivals import ask, labels_by, partitions_of
from structsvm.partitions.candidates import CONSENSUS, names_states
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.rivals.consensus import nearest_segmentations

if TYPE_CHECKING:
    from structsvm.learner.learner import MetricLearner


@dataclass(frozen=True, eq=False)
class MetricBeside:
    """A learned metric, and the stages in front of it, that is in a consensus with another one."""

    inputs: Inputs
    metric: Metric


def ways_besides_metrics(learner: MetricLearner) -> list[str]:
    return list(dict.fromkeys([*learner.rivals_, *([CONSENSUS] if learner.consensus_ else [])]))


def partitions_with(
    learner: MetricLearner,
    rival: str,
    measured: Sequence[Sample],
    samples: Sequence[Sample],
    n_clusters: Counts = None,
) -> list[EquivalenceMatrix]:
    """Partitions by one of the rivals of a learner, or by the consensus of some with its metric."""
    if rival != CONSENSUS or rival in learner.rivals_:
        labels = labels_by(learner.rivals_[rival], rival, learner.problem_, measured, n_clusters)
        return partitions_of(labels, learner.problem_)
    found = {
        name: partitions_with(learner, name, measured, samples, n_clusters)
        for name in learner.consensus_
    }
    learned = learner.decode_with(learner.metric_, list(samples), n_clusters)
    return _consensus(learner, learned, found, measured, n_clusters)


def with_consensus(
    learner: MetricLearner,
    found: Mapping[str, Sequence[EquivalenceMatrix]],
    learned: str,
    measured: Sequence[Sample],
    n_clusters: Counts,
) -> dict[str, list[EquivalenceMatrix]]:
    """The consensus with partitions that are known already, by its name; empty if there is none."""
    names = learner.consensus_
    if not names or not found.keys() >= {learned, *names}:
        return {}
    return {CONSENSUS: _consensus(learner, found[learned], found, measured, n_clusters)}


def _consensus(
    learner: MetricLearner,
    learned: Sequence[EquivalenceMatrix],
    by_rivals: Mapping[str, Sequence[EquivalenceMatrix]],
    measured: Sequence[Sample],
    n_clusters: Counts,
) -> list[EquivalenceMatrix]:
    """Of the segmentations in the metric, in those beside it, and by the rivals."""
    beside = [
        learner.decode_with(other.metric, other.inputs(measured), n_clusters)
        for other in learner.metrics_beside_.values()
    ]
    every = [learned, *beside, *(by_rivals[name] for name in learner.consensus_)]
    found = [[M.breakpoints for M in partitions] for partitions in every]
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in measured])
    ends = nearest_segmentations(found, np.ones(len(found)), counts)
    return [EquivalenceMatrix.from_breakpoints(each) for each in ends]


def samples_with_states(
    learner: MetricLearner, measured: Sequence[Sample], samples: Sequence[Sample]
) -> tuple[list[Sample], NDArray[Any] | None]:
    """Samples that know how probable states are, by which a consensus names them; and their
    names.
    """
    if learner.classes_ is not None:
        return list(samples), learner.classes_
    for rival in (learner.rivals_[name] for name in learner.consensus_):
        if names_states(rival) and hasattr(rival, "predict_proba"):
            known = zip(samples, ask(rival, "predict_proba", measured), strict=True)
            return [replace(sample, states=p) for sample, p in known], rival.classes_
    return list(samples), None
