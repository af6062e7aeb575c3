"""Graphs whose nodes carry features: made once from images, networkx graphs or adjacency."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.graphs.convert import as_graph as as_graph
    from structsvm.graphs.convert import from_adjacency as from_adjacency
    from structsvm.graphs.convert import from_networkx as from_networkx
    from structsvm.graphs.graph import FeatureGraph as FeatureGraph
    from structsvm.graphs.images import GraphOfImage as GraphOfImage
    from structsvm.graphs.images import from_image as from_image
    from structsvm.graphs.labels import NodeLabels as NodeLabels
    from structsvm.graphs.labels import node_labels as node_labels
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "FeatureGraph": "structsvm.graphs.graph",
            "GraphOfImage": "structsvm.graphs.images",
            "NodeLabels": "structsvm.graphs.labels",
            "as_graph": "structsvm.graphs.convert",
            "from_adjacency": "structsvm.graphs.convert",
            "from_image": "structsvm.graphs.images",
            "from_networkx": "structsvm.graphs.convert",
            "node_labels": "structsvm.graphs.labels",
        },
    )
