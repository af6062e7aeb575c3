"""Features of recordings, made before they are standardised and before the metric is learned."""

from structsvm.features.base import RecordingTransformer
from structsvm.features.moments import HermiteMoments, hermite_functions, robust_scale

__all__ = ["HermiteMoments", "RecordingTransformer", "hermite_functions", "robust_scale"]
