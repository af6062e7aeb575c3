"""Labelled instances in the form in which learning separates them."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from structsvm.data import Data, Instance, in_memory
from structsvm.partitions.constraint import UNCONSTRAINED, Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix, Projector
from structsvm.partitions.in_metric import InMetric
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import Separation
from structsvm.support import Contract, Floats

Instances = Sequence[Instance]
Truths = Sequence[EquivalenceMatrix]  # the true partitions of as many instances


@dataclass(frozen=True, eq=False)
class Examples:
    """Instances with their true partitions, and how much each counts.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import EquivalenceMatrix, Examples, Instance
    >>> Examples([Instance(np.zeros((4, 2)))], [EquivalenceMatrix.from_breakpoints([2, 4])]).weights
    array([1.])
    """

    instances: Instances
    truths: Truths
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """(N,): a weight of 2 counts as if the instance were there twice; 1 each if none are given."""

    def __post_init__(self) -> None:
        if not self.weights.size:
            object.__setattr__(self, "weights", np.ones(len(self.instances)))

    @property
    def arrays(self) -> list[Data]:
        """The features of each instance, (T, P), in memory or on demand."""
        return [instance.data for instance in self.instances]


Loss = Callable[[Projector, Projector], float]
"""Cost of predicting the second partition when the first is true: 0 if they are equal, and never
negative."""


@dataclass(frozen=True, eq=False)
class Scoring:
    """The metric and the prices with which separation scores partitions."""

    B: Floats  # a diagonal (P,), or a matrix (P, P)
    in_metric: InMetric  # transforms samples (T, P) to ``X L``, where ``B = L L^T``
    kappa: float  # the weight of the loss
    price: float  # ``beta``, the price of a cluster


class LabelledInstance(Contract):
    """Samples ``X`` (T, P) and their true labelling, prepared once per fit for separation.

    Labellings are projectors of a type that the class chooses; others use only their
    ``n_clusters`` and ``inner``.

    Examples
    --------
    >>> from structsvm.partitions import LabelledInstance, SearchedInstance
    >>> issubclass(SearchedInstance, LabelledInstance)
    True
    """

    losses: ClassVar[tuple[Loss, ...]] = (partition_loss,)
    """Losses that :meth:`separate` can add to the score; a problem with another one is refused."""
    usual_features: ClassVar[bool] = True
    """Whether :meth:`gram` is ``X^T M X``, as :func:`structsvm.testing.check_problem` tests."""

    truth: Any
    """The true labelling ``M_i``."""

    @abstractmethod
    def gram(self, y: Any) -> Floats:
        """``T phi(X, M)`` of a labelling, the slope of its score in a full metric, (P, P).

        This is ``X^T M X``, the scatter between clusters (Lajugie et al., eq. (5)), unless
        :meth:`separate` maximises another score.
        """

    @abstractmethod
    def gram_diagonal(self, y: Any) -> Floats:
        """The same in a diagonal metric, (P,)."""

    @abstractmethod
    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Maximise ``Tr(A M)``, ``A = X B X^T - 2 kappa M_i + (kappa - beta) I``, with its slack.

        With ``given_k`` over labellings with as many clusters as the truth. With another loss or
        another ``phi`` it is ``T (<w, phi(x, M)> + loss)`` that is maximised.
        """


@dataclass(frozen=True, eq=False)
class SearchedInstance(LabelledInstance):
    """The samples ``X`` (T, P) as they are, and an oracle over their partitions.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.oracles import SequentialOracle
    >>> from structsvm.partitions import EquivalenceMatrix, SearchedInstance
    >>> X, M = np.array([[0.0], [0.0], [3.0]]), EquivalenceMatrix.from_breakpoints([2, 3])
    >>> SearchedInstance(X, M, SequentialOracle()).gram(M).tolist()
    [[9.0]]
    """

    data: Data
    """``X``, in memory or on demand."""
    truth: EquivalenceMatrix
    oracle: Oracle

    @property
    def X(self) -> Floats:
        """The samples, (T, P), which are read at each access if they are not in memory."""
        return in_memory(self.data)

    def read(self) -> "SearchedInstance":
        """A copy whose samples are in memory."""
        X = self.X
        return self if X is self.data else replace(self, data=X)

    def gram(self, y: EquivalenceMatrix) -> Floats:
        return y.gram(self.X)

    def gram_diagonal(self, y: EquivalenceMatrix) -> Floats:
        return y.gram_diagonal(self.X)

    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Ask the oracle for the most violated labelling."""
        constraint = Constraint(self.truth.n_clusters) if given_k else UNCONSTRAINED
        objective = TraceObjective(
            Z=scoring.in_metric(self.X),
            truth=self.truth,
            truth_weight=2 * scoring.kappa,
            shift=scoring.kappa - scoring.price,
            gaps=True,
        )
        answer = self.oracle.ask(objective, constraint)
        return Separation(answer.y, max(0.0, answer.upper_bound - answer.value), answer.quality)
