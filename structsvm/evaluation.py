"""What learning was worth, on recordings it never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from structsvm.errors import DataError, SettingsError
from structsvm.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import (
    adjusted_rand_index,
    covering,
    margin_f1,
    partition_loss,
)
from structsvm.partitions.metric import DecodingMetric

__all__ = ["Evaluation", "Paired", "RecordingScores", "Scores", "evaluate"]

CONFIDENCE = 0.95


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

    @classmethod
    def mean(cls, scores: Sequence[Scores]) -> Scores:
        """The mean of each."""
        rows = [(s.loss, s.covering, s.adjusted_rand) for s in scores]
        f1s = [s.f1 for s in scores if s.f1 is not None]
        loss, covered, rand = (float(value) for value in np.mean(rows, axis=0))
        return cls(loss, covered, rand, float(np.mean(f1s)) if f1s else None)

    @classmethod
    def of(cls, truth: EquivalenceMatrix, guess: EquivalenceMatrix, margin: int | None) -> Scores:
        """All scores of a partition; F1 unless ``margin`` is None."""
        return cls(
            partition_loss(truth, guess),
            covering(truth, guess),
            adjusted_rand_index(truth, guess),
            None if margin is None else margin_f1(truth, guess, margin),
        )


@dataclass(frozen=True)
class RecordingScores:
    """The scores of one recording in each metric."""

    name: str
    n_segments: int
    """K of the truth."""
    learned: Scores
    untrained: Scores
    pca: Scores | None


@dataclass(frozen=True)
class Paired:
    """The loss of the untrained metric minus that of the learned one, recording by recording."""

    mean: float
    """Positive when learning pays."""
    se: float | None
    """Standard error of the mean; None for a single recording, which has none."""
    n: int
    """Number of recordings."""

    @classmethod
    def of(cls, differences: Sequence[float]) -> Paired:
        """Mean and standard error."""
        n = len(differences)
        se = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else None
        return cls(float(np.mean(differences)), se, n)

    @property
    def margin(self) -> float:
        """Half the width of the 95 % confidence interval of the mean (Student's t)."""
        if self.se is None:
            return np.inf
        return float(stats.t.ppf(0.5 + CONFIDENCE / 2, self.n - 1)) * self.se


@dataclass(frozen=True)
class Evaluation:
    """Scores of the learned metric and of those it has to beat, on the same recordings."""

    recordings: tuple[RecordingScores, ...]
    margin: int
    """Of the F1 score, in samples."""

    @property
    def learned(self) -> Scores:
        """Means over the recordings, in the learned metric."""
        return Scores.mean([r.learned for r in self.recordings])

    @property
    def untrained(self) -> Scores:
        """Means, in the untrained metric with its best penalty on the training labels."""
        return Scores.mean([r.untrained for r in self.recordings])

    @property
    def pca(self) -> Scores | None:
        """Means, in the best principal components; None if they were not tuned."""
        scores = [r.pca for r in self.recordings if r.pca is not None]
        return Scores.mean(scores) if scores else None

    @property
    def paired(self) -> Paired:
        """What learning took off the loss."""
        return Paired.of([r.untrained.loss - r.learned.loss for r in self.recordings])

    @property
    def verdict(self) -> str:
        """Whether learning paid, in words."""
        paired, size = self.paired, abs(self.paired.mean)
        if paired.se is None:
            relation = "is lower by" if paired.mean > 0 else "is higher by"
            found = f"{relation} {size:.3g}" if size > 0 else "is the same"
            return f"On this one recording the loss {found}: too few to tell about others."
        evidence = f"± {paired.se:.2g} (standard error, {paired.n} recordings)"
        if size <= paired.margin:
            return f"Not distinguishable: learning lowers the loss by {paired.mean:.3g} {evidence}."
        share = f", {size / self.untrained.loss:.0%}" if self.untrained.loss > 0 else ""
        word = "Better: learning lowers" if paired.mean > 0 else "Worse: learning raises"
        return f"{word} the loss by {size:.3g} {evidence}{share}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: learned, untrained, pca, paired and recordings."""
        return {
            "learned": asdict(self.learned),
            "untrained": asdict(self.untrained),
            "pca": None if self.pca is None else asdict(self.pca),
            "paired": asdict(self.paired),
            "recordings": [asdict(recording) for recording in self.recordings],
        }


def evaluate(
    learner: MetricLearner,
    Xs: Any,
    ys: Any,
    n_segments: int | str | None = None,
    margin: int = 5,
    *,
    names: Sequence[str] | None = None,
) -> Evaluation:
    """Compare the learned metric with the untrained one, and with PCA, on labelled recordings.

    All of them were tuned on the training labels alone. The principal components take part if
    :meth:`MetricLearner.fit_baselines` has tuned them.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    Xs, ys : recordings and labels, as for :meth:`MetricLearner.fit`
        Not those that were learned from.
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
    truths = learner.encode(Xs, ys)
    if n_segments is None and learner.problem_.known_clusters and not learner.problem_.contiguous:
        n_segments = "true"
    counts = _counts(n_segments, truths)
    names = [str(i) for i in range(len(truths))] if names is None else list(names)
    if len(names) != len(truths):
        raise DataError(f"{len(truths)} recordings but {len(names)} names")
    metrics = {
        "learned": DecodingMetric(learner.components_.T, learner.penalty_),
        **learner.baselines_,
    }
    scores = {
        name: [
            Scores.of(t, g, margin if learner.problem_.contiguous else None)
            for t, g in zip(truths, learner.decode_with(metric, Xs, counts), strict=True)
        ]
        for name, metric in metrics.items()
    }
    return Evaluation(
        tuple(
            RecordingScores(
                name=name,
                n_segments=truth.n_clusters,
                learned=scores["learned"][i],
                untrained=scores["untrained"][i],
                pca=scores["pca"][i] if "pca" in scores else None,
            )
            for i, (name, truth) in enumerate(zip(names, truths, strict=True))
        ),
        margin,
    )


def _counts(
    n_segments: int | str | None, truths: Sequence[EquivalenceMatrix]
) -> list[int] | int | None:
    if n_segments == "true":
        return [truth.n_clusters for truth in truths]
    if isinstance(n_segments, str):
        raise SettingsError(f"n_segments must be an integer, 'true' or None, got {n_segments!r}")
    return n_segments
