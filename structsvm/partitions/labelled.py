"""A labelled sample as learning sees it: its joint features, and its most violated labelling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from structsvm.data.deferred import Data, Deferred, in_memory
from structsvm.data.gaps import InMetric
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import Projector, partition_loss
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Oracle
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Separation
from structsvm.support.arrays import Floats
from structsvm.support.contract import Contract

Loss = Callable[[Projector, Projector], float]
"""What predicting a partition, the second, costs when the first is true: 0 if they are equal, never
negative."""


class FeatureMap(Protocol):
    """``T phi(x, M)`` with respect to a metric of either kind."""

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a full metric, (P, P)."""

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """The slope of the score with respect to a diagonal metric, (P,)."""


class SecondMoment:
    """``phi(X, M) = X^T M X / T``: the scatter between clusters (Lajugie et al., eq. (5))."""

    def full(self, x: LabelledSample, y: Any) -> Floats:
        """Return ``X^T M X``, (P, P)."""
        return x.gram(y)

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        """Return the diagonal of ``X^T M X``, (P,)."""
        return x.gram_diagonal(y)


SECOND_MOMENT = SecondMoment()


@dataclass(frozen=True, eq=False)
class Scoring:
    """The metric and the prices by which samples are scored in a round."""

    B: Floats
    """A diagonal (P,), or a matrix (P, P)."""
    in_metric: InMetric
    """What puts samples in the metric: times ``L`` (P, r) with ``B = L L^T``."""
    truth_weight: float
    """``c``."""
    shift: float
    """``d``."""

    @property
    def kappa(self) -> float:
        """The weight of the loss."""
        return self.truth_weight / 2

    @property
    def price(self) -> float:
        """``beta``, the price of a cluster."""
        return self.kappa - self.shift


class LabelledSample(Contract):
    """Samples ``X`` (T, P) and their true labelling, in the form for separation.

    Made once per fit. Its labellings are projectors of one type, known by ``n_clusters`` and
    ``inner``; only the sample knows what more there is to them.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import EquivalenceMatrix, LabelledSample, SearchedSample
    >>> X, M = np.array([[0.0], [0.0], [3.0]]), EquivalenceMatrix.from_breakpoints([2, 3])
    >>> sample = SearchedSample(X, M, SequentialOracle())
    >>> isinstance(sample, LabelledSample), sample.n_samples
    (True, 3)
    """

    losses: ClassVar[tuple[Loss, ...]] = (partition_loss,)
    """What :meth:`separate` can add to the score: a problem with another loss is refused."""
    feature_maps: ClassVar[tuple[FeatureMap, ...]] = (SECOND_MOMENT,)
    """What the score can be made of: a problem with another feature map is refused."""

    @property
    @abstractmethod
    def truth(self) -> Any:
        """The true labelling ``M_i``."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of samples, T."""

    @abstractmethod
    def gram(self, y: Any) -> Floats:
        """Return ``X^T M X`` of a labelling, (P, P)."""

    @abstractmethod
    def gram_diagonal(self, y: Any) -> Floats:
        """Return the diagonal of ``X^T M X`` of a labelling, (P,)."""

    @abstractmethod
    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Maximise ``Tr(A M)``, ``A = X B X^T - c M_i + d I``; the slack is that of ``Tr(A M)``.

        ``given_k``: over labellings with as many clusters as the truth. One that declares another
        loss or feature map maximises ``T (<w, phi(x, M)> + loss)``.
        """


@dataclass(frozen=True, eq=False)
class SearchedSample(LabelledSample):
    """The samples ``X`` (T, P) as they are, and an oracle over their partitions.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import EquivalenceMatrix, SearchedSample
    >>> X, M = np.array([[0.0], [0.0], [3.0]]), EquivalenceMatrix.from_breakpoints([2, 3])
    >>> SearchedSample(X, M, SequentialOracle()).gram(M).tolist()
    [[9.0]]
    """

    data: Data
    """``X``, in memory or not."""
    M: EquivalenceMatrix
    """The truth."""
    oracle: Oracle

    @property
    def X(self) -> Floats:
        """The samples, (T, P), read now if they are not in memory."""
        return in_memory(self.data)

    def read(self) -> SearchedSample:
        """The same with its samples in memory, for as long as it is needed."""
        return replace(self, data=self.X) if isinstance(self.data, Deferred) else self

    @property
    def truth(self) -> EquivalenceMatrix:
        return self.M

    @property
    def n_samples(self) -> int:
        return self.M.n_samples

    def gram(self, y: EquivalenceMatrix) -> Floats:
        return y.gram(self.X)

    def gram_diagonal(self, y: EquivalenceMatrix) -> Floats:
        return y.gram_diagonal(self.X)

    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Ask the oracle for the most violated labelling."""
        constraint = Constraint(self.M.n_clusters) if given_k else UNCONSTRAINED
        answer = self.oracle.ask(self.scored(scoring), constraint)
        return Separation(answer.y, max(0.0, answer.upper_bound - answer.value), answer.quality)

    def scored(self, scoring: Scoring) -> TraceObjective:
        """What :meth:`separate` maximises."""
        return TraceObjective(
            Z=scoring.in_metric(self.X),
            truth=self.M,
            truth_weight=scoring.truth_weight,
            shift=scoring.shift,
            gaps=True,
        )
