"""What labels say of each instance: its partition, or a constraint on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from structsvm.data import RECORDINGS, UNKNOWN, Instance, Words, labels_that_came, one_each
from structsvm.errors import DataError, about, parameter
from structsvm.graphs import NodeLabels
from structsvm.graphs.label_maps import is_picture, label_map_of, levelled
from structsvm.partial_labels import PartialLabels, as_partial
from structsvm.partitions import (
    UNCONSTRAINED,
    Constraint,
    EquivalenceMatrix,
    PartitionProblem,
    partition_loss,
)
from structsvm.partitions.equivalence import runs_of, stretches_of
from structsvm.support import Ints, asked, raise_wrong, read_only


@dataclass(frozen=True, eq=False)
class Known:
    """What labels say of the partition of one instance."""

    n_samples: int
    constraint: Constraint
    truth: EquivalenceMatrix | None
    """The partition itself, if labels are full."""
    contiguous: bool = False
    """Whether partial labels are those of a segmentation."""
    codes: Ints | None = None
    """Numbers of the labels of a recording that is labelled in part, -1 for none, (T,)."""

    @classmethod
    def of(cls, truth: EquivalenceMatrix) -> "Known":
        return cls(truth.n_samples, Constraint(n_clusters=truth.n_clusters), truth)

    @property
    def part(self) -> tuple[list[Ints], list[EquivalenceMatrix]]:
        """The parts whose partition is known: the rows of each, and these partitions."""
        if self.truth is not None:
            return [np.arange(self.n_samples)], [self.truth]
        if self.contiguous:  # stretches in which every sample is known to begin a segment or not
            allowed, forced = self.constraint.boundary_masks(self.n_samples)
            stretches = stretches_of(forced | ~allowed, forced)
            return [np.arange(a, b) for a, b, _ in stretches], [truth for *_, truth in stretches]
        groups = self.constraint.together
        if not groups:
            return [], []
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return [np.concatenate(groups)], [EquivalenceMatrix.from_labels(numbers)]

    @cached_property
    def rows(self) -> Ints:
        """Numbers of the labelled items, on which partitions are scored."""
        if self.truth is not None:
            return np.arange(self.n_samples)
        return np.flatnonzero(np.empty(0) if self.codes is None else self.codes != UNKNOWN)

    @cached_property
    def scored(self) -> EquivalenceMatrix | None:
        """The partition of the labelled items; None where single items have no labels.

        Two labelled items in a row with equal labels are in one segment, whatever lies between.
        """
        if self.truth is not None or not self.rows.size:
            return self.truth
        assert self.codes is not None
        return runs_of(self.codes[self.rows])

    def of_scored(self, M: EquivalenceMatrix) -> EquivalenceMatrix:
        """A segmentation of all items, restricted to the labelled ones as in :attr:`scored`.

        Between equal labels there may be other segments. Several changes among the unlabelled items
        there are therefore neither right nor wrong, but a single one is wrong.
        """
        if self.truth is not None:
            return M
        assert self.codes is not None
        n_changes = np.diff(np.asarray(M.labels)[self.rows])
        is_same = np.diff(self.codes[self.rows]) == 0
        begins = np.where(is_same, n_changes == 1, n_changes > 0)
        return runs_of(np.concatenate([[0], np.cumsum(begins)]))

    @property
    def drawn(self) -> EquivalenceMatrix:
        """The partition to draw, in which stretches without labels are parts of their own."""
        return self.truth if self.codes is None else runs_of(self.codes)  # type: ignore[return-value]

    @property
    def names_clusters(self) -> bool:
        """Whether rows of different groups are all known to be in different clusters."""
        if self.truth is not None or self.contiguous:
            return True
        home: dict[int, int] = {}
        for k, group in enumerate(self.constraint.together):
            home |= dict.fromkeys(group, k)
        apart = {frozenset((home.get(i, -1), home.get(j, -2))) for i, j in self.constraint.apart}
        n = len(self.constraint.together)
        return all(frozenset(pair) in apart for pair in combinations(range(n), 2))

    @property
    def changes(self) -> Ints:
        """The first items of all labelled segments but the first; none without labels of items."""
        return self.rows[:0] if self.scored is None else self.rows[self.scored.boundaries[1:-1]]

    @property
    def n_changes(self) -> int:
        """The number of changes, or of clusters less one, that labels ask for at least."""
        if self.truth is not None:
            return self.truth.n_clusters - 1
        counted = sum(r.changes for r in self.constraint.regions)
        K = self.constraint.n_clusters or 1
        return max(len(self.constraint.forced) + counted, K - 1)

    def loss(self, M: EquivalenceMatrix) -> float:
        """The distance of a partition from the labels; 0 if it agrees with them.

        It sums the loss ``|M - M_i|_F^2`` within every part whose partition is known, 1 for each
        region with another number of changes, and the number of clusters too many or too few. If no
        part is known, it counts the pairs of rows in one cluster that have to be in two.
        """
        if self.truth is not None:
            return partition_loss(self.truth, M)
        K = self.constraint.n_clusters
        wrong = 0 if K is None else abs(K - M.n_clusters)
        wrong += sum(not r.holds(M.boundaries) for r in self.constraint.regions if r.changes)
        if self._union is None:
            return float(sum(M.labels[i] == M.labels[j] for i, j in self.constraint.apart) + wrong)
        rows, apart, truth = self._union
        return partition_loss(truth, EquivalenceMatrix.from_labels(apart + M.labels[rows])) + wrong

    @cached_property
    def _union(self) -> tuple[Ints, Ints, EquivalenceMatrix] | None:
        """The known parts as one: their rows, a number for each part, and the joint partition.

        The number is added to labels, so that clusters of different parts stay apart: then the
        losses within parts add up to that of their union.
        """
        parts, truths = self.part
        if not parts:
            return None
        apart = np.repeat(np.arange(len(parts)), [rows.size for rows in parts]) * self.n_samples
        labels = np.concatenate([np.asarray(M.labels) for M in truths])
        return np.concatenate(parts), apart, EquivalenceMatrix.from_labels(apart + labels)


def read_labels(
    problem: PartitionProblem, instances: Sequence[Instance], ys: Sequence[Any]
) -> list[Known]:
    """Read the labels that :func:`labels_of_each` returns, full or partial."""
    words = problem.traits.words
    labels = []
    for i, (instance, y) in enumerate(zip(instances, ys, strict=True)):
        where = words.numbered(i)
        with about(where), asked(problem, "encode", where):
            array = read_only(y) if type(y) is np.ndarray else y
            labels.append(_read(problem, instance, instance.known_labels(array)))
    return labels


def _read(problem: PartitionProblem, instance: Instance, y: Any) -> Known:
    """Read the labels of an instance; refuse partial ones that lack a number that is needed."""
    traits = problem.traits
    T = instance.n_samples
    labels = as_partial(y, T, traits.words.item)
    constraint = UNCONSTRAINED
    if labels is not None:
        constraint = labels.constraint(T, traits.contiguous)
    if labels is None or labels.is_complete:
        M: Any = problem.encode(y if labels is None else labels.codes, instance)
        if not isinstance(M, EquivalenceMatrix | NodeLabels) or M.n_samples != T:
            wanted = f"an EquivalenceMatrix of {traits.words.items(T)}"
            wanted += ", such as EquivalenceMatrix.from_labels(labels)"
            raise_wrong(problem, "encode", M, wanted)
        return Known.of(M)  # type: ignore[arg-type]
    if traits.given_k and constraint.n_clusters is None and not constraint.says_nothing:
        named = 0 if traits.contiguous or labels.codes is None else int(labels.codes.max()) + 1
        if named < 2:
            raise DataError(
                f"the problem says that the number of {traits.words.part}s is known, and labels in "
                "part do not give it: let the problem say that it is unknown, "
                + parameter("cluster_count", "unknown")
                + ", or give n_clusters with the partial labels"
            )
        constraint = constraint.with_clusters(named)
    return Known(
        T, constraint, None, traits.contiguous, labels.codes if traits.contiguous else None
    )


def labels_of_each(ys: Any, instances: Sequence[Instance], words: Words) -> list[Any]:
    """A list with the labels of each instance; those of a single one need not come in a list."""
    ys = labels_that_came(instances, words) if ys is None else ys
    if ys is None:
        raise DataError(
            "there are no labels: this requires y to be passed, but the target y is None"
        )
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys  # a column of a data frame
    single = isinstance(ys, PartialLabels) or (len(instances) == 1 and is_single(ys, words))
    labels: list[Any] = one_each([ys] if single else ys, len(instances), words)
    if words.of_graphs:
        return [
            label_map_of(y) if is_picture(y) else levelled(y, "labels of " + words.numbered(i))
            for i, y in enumerate(labels)
        ]
    return labels


def is_single(ys: Any, words: Words = RECORDINGS) -> bool:
    """Whether labels are those of one instance, and not a list of such labels."""
    pictured = words.of_graphs
    if isinstance(ys, PartialLabels | Mapping) or (pictured and is_picture(ys)):
        return True
    alone = ys[0] if isinstance(ys, list | tuple) and len(ys) == 1 else ys
    if alone is None or (pictured and is_picture(alone)):
        return False
    ys = ys.to_numpy() if hasattr(ys, "to_numpy") else ys
    if isinstance(ys, np.ndarray) and ys.dtype != object:
        return pictured or ys.ndim != 2 or len(ys) != 1  # (1, T) is a list of one
    try:
        return np.ndim(ys[0]) == 0 and not isinstance(ys[0], PartialLabels | Mapping)
    except (IndexError, KeyError, TypeError, ValueError):  # it is empty, or ragged
        return False
