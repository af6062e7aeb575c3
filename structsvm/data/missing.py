"""Missing values, which are NaN: statistics of columns without them, and interpolation."""

import math
from typing import Any

import numpy as np

from structsvm.support import Floats, largest, largest_of_all

LARGEST_VALUE = 1e150
"""Larger values are refused: the sum of the squares of millions of them may overflow."""

# The distortion of a segment in a diagonal metric is then, with ``O_p`` the samples of it in which
# feature p has a value,
#
#     sum_p b_p sum_{t in O_p} (x_tp - mean of x_p over O_p)^2,
#
# which is the smallest one that any values in place of the missing ones can give. A full metric
# mixes features, so that a sample of which one is missing has no place in it.


def has_gaps(X: Floats) -> bool:
    return math.isnan(largest_of_all(X))


def magnitudes(X: Floats) -> Floats:
    """The largest magnitude in each column of ``X`` (T, P), (P,); 0 if all values are missing."""
    sizes = largest(X)
    return np.fmax.reduce(np.abs(X), axis=0, initial=0.0) if np.isnan(sizes).any() else sizes


def blocks(X: Floats) -> list[tuple[int, int, int]]:
    """Rows ``start, ..., end - 1`` of a column without a value, as ``(start, end, column)``."""
    missing_blocks = []
    for j, missing in enumerate(np.isnan(X).T):
        edges = np.flatnonzero(np.diff(missing, prepend=False, append=False))
        missing_blocks += [(start, end, j) for start, end in edges.reshape(-1, 2).tolist()]
    return sorted(missing_blocks, key=lambda block: (block[0], block[2]))


def means(X: Floats) -> Floats:
    """The mean of each column of ``X`` (T, P), (P,); 0 if all values are missing."""
    if not has_gaps(X):
        return np.asarray(X.mean(axis=0))
    total = (~np.isnan(X)).sum(axis=0)
    return np.asarray(np.nansum(X, axis=0) / np.maximum(total, 1))


def scales(X: Floats) -> Floats:
    """The standard deviation of each column of ``X`` (T, P), (P,)."""
    return np.asarray(X.std(axis=0) if not has_gaps(X) else np.sqrt(means((X - means(X)) ** 2)))


def filled(X: Floats, times: Floats | None = None) -> Floats:
    """Interpolate missing values linearly in ``times`` (T,), or in the numbers of the samples."""
    if not has_gaps(X):
        return X
    filled_in = X.copy()
    at = np.arange(len(X)) if times is None else times
    for column in filled_in.T:
        missing = np.isnan(column)
        measured: Any = column[~missing]
        column[missing] = np.interp(at[missing], at[~missing], measured) if measured.size else 0.0
    return filled_in
