"""Features that a metric weighs and that say nothing where it is used: those of dead sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.errors import DataWarning, warn
from structsvm.partitions.deferred import of_each
from structsvm.partitions.sample import Sample
from structsvm.partitions.samples import is_constant
from structsvm.partitions.traits import GRAPHS, IMAGES
from structsvm.support.plain import some_of

TOLD = 0.05
"""A share of the weight of a metric from which on a feature that says nothing is told."""


def warn_of_dead_features(learner: Any, samples: Sequence[Sample]) -> None:
    """DataWarning for features of a learned metric that are constant in samples to partition.

    One for each set of features that are constant together, with the samples where they are. What
    a stage of features makes of the columns may well be constant, and so may a single item.
    """
    words = learner.problem_.traits.words
    if learner.inputs_.features is not None or words in (GRAPHS, IMAGES):
        return
    weights = np.sum(learner.components_**2, axis=0)
    shares, names = weights / weights.sum(), learner.metric_feature_names_
    constant = of_each("looking for constant features", is_constant, [s.data for s in samples])
    where: dict[tuple[int, ...], list[str]] = {}
    for i, (sample, flat) in enumerate(zip(samples, constant, strict=True)):
        which = tuple(np.flatnonzero(flat & (shares >= TOLD)).tolist())
        if which and sample.n_samples > 1:
            where.setdefault(which, []).append(f"{words.whole} {i}")
    for which, places in where.items():
        verb, have = ("is", "has") if len(which) == 1 else ("are", "have")
        warn(
            f"{some_of(places)}: {some_of([names[j] for j in which])} {verb} constant, which "
            f"{have} {shares[list(which)].sum():.0%} of the weight of the metric",
            DataWarning,
        )
