"""What a learner has learned and what that is worth: in words, in numbers, and as a page."""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
