"""Model files: arrays and a JSON header in one .npz file, with nothing in it that could run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from platform import python_version
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structsvm.errors import DataWarning, ModelFileError, PluginError, SettingsError, warn
from structsvm.features.stored import from_plain, to_plain
from structsvm.graphs.images import GraphOfImage
from structsvm.learner.inputs import Inputs
from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_summary import TrainingSummary
from structsvm.masters.auto import AutoMaster
from structsvm.masters.cvxpy import CvxpyMaster
from structsvm.masters.interior import InteriorPointMaster
from structsvm.masters.newton import NewtonMaster
from structsvm.partitions.margins import MarginRates
from structsvm.partitions.metric import Calibration, Metric
from structsvm.partitions.samples import Standardizer
from structsvm.partitions.traits import Words
from structsvm.plugins import problem_class, problem_name
from structsvm.regularizers import SquaredNorm, Trace
from structsvm.rivals.stored import STORED_RIVALS
from structsvm.solution import History, HistoryEntry, Solution
from structsvm.solvers.base import Stopping
from structsvm.solvers.cccp import CCCP
from structsvm.solvers.cutting_plane import CuttingPlane
from structsvm.solvers.frank_wolfe import BlockFrankWolfe
from structsvm.solvers.quasi_newton import QuasiNewton
from structsvm.solvers.subgradient import ProjectedSubgradient
from structsvm.status import Status
from structsvm.storage.archive import Archive
from structsvm.storage.codec import Codec, is_lost

__all__ = ["load", "read_header", "save"]

MODEL = Archive("model", 2, ModelFileError)
LIBRARIES = ("structsvm-partitioning", "numpy", "scipy", "scikit-learn", "cvxpy")
VALUES = (
    *(AutoMaster, CvxpyMaster, InteriorPointMaster, NewtonMaster),
    *(CCCP, BlockFrankWolfe, CuttingPlane, ProjectedSubgradient, QuasiNewton, Stopping),
    *(SquaredNorm, Trace, GraphOfImage),
    *(Calibration, History, HistoryEntry, Inputs, Metric, Solution, Standardizer, Status),
    *(MarginRates, TrainingSummary, Words),
)
"""Classes of plain values that a model holds."""

FITTED = (
    *("metric_", "calibration_", "solution_", "certified_upper_", "baselines_", "inputs_"),
    *("whitening_", "training_data_", "n_features_in_", "n_iter_", "converged_"),
    "question_",
)
"""What a fitted learner has; the completions of partial labels are not stored."""

OPTIONAL = ("columns_", "margin_rates_")
"""What it may have besides."""


def save(learner: MetricLearner, path: str | PathLike[str]) -> None:
    """Write a fitted learner into one file, usually called ``*.structsvm``.

    The file holds arrays and JSON, no pickle: opening one from a stranger runs nothing. Functions
    among the settings (a custom regularizer, constraints) are not stored: the loaded learner
    predicts the same, and says what to give it before it learns again. A file that exists is
    replaced at once or not at all.

    Raises
    ------
    NotFittedError
        When the learner has not learned yet.
    SettingsError
        When it is no MetricLearner.
    PluginError
        When the problem has no entry point, so that no file could name it, or has a setting that a
        file cannot hold.
    ModelFileError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm import MetricLearner, load, save
    >>> from structsvm.datasets import arrays_and_labels, relevant_changes
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> Xs, ys = arrays_and_labels(recordings)
    >>> learner = MetricLearner(metric="diagonal").fit(Xs, ys)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(learner, Path(folder) / "walks.structsvm")
    ...     again = load(Path(folder) / "walks.structsvm")
    >>> again.predict_breakpoints(Xs) == learner.predict_breakpoints(Xs)
    True
    """
    if not isinstance(learner, MetricLearner):
        raise SettingsError(
            f"save takes a MetricLearner, got {type(learner).__name__}"
            + (": give its best_estimator_" if hasattr(learner, "best_estimator_") else "")
        )
    check_is_fitted(learner)
    codec = _codec()
    arrays: dict[str, Any] = {}
    parameters = learner.get_params(deep=False)
    del parameters["problem"]
    features = {"given": parameters.pop("features"), "fitted": learner.inputs_.features}
    rivals = {f"rival.{name}": rival for name, rival in learner.rivals_.items()}
    fitted = {name: getattr(learner, name) for name in FITTED}
    fitted["inputs_"] = replace(learner.inputs_, features=None)
    names = getattr(learner, "feature_names_in_", None)
    header = {
        "libraries": {"python": python_version(), **_installed()},
        "problem": {
            "entry_point": problem_name(learner.problem_),
            "settings": _settings(codec, learner.problem_, arrays),
        },
        "parameters": {k: codec.pack(v, arrays) for k, v in parameters.items()},
        "features": None if names is None else [str(name) for name in names],
        **{name: codec.pack(getattr(learner, name, None), arrays) for name in OPTIONAL},
        "fitted": {k: codec.pack(v, arrays) for k, v in fitted.items()},
        "feature_stages": {k: _pack_stage(k, v, arrays) for k, v in features.items()},
        "rivals": {k: _pack_rival(k, v, arrays) for k, v in rivals.items()},
    }
    MODEL.write(path, header, arrays)


def load(path: str | PathLike[str], *, max_bytes: int | None = None) -> MetricLearner:
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
        For a file that is not a model, is too large, is damaged or was changed, or is of another
        format; and for a model of a problem that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structsvm import MetricLearner, load, save
    >>> from structsvm.datasets import arrays_and_labels, relevant_changes
    >>> recordings = relevant_changes(4, n_samples=200, n_features=4, n_relevant=1, random_state=0)
    >>> learner = MetricLearner(metric="diagonal").fit(*arrays_and_labels(recordings))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(learner, Path(folder) / "walks.structsvm")
    ...     print(load(Path(folder) / "walks.structsvm", max_bytes=10**6).metric)
    diagonal
    """
    header, arrays = MODEL.read(Path(path), max_bytes)
    try:
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


def _codec() -> Codec:
    return Codec({cls.__name__: cls for cls in VALUES})


def _pack_stage(name: str, stage: BaseEstimator | None, arrays: dict[str, NDArray[Any]]) -> Any:
    """A stage of features as JSON has it; its arrays go to the others, under names of their own."""
    if stage is None:
        return None
    plain, own = to_plain(stage, STORED_RIVALS)
    arrays |= {f"{name}.{key}": array for key, array in own.items()}
    return plain


def _pack_rival(name: str, rival: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A rival as JSON has it; None, with a warning, for one that no file can hold."""
    try:
        return _pack_stage(name, rival, arrays)
    except ModelFileError as error:
        warn(
            f"{name} is not stored, so a loaded model is not compared with it: {error}", DataWarning
        )
        return None


def _unpack_stage(name: str, plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if plain is None:
        return None
    prefix = f"{name}."
    own = {k.removeprefix(prefix): array for k, array in arrays.items() if k.startswith(prefix)}
    return from_plain(plain, own, STORED_RIVALS)


def _settings(codec: Codec, problem: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The settings of a problem; all of them are needed to predict."""
    settings = {}
    for f in fields(problem):
        if not f.init:
            continue
        value = getattr(problem, f.name)
        settings[f.name] = codec.pack(value, arrays)
        if is_lost(settings[f.name]):
            raise PluginError(
                f"problem {problem_name(problem)}: a model file cannot hold the setting "
                f"{f.name}={value!r}; it can hold numbers, texts, arrays, and tuples, lists, sets "
                "and mappings of them"
            )
    return settings


def _learner(header: dict[str, Any], arrays: dict[str, Any]) -> MetricLearner:
    codec = _codec()
    parameters = {k: codec.unpack(v, arrays) for k, v in header["parameters"].items()}
    named = header["problem"]
    settings = {k: codec.unpack(v, arrays) for k, v in named["settings"].items()}
    problem = problem_class(named["entry_point"])(**settings)
    stages = {k: _unpack_stage(k, v, arrays) for k, v in header["feature_stages"].items()}
    learner = MetricLearner(problem=problem, features=stages["given"], **parameters)
    learner.problem_ = problem
    for name in FITTED:
        setattr(learner, name, codec.unpack(header["fitted"][name], arrays))
    learner.inputs_ = replace(learner.inputs_, features=stages["fitted"])
    if header["features"] is not None:
        learner.feature_names_in_ = codec.unpack({"strings": header["features"]}, arrays)
    rivals = {k: _unpack_stage(k, v, arrays) for k, v in header["rivals"].items()}
    learner.rivals_ = {k.removeprefix("rival."): v for k, v in rivals.items() if v is not None}
    for name in OPTIONAL:
        value = codec.unpack(header[name], arrays)
        if value is not None:
            setattr(learner, name, value)
    learner.alternated_ = None  # completions are not stored
    if not isinstance(learner.metric_, Metric) or not isinstance(learner.inputs_, Inputs):
        raise TypeError("the metric or what stands in front of it is missing")
    return learner


def _installed() -> dict[str, str]:
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # a bare checkout
            versions[library] = "unknown"
    return versions
