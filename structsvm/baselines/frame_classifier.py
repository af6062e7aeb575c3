"""Classifiers of samples smoothed by a price for each change, or by rolling means."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from structsvm.data import units_of
from structsvm.errors import SettingsError
from structsvm.features import RecordingTransformer
from structsvm.features.frames import FrameRecipe, check_smoothing
from structsvm.learner.frame_learner import (
    FrameLearner,
    Scored,
    StatePath,
    context_of,
    losses_of,
    read_named,
    typical_length,
)
from structsvm.learner.score_decoder import ScoreLearner
from structsvm.oracles import StateScore, best_states
from structsvm.partitions import PartitionProblem
from structsvm.partitions.equivalence import runs_of
from structsvm.support import Floats, Ints

USUAL_PRICE = 3.0
"""The price if no recording can be held out; on activities, 2 to 5 were equally good."""
CHANGE_PRICES = (0.0, *np.geomspace(0.25, 64.0, 25).tolist())


@dataclass(eq=False, repr=False)
class FrameClassifier(FrameLearner):
    """A classifier that names every sample, with smoothed names.

    The names of a recording maximise the sum of ``log(p + smoothing)`` over its samples minus a
    price for each change. The price has the smallest mean loss ``|M - M_i|_F^2`` on the training
    recordings, each scored by a classifier that has seen neither it nor its group. Other recordings
    are named by the mean of the probabilities of these classifiers and of one that learned from
    all. Labels must be names of states, and no other names are predicted.

    Parameters
    ----------
    estimator, n_folds, standardize, random_state
        As for :class:`structsvm.features.StateScores`.
    features : RecordingTransformer, optional
        Context that the classifier sees: by default, for "boosting", samples up to a quarter of a
        typical segment away; for others, means and standard deviations of windows of a quarter, a
        half and one typical segment. Up to 16 columns have slopes as well, and windows of 5 to 135
        samples where segments are much longer.
    prices : sequence of float, optional
        Prices to choose from; by default 0 and 25 prices from 1/4 to 64.
    smoothing : float
        Added to a probability before its logarithm is taken.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states.
    price_ : float
        The price of a change.
    models_ : list
        The classifiers, of whose probabilities the mean is taken.
    prices_, losses_ : array of shape (n_prices,)
        The prices to choose from, and their mean losses on held-out recordings; NaN without any.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags
    >>> from structsvm.baselines import FrameClassifier
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.2, size=(30, 1)) for _ in range(4)]
    >>> baseline = FrameClassifier("logistic", Lags(lags=(-1, 0, 1))).fit(Xs, [y] * 4)
    >>> baseline.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    >>> baseline.predict_states(Xs[:1])[0][[0, 15]].tolist()
    ['rest', 'walk']
    """

    estimator: Any = None
    features: RecordingTransformer | None = None
    n_folds: int = 5
    prices: Sequence[float] | None = None
    smoothing: float = 0.02
    standardize: str | None = "both"
    random_state: int | None = 0
    problem: PartitionProblem | str | None = None

    called = "the frame classifier"

    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> Scored:
        prices = np.asarray(CHANGE_PRICES if self.prices is None else self.prices, float)
        if prices.size == 0 or not (prices >= 0).all():
            raise SettingsError(f"prices must be numbers of 0 or more, got {self.prices!r}")
        check_smoothing(self.smoothing)
        owner = type(self).__name__
        # If labels leave samples around all changes out, the largest price would have no loss.
        states, stretches, codes = read_named(Xs, ys, owner, bridges=True)
        sequences = [part.of(codes) for part in stretches]
        features = self.features or context_of(self.estimator, sequences, Xs[0].shape[1])
        recipe = FrameRecipe(self, features, self.standardize)
        held_out, fold, self.models_ = recipe.learn(Xs, states, groups)
        self.classes_ = states.classes
        return Scored(held_out, stretches, fold, codes, units_of(groups, len(Xs))[1])

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        prices = sorted({*map(float, CHANGE_PRICES if self.prices is None else self.prices)})
        scores = scored.seen(self.smoothing)
        by_price = [[runs_of(best_path(L, price)).breakpoints for L in scores] for price in prices]
        return prices, losses_of([part.truth for part in scored.known], by_price)

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> "PricedStates":
        if not scored.is_tunable:
            choices = [USUAL_PRICE]
            losses = np.array([[np.nan]])
        self.prices_ = np.array(choices)
        self.losses_ = losses.mean(axis=1)
        # The largest of equally good prices, which gives the fewest segments.
        self.price_ = float(choices[-1 - int(self.losses_[::-1].argmin())])
        return PricedStates(self.price_, self.smoothing)


@dataclass(frozen=True)
class PricedStates(StatePath):
    """The states of the largest sum of log-probabilities minus a price for each change."""

    price: float
    smoothing: float

    def score(self, problem: Any, p: Floats) -> StateScore:
        return priced(np.log(p + self.smoothing), self.price)


def priced(scores: Floats, price: float) -> StateScore:
    """The sum of the scores of states, minus ``price`` for each change."""
    C = scores.shape[1]
    lengths = np.zeros((C, 2))
    changes = np.full((C, C), -float(price))
    ends = np.zeros(C)
    return StateScore(scores, lengths, changes, ends, ends)


def best_path(scores: Floats, price: float, n_segments: int | None = None) -> Ints:
    """Return the states that maximise the sum of their scores minus ``price`` for each change."""
    return best_states(priced(scores, price), n_segments)


WIDTHS = (0.0, 0.4, 0.7, 1.15)  # widths to choose from, in typical lengths of a segment
SHORTEST = (0.0, 0.25, 0.3, 0.4, 0.45, 0.6, 0.75, 0.9)
"""Shortest segments to choose from, in typical lengths of a segment."""


@dataclass(eq=False, repr=False)
class SmoothedScores(ScoreLearner):
    """The state of the largest smoothed score at each sample, in segments of a least length.

    People often smooth the output of a model by hand in this way. Here the width of the rolling
    mean (of 4) and the least length (of 8) are chosen by the mean loss ``|M - M_i|_F^2`` on the
    labelled recordings. With ``tuned=False`` it is the largest score at each sample.

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
        """The name of the method in sentences."""
        return "smoothed scores" if self.tuned else "the largest score"

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        typical = typical_length(scored.sequences) if self.tuned else 0.0
        widths, least = ([max(1, round(k * typical)) for k in of] for of in (WIDTHS, SHORTEST))
        choices = sorted({*product(widths, least)})
        scores = [part.of(scored.probabilities) for part in scored.known]
        by_setting = []
        for width, shortest in choices:
            model = SmoothedStates(width, shortest)
            paths = [best_states(model.score(None, p)) for p in scores]
            by_setting.append([runs_of(path).breakpoints for path in paths])
        return choices, losses_of([part.truth for part in scored.known], by_setting)

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> "SmoothedStates":
        width, shortest = 1, 1
        if scored.is_tunable:
            width, shortest = choices[int(losses.mean(axis=1).argmin())]
        self.width_: int = width
        self.shortest_: int = shortest
        return SmoothedStates(width, shortest)


@dataclass(frozen=True)
class SmoothedStates(StatePath):
    """The states of the largest sum of smoothed scores, in segments of a least length."""

    width: int
    shortest: int

    def score(self, problem: Any, p: Floats) -> StateScore:
        smooth = uniform_filter1d(p, self.width, axis=0, mode="nearest") if self.width > 1 else p
        return priced(smooth, 0.0).lasting(self.shortest)
