"""Rivals that model files hold, by name of their class."""

from structsvm.rivals.boundary_classifier import BoundaryClassifier
from structsvm.rivals.equal_segments import EqualSegments
from structsvm.rivals.frame_classifier import FrameClassifier
from structsvm.rivals.region_classifier import RegionClassifier
from structsvm.rivals.row_classifier import RowClassifier

STORED_RIVALS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        BoundaryClassifier,
        EqualSegments,
        FrameClassifier,
        RegionClassifier,
        RowClassifier,
    )
}
"""What they have learned has to be what :mod:`structsvm.features.stored` can hold."""
