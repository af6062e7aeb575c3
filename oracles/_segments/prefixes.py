"""What segments score, from prefix sums: for oracles that only allow some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structsvm.data.gaps import means
from structsvm.errors import OracleError
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What the score of a segment is made of, as prefix sums."""

    sums: Floats
    """Of the centred columns of Z, (r, T + 1): the mean adds the same to every segmentation. Where
    values are missing, the numbers of those there are below them, (2 r, T + 1)."""
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
        return float(np.abs(self.signs) @ np.abs(self.sums[: self.rank]).max(axis=1) ** 2)

    @classmethod
    def of(cls, objective: TraceObjective) -> Prefixes:
        T, Z = objective.n_samples, objective.Z
        signs = np.ones(Z.shape[1]) if objective.signs is None else objective.signs
        rows = np.where(np.isnan(Z), 0.0, Z - means(Z)).T if objective.gaps else (Z - Z.mean(0)).T
        if objective.gaps:
            rows = np.concatenate([rows, ~np.isnan(Z).T])
        sums = np.zeros((rows.shape[0], T + 1))
        np.cumsum(rows, axis=1, out=sums[:, 1:])
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


@inner()
def add_truth(
    t: int,
    starts: Ints,
    sizes: Floats,
    home: Ints,
    ends: Ints,
    weight: float,
    scores: Floats,
) -> None:  # pragma: no cover (compiled)
    """Add what the truth does to the scores of the segments ``s, ..., t - 1``."""
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


@compiled()
def squares(
    t: int, starts: Ints, at: int, columns: Floats, sums: Floats, signs: Floats, scores: Floats
) -> None:  # pragma: no cover (compiled)
    """``sum_j sign_j |sum of Z_j|^2 / n_j`` from some starts to ``t``; their sums begin at
    ``at``.
    """
    n, rank = starts.size, signs.size
    scores[:n] = 0.0
    for j in range(rank):
        column, total, sign = columns[j], sums[j, t], signs[j]
        if sums.shape[0] > rank:
            there, n_there = columns[rank + j], sums[rank + j, t]
            for i in range(n):
                values, difference = n_there - there[at + i], total - column[at + i]
                if values > 0.0:
                    scores[i] += sign * difference * difference / values
        else:
            for i in range(n):
                difference = total - column[at + i]
                scores[i] += sign * difference * difference
    if sums.shape[0] == rank:
        for i in range(n):
            scores[i] /= t - starts[i]
