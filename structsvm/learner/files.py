"""Model files: arrays and a JSON header in one .npz file, with nothing in it that could run."""

from copy import copy
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from platform import python_version
from typing import Any

from sklearn.utils.validation import check_is_fitted

from structsvm.data import Standardizer
from structsvm.errors import ModelFileError, PluginError, SettingsError, warn
from structsvm.features.frames import FrameModel
from structsvm.features.scores import Surroundings
from structsvm.features.trees import STORED, Trees
from structsvm.learner.allowed_states import Allowed
from structsvm.learner.given_scores import GivenScores
from structsvm.learner.learner import Learner
from structsvm.learner.metric_learner import MetricLearner
from structsvm.learner.score_decoder import ScoreDecoder
from structsvm.learner.stages import AsMeasured, FrameScores, Inputs
from structsvm.learner.state_decoder import LearnedStates
from structsvm.learner.state_segmenter import StateSegmenter
from structsvm.learner.structured import StructuredSVM
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions import PartitionProblem
from structsvm.partitions.metric import Calibration
from structsvm.partitions.plugins import (
    PROBLEMS,
    STRUCTURED,
    plugin_class,
    problem_name,
    setting_groups,
)
from structsvm.problem import (
    Custom,
    History,
    HistoryEntry,
    Problem,
    Quadratic,
    Separable,
    Solution,
    SquaredNorm,
    Status,
    SupportLabelling,
    Trace,
)
from structsvm.support import Archive, Codec, Unstorable, Unstored

MODEL = Archive("model", 7, ModelFileError)
WRONG = (LookupError, TypeError, ValueError, AttributeError, AssertionError, RecursionError)
"""Errors that reading may raise for a file that ``save`` did not write."""
LIBRARIES = ("numpy", "scipy", "scikit-learn", "cvxpy")
ROOMS = ("baselines", "features", "graphs", "parallel", "partitions", "solvers")
"""Public packages whose classes model files may name, beside problems and the tables below."""
INTERNAL: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(MetricLearner, StateSegmenter, ScoreDecoder, StructuredSVM, TrainingSummary),
        *(Standardizer, AsMeasured, Inputs, FrameScores, GivenScores, Allowed, LearnedStates),
        *(Calibration, Solution, History, HistoryEntry, SupportLabelling, Status),
        *(Custom, Quadratic, Separable, SquaredNorm, Trace),
        *(Surroundings, FrameModel, Trees),
    )
}
OF_BASELINES = {
    "blind": ("FixedTimes", "OnePart", "EqualLengths", "ProtocolTimes", "Whole"),
    "boundary_classifier": ("Peaks",),
    "frame_classifier": ("PricedStates", "SmoothedStates"),
    "row_classifier": ("Classes", "SeenNodes", "Regions"),
}
"""Internal classes that model files may name, by their module in :mod:`structsvm.baselines`."""
STORED_ESTIMATORS = {
    "DecisionTreeClassifier": "sklearn.tree",
    "DummyClassifier": "sklearn.dummy",
    "ExtraTreeClassifier": "sklearn.tree",
    "GaussianNB": "sklearn.naive_bayes",
    "LinearDiscriminantAnalysis": "sklearn.discriminant_analysis",
    "LogisticRegression": "sklearn.linear_model",
    "MinMaxScaler": "sklearn.preprocessing",
    "NearestCentroid": "sklearn.neighbors",
    "Nystroem": "sklearn.kernel_approximation",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "PolynomialFeatures": "sklearn.preprocessing",
    "QuadraticDiscriminantAnalysis": "sklearn.discriminant_analysis",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
    **STORED,
}
"""Estimators of scikit-learn whose attributes are arrays and plain values, and their modules."""


def model_codec(arrays: dict[str, Any] | None = None) -> Codec:
    """The codec of model files, which name classes of this library, and problems by entry point."""
    settings: dict[str, type] = {}

    def trust_settings(problem: type) -> None:
        for cls in setting_groups(problem).values():
            settings[_full_name(cls)] = cls
            trust_settings(cls)

    def name_of(value: Any) -> str | None:
        cls = type(value)
        if isinstance(value, PartitionProblem | Problem):
            trust_settings(cls)
            group = "problem" if isinstance(value, PartitionProblem) else "structured problem"
            return f"{group} {problem_name(value)}"
        if cls.__module__.startswith(STORED_ESTIMATORS.get(cls.__name__, " ")):
            return f"sklearn {cls.__name__}"
        if _ours(cls.__name__) is cls:
            return cls.__name__
        return _full_name(cls) if settings.get(_full_name(cls)) is cls else None

    def class_of(name: str) -> type:
        kind, _, rest = name.rpartition(" ")
        if not kind:
            return _ours(name) or settings[name]
        if kind == "sklearn":
            cls: type = getattr(import_module(STORED_ESTIMATORS[rest]), rest)
            return cls
        cls = plugin_class(PROBLEMS if kind == "problem" else STRUCTURED, rest)
        trust_settings(cls)
        return cls

    return Codec(name_of, class_of, arrays, lambda value: Trees.of(value) or value)


def _ours(name: str) -> type | None:
    """The class of this library with this name; None if model files may not name it."""
    rooms = (import_module(f"structsvm.{room}") for room in ROOMS)
    public = (getattr(room, name) for room in rooms if name in room.__all__)
    module = next((module for module, names in OF_BASELINES.items() if name in names), None)
    if module is not None:
        return getattr(import_module(f"structsvm.baselines.{module}"), name, None)
    return next(public, INTERNAL.get(name))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def save(learner: Learner | StructuredSVM, path: str | PathLike[str]) -> None:
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
        If it is no learner of this library, or a StructuredSVM; derived classes are refused.
    PluginError
        If the problem has no entry point by which a file can name it, or a setting that cannot be
        stored.
    ModelFileError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structsvm import MetricLearner, load, save
    >>> Xs = [np.repeat([[0.0], [3.0]], 50, axis=0)] * 2
    >>> learner = MetricLearner().fit(Xs, [[50, 100]] * 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(learner, f"{folder}/walks.structsvm")
    ...     again = load(f"{folder}/walks.structsvm")
    >>> again.predict_breakpoints(Xs) == learner.predict_breakpoints(Xs)
    True
    """
    is_own = isinstance(learner, Learner | StructuredSVM)
    if not is_own or _ours(type(learner).__name__) is not type(learner):
        raise SettingsError(
            "save takes a learner such as MetricLearner or StateSegmenter, or a StructuredSVM, "
            f"got {type(learner).__name__}: a model file names no other class; "
            "joblib.dump(learner, path) keeps it"
            + (", or give its best_estimator_" if hasattr(learner, "best_estimator_") else "")
        )
    check_is_fitted(learner)
    codec = model_codec()
    try:
        packed = codec.pack(_storable(learner, codec))
    except Unstorable as error:
        if error.place[0].startswith("problem"):
            raise PluginError(
                f"problem {problem_name(learner.problem_)}: {error}, which a model file cannot "
                "hold; it holds numbers, texts, arrays, and tuples, lists, sets and mappings"
            ) from error
        raise ModelFileError(
            f"{error}, which a model file cannot hold: use one of {sorted(STORED_ESTIMATORS)}"
        ) from error
    from structsvm.support import __version__  # reads metadata, so not when this is imported

    libraries = {"python": python_version(), "structsvm-partitioning": __version__}
    libraries |= {library: version(library) for library in LIBRARIES}
    MODEL.write(path, {"libraries": libraries, "learner": packed}, codec.arrays)


def _storable(learner: Any, codec: Codec) -> Any:
    """A copy of a learner without what a file cannot hold; parameters become :class:`Unstored`."""
    stored = copy(learner)
    parameters = learner.get_params(deep=False)
    for name, value in vars(learner).items():
        if name in parameters.keys() - {"problem", "features"} and codec.lost(value, name):
            setattr(stored, name, Unstored(repr(value)))
        elif not (name in parameters or name.endswith("_") or name == "_sklearn_output_config"):
            delattr(stored, name)
    if hasattr(stored, "alternated_"):
        stored.alternated_ = None
    if isinstance(stored, StructuredSVM):  # a labelling may be of any type
        stored.solution_ = replace(stored.solution_, support=None)
        return stored
    if getattr(stored.inputs_, "scores", None) is not None:
        stored.inputs_ = replace(stored.inputs_, scores=None)  # loading takes them from a baseline
    stored.baselines_ = {}
    if codec.lost(stored, type(learner).__name__):  # packing refuses it as a whole
        return stored
    for name, baseline in learner.baselines_.items():
        own = _storable(baseline, codec)
        if why := codec.lost(own, type(baseline).__name__):
            warn(f"baseline {name} is not stored, so a loaded model lacks it: {why}")
        else:
            stored.baselines_[name] = own
    return stored


def load(path: str | PathLike[str], *, max_bytes: int | None = None) -> Any:
    """Read a fitted learner or :class:`StructuredSVM` that :func:`save` wrote.

    Parameters
    ----------
    path : path
    max_bytes : int, optional
        Largest size of the arrays in memory, which is checked before they are read. The default is
        256 MiB, or 100 times the size of the file where that is more.

    Raises
    ------
    ModelFileError
        For a file that is not a model, is too large, is damaged or was changed, or is of another
        format; and for a model of a problem that is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from structsvm import MetricLearner, load, save
    >>> Xs = [np.repeat([[0.0], [3.0]], 50, axis=0)] * 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MetricLearner().fit(Xs, [[50, 100]] * 2), f"{folder}/walk.structsvm")
    ...     print(load(f"{folder}/walk.structsvm", max_bytes=10**6).metric)
    full
    """
    header, arrays = MODEL.read(Path(path), max_bytes)
    try:
        learner = model_codec(arrays).unpack(header["learner"])
        is_learner = isinstance(learner, Learner | StructuredSVM)
        assert is_learner, f"it holds a {type(learner).__name__}"
        if isinstance(learner, Learner):
            learner._compare_with({})
        return learner
    except (PluginError, SettingsError) as error:
        raise ModelFileError(f"{path}: {error}") from error
    except WRONG as error:
        raise ModelFileError(f"{path}: no model of format {MODEL.version}: {error!r}") from error


def load_learner(path: str | PathLike[str]) -> Learner:
    """Read a model file for a command; refuse one that holds no learner of partitions."""
    learner = load(path)
    if not isinstance(learner, Learner):
        raise ModelFileError(
            f"{path}: it holds a {type(learner).__name__}, and commands are about partitions: use "
            "structsvm.load(path) in Python"
        )
    return learner
