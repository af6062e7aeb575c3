"""Fitted transformers as plain values and arrays, for model files that nothing in can run.

A stage is stored as its name, its parameters and what it learned. Classifiers and transformers of
scikit-learn are stored where what they learned is arrays and plain values and nothing else, which
is looked up in a list: a file can name no other class. Gradient boosting and forests keep objects,
of which the trees are stored as arrays (:mod:`structsvm.features.trees`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from structsvm.errors import ModelFileError
from structsvm.features.boundaries import BoundaryScores, Surroundings
from structsvm.features.components import Components
from structsvm.features.compose import Chain, Rows, Union
from structsvm.features.context import Columns, Lags, MovingStatistics
from structsvm.features.foreign import OfWindows, Series
from structsvm.features.frames import FrameModel, FrameModels
from structsvm.features.moments import HermiteMoments
from structsvm.features.regions import Deviations, RegionScores
from structsvm.features.scores import StateScores
from structsvm.features.trees import BoostedTrees, Forest
from structsvm.partitions.samples import Standardizer

Arrays = dict[str, NDArray[Any]]

STAGES: dict[str, type] = {
    stage.__name__: stage
    for stage in (
        *(BoundaryScores, Chain, Columns, Components, Deviations, HermiteMoments, Lags),
        *(MovingStatistics, OfWindows, RegionScores, Rows, Series, StateScores, Surroundings),
        Union,
    )
}

NOTHING: Mapping[str, type] = MappingProxyType({})

VALUES: dict[str, type] = {
    value.__name__: value for value in (FrameModel, FrameModels, Standardizer)
}

STORED_TREES: dict[str, tuple[str, str, Any]] = {
    "ExtraTreesClassifier": ("sklearn.ensemble", "estimators_", Forest),
    "HistGradientBoostingClassifier": ("sklearn.ensemble", "_predictors", BoostedTrees),
    "RandomForestClassifier": ("sklearn.ensemble", "estimators_", Forest),
}
"""Classifiers that keep trees: their module, where, and what these are stored as."""

STORED_ESTIMATORS = {
    "GaussianNB": "sklearn.naive_bayes",
    "LinearDiscriminantAnalysis": "sklearn.discriminant_analysis",
    "LogisticRegression": "sklearn.linear_model",
    "NearestCentroid": "sklearn.neighbors",
    "MinMaxScaler": "sklearn.preprocessing",
    "Nystroem": "sklearn.kernel_approximation",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "PolynomialFeatures": "sklearn.preprocessing",
    "QuadraticDiscriminantAnalysis": "sklearn.discriminant_analysis",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
}
"""Estimators of scikit-learn whose fitted state is arrays and plain values, and their modules."""


def to_plain(stage: BaseEstimator, more: Mapping[str, type] = NOTHING) -> tuple[Any, Arrays]:
    """A fitted transformer as what JSON can hold, and the arrays that it names.

    Parameters
    ----------
    stage : transformer, or an instance of one of the others that are listed
    more : mapping of classes by name
        What else is listed: estimators whose attributes are plain values, arrays and transformers.

    Raises
    ------
    ModelFileError
        When it holds something that is no plain value, such as a function, saying which and the
        way out.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.features import Lags
    >>> from structsvm.features.stored import from_plain, to_plain
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> header, arrays = to_plain(Lags(lags=(-1, 0)).fit([X]))
    >>> from_plain(header, arrays).transform([X])[0].shape
    (3, 4)
    """
    writer = _Writer(STAGES | dict(more))
    return writer.write(stage, type(stage).__name__), writer.arrays


def from_plain(
    header: Any, arrays: Mapping[str, NDArray[Any]], more: Mapping[str, type] = NOTHING
) -> Any:
    """The transformer that :func:`to_plain` has written; ``more`` as it was there.

    Raises
    ------
    ModelFileError
        When the header is damaged or names a class that is not in the list.
    """
    try:
        return _Reader(arrays, STAGES | dict(more) | _TREES).read(header)
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"the stored features are damaged: {error!r}") from error


class _Writer:
    """Collects arrays on the way down."""

    def __init__(self, stages: Mapping[str, type]) -> None:
        self.stages = stages
        self.arrays: Arrays = {}

    def write(self, value: Any, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.write(item, where) for item in value]}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value, where)}
        return self._object(value, where)

    def _array(self, value: NDArray[Any], where: str) -> str:
        if value.dtype == object:
            if not all(isinstance(item, str) for item in value.ravel()):
                raise ModelFileError(f"{where} is an array of objects, which a file cannot hold")
            value = value.astype(str)
        name = f"features_{len(self.arrays)}"
        self.arrays[name] = value
        return name

    def _object(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if type(value) is self.stages.get(name) or type(value) is _TREES.get(name):
            return {"stage": name, **self._parts(value, where)}
        if type(value) is VALUES.get(name):
            return {"value": name, "fields": self._mapping(vars(value), where)}
        if isinstance(value, BaseEstimator) and type(value).__module__.startswith("sklearn."):
            if name in STORED_TREES:
                _, trees, stored = STORED_TREES[name]
                if hasattr(value, trees):
                    return self.write(stored.of(value), where)
                return {"sklearn": name, "params": self._params(value, where), "state": {}}
            if name in STORED_ESTIMATORS:
                return {"sklearn": name, **self._parts(value, where)}
        raise ModelFileError(
            f"{where} is {value!r}, which a model file cannot hold: use one of "
            f"{sorted([*STORED_ESTIMATORS, *STORED_TREES])}"
        )

    def _parts(self, value: Any, where: str) -> dict[str, Any]:
        state = {k: v for k, v in vars(value).items() if k not in _given(value)}
        return {
            "params": self._params(value, where),
            "state": self._mapping(state, where),
        }

    def _params(self, value: Any, where: str) -> Any:
        """Parameters that are not the default: those that are may be unknown to other versions."""
        given, usual = _given(value), _defaults(type(value))
        changed = {k: v for k, v in given.items() if k not in usual or not _same(v, usual[k])}
        return self._mapping(changed, where)

    def _mapping(self, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        return {name: self.write(item, f"{where}.{name}") for name, item in values.items()}


class _Reader:
    """Puts the arrays back on the way down."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], stages: Mapping[str, type]) -> None:
        self.arrays = arrays
        self.stages = stages

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        readers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "array": lambda v: self.arrays[v["array"]],
            "float": lambda v: float(v["float"]),
            "list": lambda v: [self.read(item) for item in v["list"]],
            "tuple": lambda v: tuple(self.read(item) for item in v["tuple"]),
            "stage": lambda v: self._estimator(_listed(self.stages, v["stage"]), v),
            "value": lambda v: _listed(VALUES, v["value"])(**self._mapping(v["fields"])),
            "sklearn": lambda v: self._estimator(_of_sklearn(v["sklearn"]), v),
        }
        kinds = sorted(readers.keys() & value.keys())
        if len(kinds) != 1:
            raise ModelFileError(f"the stored features are damaged: {sorted(value)}")
        return readers[kinds[0]](value)

    def _mapping(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.read(item) for name, item in values.items()}

    def _estimator(self, kind: type, stored: Mapping[str, Any]) -> Any:
        params, state = self._mapping(stored["params"]), self._mapping(stored["state"])
        found = kind(*params["stages"]) if "stages" in params else kind(**params)
        for name, value in state.items():
            if not name.isidentifier() or name.startswith("__") or name in _given(found):
                raise ModelFileError(f"the stored features are damaged: {name!r}")
            vars(found)[name] = value
        return found


_TREES: dict[str, type] = {kind.__name__: kind for kind in (BoostedTrees, Forest)}


def _given(value: Any) -> dict[str, Any]:
    """The parameters of an estimator; of a union or a chain the tuple of its stages."""
    if isinstance(value, Union | Chain):
        return {"stages": value.stages}
    return dict(value.get_params(deep=False))


def _defaults(kind: type) -> dict[str, Any]:
    plain = (Union, Chain, OfWindows, Rows, Series, *_TREES.values())
    if kind in plain or kind.__name__ == "Pipeline":
        return {}
    return dict(kind().get_params(deep=False))


def _same(one: Any, other: Any) -> bool:
    return one is other or (
        type(one) is type(other)
        and isinstance(one, bool | int | float | str | tuple)
        and bool(one == other)
    )


def _of_sklearn(name: str) -> type:
    modules = STORED_ESTIMATORS | {kind: module for kind, (module, *_) in STORED_TREES.items()}
    found: type = getattr(import_module(_listed(modules, name)), name)
    return found


def _listed(listed: Mapping[str, Any], name: Any) -> Any:
    if name not in listed:
        raise ModelFileError(
            f"the stored features name {name!r}, which this version of structsvm does not know"
        )
    return listed[name]
