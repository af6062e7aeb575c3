"""What a fitted learner looks at: its features, their names, and the size of its metric."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.partitions.features import FeatureMap
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import Standardizer, check_samples

__all__ = [
    "Fitted",
    "Metric",
    "feature_names",
    "get_mahalanobis_matrix",
    "measured",
    "n_metric_features",
    "standardized",
]

Floats = NDArray[np.float64]


class Metric(Protocol):
    """A learner of any kind, such as :class:`structsvm.CutLearner`."""

    components_: Floats
    n_features_in_: int


class Fitted(Metric, Protocol):
    """A learner of recordings or tables, such as :class:`structsvm.MetricLearner`."""

    penalty_: float
    standardizer_: Standardizer
    problem_: PartitionProblem


def standardized(learner: Fitted, Xs: Any) -> list[Floats]:
    """Recordings as the metric sees them, checked against those it was learned from."""
    return [learner.standardizer_(X) for X in _checked(learner, Xs)]


def measured(learner: Fitted, Xs: Any) -> list[Floats]:
    """The features that the metric weighs, not standardised, (T_i, P'), checked likewise.

    Those of the recordings, or those that the problem makes of them.
    """
    arrays, features = _checked(learner, Xs), learner.standardizer_.features
    return arrays if features is None else [features.expand(X) for X in arrays]


def get_mahalanobis_matrix(learner: Metric) -> Floats:
    """``B``, (P, P), a copy; on standardised features, the identity being the untrained one."""
    check_is_fitted(learner)
    return np.asarray(learner.components_.T @ learner.components_)


def n_metric_features(learner: Metric) -> int:
    """P', the number of rows of ``B``: that of the features the problem makes of P channels.

    ``n_features_in_``, the number of columns of a recording, is the same for most problems.
    """
    check_is_fitted(learner)
    return int(learner.components_.shape[1])


def feature_names(learner: Metric) -> list[str]:
    """The names of the features that the metric weighs, (P',).

    Those that the recordings gave, or ``x0``, ``x1``, ... as in scikit-learn; or those of the
    features that the problem makes of them.
    """
    check_is_fitted(learner)
    given = getattr(learner, "feature_names_in_", None)
    names = [f"x{j}" for j in range(learner.n_features_in_)] if given is None else map(str, given)
    # Graphs are not standardised, and bring the features that the metric weighs.
    standardizer: Standardizer | None = getattr(learner, "standardizer_", None)
    features: FeatureMap | None = None if standardizer is None else standardizer.features
    return list(names) if features is None else features.expanded_names(list(names))


def _checked(learner: Fitted, Xs: Any) -> list[Floats]:
    check_is_fitted(learner)
    names = getattr(learner, "feature_names_in_", None)
    return check_samples(Xs, names, learner.n_features_in_, learner.problem_.words)[0]
