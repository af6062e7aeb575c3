"""What learning to cut was worth, on graphs or images it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from structsvm.errors import DataError, SettingsError
from structsvm.graph_cuts.learner import CutLearner
from structsvm.graph_cuts.metric import CutMetric
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels, jaccard_distance, region_loss, region_rand
from structsvm.model_selection.verdict import MIN_UNITS, Contrast
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.plain import finite
from structsvm.progress import stage

__all__ = ["CutEvaluation", "CutScores", "cut_with_all", "evaluate_cuts"]

IN_WORDS = {"grid": "the best point of the grid", "untrained": "the start of learning"}


@dataclass(frozen=True)
class CutScores:
    """How close a cut is to the truth, over pixels if it is one of an image."""

    loss: float
    """``|M - M_i|_F^2``: 0 is perfect, at most ``K + K' - 2``."""
    jaccard: float | None
    """Jaccard distance of the object, 0 is perfect; None unless there are two true labels."""
    adjusted_rand: float
    """At most 1, which is perfect; 0 for one single cluster."""

    @classmethod
    def of(cls, truth: NodeLabels, guess: EquivalenceMatrix) -> CutScores:
        """All scores of a cut."""
        return cls(
            region_loss(truth, guess), jaccard_distance(truth, guess), region_rand(truth, guess)
        )

    @classmethod
    def mean(cls, scores: Sequence[CutScores]) -> CutScores:
        """The mean of each."""
        distances = [s.jaccard for s in scores if s.jaccard is not None]
        return cls(
            float(np.mean([s.loss for s in scores])),
            float(np.mean(distances)) if distances else None,
            float(np.mean([s.adjusted_rand for s in scores])),
        )


@dataclass(frozen=True)
class CutEvaluation:
    """Scores of the learned metric and of its rivals on the same graphs."""

    names: tuple[str, ...]
    each: Mapping[str, tuple[CutScores, ...]]
    """Of every graph, by metric: "learned", "untrained" and, if it was tuned, "grid"."""

    @property
    def scores(self) -> dict[str, CutScores]:
        """Means, by metric."""
        return {name: CutScores.mean(scores) for name, scores in self.each.items()}

    def contrast(self, rival: str) -> Contrast:
        """The loss of a rival minus that of the learned metric, graph by graph."""
        theirs, ours = (
            np.array([scores.loss for scores in self.each[name]]) for name in (rival, "learned")
        )
        return Contrast.of(rival, theirs - ours, np.arange(ours.size))

    @property
    def verdict(self) -> str:
        """Whether learning paid against the strongest of its rivals, in words."""
        contrasts = [self.contrast(name) for name in self.each if name != "learned"]
        n, loss = len(self.names), self.scores["learned"].loss
        if n < MIN_UNITS:
            answer = f"Too few to tell: at least {MIN_UNITS} are needed."
        elif all(contrast.is_gain for contrast in contrasts):
            answer = "Learning pays."
        elif any(contrast.is_harm for contrast in contrasts):
            answer = "Learning harms."
        else:
            answer = "Nothing shows that learning pays: the difference may be chance."
        return f"{answer} The mean loss of {n} is {loss:.3g}: {'; '.join(map(_told, contrasts))}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        rivals = [name for name in self.each if name != "learned"]
        return {
            **{name: asdict(scores) for name, scores in self.scores.items()},
            "verdict": self.verdict,
            "contrasts": {name: finite(asdict(self.contrast(name))) for name in rivals},
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
    each = {
        name: tuple(CutScores.of(t, g) for t, g in zip(truths, found, strict=True))
        for name, found in guesses.items()
    }
    return CutEvaluation(tuple(names), each)


def cut_with_all(
    learner: CutLearner,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    n_clusters: int | str | None = None,
) -> dict[str, list[EquivalenceMatrix]]:
    """The cuts of graphs in the learned metric and in each of its rivals, it being the last."""
    if n_clusters is None and learner.problem_.known_clusters:
        n_clusters = "true"
    counts: Any = [t.n_clusters for t in truths] if n_clusters == "true" else n_clusters
    if isinstance(counts, str):
        raise SettingsError(f"n_clusters must be an integer, 'true' or None, got {counts!r}")
    learned = CutMetric(learner.components_.T, learner.threshold_)
    metrics = stage("metrics", list({**learner.baselines_, "learned": learned}.items()))
    return {name: learner.decode_with(metric, graphs, counts) for name, metric in metrics}


def _told(contrast: Contrast) -> str:
    word = "lower" if contrast.mean >= 0 else "higher"
    counts = f"better on {contrast.won}, worse on {contrast.lost}"
    if np.isfinite(contrast.low):
        counts = f"95 % interval {contrast.low:.2g} to {contrast.high:.2g}; {counts}"
    return f"{abs(contrast.mean):.2g} {word} than {IN_WORDS[contrast.rival]} ({counts})"
