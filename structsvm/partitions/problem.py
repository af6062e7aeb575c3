"""The contract of partition problems: partitions, labels, and what these are compared with."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data.reading import read_arrays
from structsvm.data.sample import Sample
from structsvm.data.samples import centred
from structsvm.errors import DataError, OracleError, PluginError, warn
from structsvm.partitions.equivalence import (
    EquivalenceMatrix,
    adjusted_rand_index,
    covering,
    margin_f1,
    partition_loss,
)
from structsvm.partitions.learning import (
    NUMBERS,
    Examples,
    Family,
    FeatureMap,
    LabelledSample,
    Learning,
    Loss,
    Samples,
    SearchedSample,
    Traits,
    Truths,
    loss_of,
    second_moment,
)
from structsvm.partitions.metric import Metric
from structsvm.partitions.oracle import UNCONSTRAINED, Argmax, Constraint, Oracle, TraceObjective
from structsvm.status import Quality
from structsvm.support.arrays import Bools, Floats
from structsvm.support.contract import Contract, asked, hook, hooks_of, promises, raise_wrong

# ---- what the metric of a problem is compared with and chosen from, and by which scores


ACRONYMS = frozenset({"pca", "rca", "lda", "olda"})
"""Names of metrics that people read in capitals."""

BLIND = frozenset({"equal-segments", "fixed-times", "one-part", "most-frequent"})
"""Baselines that do not look at samples: nothing pays that is not better than these."""

LEARNED_METRICS: dict[str, dict[str, Any]] = {
    "diagonal": {"metric": "diagonal", "whiten": None},
    "full": {"metric": "full"},
}
"""Settings of the learned candidates that every problem has."""

QUICK_COST = 3.0
"""Up to which a baseline is quick."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """A method to compare with that is not a metric: an estimator that is not fitted.

    It has ``fit(Xs, ys, groups=None)`` and ``predict(Xs, n_clusters=None)``, which returns a label
    for each item. ``Xs`` are the samples as measured, (T_i, P) each, ``ys`` their labels as
    :meth:`Learning.item_labels` has them, ``n_clusters`` a number for each sample, for all, or
    None. One that has ``classes_`` and ``predict_states``, too, names what it finds.

    Examples
    --------
    >>> from structsvm.partitions import Baseline
    >>> from structsvm.baselines import FrameClassifier
    >>> Baseline("frame-logistic", FrameClassifier("logistic")).quick
    True
    """

    name: str
    """Key of ``baselines_``, of tables and of JSON; sentences may call it otherwise."""
    estimator: Any
    cost: float = 1.0
    """What time it takes, about, in units of what a linear classifier takes."""

    @property
    def quick(self) -> bool:
        """Whether it takes so little time that it is fitted unless it is left out."""
        return self.cost <= QUICK_COST


def names_states(baseline: Any) -> bool:
    return getattr(baseline, "classes_", None) is not None and hasattr(baseline, "predict_states")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate of model selection: learned, or a baseline.

    Examples
    --------
    >>> from structsvm.features import Lags
    >>> from structsvm.partitions import Candidate
    >>> str(Candidate("lags-full", 0.2, settings={"metric": "full", "features": Lags()}))
    'lags-full, lam=0.2'
    >>> Candidate("rca", baseline="rca").is_learned
    False
    """

    name: str
    lam: float | None = None
    """Strength of the regularizer; None stands for each of those of the search, or for none where
    nothing is learned."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What it has in place of the settings of the search, by name as in
    :class:`structsvm.MetricLearner`; for a baseline, settings of
    :func:`structsvm.baselines.metrics.fit`, and ``features`` and ``standardize``."""
    lams: tuple[float, ...] = ()
    """Strengths to choose from in place of those of the search; none for the latter."""
    baseline: str | Baseline | None = None
    """What it is if nothing is learned: a metric, by its name in
    :func:`structsvm.baselines.metrics.fit`, or a :class:`Baseline` that is no metric."""
    cost: float = 0.25
    """That of what a metric sees, as of a :class:`Baseline`, which has its own."""

    @property
    def is_learned(self) -> bool:
        """Whether structured learning makes it."""
        return self.baseline is None

    @property
    def tuned(self) -> str | None:
        """The name of the metric that it is, if that is only tuned."""
        return self.baseline if isinstance(self.baseline, str) else None

    @property
    def estimator(self) -> Baseline | None:
        """The baseline that it is, if that is no metric."""
        return self.baseline if isinstance(self.baseline, Baseline) else None

    def __str__(self) -> str:
        name = self.name.upper() if self.name in ACRONYMS else self.name
        return name if self.lam is None else f"{name}, lam={self.lam:g}"


def named_candidate(name: str) -> Candidate:
    """The candidate that a name stands for in every problem: a learned metric, or a baseline."""
    if name in LEARNED_METRICS:
        return Candidate(name, settings=LEARNED_METRICS[name])
    return Candidate(name, baseline=name)


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """Labelled samples, for which a problem has baselines and candidates of model selection.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import ComparisonData, Sample
    >>> from structsvm.problems import ChangePoint
    >>> data = ComparisonData([Sample(np.zeros((4, 2)))], [[2, 4]])
    >>> [baseline.name for baseline in ChangePoint().comparison.baselines(data)][0]
    'equal-segments'
    """

    samples: Samples
    """As measured."""
    labels: Sequence[Any]
    """As :meth:`Learning.item_labels` has them."""
    features: Any = None
    """What the metric is learned from, not fitted; None for the columns themselves."""
    question: str | None = None
    """"rows", "clusters" or "states" where these are held out rather than samples."""


@dataclass(frozen=True)
class Comparison(Contract):
    """Comparison of metrics of a problem; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm import EquivalenceMatrix
    >>> from structsvm.partitions import Comparison
    >>> from structsvm.problems import ChangePoint
    >>> truth, found = map(EquivalenceMatrix.from_breakpoints, ([2, 4], [4]))
    >>> Comparison(ChangePoint()).agreement(truth, found)
    -1.0
    """

    problem: Family

    @hook
    def baseline(self, name: str, data: Examples) -> Metric | None:
        """A metric of this problem's own to compare with, by name; None if there is none."""
        return None

    @hook
    def baselines(self, data: ComparisonData) -> Sequence[Baseline]:
        """Estimators to compare with that are no metrics, as far as they apply to these labels."""
        return ()

    @hook
    def candidates(self, data: ComparisonData) -> Sequence[Candidate]:
        """Candidates of model selection: by default those that the traits name."""
        return [named_candidate(name) for name in self.problem.traits.candidates]

    @promises(lambda found: isinstance(found, NUMBERS) and found == found, "a number")
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Score that model selection maximises: minus the loss, unless that is easily fooled."""
        return -loss_of(self.problem, truth, guess)

    def disagreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """Difference of the agreement from that of the truth itself."""
        return float(self.agreement(truth, truth) - self.agreement(truth, guess))

    @hook
    def limit(self, truths: Truths) -> str:
        """What no partition of the items can do, and the way out, in a sentence; "" for nothing."""
        return ""

    def measure(self, truth: EquivalenceMatrix) -> str:
        """Name of the disagreement."""
        return "loss" if self.agreement(truth, truth) == 0 else "disagreement"

    @promises(dict)
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name, None for one that does not apply.

        A predicted change is a hit within ``tolerance`` samples of a true one.
        """
        segments = self.problem.traits.contiguous
        return {
            "loss": loss_of(self.problem, truth, guess),
            "covering": covering(truth, guess),
            "adjusted_rand": adjusted_rand_index(truth, guess),
            "f1": margin_f1(truth, guess, tolerance) if segments and truth.n_clusters > 1 else None,
            "disagreement": self.disagreement(truth, guess),
        }


# ---- what a partition problem declares: which partitions there are, and how labels are written


DOUBT = 0.1
"""Cost of rounding from which on there is a warning, as a part of the price of a change."""


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
            warn_of_rounding(answer, objective)
        return answer.y

    def decoding_objective(
        self, sample: Sample, metric: Metric, n_clusters: int | None = None
    ) -> TraceObjective:
        """Objective of :meth:`partition`: minus the distortion in the metric, minus the price."""
        price = 0.0 if n_clusters is not None else metric.price
        assert price is not None
        Z = metric.transform(centred(sample.X))
        return TraceObjective(Z, shift=-price, gaps=True)

    # ---- evaluation

    @property
    @hook
    def comparison(self) -> Comparison:
        """Its comparison: baselines, candidates and scores."""
        return Comparison(self)


def warn_of_rounding(answer: Argmax, objective: TraceObjective) -> None:
    """Say so where rounding may hide changes from an oracle that is exact otherwise."""
    lost, price = answer.upper_bound - answer.value, -objective.shift
    if answer.quality is Quality.EXACT and lost > DOUBT * price:
        warn(
            f"a recording of {objective.n_samples} samples has jumps so large that rounding may "
            f"hide changes: up to {lost:.2g}, where a change costs {price:.2g}; take outliers out, "
            "or cut the recording where it jumps",
        )


def read_samples(
    problem: PartitionProblem, Xs: Any, names: Sequence[str] | None, n_features: int | None
) -> tuple[list[Sample], list[str] | None]:
    """Read samples, and check that learning can use what the problem returned."""
    with asked(problem, "read"):
        found: Any = problem.read(Xs, names, n_features)
    fits = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list)
    for sample in found[0] if fits else ():
        X = getattr(sample, "data", None)
        is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64
        fits = fits and isinstance(sample, Sample) and (is_table or sample.is_deferred)
    if not fits:
        wanted = "a list of Sample(X, side), X of float64, and the names of the features or None"
        raise_wrong(problem, "read", found, wanted)
    read: tuple[list[Sample], list[str] | None] = found
    return read


def has_rows(problem: PartitionProblem, samples: Sequence[Sample]) -> bool:
    return not problem.traits.contiguous and all(sample.side is None for sample in samples)


# ---- margins of changes: the cost of the best segmentation without one, and how often margins err
#
# The margin of a boundary t of the best segmentation M is
#
#     (Tr(A M) - max { Tr(A M') : M' has no boundary within w samples of t }) / price,
#
# 0 where another segmentation is as good, and infinite where a constraint forces the boundary. It
# is exact, because the oracles keep constraints exactly. With w = 0 it is about the very sample,
# since the best segmentation without t then usually has a boundary right beside it.

SMALLEST = 1e-6
"""Margins below this count as this: below it they are rounding."""

LARGEST = 1e6
"""Margins above this, infinite ones among them, count as this."""


def count_of_truth(problem: PartitionProblem, sample: Sample, truth: Any) -> int | None:
    """The true number of clusters, to partition with; None where the oracle takes no number."""
    if problem.traits.convex and "n_clusters" not in problem.decoder(sample).takes:
        return None
    return int(truth.n_clusters)


def boundary_margins(
    problem: PartitionProblem,
    sample: Sample,
    metric: Metric,
    n_clusters: int | None = None,
    constraint: Constraint = UNCONSTRAINED,
    tolerance: int = 0,
) -> tuple[EquivalenceMatrix, Floats]:
    """The best segmentation of a recording, and the margin of each of its changes."""
    oracle, name = problem.decoder(sample), type(problem).__name__
    is_usual = type(problem).partition is PartitionProblem.partition
    if not (problem.traits.contiguous and is_usual and "boundaries" in oracle.takes):
        raise DataError(
            f"margins are those of boundaries of segments that maximise Tr(A M) and can be "
            f"forbidden, which {name} and {type(oracle).__name__} do not find: margins=False "
            "leaves them out"
        )
    objective = problem.decoding_objective(sample, metric, n_clusters)
    constraint = constraint.with_clusters(n_clusters)
    best = oracle.ask(objective, constraint)
    if best.quality is not Quality.EXACT:
        raise DataError(
            f"margins need an exact oracle, and the answer of {type(oracle).__name__} is "
            f"{best.quality.value}: margins=False leaves them out"
        )
    if n_clusters is None:
        warn_of_rounding(best, objective)
    margins = np.full(best.y.n_clusters - 1, np.inf)
    for k, t in enumerate(best.y.breakpoints[:-1]):
        near = range(max(t - tolerance, 1), min(t + tolerance, sample.n_samples - 1) + 1)
        if any(s in constraint.forced for s in near):
            continue
        without = replace(constraint, forbidden=(*constraint.forbidden, *near))
        try:
            margins[k] = max(best.value - oracle.ask(objective, without).value, 0.0)
        except OracleError:  # no segmentation is left
            continue
    return best.y, margins / metric.price if metric.price else margins


def hits(found: EquivalenceMatrix, truth: EquivalenceMatrix, tolerance: int) -> Bools:
    """Which changes are within so many samples of a true one, (n,)."""
    at, true = found.boundaries[1:-1], truth.boundaries[1:-1]
    return np.asarray((np.abs(at[:, None] - true) <= tolerance).any(axis=1))


@dataclass(frozen=True)
class MarginRates:
    """The rate at which changes of a given margin were right in held-out recordings.

    A logistic regression of "there is a labelled change within ``tolerance`` samples" on the
    logarithm of the margin; it never says 0 or 1, and a larger margin is never less sure.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import MarginRates
    >>> margins = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 4.0])
    >>> right = np.array([False, False, True, False, True, True])
    >>> rates = MarginRates.of(margins, right, tolerance=5, n_recordings=3)
    >>> rates(np.array([0.1, 4.0])).round(1).tolist()
    [0.2, 0.8]
    """

    intercept: float
    slope: float
    """Slope of the logarithm of the margin; 0 or more."""
    tolerance: int
    """Distance of a right change from a labelled one at most, in samples."""
    n_changes: int
    """Changes that were found in the held-out recordings."""
    n_right: int
    """Changes that were right."""
    n_recordings: int

    @classmethod
    def of(cls, margins: Floats, right: Bools, tolerance: int, n_recordings: int) -> MarginRates:
        """Learn the rates from changes with their margins, and whether they were right, (n,)."""
        n, n_right = right.size, int(right.sum())
        if n == 0:
            raise DataError(
                "no change was found in the held-out recordings: there are no margins to learn from"
            )
        intercept, slope = np.log((n_right + 1) / (n - n_right + 1)), 0.0
        if 0 < n_right < n:
            from sklearn.linear_model import LogisticRegression

            model = LogisticRegression().fit(_logarithms(margins)[:, None], right)
            if model.coef_[0, 0] > 0:
                intercept, slope = model.intercept_[0], model.coef_[0, 0]
        counts = (tolerance, int(n), n_right, n_recordings)
        return cls(float(intercept), float(slope), *counts)

    def __call__(self, margins: Any) -> Floats:
        """The share of changes with such margins that are right, (n,)."""
        scores = self.intercept + self.slope * _logarithms(np.asarray(margins, dtype=np.float64))
        return np.asarray(1.0 / (1.0 + np.exp(-scores)))

    def __str__(self) -> str:
        return (
            f"{self.n_right} of {self.n_changes} changes found in {self.n_recordings} held-out "
            f"recordings were within {self.tolerance} samples of a labelled one"
        )


def _logarithms(margins: Floats) -> Floats:
    return np.asarray(np.log(np.clip(margins, SMALLEST, LARGEST)))
