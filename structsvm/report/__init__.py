"""What a learner has learned and what that is worth: in words, in numbers, and as a page."""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.report.page import report_page as report_page
    from structsvm.views.words import certificate_in_words as certificate_in_words
    from structsvm.views.words import eigenvalues as eigenvalues
    from structsvm.views.words import feature_weights as feature_weights
    from structsvm.views.words import heaviest_directions as heaviest_directions
    from structsvm.views.words import question_in_words as question_in_words
    from structsvm.views.words import scaled_metric as scaled_metric
    from structsvm.views.words import spectrum_in_words as spectrum_in_words
    from structsvm.views.words import training_in_words as training_in_words
    from structsvm.views.words import unit_in_words as unit_in_words
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "certificate_in_words": "structsvm.views.words",
            "eigenvalues": "structsvm.views.words",
            "feature_weights": "structsvm.views.words",
            "heaviest_directions": "structsvm.views.words",
            "question_in_words": "structsvm.views.words",
            "report_page": "structsvm.report.page",
            "scaled_metric": "structsvm.views.words",
            "spectrum_in_words": "structsvm.views.words",
            "training_in_words": "structsvm.views.words",
            "unit_in_words": "structsvm.views.words",
        },
    )
