"""What training labels have to teach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structsvm.data.words import GRAPHS, TABLES
from structsvm.errors import DataError, warn
from structsvm.graphs.labelled_nodes import NOTHING_TO_CUT, limit_of
from structsvm.partitions.training_instance import Truths
from structsvm.partitions.traits import Traits

SEVERAL = 30

SHORTEST_USUAL = 1.5
"""So many samples, in segments shorter than this on average, are no segments but measurements."""


def check_truths(traits: Traits, truths: Sequence[Any]) -> None:
    """Refuse training labels that teach nothing, and warn if they teach little."""
    words = traits.words
    if all(truth.n_clusters == 1 for truth in truths):
        if words is GRAPHS:
            raise DataError(NOTHING_TO_CUT)
        raise DataError(
            f"every {words.whole} is one single {words.part}: label at least one that has two"
        )
    if traits.contiguous:
        _warn_of_odd_segments(truths)
    elif limit := limit_of(truths):
        warn(limit)
    elif words is TABLES and traits.given_k and all(M.n_clusters == M.n_samples for M in truths):
        raise DataError(
            "every row has its own label, and any metric clusters them correctly: labels "
            "say which rows belong together"
        )


def _warn_of_odd_segments(truths: Truths) -> None:
    if len(truths) == 1:
        warn(
            "one labelled recording: whether the metric suits another one cannot be evaluated; "
            "label a second one, or cut this one in two",
        )
    T = sum(truth.n_samples for truth in truths)
    K = sum(truth.n_clusters for truth in truths)
    if T >= SEVERAL and T < SHORTEST_USUAL * K:
        warn(
            f"labels change at nearly every sample ({K} segments of {T} samples): if they are "
            "measurements, give the states or the change points instead",
        )
