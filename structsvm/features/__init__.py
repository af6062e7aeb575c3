"""Features of recordings, made before they are standardised and before the metric is learned."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.features.base import RecordingTransformer as RecordingTransformer
    from structsvm.features.boundaries import BoundaryScores as BoundaryScores
    from structsvm.features.components import Components as Components
    from structsvm.features.compose import Chain as Chain
    from structsvm.features.compose import Rows as Rows
    from structsvm.features.compose import Union as Union
    from structsvm.features.context import Columns as Columns
    from structsvm.features.context import Lags as Lags
    from structsvm.features.context import MovingStatistics as MovingStatistics
    from structsvm.features.foreign import OfWindows as OfWindows
    from structsvm.features.foreign import Series as Series
    from structsvm.features.moments import HermiteMoments as HermiteMoments
    from structsvm.features.moments import hermite_functions as hermite_functions
    from structsvm.features.moments import robust_scale as robust_scale
    from structsvm.features.raw import Windows as Windows
    from structsvm.features.raw import windows as windows
    from structsvm.features.regions import Deviations as Deviations
    from structsvm.features.regions import RegionScores as RegionScores
    from structsvm.features.scores import StateScores as StateScores
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "BoundaryScores": "structsvm.features.boundaries",
            "Chain": "structsvm.features.compose",
            "Columns": "structsvm.features.context",
            "Components": "structsvm.features.components",
            "Deviations": "structsvm.features.regions",
            "HermiteMoments": "structsvm.features.moments",
            "Lags": "structsvm.features.context",
            "MovingStatistics": "structsvm.features.context",
            "OfWindows": "structsvm.features.foreign",
            "RecordingTransformer": "structsvm.features.base",
            "RegionScores": "structsvm.features.regions",
            "Rows": "structsvm.features.compose",
            "Series": "structsvm.features.foreign",
            "StateScores": "structsvm.features.scores",
            "Union": "structsvm.features.compose",
            "Windows": "structsvm.features.raw",
            "hermite_functions": "structsvm.features.moments",
            "robust_scale": "structsvm.features.moments",
            "windows": "structsvm.features.raw",
        },
    )
