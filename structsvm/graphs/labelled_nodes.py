"""Labels of the nodes of a graph, in full or in part, and how they are compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import (
    UNKNOWN,
    label_values,
    missing_labels,
    numbered,
    unknown_labels,
    unlabelled,
)
from structsvm.errors import DataError, nth, warn
from structsvm.partitions import EquivalenceMatrix
from structsvm.partitions.losses import adjusted_rand_of
from structsvm.support import Bools, Floats, Ints

LOST = 0.6
"""Nodes are too coarse if their best partition loses more than this share of the loss of one part,
or of the pixels of a label. On photographs of horses, where superpixels do not limit a cut, 150 of
them lose up to half."""
NOTHING_TOGETHER = (
    "every node has its own label, and any metric cuts them correctly: labels say which nodes "
    "belong together"
)
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
    """How much of each node has each label, (T, K): rows sum to the sizes of the nodes, or to their
    labelled parts, on which alone scores are measured then."""
    names: NDArray[Any] | None = None
    """Names of the labels, (K,), if they have names."""
    pixels: Ints | None = None
    """The number of the label of each pixel of an image, (H W,), -1 for one without a label."""

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
        common = self.common(guess.labels, guess.n_clusters)
        sizes = np.outer(common.sum(axis=1), common.sum(axis=0))
        shares = np.divide(common**2, sizes, out=np.zeros_like(common), where=sizes > 0)
        return float(shares.sum())

    def common(self, labels: Ints, n: int) -> Floats:
        """The overlap of each true label with each of ``n`` labels of nodes or pixels, (K, n).

        Raises
        ------
        DataError
            If there are neither as many numbers as nodes nor as many as pixels.
        """
        table = np.zeros((n, self.n_clusters))
        if labels.size == self.n_samples:
            np.add.at(table, labels, self.counts)
        elif self.pixels is not None and labels.size == self.pixels.size:
            is_labelled = self.pixels >= 0
            np.add.at(table, (labels[is_labelled], self.pixels[is_labelled]), 1.0)
        else:
            raise DataError(
                f"{labels.size} labels for {self.n_samples} nodes: to score labels of pixels, give "
                "true ones, (H, W)"
            )
        return table.T

    @property
    def least_loss(self) -> float:
        """The least loss of a partition of the nodes that a local search finds, or of one part.

        The search starts with each node in the part of its most frequent label. ``Tr(M M')`` is
        convex in what the parts hold: each step maximises its linearization, node by node.
        """
        n = self.counts
        N = self.counts.sum(axis=0)
        most = 0.0
        best = self.n_clusters - 1.0
        parts = n.argmax(axis=1)
        while True:
            inside = np.zeros((n.shape[1], n.shape[1]))
            np.add.at(inside, parts, n)
            inside = inside[inside.any(axis=1)]
            sizes = inside.sum(axis=1, keepdims=True)
            shares = (inside**2 / N).sum(axis=1, keepdims=True) / sizes
            if shares.sum() <= most * (1 + 1e-9):
                return best
            most = float(shares.sum())
            best = min(best, self.n_clusters + len(inside) - 2.0 * most)
            parts = (n @ ((2.0 * inside / N - shares) / sizes).T).argmax(axis=1)

    @classmethod
    def of_nodes(cls, M: EquivalenceMatrix, sizes: Floats) -> "NodeLabels":
        """Make labels of a partition of the nodes, whose sizes are (T,)."""
        return cls(M, np.eye(M.n_clusters)[M.labels] * sizes[:, None])

    @classmethod
    def of_some(cls, rows: Ints, M: EquivalenceMatrix, sizes: Floats) -> "NodeLabels":
        """Make labels of a partition of the nodes ``rows``; the others have no label."""
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


def node_labels(y: Any, graph: Any) -> NodeLabels:
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
    open_ = unknown_labels(values)
    if open_.any():
        place = tuple(np.argwhere(open_)[0].tolist())
        n = int(open_.sum())
        which = f"pixel {place}" if len(place) == 2 else f"node {place[0]}"
        raise DataError(
            f"the label of {which} is {values[place]} ({n} in all are not known): give each a "
            "label, or, to learn from some of them, -1 among numbers where none is known (a class "
            "-1 needs another number)"
        )
    counts, kinds, pixels = _counted(values, ~open_, graph)
    scale = graph.sizes / np.maximum(counts.sum(axis=1), 1)
    M = EquivalenceMatrix.from_labels(counts.argmax(axis=1))
    return NodeLabels(M, counts * scale[:, None], kinds, pixels)


def node_names(y: Any, graph: Any) -> Any:
    """The name of each node, (T,), that of most of its pixels; None for one without a label."""
    if hasattr(y, "constraint"):  # PartialLabels
        return y
    counts: NDArray[Any]
    if isinstance(y, NodeLabels) and y.n_samples == graph.n_samples:
        counts = y.counts
        kinds = y.names
    else:
        values = _values(y, graph)
        counts, kinds, _ = _counted(values, ~unknown_labels(values), graph)
    names = np.full(graph.n_samples, None, dtype=object)
    if kinds is not None and kinds.size:
        has_label = counts.any(axis=1)
        names[has_label] = kinds[counts.argmax(axis=1)[has_label]].tolist()
    return names


def node_codes(y: Any, graph: Any) -> Any:
    """Labels in part as a number for each node, -1 for one without a label; full labels as is."""
    if isinstance(y, NodeLabels) or hasattr(y, "constraint"):
        return y
    if isinstance(y, Mapping) and graph.nodes is not None:
        strangers = sorted(y.keys() - set(graph.nodes), key=str)
        if strangers:
            message = f"{strangers[0]!r} has a label and is no node ({len(strangers)} in all)"
            if len(strangers) == len(y):
                raise DataError(f"{message}: nodes are called like {graph.nodes[0]!r}")
            warn(f"{message}: its label is left out")
    values = _values(y, graph)
    is_labelled = ~unlabelled(values)
    if is_labelled.all() or missing_labels(values).any():
        return y
    counts, kinds, pixels = _counted(values, is_labelled, graph)
    if not kinds.size:
        return np.full(graph.n_samples, UNKNOWN)
    has_label = counts.any(axis=1)
    most = counts.argmax(axis=1)
    if has_label.all() and values.shape != (graph.n_samples,):
        # Every node has labelled pixels, which scores are measured on.
        M = EquivalenceMatrix.from_labels(most)
        return NodeLabels(M, counts.astype(float), kinds, pixels)
    return np.where(has_label, most, UNKNOWN)


def teaching(truths: Sequence[NodeLabels]) -> list[int]:
    """Numbers of the graphs whose nodes have more than one label; warns of the others."""
    kept = [i for i, truth in enumerate(truths) if truth.M.n_clusters > 1]
    apart = bool(truths) and all(truth.M.n_clusters == truth.M.n_samples for truth in truths)
    if apart:
        raise DataError(NOTHING_TOGETHER)
    if not kept:
        raise DataError(NOTHING_TO_CUT)
    left = [i for i in range(len(truths)) if i not in kept]
    if left:
        warn(
            "all nodes of "
            + nth("graph", left[0])
            + f" have the same label ({len(left)} such graphs): nothing is learned from it"
        )
    return kept


def limit_of(labels: Sequence[Any]) -> str:
    """Sentences if superpixels are too coarse for the true labels, with a remedy; "" otherwise."""
    truths = [truth for truth in labels if isinstance(truth, NodeLabels)]
    if not truths:
        return ""
    loss = float(np.mean([truth.least_loss for truth in truths]))
    single = float(np.mean([truth.n_clusters - 1 for truth in truths]))
    all_pixels = Counter[Any]()
    kept = Counter[Any]()
    for truth in truths:
        names = range(truth.n_clusters) if truth.names is None else truth.names.tolist()
        inside = np.eye(truth.n_clusters)[truth.counts.argmax(axis=1)] * truth.counts
        all_pixels.update(dict(zip(names, truth.counts.sum(axis=0), strict=True)))
        kept.update(dict(zip(names, inside.sum(axis=0), strict=True)))
    shares = {name: kept[name] / all_pixels[name] for name in all_pixels}
    if loss <= LOST * single and min(shares.values()) >= 1 - LOST:
        return ""
    worst = min(shares, key=lambda name: float(shares[name]))
    return (
        f"Superpixels cannot follow these masks: the best partition of them has a mean loss of "
        f"{loss:.2f}, one single part has {single:.2f}, and {shares[worst]:.0%} of the pixels of "
        f"{worst!r} are in superpixels of that name. Where regions have names, take a classifier "
        "of pixels (pixel-forest), or else raise n_superpixels of GraphOfImage."
    )


def jaccard_distance(truth: NodeLabels, guess: EquivalenceMatrix) -> float | None:
    """``1 - |A n B| / |A u B|``, A the larger of two labels and B the cluster that fits it best."""
    if truth.n_clusters != 2:
        return None
    common = truth.common(guess.labels, guess.n_clusters)
    inside = common[1]
    union = common.sum(axis=0) + inside.sum() - inside
    return float(1.0 - np.max(inside / union))


def region_rand(truth: NodeLabels, guess: EquivalenceMatrix) -> float:
    """Adjusted Rand index over pixels (Hubert and Arabie, 1985)."""
    return adjusted_rand_of(truth.common(guess.labels, guess.n_clusters))


def _values(y: Any, graph: Any) -> NDArray[Any]:
    """Labels of the pixels (H, W) or of the nodes (T,), -1 where a mapping has none."""
    if isinstance(y, Mapping):
        if graph.nodes is None:
            raise DataError("labels by name need a networkx graph: give a vector of one per node")
        y = [y.get(node, UNKNOWN) for node in graph.nodes]
    if isinstance(y, NodeLabels) and y.pixels is not None and y.names is not None:
        is_labelled = y.pixels >= 0
        pixels = np.full(y.pixels.size, None, dtype=object)
        pixels[is_labelled] = y.names[y.pixels[is_labelled]]
        y = graph.label_map(pixels)
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


def _counted(
    values: NDArray[Any], is_labelled: Bools, graph: Any
) -> tuple[Ints, NDArray[Any], Ints | None]:
    """Counts of the labels in each node, (T, K), their names, (K,), and the label of each pixel."""
    T = graph.n_samples
    regions = graph.regions
    places = np.arange(T) if regions is None or values.shape == (T,) else regions
    numbers = np.full(places.shape, UNKNOWN, dtype=np.int64)
    nodes = places
    if not is_labelled.all():  # otherwise large photographs are not copied
        values = values[is_labelled]
        nodes = nodes[is_labelled]
    kinds, codes = numbered(values.ravel(), "labels")
    numbers[is_labelled] = codes
    K = kinds.size
    counts = np.bincount(nodes.ravel() * K + codes, minlength=T * K).reshape(T, K)
    if regions is None:
        return counts, kinds, None
    return counts, kinds, (numbers if places is regions else numbers[regions]).ravel()
