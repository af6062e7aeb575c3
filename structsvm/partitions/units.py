"""Where learning starts from: which features, and in which units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structsvm.data.deferred import Data, sum_of_each
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class LearningUnits:
    """The features learning sees: whitened perhaps, in units in which ``B = I`` is sensible."""

    whitening: Floats | None
    """(P, P); None for none."""
    unit: float = 1.0
    """The penalty that goes with the identity; 1 as long as it is not known."""

    def __call__(self, X: Floats) -> Floats:
        """The features of a standardised sample that learning sees, (T, P)."""
        if self.whitening is not None:
            X = X @ self.whitening
        return np.asarray(X / np.sqrt(self.unit))

    def restore(self, factor: Floats) -> Floats:
        """A factor of a metric of these features, as one of the standardised features."""
        return factor if self.whitening is None else self.whitening @ factor


def within_whitening(
    Xs: Sequence[Data],
    truths: Sequence[EquivalenceMatrix],
    shrinkage: float,
    weights: Floats | None = None,
) -> Floats:
    """``C^{-1/2}`` with C the covariance within the true clusters, shrunk to a multiple of I."""
    weights = np.ones(len(Xs)) if weights is None else weights
    scatter = sum_of_each("measuring the clusters", _scatter_within, Xs, truths, weights=weights)
    covariance = scatter / (weights @ [X.shape[0] for X in Xs])
    P = covariance.shape[0]
    target = np.trace(covariance) / P * np.eye(P)
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target)
    if not values[-1] > 0:
        return np.eye(P)  # every true cluster is a single point
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1])) @ vectors.T)


def _scatter_within(X: Floats, M: EquivalenceMatrix) -> Floats:
    """``X^T (I - M) X``: of every sample less the mean of its cluster, (P, P)."""
    means = M.project(X) / np.sqrt(M.sizes)[:, None]
    within = X - means[M.labels]
    return np.asarray(within.T @ within)
