"""Missing values inside: a NaN adds nothing to any sum, and a mean is that of the values there are.

The distortion of a segment in a diagonal metric is then, with ``O_p`` the samples of it in which
feature p has a value,

    sum_p b_p sum_{t in O_p} (x_tp - mean of x_p over O_p)^2,

which is the smallest one that any values in place of the missing ones can give. A full metric mixes
features, so that a sample of which one is missing has no place in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.errors import DataError
from structsvm.support.arrays import Floats, Ints, largest, largest_of_all


def has_gaps(X: Floats) -> bool:
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


@dataclass(frozen=True, eq=False)
class InMetric:
    """``X L`` of samples (T, P), for a factor (P, r) that is looked at once; missing where X is."""

    factor: Floats
    picked: tuple[Ints | None, Floats] | None = field(init=False)
    """The feature of each column, None for all in their order, and its scale, (r,).

    None of a metric that mixes features.
    """

    def __post_init__(self) -> None:
        """Find the feature and scale of each column of the factor."""
        P, r = self.factor.shape
        columns, picked = np.nonzero(self.factor)[1], None
        if self.factor.size and np.unique(columns).size == columns.size:
            feature = np.abs(self.factor).argmax(axis=0)
            in_order = np.array_equal(feature, np.arange(P))
            picked = (None if in_order else feature), self.factor[feature, np.arange(r)]
        object.__setattr__(self, "picked", picked)

    def __call__(self, X: Floats) -> Floats:
        """Map samples to the metric, (T, r)."""
        if self.picked is None:
            Z = np.asarray(X @ self.factor)
            if math.isnan(Z.sum()):
                raise DataError(
                    "values are missing (NaN), and this metric mixes features: masked values take "
                    "metric='diagonal'; interpolate them for a full metric"
                )
            return Z
        feature, scale = self.picked
        return np.asarray((X if feature is None else X.take(feature, axis=1)) * scale)


def filled(X: Floats, times: Floats | None = None) -> Floats:
    """Interpolate missing values between samples (at ``times``)."""
    if not has_gaps(X):
        return X
    found, at = X.copy(), np.arange(len(X)) if times is None else times
    for column in found.T:
        missing = np.isnan(column)
        known: Any = column[~missing]
        column[missing] = np.interp(at[missing], at[~missing], known) if known.size else 0.0
    return found
