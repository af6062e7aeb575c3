"""Partitions and names of held-out instances by a learner, its baselines and users' estimators."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from structsvm.baselines.blind import blind_to
from structsvm.data import TABLES, Counts, Instance, Words, cluster_counts, label_values
from structsvm.errors import DataError, SettingsError
from structsvm.evaluation.contrast import LEARNED
from structsvm.learner import Learner, Stage
from structsvm.learner.methods import BLIND
from structsvm.learner.segments import names_in
from structsvm.learner.stages import Inputs
from structsvm.learner.steps import partition_each
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.equivalence import runs_of
from structsvm.support import some_of, stage

Partitions = dict[str, list[EquivalenceMatrix]]
States = dict[str, list[NDArray[Any]]]
"""The names of the items of each instance, (T_i,), by method; of methods that name states."""


def classifiers_in(baselines: Mapping[str, Learner]) -> list[str]:
    """Names of the baselines that are no metrics."""
    return [name for name, one in baselines.items() if one.sees is None]


def found_by_all(
    learner: Learner, measured: Sequence[Instance], instances: Sequence[Instance], counts: Counts
) -> tuple[Partitions, States]:
    """Partitions by the learner and its baselines, and names by those that name states."""
    problem = learner.problem_
    learned_from = learner.training_data_
    metrics = {name: one for name, one in learner.baselines_.items() if one.sees is not None}
    others = {name: one for name, one in learner.baselines_.items() if one.sees is None}
    others = blind_to(problem, learned_from) | others
    if "untrained" not in metrics:
        raise DataError(
            f"{learner.called} was learned from labels without a change, which give no price of "
            "one: there is no untrained metric to compare it with"
        )
    prepared_by = {_made_by(learner.inputs_): instances}  # what several methods see is made once
    guesses: Partitions = {}
    names: States = {}
    for name, one in stage("methods", [*({LEARNED: learner} | metrics | others).items()]):
        prepared = prepared_by.setdefault(_made_by(one.inputs_), [])
        if not prepared:
            prepared = prepared_by[_made_by(one.inputs_)] = one.inputs_(measured)
        partitions, _ = partition_each(one, prepared, counts, {})
        guesses[name] = [each.partition for each in partitions]
        named = (
            None if problem.traits.words is TABLES else names_in(partitions, prepared, one.classes_)
        )
        if named is None and one.sees is not None:  # a metric of the same instances
            named = names_in(partitions, instances, learner.inputs_.states)
        if named is not None:
            names[name] = named
    # What is blind to the instances comes last.
    return guesses, dict(sorted(names.items(), key=lambda item: item[0] in BLIND))


def _made_by(stage: Stage) -> object:
    """A key that is equal for stages which prepare the same arrays, probabilities aside."""
    return (id(stage.features), id(stage.standardizer)) if isinstance(stage, Inputs) else id(stage)


def found_by_others(
    baselines: Mapping[str, Any],
    learner: Learner,
    instances: Sequence[Instance],
    Xs: Any,
    n_clusters: Counts,
) -> tuple[Partitions, States]:
    """Partitions by estimators of users, and names by those that name states."""
    traits = learner.problem_.traits
    words = traits.words.seen_in(instances)
    as_partition = runs_of if traits.contiguous else EquivalenceMatrix.from_labels
    guesses: Partitions = {}
    names: States = {}
    for name, one in stage("baselines", [*baselines.items()]):
        labels = _labels_by(one, name, instances, Xs, n_clusters, words)
        guesses[name] = list(map(as_partition, labels))
        if _names_states(one):
            names[name] = labels
    return guesses, names


def _names_states(estimator: Any) -> bool:
    return getattr(estimator, "classes_", None) is not None and hasattr(estimator, "predict_states")


def _labels_by(
    baseline: Any,
    name: str,
    instances: Sequence[Instance],
    Xs: Any,
    n_clusters: Counts,
    words: Words,
) -> list[NDArray[Any]]:
    """Labels of items or pixels by an estimator of users; names if it names states."""
    sizes = [instance.n_samples for instance in instances]
    counts: Any = cluster_counts(n_clusters, sizes, words)
    ask = baseline.predict_states if _names_states(baseline) else baseline.predict
    labels = [label_values(y) for y in (ask(Xs) if n_clusters is None else ask(Xs, counts))]
    pictures = [getattr(getattr(x.side, "regions", None), "shape", None) for x in instances]
    shapes = zip(labels, sizes, pictures, strict=False)
    fits = all(y.shape in ((T,), picture) for y, T, picture in shapes)
    if len(labels) != len(instances) or not fits:
        raise SettingsError(
            f"{name} predicts labels of other shapes than {words.wholes(len(instances))} of "
            f"{some_of([words.items(T) for T in sizes])} have"
        )
    return [y.ravel() for y in labels]
