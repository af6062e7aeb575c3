"""Segments with states, learned from labelled recordings: classifiers, and a decoder's weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.per_sample import units_of
from structsvm.errors import DataError, SettingsError
from structsvm.features.base import RecordingTransformer
from structsvm.features.frames import FrameRecipe, check_smoothing
from structsvm.features.pooling import pooled
from structsvm.learner.frame_learner import (
    FrameLearner,
    Scored,
    StatePath,
    Stretch,
    context_of,
    read_named,
    typical_length,
)
from structsvm.learner.learned import How
from structsvm.messages import nth
from structsvm.oracles.state_score import StateScore, segments_of
from structsvm.partitions.equivalence import runs_of
from structsvm.partitions.problem import PartitionProblem
from structsvm.problem import RegularizedRisk
from structsvm.problems.state_sequence import StateSequence
from structsvm.regularizers import SquaredNorm, check_lam
from structsvm.solvers.auto import solver_from
from structsvm.status import Solution
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.checks import refuse_below
from structsvm.support.progress import stage

ESTIMATORS = ("boosting", "kernel", "lda")
OF_MANY = ("fast-boosting", "kernel", "lda")
"""Classifiers that make different mistakes, whose mean is better than each."""

SAMPLES = (0.15, 0.3, 0.6, 1.0)
LENGTHS = (0.5, 1.0)
PRICES = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
"""Weights of the scores of samples and of lengths, and prices of a segment, to start from."""

CHOICES = list(product(SAMPLES, LENGTHS, PRICES))

USUAL = (0.3, 1.0, 1.0)
"""Where nothing can be held out to choose by."""

FEW = 8
"""With fewer groups slow boosting, more folds, and a model of all are worth their time: with ten
groups of har_spsw fast boosting and three folds did no worse, and with two they did."""

TUNED_ON = 3e8
"""Operations of the search, about, that go into choosing where to start."""

COUNT_PRIOR, SHARE_PRIOR, LEAST_SPREAD = 0.5, 1e-3, 0.1
"""Added to counts of changes, to their shares, and to the spread of the logarithms of lengths: what
was not seen is improbable, not impossible."""

NATS = 3.0
"""Logarithms of probabilities that weigh as much as a loss of 1: the scale in which the weights are
shrunk to counts. Of 0.3, 1 and 3 it had the smallest loss on s11-s15 of har_spsw."""

TYPICAL = 13
"""Samples of a typical segment, of har_spsw at 10 Hz, in whose scores :data:`SAMPLES` and ``lam``
were chosen: scores of longer segments are shrunk to these, as if there were so many samples. Else
learned weights of segments of hundreds of samples were worse than the counts that they start from
(SKAB, eight recordings: 1.41 for 1.17, now 1.13)."""

WORSE = 1.05
"""Times the loss of counts from which on they are kept: theirs is the least of many choices."""

TIMES_LONGEST = 2
"""Lengths are told apart up to so many times that of the longest labelled segment."""

LEARNED_FROM, MOST_LEARNED_FROM = 25, 40_000
"""Samples of a typical segment that classifiers learn from, at least; and of all, at most about."""

LOOKED_AT = 100
"""Samples of a typical segment that classifiers look at, at least."""

BLOCKS_OF_A_SEGMENT, FEWEST_BLOCKS = 50, 10
"""Into how many blocks a typical segment is divided at most, and at least, while weights are
learned."""

WORK = 1e7
"""Operations that one search of all recordings takes then, about, if segments are long enough."""


@dataclass(eq=False, repr=False)
class StateSegmenter(FrameLearner):
    """Segments recordings and names the segments: classifiers, durations and changes, in one model.

    A weighted mean of several classifiers says how probable each state is at each sample. A
    semi-Markov decoder (a hidden semi-Markov model, HSMM, trained discriminatively) finds the best
    segments given how long each state lasts, which state follows which, and the price of a segment,
    exactly. How much each of these counts is learned by a structured SVM
    (:class:`structsvm.problems.StateSequence`), one convex program with a certificate, on training
    recordings that are scored by classifiers that have not seen them, nor their groups. Its
    regularizer shrinks the weights to counts of the labelled changes and lengths, with three
    numbers chosen by the mean loss on the same recordings. The counts themselves are kept where
    what is learned has a larger loss on the recordings it was learned from than counts of other
    groups have, as with few groups, or classifiers that say little.

    Parameters
    ----------
    estimators : sequence of "fast-boosting", "boosting", "kernel", "lda", "logistic", "forest" or \
classifiers of scikit-learn, optional
        Of whose probabilities a weighted mean is taken; by default boosting, which is fast where
        there are eight groups or more, the kernel, and linear discriminants. The weights are those
        with which the mean says most of samples that the classifiers have not seen.
    features : RecordingTransformer, optional
        Context that the classifiers see; by default each sample, and the means and standard
        deviations of windows of a quarter, a half and one typical segment about it; "boosting" sees
        samples up to a quarter of a typical segment away instead.
    n_folds : int, optional
        By default 5, or 3 for eight groups or more, or recordings where there are no groups. The
        mean of the models of the folds predicts, with one of all where there are fewer.
    smoothing : float
        Added to a probability before its logarithm is taken.
    standardize : {"both", "recording", "training", None}
        How the features are centred and scaled before the classifiers see them.
    changes : mapping of a name to names, optional
        Which states may follow a state; any, by default. States that are no key may not change.
    order : sequence of names, optional
        Every recording goes once through all states in this order.
    min_length, max_length : int, or mapping of names to int, optional
        Least and greatest number of samples of a segment, of all states or of some; a recording
        shorter than ``min_length`` is one.
    lam : float
        Strength of the regularizer, divided by the number of groups.
    random_state : int, optional
        Of the folds, and of classifiers whose ``random_state`` is None.

    Attributes
    ----------
    classes_ : array of shape (C,)
        Names of the states.
    estimator_weights_ : array of shape (n_estimators,)
        What each classifier counts in the mean; they sum to 1.
    weight_ : array of shape (3 + 2 C + C^2,)
        Weights of the scores of samples and of lengths, price of a segment, weights of the first
        and the last state and of changes; as :meth:`StateSequence.weight` lays them out.
    start_ : array of the same shape
        What the weights are shrunk to.
    solution_ : Solution or None
        Of the convex program; None where no recording can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import StateSegmenter
    >>> y = np.repeat(["rest", "walk", "rest"], 10)
    >>> rng = np.random.default_rng(0)
    >>> Xs = [(y == "walk")[:, None] + rng.normal(scale=0.2, size=(30, 1)) for _ in range(4)]
    >>> segmenter = StateSegmenter(["lda"]).fit(Xs, [y] * 4)
    >>> segmenter.predict_breakpoints(Xs[:1])
    [[10, 20, 30]]
    >>> segmenter.predict_states(Xs[:1])[0][[0, 15]].tolist()
    ['rest', 'walk']
    """

    estimators: Sequence[Any] | None = None
    features: RecordingTransformer | None = None
    n_folds: int | None = None
    smoothing: float = 0.02
    standardize: str | None = "both"
    changes: Mapping[Any, Sequence[Any]] | None = None
    order: Sequence[Any] | None = None
    min_length: int | Mapping[Any, int] | None = None
    max_length: int | Mapping[Any, int] | None = None
    lam: float = 30.0
    random_state: int | None = 0
    problem: PartitionProblem | str | None = None

    @property
    def called(self) -> str:
        """What sentences call the method."""
        return "the segmenter of states"

    @property
    def is_learned(self) -> bool:
        """A structured SVM learns the weights of the decoder."""
        return True

    def _check(self, how: How) -> None:
        super()._check(how)
        check_smoothing(self.smoothing)
        check_lam(self.lam)

    def _scored(self, Xs: list[Floats], ys: Any, groups: Any) -> Scored:
        states, known, sequences = read_named(Xs, ys, type(self).__name__)
        lengths = np.zeros((states.classes.size, longest_of(sequences) + 1))
        self.allowed_ = Allowed.of(self, states.classes)
        check_states(known, sequences, self.allowed_.sequence(lengths), states.classes)
        units = units_of(groups, len(Xs))[1]
        few = np.unique(units).size < FEW
        usual = ESTIMATORS if few else OF_MANY
        estimators = usual if self.estimators is None else self.estimators
        if isinstance(estimators, str) or not len(estimators):
            raise SettingsError(f"estimators must be a list, such as ['lda'], got {estimators!r}")
        typical = int(typical_length(sequences))
        self.unit_ = TYPICAL / typical_length(sequences)
        folds: dict[str, Any] = {
            "n_folds": self.n_folds or (5 if few else 3),
            "kept": "all" if few else "folds",
            # Samples next to each other are much alike.
            "every": max(1, typical // LEARNED_FROM, sum(map(len, Xs)) // MOST_LEARNED_FROM),
            "step": max(1, min(typical // LOOKED_AT, *(shortest_of(y) for y in sequences))),
        }
        held_out = []
        models = []
        for estimator in stage("classifiers", list(estimators)):
            features = self.features or context_of(estimator, sequences)
            about = {**folds, "estimator": estimator}
            recipe = FrameRecipe(self, features, self.standardize, **about)
            found, fold, model = recipe.learn(Xs, states, groups)  # the same folds each time
            held_out.append(found)
            models.append(model)
        means: list[Floats] = []
        weights = np.full(len(models), 1.0 / len(models))
        if len(np.unique(units[[part.recording for part in known]])) > 1:
            means, weights = pooled(held_out, states.codes, fold, units, self.smoothing)
        self.models_ = []
        for model, weight in zip(models, weights.tolist(), strict=True):
            self.models_ += [replace(one, weight=weight / len(model)) for one in model]
        self.classes_ = states.classes
        self.estimator_weights_ = weights
        return Scored(means, known, fold, states.codes, units)

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        """Of each recording, decoded by the counts of other groups; NaN for what takes too long."""
        losses = np.full((len(CHOICES), len(scored.known)), np.nan)
        xs, ys, block, longest = self._blocks(scored)
        C = xs[0].shape[1]
        units = scored.units_of_known
        order = np.random.default_rng(self.random_state).permutation(len(ys))
        work = np.cumsum([ys[i].size * min(ys[i].size, longest) * C for i in order])
        chosen = order[: max(1, int(np.searchsorted(work * len(CHOICES), TUNED_ON)))]
        for unit in stage("tuning", np.unique(units[chosen]).tolist()):
            others = StateCounts.of([y for y, u in zip(ys, units, strict=True) if u != unit], C)
            problem = self.allowed_.sequence(others.lengths(longest), block)
            for g, numbers in enumerate(CHOICES):
                w = others.weight(*numbers)
                for i in chosen[units[chosen] == unit].tolist():
                    losses[g, i] = problem.loss(ys[i], problem.predict(w, xs[i]))
        return CHOICES, losses

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> LearnedStates:
        """Choose where to start by the mean loss, and learn the weights of the decoder."""
        self._learn_weights(scored, choices, losses)
        return LearnedStates(self.allowed_, self.lengths_, self.weight_, self.smoothing)

    def _learn_weights(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> None:
        sequences = scored.sequences
        C = self.allowed_.first.size
        tried = ~np.isnan(losses).any(axis=0)
        numbers = USUAL
        least = inf
        if scored.is_tunable and tried.any():
            means = losses[:, tried].mean(axis=1)
            numbers = choices[int(means.argmin())]
            least = float(means.min())
        counted = StateCounts.of(sequences, C)
        self.lengths_ = counted.lengths(TIMES_LONGEST * longest_of(sequences))
        self.start_ = self.weight_ = self._of_samples(counted.weight(*numbers))
        self.solution_: Solution | None = None
        if not scored.is_tunable:
            return
        xs, ys, block, longest = self._blocks(scored)
        counted = StateCounts.of(ys, C)
        start = counted.weight(*numbers)
        n_units = np.unique(scored.units_of_known).size
        risk = RegularizedRisk(
            problem=self.allowed_.sequence(counted.lengths(longest), block),
            xs=xs,
            ys=ys,
            regularizer=SquaredNorm(center=start).scaled(self.lam / n_units),
            sample_weight=np.full(len(xs), 1.0 / len(xs)),
            null=start,
            start=start,
        )
        solution = solver_from("auto").solve(risk)
        self.solution_ = replace(solution, support=None)
        self.start_ = self.weight_ = self._of_samples(start)
        again = [
            risk.problem.loss(ys[i], risk.problem.predict(solution.w, xs[i]))
            for i in np.flatnonzero(tried).tolist()
        ]
        if not again or np.mean(again) < WORSE * least:
            self.weight_ = self._of_samples(solution.w)

    def _of_samples(self, weight: Floats) -> Floats:
        """Weights of scores in units of a typical segment, as those of scores of samples."""
        return np.concatenate([weight[:1] * self.unit_, weight[1:]])

    def _blocks(self, scored: Scored) -> tuple[list[Floats], list[Ints], int, int]:
        """Scores in units of a typical segment and states of blocks, their samples, the longest."""
        seen = scored.seen(self.smoothing)
        sequences = scored.sequences
        typical = int(typical_length(sequences))
        samples = sum(y.size for y in sequences) * self.allowed_.first.size
        work = TIMES_LONGEST * longest_of(sequences) * samples  # that of a search, in blocks of one
        quick = min(typical // FEWEST_BLOCKS, ceil(sqrt(work / WORK)))
        usual = max(1, typical // BLOCKS_OF_A_SEGMENT, quick)
        for block in sorted({usual, 1}, reverse=True):
            starts = [block_starts(y, block) for y in sequences]
            ys = [in_blocks(y, begin, block) for y, begin in zip(sequences, starts, strict=True)]
            longest = TIMES_LONGEST * longest_of(ys)
            free = np.zeros((self.allowed_.first.size, longest + 1))
            problem = self.allowed_.sequence(free, block)
            if all(problem.first_broken(y) is None for y in ys):
                break
        pairs = zip(seen, starts, strict=True)
        xs = [self.unit_ * np.add.reduceat(x, begin) for x, begin in pairs]
        return xs, ys, block, longest


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which states may follow a state, begin and end a recording, and how long each lasts."""

    changes: Bools
    """(C, C)."""
    first: Bools
    """(C,), as all that follow."""
    last: Bools
    shortest: Floats
    """The least and the greatest number of samples of a segment in each state."""
    longest: Floats

    @classmethod
    def of(cls, given: StateSegmenter, classes: NDArray[Any]) -> Allowed:
        """What a user allows."""
        names = classes.tolist()
        C = len(names)
        changes = np.ones((C, C), dtype=np.bool_)
        first = np.ones(C, dtype=np.bool_)
        last = first.copy()
        if given.order is not None:
            order = list(given.order)
            if given.changes is not None or sorted(order, key=repr) != sorted(names, key=repr):
                raise SettingsError(
                    f"order is {order}: name each of the states {names} once, and give no changes"
                )
            places = np.array([order.index(name) for name in names])
            changes = places[None, :] == places[:, None] + 1
            first = places == 0
            last = places == C - 1
        elif given.changes is not None:
            follow = {name: list(after) for name, after in given.changes.items()}
            strange = {*follow, *chain.from_iterable(follow.values())} - {*names}
            if strange:
                raise SettingsError(f"changes name {sorted(strange, key=repr)}: there are {names}")
            changes = np.array([[b in follow.get(a, ()) for b in names] for a in names])
        shortest = _of_each(names, given.min_length, "min_length", 1.0)
        longest = _of_each(names, given.max_length, "max_length", inf)
        if (shortest > longest).any():
            raise SettingsError("min_length is above max_length: swap them")
        return cls(changes, first, last, shortest, longest)

    def sequence(self, lengths: Floats, block: int = 1, most: float = inf) -> StateSequence:
        """The problem with these scores of lengths, (C, L), in blocks of so many samples.

        A recording of ``most`` samples that is shorter than the least length may be one segment.
        """
        shortest = self.shortest
        longest = self.longest
        if block > 1:  # with room for where blocks begin
            shortest = np.maximum(shortest // block, 1.0)
            longest = np.ceil(longest / block) + 1
        shortest = np.minimum(shortest, most)
        finite = longest[np.isfinite(longest)]
        more = int(max(0.0, finite.max(initial=0.0) + 2 - lengths.shape[1]))
        lengths = np.pad(lengths, ((0, 0), (0, more)), mode="edge")
        n = np.arange(lengths.shape[1])
        allowed = (n >= shortest[:, None]) & (n <= longest[:, None])
        lengths = np.where(allowed, lengths, -inf)
        return StateSequence(lengths, self.changes, self.first, self.last)


@dataclass(frozen=True, eq=False)
class LearnedStates(StatePath):
    """The best segments with states, by learned weights of scores, lengths and changes."""

    allowed: Allowed
    lengths: Floats
    """Scores of the lengths of segments in each state, (C, L)."""
    weight: Floats
    smoothing: float

    def score(self, problem: Any, p: Floats) -> StateScore:
        sequence = self.allowed.sequence(self.lengths, most=len(p))
        return sequence.score(self.weight, np.log(p + self.smoothing))


@dataclass(frozen=True, eq=False)
class StateCounts:
    """What labelled sequences of states tell about lengths and changes, (C,) and (C, C)."""

    first: Floats
    last: Floats
    changes: Floats
    segments: Floats
    logs: Floats
    """Sum of the logarithms of the lengths of the segments of each state, and of their squares."""
    squares: Floats

    @classmethod
    def of(cls, ys: Sequence[Ints], C: int) -> StateCounts:
        first = np.zeros(C)
        last = np.zeros(C)
        changes = np.zeros((C, C))
        sums = np.zeros((3, C))
        for y in ys:
            starts, ends, states = segments_of(y)
            first[states[0]] += 1
            last[states[-1]] += 1
            np.add.at(changes, (states[:-1], states[1:]), 1)
            for k in range(3):
                np.add.at(sums[k], states, np.log(ends - starts) ** k)
        return cls(first, last, changes, *sums)

    def weight(self, samples: float, lengths: float, price: float) -> Floats:
        """These numbers and the logarithms of the shares of changes, in units of the loss."""
        first, last = (np.log(_shares(count)) for count in (self.first, self.last))
        others = ~np.eye(first.size, dtype=np.bool_)
        changes = np.log(_shares(self.changes, others) + SHARE_PRIOR) * others
        return StateSequence.weight(samples, lengths, price, first, last, changes) / NATS

    def lengths(self, longest: int) -> Floats:
        """Logarithms of log-normal densities of each state, (C, longest + 1), at most 0.

        Mean and variance shrink to those of all states, as if these had one and two segments more.
        """
        n = self.segments.sum()
        mean = self.logs.sum() / n
        spread = np.sqrt(max(self.squares.sum() / n - mean**2, 0.0)) + LEAST_SPREAD
        center = (self.logs + mean) / (self.segments + 1)
        around = self.squares - 2 * center * self.logs + self.segments * center**2
        variance = (np.maximum(around, 0.0) + 2 * spread**2) / (self.segments + 2)
        x = np.log(np.arange(1, longest + 1))
        away = (x - center[:, None]) ** 2 / variance[:, None] + np.log(variance)[:, None]
        return np.pad((away.min() - away) / 2, ((0, 0), (1, 0)))


def shortest_of(sequence: Ints) -> int:
    """The number of samples of the shortest segment."""
    return int(runs_of(sequence).sizes.min())


def longest_of(sequences: Sequence[Ints]) -> int:
    """The number of samples of the longest segment."""
    return max(int(runs_of(y).sizes.max()) for y in sequences)


def _shares(counts: Floats, where: Any = True) -> Floats:
    smoothed = np.where(where, counts + COUNT_PRIOR, 0.0)
    return np.asarray(smoothed / smoothed.sum(axis=-1, keepdims=True))


def check_states(
    known: Sequence[Stretch],
    sequences: Sequence[Ints],
    problem: StateSequence,
    classes: NDArray[Any],
) -> None:
    """Refuse sequences of states that are not allowed."""
    for part, y in zip(known, sequences, strict=True):
        k = problem.first_broken(y)
        if k is not None:
            starts, ends, states = segments_of(y)
            a = int(part.start + starts[k])
            b = int(part.start + ends[k])
            raise DataError(
                nth("recording", part.recording) + f": samples {a}..{b} of the state "
                f"{str(classes[states[k]])!r} are not what changes, order, min_length and "
                "max_length allow: change the labels, or the settings"
            )


def block_starts(y: Ints, block: int) -> Ints:
    """Where blocks of so many samples begin, and at both ends of segments that are shorter."""
    starts, ends, _ = segments_of(y)
    short = ends - starts < block
    cuts = np.concatenate([starts[short], ends[short], np.arange(0, y.size, block)])
    return np.unique(cuts[cuts < y.size])


def in_blocks(y: Ints, starts: Ints, block: int) -> Ints:
    """The state in the middle of each block: every segment is that of one, at least."""
    last = np.append(starts[1:], y.size) - 1
    return np.asarray(y[np.minimum(starts + block // 2, last)])


def _of_each(names: list[Any], given: Any, name: str, default: float) -> Floats:
    """A number of samples for each state."""
    of = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    if strange := {*of} - {*names}:
        raise SettingsError(f"{name} names {sorted(strange, key=repr)}: there are {names}")
    for value in of.values():
        if value is not None:
            refuse_below(1, name, value)
    return np.array([default if of.get(state) is None else float(of[state]) for state in names])
