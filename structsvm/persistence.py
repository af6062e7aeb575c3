"""Model files: arrays and a JSON header in one .npz file, with nothing in it that could run."""

from __future__ import annotations

from dataclasses import asdict, astuple, fields
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import ModelFileError, PluginError, SettingsError
from structsvm.graph_cuts import stored
from structsvm.graph_cuts.learner import CutLearner
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions.features import FeatureMap
from structsvm.partitions.metric import Calibration, Metric
from structsvm.partitions.problem import PartitionProblem
from structsvm.partitions.samples import Standardizer
from structsvm.plugins import problem_class, problem_name
from structsvm.problems.change_point import ChangePoint
from structsvm.regularizers import SquaredNorm, Trace
from structsvm.solution import History, HistoryEntry, Solution
from structsvm.status import Status
from structsvm.storage.archive import Archive
from structsvm.storage.unstored import Unstored
from structsvm.weak import Alternation

__all__ = ["load", "read_header", "save"]

Arrays = dict[str, NDArray[Any]]

MODEL = Archive("model", 1, ModelFileError)
LIBRARIES = ("structsvm-partitioning", "numpy", "scipy", "scikit-learn", "cvxpy")
STORABLE = {cls.__name__: cls for cls in (SquaredNorm, Trace, Alternation, ChangePoint)}
"""Dataclasses of plain values that a setting may be."""

COLLECTIONS: dict[str, Any] = {"tuple": tuple, "frozenset": frozenset, "set": set}


def save(learner: MetricLearner | CutLearner, path: str | PathLike[str]) -> None:
    """Write a fitted learner into one file, usually called ``*.structsvm``.

    The file holds arrays and JSON, no pickle: opening one from a stranger runs nothing. Functions
    among the settings (a custom regularizer, constraints, a callback) and solver objects are not
    stored: the loaded learner predicts the same, and says what to give it before it learns again.
    A file that exists is replaced at once or not at all.

    Raises
    ------
    NotFittedError
    PluginError
        When the problem has no entry point, so that no file could name it, or has a setting that a
        file cannot hold.
    ModelFileError
        When the file cannot be written.
    """
    if not isinstance(learner, MetricLearner | CutLearner):
        raise SettingsError(
            f"save takes a MetricLearner or a CutLearner, got {type(learner).__name__}"
            + (": give its best_estimator_" if hasattr(learner, "best_estimator_") else "")
        )
    check_is_fitted(learner)
    if isinstance(learner, CutLearner):
        problem = {"entry_point": problem_name(learner.problem_)}
        libraries = {"python": python_version(), **_installed()}
        header = stored.header(learner) | {"libraries": libraries, "problem": problem}
        MODEL.write(path, header, stored.arrays(learner))
    else:
        MODEL.write(path, _header(learner), _arrays(learner))


def load(path: str | PathLike[str], *, max_bytes: int | None = None) -> MetricLearner | CutLearner:
    """Read a fitted learner from a file that :func:`save` wrote.

    Parameters
    ----------
    path : path
    max_bytes : int, optional
        What the arrays may take in memory, which the file tells before they are read. By default
        ``$STRUCTSVM_MAX_BYTES``, or else 256 MiB or 100 times the size of the file, whichever is
        more.

    Raises
    ------
    ModelFileError
        For a file that is not a model, is too large, is damaged or was changed, or is of a newer
        format; and for a model of a problem that is not installed.
    """
    header, arrays = MODEL.read(Path(path), max_bytes)
    try:
        if "cut" in header:
            return stored.learner(header, arrays)
        return _learner(header, arrays)
    except PluginError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise ModelFileError(f"{path}: no model of format {MODEL.version}: {error!r}") from error


def read_header(path: str | PathLike[str], *, max_bytes: int | None = None) -> dict[str, Any]:
    """What a model file says of itself: versions, settings, features, training and certificate.

    Parameters
    ----------
    path : path
    max_bytes : int, optional
        As in :func:`load`.

    Raises
    ------
    ModelFileError
        As :func:`load`.
    """
    return MODEL.read(Path(path), max_bytes)[0]


# ---- writing


def _arrays(learner: MetricLearner) -> Arrays:
    arrays = {
        "components": learner.components_,
        "solution.w": learner.solution_.w,
        "calibration.penalties": learner.calibration_.penalties,
        "calibration.losses": learner.calibration_.losses,
    }
    if learner.standardizer_.mean is not None and learner.standardizer_.scale is not None:
        arrays["standardizer.mean"] = learner.standardizer_.mean
        arrays["standardizer.scale"] = learner.standardizer_.scale
    if learner.calibration_.criterion is not None:
        arrays["calibration.criterion"] = learner.calibration_.criterion
    whitening = getattr(learner, "whitening_", None)
    if whitening is not None:
        arrays["whitening"] = whitening
    arrays |= {f"baseline.{name}": rival.factor for name, rival in learner.baselines_.items()}
    return arrays


def _header(learner: MetricLearner) -> dict[str, Any]:
    parameters = learner.get_params(deep=False)
    del parameters["problem"], parameters["callback"]
    names = getattr(learner, "feature_names_in_", None)
    return {
        "libraries": {"python": python_version(), **_installed()},
        "problem": {
            "entry_point": problem_name(learner.problem_),
            "settings": _problem_settings(learner.problem_),
        },
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "n_features": learner.n_features_in_,
        "features": None if names is None else [str(name) for name in names],
        "standardizer": learner.standardizer_.kind,
        "penalty": learner.penalty_,
        "baselines": {name: rival.penalty for name, rival in learner.baselines_.items()},
        "training_data": asdict(learner.training_data_),
        "solution": _solution_header(learner.solution_),
        "certified_upper": learner.certified_upper_,
        "columns": getattr(learner, "columns_", {}),
    }


def _problem_settings(problem: PartitionProblem) -> dict[str, Any]:
    """The settings of a problem; all of them are needed to predict."""
    settings = {}
    for field in fields(problem):  # type: ignore[arg-type]
        if not field.init:
            continue
        value = getattr(problem, field.name)
        settings[field.name] = _plain(value)
        if _is_lost(settings[field.name]):
            raise PluginError(
                f"problem {problem_name(problem)}: a model file cannot hold the setting "
                f"{field.name}={value!r}; it can hold numbers, texts, arrays, and tuples, lists, "
                "sets and mappings of them"
            )
    return settings


def _is_lost(plain: Any) -> bool:
    """Whether anything inside is only a note of what it was."""
    if isinstance(plain, dict):
        return "unstored" in plain or any(map(_is_lost, plain.values()))
    return isinstance(plain, list) and any(map(_is_lost, plain))


def _solution_header(solution: Solution) -> dict[str, Any]:
    plain = {field.name: getattr(solution, field.name) for field in fields(solution)}
    del plain["w"]
    return plain | {
        "status": solution.status.name,
        "history": [astuple(entry) for entry in solution.history.entries],
    }


def _installed() -> dict[str, str]:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # a bare checkout
            versions[library] = "unknown"
    return versions


def _plain(value: Any) -> Any:
    """A setting as JSON, or a note of what it was."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in COLLECTIONS:  # JSON has lists alone
        if isinstance(value, COLLECTIONS[kind]):
            items = value if isinstance(value, tuple) else sorted(value, key=repr)
            return {kind: [_plain(item) for item in items]}
    if isinstance(value, dict):
        return {"mapping": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if type(value) in STORABLE.values():
        settings = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, "settings": settings}
    return {"unstored": value.description if isinstance(value, Unstored) else repr(value)}


# ---- reading


def _learner(header: dict[str, Any], arrays: Arrays) -> MetricLearner:
    parameters = {name: _restored(value) for name, value in header["parameters"].items()}
    problem = _problem(header["problem"])
    learner = MetricLearner(problem=problem, **parameters)
    learner.problem_ = problem
    learner.n_features_in_ = header["n_features"]
    if header["features"] is not None:
        learner.feature_names_in_ = np.array(header["features"], dtype=object)
    learner.components_ = arrays["components"]
    learner.penalty_ = header["penalty"]
    learner.standardizer_ = Standardizer(
        header["standardizer"],
        arrays.get("standardizer.mean"),
        arrays.get("standardizer.scale"),
        problem if isinstance(problem, FeatureMap) else None,
    )
    learner.whitening_ = arrays.get("whitening")
    learner.calibration_ = Calibration(
        arrays["calibration.penalties"],
        arrays["calibration.losses"],
        arrays.get("calibration.criterion"),
    )
    learner.baselines_ = {
        name: Metric(arrays[f"baseline.{name}"], penalty)
        for name, penalty in header["baselines"].items()
    }
    learner.training_data_ = TrainingSummary.from_plain(header["training_data"])
    learner.solution_ = _solution(header["solution"], arrays["solution.w"])
    learner.certified_upper_ = header.get("certified_upper", learner.solution_.upper)
    learner.alternated_ = None  # completions are not stored
    learner.columns_ = header.get("columns", {})
    learner.n_iter_ = learner.solution_.n_iter
    learner.converged_ = learner.solution_.status.converged
    return learner


def _problem(named: dict[str, Any]) -> PartitionProblem:
    settings = {name: _restored(value) for name, value in named["settings"].items()}
    problem = problem_class(named["entry_point"])(**settings)
    assert isinstance(problem, PartitionProblem)
    return problem


def _solution(header: dict[str, Any], w: NDArray[np.float64]) -> Solution:
    plain = dict(header)
    status = Status[plain.pop("status")]
    history = History(tuple(HistoryEntry(*row) for row in plain.pop("history")))
    return Solution(w=w, status=status, history=history, **plain)


def _restored(value: Any) -> Any:
    """The inverse of :func:`_plain`."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    for kind, collection in COLLECTIONS.items():
        if kind in value:
            return collection(_restored(item) for item in value[kind])
    if "mapping" in value:
        return {_restored(key): _restored(item) for key, item in value["mapping"]}
    if "array" in value:
        array = np.array(value["array"], dtype=value.get("dtype"))
        return array.reshape(value.get("shape", array.shape))
    if "type" in value:
        settings = {name: _restored(item) for name, item in value["settings"].items()}
        return STORABLE[value["type"]](**settings)
    return Unstored(value["unstored"])
