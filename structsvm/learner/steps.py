"""The steps of a prediction, one at a time: read, compute features, standardise, partition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.sample import Sample, Step, all_made_by, batches_of, is_prepared
from structsvm.data.samples import Counts, cluster_counts
from structsvm.errors import DataError, SettingsError, about
from structsvm.learner.columns import (
    Fitted,
    partition_of,
    warn_of_new,
)
from structsvm.learner.fitting import problem_from
from structsvm.learner.form import Form
from structsvm.learner.training_set import TrainingSet
from structsvm.messages import parameter
from structsvm.parallel import backend_from, spread, working_on
from structsvm.partial_labels import PartialLabels, as_partial, labels_of_each, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint
from structsvm.partitions.problem import (
    MarginRates,
    PartitionProblem,
    boundary_margins,
    read_samples,
)
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import refuse_below
from structsvm.support.codec import Unstored
from structsvm.support.contract import asked, settings_in
from structsvm.support.progress import stage

DECODED = 20_000
"""Items of samples that are partitioned together, if there are so many."""

Sure = list[float] | None
"""How sure each change between segments is, as far as that is known."""


class Rules(TypedDict, total=False):
    """Which partitions are allowed: see :meth:`structsvm.MetricLearner.predict`."""

    known: Any
    min_length: int
    max_length: int | None


# ---- from what users hold to what the metric sees


def workers_of(learner: Any) -> AbstractContextManager[None]:
    """A block whose work is done by the workers of a learner."""
    learner = getattr(learner, "best_learner_", learner)  # of a search
    lost = isinstance(learner.backend, Unstored)  # in a model file; any workers find the same
    return working_on(backend_from("auto" if lost else learner.backend, learner.n_jobs))


def read_training(learner: Any, X: Any, y: Any, **given: Any) -> TrainingSet:
    """Check samples and labels once, as a training set that ``fit`` and others accept."""
    problem = problem_from(learner.problem, learner.random_state)
    with workers_of(learner):
        return TrainingSet.of(problem, X, y, **given)


def as_measured(learner: Fitted, X: Any) -> list[Sample]:
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
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import prepare
    >>> Xs = [np.repeat([[0.0], [3.0]], 50, axis=0)] * 2
    >>> prepare(MetricLearner().fit(Xs, [[50, 100]] * 2), Xs)[0].X.shape
    (100, 1)
    """
    if is_prepared(X):
        return X
    measured = as_measured(learner, X)
    with workers_of(learner):
        warn_of_new(learner, measured)
        prepared: list[Sample] = learner.inputs_(measured)
        return prepared


def encode(learner: Fitted, X: Any, y: Any) -> list[EquivalenceMatrix]:
    form = Form.given_to(learner, X)
    samples = prepare(learner, form.samples)
    given = labels_of_each(form.labels(y), samples, learner.problem_.traits.words)
    labels = read_labels(learner.problem_, samples, given)
    return TrainingSet(learner.problem_, samples, labels, np.ones(len(samples)), given).truths


# ---- from samples to partitions


def decode_with(
    learner: Fitted, metric: Metric, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
) -> list[EquivalenceMatrix]:
    """Partition samples with the metric of a learner or another one of the same features."""
    return partition_all(learner, metric, X, n_clusters, rules)[0]


def partition_all(
    learner: Fitted, metric: Metric, X: Any, n_clusters: Counts, rules: Rules
) -> tuple[list[EquivalenceMatrix], Sequence[Sample]]:
    """Partitions of samples, and the samples with the features they were made of."""
    check_is_fitted(learner)
    samples: Sequence[Sample] = X
    step: Step | None = None
    with workers_of(learner):
        if not is_prepared(X):
            samples = as_measured(learner, X)
            if metric is learner.metric_:
                warn_of_new(learner, samples)
            samples = learner.inputs_.with_features(samples)
            step = learner.inputs_.standardizer
        problem, constraints = read_rules(learner.problem_, samples, rules)
        if n_clusters is None and metric.price is None:
            n_clusters = metric.n_clusters
        counts = counts_within(problem, samples, constraints, n_clusters)
        ranges = batches_of([sample.n_samples for sample in samples], DECODED)
        parts = [(a, samples[a:b], counts[a:b], constraints[a:b]) for a, b in ranges]
        found = spread("partitioning", _decode_part, parts, (problem, metric, step))
    return [M for part in found for M in part], samples


def _decode_part(
    part: tuple[int, Sequence[Sample], Sequence[int | None], Sequence[Constraint]],
    how: tuple[PartitionProblem, Metric, Step | None],
) -> list[EquivalenceMatrix]:
    """Partition neighbouring samples, wherever that is done."""
    (first, samples, counts, constraints), (problem, metric, step) = part, how
    samples = samples if step is None else all_made_by(samples, step)
    found = []
    for i, (sample, K, rule) in enumerate(zip(samples, counts, constraints, strict=True), first):
        with asked(problem, "partition", problem.traits.words.numbered(i)):
            found.append(problem.partition(sample, metric, K, rule))
    return found


def labels_of(
    problem: PartitionProblem, partitions: Sequence[EquivalenceMatrix], samples: Sequence[Sample]
) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    with asked(problem, "decode", lambda: problem.traits.words.numbered(len(found))):
        for M, sample in zip(partitions, samples, strict=True):
            found.append(problem.decode(M, sample))
    return found


def margin_tables(
    learner: Fitted,
    samples: Sequence[Sample],
    n_clusters: Counts,
    rules: Rules,
    tolerance: int | None,
) -> list[tuple[EquivalenceMatrix, Sure, Sure]]:
    """Segments of prepared samples, margins of the changes between them, and rates if known."""
    problem, constraints = read_rules(learner.problem_, samples, rules)
    counts = counts_within(problem, samples, constraints, n_clusters)
    rates: MarginRates | None = getattr(learner, "margin_rates_", None)
    if tolerance is None:
        tolerance = 5 if rates is None else rates.tolerance
    refuse_below(0, "tolerance", tolerance)
    known = rates if rates is not None and rates.tolerance == tolerance else None
    tables: list[tuple[EquivalenceMatrix, Sure, Sure]] = []
    tasks = stage("margins", list(zip(samples, counts, constraints, strict=True)))
    for i, (sample, K, rule) in enumerate(tasks):
        with about(problem.traits.words.numbered(i)):
            M, sure = boundary_margins(problem, sample, learner.metric_, K, rule, tolerance)
        tables.append((M, sure.tolist(), None if known is None else known(sure).tolist()))
    return tables


# ---- which partitions are allowed


def read_rules(
    problem: PartitionProblem, samples: Sequence[Sample], rules: Rules
) -> tuple[PartitionProblem, list[Constraint]]:
    """The problem with the lengths that are allowed, and a constraint for each sample."""
    if not rules:
        return problem, [UNCONSTRAINED] * len(samples)
    strange = sorted(set(rules) - set(Rules.__annotations__))
    if strange:
        raise TypeError(
            f"predict takes {', '.join(Rules.__annotations__)}, and no keyword {strange[0]!r}"
        )
    lengths: dict[str, Any] = {k: v for k, v in rules.items() if k.endswith("_length")}
    missing = sorted(lengths.keys() - settings_in(problem).keys())
    if missing:
        raise SettingsError(
            f"{missing[0]} is a rule for segments, but {type(problem).__name__} has no such "
            "setting: leave it out, or write a SegmentProblem (docs/plugins.md)"
        )
    words, constraints = problem.traits.words, []
    known = rules.get("known")
    known = [None] * len(samples) if known is None else labels_of_each(known, samples, words)
    for i, (sample, y) in enumerate(zip(samples, known, strict=True)):
        if y is None:
            constraints.append(UNCONSTRAINED)
            continue
        with about(words.numbered(i)):
            labels = problem.learning.known_labels(y, sample)
            partial = as_partial(labels, sample.n_samples, words.item)
            if partial is None:
                partial = PartialLabels(partition_of(problem.encode(labels, sample)).labels)
            constraints.append(partial.constraint(sample.n_samples, problem.traits.contiguous))
    return replace(problem, **lengths) if lengths else problem, constraints  # type: ignore[type-var]


def counts_within(
    problem: PartitionProblem,
    samples: Sequence[Sample],
    constraints: Sequence[Constraint],
    n_clusters: Counts,
) -> list[int | None]:
    """The number of clusters of each sample: the one asked for, or the one that is known."""
    words = problem.traits.words
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples], words)
    for i, constraint in enumerate(constraints):
        known = constraint.n_clusters
        if known is not None and counts[i] not in (None, known):
            raise DataError(
                words.numbered(i)
                + f": it is known to have {words.parts(known)}, but "
                + parameter("n_clusters", counts[i])
                + ": leave out one of them"
            )
        counts[i] = known if counts[i] is None else counts[i]
    return counts


# ---- names of what was found: a part has the state that is most probable over its items


def names_of_items(M: EquivalenceMatrix, sample: Sample, states: NDArray[Any]) -> NDArray[Any]:
    """The name of the state of each item, (T,), which is that of its part."""
    return np.asarray(states[_states_of_parts(M, sample)[0][M.labels]])


def names_in(
    partitions: Sequence[EquivalenceMatrix], samples: Sequence[Sample], states: NDArray[Any] | None
) -> list[NDArray[Any]] | None:
    """The names of the items of each sample; None where states are not known."""
    if states is None or any(sample.states is None for sample in samples):
        return None
    return [names_of_items(M, x, states) for M, x in zip(partitions, samples, strict=True)]


def segment_table(
    M: EquivalenceMatrix,
    sample: Sample,
    states: NDArray[Any] | None,
    times: Any = None,
    margins: Sequence[float] | None = None,
    rates: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """A row for each segment: start, end, and time, state, probability, margin, rate if known."""
    starts, ends = M.boundaries[:-1].tolist(), M.boundaries[1:].tolist()
    columns: dict[str, list[Any]] = {"start": starts, "end": ends}
    if times is not None:
        columns["time"] = [times[start] for start in starts]
    if states is not None and sample.states is not None:
        best, probability = _states_of_parts(M, sample)
        columns["state"] = states[best[M.labels[starts]]].tolist()
        columns["probability"] = probability[M.labels[starts]].tolist()
    for name, values in (("margin", margins), ("rate", rates)):
        if values is not None:
            columns[name] = [None, *values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _states_of_parts(M: EquivalenceMatrix, sample: Sample) -> tuple[Ints, Floats]:
    """Number of the most probable state of each part, and its mean probability, (K,) both."""
    p, labels = sample.states, M.labels
    if p is None:
        raise SettingsError(
            "these samples were not prepared by a learner that knows states: give the recordings, "
            "or what structsvm.interop.prepare makes of them"
        )
    counted = [np.bincount(labels, column, M.n_clusters) for column in p.T]
    sums = np.array(counted, dtype=np.float64).T
    best = sums.argmax(axis=1)
    return best, sums[np.arange(M.n_clusters), best] / M.sizes
