"""A problem with side information: the nodes of a tree, in parts that hang together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.sample import Sample, Words
from structsvm.errors import DataError, OracleError
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.learning import Traits
from structsvm.partitions.oracle import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    Oracle,
    Quality,
    TraceObjective,
)
from structsvm.partitions.problem import PartitionProblem

__all__ = ["Tree", "TreeOracle", "labels_of"]

MOST_NODES = 12


@cache
def labels_of(parents: tuple[int, ...]) -> NDArray[np.int64]:
    """Every partition into connected parts, one for each set of edges left out, (n, T)."""
    T = len(parents)
    found = np.zeros((2 ** (T - 1), T), dtype=np.int64)
    for number, labels in enumerate(found):
        parts = 1
        for node in range(1, T):
            if number >> (node - 1) & 1:
                labels[node] = parts
                parts += 1
            else:
                labels[node] = labels[parents[node]]
    return found


@cache
def matrices_of(parents: tuple[int, ...]) -> NDArray[np.float64]:
    """The matrix of each of those partitions, (n, T, T)."""
    return np.array([EquivalenceMatrix.from_labels(row).dense() for row in labels_of(parents)])


@dataclass(frozen=True)
class TreeOracle(Oracle):
    """Looks at every partition of a small tree, whose node 0 is the root."""

    takes = frozenset({"n_clusters"})

    parents: tuple[int, ...]
    """Of each node, numbered so that a parent comes before its children; -1 for the root."""

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` by enumeration; the first of several maximisers is returned."""
        if objective.n_samples != len(self.parents):
            raise OracleError(f"a tree of {len(self.parents)} nodes is not one of all samples")
        K = constraint.n_clusters
        rows = labels_of(self.parents)
        values = np.einsum("nst,st->n", matrices_of(self.parents), objective.dense())
        if K is not None:
            values[rows.max(axis=1) != K - 1] = -np.inf
        M = EquivalenceMatrix.from_labels(rows[int(np.argmax(values))])
        value = objective.value(M)
        return Argmax(M, value, value, Quality.EXACT)


@dataclass(frozen=True)
class Tree(PartitionProblem):
    """Cut trees into connected parts. A sample is a pair of features and parents of the nodes."""

    @property
    def traits(self) -> Traits:
        """Parts of trees, whose price is learned."""
        return Traits(words=Words("tree", "part", "node"))

    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Sample], list[str] | None]:
        """Features with their trees, which are checked."""
        samples, names = super().read(Xs, feature_names, n_features)
        for i, sample in enumerate(samples):
            side = () if sample.side is None else tuple(sample.side)
            if len(side) != sample.n_samples:
                raise DataError(
                    f"tree {i} has {sample.n_samples} nodes and {len(side)} parents: give pairs "
                    "(features, parents)"
                )
            if sample.n_samples > MOST_NODES:
                raise DataError(f"tree {i} has more than {MOST_NODES} nodes: cut it first")
        return [Sample(s.X, tuple(int(p) for p in s.side)) for s in samples], names

    def decoder(self, sample: Sample) -> Oracle:
        """That of the tree of the sample."""
        return TreeOracle(sample.side)

    def encode(self, y: Any, sample: Sample) -> EquivalenceMatrix:
        """A label for each node; nodes of a label that do not hang together are refused."""
        labels = np.asarray(y)
        if labels.shape != (sample.n_samples,):
            raise DataError(f"labels of shape {labels.shape} for {sample.n_samples} nodes")
        tops = sum(p < 0 or labels[p] != labels[i] for i, p in enumerate(sample.side))
        if tops != np.unique(labels).size:
            raise DataError("the nodes of a label do not hang together")
        return EquivalenceMatrix.from_labels(labels)
