"""Learn Mahalanobis metrics for partitioning problems from labelled examples.

Public names are loaded on first use, so that ``import structsvm`` and ``structsvm --version`` do
not wait for scikit-learn and numba.
"""

from structsvm.support.lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    __file__,
    rooms=(
        *("datasets", "errors", "features", "graphs", "interop", "io", "learner", "oracles"),
        *("modeling", "partitions", "plotting", "problem", "problems", "baselines"),
        *("parallel", "regularizers", "solvers", "status", "testing", "weights"),
    ),
)
