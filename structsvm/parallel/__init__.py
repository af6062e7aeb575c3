"""Where work runs: one thread inside a call, workers over the parts of a data set.

A :class:`Backend` places the parts on its workers once; then a task and an argument go out as often
as one likes and the answers come back. What they are does not depend on the backend.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
