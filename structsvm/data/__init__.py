"""Instances as checked arrays, in memory or read when they are needed; their labels and times."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
