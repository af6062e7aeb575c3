"""Recordings, tables and images: public sets, digits of scikit-learn, synthetic ones."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
