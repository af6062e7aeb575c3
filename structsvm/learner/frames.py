"""Data frames out: the transformed recordings and the metric, with names."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from structsvm.errors import SettingsError
from structsvm.fitted import Fitted, feature_names, get_mahalanobis_matrix, standardized
from structsvm.support.checks import among
from structsvm.support.extras import require

__all__ = ["get_feature_names_out", "metric_frame", "set_output", "transform"]

Floats = NDArray[np.float64]
Learner = TypeVar("Learner", bound=Fitted)

CONTAINERS = ("default", "pandas", "polars")


def transform(learner: Fitted, Xs: Any) -> Any:
    """Recordings in the metric, (T_i, rank): plain Euclidean methods then see ``B``.

    A list for a list, one array for one array; arrays or data frames as :meth:`set_output`, or
    ``sklearn.set_config(transform_output=...)``, has it.
    """
    single = (isinstance(Xs, np.ndarray) and Xs.ndim == 2) or hasattr(Xs, "columns")
    transformed = [Z @ learner.components_.T for Z in standardized(learner, Xs)]
    kind = _container(learner)
    if kind != "default":
        originals = [Xs] if single else list(Xs)
        names = list(get_feature_names_out(learner))
        pairs = zip(transformed, originals, strict=True)
        transformed = [_frame(kind, Z, names, getattr(X, "index", None)) for Z, X in pairs]
    return transformed[0] if single else transformed


def set_output(learner: Learner, *, transform: str | None = None) -> Learner:
    """Choose what :meth:`transform` returns, as in scikit-learn.

    Parameters
    ----------
    transform : {"default", "pandas", "polars"}, optional
        None leaves the choice as it is. A pandas frame keeps the index of the one that came in.
    """
    if transform is not None:
        if not among(transform, CONTAINERS):
            raise SettingsError(f"transform must be one of {CONTAINERS}, got {transform!r}")
        # The attribute that sklearn.clone takes along.
        vars(learner)["_sklearn_output_config"] = {"transform": transform}
    return learner


def get_feature_names_out(
    learner: Fitted,
    input_features: Any = None,  # noqa: ARG001 (scikit-learn hands it over)
) -> NDArray[Any]:
    """Names of the columns of :meth:`transform`: that of a feature where it stands alone, (rank,).

    Parameters
    ----------
    input_features : ignored
        The names are those the recordings had.
    """
    inputs = feature_names(learner)
    names = []
    for number, direction in enumerate(learner.components_):
        inside = np.flatnonzero(direction)
        names.append(inputs[inside[0]] if inside.size == 1 else f"metric{number}")
    return np.asarray(names, dtype=object)


def metric_frame(learner: Fitted, container: str = "pandas") -> Any:
    """``B`` as a data frame with the names of the features.

    Parameters
    ----------
    container : {"pandas", "polars"}
        A pandas frame has the names on both axes, a polars frame in its first column "feature".
    """
    names, B = feature_names(learner), get_mahalanobis_matrix(learner)
    if container == "pandas":
        return _frame("pandas", B, names, names)
    if container != "polars":
        raise SettingsError(f"container must be 'pandas' or 'polars', got {container!r}")
    polars = require("polars", "polars", "a polars frame")
    return _frame("polars", B, names, None).insert_column(0, polars.Series("feature", names))


def _container(learner: Fitted) -> str:
    own = getattr(learner, "_sklearn_output_config", {})
    return str(own.get("transform", get_config()["transform_output"]))


def _frame(kind: str, values: Floats, names: list[str], index: Any) -> Any:
    if kind == "pandas":
        pandas = require("pandas", "files", "a pandas frame")
        return pandas.DataFrame(values, columns=names, index=index)
    polars = require("polars", "polars", "a polars frame")
    return polars.DataFrame(values, schema=names, orient="row")
