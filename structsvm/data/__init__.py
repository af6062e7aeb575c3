"""Instances as arrays: what users hold, checked once, in memory or read on demand."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
