from structsvm.baselines.blind import EqualSegments as EqualSegments
from structsvm.baselines.consensus import Consensus as Consensus
from structsvm.baselines.frame_classifier import BoundaryClassifier as BoundaryClassifier
from structsvm.baselines.frame_classifier import FrameClassifier as FrameClassifier
from structsvm.baselines.region_classifier import RegionClassifier as RegionClassifier
from structsvm.baselines.row_classifier import RowClassifier as RowClassifier
