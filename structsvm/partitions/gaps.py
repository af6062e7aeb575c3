"""Missing values inside: a NaN adds nothing to any sum, and a mean is that of the values there are.

The distortion of a segment in a diagonal metric is then, with ``O_p`` the samples of it in which
feature p has a value,

    sum_p b_p sum_{t in O_p} (x_tp - mean of x_p over O_p)^2,

which is the smallest one that any values in place of the missing ones can give. A full metric mixes
features, so that a sample of which one is missing has no place in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structsvm.errors import DataError
from structsvm.support.arrays import Floats
from structsvm.support.blocks import largest, largest_of_all


def has_gaps(X: Floats) -> bool:
    """Whether a value is missing."""
    return math.isnan(largest_of_all(X))


def magnitudes(X: Floats) -> Floats:
    """The largest magnitude in each column (T, P) of the values there are, (P,); 0 if none."""
    found = largest(X)
    return np.fmax.reduce(np.abs(X), axis=0, initial=0.0) if np.isnan(found).any() else found


def blocks(X: Floats) -> list[tuple[int, int, int]]:
    """Rows ``start, ..., end - 1`` of a column without a value, as ``(start, end, column)``."""
    found = []
    for j, missing in enumerate(np.isnan(X).T):
        edges = np.flatnonzero(np.diff(missing, prepend=False, append=False))
        found += [(start, end, j) for start, end in edges.reshape(-1, 2).tolist()]
    return sorted(found, key=lambda block: (block[0], block[2]))


def means(X: Floats, weights: Floats | None = None) -> Floats:
    """The mean of each column (T, P) over the rows in which it has a value, (P,); 0 if in none."""
    if not has_gaps(X):
        return np.asarray(X.mean(axis=0) if weights is None else np.average(X, 0, weights))
    there = ~np.isnan(X)
    shares = there * (1.0 if weights is None else weights[:, None])
    total = shares.sum(axis=0)
    sums = np.where(there, X, 0.0) * shares
    found: Floats = np.divide(sums.sum(axis=0), total, out=np.zeros(X.shape[1]), where=total > 0)
    return found


def scales(X: Floats) -> Floats:
    """The standard deviation of each column over the rows in which it has a value, (P,)."""
    return np.asarray(X.std(axis=0) if not has_gaps(X) else np.sqrt(means((X - means(X)) ** 2)))


def in_metric(X: Floats, factor: Floats) -> Floats:
    """``X L`` of samples (T, P) and a factor (P, r); missing where its feature is.

    Raises
    ------
    DataError
        If values are missing and the metric mixes features.
    """
    if not factor.size or _mixes(factor):
        Z = np.asarray(X @ factor)
        if math.isnan(Z.sum()):
            raise DataError(
                "values are missing (NaN), and this metric mixes features: masked values take "
                "metric='diagonal'; interpolate them for a full metric"
            )
        return Z
    feature, column = np.abs(factor).argmax(axis=0), np.arange(factor.shape[1])
    kept = X if np.array_equal(feature, np.arange(X.shape[1])) else X.take(feature, axis=1)
    return np.asarray(kept * factor[feature, column])


def _mixes(factor: Floats) -> bool:
    """Whether a column of a factor is made of several features."""
    if np.count_nonzero(factor) > factor.shape[1]:  # there is one by the pigeonhole principle
        return True
    return bool((np.count_nonzero(factor, axis=0) > 1).any())


def filled(X: Floats) -> Floats:
    """Missing values interpolated between samples, for what cannot leave them out.

    The nearest value at either end, and 0 in a column without any.
    """
    if not has_gaps(X):
        return X
    found, at = X.copy(), np.arange(len(X))
    for column in found.T:
        missing = np.isnan(column)
        known: Any = column[~missing]
        column[missing] = np.interp(at[missing], at[~missing], known) if known.size else 0.0
    return found
