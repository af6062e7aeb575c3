"""Problem declarations: feature map, loss and the oracle that separates."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
