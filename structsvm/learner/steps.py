"""The steps of a prediction, one at a time: read, compute features, standardise, partition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.data.deferred import Step, batches_of
from structsvm.data.sample import Sample, is_prepared
from structsvm.data.samples import Counts, cluster_counts
from structsvm.errors import DataError, OracleError, SettingsError
from structsvm.learner.dead import warn_of_dead_features
from structsvm.learner.form import Form
from structsvm.learner.inputs import Inputs
from structsvm.learner.rules import Rules, counts_of, decode_all, named, read_rules
from structsvm.learner.samples import words_of
from structsvm.learner.settings import problem_from
from structsvm.learner.states import SegmentTable
from structsvm.learner.suspects import column_names, warn_of_codes
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel import Backend, backend_from
from structsvm.parallel.once import spread, working_on
from structsvm.partial_labels.complete import read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.margins import MarginRates, boundary_margins
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import Constraint
from structsvm.partitions.problem import PartitionProblem, read_samples
from structsvm.storage.codec import Unstored
from structsvm.support.checks import is_whole
from structsvm.support.progress import stage

DECODED = 20_000
"""Items of samples that are partitioned together, if there are so many."""


class Fitted(Protocol):
    """What a fitted learner of metrics has."""

    problem: Any
    random_state: int | None
    backend: str | Backend
    n_jobs: int | None
    problem_: PartitionProblem
    inputs_: Inputs
    metric_: Metric
    n_features_in_: int


def workers_of(learner: Any) -> AbstractContextManager[None]:
    """A block whose work is done where the oracles of a learner are asked."""
    learner = getattr(learner, "best_estimator_", learner)  # of a search
    lost = isinstance(learner.backend, Unstored)  # in a model file; any workers find the same
    return working_on(backend_from("auto" if lost else learner.backend, learner.n_jobs))


def read_training(
    learner: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    groups: Any = None,
) -> TrainingSet:
    """Check samples and labels once, as a training set that ``fit`` and others accept."""
    problem = problem_from(learner.problem, learner.random_state)
    with workers_of(learner):
        return TrainingSet.read(problem, X, y, feature_names, sample_weight, groups=groups)


def as_measured(learner: Fitted, X: Any) -> list[Sample]:
    """Check samples, and return them before features are computed."""
    check_is_fitted(learner)
    names = getattr(learner, "feature_names_in_", None)
    samples = Form.given_to(learner, X).samples
    with workers_of(learner):
        return read_samples(learner.problem_, samples, names, learner.n_features_in_)[0]


def prepare(learner: Fitted, X: Any) -> list[Sample]:
    """Check samples and compute the features that the metric of a fitted learner sees.

    The result can be given in place of ``X`` to partition the same samples more than once.

    Parameters
    ----------
    learner : MetricLearner
    X : samples, as for :meth:`structsvm.MetricLearner.predict`

    Returns
    -------
    list of samples
        The features of each are its ``X``, an array (T_i, P), standardised.

    Raises
    ------
    DataError
        If a sample cannot be used.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import prepare
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=2, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> prepare(learner, Xs)[0].X.shape
    (200, 2)
    """
    if is_prepared(X):
        return X
    measured = as_measured(learner, X)
    with workers_of(learner):
        return learner.inputs_(measured)


def encode(learner: Fitted, X: Any, y: Any) -> list[EquivalenceMatrix]:
    """Check the labels of samples, and return them as equivalence matrices."""
    form = Form.given_to(learner, X)
    samples = prepare(learner, form.samples)
    labels = read_labels(learner.problem_, samples, form.labels_in_order(y))
    return TrainingSet(learner.problem_, samples, labels, np.ones(len(samples))).truths


def decode_with(
    learner: Fitted, metric: Metric, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
) -> list[EquivalenceMatrix]:
    """Partition samples with the metric of a learner or another one of the same features."""
    if not isinstance(metric, Metric):
        raise SettingsError(f"metric must be a Metric, got {metric!r}")
    samples, step = to_partition(learner, X, told=metric is learner.metric_)
    return partition(learner, metric, samples, step, n_clusters, rules)


def to_partition(
    learner: Fitted, X: Any, told: bool = True
) -> tuple[Sequence[Sample], Step | None]:
    """Samples with their features, and the step in which they are standardised."""
    check_is_fitted(learner)
    if is_prepared(X):
        return X, None
    measured = as_measured(learner, X)
    with workers_of(learner):
        if told:
            warn_of_dead_features(learner, measured)
            warn_of_codes(measured, column_names(learner), words_of(learner.problem_, measured))
        return learner.inputs_.with_features(measured), learner.inputs_.standardizer


def partition(
    learner: Fitted,
    metric: Metric,
    samples: Sequence[Sample],
    step: Step | None,
    n_clusters: Counts,
    rules: Rules,
) -> list[EquivalenceMatrix]:
    """Partition samples of :func:`to_partition`."""
    problem, constraints = read_rules(learner.problem_, samples, rules)
    if n_clusters is None and metric.price is None:
        n_clusters = metric.n_clusters
    counts = counts_within(problem, samples, constraints, n_clusters)
    parts = [
        (a, samples[a:b], counts[a:b], constraints[a:b])
        for a, b in batches_of([sample.n_samples for sample in samples], DECODED)
    ]
    with workers_of(learner):
        found = spread("partitioning", decode_all, parts, (problem, metric, step))
    return [M for part in found for M in part]


def counts_within(
    problem: PartitionProblem,
    samples: Sequence[Sample],
    constraints: Sequence[Constraint],
    n_clusters: Counts,
) -> list[int | None]:
    """The number of clusters of each sample, checked."""
    sizes, words = [sample.n_samples for sample in samples], problem.traits.words
    return counts_of(constraints, cluster_counts(n_clusters, sizes, words), words)


def refuse_without_segments(problem: PartitionProblem) -> None:
    words = problem.traits.words
    if not problem.traits.contiguous:
        raise SettingsError(
            f"{type(problem).__name__} gives {words.part}s, not segments: predict_states names "
            f"each {words.item}"
        )


def margin_tables(
    learner: Fitted,
    samples: Sequence[Sample],
    n_clusters: Counts,
    rules: Rules,
    tolerance: int | None,
    rates: MarginRates | None,
) -> list[SegmentTable]:
    """Segments of prepared samples, and how sure the changes between them are."""
    problem, constraints = read_rules(learner.problem_, samples, rules)
    counts = counts_within(problem, samples, constraints, n_clusters)
    if tolerance is None:
        tolerance = 5 if rates is None else rates.tolerance
    if not (is_whole(tolerance) and tolerance >= 0):
        raise SettingsError(f"tolerance must be an integer >= 0 or None, got {tolerance!r}")
    known = rates if rates is not None and rates.tolerance == tolerance else None
    tables = []
    tasks = stage("margins", list(zip(samples, counts, constraints, strict=True)))
    for i, (sample, K, constraint) in enumerate(tasks):
        try:
            M, margins = boundary_margins(
                problem, sample, learner.metric_, K, constraint, tolerance
            )
        except OracleError as error:
            raise named(error, problem, i) from error
        except DataError as error:
            raise DataError(f"{error}; margins=False leaves them out") from error
        found = None if known is None else known(margins).tolist()
        tables.append(SegmentTable(M, margins.tolist(), found))
    return tables
