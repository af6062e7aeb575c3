"""The contracts of partition problems and oracles, for plugins, and the values they exchange."""

from structsvm.support.lazy import lazy

RENAMED = {
    "Sample": "Instance",
    "LabelledSample": "LabelledInstance",
    "SearchedSample": "SearchedInstance",
}
"""What plugins import under an older name."""

__getattr__, __dir__, __all__ = lazy(__name__, __file__, renamed=RENAMED)
