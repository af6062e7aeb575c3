"""Choosing the metric on held-out recordings, and saying whether learning pays."""

from structsvm.evaluation import Verdict, WeightStability
from structsvm.model_selection.search import MetricLearnerCV

__all__ = ["MetricLearnerCV", "Verdict", "WeightStability"]
