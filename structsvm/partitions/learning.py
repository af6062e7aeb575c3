"""What learning makes of samples and labels: checks, units, the objective and the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from structsvm.data.deferred import Data, sum_of_each
from structsvm.data.sample import Sample, all_made_by
from structsvm.errors import DataError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate,
    calibrate_by,
    in_metric,
    penalties_for,
)
from structsvm.partitions.objective import MetricObjective, Objective
from structsvm.partitions.traits import Family, loss_of
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import is_number
from structsvm.support.contract import Contract, asked, hook, promises


def _are_labels(found: Any, *_: Any) -> str:
    return "the labels, one for each item, or labels in part" if found is None else ""


def _is_unit(found: Any, *_: Any) -> str:
    fits = found is None or (is_number(found) and 0.0 < found < np.inf)
    return "" if fits else "None or a number > 0"


def _is_factor(found: Any, samples: Sequence[Sample], *_: Any) -> str:
    P = samples[0].n_features
    fits = isinstance(found, np.ndarray) and found.dtype.kind in "fiu" and found.ndim == 2
    if fits and found.shape[0] == P and np.isfinite(found).all():
        return ""
    return f"a finite array of shape ({P}, r), as many rows as there are features"


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
    """How a problem is learned; subclasses replace what is different.

    Examples
    --------
    >>> from structsvm.partitions import Learning
    >>> from structsvm.problems import ChangePoint
    >>> objective = Learning(ChangePoint()).objective("diagonal", 3)
    >>> type(objective).__name__, objective.weight_space().dim
    ('MetricObjective', 4)
    """

    problem: Family

    @promises(_are_labels)
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
    def check(self, truths: Sequence[EquivalenceMatrix]) -> None:
        """Refuse training labels that teach nothing, and warn if they teach little.

        Raises
        ------
        DataError
            If every sample is one single cluster.
        """
        if all(truth.n_clusters == 1 for truth in truths):
            words = self.problem.traits.words
            raise DataError(
                f"each of the {words.wholes(len(truths))} is one single {words.part}: label at "
                "least one that has two"
            )

    @promises(_is_factor)
    def untrained_factor(self, samples: Sequence[Sample], weights: Floats | None = None) -> Floats:
        """The metric without learning, ``L`` (P, r); the identity by default."""
        return np.eye(samples[0].n_features)

    def untrained(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Metric:
        """What there is without learning: that metric with the price that suits the labels."""
        factor = self.untrained_factor(samples, weights)
        return self.calibrate(factor, samples, truths, weights).metric(factor)

    @promises(_is_unit)
    def unit(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> float | None:
        """The price in whose units learning sees the metric; None for the calibrated one.

        A sample of weight 2 counts as if it were there twice; ``weights`` (N,), None for all alike.
        """
        return None

    @promises(LearningUnits)
    def units(
        self,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        untrained: Metric,
        shrinkage: float | None,
        weights: Floats | None = None,
    ) -> LearningUnits:
        """The features that learning sees: whitened with a ``shrinkage`` perhaps, and scaled.

        ``untrained`` is the identity with its calibrated price.
        """
        whitening = None
        if shrinkage is not None:
            whitening = within_whitening([s.data for s in samples], truths, shrinkage, weights)
            samples = all_made_by(samples, LearningUnits(whitening))
        unit = self.unit(samples, truths, weights)
        if unit is None and whitening is not None:
            identity = np.eye(whitening.shape[0])
            unit = self.calibrate(identity, samples, truths, weights).penalty
        if unit is None:
            assert untrained.price is not None
            unit = untrained.price
        return LearningUnits(whitening, unit)

    @promises(Objective)
    def objective(self, metric: str, n_features: int) -> Objective:
        """What is minimised over a "full" or a "diagonal" metric of P features."""
        return MetricObjective(self.problem, metric, n_features)

    @promises(Calibration)
    def calibrate(
        self,
        factor: Floats,
        samples: Sequence[Sample],
        truths: Sequence[EquivalenceMatrix],
        weights: Floats | None = None,
    ) -> Calibration:
        """The price of a cluster that suits the labels of samples in the metric ``L L^T``."""
        problem, oracles = self.problem, []
        for i, sample in enumerate(samples):
            with asked(problem, "decoder", f"{problem.traits.words.whole} {i}"):
                oracles.append(problem.decoder(sample))
        Zs = in_metric(samples, factor)
        if problem.loss is partition_loss:
            return calibrate(oracles, Zs, truths, weights)
        losses = [partial(loss_of, problem, truth) for truth in truths]
        penalties = penalties_for(Zs, truths, weights)
        if penalties is None:
            ones = [EquivalenceMatrix.from_breakpoints([M.n_samples]) for M in truths]
            found = [loss(one) for loss, one in zip(losses, ones, strict=True)]
            return Calibration.of_one_cluster(found, weights)
        return calibrate_by(oracles, Zs, losses, penalties, weights)


def within_whitening(
    Xs: Sequence[Data],
    truths: Sequence[EquivalenceMatrix],
    shrinkage: float,
    weights: Floats | None = None,
) -> Floats:
    """``C^{-1/2}`` with C the covariance within the true clusters, shrunk to a multiple of I."""
    weights = np.ones(len(Xs)) if weights is None else weights
    scatter = sum_of_each("measuring the clusters", _scatter_within, Xs, truths, weights=weights)
    covariance = scatter / (weights @ [X.shape[0] for X in Xs])
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
