"""The rules of a prediction: known labels, lengths and counts, as constraints on partitions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from structsvm.data import UNKNOWN, Counts, Instance, cluster_counts, label_values, unknown_labels
from structsvm.errors import DataError, SettingsError, about, parameter
from structsvm.learner.fitted import Fitted, partition_of
from structsvm.partial_labels import PartialLabels, as_partial
from structsvm.partitions import UNCONSTRAINED, Constraint, PartitionProblem
from structsvm.support import settings_in, some_of
from structsvm.training_labels import labels_of_each


class Rules(TypedDict, total=False):
    """Which partitions are allowed: see :meth:`structsvm.MetricLearner.predict`."""

    known: Any
    min_length: int
    max_length: int | None


def read_rules(
    learner: Fitted, instances: Sequence[Instance], n_clusters: Counts, rules: Rules
) -> tuple[PartitionProblem, list[Constraint]]:
    """The problem with the lengths of the rules, and a constraint for each instance."""
    problem: PartitionProblem = learner.problem_
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
    known = [None] * len(instances) if known is None else labels_of_each(known, instances, words)
    for i, (instance, y) in enumerate(zip(instances, known, strict=True)):
        if y is None:
            constraints.append(UNCONSTRAINED)
            continue
        with about(words.numbered(i)):
            labels = instance.known_labels(y)
            partial = as_partial(labels, instance.n_samples, words.item)
            if partial is None:
                partial = PartialLabels(partition_of(problem.encode(labels, instance)).labels)
            constraint = partial.constraint(instance.n_samples, problem.traits.contiguous)
            names = learner.classes_
            if learner.model_.keeps_states and names is not None:
                states = known_states(labels, instance.n_samples, names)
                constraint = replace(constraint, states=states)
            constraints.append(constraint)
    constraints = _counted(problem, instances, constraints, n_clusters)
    return replace(problem, **lengths) if lengths else problem, constraints  # type: ignore[type-var]


def known_states(labels: Any, n_samples: int, names: NDArray[Any]) -> tuple[int, ...]:
    """The number of the state that each label names, -1 for none, (T,); empty without names.

    Numbers do not name states whose names are texts: they only say where segments begin.
    """
    values = label_values(getattr(labels, "labels", labels))
    if values.shape != (n_samples,):
        return ()
    has_label = ~unknown_labels(values)
    numbers = {name: k for k, name in enumerate(names.tolist())}
    strange = sorted({*values[has_label].tolist()} - {*numbers}, key=repr)
    if strange and values.dtype.kind in "iuf" and names.dtype.kind not in "iuf":
        return ()
    if strange:
        raise DataError(f"{strange[0]!r} is none of the states {some_of(list(numbers))}")
    states = np.full(n_samples, UNKNOWN)
    states[has_label] = [numbers[name] for name in values[has_label].tolist()]
    return tuple(states.tolist())


def _counted(
    problem: PartitionProblem,
    instances: Sequence[Instance],
    constraints: Sequence[Constraint],
    n_clusters: Counts,
) -> list[Constraint]:
    """Constraints with the numbers of clusters that are asked for; refuse those that contradict."""
    words = problem.traits.words
    counts = cluster_counts(n_clusters, [instance.n_samples for instance in instances], words)
    for i, constraint in enumerate(constraints):
        allowed = constraint.n_clusters
        if allowed is not None and counts[i] not in (None, allowed):
            raise DataError(
                words.numbered(i)
                + f": it is known to have {words.parts(allowed)}, but "
                + parameter("n_clusters", counts[i])
                + ": leave out one of them"
            )
    return [one.with_clusters(K) for one, K in zip(constraints, counts, strict=True)]
