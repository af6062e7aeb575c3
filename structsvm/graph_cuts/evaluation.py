"""What learning to cut was worth, on graphs or images it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.graph_cuts.learner import CutLearner
from structsvm.graph_cuts.metric import CutMetric
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels, jaccard_distance, region_loss, region_rand
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.samples import asked_counts
from structsvm.partitions.traits import GRAPHS, IMAGES, Words
from structsvm.problems.normalized_cut import NormalizedCut
from structsvm.support.progress import stage
from structsvm.verdict import LEARNED, Contrast, Verdict

__all__ = ["CutEvaluation", "CutScores", "cut_with_all", "evaluate_cuts"]


@dataclass(frozen=True)
class CutScores:
    """How close a cut is to the truth, over pixels if it is one of an image."""

    loss: float
    """``|M - M_i|_F^2``: 0 is perfect, at most ``K + K' - 2``."""
    jaccard: float | None
    """Jaccard distance of the object, 0 is perfect; None unless there are two true labels."""
    adjusted_rand: float
    """At most 1, which is perfect; 0 for one single cluster."""
    disagreement: float
    """What verdicts go by, 0 is perfect: the loss, or 1 minus the index for an unknown number."""

    @classmethod
    def of(cls, problem: NormalizedCut, truth: NodeLabels, guess: EquivalenceMatrix) -> CutScores:
        """All scores of a cut."""
        loss, rand = region_loss(truth, guess), region_rand(truth, guess)
        judged = loss if problem.known_clusters else 1.0 - rand
        return cls(loss, jaccard_distance(truth, guess), rand, judged)

    @classmethod
    def mean(cls, scores: Sequence[CutScores]) -> CutScores:
        """The mean of each."""
        distances = [s.jaccard for s in scores if s.jaccard is not None]
        return cls(
            float(np.mean([s.loss for s in scores])),
            float(np.mean(distances)) if distances else None,
            float(np.mean([s.adjusted_rand for s in scores])),
            float(np.mean([s.disagreement for s in scores])),
        )


@dataclass(frozen=True)
class CutEvaluation:
    """Scores of the learned metric and of its rivals on the same graphs."""

    names: tuple[str, ...]
    each: Mapping[str, tuple[CutScores, ...]]
    """Of every graph, by metric: "learned", "untrained" and, if it was tuned, "grid"."""
    words: Words = GRAPHS
    measure: str = "loss"
    """What verdicts go by, in a word: "loss" or "disagreement"."""

    @classmethod
    def of(
        cls,
        learner: CutLearner,
        graphs: Sequence[FeatureGraph],
        truths: Sequence[NodeLabels],
        guesses: Mapping[str, Sequence[EquivalenceMatrix]],
        names: Sequence[str],
    ) -> CutEvaluation:
        """Score cuts, those in each metric."""
        problem = learner.problem_
        each = {
            name: tuple(CutScores.of(problem, t, g) for t, g in zip(truths, found, strict=True))
            for name, found in guesses.items()
        }
        words = GRAPHS if any(graph.regions is None for graph in graphs) else IMAGES
        measure = "loss" if problem.known_clusters else "disagreement"
        return cls(tuple(names), each, words, measure)

    @property
    def scores(self) -> dict[str, CutScores]:
        """Means, by metric."""
        return {name: CutScores.mean(scores) for name, scores in self.each.items()}

    def contrast(self, rival: str) -> Contrast:
        """The disagreement of a rival minus that of the learned metric, paired by graph."""
        return Contrast.paired(rival, self._judged)

    @property
    def verdict(self) -> Verdict:
        """Whether learning paid; ``print`` it."""
        return Verdict.of(self._judged, self.words, self.measure)

    @property
    def _judged(self) -> dict[str, NDArray[np.float64]]:
        """What the verdict goes by, of each graph, by name of the metric."""
        return {
            name: np.array([scores.disagreement for scores in found])
            for name, found in self.each.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            **{name: asdict(scores) for name, scores in self.scores.items()},
            "verdict": self.verdict.to_dict(),
            "images": [
                {"name": name, **{metric: asdict(found[i]) for metric, found in self.each.items()}}
                for i, name in enumerate(self.names)
            ],
        }


def evaluate_cuts(
    learner: CutLearner,
    Xs: Any,
    ys: Any,
    n_clusters: int | str | None = None,
    *,
    names: Sequence[str] | None = None,
) -> CutEvaluation:
    """Compare the learned metric with the start of learning, and with the grid if it was tuned.

    Parameters
    ----------
    learner : CutLearner
        Fitted.
    Xs, ys : as for :meth:`CutLearner.fit`
        Not those that were learned from.
    n_clusters : int, "true" or None
        Cut into so many, into as many as the truth has, or as the learner decides; None is "true"
        where the number of clusters is known.
    names : sequence of str, optional
        What to call them; their numbers otherwise.
    """
    graphs = learner.graphs(Xs)
    truths = learner.encode(graphs, ys)
    names = [str(i) for i in range(len(truths))] if names is None else list(names)
    if len(names) != len(truths):
        raise DataError(f"{len(truths)} graphs but {len(names)} names")
    guesses = cut_with_all(learner, graphs, truths, n_clusters)
    return CutEvaluation.of(learner, graphs, truths, guesses, names)


def cut_with_all(
    learner: CutLearner,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    n_clusters: int | str | None = None,
) -> dict[str, list[EquivalenceMatrix]]:
    """The cuts of graphs in the learned metric and in each of its rivals, it being the last."""
    if n_clusters is None and learner.problem_.known_clusters:
        n_clusters = "true"
    counts = asked_counts(n_clusters, truths)
    learned = CutMetric(learner.components_.T, learner.threshold_)
    metrics = stage("metrics", list({**learner.baselines_, LEARNED: learned}.items()))
    return {name: learner.decode_with(metric, graphs, counts) for name, metric in metrics}
