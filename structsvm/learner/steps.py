"""From instances to partitions: what the model of a learner finds."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data import (
    BATCH,
    Counts,
    Instance,
    Step,
    apply_to_instances,
    batches_of,
    check_weights,
)
from structsvm.errors import SettingsError, Text, among, parameter
from structsvm.learner.fitted import Fitted
from structsvm.learner.form import Form
from structsvm.learner.preparing import with_features, workers_of
from structsvm.learner.rules import Rules, read_rules
from structsvm.parallel.by_name import spread
from structsvm.partitions import Constraint, EquivalenceMatrix, Found, Model, PartitionProblem
from structsvm.support import asked


def decode_with(
    learner: Fitted, model: Model, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]
) -> list[EquivalenceMatrix]:
    """Partition instances with the model of a learner, or another one that sees the same."""
    check_is_fitted(learner)
    instances = Form.for_learner(learner, X).instances
    predictions, _ = partition_each(learner, instances, n_clusters, rules, model)
    return [one.partition for one in predictions]


def partition_each(
    learner: Fitted, Xs: Any, n_clusters: Counts, rules: Rules, model: Model | None = None
) -> tuple[list[Found], Sequence[Instance]]:
    """What is found in the instances of a :class:`Form`, and these as they were partitioned.

    ``model`` is another one than that of the learner, which sees the same features. Warnings about
    the instances are those of the learner.
    """
    model = learner.model_ if model is None else model
    if rules and not model.keeps_rules:
        raise SettingsError(
            f"{type(learner).__name__} keeps no rules ({', '.join(sorted(rules))}): leave them "
            "out, or learn a metric or a segmenter of states, which keep them"
        )
    with workers_of(learner):
        instances, step = with_features(learner, Xs)
        n_clusters = model.n_parts if n_clusters is None else n_clusters
        problem, constraints = read_rules(learner, instances, n_clusters, rules)
        ranges = batches_of([instance.n_samples for instance in instances], 2 * BATCH)
        parts = [(a, instances[a:b], constraints[a:b]) for a, b in ranges]
        predictions = spread("partitioning", _decode_part, parts, (problem, model, step))
    return list(chain.from_iterable(predictions)), instances


def _decode_part(
    part: tuple[int, Sequence[Instance], Sequence[Constraint]],
    how: tuple[PartitionProblem, Model, Step | None],
) -> list[Found]:
    """Partition a batch of consecutive instances, in this process or on a worker."""
    (first, instances, constraints), (problem, model, step) = part, how
    if all(one.says_nothing for one in constraints):
        with among(range(first, first + len(instances))):
            together = model.partition_each(problem, instances, step)
        if together is not None:
            return together
    instances = instances if step is None else apply_to_instances(instances, step)
    predictions = []
    for i, (instance, rule) in enumerate(zip(instances, constraints, strict=True), first):
        with asked(problem, "partition", partial(problem.traits.words.numbered, i)):
            predictions.append(model.partition(problem, instance, rule))
    return predictions


def refuse_no_segments(problem: PartitionProblem) -> None:
    words = problem.traits.words
    if not problem.traits.contiguous:
        raise SettingsError(
            f"{type(problem).__name__} gives {words.part}s, not segments: "
            f"predict says which {words.part} each {words.item} is in"
        )


def refuse_unsuited(learner: Any, problem: PartitionProblem) -> None:
    if not learner.suits(problem):
        raise SettingsError(
            f"{type(learner).__name__} is not for {problem.traits.words.whole}s: MetricLearnerCV("
            f"problem={type(problem).__name__}()) chooses among the methods that are"
        )


def no_names(problem: PartitionProblem) -> Text:
    """A message that the learner knows no names, and which methods name such instances."""
    named = problem.traits.words.named
    of_rows = "frame-lda" if problem.traits.contiguous else "lda-classifier"
    baseline = "region-forest" if named == "region" else of_rows
    method = "StateSegmenter" if problem.traits.contiguous else baseline
    return (
        f"this learner has not learned names of {named}s: learn a {method} from labels that are "
        "names, or a metric with "
        + parameter("baselines", [baseline])
        + f", or with {named.capitalize()}Scores among the features"
    )


def mean_agreement(
    learner: Fitted,
    instances: Sequence[Instance],
    truths: Sequence[EquivalenceMatrix],
    sample_weight: Any,
) -> float:
    """The mean agreement of what is found in prepared instances with their true partitions."""
    problem = learner.problem_
    weights = check_weights(sample_weight, len(truths), problem.traits.words)
    counts = [truth.n_clusters for truth in truths] if problem.traits.given_k else None
    predictions, _ = partition_each(learner, instances, counts, {})
    pairs = zip(truths, predictions, strict=True)
    agreements = [problem.agreement(truth, one.partition) for truth, one in pairs]
    return float(np.average(agreements, weights=weights))


def learned_in_words(learner: Any) -> str:
    """What was learned, by which method and from how many instances."""
    words = learner.problem_.traits.words
    states = learner.classes_
    named = "" if states is None else f" of {len(states)} {words.named}s"
    learned = f"{type(learner).__name__}{named}, learned from "
    learned += words.wholes(len(learner.training_data_))
    return learned if learner.solution_ is None else f"{learned}\n{learner.solution_.summary()}"


def labels_of(
    problem: PartitionProblem,
    partitions: Sequence[EquivalenceMatrix],
    instances: Sequence[Instance],
) -> list[NDArray[Any]]:
    labels: list[NDArray[Any]] = []
    with asked(problem, "decode", lambda: problem.traits.words.numbered(len(labels))):
        for M, instance in zip(partitions, instances, strict=True):
            labels.append(problem.decode(M, instance))
    return labels
