"""Learn Mahalanobis metrics for partitioning problems from labelled examples.

Public names are loaded on first use (PEP 562), so that ``import structsvm`` and
``structsvm --version`` do not wait for scikit-learn and numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structsvm.compare import Comparison, compare_solvers
    from structsvm.evaluation import Evaluation, evaluate
    from structsvm.graph_cuts.learner import CutLearner
    from structsvm.learner.learner import MetricLearner
    from structsvm.model_selection import MetricLearnerCV
    from structsvm.partial_labels.labels import PartialLabels
    from structsvm.partitions.equivalence import EquivalenceMatrix
    from structsvm.partitions.oracle import Region
    from structsvm.persistence import load, save
    from structsvm.problems.change_point import ChangePoint
    from structsvm.problems.clustering import Clustering
    from structsvm.problems.distribution_change import DistributionChange
    from structsvm.problems.normalized_cut import NormalizedCut
    from structsvm.regularizers import Custom, SquaredNorm, Trace
    from structsvm.solution import Solution
    from structsvm.status import Status
    from structsvm.weak import Alternation

    __version__: str

__all__ = [
    "Alternation",
    "ChangePoint",
    "Clustering",
    "Comparison",
    "Custom",
    "CutLearner",
    "DistributionChange",
    "EquivalenceMatrix",
    "Evaluation",
    "MetricLearner",
    "MetricLearnerCV",
    "NormalizedCut",
    "PartialLabels",
    "Region",
    "Solution",
    "SquaredNorm",
    "Status",
    "Trace",
    "__version__",
    "compare_solvers",
    "evaluate",
    "load",
    "save",
]

_HOME = {
    "Alternation": "structsvm.weak",
    "ChangePoint": "structsvm.problems.change_point",
    "Clustering": "structsvm.problems.clustering",
    "Comparison": "structsvm.compare",
    "Custom": "structsvm.regularizers",
    "CutLearner": "structsvm.graph_cuts.learner",
    "DistributionChange": "structsvm.problems.distribution_change",
    "EquivalenceMatrix": "structsvm.partitions.equivalence",
    "Evaluation": "structsvm.evaluation",
    "MetricLearner": "structsvm.learner.learner",
    "MetricLearnerCV": "structsvm.model_selection",
    "NormalizedCut": "structsvm.problems.normalized_cut",
    "PartialLabels": "structsvm.partial_labels.labels",
    "Region": "structsvm.partitions.oracle",
    "Solution": "structsvm.solution",
    "SquaredNorm": "structsvm.regularizers",
    "Status": "structsvm.status",
    "Trace": "structsvm.regularizers",
    "compare_solvers": "structsvm.compare",
    "evaluate": "structsvm.evaluation",
    "load": "structsvm.persistence",
    "save": "structsvm.persistence",
}


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
