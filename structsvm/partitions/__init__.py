"""What every partition problem shares: the contracts of problems and oracles, and their values."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
