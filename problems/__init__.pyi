from structsvm.learner.state_segmenter import StateSegmenter as StateSegmenter
from structsvm.problems.change_point import ChangePoint as ChangePoint
from structsvm.problems.change_point import SegmentProblem as SegmentProblem
from structsvm.problems.clustering import Clustering as Clustering
from structsvm.problems.normalized_cut import NormalizedCut as NormalizedCut
from structsvm.problems.state_sequence import StateSequence as StateSequence
