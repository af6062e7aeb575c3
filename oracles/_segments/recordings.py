"""The best segmentations of recordings, one or many, in one compiled call of the tree search.

Recordings are side by side as flat arrays; nothing is known of their boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.table import NO_TRUTH, OVERHEAD, free_table, sum_of_scores
from structsvm.oracles._segments.tree import free_scan, trace_back
from structsvm.support.arrays import Floats, Ints
from structsvm.support.compiled import compiled, inner
from structsvm.support.interrupts import pieces
from structsvm.support.plain import read_only
from structsvm.support.stack import Stack, offsets

VALUE, CONSTANT, SCATTER = 0, 1, 2


class Recordings(NamedTuple):
    """Recordings side by side."""

    samples: Floats
    """All numbers of all recordings."""
    first: Ints
    """Where those of each begin, (N + 1,)."""
    lengths: Ints
    """T of each, (N,)."""
    bounds: Ints
    """The boundaries of all truths, from 0 to T each."""
    first_bound: Ints
    """Where those of each begin, (N + 1,); nothing for a recording without a truth."""

    @classmethod
    def of(cls, Zs: Sequence[Floats], bounds: Sequence[Ints]) -> Recordings:
        """The recordings (T_i, r_i) and the boundaries of their truths, ``NO_TRUTH`` for none."""
        alone = len(Zs) == 1  # and not copied
        return cls(
            samples=read_only(Zs[0].ravel() if alone else np.concatenate([Z.ravel() for Z in Zs])),
            first=offsets([Z.size for Z in Zs]),
            lengths=np.array([Z.shape[0] for Z in Zs], dtype=np.int64),
            bounds=read_only(bounds[0] if alone else np.concatenate(bounds)),
            first_bound=offsets([b.size for b in bounds]),
        )

    @classmethod
    def of_stack(cls, Zs: Stack) -> Recordings:
        """Recordings that are side by side already, without truths."""
        return cls(
            samples=read_only(np.ravel(Zs.rows)),
            first=Zs.first * Zs.rows.shape[1],
            lengths=np.diff(Zs.first),
            bounds=NO_TRUTH,
            first_bound=np.zeros_like(Zs.first),
        )

    def most_work(self) -> float:
        """The number of operations that the search of one of them may take."""
        sizes = np.diff(self.first) + OVERHEAD * self.lengths
        return float((self.lengths * sizes.astype(np.float64)).max())


class Found(NamedTuple):
    """The best segmentation of a recording."""

    path: Ints
    """Its boundaries, from 0 to T, (K + 1,)."""
    labels: Ints
    """The segment of each sample, (T,); a view."""
    score: float
    """The sum of the scores of its segments, without shift and constant."""
    constant: float
    scatter: float
    """The sum of the squares of the centred samples."""


def segment_all(recordings: Recordings, c: float, shifts: Floats) -> list[Found]:
    """The best segmentation of each recording without null columns.

    ``c > shift``: else every boundary pays; ``shift <= 0`` in the null metric, ``r = 0``.
    """
    N, n_samples = recordings.lengths.size, int(recordings.lengths.sum())
    paths, labels = np.empty(n_samples + N, np.int64), np.empty(n_samples, np.int64)
    counts, numbers = np.zeros(N, np.int64), np.empty((N, 3))
    at = offsets(recordings.lengths)
    for begin, end in pieces(0, N, recordings.most_work()):
        _segment_all(recordings, at, c, shifts, paths, labels, counts, numbers, begin, end)
    found = []
    for i, (n, row) in enumerate(zip(counts.tolist(), numbers.tolist(), strict=True)):
        a, b = int(at[i]), int(at[i + 1])
        found.append(Found(paths[a + i : a + i + n + 1].copy(), labels[a:b], *row))
    return found


@compiled()
def _segment_all(
    recordings: Recordings,
    at: Ints,
    c: float,
    shifts: Floats,
    paths: Ints,
    labels: Ints,
    counts: Ints,
    numbers: Floats,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        T = recordings.lengths[i]
        samples = recordings.samples[recordings.first[i] : recordings.first[i + 1]]
        bounds = recordings.bounds[recordings.first_bound[i] : recordings.first_bound[i + 1]]
        Z = samples.reshape((T, samples.size // T))
        mean, total = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        table = free_table(Z, bounds, c, shifts[i], mean, total)
        previous = np.zeros(T + 1, np.int64)
        if mean.size > 0:  # in the null metric one segment is best
            free_scan(table, (c if bounds.size > 0 else 0.0) - shifts[i], previous)
        path, found = paths[at[i] + i : at[i + 1] + i + 1], labels[at[i] : at[i + 1]]
        n = trace_back(previous, path)
        for k in range(n):
            found[path[k] : path[k + 1]] = k
        counts[i] = n
        numbers[i, VALUE] = sum_of_scores(table, path[: n + 1])
        numbers[i, CONSTANT] = 0.0
        for j in range(mean.size):
            numbers[i, CONSTANT] += mean[j] * (T * mean[j] + 2.0 * total[j])
        numbers[i, SCATTER] = scatter_of(Z, mean)


@inner(fastmath={"reassoc", "contract", "nsz"})
def scatter_of(Z: Floats, mean: Floats) -> float:
    """The sum of the squares of the centred samples."""
    total = 0.0
    for t in range(Z.shape[0]):
        for j in range(mean.size):
            total += (Z[t, j] - mean[j]) ** 2
    return total
