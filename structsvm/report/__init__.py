"""What a learner has learned and what that is worth: in words, in numbers, and as a page."""

from structsvm.report.page import report_page
from structsvm.views.words import (
    certificate_in_words,
    eigenvalues,
    feature_weights,
    heaviest_directions,
    scaled_metric,
    spectrum_in_words,
    training_in_words,
    unit_in_words,
)

__all__ = [
    "certificate_in_words",
    "eigenvalues",
    "feature_weights",
    "heaviest_directions",
    "report_page",
    "scaled_metric",
    "spectrum_in_words",
    "training_in_words",
    "unit_in_words",
]
