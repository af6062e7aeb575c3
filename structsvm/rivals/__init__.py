"""What practitioners try first: classifiers of samples and of boundaries, tuned on their labels."""

from structsvm.rivals.boundary_classifier import BoundaryClassifier
from structsvm.rivals.frame_classifier import FrameClassifier
from structsvm.rivals.viterbi import best_path, best_path_of

__all__ = ["BoundaryClassifier", "FrameClassifier", "best_path", "best_path_of"]
