"""The contracts of partition problems and oracles, for plugins, and the values they exchange."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
