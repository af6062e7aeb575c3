"""What is set by hand after a model of samples: a rolling mean and a shortest segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from scipy.ndimage import uniform_filter1d

from structsvm.baselines.frame_classifier import priced
from structsvm.learner.frame_learner import Scored, StatePath, losses_of, typical_length
from structsvm.learner.score_decoder import ScoreLearner
from structsvm.oracles.semi_markov import best_states
from structsvm.oracles.state_score import StateScore
from structsvm.partitions.equivalence import runs_of
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.values import Floats

WIDTHS = (0.0, 0.4, 0.7, 1.15)
SHORTEST = (0.0, 0.25, 0.3, 0.4, 0.45, 0.6, 0.75, 0.9)
"""Settings to choose from, in typical segments."""


@dataclass(eq=False, repr=False)
class SmoothedScores(ScoreLearner):
    """The largest of smoothed scores at each sample, in segments of a shortest length.

    What people set by hand after a model of samples, chosen here by the mean loss
    ``|M - M_i|_F^2`` on the labelled recordings from 4 widths of a rolling mean and 8 shortest
    segments. With ``tuned=False`` the largest score at each sample, as it is.

    Parameters
    ----------
    classes : sequence, optional
        The state of each column of the scores, as for :class:`structsvm.ScoreDecoder`.
    tuned : bool
        Whether the two numbers are chosen, or both are 1.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states.
    width_, shortest_ : int
        Samples of the rolling mean, and of the shortest segment.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.baselines import SmoothedScores
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> walks = [np.clip((y == "walk") + rng.normal(scale=0.4, size=30), 0, 1) for _ in range(4)]
    >>> scores = [np.column_stack([1 - p, p]) for p in walks]
    >>> smoothed = SmoothedScores(classes=["rest", "walk"]).fit(scores, [y] * 4)
    >>> smoothed.predict_breakpoints(scores[:1])
    [[10, 20, 30]]
    """

    classes: Sequence[Any] | None = None
    tuned: bool = True
    problem: PartitionProblem | str | None = None

    @property
    def called(self) -> str:
        """What sentences call the method."""
        return "smoothed scores" if self.tuned else "the largest score"

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        typical = typical_length(scored.sequences) if self.tuned else 0.0
        widths, least = ([max(1, round(k * typical)) for k in of] for of in (WIDTHS, SHORTEST))
        choices = sorted({*product(widths, least)})
        seen = [part.of(scored.probabilities) for part in scored.known]
        by_setting = []
        for width, shortest in choices:
            model = SmoothedStates(width, shortest)
            paths = [best_states(model.score(None, p)) for p in seen]
            by_setting.append([runs_of(path).breakpoints for path in paths])
        return choices, losses_of([part.truth for part in scored.known], by_setting)

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> SmoothedStates:
        width, shortest = 1, 1
        if scored.is_tunable:
            width, shortest = choices[int(losses.mean(axis=1).argmin())]
        self.width_: int = width
        self.shortest_: int = shortest
        return SmoothedStates(width, shortest)


@dataclass(frozen=True)
class SmoothedStates(StatePath):
    """The best sum of mean scores in segments of a shortest length."""

    width: int
    shortest: int

    def score(self, problem: Any, p: Floats) -> StateScore:
        smooth = uniform_filter1d(p, self.width, axis=0, mode="nearest") if self.width > 1 else p
        return priced(smooth, 0.0).lasting(self.shortest)
