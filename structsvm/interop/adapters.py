"""A fitted learner as what other libraries take: a cost, a detector, a function of two points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.learner.learner import MetricLearner
from structsvm.support.extras import require

if TYPE_CHECKING:
    from structsvm.interop.detectors import MetricCost, MetricDetector


def ruptures_cost(learner: MetricLearner) -> MetricCost:
    """Return a ``ruptures`` cost: a ``CostMl`` of the metric that standardises as the learner does.

    ``Dynp(custom_cost=cost, min_size=1, jump=1).fit(X).predict(n_bkps=K - 1)`` equals
    ``learner.predict_breakpoints(X, K)``. Problems with rules on segments, and masked values,
    are refused, because ruptures would find other segments.

    Examples
    --------
    >>> from ruptures import Dynp
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import ruptures_cost
    >>> from structsvm.io import arrays_and_labels
    >>> X, y = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(X, y)
    >>> search = Dynp(custom_cost=ruptures_cost(learner), min_size=1, jump=1)
    >>> search.fit(X[0]).predict(n_bkps=4) == learner.predict_breakpoints(X[:1], 5)[0]
    True
    """
    require("ruptures", "ruptures", "a cost of ruptures")
    from structsvm.interop.detectors import MetricCost

    check_is_fitted(learner)
    return MetricCost(learner)


def ruptures_detector(learner: MetricLearner) -> MetricDetector:
    """Return a ``ruptures`` estimator: ``KernelCPD`` on the transformed signal.

    ``ruptures_detector(learner).fit(X).predict()`` equals ``learner.predict_breakpoints(X)``;
    ``predict`` takes ``n_bkps`` or ``pen`` as in ruptures. It refuses the same cases as
    :func:`ruptures_cost`.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import ruptures_detector
    >>> from structsvm.io import arrays_and_labels
    >>> X, y = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(X, y)
    >>> ruptures_detector(learner).fit(X[0]).predict() == learner.predict_breakpoints(X[:1])[0]
    True
    """
    require("ruptures", "ruptures", "a detector of ruptures")
    from structsvm.interop.detectors import MetricDetector

    check_is_fitted(learner)
    return MetricDetector(learner)


def distance_function(learner: MetricLearner) -> Callable[..., float]:
    """Return a function of two standardised points (P,), which is their distance in the metric.

    It takes ``squared=True`` as in metric-learn, and can be given to scikit-learn as ``metric=``.
    It does not change when the learner is fitted again.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import distance_function, prepare
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=2, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> points = prepare(learner, Xs)[0].X
    >>> distance_function(learner)(points[0], points[0])
    0.0
    """
    check_is_fitted(learner)
    factor = learner.metric_.factor.copy()

    def distance(u: Any, v: Any, squared: bool = False) -> float:
        difference = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
        projected = difference @ factor
        square = float(projected @ projected)
        return square if squared else float(np.sqrt(square))

    return distance
