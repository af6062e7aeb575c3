"""What every partition problem shares: joint feature map, loss and separation of a metric."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, PluginError, SettingsError
from structsvm.partial_labels.labels import PartialLabels, as_partial
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import LabelledSample, SearchedSample
from structsvm.partitions.losses import Projector, partition_loss
from structsvm.partitions.metric import metric_factor
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.samples import centred
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.words import RECORDINGS, Words
from structsvm.problem import ImprovableProblem, RegularizedRisk, Separation, SignedProblem
from structsvm.regularizers import Regularizer, Separable, SquaredNorm
from structsvm.solution import Solution
from structsvm.storage.plain import read_only
from structsvm.support.checks import among
from structsvm.support.contract import Contract
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace

__all__ = [
    "MetricProblem",
    "PartitionProblem",
    "certified_upper",
    "disagreement",
    "encode_all",
    "measure",
    "per_recording",
]

Floats = NDArray[np.float64]
T = TypeVar("T")

PENALTY_RIDGE = 0.05
"""Weight of the squared norm of ``beta``, whose usual value is 1 to 1.5 and F(0) about 2."""


class PartitionProblem(Contract):
    """Declares a family of partitions: its oracles and its labels. Settings only.

    Subclasses are frozen dataclasses; :class:`structsvm.MetricLearner` does the rest. Learning asks
    :meth:`sample` for the most violated labellings, which may be those of a relaxation; prediction
    asks :attr:`decoder`, whose answers are partitions.
    """

    words: ClassVar[Words] = RECORDINGS
    """What samples and clusters are called in messages."""

    @property
    @abstractmethod
    def decoder(self) -> Oracle:
        """Maximises ``Tr(A M)`` over the partitions of this family: prediction."""

    @abstractmethod
    def sample(self, X: Floats, truth: EquivalenceMatrix) -> LabelledSample:
        """A training sample, ready for separation; ``X`` (T, P) in the units of learning."""

    @abstractmethod
    def unit(
        self,
        Xs: Sequence[Floats],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> float | None:
        """The penalty in whose units learning sees the metric; None for the calibrated one.

        ``lam`` has no unit as long as the identity divided by this is a sensible metric. A sample
        of weight 2 counts as if it were there twice; ``weights`` (N,), None for all alike.
        """

    @property
    @abstractmethod
    def shrinkage(self) -> float | None:
        """Shrinkage of the whitening that full metrics start from by default; None for none."""

    @abstractmethod
    def seeded(self, random_state: int) -> PartitionProblem:
        """The same problem with this seed of whatever it draws at random."""

    @property
    @abstractmethod
    def known_clusters(self) -> bool:
        """Whether the number of clusters is given, at learning time as at prediction time."""

    @property
    @abstractmethod
    def learns_penalty(self) -> bool:
        """Whether the price ``beta`` of a cluster is a weight next to the metric."""

    @property
    @abstractmethod
    def margin(self) -> float:
        """``kappa``: the loss is multiplied by this."""

    @property
    @abstractmethod
    def contiguous(self) -> bool:
        """Whether clusters are segments of consecutive samples, so that there are breakpoints."""

    @abstractmethod
    def encode(self, y: Any, n_samples: int) -> EquivalenceMatrix:
        """Labels as users write them to an equivalence matrix; raises DataError."""

    @abstractmethod
    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """Refuse training labels that teach nothing (DataError); warn of what teaches little."""

    @abstractmethod
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """What model selection maximises: ``-|M - M_i|_F^2``, unless that is easily fooled."""

    @abstractmethod
    def decode(self, M: EquivalenceMatrix) -> NDArray[np.int64]:
        """An equivalence matrix to one label per sample, (T,)."""


def disagreement(
    problem: PartitionProblem, truth: EquivalenceMatrix, guess: EquivalenceMatrix
) -> float:
    """What the agreement of a guess lacks to a perfect one: usually the loss."""
    return problem.agreement(truth, truth) - problem.agreement(truth, guess)


def measure(problem: PartitionProblem, truth: EquivalenceMatrix) -> str:
    """What :func:`disagreement` is called: a "loss" if perfect agreement is 0, not an index."""
    return "loss" if problem.agreement(truth, truth) == 0 else "disagreement"


@dataclass(frozen=True)
class MetricProblem(ImprovableProblem, SignedProblem):
    """Learning the metric ``B`` (and the price ``beta`` of a cluster) of a partition problem.

    The score of a partition is ``<B, X^T M X> / T - beta Tr(M) / T`` (Lajugie et al., section
    "Structured prediction for metric learning"; ``beta = 1`` there), the loss is
    ``kappa |M - M_i|_F^2 / T``.

    Training samples ``x`` are :class:`LabelledSample`; their labellings are what they make them.
    With a known number of clusters the weight is ``B``; otherwise it is ``B``, or ``(B, beta)``
    when the price is learned.
    """

    partition: PartitionProblem
    metric: str
    """"diagonal" or "full"."""
    n_features: int

    @property
    def prices_clusters(self) -> bool:
        """Whether ``beta`` is part of the weight."""
        return self.partition.learns_penalty and not self.partition.known_clusters

    @property
    def signed_losses(self) -> bool:
        """Whether the loss includes the fixed price of a cluster."""
        return not (self.partition.known_clusters or self.prices_clusters)

    def weight_space(self) -> WeightSpace:
        """``B``, or ``(B, beta)``."""
        B = metric_space(self.metric, self.n_features)
        return Product((B, Nonnegative(1))) if self.prices_clusters else B

    def split(self, w: Floats) -> tuple[Floats, float]:
        """``(B, beta)`` of a weight; a vector or a matrix, and the price of a cluster."""
        B = self.weight_space().to_metric(w)
        if self.partition.known_clusters:
            return B, 0.0
        return B, float(w[-1]) if self.prices_clusters else 1.0

    def join(self, B: Floats, beta: float) -> Floats:
        """The weight of ``(B, beta)``."""
        w = self.weight_space().from_metric(B)
        if self.prices_clusters:
            w[-1] = beta
        return w

    def null_weight(self) -> Floats:
        """``B = 0`` with a cluster priced as much as the loss rewards it."""
        return self.join(0.0 * self.identity(), self.partition.margin)

    def joint_feature(self, x: LabelledSample, y: Projector) -> Floats:
        """``(X^T M X, -Tr M) / T``."""
        gram = x.gram_diagonal(y) if self.metric == "diagonal" else x.gram(y)
        phi = self.weight_space().from_metric(gram)
        if self.prices_clusters:
            phi[-1] = -y.n_clusters
        return phi / x.n_samples

    def loss(self, y: Projector, y_hat: Projector) -> float:
        """``kappa |M - M_i|_F^2 / T``, plus the fixed price of more clusters than the truth has."""
        loss = self.partition.margin * partition_loss(y, y_hat)
        if self.signed_losses:
            loss -= y_hat.n_clusters - y.n_clusters
        return loss / y.n_samples

    def separate(self, w: Floats, x: LabelledSample, y: Projector) -> Separation:
        """Maximise ``Tr(A M)`` with ``T A = X B X^T - 2 kappa M_i + (kappa - beta) I``."""
        B, beta = self.split(w)
        kappa = self.partition.margin
        answer = x.separate(B, 2 * kappa, kappa - beta, self.partition.known_clusters)
        return replace(answer, slack=answer.slack / x.n_samples)

    def improves(self, x: LabelledSample) -> bool:
        """Whether the oracle of the sample starts from earlier labellings too."""
        return isinstance(x, SearchedSample) and x.improves

    def improve(
        self, w: Floats, x: LabelledSample, y: Projector, known: EquivalenceMatrix
    ) -> Separation:
        """As :meth:`separate`, from a labelling found before."""
        assert isinstance(x, SearchedSample)
        B, beta = self.split(w)
        kappa = self.partition.margin
        answer = x.improve(B, 2 * kappa, kappa - beta, self.partition.known_clusters, known)
        return replace(answer, slack=answer.slack / x.n_samples)

    def predict(self, w: Floats, x: Floats) -> EquivalenceMatrix:
        """The best partition of ``x`` (T, P) in the metric, the number of clusters being priced."""
        B, beta = self.split(w)
        return self.partition.decoder.ask(TraceObjective(x @ metric_factor(B), shift=-beta)).y

    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """``lam / P Omega(B)``, and a ridge on ``beta`` that keeps it where the loss puts it.

        For samples in units in which ``B = I`` is a sensible metric. ``1 / P`` makes ``lam`` free
        of the number of features: Omega(I) is P or P / 2. A diagonal metric, which has (P + 1) / 2
        times fewer parameters than a full one, is shrunk so much less.
        """
        P = self.n_features
        share = metric_space(self.metric, P).dim / PSD(P).dim
        weighted = regularizer.scaled(lam * share / P)
        if self.prices_clusters:
            return Separable((weighted, SquaredNorm(weight=PENALTY_RIDGE)))
        return weighted

    def risk(
        self,
        xs: Sequence[Floats],
        ys: Sequence[EquivalenceMatrix],
        regularizer: Regularizer,
        constraints: Callable[[Any], list[Any]] | None = None,
        weights: Floats | None = None,
    ) -> RegularizedRisk:
        """The objective, in units of the mean loss of one single cluster: F(0) is about 2.

        Both means are weighted, if there are weights, (N,). Solvers try the identity first, which
        is the untrained metric.
        """
        weights = np.ones(len(ys)) if weights is None else weights
        changes = float(weights @ [(y.n_clusters - 1) / y.n_samples for y in ys])
        with _nothing_written(f"{type(self.partition).__name__}.sample"):
            samples = [
                self.partition.sample(read_only(centred(x)), y) for x, y in zip(xs, ys, strict=True)
            ]
        return RegularizedRisk(
            problem=self,
            xs=samples,
            ys=[sample.truth for sample in samples],
            regularizer=regularizer,
            sample_weight=weights / changes,
            null=self.null_weight(),
            constraints=constraints,
            start=self.join(self.identity(), 1.0),
        )

    def identity(self) -> Floats:
        """``B = I`` as the weight space writes it."""
        P = self.n_features
        return np.ones(P) if self.metric == "diagonal" else np.eye(P)


def metric_space(metric: str, n_features: int) -> WeightSpace:
    """The cone of a kind of metric."""
    spaces = {"diagonal": Nonnegative, "full": PSD}
    if not among(metric, spaces):
        raise SettingsError(f"metric must be one of {sorted(spaces)}, got {metric!r}")
    return spaces[metric](n_features)


def certified_upper(risk: RegularizedRisk, solution: Solution) -> float:
    """An upper bound of the true objective at the best weight, whatever the oracle.

    That of the solution, unless a heuristic oracle may have underestimated it: then the oracles are
    asked once more, for the upper bounds that they know (for clustering, the relaxation's; it often
    exceeds F(0)).
    """
    if "heuristic" not in solution.bound:
        return solution.upper
    total = risk.penalty(solution.w)
    anchors = risk.ys if risk.anchors is None else risk.anchors
    for x, y, best, omega in zip(risk.xs, risk.ys, anchors, risk.sample_weight, strict=True):
        answer = risk.problem.separate(solution.w, x, y)
        gain = risk.problem.joint_feature(x, answer.y) - risk.problem.joint_feature(x, best)
        found = risk.problem.loss(y, answer.y) + float(gain @ solution.w)
        total += omega * max(0.0, found + answer.slack)
    return float(total)


def encode_all(problem: PartitionProblem, Xs: Sequence[Floats], ys: Any) -> list[EquivalenceMatrix]:
    """Labels as users write them to equivalence matrices; DataError says which."""

    def encode(y: Any, n_samples: int) -> EquivalenceMatrix:
        labels = as_partial(y, n_samples, problem.words.item)
        if labels is None:
            return problem.encode(y, n_samples)
        labels.constraint(n_samples, problem.contiguous)
        if not labels.is_complete:
            raise DataError(
                "is labelled in part only (-1 marks samples without a label), which is enough to "
                "learn from but not for this"
            )
        return problem.encode(labels.codes, n_samples)

    return per_recording(encode, Xs, ys, problem.words)


def per_recording(
    read: Callable[[Any, int], T], Xs: Sequence[Floats], ys: Any, words: Words = RECORDINGS
) -> list[T]:
    """``read(y_i, T_i)`` for each recording; DataError says which one it is about."""
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys  # a column of a data frame
    try:
        single = isinstance(ys, PartialLabels) or (len(Xs) == 1 and _is_number(ys))
        labels = [ys] if single else list(ys)
    except TypeError:
        raise DataError(f"expected a list of labellings, got {type(ys).__name__}") from None
    if len(labels) != len(Xs):
        raise DataError(f"{words.wholes(len(Xs))} but {len(labels)} labellings")
    found = []
    for i, (X, y) in enumerate(zip(Xs, labels, strict=True)):
        try:
            with _nothing_written(f"encode, of {words.whole} {i},"):
                found.append(read(read_only(y) if type(y) is np.ndarray else y, X.shape[0]))
        except DataError as error:
            raise DataError(f"{words.whole} {i}: {error}") from error
    return found


@contextmanager
def _nothing_written(method: str) -> Iterator[None]:
    """Name the method that writes to what it was given, which is read-only."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise PluginError(f"{method} modified its input ({error}): copy before writing") from error


def _is_number(ys: Any) -> bool:
    """Whether the first of these is one label rather than the labels of a recording."""
    try:
        return np.ndim(ys[0]) == 0 and not isinstance(ys[0], PartialLabels)
    except (IndexError, KeyError, ValueError):  # none, a mapping, rows of several lengths
        return False
