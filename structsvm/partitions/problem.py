"""What a partition problem declares: which partitions there are, and how labels are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data.deferred import BATCH, Step, stack_of
from structsvm.data.reading import read_arrays
from structsvm.data.sample import Sample
from structsvm.data.samples import centred, far_from_zero
from structsvm.errors import DataWarning, PluginError, warn
from structsvm.partitions.comparison import Comparison
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import (
    SECOND_MOMENT,
    FeatureMap,
    LabelledSample,
    Loss,
    SearchedSample,
)
from structsvm.partitions.learning import Learning
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Quality,
)
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.support.contract import Contract, asked, hook, hooks_of, promises, raise_wrong
from structsvm.support.plain import shown

DOUBT = 0.1
"""What rounding may cost a segmentation, as a part of the price of a change, before a warning."""


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
        """What is true of the family: words, whether clusters are segments, defaults."""

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
        return SECOND_MOMENT

    @property
    @hook
    def loss(self) -> Loss:
        """What predicting one partition costs when another is true: ``|M - M_i|_F^2`` by default.

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
        assert M.labels is not None
        return np.array(M.labels)

    # ---- learning

    @promises(LabelledSample)
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        """A training sample in the units of learning, ready for separation."""
        return SearchedSample(sample.data, truth, self.decoder(sample))

    @property
    @hook
    def learning(self) -> Learning:
        """How it is learned: what labels teach, units, the objective, the price."""
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
            warn_of_rounding(answer, objective)
        return answer.y

    def partitions_at_once(
        self, samples: Sequence[Sample], metric: Metric, step: Step | None = None
    ) -> tuple[dict[int, EquivalenceMatrix], dict[int, Sample]]:
        """Partitions by the price of what decoders take at once, by number, and the other samples
        as ``step`` made them.
        """
        if type(self).partition is not PartitionProblem.partition or metric.price is None:
            return {}, {}
        short = [i for i, sample in enumerate(samples) if sample.n_samples < BATCH]
        if not short:
            return {}, {}
        # One array, in which all is done: fresh memory takes longer than what is done.
        Xs = stack_of([samples[i].X for i in short], step)
        together: dict[Oracle, list[int]] = {}
        made: dict[int, Sample] = {}
        for k, X in enumerate(Xs.arrays()):
            sample = Sample(X, samples[short[k]].side, samples[short[k]].states)
            oracle = self.decoder(sample)
            if oracle.answers_many:
                together.setdefault(oracle, []).append(k)
            else:
                made[short[k]] = sample
        found: dict[int, EquivalenceMatrix] = {}
        for oracle, places in together.items():
            some = Xs.at(places)
            for k in far_from_zero(some):
                some.array(k)[:] = centred(some.array(k))
            answers = oracle.ask_at_price(metric.transform_all(some), metric.price)
            found |= {short[k]: M for k, M in zip(places, answers, strict=True) if M is not None}
        return found, made

    def decoding_objective(
        self, sample: Sample, metric: Metric, n_clusters: int | None = None
    ) -> TraceObjective:
        """What :meth:`partition` maximises: minus the distortion in the metric, minus the price."""
        price = 0.0 if n_clusters is not None else metric.price
        assert price is not None
        Z = metric.transform(centred(sample.X))
        return TraceObjective(Z, shift=-price, gaps=True)

    # ---- evaluation

    @property
    @hook
    def comparison(self) -> Comparison:
        """What it is compared with and chosen from, and by which scores."""
        return Comparison(self)


def warn_of_rounding(answer: Argmax, objective: TraceObjective) -> None:
    """Say so where rounding may hide changes from an oracle that is exact otherwise."""
    lost, price = answer.upper_bound - answer.value, -objective.shift
    if answer.quality is Quality.EXACT and lost > DOUBT * price:
        warn(
            f"a recording of {objective.n_samples} samples has jumps so large that rounding may "
            f"hide changes: up to {lost:.2g}, where a change costs {price:.2g}; take outliers out, "
            "or cut the recording where it jumps",
            DataWarning,
        )


def read_samples(
    problem: PartitionProblem, Xs: Any, names: Sequence[str] | None, n_features: int | None
) -> tuple[list[Sample], list[str] | None]:
    """What ``read`` of a problem returns, once it is sure that learning can do with it."""
    with asked(problem, "read"):
        found: Any = problem.read(Xs, names, n_features)
    fits = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list)
    if not (fits and all(isinstance(sample, Sample) for sample in found[0])):
        wanted = "a list of Sample(X, side), and the names of the features or None"
        raise_wrong(problem, "read", found, wanted)
    read: tuple[list[Sample], list[str] | None] = found
    for i, sample in enumerate(read[0]):
        X = sample.data
        is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
        if not (is_table or sample.is_deferred):
            raise PluginError(
                f"{type(problem).__name__}.read made X of {problem.traits.words.whole} {i} "
                f"{shown(X)}: give an array (T, P) of float64"
            )
    return read


def has_rows(problem: PartitionProblem, samples: Sequence[Sample]) -> bool:
    return not problem.traits.contiguous and all(sample.side is None for sample in samples)
