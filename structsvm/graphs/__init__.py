"""Graphs whose nodes carry features: made once from images, networkx graphs or adjacency."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
