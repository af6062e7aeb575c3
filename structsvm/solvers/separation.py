"""Blocks of samples, which are separated wherever they are: what travels is small."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError, StructSVMError
from structsvm.problem import Problem, RegularizedRisk, Separation, SignedProblem
from structsvm.solvers.first_answer import (
    check_buffer,
    check_feature,
    check_loss,
    check_separation,
    check_truth,
    unchanged,
)
from structsvm.status import Quality

__all__ = ["Block", "BlockAnswer", "Plane", "Query", "blocks_of", "separate_block"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRUTHS_IN_MEMORY = 2**28
"""Bytes that the joint features of the true labellings may take before they are recomputed."""

MOST_BLOCKS = 64
"""Sums over samples are made of so many terms, however many workers there are."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The answer of one oracle: a lower bound of the weighted hinge loss of its sample."""

    intercept: float
    """``omega_i loss(y_i, y)``."""
    slope: Floats
    """``omega_i (phi(x_i, y) - phi(x_i, y_i))``, (d,)."""
    value: float
    """At the weight at which the oracle was called; nonnegative."""
    slack: float
    """The hinge loss exceeds the value by at most this, if the oracle knows."""
    quality: Quality
    size: float = 0.0
    """The sum of the magnitudes of what the value is a sum of: what its rounding is relative to."""


@dataclass(frozen=True, eq=False)
class Query:
    """What goes out in a round."""

    w: Floats
    groups: Ints
    """Group of every sample, (N,)."""
    deadline: float = np.inf
    """The time (``time.time()``) after which no oracle is called."""


@dataclass(frozen=True, eq=False)
class BlockAnswer:
    """What comes back for a block: sums over its samples, by group."""

    groups: Ints
    """The groups it has samples of."""
    slopes: Floats
    intercepts: Floats
    values: Floats
    slacks: Floats
    quality: Quality
    """The weakest."""
    calls: int
    late: bool
    """Whether the deadline came before the last call."""
    size: float = 0.0
    """That of all its planes."""


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
    _looked: set[int] = field(default_factory=set, init=False, repr=False)
    _truths: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)

    def plane(self, j: int, w: Floats) -> Plane:
        """Call the oracle of the ``j``-th sample of this block."""
        if self.looks and self.indices[j] == 0 and not self._looked:
            self._looked.add(0)
            return self._first_plane(j, w)
        return self._plane(j, w, self._separate(j, w))

    @property
    def _signed_losses(self) -> bool:
        return isinstance(self.problem, SignedProblem) and self.problem.signed_losses

    def _first_plane(self, j: int, w: Floats) -> Plane:
        """The first answer of all, looked at closely."""
        x, y, sample = self.xs[j], self.ys[j], int(self.indices[j])
        with unchanged(self.problem, x, y, sample):
            answer = self._separate(j, w)
            phi = self._feature(j, answer.y, w.size)
            held = phi.copy()
            self._feature(j, y, w.size)
            check_buffer(self.problem, phi, held, sample)
            plane = self._plane(j, w, answer)
            signed = self._signed_losses
            check_truth(self.problem, x, y, answer.y, sample, w.size, signed=signed)
        return plane

    def _plane(self, j: int, w: Floats, answer: Separation) -> Plane:
        omega = float(self.sample_weight[j])
        phi, truth = self._feature(j, answer.y, w.size), self._truth(j, w.size)
        slope = omega * (phi - truth)
        loss = self.problem.loss(self.ys[j], answer.y)
        signed = self._signed_losses
        intercept = omega * check_loss(self.problem, loss, int(self.indices[j]), signed=signed)
        value = intercept + float(slope @ w)
        if not np.isfinite(value):
            raise OracleError(
                f"sample {self.indices[j]}: the labelling found has the value {value}"
            )
        heuristic = answer.quality is Quality.HEURISTIC
        slack = 0.0 if heuristic else omega * answer.slack
        terms = omega * (np.abs(phi) + np.abs(truth))
        size = abs(intercept) + float(terms @ np.abs(w))
        if value < 0:  # the true labelling is always a candidate
            rest = max(0.0, value + slack)
            return Plane(0.0, np.zeros_like(slope), 0.0, rest, answer.quality, size)
        return Plane(intercept, slope, value, slack, answer.quality, size)

    def _feature(self, j: int, y: Any, dim: int) -> Floats:
        phi = self.problem.joint_feature(self.xs[j], y)
        return check_feature(self.problem, phi, dim, int(self.indices[j]))

    def _truth(self, j: int, dim: int) -> Floats:
        if j in self._truths:
            return self._truths[j]
        truth = self._feature(j, self.ys[j], dim)
        if self.keeps_truths:
            self._truths[j] = truth
        return truth

    def _separate(self, j: int, w: Floats) -> Separation:
        try:
            answer = self.problem.separate(w, self.xs[j], self.ys[j])
        except StructSVMError as error:
            error.add_note(f"while separating sample {self.indices[j]}")
            raise
        except Exception as error:
            raise OracleError(
                f"sample {self.indices[j]}: the separation oracle raised "
                f"{type(error).__name__}: {error}"
            ) from error
        return check_separation(self.problem, answer, int(self.indices[j]), "separate")


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
            not risk.is_model,
        )
        for indices in np.array_split(np.arange(risk.n_samples), min(risk.n_samples, MOST_BLOCKS))
    ]


def separate_block(block: Block, query: Query) -> BlockAnswer:
    """Call the oracles of a block; none after the deadline."""
    groups, places = np.unique(query.groups[block.indices], return_inverse=True)
    slopes = np.zeros((groups.size, query.w.size))
    intercepts, values, slacks = np.zeros((3, groups.size))
    found: set[Quality] = set()
    calls, size = 0, 0.0
    for j, place in enumerate(places):
        if time.time() > query.deadline:
            break
        plane = block.plane(j, query.w)
        calls += 1
        slopes[place] += plane.slope
        intercepts[place] += plane.intercept
        values[place] += plane.value
        slacks[place] += plane.slack
        found.add(plane.quality)
        size += plane.size
    weakest = next((q for q in reversed(Quality) if q in found), Quality.EXACT)
    late = calls < len(places)
    return BlockAnswer(groups, slopes, intercepts, values, slacks, weakest, calls, late, size)
