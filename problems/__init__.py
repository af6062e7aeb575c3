"""Problem declarations: feature map, loss and the oracle that separates."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.problems.change_point import ChangePoint as ChangePoint
    from structsvm.problems.clustering import Clustering as Clustering
    from structsvm.problems.normalized_cut import NormalizedCut as NormalizedCut
    from structsvm.problems.segments import SegmentProblem as SegmentProblem
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "ChangePoint": "structsvm.problems.change_point",
            "Clustering": "structsvm.problems.clustering",
            "NormalizedCut": "structsvm.problems.normalized_cut",
            "SegmentProblem": "structsvm.problems.segments",
        },
    )
