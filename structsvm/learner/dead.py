"""Features that a metric weighs and that say nothing where it is used: those of dead sensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structsvm.data.deferred import Deferred, of_each
from structsvm.data.sample import Sample
from structsvm.data.samples import is_constant
from structsvm.data.words import GRAPHS, IMAGES
from structsvm.errors import DataWarning, warn
from structsvm.support.arrays import Bools
from structsvm.support.plain import some_of

TOLD = 0.05
"""A share of the weight of a metric from which on a feature that says nothing is told."""

DIFFERENT = 1e-6
"""A share of a value by which another differs that is not the same up to rounding."""


def warn_of_dead_features(learner: Any, samples: Sequence[Sample]) -> None:
    """DataWarning for features of a learned metric that are constant in samples to partition."""
    words = learner.problem_.traits.words
    if learner.inputs_.features is not None or words in (GRAPHS, IMAGES):
        return
    weights = np.sum(learner.metric_.factor**2, axis=1)
    total, names = float(weights.sum()), learner.metric_feature_names_
    if not total > 0.0:  # weights so small that their squares vanish
        return
    shares = weights / total
    relied_on = shares >= TOLD
    where: dict[tuple[int, ...], list[str]] = {}
    for i, flat in _constant_features(samples, relied_on).items():
        if which := tuple(np.flatnonzero(flat & relied_on).tolist()):
            where.setdefault(which, []).append(f"{words.whole} {i}")
    for which, places in where.items():
        verb, have = ("is", "has") if len(which) == 1 else ("are", "have")
        warn(
            f"{some_of(places)}: {some_of([names[j] for j in which])} {verb} constant, which "
            f"{have} {shares[list(which)].sum():.0%} of the weight of the metric",
            DataWarning,
        )


def _constant_features(samples: Sequence[Sample], relied_on: Bools) -> dict[int, Bools]:
    """Which features are constant, (P,), in samples where one of some features may be.

    What is not in memory was looked at when it was first read, and stays constant where it is
    standardised since.
    """
    known, there = {}, []
    for i, sample in enumerate(samples):
        if sample.n_samples == 1:
            continue
        seen = sample.data.origin.constant if isinstance(sample.data, Deferred) else None
        if seen is not None:
            known[i] = seen
        else:
            there.append(i)
    suspects = _alike(samples, there, relied_on)
    data = [samples[i].data for i in suspects]
    found = of_each("looking for constant features", is_constant, data)
    return dict(sorted((known | dict(zip(suspects, found, strict=True))).items()))


def _alike(samples: Sequence[Sample], there: list[int], relied_on: Bools) -> list[int]:
    Xs = [X for i in there if not isinstance(X := samples[i].data, Deferred)]
    if not there or len(Xs) < len(there):
        return there
    first, middle = np.array([X[0] for X in Xs]), np.array([X[len(X) // 2] for X in Xs])
    differ = np.abs(first - middle) > DIFFERENT * np.abs(first)  # a missing value tells nothing
    return [there[k] for k in np.flatnonzero(~differ[:, relied_on].all(axis=1)).tolist()]
