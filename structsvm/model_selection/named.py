"""All methods by the names that users type, whatever the labels."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from structsvm.baselines import (
    BoundaryClassifier,
    EqualSegments,
    FrameClassifier,
    RegionClassifier,
    RowClassifier,
    SmoothedScores,
)
from structsvm.baselines.blind import FixedTimes
from structsvm.baselines.row_classifier import NAMES_BY_KIND
from structsvm.graphs import GraphOfImage
from structsvm.learner import Learner, MetricLearner, ScoreDecoder, StateSegmenter
from structsvm.learner.closed_forms import NAMES
from structsvm.partitions import PartitionProblem

LEARNERS: Mapping[str, Callable[..., Learner]] = {
    "metric": MetricLearner,
    "states": StateSegmenter,
    "decoder": ScoreDecoder,
    "states-quick": partial(StateSegmenter, estimators="quick", standardize="both"),
    **{name: partial(MetricLearner, metric=name) for name in (*NAMES, "grid")},
    "frame-lda": partial(FrameClassifier, "lda"),
    "frame-logistic": partial(FrameClassifier, "logistic"),
    "frame-boosting": partial(FrameClassifier, "boosting"),
    "boundary-logistic": partial(BoundaryClassifier, "logistic"),
    "boundary-boosting": partial(BoundaryClassifier, "boosting"),
    "largest-score": partial(SmoothedScores, tuned=False),
    "smoothed-scores": SmoothedScores,
    "equal-segments": EqualSegments,
    "fixed-times": FixedTimes,
    **{name: partial(RowClassifier, kind) for kind, name in NAMES_BY_KIND.items()},
    "region-forest": partial(RegionClassifier, "forest"),
    "pixel-forest": partial(RegionClassifier, "forest", image=GraphOfImage(nodes="pixels")),
}


def learner_named(name: str, problem: PartitionProblem, **settings: Any) -> Learner:
    """The learner of a name, with those of ``settings`` that it has as parameters."""
    learner = LEARNERS[name](problem=problem)
    params = learner.get_params(deep=False)
    chosen = {k: value for k, value in settings.items() if k in params and value is not None}
    learner.set_params(**chosen)
    return learner
