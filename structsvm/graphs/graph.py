"""Graphs whose nodes carry features, as arrays, and labels of their nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.data import as_floats, connected, refuse_no_array
from structsvm.errors import DataError, warn
from structsvm.graphs.labelled_nodes import NodeLabels, node_codes, node_names
from structsvm.partitions import EquivalenceMatrix
from structsvm.support import Floats, Ints, shown

EQUAL_FEATURES = 1e-5
"""Differences up to which features in fixed units, where a usual difference is 1, are equal."""


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
        Which features say where a node is rather than what it looks like, and which were computed
        from the measured ones by a stage of features; none by default.
    regions : array of int of shape (H, W), optional
        Node of each pixel, when this is the graph of an image.
    nodes : tuple, optional
        Names of the nodes in the graph that this one was made from.
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
        """Fill in defaults; refuse arrays that are no graph."""
        refuse_no_array(self.X, "the feature matrix")
        X = np.array(as_floats(self.X, "the feature matrix", None, None))
        T, P = X.shape
        edges = None if self.edges is None else np.asarray(self.edges)
        if edges is not None and edges.size:
            right = edges.dtype.kind in "iu" and edges.ndim == len(edges) == 2
            right = right and edges.min() >= 0 and edges.max() < T and (edges[0] < edges[1]).all()
            wrong = f"edges must be integers (2, E), pairs i < j of nodes below {T}, got "
            if not right:
                raise DataError(f"{wrong}{shown(self.edges)}")
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
        if not ((self.sizes >= 0) & (self.sizes < np.inf)).all():
            raise DataError("sizes must be >= 0")
        if beyond:
            raise DataError(f"regions must be numbers of nodes from 0 to {T - 1}")
        if n_names != P:
            raise DataError(f"{n_names} names in features for {P}: give one to each")
        if n_nodes != T:
            raise DataError(f"{n_nodes} names in nodes for {T}: give one to each")

    @property
    def n_samples(self) -> int:
        """The number of nodes, T."""
        return int(self.X.shape[0])

    @property
    def n_edges(self) -> int:
        """The number of edges, E."""
        T = self.n_samples
        return T * (T - 1) // 2 if self.edges is None else int(self.edges.shape[1])

    def with_features(self, X: Floats, names: Sequence[str]) -> "FeatureGraph":
        """The same graph with features (T, P') that were computed from its own."""
        is_spatial = dict(zip(self.features, self.spatial.tolist(), strict=True))
        spatial = np.array([is_spatial.get(name, False) for name in names])
        made = np.array([name not in is_spatial for name in names])
        return replace(self, X=X, features=tuple(names), spatial=spatial, made=made)

    def at(self, nodes: Ints) -> "FeatureGraph":
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
        """Labels of nodes (T,) or of pixels as a map (H, W); unchanged if there is no image."""
        regions = self.regions
        if regions is None:
            return labels
        return labels.reshape(regions.shape) if labels.size == regions.size else labels[regions]

    def known_labels(self, y: Any) -> Any:
        """See :func:`node_codes`."""
        return node_codes(y, self)

    def item_labels(self, y: Any) -> Any:
        """See :func:`node_names`."""
        return node_names(y, self)

    def labelled(self, rows: Ints, truth: EquivalenceMatrix) -> NodeLabels:
        """See :meth:`NodeLabels.of_some`."""
        return NodeLabels.of_some(rows, truth, self.sizes)

    def warn_of_free_cuts(self, name: str) -> None:
        """Warn if the best cut of this graph does not depend on the metric."""
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
        varies = np.ptp(self.X, axis=0) > (EQUAL_FEATURES if self.in_units else 0.0)
        if T > 1 and not varies[~self.spatial].any() and not (self.spatial.all() and varies.any()):
            by = "position" if varies.any() else "the edges"
            warn(name + f": all nodes look the same: the cut is one by {by} alone")


def unique_edges(pairs: Ints) -> Ints:
    """Edges ``i < j``, (2, E), sorted and each once, from pairs (2, n) in any order."""
    if not pairs.size:
        return np.empty((2, 0), dtype=np.int64)
    return np.unique(np.sort(pairs, axis=0), axis=1)


def _vector(value: Any, name: str, default: NDArray[Any]) -> NDArray[Any]:
    """The value as an array of the shape and type of the default, which replaces an empty one."""
    vector = np.asarray(value)
    if not vector.size:
        return default
    if vector.shape != default.shape or not np.array_equal(vector.astype(default.dtype), vector):
        raise DataError(f"{name} must be {default.size} {default.dtype} values, got {value!r}")
    return vector.astype(default.dtype)
