"""Pictures and reports of learned metrics and their evaluation.

Every ``plot`` function draws on the axes given as ``ax`` or on new ones, and returns them;
``plot_gaps`` and ``plot_history`` take a ``figure`` instead and return several axes. Matplotlib is
loaded with the first picture.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
