"""Blocks of instances, separated wherever they are: what travels is small."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from structsvm.errors import OracleError, nth
from structsvm.masters.base import Labellings
from structsvm.problem import Problem, RegularizedRisk, Separation
from structsvm.solvers.checked_answers import (
    GIVEN,
    check_feature,
    check_first_answer,
    check_loss,
    check_separation,
)
from structsvm.solvers.planes import Planes, weakest
from structsvm.status import Quality
from structsvm.support.contract import asked, raise_named
from structsvm.support.values import Floats, Ints, read_only

BELOW = 1e-6
"""Part of its size by which an answer may be below the truth through rounding."""

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""

NUMBERS_AT_ONCE = 10_000
"""Numbers of joint features that planes are made of at once, at least."""

MOST_BYTES = 4096
"""A labelling that takes more is not sent: what travels in a round does not grow with T."""

MOST_BLOCKS = 64
"""Sums over instances are made of so many terms, however many workers there are."""

Question = tuple[Floats, Ints, float]
"""A weight, the group of every instance (N,), and the time after which no oracle is called."""

Row = tuple[int, Quality, float, Floats, Floats, float, float, Labellings]
"""Of an answer: its instance, quality and weight; the joint features of the labelling found and of
the true one, (d,); loss and weighted slack; the labelling itself."""


@dataclass(eq=False)
class Block:
    """Neighbouring instances of a risk, and what it takes to make planes of answers about them."""

    problem: Problem
    instances: list[int]
    """Their numbers in the risk."""
    xs: Sequence[Any]
    ys: Sequence[Any]
    sample_weight: Floats
    keeps_truths: bool
    keeps_labellings: bool
    checks_first: bool
    """Whether all promises are still to be checked with an answer: not of a model of our own."""
    _truths: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def row(self, j: int, answer: Separation, dim: int) -> Row:
        """Checked columns from which the plane of the ``j``-th instance is computed."""
        instance = self.instances[j]
        problem = self.problem
        check_separation(problem, answer, instance)
        if answer.feature is None:
            phi = self.feature(j, answer.y, dim)
        else:
            phi = check_feature(problem, answer.feature, dim, instance, GIVEN)
        loss = check_loss(problem, self.call("loss", instance, self.ys[j], answer.y), instance)
        omega = float(self.sample_weight[j])
        labellings = None
        slack = omega * answer.slack if omega > 0 else 0.0
        if self.keeps_labellings:
            kept = self.call("kept", instance, answer.y)
            if kept is not None and getattr(kept, "n_bytes", 0) <= MOST_BYTES:
                labellings = ((instance, kept, loss, 1.0),)
        return instance, answer.quality, omega, phi, self.truth(j, dim), loss, slack, labellings

    def call(self, method: str, instance: int, *args: Any) -> Any:
        try:  # a context around every call takes longer than many a call
            return getattr(self.problem, method)(*args)
        except Exception as error:
            raise_named(self.problem, method, nth("instance", instance), error)

    def feature(self, j: int, y: Any, dim: int) -> Floats:
        instance = self.instances[j]
        phi = self.call("joint_feature", instance, self.xs[j], y)
        return check_feature(self.problem, phi, dim, instance)

    def truth(self, j: int, dim: int) -> Floats:
        truth = self._truths.get(j)
        if truth is None:
            truth = self.feature(j, self.ys[j], dim)
            if self.keeps_truths:
                self._truths[j] = truth
        return truth


def blocks_of(risk: RegularizedRisk, keeps_labellings: bool = True) -> list[Block]:
    """The instances of a risk in blocks, whose number depends on that of the instances alone."""
    N = risk.n_instances
    own = risk.is_model
    keeps_truths = N * risk.space.dim * 8 <= TRUTHS_IN_MEMORY
    blocks = []
    for part in np.array_split(np.arange(N), min(N, MOST_BLOCKS)):
        instances = part.tolist()
        xs = [risk.xs[i] for i in instances]
        ys = [risk.ys[i] for i in instances]
        how = keeps_truths, keeps_labellings and not own, instances[0] == 0 and not own
        blocks.append(Block(risk.problem, instances, xs, ys, risk.sample_weight[part], *how))
    return blocks


def separate_share(blocks: Sequence[Block], question: Question) -> list[Planes | None]:
    """Separate all instances of some blocks of a risk: planes of each block, one for each group.

    None of a block for which there was no time.
    """
    w, groups, deadline = question
    (first, *_) = blocks
    w = read_only(w)
    first_answer = []
    problem = first.problem
    if first.checks_first and time.time() <= deadline:
        first.checks_first = False
        first_answer = [check_first_answer(problem, first.xs[0], first.ys[0], 0, w)]
    instances = chain.from_iterable(zip(block.xs, block.ys, strict=True) for block in blocks)
    answers = chain(
        first_answer, problem.separate_each(w, islice(instances, len(first_answer), None))
    )
    planes: list[Planes | None] = []
    waiting: list[list[Row]] = []
    for block in blocks:
        rows: list[Row] = []
        while len(rows) < len(block.xs) and time.time() <= deadline:
            try:
                answer: Any = next(answers, None)
            except Exception as error:
                raise_named(problem, "separate", nth("instance", block.instances[len(rows)]), error)
            rows.append(block.row(len(rows), answer, w.size))
        if len(rows) < len(block.xs):
            break
        waiting.append(rows)
        if sum(map(len, waiting)) * w.size >= NUMBERS_AT_ONCE:
            planes += planes_of(waiting, w, groups)
            waiting = []
    else:
        with asked(problem, "separate"):
            next(answers, None)  # raises what failed of many at once, once each has been answered
    planes += planes_of(waiting, w, groups)
    return planes + [None] * (len(blocks) - len(planes))


def truth_size(block: Block, dim: int) -> Floats:
    """``sum_i omega_i |phi(x_i, y_i)|`` over the instances of a block, (d,)."""
    total = np.zeros(dim)
    for j, omega in enumerate(block.sample_weight.tolist()):
        total += omega * np.abs(block.truth(j, dim))
    return total


def planes_of(blocks: Sequence[Sequence[Row]], w: Floats, groups: Ints) -> list[Planes]:
    """The planes of the answers about each block, summed by group."""
    rows = list(chain.from_iterable(blocks))
    if not rows:
        return []
    instances, answered, weights, phis, truths, losses, slacks, kept = zip(*rows, strict=True)
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
        value = f"the labelling found has the value {values[at]}"
        raise OracleError(nth("instance", instances[at]) + ": " + value)
    qualities = list(answered)
    labellings = list(kept)
    caught: list[int | None] = [None] * len(instances)
    for k in np.flatnonzero(values < 0).tolist():
        if values[k] + slack[k] < -BELOW * sizes[k]:
            qualities[k] = Quality.HEURISTIC
            caught[k] = instances[k]
        slack[k] = max(0.0, values[k] + slack[k])
        slopes[k] = 0.0
        intercepts[k] = 0.0
        values[k] = 0.0
        labellings[k] = ()
    at_most = values + slack
    slack[[quality is Quality.HEURISTIC for quality in qualities]] = 0.0
    of_blocks = []
    end = 0
    for block in blocks:
        begin = end
        end = end + len(block)
        some = slice(begin, end)
        columns = slopes[some], intercepts[some], values[some], slack[some]
        planes = Planes(
            *(w, groups[list(instances[some])], *columns, weakest(qualities[some])),
            size=sum(sizes[some].tolist()),
            calls=len(block),
            labellings=labellings[some],
            at_most=sum(at_most[some].tolist()),
            caught=next((i for i in caught[some] if i is not None), None),
        )
        of_blocks.append(planes.summed())
    return of_blocks
