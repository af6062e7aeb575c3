"""Blocks of samples, which are separated wherever they are: what travels is small."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from structsvm.errors import OracleError
from structsvm.masters.working_set import Labellings
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.solvers.first_answer import (
    check_feature,
    check_first_answer,
    check_loss,
    check_separation,
    raise_named,
)
from structsvm.solvers.planes import Planes, weakest
from structsvm.status import Quality
from structsvm.support.arrays import Floats, Ints
from structsvm.support.contract import asked
from structsvm.support.plain import read_only

BELOW = 1e-6
"""By how much of its size an answer may be below the truth through rounding."""

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""

NUMBERS_AT_ONCE = 10_000
"""Numbers of joint features that planes are made of at once, at least."""

MOST_BYTES = 4096
"""A labelling that takes more is not sent: what travels in a round does not grow with a sample."""

MOST_BLOCKS = 64
"""Sums over samples are made of so many terms, however many workers there are."""

Question = tuple[Floats, Ints, float]
"""A weight, the group of every sample (N,), and the time after which no oracle is called."""

Row = tuple[int, Quality, float, Floats, Floats, float, float, Labellings]
"""Of an answer: its sample, quality and weight; the joint features of the labelling found and of
the true one, (d,); loss and weighted slack; the labelling itself."""


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring samples of a risk, and what it takes to make planes of answers about them."""

    problem: Problem
    indices: Ints
    xs: Sequence[Any]
    ys: Sequence[Any]
    sample_weight: Floats
    keeps_truths: bool
    checks_first: bool = True
    """Whether promises are checked with the first sample: not where nobody else's code answers."""
    keeps_labellings: bool = True
    samples: list[int] = field(init=False, repr=False)
    """The numbers of the samples in the risk."""
    _checked: set[int] = field(default_factory=set, init=False, repr=False)
    _truths: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", self.indices.tolist())

    def first_answer(self, w: Floats) -> list[Separation]:
        """The answer about the first sample of the risk, once, with which promises are checked."""
        if self.samples[0] != 0 or self._checked or not self.checks_first:
            return []
        self._checked.add(0)
        return [check_first_answer(self.problem, self.xs[0], self.ys[0], 0, w)]

    def row(self, j: int, answer: Separation, dim: int) -> Row:
        """What the plane of an answer about the ``j``-th sample is made of."""
        sample, problem = self.samples[j], self.problem
        check_separation(problem, answer, sample)
        if answer.feature is None:
            phi = self._feature(j, answer.y, dim)
        else:
            said = "separate returned the feature"
            phi = check_feature(problem, answer.feature, dim, sample, said)
        if answer.loss is None:
            found = self._called("loss", sample, self.ys[j], answer.y)
            loss = check_loss(problem, found, sample)
        else:
            loss = check_loss(problem, answer.loss, sample, "separate returned the loss")
        omega = float(self.sample_weight[j])
        slack = omega * answer.slack if omega > 0 else 0.0
        labellings = None
        if self.keeps_labellings:
            kept = self._called("kept", sample, answer.y)
            if kept is not None and getattr(kept, "n_bytes", 0) <= MOST_BYTES:
                labellings = ((sample, kept, loss, 1.0),)
        return sample, answer.quality, omega, phi, self._truth(j, dim), loss, slack, labellings

    def _feature(self, j: int, y: Any, dim: int) -> Floats:
        sample = self.samples[j]
        phi = self._called("joint_feature", sample, self.xs[j], y)
        return check_feature(self.problem, phi, dim, sample)

    def _called(self, method: str, sample: int, *args: Any) -> Any:
        try:
            return getattr(self.problem, method)(*args)
        except Exception:  # a context around every call takes longer than many a call
            with asked(self.problem, method, f"sample {sample}"):
                raise

    def _truth(self, j: int, dim: int) -> Floats:
        if j in self._truths:
            return self._truths[j]
        truth = self._feature(j, self.ys[j], dim)
        if self.keeps_truths:
            self._truths[j] = truth
        return truth

    def truth_size(self, dim: int) -> Floats:
        """``sum_i omega_i |phi(x_i, y_i)|`` over the samples, (d,)."""
        total = np.zeros(dim)
        for j, omega in enumerate(self.sample_weight.tolist()):
            total += omega * np.abs(self._truth(j, dim))
        return total


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
            checks_first=not risk.is_model,
            keeps_labellings=not risk.is_model,
        )
        for indices in np.array_split(np.arange(risk.n_samples), min(risk.n_samples, MOST_BLOCKS))
    ]


def separate_share(blocks: Iterable[Block], question: Question) -> list[Planes | None]:
    """Separate all samples of some blocks of a risk: the planes of each block, one for each group.

    None of a block for which there was no time. Blocks are taken when they are needed: other
    threads may take theirs from the same iterator.
    """
    w, groups, deadline = question
    blocks = iter(blocks)
    taken = [*islice(blocks, 1)]
    if not taken:
        return []
    first, w = taken[0], read_only(w)
    known = first.first_answer(w) if time.time() <= deadline else []

    def samples() -> Iterator[tuple[Any, Any]]:
        yield from zip(first.xs[len(known) :], first.ys[len(known) :], strict=True)
        for block in blocks:
            taken.append(block)
            yield from zip(block.xs, block.ys, strict=True)

    answers = chain(known, first.problem.separate_all(w, samples()))
    planes: list[Planes | None] = []
    waiting: list[list[Row]] = [[]]
    k = 0  # the block of the next answer
    while time.time() <= deadline:
        try:
            answer = next(answers, None)
        except Exception as error:
            # What failed of many at once is raised when all of them are answered one by one.
            asked = taken[k].samples[len(waiting[-1])] if k < len(taken) else taken[-1].samples[-1]
            raise_named(first.problem, error, asked)
        if answer is None:
            break
        waiting[-1].append(taken[k].row(len(waiting[-1]), answer, w.size))
        if len(waiting[-1]) == len(taken[k].xs):
            k += 1
            if sum(map(len, waiting)) * w.size >= NUMBERS_AT_ONCE:
                planes += planes_of(waiting, w, groups)
                waiting = []
            waiting.append([])
    planes += planes_of(waiting[:-1], w, groups)
    return planes + [None] * (len(taken) - k) + [None for _ in blocks]


def separate_one(block: Block, w: Floats, groups: Ints, j: int) -> Planes:
    """Call the oracle of the ``j``-th sample of a block: its plane."""
    try:
        answer = block.problem.separate(read_only(w), block.xs[j], block.ys[j])
    except Exception as error:
        raise_named(block.problem, error, block.samples[j])
    return planes_of([[block.row(j, answer, w.size)]], w, groups)[0]


def truth_sizes(blocks: Iterable[Block], dim: int) -> list[Floats]:
    return [block.truth_size(dim) for block in blocks]


def planes_of(blocks: Sequence[Sequence[Row]], w: Floats, groups: Ints) -> list[Planes]:
    """The planes of the answers about each block, summed by group."""
    rows = [row for block in blocks for row in block]
    if not rows:
        return []
    samples, answered, weights, phis, truths, losses, slacks, kept = zip(*rows, strict=True)
    omega, phi, truth, slack = map(np.array, (weights, phis, truths, slacks))
    slopes = phi - truth
    slopes *= omega[:, None]
    intercepts = omega * losses
    values = intercepts + np.einsum("nd,d->n", slopes, w)
    magnitudes = np.abs(phi, out=phi)
    magnitudes += np.abs(truth, out=truth)
    sizes = np.abs(intercepts) + omega * np.einsum("nd,d->n", magnitudes, np.abs(w))
    if not math.isfinite(values.sum()):
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise OracleError(f"sample {samples[at]}: the labelling found has the value {values[at]}")
    qualities, labellings = list(answered), list(kept)
    caught: list[int | None] = [None] * len(samples)
    for k in np.flatnonzero(values < 0).tolist():
        if values[k] + slack[k] < -BELOW * sizes[k]:
            qualities[k], caught[k] = Quality.HEURISTIC, samples[k]
        slack[k] = max(0.0, values[k] + slack[k])
        slopes[k], intercepts[k], values[k], labellings[k] = 0.0, 0.0, 0.0, ()
    at_most = values + slack
    slack[[quality is Quality.HEURISTIC for quality in qualities]] = 0.0
    found, end = [], 0
    for block in blocks:
        begin, end = end, end + len(block)
        some = slice(begin, end)
        planes = Planes(
            w,
            groups[list(samples[some])],
            slopes[some],
            intercepts[some],
            values[some],
            slack[some],
            weakest(qualities[some]),
            sum(sizes[some].tolist()),
            len(block),
            labellings[some],
            sum(at_most[some].tolist()),
            next((i for i in caught[some] if i is not None), None),
        )
        found.append(planes.summed())
    return found
