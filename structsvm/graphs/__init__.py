"""Graphs whose nodes have features, made from images, networkx graphs or adjacency matrices."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
