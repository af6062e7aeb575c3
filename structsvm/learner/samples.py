"""What kind of thing a sample is, and what can be shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from structsvm.data.sample import Sample
from structsvm.data.words import IMAGES, Words
from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.arrays import Floats

if TYPE_CHECKING:
    from structsvm.learner.learner import MetricLearner


def is_image(sample: Sample) -> bool:
    return isinstance(sample.side, FeatureGraph) and sample.side.regions is not None


def words_of(problem: PartitionProblem, samples: Sequence[Sample]) -> Words:
    return IMAGES if all(map(is_image, samples)) else problem.traits.words


def unscaled(learner: MetricLearner, measured: Sequence[Sample]) -> list[Floats]:
    """The features that the metric sees of samples as measured, not standardised, (T_i, P')."""
    Xs, stage = [sample.X for sample in measured], learner.inputs_.features
    return Xs if stage is None else stage.transform(Xs)


def partition_of(truth: EquivalenceMatrix | NodeLabels) -> EquivalenceMatrix:
    """The partition of the items, where the truth is one of what they are made of."""
    return truth.M if isinstance(truth, NodeLabels) else truth
