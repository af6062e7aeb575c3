"""Features of recordings, made before they are standardised and before the metric is learned."""

from structsvm.features.base import RecordingTransformer
from structsvm.features.compose import Chain, Rows, Union
from structsvm.features.context import Columns, Lags, MovingStatistics
from structsvm.features.moments import HermiteMoments, hermite_functions, robust_scale
from structsvm.features.scores import StateScores

__all__ = [
    "Chain",
    "Columns",
    "HermiteMoments",
    "Lags",
    "MovingStatistics",
    "RecordingTransformer",
    "Rows",
    "StateScores",
    "Union",
    "hermite_functions",
    "robust_scale",
]
