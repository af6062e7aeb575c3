"""Fitted transformers as plain values and arrays, for model files that nothing in can run.

A stage is stored as its name, its parameters and what it learned. Classifiers and transformers of
scikit-learn are stored where what they learned is arrays and plain values and nothing else, which
is looked up in a list: a file can name no other class. Gradient boosting and forests keep objects,
of which the trees are stored as arrays (:mod:`structsvm.features.trees`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from structsvm.data.samples import Standardizer
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
from structsvm.storage.codec import Arrays, Codec, lost_in

STAGES: dict[str, type] = {
    stage.__name__: stage
    for stage in (
        *(BoundaryScores, Chain, Columns, Components, Deviations, HermiteMoments, Lags),
        *(MovingStatistics, OfWindows, RegionScores, Rows, Series, StateScores, Surroundings),
        Union,
    )
}

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


def stage_codec(classes: Mapping[str, type], more: Mapping[str, type]) -> Codec:
    stages = STAGES | _TREES | dict(more)
    return Codec(VALUES | dict(classes), partial(_apart, stages), partial(_together, stages))


def pack_stage(codec: Codec, stage: BaseEstimator | None, arrays: Arrays) -> Any:
    """An estimator as JSON has it, all of it; its arrays go into ``arrays``."""
    own = dict(arrays)
    plain = codec.pack(stage, own)
    lost = lost_in(plain, type(stage).__name__)
    if lost is not None:
        raise ModelFileError(
            f"{lost}, which a model file cannot hold: use one of "
            f"{sorted([*STORED_ESTIMATORS, *STORED_TREES])}"
        )
    arrays |= own
    return plain


def unpack_stage(codec: Codec, plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of :func:`pack_stage`."""
    try:
        return codec.unpack(plain, arrays)
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"the stored features are damaged: {error!r}") from error


def _apart(stages: Mapping[str, type], value: Any) -> dict[str, Any] | None:
    name = type(value).__name__
    if type(value) is stages.get(name):
        return {"stage": name, "params": _changed(value), "state": _learned(value)}
    if not isinstance(value, BaseEstimator) or not type(value).__module__.startswith("sklearn."):
        return None
    if name in STORED_TREES:
        _, trees, stored = STORED_TREES[name]
        if hasattr(value, trees):
            return _apart(stages, stored.of(value))
        return {"sklearn": name, "params": _changed(value), "state": {}}
    if name not in STORED_ESTIMATORS:
        return None
    return {"sklearn": name, "params": _changed(value), "state": _learned(value)}


def _together(stages: Mapping[str, type], parts: Mapping[str, Any]) -> Any:
    kind = _listed(stages, parts["stage"]) if "stage" in parts else _of_sklearn(parts["sklearn"])
    params = parts["params"]
    found = kind(*params["stages"]) if "stages" in params else kind(**params)
    for name, value in parts["state"].items():
        if not name.isidentifier() or name.startswith("__") or name in _given(found):
            raise ModelFileError(f"the stored features are damaged: {name!r}")
        vars(found)[name] = value
    return found


def _changed(value: Any) -> dict[str, Any]:
    """Parameters that are not the default: those that are may be unknown to other versions."""
    given, usual = _given(value), _defaults(type(value))
    return {k: v for k, v in given.items() if k not in usual or not _same(v, usual[k])}


def _learned(value: Any) -> dict[str, Any]:
    return {k: v for k, v in vars(value).items() if k not in _given(value)}


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
