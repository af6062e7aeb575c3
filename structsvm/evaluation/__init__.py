"""How good partitions are, how they compare, and whether learning pays."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
