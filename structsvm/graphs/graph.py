"""Graphs whose nodes carry features, as arrays, and labels of their nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data.checks import as_floats, refuse_no_array
from structsvm.data.copies import connected
from structsvm.data.labels import (
    UNKNOWN,
    label_values,
    missing_labels,
    numbered,
    unknown_labels,
    unlabelled,
)
from structsvm.errors import DataError, refuse, warn
from structsvm.messages import nth
from structsvm.partitions.equivalence import EquivalenceMatrix, adjusted_rand_of
from structsvm.support.arrays import Bools, Floats, Ints
from structsvm.support.checks import shown

ALIKE = 1e-5
"""Difference of two features in fixed units, in which 1 is a usual one, that is none: rounding."""
LOST = 0.6
"""Of the loss of one single part, or of the pixels of a label: nodes that lose more are too coarse.
On photographs of horses, where they are not what limits a cut, 150 superpixels lose up to half."""


@dataclass(frozen=True, eq=False)
class FeatureGraph:
    """T nodes with P features each, and the pairs of nodes that may be similar.

    Parameters
    ----------
    X : array of shape (T, P)
        Finite.
    edges : array of shape (2, E), optional
        Each pair once, ``edges[0] < edges[1]``; None for all pairs.
    sizes : array of shape (T,), optional
        How much each node stands for, such as the pixels of a superpixel; 1 by default.
    features : tuple of str, optional
        Names of the features; x0, x1, ... by default.
    spatial, made : array of bool of shape (P,), optional
        Which features say where a node is rather than what it looks like, and which a stage of
        features has made of those measured; none by default.
    regions : array of int of shape (H, W), optional
        Node of each pixel, when this is the graph of an image.
    nodes : tuple, optional
        What the nodes were called where they come from.
    in_units : bool
        Whether the features have fixed units, so that no scale has to be learned for them.
    image : array of shape (H, W) or (H, W, C), optional
        The image, when this is the graph of one.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import FeatureGraph
    >>> graph = FeatureGraph(np.array([[0.0], [1.0], [9.0]]), edges=np.array([[0, 1], [1, 2]]))
    >>> graph.n_samples, graph.n_edges, graph.features
    (3, 2, ('x0',))
    """

    X: Floats
    edges: Ints | None = None
    sizes: Floats = field(default_factory=lambda: np.empty(0))
    features: tuple[str, ...] = ()
    spatial: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    regions: Ints | None = None
    nodes: tuple[Any, ...] | None = None
    in_units: bool = False
    made: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    image: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Fill in what was not given; refuse what is not a graph."""
        refuse_no_array(self.X, "the feature matrix")
        X = np.array(as_floats(self.X, "the feature matrix", None, None))
        T, P = X.shape
        edges = None if self.edges is None else np.asarray(self.edges)
        if edges is not None and edges.size:
            right = edges.dtype.kind in "iu" and edges.ndim == len(edges) == 2
            right = right and edges.min() >= 0 and edges.max() < T and (edges[0] < edges[1]).all()
            wrong = f"edges must be integers (2, E), pairs i < j of nodes below {T}, got "
            refuse(DataError, (not right, f"{wrong}{shown(self.edges)}"))
        for name, value in {
            "X": X,
            "edges": None if edges is None else edges.astype(np.int64).reshape(2, -1),
            "sizes": _vector(self.sizes, "sizes", np.ones(T)),
            "features": self.features or tuple(f"x{j}" for j in range(P)),
            "spatial": _vector(self.spatial, "spatial", np.zeros(P, dtype=np.bool_)),
            "made": _vector(self.made, "made", np.zeros(P, dtype=np.bool_)),
        }.items():
            object.__setattr__(self, name, value)
        regions = self.regions
        n_names = len(self.features)
        n_nodes = len(self.nodes or self.X)
        beyond = regions is not None and not 0 <= regions.min() <= regions.max() < T
        refuse(
            DataError,
            (not ((self.sizes >= 0) & (self.sizes < np.inf)).all(), "sizes must be >= 0"),
            (beyond, f"regions must be numbers of nodes from 0 to {T - 1}"),
            (n_names != P, f"{n_names} names in features for {P}: give one to each"),
            (n_nodes != T, f"{n_nodes} names in nodes for {T}: give one to each"),
        )

    @property
    def n_samples(self) -> int:
        """The number of nodes, T."""
        return int(self.X.shape[0])

    @property
    def n_edges(self) -> int:
        """The number of edges, E."""
        T = self.n_samples
        return T * (T - 1) // 2 if self.edges is None else int(self.edges.shape[1])

    def with_features(self, X: Floats, names: Sequence[str]) -> FeatureGraph:
        """Return the same graph with features (T, P') that were made of its own.

        Those with the name of one of its own are as spatial as that, others are not spatial.
        """
        own = dict(zip(self.features, self.spatial.tolist(), strict=True))
        spatial = np.array([own.get(name, False) for name in names])
        made = np.array([name not in own for name in names])
        return replace(self, X=X, features=tuple(names), spatial=spatial, made=made)

    def at(self, nodes: Ints) -> FeatureGraph:
        """Return the graph of some of the nodes and the edges between them, without pixels."""
        place = np.full(self.n_samples, -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        edges = self.edges
        if edges is not None:
            ends = place[edges]
            edges = np.sort(ends[:, (ends >= 0).all(axis=0)], axis=0)
        X = self.X[nodes]
        sizes = self.sizes[nodes]
        bare = replace(self, regions=None, image=None, nodes=None)
        return replace(bare, X=X, edges=edges, sizes=sizes)

    def label_map(self, labels: Ints) -> Ints:
        """Labels of the nodes (T,), or of the pixels, as (H, W); of the nodes without pixels."""
        regions = self.regions
        if regions is None:
            return labels
        return labels.reshape(regions.shape) if labels.size == regions.size else labels[regions]

    def warn_of_free_cuts(self, name: str) -> None:
        """DataWarning when a cut of this graph has nothing to do with the metric."""
        T = self.n_samples
        components = 1
        if self.edges is not None:
            components = int(connected(self.edges.T, T).max()) + 1
        if components > 1:
            warn(
                name
                + f" has {components} connected components: cutting between them costs nothing "
                "in any metric, so they are separated first; add edges, or ask for more than "
                f"{components} clusters"
            )
        varies = np.ptp(self.X, axis=0) > (ALIKE if self.in_units else 0.0)
        if T > 1 and not varies[~self.spatial].any() and not (self.spatial.all() and varies.any()):
            by = "position" if varies.any() else "the edges"
            warn(name + f": all nodes look the same: the cut is one by {by} alone")


def unique_edges(pairs: Ints) -> Ints:
    """Pairs (2, n) in any order as edges ``i < j``, each once, sorted, (2, E)."""
    if not pairs.size:
        return np.empty((2, 0), dtype=np.int64)
    return np.unique(np.sort(pairs, axis=0), axis=1)


def _vector(value: Any, name: str, usual: NDArray[Any]) -> NDArray[Any]:
    """A vector of the shape and kind of the usual one, which an empty one stands for."""
    found = np.asarray(value)
    if not found.size:
        return usual
    if found.shape != usual.shape or not np.array_equal(found.astype(usual.dtype), found):
        raise DataError(f"{name} must be {usual.size} {usual.dtype} values, got {value!r}")
    return found.astype(usual.dtype)


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
    """How much of each node has each label, (T, K): rows sum to the sizes of the nodes, or to what
    is labelled of them, by which alone is measured then."""
    names: NDArray[Any] | None = None
    """What the labels are called, (K,), if they are called anything."""
    pixels: Ints | None = None
    """The number of the label of each pixel of an image, (H W,), -1 where there is none."""

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
        """How much of each label has each of n numbers, (K, n), given those of nodes or pixels.

        Raises
        ------
        DataError
            If there are neither as many numbers as nodes nor as many as pixels.
        """
        table = np.zeros((n, self.n_clusters))
        if labels.size == self.n_samples:
            np.add.at(table, labels, self.counts)
        elif self.pixels is not None and labels.size == self.pixels.size:
            known = self.pixels >= 0
            np.add.at(table, (labels[known], self.pixels[known]), 1.0)
        else:
            raise DataError(
                f"{labels.size} labels for {self.n_samples} nodes: to score labels of pixels, give "
                "true ones, (H, W)"
            )
        return table.T

    @property
    def least_loss(self) -> float:
        """The least loss of a partition of the nodes: that of one part, or of the best found.

        Nodes are moved from where most of them belongs, as long as that is better: ``Tr(M M')`` is
        convex in what the parts hold, and a linear bound says where each node adds most.
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
    def of_nodes(cls, M: EquivalenceMatrix, sizes: Floats) -> NodeLabels:
        """Make labels of a partition of the nodes, whose sizes are (T,)."""
        return cls(M, np.eye(M.n_clusters)[M.labels] * sizes[:, None])

    @classmethod
    def of_some(cls, rows: Ints, M: EquivalenceMatrix, sizes: Floats) -> NodeLabels:
        """A partition of some of the nodes, of the others of which nothing is known."""
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


def node_names(y: Any, graph: FeatureGraph) -> Any:
    """The name of each node, (T,), None where it has none: that of most of what it is made of."""
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
        there = counts.any(axis=1)
        names[there] = kinds[counts.argmax(axis=1)[there]].tolist()
    return names


def node_codes(y: Any, graph: FeatureGraph) -> Any:
    """Labels of which some are -1, as one number for each node, -1 for a node without any."""
    if isinstance(y, NodeLabels) or hasattr(y, "constraint"):
        return y
    if isinstance(y, Mapping) and graph.nodes is not None:
        strangers = sorted(y.keys() - set(graph.nodes), key=str)
        if strangers:
            told = f"{strangers[0]!r} has a label and is no node ({len(strangers)} in all)"
            if len(strangers) == len(y):
                raise DataError(f"{told}: nodes are called like {graph.nodes[0]!r}")
            warn(f"{told}: its label is left out")
    values = _values(y, graph)
    known = ~unlabelled(values)
    if known.all() or missing_labels(values).any():  # of which the former are read as full labels
        return y
    counts, kinds, pixels = _counted(values, known, graph)
    if not kinds.size:
        return np.full(graph.n_samples, UNKNOWN)
    there = counts.any(axis=1)
    most = counts.argmax(axis=1)
    if there.all() and values.shape != (graph.n_samples,):
        # Measured by the pixels that are labelled.
        M = EquivalenceMatrix.from_labels(most)
        return NodeLabels(M, counts.astype(float), kinds, pixels)
    return np.where(there, most, UNKNOWN)


def teaching(truths: Sequence[NodeLabels]) -> list[int]:
    """The graphs whose nodes have more than one label; a warning for the others."""
    kept = [i for i, truth in enumerate(truths) if truth.M.n_clusters > 1]
    apart = bool(truths) and all(truth.M.n_clusters == truth.M.n_samples for truth in truths)
    refuse(DataError, (apart, NOTHING_TOGETHER), (not kept, NOTHING_TO_CUT))
    left = [i for i in range(len(truths)) if i not in kept]
    if left:
        warn(
            "all nodes of "
            + nth("graph", left[0])
            + f" have the same label ({len(left)} such graphs): nothing is learned from it"
        )
    return kept


def limit_in_words(truths: Sequence[NodeLabels]) -> str:
    """What no partition of the nodes can do, and the way out; "" where they are fine enough."""
    if not truths:
        return ""
    loss = float(np.mean([truth.least_loss for truth in truths]))
    single = float(np.mean([truth.n_clusters - 1 for truth in truths]))
    there = Counter[Any]()
    kept = Counter[Any]()
    for truth in truths:
        names = range(truth.n_clusters) if truth.names is None else truth.names.tolist()
        inside = np.eye(truth.n_clusters)[truth.counts.argmax(axis=1)] * truth.counts
        there.update(dict(zip(names, truth.counts.sum(axis=0), strict=True)))
        kept.update(dict(zip(names, inside.sum(axis=0), strict=True)))
    shares = {name: kept[name] / there[name] for name in there}
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


def _values(y: Any, graph: FeatureGraph) -> NDArray[Any]:
    """Labels of the pixels (H, W) or of the nodes (T,), -1 where a mapping has none."""
    if isinstance(y, Mapping):
        if graph.nodes is None:
            raise DataError("labels by name need a networkx graph: give a vector of one per node")
        y = [y.get(node, UNKNOWN) for node in graph.nodes]
    if isinstance(y, NodeLabels) and y.pixels is not None and y.names is not None:
        known = y.pixels >= 0
        pixels = np.full(y.pixels.size, None, dtype=object)
        pixels[known] = y.names[y.pixels[known]]
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
    values: NDArray[Any], known: Bools, graph: FeatureGraph
) -> tuple[Ints, NDArray[Any], Ints | None]:
    """Count the pixels of each node with each label, (T, K); return labels, also of pixels.

    The latter are the numbers of labels, (H W,), -1 where one is not known; None without an image.
    """
    T = graph.n_samples
    regions = graph.regions
    places = np.arange(T) if regions is None or values.shape == (T,) else regions
    numbers = np.full(places.shape, UNKNOWN, dtype=np.int64)
    of = places
    if not known.all():  # a photograph has too many pixels to copy them for nothing
        values = values[known]
        of = of[known]
    kinds, codes = numbered(values.ravel(), "labels")
    numbers[known] = codes
    K = kinds.size
    counts = np.bincount(of.ravel() * K + codes, minlength=T * K).reshape(T, K)
    if regions is None:
        return counts, kinds, None
    return counts, kinds, (numbers if places is regions else numbers[regions]).ravel()
