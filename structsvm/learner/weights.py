"""How much each feature counts in a learned metric, against the untrained one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.support.arrays import Floats


def scaled_factor(learner: Any) -> tuple[Floats, float]:
    """``L^T`` of features in which the untrained metric is a multiple of the identity, (rank,
    P).
    """
    ratio = price_ratio(learner)
    start = learner.baselines_["untrained"].factor
    scale = np.sqrt(np.einsum("pr,pr->p", start, start))
    scale[scale == 0] = 1.0  # a feature without influence, in the learned metric as well
    return learner.metric_.factor.T / scale, 1.0 if ratio is None else ratio


def price_ratio(learner: Any) -> float | None:
    """The price of the untrained metric over that of the learned one, if they are in its units."""
    check_is_fitted(learner)
    untrained, learned = learner.baselines_["untrained"].price, learner.metric_.price
    if not learner.problem_.traits.convex or untrained is None or learned is None:
        return None
    return float(untrained / learned)


def heaviest_features(learner: Any) -> list[tuple[str, float]]:
    """Names and weights of the features, the heaviest first; in the untrained metric all are 1."""
    components, unit = scaled_factor(learner)
    weights = np.einsum("rp,rp->p", components, components) * unit
    names = learner.metric_feature_names_
    return [(names[j], float(weights[j])) for j in np.argsort(-weights, kind="stable").tolist()]
