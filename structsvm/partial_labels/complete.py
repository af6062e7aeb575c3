"""Partition problems with partial labels: what is known, and the best partition that agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.data.reading import labels_that_came
from structsvm.data.sample import GRAPHS, IMAGES, Sample, Words, of_each
from structsvm.data.samples import one_each
from structsvm.errors import DataError, about
from structsvm.graphs.graph import NodeLabels
from structsvm.graphs.images import is_picture, label_map_of
from structsvm.parallel import single_threaded, spread
from structsvm.partial_labels.labels import PartialLabels, as_partial, stretches
from structsvm.partitions.equivalence import EquivalenceMatrix, partition_loss
from structsvm.partitions.metric import (
    Calibration,
    Metric,
    calibrate_by,
    in_metric,
    penalty_grid,
    total_scatter,
)
from structsvm.partitions.oracle import Constraint
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Floats, Ints
from structsvm.support.checks import read_only
from structsvm.support.contract import asked, raise_wrong


@dataclass(frozen=True, eq=False)
class Known:
    """Knowledge of the partition of one sample."""

    n_samples: int
    constraint: Constraint
    truth: EquivalenceMatrix | None
    """The partition itself, if that is known."""
    contiguous: bool

    @classmethod
    def of(cls, truth: EquivalenceMatrix, contiguous: bool) -> Known:
        """Full knowledge of a partition."""
        constraint = Constraint(n_clusters=truth.n_clusters)
        return cls(truth.n_samples, constraint, truth, contiguous)

    @property
    def part(self) -> tuple[list[Ints], list[EquivalenceMatrix]]:
        """The rows of each stretch, or of the table, of which the partition is known, and it."""
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
        return self.truth is not None or self.constraint != Constraint()

    @property
    def names_clusters(self) -> bool:
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
        """Distance of a partition from what is known; 0 if it agrees.

        The loss ``|M - M_i|_F^2`` within every stretch whose partition is known, 1 for each region
        with another number of changes, and the clusters too many or too few. Where no partition is
        known, 1 for each pair of rows in one cluster that are to be in two.
        """
        if self.truth is not None:
            return partition_loss(self.truth, M)
        assert M.labels is not None
        K = self.constraint.n_clusters
        wrong = 0 if K is None else abs(K - M.n_clusters)
        if self._regions.size:  # those that have another number of changes
            start, end, changes, or_more = self._regions
            found = np.searchsorted(M.boundaries, end) - np.searchsorted(M.boundaries, start)
            wrong += int(np.sum((found < changes) | ((found > changes) & (or_more == 0))))
        if self.contiguous and self._stretches is not None:
            rows, starts, truth = self._stretches
            begins = np.diff(M.labels[rows], prepend=-1) != 0
            begins[starts] = True
            return partition_loss(truth, EquivalenceMatrix.from_labels(begins.cumsum())) + wrong
        for rows, truth in zip(*self.part, strict=True):  # the labelled rows of a table
            return partition_loss(truth, EquivalenceMatrix.from_labels(M.labels[rows])) + wrong
        return float(sum(M.labels[i] == M.labels[j] for i, j in self.constraint.apart) + wrong)

    @cached_property
    def _stretches(self) -> tuple[Ints, Ints, EquivalenceMatrix] | None:
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

    @cached_property
    def _regions(self) -> Ints:
        """First place, end, changes and whether there may be more, of such regions, (4, n)."""
        counted = [r for r in self.constraint.regions if r.changes]
        rows = [(r.first, r.end, r.changes, int(r.or_more)) for r in counted]
        return np.array(rows, dtype=np.int64).reshape(-1, 4).T


def read_labels(problem: PartitionProblem, samples: Sequence[Sample], ys: Any) -> list[Known]:
    """Labels as users write them, full or partial."""
    words, contiguous = problem.traits.words, problem.traits.contiguous
    found = []
    for i, (sample, y) in enumerate(zip(samples, labels_of_each(ys, samples, words), strict=True)):
        with about(f"{words.whole} {i}"), asked(problem, "encode", f"{words.whole} {i}"):
            given = read_only(y) if type(y) is np.ndarray else y
            known = problem.learning.known_labels(given, sample)
            labels = as_partial(known, sample.n_samples, words.item)
            if labels is None:
                found.append(Known.of(_encoded(problem, known, sample), contiguous))
            else:
                found.append(_read_partial(problem, sample, labels))
    return found


def _encoded(problem: PartitionProblem, y: Any, sample: Sample) -> Any:
    """The partition that labels stand for, which the problem has to give; of a graph, with more."""
    M: object = problem.encode(y, sample)
    if not isinstance(M, EquivalenceMatrix | NodeLabels) or M.n_samples != sample.n_samples:
        right = f"an EquivalenceMatrix of {problem.traits.words.items(sample.n_samples)}"
        raise_wrong(problem, "encode", M, f"{right}, such as EquivalenceMatrix.from_labels(labels)")
    return M


def labels_of_each(ys: Any, samples: Sequence[Sample], words: Words) -> list[Any]:
    """The labelling of each sample; a single sample may come with its labels alone."""
    ys = labels_that_came(samples, words) if ys is None else ys
    if ys is None:
        raise DataError(
            "there are no labels: this requires y to be passed, but the target y is None"
        )
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys  # a column of a data frame
    single = isinstance(ys, PartialLabels) or (len(samples) == 1 and _is_single(ys, words))
    labels: list[Any] = one_each([ys] if single else ys, len(samples), words)
    if words in (GRAPHS, IMAGES):
        return [label_map_of(y) if is_picture(y) else y for y in labels]
    return labels


def _is_single(ys: Any, words: Words) -> bool:
    pictured = words in (GRAPHS, IMAGES)
    if pictured and is_picture(ys):
        return True
    if pictured and isinstance(ys, list | tuple) and len(ys) == 1 and is_picture(ys[0]):
        return False
    if isinstance(ys, np.ndarray) and ys.dtype != object:
        return pictured or ys.ndim != 2 or len(ys) != 1  # (1, T) is a list of one
    if isinstance(ys, Mapping):
        return True
    try:
        return np.ndim(ys[0]) == 0 and not isinstance(ys[0], PartialLabels | Mapping)
    except (IndexError, KeyError, ValueError):  # none, or rows of several lengths
        return False


def _read_partial(problem: PartitionProblem, sample: Sample, labels: PartialLabels) -> Known:
    """Read labels in part, which name as many clusters as there are where K has to be known."""
    T, traits = sample.n_samples, problem.traits
    constraint = labels.constraint(T, traits.contiguous)
    if labels.is_complete:
        truth = _encoded(problem, labels.codes, sample)
        return Known(T, constraint, truth, traits.contiguous)
    nothing = constraint == Constraint()  # then the sample is left out
    if traits.given_k and constraint.n_clusters is None and not nothing:
        named = 0 if traits.contiguous or labels.codes is None else int(labels.codes.max()) + 1
        if named < 2:
            raise DataError(
                f"the problem says that the number of {traits.words.part}s is known, and labels in "
                "part do not give it: let the problem say that it is unknown, "
                "cluster_count='unknown', or give n_clusters with the partial labels"
            )
        constraint = replace(constraint, n_clusters=named)
    return Known(T, constraint, None, traits.contiguous)


def known_parts(
    samples: Sequence[Sample],
    labels: Sequence[Known],
    part: Callable[[Sample, Ints, EquivalenceMatrix], tuple[Sample, Any]] | None = None,
) -> tuple[list[Sample], list[EquivalenceMatrix]]:
    """Parts of samples whose partition is known, as samples that ``part`` makes, and partitions."""
    found = []
    for sample, known in zip(samples, labels, strict=True):
        for rows, truth in zip(*known.part, strict=True):
            if known.truth is not None:
                found.append((sample, truth))
            elif part is None:
                found.append((sample.at(rows), truth))
            else:
                found.append(part(sample, rows, truth))
    return [sample for sample, _ in found], [truth for _, truth in found]


def part_weights(labels: Sequence[Known], weights: Floats) -> Floats:
    """The weight of each of the :func:`known_parts`: that of the sample it is of."""
    return np.repeat(weights, [len(known.part[0]) for known in labels])


def calibrate_partial(
    problem: PartitionProblem,
    factor: Floats,
    samples: Sequence[Sample],
    labels: Sequence[Known],
    weights: Floats | None = None,
) -> Calibration:
    """The price that agrees best with what is known, in the metric ``L L^T``."""
    traits = problem.traits
    if not traits.convex and traits.given_k:
        return Calibration.of_counts(_count(problem, known) for known in labels)
    if not traits.convex or (not traits.contiguous and any(known.part[0] for known in labels)):
        parts, truths = known_parts(samples, labels, problem.learning.part)
        shares = None if weights is None else part_weights(labels, weights)
        return problem.learning.calibrate(factor, parts, truths, shares)
    Zs = in_metric(samples, factor)
    scatter = np.average(of_each("measuring the samples", total_scatter, Zs), weights=weights)
    changes = np.average([max(1, known.n_changes) for known in labels], weights=weights)
    if not scatter > 0:
        return Calibration.of_one_cluster([known.n_changes for known in labels], weights)
    penalties = penalty_grid(float(scatter / changes))
    oracles, losses = [problem.decoder(x) for x in samples], [known.loss for known in labels]
    return calibrate_by(oracles, Zs, losses, penalties, weights)


def calibrate_to_rate(
    problem: PartitionProblem,
    factor: Floats,
    samples: Sequence[Sample],
    labels: Sequence[Known],
    weights: Floats,
) -> Calibration:
    """The price that finds as many changes per second as the labelled stretches have."""
    parts, shares = known_parts(samples, labels)[1], part_weights(labels, weights)
    changes = np.dot(shares, [M.n_clusters - 1.0 for M in parts])
    rate = changes / np.dot(shares, [M.n_samples - 1.0 for M in parts])
    expected = rate * np.average([known.n_samples - 1.0 for known in labels], weights=weights)
    by_loss = calibrate_partial(problem, factor, samples, labels, weights)
    Zs, oracles = in_metric(samples, factor), [problem.decoder(x) for x in samples]
    changes_of = [lambda M: M.n_clusters - 1.0] * len(Zs)
    found = calibrate_by(oracles, Zs, changes_of, by_loss.penalties, weights).losses
    return replace(by_loss, criterion=np.abs(np.log((found + 1.0) / (expected + 1.0))))


def gain_over_nothing(
    problem: PartitionProblem,
    metric: Metric,
    samples: Sequence[Sample],
    labels: Sequence[Known],
) -> Floats:
    """Difference of the loss of each sample from the loss of no change at all, (N,)."""
    tasks = [
        (x, _count(problem, known), Constraint()) for x, known in zip(samples, labels, strict=True)
    ]
    guesses = _partitions("judging", tasks, (problem, metric))
    none = [EquivalenceMatrix.from_labels(np.zeros(known.n_samples)) for known in labels]
    gains = zip(labels, none, guesses, strict=True)
    return np.array([known.loss(one) - known.loss(M) for known, one, M in gains])


def complete_labels(
    problem: PartitionProblem, metric: Metric, samples: Sequence[Sample], labels: Sequence[Known]
) -> list[EquivalenceMatrix]:
    """The best partitions that agree with what is known."""
    tasks: list[Task] = []
    for x, known in zip(samples, labels, strict=True):
        if known.truth is None:
            tasks.append((x, known.constraint.n_clusters, known.constraint))
    found = iter(_partitions("completing the labels", tasks, (problem, metric)))
    return [next(found) if known.truth is None else known.truth for known in labels]


Task = tuple[Sample, int | None, Constraint]


def _partitions(
    words: str, tasks: Sequence[Task], how: tuple[PartitionProblem, Metric]
) -> list[EquivalenceMatrix]:
    """The best partition of each sample: here, or by the worker that reads it."""
    if any(sample.is_deferred for sample, *_ in tasks):
        return spread(words, _partition, tasks, how)
    with single_threaded():
        return [_partition(task, how) for task in tasks]


def _partition(task: Task, how: tuple[PartitionProblem, Metric]) -> EquivalenceMatrix:
    (x, K, constraint), (problem, metric) = task, how
    return problem.partition(x, metric, K, constraint)


def _count(problem: PartitionProblem, known: Known) -> int | None:
    """The number of clusters to decode into: of full labels, where there is no price of one."""
    if known.truth is None:
        return known.constraint.n_clusters
    traits = problem.traits
    return known.truth.n_clusters if traits.given_k and not traits.convex else None
