"""Learning to cut graphs and images."""

from structsvm.graph_cuts.learner import CutLearner
from structsvm.graph_cuts.metric import CutMetric

__all__ = ["CutLearner", "CutMetric"]
