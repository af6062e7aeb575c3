"""Read networkx graphs, adjacency matrices and images as :class:`FeatureGraph`."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.data import refuse_hidden
from structsvm.errors import DataError
from structsvm.graphs.graph import FeatureGraph, unique_edges
from structsvm.graphs.images import GraphOfImage, from_image
from structsvm.graphs.label_maps import is_picture, pixels_of
from structsvm.support import Floats

NODE_FEATURES = ("features", "feature", "x", "mean color")
"""Attributes of the nodes of a networkx graph that may hold their feature vector; the last one is
that of scikit-image's region adjacency graphs."""
SIZE_ATTRIBUTE = "pixel count"
NO_FEATURES = ("label", SIZE_ATTRIBUTE)
"""Attributes that are never features by themselves: labels, and the sizes of superpixels."""


def as_graph(x: Any, settings: GraphOfImage | None = None) -> FeatureGraph:
    """Convert a networkx graph, an adjacency matrix with features, or an image.

    Parameters
    ----------
    x : FeatureGraph, networkx.Graph, (adjacency, features), or image
        The features of the nodes of a networkx graph, undirected, are the vector under
        ``features``, ``feature``, ``x`` or ``mean color``, or else all attributes but ``label``,
        which are numbers, in the order of their names; weights of edges and self-loops are ignored.
        The region adjacency graphs of scikit-image are taken as they are, their pixel counts as
        sizes. An adjacency matrix, (T, T), sparse or dense and symmetric, only says where there is
        an edge; features are (T, P).
        Images are arrays of shape (H, W) or (H, W, C), images of Pillow, or the paths of files:
        grey, RGB (A is dropped) or C channels of any kind; uint8 or uint16 over the range of its
        type, or floats in [0, 1]. Colour is turned into L, a, b. Superpixels of one of more than a
        million pixels are computed after it is reduced by a whole factor.
    settings : GraphOfImage, optional
        How images become graphs.

    Returns
    -------
    FeatureGraph
        Of an image, ``regions`` (H, W) is the node of each pixel.

    Raises
    ------
    DataError
        Saying what was found and what would do.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm.graphs import as_graph
    >>> graph = as_graph((np.ones((3, 3)), np.array([[0.0], [1.0], [9.0]])))
    >>> graph.n_samples, graph.n_edges
    (3, 3)
    """
    if isinstance(x, FeatureGraph):
        pairs: Any = () if x.edges is None else map(tuple, x.edges.T.tolist())
        for what, things in (("edge", pairs), ("node", x.nodes or ())):
            for name, n in Counter(things).most_common(1):
                if n > 1:
                    raise DataError(f"the {what} {name!r} is given {n} times: give it once")
        return x
    if hasattr(x, "nodes") and hasattr(x, "edges"):
        return from_networkx(x)
    if isinstance(x, tuple) and len(x) == 2:
        return from_adjacency(*x)
    if isinstance(x, np.ndarray) and x.ndim in (2, 3):
        return from_image(x, settings)
    if is_picture(x):
        return from_image(pixels_of(x), settings)
    kind = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
    raise DataError(
        "expected a networkx graph, a pair (adjacency, features), a FeatureGraph, an image of "
        f"shape (H, W) or (H, W, C), one of Pillow or the path of one, got {kind}"
    )


def from_networkx(graph: Any) -> FeatureGraph:
    """Convert a networkx graph whose nodes have features."""
    nodes = tuple(graph.nodes)
    if graph.is_directed() or not nodes:
        raise DataError(
            f"the graph is directed or has no nodes: {graph}; similarity is symmetric, "
            "to_undirected() makes it so"
        )
    for a, b, weight in graph.edges(data="weight"):
        if a != b and isinstance(weight, Real) and weight < 0:
            raise DataError(
                f"the edge between {a!r} and {b!r} has the weight {weight}: an edge says that two "
                "nodes may be similar; remove those that say they are not, or the weights"
            )
    X, names = _features(graph)
    place = {node: i for i, node in enumerate(nodes)}
    pairs = [(place[a], place[b]) for a, b in graph.edges() if a != b]
    return FeatureGraph(
        X,
        unique_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2).T),
        sizes=np.array(
            [graph.nodes[node].get(SIZE_ATTRIBUTE, 1) for node in nodes], dtype=np.float64
        ),
        features=names,
        nodes=nodes,
    )


def from_adjacency(adjacency: Any, features: Any) -> FeatureGraph:
    """Convert a symmetric adjacency matrix (T, T), sparse or dense, and features (T, P)."""
    nodes = FeatureGraph(features)
    T = nodes.n_samples
    refuse_hidden(adjacency, "the adjacency matrix")
    try:
        A = sp.coo_array(adjacency, copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"the adjacency matrix holds no numbers: {error}") from None
    shapes = f"adjacency of shape {A.shape} and features of shape {nodes.X.shape}"
    if A.shape != (T, T):
        raise DataError(f"{shapes}: expected (T, T), (T, P)")
    A.sum_duplicates()
    is_edge = (A.data != 0) & (A.coords[0] != A.coords[1])
    (i, j) = (ends[is_edge] for ends in A.coords)
    values = A.data[is_edge]
    wrong = np.flatnonzero(~((values > 0) & (values < np.inf)))
    if wrong.size:
        raise DataError(
            f"the adjacency matrix has {values[wrong[0]]} in row {i[wrong[0]]}, column "
            f"{j[wrong[0]]} ({wrong.size} below 0, NaN or inf in all): give 0 where two nodes are "
            "not similar, or abs(A) if every entry is an edge"
        )
    edges = unique_edges(np.vstack([i, j]).astype(np.int64))
    is_symmetric = i.size == 2 * edges.shape[1]
    if not is_symmetric:
        raise DataError("the adjacency matrix is not symmetric: give A + A.T")
    return replace(nodes, edges=edges)


def is_one(Xs: Any) -> bool:
    """Whether it is a single graph or image rather than a list of them."""
    if isinstance(Xs, np.ndarray):
        return Xs.dtype != object and Xs.ndim in (2, 3)
    if isinstance(Xs, tuple) and len(Xs) == 2:
        shapes = [np.shape(part) for part in Xs]
        return len(shapes[0]) == len(shapes[1]) == 2 and shapes[0] == (shapes[1][0],) * 2
    if isinstance(Xs, FeatureGraph) or is_picture(Xs):
        return True
    return hasattr(Xs, "nodes") and hasattr(Xs, "edges")


def graphs_as_list(Xs: Any) -> list[Any]:
    """A list of graphs or images; a single one becomes a list of one."""
    try:
        return [Xs] if is_one(Xs) else list(Xs)
    except TypeError:
        raise DataError(f"expected a list of graphs or images, got {type(Xs).__name__}") from None


def _features(graph: Any) -> tuple[Floats, tuple[str, ...]]:
    """The feature vectors of the nodes, (T, P), and the names of their attributes if several."""
    (first, has), *_ = graph.nodes(data=True)
    key = next((name for name in NODE_FEATURES if name in has), None)
    names = sorted((name for name in has if name not in NO_FEATURES), key=str)
    if key is None and not (names and all(isinstance(has[n], Real | np.bool_) for n in names)):
        raise DataError(
            f"node {first!r} carries {', '.join(map(repr, has)) or 'nothing'}; a feature vector is "
            f"looked for under {', '.join(map(repr, NODE_FEATURES))}, or else every attribute but "
            "'label' is a number: put the numbers of each node under 'features'"
        )
    rows: list[Floats] = []
    for node, attributes in graph.nodes(data=True):
        entry = f"{key or names!r} of node {node!r}"
        row = np.empty(0)
        try:
            value = [attributes[name] for name in names] if key is None else attributes[key]
        except KeyError as error:
            raise DataError(f"node {node!r} has no attribute {error}") from None
        refuse_hidden(value, entry)
        with suppress(TypeError, ValueError):
            row = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if row.ndim != 1 or not row.size or (rows and row.size != rows[0].size):
            right = f"({rows[0].size},) as that of {first!r}" if rows else "(P,)"
            raise DataError(f"{entry} is no vector of numbers, {right}: {value!r}")
        rows.append(row)
    return np.vstack(rows), () if key else tuple(names)
