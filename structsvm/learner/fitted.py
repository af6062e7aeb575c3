"""Protocols of fitted learners, for modules that :mod:`structsvm.learner.learner` imports."""

from typing import Any, Protocol

from numpy.typing import NDArray

from structsvm.graphs import NodeLabels
from structsvm.partitions import EquivalenceMatrix, Metric, PartitionProblem


class Fitted(Protocol):
    """The attributes of a fitted learner that these modules read."""

    problem_: PartitionProblem
    inputs_: Any
    model_: Any
    n_features_in_: int
    baselines_: dict[str, Any]
    training_data_: Any
    classes_: NDArray[Any] | None


class FittedMetric(Fitted, Protocol):
    """A fitted learner whose model is a metric."""

    @property
    def metric_(self) -> Metric: ...

    metric_feature_names_: list[str]


def partition_of(truth: EquivalenceMatrix | NodeLabels) -> EquivalenceMatrix:
    """The partition of the items, or of the nodes, such as superpixels, if pixels are labelled."""
    return truth.M if isinstance(truth, NodeLabels) else truth


def column_names(learner: Fitted) -> list[str]:
    names = getattr(learner, "feature_names_in_", None)
    return [f"x{j}" for j in range(learner.n_features_in_)] if names is None else list(names)
