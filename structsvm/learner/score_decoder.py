"""Learning to decode segments with states from the probabilities of any model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from structsvm.data import units_of
from structsvm.learner.frame_learner import FrameLearner, Scored, Stretch, read_named
from structsvm.learner.given_scores import GivenScores, warn_of_scores, warn_of_sums
from structsvm.learner.state_decoder import Blocks, LearnedStates, StateDecoder
from structsvm.learner.training_set import TrainingSet
from structsvm.oracles import best_states
from structsvm.oracles.state_score import segments_of
from structsvm.solvers import solver_from
from structsvm.support import Floats, Ints, hook, is_listed, refuse_unless

N_FOLDS = 5
"""Folds of recordings that are held out in turn to judge the decoder itself."""

N_TRIED = 3
"""Folds of the labelled recordings, each of which is decoded by weights learned from the others."""

WORSE_HELD_OUT = 1.2
"""Counts are kept if learned weights lose so many times as much on held-out folds: counts are the
best of many choices. Chosen on motions and on digits, where all from 1.01 to 1.31 decide alike, and
not on the activities it is judged on: on three recordings of motions learned weights lose 2.7 to
4.1, where counts lose 1.6 to 3.0, and 1.3 to 2.1 times as much as counts on held-out folds."""

SURE = 0.95
"""The confidence that changes between two states are found late, before they are moved."""


class ScoreLearner(FrameLearner):
    """Base of the methods that take given scores of states in place of classifiers."""

    classes: Sequence[Any] | None

    def _scored_in(self, data: TrainingSet) -> Scored:
        if self.classes is not None:
            refuse_unless(is_listed(self.classes), "classes", "a list of names", self.classes)
        self._columns = data.names if self.classes is None else list(self.classes)
        return super()._scored_in(data)

    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> Scored:
        states, stretches, codes = read_named(Xs, ys, type(self).__name__)
        sequences = [part.of(codes) for part in stretches]
        self.models_ = []  # the scores are given
        self.given_ = GivenScores.of(Xs, states, self._columns, is_asked=self.classes is not None)
        self.classes_ = self.given_.classes
        scores = self.given_.of_columns(Xs)
        self.given_ = replace(self.given_, are_shares=warn_of_sums(scores))
        warn_of_scores(scores, states.codes, self.classes_)
        self._prepare(stretches, sequences)
        units = units_of(groups, len(Xs))[1]
        if np.unique(units).size < 2:  # hold out single recordings of one person rather than none
            units = np.arange(len(Xs))
        if np.unique(units).size < 2:
            scores = []  # nothing can be held out
        return Scored(scores, stretches, units % N_FOLDS, states.codes, units)

    @hook
    def _prepare(self, stretches: Sequence[Stretch], sequences: Sequence[Ints]) -> None:
        """Check the labels, and set what follows from them, before anything is learned."""

    @property
    def _stage(self) -> GivenScores:
        return self.given_


@dataclass(eq=False, repr=False)
class ScoreDecoder(ScoreLearner, StateDecoder):
    """Segments with states from given scores, such as probabilities of anybody's model.

    The decoder of a :class:`~structsvm.StateSegmenter` without its classifiers: what one would set
    by hand after a model of samples, such as a rolling mean, a threshold and a shortest bout, is
    learned from labelled recordings by one convex program, and the best segments are found exactly.
    The scores have to be those of a model that has not seen the labelled recordings: of others it
    trusts the scores too much.

    Parameters
    ----------
    classes : sequence, optional
        The state of each column of the scores, as it is called in the labels. By default the names
        of the columns, without ``Probability_`` before them; where these have none, the states that
        are labelled, sorted, or 0, 1, ... if labels are numbers of columns.
    smoothing, changes, order, min_length, max_length, lam, random_state
        As for :class:`~structsvm.StateSegmenter`.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states: those that are labelled, sorted, and then those of other columns.
    score_columns_ : array of shape (C,)
        The column of each state.
    weight_, start_, solution_
        As for :class:`~structsvm.StateSegmenter`.

    Raises
    ------
    DataError
        For scores that are negative, columns that cannot be told apart, and labelled states that
        have no column.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import ScoreDecoder
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> walks = [np.clip((y == "walk") + rng.normal(scale=0.4, size=30), 0, 1) for _ in range(4)]
    >>> scores = [np.column_stack([1 - p, p]) for p in walks]
    >>> decoder = ScoreDecoder(classes=["rest", "walk"]).fit(scores, [y] * 4)
    >>> decoder.predict_breakpoints(scores[:1])
    [[10, 20, 30]]
    >>> [segment["state"] for segment in decoder.predict_segments(scores[0])]
    ['rest', 'walk', 'rest']
    """

    classes: Sequence[Any] | None = None

    @property
    def called(self) -> str:
        """The name of the method in sentences."""
        return "the decoder of scores"

    def _prepare(self, stretches: Sequence[Stretch], sequences: Sequence[Ints]) -> None:
        assert self.classes_ is not None
        self._prescribe(self.classes_, stretches, sequences)

    def _pays(
        self, risk: Any, w: Floats, blocks: Blocks, numbers: tuple[float, ...], least: float
    ) -> bool:
        groups, units = np.unique(blocks.units, return_inverse=True)
        fold = units % min(N_TRIED, groups.size)
        losses: list[float] = []
        for k in np.unique(fold).tolist():
            others = self._risk(blocks.at(fold != k), numbers)
            solution = solver_from("auto").solve(others)
            losses += blocks.at(fold == k).losses(others.problem, solution.w)
        return bool(np.mean(losses) < WORSE_HELD_OUT * least)

    def _lateness(self, model: LearnedStates, scored: Scored) -> Ints | None:
        C = self.allowed_.first.size
        delays: dict[tuple[int, int], list[int]] = {}
        for part, y in zip(scored.known, scored.sequences, strict=True):
            path = best_states(model.score(None, part.of(scored.probabilities)))
            for kind, away in _misses(y, path):
                delays.setdefault(kind, []).append(away)
        late = np.zeros((C, C), dtype=np.int64)
        for kind, several in delays.items():
            late[kind] = sure_median(np.array(several))
        self.late_ = late if late.any() else None
        return self.late_


def _misses(y: Ints, path: Ints) -> list[tuple[tuple[int, int], int]]:
    """The states before and after each true change that is found, and how many samples too late.

    It is found if a change between the same states is nearer than both neighbouring true changes.
    """
    true, ends, states = segments_of(y)
    at, _, named = segments_of(path)
    kinds = list(zip(named[:-1].tolist(), named[1:].tolist(), strict=True))
    misses = []
    for k in range(1, true.size):
        kind = int(states[k - 1]), int(states[k])
        reach = min(true[k] - true[k - 1], ends[k] - true[k])
        near = [t - true[k] for t, of in zip(at[1:], kinds, strict=True) if of == kind]
        near = [int(away) for away in near if abs(away) < reach]
        misses += [(kind, min(near, key=abs))] if near else []
    return misses


def sure_median(values: Ints) -> int:
    """The number nearest to 0 in the confidence interval of the median, by order statistics."""
    n = values.size
    k = int(binom.ppf((1.0 - SURE) / 2.0, n, 0.5))
    if k < 1:
        return 0
    ordered = np.sort(values)
    low = int(ordered[k - 1])
    high = int(ordered[n - k])
    return min(max(0, low), high)
