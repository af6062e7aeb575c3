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
from structsvm.support.arrays import Bools
from structsvm.support.plain import some_of

TOLD = 0.05
"""A share of the weight of a metric from which on a feature that says nothing is told."""

DIFFERENT = 1e-6
"""A share of a value by which another differs that is not the same up to rounding."""


def warn_of_dead_features(learner: Any, samples: Sequence[Sample]) -> None:
    """DataWarning for features of a learned metric that are constant in samples to partition.

    One for each set of features that are constant together, with the samples where they are. What
    a stage of features makes of the columns may well be constant, and so may a single item.
    """
    words = learner.problem_.traits.words
    if learner.inputs_.features is not None or words in (GRAPHS, IMAGES):
        return
    weights = np.sum(learner.components_**2, axis=0)
    total, names = float(weights.sum()), learner.metric_feature_names_
    if not total > 0.0:  # weights so small that their squares vanish
        return
    shares = weights / total
    relied_on = shares >= TOLD
    suspects = [i for i in _may_be_constant(samples, relied_on) if samples[i].n_samples > 1]
    data = [samples[i].data for i in suspects]
    constant = of_each("looking for constant features", is_constant, data)
    where: dict[tuple[int, ...], list[str]] = {}
    for i, flat in zip(suspects, constant, strict=True):
        if which := tuple(np.flatnonzero(flat & relied_on).tolist()):
            where.setdefault(which, []).append(f"{words.whole} {i}")
    for which, places in where.items():
        verb, have = ("is", "has") if len(which) == 1 else ("are", "have")
        warn(
            f"{some_of(places)}: {some_of([names[j] for j in which])} {verb} constant, which "
            f"{have} {shares[list(which)].sum():.0%} of the weight of the metric",
            DataWarning,
        )


def _may_be_constant(samples: Sequence[Sample], relied_on: Bools) -> list[int]:
    """Samples in which one of some features is as good as equal at the beginning and half way.

    That is clear of hardly any, and costs little; those that are not in memory are not read for it.
    """
    there = [i for i, sample in enumerate(samples) if not sample.is_deferred]
    if not there:
        return list(range(len(samples)))
    Xs = [samples[i].X for i in there]
    first, middle = np.array([X[0] for X in Xs]), np.array([X[len(X) // 2] for X in Xs])
    differ = np.abs(first - middle) > DIFFERENT * np.abs(first)  # a missing value tells nothing
    differing = {i for i, clear in zip(there, differ[:, relied_on].all(1), strict=True) if clear}
    return [i for i in range(len(samples)) if i not in differing]
