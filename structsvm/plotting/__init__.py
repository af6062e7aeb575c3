"""Pictures and reports of learned metrics and their evaluation.

Every ``plot`` function draws on the axes given as ``ax`` (``plot_gaps`` and ``plot_history``, which
have several, on a ``figure``) or on new ones, and returns them. Matplotlib is loaded with the first
picture.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
