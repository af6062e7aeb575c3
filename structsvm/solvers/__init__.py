"""Solvers of structured SVMs, and masters of the cutting-plane method."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
