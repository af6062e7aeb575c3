"""Learning of a problem: its objective over metrics, checks of labels, units and the price."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np

from structsvm.data.deferred import Data, in_memory, sum_arrays
from structsvm.data.sample import Sample, apply_to_samples
from structsvm.data.standardize import STANDARDIZE, centred
from structsvm.data.words import RECORDINGS, Words
from structsvm.errors import DataError, PluginError, SettingsError
from structsvm.partitions.equivalence import EquivalenceMatrix, Projector, partition_loss
from structsvm.partitions.in_metric import InMetric
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate_by,
    in_metric,
    metric_factor,
    penalties_for,
)
from structsvm.partitions.oracle import UNCONSTRAINED, Constraint, Oracle, TraceObjective
from structsvm.problem import Problem, RegularizedRisk, Risk, Separation
from structsvm.regularizers import Regularizer, Separable, SquaredNorm
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import among, is_number, meant, read_only, refuse_unlisted
from structsvm.support.contract import Contract, asked, hook, promises, raise_wrong
from structsvm.weights import PSD, Nonnegative, Product, WeightSpace

# ---- a labelled sample as learning sees it


Samples = Sequence[Sample]
Truths = Sequence[EquivalenceMatrix]
"""The true partitions of as many samples."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Samples with their true partitions, and how much each counts.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import EquivalenceMatrix, Examples, Sample
    >>> Examples([Sample(np.zeros((4, 2)))], [EquivalenceMatrix.from_breakpoints([2, 4])]).weights
    array([1.])
    """

    samples: Samples
    truths: Truths
    weights: Floats = field(default_factory=lambda: np.empty(0))
    """(N,): a weight of 2 counts as if the sample were there twice; 1 each if none are given."""

    def __post_init__(self) -> None:
        if not self.weights.size:
            object.__setattr__(self, "weights", np.ones(len(self.samples)))

    @property
    def arrays(self) -> list[Data]:
        """The features of each, (T, P), in memory or not."""
        return [sample.data for sample in self.samples]


Loss = Callable[[Projector, Projector], float]
"""Cost of predicting the second partition when the first is true: 0 if they are equal, and never
negative."""


def second_moment(x: LabelledSample, y: Any, metric: str) -> Floats:
    """``T phi(X, M) = X^T M X``: the scatter between clusters (Lajugie et al., eq. (5)).

    The slope of the score with respect to a "full" metric, (P, P), or a "diagonal" one, (P,).
    """
    return x.gram_diagonal(y) if metric == "diagonal" else x.gram(y)


FeatureMap = Callable[["LabelledSample", Any, str], Floats]
"""As :func:`second_moment`, from a sample, a labelling and the kind of the metric."""


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
    feature_maps: ClassVar[tuple[FeatureMap, ...]] = (second_moment,)
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
    menu: str = "structsvm.learner.menu:Menu"
    """Where the methods are listed that these partitions are compared with and chosen from: the
    module and the name of a :class:`structsvm.learner.menu.Menu`, loaded when it is asked for."""

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


# ---- what is minimised over a metric: the structured SVM of a partition problem


Constraints = Callable[[Any], list[Any]] | None
"""What a user asks of the weight: constraints of cvxpy, given an expression of it."""

PENALTY_RIDGE = 0.05
"""Weight of the squared norm of ``beta``, whose usual value is 1 to 1.5 and F(0) about 2."""


class Objective(Contract):
    """Objective of a learner over metrics of a kind, in the units of learning."""

    @abstractmethod
    def weight_space(self) -> WeightSpace:
        """The cone of the weight, of which the metric is all or a part."""

    @hook
    def split(self, w: Floats) -> tuple[Floats, float]:
        """``(B, beta)`` of a weight; a vector or a matrix, and the price of a cluster."""
        return self.weight_space().to_metric(w), 0.0

    @abstractmethod
    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """Omega, weighted such that ``lam`` means the same for every data set."""

    @abstractmethod
    def risk(
        self, data: Examples, regularizer: Regularizer, constraints: Constraints = None
    ) -> Risk:
        """The objective of labelled samples."""


@dataclass(frozen=True)
class MetricObjective(Objective, Problem):
    """The problem of learning the metric ``B`` (and the price ``beta`` of a cluster).

    The score of a partition is ``<B, phi(X, M)> - beta Tr(M) / T`` with the feature map of the
    problem (Lajugie et al., section "Structured prediction for metric learning"; ``beta = 1``
    there), the loss is ``kappa`` times that of the problem, divided by T.

    Training samples ``x`` are :class:`LabelledSample`. The weight is ``B``, or ``(B, beta)`` where
    the number of clusters is not known and the price is learned.

    Examples
    --------
    >>> from structsvm.partitions import MetricObjective
    >>> from structsvm.problems import ChangePoint
    >>> MetricObjective(ChangePoint(), "diagonal", 3).weight_names
    ('B', 'beta')
    """

    needs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("separate", "loss", "joint_feature"), "separate_all"
    )
    """Another loss or joint feature is not what :meth:`separate_all` maximises with."""

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
        """A partition without what was computed of it; nothing of a relaxation."""
        if not (isinstance(y, EquivalenceMatrix) and y.is_partition):
            return None
        return EquivalenceMatrix(y.held, y.form)

    def joint_feature(self, x: LabelledSample, y: Projector) -> Floats:
        """``(X^T M X, -Tr M) / T``; a feature map of the problem takes the place of ``X^T M X``."""
        slope = self.partition.feature_map(x, y, self.metric)
        return self.join(slope, -y.n_clusters) / y.n_samples

    def loss(self, y: Projector, y_hat: Projector) -> float:
        """``kappa`` times the loss, plus the fixed price of more clusters than the truth has."""
        traits = self.partition.traits
        loss = traits.kappa * self.partition.loss(y, y_hat)
        if self.signed_losses:
            loss -= y_hat.n_clusters - y.n_clusters
        return loss / y.n_samples

    def separate(self, w: Floats, x: LabelledSample, y: Projector) -> Separation:
        """Maximise ``Tr(A M)`` with ``T A = X B X^T - 2 kappa M_i + (kappa - beta) I``."""
        return next(self.separate_all(w, [(x, y)]))

    def separate_all(
        self, w: Floats, samples: Iterable[tuple[LabelledSample, Projector]]
    ) -> Iterator[Separation]:
        """Separate samples in one metric, each of which is read once."""
        B, beta = self.split(w)
        traits = self.partition.traits
        scoring = Scoring(B, InMetric(metric_factor(B)), traits.kappa, beta)
        is_usual = self.partition.feature_map is second_moment  # a plugin's is asked by the solver
        for x, _ in samples:
            if isinstance(x, SearchedSample):
                x = x.read()
            answer = x.separate(scoring, traits.given_k)
            known = is_usual and isinstance(x, SearchedSample) and answer.y.is_contiguous
            phi = self.joint_feature(x, answer.y) if known else None
            yield replace(answer, slack=answer.slack / x.truth.n_samples, feature=phi)

    def predict(self, w: Floats, x: Any) -> Any:
        """The best partition of a Sample in the metric, the number of clusters being priced."""
        B, beta = self.split(w)
        return self.partition.partition(x, Metric(metric_factor(B), beta))

    def regularizer(self, regularizer: Regularizer, lam: float) -> Regularizer:
        """``lam / P Omega(B)``, and a ridge on ``beta`` that keeps it where the loss puts it.

        ``1 / P`` makes ``lam`` free of the number of features: Omega(I) is P or P / 2. A diagonal
        metric has (P + 1) / 2 times fewer parameters, and is shrunk so much less.
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

        Where labels are completed to nothing but single clusters, that loss is 0 and the unit 1.
        """
        space = self.weight_space()
        null = np.zeros(space.dim)  # with a cluster priced as much as the loss rewards it
        if self.prices_clusters:
            null[-1] = self.partition.traits.kappa
        missed = [(y.n_clusters - 1) / y.n_samples for y in data.truths]
        ready = zip(apply_to_samples(data.samples, _ready), data.truths, strict=True)
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

    def _labelled(self, i: int, x: Sample, y: EquivalenceMatrix) -> LabelledSample:
        """The ``i``-th training sample, which maximises with the loss and map of the problem."""
        problem = self.partition
        where = self.partition.traits.words.numbered(i)
        with asked(problem, "training_sample", where):
            sample = problem.training_sample(x, y)
        pairs = {
            "losses": ("loss", problem.loss, sample.losses),
            "feature_maps": ("feature_map", problem.feature_map, sample.feature_maps),
        }
        for attribute, (what, declared, known) in pairs.items():
            if declared not in known:
                name = getattr(declared, "__name__", type(declared).__name__)
                raise PluginError(
                    f"{type(problem).__name__}.{what} is {name}, and {type(sample).__name__} does "
                    "not maximise with it: its answers would bound another objective. Leave "
                    f"{what} as it is, or have training_sample return a LabelledSample of your own "
                    f"that maximises with it, and that declares it in {attribute}"
                )
        return sample


def _ready(X: Floats) -> Floats:
    """Features that rounding does little harm to, and that nobody writes to."""
    return read_only(centred(X))


def metric_space(metric: str, n_features: int) -> WeightSpace:
    """Return the cone of a kind of metric, "diagonal" or "full", of P features."""
    spaces = {"diagonal": Nonnegative, "full": PSD}
    if not among(metric, spaces):
        raise SettingsError(
            f"metric must be one of {sorted(spaces)}, got {metric!r}{meant(metric, spaces)}"
        )
    return spaces[metric](n_features)


# ---- what learning makes of samples and labels: checks, units, the objective and the price


@dataclass(frozen=True, eq=False)
class LearningUnits:
    """The features learning sees: whitened perhaps, in units in which ``B = I`` is sensible."""

    whitening: Floats | None
    """(P, P); None for none."""
    unit: float = 1.0
    """The penalty that goes with the identity; 1 as long as it is not known."""

    def __call__(self, X: Floats) -> Floats:
        """The features of a standardised sample that learning sees, (T, P)."""
        if self.whitening is not None:
            X = X @ self.whitening
        return np.asarray(X / np.sqrt(self.unit))

    def restore(self, factor: Floats) -> Floats:
        """A factor of a metric of these features, as one of the standardised features."""
        return factor if self.whitening is None else self.whitening @ factor


@dataclass(frozen=True)
class Learning(Contract):
    """Learning of a problem; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm.partitions import Learning
    >>> from structsvm.problems import ChangePoint
    >>> Learning(ChangePoint()).objective("diagonal", 3).weight_space().dim
    4
    """

    problem: Family

    @hook
    def known_labels(self, y: Any, sample: Sample) -> Any:
        """Labels as users write them, one for each item if they are labels of something else."""
        return y

    @hook
    def item_labels(self, y: Any, sample: Sample) -> Any:
        """Labels as features and baselines learn from them: the name of each item, if any."""
        return self.known_labels(y, sample)

    @hook
    def part(
        self, sample: Sample, rows: Ints, truth: EquivalenceMatrix
    ) -> tuple[Sample, EquivalenceMatrix]:
        """Some labelled items of a sample and their partition, as :meth:`calibrate` takes them."""
        return sample.at(rows), truth

    @hook
    def check(self, truths: Truths) -> None:
        """Refuse training labels that teach nothing, and warn if they teach little."""
        if all(truth.n_clusters == 1 for truth in truths):
            words = self.problem.traits.words
            raise DataError(
                f"every {words.whole} is one single {words.part}: label at least one that has two"
            )

    @promises(np.ndarray)
    def untrained_factor(self, data: Examples) -> Floats:
        """The metric without learning, ``L`` (P, r), of samples alone; by default the identity."""
        return np.eye(data.samples[0].n_features)

    @hook
    def closed_form(self, name: str, data: Examples) -> Floats | None:
        """A metric of this problem's own that needs no learning, ``L`` by name; None for none."""
        return None

    def untrained(self, data: Examples) -> Metric:
        """The metric without learning, with the price that suits the labels."""
        factor = self.untrained_factor(data)
        return self.calibrate(factor, data).metric(factor)

    @promises(
        lambda found: found is None or (is_number(found) and 0.0 < found < np.inf),
        "None or a number > 0",
    )
    def unit(self, data: Examples) -> float | None:
        """The price in whose units learning sees the metric; None for the calibrated one."""
        return None

    @promises(LearningUnits)
    def units(self, data: Examples, untrained: Metric, shrinkage: float | None) -> LearningUnits:
        """The features that learning sees: whitened with a ``shrinkage`` perhaps, and scaled.

        ``untrained`` is the identity with its calibrated price.
        """
        whitening = None
        if shrinkage is not None:
            whitening = within_whitening(data, shrinkage)
            data = replace(data, samples=apply_to_samples(data.samples, LearningUnits(whitening)))
        unit = self.unit(data)
        if unit is None and whitening is not None:
            identity = np.eye(whitening.shape[0])
            unit = self.calibrate(identity, data).penalty
        if unit is None:
            assert untrained.price is not None
            unit = untrained.price
        return LearningUnits(whitening, unit)

    @promises(Objective)
    def objective(self, metric: str, n_features: int) -> Objective:
        """The objective over a "full" or a "diagonal" metric of P features."""
        return MetricObjective(self.problem, metric, n_features)

    @promises(Calibration)
    def calibrate(self, factor: Floats, data: Examples) -> Calibration:
        """The price of a cluster that suits the labels of samples in the metric ``L L^T``.

        By default they are decoded for every penalty of a geometric grid.
        """
        problem = self.problem
        oracles = []
        for i, sample in enumerate(data.samples):
            with asked(problem, "decoder", problem.traits.words.numbered(i)):
                oracles.append(problem.decoder(sample))
        is_usual = problem.loss is partition_loss
        loss = partition_loss if is_usual else partial(loss_of, problem)
        Zs = in_metric(data.samples, factor)
        penalties = penalties_for(Zs, data.truths, data.weights)
        if penalties is None:
            ones = [EquivalenceMatrix.from_breakpoints([M.n_samples]) for M in data.truths]
            return Calibration.of_one_cluster(list(map(loss, data.truths, ones)), data.weights)
        losses = [partial(loss, M) for M in data.truths]
        known = data.truths if is_usual else None
        return calibrate_by(oracles, Zs, losses, penalties, data.weights, known)


def within_whitening(data: Examples, shrinkage: float = 0.5) -> Floats:
    """RCA: ``C^{-1/2}``, C the covariance within the true clusters, shrunk to a multiple of I."""
    given = data.arrays, data.weights, data.truths
    scatter = sum_arrays("measuring the clusters", _scatter_within, *given)
    covariance = scatter / (data.weights @ [sample.n_samples for sample in data.samples])
    P = covariance.shape[0]
    target = np.trace(covariance) / P * np.eye(P)
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target)
    if not values[-1] > 0:
        return np.eye(P)  # every true cluster is a single point
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1])) @ vectors.T)


def _scatter_within(X: Floats, M: EquivalenceMatrix) -> Floats:
    """``X^T (I - M) X``: of every sample less the mean of its cluster, (P, P)."""
    means = M.project(X) / np.sqrt(M.sizes)[:, None]
    within = X - means[M.labels]
    return np.asarray(within.T @ within)
