"""Learn Mahalanobis metrics for partitioning problems from labelled examples.

Public names are loaded on first use (PEP 562), so that ``import structsvm`` and
``structsvm --version`` do not wait for scikit-learn and numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structsvm.compare import compare_solvers
    from structsvm.errors import DataError, LearningError, SettingsError, StructSVMError
    from structsvm.evaluation import evaluate
    from structsvm.learner.files import load, save
    from structsvm.learner.learner import MetricLearner
    from structsvm.learner.partial import Alternation
    from structsvm.model_selection import MetricLearnerCV
    from structsvm.partial_labels.labels import PartialLabels
    from structsvm.partial_labels.suggest import suggest_labels
    from structsvm.partitions.equivalence import EquivalenceMatrix
    from structsvm.partitions.oracle import Region
    from structsvm.problems.change_point import ChangePoint
    from structsvm.problems.clustering import Clustering
    from structsvm.problems.normalized_cut import NormalizedCut
    from structsvm.solution import Solution
    from structsvm.status import Status

    __version__: str

_HOME = {
    "Alternation": "structsvm.learner.partial",
    "ChangePoint": "structsvm.problems.change_point",
    "Clustering": "structsvm.problems.clustering",
    "DataError": "structsvm.errors",
    "EquivalenceMatrix": "structsvm.partitions.equivalence",
    "LearningError": "structsvm.errors",
    "MetricLearner": "structsvm.learner.learner",
    "MetricLearnerCV": "structsvm.model_selection",
    "NormalizedCut": "structsvm.problems.normalized_cut",
    "PartialLabels": "structsvm.partial_labels.labels",
    "Region": "structsvm.partitions.oracle",
    "SettingsError": "structsvm.errors",
    "Solution": "structsvm.solution",
    "Status": "structsvm.status",
    "StructSVMError": "structsvm.errors",
    "compare_solvers": "structsvm.compare",
    "evaluate": "structsvm.evaluation",
    "load": "structsvm.learner.files",
    "save": "structsvm.learner.files",
    "suggest_labels": "structsvm.partial_labels.suggest",
}

__all__ = [
    "Alternation",
    "ChangePoint",
    "Clustering",
    "DataError",
    "EquivalenceMatrix",
    "LearningError",
    "MetricLearner",
    "MetricLearnerCV",
    "NormalizedCut",
    "PartialLabels",
    "Region",
    "SettingsError",
    "Solution",
    "Status",
    "StructSVMError",
    "__version__",
    "compare_solvers",
    "evaluate",
    "load",
    "save",
    "suggest_labels",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name == "__version__":
        value: Any = _version()
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'structsvm' has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("structsvm-partitioning")
    except PackageNotFoundError:  # a bare checkout
        return "0+unknown"


def __dir__() -> list[str]:
    """Public names, loaded or not."""
    return sorted({*globals(), *__all__})
