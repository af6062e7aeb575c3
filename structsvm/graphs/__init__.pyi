from structsvm.graphs.graph import FeatureGraph as FeatureGraph
from structsvm.graphs.graph import NodeLabels as NodeLabels
from structsvm.graphs.graph import node_labels as node_labels
from structsvm.graphs.images import GraphOfImage as GraphOfImage
from structsvm.graphs.images import as_graph as as_graph
