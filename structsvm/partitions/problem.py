"""What a partition problem declares: which partitions there are, and how labels are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from structsvm.data.deferred import BATCH, Step, stack_of
from structsvm.data.reading import read_arrays
from structsvm.data.sample import Sample, all_made_by
from structsvm.data.samples import centred, far_from_zero
from structsvm.errors import DataError, DataWarning, PluginError, warn
from structsvm.partitions.candidates import Baseline, Candidate, named_candidate
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import (
    SECOND_MOMENT,
    FeatureMap,
    LabelledSample,
    Loss,
    SearchedSample,
)
from structsvm.partitions.losses import (
    Projector,
    adjusted_rand_index,
    covering,
    margin_f1,
    partition_loss,
)
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate,
    calibrate_by,
    in_metric,
    penalties_for,
)
from structsvm.partitions.objective import MetricObjective, Objective
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    ConstraintKind,
    Oracle,
    Quality,
)
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.partitions.traits import Traits
from structsvm.partitions.units import LearningUnits, within_whitening
from structsvm.support.arrays import Floats, Ints
from structsvm.support.blocks import mapping_of
from structsvm.support.checks import is_number
from structsvm.support.contract import Contract, asked, hook, returned
from structsvm.support.plain import shown

DOUBT = 0.1
"""What rounding may cost a segmentation, as a part of the price of a change, before a warning."""


class PartitionProblem(Contract):
    """Base of partition problems. Subclasses are frozen dataclasses that hold settings only.

    Three definitions make a problem: :attr:`traits`, :meth:`decoder`, which partitions there are,
    and :meth:`encode`, how labels are written. All others have defaults, which are those of a
    problem whose score is ``<B, X^T M X> / T``. :class:`structsvm.MetricLearner` does the rest.

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

    needs: ClassVar[Mapping[str, str]] = {"partition": "calibrate"}

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What is true of the family: words, whether clusters are segments, defaults."""

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
        """What predicting one partition costs when another is true, before ``kappa``.

        By default ``|M - M_i|_F^2``. Prices are calibrated, scores are computed and models are
        selected by it, too. Another one needs a :meth:`training_sample` that maximises it and
        declares it in ``losses``; so does another feature map.
        """
        return partition_loss

    # ---- what comes in and goes out

    @hook
    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Sample], list[str] | None]:
        """Samples as users hold them, checked, and the names of their features if they have any.

        Arrays or data frames of shape (T, P), or pairs of one and of what else :meth:`decoder` and
        :meth:`encode` have to know of it.
        """
        return read_arrays(Xs, feature_names, n_features, self.traits.words)

    @hook
    def decode(self, M: EquivalenceMatrix, sample: Sample) -> NDArray[Any]:
        """A partition to labels as users write them: one for each item by default, (T,)."""
        assert M.labels is not None
        return np.array(M.labels)

    @hook
    def known_labels(self, y: Any, sample: Sample) -> Any:
        """Labels as users write them, one for each item if they are labels of something else."""
        return y

    @hook
    def item_labels(self, y: Any, sample: Sample) -> Any:
        """Labels for features and baselines to learn from: the name of each item, if it has one."""
        return self.known_labels(y, sample)

    @hook
    def restrict(self, sample: Sample, rows: Ints) -> Sample:
        """Some of the items of a sample, such as those that are labelled, as one of their own."""
        return sample.at(rows)

    @hook
    def partly(
        self, sample: Sample, rows: Ints, truth: EquivalenceMatrix
    ) -> tuple[Sample, EquivalenceMatrix]:
        """Some labelled items of a sample and their partition, as :meth:`calibrate` takes them.

        By default those items alone; the sample as a whole where the price of its parts is
        another one.
        """
        return self.restrict(sample, rows), truth

    @hook
    def check_training(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """Check that the training labels teach something, and warn if they teach little.

        Raises
        ------
        DataError
            If every sample is one single cluster.
        """
        if all(truth.n_clusters == 1 for truth in truths):
            words = self.traits.words
            raise DataError(
                f"each of the {words.wholes(len(truths))} is one single {words.part}: label at "
                "least one that has two"
            )

    # ---- learning

    @hook
    def training_sample(self, sample: Sample, truth: EquivalenceMatrix) -> LabelledSample:
        """A training sample in the units of learning, ready for separation."""
        return SearchedSample(sample.data, truth, oracle_of(self, sample))

    @hook
    def unit(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> float | None:
        """The price in whose units learning sees the metric; None for the calibrated one.

        ``lam`` has no unit as long as the identity divided by this is a sensible metric. A sample
        of weight 2 counts as if it were there twice; ``weights`` (N,), None for all alike.
        """
        return None

    @hook
    def untrained_factor(self, samples: Sequence[Sample], weights: Floats | None = None) -> Floats:
        """The metric without learning, ``L`` (P, r); the identity by default."""
        return np.eye(samples[0].n_features)

    @hook
    def units(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        untrained: Metric,
        shrinkage: float | None,
        weights: Floats | None = None,
    ) -> LearningUnits:
        """The features that learning sees: whitened perhaps, and scaled.

        Parameters
        ----------
        untrained : Metric
            The identity with its calibrated price.
        shrinkage : float or None
            Of the whitening; None for none.
        weights : array of shape (N,), optional
            Of the samples, in all of this.

        Raises
        ------
        PluginError
            If ``unit`` is no number above 0.
        """
        whitening = None
        if shrinkage is not None:
            whitening = within_whitening([s.data for s in samples], truths, shrinkage, weights)
            samples = all_made_by(samples, LearningUnits(whitening))
        unit = self.unit(samples, truths, weights)
        if unit is not None and not (is_number(unit) and 0.0 < unit < np.inf):
            raise PluginError(
                f"{type(self).__name__}.unit is {unit!r}: return None or a number > 0"
            )
        if unit is None and whitening is not None:
            identity = np.eye(whitening.shape[0])
            unit = calibrated(self, identity, samples, truths, weights).penalty
        if unit is None:
            assert untrained.price is not None
            unit = untrained.price
        return LearningUnits(whitening, unit)

    @hook
    def objective(self, metric: str, n_features: int) -> Objective:
        """What is minimised over a "full" or a "diagonal" metric of P features."""
        return MetricObjective(self, metric, n_features)

    def untrained(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Metric:
        """What there is without learning: that metric with the price that suits the labels."""
        factor = untrained_factor_of(self, samples, weights)
        return calibrated(self, factor, samples, truths, weights).metric(factor)

    # ---- prediction

    @hook
    def partition(
        self,
        sample: Sample,
        metric: Metric,
        n_clusters: int | None = None,
        constraint: Constraint = UNCONSTRAINED,
    ) -> EquivalenceMatrix:
        """The best partition of a sample into ``n_clusters``, or as many as the price allows."""
        objective = self.decoding_objective(sample, metric, n_clusters)
        answer = oracle_of(self, sample).ask(objective, constraint.with_clusters(n_clusters))
        if n_clusters is None:
            warn_of_rounding(answer, objective)
        return answer.y

    def partitions_at_once(
        self, samples: Sequence[Sample], metric: Metric, step: Step | None = None
    ) -> tuple[dict[int, EquivalenceMatrix], dict[int, Sample]]:
        """What :meth:`partition` finds by the price, in one call of decoders that can do so.

        Parameters
        ----------
        step : callable, optional
            What samples are made by before they are partitioned.

        Returns
        -------
        partitions : dict
            By the number of the sample; those that are to be decoded alone are not in it.
        made : dict
            What was made of samples whose decoder takes one at a time.
        """
        if type(self).partition is not PartitionProblem.partition or metric.price is None:
            return {}, {}
        short = [i for i, sample in enumerate(samples) if _is_short(sample)]
        if not short:
            return {}, {}
        # One array, in which all is done: fresh memory takes longer than what is done.
        Xs = stack_of([samples[i].X for i in short], step)
        together: dict[Oracle, list[int]] = {}
        made: dict[int, Sample] = {}
        for k, X in enumerate(Xs.arrays()):
            sample = Sample(X, samples[short[k]].side, samples[short[k]].states)
            oracle = oracle_of(self, sample)
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

    @hook
    def calibrate(
        self,
        factor: Floats,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Calibration:
        """The price of a cluster that suits the labels of samples in the metric ``L L^T``."""
        oracles = []
        for i, sample in enumerate(samples):
            with asked(self, "decoder", f"{self.traits.words.whole} {i}"):
                oracles.append(oracle_of(self, sample))
        Zs = in_metric(samples, factor)
        if self.loss is partition_loss:
            return calibrate(oracles, Zs, truths, weights)
        losses = [partial(loss_between, self, truth) for truth in truths]
        penalties = penalties_for(Zs, truths, weights)
        if penalties is None:
            ones = [EquivalenceMatrix.from_breakpoints([M.n_samples]) for M in truths]
            found = [loss(one) for loss, one in zip(losses, ones, strict=True)]
            return Calibration.of_one_cluster(found, weights)
        return calibrate_by(oracles, Zs, losses, penalties, weights)

    # ---- evaluation

    @hook
    def baseline(
        self,
        name: str,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Metric | None:
        """A metric of this problem's own to compare with, by name; None if there is none."""
        return None

    @hook
    def baselines(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Baseline]:
        """Estimators to compare with that are no metrics, as far as they apply to these labels.

        Parameters
        ----------
        samples : sequence of Sample
            As they were measured.
        labels : sequence of labels of each sample, as :meth:`item_labels` has them
        features : RecordingTransformer, optional
            The features that the metric is learned from, not fitted: baselines see them too.
        """
        return ()

    @hook
    def candidates(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Candidate]:
        """What model selection chooses from, the untrained metric among them.

        Parameters are those of :meth:`baselines`; where features are given, every candidate sees
        them unless it has its own. By default the candidates that the traits name.
        """
        return [named_candidate(name) for name in self.traits.candidates]

    @hook
    def candidates_for_parts(
        self, samples: Sequence[Sample], labels: Sequence[Any], features: Any = None
    ) -> Sequence[Candidate]:
        """What model selection chooses from where it holds out rows, clusters, or named states.

        By default the same as :meth:`candidates`. Of baselines of tables, only those that know the
        clusters take part, and only where rows are held out.
        """
        return self.candidates(samples, labels, features)

    @hook
    def agreement(self, truth: EquivalenceMatrix, guess: EquivalenceMatrix) -> float:
        """What model selection maximises: minus :attr:`loss`, unless that is easily fooled."""
        return -loss_between(self, truth, guess)

    @hook
    def scores(
        self, truth: EquivalenceMatrix, guess: EquivalenceMatrix, tolerance: int
    ) -> dict[str, float | None]:
        """Scores by name; a predicted change is a hit within ``tolerance`` samples of a true one.

        None for a score that does not apply.
        """
        segments = self.traits.contiguous
        return {
            "loss": loss_between(self, truth, guess),
            "covering": covering(truth, guess),
            "adjusted_rand": adjusted_rand_index(truth, guess),
            "f1": margin_f1(truth, guess, tolerance) if segments else None,
            "disagreement": disagreement(self, truth, guess),
        }


def asked_for_changes(problem: PartitionProblem, sample: Sample, kind: ConstraintKind) -> Oracle:
    """The decoder of a sample, for questions about other segmentations than the best one."""
    oracle, name = oracle_of(problem, sample), type(problem).__name__
    if type(problem).partition is not PartitionProblem.partition:
        raise DataError(
            f"margins are those of maxima of Tr(A M), and {name}.partition predicts something else"
        )
    if kind not in oracle.takes:
        raise DataError(
            f"margins need an oracle that takes {kind}, and {type(oracle).__name__} of {name} "
            f"declares takes = {sorted(oracle.takes)}: have maximize keep them, and add them to "
            "takes"
        )
    return oracle


def oracle_of(problem: PartitionProblem, sample: Sample) -> Oracle:
    """The decoder of a sample."""
    return returned(problem, "decoder", problem.decoder(sample), Oracle)  # type: ignore[type-abstract]


def untrained_factor_of(
    problem: PartitionProblem, samples: Sequence[Sample], weights: Floats | None = None
) -> Floats:
    found: Any = problem.untrained_factor(samples, weights)
    P = samples[0].n_features
    if not (
        isinstance(found, np.ndarray)
        and found.dtype.kind in "fiu"
        and found.ndim == 2
        and found.shape[0] == P
        and np.isfinite(found).all()
    ):
        raise PluginError(
            f"{type(problem).__name__}.untrained_factor returned {shown(found)}: return a finite "
            f"array of shape ({P}, r), as many rows as there are features"
        )
    return found


def known_labels_of(problem: PartitionProblem, y: Any, sample: Sample) -> Any:
    known = problem.known_labels(y, sample)
    if known is None:
        raise PluginError(
            f"{type(problem).__name__}.known_labels returned None: return the labels, one for each "
            f"{problem.traits.words.item}, or labels in part"
        )
    return known


def calibrated(
    problem: PartitionProblem,
    factor: Floats,
    samples: Sequence[Sample],
    truths: Sequence[EquivalenceMatrix],
    weights: Floats | None = None,
) -> Calibration:
    found = problem.calibrate(factor, samples, truths, weights)
    return returned(problem, "calibrate", found, Calibration)


def loss_between(problem: PartitionProblem, truth: Projector, guess: Projector) -> float:
    return _number(problem, "loss", problem.loss(truth, guess))


def agreement_between(
    problem: PartitionProblem, truth: EquivalenceMatrix, guess: EquivalenceMatrix
) -> float:
    return _number(problem, "agreement", problem.agreement(truth, guess))


def _number(problem: PartitionProblem, method: str, found: Any) -> float:
    if not isinstance(found, int | float | np.bool_ | np.integer | np.floating) or found != found:
        raise PluginError(
            f"{type(problem).__name__}.{method} returned {shown(found)}: return a number"
        )
    return float(found)


def _is_short(sample: Sample) -> bool:
    return sample.n_samples < BATCH and mapping_of(sample.data) is None


def learning_units(
    problem: PartitionProblem,
    samples: Sequence[Sample],
    truths: Sequence[EquivalenceMatrix],
    untrained: Metric,
    shrinkage: float | None,
    weights: Floats | None = None,
) -> LearningUnits:
    found = problem.units(samples, truths, untrained, shrinkage, weights)
    return returned(problem, "units", found, LearningUnits)


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
    with asked(problem, "read"):
        found: Any = problem.read(Xs, names, n_features)
    called = f"{type(problem).__name__}.read"
    fits = isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list)
    if not (fits and all(isinstance(sample, Sample) for sample in found[0])):
        raise PluginError(
            f"{called} returned {shown(found)}: return a list of Sample(X, side), and the names of "
            "the features or None"
        )
    for i, sample in enumerate(found[0]):
        X = sample.data
        if isinstance(X, np.ndarray):
            fits = X.ndim == 2 and X.dtype == np.float64
        else:
            fits = sample.is_deferred
        if not fits:
            raise PluginError(
                f"{called} made X of {problem.traits.words.whole} {i} {shown(X)}: give an "
                "array (T, P) of float64"
            )
    read: tuple[list[Sample], list[str] | None] = found
    return read


def disagreement(
    problem: PartitionProblem, truth: EquivalenceMatrix, guess: EquivalenceMatrix
) -> float:
    agreements = [agreement_between(problem, truth, M) for M in (truth, guess)]
    return agreements[0] - agreements[1]


def measure(problem: PartitionProblem, truth: EquivalenceMatrix) -> str:
    return "loss" if agreement_between(problem, truth, truth) == 0 else "disagreement"


def has_rows(problem: PartitionProblem, samples: Sequence[Sample]) -> bool:
    return not problem.traits.contiguous and all(sample.side is None for sample in samples)
