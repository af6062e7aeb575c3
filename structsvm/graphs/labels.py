"""Labels of the nodes of a graph, and what they are made of: labels of pixels, say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.values import UNKNOWN, label_values, missing_labels, of_one_kind, unlabelled
from structsvm.errors import DataError, DataWarning, warn
from structsvm.graphs.graph import FeatureGraph
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_of
from structsvm.support.arrays import Bools, Floats, Ints

NOTHING_TO_CUT = (
    "all nodes of each graph have the same label: there is nothing to cut (small objects "
    "need more superpixels: raise n_superpixels of GraphOfImage)"
)


@dataclass(frozen=True, eq=False)
class NodeLabels:
    """The true partition of a graph, for learning on nodes and for scoring on pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import FeatureGraph, node_labels
    >>> graph = FeatureGraph(np.array([[0.0], [1.0], [9.0]]))
    >>> labels = node_labels(["sky", "sky", "sea"], graph)
    >>> type(labels).__name__, labels.counts.tolist()
    ('NodeLabels', [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    """

    M: EquivalenceMatrix
    """Each node in the cluster that most of it belongs to."""
    counts: Floats
    """How much of each node has each label, (T, K): rows sum to the sizes of the nodes, or to what
    is labelled of them, by which alone is measured then."""
    names: NDArray[Any] | None = None
    """What the labels are called, (K,), if they are called anything."""

    @property
    def n_clusters(self) -> int:
        """Number of labels that occur, K, even if no node has most of one."""
        return int(self.counts.shape[1])

    @property
    def n_samples(self) -> int:
        """The number of nodes, T."""
        return int(self.counts.shape[0])

    def inner(self, guess: EquivalenceMatrix) -> float:
        """``Tr(M M')`` over pixels: ``sum_kl |A_k n B_l|^2 / (|A_k| |B_l|)``."""
        common = _common(self, guess)
        sizes = np.outer(common.sum(axis=1), common.sum(axis=0))
        shares = np.divide(common**2, sizes, out=np.zeros_like(common), where=sizes > 0)
        return float(shares.sum())

    @classmethod
    def of_nodes(cls, M: EquivalenceMatrix, sizes: Floats) -> NodeLabels:
        """Make labels of a partition of the nodes, whose sizes are (T,)."""
        assert M.labels is not None
        return cls(M, np.eye(M.n_clusters)[M.labels] * sizes[:, None])

    @classmethod
    def of_some(cls, rows: Ints, M: EquivalenceMatrix, sizes: Floats) -> NodeLabels:
        """A partition of some of the nodes, of the others of which nothing is known."""
        assert M.labels is not None
        counts = np.zeros((sizes.size, M.n_clusters))
        counts[rows, M.labels] = sizes[rows]
        return cls(EquivalenceMatrix.from_labels(counts.argmax(axis=1)), counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeLabels):
            return NotImplemented
        return self.M == other.M and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        """Return the hash of the partition of the nodes."""
        return hash(self.M)


def node_labels(y: Any, graph: FeatureGraph) -> NodeLabels:
    """Read the labels of the nodes of a graph, in any supported form.

    Parameters
    ----------
    y : label map (H, W) of an image; vector (T,); or, of a networkx graph, mapping of its nodes
        Numbers or names; a mask is a label map with two labels. NodeLabels are taken as they are.
        As everywhere, -1 means that a label is not known, which is refused here.

    Raises
    ------
    DataError
        When they do not fit the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import FeatureGraph, node_labels
    >>> graph = FeatureGraph(np.array([[0.0], [1.0], [9.0]]))
    >>> node_labels([1, 1, 0], graph).M.labels.tolist()
    [0, 0, 1]
    """
    if isinstance(y, NodeLabels):
        if y.n_samples != graph.n_samples:
            raise DataError(f"labels of {y.n_samples} nodes for {graph.n_samples} nodes")
        return y
    values = _values(y, graph)
    open_ = missing_labels(values) | unlabelled(values)
    if open_.any():
        _refuse_open(values, open_)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError("a label is inf: give every node or pixel one")
    counts, kinds = _counted(values, ~open_, graph)
    scale = graph.sizes / np.maximum(counts.sum(axis=1), 1)
    M = EquivalenceMatrix.from_labels(counts.argmax(axis=1))
    return NodeLabels(M, counts * scale[:, None], kinds)


def node_names(y: Any, graph: FeatureGraph) -> Any:
    """The name of each node, (T,), None where it has none: that of most of what it is made of."""
    if hasattr(y, "constraint"):  # PartialLabels
        return y
    counts: NDArray[Any]
    if isinstance(y, NodeLabels):
        counts, kinds = y.counts, y.names
    else:
        values = _values(y, graph)
        counts, kinds = _counted(values, ~(missing_labels(values) | unlabelled(values)), graph)
    names = np.full(graph.n_samples, None, dtype=object)
    if kinds is not None and kinds.size:
        there = counts.any(axis=1)
        names[there] = kinds[counts.argmax(axis=1)[there]].tolist()
    return names


def node_codes(y: Any, graph: FeatureGraph) -> Any:
    """Labels of which some are -1, as one number for each node, -1 for a node without any."""
    if isinstance(y, NodeLabels) or hasattr(y, "constraint"):
        return y
    if isinstance(y, Mapping) and graph.nodes is not None:
        strangers = y.keys() - set(graph.nodes)
        if strangers:
            first = min(strangers, key=str)
            told = f"{first!r} has a label and is no node ({len(strangers)} in all)"
            if len(strangers) == len(y):
                raise DataError(f"{told}: nodes are called like {graph.nodes[0]!r}")
            warn(f"{told}: its label is left out", DataWarning)
    values = _values(y, graph)
    known = ~unlabelled(values)
    if known.all() or missing_labels(values).any():  # of which the former are read as full labels
        return y
    counts, kinds = _counted(values, known, graph)
    if not kinds.size:
        return np.full(graph.n_samples, UNKNOWN)
    there, most = counts.any(axis=1), counts.argmax(axis=1)
    if there.all() and values.shape != (graph.n_samples,):
        # Measured by the pixels that are labelled.
        return NodeLabels(EquivalenceMatrix.from_labels(most), counts.astype(float), kinds)
    return np.where(there, most, UNKNOWN)


def teaching(graphs: Sequence[FeatureGraph], truths: Sequence[NodeLabels]) -> list[int]:
    """The graphs whose nodes have more than one label; a warning for the others."""
    if graphs and all(truth.M.n_clusters == truth.M.n_samples for truth in truths):
        raise DataError(
            "every node has its own label, and any metric cuts them correctly: labels say "
            "which nodes belong together"
        )
    kept = [i for i, truth in enumerate(truths) if truth.M.n_clusters > 1]
    if not kept:
        raise DataError(NOTHING_TO_CUT)
    left = [i for i in range(len(truths)) if i not in kept]
    if left:
        warn(
            f"all nodes of graph {left[0]} have the same label ({len(left)} such graphs): nothing "
            "is learned from it",
            DataWarning,
        )
    return kept


def jaccard_distance(truth: NodeLabels, guess: EquivalenceMatrix) -> float | None:
    """``1 - |A n B| / |A u B|``, A the larger of two labels and B the cluster that fits it best."""
    if truth.n_clusters != 2:
        return None
    common = _common(truth, guess)
    inside = common[1]
    union = common.sum(axis=0) + inside.sum() - inside
    return float(1.0 - np.max(inside / union))


def region_rand(truth: NodeLabels, guess: EquivalenceMatrix) -> float:
    """Adjusted Rand index over pixels (Hubert and Arabie, 1985)."""
    return adjusted_rand_of(_common(truth, guess))


def _values(y: Any, graph: FeatureGraph) -> NDArray[Any]:
    """Labels of the pixels (H, W) or of the nodes (T,), -1 where a mapping has none."""
    if isinstance(y, Mapping):
        if graph.nodes is None:
            raise DataError("labels by name need a networkx graph: give a vector of one per node")
        y = [y.get(node, UNKNOWN) for node in graph.nodes]
    values = label_values(y)
    regions = graph.regions
    if values.shape == (graph.n_samples,) or (
        regions is not None and values.shape == regions.shape
    ):
        return values
    of = "" if regions is None else f", of pixels {regions.shape}"
    raise DataError(
        f"labels of shape {values.shape} for a graph of {graph.n_samples} nodes{of}: give one "
        "label to each"
    )


def _counted(values: NDArray[Any], known: Bools, graph: FeatureGraph) -> tuple[Ints, NDArray[Any]]:
    """How many pixels of each node have each of the labels that are known, (T, K), and these."""
    T, regions = graph.n_samples, graph.regions
    of = np.arange(T) if regions is None or values.shape == (T,) else regions
    if not known.all():  # a photograph has too many pixels to copy them for nothing
        values, of = values[known], of[known]
    values = values.ravel()
    if values.dtype == object and len({isinstance(value, str) for value in values.tolist()}) > 1:
        raise DataError("labels of several kinds do not compare: give names or numbers")
    values = of_one_kind(values)
    kinds = np.unique(values)
    codes = np.searchsorted(kinds, values)
    K = kinds.size
    return np.bincount(of.ravel() * K + codes, minlength=T * K).reshape(T, K), kinds


def _refuse_open(values: NDArray[Any], there: Bools) -> None:
    """Raise DataError for labels that are not known, naming the first."""
    place, value = np.argwhere(there)[0], values[there].tolist()[0]
    shown = "NaN" if isinstance(value, float) and np.isnan(value) else repr(value)
    which = f"pixel ({place[0]}, {place[1]})" if place.size == 2 else f"node {place[0]}"
    raise DataError(
        f"a label is {shown}, that of {which} ({int(there.sum())} in all): give each a label, or, "
        "to learn from some of them, -1 among numbers where none is known (a class -1 needs "
        "another number)"
    )


def _common(truth: NodeLabels, guess: EquivalenceMatrix) -> Floats:
    assert guess.labels is not None
    table = np.zeros((guess.n_clusters, truth.n_clusters))
    np.add.at(table, guess.labels, truth.counts)
    return table.T
