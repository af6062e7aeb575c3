"""What learning was worth, on recordings it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.graph_cuts.evaluation import CutEvaluation, evaluate_cuts
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import (
    adjusted_rand_index,
    covering,
    margin_f1,
    partition_loss,
)
from structsvm.partitions.metric import Metric
from structsvm.partitions.problem import PartitionProblem, disagreement, measure
from structsvm.partitions.samples import asked_counts, check_samples
from structsvm.partitions.words import RECORDINGS, Words
from structsvm.support.progress import stage
from structsvm.verdict import LEARNED, Contrast, Verdict, contents, once_each

__all__ = ["Evaluation", "RecordingScores", "Scores", "decode_with_all", "evaluate"]


@dataclass(frozen=True)
class Scores:
    """How close a partition is to the truth."""

    loss: float
    """``|M - M_i|_F^2``: 0 is perfect, at most ``K + K' - 2``."""
    covering: float
    """At most 1, which is perfect."""
    adjusted_rand: float
    """At most 1, which is perfect; 0 for one single cluster, whose loss may look good."""
    f1: float | None
    """Of the changes, a hit being one within the margin, at most 1; None where nothing changes,
    because the samples have no order."""
    disagreement: float
    """What verdicts go by, 0 is perfect: the loss, or, where that is easily fooled, what the
    problem's index of agreement lacks to a perfect one."""

    @classmethod
    def mean(cls, scores: Sequence[Scores]) -> Scores:
        """The mean of each."""
        rows = [(s.loss, s.covering, s.adjusted_rand, s.disagreement) for s in scores]
        f1s = [s.f1 for s in scores if s.f1 is not None]
        loss, covered, rand, lack = (float(value) for value in np.mean(rows, axis=0))
        return cls(loss, covered, rand, float(np.mean(f1s)) if f1s else None, lack)

    @classmethod
    def of(
        cls,
        problem: PartitionProblem,
        truth: EquivalenceMatrix,
        guess: EquivalenceMatrix,
        margin: int,
    ) -> Scores:
        """All scores of a partition; ``margin`` is that of F1."""
        return cls(
            partition_loss(truth, guess),
            covering(truth, guess),
            adjusted_rand_index(truth, guess),
            margin_f1(truth, guess, margin) if problem.contiguous else None,
            disagreement(problem, truth, guess),
        )


@dataclass(frozen=True)
class RecordingScores:
    """The scores of one recording in each metric."""

    name: str
    n_segments: int
    """K of the truth."""
    scores: Mapping[str, Scores]
    """By name of the metric: "learned", "untrained", and the rivals that were tuned."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values: name, n_segments, and the scores of each metric."""
        plain = {name: asdict(scores) for name, scores in self.scores.items()}
        return {"name": self.name, "n_segments": self.n_segments, **plain}


@dataclass(frozen=True)
class Evaluation:
    """Scores of the learned metric and of those it has to beat, on the same recordings."""

    recordings: tuple[RecordingScores, ...]
    margin: int
    """Of the F1 score, in samples."""
    words: Words = RECORDINGS
    measure: str = "loss"
    """What verdicts go by, in a word: "loss" or "disagreement"."""
    contents: tuple[int, ...] = ()
    """A number for each recording, the same for copies, which the verdict counts once; empty if
    all are different."""

    @classmethod
    def of(
        cls,
        truths: Sequence[EquivalenceMatrix],
        guesses: Mapping[str, Sequence[EquivalenceMatrix]],
        names: Sequence[str],
        problem: PartitionProblem,
        margin: int = 5,
        samples: Sequence[NDArray[np.float64]] = (),
    ) -> Evaluation:
        """Score partitions, those of each metric, "learned" and "untrained" among them.

        ``samples`` are the recordings themselves, of which copies are to count once.
        """
        rows = []
        for i, (name, truth) in enumerate(zip(names, truths, strict=True)):
            scores = {
                m: Scores.of(problem, truth, found[i], margin) for m, found in guesses.items()
            }
            rows.append(RecordingScores(name, truth.n_clusters, scores))
        numbers = tuple(contents(samples).tolist()) if len(samples) else ()
        return cls(tuple(rows), margin, problem.words, measure(problem, truths[0]), numbers)

    @property
    def scores(self) -> dict[str, Scores]:
        """Means over the recordings, by name of the metric; the learned one comes first."""
        return {
            name: Scores.mean([r.scores[name] for r in self.recordings])
            for name in self.recordings[0].scores
        }

    @property
    def learned(self) -> Scores:
        """Means over the recordings, in the learned metric."""
        return self.scores["learned"]

    @property
    def untrained(self) -> Scores:
        """Means, in the untrained metric with its best penalty on the training labels."""
        return self.scores["untrained"]

    def contrast(self, rival: str) -> Contrast:
        """The disagreement of a rival minus that of the learned metric, paired by recording."""
        return Contrast.paired(rival, self._judged)

    @property
    def verdict(self) -> Verdict:
        """Whether learning paid; ``print`` it."""
        copies = len(self.contents) - len(set(self.contents))
        return Verdict.of(self._judged, self.words, self.measure, copies)

    @property
    def _judged(self) -> dict[str, NDArray[np.float64]]:
        """What the verdict goes by, of each different recording, by name of the metric."""
        judged = {
            name: np.array([r.scores[name].disagreement for r in self.recordings])
            for name in self.recordings[0].scores
        }
        if len(set(self.contents)) == len(self.contents):
            return judged
        numbers = np.array(self.contents)
        return {name: once_each(values, numbers) for name, values in judged.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: the scores of each metric, verdict and recordings."""
        return {
            **{name: asdict(scores) for name, scores in self.scores.items()},
            "verdict": self.verdict.to_dict(),
            "recordings": [recording.to_dict() for recording in self.recordings],
        }


@overload
def evaluate(
    learner: MetricLearner,
    Xs: Any,
    ys: Any,
    n_segments: int | str | None = None,
    margin: int = 5,
    *,
    names: Sequence[str] | None = None,
) -> Evaluation: ...


@overload
def evaluate(
    learner: CutLearner,
    Xs: Any,
    ys: Any,
    n_segments: int | str | None = None,
    margin: int = 5,
    *,
    names: Sequence[str] | None = None,
) -> CutEvaluation: ...


def evaluate(
    learner: MetricLearner | CutLearner,
    Xs: Any,
    ys: Any,
    n_segments: int | str | None = None,
    margin: int = 5,
    *,
    names: Sequence[str] | None = None,
) -> Evaluation | CutEvaluation:
    """Compare the learned metric with the untrained one, PCA and RCA on labelled recordings.

    All of them were tuned on the training labels alone. Principal components and relevant component
    analysis take part if :meth:`MetricLearner.fit_baselines` has tuned them.

    Parameters
    ----------
    learner : MetricLearner or CutLearner
        Fitted. For a CutLearner this is :func:`structsvm.graph_cuts.evaluation.evaluate_cuts`.
    Xs, ys : recordings and labels, as for :meth:`MetricLearner.fit`
        Not those that were learned from; a :class:`~structsvm.errors.DataWarning` says how many
        were.
    n_segments : int, "true" or None
        Decode with so many segments (or clusters), with as many as the truth has, or as the penalty
        decides; None is "true" for tables of which the number of clusters is known.
    margin : int
        A predicted change is a hit within so many samples of a true one.
    names : sequence of str, optional
        What to call the recordings; their numbers otherwise.

    Returns
    -------
    Evaluation
    """
    if isinstance(learner, CutLearner):
        return evaluate_cuts(learner, Xs, ys, n_segments, names=names)
    truths = learner.encode(Xs, ys)
    names = [str(i) for i in range(len(truths))] if names is None else list(names)
    if len(names) != len(truths):
        raise DataError(f"{learner.problem_.words.wholes(len(truths))} but {len(names)} names")
    guesses = decode_with_all(learner, Xs, truths, n_segments)
    arrays, _ = check_samples(Xs, None, learner.n_features_in_, learner.problem_.words)
    learner.training_data_.warn_if_among(arrays, learner.problem_.words)
    return Evaluation.of(truths, guesses, names, learner.problem_, margin, arrays)


def decode_with_all(
    learner: MetricLearner,
    Xs: Any,
    truths: Sequence[EquivalenceMatrix],
    n_segments: int | str | None = None,
) -> dict[str, list[EquivalenceMatrix]]:
    """The partitions of recordings in the learned metric, and in each of its tuned rivals.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs : recordings
    truths : their partitions
    n_segments : as for :func:`evaluate`
    """
    if n_segments is None and learner.problem_.known_clusters and not learner.problem_.contiguous:
        n_segments = "true"
    counts = asked_counts(n_segments, truths)
    metrics = {
        LEARNED: Metric(learner.components_.T, learner.penalty_),
        **learner.baselines_,
    }
    chosen = stage("metrics", list(metrics.items()))
    return {name: learner.decode_with(metric, Xs, counts) for name, metric in chosen}
