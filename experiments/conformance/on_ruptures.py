"""Our cost where ruptures looks for ``mahalanobis``, our detector for Dynp, Pelt and KernelCPD.

Every search of ruptures runs on our cost. Where a test asks for a squared error, the detector of
the learner stands in for the exact searches.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import ruptures
import ruptures.costs
import ruptures.detection
from _select import leave_out, skip
from ruptures.costs.factory import cost_factory

from structsvm import MetricLearner
from structsvm.interop import ruptures_detector
from structsvm.interop.detectors import MetricCost

OURS = {"l2", "mahalanobis", "linear"}
"""What a metric detector minimises, in the words of ruptures."""

THEIRS = [
    r"\[[^\]]*(?<![a-z])(l1|ar|normal|rbf|rank|cosine|clinear)\b",
    r"\[(Binseg|BottomUp|Window)-(l2|linear)\]",
    r"\[(Binseg|BottomUp|Window)\]",
    r"test_costs_.*\[l2\]",
    r"test_(pass_param_to_cost|custom_cost|costlinear|costnormal|costl2|factory)",
    r"test_(binseg_deepcopy|min_size_kernelcpd)",
]
"""Tests of other costs than the squared error in a metric."""

NO_LENGTH = "a detector of ours has no shortest segment: it is a setting of the problem"
SKIPPED = {
    r"test_binseg_min_size\[l2\]|test_model_small_signal_(dynp|pelt)\[l2\]": NO_LENGTH,
    r"test_kernelcpd_small_signal\[linear\]": NO_LENGTH,
}


@functools.cache
def learner(n_features: int) -> MetricLearner:
    """One that has learned from a signal of so many features that is no test's."""
    signal, ends = ruptures.pw_constant(n_features=n_features, noise_std=0.5, seed=1)
    fitted = MetricLearner(metric="diagonal", standardize=None, lam=0.01)
    return fitted.fit([signal], [np.repeat(np.arange(len(ends)), np.diff([0, *ends]))])


def width(signal: np.ndarray) -> int:
    return 1 if signal.ndim == 1 else signal.shape[1]


class Cost(MetricCost):
    """Our cost for a signal whose number of features becomes known in ``fit``."""

    model = "mahalanobis"

    def __init__(self, metric: Any = None) -> None:
        self.given, self.min_size = metric, 2

    def fit(self, signal: np.ndarray) -> Cost:
        fitted = learner(width(signal))
        super().__init__(fitted)
        self.min_size = 2
        super().fit(signal)
        if self.given is not None:
            self.metric = self.given
        return self


class Detector:
    """Our detector, made when the number of features is known."""

    priced = False
    """Whether the first number of ``predict`` is the price, as for Pelt."""

    def __init__(self, model: str = "l2", **settings: Any) -> None:
        self.model = model

    def fit(self, signal: np.ndarray) -> Detector:
        self.detector = ruptures_detector(learner(width(signal))).fit(signal)
        return self

    def predict(self, *given: float, **named: Any) -> list[int]:
        if given:
            named["pen" if self.priced else "n_bkps"] = given[0]
        return self.detector.predict(**named)

    def fit_predict(self, signal: np.ndarray, *given: float, **named: Any) -> list[int]:
        return self.fit(signal).predict(*given, **named)


class Exact(Detector):
    """For ruptures.Dynp and ruptures.KernelCPD."""


class Priced(Detector):
    """For ruptures.Pelt."""

    priced = True


def ours_or(theirs: type, ours: type) -> type:
    """Theirs for other costs and for searches with our cost, ours for squared errors."""

    class Chosen(theirs):  # type: ignore[misc, valid-type]
        """One or the other."""

        def __new__(cls, *given: Any, **settings: Any) -> Any:
            asked = settings.get("kernel", settings.get("model", "l2"))
            others = {"mahalanobis"} if "min_size" in settings else set()
            if asked in OURS - others and "custom_cost" not in settings:
                return ours()
            return theirs(*given, **settings)

    Chosen.register(ours)  # type: ignore[attr-defined]  # for their isinstance
    Chosen.__name__ = Chosen.__qualname__ = theirs.__name__
    return Chosen


def chosen_cost(model: str, *given: Any, **settings: Any) -> Any:
    """Ours for ``mahalanobis``."""
    return (
        Cost(*given, **settings)
        if model == "mahalanobis"
        else cost_factory(model, *given, **settings)
    )


for module in ("binseg", "bottomup", "dynp", "pelt", "window"):
    vars(__import__(f"ruptures.detection.{module}", fromlist=["x"]))["cost_factory"] = chosen_cost
ruptures.costs.cost_factory = chosen_cost
ruptures.costs.costml.CostMl = Cost
for name, kind in (("Dynp", Exact), ("KernelCPD", Exact), ("Pelt", Priced)):
    setattr(ruptures.detection, name, ours_or(getattr(ruptures.detection, name), kind))


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    leave_out(config, items, THEIRS)
    skip(items, SKIPPED)
