"""The learned metric as a cost and a detector of ruptures, which is an optional library."""

from typing import Any

import numpy as np

from structsvm.data import centred
from structsvm.errors import DataError
from structsvm.learner import MetricLearner
from structsvm.learner.feature_weights import metric_of
from structsvm.learner.preparing import prepare
from structsvm.oracles import SequentialOracle
from structsvm.support import Floats, asked, require

ruptures = require("ruptures", "ruptures", "the learned metric in ruptures")
KernelCPD: Any = ruptures.KernelCPD
CostMl: Any = ruptures.costs.CostMl


def ruptures_cost(learner: MetricLearner) -> "MetricCost":
    """Return a ``ruptures`` cost: a ``CostMl`` of the metric that standardises as the learner does.

    ``Dynp(custom_cost=cost, min_size=1, jump=1).fit(X).predict(n_bkps=K - 1)`` equals
    ``learner.predict_breakpoints(X, K)``. Problems with rules on segments, and masked values,
    are refused, because ruptures would find other segments.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import ruptures_cost
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> cost = ruptures_cost(MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2))
    >>> bool(cost.fit(X).error(0, 20) < cost.error(10, 30))
    True
    """
    metric_of(learner)  # refuses learners without a metric
    return MetricCost(learner)


def ruptures_detector(learner: MetricLearner) -> "MetricDetector":
    """Return a ``ruptures`` estimator: ``KernelCPD`` on the transformed signal.

    ``ruptures_detector(learner).fit(X).predict()`` equals ``learner.predict_breakpoints(X)``;
    ``predict`` takes ``n_bkps`` or ``pen`` as in ruptures. It refuses the same cases as
    :func:`ruptures_cost`.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import ruptures_detector
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> learner = MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2)
    >>> ruptures_detector(learner).fit(X).predict()
    [20, 40]
    """
    metric_of(learner)  # refuses learners without a metric
    return MetricDetector(learner)


class MetricCost(CostMl):  # type: ignore[misc]
    """The Mahalanobis cost of ruptures with the learned metric, on standardised signals."""

    model = "structsvm"

    def __init__(self, learner: MetricLearner) -> None:
        super().__init__(metric=learner.metric_.matrix)
        self.learner, self.min_size = learner, 1

    def fit(self, signal: Any) -> "MetricCost":
        super().fit(_signal(self.learner, signal))
        return self


class MetricDetector(KernelCPD):  # type: ignore[misc]
    """``ruptures.KernelCPD`` with a linear kernel on the transformed signal: exact, and in C."""

    def __init__(self, learner: MetricLearner) -> None:
        super().__init__(kernel="linear", min_size=1, jump=1)
        self.learner = learner
        self.metric = learner.metric_

    def fit(self, signal: Any) -> "MetricDetector":
        Z = self.metric.transform(_signal(self.learner, signal))
        super().fit(np.ascontiguousarray(Z))
        return self

    def predict(self, n_bkps: int | None = None, pen: float | None = None) -> list[int]:
        if self.n_samples is None:
            raise DataError("the detector has no signal: call fit first")
        if n_bkps == 0 or self.n_samples == 1:
            return [self.n_samples]
        if n_bkps is None and pen is None:
            pen = self.metric.price
        return [int(end) for end in super().predict(n_bkps=n_bkps, pen=pen)]


def _signal(learner: MetricLearner, signal: Any) -> Floats:
    """A standardised and centred signal, (T, P); a vector is a single column."""
    if isinstance(signal, np.ndarray) and signal.ndim == 1:
        signal = signal[:, None]
    (instance,) = prepare(learner, [signal])
    problem = learner.problem_
    with asked(problem, "decoder"):
        oracle = problem.decoder(instance)
    if not isinstance(oracle, SequentialOracle):
        raise DataError(
            f"ruptures would find other segments here than {type(problem).__name__}, because it "
            "knows neither rules on segments nor masked values: call predict_breakpoints of the "
            "learner"
        )
    return centred(instance.X)
