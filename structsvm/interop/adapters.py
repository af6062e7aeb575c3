"""A fitted learner as what other libraries take: costs, distances, breakpoints, frames, files."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import full_labels
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.storage.archive import npz
from structsvm.storage.atomic import write_atomically
from structsvm.support.arrays import Ints
from structsvm.support.checks import ending_of
from structsvm.support.plain import csv_text
from structsvm.support.tables import data_frame


def distance_function(learner: MetricLearner) -> Callable[..., float]:
    """Return a function of two standardised points (P,), which is their distance in the metric.

    It takes ``squared=True`` as in metric-learn, and can be given to scikit-learn as ``metric=``.
    It does not change when the learner is fitted again.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import distance_function
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> distance = distance_function(MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2))
    >>> distance([0.0, 1.0], [0.0, 1.0])
    0.0
    """
    check_is_fitted(learner)
    factor = learner.metric_.factor.copy()

    def distance(u: Any, v: Any, squared: bool = False) -> float:
        projected = np.subtract(u, v, dtype=np.float64) @ factor
        square = float(projected @ projected)
        return square if squared else float(np.sqrt(square))

    return distance


def labels_to_breakpoints(labels: ArrayLike) -> list[int]:
    """Return the sorted segment ends of labels (T,): where the label changes, and T.

    Raises
    ------
    DataError
        If the labels are no vector, or an empty one, or some are missing.

    Examples
    --------
    >>> from structsvm.interop import labels_to_breakpoints
    >>> labels_to_breakpoints(["rest", "rest", "walk", "rest"])
    [2, 3, 4]
    """
    values = full_labels(labels)
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return [*map(int, changes), values.size]


def breakpoints_to_labels(breakpoints: ArrayLike) -> Ints:
    """Return the number of the segment of each sample, from 0, (T,).

    Examples
    --------
    >>> from structsvm.interop import breakpoints_to_labels
    >>> breakpoints_to_labels([2, 5]).tolist()
    [0, 0, 1, 1, 1]
    """
    labels = EquivalenceMatrix.from_breakpoints(breakpoints).labels
    assert labels is not None
    return np.array(labels)


def metric_frame(learner: MetricLearner) -> Any:
    """Return ``B``, (P, P), as a pandas frame with the names of the features on both axes.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import metric_frame
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> metric_frame(MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2)).shape
    (2, 2)
    """
    names = learner.metric_feature_names_
    return data_frame("pandas", learner.get_mahalanobis_matrix(), names, names)


def export_metric(learner: MetricLearner, path: str | PathLike[str]) -> None:
    """Write the metric into a ``.csv`` or ``.npz`` file.

    A ``.csv`` file is a table of ``B`` with the names of the features in the first row and column.
    A ``.npz`` file has arrays ``metric`` (P, P), ``components`` (rank, P), ``penalty``,
    ``features`` (P,) and, if features are scaled as on the training set, their ``mean`` and
    ``scale`` (P,): ``((X - mean) * scale) @ components.T`` is ``transform(X)``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import export_metric
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> learner = MetricLearner(metric="diagonal").fit([X, -X], [[20, 40]] * 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_metric(learner, Path(folder) / "metric.csv")
    ...     print((Path(folder) / "metric.csv").read_text().splitlines()[0])
    feature,x0,x1
    """
    names, B = learner.metric_feature_names_, learner.get_mahalanobis_matrix()
    if ending_of(path, (".csv", ".npz")) == ".csv":
        rows = [[name, *row] for name, row in zip(names, B.tolist(), strict=True)]
        write_atomically(path, csv_text(["feature", *names], rows).encode())
        return
    arrays = {
        "metric": B,
        "components": learner.metric_.factor.T,
        "penalty": np.asarray(learner.metric_.price),
        "features": np.asarray(names),
    }
    scaling = learner.inputs_.standardizer
    if scaling.mean is not None and scaling.scale is not None:
        arrays |= {"mean": scaling.mean, "scale": scaling.scale}
    write_atomically(path, npz(arrays))
