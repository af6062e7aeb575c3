"""Blocks of samples, which are separated wherever they are: what travels is small."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from structsvm.errors import OracleError, StructSVMError
from structsvm.masters.working_set import Labellings
from structsvm.problem import BatchScorer, Problem, RegularizedRisk, Scorer, Separation
from structsvm.solvers.first_answer import (
    check_buffer,
    check_feature,
    check_loss,
    check_same,
    check_separation,
    check_truth,
    failure,
    unchanged,
)
from structsvm.solvers.planes import Planes, weakest
from structsvm.status import Quality
from structsvm.support.arrays import Floats, Ints
from structsvm.support.contract import AtOnce, asked
from structsvm.support.plain import read_only

BELOW = 1e-6
"""By how much of its size an answer may be below the truth through rounding."""

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""

MOMENT = 10_000
"""Items of samples, or numbers of their joint features, that are worked on together at least."""

NONE_KNOWN: Mapping[int, Separation] = MappingProxyType({})

MOST_BYTES = 4096
"""A labelling that takes more is not sent: what travels in a round does not grow with a sample."""

MOST_BLOCKS = 64
"""Sums over samples are made of so many terms, however many workers there are."""


@dataclass(frozen=True, eq=False)
class Query:
    """What goes out in a round."""

    w: Floats
    groups: Ints
    """Group of every sample, (N,)."""
    deadline: float = np.inf
    """The time (``time.time()``) after which no oracle is called."""

    @cached_property
    def size(self) -> Floats:
        """The magnitude of each weight, (d,)."""
        return np.abs(self.w)


class _Answered(NamedTuple):
    """What the oracle of a sample has found, as its plane takes it."""

    sample: int
    quality: Quality
    omega: float
    phi: Floats
    """The joint feature of the labelling found, (d,)."""
    truth: Floats
    """That of the true labelling, (d,)."""
    loss: float
    slack: float
    """Weighted."""
    kept: Labellings
    """The labelling found."""


class _Rows(NamedTuple):
    """The planes of some answers, one below the other."""

    groups: Ints
    slopes: Floats
    intercepts: Floats
    values: Floats
    slacks: Floats
    sizes: list[float]
    """The magnitudes of what each value is a sum of."""
    qualities: list[Quality]
    labellings: list[Labellings]
    at_most: list[float]
    caught: list[int | None]

    def planes(self, w: Floats, begin: int, end: int) -> Planes:
        some = slice(begin, end)
        return Planes(
            w,
            self.groups[some],
            self.slopes[some],
            self.intercepts[some],
            self.values[some],
            self.slacks[some],
            weakest(self.qualities[some]),
            sum(self.sizes[some]),
            end - begin,
            self.labellings[some],
            sum(self.at_most[some]),
            next((i for i in self.caught[some] if i is not None), None),
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring samples of a risk, and what it takes to separate them."""

    problem: Problem
    indices: Ints
    xs: Sequence[Any]
    ys: Sequence[Any]
    sample_weight: Floats
    keeps_truths: bool
    looks: bool = True
    """Whether the first sample of all is looked at closely when it is first asked."""
    keeps_labellings: bool = True
    """Whether what is found is kept beside its plane."""
    _looked: set[int] = field(default_factory=set, init=False, repr=False)
    _truths: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def samples(self) -> list[int]:
        """The numbers of the samples in the risk."""
        return list(map(int, self.indices))

    def ask(self, j: int, w: Floats, scorer: Scorer, known: Separation | None) -> _Answered:
        """Call the oracle of the ``j``-th sample; ``known`` is its answer if it has been called."""
        if not self.is_to_be_looked_at(j):
            return self._answered(j, *self._answer(j, w.size, scorer, known))
        with unchanged(self.problem, self.xs[j], self.ys[j], self.samples[j]):
            answer, phi = self._answer(j, w.size, scorer, known)
            self._looked.add(0)
            self._look_closely(j, answer, phi, w)
        return self._answered(j, answer, phi)

    def is_to_be_looked_at(self, j: int) -> bool:
        return self.looks and self.samples[j] == 0 and not self._looked

    def _answer(
        self, j: int, dim: int, scorer: Scorer, known: Separation | None
    ) -> tuple[Separation, Floats]:
        sample = self.samples[j]
        try:
            answer = scorer.separate(self.xs[j], self.ys[j]) if known is None else known
        except StructSVMError as error:
            error.add_note(f"while separating sample {sample}")
            raise
        except Exception as error:
            raise failure(self.problem, "separate", error, sample) from error
        check_separation(self.problem, answer, sample, "separate")
        if answer.feature is None:
            return answer, self._feature(j, answer.y, dim)
        said = "separate returned the feature"
        return answer, check_feature(self.problem, answer.feature, dim, sample, said)

    def _look_closely(self, j: int, answer: Separation, phi: Floats, w: Floats) -> None:
        x, y, sample = self.xs[j], self.ys[j], self.samples[j]
        held, dim = phi.copy(), w.size
        self._feature(j, y, dim)
        check_buffer(self.problem, phi, held, sample)
        loss = self._loss(j, answer.y)
        if answer.loss is not None:
            check_same(self.problem, answer.loss, loss, "loss", sample)
        if answer.feature is not None:
            check_same(self.problem, phi, self._feature(j, answer.y, dim), "feature", sample)
        check_truth(self.problem, x, y, answer, sample, w)

    def _answered(self, j: int, answer: Separation, phi: Floats) -> _Answered:
        """The answer for the ``j``-th sample, and what its plane is made of."""
        sample, loss = self.samples[j], self._loss_of(j, answer)
        kept = self._kept(sample, answer.y, loss)
        omega, truth = float(self.sample_weight[j]), self._truth(j, phi.size)
        slack = omega * answer.slack if omega > 0 else 0.0
        return _Answered(sample, answer.quality, omega, phi, truth, loss, slack, kept)

    def _kept(self, sample: int, y: Any, loss: float) -> Labellings:
        """The labelling of a plane of one sample."""
        if not self.keeps_labellings:
            return None
        kept = self._called("kept", sample, y)
        if kept is None or getattr(kept, "n_bytes", 0) > MOST_BYTES:
            return None
        return ((sample, kept, loss, 1.0),)

    def _feature(self, j: int, y: Any, dim: int) -> Floats:
        sample = self.samples[j]
        phi = self._called("joint_feature", sample, self.xs[j], y)
        return check_feature(self.problem, phi, dim, sample)

    def _loss(self, j: int, y_hat: Any) -> float:
        sample = self.samples[j]
        return check_loss(self.problem, self._called("loss", sample, self.ys[j], y_hat), sample)

    def _called(self, method: str, sample: int, *given: Any) -> Any:
        try:
            return getattr(self.problem, method)(*given)
        except Exception:  # a context around every call takes longer than many a call
            with asked(self.problem, method, f"sample {sample}"):
                raise

    def _loss_of(self, j: int, answer: Separation) -> float:
        """The loss of an answer: its own, or else that of the problem."""
        if answer.loss is None:
            return self._loss(j, answer.y)
        said = "separate returned the loss"
        return check_loss(self.problem, answer.loss, self.samples[j], said)

    def note_truth(self, j: int) -> None:
        """Keep the joint feature of the truth of the ``j``-th sample, if any is kept."""
        if self.keeps_truths:
            self._truth(j, self.problem.weight_space().dim)

    def truth_size(self, dim: int) -> Floats:
        """``sum_i omega_i |phi(x_i, y_i)|`` over the samples, (d,)."""
        total = np.zeros(dim)
        for j, omega in enumerate(self.sample_weight.tolist()):
            total += omega * np.abs(self._truth(j, dim))
        return total

    def _truth(self, j: int, dim: int) -> Floats:
        if j in self._truths:
            return self._truths[j]
        truth = self._feature(j, self.ys[j], dim)
        if self.keeps_truths:
            self._truths[j] = truth
        return truth


def blocks_of(risk: RegularizedRisk) -> list[Block]:
    """The samples of a risk in blocks, whose number depends on that of the samples alone."""
    keeps = risk.n_samples * risk.space.dim * 8 <= TRUTHS_IN_MEMORY
    return [
        Block(
            risk.problem,
            indices,
            [risk.xs[i] for i in indices],
            [risk.ys[i] for i in indices],
            risk.sample_weight[indices],
            keeps,
            looks=not risk.is_model,
            keeps_labellings=not risk.is_model,
        )
        for indices in np.array_split(np.arange(risk.n_samples), min(risk.n_samples, MOST_BLOCKS))
    ]


def separate_share(blocks: Iterable[Block], query: Query) -> list[Planes | None]:
    """Call the oracles of all samples of some blocks of a risk, many at once where they can."""
    blocks = iter(blocks)
    first = next(blocks, None)
    if first is None:
        return []
    scorer, blocks = first.problem.at(read_only(query.w)), chain((first,), blocks)
    planes: list[Planes | None] = []
    if isinstance(scorer, BatchScorer):
        for some in _neighbours(blocks, scorer):
            planes += _planes_together(some, query, scorer)
        return planes
    waiting: list[list[_Answered] | None] = []
    for block in blocks:  # one at a time: other threads take their blocks from the same iterator
        waiting.append(_answers_of(block, query, scorer, range(len(block.xs))))
        if sum(map(len, filter(None, waiting))) * query.w.size >= MOMENT:
            planes += _planes_of(waiting, query)
            waiting = []
    return planes + _planes_of(waiting, query)


def truth_sizes(blocks: Iterable[Block], dim: int) -> list[Floats]:
    return [block.truth_size(dim) for block in blocks]


def separate_one(block: Block, query: Query, j: int) -> Planes:
    """Call the oracle of the ``j``-th sample of a block: its plane."""
    answers = _answers_of(block, query, block.problem.at(read_only(query.w)), [j])
    (found,) = _planes_of([answers], query)
    assert found is not None
    return found


def _planes_together(
    blocks: Sequence[Block], query: Query, scorer: BatchScorer
) -> list[Planes | None]:
    """The planes of blocks whose samples are separated at once, as far as they can be."""
    at_once = AtOnce()
    known = _separated_together(blocks, scorer, query.deadline, at_once)
    found = []
    for block, answers in zip(blocks, known, strict=True):
        n = block.indices.size
        found.append(_answers_of(block, query, scorer, range(n), answers))
    if all(answers is not None for answers in found):
        at_once.raise_fault()
    return _planes_of(found, query)


def _answers_of(
    block: Block,
    query: Query,
    scorer: Scorer,
    places: Sequence[int],
    known: Mapping[int, Separation] = NONE_KNOWN,
) -> list[_Answered] | None:
    """The answers for the samples at some places of a block, some of which are known already."""
    found = []
    for j in places:
        if j not in known and time.time() > query.deadline:
            return None
        found.append(block.ask(j, query.w, scorer, known.get(j)))
    return found


def _planes_of(blocks: Sequence[list[_Answered] | None], query: Query) -> list[Planes | None]:
    """The planes of the answers of each block, summed by group; None of a block without answers."""
    answers = [answer for block in blocks for answer in block or ()]
    if not answers:
        return [None] * len(blocks)
    rows = _rows_of(answers, query)
    found: list[Planes | None] = []
    end = 0
    for block in blocks:
        if block is None:
            found.append(None)
            continue
        begin, end = end, end + len(block)
        found.append(rows.planes(query.w, begin, end).summed())
    return found


def _rows_of(answers: Sequence[_Answered], query: Query) -> _Rows:
    """A plane for each answer."""
    samples, given, weights, phis, truths, losses, slacks, kept = zip(*answers, strict=True)
    omega, phi, truth, slack = map(np.array, (weights, phis, truths, slacks))
    slopes = phi - truth
    slopes *= omega[:, None]
    intercepts = omega * losses
    values = intercepts + np.einsum("nd,d->n", slopes, query.w)
    magnitudes = np.abs(phi, out=phi)
    magnitudes += np.abs(truth, out=truth)
    sizes = np.abs(intercepts) + omega * np.einsum("nd,d->n", magnitudes, query.size)
    _require_finite(samples, values)
    qualities, labellings = list(given), list(kept)
    caught: list[int | None] = [None] * len(samples)
    for k in np.flatnonzero(values < 0).tolist():
        if values[k] + slack[k] < -BELOW * sizes[k]:
            qualities[k], caught[k] = Quality.HEURISTIC, samples[k]
        slack[k] = max(0.0, values[k] + slack[k])
        slopes[k], intercepts[k], values[k], labellings[k] = 0.0, 0.0, 0.0, ()
    groups, at_most = query.groups[list(samples)], (values + slack).tolist()
    slack[[quality is Quality.HEURISTIC for quality in qualities]] = 0.0
    numbers = groups, slopes, intercepts, values, slack, sizes.tolist()
    return _Rows(*numbers, qualities, labellings, at_most, caught)


def _require_finite(samples: Sequence[int], values: Floats) -> None:
    """Refuse a labelling whose value is not finite."""
    if math.isfinite(values.sum()):
        return
    for sample, value in zip(samples, values.tolist(), strict=True):
        if not math.isfinite(value):
            raise OracleError(f"sample {sample}: the labelling found has the value {value}")


def _neighbours(blocks: Iterable[Block], scorer: BatchScorer) -> Iterator[list[Block]]:
    """As many blocks at a time as make a moment's work."""
    some, n_items = [], 0
    for block in blocks:
        some.append(block)
        n_items += sum(map(scorer.n_items, block.xs)) or MOMENT
        if n_items >= MOMENT:
            yield some
            some, n_items = [], 0
    if some:
        yield some


def _separated_together(
    blocks: Sequence[Block], scorer: BatchScorer, deadline: float, at_once: AtOnce
) -> list[dict[int, Separation]]:
    """The answers for those samples of blocks that are separated at once, by their place."""
    known: list[dict[int, Separation]] = [{} for _ in blocks]
    if time.time() > deadline:
        return known
    places = [
        (k, j)
        for k, block in enumerate(blocks)
        for j, x in enumerate(block.xs)
        if scorer.n_items(x) and not block.is_to_be_looked_at(j)
    ]
    if not places:
        return known
    with at_once, asked(blocks[0].problem, "separate"):
        for some in _moments(places, [scorer.n_items(blocks[k].xs[j]) for k, j in places]):
            answers = scorer.separate_all(
                [blocks[k].xs[j] for k, j in some], [blocks[k].ys[j] for k, j in some]
            )
            for (k, j), answer in zip(some, answers, strict=True):
                known[k][j] = answer
                blocks[k].note_truth(j)  # while the sample is at hand
    return known


def _moments(places: Sequence[Any], sizes: Sequence[int]) -> Iterator[Sequence[Any]]:
    """Neighbours of these sizes that make a moment's work: no more is in memory at once."""
    begin, n_items = 0, 0
    for end, size in enumerate(sizes, start=1):
        n_items += size
        if n_items >= MOMENT or end == len(sizes):
            yield places[begin:end]
            begin, n_items = end, 0
