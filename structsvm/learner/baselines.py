"""What a learned metric has to beat, tuned on the same labels, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from structsvm.baselines import metrics as tuned_metrics
from structsvm.data.sample import Sample
from structsvm.data.samples import Counts, cluster_counts, label_values
from structsvm.errors import (
    DataError,
    LearningError,
    SettingsError,
    warn,
    without_warnings,
)
from structsvm.features import RecordingTransformer
from structsvm.learner.columns import Fitted
from structsvm.learner.form import Form
from structsvm.learner.steps import (
    as_measured,
    decode_with,
    labels_of,
    names_of_items,
    segment_table,
)
from structsvm.learner.training_set import (
    CLUSTERS,
    ROWS,
    STATES,
    Inputs,
    TrainingSet,
    ask,
    learn_in_memory,
    seen_by,
)
from structsvm.partitions.equivalence import EquivalenceMatrix, runs_of
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import (
    Baseline,
    Candidate,
    ComparisonData,
    PartitionProblem,
    names_states,
    read_samples,
)
from structsvm.support.checks import among, refuse_unless, some_of
from structsvm.support.contract import asked
from structsvm.support.progress import share, stage


@dataclass(frozen=True, eq=False)
class MetricBaseline(Metric):
    """A tuned metric, which partitions samples as other baselines do."""

    problem: PartitionProblem = field(kw_only=True)
    inputs: Inputs = field(kw_only=True)
    """What is done to a sample first."""

    @classmethod
    def of(cls, metric: Metric, problem: PartitionProblem, inputs: Inputs) -> MetricBaseline:
        own = (metric.factor, metric.price, metric.n_clusters)
        return cls(*own, problem=problem, inputs=inputs)

    def predict(self, Xs: Any, n_clusters: Counts = None) -> list[NDArray[Any]]:
        """The label of each item of each sample, (T_i,); the price decides where K is not given."""
        samples = self.inputs(read_samples(self.problem, Form.of(Xs).samples, None, None)[0])
        counts = cluster_counts(n_clusters, [sample.n_samples for sample in samples])
        found = [
            self.problem.partition(x, self, self.n_clusters if K is None else K)
            for x, K in zip(samples, counts, strict=True)
        ]
        return labels_of(self.problem, found, samples)


def metrics_in(baselines: Mapping[str, Any]) -> dict[str, MetricBaseline]:
    return {name: one for name, one in baselines.items() if isinstance(one, MetricBaseline)}


def estimators_in(baselines: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the baselines that are no metrics."""
    return {name: one for name, one in baselines.items() if not isinstance(one, MetricBaseline)}


def namer_in(baselines: Mapping[str, Any]) -> Any:
    """The one that names the segments of metrics: the quickest with probabilities for each item."""
    for one in baselines.values():
        if names_states(one) and hasattr(one, "predict_proba") and not getattr(one, "image", None):
            return one
    return None


# ---- which there are, and how they are fitted


def which_baselines(baselines: Any) -> str | list[str] | None:
    if among(baselines, ("quick", "all", None)):
        return baselines
    named = isinstance(baselines, list | tuple) and all(isinstance(n, str) for n in baselines)
    refuse_unless(named, "baselines", "'quick', 'all', a list of names or None", baselines)
    return list(baselines) or None


def tune(
    which: str | Sequence[str],
    measured: TrainingSet,
    seen: TrainingSet,
    features: RecordingTransformer | None,
    inputs: Inputs,
    standardize: str | None,
) -> dict[str, Any]:
    """Tune baselines of a metric, by name: other metrics of what it sees, and estimators."""
    if all(truth.n_clusters == 1 for truth in measured.parts.truths):
        return {}  # no labelled stretch has a change: nothing to tune on
    names, others = chosen_baselines(which, measured, features, standardize)
    found: dict[str, Any] = {}
    part = len(names) / max(len(names) + len(others), 1)
    with share("tuning baselines", 0.0, part):
        for name in stage("metrics", names):
            metric = tuned_metric(name, seen.parts)
            found[name] = MetricBaseline.of(metric, measured.problem, inputs)
    with share("tuning baselines", part, 1.0):
        return found | fit_baselines(others, measured, named=not isinstance(which, str))


def tuned_metric(name: str, data: TrainingSet, **settings: Any) -> Metric:
    """One of the metrics by name, tuned on samples as it sees them."""
    return tuned_metrics.fit(
        name, data.problem, data.samples, data.truths, weights=data.weights, **settings
    )


def chosen_baselines(
    which: str | Sequence[str],
    data: TrainingSet,
    features: RecordingTransformer | None,
    standardize: str | None,
) -> tuple[list[str], list[Baseline]]:
    """The names of metrics, and the other baselines; classifiers find no new clusters."""
    found: list[Baseline] = []
    if data.asks != CLUSTERS:
        with asked(data.problem, "comparison"):
            given = ComparisonData(data.samples, data.item_labels, features)
            found = list(data.problem.comparison.baselines(given))
        found = [replace(one, estimator=standardized(one.estimator, standardize)) for one in found]
    if isinstance(which, str):
        quick = [baseline for baseline in found if baseline.quick or which == "all"]
        return list(data.problem.traits.baselines), quick
    others = {baseline.name: baseline for baseline in found}
    names = list(dict.fromkeys(which))
    return [n for n in names if n not in others], [others[n] for n in names if n in others]


def standardized(estimator: Any, standardize: str | None) -> Any:
    """A classifier, or features, scaled as a user wants; "auto" is as they do by themselves."""
    given = {} if standardize == "auto" else estimator.get_params()
    own = [name for name in given if name.rpartition("__")[2] == "standardize"]
    return clone(estimator).set_params(**dict.fromkeys(own, standardize)) if own else estimator


def candidates_of(
    data: TrainingSet, features: RecordingTransformer | None, standardize: str | None
) -> list[Candidate]:
    """The menu of the problem for samples as they were measured, and what is asked about them."""
    about = data.asks or data.question
    question = about if about in (ROWS, CLUSTERS, STATES) else None
    with asked(data.problem, "comparison"):
        given = ComparisonData(data.samples, data.item_labels, features, question)
        found = data.problem.comparison.candidates(given)
    candidates = []
    for one in found:
        own = one.estimator
        if own is None:
            settings = dict(one.settings)
            if settings.get("features") is not None:
                settings["features"] = standardized(settings["features"], standardize)
            candidates.append(replace(one, settings=settings))
        elif about != CLUSTERS:
            estimator = standardized(own.estimator, standardize)
            baseline = replace(own, estimator=estimator)
            candidates.append(replace(one, baseline=baseline))
    return candidates


def fit_baselines(baselines: Sequence[Baseline], data: TrainingSet, named: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for baseline in stage("classifiers", baselines):
        try:
            found[baseline.name] = fit_baseline(baseline, data)
        except (DataError, LearningError) as error:
            if named:
                raise
            warn(f"{baseline.name} is not compared with: {error}")
    return found


def fit_baseline(baseline: Baseline, data: TrainingSet) -> Any:
    """Fit a baseline to samples as they were measured, as many as fit in memory."""

    def fit(part: TrainingSet) -> Any:
        with without_warnings(ConvergenceWarning):
            of_graphs = getattr(baseline.estimator, "takes_graphs", False)
            labels = part.given if of_graphs else part.item_labels
            seen = seen_by(baseline.estimator, part.samples)
            return clone(baseline.estimator).fit(seen, labels, groups=part.groups)

    return learn_in_memory(data, baseline.name, fit)[1]


def fit_cross_predict(
    baseline: Baseline, data: TrainingSet
) -> tuple[Any, tuple[list[NDArray[Any]], ...]]:
    """Fit it, and label each sample by what others taught, without and with K where it is known."""

    def fit(part: TrainingSet) -> Any:
        truths = [known.truth for known in part.labels]
        counts = [None if truth is None else truth.n_clusters for truth in truths]
        model, seen = clone(baseline.estimator), seen_by(baseline.estimator, part.samples)
        with without_warnings(ConvergenceWarning):
            return model, model.fit_cross_predict(seen, part.item_labels, part.groups, counts)

    found: tuple[Any, tuple[list[NDArray[Any]], ...]] = learn_in_memory(data, baseline.name, fit)[1]
    return found


# ---- what they find


def labels_by(
    baseline: Any,
    name: str,
    problem: PartitionProblem,
    samples: Sequence[Sample],
    n_clusters: Counts = None,
    Xs: Any = None,
) -> list[NDArray[Any]]:
    """Labels of items or pixels by a baseline of that name; names if the baseline names states.

    It is given the samples, or what they were made of, ``Xs``.
    """
    sizes, words = [sample.n_samples for sample in samples], problem.traits.words
    counts: Any = cluster_counts(n_clusters, sizes, words)
    asked = () if n_clusters is None else (counts,)
    method = "predict_states" if names_states(baseline) else "predict"
    own = Xs is not None
    found = getattr(baseline, method)(Xs, *asked) if own else ask(baseline, method, samples, *asked)
    labels = [label_values(y) for y in found]
    pictures = [getattr(getattr(x.side, "regions", None), "shape", None) for x in samples]
    shapes = zip(labels, sizes, pictures, strict=False)
    fits = all(y.shape in ((T,), picture) for y, T, picture in shapes)
    if len(labels) != len(samples) or not fits:
        raise SettingsError(
            f"{name} predicts labels of other shapes than {words.wholes(len(samples))} of "
            f"{some_of([words.items(T) for T in sizes])} have"
        )
    return [y.ravel() for y in labels]


def partitions_of(
    labels: Sequence[NDArray[Any]], problem: PartitionProblem
) -> list[EquivalenceMatrix]:
    """The partitions that labels of items (T,) mean: of recordings, a segment for each change."""
    read = runs_of if problem.traits.contiguous else EquivalenceMatrix.from_labels
    return [read(y) for y in labels]


def partitions_with(
    learner: Fitted, baseline: str, measured: Sequence[Sample], n_clusters: Counts = None
) -> list[EquivalenceMatrix]:
    """Partitions by a baseline of a learner that is no metric."""
    own, problem = learner.baselines_[baseline], learner.problem_
    return partitions_of(labels_by(own, baseline, problem, measured, n_clusters), problem)


# ---- the best candidate of a search if it is no learned metric, as an estimator


@dataclass(frozen=True, eq=False)
class ChosenBaseline:
    """The untrained metric or a classifier that partitions as a learner does."""

    learner: Fitted
    """The best learned metric, with its baselines."""
    name: str
    metric: MetricBaseline | None = None
    """None for what is no metric."""

    def predict(self, X: Any, n_clusters: Counts = None) -> Any:
        problem = self.learner.problem_
        return self._answer(X, lambda xs: labels_of(problem, self._found(xs, n_clusters), xs))

    def predict_partitions(self, X: Any, n_clusters: Counts = None) -> Any:
        return self._answer(X, lambda xs: self._found(xs, n_clusters))

    def predict_breakpoints(self, X: Any, n_clusters: Counts = None) -> Any:
        return self._answer(X, lambda xs: [M.breakpoints for M in self._found(xs, n_clusters)])

    def predict_states(self, X: Any, n_clusters: Counts = None) -> Any:
        named = partial(self._named, n_clusters, "predict_states", names_of_items)
        return self._answer(X, named)

    def predict_segments(self, X: Any, n_clusters: Counts = None) -> Any:
        named = partial(self._named, n_clusters, "predict_segments", segment_table)
        return self._answer(X, named)

    def _answer(self, X: Any, answer: Callable[[list[Sample]], list[Any]]) -> Any:
        """Answer in the form in which samples come."""
        form = Form.given_to(self.learner, X)
        return form.answer(answer(as_measured(self.learner, form.samples)))

    def _found(self, samples: list[Sample], n_clusters: Counts) -> list[EquivalenceMatrix]:
        if self.metric is None:
            return partitions_with(self.learner, self.name, samples, n_clusters)
        return decode_with(self.learner, self.metric, self.metric.inputs(samples), n_clusters)

    def _named(
        self, n_clusters: Counts, method: str, name: Callable[..., Any], samples: list[Sample]
    ) -> list[Any]:
        """Names by the classifier, or by scores of the metric."""
        learner, own = self.learner, self.learner.baselines_.get(self.name)
        if hasattr(own, method):
            return list(ask(own, method, samples, n_clusters))
        seen, states = learner.inputs_(samples), learner.classes_
        if states is None:
            raise SettingsError(
                f"{self.name} knows no names of states, nor does the learned metric: use "
                "predict, or candidates that see StateScores"
            )
        partitions = self._found(samples, n_clusters)
        return [name(M, sample, states) for M, sample in zip(partitions, seen, strict=True)]
