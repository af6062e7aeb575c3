"""Choosing the metric on held-out recordings, and saying whether learning pays."""

from structsvm.evaluation.stability import WeightStability
from structsvm.evaluation.verdict import Verdict
from structsvm.model_selection.search import MetricLearnerCV

__all__ = ["MetricLearnerCV", "Verdict", "WeightStability"]
