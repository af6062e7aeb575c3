"""Labels of the nodes of a graph, and what they are made of: labels of pixels, say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.values import label_values, missing_labels, of_one_kind
from structsvm.errors import DataError, DataWarning, warn
from structsvm.graphs.graph import FeatureGraph
from structsvm.partial_labels.labels import UNKNOWN, PartialLabels, unlabelled
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_of
from structsvm.support.arrays import Floats, Ints


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
        if y.counts.shape[0] != graph.n_samples:
            raise DataError(f"labels of {y.counts.shape[0]} nodes for {graph.n_samples} nodes")
        return y
    if isinstance(y, Mapping):
        y = _in_order(y, graph)
    if isinstance(y, PartialLabels):
        raise DataError("PartialLabels say something in part: every node needs a label here")
    labels, regions = _placed(label_values(y), graph)
    open_ = missing_labels(labels) | unlabelled(labels)
    try:
        kinds = np.unique(labels[~open_])
    except TypeError:
        raise DataError("labels of several kinds do not compare") from None
    if open_.any():
        _refuse_open(labels, open_, graph)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("a label is inf: give every node or pixel one")
    counts = _counted(np.searchsorted(kinds, labels), regions, graph.n_samples, kinds.size)
    scale = graph.sizes / np.maximum(counts.sum(axis=1), 1)
    M = EquivalenceMatrix.from_labels(counts.argmax(axis=1))
    return NodeLabels(M, counts * scale[:, None], kinds)


def node_names(y: Any, graph: FeatureGraph) -> Any:
    """The name of each node, (T,), None where it has none: that of most of what it is made of."""
    if isinstance(y, PartialLabels):
        return y
    if isinstance(y, NodeLabels):
        if y.names is None:
            return np.full(graph.n_samples, None, dtype=object)
        kinds, there, most = y.names, y.counts.any(axis=1), y.counts.argmax(axis=1)
    else:
        if isinstance(y, Mapping):
            y = [y.get(node) for node in graph.nodes or ()]
        labels, regions = _placed(label_values(y), graph)
        known = ~(missing_labels(labels) | unlabelled(labels))
        if not known.all():  # a photograph has too many pixels to copy them for nothing
            labels, regions = labels[known], regions[known]
        labels = of_one_kind(labels)
        kinds = np.unique(labels)
        if not kinds.size:
            return np.full(graph.n_samples, None, dtype=object)
        codes = np.searchsorted(kinds, labels)
        counts = _counted(codes, regions, graph.n_samples, kinds.size)
        there, most = counts.any(axis=1), counts.argmax(axis=1)
    names = np.full(graph.n_samples, None, dtype=object)
    names[there] = kinds[most[there]].tolist()
    return names


def node_codes(y: Any, graph: FeatureGraph) -> Any:
    """Labels of which some are missing, as one number for each node, -1 for a node without any."""
    if isinstance(y, NodeLabels) or hasattr(y, "constraint"):
        return y
    if isinstance(y, Mapping):
        return _codes_by_name(y, graph)
    values = np.asarray(y)
    if values.dtype.kind not in "if" or not (values == -1).any():
        return y
    if graph.regions is None or values.shape != graph.regions.shape:
        return values
    kinds, inverse = np.unique(values, return_inverse=True)
    counts = _counted(inverse.ravel(), graph.regions.ravel(), graph.n_samples, kinds.size)
    known = kinds != UNKNOWN
    table = counts[:, known]
    if not known.any():
        return np.full(graph.n_samples, UNKNOWN)
    there, most = table.any(axis=1), table.argmax(axis=1)
    if there.all():  # measured by the pixels that are labelled
        return NodeLabels(EquivalenceMatrix.from_labels(most), table.astype(float), kinds[known])
    return np.where(there, kinds[known][most], UNKNOWN)


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


def _refuse_open(labels: NDArray[Any], there: NDArray[np.bool_], graph: FeatureGraph) -> None:
    """Raise DataError for labels that are not known, naming the first."""
    first = int(np.flatnonzero(there)[0])
    value = labels[first : first + 1].tolist()[0]
    shown = "NaN" if isinstance(value, float) and np.isnan(value) else repr(value)
    if graph.regions is not None and labels.size == graph.regions.size:
        row, column = np.unravel_index(first, graph.regions.shape)
        which = f"pixel ({row}, {column})"
    else:
        which = f"node {first}"
    raise DataError(
        f"a label is {shown}, that of {which} ({int(there.sum())} in all): give each a label, or, "
        "to learn from some of them, -1 among numbers where none is known (a class -1 needs "
        "another number)"
    )


def _placed(values: NDArray[Any], graph: FeatureGraph) -> tuple[NDArray[Any], Ints]:
    """Labels of pixels or nodes in a row, and the node of each."""
    if graph.regions is not None and values.shape == graph.regions.shape:
        return values.ravel(), graph.regions.ravel()
    if values.shape == (graph.n_samples,):
        return values, np.arange(graph.n_samples)
    of = "" if graph.regions is None else f", of pixels {graph.regions.shape}"
    raise DataError(
        f"labels of shape {values.shape} for a graph of {graph.n_samples} nodes{of}: give one "
        "label to each"
    )


def _counted(codes: Ints, regions: Ints, T: int, K: int) -> Ints:
    return np.bincount(regions * K + codes, minlength=T * K).reshape(T, K)


def _common(truth: NodeLabels, guess: EquivalenceMatrix) -> Floats:
    assert guess.labels is not None
    table = np.zeros((guess.n_clusters, truth.n_clusters))
    np.add.at(table, guess.labels, truth.counts)
    return table.T


def _codes_by_name(y: Mapping[Any, Any], graph: FeatureGraph) -> Any:
    """Labels by name as numbers, -1 where there is none; as they are where there are all."""
    if graph.nodes is None:
        return y
    strangers = y.keys() - set(graph.nodes)
    if strangers:
        told = f"{min(strangers, key=str)!r} has a label and is no node ({len(strangers)} in all)"
        if len(strangers) == len(y):
            raise DataError(f"{told}: nodes are called like {graph.nodes[0]!r}")
        warn(f"{told}: its label is left out", DataWarning)
    values, named = np.empty(graph.n_samples, dtype=object), [node in y for node in graph.nodes]
    values[:] = [y.get(node) for node in graph.nodes]
    missing = missing_labels(values) & named
    if missing.any():
        _refuse_open(values, missing, graph)
    known = named & ~unlabelled(values)
    if known.all():
        return y
    codes = np.full(graph.n_samples, UNKNOWN)
    try:
        codes[known] = np.unique(values[known], return_inverse=True)[1]
    except TypeError:
        raise DataError("labels of several kinds do not compare") from None
    return codes


def _in_order(y: Mapping[Any, Any], graph: FeatureGraph) -> list[Any]:
    if graph.nodes is None:
        raise DataError("labels by name need a networkx graph: give a vector of one per node")
    missing = [node for node in graph.nodes if node not in y]
    if missing:
        raise DataError(f"node {missing[0]!r} has no label ({len(missing)} in all)")
    return [y[node] for node in graph.nodes]
