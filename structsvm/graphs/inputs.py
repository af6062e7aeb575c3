"""Lists of graphs as users give them, which of them teach, and where learning starts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from structsvm.errors import DataError, DataWarning, warn
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels
from structsvm.graphs.similarity import Similarity
from structsvm.support.arrays import Floats

APPEARANCE, SPATIAL = 0.5, 1 / 16
"""Where learning starts on images, in their fixed units. Measured: better than the best of a grid,
which often ends at its edge."""

BESIDE_MADE = 0.1
"""What is left of these where features that were made, such as scores of regions, are beside them.
Measured: a tenth did better than all, which drowns two scores in ten other features."""

MEAN_EXPONENT = 3.0
"""Where learning starts on other graphs: the mean over their edges of the exponent of W."""

NOTHING_TO_CUT = (
    "all nodes of each graph have the same label: there is nothing to cut (small objects "
    "need more superpixels: raise n_superpixels of GraphOfImage)"
)


def is_one(Xs: Any) -> bool:
    if isinstance(Xs, np.ndarray):
        return Xs.dtype != object and Xs.ndim in (2, 3)
    if isinstance(Xs, tuple) and len(Xs) == 2:
        shapes = [np.shape(part) for part in Xs]
        return len(shapes[0]) == len(shapes[1]) == 2 and shapes[0] == (shapes[1][0],) * 2
    if isinstance(Xs, FeatureGraph | str | PathLike) or hasattr(Xs, "getbands"):  # of Pillow
        return True
    return hasattr(Xs, "nodes") and hasattr(Xs, "edges")


def as_list(Xs: Any) -> list[Any]:
    """One graph or image is a list of one."""
    if is_one(Xs):
        return [Xs]
    try:
        return list(Xs)
    except TypeError:
        raise DataError(f"expected a list of graphs or images, got {type(Xs).__name__}") from None


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
    if len(kept) < len(truths):
        left = [i for i in range(len(truths)) if i not in kept]
        warn(
            f"all nodes of graph {left[0]} have the same label ({len(left)} such graphs): nothing "
            "is learned from it",
            DataWarning,
        )
    return kept


def start_scale(graphs: Sequence[FeatureGraph], weights: Floats) -> Floats:
    """Square root of the diagonal metric at which learning starts, (P,); ``weights`` (N,)."""
    spatial = graphs[0].spatial
    start = np.where(spatial, SPATIAL, APPEARANCE)
    if not all(graph.in_units for graph in graphs):
        # Each graph is summed by itself: one of weight 2 then is the same, to the last bit, as one
        # that is there twice.
        within = np.array([((graph.X - graph.X.mean(axis=0)) ** 2).sum(axis=0) for graph in graphs])
        nodes = weights * [len(graph.X) for graph in graphs]
        deviation = np.sqrt((weights[:, None] * within).sum(axis=0) / nodes.sum())
        if not deviation.any():
            raise DataError("every feature is constant in every graph: nothing distinguishes nodes")
        start = np.divide(1.0, deviation**2, out=np.zeros(start.size), where=deviation > 0)
    if graphs[0].made.any():
        start = np.where(graphs[0].made, start, BESIDE_MADE * start)
    if all(graph.in_units and graph.edges is None for graph in graphs):
        return np.sqrt(start)
    root = np.sqrt(start)
    squares = [Similarity.of(graph).mean_square(root) for graph in graphs]
    spread = float(np.average(squares, weights=weights))
    return np.asarray(root * np.sqrt(MEAN_EXPONENT / spread)) if spread > 0 else root
