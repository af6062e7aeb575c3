"""Blocks of samples, which are separated wherever they are: what travels is small."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError, StructSVMError
from structsvm.masters.working_set import Labellings
from structsvm.problem import Problem, RegularizedRisk, Scorer, Separation
from structsvm.solvers.first_answer import (
    check_buffer,
    check_feature,
    check_loss,
    check_separation,
    check_truth,
    failure,
    unchanged,
)
from structsvm.solvers.planes import Planes, weakest
from structsvm.status import Quality
from structsvm.support.contract import asked
from structsvm.support.plain import read_only

__all__ = ["Block", "Query", "blocks_of", "separate_block"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""

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

    def fill(self, planes: Planes, j: int, scorer: Scorer) -> tuple[Quality, float]:
        """Call the oracle of the ``j``-th sample: its row, its quality, and its size.

        The first sample of all is looked at closely when it is first asked.

        Raises
        ------
        OracleError
            If the oracle raises an error that is not of this library.
        PluginError
            If the answer to the first sample breaks the contract of a problem.
        """
        sample, w = int(self.indices[j]), planes.w
        closely = self.looks and sample == 0 and not self._looked
        with unchanged(self.problem, self.xs[j], self.ys[j], sample) if closely else nullcontext():
            try:
                answer = scorer.separate(self.xs[j], self.ys[j])
            except StructSVMError as error:
                error.add_note(f"while separating sample {sample}")
                raise
            except Exception as error:
                raise failure(self.problem, "separate", error, sample) from error
            check_separation(self.problem, answer, sample, "separate")
            phi = self._feature(j, answer.y, w.size)
            if closely:
                self._looked.add(0)
                self._look_closely(j, answer, phi, w.size)
        return answer.quality, self._write(planes, j, answer, phi)

    def _look_closely(self, j: int, answer: Separation, phi: Floats, dim: int) -> None:
        """What is checked of one answer only."""
        x, y, sample = self.xs[j], self.ys[j], int(self.indices[j])
        held = phi.copy()
        self._feature(j, y, dim)
        check_buffer(self.problem, phi, held, sample)
        self._loss(j, answer.y)
        check_truth(self.problem, x, y, answer.y, sample, dim)

    def _write(self, planes: Planes, j: int, answer: Separation, phi: Floats) -> float:
        """The plane of an answer; the sum of the magnitudes of what its value is a sum of."""
        w, omega, sample = planes.w, float(self.sample_weight[j]), int(self.indices[j])
        truth = self._truth(j, w.size)
        slope = omega * (phi - truth)
        loss = self._loss(j, answer.y)
        intercept = omega * loss
        value = intercept + float(slope @ w)
        if not np.isfinite(value):
            raise OracleError(f"sample {sample}: the labelling found has the value {value}")
        slack = 0.0 if answer.quality is Quality.HEURISTIC else omega * answer.slack
        size = abs(intercept) + float(omega * (np.abs(phi) + np.abs(truth)) @ np.abs(w))
        if value < 0:  # the true labelling is always a candidate
            planes.slacks[j] = max(0.0, value + slack)
            return size
        planes.slopes[j], planes.intercepts[j] = slope, intercept
        planes.values[j], planes.slacks[j] = value, slack
        planes.labellings[j] = self._kept(sample, answer.y, loss)
        return size

    def _kept(self, sample: int, y: Any, loss: float) -> Labellings:
        """The labelling of a plane of one sample."""
        if not self.keeps_labellings:
            return None
        with asked(self.problem, "kept", f"sample {sample}"):
            kept = self.problem.kept(y)
        return None if kept is None else ((sample, kept, loss, 1.0),)

    def _feature(self, j: int, y: Any, dim: int) -> Floats:
        sample = int(self.indices[j])
        with asked(self.problem, "joint_feature", f"sample {sample}"):
            phi = self.problem.joint_feature(self.xs[j], y)
        return check_feature(self.problem, phi, dim, sample)

    def _loss(self, j: int, y_hat: Any) -> float:
        sample = int(self.indices[j])
        with asked(self.problem, "loss", f"sample {sample}"):
            loss = self.problem.loss(self.ys[j], y_hat)
        return check_loss(self.problem, loss, sample)

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


def separate_block(block: Block, query: Query, which: Ints | None = None) -> Planes | None:
    """Call the oracles of a block, or of the samples at some of its places.

    None if the deadline comes before the last call.
    """
    planes = Planes.empty(query.w, query.groups[block.indices])
    scorer = block.problem.at(read_only(query.w))
    qualities, size = set(), 0.0
    places = np.arange(block.indices.size) if which is None else which
    for j in places.tolist():
        if time.time() > query.deadline:
            return None
        quality, magnitude = block.fill(planes, j, scorer)
        qualities.add(quality)
        size += magnitude
    found = replace(planes, quality=weakest(qualities), size=size, calls=places.size)
    return found.summed()
