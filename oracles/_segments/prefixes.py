"""What segments score, from prefix sums: for oracles that only allow some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions.trace_objective import TraceObjective

__all__ = ["Allowed", "Prefixes", "add_truth", "squares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What the score of a segment is made of, as prefix sums."""

    sums: Floats
    """Of the centred columns of Z, (r, T + 1): the mean adds the same to every segmentation."""
    signs: Floats
    sizes: Floats
    """Size of the true segment that each sample is in, (T,)."""
    home: Ints
    """Where that segment starts, (T,)."""
    ends: Ints
    """Where it ends, (T,)."""
    weight: float
    """``c``; 0 without a truth."""

    @property
    def rank(self) -> int:
        """The number of columns of Z, r."""
        return int(self.signs.size)

    @property
    def size(self) -> float:
        """What the rounding of a score is relative to."""
        return float(np.abs(self.signs) @ np.abs(self.sums).max(axis=1) ** 2)

    @classmethod
    def of(cls, objective: TraceObjective) -> Prefixes:
        T, Z = objective.n_samples, objective.Z
        signs = np.ones(Z.shape[1]) if objective.signs is None else objective.signs
        sums = np.zeros((Z.shape[1], T + 1))
        np.cumsum((Z - Z.mean(axis=0)).T, axis=1, out=sums[:, 1:])
        if not objective.has_truth or objective.truth is None:
            return cls(sums, signs, np.ones(T), np.arange(T), np.arange(1, T + 1), 0.0)
        if not objective.truth.is_contiguous:
            raise OracleError("the truth is not a segmentation: its clusters are not contiguous")
        bounds = objective.truth.boundaries
        lengths = np.diff(bounds)
        home, ends = np.repeat(bounds[:-1], lengths), np.repeat(bounds[1:], lengths)
        sizes = np.repeat(lengths, lengths).astype(np.float64)
        return cls(sums, signs, sizes, home, ends, objective.truth_weight)


@dataclass(frozen=True, eq=False)
class Allowed:
    """The allowed segments of T samples, by their end ``t = 0, ..., T``."""

    low: Ints
    """The first start that goes with each end, (T + 1,)."""
    high: Ints
    """The last one; below ``low`` where there is none."""
    firsts: Ints
    """``starts[firsts[t]:firsts[t + 1]]`` go with ``t``, increasing; (T + 2,)."""
    starts: Ints
    """Empty where all starts from ``low`` to ``high`` are allowed for every end."""
    move_on: bool
    """Whether they are, and neither decreases from one end that has any to the next."""


@njit(cache=True, nogil=True)
def add_truth(
    t: int,
    starts: Ints,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    scores: Floats,
) -> None:  # pragma: no cover (compiled)
    """Divide by the lengths of the segments ``s, ..., t - 1``, and add what the truth does."""
    for i in range(starts.size):
        scores[i] /= t - starts[i]
    if weight == 0.0:
        return
    for i in range(starts.size):
        s = starts[i]
        if ends[s] >= t:
            overlap = (t - s) * (t - s) / sizes[s]
        else:
            before, after = ends[s] - s, t - home[t - 1]
            overlap = before * before / sizes[s] + after * after / sizes[t - 1]
            overlap += home[t - 1] - ends[s]
        scores[i] -= weight * overlap / (t - s)


@njit(cache=True, nogil=True)
def squares(
    t: int, at: int, n: int, columns: Floats, sums: Floats, signs: Floats, scores: Floats
) -> None:  # pragma: no cover (compiled)
    """``sum_j sign_j |sum of Z_j|^2`` from n starts to ``t``; their sums begin at ``at``."""
    scores[:n] = 0.0
    for j in range(sums.shape[0]):
        column, total, sign = columns[j], sums[j, t], signs[j]
        for i in range(n):
            difference = total - column[at + i]
            scores[i] += sign * difference * difference
