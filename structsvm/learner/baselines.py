"""What a learned metric has to beat, tuned on the same labels: metrics, and other estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.deferred import of_each
from structsvm.data.gaps import filled
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts, cluster_counts
from structsvm.data.values import label_values
from structsvm.errors import DataError, DataWarning, LearningError, SettingsError, warn
from structsvm.features import RecordingTransformer
from structsvm.learner.form import Form
from structsvm.learner.gathered import learn_in_memory
from structsvm.learner.inputs import Inputs
from structsvm.learner.steps import labels_of
from structsvm.learner.training_set import CLUSTERS, ROWS, STATES, TrainingSet
from structsvm.partitions.candidates import Baseline, Candidate, names_states
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem, read_samples
from structsvm.support.arrays import Floats
from structsvm.support.checks import among
from structsvm.support.contract import asked
from structsvm.support.progress import share, stage
from structsvm.support.quiet import without_warnings

USUAL = ("quick", "all")


@dataclass(frozen=True, eq=False)
class MetricBaseline(Metric):
    """A tuned metric, which partitions samples as other baselines do.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=2, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> [labels.shape for labels in learner.baselines_["untrained"].predict(Xs[:2], 3)]
    [(200,), (200,)]
    """

    problem: PartitionProblem = field(kw_only=True)
    inputs: Inputs = field(kw_only=True)
    """What is done to a sample first."""

    @classmethod
    def of(cls, metric: Metric, problem: PartitionProblem, inputs: Inputs) -> MetricBaseline:
        """The baseline of a metric of a learner."""
        own = (metric.factor, metric.price, metric.n_clusters)
        return cls(*own, problem=problem, inputs=inputs)

    @property
    def bare(self) -> Metric:
        """The metric alone."""
        return Metric(self.factor, self.price, self.n_clusters)

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[NDArray[Any]]:
        """Return the label of each item of each sample, (T_i,) each.

        Parameters
        ----------
        Xs : samples, as for :meth:`MetricLearner.predict`
        n_clusters : int, or one int for each sample, optional
            The price decides where it is None.
        """
        samples = self.inputs(read_samples(self.problem, Form.of(Xs).samples, None, None)[0])
        counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples])
        pairs = zip(samples, counts, strict=True)
        found = [
            self.decode(self.problem, x, self.n_clusters if K is None else K) for x, K in pairs
        ]
        return labels_of(self.problem, found, samples)


def metrics_in(baselines: Mapping[str, Any]) -> dict[str, MetricBaseline]:
    """Those of the baselines that are metrics."""
    return {name: one for name, one in baselines.items() if isinstance(one, MetricBaseline)}


def estimators_in(baselines: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the baselines that are no metrics."""
    return {name: one for name, one in baselines.items() if not isinstance(one, MetricBaseline)}


Kind = TypeVar("Kind")


def which_baselines(baselines: Any) -> str | list[str] | None:
    """The baselines that were asked for; None for none."""
    if baselines is None:
        return None
    if among(baselines, USUAL):
        return str(baselines)
    if isinstance(baselines, list | tuple) and all(isinstance(name, str) for name in baselines):
        return list(baselines) or None
    raise SettingsError(
        f"baselines must be 'quick', 'all', a list of names or None, got {baselines!r}"
    )


def tune(
    which: str | Sequence[str],
    measured: TrainingSet,
    seen: Callable[[], TrainingSet],
    features: RecordingTransformer | None,
) -> tuple[dict[str, Metric], dict[str, Any]]:
    """Tune baselines of a metric: those that are metrics, and the other estimators, by name."""
    if all(truth.n_clusters == 1 for truth in measured.parts.truths):
        return {}, {}  # no labelled stretch has a change: nothing to tune on
    names, others = asked_for(which, measured, features)
    metrics: dict[str, Metric] = {}
    part = len(names) / max(len(names) + len(others), 1)
    with share("tuning baselines", 0.0, part):
        parts = seen().parts if names else measured
        for name in stage("metrics", names):
            metrics[name] = tuned_metrics.fit(
                name, parts.problem, parts.samples, parts.truths, weights=parts.weights
            )
    with share("tuning baselines", part, 1.0):
        return metrics, fit_baselines(others, measured, named=not isinstance(which, str))


def asked_for(
    which: str | Sequence[str], data: TrainingSet, features: RecordingTransformer | None
) -> tuple[list[str], list[Baseline]]:
    """The names of the metrics, and the other baselines, that are asked for as :func:`tune` takes
    it.
    """
    others = {baseline.name: baseline for baseline in baselines_of(data, features)}
    if not isinstance(which, str):
        names = list(dict.fromkeys(which))
        return [n for n in names if n not in others], [others[n] for n in names if n in others]
    if which not in USUAL:
        raise SettingsError(f"baselines must be one of {USUAL} or a list of names, got {which!r}")
    some = [baseline for baseline in others.values() if baseline.quick or which == "all"]
    return list(data.problem.traits.baselines), some


def fit_baselines(baselines: Sequence[Baseline], data: TrainingSet, named: bool) -> dict[str, Any]:
    """Fit baselines to samples as they were measured, by name."""
    found: dict[str, Any] = {}
    for baseline in stage("classifiers", baselines):
        try:
            found[baseline.name] = fit_baseline(baseline, data)
        except (DataError, LearningError) as error:
            if named:
                raise
            warn(f"{baseline.name} is not compared with: {error}", DataWarning)
    return found


def baselines_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Baseline]:
    """The baselines that apply to these samples; classifiers find no new clusters."""
    labels = data.item_labels
    if labels is None or data.asks == CLUSTERS:
        return []
    with asked(data.problem, "comparison"):
        return list(data.problem.comparison.baselines(data.samples, labels, features))


def candidates_of(data: TrainingSet, features: RecordingTransformer | None) -> list[Candidate]:
    """The menu of the problem for samples as they were measured, and what is asked about them."""
    labels = _labels(data)
    about = data.asks or data.question
    parts = about in (ROWS, CLUSTERS, STATES)
    with asked(data.problem, "comparison"):
        found = data.problem.comparison.candidates(data.samples, labels, features, parts)
    return [c for c in found if c.estimator is None or about != CLUSTERS]


def fit_baseline(baseline: Baseline, data: TrainingSet) -> Any:
    """Fit a baseline to samples as they were measured, as many as fit in memory."""

    def fit(part: TrainingSet) -> Any:
        with without_warnings(ConvergenceWarning):
            arrays = [filled(X) for X in part.arrays]
            return clone(baseline.estimator).fit(arrays, _labels(part), groups=part.groups)

    return learn_in_memory(data, baseline.name, fit)[1]


def labels_by(
    baseline: Any,
    name: str,
    problem: PartitionProblem,
    samples: Sequence[Sample],
    n_clusters: Counts = None,
) -> list[NDArray[Any]]:
    """The label of each item by a baseline of that name; a name if the baseline names states."""
    words = problem.traits.words
    counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples], words)
    asked = None if n_clusters is None else [K for K in counts if K is not None]
    found = ask(baseline, "predict_states" if names_states(baseline) else "predict", samples, asked)
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


def ask(baseline: Any, method: str, samples: Sequence[Sample], n_clusters: Counts = None) -> Any:
    if any(sample.is_deferred for sample in samples):
        counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples])
        asked = [(baseline, method, () if K is None else ([K],)) for K in counts]
        return of_each("asking", _answer, [sample.data for sample in samples], asked)
    given = () if n_clusters is None else (n_clusters,)
    return getattr(baseline, method)([filled(sample.X) for sample in samples], *given)


def _answer(X: Floats, asked: tuple[Any, str, tuple[Any, ...]]) -> Any:
    baseline, method, given = asked
    (found,) = getattr(baseline, method)([filled(X)], *given)
    return found


def _labels(data: TrainingSet) -> list[Any]:
    """Labels of items: those that were given, or those of the partitions."""
    if (found := data.item_labels) is not None:
        return found
    problem, pairs = data.problem, zip(data.truths, data.samples, strict=True)
    return [problem.learning.item_labels(problem.decode(M, x), x) for M, x in pairs]
