"""Features of recordings, computed before standardisation and before the metric is learned."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
