"""Graphs whose nodes carry features: made once from images, networkx graphs or adjacency."""

from structsvm.graphs.convert import as_graph, from_adjacency, from_networkx
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.images import GraphOfImage, from_image
from structsvm.graphs.labels import NodeLabels, node_labels

__all__ = [
    "FeatureGraph",
    "GraphOfImage",
    "NodeLabels",
    "as_graph",
    "from_adjacency",
    "from_image",
    "from_networkx",
    "node_labels",
]
