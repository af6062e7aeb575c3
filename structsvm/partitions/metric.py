"""A metric with the price of a cluster, and the calibration of that price."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from structsvm.data import (
    LARGEST_VALUE,
    Data,
    Instance,
    Step,
    apply_each,
    apply_in_stack,
    batches_of,
    centre,
    centred,
    in_memory,
    map_arrays,
    means,
)
from structsvm.errors import SettingsError, nth, parameter
from structsvm.parallel import single_threaded
from structsvm.parallel.by_name import spread
from structsvm.partitions.constraint import Constraint
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.in_metric import InMetric
from structsvm.partitions.margins import margins_of_best
from structsvm.partitions.model import Found, Model
from structsvm.partitions.oracle import Oracle, warn_of_rounding
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.support import Floats, Ints, Stack, all_within, asked, counted, is_replaced

PENALTIES_PER_DECADE = 15
SMOOTHING = 3  # steps of the grid on either side over which the loss curve is averaged


@dataclass(frozen=True, eq=False)
class Metric(Model):
    """A Mahalanobis metric ``B = L L^T`` and the price of a cluster in its units.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.partitions import Metric, Instance
    >>> from structsvm.problems import ChangePoint
    >>> metric = Metric(np.diag([1.0, 0.0]), price=1.0)
    >>> print(metric)
    metric of 2 features, rank 2, price 1
    >>> X = np.array([[0.0, 7.0], [0.0, -7.0], [5.0, 7.0], [5.0, -7.0]])
    >>> ChangePoint().partition(Instance(X), metric).breakpoints
    [2, 4]
    """

    factor: Floats
    """``L``, (P, r)."""
    price: float | None
    """The distortion that one more cluster must save; for a normalized cut, the least eigenvalue
    that counts as a cluster. None where the number of clusters is always given."""
    n_clusters: int | None = None
    """The number of clusters to decode into when there is no price, if all labels have the same."""

    keeps_rules: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True

    @property
    def n_parts(self) -> int | None:
        """The usual number of clusters, where there is no price of one."""
        return self.n_clusters if self.price is None else None

    def partition(self, problem: Any, instance: Instance, constraint: Constraint) -> Found:
        """The best partition in the metric."""
        return Found(problem.partition(instance, self, constraint.n_clusters, constraint))

    def partition_each(
        self, problem: Any, instances: Sequence[Instance], step: Step | None = None
    ) -> list[Found] | None:
        """The best partitions at the price, if one oracle partitions all instances in one call."""
        if self.price is None or is_replaced(problem, "partition"):
            return None  # a problem with a ``partition`` of its own may have no decoder
        oracle = _shared_oracle(problem, instances)
        if oracle is None or not is_replaced(oracle, "maximize_each"):
            return None
        Xs = Stack.of([instance.X for instance in instances])
        if step is not None:
            Xs = apply_in_stack(Xs, step)
        centre(Xs)
        Zs = self._in_metric.of_stack(Xs)
        if not all_within(Zs.rows, LARGEST_VALUE):
            return None  # partitioned one by one, so that the error names the instance
        answers = oracle.ask_each(Zs, self.price)
        for answer in answers:
            warn_of_rounding(answer, self.price)
        return [Found(answer.y) for answer in answers]

    def online(self, problem: Any, max_candidates: int) -> Any:
        """The online search at the price, for problems without rules of segments."""
        if self.price is None:
            raise SettingsError(
                "this metric has no price of a change, because the number of segments was always "
                "given: learn with " + parameter("problem__segment_count", "unknown")
            )
        oracle = problem.decoder(Instance(np.zeros((1, len(self.factor)))))
        return oracle.online(self.factor.shape[1], self.price, max_candidates)

    def online_rows(self, seen: Floats) -> Floats:
        return self.transform(seen)

    def margins(
        self, problem: Any, instance: Instance, constraint: Constraint, tolerance: int
    ) -> tuple[Found, Floats]:
        """The best segmentation, and the margins of its changes in units of the price of one."""
        objective = self.objective(instance, constraint.n_clusters)
        M, losses = margins_of_best(problem, instance, objective, constraint, tolerance)
        return Found(M), losses / self.price if self.price else losses

    def losses_with(
        self, problem: Any, instance: Instance, constraint: Constraint, places: Ints
    ) -> Floats:
        """By how much the best one with a change at each of n places is worse, in prices, (n,)."""
        objective = self.objective(instance, constraint.n_clusters)
        losses = problem.decoder(instance).losses_with(objective, places, constraint)
        return np.asarray(losses / self.price if self.price else losses)

    def objective(self, instance: Instance, n_clusters: int | None = None) -> TraceObjective:
        """The objective of decoding: minus the distortion, minus the price of the clusters."""
        price = 0.0 if n_clusters is not None else self.price
        assert price is not None
        return TraceObjective(self.transform(centred(instance.X)), shift=-price, gaps=True)

    @property
    def matrix(self) -> Floats:
        """The matrix ``B``, (P, P)."""
        return np.asarray(self.factor @ self.factor.T)

    @property
    def rank(self) -> int:
        """The number of directions with a weight, at most P."""
        return int(min(self.factor.shape))

    def transform(self, X: Floats) -> Floats:
        """Return samples (T, P) in the metric, (T, r), whose plain distance is that of ``B``."""
        return self._in_metric(X)

    @cached_property
    def _in_metric(self) -> InMetric:
        """The transformation by the factor."""
        return InMetric(self.factor)

    def __str__(self) -> str:
        P = self.factor.shape[0]
        price = "" if self.price is None else f", price {self.price:.4g}"
        return f"metric of {counted(P, 'feature')}, rank {self.rank}{price}"


def _shared_oracle(problem: Any, instances: Sequence[Instance]) -> Oracle | None:
    """The decoder of all instances, if they have the same object; else None."""
    shared: Oracle | None = None
    i = 0
    with asked(problem, "decoder", lambda: problem.traits.words.numbered(i)):
        for i, instance in enumerate(instances):  # noqa: B007 (messages read ``i``)
            own = problem.decoder(instance)
            if shared is not None and own is not shared:
                return None
            shared = own
    return shared


@dataclass(frozen=True, eq=False)
class Calibration:
    """The mean training loss as a function of the penalty, which is the price of a cluster."""

    penalties: Floats  # increasing, (n,)
    losses: Floats  # mean of ``|M - M_i|_F^2`` over the training instances, (n,)
    criterion: Floats | None = None
    """Values that the best penalty minimises, where these are not the losses, (n,)."""
    smoothing: int = SMOOTHING  # steps of the grid on either side over which the curve is averaged
    n_clusters: int | None = None  # the number of clusters of all labels, where there is no price

    @classmethod
    def of_counts(cls, counts: Iterable[int | None]) -> "Calibration":
        """A calibration without a price: the number of clusters of all instances, if known."""
        distinct = set(counts)
        return cls(
            np.empty(0), np.empty(0), n_clusters=distinct.pop() if len(distinct) == 1 else None
        )

    @classmethod
    def of_one_cluster(cls, changes: Sequence[float], weights: Floats | None) -> "Calibration":
        """A calibration of constant instances, which are one cluster each at any price."""
        return cls(np.ones(1), np.full(1, np.average(changes, weights=weights)))

    @property
    def missing(self) -> bool:
        """Whether no loss is known."""
        return bool(self.losses.size and np.isnan(self.losses).all())

    @property
    def best(self) -> int:
        """Index of the middle of the penalties of smallest smoothed loss (or criterion)."""
        return int(self.tied[self.tied.size // 2])

    @property
    def tied(self) -> Ints:
        """Indices of the penalties of smallest smoothed loss (or criterion), in their order."""
        if self.penalties.size == 1:
            return np.zeros(1, dtype=np.int64)
        window = 2 * self.smoothing + 1
        curve = self.losses if self.criterion is None else self.criterion
        padded = np.pad(curve, self.smoothing, mode="edge")
        smoothed = np.convolve(padded, np.full(window, 1.0 / window), mode="valid")
        return np.flatnonzero(smoothed <= smoothed.min() + 1e-9)

    @property
    def penalty(self) -> float:
        """The penalty of smallest smoothed loss (or criterion)."""
        return float(self.penalties[self.best])

    @property
    def loss(self) -> float:
        """The mean training loss at that penalty."""
        return float(self.losses[self.best])

    def metric(self, factor: Floats) -> Metric:
        """The metric ``L L^T`` with the best price, if there is one."""
        price = self.penalty if self.penalties.size else None
        return Metric(factor, price, self.n_clusters)

    @property
    def merit(self) -> float:
        """The loss (or criterion) at the best penalty, without smoothing."""
        return self.loss if self.criterion is None else float(self.criterion[self.best])


def in_metric(instances: Sequence[Instance], factor: Floats) -> list[Data]:
    """``X L`` of each instance, in memory or on demand."""
    return apply_each([instance.data for instance in instances], InMetric(factor), factor.shape[1])


def penalties_for(
    Zs: Sequence[Data], truths: Sequence[EquivalenceMatrix], weights: Floats | None = None
) -> Floats | None:
    """The grid of penalties for instances in a metric; None if all of them are constant."""
    scatter = map_arrays("measuring the samples", total_scatter, Zs)
    changes = [max(1, truth.n_clusters - 1) for truth in truths]
    shares = [s / k for s, k in zip(scatter, changes, strict=True)]
    scale = float(np.average(shares, weights=weights))
    return penalty_grid(scale) if scale > 0 else None


def total_scatter(Z: Floats) -> float:
    """The sum of squared distances of the values from their mean; missing values are left out."""
    squares = (Z - Z.mean(axis=0)) ** 2
    total = float(squares.sum())
    return float(np.nansum((Z - means(Z)) ** 2)) if math.isnan(total) else total


def penalty_grid(scale: float) -> Floats:
    """Penalties from 1e-4 to 10 times ``scale``, the scatter for each change."""
    return np.asarray(scale * np.geomspace(1e-4, 10.0, 5 * PENALTIES_PER_DECADE + 1))


@single_threaded()
def calibrate_by(
    oracles: Sequence[Oracle],
    Zs: Sequence[Data],
    losses: Sequence[Callable[[EquivalenceMatrix], float]],
    penalties: Floats,
    weights: Floats | None = None,
    truths: Sequence[EquivalenceMatrix] | None = None,
) -> Calibration:
    """The mean loss at every penalty; with ``truths``, oracles may compute their default loss."""
    truth_of_each: Sequence[EquivalenceMatrix | None] = (
        [None] * len(Zs) if truths is None else truths
    )
    tasks = list(zip(oracles, Zs, losses, truth_of_each, strict=True))
    parts = [(a, tasks[a:b]) for a, b in batches_of([Z.shape[0] for Z in Zs])]
    curves = spread("calibrating the penalty", _loss_curves, parts, penalties)
    return Calibration(penalties, np.average(np.vstack(curves), axis=0, weights=weights))


def _loss_curves(part: tuple[int, Sequence[Any]], penalties: Floats) -> Floats:
    """The loss of neighbouring instances at every penalty, (n, n_penalties)."""
    (first, tasks) = part
    curves = []
    for i, (oracle, data, loss, truth) in enumerate(tasks, start=first):
        Z = in_memory(data)
        with asked(oracle, "maximize", nth("instance", i)):
            if truth is None:
                curves.append([loss(M) for M in oracle.price_path(Z, penalties)])
            else:
                curves.append(oracle.loss_curve(Z, truth, penalties))
    return np.array(curves)
