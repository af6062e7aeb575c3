"""The estimator: settings, training set, fit, and what a fitted learner does."""

from structsvm.learner.learner import MetricLearner
from structsvm.learner.training_set import TrainingSet

__all__ = ["MetricLearner", "TrainingSet"]
