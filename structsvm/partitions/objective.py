"""The objective that is minimised over a metric: the structured SVM of a partition problem."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from structsvm.data import Instance, apply_to_instances, centred
from structsvm.errors import PluginError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix, Projector
from structsvm.partitions.in_metric import InMetric
from structsvm.partitions.metric import Calibration, Metric
from structsvm.partitions.oracle import Oracle
from structsvm.partitions.training_instance import (
    Examples,
    LabelledInstance,
    Loss,
    Scoring,
    SearchedInstance,
)
from structsvm.partitions.traits import Traits
from structsvm.problem import (
    PSD,
    Nonnegative,
    Problem,
    Product,
    RegularizedRisk,
    Regularizer,
    Risk,
    Separable,
    Separation,
    SquaredNorm,
    WeightSpace,
    metric_factor,
)
from structsvm.support import Contract, Floats, among, asked, hook, meant, raise_wrong, read_only

NUMBERS = int | float | np.bool_ | np.integer | np.floating


class Family(Protocol):
    """The members of a partition problem that learning and comparison use."""

    @property
    def traits(self) -> Traits: ...

    @property
    def loss(self) -> Loss: ...

    def decoder(self, instance: Instance) -> Oracle: ...

    def training_instance(
        self, instance: Instance, truth: EquivalenceMatrix
    ) -> LabelledInstance: ...

    def partition(self, instance: Instance, metric: Metric) -> EquivalenceMatrix: ...

    def unit(self, data: Examples) -> float | None: ...

    def calibrate(self, factor: Floats, data: Examples) -> Calibration: ...

    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float: ...


def loss_of(problem: Family, truth: Projector, guess: Projector) -> float:
    """The loss of a problem between two partitions, after a check that it is a number."""
    loss: Any = problem.loss(truth, guess)
    if not isinstance(loss, NUMBERS) or loss != loss:
        raise_wrong(problem, "loss", loss, "a number")
    return float(loss)


Constraints = Callable[[Any], list[Any]] | None
"""A function of the user that returns constraints of cvxpy for an expression of the metric."""
PENALTY_RIDGE = 0.05
"""Weight of the squared norm of ``beta``, which is usually 1 to 1.5, where F(0) is about 2."""


class Objective(Contract):
    """The objective of a learner over full or diagonal metrics, in the units of learning."""

    @abstractmethod
    def weight_space(self) -> WeightSpace:
        """The cone of the weight, which consists of the metric and perhaps further parts."""

    @hook
    def split(self, w: Floats) -> tuple[Floats, float]:
        """``(B, beta)`` of a weight: the metric, (P,) or (P, P), and the price of a cluster."""
        return self.weight_space().to_metric(w), 0.0

    @abstractmethod
    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """The regularizer times ``lam``, in units that are the same for every data set."""

    @abstractmethod
    def risk(
        self, data: Examples, regularizer: Regularizer, constraints: Constraints = None
    ) -> Risk:
        """The objective of labelled instances."""


@dataclass(frozen=True)
class MetricObjective(Objective, Problem):
    """The problem of learning the metric ``B`` (and the price ``beta`` of a cluster).

    The score of a partition is ``<B, phi(X, M)> - beta Tr(M) / T`` with the feature map of its
    training instances (Lajugie et al., section "Structured prediction for metric learning";
    ``beta = 1`` there), the loss is ``kappa`` times that of the problem, divided by T.

    Training instances ``x`` are :class:`LabelledInstance`. The weight is ``B``, or ``(B, beta)``
    where the number of clusters is not known and the price is learned.

    Examples
    --------
    >>> from structsvm.partitions import MetricObjective
    >>> from structsvm.problems import ChangePoint
    >>> MetricObjective(ChangePoint(), "diagonal", 3).weight_names
    ('B', 'beta')
    """

    needs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("separate", "loss", "joint_feature"), "separate_each"
    )
    """Another loss or joint feature is not what :meth:`separate_each` maximises with."""

    partition: Family
    metric: str
    """"diagonal" or "full"."""
    n_features: int

    @property
    def prices_clusters(self) -> bool:
        """Whether ``beta`` is part of the weight."""
        traits = self.partition.traits
        return traits.learns_price and not traits.given_k

    @property
    def signed_losses(self) -> bool:
        """Whether the loss includes the fixed price of a cluster."""
        return not (self.partition.traits.given_k or self.prices_clusters)

    def weight_space(self) -> WeightSpace:
        return self._space

    @cached_property
    def _space(self) -> WeightSpace:
        B = metric_space(self.metric, self.n_features)
        return Product((B, Nonnegative(1)), metric_first=True) if self.prices_clusters else B

    def split(self, w: Floats) -> tuple[Floats, float]:
        B = self.weight_space().to_metric(w)
        if self.partition.traits.given_k:
            return B, 0.0
        return B, float(w[-1]) if self.prices_clusters else 1.0

    def join(self, B: Floats, beta: float) -> Floats:
        """Return the weight, (d,), of a metric ``B`` and a price ``beta``."""
        w = self.weight_space().from_metric(B)
        if self.prices_clusters:
            w[-1] = beta
        return w

    @property
    def weight_names(self) -> tuple[str, ...]:
        """The metric is called ``B``, the price of a cluster ``beta``."""
        return ("B", "beta") if self.prices_clusters else ("B",)

    def kept(self, y: Projector) -> EquivalenceMatrix | None:
        """A partition without cached properties; None for a relaxation."""
        if not (isinstance(y, EquivalenceMatrix) and y.is_partition):
            return None
        return EquivalenceMatrix(y.held, y.form)

    def joint_feature(self, x: LabelledInstance, y: Projector) -> Floats:
        """``(T phi(X, M), -Tr M) / T``."""
        slope = x.gram_diagonal(y) if self.metric == "diagonal" else x.gram(y)
        return self.join(slope, -y.n_clusters) / y.n_samples

    def loss(self, y: Projector, y_hat: Projector) -> float:
        """``kappa`` times the loss, plus the fixed price of more clusters than the truth has."""
        traits = self.partition.traits
        loss = traits.kappa * self.partition.loss(y, y_hat)
        if self.signed_losses:
            loss -= y_hat.n_clusters - y.n_clusters
        return loss / y.n_samples

    def separate(self, w: Floats, x: LabelledInstance, y: Projector) -> Separation:
        """Maximise ``Tr(A M)`` with ``T A = X B X^T - 2 kappa M_i + (kappa - beta) I``."""
        return next(self.separate_each(w, [(x, y)]))

    def separate_each(
        self, w: Floats, instances: Iterable[tuple[LabelledInstance, Projector]]
    ) -> Iterator[Separation]:
        """Separate instances in one metric; each instance is read once."""
        B, beta = self.split(w)
        traits = self.partition.traits
        scoring = Scoring(B, InMetric(metric_factor(B)), traits.kappa, beta)
        for x, _ in instances:
            if isinstance(x, SearchedInstance):
                x = x.read()
            answer = x.separate(scoring, traits.given_k)
            is_plain = isinstance(x, SearchedInstance) and answer.y.is_contiguous
            phi = self.joint_feature(x, answer.y) if is_plain else None
            yield replace(answer, slack=answer.slack / x.truth.n_samples, feature=phi)

    def predict(self, w: Floats, x: Any) -> Any:
        """The best partition of an Instance in the metric at the price of a cluster."""
        B, beta = self.split(w)
        return self.partition.partition(x, Metric(metric_factor(B), beta))

    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """``lam / P Omega(B)``, and a small ridge on ``beta``.

        ``1 / P`` makes ``lam`` independent of the number of features, as Omega(I) is P or P / 2. A
        diagonal metric has (P + 1) / 2 times fewer parameters, and is shrunk that much less.
        """
        P = self.n_features
        share = metric_space(self.metric, P).dim / PSD(P).dim
        weighted = regularizer.scaled(float(lam) * share / P)
        if self.prices_clusters:
            return Separable((weighted, SquaredNorm(weight=PENALTY_RIDGE)))
        return weighted

    def risk(
        self, data: Examples, regularizer: Regularizer, constraints: Constraints = None
    ) -> RegularizedRisk:
        """The objective, in units of the mean loss of one single cluster: F(0) is about 2.

        If all completed labels are one single cluster, that loss is 0, and the unit is 1.
        """
        space = self.weight_space()
        null = np.zeros(space.dim)  # the price of a cluster cancels its reward by the loss
        if self.prices_clusters:
            null[-1] = self.partition.traits.kappa
        missed = [(y.n_clusters - 1) / y.n_samples for y in data.truths]
        ready = zip(apply_to_instances(data.instances, _ready), data.truths, strict=True)
        labelled = [self._labelled(i, x, y) for i, (x, y) in enumerate(ready)]
        return RegularizedRisk(
            problem=self,
            xs=labelled,
            ys=[x.truth for x in labelled],
            regularizer=regularizer,
            sample_weight=data.weights / (float(data.weights @ missed) or 1.0),
            null=null,
            constraints=constraints,
            start=space.identity(),
        )

    def _labelled(self, i: int, x: Instance, y: EquivalenceMatrix) -> LabelledInstance:
        """The ``i``-th training instance, after a check that it maximises the problem's loss."""
        problem = self.partition
        where = self.partition.traits.words.numbered(i)
        with asked(problem, "training_instance", where):
            instance = problem.training_instance(x, y)
        if problem.loss not in instance.losses:
            name = getattr(problem.loss, "__name__", type(problem.loss).__name__)
            raise PluginError(
                f"{type(problem).__name__}.loss is {name}, and {type(instance).__name__} does "
                "not maximise with it: its answers would bound another objective. Leave loss as it "
                "is, or have training_instance return a LabelledInstance of your own that "
                "maximises with it, and that declares it in losses"
            )
        return instance


def _ready(X: Floats) -> Floats:
    """Centred features, which rounding harms least, read-only."""
    return read_only(centred(X))


def metric_space(metric: str, n_features: int) -> WeightSpace:
    """The cone of "diagonal" or "full" metrics of P features."""
    spaces = {"diagonal": Nonnegative, "full": PSD}
    if not among(metric, spaces):
        raise SettingsError(
            f"metric must be one of {sorted(spaces)}, got {metric!r}{meant(metric, spaces)}"
        )
    return spaces[metric](n_features)
