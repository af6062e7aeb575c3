"""A fitted learner as what other libraries take: costs, distances, breakpoints, frames, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from structsvm.data.samples import full_labels
from structsvm.errors import SettingsError
from structsvm.learner.learner import MetricLearner
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.storage.archive import npz
from structsvm.storage.atomic import write_atomically
from structsvm.support.arrays import Ints
from structsvm.support.checks import refuse_unlisted
from structsvm.support.lazy import require
from structsvm.support.plain import cell
from structsvm.support.tables import data_frame

if TYPE_CHECKING:
    from structsvm.interop.detectors import MetricCost, MetricDetector


def ruptures_cost(learner: MetricLearner) -> MetricCost:
    """Return a ``ruptures`` cost: a ``CostMl`` of the metric that standardises as the learner does.

    ``Dynp(custom_cost=cost, min_size=1, jump=1).fit(X).predict(n_bkps=K - 1)`` equals
    ``learner.predict_breakpoints(X, K)``. Problems with rules on segments, and masked values,
    are refused, because ruptures would find other segments.

    Examples
    --------
    >>> from ruptures import Dynp
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import ruptures_cost
    >>> from structsvm.io import arrays_and_labels
    >>> X, y = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(X, y)
    >>> search = Dynp(custom_cost=ruptures_cost(learner), min_size=1, jump=1)
    >>> search.fit(X[0]).predict(n_bkps=4) == learner.predict_breakpoints(X[:1], 5)[0]
    True
    """
    require("ruptures", "ruptures", "a cost of ruptures")
    from structsvm.interop.detectors import MetricCost

    check_is_fitted(learner)
    return MetricCost(learner)


def ruptures_detector(learner: MetricLearner) -> MetricDetector:
    """Return a ``ruptures`` estimator: ``KernelCPD`` on the transformed signal.

    ``ruptures_detector(learner).fit(X).predict()`` equals ``learner.predict_breakpoints(X)``;
    ``predict`` takes ``n_bkps`` or ``pen`` as in ruptures. It refuses the same cases as
    :func:`ruptures_cost`.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import ruptures_detector
    >>> from structsvm.io import arrays_and_labels
    >>> X, y = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(X, y)
    >>> ruptures_detector(learner).fit(X[0]).predict() == learner.predict_breakpoints(X[:1])[0]
    True
    """
    require("ruptures", "ruptures", "a detector of ruptures")
    from structsvm.interop.detectors import MetricDetector

    check_is_fitted(learner)
    return MetricDetector(learner)


def distance_function(learner: MetricLearner) -> Callable[..., float]:
    """Return a function of two standardised points (P,), which is their distance in the metric.

    It takes ``squared=True`` as in metric-learn, and can be given to scikit-learn as ``metric=``.
    It does not change when the learner is fitted again.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import distance_function, prepare
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=2, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> points = prepare(learner, Xs)[0].X
    >>> distance_function(learner)(points[0], points[0])
    0.0
    """
    check_is_fitted(learner)
    factor = learner.metric_.factor.copy()

    def distance(u: Any, v: Any, squared: bool = False) -> float:
        difference = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
        projected = difference @ factor
        square = float(projected @ projected)
        return square if squared else float(np.sqrt(square))

    return distance


# ---- labels of samples, and breakpoints: sorted segment ends, the last being T, as in ruptures


def labels_to_breakpoints(labels: ArrayLike) -> list[int]:
    """Return the segment ends of a vector of labels (T,): where the label changes, and T.

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


# ---- the metric with names of features: as a data frame, or in a file that anything can read


FORMATS = (".csv", ".npz")


def metric_frame(learner: MetricLearner, container: str = "pandas") -> Any:
    """Return ``B``, (P, P), as a data frame with the names of the features.

    Parameters
    ----------
    container : {"pandas", "polars"}
        A pandas frame has the names on both axes, a polars frame in its first column "feature".

    Raises
    ------
    SettingsError
        For another container.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> from structsvm.interop import metric_frame
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> metric_frame(learner).shape
    (4, 4)
    """
    names, B = learner.metric_feature_names_, learner.get_mahalanobis_matrix()
    refuse_unlisted("container", container, ("pandas", "polars"))
    if container == "pandas":
        return data_frame("pandas", B, names, names)
    polars = require("polars", "polars", "a polars frame")
    return data_frame("polars", B, names).insert_column(0, polars.Series("feature", names))


def export_metric(learner: MetricLearner, path: str | PathLike[str], what: str = "metric") -> None:
    """Write the metric into a ``.csv`` or ``.npz`` file.

    Parameters
    ----------
    learner : MetricLearner
        Fitted.
    path : str or Path
        ``.csv``: a table with the names of the features in the first row and, for "metric", in the
        first column. ``.npz``: arrays ``metric`` (P, P), ``components`` (rank, P), ``penalty``,
        ``features`` (P,) and, if features are scaled as on the training set, their ``mean`` and
        ``scale`` (P,): ``((X - mean) * scale) @ components.T`` is ``transform(X)``.
    what : {"metric", "components"}
        ``B``, or ``L^T`` with ``B = L L^T``; an ``.npz`` file holds both.

    Raises
    ------
    SettingsError
        If ``what`` is neither of the two, or the name of the file has another ending.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm import MetricLearner
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.interop import export_metric
    >>> from structsvm.io import arrays_and_labels
    >>> Xs, ys = arrays_and_labels(relevant_changes(4, n_samples=200, n_features=4, n_relevant=1))
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_metric(learner, Path(folder) / "metric.csv")
    ...     print((Path(folder) / "metric.csv").read_text().splitlines()[0])
    feature,x0,x1,x2,x3
    """
    file = Path(path)
    refuse_unlisted("what", what, ("metric", "components"))
    if file.suffix.lower() not in FORMATS:
        raise SettingsError(f"{file}: the name must end with one of {', '.join(FORMATS)}")
    content = _npz(learner) if file.suffix.lower() == ".npz" else _csv(learner, what)
    write_atomically(file, content)


def _npz(learner: MetricLearner) -> bytes:
    arrays = {
        "metric": learner.get_mahalanobis_matrix(),
        "components": learner.metric_.factor.T,
        "penalty": np.asarray(learner.metric_.price),
        "features": np.asarray(learner.metric_feature_names_),
    }
    scaling = learner.inputs_.standardizer
    if scaling.mean is not None and scaling.scale is not None:
        arrays |= {"mean": scaling.mean, "scale": scaling.scale}
    return npz(arrays)


def _csv(learner: MetricLearner, what: str) -> bytes:
    names = learner.metric_feature_names_
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if what == "metric":
        writer.writerow(["feature", *map(cell, names)])
        rows = zip(names, learner.get_mahalanobis_matrix().tolist(), strict=True)
        writer.writerows([cell(name), *row] for name, row in rows)
    else:
        writer.writerow(map(cell, names))
        writer.writerows(learner.metric_.factor.T.tolist())
    return buffer.getvalue().encode()
