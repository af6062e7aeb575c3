"""What every floor stands on: contracts, checks, progress, optional libraries; here is its face."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
