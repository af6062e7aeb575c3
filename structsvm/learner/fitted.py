"""What these bridges need of a fitted learner."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import Standardizer, check_samples

__all__ = ["Fitted", "feature_names", "get_mahalanobis_matrix", "standardized"]

Floats = NDArray[np.float64]


class Fitted(Protocol):
    """A learner, such as :class:`structsvm.MetricLearner`."""

    components_: Floats
    penalty_: float
    standardizer_: Standardizer
    problem_: PartitionProblem
    n_features_in_: int


def standardized(learner: Fitted, Xs: Any) -> list[Floats]:
    """Recordings as the metric sees them, checked against those it was learned from."""
    check_is_fitted(learner)
    names = getattr(learner, "feature_names_in_", None)
    arrays, _ = check_samples(Xs, names, learner.n_features_in_, learner.problem_.words)
    return [learner.standardizer_(X) for X in arrays]


def get_mahalanobis_matrix(learner: Fitted) -> Floats:
    """``B``, (P, P), a copy; on standardised features, the identity being the untrained one."""
    check_is_fitted(learner)
    return np.asarray(learner.components_.T @ learner.components_)


def feature_names(learner: Fitted) -> list[str]:
    """The names the recordings gave, or ``x0``, ``x1``, ... as in scikit-learn, (P,).

    Or those of the features that the problem makes of them.
    """
    check_is_fitted(learner)
    given = getattr(learner, "feature_names_in_", None)
    names = [f"x{j}" for j in range(learner.n_features_in_)] if given is None else map(str, given)
    features = learner.standardizer_.features
    return list(names) if features is None else features.expanded_names(list(names))
