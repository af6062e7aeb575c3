"""The decoder of states: weights of scores, lengths and changes, learned from sequences."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from math import ceil, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance
from structsvm.features.frames import check_smoothing
from structsvm.learner.allowed_states import Allowed, check_states
from structsvm.learner.frame_learner import (
    FrameLearner,
    Scored,
    StatePath,
    Stretch,
    losses_of,
    typical_length,
)
from structsvm.learner.learner import How
from structsvm.oracles import StateScore
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.oracles.state_score import segments_of
from structsvm.partitions import PartitionProblem
from structsvm.partitions.equivalence import runs_of
from structsvm.problem import Problem, RegularizedRisk, Solution, SquaredNorm, check_lam
from structsvm.problems import StateSequence
from structsvm.solvers import solver_from
from structsvm.support import Bools, Floats, Ints, hook, stage

SAMPLES = (0.15, 0.3, 0.6, 1.0)
LENGTHS = (0.5, 1.0)
PRICES = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
"""Weights of the scores of samples and of lengths, and prices of a segment, to start from."""
CHOICES = list(product(SAMPLES, LENGTHS, PRICES))
USUAL_CONSTANTS = (0.3, 1.0, 1.0)  # the choice if nothing can be held out
TUNED_ON = 1e9  # operations of the search, about, that go into choosing where to start
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
"""Counts are kept if learned weights lose so many times as much: counts are the best of many."""
TIMES_LONGEST = 2  # lengths are told apart up to so many times that of the longest labelled segment
BLOCKS_OF_A_SEGMENT, FEWEST_BLOCKS = 50, 10
"""Into how many blocks a typical segment is divided at most, and at least, while weights are
learned."""
WORK = 1e7
"""Operations that one search of all recordings takes in blocks, about, if segments are long."""


@dataclass(eq=False, repr=False)
class StateDecoder(FrameLearner):
    """Learns weights of scores, lengths and changes of states, wherever scores come from."""

    _: KW_ONLY
    smoothing: float = 0.02
    changes: Mapping[Any, Sequence[Any]] | None = None
    order: Sequence[Any] | None = None
    min_length: int | Mapping[Any, int] | None = None
    max_length: int | Mapping[Any, int] | None = None
    lam: float = 30.0
    random_state: int | None = 0
    problem: PartitionProblem | str | None = None

    is_learned = True

    def _check(self, how: How) -> None:
        super()._check(how)
        check_smoothing(self.smoothing)
        check_lam(self.lam)

    def _prescribe(
        self, classes: NDArray[Any], stretches: Sequence[Stretch], sequences: Sequence[Ints]
    ) -> None:
        """Set the allowed sequences and the unit of scores; refuse labels that are not allowed."""
        self.allowed_ = Allowed.of(self, classes)
        check_states(stretches, sequences, self.allowed_, classes)
        self.unit_ = TYPICAL / typical_length(sequences)

    def _losses(self, scored: Scored) -> tuple[Sequence[Any], Floats]:
        """Losses of stretches that counts of other groups decode; NaN where there is no time."""
        losses = np.full((len(CHOICES), len(scored.known)), np.nan)
        blocks = self._blocks(scored)
        xs = blocks.xs
        ys = blocks.ys
        units = blocks.units
        C = xs[0].shape[1]
        order = np.random.default_rng(self.random_state).permutation(len(ys))
        work = np.cumsum([ys[i].size * min(ys[i].size, blocks.longest) * C for i in order])
        chosen = order[: max(1, int(np.searchsorted(work * len(CHOICES), TUNED_ON)))]
        allowed = self.allowed_.of_parts(blocks.edges)
        for unit in stage("tuning", np.unique(units[chosen]).tolist()):
            own = chosen[units[chosen] == unit].tolist()
            others = blocks.at(units != unit).counts(C)
            problem = allowed.sequence(others.lengths(blocks.longest), blocks.size)
            segmentations = []
            for numbers in CHOICES:
                w = others.weight(*numbers)
                segmentations.append([runs_of(problem.predict(w, xs[i])).breakpoints for i in own])
            losses[:, own] = losses_of([runs_of(ys[i]) for i in own], segmentations)
        return CHOICES, losses

    def _tuned(self, scored: Scored, choices: Sequence[Any], losses: Floats) -> "LearnedStates":
        """Choose the start by the mean loss, and learn the weights of the decoder."""
        tried = np.asarray(~np.isnan(losses).any(axis=0))  # the stretches that there was time for
        self._learn_weights(scored, choices, losses, tried)
        model = LearnedStates(self.allowed_, self.lengths_, self.weight_, self.smoothing)
        judged = scored.at(tried) if scored.is_tunable else replace(scored, known=())
        return replace(model, late=self._lateness(model, judged))

    @hook
    def _lateness(self, model: "LearnedStates", scored: Scored) -> Ints | None:
        """By how many samples changes from state a to state b are found late, (C, C)."""
        return None

    def _learn_weights(
        self, scored: Scored, choices: Sequence[Any], losses: Floats, tried: Bools
    ) -> None:
        """Set the scores of lengths, the start, and the weights: learned ones, or the start."""
        sequences = scored.sequences
        numbers = USUAL_CONSTANTS
        least = inf
        if scored.is_tunable and tried.any():
            means = losses[:, tried].mean(axis=1)
            numbers = choices[int(means.argmin())]
            least = float(means.min())
        C = self.allowed_.first.size
        counted = StateCounts.of(sequences, C, scored.edges, scored.beside)
        self.lengths_ = counted.lengths(TIMES_LONGEST * longest_of(sequences))
        self.start_ = self.weight_ = self._of_samples(counted.weight(*numbers))
        self.solution_: Solution | None = None
        if not scored.is_tunable:
            return
        blocks = self._blocks(scored)
        risk = self._risk(blocks, numbers)
        self.start_ = self.weight_ = self._of_samples(risk.null)
        solution = solver_from("auto").solve(risk)
        self.solution_ = replace(solution, support=None)
        if not tried.any() or self._pays(risk, solution.w, blocks.at(tried), numbers, least):
            self.weight_ = self._of_samples(solution.w)

    @hook
    def _pays(
        self, risk: Any, w: Floats, blocks: "Blocks", numbers: tuple[float, ...], least: float
    ) -> bool:
        """Whether to keep learned weights, rather than counts, whose loss is ``least``."""
        return bool(np.mean(blocks.losses(risk.problem, w)) < WORSE * least)

    def _risk(self, blocks: "Blocks", numbers: tuple[float, ...]) -> RegularizedRisk:
        """The mean hinge loss, plus the squared distance from the weight that counts give."""
        counted = blocks.counts(self.allowed_.first.size)
        allowed = self.allowed_.of_parts(blocks.edges)
        start = counted.weight(*numbers)
        n = len(blocks.xs)
        return RegularizedRisk(
            problem=allowed.sequence(counted.lengths(blocks.longest), blocks.size),
            xs=blocks.xs,
            ys=blocks.ys,
            regularizer=SquaredNorm(center=start).scaled(self.lam / np.unique(blocks.units).size),
            sample_weight=np.full(n, 1.0 / n),
            null=start,
            start=start,
        )

    def _of_samples(self, weight: Floats) -> Floats:
        """Convert weights of scores in units of a typical segment to those of scores of samples."""
        return np.concatenate([weight[:1] * self.unit_, weight[1:]])

    def _blocks(self, scored: Scored) -> "Blocks":
        """The known stretches in blocks of samples, or in single samples if blocks break rules."""
        seen = scored.seen(self.smoothing)
        sequences = scored.sequences
        typical = int(typical_length(sequences))
        samples = sum(y.size for y in sequences) * self.allowed_.first.size
        work = TIMES_LONGEST * longest_of(sequences) * samples  # that of a search, in blocks of one
        quick = min(typical // FEWEST_BLOCKS, ceil(sqrt(work / WORK)))
        usual = max(1, typical // BLOCKS_OF_A_SEGMENT, quick)
        allowed = self.allowed_.of_parts(scored.edges)
        for block in sorted({usual, 1}, reverse=True):
            starts = [block_starts(y, block) for y in sequences]
            ys = [in_blocks(y, begin, block) for y, begin in zip(sequences, starts, strict=True)]
            longest = TIMES_LONGEST * longest_of(ys)
            free = np.zeros((self.allowed_.first.size, longest + 1))
            problem = allowed.sequence(free, block)
            if all(problem.first_broken(y) is None for y in ys):
                break
        pairs = zip(seen, starts, strict=True)
        xs = [self.unit_ * np.add.reduceat(x, begin) for x, begin in pairs]
        beside = scored.beside / block
        return Blocks(xs, ys, scored.units_of_known, scored.edges, beside, block, longest)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Known stretches in blocks of samples, so that a search takes less time."""

    xs: Sequence[Floats]  # scores of each block in units of a typical segment, (n, C) each
    ys: Sequence[Ints]  # the states of the blocks
    units: Ints  # the group of each stretch
    edges: Bools  # whether it begins, and ends, where its recording does, (n, 2)
    beside: Floats  # blocks without a label before it and after it, (n, 2)
    size: int  # samples of a block
    longest: int  # up to how many blocks the lengths of segments are told apart

    def at(self, which: Bools) -> "Blocks":
        """Some of the stretches."""
        chosen = np.flatnonzero(which).tolist()
        xs = [self.xs[i] for i in chosen]
        ys = [self.ys[i] for i in chosen]
        edges = self.edges[chosen]
        beside = self.beside[chosen]
        return replace(self, xs=xs, ys=ys, units=self.units[chosen], edges=edges, beside=beside)

    def counts(self, C: int) -> "StateCounts":
        """Counts of the lengths and changes of C states in all stretches."""
        return StateCounts.of(self.ys, C, self.edges, self.beside)

    def losses(self, problem: Problem, w: Floats) -> list[float]:
        """The loss of decoding each stretch by these weights."""
        pairs = zip(self.xs, self.ys, strict=True)
        return [problem.loss(y, problem.predict(w, x)) for x, y in pairs]


@dataclass(frozen=True, eq=False)
class LearnedStates(StatePath):
    """The best segments with states, by learned weights of scores, lengths and changes."""

    allowed: Allowed
    lengths: Floats  # scores of the lengths of segments in each state, (C, L)
    weight: Floats
    smoothing: float
    late: Ints | None = None
    """By how many samples scores are late at changes from each state to each other, (C, C)."""

    def score(self, problem: Any, p: Floats) -> StateScore:
        sequence = self.allowed.sequence(self.lengths, most=len(p))
        score = sequence.score(self.weight, np.log(p + self.smoothing))
        return replace(score, late=self.late)

    @property
    def unit(self) -> float:
        """The weight of scores, because from few recordings all weights are learned too small."""
        return float(self.weight[0]) or 1.0

    def online(self, problem: Any, max_candidates: int) -> OnlineSearch:
        """The search, exact whatever the number of candidates."""
        least = max(int(self.allowed.shortest.max()), getattr(problem, "min_length", 1))
        longest = getattr(problem, "max_length", None) or 0
        many = np.full((1 + max(least, longest), self.allowed.first.size), 1.0)
        score = self._score_of(problem, Instance(many, states=many))
        short = self._score_of(problem, Instance(many[:1], states=many[:1]))
        return OnlineSearch.of_states(score, short.lengths[:, :least])

    def online_rows(self, seen: Floats) -> Floats:
        """The weighted scores of the states."""
        return np.asarray(np.log(seen + self.smoothing) * self.weight[0])


@dataclass(frozen=True, eq=False)
class StateCounts:
    """Counts of labelled sequences of states: (C,) for each state, (C, C) for changes."""

    first: Floats
    last: Floats
    changes: Floats
    segments: Floats
    logs: Floats
    """For each state, the logarithms of the lengths of its segments, and their squares, summed."""
    squares: Floats

    @classmethod
    def of(cls, ys: Sequence[Ints], C: int, edges: Bools, beside: Floats | Ints) -> "StateCounts":
        """Count stretches; ``edges``, (n, 2), say whether each begins and ends its recording.

        The first and last segments are taken to last to the middle of the samples without labels
        ``beside`` them, (n, 2), but not more than twice as long.
        """
        first = np.zeros(C)
        last = np.zeros(C)
        changes = np.zeros((C, C))
        sums = np.zeros((3, C))
        for y, (begins, stops), unknown in zip(ys, edges.tolist(), beside, strict=True):
            starts, ends, states = segments_of(y)
            lengths = (ends - starts).astype(np.float64)
            before, after = np.minimum(unknown / 2, lengths[[0, -1]])
            lengths[0] += before
            lengths[-1] += after
            first[states[0]] += begins
            last[states[-1]] += stops
            np.add.at(changes, (states[:-1], states[1:]), 1)
            for k in range(3):
                np.add.at(sums[k], states, np.log(lengths) ** k)
        return cls(first, last, changes, *sums)

    def weight(self, samples: float, lengths: float, price: float) -> Floats:
        """The weight, (d,), of these three numbers and the logarithms of the counted shares."""
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


def longest_of(sequences: Sequence[Ints]) -> int:
    """The number of samples of the longest segment."""
    return max(int(runs_of(y).sizes.max()) for y in sequences)


def _shares(counts: Floats, where: Any = True) -> Floats:
    smoothed = np.where(where, counts + COUNT_PRIOR, 0.0)
    return np.asarray(smoothed / smoothed.sum(axis=-1, keepdims=True))


def block_starts(y: Ints, block: int) -> Ints:
    """The starts of blocks of ``block`` samples; shorter segments are blocks of their own."""
    starts, ends, _ = segments_of(y)
    short = ends - starts < block
    cuts = np.concatenate([starts[short], ends[short], np.arange(0, y.size, block)])
    return np.unique(cuts[cuts < y.size])


def in_blocks(y: Ints, starts: Ints, block: int) -> Ints:
    """The state in the middle of each block; every segment has the middle of a block at least."""
    last = np.append(starts[1:], y.size) - 1
    return np.asarray(y[np.minimum(starts + block // 2, last)])
