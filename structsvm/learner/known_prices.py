"""The prices and the partitions that agree best with what is known."""

from __future__ import annotations

import numpy as np

from structsvm.data.deferred import map_arrays
from structsvm.data.instance import Instance
from structsvm.learner.training_set import TrainingSet
from structsvm.parallel.by_name import spread
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate_by,
    in_metric,
    penalty_grid,
    total_scatter,
)
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.values import Floats
from structsvm.training_labels import Known


def calibrate_known(factor: Floats, data: TrainingSet) -> Calibration:
    """The price that agrees best with what is known, in the metric ``L L^T``."""
    problem = data.problem
    instances = data.instances
    labels = data.labels
    traits = problem.traits
    weights = data.weights
    if not traits.convex and traits.given_k:
        return Calibration.of_counts(_count(problem, known) for known in labels)
    if not traits.convex or (not traits.contiguous and any(known.part[0] for known in labels)):
        return problem.calibrate(factor, data.known_parts(Instance.part))
    Zs = in_metric(instances, factor)
    scatter = np.average(map_arrays("measuring the samples", total_scatter, Zs), weights=weights)
    changes = np.average([max(1, known.n_changes) for known in labels], weights=weights)
    if not scatter > 0:
        return Calibration.of_one_cluster([known.n_changes for known in labels], weights)
    penalties = penalty_grid(float(scatter / changes))
    oracles = [problem.decoder(x) for x in instances]
    losses = [known.loss for known in labels]
    return calibrate_by(oracles, Zs, losses, penalties, weights)


def gain_over_nothing(metric: Metric, data: TrainingSet) -> Floats:
    """Difference of the loss of each instance from the loss of no change at all, (N,)."""
    counts = [_count(data.problem, known) for known in data.labels]
    tasks = [(x, K, Constraint()) for x, K in zip(data.instances, counts, strict=True)]
    guesses = spread("judging", _partition, tasks, (data.problem, metric))
    none = [EquivalenceMatrix.from_labels(np.zeros(known.n_samples)) for known in data.labels]
    gains = zip(data.labels, none, guesses, strict=True)
    return np.array([known.loss(one) - known.loss(M) for known, one, M in gains])


def complete_labels(metric: Metric, data: TrainingSet) -> list[EquivalenceMatrix]:
    pairs = list(zip(data.instances, data.labels, strict=True))
    tasks = [(x, k.constraint.n_clusters, k.constraint) for x, k in pairs if k.truth is None]
    completed = iter(spread("completing the labels", _partition, tasks, (data.problem, metric)))
    return [next(completed) if known.truth is None else known.truth for known in data.labels]


def _partition(
    task: tuple[Instance, int | None, Constraint], how: tuple[PartitionProblem, Metric]
) -> EquivalenceMatrix:
    (x, K, constraint), (problem, metric) = task, how
    return problem.partition(x, metric, K, constraint)


def _count(problem: PartitionProblem, known: Known) -> int | None:
    """The number of clusters to decode into: of full labels, where there is no price of one."""
    if known.truth is None:
        return known.constraint.n_clusters
    traits = problem.traits
    return known.truth.n_clusters if traits.given_k and not traits.convex else None
