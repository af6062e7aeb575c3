"""Distances between points, named as in metric-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataError
from structsvm.fitted import Metric, n_metric_features
from structsvm.partitions.values import refuse_hidden

__all__ = ["get_metric", "pair_distance", "pair_score"]

Floats = NDArray[np.float64]


def pair_distance(learner: Metric, pairs: Any) -> Floats:
    """``sqrt((u - v)^T B (u - v))`` of pairs of points, (n,).

    Parameters
    ----------
    pairs : array of shape (n, 2, P)
        Of standardised points, as ``learner.standardizer_(X)`` has them; of the features of nodes
        as graphs have them.
    """
    P = n_metric_features(learner)
    refuse_hidden(pairs, "pairs")
    try:
        points = np.asarray(pairs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"pairs must be numbers, of shape (n, 2, P), got {pairs!r}") from None
    if points.ndim != 3 or points.shape[1:] != (2, P):
        raise DataError(f"pairs have shape {points.shape}, expected (n, 2, {P})")
    distances: Floats = np.linalg.norm(
        (points[:, 1] - points[:, 0]) @ learner.components_.T, axis=1
    )
    return distances


def pair_score(learner: Metric, pairs: Any) -> Floats:
    """Minus :meth:`pair_distance`: larger for points that belong together, (n,)."""
    return -pair_distance(learner, pairs)


def get_metric(learner: Metric) -> Callable[..., float]:
    """A function of two standardised points (P,) that gives their distance in the metric.

    Independent of the learner from now on; it takes ``squared=True`` as that of metric-learn, and
    goes where scikit-learn takes ``metric=``.
    """
    check_is_fitted(learner)
    factor = learner.components_.T.copy()

    def metric(u: Any, v: Any, squared: bool = False) -> float:
        difference = (np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)) @ factor
        square = float(difference @ difference)
        return square if squared else float(np.sqrt(square))

    return metric
