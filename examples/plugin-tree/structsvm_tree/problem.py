"""Trees cut into connected parts: a problem whose samples have side information."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from structsvm.errors import DataError
from structsvm.partitions import (
    EquivalenceMatrix,
    Instance,
    Oracle,
    PartitionProblem,
    Traits,
    Words,
)
from structsvm_tree.oracle import TreeOracle

__all__ = ["TreeParts"]


@dataclass(frozen=True)
class Edges:
    """The side information of a tree: the edges between the numbers of its nodes."""

    pairs: tuple[tuple[int, int], ...]

    def at(self, rows: NDArray[np.int64]) -> "Edges":
        """The edges between some of the nodes: a forest."""
        place = {int(row): i for i, row in enumerate(rows)}
        kept = ((place[i], place[j]) for i, j in self.pairs if i in place and j in place)
        return Edges(tuple(kept))


@dataclass(frozen=True)
class TreeParts(PartitionProblem):
    """Cut trees into connected parts, as labelled ones are.

    A label for each node, in the order of the nodes: neighbours with the same label are one part.
    """

    traits = Traits(words=Words("tree", "part", "node"))

    def read(
        self, Xs: Any, feature_names: Sequence[str] | None = None, n_features: int | None = None
    ) -> tuple[list[Instance], list[str] | None]:
        """Trees with features; the side information of a sample is its forest of edges."""
        trees = [_features_and_graph(x, i) for i, x in enumerate(Xs)]
        instances, names = super().read([X for X, _ in trees], feature_names, n_features)
        found = []
        for i, (instance, (_, graph)) in enumerate(zip(instances, trees, strict=True)):
            if len(graph) != instance.n_samples:
                raise DataError(
                    f"tree {i}: it has {len(graph)} nodes and features of {instance.n_samples}"
                )
            found.append(Instance(instance.X, _edges(graph, i)))
        return found, names

    def decoder(self, instance: Instance) -> Oracle:
        """Exact dynamic programming from the leaves to the roots."""
        return TreeOracle(instance.side.pairs)

    def encode(self, y: Any, instance: Instance) -> EquivalenceMatrix:
        """Connected parts of equal labels."""
        labels = np.asarray(y)
        T = instance.n_samples
        if labels.shape != (T,):
            raise DataError(f"labels of shape {labels.shape} for {T} nodes: one for each")
        same = [(i, j) for i, j in instance.side.pairs if labels[i] == labels[j]]
        parts = nx.Graph(same)
        parts.add_nodes_from(range(T))
        part = np.empty(T, dtype=np.int64)
        for number, nodes in enumerate(nx.connected_components(parts)):
            part[list(nodes)] = number
        return EquivalenceMatrix.from_labels(part)


def _features_and_graph(x: Any, number: int) -> tuple[Any, nx.Graph]:
    """The features of the nodes, one row for each, and the tree."""
    if isinstance(x, nx.Graph):
        try:
            return np.array([x.nodes[node]["features"] for node in x]), x
        except KeyError:
            raise DataError(
                f"tree {number}: give every node an attribute 'features', a vector"
            ) from None
    if isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], nx.Graph):
        return x
    raise DataError(f"tree {number}: give a networkx tree, or a pair of an array (T, P) and a tree")


def _edges(graph: nx.Graph, number: int) -> Edges:
    """The edges between numbers of nodes."""
    if graph.is_directed() or not nx.is_forest(graph):
        raise DataError(f"tree {number}: it is directed or has a cycle, so it is no tree")
    place = {node: i for i, node in enumerate(graph)}
    return Edges(tuple((place[a], place[b]) for a, b in graph.edges))
