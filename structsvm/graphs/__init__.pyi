from structsvm.graphs.graph import FeatureGraph as FeatureGraph
from structsvm.graphs.graph import NodeLabels as NodeLabels
from structsvm.graphs.graph import node_labels as node_labels
from structsvm.graphs.images import GraphOfImage as GraphOfImage
from structsvm.graphs.images import as_graph as as_graph
from structsvm.graphs.images import from_adjacency as from_adjacency
from structsvm.graphs.images import from_image as from_image
from structsvm.graphs.images import from_networkx as from_networkx
