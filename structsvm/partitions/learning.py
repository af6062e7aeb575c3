"""What learning derives from instances and labels: the units of the features, and the price."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from structsvm.data import apply_to_instances, sum_arrays
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import Calibration, Metric, calibrate_by, in_metric, penalties_for
from structsvm.partitions.objective import Family, loss_of
from structsvm.partitions.training_instance import Examples
from structsvm.support import Floats, asked

Whitening = Callable[[Examples], Floats]
"""Computes from labelled instances the matrix, (P, r), by which their features are multiplied."""


@dataclass(frozen=True, eq=False)
class LearningUnits:
    """The transformation to the features of learning, in units in which ``B = I`` is sensible."""

    whitening: Floats | None  # (P, r); None if features are not whitened
    unit: float = 1.0  # the price of a cluster in the metric ``B = I``; 1 until it is known

    def __call__(self, X: Floats) -> Floats:
        """The features of learning, (T, r), from those of a standardised instance, (T, P)."""
        if self.whitening is not None:
            X = X @ self.whitening
        return np.asarray(X / np.sqrt(self.unit))

    def width(self, P: int) -> int:
        """The number of features of learning, from P standardised ones."""
        return P if self.whitening is None else self.whitening.shape[1]

    def restore(self, factor: Floats) -> Floats:
        """The factor for standardised features, from that for the features of learning."""
        return factor if self.whitening is None else self.whitening @ factor


def learning_units(
    problem: Family, data: Examples, untrained: Metric, whiten: Whitening | None
) -> LearningUnits:
    """The transformation to the features of learning: whitening, if any, and a scale.

    If the untrained metric, whose price is calibrated, is not the identity, it is the whitening.
    """
    whitening = None
    if not np.array_equal(untrained.factor, np.eye(len(untrained.factor))):
        whitening = untrained.factor
    elif whiten is not None:
        whitening = whiten(data)
        data = replace(data, instances=apply_to_instances(data.instances, LearningUnits(whitening)))
    unit = problem.unit(data)
    if unit is None and whitening is not None:
        unit = problem.calibrate(np.eye(whitening.shape[1]), data).penalty
    if unit is None:
        assert untrained.price is not None
        unit = untrained.price
    return LearningUnits(whitening, unit)


def price_of_labels(problem: Family, factor: Floats, data: Examples) -> Calibration:
    """The price of a cluster for which decoded instances agree best with their labels."""
    oracles = []
    for i, instance in enumerate(data.instances):
        with asked(problem, "decoder", problem.traits.words.numbered(i)):
            oracles.append(problem.decoder(instance))
    is_usual = problem.loss is partition_loss
    loss = partition_loss if is_usual else partial(loss_of, problem)
    Zs = in_metric(data.instances, factor)
    penalties = penalties_for(Zs, data.truths, data.weights)
    if penalties is None:
        ones = [EquivalenceMatrix.from_breakpoints([M.n_samples]) for M in data.truths]
        return Calibration.of_one_cluster(list(map(loss, data.truths, ones)), data.weights)
    losses = [partial(loss, M) for M in data.truths]
    truths = data.truths if is_usual else None
    return calibrate_by(oracles, Zs, losses, penalties, data.weights, truths)


def within_whitening(data: Examples, shrinkage: float = 0.5) -> Floats:
    """RCA: ``C^{-1/2}``, with C the covariance within true clusters, shrunk to a multiple of I."""
    labelled = data.arrays, data.weights, data.truths
    scatter = sum_arrays("measuring the clusters", _scatter_within, *labelled)
    covariance = scatter / (data.weights @ [instance.n_samples for instance in data.instances])
    P = covariance.shape[0]
    target = np.trace(covariance) / P * np.eye(P)
    values, vectors = np.linalg.eigh((1 - shrinkage) * covariance + shrinkage * target)
    if not values[-1] > 0:
        return np.eye(P)  # every true cluster is a single point
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1])) @ vectors.T)


def _scatter_within(X: Floats, M: EquivalenceMatrix) -> Floats:
    """``X^T (I - M) X``, the scatter of samples around the mean of their cluster, (P, P)."""
    means = M.project(X) / np.sqrt(M.sizes)[:, None]
    within = X - means[M.labels]
    return np.asarray(within.T @ within)
