"""What a solver is given and returns: problem, risk, cones, regularizers, solutions."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
