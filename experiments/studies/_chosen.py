"""What model selection would take if it chose among learned metrics alone."""

from copy import copy
from typing import Any

import numpy as np

from structsvm import MetricLearnerCV
from structsvm.evaluation.contrast import chosen
from structsvm.learner import Method, MetricLearner


def best_metric(search: MetricLearnerCV, units: Any = None) -> Method:
    """The learned metric that the criterion of a fitted search chooses."""
    candidates = search.candidates_
    learned = np.array([candidate.has_path for candidate in candidates])
    losses = np.where(learned, search.criterion_, np.nan)
    units = np.arange(len(losses)) if units is None else np.unique(units, return_inverse=True)[1]
    return candidates[chosen(losses, units, [candidate.name for candidate in candidates])]


def learned_metric(
    search: MetricLearnerCV, Xs: Any, ys: Any, groups: Any = None
) -> tuple[MetricLearner, str]:
    """The same, learned from the samples of the search, and its name and strength."""
    method = best_metric(search, groups)
    metric: MetricLearner = copy(method.learner).fit(Xs, ys, groups=groups)
    return metric, str(method)
