"""What a learned metric has to beat, tuned on the same labels: metrics, and other estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.errors import DataError, DataWarning, LearningError, SettingsError, warn
from structsvm.features import RecordingTransformer
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.partitions.candidates import Candidate, Rival
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.gaps import filled
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.sample import Sample
from structsvm.partitions.samples import Counts, cluster_counts
from structsvm.partitions.values import label_values
from structsvm.rivals import metrics as baselines
from structsvm.support.checks import among
from structsvm.support.progress import stage
from structsvm.support.quiet import without_warnings

USUAL = ("quick", "all")


@dataclass(frozen=True, eq=False)
class Tuned:
    """Rivals of both kinds, by name."""

    metrics: dict[str, Metric]
    estimators: dict[str, Any]


def tune(
    which: str | Sequence[str],
    measured: TrainingSet,
    seen: TrainingSet,
    features: RecordingTransformer | None,
) -> Tuned:
    """Tune rivals of a metric.

    Parameters
    ----------
    which : {"quick", "all"} or sequence of str
        Those that apply and take little time, all that apply, or those of these names.
    measured : TrainingSet
        What the metric is learned from, as it was measured.
    seen : TrainingSet
        The same as the metric sees it.
    features : RecordingTransformer, optional
        Those of the metric, not fitted.

    Raises
    ------
    SettingsError
        When no rival has one of the names.
    DataError, LearningError
        When one that was asked for by name cannot be tuned. Of the others a warning says so.
    """
    parts = seen.parts
    if all(truth.n_clusters == 1 for truth in parts.truths):
        return Tuned({}, {})  # no labelled stretch has a change: nothing to tune on
    problem, named = measured.problem, not isinstance(which, str)
    others = {rival.name: rival for rival in rivals_of(measured, features)}
    if named:
        names = list(dict.fromkeys(which))
    elif which in USUAL:
        some = [rival.name for rival in others.values() if rival.quick or which == "all"]
        names = [*problem.traits.baselines, *some]
    else:
        raise SettingsError(f"rivals must be one of {USUAL} or a list of names, got {which!r}")
    found = Tuned({}, {})
    for name in stage("tuning rivals", names):
        if name not in others:
            found.metrics[name] = baselines.fit(
                name, problem, parts.samples, parts.truths, weights=parts.weights
            )
            continue
        try:
            found.estimators[name] = fit_rival(others[name], measured)
        except (DataError, LearningError) as error:
            if named:
                raise
            warn(f"{name} is not compared with: {error}", DataWarning)
    return found


def rivals_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Rival]:
    """The rivals that apply to samples as they were measured; classifiers find no new clusters."""
    labels = data.item_labels
    if labels is None or data.asks == CLUSTERS:
        return []
    return list(data.problem.rivals(data.samples, labels, features))


def candidates_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Candidate]:
    """The menu of the problem for samples as they were measured, and what is asked about them."""
    labels = _labels(data)
    asked = data.asks or data.question
    if asked not in (ROWS, CLUSTERS, STATES):
        return list(data.problem.candidates(data.samples, labels, features))
    found = data.problem.candidates_for_parts(data.samples, labels, features)
    return [c for c in found if c.rival is None or asked != CLUSTERS]


def fit_rival(rival: Rival, data: TrainingSet) -> Any:
    """Fit a rival to samples as they were measured.

    Raises
    ------
    DataError, LearningError
        When it cannot learn from them.
    """
    with without_warnings(ConvergenceWarning):
        arrays = [filled(X) for X in data.arrays]
        return clone(rival.estimator).fit(arrays, _labels(data), groups=data.groups)


def partitions_of(
    rivals: Mapping[str, Any],
    name: str,
    problem: PartitionProblem,
    samples: Sequence[Sample],
    n_clusters: Counts = None,
) -> list[EquivalenceMatrix]:
    """The partitions that one of several rivals predicts of samples as they were measured.

    Raises
    ------
    SettingsError
        When none has that name, or it does not predict one label for each item.
    DataError
        When a number of clusters does not fit its sample.
    """
    if not among(name, tuple(rivals)):
        raise SettingsError(f"rival must be one of {sorted(rivals)}, got {name!r}")
    sizes = [sample.n_samples for sample in samples]
    counts = cluster_counts(n_clusters, sizes, problem.traits.words)
    asked = None if n_clusters is None else [K for K in counts if K is not None]
    return guessed(rivals[name], name, problem, samples, asked)


def guessed(
    rival: Any, name: str, problem: PartitionProblem, samples: Sequence[Sample], counts: Counts
) -> list[EquivalenceMatrix]:
    """The partitions that a fitted rival predicts of samples as they were measured.

    Raises
    ------
    SettingsError
        When it does not predict one label for each item, naming it.
    """
    found = rival.predict([filled(sample.X) for sample in samples], counts)
    if len(found) != len(samples):
        words = problem.traits.words
        raise SettingsError(
            f"{name} predicts labels of {len(found)} of {words.wholes(len(samples))}"
        )
    partitions = []
    for i, (labels, sample) in enumerate(zip(found, samples, strict=True)):
        values = label_values(labels)
        if values.shape != (sample.n_samples,):
            raise SettingsError(
                f"{name} predicts labels of shape {values.shape} of {problem.traits.words.whole} "
                f"{i}, which has {problem.traits.words.items(sample.n_samples)}"
            )
        if problem.traits.contiguous:
            values = np.concatenate([[0], np.cumsum(values[1:] != values[:-1])])
        partitions.append(EquivalenceMatrix.from_labels(values))
    return partitions


def _labels(data: TrainingSet) -> list[Any]:
    """Labels of items: those that were given, or those of the partitions."""
    if (found := data.item_labels) is not None:
        return found
    problem, pairs = data.problem, zip(data.truths, data.samples, strict=True)
    return [problem.item_labels(problem.decode(M, x), x) for M, x in pairs]
