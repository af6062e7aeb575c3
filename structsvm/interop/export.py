"""The metric with names of features: as a data frame, or in a file that anything can read."""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.errors import SettingsError
from structsvm.learner.learner import MetricLearner
from structsvm.storage.atomic import write_atomically
from structsvm.storage.npz import npz
from structsvm.support.checks import refuse_unlisted
from structsvm.support.extras import require
from structsvm.support.frames import data_frame
from structsvm.support.plain import cell

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
