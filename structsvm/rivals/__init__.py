"""What practitioners try first: simpler metrics, and classifiers of samples, boundaries or rows."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.rivals.boundary_classifier import BoundaryClassifier as BoundaryClassifier
    from structsvm.rivals.equal_segments import EqualSegments as EqualSegments
    from structsvm.rivals.frame_classifier import FrameClassifier as FrameClassifier
    from structsvm.rivals.recordings import candidates_of_recordings as candidates_of_recordings
    from structsvm.rivals.recordings import rivals_of_recordings as rivals_of_recordings
    from structsvm.rivals.region_classifier import RegionClassifier as RegionClassifier
    from structsvm.rivals.region_classifier import candidates_of_graphs as candidates_of_graphs
    from structsvm.rivals.region_classifier import rivals_of_graphs as rivals_of_graphs
    from structsvm.rivals.row_classifier import RowClassifier as RowClassifier
    from structsvm.rivals.row_classifier import rivals_of_tables as rivals_of_tables
    from structsvm.rivals.viterbi import best_path as best_path
    from structsvm.rivals.viterbi import best_path_of as best_path_of
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "BoundaryClassifier": "structsvm.rivals.boundary_classifier",
            "EqualSegments": "structsvm.rivals.equal_segments",
            "FrameClassifier": "structsvm.rivals.frame_classifier",
            "RegionClassifier": "structsvm.rivals.region_classifier",
            "best_path": "structsvm.rivals.viterbi",
            "best_path_of": "structsvm.rivals.viterbi",
            "rivals_of_graphs": "structsvm.rivals.region_classifier",
            "RowClassifier": "structsvm.rivals.row_classifier",
            "candidates_of_graphs": "structsvm.rivals.region_classifier",
            "candidates_of_recordings": "structsvm.rivals.recordings",
            "rivals_of_recordings": "structsvm.rivals.recordings",
            "rivals_of_tables": "structsvm.rivals.row_classifier",
        },
    )
