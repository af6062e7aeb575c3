"""Learning to cut graphs and images."""

from structsvm.graph_cuts.evaluation import CutEvaluation, CutScores, evaluate_cuts
from structsvm.graph_cuts.learner import CutLearner
from structsvm.graph_cuts.metric import CutMetric

__all__ = ["CutEvaluation", "CutLearner", "CutMetric", "CutScores", "evaluate_cuts"]
