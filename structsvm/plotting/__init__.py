"""Pictures and reports of learned metrics and their evaluation.

Every ``plot`` function draws on the axes given as ``ax``, or on new ones, and returns them;
matplotlib is imported when the first picture is drawn.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
