"""Methods to compare with: simpler metrics, and classifiers of samples, boundaries or rows."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
