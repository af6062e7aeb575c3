"""The consensus of learned metrics and of classifiers that were tuned beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.baselines.consensus import nearest_segmentations
from structsvm.data.sample import Sample, is_prepared
from structsvm.data.samples import Counts, cluster_counts
from structsvm.errors import SettingsError
from structsvm.learner.baselines import ask, estimators_in, labels_by, metrics_in, partitions_of
from structsvm.learner.inputs import Inputs
from structsvm.learner.steps import as_measured, decode_with, workers_of
from structsvm.partitions.candidates import CONSENSUS, names_states
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.support.checks import refuse_unlisted


@dataclass(frozen=True, eq=False)
class MetricBeside:
    """A learned metric, and the stages in front of it, that is in a consensus with another one."""

    inputs: Inputs
    metric: Metric


def ways_besides_metrics(learner: Any) -> list[str]:
    return list(
        dict.fromkeys(
            [*estimators_in(learner.baselines_), *([CONSENSUS] if learner.consensus_ else [])]
        )
    )


def partition_with(
    learner: Any, baseline: str, X: Any, n_clusters: Counts = None
) -> list[EquivalenceMatrix]:
    """Partition samples with one of the baselines of a learner, by name, or with the consensus."""
    if is_prepared(X):
        raise SettingsError(
            f"{baseline} partitions samples as they are: give these, not prepared ones"
        )
    refuse_unlisted(
        "baseline", baseline, sorted({*learner.baselines_, *ways_besides_metrics(learner)})
    )
    if baseline in metrics_in(learner.baselines_):
        return decode_with(learner, learner.baselines_[baseline], X, n_clusters)
    measured = as_measured(learner, X)
    with workers_of(learner):
        samples = learner.inputs_(measured) if baseline == CONSENSUS else measured
        return partitions_with(learner, baseline, measured, samples, n_clusters)


def partitions_with(
    learner: Any,
    baseline: str,
    measured: Sequence[Sample],
    samples: Sequence[Sample],
    n_clusters: Counts = None,
) -> list[EquivalenceMatrix]:
    """Partitions by a baseline of a learner that is no metric, or by the consensus of some."""
    if baseline != CONSENSUS or baseline in learner.baselines_:
        labels = labels_by(
            learner.baselines_[baseline], baseline, learner.problem_, measured, n_clusters
        )
        return partitions_of(labels, learner.problem_)
    found = {
        name: partitions_with(learner, name, measured, samples, n_clusters)
        for name in learner.consensus_
    }
    learned = decode_with(learner, learner.metric_, list(samples), n_clusters)
    return _consensus(learner, learned, found, measured, n_clusters)


def with_consensus(
    learner: Any,
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
    learner: Any,
    learned: Sequence[EquivalenceMatrix],
    by_baselines: Mapping[str, Sequence[EquivalenceMatrix]],
    measured: Sequence[Sample],
    n_clusters: Counts,
) -> list[EquivalenceMatrix]:
    """Of the segmentations in the metric, in those beside it, and by the baselines."""
    beside = [
        decode_with(learner, other.metric, other.inputs(measured), n_clusters)
        for other in learner.metrics_beside_.values()
    ]
    every = [learned, *beside, *(by_baselines[name] for name in learner.consensus_)]
    found = [[M.breakpoints for M in partitions] for partitions in every]
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in measured])
    ends = nearest_segmentations(found, np.ones(len(found)), counts)
    return [EquivalenceMatrix.from_breakpoints(each) for each in ends]


def samples_with_states(
    learner: Any, measured: Sequence[Sample], samples: Sequence[Sample]
) -> tuple[list[Sample], NDArray[Any] | None]:
    """Samples that know how probable states are, by which a consensus names them; and their
    names.
    """
    if learner.classes_ is not None:
        return list(samples), learner.classes_
    for baseline in (learner.baselines_[name] for name in learner.consensus_):
        if names_states(baseline) and hasattr(baseline, "predict_proba"):
            known = zip(samples, ask(baseline, "predict_proba", measured), strict=True)
            return [replace(sample, states=p) for sample, p in known], baseline.classes_
    return list(samples), None
