"""What a learner has learned and what that is worth: in words, in numbers, and as a page."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.plotting.words import certificate_in_words as certificate_in_words
    from structsvm.plotting.words import eigenvalues as eigenvalues
    from structsvm.plotting.words import feature_weights as feature_weights
    from structsvm.plotting.words import heaviest_directions as heaviest_directions
    from structsvm.plotting.words import question_in_words as question_in_words
    from structsvm.plotting.words import scaled_metric as scaled_metric
    from structsvm.plotting.words import spectrum_in_words as spectrum_in_words
    from structsvm.plotting.words import training_in_words as training_in_words
    from structsvm.plotting.words import unit_in_words as unit_in_words
    from structsvm.report.page import report_page as report_page
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "certificate_in_words": "structsvm.plotting.words",
            "eigenvalues": "structsvm.plotting.words",
            "feature_weights": "structsvm.plotting.words",
            "heaviest_directions": "structsvm.plotting.words",
            "question_in_words": "structsvm.plotting.words",
            "report_page": "structsvm.report.page",
            "scaled_metric": "structsvm.plotting.words",
            "spectrum_in_words": "structsvm.plotting.words",
            "training_in_words": "structsvm.plotting.words",
            "unit_in_words": "structsvm.plotting.words",
        },
    )
