"""How much each feature counts in a learned metric, against the untrained one."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.learner.fitted import FittedMetric
from structsvm.partitions import Metric
from structsvm.support import Floats


def metric_of(learner: Any) -> Metric:
    """The metric of a fitted learner; refuse a learner whose model is none."""
    check_is_fitted(learner)
    model = getattr(learner, "model_", None)
    if not isinstance(model, Metric):
        raise SettingsError(
            f"a {type(learner).__name__} learns no metric, which this is about: give a "
            "MetricLearner"
        )
    return model


def scaled_factor(learner: FittedMetric) -> Floats:
    """``L^T``, (rank, P), in units of the untrained metric, where that is ``I``."""
    metric = metric_of(learner)
    ratio = price_ratio(learner)
    start = learner.baselines_["untrained"].metric_.factor
    scale = np.sqrt(np.einsum("pr,pr->p", start, start))
    scale[scale == 0] = 1.0  # a feature without influence, in the learned metric as well
    return np.asarray(metric.factor.T / scale * np.sqrt(1.0 if ratio is None else ratio))


def price_ratio(learner: FittedMetric) -> float | None:
    """The price of the untrained metric over that of the learned one; None without prices."""
    learned = metric_of(learner).price
    untrained = learner.baselines_["untrained"].metric_.price
    if not learner.problem_.traits.convex or untrained is None or learned is None:
        return None
    return float(untrained / learned)


def heaviest_features(learner: FittedMetric) -> list[tuple[str, float]]:
    """Names and weights of the features, the heaviest first; in the untrained metric all are 1."""
    weights = np.sum(scaled_factor(learner) ** 2, axis=0)
    names = learner.metric_feature_names_
    return [(names[j], float(weights[j])) for j in np.argsort(-weights, kind="stable").tolist()]
