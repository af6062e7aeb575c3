"""Outer loops that learn the weights, and the masters of the cutting-plane method."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
