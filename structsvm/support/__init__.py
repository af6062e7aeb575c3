"""Helpers of all packages: contracts, checks of values, progress, files, optional libraries."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
