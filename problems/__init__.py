"""Partitioning problems: change points, clustering and normalized cuts."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
