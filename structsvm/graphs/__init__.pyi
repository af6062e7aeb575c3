from structsvm.graphs.graph import FeatureGraph as FeatureGraph
from structsvm.graphs.images import GraphOfImage as GraphOfImage
from structsvm.graphs.labelled_nodes import NodeLabels as NodeLabels
from structsvm.graphs.labelled_nodes import node_labels as node_labels
from structsvm.graphs.readers import as_graph as as_graph
