"""The metric as a data frame, with names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structsvm.errors import SettingsError
from structsvm.support.extras import require
from structsvm.support.frames import data_frame

if TYPE_CHECKING:
    from structsvm.learner.learner import MetricLearner


def metric_frame(learner: MetricLearner, container: str = "pandas") -> Any:
    """Return ``B``, (P, P), as a data frame with the names of the features.

    Parameters
    ----------
    container : {"pandas", "polars"}
        A pandas frame has the names on both axes, a polars frame in its first column "feature".

    Raises
    ------
    SettingsError
        For any other container.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.interop import metric_frame
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> metric_frame(learner).shape
    (4, 4)
    """
    names, B = learner.metric_feature_names_, learner.get_mahalanobis_matrix()
    if container == "pandas":
        return data_frame("pandas", B, names, names)
    if container != "polars":
        raise SettingsError(f"container must be 'pandas' or 'polars', got {container!r}")
    polars = require("polars", "polars", "a polars frame")
    return data_frame("polars", B, names).insert_column(0, polars.Series("feature", names))
