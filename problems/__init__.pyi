from structsvm.problems.change_point import ChangePoint as ChangePoint
from structsvm.problems.clustering import Clustering as Clustering
from structsvm.problems.normalized_cut import NormalizedCut as NormalizedCut
from structsvm.problems.segments import SegmentProblem as SegmentProblem
