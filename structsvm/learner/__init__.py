"""Estimators: metrics, segmenters of states, structured SVMs, and what all of them share."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
