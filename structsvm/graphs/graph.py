"""A graph whose nodes carry features, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from structsvm.data.values import refuse_hidden, refuse_no_array
from structsvm.errors import DataError, DataWarning, warn
from structsvm.support.arrays import Floats, Ints
from structsvm.support.plain import shown

ALIKE = 1e-5
"""Difference of two features in fixed units, in which 1 is a usual one, that is none: rounding."""


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
    spatial : array of bool of shape (P,), optional
        Which features say where a node is rather than what it looks like; none by default.
    regions : array of int of shape (H, W), optional
        Node of each pixel, when this is the graph of an image.
    nodes : tuple, optional
        What the nodes were called where they come from.
    in_units : bool
        Whether the features have fixed units, so that no scale has to be learned for them.
    made : array of bool of shape (P,), optional
        Which features a stage of features has made of those measured; none by default.

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

    def __post_init__(self) -> None:
        """Fill in what was not given; refuse what is not a graph."""
        refuse_no_array(self.X, "the feature matrix")
        refuse_hidden(self.X, "the feature matrix")
        X: Floats = np.empty(0)
        with suppress(TypeError, ValueError, OverflowError):
            X = np.array(self.X, dtype=np.float64)
        if X.ndim != 2 or X.size == 0:
            raise DataError(
                f"features must be numbers of shape (T, P) with T, P >= 1, got {shown(self.X)}"
            )
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            raise DataError(f"feature {column} of node {row} is {X[row, column]}: give a number")
        T, P = X.shape
        filled = {
            "X": X,
            "sizes": _vector(self.sizes, "sizes", np.ones(T)),
            "features": self.features or tuple(f"x{j}" for j in range(P)),
            "spatial": _vector(self.spatial, "spatial", np.zeros(P, dtype=np.bool_)),
            "made": _vector(self.made, "made", np.zeros(P, dtype=np.bool_)),
        }
        if self.edges is not None:
            edges = np.asarray(self.edges)
            right = edges.dtype.kind in "iu" and edges.ndim == len(edges) == 2
            if edges.size and not (
                right and edges.min() >= 0 and edges.max() < T and (edges[0] < edges[1]).all()
            ):
                raise DataError(
                    f"edges must be integers (2, E), pairs i < j of nodes below {T}, got "
                    f"{shown(self.edges)}"
                )
            filled["edges"] = edges.astype(np.int64).reshape(2, -1)
        for name, value in filled.items():
            object.__setattr__(self, name, value)
        if not ((self.sizes >= 0).all() and np.isfinite(self.sizes).all()):
            raise DataError("sizes must be finite numbers >= 0")
        regions = self.regions
        if regions is not None and not (regions.min() >= 0 and regions.max() < T):
            raise DataError(f"regions must be numbers of nodes from 0 to {T - 1}")
        for name, n in {"features": P, "nodes": T}.items():
            called = getattr(self, name)
            if called is not None and len(called) != n:
                raise DataError(f"{len(called)} names in {name} for {n}: give one to each")

    @property
    def n_samples(self) -> int:
        """The number of nodes, T."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return int(self.X.shape[1])

    @property
    def n_edges(self) -> int:
        """The number of edges, E."""
        T = self.n_samples
        return T * (T - 1) // 2 if self.edges is None else int(self.edges.shape[1])

    @property
    def n_components(self) -> int:
        """The number of connected components, of which an isolated node is one."""
        if self.edges is None:
            return 1
        T, (i, j) = self.n_samples, self.edges
        pattern = sp.coo_array((np.ones(i.size), (i, j)), shape=(T, T))
        return int(connected_components(pattern, directed=False)[0])

    @property
    def n_isolated(self) -> int:
        """Number of nodes without an edge."""
        if self.edges is None:
            return int(self.n_samples == 1)
        return self.n_samples - int(np.unique(self.edges).size)

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
        return replace(
            self, X=self.X[nodes], edges=edges, sizes=self.sizes[nodes], regions=None, nodes=None
        )

    def label_map(self, labels: Ints) -> Ints:
        """Labels of the nodes (T,) as labels of the pixels (H, W); of the nodes without pixels."""
        return labels if self.regions is None else np.asarray(labels[self.regions])

    def warn_of_free_cuts(self, name: str) -> None:
        """DataWarning when a cut of this graph has nothing to do with the metric."""
        components = self.n_components
        if components > 1:
            isolated = f", {self.n_isolated} of them isolated nodes" if self.n_isolated else ""
            warn(
                f"{name} has {components} connected components{isolated}: cutting between them "
                "costs nothing in any metric, so they are separated first; add edges, or ask for "
                f"more than {components} clusters",
                DataWarning,
            )
        if self.n_samples > 1:
            varies = np.ptp(self.X, axis=0) > (ALIKE if self.in_units else 0.0)
            if not varies.any():
                warn(
                    f"{name}: all nodes have the same features, so no metric tells them apart and "
                    "the cut is that of the bare graph",
                    DataWarning,
                )
            elif not varies[~self.spatial].any() and not self.spatial.all():
                warn(
                    f"{name}: all nodes look the same, so the cut is one by position alone",
                    DataWarning,
                )


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
