"""Estimators: the face of all methods, training sets, and what fitted learners do."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
