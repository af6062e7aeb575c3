"""Learn Mahalanobis metrics for partitioning problems from labelled examples."""

from importlib.metadata import PackageNotFoundError, version

from structsvm.compare import Comparison, compare_solvers
from structsvm.evaluation import Evaluation, evaluate
from structsvm.learner import MetricLearner
from structsvm.model_selection import MetricLearnerCV
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.persistence import load, save
from structsvm.problems.change_point import ChangePoint
from structsvm.problems.clustering import Clustering
from structsvm.regularizers import Custom, SquaredNorm, Trace
from structsvm.solution import Solution
from structsvm.status import Status

try:
    __version__ = version("structsvm-partitioning")
except PackageNotFoundError:  # a bare checkout
    __version__ = "0+unknown"

__all__ = [
    "ChangePoint",
    "Clustering",
    "Comparison",
    "Custom",
    "EquivalenceMatrix",
    "Evaluation",
    "MetricLearner",
    "MetricLearnerCV",
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
