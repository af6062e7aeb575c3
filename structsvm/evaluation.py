"""What learning was worth, on samples it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import PartitionProblem, measure
from structsvm.partitions.sample import is_prepared
from structsvm.partitions.samples import Counts, asked_counts
from structsvm.partitions.traits import RECORDINGS, Words
from structsvm.support.plain import counted
from structsvm.support.progress import stage
from structsvm.verdict import LEARNED, Contrast, Verdict, contents, once_each
from structsvm.views.samples import words_of

if TYPE_CHECKING:
    from structsvm.learner.learner import MetricLearner

__all__ = ["Evaluation", "SampleScores", "Scores", "decode_with_all", "evaluate"]

Scores = Mapping[str, float | None]
"""Scores by name, None where one does not apply: the loss, the adjusted Rand index, what verdicts
go by ("disagreement", 0 is perfect), and those of the problem, such as "covering" and "f1"."""


@dataclass(frozen=True)
class SampleScores:
    """The scores of one sample in each metric."""

    name: str
    n_clusters: int
    """K of the truth."""
    scores: Mapping[str, Scores]
    """By name of the metric: "learned", "untrained", and the rivals that were tuned."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values: name, n_clusters, and the scores of each metric."""
        plain = {name: dict(scores) for name, scores in self.scores.items()}
        return {"name": self.name, "n_clusters": self.n_clusters, **plain}


@dataclass(frozen=True)
class Evaluation:
    """Scores of the learned metric and of those it has to beat, on the same samples."""

    samples: tuple[SampleScores, ...]
    tolerance: int
    """A predicted change is a hit within so many samples of a true one."""
    words: Words = RECORDINGS
    measure: str = "loss"
    """What verdicts go by, in a word: "loss" or "disagreement"."""
    contents: tuple[int, ...] = ()
    """A number for each sample, the same for copies, which the verdict counts once; empty if all
    are different."""
    seen: int = 0
    """How many of the samples the metric was learned from."""

    @classmethod
    def of(
        cls,
        truths: Sequence[EquivalenceMatrix],
        guesses: Mapping[str, Sequence[EquivalenceMatrix]],
        names: Sequence[str],
        problem: PartitionProblem,
        tolerance: int = 5,
        samples: Sequence[Any] = (),
        words: Words | None = None,
        seen: int = 0,
    ) -> Evaluation:
        """Score partitions, those of each metric, "learned" and "untrained" among them.

        ``samples`` are the arrays of features, of which copies are to count once; ``words`` what
        they are called, if not as the problem calls them; ``seen`` how many were learned from.
        """
        rows = []
        for i, (name, truth) in enumerate(zip(names, truths, strict=True)):
            scores = {
                metric: problem.scores(truth, found[i], tolerance)
                for metric, found in guesses.items()
            }
            rows.append(SampleScores(name, truth.n_clusters, scores))
        numbers = tuple(contents(samples).tolist()) if len(samples) else ()
        words = problem.traits.words if words is None else words
        return cls(tuple(rows), tolerance, words, measure(problem, truths[0]), numbers, seen)

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Means over the samples, by name of the metric and of the score.

        Over the samples to which a score applies, :attr:`counts`.
        """
        return {name: self._means(name) for name in self.samples[0].scores}

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples to which each score applies."""
        first = next(iter(self.samples[0].scores))
        return {
            score: sum(row.scores[first][score] is not None for row in self.samples)
            for score in self.samples[0].scores[first]
        }

    @property
    def learned(self) -> dict[str, float | None]:
        """The means over the samples of the scores in the learned metric."""
        return self._means(LEARNED)

    @property
    def untrained(self) -> dict[str, float | None]:
        """Means, in the untrained metric with its best price on the training labels."""
        return self._means("untrained")

    def contrast(self, rival: str) -> Contrast:
        """The disagreement of a rival minus that of the learned metric, paired by sample."""
        return Contrast.paired(rival, self._judged)

    @property
    def verdict(self) -> Verdict:
        """The verdict on whether learning paid, ready to print."""
        copies = len(self.contents) - len(set(self.contents))
        return Verdict.of(self._judged, self.words, self.measure, copies, self.seen)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the scores of each metric, verdict and samples."""
        return {
            **self.scores,
            "counts": self.counts,
            "verdict": self.verdict.to_dict(),
            f"{self.words.whole}s": [row.to_dict() for row in self.samples],
        }

    def _means(self, metric: str) -> dict[str, float | None]:
        rows = [row.scores[metric] for row in self.samples]
        means: dict[str, float | None] = {}
        for name in rows[0]:
            values = [value for row in rows if (value := row[name]) is not None]
            means[name] = float(np.mean(values)) if values else None
        return means

    @property
    def _judged(self) -> dict[str, NDArray[np.float64]]:
        """What the verdict goes by, of each different sample, by name of the metric."""
        judged = {
            name: np.array([row.scores[name]["disagreement"] for row in self.samples])
            for name in self.samples[0].scores
        }
        if len(set(self.contents)) == len(self.contents):
            return judged
        numbers = np.array(self.contents)
        return {name: once_each(values, numbers) for name, values in judged.items()}


def evaluate(
    learner: MetricLearner,
    Xs: Any,
    ys: Any,
    n_clusters: int | str | None = None,
    tolerance: int = 5,
    *,
    names: Sequence[str] | None = None,
    rivals: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Compare the learned metric with the untrained one and its rivals on labelled samples.

    All of them were tuned on the training labels alone. Other metrics take part if
    :meth:`MetricLearner.fit_baselines` has tuned them; whatever else partitions recordings, such as
    a classifier of :mod:`structsvm.rivals`, is given as one of ``rivals``.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs, ys : samples and labels, as for :meth:`MetricLearner.fit`
        Not those that were learned from; a :class:`~structsvm.errors.DataWarning` says how many
        were.
    n_clusters : int, "true" or None
        Decode with so many segments (or clusters), with as many as the truth has, or as the price
        decides; None is "true" where the number of clusters is known and nothing else decides it.
    tolerance : int
        A predicted change is a hit within so many samples of a true one.
    names : sequence of str, optional
        What to call the samples; their numbers otherwise.
    rivals : mapping of fitted estimators by name, optional
        Each has ``predict(Xs)``, which returns one label for each item of each sample, and takes
        the numbers of clusters as its second argument if ``n_clusters`` is to be given. Fit them to
        the recordings that the metric was learned from. The verdict names them as you do.

    Returns
    -------
    Evaluation

    Raises
    ------
    DataError, SettingsError
        Naming the sample or the parameter.

    Examples
    --------
    >>> from structsvm import MetricLearner, evaluate
    >>> from structsvm.datasets import arrays_and_labels, relevant_changes
    >>> recordings = relevant_changes(8, n_samples=200, n_features=20, n_relevant=2, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs[:4], ys[:4])
    >>> evaluation = evaluate(learner, Xs[4:], ys[4:])
    >>> learned, untrained = evaluation.scores["learned"], evaluation.scores["untrained"]
    >>> bool(learned["loss"] < untrained["loss"])
    True
    """
    samples, seen = Xs, 0
    if rivals and is_prepared(Xs):
        raise SettingsError("rivals partition samples as they are: give these, not prepared ones")
    if not is_prepared(Xs):
        measured = learner.measured(Xs)
        words = words_of(learner, measured)
        seen = learner.training_data_.warn_if_among([sample.X for sample in measured], words)
        samples = learner.inputs_(measured)
    truths = learner.encode(samples, ys)
    names = [str(i) for i in range(len(truths))] if names is None else list(names)
    words = words_of(learner, samples)
    if len(names) != len(truths):
        raise DataError(f"{words.wholes(len(truths))} but {counted(len(names), 'name')}")
    guesses = decode_with_all(learner, samples, truths, n_clusters)
    for name, rival in (rivals or {}).items():
        if name in guesses:
            raise SettingsError(f"rivals: {name!r} is among the metrics: give it another name")
        labels = _found_by(name, rival, Xs, _counts(learner, truths, n_clusters))
        try:
            guesses[name] = learner.encode(samples, labels)
        except DataError as error:
            raise SettingsError(
                f"rivals: {name!r} does not predict one label for each item: {error}"
            ) from error
    arrays = [sample.X for sample in samples]
    return Evaluation.of(truths, guesses, names, learner.problem_, tolerance, arrays, words, seen)


def _found_by(name: str, rival: Any, Xs: Any, counts: Counts) -> Any:
    """The labels that another estimator predicts."""
    if not callable(getattr(rival, "predict", None)):
        raise SettingsError(f"rivals: {name!r} is {rival!r}, which has no method predict")
    asked = (Xs,) if counts is None else (Xs, counts)
    try:
        signature(rival.predict).bind(*asked)
    except TypeError:
        raise SettingsError(
            f"rivals: {name!r} cannot be told the number of clusters: leave out n_clusters"
        ) from None
    return rival.predict(*asked)


def _counts(
    learner: MetricLearner, truths: Sequence[EquivalenceMatrix], n_clusters: int | str | None
) -> Counts:
    """What is asked for, which is the true number where it is known and nothing else decides it."""
    traits = learner.problem_.traits
    if n_clusters is None and traits.given_k and not traits.contiguous:
        n_clusters = "true"
    return asked_counts(n_clusters, truths)


def decode_with_all(
    learner: MetricLearner,
    Xs: Any,
    truths: Sequence[EquivalenceMatrix],
    n_clusters: int | str | None = None,
) -> dict[str, list[EquivalenceMatrix]]:
    """The partitions of samples in the learned metric, and in each of its tuned rivals.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs : samples, or what ``learner.prepare`` made of them
    truths : their partitions
    n_clusters : as for :func:`evaluate`
    """
    samples = learner.prepare(Xs)
    counts = _counts(learner, truths, n_clusters)
    metrics = stage("metrics", list({LEARNED: learner.metric_, **learner.baselines_}.items()))
    return {name: learner.decode_with(metric, samples, counts) for name, metric in metrics}
