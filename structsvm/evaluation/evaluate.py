"""Compare a learner with baselines on held-out instances."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.data import (
    Counts,
    Instance,
    TimeAxis,
    Words,
    asked_counts,
    contents,
    one_each,
    time_axis,
    units_of,
)
from structsvm.errors import DataError, SettingsError, parameter
from structsvm.evaluation.confusion import confusions_of
from structsvm.evaluation.evaluate_parts import evaluate_parts
from structsvm.evaluation.guesses import found_by_all, found_by_others
from structsvm.evaluation.scores import Evaluation
from structsvm.evaluation.structured import StructuredEvaluation, evaluate_structured
from structsvm.evaluation.verdict import Evidence
from structsvm.io import Recording
from structsvm.learner import Learner
from structsvm.learner.columns import labelled_parts, warn_of_columns
from structsvm.learner.fitted import column_names
from structsvm.learner.form import Form, is_prepared
from structsvm.learner.preparing import measured as measured_by
from structsvm.learner.structured import StructuredSVM, structured_in
from structsvm.partitions import EquivalenceMatrix, PartitionProblem
from structsvm.training_labels import Known, labels_of_each, read_labels

__all__ = ["evaluate"]


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
        _refuse_settings_of_partitions(n_clusters, measured, split, times)
        return evaluate_structured(structured, Xs, ys, names, baselines, groups)
    learner = fitted_learner(learner, "evaluate")
    if is_prepared(Xs):
        raise SettingsError("give the original data, not prepared instances: classifiers need them")
    form = Form.for_learner(learner, Xs)
    form.warn_about_times(getattr(learner, "steps_", None))
    measured = measured_by(learner, form.instances) if measured is None else measured
    N = len(measured)
    words = learner.problem_.traits.words.seen_in(measured)
    labels = labels_of_each(form.labels(ys), measured, words)
    if split is not None:
        return evaluate_parts(learner, measured, labels, n_clusters, tolerance, split)
    names = _names(form.names if names is None else names, N, words)
    axes = _axes(form.axes if times is None else times, measured, words)
    units = units_of(form.in_order(groups, "groups"), N, words)[1]
    n_seen = learner.training_data_.warn_if_among([instance.data for instance in measured], words)
    instances = learner.inputs_(measured)
    labels_read = _scorable(learner, instances, labels)
    truths = [one.drawn for one in labels_read]
    learner.training_data_.warn_of_new_clusters(labels, learner.question_)
    counts = _counts(n_clusters, labels_read, learner.problem_, words)
    guesses, states = found_by_all(learner, measured, instances, counts)
    others = _refuse_taken(baselines or {}, guesses)
    by_others = found_by_others(others, learner, measured, form.instances, counts)
    guesses |= by_others[0]
    states |= by_others[1]
    warn_of_columns(measured, column_names(learner), words, labelled_parts(measured, labels_read))
    shown: dict[str, Any] = {"truths": truths, "guesses": guesses, "states": states}
    shown |= {"measured": measured, "prepared": instances, "labels": labels, "times": axes}
    numbers = contents([instance.data for instance in instances])
    if averaged := [x.side for x in measured if isinstance(x.side, Recording)]:
        instances, labels, axes = _by_samples(averaged)
        labels_read = _scorable(learner, instances, labels)
        guesses = _by_recording(guesses, averaged)
        states = _by_recording(states, averaged)
    return Evaluation.of(
        learner.problem_,
        names,
        labels_read,
        guesses,
        tolerance,
        confusions=confusions_of(learner, instances, labels, truths, states, unseen_states),
        times=axes,
        shown=shown,
        units=units,
        numbers=numbers,
        evidence=Evidence(words, grouped=groups is not None, seen=n_seen, method=learner.called),
    )


def _refuse_settings_of_partitions(*settings: object) -> None:
    if any(one is not None for one in settings):
        raise SettingsError(
            "n_clusters, measured, split and times are for partitions: a StructuredSVM is "
            "evaluated by the loss of its problem, with names, baselines and groups"
        )


def _names(names: Sequence[str] | None, N: int, words: Words) -> Any:
    """The name of each instance, by default its number."""
    return one_each([str(i) for i in range(N)] if names is None else names, N, words, "name")


def _axes(
    times: Sequence[Any], measured: Sequence[Instance], words: Words
) -> list[TimeAxis | None]:
    """The time axis of each recording; empty if none has times."""
    if all(one is None for one in times):
        return []
    pairs = zip(one_each(times, len(measured), words, "time"), measured, strict=True)
    return [None if one is None else time_axis(one, x.n_samples) for one, x in pairs]


def _counts(
    n_clusters: int | str | None, labels: Sequence[Known], problem: PartitionProblem, words: Words
) -> Counts:
    """The number of clusters that is asked for of each instance."""
    if n_clusters is None and problem.traits.given_k and not problem.traits.contiguous:
        n_clusters = "true"
    if n_clusters == "true" and any(one.truth is None for one in labels):
        raise DataError(
            parameter("n_clusters", "true")
            + f" is that of the labels, which {words.whole}s labelled in part do not give: leave "
            "it out, or leave these out"
        )
    return asked_counts(n_clusters, [one.drawn for one in labels])


def _scorable(
    learner: Learner, instances: Sequence[Instance], labels: Sequence[Any]
) -> list[Known]:
    """The labels of each instance; a DataError if an instance cannot be scored by them."""
    words = learner.problem_.traits.words
    labels_read = read_labels(learner.problem_, instances, labels)
    for i, label in enumerate(labels_read):
        if label.scored is None:
            raise DataError(
                words.numbered(i)
                + f": is labelled in part only (-1 marks {words.item}s without a label), which "
                "is enough to learn from but not for this"
            )
    return labels_read


def _refuse_taken(baselines: Mapping[str, Any], taken: Mapping[str, Any]) -> Mapping[str, Any]:
    if both := taken.keys() & baselines.keys():
        raise SettingsError(f"baselines: {min(both)!r} is there already: give it another name")
    return baselines


def _by_samples(
    averaged: Sequence[Recording],
) -> tuple[list[Instance], list[Any], list[TimeAxis | None]]:
    """Instances, labels and times of the samples that windows were averaged from."""
    fine = [one.fine or one for one in averaged]
    instances = [Instance(one.X[:, :0]) for one in fine]
    return instances, [one.y for one in fine], [one.time for one in fine]


def _by_recording(
    by_method: Mapping[str, Sequence[Any]], wholes: Sequence[Recording]
) -> dict[str, Any]:
    """Partitions or names of windows, repeated for the samples that each window averages."""

    def spread(each: Any, whole: Recording) -> Any:
        labels = np.repeat(getattr(each, "labels", each), np.diff(whole.edges))
        return EquivalenceMatrix.from_labels(labels) if hasattr(each, "labels") else labels

    return {name: list(map(spread, each, wholes)) for name, each in by_method.items()}


def fitted_learner(learner: Any, function: str) -> Learner:
    """The learner, or the best one of a search; a SettingsError names the function otherwise."""
    learner = getattr(learner, "best_estimator_", learner)
    if not hasattr(learner, "_learn"):
        raise SettingsError(
            f"{function} takes a learner of partitions, such as MetricLearner or StateSegmenter, "
            f"or a search, got {type(learner).__name__}: a StructuredSVM has predict, score, "
            "evaluate and diagnose"
        )
    check_is_fitted(learner)
    fitted: Learner = learner
    return fitted
