"""What is drawn of a recording: its values in the metric, or as they were measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import SettingsError
from structsvm.fitted import feature_names, measured, standardized
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.report import feature_weights, heaviest_directions

__all__ = ["check_drawable", "traces"]

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


def check_drawable(learner: MetricLearner | CutLearner, picture: str, *, in_order: bool) -> None:
    """Refuse a learner of whose samples the picture cannot be drawn.

    Parameters
    ----------
    learner : MetricLearner or CutLearner
        Fitted.
    picture : str
        The name of the function that draws.
    in_order : bool
        Whether the picture shows one segment after the other.

    Raises
    ------
    SettingsError
        Naming the picture that can be drawn.
    """
    check_is_fitted(learner)
    if isinstance(learner, CutLearner):
        raise SettingsError(
            f"{picture} draws recordings and tables: plot_cut draws an image with its parts"
        )
    if in_order and not learner.problem_.contiguous:
        words = learner.problem_.words
        raise SettingsError(
            f"{picture} draws one segment after the other, and {type(learner.problem_).__name__} "
            f"gives {words.part}s without such an order: plot_clusters draws a {words.whole}"
        )
