"""Graphs whose edges weigh what was learned, for networkx and scikit-image."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy as np

from structsvm.errors import SettingsError
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.similarity import Similarity
from structsvm.learner.learner import MetricLearner
from structsvm.learner.steps import prepare


def weighted_graph(learner: MetricLearner, graph: Any) -> networkx.Graph:
    """Return a graph whose edges have the learned similarity of their ends as ``weight``.

    It goes wherever a weighted graph goes, such as ``skimage.graph.cut_normalized``. Weights are in
    (0, 1]; of what is no networkx graph, nodes are 0 to T - 1, each in a list ``labels``.

    Parameters
    ----------
    learner : MetricLearner
        Of graphs, such as one with ``problem=NormalizedCut()``; fitted.
    graph : networkx.Graph, image, (adjacency, features) or FeatureGraph
        As for ``learner.predict``. Of a networkx graph a copy is made, everything but the weights
        being kept; of a multigraph, one edge between two nodes.

    Raises
    ------
    SettingsError
        When the learner is not one of graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import MetricLearner
    >>> from structsvm.interop import weighted_graph
    >>> from structsvm.problems import NormalizedCut
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 6)
    >>> X = np.c_[y + rng.normal(scale=0.1, size=12), rng.normal(size=12)]
    >>> graphs = [(np.ones((12, 12)), X)]
    >>> learner = MetricLearner(NormalizedCut(), metric="diagonal").fit(graphs * 2, [y, y])
    >>> weighted = weighted_graph(learner, graphs[0])
    >>> bool(weighted[0][1]["weight"] > weighted[0][11]["weight"])
    True
    """
    (sample,) = prepare(learner, [graph])
    if not isinstance(sample.side, FeatureGraph):
        raise SettingsError(
            f"{type(learner.problem_).__name__} has no graphs whose edges could be weighted: learn "
            "with problem=NormalizedCut()"
        )
    found = replace(sample.side, X=sample.X)
    similarity = Similarity.of(found)(learner.metric_.factor).matrix
    if not isinstance(graph, networkx.Graph):
        weighted = networkx.Graph()
        weighted.add_nodes_from((node, {"labels": [node]}) for node in range(found.n_samples))
        edges = np.triu_indices(found.n_samples, 1) if found.edges is None else found.edges
        weighted.add_edges_from(np.transpose(edges).tolist())
    else:  # parallel edges would count twice
        weighted = networkx.Graph(graph) if graph.is_multigraph() else graph.copy()
    pairs = list(weighted.edges())
    place = {node: i for i, node in enumerate(found.nodes or range(found.n_samples))}
    i, j = ([place[pair[end]] for pair in pairs] for end in (0, 1))
    weights = np.asarray(similarity[i, j]).ravel().tolist() if pairs else []
    networkx.set_edge_attributes(weighted, dict(zip(pairs, weights, strict=True)), "weight")
    return weighted
