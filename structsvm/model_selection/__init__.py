"""Choosing the metric on held-out recordings, and saying whether learning pays."""

from structsvm.evaluation.verdict import Verdict
from structsvm.model_selection.search import MetricLearnerCV
from structsvm.model_selection.stability import WeightStability

__all__ = ["MetricLearnerCV", "Verdict", "WeightStability"]
