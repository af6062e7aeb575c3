"""A labelled sample as learning sees it, and the properties of a problem that it is of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from structsvm.data.sample import RECORDINGS, Data, Deferred, InMetric, Sample, Words, in_memory
from structsvm.data.samples import STANDARDIZE
from structsvm.errors import SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import Projector, partition_loss
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Oracle, TraceObjective
from structsvm.problem import Separation
from structsvm.support.arrays import Floats
from structsvm.support.checks import is_number, refuse_unlisted
from structsvm.support.contract import Contract, raise_wrong

Samples = Sequence[Sample]
Truths = Sequence[EquivalenceMatrix]
"""The true partitions of as many samples."""

Loss = Callable[[Projector, Projector], float]
"""Cost of predicting the second partition when the first is true: 0 if they are equal, and never
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
        return x.gram(y)

    def diagonal(self, x: LabelledSample, y: Any) -> Floats:
        return x.gram_diagonal(y)


SECOND_MOMENT = SecondMoment()


@dataclass(frozen=True, eq=False)
class Scoring:
    """The metric and the prices by which samples are scored in a round."""

    B: Floats
    """A diagonal (P,), or a matrix (P, P)."""
    in_metric: InMetric
    """Transforms samples (T, P) to ``X L``, where ``B = L L^T``."""
    kappa: float
    """The weight of the loss."""
    price: float
    """``beta``, the price of a cluster."""


class LabelledSample(Contract):
    """Samples ``X`` (T, P) and their true labelling, in the form for separation.

    Made once per fit. Its labellings are projectors of one type, known by ``n_clusters`` and
    ``inner``; only the sample knows what more there is to them.

    Examples
    --------
    >>> from structsvm.partitions import LabelledSample, SearchedSample
    >>> issubclass(SearchedSample, LabelledSample)
    True
    """

    losses: ClassVar[tuple[Loss, ...]] = (partition_loss,)
    """Losses that :meth:`separate` can add to the score; a problem with another one is refused."""
    feature_maps: ClassVar[tuple[FeatureMap, ...]] = (SECOND_MOMENT,)
    """Feature maps of the score; a problem with another one is refused."""

    truth: Any
    """The true labelling ``M_i``."""

    @abstractmethod
    def gram(self, y: Any) -> Floats:
        """Return ``X^T M X`` of a labelling, (P, P)."""

    @abstractmethod
    def gram_diagonal(self, y: Any) -> Floats:
        """Return the diagonal of ``X^T M X`` of a labelling, (P,)."""

    @abstractmethod
    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Maximise ``Tr(A M)``, ``A = X B X^T - 2 kappa M_i + (kappa - beta) I``, with its slack.

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
    truth: EquivalenceMatrix
    oracle: Oracle

    @property
    def X(self) -> Floats:
        """The samples, (T, P), read now if they are not in memory."""
        return in_memory(self.data)

    def read(self) -> SearchedSample:
        """A copy whose samples are in memory."""
        return replace(self, data=self.X) if isinstance(self.data, Deferred) else self

    def gram(self, y: EquivalenceMatrix) -> Floats:
        return y.gram(self.X)

    def gram_diagonal(self, y: EquivalenceMatrix) -> Floats:
        return y.gram_diagonal(self.X)

    def separate(self, scoring: Scoring, given_k: bool) -> Separation:
        """Ask the oracle for the most violated labelling."""
        constraint = Constraint(self.truth.n_clusters) if given_k else UNCONSTRAINED
        answer = self.oracle.ask(self.scored(scoring), constraint)
        return Separation(answer.y, max(0.0, answer.upper_bound - answer.value), answer.quality)

    def scored(self, scoring: Scoring) -> TraceObjective:
        """The objective that :meth:`separate` maximises."""
        return TraceObjective(
            Z=scoring.in_metric(self.X),
            truth=self.truth,
            truth_weight=2 * scoring.kappa,
            shift=scoring.kappa - scoring.price,
            gaps=True,
        )


# ---- the properties of a partition problem, and what learning and comparison ask of one


LEAST_KAPPA = 1e-12
"""A loss of a smaller weight drowns in the rounding of the scores."""

NUMBERS = int | float | np.bool_ | np.integer | np.floating


@dataclass(frozen=True)
class Traits:
    """The properties of a family of partitions.

    Examples
    --------
    >>> from structsvm.partitions import Traits
    >>> Traits(contiguous=True, given_k=True).learns_price
    True
    """

    words: Words = RECORDINGS
    """Nouns for samples and clusters in messages."""
    contiguous: bool = False
    """Whether clusters are segments of consecutive samples, so that there are breakpoints."""
    given_k: bool = False
    """Whether the number of clusters is given, at learning time as at prediction time."""
    learns_price: bool = True
    """Whether the price ``beta`` of a cluster is a weight next to the metric."""
    kappa: float = 1.0
    """The loss is multiplied by this."""
    convex: bool = True
    """Whether the objective is convex, so that learning has a certified lower bound."""
    shrinkage: float | None = None
    """Shrinkage of the whitening that full metrics start from by default; None for none."""
    standardize: str | None = "recording"
    """Standardisation of features by default."""
    lam: float = 0.1
    """Strength of the regularizer by default."""
    lams: tuple[float, ...] = (1.0, 0.2, 0.04, 0.008)
    """The strengths that model selection chooses from by default."""
    candidates: tuple[str, ...] = ("untrained", "rca", "diagonal", "full")
    """The metrics that model selection chooses from by default; a larger menu measured worse."""
    baselines: tuple[str, ...] = ("pca", "rca")
    """The metrics that a learned one is compared with, apart from the untrained one."""

    def __post_init__(self) -> None:
        """Refuse what no learner can do with; multiply in double precision."""
        refuse_kappa(self.kappa, 1.0 if self.convex else np.inf)
        if self.shrinkage is not None and not 0 <= self.shrinkage <= 1:
            raise SettingsError(f"shrinkage must be None or from 0 to 1, got {self.shrinkage!r}")
        refuse_unlisted("standardize", self.standardize, STANDARDIZE)
        object.__setattr__(self, "kappa", float(self.kappa))


def refuse_kappa(kappa: Any, most: float = 1.0) -> None:
    """Refuse a weight of the loss that is no number from 1e-12 to ``most``."""
    if not (is_number(kappa) and LEAST_KAPPA <= kappa <= most and kappa < np.inf):
        raise SettingsError(
            f"kappa must be from {LEAST_KAPPA:g} to {most:g}, got {kappa!r}: a smaller one drowns "
            "in rounding, and with one above 1 a loss may reward a cluster by more than it costs"
        )


class Family(Protocol):
    """The part of a partition problem that learning and comparison ask."""

    @property
    def traits(self) -> Traits: ...

    @property
    def loss(self) -> Loss: ...

    @property
    def feature_map(self) -> FeatureMap: ...

    def decoder(self, sample: Sample) -> Oracle: ...

    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample: ...

    def partition(self, sample: Sample, metric: Metric) -> EquivalenceMatrix: ...


def loss_of(problem: Family, truth: Projector, guess: Projector) -> float:
    """The loss of a problem, which is a number."""
    found: Any = problem.loss(truth, guess)
    if not isinstance(found, NUMBERS) or found != found:
        raise_wrong(problem, "loss", found, "a number")
    return float(found)
