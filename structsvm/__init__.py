"""Learn Mahalanobis metrics for partitioning problems from labelled examples.

Public names are loaded on first use, so that ``import structsvm`` and ``structsvm --version`` do
not wait for scikit-learn and numba.
"""

from typing import TYPE_CHECKING

from structsvm.support.lazy import lazy

if TYPE_CHECKING:
    from structsvm.compare import compare_solvers as compare_solvers
    from structsvm.diagnosis import diagnose as diagnose
    from structsvm.errors import DataError as DataError
    from structsvm.errors import LearningError as LearningError
    from structsvm.errors import SettingsError as SettingsError
    from structsvm.errors import StructSVMError as StructSVMError
    from structsvm.evaluation.evaluate import evaluate as evaluate
    from structsvm.evaluation.evaluate import evaluate_states as evaluate_states
    from structsvm.learner.files import load as load
    from structsvm.learner.files import save as save
    from structsvm.learner.learner import MetricLearner as MetricLearner
    from structsvm.learner.partial import Alternation as Alternation
    from structsvm.learner.structured import StructuredSVM as StructuredSVM
    from structsvm.model_selection import MetricLearnerCV as MetricLearnerCV
    from structsvm.model_selection.margin_rates import margin_rates as margin_rates
    from structsvm.model_selection.rows import evaluate_rows as evaluate_rows
    from structsvm.model_selection.stability import weight_stability as weight_stability
    from structsvm.partial_labels.labels import PartialLabels as PartialLabels
    from structsvm.partial_labels.suggest import suggest_labels as suggest_labels
    from structsvm.partitions.equivalence import EquivalenceMatrix as EquivalenceMatrix
    from structsvm.partitions.oracle import Region as Region
    from structsvm.problems.change_point import ChangePoint as ChangePoint
    from structsvm.problems.clustering import Clustering as Clustering
    from structsvm.problems.normalized_cut import NormalizedCut as NormalizedCut
    from structsvm.solution import Solution as Solution
    from structsvm.status import Status as Status
    from structsvm.support.version import __version__ as __version__
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "Alternation": "structsvm.learner.partial",
            "ChangePoint": "structsvm.problems.change_point",
            "Clustering": "structsvm.problems.clustering",
            "DataError": "structsvm.errors",
            "EquivalenceMatrix": "structsvm.partitions.equivalence",
            "LearningError": "structsvm.errors",
            "MetricLearner": "structsvm.learner.learner",
            "MetricLearnerCV": "structsvm.model_selection",
            "NormalizedCut": "structsvm.problems.normalized_cut",
            "PartialLabels": "structsvm.partial_labels.labels",
            "Region": "structsvm.partitions.oracle",
            "SettingsError": "structsvm.errors",
            "Solution": "structsvm.solution",
            "Status": "structsvm.status",
            "StructSVMError": "structsvm.errors",
            "StructuredSVM": "structsvm.learner.structured",
            "__version__": "structsvm.support.version",
            "compare_solvers": "structsvm.compare",
            "diagnose": "structsvm.diagnosis",
            "evaluate": "structsvm.evaluation.evaluate",
            "evaluate_rows": "structsvm.model_selection.rows",
            "evaluate_states": "structsvm.evaluation.evaluate",
            "margin_rates": "structsvm.model_selection.margin_rates",
            "load": "structsvm.learner.files",
            "save": "structsvm.learner.files",
            "suggest_labels": "structsvm.partial_labels.suggest",
            "weight_stability": "structsvm.model_selection.stability",
        },
        rooms=(
            *("datasets", "errors", "features", "graphs", "interop", "io", "oracles", "parallel"),
            *("modeling", "partitions", "plotting", "problems", "regularizers", "report", "rivals"),
            *("solvers", "testing"),
        ),
    )
