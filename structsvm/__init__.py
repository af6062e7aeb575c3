"""Learn Mahalanobis metrics for partitioning problems from labelled examples."""

from importlib.metadata import PackageNotFoundError, version

from structsvm.evaluation import Evaluation, evaluate
from structsvm.learner import MetricLearner
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
    "Custom",
    "EquivalenceMatrix",
    "Evaluation",
    "MetricLearner",
    "Solution",
    "SquaredNorm",
    "Status",
    "Trace",
    "__version__",
    "evaluate",
    "load",
    "save",
]
