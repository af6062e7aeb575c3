"""What a learned metric is worth on held-out instances, and how far it depends on those it has."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.blind import blind_to
from structsvm.data import (
    TABLES,
    Counts,
    Instance,
    TimeAxis,
    Words,
    asked_counts,
    cluster_counts,
    contents,
    label_values,
    one_each,
    time_axis,
    units_of,
)
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.evaluation.confusion import confusions_of
from structsvm.evaluation.contrast import LEARNED
from structsvm.evaluation.scores import Evaluation
from structsvm.evaluation.split_tables import question_in_words
from structsvm.evaluation.split_wholes import MOST_PARTS
from structsvm.evaluation.splits import split_instances
from structsvm.evaluation.structured import StructuredEvaluation, evaluate_structured
from structsvm.evaluation.verdict import Evidence
from structsvm.io import Recording
from structsvm.learner import Learner, Stage, TrainingSet
from structsvm.learner.columns import labelled_parts, warn_of_columns
from structsvm.learner.fitted import column_names
from structsvm.learner.form import Form, is_prepared
from structsvm.learner.methods import BLIND
from structsvm.learner.preparing import measured as measured_by
from structsvm.learner.segments import names_in
from structsvm.learner.stages import Inputs
from structsvm.learner.steps import partition_each
from structsvm.learner.structured import StructuredSVM, structured_in
from structsvm.learner.training_set import CLUSTERS, ROWS
from structsvm.partitions import EquivalenceMatrix, PartitionProblem
from structsvm.partitions.equivalence import runs_of
from structsvm.support import refuse_unlisted, some_of, stage
from structsvm.training_labels import Known, labels_of_each, read_labels

__all__ = ["evaluate"]
Partitions = dict[str, list[EquivalenceMatrix]]
States = dict[str, list[NDArray[Any]]]
"""The names of the items of each instance, by each metric or baseline that names states."""


@overload
def evaluate(
    learner: StructuredSVM,
    Xs: Any,
    ys: Any = None,
    *,
    names: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    groups: Any = None,
) -> StructuredEvaluation: ...


@overload
def evaluate(
    learner: Any,
    Xs: Any,
    ys: Any = None,
    n_clusters: int | str | None = None,
    tolerance: int = 5,
    *,
    names: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    measured: Sequence[Instance] | None = None,
    unseen_states: str = "refuse",
    groups: Any = None,
    split: str | None = None,
    times: Sequence[Any] | None = None,
) -> Evaluation: ...


def evaluate(
    learner: Learner | Any,
    Xs: Any,
    ys: Any = None,
    n_clusters: int | str | None = None,
    tolerance: int = 5,
    *,
    names: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    measured: Sequence[Instance] | None = None,
    unseen_states: str = "refuse",
    groups: Any = None,
    split: str | None = None,
    times: Sequence[Any] | None = None,
) -> Any:
    """Compare what was learned with the untrained metric and with baselines on held-out instances.

    Other metrics, and the classifiers of :mod:`structsvm.baselines`, are compared if
    ``fit(..., baselines=)`` has tuned them on the training labels. Names of states are evaluated as
    well if the learner or a baseline predicts them: accuracy, macro F1 and the confusion matrix.

    Parameters
    ----------
    learner : MetricLearner, StateSegmenter or another learner
        Fitted; or a search, of which the ``best_estimator_`` is compared with its baselines. A
        :class:`~structsvm.StructuredSVM` is judged by the loss of its problem, beside the weight 0,
        that of :meth:`Problem.start` and the ``baselines``.
    Xs, ys : instances and labels, as for :meth:`MetricLearner.fit`
        Held out; a :class:`~structsvm.errors.DataWarning` says if some were learned from.
    n_clusters : int, "true" or None
        The number of segments (or clusters) of predictions, or "true" for that of the labels. With
        None the price decides, or the labels if the problem takes the number for known.
    tolerance : int
        A predicted change is correct if it is within so many samples of a true one.
    names : sequence of str, optional
        Names of the instances; by default their numbers.
    baselines : mapping of fitted estimators by name, optional
        Other methods. Each has ``predict(Xs)``, which returns a label for each item of each
        instance, and takes the numbers of clusters as its second argument if ``n_clusters`` is
        given.
    measured : sequence of Instance, optional
        The same instances as they were read already, by the command line.
    unseen_states : {"refuse", "count"}
        Names in the labels that were not learned: refuse them, or count them as named wrongly.
    groups : sequence of length N, optional
        Group of each instance (person, machine, ...), which the verdict treats as independent.
    split : {None, "rows", "clusters", "auto"}
        Evaluate parts of a single table: up to ten groups of its rows, or some of its clusters at a
        time; "auto" is the question that the learner was made for. If it was fitted on this table
        alone, each part is clustered by a metric learned from the rest. Only ``n_clusters``, by
        default the number of the labels, and ``tolerance`` apply as well.
    times : sequence, optional
        Of each recording when its samples were measured, as for
        :func:`structsvm.plotting.report_page`: errors of changes are in seconds then, or in the
        unit of these numbers.

    Returns
    -------
    Evaluation, or StructuredEvaluation of a StructuredSVM

    Raises
    ------
    DataError, SettingsError
        For an instance or a parameter that cannot be used, or a table that cannot be split.
    LearningError
        If nothing can be learned from the rest of a table.

    Examples
    --------
    >>> from structsvm import MetricLearner, evaluate
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(8, n_samples=200, n_features=20, n_relevant=2, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs[:4], ys[:4])
    >>> evaluation = evaluate(learner, Xs[4:], ys[4:])
    >>> learned, untrained = evaluation.scores["learned"], evaluation.scores["untrained"]
    >>> bool(learned["loss"] < untrained["loss"])
    True
    """
    if (structured := structured_in(learner)) is not None:
        if any(one is not None for one in (n_clusters, measured, split, times)):
            raise SettingsError(
                "n_clusters, measured, split and times are for partitions: a StructuredSVM is "
                "evaluated by the loss of its problem, with names, baselines and groups"
            )
        return evaluate_structured(structured, Xs, ys, names, baselines, groups)
    learner = fitted_learner(learner, "evaluate")
    if is_prepared(Xs):
        raise SettingsError("give the original data, not prepared instances: classifiers need them")
    form = Form.given_to(learner, Xs).told(getattr(learner, "steps_", None))
    measured = measured_by(learner, form.instances) if measured is None else measured
    N = len(measured)
    words = learner.problem_.traits.words.seen_in(measured)
    problem = learner.problem_
    labels = labels_of_each(form.labels(ys), measured, words)
    if split is not None:
        return _evaluate_parts(learner, measured, labels, n_clusters, tolerance, split)
    called = form.names or [str(i) for i in range(N)]
    names = one_each(called if names is None else names, N, words, "name")
    axes = _axes(form.axes if times is None else times, measured, words)
    units = units_of(form.in_order(groups, "groups"), N, words)[1]
    seen = learner.training_data_.warn_if_among([instance.data for instance in measured], words)
    instances = learner.inputs_(measured)
    known = _scorable(learner, instances, labels)
    truths = [one.drawn for one in known]
    learner.training_data_.warn_of_new_clusters(labels, learner.question_)
    counts = _counts(n_clusters, known, problem, words)
    guesses, states = _found_by_all(learner, measured, instances, counts)
    if taken := guesses.keys() & (baselines or {}).keys():
        raise SettingsError(f"baselines: {min(taken)!r} is there already: give it another name")
    for name, one in stage("baselines", [*(baselines or {}).items()]):
        labelled = _labels_found(one, name, measured, form.instances, counts, words)
        as_partition = runs_of if problem.traits.contiguous else EquivalenceMatrix.from_labels
        guesses[name] = list(map(as_partition, labelled))
        if getattr(one, "classes_", None) is not None and hasattr(one, "predict_states"):
            states[name] = labelled
    parts = labelled_parts(measured, known)
    warn_of_columns(measured, column_names(learner), words, parts)
    shown: dict[str, Any] = {"truths": truths, "guesses": guesses, "states": states}
    shown |= {"measured": measured, "prepared": instances, "labels": labels, "times": axes}
    numbers = contents([instance.data for instance in instances])
    if averaged := [x.side for x in measured if isinstance(x.side, Recording)]:
        fine = [one.fine or one for one in averaged]  # partitions of windows are scored by samples
        instances = [Instance(one.X[:, :0]) for one in fine]
        labels = [one.y for one in fine]
        axes = [one.time for one in fine]
        known = _scorable(learner, instances, labels)
        guesses = _by_recording(guesses, averaged)
        states = _by_recording(states, averaged)
    return Evaluation.of(
        problem,
        names,
        known,
        guesses,
        tolerance,
        confusions=confusions_of(learner, instances, labels, truths, states, unseen_states),
        times=axes,
        shown=shown,
        units=units,
        numbers=numbers,
        evidence=Evidence(words, grouped=groups is not None, seen=seen, method=learner.called),
    )


def _axes(
    times: Sequence[Any], measured: Sequence[Instance], words: Words
) -> list[TimeAxis | None]:
    """The time of each recording; empty if that of none is known."""
    if all(one is None for one in times):
        return []
    pairs = zip(one_each(times, len(measured), words, "time"), measured, strict=True)
    return [None if one is None else time_axis(one, x.n_samples) for one, x in pairs]


def _counts(
    n_clusters: int | str | None, known: Sequence[Known], problem: PartitionProblem, words: Words
) -> Counts:
    """The number of clusters that is asked for of each instance."""
    if n_clusters is None and problem.traits.given_k and not problem.traits.contiguous:
        n_clusters = "true"
    if n_clusters == "true" and any(one.truth is None for one in known):
        raise DataError(
            parameter("n_clusters", "true")
            + f" is that of the labels, which {words.whole}s labelled in part do not give: leave "
            "it out, or leave these out"
        )
    return asked_counts(n_clusters, [one.drawn for one in known])


def _scorable(
    learner: Learner, instances: Sequence[Instance], labels: Sequence[Any]
) -> list[Known]:
    """What is known of each instance; an error if it cannot be scored."""
    words = learner.problem_.traits.words
    labels_read = read_labels(learner.problem_, instances, labels)
    for i, known in enumerate(labels_read):
        if known.scored is None:
            raise DataError(
                words.numbered(i)
                + f": is labelled in part only (-1 marks {words.item}s without a label), which "
                "is enough to learn from but not for this"
            )
    return labels_read


def _by_recording(
    by_number: Mapping[str, Sequence[Any]], wholes: Sequence[Recording]
) -> dict[str, Any]:
    """Partitions of windows, or names, as those of the samples that were averaged."""

    def spread(each: Any, whole: Recording) -> Any:
        labels = np.repeat(getattr(each, "labels", each), np.diff(whole.edges))
        return EquivalenceMatrix.from_labels(labels) if hasattr(each, "labels") else labels

    return {name: list(map(spread, each, wholes)) for name, each in by_number.items()}


def fitted_learner(learner: Any, asked: str) -> Learner:
    """The learner, or the best one of a search; refused if it is none."""
    learner = getattr(learner, "best_estimator_", learner)
    if not hasattr(learner, "_learn"):
        raise SettingsError(
            f"{asked} takes a learner of partitions, such as MetricLearner or StateSegmenter, or a "
            f"search, got {type(learner).__name__}: a StructuredSVM has predict, score, evaluate "
            "and diagnose"
        )
    check_is_fitted(learner)
    fitted: Learner = learner
    return fitted


def classifiers_in(baselines: Mapping[str, Learner]) -> list[str]:
    """Names of the baselines that are no metrics."""
    return [name for name, one in baselines.items() if one.sees is None]


def _found_by_all(
    learner: Learner, measured: Sequence[Instance], instances: Sequence[Instance], counts: Counts
) -> tuple[Partitions, States]:
    """Partitions by the learner and its baselines, and the states that some name."""
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
    seen = {_made_by(learner.inputs_): instances}  # what several methods see is made once
    guesses: Partitions = {}
    names: States = {}
    for name, one in stage("methods", [*({LEARNED: learner} | metrics | others).items()]):
        own = seen.setdefault(_made_by(one.inputs_), [])
        if not own:
            own = seen[_made_by(one.inputs_)] = one.inputs_(measured)
        partitions, _ = partition_each(one, own, counts, {})
        guesses[name] = [each.partition for each in partitions]
        named = None if problem.traits.words is TABLES else names_in(partitions, own, one.classes_)
        if named is None and one.sees is not None:  # a metric of the same instances
            named = names_in(partitions, instances, learner.inputs_.states)
        if named is not None:
            names[name] = named
    # What is blind to the instances comes last.
    return guesses, dict(sorted(names.items(), key=lambda item: item[0] in BLIND))


def _made_by(stage: Stage) -> object:
    """What instances are made by, but for the probabilities of states that come with them."""
    return (id(stage.features), id(stage.standardizer)) if isinstance(stage, Inputs) else id(stage)


def _labels_found(
    baseline: Any,
    name: str,
    instances: Sequence[Instance],
    Xs: Any,
    n_clusters: Counts,
    words: Words,
) -> list[NDArray[Any]]:
    """Labels of items or pixels by an estimator of others; names if it names states."""
    sizes = [instance.n_samples for instance in instances]
    counts: Any = cluster_counts(n_clusters, sizes, words)
    named = getattr(baseline, "classes_", None) is not None and hasattr(baseline, "predict_states")
    ask = baseline.predict_states if named else baseline.predict
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


def _evaluate_parts(
    learner: Learner,
    instances: Sequence[Instance],
    labels_of_parts: Sequence[Any],
    n_clusters: Counts | str,
    tolerance: int,
    asked: str,
) -> Evaluation:
    """Evaluate parts of one table; standard errors neglect that their training rows overlap."""
    # Groups of rows are scaled like the whole table, or like the training rows; groups of clusters
    # are scaled separately, like new tables.
    refuse_unlisted("split", asked, (ROWS, CLUSTERS, "auto"))
    if len(instances) != 1:
        raise DataError(parameter("split", asked) + f" is for one table, got {len(instances)}")
    problem = learner.problem_
    learned_from = learner.training_data_
    labels = read_labels(problem, instances, labels_of_parts)
    data = TrainingSet(problem, instances, labels, np.ones(1), labels_of_parts)
    again = instances[0].data in learned_from
    if again and len(learned_from) > 1:
        raise DataError(
            f"the model was learned from this table and {len(learned_from) - 1} more: judge it by "
            "tables it has not seen"
        )
    if asked == "auto":
        asked = (learner.question_ if again else None) or ROWS
    split = split_instances(asked, data, MOST_PARTS, 0)
    learned_from.warn_of_new_clusters(labels_of_parts, learner.question_)
    parts = split.held_out
    truths = split.held_out.truths
    seen = None
    if not again and asked == ROWS:
        whole = data.with_features([x.X for x in learner.inputs_(instances)])
        seen = whole.cut(split.pieces).instances
    asked_for = asked_counts("true" if n_clusters is None else n_clusters, truths)
    counts = cluster_counts(asked_for, [part.n_samples for part in parts.instances], split.words)
    tuned = learner.baselines_
    if asked == CLUSTERS:  # classifiers find no new clusters
        tuned = {name: one for name, one in tuned.items() if one.sees is not None}
    alike: Any = clone(learner)
    scaled = getattr(learner.inputs_, "standardizer", None)
    if asked == ROWS and scaled is not None and scaled.centres_each:
        alike.standardize = "training"
    guesses: Partitions = {}
    for k in stage("folds", range(len(split))):
        which = split.test(k).tolist()
        own = copy(learner)
        own.baselines_ = tuned
        if again:
            own = split.learned_without(k, alike, baselines=[n for n in tuned if n != "untrained"])
        measured = [parts.instances[i] for i in which]
        prepared = own.inputs_(measured) if seen is None else [seen[i] for i in which]
        here = [K for i in which if (K := counts[i])]
        for name, of_fold in _found_by_all(own, measured, prepared, here)[0].items():
            guesses.setdefault(name, []).extend(of_fold)
    return Evaluation.of(
        problem,
        [f"{asked} {i}" for i in range(len(parts))],
        parts.labels,
        guesses,
        tolerance,
        shown={"learned_again": again},
        draws=split.draws,
        evidence=Evidence(
            split.words,
            seen=0 if again else len(learned_from.shares_known([x.data for x in parts.instances])),
            method=learner.called,
        ),
        question=question_in_words(asked, len(parts), again),
    )
