"""What is drawn of a recording: its values in the metric, or as they were measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.fitted import feature_names, measured, standardized
from structsvm.learner import MetricLearner
from structsvm.report import feature_weights, heaviest_directions

__all__ = ["traces"]

Floats = NDArray[np.float64]


def traces(learner: MetricLearner, X: Any, show: str, n: int) -> tuple[list[str], Floats]:
    """Names and values, (n, T), of what is drawn of a recording."""
    names = feature_names(learner)
    if show == "features":
        top = np.argsort(-feature_weights(learner), kind="stable")[:n]
        return [names[j] for j in top], measured(learner, [X])[0].T[top]
    if show != "components":
        raise SettingsError(f"show must be 'components' or 'features', got {show!r}")
    titles, directions = heaviest_directions(learner, n)
    return titles, np.asarray(standardized(learner, [X])[0] @ directions.T).T
