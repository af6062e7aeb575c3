"""Searches that are one compiled call, for recordings without a constraint."""

from typing import NamedTuple

import numpy as np

from structsvm.oracles._segments.searches import scan_from, trace_back
from structsvm.oracles._segments.table import NO_TRUTH, free_table, sum_of_scores
from structsvm.oracles._segments.vectors import LANES
from structsvm.support import Floats, Ints, compiled, inner, uninterrupted


class BestSegmentation(NamedTuple):
    """The best segmentation of a recording."""

    path: Ints
    """Its boundaries, from 0 to T, (K + 1,)."""
    score: float
    """The sum of the scores of its segments, without shift and constant."""
    constant: float
    scatter: float
    """The sum of the squares of the centred samples."""


@inner(no_cpython_wrapper=False)
def segment_from(Z: Floats, bounds: Ints, c: float, shift: float) -> BestSegmentation:
    """The best segmentation of a recording (T, r) without null columns.

    ``bounds`` are the boundaries of its truth, ``NO_TRUTH`` for none. It requires ``c > shift``, as
    every boundary pays otherwise, and ``shift <= 0`` where ``r = 0``, so that one segment is best.
    """
    T, r = Z.shape
    mean = np.zeros(r)
    total = np.zeros(r)
    previous = np.zeros(T + 1, np.int64)
    table = free_table(Z, bounds, c, shift, mean, total)
    if r > 0:
        positions = np.ascontiguousarray(table.ends[:, :1])
        earliest = np.zeros(T + 1, np.int64)
        latest = np.arange(-1, T)
        F = np.full(T + 1, -np.inf)
        value = np.full((table.first_group[-1], LANES), -np.inf)
        F[0] = 0.0
        state = np.zeros(3, np.int64)
        kappa = (c if bounds.size > 0 else 0.0) - shift
        scan_from(table, positions, earliest, latest, kappa, value, F, previous, 1, T + 1, state)
    ends = np.empty(T + 1, np.int64)
    path = ends[: trace_back(previous, ends) + 1].copy()
    constant = 0.0
    for j in range(r):
        constant += mean[j] * (T * mean[j] + 2.0 * total[j])
    return BestSegmentation(path, sum_of_scores(table, path), constant, scatter_of(Z, mean))


segment = uninterrupted(segment_from)


class BestOfEach(NamedTuple):
    """The best segmentations of several recordings."""

    boundaries: Ints
    """The boundaries of all recordings, one recording after the other."""
    sizes: Ints
    """The number of boundaries of each recording, (N,)."""
    numbers: Floats
    """Score, constant and scatter of each, as in :class:`BestSegmentation`, (3, N)."""


@compiled()
def segment_each(rows: Floats, first: Ints, which: Ints, shift: float) -> BestOfEach:
    """What :func:`segment` finds in the recordings of numbers ``which``, (N,), without a truth.

    Recording i is the rows ``first[i], ..., first[i + 1] - 1``.
    """
    N = which.size
    boundaries = np.empty(rows.shape[0] + N, np.int64)
    sizes = np.empty(N, np.int64)
    numbers = np.empty((3, N))
    n = 0
    for k in range(N):
        i = which[k]
        segmentation = segment_from(rows[first[i] : first[i + 1]], NO_TRUTH, 0.0, shift)
        sizes[k] = segmentation.path.size
        boundaries[n : n + sizes[k]] = segmentation.path
        n += sizes[k]
        numbers[0, k] = segmentation.score
        numbers[1, k] = segmentation.constant
        numbers[2, k] = segmentation.scatter
    return BestOfEach(boundaries[:n].copy(), sizes, numbers)


@inner()
def scatter_of(Z: Floats, mean: Floats) -> float:
    """The sum of the squares of the centred samples."""
    total = 0.0
    for t in range(Z.shape[0]):
        for j in range(mean.size):
            total += (Z[t, j] - mean[j]) ** 2
    return total
