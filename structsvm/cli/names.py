"""The words of ``--context``, and the features that they stand for."""

CONTEXT = {
    "columns": "Columns",
    "lags": "Lags",
    "statistics": "MovingStatistics",
    "moments": "HermiteMoments",
    "scores": "StateScores",
    "boundaries": "BoundaryScores",
}
CONTEXT_OF_IMAGES = {"columns": "Columns", "regions": "RegionScores"}
"""Classes of :mod:`structsvm.features`, by name so that help appears at once."""
