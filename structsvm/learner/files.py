"""Model files: arrays and a JSON header in one .npz file, with nothing in it that could run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structsvm.baselines.boundary_classifier import BoundaryClassifier
from structsvm.baselines.equal_segments import EqualSegments
from structsvm.baselines.frame_classifier import FrameClassifier
from structsvm.baselines.region_classifier import RegionClassifier
from structsvm.baselines.row_classifier import RowClassifier
from structsvm.data.samples import STANDARDIZE, Standardizer
from structsvm.data.words import Words
from structsvm.errors import DataWarning, ModelFileError, PluginError, SettingsError, warn
from structsvm.features.stored import pack_stage, stage_codec, unpack_stage
from structsvm.graphs.images import GraphOfImage
from structsvm.learner.baselines import MetricBaseline, estimators_in, metrics_in
from structsvm.learner.consensus import MetricBeside
from structsvm.learner.inputs import Inputs
from structsvm.learner.learner import OPTIONAL, MetricLearner
from structsvm.learner.stored_support import pack_support, unpack_support
from structsvm.learner.structured import StructuredSVM
from structsvm.learner.training_summary import TrainingSummary
from structsvm.masters.auto import AutoMaster
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.interior import InteriorPointMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.parallel import Auto, Processes, Serial, Threads
from structsvm.partitions.margins import MarginRates
from structsvm.partitions.metric import Calibration, Metric
from structsvm.plugins import problem_class, problem_name, setting_groups, structured_problem_class
from structsvm.regularizers import SquaredNorm, Trace
from structsvm.solution import History, HistoryEntry, Solution
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.solvers.subgradient import ProjectedSubgradient
from structsvm.status import Status
from structsvm.storage.archive import Archive
from structsvm.storage.codec import Codec, lost_in
from structsvm.support.settings import settings_in
from structsvm.support.typed import refuse_other_types

MODEL = Archive("model", 3, ModelFileError)
LIBRARIES = ("structsvm-partitioning", "numpy", "scipy", "scikit-learn", "cvxpy")
VALUES = (
    *(AutoMaster, CvxpyMaster, InteriorPointMaster, NewtonMaster),
    *(CCCP, BlockFrankWolfe, CuttingPlane, ProjectedSubgradient, QuasiNewton, Stopping),
    *(SquaredNorm, Trace, GraphOfImage),
    *(Auto, Processes, Serial, Threads),
    *(Calibration, History, HistoryEntry, Inputs, Metric, Solution, Standardizer, Status),
    *(MarginRates, TrainingSummary, Words),
)
"""Classes of plain values that a model holds."""
BASELINES = (BoundaryClassifier, EqualSegments, FrameClassifier, RegionClassifier, RowClassifier)
"""Baselines that a model holds: what they have learned is what the codec of stages can write."""

FITTED: dict[str, Any] = {
    "metric_": Metric,
    "calibration_": Calibration,
    "solution_": Solution,
    "certified_upper_": int | float,
    "baselines_": dict,
    "inputs_": Inputs,
    "whitening_": np.ndarray | None,
    "training_data_": TrainingSummary,
    "n_features_in_": int,
    "n_iter_": int,
    "converged_": bool,
    "question_": str | None,
}
"""What a fitted learner has; the completions of partial labels are not stored."""

FITTED_STRUCTURED = ("solution_", "n_iter_", "converged_")
"""What every fitted :class:`StructuredSVM` has, apart from its problem."""


def save(learner: MetricLearner | StructuredSVM, path: str | PathLike[str]) -> None:
    """Write a fitted learner into one file, usually called ``*.structsvm``.

    The file holds arrays and JSON, and no pickle, so that loading an untrusted file runs no code.
    Functions among the settings (a custom regularizer, constraints) are not stored: the loaded
    learner predicts the same, and names what it needs before it can learn again. An existing file
    is replaced as a whole or not at all.

    Raises
    ------
    NotFittedError
        When the learner has not learned yet.
    SettingsError
        If it is not a MetricLearner or StructuredSVM; derived classes are refused.
    PluginError
        If the problem has no entry point by which a file can name it, or a setting that cannot be
        stored.
    ModelFileError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm import MetricLearner, load, save
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(learner, Path(folder) / "walks.structsvm")
    ...     again = load(Path(folder) / "walks.structsvm")
    >>> again.predict_breakpoints(Xs) == learner.predict_breakpoints(Xs)
    True
    """
    if not isinstance(learner, MetricLearner | StructuredSVM):
        raise SettingsError(
            f"save takes a MetricLearner or a StructuredSVM, got {type(learner).__name__}"
            + (": give its best_estimator_" if hasattr(learner, "best_estimator_") else "")
        )
    if not isinstance(path, str | PathLike):
        raise SettingsError(f"path must be that of a file, got {path!r}")
    if type(learner) not in (MetricLearner, StructuredSVM):
        base = StructuredSVM if isinstance(learner, StructuredSVM) else MetricLearner
        raise SettingsError(
            f"a model file names no class: {type(learner).__name__} would come back as a "
            f"{base.__name__}, without what it changes; joblib.dump(learner, path) keeps the class"
        )
    check_is_fitted(learner)
    arrays: dict[str, Any] = {}
    describe = _described_svm if isinstance(learner, StructuredSVM) else _described
    header = {"libraries": {"python": python_version(), **_installed()}}
    MODEL.write(path, header | describe(learner, arrays), arrays)


def _described(learner: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    codec = _codec(type(learner.problem_))
    features = {"given": learner.features, "fitted": learner.inputs_.features}
    fitted = {name: getattr(learner, name) for name in FITTED}
    fitted["inputs_"] = replace(learner.inputs_, features=None)
    fitted["baselines_"] = {k: one.bare for k, one in metrics_in(learner.baselines_).items()}
    fitted["solution_"] = replace(learner.solution_, support=None)
    names = getattr(learner, "feature_names_in_", None)
    return {
        "problem": _described_problem(codec, learner.problem_, arrays),
        "parameters": _parameters(codec, learner, arrays, ("problem", "features")),
        "features": None if names is None else [str(name) for name in names],
        "output": getattr(learner, "_sklearn_output_config", {}).get("transform"),
        **{name: codec.pack(getattr(learner, name, None), arrays) for name in OPTIONAL},
        "fitted": {k: codec.pack(v, arrays) for k, v in fitted.items()},
        "support": pack_support(learner.solution_.support, arrays),
        "feature_stages": {k: pack_stage(codec, v, arrays) for k, v in features.items()},
        **_pack_baselines(codec, learner, arrays),
    }


def _described_svm(learner: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    codec = _codec(type(learner.problem_))
    named = [("given", learner.problem), ("sized", learner.problem_)]
    names = getattr(learner, "feature_names_in_", None)
    fitted = {name: getattr(learner, name) for name in FITTED_STRUCTURED}
    # A labelling may be of any type: a file could not give it back.
    fitted["solution_"] = replace(learner.solution_, support=None)
    return {
        "estimator": "StructuredSVM",
        "problems": {name: _described_problem(codec, problem, arrays) for name, problem in named},
        "parameters": _parameters(codec, learner, arrays, ("problem",)),
        "features": None if names is None else [str(name) for name in names],
        "n_features": getattr(learner, "n_features_in_", None),
        "fitted": {k: codec.pack(v, arrays) for k, v in fitted.items()},
    }


def _parameters(
    codec: Codec, learner: Any, arrays: dict[str, Any], apart: Sequence[str]
) -> dict[str, Any]:
    """The parameters of an estimator, but for those that are written apart from them."""
    given = learner.get_params(deep=False)
    return {name: _parameter(codec, v, arrays) for name, v in given.items() if name not in apart}


def _parameter(codec: Codec, value: Any, arrays: dict[str, Any]) -> Any:
    """A parameter, which is lost as a whole where a part of it is: no rest would be of use."""
    own = dict(arrays)
    packed = codec.pack(value, own)
    if lost_in(packed) is None:
        arrays |= own
        return packed
    return packed if "unstored" in packed else {"unstored": repr(value)}


@refuse_other_types
def load(path: str | PathLike[str], *, max_bytes: int | None = None) -> Any:
    """Read a fitted :class:`MetricLearner` or :class:`StructuredSVM` that :func:`save` wrote.

    Parameters
    ----------
    path : path
    max_bytes : int, optional
        Largest size of the arrays in memory, which is checked before they are read. The default is
        ``$STRUCTSVM_MAX_BYTES``, or else the larger of 256 MiB and 100 times the size of the file.

    Raises
    ------
    ModelFileError
        For a file that is not a model, is too large, is damaged or was changed, or is of another
        format; and for a model of a problem that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm import MetricLearner, load, save
    >>> from structsvm.datasets import relevant_changes
    >>> from structsvm.io import arrays_and_labels
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> learner = MetricLearner(metric="diagonal").fit(*arrays_and_labels(recordings))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(learner, Path(folder) / "walks.structsvm")
    ...     print(load(Path(folder) / "walks.structsvm", max_bytes=10**6).metric)
    diagonal
    """
    header, arrays = MODEL.read(Path(path), max_bytes)
    make = _svm if header.get("estimator") == "StructuredSVM" else _learner
    try:
        return make(header, arrays)
    except PluginError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise ModelFileError(f"{path}: no model of format {MODEL.version}: {error!r}") from error


def load_metric_learner(path: str | PathLike[str]) -> MetricLearner:
    """Read a fitted :class:`MetricLearner`, which is what all commands are about."""
    learner = load(path)
    if not isinstance(learner, MetricLearner):
        raise ModelFileError(
            f"{path}: it holds a {type(learner).__name__} of {type(learner.problem_).__name__}, "
            "and commands are about metrics of partitions: use structsvm.load(path) in Python"
        )
    return learner


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    return MODEL.read(Path(path))[0]


def _codec(problem: type) -> Codec:
    own = {cls.__name__: cls for cls in VALUES} | _inner_classes(problem)
    return stage_codec(own, {cls.__name__: cls for cls in BASELINES})


def _inner_classes(problem: type) -> dict[str, type]:
    """The classes of settings that are dataclasses, and of those inside of them."""
    found: dict[str, type] = {}
    for cls in setting_groups(problem).values():
        if cls not in VALUES:
            found[f"{cls.__module__}.{cls.__qualname__}"] = cls
        found |= _inner_classes(cls)
    return found


def _pack_baselines(codec: Codec, learner: MetricLearner, arrays: dict[str, Any]) -> dict[str, Any]:
    """The baselines as JSON has them; those that no file can hold are left out, with a warning."""
    packed: dict[str, Any] = {}
    for name, baseline in estimators_in(learner.baselines_).items():
        try:
            packed[name] = pack_stage(codec, baseline, arrays)
        except ModelFileError as error:
            warn(
                f"baseline {name} is not stored, so a loaded model lacks it: {error}",
                DataWarning,
            )
    names = learner.consensus_ if packed.keys() >= set(learner.consensus_) else ()
    beside: dict[str, Any] = {}
    try:
        if names:
            metrics = learner.metrics_beside_.items()
            beside = {name: _pack_metric(codec, metric, arrays) for name, metric in metrics}
    except ModelFileError as error:
        warn(f"the consensus is not stored: {error}", DataWarning)
        names = ()
    return {"baselines": packed, "consensus": list(names), "metrics_beside": beside}


def _pack_metric(codec: Codec, beside: MetricBeside, arrays: dict[str, Any]) -> dict[str, Any]:
    """A metric of a consensus, and its stages."""
    return {
        "metric": codec.pack(beside.metric, arrays),
        "inputs": codec.pack(replace(beside.inputs, features=None), arrays),
        "features": pack_stage(codec, beside.inputs.features, arrays),
    }


def _unpack_metric(codec: Codec, plain: Mapping[str, Any], arrays: dict[str, Any]) -> MetricBeside:
    """The inverse."""
    features = unpack_stage(codec, plain["features"], arrays)
    inputs = replace(codec.unpack(plain["inputs"], arrays), features=features)
    return MetricBeside(inputs, codec.unpack(plain["metric"], arrays))


def _described_problem(codec: Codec, problem: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The name of a problem and its settings."""
    settings = _settings(codec, problem, arrays)
    return {"entry_point": problem_name(problem), "settings": settings}


def _settings(codec: Codec, problem: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The settings of a problem; all of them are needed to predict."""
    settings = {}
    for name, value in settings_in(problem).items():
        settings[name] = codec.pack(value, arrays)
        if lost_in(settings[name]) is not None:
            raise PluginError(
                f"problem {problem_name(problem)}: a model file cannot hold the setting "
                f"{name}={value!r}; it can hold numbers, texts, arrays, and tuples, lists, sets "
                "and mappings of them"
            )
    return settings


def _svm(header: dict[str, Any], arrays: dict[str, Any]) -> StructuredSVM:
    given, sized = (
        _problem(structured_problem_class, header["problems"][name], arrays)
        for name in ("given", "sized")
    )
    codec = _codec(type(sized))
    parameters = {k: codec.unpack(v, arrays) for k, v in header["parameters"].items()}
    learner = StructuredSVM(given, **parameters)
    learner.problem_ = sized
    for name in FITTED_STRUCTURED:
        setattr(learner, name, codec.unpack(header["fitted"][name], arrays))
    if header["n_features"] is not None:
        learner.n_features_in_ = int(header["n_features"])
    if header["features"] is not None:
        learner.feature_names_in_ = codec.unpack({"strings": header["features"]}, arrays)
    learner.alternated_ = None  # completions are not stored
    if not isinstance(learner.solution_, Solution):
        raise TypeError("the solution is missing")
    return learner


def _problem(find: Callable[[str], Any], named: Mapping[str, Any], arrays: dict[str, Any]) -> Any:
    """The problem of an entry point, with its settings."""
    cls = find(named["entry_point"])
    codec = _codec(cls)
    return cls(**{k: codec.unpack(v, arrays) for k, v in named["settings"].items()})


def _learner(header: dict[str, Any], arrays: dict[str, Any]) -> MetricLearner:
    problem = _problem(problem_class, header["problem"], arrays)
    codec = _codec(type(problem))
    parameters = {k: codec.unpack(v, arrays) for k, v in header["parameters"].items()}
    stages = {k: unpack_stage(codec, v, arrays) for k, v in header["feature_stages"].items()}
    learner = MetricLearner(problem=problem, features=stages["given"], **parameters)
    learner.set_output(transform=header.get("output"))
    learner.problem_ = problem
    for name in FITTED:
        setattr(learner, name, codec.unpack(header["fitted"][name], arrays))
    learner.inputs_ = replace(learner.inputs_, features=stages["fitted"])
    support = unpack_support(header.get("support"), arrays)
    learner.solution_ = replace(learner.solution_, support=support)
    if header["features"] is not None:
        learner.feature_names_in_ = codec.unpack({"strings": header["features"]}, arrays)
    metrics = {"metric_": learner.metric_, **learner.baselines_}
    _check_metrics(metrics, learner.inputs_, learner)
    learner.baselines_ = {
        name: MetricBaseline.of(metric, problem, learner.inputs_)
        for name, metric in learner.baselines_.items()
    } | {k: unpack_stage(codec, v, arrays) for k, v in header["baselines"].items()}
    learner.consensus_ = tuple(header.get("consensus", ()))  # older files know of none
    beside = header.get("metrics_beside", {})
    learner.metrics_beside_ = {k: _unpack_metric(codec, v, arrays) for k, v in beside.items()}
    for name in OPTIONAL:
        value = codec.unpack(header.get(name), arrays)  # older files lack some
        if value is not None:
            setattr(learner, name, value)
    learner.alternated_ = None  # completions are not stored
    _check_fitted(learner)
    return learner


def _check_fitted(learner: MetricLearner) -> None:
    """Refuse parts that do not fit together; whoever predicts relies on them."""
    for name, kind in FITTED.items():
        if not isinstance(getattr(learner, name), kind):
            raise TypeError(f"{name} is no {kind}")
    if not learner.baselines_.keys() >= set(learner.consensus_):
        raise ValueError(f"a consensus of {learner.consensus_}")
    for name, beside in learner.metrics_beside_.items():
        if not isinstance(beside.inputs, Inputs):
            raise TypeError(f"{name} has no stages")
        _check_metrics({name: beside.metric}, beside.inputs, learner)


def _check_metrics(metrics: Mapping[str, Any], inputs: Inputs, learner: MetricLearner) -> None:
    """Refuse metrics that do not fit to the stages in front of them."""
    P = len(inputs.made) or learner.n_features_in_
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            raise TypeError(f"{name} is no metric")
        factor, price = metric.factor, metric.price
        if factor.ndim != 2 or len(factor) != P or not np.isfinite(factor).all():
            raise ValueError(f"{name} is no metric of {P} features")
        if price is not None and not np.isfinite(price):
            raise ValueError(f"{name} has the price {price}")
    standardizer = inputs.standardizer
    expected = (P,) if standardizer.kind == "training" else None
    for values in (standardizer.mean, standardizer.scale):
        if (None if values is None else values.shape) != expected:
            raise ValueError(f"the scale is not that of {P} features")
    if standardizer.kind not in STANDARDIZE:
        raise ValueError(f"features cannot be scaled by {standardizer.kind!r}")


def _installed() -> dict[str, str]:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # a bare checkout
            versions[library] = "unknown"
    return versions
