"""The contract of partition problems: which partitions there are, and how labels are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data.deferred import is_data
from structsvm.data.reading import read_arrays
from structsvm.data.sample import Sample
from structsvm.data.standardize import centred
from structsvm.errors import DataError, PluginError
from structsvm.partitions.comparison import Comparison
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss
from structsvm.partitions.learning import (
    FeatureMap,
    LabelledSample,
    Learning,
    Loss,
    SearchedSample,
    Traits,
    second_moment,
)
from structsvm.partitions.margins import losses_without
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Constraint,
    Oracle,
    TraceObjective,
    warn_of_rounding,
)
from structsvm.status import Quality
from structsvm.support.arrays import Floats
from structsvm.support.contract import Contract, asked, hook, hooks_of, promises, raise_wrong


class PartitionProblem(Contract):
    """Base of partition problems. Subclasses are frozen dataclasses that hold settings only.

    Three definitions make a problem: :attr:`traits`, :meth:`decoder`, which partitions there are,
    and :meth:`encode`, how labels are written. The defaults of all others are those of the score
    ``<B, X^T M X> / T``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import EquivalenceMatrix, Metric, PartitionProblem, Sample, Traits
    >>> @dataclass(frozen=True)
    ... class Segments(PartitionProblem):
    ...     @property
    ...     def traits(self):
    ...         return Traits(contiguous=True)
    ...
    ...     def decoder(self, sample):
    ...         return SequentialOracle()
    ...
    ...     def encode(self, y, sample):
    ...         return EquivalenceMatrix.from_breakpoints(y)
    >>> sample = Sample(np.array([[0.0], [0.0], [4.0]]))
    >>> Segments().partition(sample, Metric(np.eye(1), price=1.0)).breakpoints
    [2, 3]
    """

    needs: ClassVar[Mapping[str, str]] = {"partition": "learning"}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse hooks of :class:`Learning` and :class:`Comparison`, which nothing would call."""
        super().__init_subclass__(**kwargs)
        for part, contract in (("learning", Learning), ("comparison", Comparison)):
            lost = sorted(hooks_of(contract) & vars(cls).keys())
            if lost:
                name = contract.__name__
                raise PluginError(
                    f"{cls.__qualname__}.{lost[0]} would not be called: it is a hook of {name}. "
                    f"Define it in a subclass of {name} that the property {part} returns"
                )

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """Properties of the family: words, whether clusters are segments, defaults."""

    @promises(Oracle)
    @abstractmethod
    def decoder(self, sample: Sample) -> Oracle:
        """Maximises ``Tr(A M)`` over the partitions of a sample: prediction, and learning."""

    @abstractmethod
    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        """Labels as users write them to an equivalence matrix; raises DataError."""

    # ---- what the score and the loss are

    @property
    @hook
    def feature_map(self) -> FeatureMap:
        """phi, the joint features of a sample and a partition: ``X^T M X / T`` by default."""
        return second_moment

    @property
    @hook
    def loss(self) -> Loss:
        """Cost of predicting one partition when another is true: ``|M - M_i|_F^2`` by default.

        Another one needs a :meth:`training_sample` that declares it in ``losses``; so does another
        feature map. Prices, scores and selection use it, too.
        """
        return partition_loss

    # ---- what comes in and goes out

    @hook
    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Sample], list[str] | None]:
        """Samples as users hold them, (T, P) each, checked, and the names of their features."""
        return read_arrays(Xs, feature_names, n_features, self.traits.words)

    @hook
    def decode(self, M: EquivalenceMatrix, sample: Sample) -> NDArray[Any]:
        """A partition to labels as users write them: one for each item by default, (T,)."""
        return np.array(M.labels)

    # ---- learning

    @promises(LabelledSample)
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        """A training sample in the units of learning, ready for separation."""
        return SearchedSample(sample.data, truth, self.decoder(sample))

    @property
    @hook
    def learning(self) -> Learning:
        """Its learning: what labels teach, units, the objective, the price."""
        return Learning(self)

    # ---- prediction

    @promises(EquivalenceMatrix)
    def partition(
        self,
        sample: Sample,
        metric: Metric,
        n_clusters: int | None = None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> EquivalenceMatrix:
        """The best partition of a sample into ``n_clusters``, or as many as the price allows."""
        objective = self.decoding_objective(sample, metric, n_clusters)
        answer = self.decoder(sample).ask(objective, constraint.with_clusters(n_clusters))
        if n_clusters is None:
            warn_of_rounding(answer, -objective.shift)
        return answer.y

    def decoding_objective(
        self, sample: Sample, metric: Metric, n_clusters: int | None = None
    ) -> TraceObjective:
        """Objective of :meth:`partition`: minus the distortion in the metric, minus the price."""
        price = 0.0 if n_clusters is not None else metric.price
        assert price is not None
        Z = metric.transform(centred(sample.X))
        return TraceObjective(Z, shift=-price, gaps=True)

    def margins(
        self,
        sample: Sample,
        metric: Metric,
        n_clusters: int | None = None,
        constraint: Constraint = UNCONSTRAINED,
        tolerance: int = 0,
    ) -> tuple[EquivalenceMatrix, Floats]:
        """The best segmentation of a recording, and the margin of each of its changes, (K - 1,)."""
        oracle = self.decoder(sample)
        name = type(self).__name__
        is_usual = type(self).partition is PartitionProblem.partition
        if not (self.traits.contiguous and is_usual and "boundaries" in oracle.takes):
            raise DataError(
                f"margins are those of boundaries of segments that maximise Tr(A M) and can be "
                f"forbidden, which {name} and {type(oracle).__name__} do not find: margins=False "
                "leaves them out"
            )
        objective = self.decoding_objective(sample, metric, n_clusters)
        constraint = constraint.with_clusters(n_clusters)
        best = oracle.ask(objective, constraint)
        if best.quality is not Quality.EXACT:
            raise DataError(
                f"margins need an exact oracle, and the answer of {type(oracle).__name__} is "
                f"{best.quality.value}: margins=False leaves them out"
            )
        if n_clusters is None:
            warn_of_rounding(best, -objective.shift)

        def best_value(without: Constraint) -> float:
            return oracle.ask(objective, without).value

        losses = losses_without(best.y, best.value, constraint, tolerance, best_value)
        return best.y, losses / metric.price if metric.price else losses

    # ---- evaluation

    @property
    @hook
    def comparison(self) -> Comparison:
        """Its comparison: the scores of partitions."""
        return Comparison(self)


def read_samples(
    problem: PartitionProblem, Xs: Any, names: Sequence[str] | None, n_features: int | None
) -> tuple[list[Sample], list[str] | None]:
    """Read samples, and check that learning can use what the problem returned."""
    with asked(problem, "read"):
        found: Any = problem.read(Xs, names, n_features)
    fits = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list)
    for sample in found[0] if fits else ():
        fits = fits and isinstance(sample, Sample) and is_data(sample.data)
    if not fits:
        wanted = "a list of Sample(X, side), X of float64, and the names of the features or None"
        raise_wrong(problem, "read", found, wanted)
    read: tuple[list[Sample], list[str] | None] = found
    return read


def has_rows(problem: PartitionProblem, samples: Sequence[Sample]) -> bool:
    return not problem.traits.contiguous and all(sample.side is None for sample in samples)


def count_of_truth(problem: PartitionProblem, sample: Sample, truth: Any) -> int | None:
    """The true number of clusters, to partition with; None where the oracle takes no number."""
    if problem.traits.convex and "n_clusters" not in problem.decoder(sample).takes:
        return None
    return int(truth.n_clusters)
