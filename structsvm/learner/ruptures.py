"""Bridges to ruptures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structsvm.fitted import Fitted
from structsvm.support.extras import require

if TYPE_CHECKING:
    from structsvm.interop.detectors import MetricCost, MetricDetector

__all__ = ["to_ruptures_cost", "to_ruptures_detector"]


def to_ruptures_cost(learner: Fitted) -> MetricCost:
    """A ``ruptures`` cost, a ``CostMl`` of ``B`` that standardises as the learner does.

    ``Dynp(custom_cost=cost, min_size=1, jump=1).fit(X).predict(n_bkps=K - 1)`` gives the answer of
    ``learner.predict_breakpoints(X, K)``.
    """
    require("ruptures", "ruptures", "a cost of ruptures")
    from structsvm.interop.detectors import MetricCost

    return MetricCost(learner)


def to_ruptures_detector(learner: Fitted) -> MetricDetector:
    """A ``ruptures`` estimator, ``KernelCPD`` on the transformed signal.

    ``learner.to_ruptures_detector().fit(X).predict()`` gives the answer of
    ``learner.predict_breakpoints(X)``; it takes ``n_bkps`` or ``pen`` as others of ruptures do.
    """
    require("ruptures", "ruptures", "a detector of ruptures")
    from structsvm.interop.detectors import MetricDetector

    return MetricDetector(learner)
