"""Conversions to and from other libraries: segments, distances, data frames, graphs and poses."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
