"""The steps of a prediction, one at a time: read, compute features, standardise, partition."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data.deferred import Step, batches_of
from structsvm.data.labels import UNKNOWN, label_values, unknown_labels
from structsvm.data.per_sample import Counts, cluster_counts
from structsvm.data.sample import Sample, apply_to_samples, is_prepared
from structsvm.errors import DataError, SettingsError, about
from structsvm.learner.columns import (
    Fitted,
    partition_of,
    warn_of_new,
)
from structsvm.learner.form import Form
from structsvm.learner.parameters import problem_from
from structsvm.learner.training_set import TrainingSet
from structsvm.messages import parameter
from structsvm.parallel import backend_from, spread, working_on
from structsvm.partial_labels import PartialLabels, as_partial, labels_of_each, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.margins import MarginRates
from structsvm.partitions.model import Found, Model
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint
from structsvm.partitions.problem import PartitionProblem, read_samples
from structsvm.support.arrays import Ints
from structsvm.support.checks import refuse_below, some_of
from structsvm.support.codec import Unstored
from structsvm.support.contract import asked, settings_in
from structsvm.support.progress import stage

Sure = list[float] | None
"""How sure each change between segments is, as far as that is known."""


class Rules(TypedDict, total=False):
    """Which partitions are allowed: see :meth:`structsvm.MetricLearner.predict`."""

    known: Any
    min_length: int
    max_length: int | None


# ---- from what users hold to what the metric sees


def workers_of(learner: Any) -> AbstractContextManager[None]:
    """A block whose work is done by the workers of a learner, if it has any."""
    backend = getattr(learner, "backend", "auto")
    lost = isinstance(backend, Unstored)  # in a model file; any workers find the same
    n_jobs = getattr(learner, "n_jobs", None)
    return working_on(backend_from("auto" if lost else backend, n_jobs))


def read_training(learner: Any, X: Any, y: Any, **given: Any) -> TrainingSet:
    """Check samples and labels once, as a training set that ``fit`` and others accept."""
    problem = problem_from(learner.problem, getattr(learner, "random_state", None))
    with workers_of(learner):
        return TrainingSet.of(problem, X, y, **given)


def as_measured(learner: Fitted, X: Any) -> list[Sample]:
    check_is_fitted(learner)
    return measured(learner, Form.given_to(learner, X).samples)


def measured(learner: Fitted, Xs: Any) -> list[Sample]:
    """Samples that were taken apart already, checked."""
    names = getattr(learner, "feature_names_in_", None)
    with workers_of(learner):
        return read_samples(learner.problem_, Xs, names, learner.n_features_in_)[0]


def prepare(learner: Fitted, X: Any) -> list[Sample]:
    """Check samples and compute the features that the model of a fitted learner sees.

    The result can be given in place of ``X`` to partition the same samples more than once.

    Parameters
    ----------
    learner : MetricLearner or another learner
    X : samples, as for :meth:`structsvm.MetricLearner.predict`

    Returns
    -------
    list of samples
        The features of each are its ``X``, an array (T_i, P); of a metric, standardised.

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
    check_is_fitted(learner)
    return X if is_prepared(X) else prepared(learner, Form.given_to(learner, X).samples)


def prepared(learner: Fitted, Xs: Any) -> list[Sample]:
    """Samples that were taken apart already, as the model sees them."""
    if is_prepared(Xs):
        return list(Xs)
    samples = measured(learner, Xs)
    with workers_of(learner):
        warn_of_new(learner, samples)
        found: list[Sample] = learner.inputs_(samples)
        return found


def encode(learner: Fitted, X: Any, y: Any) -> list[EquivalenceMatrix]:
    form = Form.given_to(learner, X)
    return encode_prepared(learner, prepared(learner, form.samples), form.labels(y))


def encode_prepared(learner: Fitted, samples: Sequence[Sample], y: Any) -> list[EquivalenceMatrix]:
    """The true partitions of prepared samples, which labels give in full."""
    given = labels_of_each(y, samples, learner.problem_.traits.words)
    labels = read_labels(learner.problem_, samples, given)
    return TrainingSet(learner.problem_, samples, labels, np.ones(len(samples)), given).truths


# ---- from samples to partitions


def decode_with(
    learner: Fitted, model: Model, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
) -> list[EquivalenceMatrix]:
    """Partition samples with the model of a learner, or another one that sees the same."""
    check_is_fitted(learner)
    samples = X if is_prepared(X) else Form.given_to(learner, X).samples
    return [one.partition for one in partition_all(learner, samples, n_clusters, rules, model)[0]]


def partition_all(
    learner: Fitted, Xs: Any, n_clusters: Counts, rules: Rules, model: Model | None = None
) -> tuple[list[Found], Sequence[Sample]]:
    """What is found in samples that were taken apart, and these as they were partitioned.

    Another ``model`` than that of the learner sees the same; what is told of new samples is about
    that of the learner.
    """
    model = learner.model_ if model is None else model
    samples = Xs
    step: Step | None = None
    if rules and not model.keeps_rules:
        raise SettingsError(
            f"{type(learner).__name__} keeps no rules ({', '.join(sorted(rules))}): leave them "
            "out, or learn a metric or a segmenter of states, which keep them"
        )
    with workers_of(learner):
        if not is_prepared(Xs):
            samples = measured(learner, Xs)
            warn_of_new(learner, samples)
            samples = learner.inputs_.with_features(samples)
            step = learner.inputs_.step
        problem, constraints = read_rules(learner, samples, rules)
        if n_clusters is None:
            n_clusters = model.n_parts
        counts = counts_within(problem, samples, constraints, n_clusters)
        ranges = batches_of([sample.n_samples for sample in samples])
        parts = [(a, samples[a:b], counts[a:b], constraints[a:b]) for a, b in ranges]
        found = spread("partitioning", _decode_part, parts, (problem, model, step))
    return [one for part in found for one in part], samples


def _decode_part(
    part: tuple[int, Sequence[Sample], Sequence[int | None], Sequence[Constraint]],
    how: tuple[PartitionProblem, Model, Step | None],
) -> list[Found]:
    """Partition neighbouring samples, wherever that is done."""
    (first, samples, counts, constraints), (problem, model, step) = part, how
    samples = samples if step is None else apply_to_samples(samples, step)
    nothing_asked = all(K is None for K in counts) and all(
        one is UNCONSTRAINED for one in constraints
    )
    together = model.partition_together(problem, samples) if nothing_asked else None
    if together is not None:
        return together
    found = []
    for i, (sample, K, rule) in enumerate(zip(samples, counts, constraints, strict=True), first):
        with asked(problem, "partition", partial(problem.traits.words.numbered, i)):
            found.append(model.partition(problem, sample, K, rule))
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
) -> list[tuple[Found, Sure, Sure]]:
    """Segments of prepared samples, margins of the changes between them, and rates if known."""
    problem, constraints = read_rules(learner, samples, rules)
    if n_clusters is None:
        n_clusters = learner.model_.n_parts
    counts = counts_within(problem, samples, constraints, n_clusters)
    rates: MarginRates | None = getattr(learner, "margin_rates_", None)
    if tolerance is None:
        tolerance = 5 if rates is None else rates.tolerance
    refuse_below(0, "tolerance", tolerance)
    known = rates if rates is not None and rates.tolerance == tolerance else None
    tables: list[tuple[Found, Sure, Sure]] = []
    tasks = stage("margins", list(zip(samples, counts, constraints, strict=True)))
    for i, (sample, K, rule) in enumerate(tasks):
        with about(problem.traits.words.numbered(i)):
            found, sure = learner.model_.margins(problem, sample, K, rule, tolerance)
        tables.append((found, sure.tolist(), None if known is None else known(sure).tolist()))
    return tables


# ---- which partitions are allowed


def read_rules(
    learner: Fitted, samples: Sequence[Sample], rules: Rules
) -> tuple[PartitionProblem, list[Constraint]]:
    """The problem with the lengths that are allowed, and a constraint for each sample."""
    problem: PartitionProblem = learner.problem_
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
    words = problem.traits.words
    constraints = []
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
            constraint = partial.constraint(sample.n_samples, problem.traits.contiguous)
            names = learner.classes_
            if learner.model_.keeps_states and names is not None:
                states = known_states(labels, sample.n_samples, names)
                constraint = replace(constraint, states=states)
            constraints.append(constraint)
    return replace(problem, **lengths) if lengths else problem, constraints  # type: ignore[type-var]


def known_states(labels: Any, n_samples: int, names: NDArray[Any]) -> tuple[int, ...]:
    """Numbers of the states that labels name, -1 for none, (T,); nothing if they are no names.

    Numbers are no names of states that have texts as names: they say where segments begin.
    """
    values = label_values(getattr(labels, "labels", labels))
    if values.shape != (n_samples,):
        return ()
    known = ~unknown_labels(values)
    numbers = {name: k for k, name in enumerate(names.tolist())}
    strange = sorted({*values[known].tolist()} - {*numbers}, key=repr)
    if strange and values.dtype.kind in "iuf" and names.dtype.kind not in "iuf":
        return ()
    if strange:
        raise DataError(f"{strange[0]!r} is none of the states {some_of(list(numbers))}")
    states = np.full(n_samples, UNKNOWN)
    states[known] = [numbers[name] for name in values[known].tolist()]
    return tuple(states.tolist())


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


def names_of_items(found: Found, sample: Sample, states: NDArray[Any]) -> NDArray[Any]:
    """The name of the state of each item, (T,), which is that of its part."""
    of_parts = states_of_parts(found, sample)
    return np.asarray(states[of_parts[found.partition.labels]])


def named_as_seen(found: Found, sample: Sample, states: NDArray[Any]) -> NDArray[Any]:
    """The same; of pixels where these are named, (H, W)."""
    names = names_of_items(found, sample, states)
    regions = getattr(sample.side, "regions", None)
    if regions is not None and names.size == regions.size != sample.n_samples:
        return np.asarray(names.reshape(regions.shape))
    return names


def names_in(
    found: Sequence[Found], samples: Sequence[Sample], states: NDArray[Any] | None
) -> list[NDArray[Any]] | None:
    """The names of the items of each sample; None where states are not known."""
    pairs = list(zip(found, samples, strict=True))
    if states is None or any(one.states is None and x.states is None for one, x in pairs):
        return None
    return [names_of_items(one, x, states) for one, x in pairs]


def segment_table(
    found: Found,
    sample: Sample,
    states: NDArray[Any] | None,
    times: Any = None,
    margins: Sequence[float] | None = None,
    rates: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """A row for each segment: start, end, and time, state, probability, margin, rate if known."""
    M = found.partition
    starts = M.boundaries[:-1].tolist()
    ends = M.boundaries[1:].tolist()
    columns: dict[str, list[Any]] = {"start": starts, "end": ends}
    if times is not None:
        columns["time"] = [times[start] for start in starts]
    p = sample.states
    if states is not None and p is not None:
        of_segments = states_of_parts(found, sample)[M.labels[starts]]
        bounds = zip(starts, ends, of_segments.tolist(), strict=True)
        columns["state"] = states[of_segments].tolist()
        columns["probability"] = [float(p[a:b, c].mean()) for a, b, c in bounds]
    for name, values in (("margin", margins), ("rate", rates)):
        if values is not None:
            columns[name] = [None, *values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def states_of_parts(found: Found, sample: Sample) -> Ints:
    """The number of the state of each part, (K,): the most probable one, if none was found."""
    if found.states is not None:
        return found.states
    p = sample.states
    M = found.partition
    if p is None:
        raise SettingsError(
            "these samples were not prepared by a learner that knows states: give the recordings, "
            "or what structsvm.interop.prepare makes of them"
        )
    counted = [np.bincount(M.labels, column, M.n_clusters) for column in p.T]
    return np.asarray(np.array(counted, dtype=np.float64).argmax(axis=0))
