"""Graphs whose edges weigh what was learned, for networkx and scikit-image."""

from __future__ import annotations

from typing import Any, Protocol

import networkx
import numpy as np
from numpy.typing import NDArray

from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.similarity import Similarity

__all__ = ["weighted_graph"]


class GraphCutter(Protocol):
    """A fitted learner of cuts, such as :class:`structsvm.CutLearner`."""

    components_: NDArray[np.float64]

    def graphs(self, Xs: Any) -> list[FeatureGraph]:
        """The graphs of images or of whatever stands for them."""


def weighted_graph(learner: GraphCutter, graph: Any) -> networkx.Graph:
    """A graph whose edges carry the learned similarity of their ends as ``weight``.

    It goes wherever a weighted graph goes: networkx, ``skimage.graph.cut_normalized``, or, by
    ``networkx.to_numpy_array``, spectral clustering with ``affinity="precomputed"``.

    Parameters
    ----------
    learner : CutLearner
        Fitted.
    graph : networkx.Graph, image, (adjacency, features) or FeatureGraph
        As for ``learner.predict``. Of a networkx graph, region adjacency graphs of scikit-image
        included, a copy is made, everything but the weights being kept.

    Returns
    -------
    networkx.Graph
        In (0, 1]; of what is no networkx graph, with nodes 0 to T - 1, each in a list ``labels`` as
        in scikit-image.
    """
    (found,) = learner.graphs([graph])
    similarity = Similarity.of(found)(learner.components_.T).matrix
    made = graph.copy() if isinstance(graph, networkx.Graph) else _bare(found)
    pairs = [(a, b) for a, b in made.edges() if a != b]
    place = {node: i for i, node in enumerate(found.nodes or range(found.n_samples))}
    i, j = ([place[pair[end]] for pair in pairs] for end in (0, 1))
    weights = np.asarray(similarity[i, j]).ravel().tolist() if pairs else []
    networkx.set_edge_attributes(made, dict(zip(pairs, weights, strict=True)), "weight")
    return made


def _bare(graph: FeatureGraph) -> networkx.Graph:
    """The nodes and edges of a graph."""
    made = networkx.Graph()
    made.add_nodes_from((node, {"labels": [node]}) for node in range(graph.n_samples))
    edges = np.triu_indices(graph.n_samples, 1) if graph.edges is None else graph.edges
    made.add_edges_from(np.transpose(edges).tolist())
    return made
