"""The contract of partition problems: the family of partitions, and how labels are written."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data import Instance, is_data, read_arrays
from structsvm.partitions.comparison import usual_scores
from structsvm.partitions.constraint import UNCONSTRAINED, Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import price_of_labels
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Calibration, Metric
from structsvm.partitions.objective import NUMBERS, MetricObjective, Objective, loss_of
from structsvm.partitions.oracle import Oracle, warn_of_rounding
from structsvm.partitions.training_instance import (
    Examples,
    LabelledInstance,
    Loss,
    SearchedInstance,
)
from structsvm.partitions.traits import Traits
from structsvm.support import Contract, Floats, asked, hook, is_number, promises, raise_wrong


class PartitionProblem(Contract):
    """Base of partition problems. Subclasses are frozen dataclasses that hold settings only.

    Three definitions make a problem: :attr:`traits`, :meth:`decoder`, which finds the best
    partition, and :meth:`encode`, which reads labels. The defaults of all others are those of the
    score ``<B, X^T M X> / T``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import EquivalenceMatrix, Instance, Metric, PartitionProblem
    >>> from structsvm.partitions import Traits
    >>> @dataclass(frozen=True)
    ... class Segments(PartitionProblem):
    ...     @property
    ...     def traits(self):
    ...         return Traits(contiguous=True)
    ...
    ...     def decoder(self, instance):
    ...         return SequentialOracle()
    ...
    ...     def encode(self, y, instance):
    ...         return EquivalenceMatrix.from_breakpoints(y)
    >>> instance = Instance(np.array([[0.0], [0.0], [4.0]]))
    >>> Segments().partition(instance, Metric(np.eye(1), price=1.0)).breakpoints
    [2, 3]
    """

    needs: ClassVar[Mapping[str, str]] = {"partition": "calibrate"}
    renamed: ClassVar[Mapping[str, str]] = {"training_sample": "training_instance"}

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """Properties of the family: words, whether clusters are segments, defaults."""

    @promises(Oracle)
    @abstractmethod
    def decoder(self, instance: Instance) -> Oracle:
        """Maximises ``Tr(A M)`` over the partitions of an instance: prediction, and learning."""

    @abstractmethod
    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """Convert labels as users write them to an equivalence matrix; raises DataError."""

    @hook
    def decode(self, M: EquivalenceMatrix, instance: Instance) -> NDArray[Any]:
        """Convert a partition to labels as users write them: by default one for each item, (T,)."""
        return np.array(M.labels)

    @hook
    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Instance], list[str] | None]:
        """Convert what users pass to checked instances, (T, P) each, and names of features."""
        return read_arrays(Xs, feature_names, n_features, self.traits.words)

    @property
    @hook
    def loss(self) -> Loss:
        """Cost of predicting one partition when another is true: ``|M - M_i|_F^2`` by default.

        Another one needs a :meth:`training_instance` that declares it in ``losses``. Prices, scores
        and selection use it, too.
        """
        return partition_loss

    @promises(LabelledInstance)
    def training_instance(self, instance: Instance, truth: EquivalenceMatrix) -> LabelledInstance:
        """A training instance in the units of learning, ready for separation."""
        return SearchedInstance(instance.data, truth, self.decoder(instance))

    @promises(Objective)
    def objective(self, metric: str, n_features: int) -> Objective:
        """What learning minimises over a "full" or a "diagonal" metric of P features."""
        return MetricObjective(self, metric, n_features)

    @promises(
        lambda price: price is None or (is_number(price) and 0.0 < price < np.inf),
        "None or a number > 0",
    )
    def unit(self, data: Examples) -> float | None:
        """The price in whose units learning sees the metric; None for the calibrated one."""
        return None

    @promises(Calibration)
    def calibrate(self, factor: Floats, data: Examples) -> Calibration:
        """The price of a cluster that suits the labels of instances in the metric ``L L^T``.

        By default they are decoded for every penalty of a geometric grid.
        """
        return price_of_labels(self, factor, data)

    @promises(
        lambda factor: factor is None or isinstance(factor, np.ndarray),
        "an array L (P, r), or None",
    )
    def closed_form(self, name: str, data: Examples) -> Floats | None:
        """A metric that needs no learning, ``L`` (P, r), by name; None for none.

        "untrained" sees instances alone, and is the identity by default.
        """
        return np.eye(data.instances[0].n_features) if name == "untrained" else None

    @promises(EquivalenceMatrix)
    def partition(
        self,
        instance: Instance,
        metric: Metric,
        n_clusters: int | None = None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> EquivalenceMatrix:
        """The best partition of an instance into ``n_clusters``, or as many as the price allows."""
        objective = metric.objective(instance, n_clusters)
        answer = self.decoder(instance).ask(objective, constraint.with_clusters(n_clusters))
        if n_clusters is None:
            warn_of_rounding(answer, -objective.shift)
        return answer.y

    @promises(lambda score: isinstance(score, NUMBERS) and score == score, "a number")
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """The score that model selection maximises; by default minus the loss."""
        return -loss_of(self, truth, guess)

    @promises(dict)
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name, None for one that does not apply.

        A predicted change is a hit within ``tolerance`` samples of a true one.
        """
        return usual_scores(self, truth, guess, tolerance)


def read_instances(
    problem: PartitionProblem, Xs: Any, names: Sequence[str] | None, n_features: int | None
) -> tuple[list[Instance], list[str] | None]:
    """Call ``read`` of a problem, and check that learning can use what it returns."""
    with asked(problem, "read"):
        returned: Any = problem.read(Xs, names, n_features)
    fits = isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], list)
    for instance in returned[0] if fits else ():
        fits = fits and isinstance(instance, Instance) and is_data(instance.data)
    if not fits:
        wanted = "a list of Instance(X, side), X of float64, and the names of the features or None"
        raise_wrong(problem, "read", returned, wanted)
    read: tuple[list[Instance], list[str] | None] = returned
    return read


def has_rows(problem: PartitionProblem, instances: Sequence[Instance]) -> bool:
    """Whether instances are tables, whose rows are partitioned in any order."""
    return not problem.traits.contiguous and all(instance.side is None for instance in instances)


def count_of_truth(problem: PartitionProblem, instance: Instance, truth: Any) -> int | None:
    """The true number of clusters, to partition with; None where the oracle takes no number."""
    if problem.traits.convex and "n_clusters" not in problem.decoder(instance).takes:
        return None
    return int(truth.n_clusters)
