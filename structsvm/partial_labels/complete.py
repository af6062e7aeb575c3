"""Partition problems with partial labels: what is known, and the best partition that agrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError, SettingsError
from structsvm.partial_labels.alternate import Completions
from structsvm.partial_labels.labels import PartialLabels, as_partial, stretches
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.labelled import SearchedSample
from structsvm.partitions.losses import partition_loss
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate,
    calibrate_by,
    metric_factor,
    penalty_grid,
)
from structsvm.partitions.oracle import Constraint
from structsvm.partitions.problem import MetricProblem, PartitionProblem, per_recording
from structsvm.partitions.trace_objective import TraceObjective
from structsvm.problem import RegularizedRisk
from structsvm.regularizers import Regularizer

__all__ = [
    "Known",
    "PartialRisk",
    "calibrate_partial",
    "calibrate_to_rate",
    "gain_over_nothing",
    "known_parts",
    "part_weights",
    "read_labels",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the partition of one sample."""

    n_samples: int
    constraint: Constraint
    truth: EquivalenceMatrix | None
    """The partition itself, if that is known."""
    contiguous: bool

    @classmethod
    def of(cls, truth: EquivalenceMatrix, contiguous: bool) -> Known:
        """Everything is known."""
        constraint = Constraint(n_clusters=truth.n_clusters)
        return cls(truth.n_samples, constraint, truth, contiguous)

    @property
    def part(self) -> tuple[list[NDArray[np.int64]], list[EquivalenceMatrix]]:
        """The rows of each stretch, or of the table, of which the partition is known, and it.

        Chunks count as clusters, though two of them may be in one.
        """
        if self.truth is not None:
            return [np.arange(self.n_samples)], [self.truth]
        if self.contiguous:
            found = stretches(self.constraint, self.n_samples)
            rows = [np.arange(start, end) for start, end, _ in found]
            return rows, [EquivalenceMatrix.from_breakpoints(ends) for _, _, ends in found]
        groups = self.constraint.together
        if not groups:
            return [], []
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return [np.concatenate(groups)], [EquivalenceMatrix.from_labels(numbers)]

    @property
    def says_something(self) -> bool:
        """Whether anything at all is known."""
        return self.truth is not None or self.constraint != Constraint()

    @property
    def names_clusters(self) -> bool:
        """Whether different parts are known to be different clusters."""
        if self.truth is not None or self.contiguous:
            return True
        home = {row: k for k, group in enumerate(self.constraint.together) for row in group}
        apart = {frozenset((home.get(i, -1), home.get(j, -2))) for i, j in self.constraint.apart}
        n = len(self.constraint.together)
        return all(frozenset((a, b)) in apart for a in range(n) for b in range(a + 1, n))

    @property
    def n_changes(self) -> int:
        """Changes that are known of, at least."""
        if self.truth is not None:
            return self.truth.n_clusters - 1
        counted = sum(r.changes for r in self.constraint.regions)
        K = self.constraint.n_clusters or 1
        return max(len(self.constraint.forced) + counted, K - 1)

    def loss(self, M: EquivalenceMatrix) -> float:
        """How far a partition is from what is known; 0 if it agrees.

        The loss ``|M - M_i|_F^2`` within every stretch whose partition is known, 1 for each region
        with another number of changes, and the clusters too many or too few. Where no partition is
        known, 1 for each pair of rows in one cluster that are to be in two.
        """
        if self.truth is not None:
            return partition_loss(self.truth, M)
        assert M.labels is not None
        K = self.constraint.n_clusters
        wrong = self._n_wrong_regions(M) + (0 if K is None else abs(K - M.n_clusters))
        if self.contiguous and self._stretches is not None:
            rows, starts, truth = self._stretches
            changes = np.diff(M.labels[rows], prepend=-1) != 0
            changes[starts] = True
            return partition_loss(truth, EquivalenceMatrix.from_labels(changes.cumsum())) + wrong
        rows_of, truths = self.part
        total = sum(
            partition_loss(truth, EquivalenceMatrix.from_labels(M.labels[rows]))
            for rows, truth in zip(rows_of, truths, strict=True)
        )
        if not rows_of:
            total += sum(float(M.labels[i] == M.labels[j]) for i, j in self.constraint.apart)
        return total + wrong

    @cached_property
    def _stretches(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], EquivalenceMatrix] | None:
        """The rows of all stretches, where each begins among them, and their partitions as one.

        Clusters of different stretches have no row in common, so that the losses within stretches
        add up to that of their union.
        """
        parts, truths = self.part
        if not parts:
            return None
        ends = np.cumsum([part.size for part in parts])
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        breakpoints = [M.boundaries[1:] + at for M, at in zip(truths, starts, strict=True)]
        union = EquivalenceMatrix.from_breakpoints(np.concatenate(breakpoints))
        return np.concatenate(parts), starts, union

    def _n_wrong_regions(self, M: EquivalenceMatrix) -> int:
        """Regions with changes that have another number of them."""
        if not self._regions.size:
            return 0
        start, end, changes, or_more = self._regions
        found = np.searchsorted(M.boundaries, end) - np.searchsorted(M.boundaries, start, "right")
        return int(np.count_nonzero((found < changes) | ((found > changes) & (or_more == 0))))

    @cached_property
    def _regions(self) -> NDArray[np.int64]:
        """Start, end, changes and whether there may be more, of regions with changes, (4, n)."""
        counted = [r for r in self.constraint.regions if r.changes]
        rows = [(r.start, r.end, r.changes, int(r.or_more)) for r in counted]
        return np.array(rows, dtype=np.int64).reshape(-1, 4).T


def read_labels(partition: PartitionProblem, Xs: Sequence[Floats], ys: Any) -> list[Known]:
    """Labels as users write them, full or partial; DataError names the recording."""

    def read(y: Any, T: int) -> Known:
        labels = as_partial(y, T, partition.words.item)
        if labels is None:
            return Known.of(partition.encode(y, T), partition.contiguous)
        constraint = labels.constraint(T, partition.contiguous)
        if labels.is_complete:
            truth = partition.encode(labels.codes, T)
            return Known(T, constraint, truth, partition.contiguous)
        constraint = _with_known_count(partition, labels, constraint)
        return Known(T, constraint, None, partition.contiguous)

    return per_recording(read, Xs, ys, partition.words)


def _with_known_count(
    partition: PartitionProblem, labels: PartialLabels, constraint: Constraint
) -> Constraint:
    """The number of clusters, where the problem needs one: as many as there are labels."""
    if not partition.known_clusters or constraint.n_clusters is not None:
        return constraint
    named = 0 if partition.contiguous or labels.codes is None else int(labels.codes.max()) + 1
    if named < 2:
        raise DataError(
            f"the problem says that the number of {partition.words.part}s is known, and labels "
            f"that name {named} of them do not give it: make n_{partition.words.part}s='unknown' a "
            "setting of the problem, or give n_clusters with the partial labels"
        )
    return replace(constraint, n_clusters=named)


def known_parts(
    Xs: Sequence[Floats], labels: Sequence[Known]
) -> tuple[list[Floats], list[EquivalenceMatrix]]:
    """Everything whose partition is known, as samples of their own."""
    parts, truths = [], []
    for X, known in zip(Xs, labels, strict=True):
        for rows, truth in zip(*known.part, strict=True):
            parts.append(X[rows])
            truths.append(truth)
    return parts, truths


def part_weights(labels: Sequence[Known], weights: Floats) -> Floats:
    """The weight of each of the :func:`known_parts`: that of the sample it is of."""
    return np.repeat(weights, [len(known.part[0]) for known in labels])


def calibrate_partial(
    partition: PartitionProblem,
    Zs: Sequence[Floats],
    labels: Sequence[Known],
    weights: Floats | None = None,
) -> Calibration:
    """The penalty that agrees best with what is known.

    Segmentations of whole recordings are compared with it; for clusterings, those of the labelled
    rows alone, or those of whole tables where nothing but links between rows is known. ``weights``
    (N,) are those of the samples, in every mean.
    """
    if not partition.contiguous and any(known.part[0] for known in labels):
        parts = None if weights is None else part_weights(labels, weights)
        return calibrate(partition.decoder, *known_parts(Zs, labels), parts)
    scatter = np.average([((Z - Z.mean(axis=0)) ** 2).sum() for Z in Zs], weights=weights)
    changes = np.average([max(1, known.n_changes) for known in labels], weights=weights)
    if not scatter > 0:
        known_changes = np.average([k.n_changes for k in labels], weights=weights)
        return Calibration(np.ones(1), np.array([known_changes]))
    penalties = penalty_grid(float(scatter / changes))
    losses = [known.loss for known in labels]
    return calibrate_by(partition.decoder, Zs, losses, penalties, weights)


def calibrate_to_rate(
    partition: PartitionProblem, Zs: Sequence[Floats], labels: Sequence[Known], weights: Floats
) -> Calibration:
    """The penalty that finds as many changes per second as the labelled stretches have.

    For labels in which the loss is as small without any change as with the best ones.
    """
    parts, shares = known_parts(Zs, labels)[1], part_weights(labels, weights)
    changes = np.dot(shares, [M.n_clusters - 1.0 for M in parts])
    rate = changes / np.dot(shares, [M.n_samples - 1.0 for M in parts])
    expected = rate * np.average([known.n_samples - 1.0 for known in labels], weights=weights)
    by_loss = calibrate_partial(partition, Zs, labels, weights)
    counts = [lambda M: M.n_clusters - 1.0] * len(Zs)
    found = calibrate_by(partition.decoder, Zs, counts, by_loss.penalties, weights).losses
    return replace(by_loss, criterion=np.abs(np.log((found + 1.0) / (expected + 1.0))))


def gain_over_nothing(
    partition: PartitionProblem,
    metric: Metric,
    samples: Sequence[Floats],
    labels: Sequence[Known],
) -> Floats:
    """By how much the loss of each sample is smaller than if no change were found, (N,)."""
    decode = partial(metric.decode, partition.decoder)
    pairs = list(zip(samples, labels, strict=True))
    losses = [known.loss(decode(X, _count(known))) for X, known in pairs]
    nothing = [known.loss(EquivalenceMatrix.from_labels(np.zeros(len(X)))) for X, known in pairs]
    return np.subtract(nothing, losses, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PartialRisk(Completions):
    """Learning a metric from partial labels: the labels to complete, the risk once they are."""

    problem: MetricProblem
    samples: Sequence[Floats]
    """In the units of learning."""
    labels: Sequence[Known]
    regularizer: Regularizer
    constraints: Callable[[Any], list[Any]] | None
    weights: Floats
    """Of the samples, (N,)."""
    changes: float | None = None
    """What the weighted sum of losses is divided by: the changes of the first completions, so that
    completing does not change the scale."""
    held_out: tuple[Sequence[Floats], Sequence[Known]] = ((), ())

    def in_units_of(self, labels: Sequence[EquivalenceMatrix]) -> PartialRisk:
        """The same in the units that these completions suggest."""
        changes = self.weights @ [max(1, y.n_clusters - 1) / y.n_samples for y in labels]
        return replace(self, changes=float(changes))

    def complete(self, w: Floats) -> list[EquivalenceMatrix]:
        """The best partitions that agree with what is known."""
        B, beta = self.problem.split(w)
        return self.complete_with(Metric(metric_factor(B), beta))

    def complete_with(self, metric: Metric) -> list[EquivalenceMatrix]:
        """The best ones in a metric of the features that learning sees."""
        decoder = self.problem.partition.decoder

        def best(X: Floats, known: Known) -> EquivalenceMatrix:
            if known.truth is not None:
                return known.truth
            given = known.constraint.n_clusters is not None
            shift = 0.0 if given else -metric.penalty
            objective = TraceObjective(X @ metric.factor, shift=shift)
            return decoder.ask(objective, known.constraint).y

        return [best(X, known) for X, known in zip(self.samples, self.labels, strict=True)]

    def risk(self, labels: Sequence[EquivalenceMatrix]) -> RegularizedRisk:
        """That of the completed labels."""
        risk = self.problem.risk(
            self.samples, labels, self.regularizer, self.constraints, self.weights
        )
        if self.changes is None:
            return risk
        return replace(risk, sample_weight=self.weights / self.changes)

    def same(self, a: EquivalenceMatrix, b: EquivalenceMatrix) -> bool:
        """Whether they group the samples in the same way."""
        return a == b

    def held_out_loss(self, w: Floats) -> float | None:
        """The mean loss on held-out labels, the penalty calibrated on those that are learned."""
        Xs, labels = self.held_out
        if not len(Xs):
            return None
        partition, factor = self.problem.partition, metric_factor(self.problem.split(w)[0])
        Zs = [X @ factor for X in self.samples]
        calibration = calibrate_partial(partition, Zs, self.labels, self.weights)
        metric = Metric(factor, calibration.penalty)
        decode = partial(metric.decode, partition.decoder)
        pairs = zip(Xs, labels, strict=True)
        return float(np.mean([known.loss(decode(X, _count(known))) for X, known in pairs]))

    def refuse_latent(self) -> None:
        """The latent formulation compares partitions of the samples themselves."""
        M = EquivalenceMatrix.from_labels(np.arange(self.samples[0].shape[0]) % 2)
        if not isinstance(self.problem.partition.sample(self.samples[0], M), SearchedSample):
            raise SettingsError(
                "the latent formulation needs an oracle that searches partitions, not a "
                "relaxation: use Clustering(oracle='rounded'), or formulation='complete'"
            )


def _count(known: Known) -> int | None:
    return known.constraint.n_clusters if known.truth is None else None
