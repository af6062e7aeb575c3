"""What a learned metric has to beat, tuned on the same labels: metrics, and other estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.data.deferred import of_each
from structsvm.data.gaps import filled
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts, cluster_counts
from structsvm.data.values import label_values
from structsvm.errors import DataError, DataWarning, LearningError, SettingsError, warn
from structsvm.features import RecordingTransformer
from structsvm.learner.gathered import learn_in_memory
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.partitions.candidates import Candidate, Rival, names_states
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.rivals import metrics as baselines
from structsvm.support.arrays import Floats
from structsvm.support.checks import among
from structsvm.support.contract import asked, returned_all
from structsvm.support.progress import share, stage
from structsvm.support.quiet import without_warnings

USUAL = ("quick", "all")
Kind = TypeVar("Kind")


def which_rivals(rivals: Any) -> str | list[str] | None:
    """The rivals that were asked for; None for none."""
    if isinstance(rivals, bool):
        return "quick" if rivals else None
    if among(rivals, USUAL):
        return str(rivals)
    if isinstance(rivals, list | tuple) and all(isinstance(name, str) for name in rivals):
        return list(rivals) or None
    raise SettingsError(
        f"rivals must be True, False, 'quick', 'all' or a list of names, got {rivals!r}"
    )


def tune(
    which: str | Sequence[str],
    measured: TrainingSet,
    seen: Callable[[], TrainingSet],
    features: RecordingTransformer | None,
) -> tuple[dict[str, Metric], dict[str, Any]]:
    """Tune rivals of a metric: those that are metrics, and the other estimators, by name."""
    if all(truth.n_clusters == 1 for truth in measured.parts.truths):
        return {}, {}  # no labelled stretch has a change: nothing to tune on
    names, others = asked_for(which, measured, features)
    metrics: dict[str, Metric] = {}
    part = len(names) / max(len(names) + len(others), 1)
    with share("tuning rivals", 0.0, part):
        parts = seen().parts if names else measured
        for name in stage("metrics", names):
            metrics[name] = baselines.fit(
                name, parts.problem, parts.samples, parts.truths, weights=parts.weights
            )
    with share("tuning rivals", part, 1.0):
        return metrics, fit_rivals(others, measured, named=not isinstance(which, str))


def asked_for(
    which: str | Sequence[str], data: TrainingSet, features: RecordingTransformer | None
) -> tuple[list[str], list[Rival]]:
    """The names of the metrics, and the other rivals, that are asked for as :func:`tune` takes
    it.
    """
    others = {rival.name: rival for rival in rivals_of(data, features)}
    if not isinstance(which, str):
        names = list(dict.fromkeys(which))
        return [n for n in names if n not in others], [others[n] for n in names if n in others]
    if which not in USUAL:
        raise SettingsError(f"rivals must be one of {USUAL} or a list of names, got {which!r}")
    some = [rival for rival in others.values() if rival.quick or which == "all"]
    return list(data.problem.traits.baselines), some


def fit_rivals(rivals: Sequence[Rival], data: TrainingSet, named: bool) -> dict[str, Any]:
    """Fit rivals to samples as they were measured, by name."""
    found: dict[str, Any] = {}
    for rival in stage("classifiers", rivals):
        try:
            found[rival.name] = fit_rival(rival, data)
        except (DataError, LearningError) as error:
            if named:
                raise
            warn(f"{rival.name} is not compared with: {error}", DataWarning)
    return found


def rivals_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Rival]:
    """The rivals that apply to samples as they were measured; classifiers find no new clusters."""
    labels = data.item_labels
    if labels is None or data.asks == CLUSTERS:
        return []
    return _declared("rivals", Rival, data, labels, features)


def candidates_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Candidate]:
    """The menu of the problem for samples as they were measured, and what is asked about them."""
    labels = _labels(data)
    asked = data.asks or data.question
    if asked not in (ROWS, CLUSTERS, STATES):
        return _declared("candidates", Candidate, data, labels, features)
    found = _declared("candidates_for_parts", Candidate, data, labels, features)
    return [c for c in found if c.rival is None or asked != CLUSTERS]


def _declared(
    method: str, kind: type[Kind], data: TrainingSet, labels: Any, features: Any
) -> list[Kind]:
    with asked(data.problem, method):
        found = getattr(data.problem, method)(data.samples, labels, features)
        return returned_all(data.problem, method, found, kind)


def fit_rival(rival: Rival, data: TrainingSet) -> Any:
    """Fit a rival to samples as they were measured, as many as fit in memory."""

    def fit(part: TrainingSet) -> Any:
        with without_warnings(ConvergenceWarning):
            arrays = [filled(X) for X in part.arrays]
            return clone(rival.estimator).fit(arrays, _labels(part), groups=part.groups)

    return learn_in_memory(data, rival.name, fit)[1]


def labels_by(
    rival: Any,
    name: str,
    problem: PartitionProblem,
    samples: Sequence[Sample],
    n_clusters: Counts = None,
) -> list[NDArray[Any]]:
    """The label of each item by a rival of that name; a name if the rival names states."""
    words = problem.traits.words
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples], words)
    asked = None if n_clusters is None else [K for K in counts if K is not None]
    found = ask(rival, "predict_states" if names_states(rival) else "predict", samples, asked)
    if len(found) != len(samples):
        raise SettingsError(
            f"{name} predicts labels of {len(found)} of {words.wholes(len(samples))}"
        )
    labels = [label_values(y) for y in found]
    for i, (values, sample) in enumerate(zip(labels, samples, strict=True)):
        if values.shape != (sample.n_samples,):
            raise SettingsError(
                f"{name} predicts labels of shape {values.shape} of {words.whole} {i}, which has "
                f"{words.items(sample.n_samples)}"
            )
    return labels


def partitions_of(
    labels: Sequence[NDArray[Any]], problem: PartitionProblem
) -> list[EquivalenceMatrix]:
    """The partitions that labels of items (T,) mean: of recordings, a segment for each change."""
    if problem.traits.contiguous:
        labels = [np.cumsum(np.concatenate([[False], y[1:] != y[:-1]])) for y in labels]
    return [EquivalenceMatrix.from_labels(y) for y in labels]


def ask(rival: Any, method: str, samples: Sequence[Sample], n_clusters: Counts = None) -> Any:
    if any(sample.is_deferred for sample in samples):
        counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples])
        asked = [(rival, method, () if K is None else ([K],)) for K in counts]
        return of_each("asking", _answer, [sample.data for sample in samples], asked)
    given = () if n_clusters is None else (n_clusters,)
    return getattr(rival, method)([filled(sample.X) for sample in samples], *given)


def _answer(X: Floats, asked: tuple[Any, str, tuple[Any, ...]]) -> Any:
    rival, method, given = asked
    (found,) = getattr(rival, method)([filled(X)], *given)
    return found


def _labels(data: TrainingSet) -> list[Any]:
    """Labels of items: those that were given, or those of the partitions."""
    if (found := data.item_labels) is not None:
        return found
    problem, pairs = data.problem, zip(data.truths, data.samples, strict=True)
    return [problem.item_labels(problem.decode(M, x), x) for M, x in pairs]
