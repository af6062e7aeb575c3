"""Evaluation of a learned metric on held-out samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from structsvm.baselines.blind import blind_to
from structsvm.baselines.segmenter import NamedSegmenter
from structsvm.data.sample import Sample, Words, contents, is_prepared
from structsvm.data.samples import Counts, asked_counts, cluster_counts, units_of
from structsvm.data.times import TimeAxis, time_axis
from structsvm.errors import DataError, SettingsError
from structsvm.evaluation.confusion import Confusion, confusions_of
from structsvm.evaluation.splits import MOST_PARTS, question_in_words, split_samples
from structsvm.evaluation.verdict import LEARNED, Verdict, baseline_title
from structsvm.learner.baselines import (
    estimators_in,
    labels_by,
    metrics_in,
    partitions_of,
)
from structsvm.learner.columns import column_names, partition_of, warn_of_columns, words_of
from structsvm.learner.form import Form
from structsvm.learner.steps import as_measured, decode_with, encode, names_in
from structsvm.learner.training_set import CLUSTERS, ROWS, TrainingSet, names_of_labels
from structsvm.partial_labels.complete import labels_of_each, read_labels
from structsvm.partitions.equivalence import EquivalenceMatrix, time_errors
from structsvm.partitions.problem import BLIND, PartitionProblem, has_rows, names_states
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import counted, refuse_unlisted
from structsvm.support.progress import stage
from structsvm.support.tables import ShortTable

if TYPE_CHECKING:
    from structsvm.learner.learner import MetricLearner

__all__ = ["Evaluation", "SampleScores", "Scores", "evaluate"]

Scores = Mapping[str, float | None]
"""Scores by name, None where one does not apply: the loss, the adjusted Rand index, what verdicts
go by ("disagreement", 0 is perfect), those of the problem, such as "covering" and "f1", and, where
states were named, "accuracy" and "macro F1"."""

Partitions = dict[str, list[EquivalenceMatrix]]
States = dict[str, list[NDArray[Any]]]
"""By each metric or baseline that names states, the names of the items of each sample."""


class Averaged(NamedTuple):
    """What the items of a sample are windows of: partitions of these are scored by its samples."""

    y: Any
    sizes: Ints
    """How many samples are in each window, (T,)."""
    time: TimeAxis | None = None


class Score(NamedTuple):
    """Title, perfect value and meaning of a score, in the words of a sample."""

    title: str
    perfect: int
    meaning: str


SCORES = {
    "loss": Score(
        "loss",
        0,
        "K + K' - 2 Σ |A ∩ B|² / (|A| |B|) over the K true {part}s A and the K' found ones B, "
        "so that one single {part} costs K - 1",
    ),
    "jaccard": Score(
        "Jaccard distance",
        0,
        "the share of the union of the true and the found object that is not in both",
    ),
    "covering": Score("covering", 1, "how well the true {part}s are overlapped by those found"),
    "adjusted_rand": Score("adj. Rand", 1, "agreement on pairs of {item}s, 0 by chance"),
    "f1": Score(
        "F1",
        1,
        "the harmonic mean of the share of changes that are found and of the share of found "
        "changes that are right",
    ),
    "time_error": Score(
        "time error",
        0,
        "the median time between a true change and the found one, over all changes of which each "
        "is the nearest of the other",
    ),
    "time_error_90": Score("90 % of errors", 0, "what nine in ten of these times are at most"),
    "accuracy": Score("accuracy", 1, "the share of {item}s with the right name"),
    "macro F1": Score("macro F1", 1, "the mean over all {named}s of the F1 of their {item}s"),
}
"""Those that pages and tables know; a score of a plugin's own has its name."""


@dataclass(frozen=True)
class SampleScores:
    """The scores of one sample in each metric."""

    name: str
    n_clusters: int
    """K of the truth."""
    scores: Mapping[str, Scores]
    """By name of the metric: "learned", "untrained", and the baselines that were tuned."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores of the learned metric and of the methods it is compared with, on the same samples."""

    samples: tuple[SampleScores, ...]
    tolerance: int
    """A predicted change is a hit within so many samples of a true one."""
    verdict: Verdict
    """The verdict on whether learning paid, ready to print."""
    confusion: Mapping[str, Confusion] = field(default_factory=dict)
    """Of the states, over all samples, for each metric or baseline that names what it finds; empty
    where nothing does, or the labels have no names."""
    learned_again: bool | None = None
    """Whether the metric of each part of a table was learned from the rest of it; None if samples
    are whole."""
    truths: Sequence[EquivalenceMatrix] = field(default=(), compare=False)
    guesses: Mapping[str, Sequence[EquivalenceMatrix]] = field(default_factory=dict, compare=False)
    """The partitions that were scored, by name of the metric or baseline."""
    states: Mapping[str, Sequence[NDArray[Any]]] = field(default_factory=dict, compare=False)
    """The names that were scored, by what gave them."""
    errors: Mapping[str, Floats] = field(default_factory=dict, compare=False)
    """How far changes are from true ones, over all samples; empty where there are no changes."""
    unit: str = "samples"
    """Of these."""
    measured: Sequence[Sample] = field(default=(), compare=False)
    """The samples as they were read; empty for parts of a table, as the following are."""
    prepared: Sequence[Sample] = field(default=(), compare=False)
    """The samples as the metric sees them."""
    labels: Sequence[Any] = field(default=(), compare=False)
    """The labels as they were given."""
    times: Sequence[TimeAxis | None] = field(default=(), compare=False)
    """When the samples of each recording were measured; empty if it is known of none."""

    @classmethod
    def of(
        cls,
        truths: Sequence[EquivalenceMatrix],
        guesses: Mapping[str, Sequence[EquivalenceMatrix]],
        names: Sequence[str],
        problem: PartitionProblem,
        tolerance: int = 5,
        *,
        confusions: Mapping[str, Sequence[Confusion]],
        times: Sequence[TimeAxis | None] = (),
        **about: Any,
    ) -> Evaluation:
        """Score partitions, those of each metric, "learned" and "untrained" among them.

        ``confusions`` are those of the states of each sample, by what named them; ``about`` is for
        :meth:`Verdict.of`.
        """
        rows = []
        unit, clocks = _clocks(times, truths)
        errors: dict[str, list[Floats]] = {metric: [] for metric in guesses}
        for i, (name, truth) in enumerate(zip(names, truths, strict=True)):
            scores = {}
            for metric, found in guesses.items():
                scores[metric] = dict(problem.comparison.scores(truth, found[i], tolerance))
                if problem.traits.contiguous:
                    errors[metric].append(time_errors(truth, found[i], clocks[i]))
                    scores[metric] |= _of_errors(errors[metric][-1])
                if confusions:
                    own = confusions.get(metric)
                    scores[metric]["accuracy"] = None if own is None else own[i].accuracy
            rows.append(SampleScores(name, truth.n_clusters, scores))
        losses: dict[str, Floats] = {
            metric: np.array([row.scores[metric]["disagreement"] for row in rows])
            for metric in guesses
        }
        about["measure"] = problem.comparison.measure(truths[0])
        about["limit"] = problem.comparison.limit(truths)
        return cls(
            tuple(rows),
            tolerance,
            Verdict.of(losses, **about),
            {
                metric: Confusion(parts[0].states, np.sum([part.counts for part in parts], axis=0))
                for metric, parts in confusions.items()
            },
            truths=truths,
            guesses=guesses,
            errors={metric: np.concatenate(parts) for metric, parts in errors.items() if parts},
            unit=unit,
        )

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Means over the samples, by name of the metric and of the score.

        Over the samples to which a score applies, :attr:`counts`; accuracy and macro F1 of states
        are those of all items together, :attr:`confusion`, and errors in time, in the unit
        :attr:`unit`, those of all changes together.
        """
        return {name: self._means(name) for name in self.samples[0].scores}

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples to which each score applies."""
        rows = [row.scores for row in self.samples]
        counts = {
            score: sum(any(of[score] is not None for of in row.values()) for row in rows)
            for score in next(iter(rows[0].values()))
        }
        if self.confusion:
            counts["macro F1"] = counts["accuracy"]
        return counts

    @property
    def learned(self) -> dict[str, float | None]:
        """The means over the samples of the scores in the learned metric."""
        return self._means(LEARNED)

    @property
    def untrained(self) -> dict[str, float | None]:
        """Means, in the untrained metric with its best price on the training labels."""
        return self._means("untrained")

    def summary(self) -> str:
        """The mean scores of each metric, and the verdict, as printing them shows it."""
        return str(self._short_table())

    def to_frame(self, container: str = "pandas") -> Any:
        """The numbers of the table as a data frame of pandas or polars."""
        return self._short_table().to_frame(container)

    __repr__ = summary

    def _repr_html_(self) -> str:
        return self._short_table().as_html

    def _short_table(self) -> ShortTable:
        titles, n = score_titles(self), len(self.samples)
        means = sorted(self.scores.items(), key=lambda item: item[0] == LEARNED)
        rows = [(baseline_title(name), *(found[t] for t in titles)) for name, found in means]
        what = f"{'' if n == 1 else 'Mean scores of '}{self.verdict.words.wholes(n)}"
        return ShortTable(what, ("metric", *titles.values()), tuple(rows), (str(self.verdict),))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the scores of each metric, verdict and samples."""
        plain: dict[str, Any] = dict(self.scores)
        if self.confusion:
            plain["confusion"] = {
                metric: {"states": list(of.states), "counts": of.counts.tolist()}
                for metric, of in self.confusion.items()
            }
        plain["counts"] = self.counts
        if self.errors:
            plain["time_unit"] = self.unit
        if self.learned_again is not None:
            plain |= {"question": self.verdict.question, "learned_again": self.learned_again}
        plain["verdict"] = self.verdict.to_dict()
        plain[f"{self.verdict.words.whole}s"] = [
            {"name": row.name, "n_clusters": row.n_clusters, **row.scores} for row in self.samples
        ]
        return plain

    def _means(self, metric: str) -> dict[str, float | None]:
        rows = [row.scores[metric] for row in self.samples]
        means: dict[str, float | None] = {}
        for name in rows[0]:
            values = [value for row in rows if (value := row[name]) is not None]
            means[name] = float(np.mean(values)) if values else None
        if metric in self.errors:
            means |= _of_errors(self.errors[metric])
        if self.confusion:
            of = self.confusion.get(metric)
            means["accuracy"] = None if of is None else of.accuracy
            means["macro F1"] = None if of is None else of.macro_f1
        return means


def _clocks(
    times: Sequence[TimeAxis | None], truths: Sequence[EquivalenceMatrix]
) -> tuple[str, list[Floats]]:
    """The unit of time, and the time of each sample of each recording in it, (T_i,)."""
    axes = [axis for axis in times if axis is not None]
    units = {"s" if axis.values.dtype.kind == "M" else axis.name for axis in axes}
    if len(axes) < len(truths) or len(units) > 1:
        return "samples", [np.arange(M.n_samples, dtype=np.float64) for M in truths]
    return units.pop(), [np.concatenate(([0.0], np.cumsum(axis.steps))) for axis in axes]


def _of_errors(errors: Floats) -> dict[str, float | None]:
    """The median and the ninth decile; None where no change was matched."""
    found = np.quantile(errors, (0.5, 0.9)).tolist() if errors.size else (None, None)
    return {"time_error": found[0], "time_error_90": found[1]}


def time_axes(
    times: Sequence[Any] | None, samples: Sequence[Sample], words: Words
) -> list[TimeAxis | None]:
    """The times of samples, checked; none where none are known."""
    if times is None or all(found is None for found in times):
        return []
    if len(times) != len(samples):
        raise DataError(f"{words.wholes(len(samples))} but times of {len(times)}")
    pairs = zip(times, samples, strict=True)
    return [None if found is None else time_axis(found, x.n_samples) for found, x in pairs]


def score_titles(evaluation: Evaluation) -> dict[str, str]:
    """Titles of the scores of an evaluation, with the number of samples if not all have one."""
    within, unit = f" (within {evaluation.tolerance})", f" ({evaluation.unit})"
    more = {"f1": within, "time_error": unit, "time_error_90": unit}
    titles = {}
    for name, count in evaluation.counts.items():
        if name == "disagreement" or not count:
            continue
        title = SCORES[name].title if name in SCORES else name.replace("_", " ")
        is_of_all = count == len(evaluation.samples)
        some = "" if is_of_all else f", of {evaluation.verdict.words.wholes(count)}"
        titles[name] = f"{title}{more.get(name, '')}{some}"
    return titles


def meanings_in_words(titles: Mapping[str, str], words: Words) -> str:
    """Sentences on what these scores measure, and their perfect values; "" if none is known."""
    about = {"part": words.part, "item": words.item, "named": words.named}
    known = [score for name, score in SCORES.items() if name in titles]
    said = [f"{s.title}: {s.meaning.format_map(about)}; {s.perfect} is perfect." for s in known]
    return " ".join(text[0].upper() + text[1:] for text in said)


def evaluate(
    learner: MetricLearner,
    Xs: Any,
    ys: Any = None,
    n_clusters: int | str | None = None,
    tolerance: int = 5,
    *,
    names: Sequence[str] | None = None,
    baselines: Mapping[str, Any] | None = None,
    measured: Sequence[Sample] | None = None,
    unseen_states: str = "refuse",
    groups: Any = None,
    split: str | None = None,
    times: Sequence[Any] | None = None,
) -> Evaluation:
    """Compare the learned metric with the untrained one and with baselines on held-out samples.

    Other metrics, and the classifiers of :mod:`structsvm.baselines`, are compared if
    ``fit(..., baselines=)`` has tuned them on the training labels. Names of states are evaluated as
    well if the learner or a baseline predicts them: accuracy, macro F1 and the confusion matrix.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs, ys : samples and labels, as for :meth:`MetricLearner.fit`
        Held out; a :class:`~structsvm.errors.DataWarning` says if some were learned from.
    n_clusters : int, "true" or None
        The number of segments (or clusters) of predictions, or "true" for that of the labels. With
        None the price decides, or the labels if the problem takes the number for known.
    tolerance : int
        A predicted change is correct if it is within so many samples of a true one.
    names : sequence of str, optional
        Names of the samples; by default their numbers.
    baselines : mapping of fitted estimators by name, optional
        Other methods. Each has ``predict(Xs)``, which returns a label for each item of each sample,
        and takes the numbers of clusters as its second argument if ``n_clusters`` is given.
    measured : sequence of Sample, optional
        The same samples as they were read already, by the command line.
    unseen_states : {"refuse", "count"}
        Names in the labels that were not learned: refuse them, or count them as named wrongly.
    groups : sequence of length N, optional
        Group of each sample (person, machine, ...), which the verdict treats as independent.
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
    Evaluation

    Raises
    ------
    DataError, SettingsError
        For a sample or a parameter that cannot be used, or a table that cannot be split.
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
    learner = cast("MetricLearner", getattr(learner, "best_estimator_", learner))
    if is_prepared(Xs):
        raise SettingsError("give the original samples, not prepared ones: classifiers need these")
    form = Form.given_to(learner, Xs).told(getattr(learner, "steps_", None))
    measured = as_measured(learner, form.samples) if measured is None else measured
    words, traits = words_of(learner.problem_, measured), learner.problem_.traits
    labels = labels_of_each(form.labels(ys), measured, words)
    if split is not None:
        return _evaluate_parts(learner, measured, labels, n_clusters, tolerance, split)
    called = [str(i) for i in range(len(measured))] if form.names is None else form.names
    names = called if names is None else list(names)
    if len(names) != len(measured):
        raise DataError(f"{words.wholes(len(measured))} but {counted(len(names), 'name')}")
    axes = time_axes(form.axes if times is None else times, measured, words)
    units = units_of(form.in_order(groups, "groups"), len(measured), words)[1]
    seen = learner.training_data_.warn_if_among([sample.data for sample in measured], words)
    samples = learner.inputs_(measured)
    truths = encode(learner, samples, labels)
    if n_clusters is None and traits.given_k and not traits.contiguous:
        n_clusters = "true"
    counts = asked_counts(n_clusters, truths)
    guesses, states = _found_by_all(learner, measured, samples, counts)
    _add_found_by(baselines or {}, learner, samples, form.samples, counts, guesses, states)
    _warn_of_new_clusters(learner, samples, labels)
    warn_of_columns(measured, column_names(learner), words, truths)
    shown: dict[str, Any] = {"truths": truths, "guesses": guesses, "states": states}
    shown |= {"measured": measured, "prepared": samples, "labels": labels, "times": axes}
    numbers = contents([sample.data for sample in samples])
    if spans := [sample.side for sample in measured if isinstance(sample.side, Averaged)]:
        samples = [Sample(np.empty((int(span.sizes.sum()), 0))) for span in spans]
        labels, axes = [span.y for span in spans], [span.time for span in spans]
        truths, guesses = encode(learner, samples, labels), _by_sample(guesses, spans)
        states = _by_sample(states, spans)
    found = Evaluation.of(
        truths,
        guesses,
        names,
        learner.problem_,
        tolerance,
        confusions=confusions_of(learner, samples, labels, truths, states, unseen_states),
        units=units,
        numbers=numbers,
        times=axes,
        grouped=groups is not None,
        classifiers=[*estimators_in(learner.baselines_), *(baselines or ())],
        words=words,
        seen=seen,
    )
    return replace(found, **shown)


def _add_found_by(
    baselines: Mapping[str, Any],
    learner: MetricLearner,
    samples: Sequence[Sample],
    Xs: Any,
    counts: Counts,
    guesses: Partitions,
    states: States,
) -> None:
    """Add what baselines of a user find."""
    asked = (Xs,) if counts is None else (Xs, counts)
    for name, baseline in baselines.items():
        if name in guesses:
            raise SettingsError(f"baselines: {name!r} is among the metrics: give it another name")
        labels = baseline.predict(*asked)
        try:
            guesses[name] = [partition_of(M) for M in encode(learner, samples, labels)]
        except DataError as error:
            raise SettingsError(
                f"baselines: {name!r} does not predict one label for each item: {error}"
            ) from error
        if names_states(baseline):
            states[name] = baseline.predict_states(*asked)


def _by_sample(found: Mapping[str, Sequence[Any]], spans: Sequence[Averaged]) -> dict[str, Any]:
    """Partitions, or names, of windows as those of the samples that were averaged."""

    def spread(each: Any, span: Averaged) -> Any:
        labels = np.repeat(getattr(each, "labels", each), span.sizes)
        return EquivalenceMatrix.from_labels(labels) if hasattr(each, "labels") else labels

    return {name: list(map(spread, each, spans)) for name, each in found.items()}


def _warn_of_new_clusters(
    learner: MetricLearner, samples: Sequence[Sample], labels: Sequence[Any]
) -> None:
    """Warn if tables have clusters that the metric was neither learned from nor made for."""
    if has_rows(learner.problem_, samples):
        names = {name for y in labels for name in names_of_labels(y)}
        learner.training_data_.warn_of_new_clusters(names, learner.question_)


def _found_by_all(
    learner: MetricLearner,
    measured: Sequence[Sample],
    samples: Sequence[Sample],
    counts: Counts,
    classifiers: bool = True,
) -> tuple[Partitions, States]:
    """Partitions by the metric and its baselines, and the states that some of them name."""
    samples, problem, data = list(samples), learner.problem_, learner.training_data_
    metrics = {LEARNED: learner.metric_, **metrics_in(learner.baselines_)}
    contiguous, others = problem.traits.contiguous, dict[str, Any]()
    if not contiguous or any(len(ends) > 1 for ends in data.ends):
        others = blind_to(data.ends, contiguous, data.commonest)
    if classifiers:
        others |= estimators_in(learner.baselines_)
    found: Partitions = {}
    labels: States = {}
    for name in stage("metrics", [*metrics, *others]):
        namer = learner.inputs_.namer
        if name in metrics:
            found[name] = decode_with(learner, metrics[name], samples, counts)
        elif others[name] is namer and isinstance(namer, NamedSegmenter):
            labels[name] = namer.names_by([np.asarray(x.states) for x in samples], counts)
        else:
            labels[name] = labels_by(others[name], name, problem, measured, counts)
    found |= {name: partitions_of(each, problem) for name, each in labels.items()}
    names: States = {}
    for name in sorted(found, key=BLIND.__contains__):  # what is blind to the samples comes last
        if name in labels and names_states(others[name]):
            names[name] = labels[name]
        elif name not in BLIND:
            named = names_in(found[name], samples, learner.classes_)
            names |= {} if named is None else {name: named}
    return found, names


# ---- parts of one table


def _evaluate_parts(
    learner: MetricLearner,
    samples: Sequence[Sample],
    given: Sequence[Any],
    n_clusters: Counts | str,
    tolerance: int,
    asked: str,
) -> Evaluation:
    """Evaluate parts of one table.

    Groups of rows are scaled like the whole table, or like the training rows; groups of clusters
    are scaled separately, like new tables. The standard errors neglect that the training rows of
    different parts overlap.
    """
    refuse_unlisted("split", asked, (ROWS, CLUSTERS, "auto"))
    if len(samples) != 1:
        raise DataError(f"split={asked!r} is for one table, got {len(samples)}")
    problem, learned_from = learner.problem_, learner.training_data_
    labels = read_labels(problem, samples, given)
    data = TrainingSet(problem, list(samples), labels, np.ones(1), given=given)
    again = samples[0].data in learned_from
    if again and len(learned_from) > 1:
        raise DataError(
            f"the model was learned from this table and {len(learned_from) - 1} more: judge it by "
            "tables it has not seen"
        )
    _warn_of_new_clusters(learner, samples, given)
    if asked == "auto":
        asked = (learner.question_ if again else None) or ROWS
    found = split_samples(asked, data, MOST_PARTS, 0)
    parts, truths = found.held_out, found.held_out.truths
    whole = None
    if not again and asked == ROWS:
        whole = data.with_features([x.X for x in learner.inputs_(samples)]).cut(found.pieces)
    asked_for = asked_counts("true" if n_clusters is None else n_clusters, truths)
    counts = cluster_counts(asked_for, [part.n_samples for part in parts.samples], found.words)
    tuned = learner.baselines_ if asked == ROWS else metrics_in(learner.baselines_)
    alike: MetricLearner = clone(learner)
    if asked == ROWS and learner.inputs_.standardizer.kind == "recording":
        alike.standardize = "training"
    guesses: Partitions = {}
    for k in stage("folds", range(len(found))):
        which, own = found.test(k), learner
        if again:
            own = found.learned_without(k, alike, baselines=[*tuned][1:])
        measured = parts.at(which).samples
        seen = own.inputs_(measured) if whole is None else whole.at(which).samples
        # Classifiers find no new clusters.
        here, classifiers = [K for i in which if (K := counts[i])], asked != CLUSTERS
        for name, of_fold in _found_by_all(own, measured, seen, here, classifiers)[0].items():
            guesses.setdefault(name, []).extend(of_fold)
    result = Evaluation.of(
        truths,
        guesses,
        [f"{asked} {i}" for i in range(len(parts))],
        problem,
        tolerance,
        confusions={},
        draws=found.draws,
        classifiers=estimators_in(learner.baselines_),
        words=found.words,
        seen=0 if again else len(learned_from.shares_known([x.data for x in parts.samples])),
        question=question_in_words(asked, len(parts), again),
    )
    return replace(result, learned_again=again)
